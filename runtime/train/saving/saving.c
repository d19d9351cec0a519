// saving.c - see saving.h.
#include "runtime/train/saving/saving.h"
#include <assert.h>
#include <limits.h>

static void check(const gr_saving *s) {
  assert(s->saved_step >= -1 && s->resumed_step >= -1);
  assert(!s->saving || s->saved_step >= 0);
  (void)s;
}

gr_saving gr_saving_begin(void) { return (gr_saving){.resumed_step = -1, .saved_step = -1}; }

void gr_saving_choose(gr_saving *s, const char *ckpt_dir, const char *start) {
  s->ckpt_dir = ckpt_dir, s->start = start;
}

static gr_status all_ok(void *states, bool ok, bool *all_ok) {
  return gr_run_all_ok(((gr_states *)states)->rank, ok, all_ok);
}

gr_status gr_saving_open(gr_saving *s, const char *run_dir, double patience,
                         bool metric_is_of_pass) {
  gr_rank *r = s->states.rank;
  const gr_saving_settings *set = &r->spec->set.saving;
  gr_saver_spec spec = {.dir = s->ckpt_dir,
                        .rank = r->rank,
                        .ranks = r->ranks,
                        .pieces = s->states.saved,
                        .n_pieces = s->states.n_saved,
                        .owner = gr_arena_printf(r->arena, "output.dir=%s", run_dir),
                        .patience = patience,
                        .keep_last = set->keep_last ? (int)set->keep_last : INT_MAX,
                        .keep_best = (int)set->keep_best,
                        .metric = set->metric,
                        .metric_measured = metric_is_of_pass,
                        .level = (int)set->level,
                        .metric_max = set->mode == gr_mode_max,
                        .exit_checkpoint = GR_RUN_EXIT_CHECKPOINT,
                        .fetch = gr_run_fetch,
                        .in_place = !set->async,
                        .agree = all_ok,
                        .ctx = &s->states};
  return gr_saver_open(&spec, &s->saver);
}

void gr_saving_close(gr_saving *s) {
  gr_saver_close(s->saver);
  gr_states_close(&s->states);
}

void gr_saving_resumed(gr_saving *s, const char *path, int64_t step) {
  s->resumed_from = path, s->resumed_step = step;
  check(s);
}

// ---- When --------------------------------------------------------------------------------------

bool gr_run_save_due(const gr_saving *s, const gr_progress *p, bool asked) {
  int64_t every = s->states.rank->spec->set.saving.every_steps;
  return asked || s->owed || (every && p->step && p->step % every == 0);
}

bool gr_saving_has(const gr_saving *s, const gr_progress *p) { return s->saved_step == p->step; }

bool gr_saving_owe(gr_saving *s) {
  bool first = !s->owed;
  s->owed = true;
  return first;
}

void gr_saving_pay(gr_saving *s, const gr_progress *p) { s->owed &= !gr_progress_is_sound(p); }

// ---- Writing -----------------------------------------------------------------------------------

void gr_saving_start(gr_saving *s, const gr_progress *p, const gr_scalars_out *scalars) {
  assert(!s->saving);
  if (!s->saver) s->saved_step = p->step;  // a replay does what precedes
  if (!s->saver) return;
  gr_status begun = gr_saver_begin(s->saver, p->step, scalars->items, scalars->n);
  s->saving = true, s->confirmed = false, s->saved_step = p->step;
  if (begun) gr_log(GR_WARN, "a checkpoint could not be begun: %s", gr_status_text(begun));
  gr_status_drop(begun);  // finish reports the error to all ranks
  check(s);
}

void gr_saving_confirm(gr_saving *s, const gr_progress *p) {
  s->confirmed |= gr_progress_is_sound(p);
}

bool gr_saving_is_ready(const gr_saving *s) {
  return s->saving && s->confirmed && !gr_saver_busy(s->saver);
}

static gr_status abandon(gr_saving *s) {
  if (!s->states.rank->rank)
    gr_log(GR_WARN,
           "the checkpoint of step %lld is not kept: no step from it had a finite gradient",
           (long long)s->saved_step);
  s->saved_step = -1;
  return gr_saver_abandon(s->saver);
}

gr_status gr_saving_finish(gr_saving *s, const gr_progress *p, bool *saved) {
  bool first = s->states.rank->rank == 0;
  *saved = false;
  if (!s->saving) return GR_OK;
  s->saving = false;
  if (!s->confirmed && p->step > s->saved_step) return abandon(s);
  gr_status written = s->confirmed ? gr_saver_finish(s->saver) : gr_saver_commit(s->saver);
  *saved = !written;
  if (gr_status_code(written) != GR_ERR_IO) return written;
  if (first) gr_status_print(stderr, written);
  if (first)
    gr_log(GR_WARN, "there is no checkpoint of step %lld; older ones are as they were",
           (long long)s->saved_step);
  gr_status_drop(written);
  s->saved_step = -1;
  return GR_OK;
}

// ---- In a checkpoint ---------------------------------------------------------------------------

static void write_exit(const void *part, gr_scalars_out *out) {
  (void)part;
  if (out->exit_checkpoint) gr_scalars_put_int(out, GR_RUN_EXIT_CHECKPOINT, 1);
}

// An exit checkpoint is replaced by the checkpoint of an uninterrupted run; any other checkpoint is
// already one.
static gr_status read_exit(void *part, const gr_scalars_in *in) {
  const gr_scalar *s = gr_scalars_find(in, GR_RUN_EXIT_CHECKPOINT, GR_SCALAR_INT);
  if (gr_scalars_of_same_run(in) && !(s && s->i))
    ((gr_saving *)part)->saved_step = gr_checkpoint_step(in->checkpoint);
  return GR_OK;
}

void gr_saving_scalars(gr_saving *s, gr_scalar_table *t) {
  const gr_scalar_row rows[] = {
      {250, "run.owed", GR_FIELD_FLAG, &s->owed, NULL, NULL},
      {370, GR_RUN_EXIT_CHECKPOINT, GR_SCALARS, s, write_exit, read_exit},
  };
  gr_scalar_table_add(t, rows, sizeof rows / sizeof *rows);
}
