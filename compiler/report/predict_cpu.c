// predict_cpu.c - how long a training step would take on one thread of a CPU, to compare one
// precision with another: counted from the plan, so that the same plan has the same figure.
//
// A product takes as long as its multiplications at the rate of its kind, and as converting its
// operands if they are narrow and the processor, or the kernel, multiplies in f32. Other ops take a
// time for each operation, in whatever type: what narrow types save in memory they pay for in
// conversions. No absolute time is to be trusted, and what ranks send is left out.
#include <string.h>
#include "compiler/report/explain.h"
#include "compiler/report/parts.h"
#include "ops/kernels/fused.h"
#include "ops/loop/scan.h"
#include "ops/nn/matmul.h"

// Seconds, of tests/bench/bench_precision on one Zen 4 core (AVX-512, AVX512-BF16): a
// floating-point operation of products, by kind and type; of other ops; an element that is
// converted; a call. No processor with AMX was measured.
typedef enum product { NO_PRODUCT, MATMUL, MATMUL_PACKED, OTHER_PRODUCT } product;
static const double in_f32[] = {0, 1 / 110e9, 1 / 110e9, 1 / 95e9};
static const double in_bf16[] = {0, 1 / 205e9, 1 / 226e9, 1 / 95e9};
static const double converted[] = {0, 1 / 110e9, 1 / 70e9, 1 / 95e9};
static const double other = 0.4e-9, conversion = 0.06e-9, call_gap = 0.1e-6;

typedef struct times {
  gr_bf16_unit unit;
  bool known;
  double seconds;
} times;

static double elements_of(const gr_type *t, int n) {
  double count = 0;
  for (int i = 0; i < n; i++) count += (double)gr_type_count(&t[i]);
  return count;
}

// Of ops that are no matmul, those that multiply do so many operations for each element.
static product product_of(const gr_op_call *c, double flops) {
  enum { MANY = 16 };
  if (c->op == &gr_op_matmul) return MATMUL;
  if (c->op == &gr_op_matmul_packed) return MATMUL_PACKED;
  double moved = elements_of(c->in, c->n_in) + elements_of(c->out, c->n_out);
  return flops >= MANY * moved ? OTHER_PRODUCT : NO_PRODUCT;
}

// Whether the processor's unit multiplies the operands as they are.
static bool is_native(const gr_op_call *c, product of, gr_bf16_unit unit) {
  if (c->in[0].dtype != GR_BF16 || unit == GR_BF16_NONE) return false;
  if (of != MATMUL) return of == MATMUL_PACKED;
  gr_matmul_shape p = gr_matmul_shape_of(&c->in[0], &c->in[1], c->attr);
  return gr_gemm_bf16_suits(&p.g);
}

static void add_call(const gr_op_call *c, double runs, times *t) {
  double flops = (double)gr_op_flops(c), seconds = call_gap;
  product of = product_of(c, flops);
  bool narrow = c->n_in && gr_is_narrow(c->in[0].dtype), native = is_native(c, of, t->unit);
  if (of == NO_PRODUCT)
    seconds += other * flops;
  else
    seconds += flops * (native ? in_bf16 : narrow ? converted : in_f32)[of];
  bool packed = of == MATMUL_PACKED;  // its kernel converts as it multiplies
  if (of != NO_PRODUCT && narrow && !native && !packed)
    seconds += conversion * elements_of(c->in, c->n_in);
  if (native && t->unit == GR_BF16_AMX) t->known = false;
  t->seconds += runs * seconds;
}

static void add_graph(const gr_graph *g, double runs, times *t) {
  gr_op_call call;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    const gr_scan *loop = n->op == &gr_op_scan ? n->attr : NULL;
    gr_op_call_of(g, n, &call);
    if (loop)
      add_graph(loop->body, runs * (double)loop->steps, t);
    else if (!n->op->collective)
      add_call(&call, runs, t);
  }
}

static bool ends_with(const char *s, const char *end) {
  size_t n = strlen(s), m = strlen(end);
  return n >= m && !strcmp(s + n - m, end);
}

bool gr_plan_cpu_seconds(const gr_plan *p, gr_bf16_unit unit, int micro_batches, double *out) {
  times t = {.unit = unit, .known = true};
  const char *kind;
  for (int i = 0; (kind = gr_plan_kind(p, i)); i++) {
    const gr_program *most = gr_plan_largest(p, kind);
    if (!most || !strncmp(kind, "eval", 4)) continue;
    add_graph(most->frame.g, ends_with(kind, ".micro") ? micro_batches : 1, &t);
  }
  *out = t.seconds;
  return t.known;
}
