// programs.c - finds the programs of a run in its plan. See rank.h.
#include <string.h>
#include "runtime/train/rank/rank.h"

// A program by its kind, which says what is frozen in it.
static void find_kind(gr_rank *r, const char *kind, int buckets, gr_run_program *p) {
  const gr_plan *plan = r->spec->plan;
  p->update = gr_plan_find(plan, gr_arena_printf(r->arena, "%s.update", kind), "");
  if (p->update) kind = gr_arena_printf(r->arena, "%s.micro", kind);
  p->of_bucket[0] = gr_plan_find(plan, kind, "");
  p->takes_batch = !p->of_bucket[0];
  for (int b = 0; p->takes_batch && b < buckets; b++)
    p->of_bucket[b] = gr_plan_find(plan, kind, gr_dataset_bucket_name(r->arena, r->spec->data, b));
  p->trains = p->of_bucket[0] && p->of_bucket[0]->trains;
  p->loss = gr_run_metric_name(r, gr_run_metric_of(r->arena, p->name, "loss"));
}

static void find_program(gr_rank *r, int i, int buckets) {
  const gr_texts *freezable = &r->spec->set.options.optimizer.freezable;
  gr_run_program *p = &r->programs[i];
  p->name = r->spec->programs[i];
  find_kind(r, p->name, buckets, p);
  p->variants = GR_NEW(r->arena, gr_run_program, 1 << freezable->n);
  for (unsigned frozen = 1; p->trains && !(frozen >> freezable->n); frozen++) {
    gr_run_program *v = &p->variants[p->n_variants];
    *v = (gr_run_program){.name = p->name, .frozen = frozen};
    find_kind(r, gr_frozen_kind(r->arena, p->name, freezable->text, freezable->n, frozen), buckets,
              v);
    if (!v->of_bucket[0]) continue;
    p->n_variants++;
  }
  p->may_freeze = p->of_bucket[0] ? p->of_bucket[0]->freezable : 0;
  if (!strcmp(p->name, "eval") && p->of_bucket[0]) r->eval = p;
}

gr_status gr_run_find_programs(gr_rank *r) {
  int n = gr_dataset_buckets(r->spec->data);
  if (n > GR_MAX_BUCKETS)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "%d buckets are more than %d", n, GR_MAX_BUCKETS);
  r->programs = GR_NEW(r->arena, gr_run_program, r->spec->n_programs);
  for (int i = 0; i < r->spec->n_programs; i++) find_program(r, i, n);
  return GR_OK;
}
