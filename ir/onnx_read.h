// onnx_read.h - reading a graph of ONNX as nodes of the graph language. compiler/onnx has what
// walks the graph and what prints the nodes; how a node is read is said by the ops that it becomes.
//
// An op says which nodes become it in its descriptor, `from_onnx`, a table of readers:
//
//   {"Relu"}                     the node's operands and results are the op's
//   {"LayerNormalization axis=-1 epsilon=$eps"}  likewise; attributes as in a row of gr_op.onnx:
//                                the op's attribute `eps` is the node's `epsilon`, and `axis`, if
//                                the node has it, must be -1
//   {"Gemm", read_gemm}          a function, which emits nodes by what is declared here
//
// Without a table the op's row for writing is read.
//
// Sizes that are open in the file, that of the batch first, are read with several numbers each: all
// types and all values that are known while reading are there once for each choice of numbers. From
// these the printer finds the expression that has them ("7 * n").
#pragma once
#include "ir/onnx.h"

enum {
  GR_READ_LETTERS = 3,                   // open sizes
  GR_READ_CHOICES = 1 + GR_READ_LETTERS  // their first numbers, and for each a second one
};

// A value of the model that is read: physical, in the order of axes that the graph language has.
typedef struct gr_read_var {
  gr_type type[GR_READ_CHOICES];  // i64 only of known values
  // The elements, where they are known: of weights, constants and what is computed from them.
  const void *data[GR_READ_CHOICES];
  bool weight;       // it is a weight of the file or made of one: it is trained
  bool named;        // by the file, as a parameter: not by an exporter
  int uses, slices;  // of a weight of the file: how many nodes read it, and how many a part of it
  const char *name;  // of a weight, or what a result is called; NULL: none yet
  int line;          // 1 + index of the line that gives it; 0: none does yet
  int made;          // of a known one: that of the line that would compute it in the model; 0: none
  int result;        // which of its results it is
  int turned;        // the matrix of the file that it is the transpose of, or 0
  int depth;         // it differs by step of a scan: that many, one in another, are around it
  int steps;         // of a slice: the known sequence of numbers that it is of, or 0
} gr_read_var;

// An attribute of an op: a text, or n integers that may differ by choice.
typedef struct gr_read_setting {
  const char *name, *text;
  int64_t (*sizes)[GR_READ_CHOICES];
  int n;
  bool list;  // it is printed as a list, also if it is one number
} gr_read_setting;

// A weight that a use of a block makes itself, called PATH.suffix.
typedef struct gr_read_part {
  const char *suffix;
  int var;
} gr_read_part;

// A scan. Its operands are its sequences, what its carries start as, their next values, and its
// yields; its results its yields, and carries after the last step.
typedef struct gr_read_scan {
  int first, depth;  // its body: lines before its own from that index on, of results that deep
  int n_seq, n_carry, n_yield, n_last;
  const int *leaf;  // vars of the body: a slice of each sequence, then each carry
  const int *last;  // which carries are results
  int axis;         // of sequences and yields
  bool reverse;
} gr_read_scan;

enum { GR_READ_PARTS = 16, GR_READ_SETTINGS = 16, GR_READ_RESULTS = 4 };
// A node of the graph language: {op: operands, settings}.
typedef struct gr_read_line {
  const char *op;    // of an op or a block
  const char *path;  // of a block with weights: its name:
  int n_in, n_out, n_settings, n_parts;
  const int *in;  // vars
  int out;        // the first of n_out vars
  gr_read_setting setting[GR_READ_SETTINGS];
  gr_read_part part[GR_READ_PARTS];
  const gr_read_scan *scan;  // it is one
  const gr_onnx_node *node;  // of the file that it comes from
  bool live;                 // something needs it
} gr_read_line;

// What a name of the file stands for.
typedef struct gr_read_binding {
  int var;
  bool last;    // the value is channels-last, and axis 1 of ONNX is the last axis
  bool open;    // of an input: who reads it first decides whether it is
  int first;    // the var in ONNX's order, where one has been made; 0: none
  bool turned;  // first is what a node of the file gives, and var what it is made of
} gr_read_binding;

// A known number that a reader went by: the model has checks that it is the same for its sizes.
typedef struct gr_read_check {
  int var;
  bool truth;
  const gr_onnx_node *node;
} gr_read_check;

// A Scan or Loop whose body is read (ops/loop/scan_read.h).
typedef struct gr_read_loop gr_read_loop;

struct gr_onnx_reading {
  gr_arena *arena;
  gr_read_var *vars;
  gr_read_line *lines;
  gr_read_check *checks;
  int n_vars, cap_vars, n_lines, cap_lines, n_checks, cap_checks;
  gr_map names;  // of the file's values, to bindings
  gr_read_binding *bound;
  int cap_bound;
  int n_choices;
  int64_t letter_size[GR_READ_LETTERS][GR_READ_CHOICES];
  const char *letter[GR_READ_LETTERS];
  gr_map paths;                  // names of weights that are taken
  gr_map readers;                // of nodes, by their type
  gr_map uses;                   // how many nodes read a value of the file, by its name
  int depth;                     // scans around the nodes that are read
  gr_read_loop *loop;            // the innermost of them
  const gr_onnx_node *node;      // that is read
  uint64_t asked;                // its attributes that were looked up, a bit each
  const gr_op *op;               // whose reader it is,
  const gr_onnx_reader *reader;  // and which; NULL: its `onnx` is read
  gr_op_call *calls;             // room for one node, by choice
  const char *file;              // for errors
  gr_status err;                 // the first error; later calls do nothing then
};

// ---- The file's graph -----------------------------------------------------------------------
// A weight or constant of the file in the reading's arena; floats are f32 and integers i64.
int gr_read_known(gr_onnx_reading *, const gr_type *, const void *data);
// A var of these types, by choice, that the caller sets the rest of.
int gr_read_var_add(gr_onnx_reading *, const gr_type type[GR_READ_CHOICES]);
// Such a value of integers, which are copied, and a vector of integers by choice.
int gr_read_integers(gr_onnx_reading *, const gr_type *, const int64_t *);
int gr_read_vector(gr_onnx_reading *, int n, int64_t (*items)[GR_READ_CHOICES]);  // copied
// What a name of the file stands for from now on.
void gr_read_bind(gr_onnx_reading *, const char *name, int var, bool last);
// It stands for nothing any more: a graph in a node ends.
void gr_read_unbind(gr_onnx_reading *, const char *name);
// The var of a name of the file, and its order of axes; NULL: there is no such name.
gr_read_binding *gr_read_find(const gr_onnx_reading *, const char *name);

// ---- For readers ------------------------------------------------------------------------------
// Fails with GR_ERR_UNSUPPORTED, naming the node; why: "has ..., which ...".
void gr_read_refuse(gr_onnx_reading *, const char *why, ...) GR_PRINTF(2, 3);
// Whether some node or the model's output needs the k-th result.
bool gr_read_needs(gr_onnx_reading *, int k);
// Attributes of the node, which are checked for their kind; `otherwise` where it has none.
int64_t gr_read_int(gr_onnx_reading *, const char *name, int64_t otherwise);
const gr_onnx_tensor *gr_read_tensor(gr_onnx_reading *, const char *name);             // NULL: none
const gr_onnx_graph *gr_read_graph(gr_onnx_reading *, const char *name);               // or fails
double gr_read_float(gr_onnx_reading *, const char *name, double otherwise);           // a number
const char *gr_read_text(gr_onnx_reading *, const char *name, const char *otherwise);  // a string
// A list of integers: its length, at most `most`; `otherwise` -1: it must be there.
int gr_read_ints(gr_onnx_reading *, const char *name, int most, int64_t *out, int otherwise);
// Refuses the node if it has an attribute of another value than that.
void gr_read_only(gr_onnx_reading *, const char *name, int64_t value);

// The type of a var in the first choice.
const gr_type *gr_read_type(const gr_onnx_reading *, int var);
// Whether it has one axis, of that size.
bool gr_read_is_vector(const gr_onnx_reading *, int var, int64_t n);
// Whether the elements of a var are known, those of weights too.
bool gr_read_is_known(const gr_onnx_reading *, int var);
// The integers of a known vector or scalar by choice; -1: they are not known, or too many.
int gr_read_numbers(gr_onnx_reading *, int var, int most, int64_t (*out)[GR_READ_CHOICES]);
// The number of a known scalar of any dtype; false: it is none.
bool gr_read_scalar(const gr_onnx_reading *, int var, double *out);
// A known scalar f32.
int gr_read_number(gr_onnx_reading *, double);
// What is done with a weight from now on is done in the model, so that it has its shape in the
// file.
void gr_read_keep(gr_onnx_reading *, int var);
// A weight that this node alone reads, so that a block may own it.
bool gr_read_is_own(const gr_onnx_reading *, int var);

// Emits a node and returns the first of its results. Where all operands are known it is computed
// now, by the op's reference kernel, and nothing is emitted; weights are computed with only by ops
// that move elements, and only where nothing else reads them.
int gr_read_emit(gr_onnx_reading *, const gr_op *, int n, const int *in, int n_settings,
                 const gr_read_setting *);
#define GR_READ(r, op, in, ...)                                                           \
  gr_read_emit(r, op, 1, (const int[]){in},                                               \
               (int)(sizeof((gr_read_setting[]){__VA_ARGS__}) / sizeof(gr_read_setting)), \
               (gr_read_setting[]){__VA_ARGS__})
#define GR_READ_ONE(r, op, in) gr_read_emit(r, op, 1, (const int[]){in}, 0, NULL)
#define GR_READ_TWO(r, op, a, b) gr_read_emit(r, op, 2, (const int[]){a, b}, 0, NULL)
// A setting of one number by choice, which sizes[0] has.
#define GR_READ_NUMBER(name_, sizes_) \
  { name_, .sizes = (int64_t(*)[GR_READ_CHOICES])(sizes_), .n = 1 }
// The types of that node's first result by choice, without emitting it.
void gr_read_types(gr_onnx_reading *, const gr_op *, int n, const int *in, int n_settings,
                   const gr_read_setting *, gr_type out[GR_READ_CHOICES]);
// Emits a use of a block, and of its own weights, if it has some: under that path, or one made of
// the node's name if it is NULL. Its result has these types.
int gr_read_block(gr_onnx_reading *, const char *block, const char *path, int in,
                  const gr_type type[GR_READ_CHOICES], int n_settings, const gr_read_setting *,
                  int n_parts, const gr_read_part *);
// Emits a scan of those operands; its results, from `out` on, are there.
void gr_read_scan_emit(gr_onnx_reading *, const gr_read_scan *, int n, const int *in, int out,
                       int n_out);
// Sets the depth of what the lines give, from the first one on that is in a body.
void gr_read_find_depths(gr_onnx_reading *, int first);
// A path made of the folders of the node's name; `otherwise` where it has none.
const char *gr_read_node_path(gr_onnx_reading *, const char *otherwise);
// A path like that one that no weight has yet.
const char *gr_read_free_path(gr_onnx_reading *, const char *path);
// The path of a block whose weight that is: "head" of "head.weight"; NULL: it has no such name.
const char *gr_read_path(gr_onnx_reading *, int weight, const char *suffix);
// As text in the reading's arena: a list of integers.
const char *gr_read_list(gr_onnx_reading *, int n, const int64_t *);
