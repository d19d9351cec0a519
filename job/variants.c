// variants.c - see variants.h. Configurations are composed one after the other, as they read files;
// what takes long, to build the plans from them, is done on all threads.
#include "job/variants.h"
#include "base/log.h"
#include "base/port.h"
#include "base/tasks.h"

// Composes, with all that is printed or drawn on the way left out.
static gr_status compose_with(gr_arena *a, const gr_args *of, const char *const *more, int n,
                              gr_job *out) {
  gr_args args = *of;
  const char **all = GR_NEW(a, const char *, args.n_overrides + n);
  for (int i = 0; i < args.n_overrides; i++) all[i] = args.overrides[i];
  for (int i = 0; i < n; i++) all[args.n_overrides++] = more[i];
  args.overrides = all;
  args.dump = args.stop_after = NULL;
  gr_level level = gr_log_least(GR_ERROR);
  gr_status s = gr_job_compose(a, &args, out);
  gr_log_least(level);
  return s;
}

bool gr_job_plans_again(const gr_job *j) {
  enum { MOST = 20000 };
  const gr_plan *p = j->spec.plan;
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->n_programs; i++) n += p->programs[i].frame.g->n_nodes;
  return n <= MOST;
}

// What a variant's plan is made from.
static gr_status ask(const gr_job *j, gr_variant *v, gr_plan_request *request) {
  gr_job *out = &v->job;
  gr_arena *a = gr_arena_create();
  gr_status s = compose_with(a, &j->args, v->more, v->n, out);
  out->arena = a, out->compilers = j->compilers, out->blocks = j->blocks;
  out->spec.data = j->spec.data, out->spec.contract = j->spec.contract;
  out->spec.batches = j->spec.batches;
  if (!s) s = gr_job_read(out, v->ranks);
  if (s) return s;
  gr_conf *data = gr_conf_find(out->spec.conf, "data");
  if (data) gr_conf_mark(data);  // it is open
  GR_TRY(gr_job_request(out, v->ranks, request));
  request->draft = true;
  return GR_OK;
}

typedef struct building {
  gr_variant *variants;
  gr_plan_request *requests;
} building;

// Errors of variants wait for those of the others.
static gr_status build(void *arg, int i) {
  const building *w = arg;
  gr_variant *v = &w->variants[i];
  if (!v->error) v->error = gr_plan_build(v->job.arena, &w->requests[i], &v->job.spec.plan);
  return GR_OK;
}

static gr_status take(gr_variant *v) {
  if (!v->error && !v->job.spec.plan)
    return gr_fail(GR_ERR_STOPPED, GR_NOWHERE, "stopped by a signal while plans were compared");
  return gr_job_take_plan(&v->job, v->error);
}

void gr_job_plan_variants(const gr_job *j, gr_variant *variants, int n) {
  gr_arena *arena = gr_arena_create();
  building w = {variants, GR_NEW(arena, gr_plan_request, n)};
  int threads = j->compilers ? j->compilers : gr_processors();
  for (int i = 0; i < n; i++) {
    variants[i].job = (gr_job){0};
    variants[i].error = ask(j, &variants[i], &w.requests[i]);
    w.requests[i].threads = n < threads ? threads / n : 1;
  }
  gr_arena_keep_blocks(GR_PLAN_KEPT_BYTES);
  gr_status_drop(gr_tasks_run(threads, n, build, &w));
  gr_arena_keep_blocks(0);
  for (int i = 0; i < n; i++)
    if (w.requests[i].draft) variants[i].error = take(&variants[i]);
  gr_arena_destroy(arena);
}

gr_status gr_job_plan_with(const gr_job *j, const char *const *more, int n, int ranks,
                           gr_job *out) {
  gr_variant one = {.more = more, .n = n, .ranks = ranks};
  gr_job_plan_variants(j, &one, 1);
  *out = one.job;
  return one.error;
}
