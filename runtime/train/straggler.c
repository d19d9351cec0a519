// straggler.c - names a rank that keeps the others waiting. See run.h.
#include <stdlib.h>
#include "base/sort.h"
#include "runtime/train/run.h"

enum { EVERY = 50 };  // steps between looks; a rank is named that is found at two in a row
static const double factor = 4.0 / 3, quiet_s = 60;

// Communication is left out: it is mostly waiting for a slower rank. Of two ranks the faster one is
// the median.
int gr_run_find_straggler(gr_arena *a, const gr_time_split *ranks, int n, double *out_times,
                          bool *out_data) {
  double *busy = GR_NEW(a, double, n), *sorted = GR_NEW(a, double, n);
  int slowest = 0;
  for (int i = 0; i < n; i++) {
    busy[i] = sorted[i] = ranks[i].data + ranks[i].compute;
    if (busy[i] > busy[slowest]) slowest = i;
  }
  qsort(sorted, (size_t)n, sizeof *sorted, gr_order_numbers);
  double median = sorted[(n - 1) / 2];
  *out_times = median > 0 ? busy[slowest] / median : 1;
  *out_data = ranks[slowest].compute <= factor * median;
  return *out_times > factor ? slowest : -1;
}

static void log_straggler(const gr_time_split *x, int rank, double times, bool data) {
  double all = x->data + x->compute + x->communication;
  gr_log(GR_WARN,
         "rank %d keeps the others waiting: its steps take %.2f times the median, because it %s "
         "(data %.0f %% compute %.0f %% comm %.0f %%)",
         rank, times, data ? "waits for data" : "computes for longer", 100 * x->data / all,
         100 * x->compute / all, 100 * x->communication / all);
}

static gr_status look(gr_run *r, gr_arena *a) {
  enum { PARTS = sizeof(gr_time_split) / sizeof(double) };
  gr_straggler *s = &r->straggler;
  gr_time_split split = gr_report_split(r->outputs.report);
  gr_time_split *all = GR_NEW(a, gr_time_split, r->me.ranks);
  GR_TRY(gr_comm_run(r->me.world, GR_ALL_GATHER, GR_F64, PARTS, &split, all));
  double times, now = gr_seconds();
  bool data, quiet = s->told > 0 && now - s->told < quiet_s;
  int before = s->found, rank = gr_run_find_straggler(a, all, r->me.ranks, &times, &data);
  s->looked = r->progress.step, s->found = rank + 1;
  if (r->me.rank || quiet || rank < 0 || s->found != before) return GR_OK;
  s->told = now;
  log_straggler(&all[rank], rank, times, data);
  return GR_OK;
}

gr_status gr_run_name_straggler(gr_run *r) {
  int64_t step = r->progress.step;
  if (r->me.ranks < 2 || !step || step % EVERY || r->straggler.looked == step) return GR_OK;
  gr_arena *a = gr_arena_create();
  return gr_arena_end(a, look(r, a));
}
