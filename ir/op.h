// op.h - what an op is. The ops themselves are in ops/: each is one file, NAME.c,
// holding one constant gr_op (and that of its gradient) and the functions it names, and one
// line of ops.def.
#pragma once
#include "ir/graph.h"

// A use of an op, before it is a node: enough for inference and for tests.
typedef struct gr_op_call {
  const gr_op *op;
  const void *attr;
  int n_in, n_out;
  gr_type in[GR_MAX_ARGS], out[GR_MAX_ARGS];
  const char *const *names;  // of the operands, for errors; NULL: nobody has named them
  gr_loc loc;
} gr_op_call;
// The use of an op that a node is, with the types of its operands and results. What is beyond n_in
// and n_out is not written: the structure is large.
void gr_op_call_of(const gr_graph *, const gr_node *, gr_op_call *out);

// What a gradient rule is given: the forward node in the new graph, and dy[i] for
// each output (GR_NONE if nothing flows there). It sets dx[i] for each wanted input.
typedef struct gr_grad {
  gr_builder *b;
  const void *attr;
  int n_in, n_out;
  const gr_val *x, *y, *dy;
  const bool *want;
  gr_val *dx;
} gr_grad;

// What a kernel is given. It must not allocate, block, or touch anything else.
typedef struct gr_comm gr_comm;
typedef struct gr_launch {
  const void *attr;
  int n_in, n_out;
  const gr_type *in_type, *out_type;
  const gr_layout *out_layout;  // with mesh and coord: which part of the value this rank makes
  const gr_mesh *mesh;
  const int *coord;  // this rank's, by mesh axis
  const void *const *in;
  void *const *out;
  void *scratch;   // op->scratch bytes, 64-byte aligned
  void *context;   // the device's; of CPU kernels a gr_cpu *: the thread pool, or NULL
  gr_comm **comm;  // by mesh axis; only collectives look
} gr_launch;
typedef gr_status (*gr_kernel)(const gr_launch *);

// One field of an op's attributes: how YAML, IR text, docs and hashing see it.
typedef enum gr_attr_kind {
  GR_ATTR_INT,     // int64_t
  GR_ATTR_FLOAT,   // double
  GR_ATTR_BOOL,    // int64_t, 0 or 1
  GR_ATTR_DTYPE,   // int64_t, a gr_dtype
  GR_ATTR_INTS,    // gr_ints: up to 6 numbers, [0, 2, 1]
  GR_ATTR_LIST,    // gr_list: as gr_ints, but a number for each operand
  GR_ATTR_CHOICE,  // int64_t, index into `choices`
  GR_ATTR_STREAM,  // uint64_t: a random stream, the hash of the node's scope and name
  GR_ATTR_GRAPH,   // const gr_graph *: printed, hashed and compared by what it says
} gr_attr_kind;
typedef struct gr_ints {
  int64_t n, at[GR_MAX_RANK];
} gr_ints;
typedef struct gr_list {
  int64_t n, at[GR_MAX_ARGS];  // what is beyond n is 0
} gr_list;
typedef struct gr_attr {
  const char *name;
  gr_attr_kind kind;
  size_t offset;
  const char *default_value;  // as text; NULL: must be given
  const char *doc;
  const char *choices;  // "sum|mean|none"
  const char *range;    // ">= 0 < 1", of a number that users set; NULL: any
} gr_attr;
#define GR_ATTR(type, field, kind, default_value, doc) \
  { #field, kind, offsetof(type, field), default_value, doc }
#define GR_CHOICE(type, field, choices, default_value, doc) \
  { #field, GR_ATTR_CHOICE, offsetof(type, field), default_value, doc, choices }
// A hyper-parameter of an optimizer: a number with a range, which a configuration may set.
#define GR_PARAM(type, field, default_value, range, doc) \
  { #field, GR_ATTR_FLOAT, offsetof(type, field), default_value, doc, NULL, range }
// Attribute structs are compared and hashed as bytes: they have no padding, and every field is in
// the table (test_ops checks both for all ops).

static inline const gr_graph *gr_attr_graph(const void *attr, const gr_attr *a) {
  return *(const gr_graph *const *)((const char *)attr + a->offset);
}

// An example of the op. `graphrun ops NAME` shows it; the tests run it: kernel
// against kernel, gradient against finite differences, sharded against whole.
enum { GR_CASE_ARGS = 12 };
typedef struct gr_case {
  const char *in[GR_CASE_ARGS];  // types, "f32[4,6]"
  const void *attr;              // a case without operands has some: one without both is the end
  const char *fails;             // the error it must give, if it must fail
  const char *fill;  // how operands are filled: one letter each. n normal (default), p positive,
                     // i small non-negative integers, s in (0,1), 1 ones, z zeros, l lengths
                     // (1..size of the axis they measure), m 0/1 mask, c as p, never trained
} gr_case;

// What an op does where slices are longer than what is split (gr_layout.pad).
typedef enum gr_padding {
  GR_PADDING_REFUSED,    // it would read zeros as numbers: neither operands nor results have any
  GR_PADDING_PRESERVED,  // it works element by element, or sums up all: zeros give zeros, so that
                         // the results' padding is zero where the operands' is
  GR_PADDING_ROWS,       // the same, where what is padded is split along its first dimension: in the
                         // slices of another one rows do not begin where the whole's do
  GR_PADDING_ADDED,      // it splits, and fills up with zeros
  GR_PADDING_REMOVED,    // it puts slices together, and leaves out the padding of its mesh axis
} gr_padding;

enum { GR_MAX_INPLACE = 4 };  // outputs of one op that may be made in operands
typedef struct gr_sharding_rule gr_sharding_rule;
typedef struct gr_optimizer gr_optimizer;
struct gr_op {
  const char *name, *doc;
  int n_in, n_out;  // GR_ANY: infer says
  size_t attr_size;
  const gr_attr *attrs;  // ends with an empty one

  // Index notation, as in einsum: "mk,kn->mn"; "..." is any leading axes. It gives
  // shape inference, the legal shardings and the flop count at once. A lower-case
  // axis may be split over ranks, and one that is missing from the output is summed
  // over; an upper-case axis must be whole; '_' is whole and has a size of its own, which
  // infer gives (concatenations). index_spec_of: when it depends on attributes.
  const char *index_spec;
  void (*index_spec_of)(const gr_op_call *, char buf[128]);
  gr_status (*infer)(gr_op_call *);  // what the notation cannot say: dtypes, convolution sizes
  gr_status (*sharding_rules)(const gr_op_call *, gr_sharding_rule *,
                              int *out_n);  // shardings it cannot say
  int64_t (*flops)(
      const gr_op_call *);  // where the notation says too much: gathers, windows, loops
  // Attributes that hold sizes, as they are for one rank's part; out is the layout of result 0.
  void (*localize)(void *attr, const gr_layout *out, const gr_mesh *);

  void (*grad)(const gr_grad *);  // NULL: no gradient flows through
  // Emits the op with more results, after its own, for grad to use. NULL: it needs none.
  gr_val (*save_for_backward)(gr_builder *, const gr_node *, const gr_val *in, const bool *want);
  gr_padding padding;
  bool collective;      // ranks meet here: not in a scan, whose steps nobody schedules
  bool linear;          // f(a)+f(b) = f(a+b): partial sums may pass through
  bool random;          // draws from its stream: never merged across streams, kept apart by stream
  const char *formula;  // pointwise ops: a scalar expression in x0, x1, ... valid in C and CUDA C
  int8_t inplace[GR_MAX_INPLACE];  // by output: 1 + the operand whose memory it may take, or 0
  bool inplace_each;               // output i may take operand i, of as many as there are

  // cpu: the reference, plain loops in the order of the mathematics, any dtype, accumulating
  // in double. fast: a quicker kernel for this site, or NULL when it has none for it.
  gr_kernel cpu, cuda;  // cuda: no op has one so far
  gr_kernel (*fast)(const gr_op_call *);
  size_t (*scratch)(const gr_op_call *);  // bytes of working memory either kernel needs
  const gr_case *cases;                   // ends with an empty case
  const gr_optimizer *optimizer;          // of an optimizer: its states (ops/optim/optim.h)
};

// The operand in whose memory output k may be made, as far as the op's kernels are concerned: they
// read each element of it before they write there. -1: none.
int gr_op_inplace(const gr_op *, int k);
GR_MUST_USE gr_status gr_op_infer(gr_op_call *);
// The op's own count, or multiply-adds x 2 by the notation: the product of all its axes' sizes, x 2
// when it contracts, else one for each element.
int64_t gr_op_flops(const gr_op_call *);
int64_t gr_graph_flops(const gr_graph *);  // of all nodes but collectives, loops with their steps

// ---- Attributes as text (attr.c): what YAML, IR text and docs share -------------------
// Sets every field that has a preset; those that must be given stay zero.
void gr_attr_defaults(const gr_op *, void *attr);
// Parses one field's text ("3", "1e-5", "[0,2,1]", "mean"); loc is for the error.
GR_MUST_USE gr_status gr_attr_parse(const gr_op *, const gr_attr *, const char *text, gr_loc,
                                    void *attr);
void gr_attr_text(gr_text *, const gr_attr *, const void *attr);        // not for graphs
bool gr_attr_same(const gr_op *, const void *attr, const void *other);  // bodies by content

// ---- Reverse mode (reverse.c): of whole graphs, and of a scan's body -----------------
void gr_mark_dependents(const gr_graph *, bool *want);  // adds what depends on wanted values
// Adds what live values are computed from, but for what the values of `given` (or NULL) are.
void gr_mark_live(const gr_graph *, bool *live, const bool *given);
// By value: what the loss, the results and the states' next values need.
bool *gr_graph_live(const gr_graph *);
// gr_emit_copy, by way of op->keep where a gradient will flow.
gr_val gr_emit_with_residuals(gr_builder *, const gr_node *, gr_val *map, const bool *want);
void gr_accumulate_grad(gr_builder *, const gr_op *add, gr_val *sum, gr_val dx);
// Applies the rules of g's nodes, last to first. g's value v is here[v] in the builder's
// graph; grads[v], likewise there, holds what flows into v from outside, and then all.
GR_MUST_USE gr_status gr_backward(gr_builder *, const gr_op *add, const gr_graph *g,
                                  const gr_val *here, const bool *want, gr_val *grads);

// One way to split an op over one mesh axis: a layout for each input and output.
struct gr_sharding_rule {
  gr_axis_placement in[GR_MAX_ARGS], out[GR_MAX_ARGS];
};
enum { GR_MAX_SHARDING_RULES = 16, GR_ANY = -1 };
GR_MUST_USE gr_status gr_op_sharding_rules(const gr_op_call *,
                                           gr_sharding_rule rules[GR_MAX_SHARDING_RULES],
                                           int *out_n);  // sigs[0] is all-R

// What "..." says of an op: an operand that has it takes any leading axes. If just the
// operands that differ from step to step have it, then all steps can run as one:
typedef enum gr_lead {
  GR_LEAD_NO,    // no: another step's operands would have to be leading axes elsewhere
  GR_LEAD_LIFT,  // the output has it too: "...mk,kn->...mn" gives all steps' outputs, stacked
  GR_LEAD_SUM,   // the output lacks it: "...km,...kn->mn" gives the sum of all steps' outputs
} gr_lead;
gr_lead gr_op_lead(const gr_op_call *, const bool differs[]);
bool gr_op_contracts(const gr_op_call *);  // an axis goes: the work is more than the traffic
static inline bool gr_op_has_body(const gr_op *op) {
  for (const gr_attr *a = op->attrs; a && a->name; a++)
    if (a->kind == GR_ATTR_GRAPH) return true;
  return false;
}
