// predict_cpu.c - how long calls would take on one thread of a CPU: counted from the plan, so that
// the same plan has the same figure.
//
// A product takes as long as its multiplications at the rate of its kind, and as converting its
// operands if they are narrow and the processor, or the kernel, multiplies in f32. Other ops take a
// time for each operation, in whatever type: what narrow types save in memory they pay for in
// conversions. The figures were
// measured to compare one precision with another.
#include "compiler/report/parts.h"
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

double gr_cpu_seconds(const gr_target *t, const gr_op_call *c) {
  const gr_cpu_rates *r = t->chip->cpu;
  double flops = (double)gr_op_flops(c), seconds = r->call_gap;
  gr_cpu_product of = product_of(c, flops);
  bool narrow = c->n_in && gr_is_narrow(c->in[0].dtype);
  bool native = narrow && is_native(c, of, t->unit);
  if (of == GR_CPU_NO_PRODUCT)
    seconds += r->other * flops;
  else
    seconds += flops * (native ? r->in_bf16 : narrow ? r->converted : r->in_f32)[of];
  bool packed = of == GR_CPU_MATMUL_PACKED;  // its kernel converts as it multiplies
  if (of != GR_CPU_NO_PRODUCT && narrow && !native && !packed)
    seconds += r->conversion * elements_of(c->in, c->n_in);
  return seconds;
}
