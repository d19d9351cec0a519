// control.c - see control.h.
#include "runtime/train/control/control.h"
#include <assert.h>
#include <string.h>
#include "base/events.h"
#include "base/stop.h"

gr_control gr_control_begin(const gr_run_spec *spec) {
  gr_control c = {.called = {-1, -1, -1, -1}};
  for (int i = 0; i < spec->n_adjust; i++) c.values.set[i] = spec->adjust[i].initial;
  return c;
}

void gr_control_open(gr_control *c) {
  c->opened = true;
  gr_stop_defer(true);
}

void gr_control_end(gr_control *c, const char *reason) {
  assert(!c->ended);
  c->ended = reason;
}

// ---- Failures and agreement --------------------------------------------------------------------

void gr_run_set_failure(gr_control *c, gr_status s) { c->failure = gr_also(c->failure, s); }

gr_status gr_control_take_failure(gr_control *c) {
  gr_status s = c->failure;
  c->failure = GR_OK;
  return s;
}

gr_status gr_run_check(gr_control *c, gr_rank *r) {
  bool all_ok;
  gr_status failure = gr_control_take_failure(c), s = gr_run_all_ok(r, !failure, &all_ok);
  if (failure || s) return gr_also(failure, s);
  return all_ok ? GR_OK : gr_fail(GR_ERR_RANK, GR_NOWHERE, "another rank failed");
}

gr_step_controls gr_control_interrupted(const gr_control *c) {
  return (gr_step_controls){
      .signal = gr_run_signalled(), .failed = c->failure != GR_OK, .cut = c->cut_off};
}

gr_step_controls gr_control_wanted(const gr_control *c) {
  gr_step_controls k = gr_control_interrupted(c);
  k.lr = c->values.lr;
  k.stop = c->asked.stop, k.save = c->asked.save, k.evaluate = c->asked.evaluate;
  return k;
}

// One small all_reduce per step: rank 0 contributes the learning rate, the values that hooks have
// set and their requests, every rank its own signals and failures.
gr_status gr_run_agree(gr_control *c, gr_rank *r, gr_time_split split, gr_step_controls *k) {
  enum { OWN = 8, SPLIT = sizeof split / sizeof(double), SPLITS = SPLIT * GR_SHOWN_RANKS };
  bool first = r->rank == 0;
  int n = r->spec->n_adjust;
  bool told = r->spec->set.outputs.log_ranks == gr_log_ranks_all;
  c->n_ranks = !told ? 0 : r->ranks < GR_SHOWN_RANKS ? r->ranks : GR_SHOWN_RANKS;
  double proposal[OWN + GR_MAX_ADJUSTABLE + SPLITS] = {
      first ? k->lr : 0,  first && k->stop, first && k->save, first && k->evaluate,
      first && k->finish, k->signal,        k->failed,        k->cut};
  double all[OWN + GR_MAX_ADJUSTABLE + SPLITS];
  if (r->rank < c->n_ranks) memcpy(proposal + OWN + n + SPLIT * r->rank, &split, sizeof split);
  for (int i = 0; i < n; i++) proposal[OWN + i] = first ? c->values.set[i] : 0;
  gr_event("agreeing with the other ranks on what is next");
  GR_TRY(gr_comm_run(r->world, GR_ALL_REDUCE, GR_F64, OWN + n + SPLIT * c->n_ranks, proposal, all));
  memcpy(c->ranks, all + OWN + n, sizeof *c->ranks * (size_t)c->n_ranks);
  for (int i = 0; i < n; i++) c->values.set[i] = all[OWN + i];
  *k = (gr_step_controls){.lr = all[0],
                          .stop = all[1] > 0,
                          .save = all[2] > 0,
                          .evaluate = all[3] > 0,
                          .finish = all[4] > 0,
                          .signal = all[5] > 0,
                          .failed = all[6] > 0,
                          .cut = all[7] > 0};
  return GR_OK;
}

void gr_control_agreed(gr_control *c, const gr_step_controls *all) {
  c->values.lr = all->lr;
  c->asked.save = false, c->asked.evaluate = all->evaluate;
}

void gr_control_evaluated(gr_control *c) { c->asked.evaluate = false; }

void gr_control_logged(gr_control *c) { c->asked.n_logs = 0; }

// ---- What hooks ask for ------------------------------------------------------------------------

void gr_control_set_lr(gr_control *c, double lr) { c->values.lr = lr; }

static void join(gr_hook_result *all, const gr_hook_result *now) {
  if (now->stop && !all->stop) memcpy(all->reason, now->reason, sizeof all->reason);
  all->stop |= now->stop, all->save |= now->save, all->evaluate |= now->evaluate;
  for (int i = 0; i < now->n_logs; i++) {
    int slot = 0;
    while (slot < all->n_logs && strcmp(all->logs[slot].name, now->logs[i].name)) slot++;
    if (slot == GR_HOOK_LOGS) continue;
    all->logs[slot] = now->logs[i];
    if (slot == all->n_logs) all->n_logs++;
  }
}

void gr_control_ask(gr_control *c, const gr_hook_result *now, int n_adjust) {
  for (int i = 0; i < n_adjust; i++)
    if (now->is_set[i]) c->values.set[i] = now->set[i], c->is_set[i] = true;
  join(&c->asked, now);
  assert(c->asked.n_logs >= 0 && c->asked.n_logs <= GR_HOOK_LOGS);
}

void gr_control_ask_only(gr_control *c, const gr_hook_result *asked) { c->asked = *asked; }

void gr_control_set_called(gr_control *c, gr_once which, int64_t step) { c->called[which] = step; }

void gr_control_cut_off(gr_control *c) { c->cut_off = true; }

bool gr_control_except(gr_control *c) {
  bool first = !c->excepted;
  c->excepted = true;
  return first;
}

// ---- In a checkpoint ---------------------------------------------------------------------------

// Requests of hooks that no agreement has acted on yet.
static void write_asked(const void *part, gr_scalars_out *out) {
  const gr_hook_result *a = &((const gr_control *)part)->asked;
  if (a->stop) gr_scalars_put_text(out, "run.stop", a->reason);
  if (a->evaluate) gr_scalars_put_int(out, "run.evaluate", 1);
  for (int i = 0; i < a->n_logs; i++)
    gr_scalars_put_float(out, gr_arena_printf(out->arena, "log.%s", a->logs[i].name),
                         a->logs[i].value);
}

// A run that a hook has stopped is not continued, unless it is to be longer than it was, resumes
// from a checkpoint that is named by its path, or continues without hooks.
static bool goes_on(const gr_scalars_in *in) {
  const gr_scalar *total = gr_scalars_find(in, GR_RUN_TOTAL_STEPS, GR_SCALAR_INT);
  bool longer = total && in->total_steps > total->i;
  return longer || !gr_scalars_of_same_run(in) || !in->rank->spec->set.hooks.paths.n;
}

static gr_status read_asked(void *part, const gr_scalars_in *in) {
  gr_hook_result *a = &((gr_control *)part)->asked;
  int n;
  const gr_scalar *all = gr_checkpoint_scalars(in->checkpoint, &n);
  for (int i = 0; i < n && a->n_logs < GR_HOOK_LOGS; i++) {
    if (all[i].kind != GR_SCALAR_FLOAT || strncmp(all[i].name, "log.", 4)) continue;
    snprintf(a->logs[a->n_logs].name, GR_HOOK_NAME, "%s", all[i].name + 4);
    a->logs[a->n_logs++].value = all[i].f;
  }
  const gr_scalar *evaluate = gr_scalars_find(in, "run.evaluate", GR_SCALAR_INT);
  a->evaluate = evaluate && evaluate->i;
  const gr_scalar *stop = gr_scalars_find(in, "run.stop", GR_SCALAR_TEXT);
  if (!stop || goes_on(in)) return GR_OK;
  a->stop = true;
  snprintf(a->reason, sizeof a->reason, "%s", stop->text);
  return GR_OK;
}

// What hooks have set, by the name of the program's input.
static void write_set(const void *part, gr_scalars_out *out) {
  const gr_control *c = part;
  const gr_run_spec *s = out->rank->spec;
  for (int i = 0; i < s->n_adjust; i++)
    if (c->is_set[i]) gr_scalars_put_float(out, s->adjust[i].input, c->values.set[i]);
}

static gr_status read_set(void *part, const gr_scalars_in *in) {
  gr_control *c = part;
  for (int i = 0; i < in->rank->spec->n_adjust; i++) {
    const gr_scalar *s = gr_scalars_find(in, in->rank->spec->adjust[i].input, GR_SCALAR_FLOAT);
    if (s) c->values.set[i] = s->f, c->is_set[i] = true;
  }
  return GR_OK;
}

void gr_control_scalars(gr_control *c, gr_scalar_table *t) {
  int64_t *called = c->called;
  const gr_scalar_row rows[] = {
      {140, "run.lr", GR_FIELD_FLOAT, &c->values.lr, NULL, NULL},
      {170, "run.lr_step", GR_FIELD_INT, &called[GR_ONCE_LR], NULL, NULL},
      {180, "run.optimizer_step", GR_FIELD_INT, &called[GR_ONCE_BEFORE_OPTIMIZER], NULL, NULL},
      {190, "run.epoch_begun", GR_FIELD_INT, &called[GR_ONCE_EPOCH_START], NULL, NULL},
      {200, "run.eval_begun", GR_FIELD_INT, &called[GR_ONCE_EVAL_START], NULL, NULL},
      {310, "run.stop, run.evaluate and log.NAME", GR_SCALARS, c, write_asked, read_asked},
      {320, "set.NAME", GR_SCALARS, c, write_set, read_set},
  };
  gr_scalar_table_add(t, rows, sizeof rows / sizeof *rows);
}
