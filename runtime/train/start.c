// start.c - where a run starts: from the beginning, from a checkpoint of its folder if that is of
// the same run, or not at all if that run is finished. See run.h.
#include <string.h>
#include "base/json.h"
#include "base/work.h"
#include "runtime/train/identity.h"
#include "runtime/train/run.h"

enum { MAX_RESULTS = 1 << 30 };

gr_status gr_run_choose_checkpoint(gr_run *r, gr_resume what, const char *given, const char *dir,
                                   char *path, size_t size) {
  gr_status s = GR_OK;
  *path = 0;
  if (r->rank == 0 && what == gr_resume_auto) {
    gr_checkpoint *c = NULL;
    gr_work work;
    gr_work_begin(&work, gr_run_work_shown(r), "verifying the newest checkpoint", 0);
    s = gr_checkpoint_newest(dir, &c);
    gr_work_end(&work);
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

// ---- Whether a run is finished ------------------------------------------------------------------

// Whether the results in the folder are those of this checkpoint, of a run that ended well. A run
// that was killed between its last checkpoint and its results still has those to write.
static bool is_finished(const gr_run *r, gr_checkpoint *c, const char *identity) {
  gr_arena *a = gr_arena_create();
  const char *path = gr_arena_printf(a, "%s/" GR_RESULTS_NAME, r->dir);
  char *text = NULL, its[GR_IDENTITY_HASH];
  const gr_json *root = NULL;
  gr_json_error why;
  size_t n = 0;
  gr_status_drop(gr_is_file(path) ? gr_file_read(a, path, MAX_RESULTS, &text, &n) : GR_OK);
  bool there = text && gr_json_read(a, text, n, &root, &why) && root->kind == GR_JSON_OBJECT;
  gr_identity_hash(identity, its);
  const gr_json *whose = there ? gr_json_get(root, "identity", GR_JSON_TEXT) : NULL;
  const gr_json *steps = there ? gr_json_get(root, "steps", GR_JSON_INT) : NULL;
  const gr_json *code = there ? gr_json_get(root, "exit_code", GR_JSON_INT) : NULL;
  bool finished = whose && steps && code && !code->i && steps->i == gr_checkpoint_step(c) &&
                  !strcmp(whose->text, its);
  gr_arena_destroy(a);
  return finished;
}

static int64_t number_of(gr_checkpoint *c, const char *name) {
  const gr_scalar *s = gr_checkpoint_scalar(c, name);
  return s && s->kind == GR_SCALAR_INT ? s->i : 0;
}

// Whether a finished run is to be longer than it was. One that a hook has stopped goes on only if
// it is to have more steps.
static bool goes_on(const gr_run *r, gr_checkpoint *c) {
  gr_run then = *r;
  then.step = gr_checkpoint_step(c);
  then.epoch = number_of(c, "run.epoch"), then.batch = number_of(c, "run.batch");
  bool stopped =
      gr_checkpoint_scalar(c, "run.stop") && r->total_steps <= number_of(c, GR_RUN_TOTAL_STEPS);
  return !stopped && (!gr_run_is_done(&then) || gr_run_epoch_open(&then));
}

static void log_nothing_left(const gr_run *r, gr_checkpoint *c) {
  const gr_scalar *stop = gr_checkpoint_scalar(c, "run.stop");
  gr_log(GR_INFO, "nothing left to do: '%s' has this run, finished after %lld steps%s%s", r->dir,
         (long long)gr_checkpoint_step(c), stop ? ", stopped by a hook: " : "",
         stop && stop->kind == GR_SCALAR_TEXT ? stop->text : "");
  gr_log(GR_INFO, "results: %s/" GR_RESULTS_NAME "; a larger training.max_epochs goes on", r->dir);
}

// On rank 0. A run that is not finished may go on with another configuration, of which it lists
// what is other; and so may any from a checkpoint that is named by its path.
static gr_status check_start(gr_run *r, const char *path) {
  gr_checkpoint *c;
  if (!*path || r->spec->set.resume != gr_resume_auto || !r->spec->identity) return GR_OK;
  GR_TRY(gr_checkpoint_open(path, &c));
  const gr_scalar *was = gr_checkpoint_scalar(c, GR_RUN_IDENTITY);
  bool finished = was && was->kind == GR_SCALAR_TEXT && is_finished(r, c, was->text);
  gr_status s =
      finished ? gr_identity_check(r->dir, was->text, r->spec->identity, GR_IDENTITY_ALL) : GR_OK;
  r->nothing_left = !s && finished && !goes_on(r, c);
  if (r->nothing_left) log_nothing_left(r, c);
  gr_checkpoint_close(c);
  return s;
}

gr_status gr_run_find_start(gr_run *r) {
  const char *dir = r->spec->set.ckpt_dir;
  char path[2048];
  bool all_ok;
  if (!dir && r->dir) dir = gr_arena_printf(r->arena, "%s/checkpoints", r->dir);
  r->ckpt_dir = dir;
  gr_resume resume = r->spec->set.resume;
  if (gr_run_is_dry(r) && resume == gr_resume_auto) resume = gr_resume_none;  // it has no folder
  GR_TRY(gr_run_choose_checkpoint(r, resume, r->spec->set.resume_text, dir, path, sizeof path));
  if (*path) r->start = gr_arena_strdup(r->arena, path);
  if (gr_run_is_dry(r)) return GR_OK;
  gr_status s = r->rank == 0 ? check_start(r, path) : GR_OK;
  gr_status t = gr_run_all_ok(r, !s, &all_ok);
  if (s || t) return gr_also(s, t);
  if (!all_ok) return gr_fail(GR_ERR_RANK, GR_NOWHERE, "rank 0 refused the run's folder");
  GR_TRY(gr_run_all_ok(r, !r->nothing_left, &all_ok));
  r->nothing_left = !all_ok;
  return GR_OK;
}
