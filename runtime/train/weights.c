// weights.c - uses the weights of a run's checkpoint: finds it, loads it, and evaluates. See run.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "runtime/train/run.h"

enum { MAX_RESULTS = 256 << 20 };  // bytes of training_results.json

// ---- Which checkpoint -----------------------------------------------------------------------

typedef struct kept {
  gr_arena *arena;
  const char *run, *dir;
  gr_checkpoint_entry *items;
  int n;
} kept;

// The step of the best evaluation by the results of a run that has ended; -1: not known.
static int64_t best_of_results(const kept *k) {
  const char *path = gr_arena_printf(k->arena, "%s/training_results.json", k->run);
  char *text = NULL;
  size_t len = 0;
  const gr_json *root = NULL;
  gr_json_error why;
  gr_status s = gr_is_file(path) ? gr_file_read(k->arena, path, MAX_RESULTS, &text, &len) : GR_OK;
  bool ok = !s && text && gr_json_read(k->arena, text, len, &root, &why);
  gr_status_drop(s);
  if (!ok || root->kind != GR_JSON_OBJECT) return -1;
  const gr_json *step = gr_json_get(root, "best_step", GR_JSON_INT);
  return step && gr_json_get(root, "best_metric", GR_JSON_TEXT) ? step->i : -1;
}

// The same by the newest checkpoint, for a run that has not ended.
static int64_t best_of_newest(const kept *k) {
  for (int i = k->n; i-- > 0;) {
    gr_checkpoint *c = NULL;
    if (k->items[i].state != GR_CHECKPOINT_OK) continue;
    gr_status s = gr_checkpoint_open(k->items[i].path, &c);
    const gr_scalar *best = s ? NULL : gr_checkpoint_scalar(c, "run.best");
    const gr_scalar *step = s ? NULL : gr_checkpoint_scalar(c, "run.best_step");
    bool known = best && best->kind == GR_SCALAR_FLOAT && isfinite(best->f) && step;
    int64_t out = known ? step->i : -1;
    gr_checkpoint_close(c);
    gr_status_drop(s);
    return out;
  }
  return -1;
}

static gr_status no_step(const kept *k, gr_status s) {
  gr_text t = gr_text_make(k->arena);
  for (int i = 0; i < k->n; i++)
    if (k->items[i].state == GR_CHECKPOINT_OK)
      gr_text_printf(&t, "%s%lld", t.len ? ", " : "", (long long)k->items[i].step);
  if (!t.len)
    return gr_hint(s, "none that is there can be read: `graphrun ckpt verify %s` says why", k->dir);
  return gr_hint(s, "there are the steps %s; --which=last takes the newest", t.chars);
}

static gr_status of_step(const kept *k, int64_t step, bool best, const char **out) {
  const gr_checkpoint_entry *found = NULL;
  for (int i = 0; i < k->n; i++)
    if (k->items[i].step == step && (!found || found->state != GR_CHECKPOINT_OK))
      found = &k->items[i];
  if (found && found->state == GR_CHECKPOINT_OK) return *out = found->path, GR_OK;
  const char *which = best ? "the best" : "that";
  return no_step(k, found ? gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                                    "%s checkpoint, of step %lld, cannot be read: %s", which,
                                    (long long)step, found->why)
                          : gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                                    "%s checkpoint, of step %lld, is not in '%s'", which,
                                    (long long)step, k->dir));
}

static gr_status newest(const kept *k, const char **out) {
  gr_checkpoint *c = NULL;
  GR_TRY(gr_checkpoint_newest(k->dir, &c));
  if (c) *out = gr_arena_strdup(k->arena, gr_checkpoint_path(c));
  gr_checkpoint_close(c);
  if (c) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "there is no checkpoint in '%s'", k->dir),
                 "a run writes its first one after an epoch, or by checkpoint.every_steps");
}

// A run that has not been evaluated yet has no best checkpoint; its newest stands in.
static gr_status best(const kept *k, const char **out) {
  int64_t step = best_of_results(k);
  if (step < 0) step = best_of_newest(k);
  if (step >= 0) return of_step(k, step, true, out);
  return newest(k, out);
}

gr_status gr_run_find_checkpoint(gr_arena *a, const char *run, const char *dir, const char *which,
                                 const char **out) {
  kept k = {.arena = a, .run = run, .dir = dir};
  char *end;
  GR_TRY(gr_checkpoint_list(a, dir, &k.items, &k.n));
  if (!k.n || !strcmp(which, "last")) return newest(&k, out);
  if (!strcmp(which, "best")) return best(&k, out);
  long long step = strtoll(which, &end, 10);
  if (*which && !*end && step >= 0) return of_step(&k, step, false, out);
  return gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                 "--which must be best, last or the number of a step, but is '%s'", which);
}

// ---- Loading --------------------------------------------------------------------------------

static gr_status load(gr_run *r, gr_checkpoint **out) {
  const gr_weights_spec *w = &r->me.spec->weights;
  const char *dir = r->me.spec->set.saving.dir, *found = NULL, *path;
  bool all_ok;
  if (!dir) dir = gr_arena_printf(r->me.arena, "%s/checkpoints", w->run);
  gr_status s =
      r->me.rank ? GR_OK : gr_run_find_checkpoint(r->me.arena, w->run, dir, w->which, &found);
  gr_status t = gr_run_all_ok(&r->me, !s, &all_ok);
  if (s || t) return gr_also(s, t);
  if (!all_ok) return gr_fail(GR_ERR_RANK, GR_NOWHERE, "rank 0 could not find the checkpoint");
  GR_TRY(gr_run_broadcast_text(&r->me, found, &path));
  gr_run_list_pieces(&r->saving.states, &r->me);
  s = gr_checkpoint_open(path, out);
  if (!s && r->me.spec->set.options.optimizer.ema_decay.given &&
      !gr_checkpoint_scalar(*out, GR_CHECKPOINT_EMA))
    s = gr_hint(gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                        "'%s' has no averages of weights (training.ema_decay)", path),
                "--no-ema reads the trained weights");
  if (!s) s = gr_run_weights_read(r, *out);
  if (!s) s = gr_run_load_tables(&r->me);
  return gr_comm_all_ok(r->me.world, s);
}

// ---- Evaluation -----------------------------------------------------------------------------

// Names of splits as in --split, and as a training run prints them.
static const struct {
  const char *name, *printed;
} splits[] = {{"train", "training set"}, {"validation", "validation set"}, {"all", "all samples"}};
enum { ALL = 2 };

static void report_text(gr_rank *r, const gr_sums *sums, int split, const gr_metrics *m) {
  gr_text t = gr_text_make(r->arena);
  gr_tables tables = gr_run_tables(sums);
  gr_metrics_print(&t, m, " ");
  gr_log_result("%s:%s", splits[split].printed, t.chars);
  for (int i = 0; i < tables.n; i++) {
    char *rest = NULL;
    t.len = 0;
    gr_table_text(&t, &tables.items[i], &tables);
    for (char *line = strtok_r(t.chars, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
      gr_log_result("%s", line);
  }
}

static void report_json(gr_run *r, const char *checkpoint, int split, int64_t samples,
                        const gr_metrics *m) {
  gr_text t = gr_text_make(r->me.arena);
  gr_text_put(&t, "{");
  gr_text_json_member(&t, "checkpoint", checkpoint);
  gr_text_printf(&t, ", \"step\": %lld, \"split\": \"%s\", \"samples\": %lld, \"metrics\": {",
                 (long long)r->progress.step, splits[split].name, (long long)samples);
  for (int i = 0; i < m->n; i++) {
    gr_text_json_key(&t, m->items[i].name);
    gr_text_json_float(&t, m->items[i].sum / m->items[i].weight);
  }
  gr_text_put(&t, "}");
  gr_tables tables = gr_run_tables(r->evaluation.sums);
  if (tables.n) gr_text_put(&t, ", \"tables\": {");
  for (int i = 0; i < tables.n; i++) {
    gr_text_json_key(&t, tables.items[i].name);
    gr_table_json(&t, &tables.items[i]);
  }
  gr_text_put(&t, tables.n ? "}}" : "}");
  gr_log_result("%s", t.chars);
}

static gr_status evaluate(gr_run *r, const char *checkpoint) {
  const gr_weights_spec *w = &r->me.spec->weights;
  const bool wanted[] = {[GR_SPLIT_TRAIN] = w->train, [GR_SPLIT_VALIDATION] = w->validation};
  gr_samples *samples = NULL;
  gr_metrics all = {0};
  int64_t n = 0;
  bool evaluated = false;
  gr_run_eval_begin(r);
  for (int split = 0; split < 2; split++) {
    gr_metrics now = {0};
    uint32_t of = gr_dataset_count(r->me.spec->data, (gr_split)split);
    if (!wanted[split] || !gr_run_can_eval(&r->me, (gr_split)split)) continue;
    bool shown = of && split == GR_SPLIT_VALIDATION && !w->json;
    if (shown)
      samples = gr_samples_choose(&r->me, (gr_split)split, r->me.spec->set.outputs.show_samples);
    GR_TRY(gr_run_eval_part(r, (gr_split)split, shown ? samples : NULL, NULL, &now));
    gr_metrics_add(&all, &now);
    n += of, evaluated = true;
  }
  int what = w->train && w->validation ? ALL : w->validation;
  if (!evaluated)
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "there are no samples: %s", splits[what].printed),
        "--split=train, validation or all says which samples are evaluated");
  GR_TRY(gr_run_eval_end(r, &all));
  if (samples) GR_TRY(gr_samples_gather(samples, &r->me));
  if (samples) gr_samples_print(samples, &r->me);
  gr_samples_close(samples);
  if (!r->me.rank && w->json) report_json(r, checkpoint, what, n, &all);
  if (!r->me.rank && !w->json) report_text(&r->me, r->evaluation.sums, what, &all);
  return GR_OK;
}

gr_status gr_run_use_weights(gr_run *r) {
  gr_checkpoint *c = NULL;
  if (gr_run_is_dry(&r->me))
    return gr_hint(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "the device '%s' computes nothing",
                           gr_exec_device(r->me.exec)->ops->name),
                   "device=auto");
  gr_status s = load(r, &c);
  if (!s && r->me.rank == 0) {
    gr_log(GR_INFO, "%sweights of %s",
           r->me.spec->set.options.optimizer.ema_decay.given ? "averages of the " : "",
           gr_checkpoint_path(c));
    gr_run_log_data(&r->me);
  }
  bool predicts = r->me.spec->kind == GR_RUN_PREDICT;
  if (!s) gr_control_open(&r->control);
  if (!s) s = predicts ? gr_run_predict(r) : evaluate(r, gr_checkpoint_path(c));
  gr_checkpoint_close(c);
  return s;
}
