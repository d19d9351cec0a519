// state.c - a run's states as checkpoints. See run.h.
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/train/run.h"

// Totals are anew in every step: a checkpoint has none.
static bool lasts(const gr_plan_state *s) { return s->kind != GR_KIND_GRAD_ACCUMULATOR; }

// Without padding: a rank's memory begins with what it holds of the whole, densely.
gr_tensor_slice gr_run_tensor_slice(gr_run *r, const gr_plan_state *s, int rank) {
  gr_tensor_slice p = {.name = s->name,
                       .dtype = gr_dtypes[s->type.dtype].name,
                       .rank = s->type.rank,
                       .at = gr_exec_state(r->exec, s).at};
  for (int d = 0; d < s->type.rank; d++) p.dims[d] = s->global.dim[d];
  gr_layout_slice(&s->global, &s->layout, &r->spec->plan->mesh, rank, p.offset, p.size);
  return p;
}

// Of the ranks that hold the same slice, the one with coordinate 0 writes it.
static bool writes(gr_run *r, const gr_plan_state *s) {
  const gr_mesh *mesh = &r->spec->plan->mesh;
  for (int a = 0; a < mesh->n_axes; a++)
    if (s->layout.at[a] < 0 && gr_mesh_coord(mesh, r->rank, a)) return false;
  return true;
}

static gr_status open_saver(gr_run *r, const char *dir) {
  const gr_settings *set = &r->spec->set;
  const gr_plan *p = r->spec->plan;
  gr_tensor_slice *mine = GR_NEW(r->arena, gr_tensor_slice, p->n_states + 1);
  int n = 0;
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *s = &p->states[i];
    if (gr_run_is_gathered(r, s) && !r->rank) mine[n++] = gr_run_full_tensor_slice(r, s);
    if (gr_run_is_gathered(r, s) || !lasts(s) || !writes(r, s)) continue;
    mine[n++] = gr_run_tensor_slice(r, s, r->rank);
  }
  gr_saver_spec spec = {.dir = dir,
                        .rank = r->rank,
                        .ranks = r->ranks,
                        .pieces = mine,
                        .n_pieces = n,
                        .owner = gr_arena_printf(r->arena, "output.dir=%s", r->dir),
                        .patience = gr_run_patience(r),
                        .keep_last = set->keep_last ? (int)set->keep_last : INT_MAX,
                        .keep_best = (int)set->keep_best,
                        .metric = set->metric,
                        .level = (int)set->zstd_level,
                        .metric_max = set->mode == gr_mode_max,
                        .exit_checkpoint = GR_RUN_EXIT_CHECKPOINT,
                        .fetch = gr_run_fetch,
                        .agree = gr_run_all_ok,
                        .ctx = r};
  return gr_saver_open(&spec, &r->saver);
}

// ---- Starting -----------------------------------------------------------------------------

static int64_t int_of(const gr_checkpoint *c, const char *name, int64_t default_value) {
  const gr_scalar *s = gr_checkpoint_scalar(c, name);
  return s && s->kind == GR_SCALAR_INT ? s->i : default_value;
}

static double float_of(const gr_checkpoint *c, const char *name, double default_value) {
  const gr_scalar *s = gr_checkpoint_scalar(c, name);
  return s && s->kind == GR_SCALAR_FLOAT ? s->f : default_value;
}

// What hooks had asked for. A run that one has stopped is over, unless it begins anew from a
// checkpoint named by its path, or without hooks.
static void restore_asked(gr_run *r, const gr_checkpoint *c, bool same_run) {
  int n;
  const gr_scalar *all = gr_checkpoint_scalars(c, &n);
  for (int i = 0; i < n; i++) {
    gr_hook_result *a = &r->asked;
    if (all[i].kind != GR_SCALAR_FLOAT || strncmp(all[i].name, "log.", 4)) continue;
    if (a->n_logs == GR_HOOK_LOGS) return;
    snprintf(a->logs[a->n_logs].name, GR_HOOK_NAME, "%s", all[i].name + 4);
    a->logs[a->n_logs++].value = all[i].f;
  }
  const gr_scalar *stop = gr_checkpoint_scalar(c, "run.stop");
  if (!same_run || !r->spec->set.n_hooks || !stop || stop->kind != GR_SCALAR_TEXT) return;
  r->asked.stop = true;
  snprintf(r->asked.reason, sizeof r->asked.reason, "%s", stop->text);
}

static void restore_counts(gr_run *r, const gr_checkpoint *c) {
  r->step = gr_checkpoint_step(c);
  r->epoch = int_of(c, "run.epoch", 0), r->batch = int_of(c, "run.batch", 0);
  r->best = float_of(c, "run.best", r->best);
  r->best_step = int_of(c, "run.best_step", 0), r->best_epoch = int_of(c, "run.best_epoch", 0);
  r->loss = float_of(c, "run.loss", r->loss), r->lr = float_of(c, "run.lr", r->lr);
  r->owed = int_of(c, "run.owed", 0) != 0;
  const gr_scalar *bests = gr_checkpoint_scalar(c, "run.bests");
  if (bests && bests->kind == GR_SCALAR_TEXT) gr_run_restore_bests(r, bests->text);
  r->skipped = int_of(c, "run.skipped", 0), r->lr_step = int_of(c, "run.lr_step", -1);
  r->eval_step = int_of(c, "run.eval_step", -1);
}

static void check_samples(const gr_run *r, const gr_checkpoint *c) {
  int64_t now = gr_dataset_count(r->spec->data, GR_SPLIT_TRAIN),
          then = int_of(c, "run.samples", now);
  if (r->rank || then == now) return;
  gr_log(GR_WARN, "there are %lld training samples, and were %lld: they come in another order",
         (long long)now, (long long)then);
}

// The sums of the epoch at hand, and what the last evaluation gave.
static void restore_metrics(gr_run *r, const gr_checkpoint *c) {
  int n;
  const gr_scalar *all = gr_checkpoint_scalars(c, &n);
  for (int i = 0; i < n; i++) {
    const char *name = all[i].name, *dot = strrchr(name, '.');
    if (!dot && all[i].kind == GR_SCALAR_FLOAT && r->validation.n < GR_MAX_METRICS)
      r->validation.at[r->validation.n++] = (gr_metric){gr_run_metric_name(r, name), all[i].f, 1};
    if (strncmp(name, "epoch.", 6) || !dot || strcmp(dot, ".sum") || i + 1 == n) continue;
    if (r->epoch_train.n < GR_MAX_METRICS)
      r->epoch_train.at[r->epoch_train.n++] = (gr_metric){
          gr_run_metric_name(r, gr_arena_strndup(r->arena, name + 6, (size_t)(dot - name - 6))),
          all[i].f, all[i + 1].f};
  }
}

// All states of this rank: into their memory, or by way of the host's.
static gr_status read_states(gr_run *r, gr_checkpoint *c) {
  size_t bytes = 0, used = 0;
  gr_tensor_slice *want = GR_NEW(r->arena, gr_tensor_slice, r->n_pieces + 1);
  for (int i = 0; i < r->n_pieces; i++) {
    gr_exec_tensor t = gr_run_tensor_of(&r->pieces[i]);
    bytes += gr_exec_staging(r->exec, &t);
  }
  char *staging = malloc(bytes + 1);
  if (!staging) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory to read a checkpoint");
  for (int i = 0; i < r->n_pieces; i++) {
    gr_exec_tensor t = gr_run_tensor_of(&r->pieces[i]);
    want[i] = r->pieces[i];
    want[i].at = gr_exec_target(r->exec, &t, staging + used);
    used += gr_exec_staging(r->exec, &t);
  }
  gr_status s = gr_checkpoint_read_all(c, want, r->n_pieces, true);
  for (int i = 0; i < r->n_pieces && !s; i++) {
    gr_exec_tensor t = gr_run_tensor_of(&r->pieces[i]);
    s = gr_exec_store(r->exec, &t, want[i].at);
  }
  free(staging);
  return s;
}

static gr_status restore(gr_run *r, const char *path) {
  gr_checkpoint *c;
  gr_status opened = gr_checkpoint_open(path, &c);
  if (opened)
    return gr_hint(opened,
                   "checkpoint.resume is auto, none, or the folder of one step, such as "
                   "outputs/DATE/TIME/checkpoints/step-00001000");
  gr_status s = read_states(r, c);
  restore_counts(r, c);
  check_samples(r, c);
  if (!s && int_of(c, "run.global_batch", r->spec->set.batch) != r->spec->set.batch)
    s = gr_hint(gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                        "'%s' was made with batches of %lld, this run has %d", path,
                        (long long)int_of(c, "run.global_batch", 0), r->spec->set.batch),
                "resume with the same training.batch_size");
  restore_metrics(r, c);
  bool same_run = r->spec->set.resume == gr_resume_auto;
  restore_asked(r, c, same_run);
  // It is there already; a passing one makes room for that of an undisturbed run.
  if (same_run && !int_of(c, GR_RUN_EXIT_CHECKPOINT, 0)) r->saved_step = r->step;
  const gr_scalar *data = gr_checkpoint_scalar(c, "run.data");
  if (!s && data && data->kind == GR_SCALAR_TEXT) s = gr_dataset_restore(r->spec->data, data->text);
  const gr_scalar *hooks = gr_checkpoint_scalar(c, "run.hooks");
  if (!s && r->hooks && hooks && hooks->kind == GR_SCALAR_TEXT)
    s = gr_hooks_restore(r->hooks, hooks->text);
  if (!s && r->rank == 0) gr_log(GR_INFO, "resumed from %s: step %lld", path, (long long)r->step);
  gr_checkpoint_close(c);
  return s;
}

// The checkpoint to read, which rank 0 looks for: the newest in dir, if there is one, or `given`.
// Empty: none.
static gr_status choose(gr_run *r, gr_resume what, const char *given, const char *dir, char *path,
                        size_t size) {
  gr_status s = GR_OK;
  *path = 0;
  if (r->rank == 0 && what == gr_resume_auto) {
    gr_checkpoint *c = NULL;
    s = gr_checkpoint_newest(dir, &c);
    if (c) snprintf(path, size, "%s", gr_checkpoint_path(c));
    gr_checkpoint_close(c);
  } else if (r->rank == 0 && what == gr_resume_text) {
    snprintf(path, size, "%s", given);
  }
  bool all_ok;
  gr_status t = gr_run_all_ok(r, !s, &all_ok);
  if (s || t) return gr_also(s, t);
  if (!all_ok) return gr_fail(GR_ERR_RANK, GR_NOWHERE, "rank 0 could not look for a checkpoint");
  return gr_run_broadcast_text(r, path, size);
}

// A folder of checkpoints stands for its newest, and a run's folder for its checkpoints.
static gr_status init_from(gr_run *r, char *path, size_t size) {
  const char *from = r->spec->set.init_from;
  const char *inner = gr_arena_printf(r->arena, "%s/checkpoints", from);
  bool many = gr_is_dir(from) && !gr_is_file(gr_arena_printf(r->arena, "%s/manifest.json", from));
  if (many && gr_is_dir(inner)) from = inner;
  gr_resume what = many ? gr_resume_auto : gr_resume_text;
  GR_TRY(gr_note(choose(r, what, from, from, path, size), r->spec->set.init_loc,
                 "asked for by model.init_from"));
  if (*path) return gr_run_init_from(r, path);
  return gr_hint(gr_fail(GR_ERR_CHECKPOINT, r->spec->set.init_loc,
                         "there is no checkpoint in the folder '%s'", from),
                 "model.init_from is a run's folder, a folder of checkpoints, one of them, or a "
                 "file of safetensors");
}

gr_status gr_run_open_state(gr_run *r) {
  const gr_plan *p = r->spec->plan;
  const char *dir = r->spec->set.ckpt_dir;
  char path[2048];
  if (!dir && r->dir) dir = gr_arena_printf(r->arena, "%s/checkpoints", r->dir);
  r->ckpt_dir = dir;
  r->pieces = GR_NEW(r->arena, gr_tensor_slice, p->n_states + 1);
  for (uint32_t i = 0; i < p->n_states; i++)
    if (lasts(&p->states[i]))
      r->pieces[r->n_pieces++] = gr_run_tensor_slice(r, &p->states[i], r->rank);
  GR_TRY(gr_run_open_full(r));
  bool dry = gr_run_is_dry(r);
  gr_resume resume = r->spec->set.resume;
  if (dry && resume == gr_resume_auto) resume = gr_resume_none;  // it has no folder
  if (!dry) GR_TRY(open_saver(r, dir));
  GR_TRY(choose(r, resume, r->spec->set.resume_text, dir, path, sizeof path));
  if (*path && r->rank == 0 && !dry) gr_run_log_config_changes(r, path);
  if (*path) return restore(r, path);
  GR_TRY(gr_exec_run(r->exec, gr_plan_find(p, "init", "")));
  return r->spec->set.init_from ? init_from(r, path, sizeof path) : GR_OK;
}
