// onnx.h - a graph of ONNX under construction (github.com/onnx/onnx: docs/IR.md,
// docs/Operators.md), which ops write themselves to. compiler/onnx has what calls them, and what
// makes a file of it.
//
// An op says how it is written in its descriptor, in one of three ways:
//
//   formula   of a pointwise op: nothing more to say, the nodes follow from its text
//   onnx      a row: the node of ONNX and its attributes, "LayerNormalization axis=-1
//   epsilon=$eps",
//             where $eps is the op's attribute of that name; operands and results are the op's
//   to_onnx   a function, which emits nodes by what is declared here
//
// Sizes that differ between uses of the exported model, such as that of the batch, are not known
// while it is written. A call is therefore given for several sizes of each: where they all have the
// same number it is a constant, elsewhere nodes compute it (gr_onnx_out_size).
#pragma once
#include "base/text.h"
#include "ir/op.h"

enum { GR_ONNX_OPSET = 20, GR_ONNX_IR = 9 };
// TensorProto.DataType, of dtypes that gr_dtype has and of those that only nodes in between have.
enum { GR_ONNX_I64 = 7, GR_ONNX_BOOL = 9 };
int gr_onnx_dtype(gr_dtype);  // as that number

typedef struct gr_onnx_graph gr_onnx_graph;
typedef enum gr_onnx_kind {
  GR_ONNX_INT,
  GR_ONNX_FLOAT,
  GR_ONNX_TEXT,
  GR_ONNX_INTS,
  GR_ONNX_GRAPH,
  GR_ONNX_TENSOR,  // of files that are read, as the next
  GR_ONNX_OTHER
} gr_onnx_kind;
// A constant: a weight, or a number that nodes read.
typedef struct gr_onnx_tensor {
  const char *name;
  gr_type type;
  const void *data;
  bool constant;          // the file says that it is no parameter
  const gr_value *state;  // of a model that is written: whose elements it has; `data` is NULL then
  struct gr_onnx_tensor *next;
} gr_onnx_tensor;
typedef struct gr_onnx_attr {
  const char *name;
  gr_onnx_kind kind;
  int64_t i;
  double f;
  const char *text;
  const int64_t *ints;  // i of them
  gr_onnx_graph *graph;
  const gr_onnx_tensor *tensor;
} gr_onnx_attr;
enum { GR_ONNX_ATTRS = 12 };
typedef struct gr_onnx_node {
  const char *op, *name;
  const char **in, **out;  // names of values; "": an operand that is left out
  int n_in, n_out, n_attrs;
  gr_onnx_attr attr[GR_ONNX_ATTRS];
  struct gr_onnx_node *next;
} gr_onnx_node;

// An input or output: a size that is -1 has the name `letter`, or none.
typedef struct gr_onnx_value {
  const char *name;
  gr_type type;
  const char *letter[GR_MAX_RANK];
  struct gr_onnx_value *next;
} gr_onnx_value;

// The main graph, or the body of a loop in it, which may read values of the graphs around it. All
// constants are the main graph's.
struct gr_onnx_graph {
  gr_arena *arena;
  gr_onnx_graph *outer;  // NULL: the main graph
  const char *name;
  gr_onnx_node *nodes, *last_node;
  gr_onnx_value *inputs, *last_input, *outputs, *last_output;
  gr_onnx_tensor *tensors, *last_tensor;
  int n_nodes, n_inputs, n_outputs, n_tensors;
  gr_map *names;  // of constants by what they hold; of the main graph
  gr_map *taken;  // names that no node may have: of inputs, outputs and weights; of the main graph
  int *counter;   // of names, of all graphs
};
// An empty graph; outer: that it is the body of a node in, or NULL.
gr_onnx_graph *gr_onnx_graph_create(gr_arena *, gr_onnx_graph *outer, const char *name);
// Appends an input, and an output. Strings and data are borrowed.
gr_onnx_value *gr_onnx_input(gr_onnx_graph *, const char *name, const gr_type *);
gr_onnx_value *gr_onnx_output(gr_onnx_graph *, const char *name,
                              const gr_type *);  // likewise
// Adds a constant, which is the main graph's, whichever is given.
void gr_onnx_tensor_add(gr_onnx_graph *, const char *name, const gr_type *, const void *data);

// ---- Writing an op ------------------------------------------------------------------------------

// A call of an op that is written. It sets out[k] to the names of the op's results.
struct gr_onnx_call {
  gr_onnx_graph *graph;           // that gets the nodes
  const char *scope;              // path in the model that names begin with, or NULL
  const gr_op_call *const *call;  // n_calls: the call with every choice of sizes
  int n_calls;
  const char *const *in;  // names of the operands
  const char **out;
  gr_status err;  // the first error; later calls do nothing then
  const struct gr_onnx_writer *writer;
};
// What writes the graph that the call is in.
typedef struct gr_onnx_writer {
  // A 1-D i64 tensor of one element: the size that has these numbers, by choice. NULL: no value has
  // such a size.
  const char *(*size)(const struct gr_onnx_writer *, gr_onnx_call *, const int64_t *sizes);
  // Writes the nodes of the call's body to `to`; leaf[v] is the name of leaf v. Returns the names
  // of its values by id.
  const char **(*body)(const struct gr_onnx_writer *, gr_onnx_call *, gr_onnx_graph *to,
                       const char *const *leaf);
} gr_onnx_writer;

// Writes a call, by what its op says; GR_ERR_UNSUPPORTED if that is nothing. And whether it is not.
GR_MUST_USE gr_status gr_onnx_write_call(gr_onnx_call *);
bool gr_onnx_has(const gr_op *);  // it is something
// The nodes of a formula; returns its value.
const char *gr_onnx_formula(gr_onnx_call *, const char *formula);
// For functions: fails with GR_ERR_UNSUPPORTED, at the op's place in the model.
void gr_onnx_refuse(gr_onnx_call *, const char *why);

// A name that no other value has.
const char *gr_onnx_name(gr_onnx_call *, const char *word);
// Appends a node with one result, and returns that. Names of operands may be NULL after an error.
const char *gr_onnx_emit(gr_onnx_call *, const char *op, int n_in, const char *const *in);
// Appends a node with several results, whose names it sets.
void gr_onnx_results(gr_onnx_call *, const char *op, int n_in, const char *const *in, int n_out,
                     const char **out);
#define GR_ONNX(c, op, ...)                                                          \
  gr_onnx_emit(c, op, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), \
               (const char *[]){__VA_ARGS__})
// Sets an attribute of the node that was appended last, as the four below. What they point to is
// copied.
void gr_onnx_int(gr_onnx_call *, const char *name, int64_t);
void gr_onnx_float(gr_onnx_call *, const char *name, double);                 // a number
void gr_onnx_text(gr_onnx_call *, const char *name, const char *);            // a string
void gr_onnx_ints(gr_onnx_call *, const char *name, int n, const int64_t *);  // n integers
void gr_onnx_body(gr_onnx_call *, const char *name, gr_onnx_graph *);         // a graph

// A constant: a number of that dtype as a scalar.
const char *gr_onnx_number(gr_onnx_call *, gr_dtype, double);
const char *gr_onnx_vector(gr_onnx_call *, int n, const int64_t *);        // of i64
const char *gr_onnx_array(gr_onnx_call *, const gr_type *, const void *);  // copied
const char *gr_onnx_cast(gr_onnx_call *, const char *x, int dtype);  // to a TensorProto.DataType
// Permutes axes, as op transpose does.
const char *gr_onnx_transpose(gr_onnx_call *, const char *x, int rank, const int64_t *perm);

// A number of a call: of its attributes, or a size.
typedef int64_t (*gr_onnx_number_of)(const gr_op_call *, int);
// Whether it is the same in all choices.
bool gr_onnx_is_fixed(const gr_onnx_call *, gr_onnx_number_of, int which);
// A vector of one element: that number, or nodes that compute it from what is there.
const char *gr_onnx_size(gr_onnx_call *, gr_onnx_number_of, int which);
// The sizes of operands and of results as such numbers: GR_ONNX_SIZE(k, d) is axis d of the k-th.
#define GR_ONNX_SIZE(k, d) ((k)*GR_MAX_RANK + (d))
int64_t gr_onnx_in_number(const gr_op_call *, int size);  // of operands
// The size of axis d of operand k as a vector, and that of result k.
const char *gr_onnx_in_size(gr_onnx_call *, int k, int d);
const char *gr_onnx_out_size(gr_onnx_call *, int k, int d);  // likewise
// The shape of result k as a vector. any: one size may be -1, which Reshape infers.
const char *gr_onnx_out_shape(gr_onnx_call *, int k, bool any);
