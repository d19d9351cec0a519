// graph.h - the IR: the data structure that every pass reads and writes.
//
// A graph is a list of nodes in topological order: a node only uses values defined before it.
// There is no other order, no use list and no mutation: a pass reads one graph front to back and
// emits a new one through a builder. Before the shard pass types are global shapes; after it they
// are the shapes of one rank's part.
#pragma once
#include <assert.h>
#include "base/base.h"
#include "base/map.h"

// Most ops have a handful of operands; a scan has one for each weight its body reads.
enum { GR_MAX_RANK = 6, GR_MAX_ARGS = 128, GR_MAX_MESH = 3 };

// ---- Types ------------------------------------------------------------------

// bf16: bfloat16, the upper half of an f32. f16: IEEE 754 binary16. Both are stored, and computed
// with in f32: "narrow" means either of them.
typedef enum gr_dtype {
  GR_F32,
  GR_F64,
  GR_BF16,
  GR_F16,
  GR_I32,
  GR_I64,
  GR_U8,
  GR_DTYPE_COUNT
} gr_dtype;
extern const struct gr_dtype_info {
  const char *name;
  uint8_t size;
  bool is_float;
} gr_dtypes[GR_DTYPE_COUNT];
// 16 bits, computed in f32.
static inline bool gr_is_narrow(gr_dtype d) { return d == GR_BF16 || d == GR_F16; }
// The dtype that a value is computed in: f32 for a narrow one, else its own.
static inline gr_dtype gr_widened(gr_dtype d) { return gr_is_narrow(d) ? GR_F32 : d; }

typedef struct gr_type {
  gr_dtype dtype;
  int rank;
  int64_t dim[GR_MAX_RANK];
} gr_type;

// Whether the type has at most 2^40 elements, so that neither its size nor the sum over all values
// of a graph overflows. gr_type_count (elements) and gr_type_bytes require such a type.
bool gr_type_possible(const gr_type *);
int64_t gr_type_count(const gr_type *);         // elements; 1 for a scalar
size_t gr_type_bytes(const gr_type *);          // of all elements
size_t gr_types_bytes(const gr_type *, int n);  // of n types together
// The same dtype and dimensions. Asked of every value of every graph: inlined.
static inline bool gr_type_same(const gr_type *a, const gr_type *b) {
  bool same = a->dtype == b->dtype && a->rank == b->rank;
  for (int i = 0; same && i < a->rank; i++) same = a->dim[i] == b->dim[i];
  return same;
}
// Text such as "f32[4,7]"; sizes are at least 1. Parsing fails with GR_ERR_TYPE; gr_type_text
// writes to buf and returns it.
GR_MUST_USE gr_status gr_type_parse(const char *text, gr_type *out);
// Writes the text to `buf` and returns it.
const char *gr_type_text(const gr_type *, char buf[96]);

// ---- Layouts ----------------------------------------------------------------
// How a value is placed on the device mesh, one placement per mesh axis (as in PyTorch's DTensor
// and in GSPMD). Replicate: every rank of the axis holds the whole value. Shard(d), a dimension
// d >= 0: rank i holds slice i of dimension d. Partial: every rank holds a partial sum, and the
// value is the sum over the ranks.
//
// A dimension that the number of ranks does not divide is split into slices of
// ceil(size / ranks), so that every rank runs the same program. The last slices are then short, and
// `pad` is their total shortfall. A short slice is stored densely from the start of its memory;
// zeros fill the rest. Only ops that declare it (gr_op.padding) may read such a value.

typedef int8_t gr_axis_placement;
enum { GR_REPLICATE = -1, GR_PARTIAL = -2 };
typedef struct gr_layout {
  gr_axis_placement placement[GR_MAX_MESH];
  int32_t pad[GR_MAX_MESH];  // ranks * slice size - global size; 0 unless sharded unevenly
} gr_layout;
typedef struct gr_mesh {
  int n_axes;
  struct {
    const char *name;
    int size;
  } axis[GR_MAX_MESH];
} gr_mesh;
extern const gr_layout gr_layout_replicated;                // Replicate on every axis
bool gr_layout_same(const gr_layout *, const gr_layout *);  // on every axis, padding included
// Padded on some axis. Most are not, and it is asked of every value: inlined.
static inline bool gr_layout_is_padded(const gr_layout *l) {
  _Static_assert(GR_MAX_MESH == 3, "all axes are looked at");
  return l->pad[0] | l->pad[1] | l->pad[2];
}
// Whether it is a partial sum over some axis of the mesh.
bool gr_layout_is_partial(const gr_layout *, const gr_mesh *);
// The layout l with `pad` set for a value of global type `whole`.
gr_layout gr_layout_of(const gr_type *whole, gr_layout l, const gr_mesh *);
// Converts between a value's global type and that of one rank's part, padding included.
gr_type gr_type_local(const gr_type *whole, const gr_layout *, const gr_mesh *);
gr_type gr_type_global(const gr_type *local, const gr_layout *, const gr_mesh *);  // the inverse
// The part of the global value that a rank's slice holds: [from, from + size) in each dimension,
// without padding. The last ranks' slices may be empty (size 0).
void gr_layout_slice(const gr_type *whole, const gr_layout *, const gr_mesh *, int rank,
                     int64_t offset[], int64_t size[]);
// Of canonical numerics: an axis without ranks of its own. Every rank runs a program once for each
// of its coordinates, one after the other (passes/virtual_shards.c).
#define GR_VIRTUAL_AXIS "virtual"
int gr_mesh_axis(const gr_mesh *, const char *name);     // the index of an axis, or -1
int gr_mesh_virtual(const gr_mesh *);                    // of that one
int gr_mesh_ranks(const gr_mesh *);                      // product of the sizes of all other axes
int gr_mesh_coord(const gr_mesh *, int rank, int axis);  // row-major: the last axis varies fastest
// The ranks that differ from `rank` at most in their coordinate on `axis`, in the order of that
// coordinate: n ranks, first, first + stride, ... They share a communicator.
typedef struct gr_mesh_group {
  int first, stride, n;
} gr_mesh_group;
gr_mesh_group gr_mesh_group_of(const gr_mesh *, int rank, int axis);  // that `rank` is in

// ---- Values, nodes, graphs --------------------------------------------------

typedef struct gr_val {
  uint32_t id;
} gr_val;  // a struct, so that the compiler tells value ids from node indices and ints
#define GR_NONE ((gr_val){0})
static inline bool gr_is(gr_val v) { return v.id != 0; }  // v is not GR_NONE

typedef enum gr_role {
  GR_TEMP,   // computed by a node, used within a step
  GR_INPUT,  // set by the loader (or by the training loop: "lr") before each step
  GR_STATE,  // persists from step to step; checkpointed, except tables and gradient accumulators
} gr_role;

typedef enum gr_kind {  // of a state; memory is reported by kind
  GR_KIND_WEIGHT,       // trained parameter
  GR_KIND_BUFFER,       // constant, or updated by the forward pass (an LMU's A, running statistics)
  GR_KIND_MOMENT,       // optimizer state
  GR_KIND_EMA,          // exponential moving average of a weight
  GR_KIND_COUNTER,      // step numbers, loss scales
  GR_KIND_TABLE,        // constant of the data set: set when a run begins, not checkpointed
  GR_KIND_GRAD_ACCUMULATOR,  // sum over a step's micro-batches; reset at the first of them
  GR_KIND_COUNT,
} gr_kind;

typedef struct gr_value {
  gr_type type;
  gr_layout layout;
  gr_role role;
  gr_kind kind;        // of a state
  const char *name;    // of inputs and states
  const char *copies;  // initial values: the state that this one starts as; NULL: it has a value
  uint32_t node;       // index of the defining node; unused for inputs and states
  gr_val grad;         // weights: d loss / d weight, set by autodiff
  gr_val next;         // states: the value that replaces this one when the step ends
  gr_loc loc;          // inputs and states: their place in the user's YAML
} gr_value;

typedef struct gr_op gr_op;
typedef struct gr_node {
  const gr_op *op;
  const void *attr;  // op->attr_size bytes, immutable, may be shared
  int n_in, n_out;
  const gr_val *in;
  gr_val out;              // first of n_out consecutive values
  uint32_t attr_hash;      // by which equal nodes are found (build.c)
  gr_loc loc;              // the YAML line it stems from; every pass preserves it
  const char *scope;       // path in the model, "encoder.2.attention", or NULL
  const char *created_by;  // the pass that created it
} gr_node;

typedef struct gr_graph {
  gr_arena *arena;   // of attributes, names, bodies: what graphs made from this one share with it
  gr_arena *tables;  // of nodes, values and indices: what each graph has for itself
  gr_mesh mesh;
  gr_node *nodes;
  uint32_t n_nodes, cap_nodes;
  gr_value *values;
  uint32_t n_values, cap_values;  // values[0] is GR_NONE
  uint32_t leaves_end;            // all leaves are before this one
  gr_val loss;                    // a scalar: the weighted sum that autodiff differentiates
  gr_val loss_denominator;  // a scalar: the sum of weights that loss and gradients are divided by;
                            // GR_NONE: they are not divided
  gr_val *results;          // further outputs of the graph; of a scan's body: its yields
  const char **result_names;  // n_results of them; of a body: NULL
  uint32_t n_results;
  uint64_t *hash_slots;  // hash-consing of nodes (build.c)
  uint32_t n_hash_slots;
  gr_map leaves[GR_STATE + 1];  // by role: ids of leaves by name
  uint32_t n_indexed;           // the values before this one are in these maps, if leaves
} gr_graph;

// An empty graph, allocated in the arena like everything emitted into it. A NULL mesh has no axes.
gr_graph *gr_graph_create(gr_arena *, const gr_mesh *);
// The same with its tables, and the graph itself, in an arena that may end before the other.
gr_graph *gr_graph_create_in(gr_arena *tables, gr_arena *, const gr_mesh *);
// Allocates room for that many values and nodes, so that a graph of known size does not regrow.
void gr_graph_reserve(gr_graph *, uint32_t values, uint32_t nodes);
// A deep copy in another arena; shares only ops and the names of passes and files, which are
// constants or outlive every arena.
gr_graph *gr_graph_copy(gr_arena *, const gr_graph *);
// The graph with its tables in the arena that it shares with others, so that they live as long; it
// need not be copied if they are there. A node's attributes hold such bodies.
const gr_graph *gr_graph_settled(const gr_graph *);
// The value with an id; and a node's output i.
static inline gr_value *gr_at(const gr_graph *g, gr_val v) {
  assert(v.id < g->n_values);
  return &g->values[v.id];
}
// The node that makes a value; NULL: it is a leaf.
static inline const gr_node *gr_maker(const gr_graph *g, gr_val v) {
  const gr_value *value = gr_at(g, v);
  return value->role == GR_TEMP ? &g->nodes[value->node] : NULL;
}
// The place of the node that makes a value, or of the leaf that it is.
static inline gr_loc gr_loc_of(const gr_graph *g, gr_val v) {
  return gr_maker(g, v) ? gr_maker(g, v)->loc : gr_at(g, v)->loc;
}
// Whether a value is a weight: a state that is trained, unless it is frozen.
static inline bool gr_is_weight(const gr_value *v) {
  return v->role == GR_STATE && v->kind == GR_KIND_WEIGHT;
}
// I < n->n_out.
static inline gr_val gr_out(const gr_node *n, int i) {
  assert(i >= 0 && i < n->n_out);
  return (gr_val){n->out.id + (uint32_t)i};
}
// Bytes of a node's operands; `results`: and of its results.
static inline size_t gr_node_bytes(const gr_graph *g, const gr_node *n, bool results) {
  size_t bytes = 0;
  for (int k = 0; k < n->n_in; k++) bytes += gr_type_bytes(&gr_at(g, n->in[k])->type);
  for (int k = 0; results && k < n->n_out; k++)
    bytes += gr_type_bytes(&gr_at(g, gr_out(n, k))->type);
  return bytes;
}
// Whether any result of the node is in the set, which is indexed by value id.
static inline bool gr_any_out(const gr_node *n, const bool *set) {
  for (int i = 0; i < n->n_out; i++)
    if (set[gr_out(n, i).id]) return true;
  return false;
}
// set[] is indexed by value id; also sets it for what the graph itself reads: the loss, what it is
// divided by, the results and the states' next values.
void gr_mark_links(const gr_graph *, bool *set);
// The same for gradients.
void gr_mark_gradients(const gr_graph *, bool *set);
// Whether both graphs have equal leaves, nodes and results in the same order; names do not count.
bool gr_graph_same(const gr_graph *, const gr_graph *);
// Number of leading leaves: values 1 to this are leaves. In a scan's body these are all its leaves.
uint32_t gr_graph_leaves(const gr_graph *);
// The first of that name; GR_NONE: not found. Leaves are looked up in a map, which is made when it
// is first needed, unless they are few; results, which are few, one by one.
gr_val gr_graph_leaf(const gr_graph *, gr_role, const char *name);
gr_val gr_graph_result(const gr_graph *, const char *name);  // GR_NONE: there is none
// Whether a result's name begins so: "predict." or "sum.", say. In a body no result has a name.
bool gr_result_begins(const gr_graph *, uint32_t result, const char *prefix);
// Makes that map now, so that threads may look up leaves of one graph.
void gr_graph_index_leaves(gr_graph *);

// ---- Building ---------------------------------------------------------------
// The first error is kept in the builder and later calls do nothing and return GR_NONE, so rules
// read as formulas and the caller checks `err` once, at the end.

// The calls of a builder, in their order: for each the node that it gave, new or an equal one.
typedef struct gr_emit_call {
  uint32_t node;
  gr_loc loc;  // of the call
  const char *scope;
} gr_emit_call;
typedef struct gr_emit_log {
  gr_arena *arena;
  gr_emit_call *call;
  uint32_t n, cap;
} gr_emit_log;

typedef struct gr_builder {
  gr_graph *g;
  gr_status err;
  // What it emits is equal to no other node, as when those of a graph change places, and is not
  // looked for.
  bool distinct;
  gr_loc loc;  // given, like scope and created_by, to every emitted node
  const char *scope;
  const char *created_by;
  const char *const *names;  // the user's names of the next op's operands, for errors, or NULL
  gr_emit_log *log;          // takes down every call; or NULL
} gr_builder;

// Appends a leaf (GR_INPUT or GR_STATE). The name is borrowed for the life of the graph.
gr_val gr_leaf(gr_builder *, gr_role, gr_kind, const char *name, gr_type, gr_layout);
// Appends a node, after type inference, and returns its first output. An equal node that exists is
// returned instead (hash-consing). Attributes and inputs are copied. Sets b->err to GR_ERR_TYPE or
// GR_ERR_UNSUPPORTED if inference fails.
gr_val gr_emit(gr_builder *, const gr_op *, const void *attr, int n_in, const gr_val *in);
// Emits a node of another graph on map[] of its inputs, with its loc, scope and created_by, and
// sets map[] of its outputs. `map` is indexed by the other graph's value ids. Types are inferred
// again only if those of the inputs differ.
gr_val gr_emit_copy(gr_builder *, const gr_graph *of, const gr_node *, gr_val *map);
// Emits the op of a node of another graph on the inputs `in`. Types are inferred again only if
// theirs differ from those of the node's inputs.
gr_val gr_emit_same(gr_builder *, const gr_graph *of, const gr_node *, const gr_val *in);
// Copies all nodes of another graph to one that has only its leaves, under the same ids, if leaves
// come first there, and the graph has room (gr_graph_reserve) and shares its arena; else does
// nothing and returns false.
bool gr_graph_take_nodes(gr_graph *, const gr_graph *of);
// Appends a value to the graph's results; name is NULL in a body (a yield).
void gr_result(gr_builder *, const char *name, gr_val);
// gr_emit with the operands as arguments.
#define GR_EMIT(b, op, attr, ...)                                               \
  gr_emit(b, op, attr, (int)(sizeof((gr_val[]){__VA_ARGS__}) / sizeof(gr_val)), \
          (gr_val[]){__VA_ARGS__})
