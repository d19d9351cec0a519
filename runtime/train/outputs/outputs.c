// outputs.c - see outputs.h.
#include "runtime/train/outputs/outputs.h"
#include <assert.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include "base/output.h"
#include "runtime/launch/launch.h"

// Seconds to wait until a run that was killed, or was orphaned and is saving, releases its folder.
double gr_run_patience(const gr_rank *r) {
  double most = r->spec->set.comm.timeout / 2;
  return most < 10 ? most : 10;
}

// ---- The folder --------------------------------------------------------------------------------

// outputs/DATE/TIME if neither output.dir nor hydra.run.dir is set. A number is appended to a name
// that exists already, so that every run has its own folder.
static gr_status make_new(gr_arena *a, const char **dir) {
  char stamp[64];
  time_t now = (time_t)gr_wall_seconds();
  struct tm local;
  strftime(stamp, sizeof stamp, "outputs/%Y-%m-%d", localtime_r(&now, &local));
  GR_TRY(gr_make_dirs(stamp));
  strftime(stamp, sizeof stamp, "outputs/%Y-%m-%d/%H-%M-%S", &local);
  *dir = gr_arena_strdup(a, stamp);
  bool made = false;
  GR_TRY(gr_make_dir(*dir, &made));
  for (int i = 2; !made; i++) {
    *dir = gr_arena_printf(a, "%s-%d", stamp, i);
    GR_TRY(gr_make_dir(*dir, &made));
  }
  return GR_OK;
}

static gr_status make_dir(gr_outputs *o, gr_rank *r, const char **dir) {
  const char *given = r->spec->set.outputs.dir ? r->spec->set.outputs.dir : r->spec->run_dir;
  if (given) *dir = given;
  GR_TRY(gr_hint(given ? gr_make_dirs(given) : make_new(r->arena, dir),
                 "output.dir=FOLDER is where a run puts its files"));
  gr_lock_spec lock = {.dir = *dir, .file = ".run.lock", .seconds = gr_run_patience(r)};
  return gr_hint(gr_lock_take(&lock, &o->lock),
                 "wait for its end or stop it, or give this run another output.dir");
}

// Ranks on other machines, or with another working directory, write their shards of checkpoints to
// the same folder.
static gr_status check_seen(const char *dir) {
  if (gr_is_dir(dir)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_IO, GR_NOWHERE,
                         "the folder of the run, '%s', which rank 0 has made, is not there", dir),
                 "output.dir must name a folder that all ranks share, by the same path");
}

void gr_run_set_resume_hint(const gr_outputs *o, const gr_rank *r, bool saved) {
  char hint[PATH_MAX + 128] = "this run had not written a checkpoint yet: start it again";
  if (r->rank || !o->dir) return;
  if (saved)
    snprintf(hint, sizeof hint,
             "go on from the last checkpoint with: checkpoint.resume=auto output.dir=%s", o->dir);
  gr_launch_set_resume_hint(hint);
}

gr_status gr_run_open_dir(gr_outputs *o, gr_rank *r) {
  const char *dir = "";
  bool all_ok;
  o->dir = r->spec->weights.run;  // a replay only reads there
  if (o->dir) return GR_OK;
  gr_status s = r->rank == 0 ? make_dir(o, r, &dir) : GR_OK;
  gr_status t = gr_run_all_ok(r, !s, &all_ok);
  if (s || t) return gr_also(s, t);
  if (!all_ok) return gr_fail(GR_ERR_RANK, GR_NOWHERE, "rank 0 could not make its folder");
  GR_TRY(gr_run_broadcast_text(r, dir, &dir));
  GR_TRY(gr_comm_all_ok(r->world, check_seen(dir)));
  o->dir = dir;
  return GR_OK;
}

gr_status gr_run_open_log(gr_outputs *o, gr_rank *r) {
  if (r->rank == 0) GR_TRY(gr_report_open_log(o->dir, &o->log));
  if (r->rank == 0) gr_launch_set_log(gr_arena_printf(r->arena, "%s/run.log", o->dir));
  gr_run_set_resume_hint(o, r, false);
  return GR_OK;
}

// ---- Hooks and the report ----------------------------------------------------------------------

gr_status gr_run_open_hooks(gr_outputs *o, gr_rank *r) {
  const gr_settings *s = &r->spec->set;
  if (!s->hooks.paths.n || r->rank) return GR_OK;
  gr_hooks_spec spec = {.scripts = s->hooks.scripts,
                        .n_scripts = s->hooks.paths.n,
                        .seed = (uint64_t)s->loop.seed,
                        .out_dir = gr_run_writes(r) ? o->dir : NULL,
                        .seconds = s->hooks.hooks_seconds,
                        .adjust = r->spec->adjust,
                        .n_adjust = r->spec->n_adjust,
                        .stop = gr_run_signalled};
  return gr_hooks_open(&spec, &o->hooks);
}

gr_status gr_run_open_report(gr_outputs *o, gr_rank *r, const gr_progress *p, bool eval_open) {
  int64_t every = r->spec->set.outputs.log_every;
  gr_report_spec spec = {.dir = o->dir,
                         .rank = gr_run_writes(r) ? r->rank : 1,  // others than 0 write nothing
                         .ranks = r->ranks,
                         .resume_step = p->step,
                         .resume_epoch = p->epoch,
                         .epoch_open = gr_run_epoch_open(p),
                         .eval_open = gr_run_epoch_open(p) || eval_open,
                         .terminal = gr_launch_terminal(),
                         .total_steps = p->total_steps,
                         .every_steps = every > 1 ? every : 0,
                         .all_ranks = r->spec->set.outputs.log_ranks == gr_log_ranks_all,
                         .communication_known = gr_exec_device(r->exec)->limits.host_memory,
                         .quiet = !r->spec->set.outputs.progress,
                         .no_lines = !r->spec->set.outputs.jsonl,
                         .no_events = !r->spec->set.outputs.tensorboard,
                         .tags = r->spec->set.outputs.tags,
                         .graph = r->spec->graph_def,
                         .graph_bytes = r->spec->graph_def_bytes};
  spec.params = gr_run_hparams(r, &spec.n_params);
  return gr_report_open(&spec, &o->report);
}

bool gr_outputs_has_hook(const gr_outputs *o, gr_hook_event event) {
  return o->hooks && gr_hooks_has(o->hooks, event);
}

void gr_outputs_close(gr_outputs *o) {
  gr_report_close(o->report);
  gr_report_close_log(o->log);
  gr_hooks_close(o->hooks);
  o->report = NULL, o->log = NULL, o->hooks = NULL;
}

void gr_outputs_unlock(gr_outputs *o) {
  assert(!o->report && !o->log && !o->hooks);
  gr_lock_release(o->lock);
}

// ---- In a checkpoint ---------------------------------------------------------------------------

static void write_hooks(const void *part, gr_scalars_out *out) {
  (void)part;
  if (out->hooks) gr_scalars_put_text(out, "run.hooks", out->hooks);
}

static gr_status read_hooks(void *part, const gr_scalars_in *in) {
  const gr_outputs *o = part;
  const gr_scalar *s = gr_scalars_find(in, "run.hooks", GR_SCALAR_TEXT);
  return o->hooks && s ? gr_hooks_restore(o->hooks, s->text) : GR_OK;
}

void gr_outputs_scalars(gr_outputs *o, gr_scalar_table *t) {
  const gr_scalar_row row = {330, "run.hooks", GR_SCALARS, o, write_hooks, read_hooks};
  gr_scalar_table_add(t, &row, 1);
}
