// predict_cpu.c - how long calls would take on one thread of a CPU: counted from the plan, so that
// the same plan has the same figure.
//
// A product takes as long as its multiplications at the rate of its kind, and as converting its
// operands if they are narrow and the processor, or the kernel, multiplies in f32. Other ops take a
// time for each operation, in whatever type: what narrow types save in memory they pay for in
// conversions. Where it is known how fast memory is, no call is faster than that moves its values.
#include <math.h>
#include <string.h>
#include "compiler/report/parts.h"
#include "ops/kernels/fused.h"
#include "ops/nn/matmul.h"

static double elements_of(const gr_type *t, int n) {
  double count = 0;
  for (int i = 0; i < n; i++) count += (double)gr_type_count(&t[i]);
  return count;
}

// Of ops that are no matmul, those that multiply do so many operations for each element.
static gr_cpu_product product_of(const gr_op_call *c, double flops) {
  enum { MANY = 16 };
  if (c->op == &gr_op_matmul) return GR_CPU_MATMUL;
  if (c->op == &gr_op_matmul_packed) return GR_CPU_MATMUL_PACKED;
  if (c->op == &gr_op_attention || c->op == &gr_op_attention_with_residuals ||
      c->op == &gr_op_attention_grad)
    return GR_CPU_ATTENTION;
  double moved = elements_of(c->in, c->n_in) + elements_of(c->out, c->n_out);
  return flops >= MANY * moved ? GR_CPU_OTHER_PRODUCT : GR_CPU_NO_PRODUCT;
}

// Whether the processor's unit multiplies the operands as they are.
static bool is_native(const gr_op_call *c, gr_cpu_product of, gr_bf16_unit unit) {
  if (c->in[0].dtype != GR_BF16 || unit == GR_BF16_NONE) return false;
  if (of != GR_CPU_MATMUL) return of == GR_CPU_MATMUL_PACKED;
  gr_matmul_shape p = gr_matmul_shape_of(&c->in[0], &c->in[1], c->attr);
  return gr_gemm_bf16_suits(&p.g);
}

// Whether an element takes a function that is computed by a polynomial, as losses' do, of which
// these have no formula that says so.
static bool read_exponential(const gr_op *op) {
  static const char *const functions[] = {"exp", "erf", "tanh", "log", "pow", "sin", "cos"};
  const char *texts[] = {op->tile_formula, op->formula, op->row};
  for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
    for (size_t t = 0; t < 3; t++)
      if (texts[t] && strstr(texts[t], functions[f])) return true;
  bool loss = op == &gr_op_cross_entropy || op == &gr_op_cross_entropy_grad;
  return loss || (op->amp == GR_AMP_WIDE && !op->linear);
}

// The same, which is asked for every node; the last answers are kept.
static bool is_exponential(const gr_op *op) {
  enum { KNOWN = 64 };
  static _Thread_local struct {
    const gr_op *op;
    bool exponential;
  } known[KNOWN], *k;
  k = &known[(uintptr_t)op / sizeof *op % KNOWN];
  if (k->op != op) k->op = op, k->exponential = read_exponential(op);
  return k->exponential;
}

// The operations of a call that is no product: at least one for each element that it reads or
// makes.
static double operations_of(const gr_op_call *c, double flops) {
  for (int k = 0; k < c->n_in; k++) flops = fmax(flops, (double)gr_type_count(&c->in[k]));
  return flops;
}

// What a call computes, operands in the caches.
static double computing(const gr_target *t, const gr_op_call *c) {
  const gr_cpu_rates *r = &t->cpu;
  double flops = (double)gr_op_flops(c), seconds = 0;
  gr_cpu_product of = product_of(c, flops);
  if (of == GR_CPU_NO_PRODUCT)
    return operations_of(c, flops) / (is_exponential(c->op) ? r->exponential : r->other);
  bool narrow = c->n_in && gr_is_narrow(c->in[0].dtype);
  bool native = narrow && is_native(c, of, t->unit);
  bool packed = of == GR_CPU_MATMUL_PACKED;  // its kernel converts as it multiplies
  if (narrow && !native && !packed) seconds = elements_of(c->in, c->n_in) / r->conversion;
  return seconds + flops / (native ? r->in_bf16 : narrow ? r->converted : r->in_f32)[of];
}

static double computing_parts(const gr_target *t, const gr_graph *body) {
  double seconds = 0;
  gr_op_call part;
  for (uint32_t i = 0; i < body->n_nodes; i++) {
    gr_op_call_of(body, &body->nodes[i], &part);
    seconds += computing(t, &part);
  }
  return seconds;
}

double gr_cpu_seconds(const gr_target *t, const gr_op_call *c) {
  double bytes = (double)(gr_types_bytes(c->in, c->n_in) + gr_types_bytes(c->out, c->n_out));
  double seconds = c->op == &gr_op_fused ? computing_parts(t, ((const gr_fused *)c->attr)->body)
                                         : computing(t, c);
  if (t->cpu.moved > 0) seconds = fmax(seconds, bytes / t->cpu.moved);
  return t->cpu.call_gap + seconds;
}
