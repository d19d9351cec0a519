// profile.c - reports the time spent in each op.
#include <stdlib.h>
#include <string.h>
#include "ops/ops.h"
#include "runtime/exec/parts.h"

typedef struct line {
  const gr_op *op;
  double seconds, flops, bytes;
  uint64_t runs;
} line;
typedef struct table {
  line *lines;
  int n;
  double total, flops;
} table;

static line *line_of(table *t, const gr_op *op) {
  int i = 0;
  while (i < t->n && t->lines[i].op != op) i++;
  if (i == t->n) t->lines[t->n++].op = op;
  return &t->lines[i];
}

// Sums up a frame; a loop's own time excludes the time of its body's nodes. Returns the frame's
// time by the host.
static double add_up(table *t, const gr_exec_frame *f) {
  double total = 0;
  for (uint32_t i = 0; i < f->n_steps; i++) {
    const gr_exec_step *s = &f->steps[i];
    double inside = s->loop ? add_up(t, gr_exec_loop_frame(s->loop)) : 0;
    line *l = line_of(t, s->node->op);
    double seconds = s->seconds - inside + s->measured;
    l->seconds += seconds, t->total += seconds;
    l->runs += s->runs;
    l->flops += gr_exec_step_flops(s) * (double)s->runs;
    l->bytes += gr_exec_step_bytes(s) * (double)s->runs;
    total += s->seconds;
  }
  return total;
}

static int worst_first(const void *a, const void *b) {
  const line *x = a, *y = b;
  if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
  return strcmp(x->op->name, y->op->name);
}

static double rate(double count, double seconds) {  // in 10^9 a second
  return seconds > 0 ? count / seconds / 1e9 : 0;
}

gr_status gr_exec_profile(FILE *f, gr_exec *e) {
  int ops = 0;
  while (gr_ops[ops]) ops++;
  table t = {.lines = calloc((size_t)ops + 1, sizeof *t.lines)};
  if (!t.lines) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a profile");
  gr_status s = gr_exec_times_end(e);
  for (uint32_t i = 0; i < e->plan->n_programs; i++) add_up(&t, &e->programs[i].frame);
  qsort(t.lines, (size_t)t.n, sizeof *t.lines, worst_first);
  fprintf(f, "%10s %6s %12s %10s %8s %8s  op\n", "seconds", "%", "runs", "us each", "GFLOP/s",
          "GB/s");
  for (int i = 0; i < t.n; i++) {
    const line *l = &t.lines[i];
    if (!l->runs) continue;
    t.flops += l->flops;
    fprintf(f, "%10.4f %6.1f %12llu %10.2f %8.2f %8.2f  %s\n", l->seconds,
            t.total > 0 ? 100 * l->seconds / t.total : 0, (unsigned long long)l->runs,
            1e6 * l->seconds / (double)l->runs, rate(l->flops, l->seconds),
            rate(l->bytes, l->seconds), l->op->name);
  }
  fprintf(f, "%10.4f %6s %12s %10s %8.2f %8s  all of this rank\n", t.total, "100.0", "", "",
          rate(t.flops, t.total), "");
  free(t.lines);
  return s;
}
