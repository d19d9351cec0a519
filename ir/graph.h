// graph.h - the one data structure all passes read and write.
//
// A graph is a list of nodes in an order in which they can run: a node only uses
// values made before it. There is no other order, no use list and no mutation: a
// pass reads one graph front to back and emits a new one through a builder.
// Before sharding, types are global; after it, they are what one rank holds.
#pragma once
#include "base/base.h"

// An op has a handful of arguments; a scan has one for each weight its body reads.
enum { GR_MAX_RANK = 6, GR_MAX_ARGS = 64, GR_MAX_MESH = 3 };

// ---- Types ------------------------------------------------------------------

typedef enum gr_dtype { GR_F32, GR_F64, GR_BF16, GR_I32, GR_I64, GR_U8, GR_DTYPE_COUNT } gr_dtype;
extern const struct gr_dtype_info {
  const char *name;
  uint8_t size;
  bool is_float;
} gr_dtypes[GR_DTYPE_COUNT];

typedef struct gr_type {
  gr_dtype dtype;
  int rank;
  int64_t dim[GR_MAX_RANK];
} gr_type;

int64_t gr_type_count(const gr_type *);
size_t gr_type_bytes(const gr_type *);
// Sizes whose product fits in memory that could exist: 2^40 numbers, so that sums over all values
// of a graph cannot overflow either. The two above are for such types only.
bool gr_type_possible(const gr_type *);
bool gr_type_same(const gr_type *, const gr_type *);
GR_MUST_USE gr_status gr_type_parse(const char *text, gr_type *out);  // "f32[4,7]"
const char *gr_type_text(const gr_type *, char buf[96]);

// ---- Layouts ----------------------------------------------------------------
// How a value lies on the device mesh: one letter for each mesh axis. R: every
// rank of the axis holds all of it. A dimension d >= 0: rank i holds slice i of d.
// P: every rank holds a term, and the value is the sum of the terms.
//
// A dimension that the ranks do not divide is split into slices of ceil(size / ranks), so that
// every rank runs the same program. The last slices are then short, and `pad` says by how much
// all together. A short slice is stored densely from the start of its memory; zeros fill the
// rest. Only ops that say so (gr_op.padding_safe) may read such a value.

typedef int8_t gr_axis_placement;
enum { GR_REPLICATE = -1, GR_PARTIAL = -2 };
typedef struct gr_layout {
  gr_axis_placement at[GR_MAX_MESH];
  int32_t pad[GR_MAX_MESH];  // of local types: ranks * size of a slice - size of the whole
} gr_layout;
typedef struct gr_mesh {
  int n_axes;
  struct {
    const char *name;
    int size;
  } axis[GR_MAX_MESH];
} gr_mesh;
extern const gr_layout gr_layout_replicated;  // R on every axis
bool gr_layout_same(const gr_layout *, const gr_layout *);
bool gr_layout_is_padded(const gr_layout *);
// The layout l of a value of type `whole`, with its padding.
gr_layout gr_layout_of(const gr_type *whole, gr_layout l, const gr_mesh *);
gr_type gr_type_local(const gr_type *whole, const gr_layout *, const gr_mesh *);   // one rank's
gr_type gr_type_global(const gr_type *local, const gr_layout *, const gr_mesh *);  // and back
// What a rank's slice holds of the whole, by dimension: [from, from + size). Padding is not in it;
// of the last ranks' slices there may be nothing left (size 0).
void gr_layout_slice(const gr_type *whole, const gr_layout *, const gr_mesh *, int rank,
                     int64_t from[], int64_t size[]);
int gr_mesh_ranks(const gr_mesh *);                      // the product of the sizes
int gr_mesh_coord(const gr_mesh *, int rank, int axis);  // the last axis varies fastest
// The ranks that differ from `rank` in no coordinate but that of `axis`: n of them, from `first`
// on in steps of `stride`, by their coordinate. They share a communicator.
typedef struct gr_mesh_group {
  int first, stride, n;
} gr_mesh_group;
gr_mesh_group gr_mesh_group_of(const gr_mesh *, int rank, int axis);

// ---- Values, nodes, graphs --------------------------------------------------

typedef struct gr_val {
  uint32_t id;
} gr_val;  // wrapped: a value is not a node is not an int
#define GR_NONE ((gr_val){0})
static inline bool gr_is(gr_val v) { return v.id != 0; }

typedef enum gr_role {
  GR_TEMP,   // made and used within a step
  GR_INPUT,  // filled by the loader (or by the loop: "lr") before each step
  GR_STATE,  // lives from step to step and, but for totals, is checkpointed
} gr_role;

typedef enum gr_kind {  // of a state; memory is reported by kind
  GR_KIND_WEIGHT,       // trained
  GR_KIND_BUFFER,       // fixed, or changed by the forward pass (an LMU's A, running statistics)
  GR_KIND_MOMENT,       // the optimizer's
  GR_KIND_COUNTER,      // step numbers, loss scales
  GR_KIND_GRAD_ACCUMULATOR,  // of the micro-steps of a step: begun anew by the first of each
  GR_KIND_COUNT,
} gr_kind;

typedef struct gr_value {
  gr_type type;
  gr_layout layout;
  gr_role role;
  gr_kind kind;      // of a state
  const char *name;  // of inputs and states
  uint32_t node;     // index of the maker; for inputs and states, meaningless
  gr_val grad;       // weights: d loss / d this, once autodiff has run
  gr_val next;       // states: the value this one takes when the step ends
  gr_loc loc;        // inputs and states: where the user wrote them
} gr_value;

typedef struct gr_op gr_op;
typedef struct gr_node {
  const gr_op *op;
  const void *attr;  // op->attr_size bytes, immutable, may be shared
  int n_in, n_out;
  const gr_val *in;
  gr_val out;              // outputs are consecutive: out, out + 1, ...
  gr_loc loc;              // the YAML line this came from, through every pass
  const char *scope;       // "encoder.2.attention", or NULL: where in the model
  const char *created_by;  // the pass that made it
} gr_node;

typedef struct gr_graph {
  gr_arena *arena;
  gr_mesh mesh;
  gr_node *nodes;
  uint32_t n_nodes, cap_nodes;
  gr_value *values;
  uint32_t n_values, cap_values;  // values[0] is GR_NONE
  gr_val loss;              // a scalar: the sum of weighted terms that autodiff differentiates
  gr_val loss_denominator;  // a scalar: the sum of weights that loss and gradients are divided by,
                            // or none
  gr_val *results;          // what else is asked of the graph; of a scan's body: its yields
  const char **result_names;  // n_results of them; of a body: NULL
  uint32_t n_results;
  uint32_t *hash_slots, n_hash_slots;  // hash-consing: chains through nodes (graph.c)
} gr_graph;

gr_graph *gr_graph_create(gr_arena *, const gr_mesh *);
// Makes room for so many values and nodes, so that a graph of known size is not grown in steps.
void gr_graph_reserve(gr_graph *, uint32_t values, uint32_t nodes);
// A copy that shares nothing with the original but ops, the names of passes and files.
gr_graph *gr_graph_copy(gr_arena *, const gr_graph *);
static inline gr_value *gr_at(const gr_graph *g, gr_val v) { return &g->values[v.id]; }
static inline gr_val gr_out(const gr_node *n, int i) { return (gr_val){n->out.id + (uint32_t)i}; }
static inline bool gr_any_out(const gr_node *n, const bool *set) {  // is a result in the set?
  for (int i = 0; i < n->n_out; i++)
    if (set[gr_out(n, i).id]) return true;
  return false;
}
bool gr_graph_same(const gr_graph *, const gr_graph *);  // built alike, step by step; names aside
uint32_t gr_graph_leaves(const gr_graph *);  // values 1 to this are leaves (of a body: all leaves)
gr_val gr_graph_leaf(const gr_graph *, gr_role, const char *name);  // GR_NONE: there is none
gr_val gr_graph_result(const gr_graph *, const char *name);         // GR_NONE: there is none

// ---- Building ---------------------------------------------------------------
// The first error sticks to the builder and later calls do nothing, so rules read
// as formulas and the error is looked at once, at the end.

typedef struct gr_builder {
  gr_graph *g;
  gr_status err;
  gr_loc loc;
  const char *scope;
  const char *created_by;
  const char *const *names;  // what the user calls the operands of the next op; NULL: nothing
} gr_builder;

gr_val gr_leaf(gr_builder *, gr_role, gr_kind, const char *name, gr_type, gr_layout);
gr_val gr_emit(gr_builder *, const gr_op *, const void *attr, int n_in, const gr_val *in);
gr_val gr_emit_copy(gr_builder *, const gr_node *, gr_val *map);  // on mapped inputs; maps outputs
void gr_result(gr_builder *, const char *name, gr_val);           // asks for a value (or a yield)
#define GR_EMIT(b, op, attr, ...)                                               \
  gr_emit(b, op, attr, (int)(sizeof((gr_val[]){__VA_ARGS__}) / sizeof(gr_val)), \
          (gr_val[]){__VA_ARGS__})
