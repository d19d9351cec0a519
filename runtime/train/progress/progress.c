// progress.c - see progress.h.
#include "runtime/train/progress/progress.h"
#include <assert.h>
#include <math.h>
#include <string.h>

// Steps in a row without a finite gradient: later ones end the run. A run that has not had AT_START
// finite steps yet is rather wrong from its beginning, and ends after as many, or sooner if it is
// short.
enum { MAX_SKIPPED = 50, AT_START = 10, LEAST = 2 };

static void check(const gr_progress *p) {
  assert(p->step >= 0 && p->epoch >= 0 && p->batch >= 0 && p->data_batch >= 0);
  assert(p->failing >= 0 && p->failing <= p->skipped && p->all_skipped >= 0);
  (void)p;
}

gr_progress gr_progress_begin(const gr_run_spec *spec) {
  const gr_loop_settings *s = &spec->set.loop;
  gr_progress p = {.steps_per_epoch = spec->loop.steps,
                   .runs_per_epoch = spec->loop.runs,
                   .total_steps = s->max_epochs * spec->loop.steps,
                   .loss = (double)NAN};
  if (s->max_steps && (s->max_steps < p.total_steps || !s->max_epochs))
    p.total_steps = s->max_steps;
  return p;
}

gr_progress gr_progress_at(const gr_progress *p, int64_t step, int64_t epoch, int64_t batch) {
  gr_progress other = *p;
  other.step = step, other.epoch = epoch, other.batch = batch;
  return other;
}

void gr_progress_restore(gr_progress *p, int64_t step) { p->step = step; }

// ---- A step ------------------------------------------------------------------------------------

void gr_progress_add(gr_progress *p, const gr_metrics *now, const gr_batch *b) {
  gr_metrics_add(&p->epoch_train, now);
  if (b) p->data_epoch = b->epoch, p->data_batch = b->index + 1;
}

// A batch of which no sample can be read says nothing of the model, once a step has changed it.
static bool is_empty(const gr_progress *p, const gr_step_results *now, const char *loss) {
  return !now->ok && p->step > p->all_skipped && gr_metric_is_empty(&now->metrics, loss);
}

static void count_skipped(gr_progress *p, const gr_step_results *now, double least_scale) {
  // While the loss scale of fp16 can shrink, a step that overflows is one on the way to its value.
  bool shrinks = now->loss_scale > least_scale;
  p->skipped = now->ok ? 0 : p->skipped + 1;
  p->all_skipped += !now->ok;
  p->failing = now->ok ? 0 : p->failing + !shrinks;
}

void gr_progress_measure(gr_progress *p, const gr_step_results *now, const char *loss,
                         double least_scale, double samples_per_s) {
  p->last = now->metrics;
  p->loss = gr_metric_value(&now->metrics, loss);
  p->grad_norm = now->grad_norm, p->has_grad_norm = now->has_grad_norm;
  p->samples_per_s = samples_per_s;
  if (is_empty(p, now, loss))
    p->all_skipped++;
  else
    count_skipped(p, now, least_scale);
  check(p);
}

void gr_progress_searched(gr_progress *p, const char *why) {
  p->searches++;
  if (!p->why) p->why = why;
}

void gr_progress_advance(gr_progress *p, bool trains) {
  p->step += trains, p->batch++;
  check(p);
}

void gr_progress_end_epoch(gr_progress *p) {
  assert(gr_run_epoch_open(p));
  p->epoch++, p->batch = 0, p->epoch_train.n = 0;
}

// ---- What it means -----------------------------------------------------------------------------

static int64_t most_skipped(const gr_progress *p) {
  if (p->step - p->all_skipped >= AT_START) return MAX_SKIPPED;
  int64_t tenth = p->total_steps > 0 ? p->total_steps / 10 : AT_START;
  return (tenth < LEAST ? LEAST : tenth < AT_START ? tenth : AT_START) - 1;
}

bool gr_progress_is_sound(const gr_progress *p) {
  return !p->skipped || (!p->failing && isfinite(p->loss));
}

bool gr_progress_is_lost(const gr_progress *p) { return p->failing > most_skipped(p); }

bool gr_run_is_done(const gr_progress *p, const gr_loop_settings *s) {
  if (s->max_epochs ? p->epoch >= s->max_epochs : !s->max_steps) return true;
  return s->max_steps && p->step >= s->max_steps;
}

bool gr_run_epoch_open(const gr_progress *p) { return p->batch && p->batch == p->runs_per_epoch; }

int64_t gr_run_last_epoch(const gr_progress *p) {
  return p->batch || !p->epoch ? p->epoch : p->epoch - 1;
}

int gr_progress_next(const gr_progress *p, const gr_phase *loop) {
  return gr_phase_at(loop, p->batch);
}

// ---- In a checkpoint ---------------------------------------------------------------------------

// Where the training data continue. Without `loop:` run.epoch and run.batch say it.
static void write_place(const void *part, gr_scalars_out *out) {
  const gr_progress *p = part;
  if (!out->rank->spec->looped) return;
  gr_scalars_put_int(out, "run.data_epoch", p->data_epoch);
  gr_scalars_put_int(out, "run.data_batch", p->data_batch);
}

// The place in another loop means nothing in this one.
static gr_status read_place(void *part, const gr_scalars_in *in) {
  gr_progress *p = part;
  const gr_scalar *epoch = gr_scalars_find(in, "run.data_epoch", GR_SCALAR_INT);
  const gr_scalar *batch = gr_scalars_find(in, "run.data_batch", GR_SCALAR_INT);
  if (epoch && batch) p->data_epoch = epoch->i, p->data_batch = batch->i;
  if (!in->rank->spec->looped || p->batch <= p->runs_per_epoch) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                         "'%s' is %lld runs into a pass of the loop, which has %lld here",
                         gr_checkpoint_path(in->checkpoint), (long long)p->batch,
                         (long long)p->runs_per_epoch),
                 "resume with the same `loop:`");
}

static void write_total(const void *part, gr_scalars_out *out) {
  gr_scalars_put_int(out, GR_RUN_TOTAL_STEPS, ((const gr_progress *)part)->total_steps);
}

static void write_finite(const void *part, gr_scalars_out *out) {
  gr_scalars_put_int(out, GR_CHECKPOINT_FINITE, gr_progress_is_sound(part));
}

// The sums of the current epoch, "epoch.NAME.sum" and "epoch.NAME.weight".
static void write_epoch(const void *part, gr_scalars_out *out) {
  const gr_metrics *all = &((const gr_progress *)part)->epoch_train;
  for (const gr_metric *m = all->items; m < all->items + all->n; m++) {
    gr_scalars_put_float(out, gr_arena_printf(out->arena, "epoch.%s.sum", m->name), m->sum);
    gr_scalars_put_float(out, gr_arena_printf(out->arena, "epoch.%s.weight", m->name), m->weight);
  }
}

static gr_status read_epoch(void *part, const gr_scalars_in *in) {
  gr_metrics *m = &((gr_progress *)part)->epoch_train;
  gr_arena *a = in->rank->arena;
  int n;
  const gr_scalar *all = gr_checkpoint_scalars(in->checkpoint, &n);
  for (int i = 0; i < n && m->n < GR_MAX_METRICS; i++) {
    const char *end = strrchr(all[i].name, '.');
    if (strncmp(all[i].name, "epoch.", 6) || strcmp(end, ".sum")) continue;
    const char *name = gr_arena_strndup(a, all[i].name + 6, (size_t)(end - all[i].name - 6));
    const gr_scalar *weight =
        gr_scalars_find(in, gr_arena_printf(a, "epoch.%s.weight", name), GR_SCALAR_FLOAT);
    if (weight)
      m->items[m->n++] = (gr_metric){gr_run_metric_name(in->rank, name), all[i].f, weight->f};
  }
  return GR_OK;
}

static void write_last(const void *part, gr_scalars_out *out) {
  gr_scalars_put_metrics(out, "step", &((const gr_progress *)part)->last);
}

static gr_status read_last(void *part, const gr_scalars_in *in) {
  gr_scalars_take_metrics(in, "step", &((gr_progress *)part)->last);
  return GR_OK;
}

void gr_progress_scalars(gr_progress *p, gr_scalar_table *t) {
  const gr_scalar_row rows[] = {
      {10, "run.epoch", GR_FIELD_INT, &p->epoch, NULL, NULL},
      {20, "run.batch", GR_FIELD_INT, &p->batch, NULL, NULL},
      {30, "run.data_epoch and run.data_batch", GR_SCALARS, p, write_place, read_place},
      {80, GR_RUN_TOTAL_STEPS, GR_SCALARS, p, write_total, NULL},
      {130, "run.loss", GR_FIELD_FLOAT, &p->loss, NULL, NULL},
      {150, "run.grad_norm", GR_FIELD_FLOAT, &p->grad_norm, NULL, NULL},
      {160, "run.has_grad_norm", GR_FIELD_FLAG, &p->has_grad_norm, NULL, NULL},
      {210, "run.skipped", GR_FIELD_INT, &p->skipped, NULL, NULL},
      {220, "run.all_skipped", GR_FIELD_INT, &p->all_skipped, NULL, NULL},
      {230, "run.failing", GR_FIELD_INT, &p->failing, NULL, NULL},
      {240, GR_CHECKPOINT_FINITE, GR_SCALARS, p, write_finite, NULL},
      {290, "epoch.METRIC", GR_SCALARS, p, write_epoch, read_epoch},
      {300, "step.METRIC", GR_SCALARS, p, write_last, read_last},
  };
  gr_scalar_table_add(t, rows, sizeof rows / sizeof *rows);
}
