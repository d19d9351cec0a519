// op.h - op descriptors: all that the program knows about an op is in one constant gr_op.
//
// An op is one file, ops/ROOM/NAME.c, with its gr_op (and that of its gradient) and the functions
// it names, and one line of ops/ops.def. Everything else reads the descriptor. The reference
// kernel, the notation and the examples are the op's definition; the rest is derived from them or
// tested against them:
//
//   read by                         fields
//   models (YAML), docs, hashing    name, doc, attrs, cases
//   inference of types              index_spec (or index_spec_of), infer
//   autodiff                        grad, save_for_backward
//   shard, and the proof of it      index_spec (or sharding_rules), linear, padding, localize
//   loop_hoist                      index_spec
//   buffer assignment               inplace (or an update's formula), scratch, multi_tensor
//   schedule, coalescing            collective
//   devices                         cpu_only, cpu, fast..., gpu, formula, formulas, scratch
//   fuse                            tile, tile_formula, row (or row_of)
//   the optimizer                   optimizer
//   predictions for CPUs            effort, efforts, flops, formula, row
//   export to ONNX                  formula, onnx, to_onnx
//   import from ONNX                from_onnx, onnx
//   tests                           cases: kernels, gradient, every sharding, padding, in place
//
// An op is a pure function: its results depend on its operands and attributes, and for random ops
// on their stream and the index of each element in the global value; never on threads, ranks or
// earlier calls. Nothing is broadcast: where a model relies on broadcasting, the model builder
// inserts ops for it.
#pragma once
#include "ir/graph.h"

// An application of an op to typed operands, without a graph: the input and output of inference. It
// borrows all that it points to.
typedef struct gr_op_call {
  const gr_op *op;
  const void *attr;
  int n_in, n_out;
  gr_type in[GR_MAX_ARGS], out[GR_MAX_ARGS];
  const char *const *names;  // the user's names of the operands, for errors, or NULL
  gr_loc loc;
} gr_op_call;
// index_spec_of may read the first GR_MISSING_ARGS operands before their number is checked, so
// operands that a call lacks are set to scalars.
enum { GR_MISSING_ARGS = 4 };
// Sets those operands; inference calls it before it reads the notation.
static inline void gr_op_call_clear_missing(gr_op_call *s) {
  for (int i = s->n_in; i < GR_MISSING_ARGS; i++) s->in[i] = (gr_type){.rank = 0};
}

// The op call of a node. Entries of in[] and out[] beyond n_in (at least GR_MISSING_ARGS) and n_out
// are left uninitialised, because the structure has several kilobytes.
void gr_op_call_of(const gr_graph *, const gr_node *, gr_op_call *out);

// Arguments of a gradient rule: the forward node's operands x and outputs y in the new graph, and
// dy[i], the gradient of output i (GR_NONE: none flows). The rule sets dx[i] where want[i].
typedef struct gr_grad {
  gr_builder *b;
  const gr_op *op;
  const void *attr;
  int n_in, n_out;
  const gr_val *x, *y, *dy;
  const bool *want;
  gr_val *dx;
} gr_grad;

// Arguments of a kernel: the types are those of this rank's slices, and every pointer is aligned to
// 64 bytes, except inside of loops, where slices of sequences follow each other densely. A kernel
// must not allocate, block (except collectives), keep pointers, or access anything else.
typedef struct gr_comm gr_comm;
typedef struct gr_launch gr_launch;
// Is shown each part of a fused node when its reference kernel has run it, on a tile of elements.
typedef struct gr_part_observer {
  void (*seen)(void *self, const gr_node *part, const gr_launch *of_part);
  void *self;
} gr_part_observer;
struct gr_launch {
  const void *attr;
  int n_in, n_out;
  const gr_type *in_type, *out_type;
  const gr_layout *out_layout;  // with mesh and coord: which part of the value this rank computes
  const gr_mesh *mesh;
  const int *coord;  // this rank's coordinate on each mesh axis
  const void *const *in;
  void *const *out;
  void *scratch;   // op->scratch bytes, 64-byte aligned
  void *context;   // the device's; for CPU kernels a gr_cpu *: the thread pool, or NULL
  gr_comm **comm;  // by mesh axis; used by collectives only
  // Where it computes a tile of a value, as kernels of parts of fused nodes do: the type of all of
  // this rank's part of the value, and the first of its elements in the tile. NULL: it is all.
  const gr_type *whole;
  int64_t first;
  const gr_part_observer *observer;  // of a fused node's parts, by its reference kernel; or NULL
};
typedef gr_status (*gr_kernel)(const gr_launch *);
typedef struct gr_gpu_call gr_gpu_call;
// Computes y[0] to y[n - 1] from operands x[0], x[1], ..., a tile of the elements; y may be one of
// the operands.
typedef void (*gr_tile)(const float *const *x, float *y, int64_t n, const void *attr);

// One field of an op's attribute struct; YAML, IR text, docs and hashing are driven by it.
typedef enum gr_attr_kind {
  GR_ATTR_INT,     // int64_t
  GR_ATTR_FLOAT,   // double
  GR_ATTR_BOOL,    // int64_t, 0 or 1
  GR_ATTR_DTYPE,   // int64_t, a gr_dtype
  GR_ATTR_INTS,    // gr_ints: up to 6 numbers, [0, 2, 1]
  GR_ATTR_LIST,    // gr_list: as gr_ints, but of as many numbers as there may be operands
  GR_ATTR_CHOICE,  // int64_t, index into `choices`
  GR_ATTR_STREAM,  // uint64_t: a random stream, the hash of the node's scope and name
  GR_ATTR_GRAPH,   // const gr_graph *: printed, hashed and compared by content
} gr_attr_kind;
typedef struct gr_ints {
  int64_t n, items[GR_MAX_RANK];
} gr_ints;
typedef struct gr_list {
  int64_t n, items[GR_MAX_ARGS];  // entries beyond n are 0, so that equal lists are equal bytes
} gr_list;
typedef struct gr_attr {
  const char *name;
  gr_attr_kind kind;
  size_t offset;
  const char *default_value;  // as text; NULL: required
  const char *doc;
  const char *choices;  // "sum|mean|none"
  const char *range;    // ">= 0 < 1", of a number that users set; NULL: any
  bool axis;  // an axis, or axes, of operand 0: models may count from the end, -1 is the last
} gr_attr;
#define GR_ATTR(type, field, kind, default_value, doc) \
  { #field, kind, offsetof(type, field), default_value, doc }
#define GR_AXIS(type, field, kind, default_value, doc) \
  { #field, kind, offsetof(type, field), default_value, doc, .axis = true }
#define GR_CHOICE(type, field, choices, default_value, doc) \
  { #field, GR_ATTR_CHOICE, offsetof(type, field), default_value, doc, choices }
// A hyper-parameter of an optimizer: a number with a range, which a configuration may set.
#define GR_PARAM(type, field, default_value, range, doc) \
  { #field, GR_ATTR_FLOAT, offsetof(type, field), default_value, doc, NULL, range }
// Attribute structs are compared and hashed as bytes: they have no padding, and every field is in
// the table (test_ops checks both for all ops).

// The graph in a field of kind GR_ATTR_GRAPH.
static inline const gr_graph *gr_attr_graph(const void *attr, const gr_attr *a) {
  return *(const gr_graph *const *)((const char *)attr + a->offset);
}

// An example of the op. `graphrun ops NAME` prints it; the tests run it: fast kernel
// against reference, gradient against finite differences, sharded against whole.
enum { GR_CASE_ARGS = 16 };
typedef struct gr_case {
  const char *in[GR_CASE_ARGS];  // operand types, "f32[4,6]"
  const void *attr;              // set if there are no operands: a case without both ends the list
  const char *fails;             // the expected error, if inference must fail
  const char *fill;  // random operands, one letter each: n normal (default), p positive,
                     // i small non-negative integers, s in (0,1), 1 ones, z zeros, l lengths
                     // (1..size of the axis they measure), m 0/1 mask, c as p: both are constants
} gr_case;

// How an op treats the padding of unevenly sharded values (gr_layout.pad).
typedef enum gr_padding {
  GR_PADDING_REFUSED,    // it would read padding as data: operands and results must have none
  GR_PADDING_PRESERVED,  // elementwise, or a sum: zero padding gives zero padding
  GR_PADDING_ROWS,       // likewise, if the padded value is sharded along its first dimension; in
                         // slices of another dimension rows start at other indices than globally
  GR_PADDING_SUMMED,     // it adds up all elements of its operand: zeros change no result
  GR_PADDING_ADDED,      // it shards a value and pads the last slices with zeros
  GR_PADDING_REMOVED,    // it gathers slices and drops the padding of its mesh axis
} gr_padding;

// What an op computes with in mixed precision (compiler/passes/precision.c), as the lists of
// torch.autocast have it.
typedef enum gr_amp {
  GR_AMP_ANY,     // the dtype of its operands, f32 if they differ; weights follow the others
  GR_AMP_NARROW,  // training.precision: products
  GR_AMP_WIDE,    // f32: sums, exponentials, norms, losses
  GR_AMP_FIRST,   // operand 0 as it is, the others f32: kernels read it narrow and compute in f32
} gr_amp;

// What a call on a CPU does (effort.def), for predictions of its time; products come first.
// UNKNOWN: what its formula says.
typedef enum gr_effort {
  GR_EFFORT_UNKNOWN,
#define GR_PRODUCT(id, name) GR_EFFORT_##id,
#define GR_EFFORT(id, name)
#include "ir/effort.def"
#undef GR_PRODUCT
#undef GR_EFFORT
  GR_PRODUCTS,
  GR_EFFORT_LAST_PRODUCT = GR_PRODUCTS - 1,
#define GR_PRODUCT(id, name)
#define GR_EFFORT(id, name) GR_EFFORT_##id,
#include "ir/effort.def"
#undef GR_PRODUCT
#undef GR_EFFORT
  GR_EFFORTS
} gr_effort;
// How much of each, and the bytes that it reads and writes in memory.
typedef struct gr_efforts {
  double of[GR_EFFORTS], bytes;
} gr_efforts;

enum { GR_ROW_TEXT = 256 };   // bytes of a row's formula
enum { GR_MAX_INPLACE = 4 };  // outputs of one op that may be made in operands
typedef struct gr_sharding_rule gr_sharding_rule;
typedef struct gr_optimizer gr_optimizer;
typedef struct gr_formula gr_formula;
typedef struct gr_onnx_call gr_onnx_call;
typedef struct gr_onnx_reading gr_onnx_reading;
// A node of ONNX that is read: a row or a type, and a function that reads it, or NULL; with what
// that puts before the op and after it, or NULL.
typedef struct gr_onnx_reader {
  const char *row;
  void (*read)(gr_onnx_reading *);
  const gr_op *before, *after;
} gr_onnx_reader;
#define GR_FROM_ONNX(...) ((const gr_onnx_reader[]){__VA_ARGS__, {NULL}})
struct gr_op {
  const char *name, *doc;
  // Numbers of operands and results that the notation does not say: n_in without an index_spec,
  // n_out without any notation. GR_ANY: infer checks and sets it.
  int n_in, n_out;
  size_t attr_size;
  const gr_attr *attrs;  // ends with an empty field

  // Index notation, as in einsum: "mk,kn->mn"; "..." stands for any leading axes. Shape inference,
  // the legal shardings and the flop count follow from it (axes.c). A lower-case axis may be
  // sharded, and one that is missing from the output is summed over; an upper-case axis must be
  // whole; '_' is whole and has a size of its own, which infer sets (concatenations).
  // index_spec_of writes it if it depends on attributes.
  const char *index_spec;
  void (*index_spec_of)(const gr_op_call *, char buf[128]);
  gr_status (*infer)(gr_op_call *);  // beyond the notation: dtypes, convolution sizes
  gr_status (*sharding_rules)(const gr_op_call *, gr_sharding_rule *,
                              int *out_n);  // replaces those of the notation
  int64_t (*flops)(const gr_op_call *);     // if the notation overcounts: gathers, windows, loops
  // What a call does on a CPU: operations of a product, otherwise elements of its largest operand
  // or result. `efforts` adds something else to zeros, and may change the bytes, which are those of
  // all operands and results.
  gr_effort effort;
  void (*efforts)(const gr_op_call *, gr_efforts *);
  // Converts attributes that hold sizes of the global value to those of one rank's slice; out is
  // the layout of result 0. NULL: no attribute holds a size.
  void (*localize)(void *attr, const gr_layout *out, const gr_mesh *);

  void (*grad)(const gr_grad *);  // NULL: not differentiable
  // Emits a variant of the op that returns residuals for grad after its own results. NULL: grad
  // needs none.
  gr_val (*save_for_backward)(gr_builder *, const gr_node *, const gr_val *in, const bool *want);
  gr_amp amp;
  gr_padding padding;
  bool collective;      // all ranks of a mesh axis call it together; not allowed in a scan's body
  bool linear;          // f(a)+f(b) = f(a+b): an operand that is a partial sum gives a partial sum
  bool multi_tensor;    // nodes of it that follow each other are launched together on GPUs: many
                        // are small, and independent
  bool identity;        // of operand 0, which pass dce puts in its place: it differs in its gradient
  bool random;          // draws numbers from the stream in its attributes
  bool training_only;   // in evaluation, and where attribute p is 0, the identity of operand 0; or,
                        // of any number of operands, the op with p = 0 and without the step number
  const char *formula;  // pointwise ops: a scalar expression in x0, x1, ... valid in C and CUDA C
  // Ops of several results, or with scalar operands, that are statements (ir/formula.h): a formula
  // for each number of operands that the op takes, the last one for most; ends with NULL.
  const gr_formula *const *formulas;
  gr_tile tile;  // elementwise ops that can be part of a fused node: the kernel of a tile,
  const char *tile_formula;  // and its formula; NULL: `formula`
  // Ops over rows, which can be part of a fused node too: the formula of an element of a row of the
  // last axis (ops/kernels/gpu_row.h), and the kernel on a GPU without `gpu`. row_of writes it
  // where it depends on the call, or nothing: that call is no row's. On a CPU their `fast` runs on
  // tiles of whole rows, or of any elements of ops that are `random`.
  const char *row;
  void (*row_of)(const gr_op_call *, char buf[GR_ROW_TEXT]);
  // The last results of such an op may be sums over all rows, vectors: an expression for each,
  // which may use what statements of `row` have named: "x2 * (x0 - m) * s; x2". On a tile, `fast`
  // adds to what they hold, and `cpu` keeps what it needs for that in its working memory.
  const char *column_sums;
  int8_t inplace[GR_MAX_INPLACE];  // by output: 1 + the operand whose memory it may reuse, or 0;
                                   // updates by a formula do without
  bool inplace_each;               // output i may reuse operand i, for every i, if of its type

  // Plans for GPUs do without it: it has no kernel there.
  bool cpu_only;

  // cpu: the reference: plain loops in the order of the formula, any dtype, accumulating
  // in double. The others are faster, for an operand 0 that is f32 or narrow (gr_op_fast).
  gr_kernel cpu, fast_f32, fast_narrow;
  gr_kernel (*fast)(const gr_op_call *);  // instead of these, if more decides; NULL: there is none
  // Refuses indices of integer operands, in the host's memory, that select nothing: GR_ERR_DATA.
  // The kernels on CPUs call it. Those on GPUs cannot fail, and give NaN for them (-1 of integers).
  // NULL: no operand selects anything.
  gr_status (*check)(const gr_launch *);
  size_t (*scratch)(const gr_op_call *);  // bytes of working memory that either kernel needs
  // Describes the launches that do the call on a GPU (ops/kernels/gpu.h). NULL: that of the
  // formula, if the op has one; collectives are the communicator's, scans the executor's.
  // GR_ERR_UNSUPPORTED if these types cannot run there.
  gr_status (*gpu)(gr_gpu_call *);
  // How it is written to ONNX (ir/onnx.h): a row, or a function; without both by its formula.
  const char *onnx;
  void (*to_onnx)(gr_onnx_call *);
  // Which nodes of ONNX are read as it (ir/onnx_read.h); NULL: that of `onnx`, if there is one.
  const gr_onnx_reader *from_onnx;
  const gr_case *cases;           // ends with an empty case
  const gr_optimizer *optimizer;  // of an optimizer: its states (ops/optim/optim.h)
};

// The faster kernel for a call; NULL: its op has none.
gr_kernel gr_op_fast(const gr_op_call *);
// The operand whose memory output k may reuse, or -1: by `inplace`, or that which it follows in an
// update. The op's kernels read each of its elements
// before they write that element; whether the operand is dead is the planner's question.
int gr_op_inplace(const gr_op *, int k);
// Whether values that it reads and makes may be sharded unevenly along a dimension.
static inline bool gr_op_may_pad(const gr_op *op, int dim) {
  return op->padding == GR_PADDING_PRESERVED || op->padding == GR_PADDING_SUMMED ||
         (op->padding == GR_PADDING_ROWS && !dim);
}
// How many operands it takes; GR_ANY: its infer says.
int gr_op_operands(const gr_op *);
// Checks s->in and sets s->n_out and s->out, by the notation and then by op->infer. GR_ERR_TYPE if
// operands do not fit; results are possible types (gr_type_possible) without empty axes.
GR_MUST_USE gr_status gr_op_infer(gr_op_call *);
// Floating-point operations of one call: op->flops, else by the notation: the product of all axis
// sizes, times 2 if it contracts (multiply and add).
int64_t gr_op_flops(const gr_op_call *);
// The sum over all nodes except collectives; a scan counts all its steps.
int64_t gr_graph_flops(const gr_graph *);

// ---- Attributes as text (attr.c): shared by YAML, IR text and docs --------------------
// Sets every field that has a default; required ones are set to zero.
void gr_attr_defaults(const gr_op *, void *attr);
// Parses one field's text ("3", "1e-5", "[0,2,1]", "mean") into attr. GR_ERR_CONFIG at loc.
GR_MUST_USE gr_status gr_attr_parse(const gr_op *, const gr_attr *, const char *text, gr_loc,
                                    void *attr);
// Appends one field's text, which gr_attr_parse reads back; nothing for a graph.
void gr_attr_text(gr_text *, const gr_attr *, const void *attr);
// Whether two attribute structs of the op are equal; graphs in them are compared by content.
bool gr_attr_same(const gr_op *, const void *attr, const void *other);
// A hash of attributes, equal for those that gr_attr_same says are: gr_node.attr_hash.
uint32_t gr_attr_hash(const gr_op *, const void *attr);

// ---- Reverse mode (reverse.c): for whole graphs and for a scan's body ----------------
// Whether a value can have a gradient: floats can, integers such as indices are constants.
bool gr_is_differentiable(const gr_value *);
// want[] is indexed by value id and set for some values; also sets it for every value that depends
// on one of them.
void gr_mark_dependents(const gr_graph *, bool *want);
// The same for values to differentiate by, all of floats: for every value through which a gradient
// can flow to one of them, of floats as well.
void gr_mark_differentiable(const gr_graph *, bool *want);
// live[] is indexed by value id; also sets it for everything that live values are computed from.
// Stops at the values of `given`, which exist already; given may be NULL.
void gr_mark_live(const gr_graph *, bool *live, const bool *given);
// What the loss, the results and the states' next values depend on, by value id; in g's arena.
bool *gr_graph_live(const gr_graph *);
// gr_emit_copy, but through op->save_for_backward if a gradient will flow through the node.
gr_val gr_emit_with_residuals(gr_builder *, const gr_graph *of, const gr_node *, gr_val *map,
                              const bool *want);
// *sum += dx, where *sum may be GR_NONE. `add` is the op to emit: ir/ does not know the ops.
void gr_accumulate_grad(gr_builder *, const gr_op *add, gr_val *sum, gr_val dx);
// Reverse-mode differentiation: applies the gradient rules of g's nodes from last to first.
// here[v] is g's value v in the builder's graph. grads[v] is, on entry, the gradient of v that
// comes from outside of g (GR_NONE: none), and, on return, its whole gradient. GR_ERR_UNSUPPORTED
// if a gradient would flow through an op that has no rule.
GR_MUST_USE gr_status gr_backward(gr_builder *, const gr_op *add, const gr_graph *g,
                                  const gr_val *here, const bool *want, gr_val *grads);

// One way to shard an op over one mesh axis: a placement for each operand and result.
struct gr_sharding_rule {
  gr_axis_placement in[GR_MAX_ARGS], out[GR_MAX_ARGS];
};
enum { GR_MAX_SHARDING_RULES = 16, GR_ANY = -1 };
// All shardings under which the op can run without communication; rules[0] replicates everything.
// Sizes are not checked: an axis may be smaller than the mesh axis.
GR_MUST_USE gr_status gr_op_sharding_rules(const gr_op_call *,
                                           gr_sharding_rule rules[GR_MAX_SHARDING_RULES],
                                           int *out_n);

// Whether the calls of an op in all steps of a scan can run as one call on stacked operands. They
// can if "..." stands in the notation of exactly those operands that differ from step to step.
typedef enum gr_lead {
  GR_LEAD_NO,    // they cannot
  GR_LEAD_LIFT,  // the output has "..." too: "...mk,kn->...mn" gives all steps' outputs, stacked
  GR_LEAD_SUM,   // the output lacks it: "...km,...kn->mn" gives the sum of all steps' outputs
} gr_lead;
// `differs`: by operand, whether it differs from step to step.
gr_lead gr_op_lead(const gr_op_call *, const bool differs[]);
// Whether the op sums over an axis of two or more operands: compute bound rather than memory bound.
bool gr_op_contracts(const gr_op_call *);
// Whether an attribute holds a graph (scans).
static inline bool gr_op_has_body(const gr_op *op) {
  for (const gr_attr *a = op->attrs; a && a->name; a++)
    if (a->kind == GR_ATTR_GRAPH) return true;
  return false;
}
