// scaling.c - see scaling.h.
#include "job/scaling.h"
#include <math.h>
#include "job/fit.h"
#include "job/variants.h"

static void take(const gr_job *of, const gr_plan_figures *f, gr_scaled *row) {
  double memory = row->target->cluster.memory, samples = f->use.samples;
  double price = of->spec.set.ranks.per_gpu_hour;
  row->bytes = f->bytes;
  row->room = memory > 0 ? memory - f->bytes : NAN;
  row->step = f->step[0];
  row->samples = samples > 0 ? samples / row->step.all : NAN;
  row->epoch = f->use.steps > 0 ? f->use.steps * row->step.all : NAN;
  row->cost = price > 0 ? row->epoch / 3600 * row->ranks * price : NAN;
}

static bool is_too_large(gr_arena *a, gr_scaled *row) {
  const gr_cluster *c = &row->target->cluster;
  double all = c->nodes * c->per_node;
  if (!(all > 0) || row->ranks <= all) return false;
  row->why = gr_arena_printf(a, "the cluster has %.0f devices", all);
  return true;
}

// The error of the first row that cannot be planned is kept in *first.
static void plan_row(const gr_job *j, const char *strategy, gr_scaled *row, gr_status *first) {
  const char *overrides[2];
  int n = 0;
  overrides[n++] = gr_arena_printf(j->arena, "device=%s", row->target->chip->device);
  if (strategy) overrides[n++] = gr_arena_printf(j->arena, "distributed.strategy=%s", strategy);
  gr_job other = {0};
  gr_status s = gr_job_plan_with(j, overrides, n, row->ranks, &other);
  if (!s && other.spec.set.options.batch.most_bytes > 0) s = gr_job_fit(&other, row->ranks);
  if (!s) {
    row->strategy =
        gr_arena_strdup(j->arena, gr_conf_find(other.spec.conf, "distributed.strategy")->text);
    take(&other, gr_job_count(&other, row->target, 1), row);
  } else {
    row->why = gr_arena_strdup(j->arena, gr_status_text(s));
    row->strategy = strategy ? strategy : "";
  }
  if (s && !*first)
    *first = s;
  else
    gr_status_drop(s);
  gr_arena_destroy(other.arena);
}

// Relative to the first row of n that is planned.
static void compare(gr_scaled *row, int n) {
  const gr_scaled *first = NULL;
  for (int i = 0; i < n; i++) {
    if (row[i].why) continue;
    if (!first) first = &row[i];
    bool counts = row[i].samples > 0;
    row[i].up = counts ? row[i].samples / first->samples : first->step.all / row[i].step.all;
    row[i].efficiency = row[i].up * first->ranks / row[i].ranks;
  }
}

gr_status gr_job_scale(gr_job *j, const gr_scaling *r, gr_scaled **out, int *n) {
  int strategies = r->n_strategies ? r->n_strategies : 1, planned = 0, row = 0;
  gr_scaled *rows = GR_NEW(j->arena, gr_scaled, r->n_targets * strategies * r->n_ranks);
  gr_status first = GR_OK;
  GR_TRY(gr_job_open(j, 0));
  for (int t = 0; t < r->n_targets; t++)
    for (int s = 0; s < strategies; s++, row += r->n_ranks) {
      const char *strategy = r->n_strategies ? r->strategies[s] : NULL;
      for (int i = 0; i < r->n_ranks; i++) {
        gr_scaled *now = &rows[row + i];
        *now = (gr_scaled){&r->targets[t], strategy ? strategy : "", r->ranks[i]};
        if (!is_too_large(j->arena, now)) plan_row(j, strategy, now, &first);
        planned += !now->why;
      }
      compare(rows + row, r->n_ranks);
    }
  *out = rows, *n = row;
  if (!planned && first) return first;
  gr_status_drop(first);
  return GR_OK;
}
