// sweep.c - see sweep.h.
#include "cli/sweep.h"
#include <math.h>
#include <string.h>
#include "base/output.h"
#include "cli/runs_table.h"
#include "runtime/page/page.h"
#include "runtime/train/identity.h"

static gr_status write_yaml(const gr_sweep_of_runs *w, const char *name, const gr_conf *conf) {
  gr_text t = gr_text_make(w->arena);
  gr_conf_yaml(&t, conf);
  return gr_hint(gr_output_write(w->dir, name, t.chars, t.len),
                 "hydra.sweep.dir=FOLDER chooses the folder");
}

gr_status gr_sweep_folder(gr_map *folders, const char *dir, int j) {
  uint32_t other = (uint32_t)j;
  if (!gr_map_find(folders, dir, &other)) gr_map_put(folders, dir, other);
  if (other == (uint32_t)j) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "its folder '%s' is that of run %u", dir, other),
      "hydra.sweep.subdir gives each its own: ${hydra.job.num}, or ${hydra.job.override_dirname}");
}

static gr_conf *text(gr_arena *a, const char *value) {
  gr_conf *c = gr_conf_make(a, GR_CONF_TEXT, GR_NOWHERE);
  c->text = value;
  return c;
}

gr_status gr_sweep_begin(const gr_sweep_of_runs *w) {
  gr_arena *a = w->arena;
  gr_conf *root = gr_conf_make(a, GR_CONF_MAP, GR_NOWHERE);
  const gr_composed *base = &w->jobs->base;
  if (!w->dir) return GR_OK;
  GR_TRY(gr_hint(gr_make_dirs(w->dir), "hydra.sweep.dir=FOLDER is where a sweep puts its files"));
  gr_conf *hydra = gr_conf_copy(a, base->hydra);
  gr_conf_put(a, hydra, "mode", text(a, "MULTIRUN"));
  gr_conf_put(a, root, "hydra", hydra);
  gr_conf_put_all(a, root, base->job);
  return write_yaml(w, "multirun.yaml", root);
}

// ---- The end --------------------------------------------------------------------------------

static int job_of(const gr_sweep_of_runs *w, const gr_ranked_run *r) {
  for (int j = 0; j < w->jobs->n; j++)
    if (!strcmp(w->output[j], r->path)) return j;
  return -1;
}

// Whether jobs differ in an argument.
static bool is_swept(const gr_job_list *jobs, int argument) {
  for (int j = 1; j < jobs->n; j++)
    if (strcmp(jobs->overrides[j][argument], jobs->overrides[0][argument])) return true;
  return false;
}

// A run's value of a swept key; a choice of a group is a text.
static gr_conf *value_of(const gr_sweep_of_runs *w, const gr_ranked_run *r, const char *key,
                         const char *given) {
  const gr_conf *c = gr_conf_find(r->conf, key + strspn(key, "+"));
  return c && c->kind != GR_CONF_MAP ? gr_conf_copy(w->arena, c) : text(w->arena, given);
}

static gr_status write_best(const gr_sweep_of_runs *w, const gr_ranked_run *r, int job) {
  gr_arena *a = w->arena;
  gr_conf *root = gr_conf_make(a, GR_CONF_MAP, GR_NOWHERE);
  gr_conf *params = gr_conf_make(a, GR_CONF_MAP, GR_NOWHERE);
  gr_conf *value = gr_conf_make(a, GR_CONF_FLOAT, GR_NOWHERE);
  for (int i = 0; i < w->jobs->n_each; i++) {
    const char *line = w->jobs->overrides[job][i];
    size_t n = strcspn(line, "=");
    const char *key = gr_arena_strndup(a, line, n);
    if (is_swept(w->jobs, i) && line[n])
      gr_conf_put(a, params, key, value_of(w, r, key, line + n + 1));
  }
  value->number = r->best;
  gr_conf_put(a, root, "name", text(a, "graphrun"));
  gr_conf_put(a, root, "best_params", params);
  gr_conf_put(a, root, "best_value", value);
  return write_yaml(w, "optimization_results.yaml", root);
}

// Whether the folder of a job has a run of its configuration. Other versions leave no identity.
static gr_status is_its_run(const gr_sweep_of_runs *w, int j, bool *out) {
  const char *recorded;
  gr_text ignored = gr_text_make(w->arena);
  *out = gr_is_dir(w->output[j]);
  if (!*out) return GR_OK;
  GR_TRY(gr_identity_read(w->arena, w->output[j], &recorded));
  *out = !recorded || !gr_identity_compare(recorded, w->identity[j], GR_IDENTITY_CONFIG, &ignored);
  return GR_OK;
}

// Finds the runs; *absent lists the jobs that have not begun one.
static gr_status find_runs(const gr_sweep_of_runs *w, gr_runs_table *t, gr_text *absent) {
  for (int j = 0; j < w->jobs->n; j++) {
    bool its = false;
    GR_TRY(is_its_run(w, j, &its));
    if (its)
      GR_TRY(gr_runs_find(t, w->output[j]));
    else
      gr_text_printf(absent, " #%d", j);
  }
  return GR_OK;
}

gr_status gr_sweep_end(const gr_sweep_of_runs *w) {
  gr_runs_table t = {.arena = w->arena};
  gr_text absent = gr_text_make(w->arena);
  GR_TRY(find_runs(w, &t, &absent));
  if (!t.n) return GR_OK;  // none has begun
  GR_TRY(gr_runs_rank(&t, NULL));
  printf("\n");
  gr_runs_print(&t);
  if (absent.len) printf("jobs that have not begun a run:%s\n", absent.chars);
  if (!w->dir) return GR_OK;
  int job = job_of(w, &t.runs[0]);
  if (job >= 0 && isfinite(t.runs[0].best)) GR_TRY(write_best(w, &t.runs[0], job));
  gr_page_runs page = gr_runs_of_page(&t, w->dir);
  GR_TRY(gr_page_write_runs(&page, NULL));
  printf("report: %s/" GR_PAGE_NAME "\n", w->dir);
  return GR_OK;
}
