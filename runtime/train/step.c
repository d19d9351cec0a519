// step.c - runs one program: a step, if it trains. See run.h.
#include <math.h>
#include <string.h>
#include "runtime/train/batches.h"
#include "runtime/train/run.h"

const gr_run_program *gr_run_next_program(const gr_rank *r, const gr_progress *p) {
  return &r->programs[gr_progress_next(p, &r->spec->loop)];
}

gr_status gr_run_next_batch(const gr_rank *r, const gr_progress *p, gr_loader *loader,
                            const gr_batch **out) {
  *out = NULL;
  return gr_run_next_program(r, p)->takes_batch ? gr_run_take_batch(loader, out) : GR_OK;
}

// Values of a step that its row has besides the loss.
typedef struct values {
  gr_named items[GR_MAX_NORMS + GR_MAX_METRICS + GR_MAX_ADJUSTABLE + GR_HOOK_LOGS + 1];
  int n;
} values;

static void put(values *v, const char *name, double value) {
  v->items[v->n++] = (gr_named){name, value};
}

// In the rows of train, metrics are those of the epoch, but for those that only training has.
static void list_values(const gr_run_spec *spec, const gr_control *c, const gr_run_program *p,
                        const gr_step_results *now, values *v) {
  v->n = 0;
  bool taught = spec->set.model.teacher_graph, is_train = !strcmp(p->loss, "loss");
  for (int i = 0; i < now->metrics.n; i++) {
    const gr_metric *m = &now->metrics.items[i];
    if (m->weight != 0 && (!is_train || (taught && gr_is_of_teacher(m->name))))
      put(v, m->name, m->sum / m->weight);
  }
  for (int i = 0; i < now->n_norms; i++) v->items[v->n++] = now->norms[i];
  if (!isnan(now->loss_scale)) put(v, "loss_scale", now->loss_scale);
  for (int i = 0; i < spec->n_adjust; i++)
    if (c->is_set[i]) put(v, spec->adjust[i].input, c->values.set[i]);
  for (int i = 0; i < c->asked.n_logs; i++) put(v, c->asked.logs[i].name, c->asked.logs[i].value);
}

// seconds: of the step; communicated: of them, in collectives.
static gr_time_split split_of(const gr_waits *w, double seconds, double communicated) {
  return (gr_time_split){w->data, seconds - communicated, communicated + w->agreement};
}

// Says of the first step of each row of skipped ones, at most MAX_SEARCHES times, why.
static gr_status explain_skipped(gr_run *r, const gr_run_program *p, const gr_batch *b) {
  enum { MAX_SEARCHES = 3 };
  if (r->progress.failing != 1 || r->progress.searches == MAX_SEARCHES) return GR_OK;
  gr_text t = gr_text_make(r->me.arena);
  GR_TRY(gr_run_find_nonfinite(&r->me, &r->control.values, p, b, &t));
  gr_progress_searched(&r->progress, t.len ? t.chars : NULL);
  if (t.len && r->me.rank == gr_log_rank())
    gr_log(GR_WARN, "step %lld is skipped, because its gradient is not finite: %s",
           (long long)r->progress.step, t.chars);
  return GR_OK;
}

// A loss that leaves samples out is small as that of a good model is: where it is so from the
// start, nothing will be learned.
static void warn_of_nothing(const gr_run *r) {
  const gr_progress *p = &r->progress;
  bool moves = p->has_grad_norm && p->grad_norm > 0;
  if (p->step || r->me.rank || moves || !(p->loss >= 0 && p->loss <= 0)) return;
  gr_log(
      GR_WARN,
      "the loss of the first step is exactly 0, as if no sample took part in it: ctc_loss leaves "
      "out texts with more symbols than the model leaves frames (fewer strides, or longer "
      "recordings), others what has no weight or no target");
}

// What follows a run of a program that trains.
static gr_status end_step(gr_run *r, const gr_run_program *p, const gr_batch *b,
                          const gr_step_results *now, double seconds, double communicated) {
  values more;
  int64_t samples = b ? b->samples : p->of_bucket[0]->minibatch_rows;
  gr_progress_measure(&r->progress, now, p->loss, r->me.spec->set.options.precision.loss_scale_min,
                      seconds > 0 ? (double)samples / seconds : 0);
  gr_saving_confirm(&r->saving, &r->progress);
  warn_of_nothing(r);
  list_values(r->me.spec, &r->control, p, now, &more);
  gr_report_row row = {.step = r->progress.step,
                       .epoch = r->progress.epoch,
                       .loss = r->progress.loss,
                       .lr = r->control.values.lr,
                       .grad_norm = r->progress.grad_norm,
                       .samples = samples,
                       .seconds = seconds,
                       .more = more.items,
                       .n_more = more.n,
                       .split = split_of(&r->waits, seconds, communicated),
                       .ranks = r->control.ranks,
                       .n_ranks = r->control.n_ranks,
                       .rest = gr_run_remaining(r)};
  gr_waits_end_step(&r->waits);
  gr_run_set_failure(&r->control, gr_report_step(r->outputs.report, &row));
  gr_control_logged(&r->control);
  gr_run_hook(r, GR_HOOK_STEP_END, NULL, NULL);
  gr_progress_advance(&r->progress, true);
  GR_TRY(explain_skipped(r, p, b));
  return gr_progress_is_lost(&r->progress) ? gr_run_give_up(r) : GR_OK;
}

const gr_run_program *gr_run_program_after(const gr_rank *r, const gr_progress *p) {
  const gr_loop_settings *s = &r->spec->set.loop;
  const gr_run_program *now = gr_run_next_program(r, p);
  bool ends = p->batch + 1 == p->runs_per_epoch;
  ends |= s->max_steps && p->step + now->trains >= s->max_steps;
  return ends ? NULL : &r->programs[gr_phase_at(&r->spec->loop, p->batch + 1)];
}

gr_status gr_run_step(gr_run *r, const gr_run_program *p, const gr_batch *b) {
  double began = gr_seconds(), start = gr_run_span_begin(&r->me);
  double communicated = gr_run_communicated(&r->me), waited = r->me.waited;
  gr_step_results now;
  bool replayed = p->trains && r->me.spec->weights.replay.step == r->progress.step + 1;
  GR_TRY(replayed ? gr_run_replay_step(r, p, b, &now)
                  : gr_run_compute(&r->me, &r->control.values, p, b, &now));
  if (p->trains) gr_run_span_step(&r->me, r->progress.step, start);
  gr_progress_add(&r->progress, &now.metrics, b);
  communicated = gr_run_communicated(&r->me) - communicated, waited = r->me.waited - waited;
  if (p->trains) return end_step(r, p, b, &now, gr_seconds() - began - waited, communicated);
  gr_progress_advance(&r->progress, false);
  return GR_OK;
}
