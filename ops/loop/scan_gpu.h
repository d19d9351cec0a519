// scan_gpu.h - what the two files share that write the kernel of a loop: scan_gpu.c decides, and
// scan_gpu_text.c writes.
#pragma once
#include "base/text.h"
#include "ops/kernels/fused.h"
#include "ops/kernels/gpu.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

enum { GR_SCAN_THREADS = 256 };  // of a block

typedef struct gr_scan_writer {
  const gr_op_call *call;
  const gr_scan *s;
  const gr_graph *g;
  gr_arena *arena;
  gr_text text;
  const gr_gpu_gemm **product;  // by node, or NULL
  int *level;                   // by node
  int levels;
  bool *crosses;  // by value: it is read on another level, or after the step
  int *stack;     // by value: 1 + the yield that it is, or 0
  size_t *place;  // by value that is kept and is no yield, and by carry: bytes into working memory
  size_t *held;   // by node: floats into shared memory, 1 more; 0: its matrix is not held
  size_t scratch, floats;
  int blocks, processors;
} gr_scan_writer;

// A value of the body.
static inline const gr_type *type_of(const gr_scan_writer *w, gr_val v) {
  return &gr_at(w->g, v)->type;
}

// The product that a node is, in the words of its own description; NULL: it is elementwise.
static inline const gr_gpu_gemm *product_of(const gr_scan_writer *w, const gr_node *n) {
  return w->product[n - w->g->nodes];
}

// Whether an elementwise node reads an operand at the element that it makes, of equal sizes.
static inline bool reads_in_place(const gr_scan_writer *w, const gr_node *n, int k) {
  return !product_of(w, n) && gr_fused_is_like(type_of(w, n->in[k]), type_of(w, n->out));
}

// Appends the kernel `loop` and the device functions of the elementwise nodes.
void gr_scan_write_kernel(gr_scan_writer *);
