// parts.h - private interface between the files of the model builder.
//
// The builder walks the file's list of nodes once, in order. A node is {op: operands,
// attributes...}, {block: operands, parameters...}, {scan: ...}, {param: ...}, {gradient: ...} or
// {repeat: ...}; node.c tells them apart and calls op.c, block.c, scan.c, param.c or gradient.c.
// Blocks and scans have lists of nodes, which they build by a function of the context: no file
// calls one that calls it.
//
// A build context emits the graph. It resolves names in frames: the file is one, and so is every
// use of a block and every body of a scan. It emits into a builder, the graph's own or that of the
// innermost loop; values of outer builders are captured as constants of the loop.
//
// Errors are the user's: GR_ERR_CONFIG or GR_ERR_TYPE with a line of the YAML. The file's own list
// continues after an invalid node, so that all errors are reported in one run; names that an
// invalid node would bind are marked broken, so that their uses are not reported as well.
#pragma once
#include "compiler/model/model.h"
#include "ops/loop/scan.h"

enum { GR_MODEL_RESULTS = 8, GR_MODEL_LOOPS = 8, GR_MODEL_NEST = 64, GR_MODEL_FOUND = 128 };

// ---- Values of expressions ------------------------------------------------------
// The value of a parameter, dimension or expression. UNSET: the name has no value any more, such as
// the index of repeat: after its last iteration.
typedef struct gr_arg {
  enum { GR_ARG_INT, GR_ARG_FLOAT, GR_ARG_BOOL, GR_ARG_TEXT, GR_ARG_UNSET } kind;
  int64_t i;  // of ints and bools
  double f;
  const char *text;
  bool operand;  // it stands for an operand of the block, given as a number
} gr_arg;

// ---- Names ----------------------------------------------------------------------
// What a name stands for: one tensor, or the results of an op that has more.
typedef struct gr_binding {
  const char *name;
  gr_loc loc;
  bool absent;  // an optional operand that is not given
  bool broken;  // its node had an error: errors of its uses are not reported
  bool number;  // an operand of a block that is a number, `by`, and no tensor
  double by;
  int depth;       // number of loops around the graph that the values are in
  uint32_t param;  // of a tensor that is a parameter: 1 + its index in the context; else 0
  int n;
  gr_val v[GR_MODEL_RESULTS];
} gr_binding;

typedef struct gr_block {
  const char *name;
  gr_conf *conf;
  bool builtin;
} gr_block;

// What gr_model_find_block has found for a word of the file, in the nodes of a block.
typedef struct gr_found_block {
  const char *name;
  const gr_block *in;
  gr_block *found;
} gr_found_block;

typedef struct gr_frame gr_frame;
struct gr_frame {
  gr_frame *up;           // enclosing frame, whose names are visible (scan bodies), or NULL
  gr_frame *caller;       // of a block: the frame of its use
  const gr_block *block;  // the block whose nodes these are; NULL: the file's own
  gr_map names, args;     // to indices into these:
  gr_binding *bound;
  gr_arg *arg;
  uint32_t cap_bound, cap_arg;
  const gr_conf *nodes;  // the list being built, to tell "defined later" from "not defined"
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
  gr_val v;    // in the graph itself
  gr_val now;  // of a buffer: what `next:` has set it to so far, else v
  gr_loc loc;
  const gr_init_rule *init;
  double arg[GR_INIT_ARGS];
  const double *values;   // of `init: [values]`, row by row; or NULL
  const char *copies[2];  // of `init: {weight: NAME}`: NAME in the block, and in the model; or NULL
  gr_loc copies_loc;
} gr_model_param;

// ---- Adapters -------------------------------------------------------------------
typedef struct gr_adapting {
  gr_map layers;                   // paths of the linear layers
  bool *matched[GR_MAX_ADAPTERS];  // by adapter and pattern
} gr_adapting;

// How a node reads the weights inside of it (`weights:`).
typedef enum gr_weights {
  GR_WEIGHTS_TRAINED,   // as what is trained
  GR_WEIGHTS_FROZEN,    // as constants: no gradient flows to them
  GR_WEIGHTS_AVERAGED,  // their averages (training.ema_decay), as constants
} gr_weights;

// ---- The build context ----------------------------------------------------------
struct gr_build_context {
  gr_arena *arena;
  gr_arena *scratch;  // of frames, which the graph does not refer to
  // The point where the builder recurs: gr_model_nodes, for the lists of nodes in blocks and scans.
  gr_status (*build_nodes)(gr_build_context *, gr_conf *list, gr_binding *last);
  const gr_model_request *request;
  gr_conf *programs, *program;  // `programs:`, and the one that is built; or NULL
  gr_model_program built;       // the one that is built
  bool evaluates, named;        // it is eval; it is neither eval nor train
  gr_conf *own_inputs;          // that its caller gives, in place of the file's; NULL: none
  gr_builder root;
  gr_loop *loops[GR_MODEL_LOOPS];
  int depth;  // number of enclosing loops
  int nest;   // number of enclosing block uses
  int nodes;  // nodes built so far, those of blocks included
  gr_frame *frame;
  const char *name;           // of the node being built
  const char *prefix;         // of all names of parameters: of a teacher "teacher", else ""
  gr_build_context *student;  // of a teacher: the context of the model; else NULL
  gr_build_context *teacher;  // that the program has; or NULL
  const char *path;           // prefix of parameters created here, that one at the top
  const char *share;          // the path of the weights to use instead, or NULL
  gr_weights weights;         // how they are read
  gr_loc weights_loc;         // where that is said
  uint32_t otherwise;         // how many weights and buffers have been read so, not as trained
  gr_block *blocks;
  int n_blocks;                          // the file's, then the built-in ones
  gr_found_block found[GR_MODEL_FOUND];  // by a hash
  gr_model_param *params;
  uint32_t cap_params;
  gr_map by_path;              // to params
  struct gr_block_uses *uses;  // reuse.h; NULL: none is noted
  gr_map streams;              // uses so far of each random stream's name
  gr_val weight, step;
  gr_binding sample_weight;            // the batch's weights, a name that every frame sees
  gr_arg training, batch_norm_groups;  // constants of that name
  gr_adapting *adapting;               // what adapters have found so far; NULL: none are built here
  bool unnamed;  // in an iteration without a path of its own: its nodes are reported instead
  bool echo;     // the error just returned follows from an earlier one
};

// Everything that the functions below create is in the context's arena.
gr_builder *gr_model_builder(gr_build_context *);          // of the graph or the innermost loop
gr_status gr_model_take_error(gr_build_context *);         // moves the builder's error out of it
const gr_type *gr_model_type(gr_build_context *, gr_val);  // of a value of the innermost graph

// ---- arg.c: values of expressions, words ------------------------------------
double gr_arg_number(const gr_arg *);                 // a value as a number
const char *gr_arg_text(gr_arena *, const gr_arg *);  // a value as gr_attr_parse reads it
const char *gr_arg_kind(const gr_arg *);              // for messages: "an integer", "a string", ...
// The length of the name that a string begins with, such as "heads" or "$i"; 0: with none.
size_t gr_model_word_length(const char *);
bool gr_model_is_word(const char *);  // whether a string is a single name

// ---- expr.c: expressions --------------------------------------------------
// Evaluates a YAML scalar. A string is an expression over parameters and dimensions; with `words`,
// a single name that is neither is a word: "mean", "xavier_uniform".
GR_MUST_USE gr_status gr_model_arg(gr_build_context *, const gr_conf *, bool words, gr_arg *out);
// Evaluates a scalar that must be an integer of at most 9e15; 2.0 is one.
GR_MUST_USE gr_status gr_model_int(gr_build_context *, const gr_conf *, int64_t *out);
// Evaluates a scalar that must be a number; true and false are none.
GR_MUST_USE gr_status gr_model_number(gr_build_context *, const gr_conf *, double *out);
// Evaluates a scalar that must be true or false; a number is true unless it is 0.
GR_MUST_USE gr_status gr_model_bool(gr_build_context *, const gr_conf *, bool *out);
// Evaluates a list of at most GR_MAX_RANK sizes, each at least 1, into the rank and the dimensions
// of *out; its dtype, set by the caller, decides whether so large a tensor is possible.
GR_MUST_USE gr_status gr_model_shape(gr_build_context *, const gr_conf *list, gr_type *out);
// Evaluates the text of an expression that is not a YAML node of its own; `loc` is that of errors.
GR_MUST_USE gr_status gr_model_expr(gr_build_context *, const char *text, gr_loc, gr_arg *out);

// ---- scope.c: names -------------------------------------------------------
// Creates a frame; the caller sets it as the current one, and restores the old one afterwards.
gr_frame *gr_model_frame(gr_build_context *, gr_frame *up, gr_frame *caller, const gr_block *);
// The block whose nodes are being built, NULL: the file's own; the body of a scan belongs to the
// block around it.
const gr_block *gr_model_current_block(const gr_build_context *);
// Whether the current nodes are those of a built-in block.
bool gr_model_is_builtin(const gr_build_context *);
// Binds a name to tensors in the current frame; a later binding of the name replaces it.
void gr_model_bind(gr_build_context *, const char *name, gr_loc, const gr_binding *);
// Looks a name up in the visible frames; NULL: not found.
const gr_binding *gr_model_find(const gr_build_context *, const char *name);
// Whether all names of a score are bound, which is a name or a list of two.
bool gr_model_is_bound(const gr_build_context *, const gr_conf *score);
// The name of item i of a map of results, without the `?` of one that may be left out; NULL: it is
// left out, because what it names is not there.
const char *gr_model_result_name(gr_build_context *, const gr_conf *map, int i);
// The same; the error for an unknown name says where it is defined, or which name is similar.
GR_MUST_USE gr_status gr_model_resolve(gr_build_context *, const char *name, gr_loc,
                                       const gr_binding **out);
// The tensor of a name that stands for a single one, captured into the current loop.
GR_MUST_USE gr_status gr_model_value(gr_build_context *, const char *name, gr_loc, gr_val *out);
// A value of a graph `depth` loops deep, as a constant of the innermost loop.
gr_val gr_model_capture(gr_build_context *, gr_val, int depth);
// Sets a parameter or dimension in the current frame.
void gr_model_set(gr_build_context *, const char *name, gr_arg);
// The constant that is true in programs that train, in every frame.
extern const char gr_model_training[];
// "...": in the shape of a block's operand, any number of axes; in a list of sizes, these: its
// value is a text, "4,6".
extern const char gr_model_others[];
bool gr_model_is_others(const gr_conf *);  // whether an item of a list is that
// Looks one up in the visible frames; NULL: not found.
const gr_arg *gr_model_get(const gr_build_context *, const char *name);
// The node's string with "$i" replaced by the index of the current iteration.
GR_MUST_USE gr_status gr_model_interpolate(gr_build_context *, const gr_conf *, const char **out);
const char *gr_model_join(gr_build_context *, const char *path, const char *name);  // "path.name"
void gr_model_scope(gr_build_context *, const char *block);  // adds the current path to the scopes
// Splits "a, b" into names; an error if there are none or too many.
GR_MUST_USE gr_status gr_model_names(gr_build_context *, const char *key, gr_loc,
                                     const char *out[GR_MODEL_RESULTS], int *out_n);
// The name among n that `word` probably means, as a synonym or by its spelling (words.c); or NULL.
const char *gr_model_nearest(const char *word, const char *const *known, int n);
// What to use instead of an op that other libraries have and this one does not; or NULL.
const char *gr_model_alternative(const char *word);
// Adds the hint "did you mean" or "use instead" to an error, if there is one.
gr_status gr_model_suggest(gr_status, const char *word, const char *const *known, int n);
const char *gr_model_kind(gr_conf_kind);  // "a list", "an integer"
// Checks that a YAML node has a kind. `what` names it in the error.
GR_MUST_USE gr_status gr_model_expect(const gr_conf *, gr_conf_kind, const char *what);
// Checks that what is given for a parameter of a block is no list; the error lists those that the
// block has for single axes, NAME_h and NAME_w.
GR_MUST_USE gr_status gr_model_one_value(gr_conf *block, const gr_conf *given, const char *of,
                                         const char *name);
// Checks that all keys of a map are among n names.
GR_MUST_USE gr_status gr_model_keys(const gr_conf *map, const char *what, const char *const *known,
                                    int n);
// The keys that may be in every node, whatever its op: name, share, weights and when (node.c).
enum { GR_MODEL_NODE_KEYS = 4 };
bool gr_model_reserved(const char *key);  // whether a key is one of them
// Adds them behind the *n keys of a list, for errors about other ones.
void gr_model_add_node_keys(const char **known, int *n);
// gr_model_keys of a node: checks that its keys are among n names and those of every node.
GR_MUST_USE gr_status gr_model_keys_of_node(gr_build_context *, const gr_conf *map,
                                            const char *what, const char *const *known, int n);
// The error for an argument that the op or block of the current node does not have.
GR_MUST_USE gr_status gr_model_unknown_arg(gr_build_context *, const char *name, gr_loc);

// ---- input.c: inputs and the data -------------------------------------------
// Sets the sizes of the letters in the shapes of inputs. Called before gr_model_inputs.
void gr_model_letters(gr_build_context *, gr_conf *file);
// Creates the inputs and checks each against the batch tensor of its name.
GR_MUST_USE gr_status gr_model_inputs(gr_build_context *, gr_conf *file);
// Whether graphrun itself adds an input or state of that name.
bool gr_model_is_reserved_input(const char *name);
// Whether a mesh axis shards the batch.
bool gr_model_splits_batch(const gr_build_context *, int axis);

// ---- check.c --------------------------------------------------------------
// Evaluates the expressions of `checks:`; one that is false is an error with its message. NULL:
// there are none.
GR_MUST_USE gr_status gr_model_checks(gr_build_context *, const gr_conf *map);

// ---- Nodes ----------------------------------------------------------------------
// Builds a list of nodes up to the first error; *last is the binding of the last node.
GR_MUST_USE gr_status gr_model_nodes(gr_build_context *, gr_conf *list, gr_binding *last);
// Builds the file's nodes, or a program's; continues after an invalid node, so that all errors are
// reported at once.
GR_MUST_USE gr_status gr_model_run_nodes(gr_build_context *, gr_conf *list);
// Emits an op with the operands and arguments that its node states (op.c). *out: its results.
GR_MUST_USE gr_status gr_model_op(gr_build_context *, const gr_op *, gr_conf *use, gr_binding *out);
// Builds the nodes of a block in a frame of its own, with the node's operands and arguments
// (block.c). *out: its results. Errors inside get a note that says where it is used.
GR_MUST_USE gr_status gr_model_block(gr_build_context *, const gr_block *, gr_conf *use,
                                     gr_binding *out);
// Builds a `scan:` node, its body in a loop of its own (scan.c). *out: the stacked yields; the
// names of `last:` are bound too.
GR_MUST_USE gr_status gr_model_scan(gr_build_context *, gr_conf *use, gr_binding *out);
// Builds a `param:` node: a weight, or with `train: false` a buffer, at the path of its name
// (param.c). *out: its value, or that of the one that `share:` names.
GR_MUST_USE gr_status gr_model_make_param(gr_build_context *, gr_conf *use, gr_binding *out);
// Reads the settings of a parameter or buffer whose kind, path and loc are set (dtype, layout,
// init) and creates its state, or finds the one that `share:` names (param.c).
GR_MUST_USE gr_status gr_model_declare(gr_build_context *, gr_conf *settings, gr_conf *shape,
                                       gr_model_param *, gr_binding *out);
// Builds a `gradient: [y, x]` node: the nodes of the backward pass from y to x (gradient.c). *out:
// the gradient of the sum of y, in the shape of x.
GR_MUST_USE gr_status gr_model_gradient(gr_build_context *, gr_conf *use, gr_binding *out);
// Builds an `einsum` node: the ops that its equation stands for (einsum.c).
GR_MUST_USE gr_status gr_model_einsum(gr_build_context *, gr_conf *use, gr_binding *out);
extern const char gr_model_gradient_maker[];  // `created_by` of its nodes: "gradient"
// Creates the state of a parameter, whose path must be new, and sets its values (param.c).
GR_MUST_USE gr_status gr_model_add_param(gr_build_context *, gr_model_param *, gr_binding *out);
// Resolves the operands of a node, a name or a list of at most `most` names, or with `numbers` also
// numbers (op.c).
GR_MUST_USE gr_status gr_model_operands(gr_build_context *, gr_conf *, bool numbers,
                                        gr_binding *out, int most, int *n);

// Creates the carries of a block (`carry:`) in the innermost scan, binds their names, and lists
// their leaves, at most GR_MODEL_RESULTS.
GR_MUST_USE gr_status gr_model_open_carries(gr_build_context *, gr_conf *block, gr_val *leaves);
// After the block's nodes: what the names of its carries stand for now is what they carry to the
// next step. `leaves`: those of gr_model_open_carries.
GR_MUST_USE gr_status gr_model_close_carries(gr_build_context *, gr_conf *block,
                                             const gr_val *leaves);

// ---- buffer.c -------------------------------------------------------------
// Creates the buffers of the file or of a block (`buffers:`), and binds their names.
GR_MUST_USE gr_status gr_model_open_buffers(gr_build_context *, gr_conf *owner);
// Sets some of `buffers` to the values that `next` names, after the owner's nodes. Either may be
// NULL.
GR_MUST_USE gr_status gr_model_assign_buffers(gr_build_context *, gr_conf *next, gr_conf *buffers);
// Links every buffer's last value as the next value of its state. Called once, at the end.
void gr_model_link_buffers(gr_build_context *);

// ---- op.c -----------------------------------------------------------------
// The counter from which random numbers are drawn: of completed steps in train and eval; of a named
// program its own runs, which each run increments.
gr_val gr_model_step(gr_build_context *);
// A list of integers, or one, as a string "[1,2]", which parameters may be.
GR_MUST_USE gr_status gr_model_list(gr_build_context *, const gr_conf *, const char **out);
// The random stream of an op at a path; it counts the uses of its name.
uint64_t gr_model_stream(gr_build_context *, const gr_attr *, const char *path);
// The name of such a stream, before uses are counted.
const char *gr_model_stream_name(gr_build_context *, const gr_attr *, const char *path);

// ---- adapter.c ------------------------------------------------------------
// Creates the record of what adapters find, for the programs of a model.
gr_adapting *gr_model_adapting(gr_arena *, const gr_model_request *);
// Adds the adapters to the result of a node that has just been built, if it is a linear layer: a
// product with a weight [out, in], transposed.
GR_MUST_USE gr_status gr_model_adapt(gr_build_context *, const gr_op *, gr_conf *use,
                                     gr_binding *out);
// After the nodes: an error for a weight with adapters that something else than a linear layer
// reads.
GR_MUST_USE gr_status gr_model_check_adapted(gr_build_context *);
// After all programs: an error for each pattern that has matched no linear layer.
GR_MUST_USE gr_status gr_model_check_adapters(gr_arena *, const gr_model_request *,
                                              const gr_adapting *);

// ---- teacher.c ------------------------------------------------------------
extern const char gr_model_teacher_prefix[];          // "teacher"
bool gr_model_has_teacher(const gr_build_context *);  // whether the program has one
// Sets what is asked of the builder for the teacher: its evaluation program. An error if the model
// has states of the teacher's names.
GR_MUST_USE gr_status gr_model_ask_teacher(const gr_build_context *, gr_model_request *out);
// Replaces the score that is minimised, a sum and a weight for each sample, by its mixture with the
// divergence from the teacher, if the program has one.
GR_MUST_USE gr_status gr_model_distill(gr_build_context *, gr_loc, gr_binding *score,
                                       gr_binding *hard, gr_binding *kl);

// ---- minibatch.c ----------------------------------------------------------
// If the program goes over minibatches (`over:`), the names of their buffers stand for rows of them
// from here on.
GR_MUST_USE gr_status gr_model_open_minibatch(gr_build_context *, gr_conf *file);

// ---- block.c --------------------------------------------------------------
// Parses a built-in block that is text; its keys have their places in graphs/blocks.yaml
// (library.c).
GR_MUST_USE gr_status gr_model_read_block(gr_arena *, const gr_conf *text, gr_conf **out);
// A built-in block, whatever block the file has of that name.
GR_MUST_USE gr_status gr_model_builtin(gr_build_context *, const char *name, const gr_block **out);
// Collects the file's blocks and the built-in ones.
GR_MUST_USE gr_status gr_model_open_blocks(gr_build_context *, gr_conf *file);
// The block of a name that is visible in the current frame; *out NULL: none.
GR_MUST_USE gr_status gr_model_find_block(gr_build_context *, const char *name,
                                          const gr_block **out);
// Whether a use of a built-in block has more operands than the block takes, and an op has its name:
// then the op is meant, with weights of one's own.
bool gr_model_means_op(const gr_block *, gr_conf *use);
// The error for a node whose key is neither an op nor a block.
GR_MUST_USE gr_status gr_model_unknown_use(gr_build_context *, const char *name, gr_loc);

// ---- init.c ---------------------------------------------------------------
// Parses `init:` and its arguments into a parameter.
GR_MUST_USE gr_status gr_model_init_rule(gr_build_context *, gr_conf *use, gr_model_param *);
// Whether a key is an argument of `init:`.
bool gr_model_init_key(const char *key);
// The parameter, of n programs, whose initial value is that of this one: itself, or what it copies.
GR_MUST_USE gr_status gr_model_init_source(const gr_build_context *const *built, int n,
                                           const gr_model_param *, const gr_model_param **out);
// Emits the initial value of a parameter as its `next`, for the init program: that of `source`.
void gr_model_init(const gr_build_context *, gr_builder *, const gr_model_param *,
                   const gr_model_param *source);

// ---- out.c ----------------------------------------------------------------
// Builds the loss, metrics and predictions of the program.
GR_MUST_USE gr_status gr_model_outputs(gr_build_context *, gr_conf *file);
// ---- report.c -------------------------------------------------------------
// Makes the tensors that `sums:` names results of the evaluation program. NULL: there are none.
GR_MUST_USE gr_status gr_model_sums(gr_build_context *, gr_conf *map);
// Builds `report:` into an empty graph, over the results of the evaluation program.
GR_MUST_USE gr_status gr_model_report(gr_build_context *, gr_conf *file, const gr_graph *eval);

extern const char gr_model_blocks_yaml[];  // graphs/blocks.yaml
