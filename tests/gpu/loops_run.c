// loops_run.c - see loops_run.h.
#include "tests/gpu/loops_run.h"
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "ops/kernels/cpu.h"
#include "ops/kernels/gpu.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"
#include "runtime/exec/exec.h"
#include "tests/check.h"
#include "tests/nodes.h"

enum { MOST = LOOPS_MOST };

// ---- Running -----------------------------------------------------------------------------------

static void fill(gr_exec *e, const gr_exec_tensor *t, const char *name) {
  static char data[MOST];
  uint32_t seed = (uint32_t)name[0] * 31 + (uint32_t)name[1];
  int64_t n = gr_type_count(&t->type);
  double scale = name[0] == 'w' ? 0.4 : 1;
  CHECK(t->bytes <= MOST, "%s has %zu bytes", name, t->bytes);
  for (int64_t k = 0; k < n; k++)
    gr_put(data, t->type.dtype, k,
           !strcmp(name, "lr")     ? 0.5
           : !strcmp(name, "step") ? 0
                                   : scale * ((double)below(&seed, 1 << 15) / (1 << 14) - 1));
  MUST(gr_exec_write(e, t, data));
  MUST(gr_exec_wait(e));
}

static void take(gr_exec *e, const gr_exec_tensor *t, loops_numbers *out) {
  static char data[MOST];
  int64_t n = gr_type_count(&t->type);
  CHECK(t->bytes <= MOST, "a value has %zu bytes", t->bytes);
  CHECK(out->n + n <= MOST, "a graph has more than %d numbers", MOST);
  MUST(gr_exec_read(e, t, data));
  MUST(gr_exec_wait(e));
  for (int64_t k = 0; k < n; k++) out->value[out->n++] = gr_get(data, t->type.dtype, k);
}

// The nodes of the programs that a device has captured.
static int count_captured(gr_exec *e, gr_arena *arena) {
  gr_text t = gr_text_make(arena);
  const gr_device *d = gr_exec_device(e);
  int n = 0;
  if (!d->ops->report) return 0;
  d->ops->report(d, &t);
  const char *found = strstr(t.chars, "captured, of ");
  if (!found || sscanf(found, "captured, of %d nodes", &n) != 1) return 0;
  return n;
}

int loops_run(const gr_graph *g, gr_arena *arena, const gr_device_ops *on, int runs,
              loops_numbers *out) {
  gr_plan *plan;
  gr_exec *e;
  gr_compiled c = {.kind = "train", .bucket = "", .g = g, .gpu = on->gpu};
  MUST(gr_plan_link(arena, &c, 1, &plan));
  gr_exec_options o = {.device = on, .threads = 1};
  MUST(gr_exec_open(plan, &o, &e));
  while (runs-- > 1) MUST(gr_exec_run(e, plan->programs));
  for (uint32_t i = 1; i < g->n_values; i++) {
    gr_exec_tensor t = gr_exec_input(e, plan->programs, g->values[i].name ? g->values[i].name : "");
    if (g->values[i].role == GR_INPUT && t.address) fill(e, &t, g->values[i].name);
  }
  for (uint32_t i = 0; i < plan->n_states; i++) {
    gr_exec_tensor t = gr_exec_state(e, &plan->states[i]);
    fill(e, &t, plan->states[i].name);
  }
  MUST(gr_exec_run(e, plan->programs));
  out->n = 0;
  for (uint32_t k = 0; k < g->n_results; k++) {
    gr_exec_tensor t = gr_exec_result(e, plan->programs, g->result_names[k]);
    take(e, &t, out);
  }
  for (uint32_t i = 0; i < plan->n_states; i++) {
    gr_exec_tensor t = gr_exec_state(e, &plan->states[i]);
    take(e, &t, out);
  }
  int captured = count_captured(e, arena);
  gr_exec_close(e);
  return captured;
}

// ---- Comparing ---------------------------------------------------------------------------------

void loops_look(gr_arena *arena, const gr_graph *g, bool inside, loops_seen *out) {
  gr_gpu_launch launch[GR_GPU_LAUNCHES];
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    gr_op_call call;
    gr_op_call_of(g, &g->nodes[i], &call);
    gr_gpu_call d = {.call = &call, .arena = arena, .launch = launch, .processors = 4};
    if (call.op != &gr_op_scan) continue;
    gr_status s = gr_gpu_describe(&d);
    bool one = ((const gr_scan *)call.attr)->steps == 1;
    out->small += one && !s, out->loops += !one, out->kernels += !one && !s;
    for (int k = 0; !s && k < d.n; k++) {
      if (launch[k].kind != GR_GPU_KERNEL) continue;
      int64_t waits = launch[k].kernel.barriers / ((const gr_scan *)call.attr)->steps;
      if (waits > out->most) out->most = waits;
      out->waits += launch[k].kernel.barriers > 1;
      if (launch[k].kernel.shared > out->shared) out->shared = launch[k].kernel.shared;
    }
    if (s && inside) loops_look(arena, ((const gr_scan *)call.attr)->body, inside, out);
    gr_status_drop(s);
  }
}

double loops_worst(const loops_numbers *x, const loops_numbers *y) {
  double off = 0, most = 1;
  if (x->n != y->n) return INFINITY;
  for (int64_t i = 0; i < x->n; i++) {
    if (fabs(y->value[i]) > most) most = fabs(y->value[i]);
    double difference = fabs(x->value[i] - y->value[i]);
    off = check_worse(off, difference);
  }
  return off / most;
}

bool loops_same(const loops_numbers *x, const loops_numbers *y) {
  return x->n == y->n && !memcmp(x->value, y->value, (size_t)x->n * sizeof *x->value);
}
