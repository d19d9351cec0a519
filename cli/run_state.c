// run_state.c - a run's states as checkpoints. See run.h.
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "cli/run.h"

// Totals are anew in every step: a checkpoint has none.
static bool lasts(const gr_plan_state *s) { return s->kind != GR_KIND_TOTAL; }

gr_piece gr_run_piece(gr_run *r, const gr_plan_state *s, int rank) {
  const gr_mesh *mesh = &r->job->plan->mesh;
  gr_piece p = {.name = s->name,
                .dtype = gr_dtypes[s->type.dtype].name,
                .rank = s->type.rank,
                .at = gr_exec_state(r->exec, s)};
  for (int d = 0; d < s->type.rank; d++) p.dims[d] = s->global.dim[d], p.size[d] = s->type.dim[d];
  for (int a = 0; a < mesh->n_axes; a++)
    if (s->layout.at[a] >= 0)
      p.offset[s->layout.at[a]] += s->type.dim[s->layout.at[a]] * gr_mesh_coord(mesh, rank, a);
  return p;
}

// Of the ranks that hold the same slice, the one with coordinate 0 writes it.
static bool writes(gr_run *r, const gr_plan_state *s) {
  const gr_mesh *mesh = &r->job->plan->mesh;
  for (int a = 0; a < mesh->n_axes; a++)
    if (s->layout.at[a] < 0 && gr_mesh_coord(mesh, r->rank, a)) return false;
  return true;
}

static gr_status open_saver(gr_run *r, const char *dir) {
  const gr_settings *set = &r->job->set;
  const gr_plan *p = r->job->plan;
  gr_piece *mine = GR_NEW(r->arena, gr_piece, p->n_states + 1);
  int n = 0;
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *s = &p->states[i];
    if (gr_run_is_gathered(r, s) && !r->rank) mine[n++] = gr_run_full_piece(r, s);
    if (gr_run_is_gathered(r, s) || !lasts(s) || !writes(r, s)) continue;
    mine[n++] = gr_run_piece(r, s, r->rank);
  }
  gr_saver_spec spec = {.dir = dir,
                        .rank = r->rank,
                        .ranks = r->ranks,
                        .pieces = mine,
                        .n_pieces = n,
                        .keep_last = set->keep_last ? (int)set->keep_last : INT_MAX,
                        .keep_best = (int)set->keep_best,
                        .metric = set->metric,
                        .level = (int)set->zstd_level,
                        .metric_max = !strcmp(set->mode, "max"),
                        .agree = gr_run_all_ok,
                        .ctx = r};
  return gr_saver_open(&spec, &r->saver);
}

// ---- Saving -------------------------------------------------------------------------------

static int scalars_of(gr_run *r, char *hooks, gr_scalar *out) {
  int n = 0;
  out[n++] = (gr_scalar){.name = "run.epoch", .kind = GR_SCALAR_INT, .i = r->epoch};
  out[n++] = (gr_scalar){.name = "run.batch", .kind = GR_SCALAR_INT, .i = r->batch};
  out[n++] = (gr_scalar){.name = "run.seed", .kind = GR_SCALAR_INT, .i = r->job->set.seed};
  out[n++] = (gr_scalar){.name = "run.global_batch", .kind = GR_SCALAR_INT, .i = r->job->set.batch};
  out[n++] = (gr_scalar){.name = "run.best", .kind = GR_SCALAR_FLOAT, .f = r->best};
  out[n++] = (gr_scalar){.name = "run.best_step", .kind = GR_SCALAR_INT, .i = r->best_step};
  out[n++] = (gr_scalar){.name = "run.best_epoch", .kind = GR_SCALAR_INT, .i = r->best_epoch};
  for (int i = 0; i < r->validation.n; i++)
    out[n++] = (gr_scalar){.name = r->validation.at[i].name,
                           .kind = GR_SCALAR_FLOAT,
                           .f = gr_metric_value(&r->validation, r->validation.at[i].name)};
  for (int i = 0; i < r->epoch_train.n; i++) {
    const gr_metric *m = &r->epoch_train.at[i];
    const char *sum = gr_arena_printf(r->arena, "epoch.%s.sum", m->name);
    const char *weight = gr_arena_printf(r->arena, "epoch.%s.weight", m->name);
    out[n++] = (gr_scalar){.name = sum, .kind = GR_SCALAR_FLOAT, .f = m->sum};
    out[n++] = (gr_scalar){.name = weight, .kind = GR_SCALAR_FLOAT, .f = m->weight};
  }
  if (hooks) out[n++] = (gr_scalar){.name = "run.hooks", .kind = GR_SCALAR_TEXT, .text = hooks};
  return n;
}

gr_status gr_run_save(gr_run *r) {
  GR_TRY(gr_run_save_finish(r));
  gr_scalar scalars[16 + 3 * GR_MAX_METRICS];
  gr_arena *scratch = gr_arena_create();
  char *hooks = NULL;
  if (r->hooks) gr_run_keep(r, gr_hooks_save(r->hooks, scratch, &hooks));
  gr_status s = gr_run_check(r);
  s = s ? s : gr_run_gather_full(r);
  if (!s) {
    s = gr_saver_begin(r->saver, r->step, scalars, scalars_of(r, hooks, scalars));
    r->saving = true, r->saved_step = r->step;
    if (s) gr_log(GR_WARN, "a checkpoint could not be begun: %s", gr_status_text(s));
    gr_status_drop(s);  // finish says the same to all ranks
    s = GR_OK;
  }
  gr_arena_destroy(scratch);
  return s;
}

// A checkpoint that cannot be written does not end a run: older ones are intact, and it says so.
gr_status gr_run_save_finish(gr_run *r) {
  if (!r->saving) return GR_OK;
  r->saving = false;
  gr_status s = gr_saver_finish(r->saver);
  if (gr_status_code(s) == GR_ERR_IO) {
    if (r->rank == 0) gr_status_print(stderr, s);
    gr_log(GR_WARN, "the run goes on without this checkpoint; older ones are as they were");
    gr_status_drop(s);
    r->saved_step = -1;
    return GR_OK;
  }
  if (s) return s;
  gr_run_hook(r, GR_HOOK_CHECKPOINT, NULL, NULL);
  return GR_OK;
}

gr_status gr_run_save_last(gr_run *r) {
  GR_TRY(gr_run_save_finish(r));
  if (r->step != r->saved_step) GR_TRY(gr_run_save(r));
  GR_TRY(gr_run_save_finish(r));
  if (r->step == r->saved_step) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_IO, GR_NOWHERE, "the state after step %lld could not be saved",
                         (long long)r->step),
                 "free space, and go on from the newest checkpoint: checkpoint.resume=auto "
                 "output.dir=%s",
                 r->dir);
}

// ---- Starting -----------------------------------------------------------------------------

static int64_t int_of(const gr_checkpoint *c, const char *name, int64_t preset) {
  const gr_scalar *s = gr_checkpoint_scalar(c, name);
  return s && s->kind == GR_SCALAR_INT ? s->i : preset;
}

static double float_of(const gr_checkpoint *c, const char *name, double preset) {
  const gr_scalar *s = gr_checkpoint_scalar(c, name);
  return s && s->kind == GR_SCALAR_FLOAT ? s->f : preset;
}

// The sums of the epoch at hand, and what the last evaluation gave.
static void restore_metrics(gr_run *r, const gr_checkpoint *c) {
  int n;
  const gr_scalar *all = gr_checkpoint_scalars(c, &n);
  for (int i = 0; i < n; i++) {
    const char *name = all[i].name, *dot = strrchr(name, '.');
    if (!dot && all[i].kind == GR_SCALAR_FLOAT && r->validation.n < GR_MAX_METRICS)
      r->validation.at[r->validation.n++] =
          (gr_metric){gr_arena_strdup(r->arena, name), all[i].f, 1};
    if (strncmp(name, "epoch.", 6) || !dot || strcmp(dot, ".sum") || i + 1 == n) continue;
    if (r->epoch_train.n < GR_MAX_METRICS)
      r->epoch_train.at[r->epoch_train.n++] = (gr_metric){
          gr_arena_strndup(r->arena, name + 6, (size_t)(dot - name - 6)), all[i].f, all[i + 1].f};
  }
}

static gr_status restore(gr_run *r, const char *path) {
  gr_checkpoint *c;
  gr_status opened = gr_checkpoint_open(path, &c);
  if (opened)
    return gr_hint(opened,
                   "checkpoint.resume is auto, none, or the folder of one step, such as "
                   "outputs/DATE/TIME/checkpoints/step-00001000");
  gr_status s = gr_checkpoint_read_all(c, r->pieces, r->n_pieces, true);
  r->step = gr_checkpoint_step(c);
  r->epoch = int_of(c, "run.epoch", 0), r->batch = int_of(c, "run.batch", 0);
  r->best = float_of(c, "run.best", r->best);
  r->best_step = int_of(c, "run.best_step", 0), r->best_epoch = int_of(c, "run.best_epoch", 0);
  if (!s && int_of(c, "run.global_batch", r->job->set.batch) != r->job->set.batch)
    s = gr_hint(gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                        "'%s' was made with batches of %lld, this run has %d", path,
                        (long long)int_of(c, "run.global_batch", 0), r->job->set.batch),
                "resume with the same training.batch_size");
  restore_metrics(r, c);
  if (!strcmp(r->job->set.resume, "auto")) r->saved_step = r->step;  // it is there already
  const gr_scalar *hooks = gr_checkpoint_scalar(c, "run.hooks");
  if (!s && r->hooks && hooks && hooks->kind == GR_SCALAR_TEXT)
    s = gr_hooks_restore(r->hooks, hooks->text);
  if (!s && r->rank == 0) gr_log(GR_INFO, "resumed from %s: step %lld", path, (long long)r->step);
  gr_checkpoint_close(c);
  return s;
}

// The checkpoint that `what` means: rank 0 looks and tells. "auto" is the newest in dir, if there
// is one. Empty: none.
static gr_status choose(gr_run *r, const char *what, const char *dir, char *path, size_t size) {
  gr_status s = GR_OK;
  *path = 0;
  if (r->rank == 0 && !strcmp(what, "auto")) {
    gr_checkpoint *c = NULL;
    s = gr_checkpoint_newest(dir, &c);
    if (c) snprintf(path, size, "%s", gr_checkpoint_path(c));
    gr_checkpoint_close(c);
  } else if (r->rank == 0 && strcmp(what, "none")) {
    snprintf(path, size, "%s", what);
  }
  bool all_ok;
  gr_status t = gr_run_all_ok(r, !s, &all_ok);
  if (s || t) return gr_also(s, t);
  if (!all_ok) return gr_fail(GR_ERR_RANK, GR_NOWHERE, "rank 0 could not look for a checkpoint");
  return gr_run_broadcast_text(r, path, size);
}

// A folder of checkpoints stands for its newest.
static gr_status init_from(gr_run *r, char *path, size_t size) {
  const char *from = r->job->set.init_from;
  bool many = gr_is_dir(from) && !gr_is_file(gr_arena_printf(r->arena, "%s/manifest.json", from));
  GR_TRY(choose(r, many ? "auto" : from, from, path, size));
  if (*path) return gr_run_init_from(r, path);
  return gr_hint(gr_fail(GR_ERR_CHECKPOINT, r->job->set.init_loc,
                         "there is no checkpoint in the folder '%s'", from),
                 "model.init_from is a checkpoint, a folder of them, or a file of safetensors");
}

gr_status gr_run_open_state(gr_run *r) {
  const gr_plan *p = r->job->plan;
  const char *dir = r->job->set.ckpt_dir;
  char path[2048];
  if (!dir) dir = gr_arena_printf(r->arena, "%s/checkpoints", r->dir);
  r->pieces = GR_NEW(r->arena, gr_piece, p->n_states + 1);
  for (uint32_t i = 0; i < p->n_states; i++)
    if (lasts(&p->states[i])) r->pieces[r->n_pieces++] = gr_run_piece(r, &p->states[i], r->rank);
  GR_TRY(gr_run_open_full(r));
  GR_TRY(open_saver(r, dir));
  GR_TRY(choose(r, r->job->set.resume, dir, path, sizeof path));
  if (*path) return restore(r, path);
  GR_TRY(gr_exec_run(r->exec, gr_plan_find(p, "init", "")));
  return r->job->set.init_from ? init_from(r, path, sizeof path) : GR_OK;
}

gr_status gr_run_weights_equal(gr_run *r) {
  uint64_t hash = GR_HASH_START;
  for (uint32_t i = 0; i < r->job->plan->n_states; i++) {
    const gr_plan_state *s = &r->job->plan->states[i];
    bool whole = lasts(s);
    for (int a = 0; a < r->job->plan->mesh.n_axes; a++) whole &= s->layout.at[a] < 0;
    if (whole) hash = gr_hash_bytes(hash, gr_exec_state(r->exec, s), gr_type_bytes(&s->type));
  }
  GR_TRY(gr_run_same(r, hash, "the state after training"));
  if (r->rank) return GR_OK;
  gr_log(GR_INFO, "weights are bit-equal on all %d ranks (hash %016llx)", r->ranks,
         (unsigned long long)hash);
  return GR_OK;
}
