// print.h - private to compiler/onnx: the nodes of a model that is read as text.
#pragma once
#include "compiler/onnx/onnx.h"
#include "ir/onnx_read.h"

// An input or output of the model: a var, and what it is called.
typedef struct gr_onnx_end {
  const char *name;
  int var;
} gr_onnx_end;

// A node of the text that is to be: what it says, but for its operands and its name, which repeated
// nodes differ in.
// What stands for an operand in the text, and for a result that is not named before it.
enum { GR_ONNX_OPERAND = '\1', GR_ONNX_RESULT = '\2' };
typedef struct gr_onnx_item {
  const char *text, *word;     // "{linear: \1, out: 8"; what its results are called if that is free
  const char *path, *comment;  // NULL: none
  const int *in;               // n_in vars
  int n_in, out, n_out, n_inside;  // as many results, the last, have their name in the text
  int kind;                        // the same for equal texts
} gr_onnx_item;
typedef struct gr_onnx_items {
  gr_onnx_item *items;
  int n, cap;
} gr_onnx_items;

// ---- The text of lines (use.c)
typedef struct gr_onnx_printing {
  gr_onnx_reading *r;
  gr_onnx_items all;
  gr_text constants, nodes;
  gr_map words, kinds;  // names of values; texts of items
  gr_map inside;        // those of the former that values in bodies of scans have
  int *known, n_known;  // vars of constants that are there
  int *same;            // by var: the constant, or the sequence of a slice, that it is called by
  gr_onnx_weight *weights;
  int n_weights, cap_weights;
} gr_onnx_printing;
// The text of a line: operands that are named outside of it are listed.
typedef struct gr_onnx_use {
  gr_text text;
  int *in, n_in;
  gr_map names;      // in bodies
  const char *path;  // what the names of all weights in a scan begin with, or NULL
} gr_onnx_use;
// Adds a node, whose results are called like the word.
gr_onnx_item *gr_onnx_add_item(gr_onnx_printing *, const char *text, const char *word);
// Writes the k-th operand of a line into the text: by its name, or as a number.
GR_MUST_USE gr_status gr_onnx_put_operand(gr_onnx_printing *, const gr_read_line *, int k,
                                          gr_onnx_use *);
// Appends the line's op, operands and settings, and lists its weights.
GR_MUST_USE gr_status gr_onnx_put_use(gr_onnx_printing *, const gr_read_line *, gr_onnx_use *);
// What the results of a line are called.
const char *gr_onnx_word_of(gr_onnx_printing *, const gr_read_line *);
// The shape by choice, as "[n, 8]".
const char *gr_onnx_shape_text(gr_onnx_reading *, const gr_read_var *);
// What the names of all weights in a scan begin with: "layers.0" of "layers.0.cell"; NULL: nothing.
const char *gr_onnx_scan_path(const gr_onnx_reading *, const gr_read_line *);
// Appends a scan, in lines that begin with so many spaces (scan_text.c).
GR_MUST_USE gr_status gr_onnx_put_scan(gr_onnx_printing *, const gr_read_line *, int indent,
                                       gr_onnx_use *);

// Marks which linear layers tensor parallelism splits (split.c).
void gr_onnx_split(gr_onnx_reading *, const gr_onnx_end *outputs, int n_outputs);

// ---- Repeats (fold.c)
// `size` items from `begin` on come `times` times. What one time reads of the one before is, the
// first time, `outside`. Names have a number that counts up from `first`, if there are names.
enum { GR_ONNX_CARRIED = 8 };
typedef struct gr_onnx_carried {
  int outside, result;  // vars; the latter is of the first time
} gr_onnx_carried;
typedef struct gr_onnx_run {
  int begin, size, times, n_carried;
  int64_t first;
  bool counts;
  gr_onnx_carried carried[GR_ONNX_CARRIED];
} gr_onnx_run;
// Finds the runs, in order. last_use: by var, the last item that reads it, or the number of items.
int gr_onnx_fold(gr_onnx_reading *, const gr_onnx_items *, const int *last_use, gr_onnx_run **out);
// A name with a number: its length before that, the number, and what comes behind it.
typedef struct gr_onnx_counted {
  size_t before;
  int64_t number;
  const char *after;
} gr_onnx_counted;
// Whether name b is name a with the next number in one place.
bool gr_onnx_count(const char *a, const char *b, gr_onnx_counted *out);

// Writes the items, the runs as repeats.
void gr_onnx_lines(gr_onnx_reading *, const gr_onnx_items *, int n_runs, const gr_onnx_run *,
                   const int *last_use, gr_map *words, gr_text *to);
// The word, or one like it that is not in the map yet, which has it then.
const char *gr_onnx_free_word(gr_arena *, gr_map *words, const char *word);
// The sizes by choice as an expression of the open sizes: "16", "7 * n + 1"; NULL: there is none.
const char *gr_onnx_expression(gr_onnx_reading *, const int64_t sizes[GR_READ_CHOICES]);
// Writes `checks:` that what readers went by is so.
GR_MUST_USE gr_status gr_onnx_put_checks(gr_onnx_reading *, gr_text *);
// ---- Known values (constants.c)
// Whether one is the same for all choices.
bool gr_onnx_is_settled(const gr_onnx_reading *, const gr_read_var *);
// Whether its numbers are all equal, in any size, or 0, 1, 2, ... up to one; n: how many, by
// choice.
bool gr_onnx_has_pattern(const gr_onnx_reading *, const gr_read_var *, bool *equal,
                         int64_t n[GR_READ_CHOICES]);
// The axis of an open size along which its values are the same; -1: there is none.
int gr_onnx_repeated_axis(const gr_onnx_reading *, const gr_read_var *);
// Its values at index 0 of an axis, without that, in the reading's arena.
gr_read_var *gr_onnx_without_axis(gr_onnx_reading *, const gr_read_var *, int axis);
// Whether constants of the text can have it.
bool gr_onnx_is_constant(gr_onnx_reading *, const gr_read_var *);
// GR_ERR_UNSUPPORTED, at the node that reads it, if it has integers that are no i32.
GR_MUST_USE gr_status gr_onnx_check_range(const gr_onnx_reading *, const gr_read_var *,
                                          const gr_read_line *user);

// Letters, digits and `more`; other characters become '_'. `otherwise` if nothing is left.
const char *gr_onnx_word(gr_arena *, const char *name, const char *more, const char *otherwise);
// Writes the graph language, and lists the weights that it names. The reading's error is returned.
// flat: what repeats is not folded.
GR_MUST_USE gr_status gr_onnx_print(gr_onnx_reading *, const gr_onnx_end *inputs, int n_inputs,
                                    const gr_onnx_end *outputs, int n_outputs, bool flat,
                                    gr_onnx_imported *out);
