// scan_gpu.h - what the files share that write the kernel of a loop: scan_gpu.c decides which loops
// it takes, scan_gpu_memory.c what is kept where, scan_gpu_order.c what waits for what, and
// scan_gpu_text.c and scan_gpu_kernel.c write the text.
#pragma once
#include "base/text.h"
#include "ops/kernels/fused.h"
#include "ops/kernels/gpu.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

enum { GR_SCAN_THREADS = 256, GR_SCAN_WARPS = GR_SCAN_THREADS / 32 };  // of a block
// Groups of blocks, and bytes of working memory before the values: a counter for each group, in
// lines of its own.
enum { GR_SCAN_GROUPS = 16, GR_SCAN_COUNTER = 256, GR_SCAN_COUNTERS = 16 * 256 };

// A value of the body.
typedef struct gr_scan_value {
  int rows, columns;  // as a matrix: columns is the last axis
  bool replicated;    // all blocks of a group compute it, each for itself, in shared memory
  bool exchanged;     // blocks read what others have written
  bool stored;        // kept in memory: not only the thread that computes it reads it
  int stack;          // 1 + the yield whose memory it has, or 0
  size_t place;       // bytes into working memory, or into shared memory if it is replicated
  size_t staged;      // 1 + bytes into shared memory, where a group's rows are copied for products
  int level;          // at whose beginning that is done
} gr_scan_value;

// A node of the body: when it runs, in this order.
typedef struct gr_scan_when {
  int level;  // between levels, blocks wait for each other
  bool late;  // it runs once the block has reported the level as done: no other block waits for it
  int sub;    // between these, the threads of a block wait for each other
} gr_scan_when;

typedef struct gr_scan_writer {
  const gr_op_call *call;
  const gr_scan *s;
  const gr_graph *g;
  gr_arena *arena;
  gr_text text;
  const gr_gpu_gemm **product;  // by node, or NULL
  gr_scan_value *value;         // by value
  gr_scan_when *when;           // by node
  size_t *held;  // by node: 1 + bytes into shared memory of its constant matrix's columns, or 0
  bool *waits;   // by level: blocks wait for each other after it
  int levels;
  bool rowwise;                // rows of values depend on no other rows: groups share them out
  int groups, blocks, rows;    // blocks and rows: of a group
  int processors;              // of the GPU
  size_t most_shared, shared;  // bytes of shared memory: of the GPU, and used
  size_t scratch;
} gr_scan_writer;

// The type of a value of the body.
static inline const gr_type *type_of(const gr_scan_writer *w, gr_val v) {
  return &gr_at(w->g, v)->type;
}
// Bytes of an element of a value.
static inline size_t gr_scan_size(const gr_scan_writer *w, gr_val v) {
  return (size_t)gr_dtypes[type_of(w, v)->dtype].size;
}

// The product that a node is, in the words of its own description; NULL: it is elementwise.
static inline const gr_gpu_gemm *product_of(const gr_scan_writer *w, const gr_node *n) {
  return w->product[n - w->g->nodes];
}
// When a node of the body runs; to be read only after gr_scan_order has set it.
static inline gr_scan_when *when_of(const gr_scan_writer *w, const gr_node *n) {
  return &w->when[n - w->g->nodes];
}

// Whether a node repeats an operand along the last axis: a leaf with a number for each row, such as
// what says which rows a step is beyond the length of.
static inline bool reads_row(const gr_scan_writer *w, const gr_node *n, int k) {
  const gr_type *t = type_of(w, n->in[k]), *out = type_of(w, n->out);
  if (gr_at(w->g, n->in[k])->role != GR_INPUT || t->rank != 1 || out->rank != 2) return false;
  return n->op == &gr_op_broadcast
             ? gr_broadcast_axis(n) == 1
             : n->op == &gr_op_fused && gr_fused_kind_of(t, out) == GR_FUSED_LEAD;
}

// Whether an elementwise node reads an operand at the element that it makes, of equal sizes.
static inline bool reads_in_place(const gr_scan_writer *w, const gr_node *n, int k) {
  return !product_of(w, n) && gr_fused_is_like(type_of(w, n->in[k]), type_of(w, n->out));
}

// Whether a value is the same in all steps: an operand that is not a sequence.
static inline bool is_constant(const gr_scan_writer *w, gr_val v) {
  return gr_at(w->g, v)->role == GR_INPUT && !gr_scan_is_seq(w->s, v.id);
}
// Whether the kernel writes a value: a carry or a node's result, not an operand.
static inline bool is_written(const gr_scan_writer *w, gr_val v) {
  return gr_at(w->g, v)->role != GR_INPUT;
}

// Whether a node's operand is written by other blocks than those that run the node.
static inline bool is_exchange(const gr_scan_writer *w, const gr_node *n, int k) {
  return is_written(w, n->in[k]) && !reads_in_place(w, n, k) && !w->value[n->in[k].id].replicated;
}

// Rows of a value that a block computes: its group's, if groups share rows out; else all.
static inline int gr_scan_rows(const gr_scan_writer *w, gr_val v) {
  return w->rowwise ? w->rows : w->value[v.id].rows;
}
// Columns of a value that a block computes: all if each computes it for itself, else its share of
// them, rounded up.
static inline int gr_scan_columns(const gr_scan_writer *w, gr_val v) {
  const gr_scan_value *x = &w->value[v.id];
  return x->replicated ? x->columns : (x->columns + w->blocks - 1) / w->blocks;
}

// Divides rows and columns over blocks, and gives values and matrices their places.
void gr_scan_divide(gr_scan_writer *);
// The most bytes of working memory that gr_scan_divide asks for on any GPU: the values that every
// block computes for itself depend on how many blocks there are, and are stored where they do not.
size_t gr_scan_most_scratch(const gr_scan_writer *);
// Says when each node runs, after which levels blocks wait, and which values are stored.
void gr_scan_order(gr_scan_writer *);
// How many times in a step blocks wait for each other.
int gr_scan_waits(const gr_scan_writer *);

// The text of a node (scan_gpu_text.c), in which
//
//   vN           the memory of the body's value N in this step
//   rN           the element of value N that this thread computes
//   nextC        where the next value of carry C is written
//   row, column  of the element; at: its index in the value

// The device functions that the text of elementwise nodes calls, `nodeN` for the result N.
void gr_scan_put_functions(gr_scan_writer *);
// Declares rN and computes it as an element of a product; a warp computes a tile of so many
// elements.
void gr_scan_put_product(gr_scan_writer *, const gr_node *, int tile_rows, int tile_columns);
// Declares rN of each result of an elementwise node and computes it from the operands' elements,
// rounded to the result's type.
void gr_scan_put_elementwise(gr_scan_writer *, const gr_node *);
// Stores an element of a node's result, or of a leaf, where it is needed: value, yields, the
// carries' next values.
void gr_scan_put_stores(gr_scan_writer *, gr_val, const char *indent);
// The element of a value at an index, which is C text too.
const char *gr_scan_element(gr_scan_writer *, gr_val, const char *index);
// Begins a loop of a block's threads over its elements of a value.
void gr_scan_put_elements(gr_scan_writer *, gr_val);
// The whole text (scan_gpu_kernel.c).
void gr_scan_write_kernel(gr_scan_writer *);
