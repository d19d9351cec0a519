// predict_cpu.c - how long calls would take on one thread of a CPU: counted from the plan, so that
// the same plan has the same figure.
//
// A call takes as long as its work (ir/effort.def), each kind at its rate. Products also convert
// their operands if these are narrow and the processor, or the kernel, multiplies in f32. Other
// work takes a time for each element, in whatever type: what narrow types save in memory they pay
// for in conversions. Where it is known how fast memory is, no call is faster than that moves its
// values; and where other calls have used the near caches since, its values are fetched.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "compiler/report/parts.h"
#include "ops/kernels/fused.h"
#include "ops/nn/matmul.h"

static double elements_of(const gr_type *t, int n) {
  double count = 0;
  for (int i = 0; i < n; i++) count += (double)gr_type_count(&t[i]);
  return count;
}

// ---- What a call does ---------------------------------------------------------------------------

// Whether an element takes one of the functions; words are separated by spaces.
static bool has_function(const gr_op *op, const char *words) {
  const char *texts[] = {op->tile_formula, op->formula, op->row};
  char word[16];
  for (int n; sscanf(words, "%15s%n", word, &n) == 1; words += n)
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
      if (texts[t] && strstr(texts[t], word)) return true;
  return false;
}

// The work of an op that does not say it.
static gr_effort read_effort(const gr_op *op) {
  if (op->effort) return op->effort;
  if (op->optimizer) return GR_EFFORT_UPDATE;
  if (op->random) return GR_EFFORT_RANDOM;
  if (has_function(op, "erf")) return GR_EFFORT_LONG_FUNCTION;
  if (has_function(op, "exp tanh log pow sin cos")) return GR_EFFORT_FUNCTION;
  if (op->row) return GR_EFFORT_ROW;
  return GR_EFFORT_ELEMENT;
}

// The same, which is asked for every node; the last answers are kept.
static gr_effort effort_of(const gr_op *op) {
  enum { KNOWN = 64 };
  static _Thread_local struct {
    const gr_op *op;
    gr_effort effort;
  } known[KNOWN], *k;
  k = &known[(uintptr_t)op / sizeof *op % KNOWN];
  if (k->op != op) k->op = op, k->effort = read_effort(op);
  return k->effort;
}

// Ops that are of no known product, and do so many operations for each element, multiply.
gr_efforts gr_cpu_efforts(const gr_op_call *c) {
  enum { MANY = 16 };
  double elements = 0, flops = (double)gr_op_flops(c);
  gr_efforts w = {.bytes =
                      (double)(gr_types_bytes(c->in, c->n_in) + gr_types_bytes(c->out, c->n_out))};
  gr_effort effort = effort_of(c->op);
  for (int k = 0; k < c->n_in; k++) elements = fmax(elements, (double)gr_type_count(&c->in[k]));
  for (int k = 0; k < c->n_out; k++) elements = fmax(elements, (double)gr_type_count(&c->out[k]));
  if (c->op->efforts)
    c->op->efforts(c, &w);
  else if (effort < GR_PRODUCTS)
    w.of[effort] = flops;
  else if (flops >= MANY * (elements_of(c->in, c->n_in) + elements_of(c->out, c->n_out)))
    w.of[GR_EFFORT_CONV] = flops;
  else
    w.of[effort] = elements;
  if (c->op->row && effort == GR_EFFORT_FUNCTION) w.of[GR_EFFORT_ROW] = elements;
  return w;
}

// ---- Seconds ------------------------------------------------------------------------------------

// Whether the processor's unit multiplies the operands as they are.
static bool is_native(const gr_op_call *c, gr_effort of, gr_bf16_unit unit) {
  if (c->in[0].dtype != GR_BF16 || unit == GR_BF16_NONE) return false;
  if (of != GR_EFFORT_MATMUL) return of == GR_EFFORT_PACKED;
  gr_matmul_shape p = gr_matmul_shape_of(&c->in[0], &c->in[1], c->attr);
  return gr_gemm_bf16_suits(&p.g);
}

static double multiplying(const gr_target *t, const gr_op_call *c, gr_effort of, double flops) {
  const gr_cpu_rates *r = &t->cpu;
  bool narrow = c->n_in && gr_is_narrow(c->in[0].dtype);
  bool native = narrow && is_native(c, of, t->unit);
  bool packed = of == GR_EFFORT_PACKED;  // its kernel converts as it multiplies
  double seconds = narrow && !native && !packed ? elements_of(c->in, c->n_in) / r->conversion : 0;
  return seconds + flops / (native ? r->in_bf16 : narrow ? r->converted : r->of)[of];
}

// What a call computes, operands in the caches.
static double computing(const gr_target *t, const gr_op_call *c, const gr_efforts *w) {
  double seconds = 0;
  for (int k = GR_EFFORT_UNKNOWN + 1; k < GR_EFFORTS; k++) {
    if (!(w->of[k] > 0)) continue;
    bool product = k < GR_PRODUCTS;
    seconds += product ? multiplying(t, c, (gr_effort)k, w->of[k]) : w->of[k] / t->cpu.of[k];
  }
  return seconds;
}

// Each part is called, too.
static double computing_parts(const gr_target *t, const gr_graph *body) {
  double seconds = 0;
  gr_op_call part;
  for (uint32_t i = 0; i < body->n_nodes; i++) {
    gr_op_call_of(body, &body->nodes[i], &part);
    gr_efforts w = gr_cpu_efforts(&part);
    seconds += t->cpu.call_gap + computing(t, &part, &w);
  }
  return seconds;
}

// Of what an optimizer reads a step has passed since it was used.
double gr_cpu_seconds(const gr_target *t, const gr_op_call *c, bool in_place, bool far) {
  bool fused = c->op == &gr_op_fused;
  gr_efforts w = gr_cpu_efforts(c);
  if (in_place && w.of[GR_EFFORT_MOVE] > 0) return t->cpu.call_gap;
  double seconds =
      fused ? computing_parts(t, ((const gr_fused *)c->attr)->body) : computing(t, c, &w);
  if (t->cpu.fetched > 0 && far) seconds += w.bytes / t->cpu.fetched;
  bool cold = c->op->optimizer || w.bytes > t->cpu.cache;
  if (t->cpu.moved > 0 && cold) seconds = fmax(seconds, w.bytes / t->cpu.moved);
  return t->cpu.call_gap + seconds;
}
