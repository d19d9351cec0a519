// figures.c - see figures.h.
#include "job/figures.h"
#include <string.h>
#include "job/parts.h"

// The share of a bucket's batches in an epoch: of one that has none known, as large as the others.
static double share_of(const gr_job *j, const char *bucket) {
  const gr_contract *c = j->spec.contract;
  const int *global_of = j->spec.set.options.batch.global_of;
  double of = 0, all = 0, alike = 0;
  if (!*bucket || c->n_buckets < 2) return 1;
  for (int b = 0; b < c->n_buckets; b++) {
    double batches = (double)c->buckets[b].count[GR_SPLIT_TRAIN] / (global_of ? global_of[b] : 1);
    bool here = !strcmp(gr_contract_bucket_name(j->arena, c, b), bucket);
    all += batches;
    if (here) of = batches, alike = 1.0 / c->n_buckets;
  }
  return all > 0 ? of / all : alike;
}

static void list_buckets(const gr_job *j, gr_plan_use *use) {
  const gr_batch_settings *s = &j->spec.set.options.batch;
  const gr_contract *c = j->spec.contract;
  gr_bucket_figures *list = GR_NEW(j->arena, gr_bucket_figures, c->n_buckets + 1);
  for (int b = 0; s->global_of && b < c->n_buckets; b++) {
    const char *name = gr_contract_bucket_name(j->arena, c, b);
    list[b] = (gr_bucket_figures){name, s->global_of[b], s->rows_of[b], gr_batch_bytes(j, name)};
    use->n_buckets = b + 1;
  }
  use->buckets = list;
}

// How often a run of a program of the loop runs one of the plan: its micro-steps, and its end.
static double parts_of(const gr_job *j, const char *name, const gr_program *p) {
  size_t n = strlen(name);
  if (strncmp(p->kind, name, n) != 0) return 0;
  if (!strcmp(p->kind + n, ".micro")) return j->spec.set.options.batch.micro_batches;
  return !p->kind[n] || !strcmp(p->kind + n, ".update") ? 1 : 0;
}

static void add_phase(const gr_job *j, const gr_phase *phase, double times, double *runs) {
  times *= (double)phase->times;
  for (int i = 0; i < phase->n; i++) add_phase(j, &phase->list[i], times, runs);
  for (uint32_t i = 0; i < j->spec.plan->n_programs && phase->program >= 0; i++) {
    const gr_program *p = &j->spec.plan->programs[i];
    runs[i] += times * parts_of(j, j->spec.programs[phase->program], p) * share_of(j, p->bucket);
  }
}

const gr_plan_figures *gr_job_count(const gr_job *j, const gr_target *targets, int n_targets) {
  uint32_t n = j->spec.plan->n_programs;
  gr_phase loop = j->spec.loop;
  if (!loop.times) loop.times = loop.steps = 1;  // it is not known how many samples there are
  double *runs = GR_NEW(j->arena, double, n + 1), steps = (double)loop.steps;
  bool trains = j->spec.kind == GR_RUN_TRAIN;
  if (trains) add_phase(j, &loop, 1, runs);
  for (uint32_t i = 0; i < n && trains; i++) runs[i] /= steps;
  double all = gr_contract_count(j->spec.contract, GR_SPLIT_TRAIN);
  double batch = j->spec.set.options.batch.global;
  gr_plan_use use = {.runs = runs,
                     .samples = j->spec.contract->ops->empty ? 0 : batch,
                     .steps = all > 0 || j->spec.looped ? steps : 0,
                     .in_line = !j->spec.set.comm.overlap,
                     .threads = j->compilers};
  list_buckets(j, &use);
  return gr_plan_count(j->arena, j->spec.plan, &use, targets, n_targets);
}
