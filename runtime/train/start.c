// start.c - where a run starts: from the beginning, from a checkpoint of its folder if that is of
// the same run, or not at all if that run is finished. See run.h.
#include <string.h>
#include "base/json.h"
#include "base/work.h"
#include "runtime/train/identity.h"
#include "runtime/train/run.h"

enum { MAX_RESULTS = 1 << 30 };

gr_status gr_run_choose_checkpoint(gr_rank *r, gr_resume what, const char *given, const char *dir,
                                   const char **path) {
  const char *found = "";
  gr_status s = GR_OK;
  if (r->rank == 0 && what == gr_resume_auto) {
    gr_checkpoint *c = NULL;
    gr_work work;
    gr_work_begin(&work, gr_run_work_shown(r), "verifying the newest checkpoint", 0);
    s = gr_checkpoint_newest(dir, &c);
    gr_work_end(&work);
    if (c) found = gr_arena_strdup(r->arena, gr_checkpoint_path(c));
    gr_checkpoint_close(c);
  } else if (r->rank == 0 && what == gr_resume_text) {
    found = given;
  }
  bool all_ok;
  gr_status t = gr_run_all_ok(r, !s, &all_ok);
  if (s || t) return gr_also(s, t);
  if (!all_ok) return gr_fail(GR_ERR_RANK, GR_NOWHERE, "rank 0 could not look for a checkpoint");
  return gr_run_broadcast_text(r, found, path);
}

// ---- Whether a run is finished ------------------------------------------------------------------

// What the results in the folder say of the run that wrote them. ended_well false: there are none,
// or it was stopped or failed.
typedef struct results {
  bool ended_well;
  int64_t steps;
  char identity[GR_IDENTITY_HASH];  // empty: of a version without identities
} results;

static results read_results(const char *dir) {
  gr_arena *a = gr_arena_create();
  const char *path = gr_arena_printf(a, "%s/" GR_RESULTS_NAME, dir);
  char *text = NULL;
  const gr_json *root = NULL;
  gr_json_error why;
  size_t n = 0;
  results out = {0};
  gr_status_drop(gr_is_file(path) ? gr_file_read(a, path, MAX_RESULTS, &text, &n) : GR_OK);
  bool there = text && gr_json_read(a, text, n, &root, &why) && root->kind == GR_JSON_OBJECT;
  const gr_json *whose = there ? gr_json_get(root, "identity", GR_JSON_TEXT) : NULL;
  const gr_json *steps = there ? gr_json_get(root, "steps", GR_JSON_INT) : NULL;
  const gr_json *code = there ? gr_json_get(root, "exit_code", GR_JSON_INT) : NULL;
  out.ended_well = steps && code && !code->i;
  out.steps = steps ? steps->i : 0;
  if (whose) snprintf(out.identity, sizeof out.identity, "%s", whose->text);
  gr_arena_destroy(a);
  return out;
}

// Whether the results are those of this checkpoint. A run that was killed between its last
// checkpoint and its results still has those to write.
static bool is_finished(const results *of, gr_checkpoint *c, const char *identity) {
  char its[GR_IDENTITY_HASH] = "";
  if (identity) gr_identity_hash(identity, its);
  return of->ended_well && of->steps == gr_checkpoint_step(c) && !strcmp(of->identity, its);
}

static int64_t number_of(gr_checkpoint *c, const char *name) {
  const gr_scalar *s = gr_checkpoint_scalar(c, name);
  return s && s->kind == GR_SCALAR_INT ? s->i : 0;
}

// Whether a finished run is to be longer than it was. One that a hook has stopped goes on only if
// it is to have more steps.
static bool goes_on(const gr_loop_settings *s, const gr_progress *p, gr_checkpoint *c) {
  gr_progress then = gr_progress_at(p, gr_checkpoint_step(c), number_of(c, "run.epoch"),
                                    number_of(c, "run.batch"));
  bool stopped =
      gr_checkpoint_scalar(c, "run.stop") && p->total_steps <= number_of(c, GR_RUN_TOTAL_STEPS);
  return !stopped && (!gr_run_is_done(&then, s) || gr_run_epoch_open(&then));
}

static void log_nothing_left(const gr_loop_settings *s, const char *dir, gr_checkpoint *c) {
  bool by_steps = s->max_steps && s->max_steps <= gr_checkpoint_step(c);
  bool by_epochs = !by_steps || s->max_epochs <= number_of(c, "run.epoch");
  const gr_scalar *stop = gr_checkpoint_scalar(c, "run.stop");
  gr_log(GR_INFO, "nothing left to do: '%s' has this run, finished after %lld steps%s%s", dir,
         (long long)gr_checkpoint_step(c), stop ? ", stopped: " : "",
         stop && stop->kind == GR_SCALAR_TEXT ? stop->text : "");
  gr_log(GR_INFO, "results: %s/" GR_RESULTS_NAME "; a larger %s%s%s goes on", dir,
         by_steps ? "training.max_steps" : "", by_steps && by_epochs ? " and " : "",
         by_epochs ? "training.max_epochs" : "");
}

// The identity that the checkpoint holds; NULL: it is of a version without identities.
static const char *identity_of(gr_checkpoint *c) {
  const gr_scalar *s = gr_checkpoint_scalar(c, GR_RUN_IDENTITY);
  return s && s->kind == GR_SCALAR_TEXT ? s->text : NULL;
}

// Where the folder has a finished run, or no step would be trained, results would be written under
// another configuration than theirs: both the checkpoint and the folder must be of this run.
static gr_status check_closed(gr_rank *r, const char *dir, gr_checkpoint *c) {
  const char *recorded = identity_of(c), *of_folder, *path = gr_checkpoint_path(c);
  const char *current = r->spec->identity;
  if (!recorded) return gr_run_check_recorded(r, dir, path);
  GR_TRY(gr_identity_check(path, path, recorded, current, GR_IDENTITY_ALL));
  GR_TRY(gr_identity_read(r->arena, dir, &of_folder));
  return of_folder ? gr_identity_check(dir, path, of_folder, current, GR_IDENTITY_ALL) : GR_OK;
}

// On rank 0. A run that is not finished may go on with another configuration, of which it lists
// what is other, but not with other data; any may from a checkpoint that is named by its path.
static gr_status check_start(gr_run *r, const char *path, bool *nothing_left) {
  gr_checkpoint *c;
  if (!*path || r->me.spec->set.saving.resume != gr_resume_auto || !r->me.spec->identity)
    return GR_OK;
  GR_TRY(gr_checkpoint_open(path, &c));
  const char *recorded = identity_of(c), *current = r->me.spec->identity;
  results before = read_results(r->outputs.dir);
  bool more = goes_on(&r->me.spec->set.loop, &r->progress, c);
  gr_status s = GR_OK;
  if (before.ended_well || !more)
    s = check_closed(&r->me, r->outputs.dir, c);
  else if (recorded)
    s = gr_identity_check(r->outputs.dir, path, recorded, current, GR_IDENTITY_DATA);
  *nothing_left = !s && !more && is_finished(&before, c, recorded);
  if (*nothing_left) log_nothing_left(&r->me.spec->set.loop, r->outputs.dir, c);
  gr_checkpoint_close(c);
  return s;
}

// What a replay begins from: the newest checkpoint of before its step, or what the run began from.
static gr_status find_before(gr_run *r, const char *dir, gr_resume *what, const char **path) {
  int64_t step = r->me.spec->weights.replay.step, all = r->progress.total_steps;
  gr_checkpoint_entry *list;
  int n;
  if (step > all)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "step %lld is past the run's end: it has %lld steps",
                   (long long)step, (long long)all);
  GR_TRY(gr_checkpoint_list(r->me.arena, dir, &list, &n));
  if (*what == gr_resume_auto) *what = gr_resume_none;
  for (int i = 0; i < n; i++)
    if (list[i].state == GR_CHECKPOINT_OK && list[i].step < step)
      *what = gr_resume_text, *path = list[i].path;
  return GR_OK;
}

gr_status gr_run_find_start(gr_run *r, bool *nothing_left) {
  gr_rank *me = &r->me;
  const char *dir = me->spec->set.saving.dir, *path;
  bool all_ok;
  if (!dir && r->outputs.dir) dir = gr_arena_printf(me->arena, "%s/checkpoints", r->outputs.dir);
  *nothing_left = false;
  gr_resume resume = me->spec->set.saving.resume;
  const char *given = me->spec->set.saving.resume_text;
  if (gr_run_is_dry(me) && resume == gr_resume_auto) resume = gr_resume_none;  // it has no folder
  if (dir && me->spec->weights.replay.step) GR_TRY(find_before(r, dir, &resume, &given));
  if (resume == gr_resume_auto && me->rank == 0 && dir && gr_run_writes(me))
    gr_checkpoint_settle(dir, gr_arena_printf(me->arena, "output.dir=%s", r->outputs.dir),
                         gr_run_patience(me));
  GR_TRY(gr_run_choose_checkpoint(me, resume, given, dir, &path));
  gr_saving_choose(&r->saving, dir, *path ? path : NULL);
  if (!gr_run_writes(me)) return GR_OK;
  gr_status s = me->rank == 0 ? check_start(r, path, nothing_left) : GR_OK;
  gr_status t = gr_run_all_ok(me, !s, &all_ok);
  if (s || t) return gr_also(s, t);
  if (!all_ok) return gr_fail(GR_ERR_RANK, GR_NOWHERE, "rank 0 refused the run's folder");
  GR_TRY(gr_run_all_ok(me, !*nothing_left, &all_ok));
  *nothing_left = !all_ok;
  return GR_OK;
}
