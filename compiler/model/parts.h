// parts.h - what the files of the model builder share, and nobody else includes.
//
// An author writes the graph. It knows names in frames: the file is one, every use of a block
// and every body of a scan is one more. It writes into a builder: the graph's own, or that of
// the innermost loop it is in; values made further out are brought in as the loop's constants.
#pragma once
#include "compiler/model/model.h"
#include "ops/loop/scan.h"

enum { GR_MODEL_RESULTS = 8, GR_MODEL_LOOPS = 8, GR_MODEL_NEST = 64 };

// ---- What expressions are worth -------------------------------------------------
typedef struct gr_arg {
  enum { GR_ARG_INT, GR_ARG_FLOAT, GR_ARG_BOOL, GR_ARG_TEXT, GR_ARG_GONE } kind;
  int64_t i;  // of ints and bools
  double f;
  const char *text;
} gr_arg;

// ---- Names ----------------------------------------------------------------------
// What a name stands for: one tensor, or the results of an op that has more.
typedef struct gr_binding {
  const char *name;
  gr_loc loc;
  bool absent;  // an optional operand that was not given
  bool broken;  // its node was in error: what uses it is not reported again
  int depth;    // of loops: in whose graph the values are
  int n;
  gr_val v[GR_MODEL_RESULTS];
} gr_binding;

typedef struct gr_block {
  const char *name;
  gr_conf *conf;
  bool builtin;
} gr_block;

typedef struct gr_frame gr_frame;
struct gr_frame {
  gr_frame *up;           // whose names are seen too: of a scan's body, what is around it
  gr_frame *caller;       // of a block: where it is used
  const gr_block *block;  // whose nodes these are; NULL: the file's own
  gr_map names, args;     // to indices into:
  gr_binding *bound;
  gr_arg *arg;
  uint32_t cap_bound, cap_arg;
  const gr_conf *nodes;  // the list being run, to tell "not yet" from "never"
};

// ---- Parameters -----------------------------------------------------------------
typedef enum gr_init_arg {
  GR_INIT_GAIN,
  GR_INIT_A,
  GR_INIT_STD,
  GR_INIT_MEAN,
  GR_INIT_VALUE,
  GR_INIT_LOW,
  GR_INIT_HIGH,
  GR_INIT_THETA,
  GR_INIT_ARGS,
} gr_init_arg;
typedef struct gr_init_rule gr_init_rule;
typedef struct gr_model_param {
  const char *path;
  gr_type type;
  gr_kind kind;
  gr_layout layout;
  gr_val v;  // in the graph itself
  gr_loc loc;
  const gr_init_rule *init;
  double arg[GR_INIT_ARGS];
} gr_model_param;

// ---- The author -----------------------------------------------------------------
typedef struct gr_build_context {
  gr_arena *arena;
  const gr_model_request *request;
  gr_builder root;
  gr_loop *loops[GR_MODEL_LOOPS];
  int depth;  // how many loops it is in
  int nest;   // how many uses of blocks
  int nodes;  // how many were written, those of blocks too
  gr_frame *frame;
  const char *name;   // what the node being written is called
  const char *path;   // of parameters made here, "" at the top
  const char *share;  // the path of the weights to use instead, or NULL
  const gr_block *blocks;
  int n_blocks;  // the file's, then the built-in ones
  gr_model_param *params;
  uint32_t cap_params;
  gr_map by_path;  // to params
  gr_map streams;  // how often a random stream's name was asked for
  gr_val weight, step;
  bool unnamed;  // in an iteration without a path of its own: the nodes in it stand for it
  bool echo;     // the error just returned comes of an earlier one
} gr_build_context;

gr_builder *gr_model_builder(gr_build_context *);          // of the graph or the innermost loop
gr_status gr_model_take_error(gr_build_context *);         // the builder's error, taken out of it
const gr_type *gr_model_type(gr_build_context *, gr_val);  // of a value of the innermost graph

// ---- expr.c: expressions --------------------------------------------------
// A scalar's worth. Texts are expressions over parameters and dimensions; where `words`, a
// lone name that is none of these is a text: "mean", "xavier_uniform".
GR_MUST_USE gr_status gr_model_arg(gr_build_context *, const gr_conf *, bool words, gr_arg *out);
GR_MUST_USE gr_status gr_model_int(gr_build_context *, const gr_conf *, int64_t *out);
GR_MUST_USE gr_status gr_model_number(gr_build_context *, const gr_conf *, double *out);
GR_MUST_USE gr_status gr_model_bool(gr_build_context *, const gr_conf *, bool *out);
GR_MUST_USE gr_status gr_model_shape(gr_build_context *, const gr_conf *list, gr_type *out);
GR_MUST_USE gr_status gr_model_expr(gr_build_context *, const char *text, gr_loc, gr_arg *out);
bool gr_model_is_word(const char *);  // a lone name
double gr_arg_number(const gr_arg *);
const char *gr_arg_text(gr_arena *, const gr_arg *);  // as attributes are written
const char *gr_arg_kind(const gr_arg *);              // "integer", "text", ...

// ---- scope.c: names -------------------------------------------------------
gr_frame *gr_model_frame(gr_build_context *, gr_frame *up, gr_frame *caller, const gr_block *);
void gr_model_bind(gr_build_context *, const char *name, gr_loc, const gr_binding *);
const gr_binding *gr_model_find(const gr_build_context *, const char *name);
GR_MUST_USE gr_status gr_model_resolve(gr_build_context *, const char *name, gr_loc,
                                       const gr_binding **out);
GR_MUST_USE gr_status gr_model_value(gr_build_context *, const char *name, gr_loc, gr_val *out);
gr_val gr_model_capture(gr_build_context *, gr_val, int depth);  // into the innermost loop
void gr_model_set(gr_build_context *, const char *name, gr_arg);
const gr_arg *gr_model_get(const gr_build_context *, const char *name);
GR_MUST_USE gr_status gr_model_interpolate(gr_build_context *, const gr_conf *,
                                           const char **out);  // "$i"
const char *gr_model_join(gr_build_context *, const char *path, const char *name);
void gr_model_scope(gr_build_context *, const char *block);  // adds the path at hand to the scopes
// "a, b": how many names; an error if they are none, or too many.
GR_MUST_USE gr_status gr_model_names(gr_build_context *, const char *key, gr_loc,
                                     const char *out[GR_MODEL_RESULTS], int *out_n);
// Adds "did you mean" to an error.
const char *gr_model_nearest(const char *word, const char *const *known, int n);  // words.c
const char *gr_model_alternative(const char *word);  // of an op that there is not; NULL: no idea
gr_status gr_model_suggest(gr_status, const char *word, const char *const *known, int n);
const char *gr_model_kind(gr_conf_kind);  // "a list", "an integer"
GR_MUST_USE gr_status gr_model_expect(const gr_conf *, gr_conf_kind, const char *what);
GR_MUST_USE gr_status gr_model_keys(const gr_conf *map, const char *what, const char *const *known,
                                    int n);
GR_MUST_USE gr_status gr_model_unknown_arg(gr_build_context *, const char *name, gr_loc);

// ---- input.c: what the data gives -------------------------------------------
void gr_model_letters(gr_build_context *,
                      gr_conf *file);  // sizes of the letters in shapes of inputs
GR_MUST_USE gr_status gr_model_inputs(gr_build_context *, gr_conf *file);
bool gr_model_is_reserved_input(const char *name);  // of an input or state that graphrun adds

// ---- The nodes ------------------------------------------------------------------
GR_MUST_USE gr_status gr_model_node(gr_build_context *, gr_conf *item, gr_binding *out);  // node.c
GR_MUST_USE gr_status gr_model_nodes(gr_build_context *, gr_conf *list,
                                     gr_binding *last);  // until one fails
bool gr_model_reserved(const char *key);                 // name, share, when
GR_MUST_USE gr_status gr_model_checks(gr_build_context *, const gr_conf *map);
GR_MUST_USE gr_status gr_model_op(gr_build_context *, const gr_op *, gr_conf *use, gr_binding *out);
GR_MUST_USE gr_status gr_model_operands(gr_build_context *, gr_conf *, gr_binding *out, int most,
                                        int *n);
GR_MUST_USE gr_status gr_model_block(gr_build_context *, const gr_block *, gr_conf *use,
                                     gr_binding *out);
GR_MUST_USE gr_status gr_model_scan(gr_build_context *, gr_conf *use, gr_binding *out);
GR_MUST_USE gr_status gr_model_make_param(gr_build_context *, gr_conf *use, gr_binding *out);

// ---- block.c --------------------------------------------------------------
GR_MUST_USE gr_status gr_model_open_blocks(gr_build_context *, gr_conf *file);
const gr_block *gr_model_find_block(const gr_build_context *, const char *name);
bool gr_model_is_builtin(const gr_build_context *);  // the nodes being written are graphrun's own
GR_MUST_USE gr_status gr_model_unknown_use(gr_build_context *, const char *name, gr_loc);

// ---- fit.c: numpy's broadcasting, written out -----------------------------
typedef struct gr_operand {
  bool number, absent;
  double by;
  gr_val v;
  gr_loc loc;
  const char *name;  // as it is written
} gr_operand;
// Makes the operands of a pointwise op alike. *made: the result itself, where another op gives
// it at less cost (a number added is a shift); else GR_NONE.
GR_MUST_USE gr_status gr_model_fit(gr_build_context *, const gr_op *, gr_operand *, int n,
                                   gr_val *made);

// An op by name, with attributes as text; settings end with an empty one.
typedef struct gr_setting {
  const char *name, *text;
} gr_setting;
gr_val gr_model_make(gr_builder *, const char *op, int n_in, const gr_val *in, const gr_setting *);

// ---- init.c ---------------------------------------------------------------
GR_MUST_USE gr_status gr_model_init_rule(gr_build_context *, gr_conf *use, gr_model_param *);
bool gr_model_init_key(const char *key);
void gr_model_init(gr_build_context *, gr_builder *, const gr_model_param *);  // its first value

// ---- out.c ----------------------------------------------------------------
GR_MUST_USE gr_status gr_model_outputs(gr_build_context *, gr_conf *file);
bool gr_model_splits_batch(const gr_build_context *, int axis);  // an axis of the mesh

extern const char gr_model_blocks_yaml[];  // graphs/blocks.yaml
