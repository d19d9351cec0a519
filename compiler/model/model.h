// model.h - builds the IR of a model from its YAML (graphs/*.yaml; docs/graph-language.md).
//
// The graph is that of the global batch on one device: no rank, no mesh and no gradient is in it
// yet, except that weights may carry a layout that the model asks for. One graph is built per
// program: for training and for evaluation of each bucket, and for initial values.
#pragma once
#include "compiler/pass.h"
#include "compose/tree/conf.h"

typedef struct gr_dim {
  const char *name;  // a letter of the inputs' shapes: "n", "t", "u", "c"
  int64_t size;
} gr_dim;

// A tensor of the data's batches. A model input is bound to the tensor with its name.
typedef struct gr_batch_tensor {
  const char *name;
  gr_type type;  // of the global batch: axis 0 is the samples, "n"
} gr_batch_tensor;

// A part of the model whose weights have names that begin with `path`: a use of a block, or an
// iteration of repeat:.
typedef struct gr_scope {
  const char *path, *block;  // block: its name; NULL: an iteration
} gr_scope;
typedef struct gr_scopes {
  gr_scope *items;
  uint32_t n, cap;
} gr_scopes;

// What a model's file says of a program (program.c).
typedef struct gr_model_program {
  const char *name;            // "train", "eval", "rollout"
  bool trains;                 // it minimises its loss
  bool training;               // the constant of that name in its expressions
  const char *const *trained;  // n_trained patterns of the weights that it trains; none: all
  const gr_loc *trained_loc;
  int n_trained;
} gr_model_program;
extern const char gr_model_train[], gr_model_eval[];  // names of programs

// The names of the programs of a file: those of its short form that it does not state, then those
// that it states, in its order. Returns how many.
int gr_model_program_names(gr_arena *, gr_conf *graph, const char ***out);
// Where a program is stated; the beginning of the file if it has it by its short form.
gr_loc gr_model_program_loc(gr_conf *graph, const char *name);
// The `inputs:` of a program, which its caller gives and no data do: a run cannot have it, it is
// exported (`graphrun export`). NULL: it has none of its own.
gr_conf *gr_model_program_inputs(gr_conf *graph, const char *name);
// Reads what the file says of a program of that name; one that it does not state has the defaults.
GR_MUST_USE gr_status gr_model_program_read(gr_arena *, gr_conf *graph, const char *name,
                                            gr_model_program *out);

// The minibatches that a program goes over: n in a pass, of so many rows. 0: it goes over none.
typedef struct gr_minibatches {
  int64_t n, rows;
} gr_minibatches;

// A second model in the training program, whose logits those of the model are compared with
// (teacher.c). Its states are called "teacher.PATH".
typedef struct gr_model_teacher {
  gr_conf *graph;    // its file, as read
  gr_conf *params;   // model.teacher.params, or NULL
  gr_conf *match;    // {value of the model: value of the teacher}
  const char *mask;  // a value of the model that is 0 where nothing is compared; or NULL
  double temperature, weight;
  gr_loc loc;  // of model.teacher.graph
} gr_model_teacher;

// What the building of a program has found, its parameters among it; in the arena of its graph.
typedef struct gr_build_context gr_build_context;

typedef struct gr_model_request {
  gr_conf *graph;      // the file, as read
  gr_conf *params;     // model.params of the configuration, or NULL; overrides the file's
  gr_conf *blocks;     // gr_model_blocks, once for many graphs; NULL: it is read for this one
  const gr_dim *dims;  // sizes of the inputs' letters, "n" being the global batch
  int n_dims;
  // The data's tensors: every input must be one of these, and letters take their sizes. NULL: there
  // is no data; inputs have the shapes of the file, with the sizes in dims (tests).
  const gr_batch_tensor *batch;
  int n_batch;
  gr_purpose purpose;  // of the program; or GR_INIT: initial values only, of all programs; or
                       // GR_REPORT: what evaluation's sums give, for a file with `report:`
  const gr_model_program *program;   // NULL: "eval" if that is the purpose, else "train"
  const gr_model_program *programs;  // n_programs of them, of GR_INIT; NULL: train and eval
  int n_programs;
  uint64_t seed;
  gr_mesh mesh;
  const char *batch_axis[GR_MAX_MESH];  // mesh axes over which "n" is sharded, up to NULL
  gr_minibatches *minibatches;          // set to those of the program; or NULL
  int micro_batches;               // of a step, which divide the program's minibatches; 0 or 1: one
  const gr_build_context **built;  // set for gr_model_initial; or NULL
  gr_scopes *scopes;               // collects the parts of the model, outer ones first; or NULL
  gr_arena *scratch;               // for what the graph does not refer to; set by gr_model_build
  const gr_adapter *adapters;      // n_adapters, which linear layers get whose paths match
  int n_adapters;
  const gr_model_teacher *teacher;  // or NULL
  int norm_groups;   // equal parts of the batch that batch norm normalises each; 0: 1, the whole
  bool by_rank;      // trains on the mean of the ranks' means, not of all samples
  bool builds_each;  // each use of a block from the block's nodes, also where an earlier use was
                     // alike (reuse.c): the same graph, later
  int *built_again;  // counts the uses that were built as earlier ones; or NULL
} gr_model_request;

// The built-in blocks (graphs/blocks.yaml) by name, in the arena: those that a model's file may
// use, and its teacher's, if there is one, are parsed; others are text.
GR_MUST_USE gr_status gr_model_blocks(gr_arena *, const gr_conf *graph, const gr_model_teacher *,
                                      gr_conf **out);

// An error for each of the values (model.params of a configuration) that the model's file, as
// parsed, has no parameter for.
GR_MUST_USE gr_status gr_model_check_params(gr_conf *file, gr_conf *given);

// The values of all parameters of a model's file, as parsed: those that are given, and the file's
// defaults, in which an expression is its value. *out is a mapping.
GR_MUST_USE gr_status gr_model_params(gr_arena *, gr_conf *file, gr_conf *given, gr_conf **out);

// Builds the forward graph: inputs, weights, `loss` and `norm` summed over the batch with the
// implicit input `weight` [n] (1 for a sample, 0 for padding), and as results
//   "metric.NAME.sum", "metric.NAME.weight"  scalars, for each of `metrics` (and "loss"),
//   "predict.NAME"                           for each of `predict` (GR_EVAL),
//   "sum.NAME"                               f32, for each of `sums` (GR_EVAL).
// For GR_INIT: a graph whose states are the weights and buffers, each with `next`, its initial
// value.
// For GR_REPORT: inputs are the sums and the metrics, all replicated, by name; results are
//   "report.NAME", "result.NAME"             scalars and tensors in f32.
GR_MUST_USE gr_status gr_model_build(gr_arena *, const gr_model_request *, gr_graph **out);
// The graph of GR_INIT, of a request for all its n programs, which have been built in its order,
// for the same sizes. The request has no adapters: what they match is judged over all programs.
GR_MUST_USE gr_status gr_model_initial(gr_arena *, const gr_model_request *,
                                       const gr_build_context *const *built, int n, gr_graph **out);
