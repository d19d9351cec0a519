// outcome.c - writes the outcome of a run: training_results.json, and the error in run.log.
// See run.h.
#include <math.h>
#include "base/hash.h"
#include "runtime/page/page.h"
#include "runtime/train/identity.h"
#include "runtime/train/run.h"

// A value of the configuration as it is written in files: interpolations of the environment are not
// resolved.
static const char *as_written(gr_rank *r, const char *key, const char *value) {
  const gr_conf *c = gr_conf_find(r->spec->conf, key);
  return c && c->from_env && c->raw ? c->raw : value;
}

// Covers all keys except those that only say where a run's files are and whether it resumes.
static const char *config_hash(gr_rank *r) {
  gr_conf *c = gr_conf_copy(r->arena, r->spec->conf);
  static const char *const places[][2] = {{"output", "dir"}, {"checkpoint", "resume"}};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    gr_conf *map = gr_conf_member(c, places[i][0]);
    int index = map && map->kind == GR_CONF_MAP ? gr_conf_index(map, places[i][1]) : -1;
    if (index >= 0) gr_conf_remove(map, index);
  }
  gr_text t = gr_text_make(r->arena);
  gr_conf_json_written(&t, c, 0);
  return gr_arena_printf(r->arena, "%016llx", (unsigned long long)gr_hash_text(t.chars));
}

// The best step's checkpoint, if it was written and is kept. A path in the run's folder is written
// relative to it.
static const char *best_checkpoint(gr_rank *r, const char *run_dir, int64_t step) {
  const char *given = r->spec->set.saving.dir, *name;
  name = gr_arena_printf(r->arena, "step-%08lld", (long long)step);
  const char *dir = given ? given : gr_arena_printf(r->arena, "%s/checkpoints", run_dir);
  if (!gr_is_file(gr_arena_printf(r->arena, "%s/%s/manifest.json", dir, name))) return NULL;
  const char *shown = given ? as_written(r, "checkpoint.dir", given) : "checkpoints";
  return gr_arena_printf(r->arena, "%s/%s", shown, name);
}

static gr_status write(gr_run *r, const char *ended, int exit_code) {
  const gr_progress *p = &r->progress;
  const gr_evaluation *e = &r->evaluation;
  gr_text config = gr_text_make(r->me.arena);
  gr_conf_json_written(&config, r->me.spec->conf, 2);
  while (config.len && config.chars[config.len - 1] == '\n') config.chars[--config.len] = 0;
  gr_named named[2 * GR_MAX_METRICS];
  int n = 0;
  if (e->evaluated) n = gr_metrics_named(r->me.arena, &e->train_at_end, "train.", named);
  if (e->evaluated) n += gr_metrics_named(r->me.arena, &e->validation, "validation.", named + n);
  char identity[GR_IDENTITY_HASH];
  if (r->me.spec->identity) gr_identity_hash(r->me.spec->identity, identity);
  int64_t trained, parameters = gr_plan_parameters(r->me.spec->plan, &trained);
  gr_results out = {
      .model = as_written(&r->me, "model.graph", r->me.spec->set.model.graph),
      .backend = r->me.ranks > 1 ? r->me.world->ops->backend : "none",
      .device = gr_exec_device(r->me.exec)->ops->name,
      .ended = ended,
      .exit_code = exit_code,
      .config_hash = config_hash(&r->me),
      .identity = r->me.spec->identity ? identity : NULL,
      .resumed_from = r->me.spec->set.saving.resume == gr_resume_text ? r->saving.start : NULL,
      .ranks = r->me.ranks,
      .parameters = parameters,
      .trainable = trained,
      .epochs = p->epoch,
      .steps = p->step,
      .final_loss = p->loss,
      .best_metric = isnan(e->best) ? NULL : r->me.spec->set.saving.metric,
      .best_value = e->best,
      .best_epoch = e->best_epoch,
      .best_step = e->best_step,
      .best_checkpoint =
          isnan(e->best) ? NULL : best_checkpoint(&r->me, r->outputs.dir, e->best_step),
      .metrics = named,
      .n_metrics = n,
      .tables = {e->evaluated ? e->tables_at_end : (gr_tables){0},
                 e->evaluated ? e->tables : (gr_tables){0}},
      .total_seconds = gr_seconds() - r->me.began,
      .total_data_seconds = r->waits.all.seconds,
      .started = r->me.started,
      .config = config.chars,
      .other_names = r->me.spec->set.outputs.result_names};
  return gr_report_finish(r->outputs.report, &out);
}

gr_status gr_run_write_final_files(gr_run *r, gr_status s) {
  if (r->me.rank) return s;
  gr_log_progress(NULL);
  gr_log_end(s);
  if (!r->outputs.report)
    return s;  // not started: files of another run in this folder are left untouched
  bool failed = s && gr_status_code(s) != GR_ERR_STOPPED;
  const char *ended =
      !s ? r->control.ended
         : gr_arena_printf(r->me.arena, "%s%s", failed ? "failed: " : "", gr_status_text(s));
  gr_status written = write(r, ended, gr_status_exit(s));
  bool page = r->me.spec->set.outputs.report;
  // Twice: it quotes the log, which names it only if it can be written.
  gr_status paged = page ? gr_page_write(r->outputs.dir, NULL, true) : GR_OK;
  if (page && !paged) gr_log(GR_INFO, "report: %s/" GR_PAGE_NAME, r->outputs.dir);
  if (!written) gr_log(GR_INFO, "results: %s/training_results.json", r->outputs.dir);
  if (page && !paged) paged = gr_page_write(r->outputs.dir, NULL, true);
  return gr_also(s, gr_also(written, paged));
}
