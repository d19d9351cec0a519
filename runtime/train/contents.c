// contents.c - the contents of a checkpoint: one row per entry, with its write and read functions.
// Rows are written and read in this order. See run.h.
#include <stddef.h>
#include <string.h>
#include "runtime/train/run.h"

typedef struct reader {
  gr_run *r;
  gr_checkpoint *c;
} reader;

static void put_int(gr_run_contents *out, const char *name, int64_t i) {
  out->at[out->n++] = (gr_scalar){.name = name, .kind = GR_SCALAR_INT, .i = i};
}
static void put_float(gr_run_contents *out, const char *name, double f) {
  out->at[out->n++] = (gr_scalar){.name = name, .kind = GR_SCALAR_FLOAT, .f = f};
}
static void put_text(gr_run_contents *out, const char *name, const char *text) {
  out->at[out->n++] = (gr_scalar){.name = name, .kind = GR_SCALAR_TEXT, .text = text};
}

// The scalar of this name and kind, or NULL. A number that is not finite is a text as well.
static const gr_scalar *find(const reader *in, const char *name, gr_scalar_kind kind) {
  const gr_scalar *s = gr_checkpoint_scalar(in->c, name);
  bool fits = s && (s->kind == kind || (kind == GR_SCALAR_TEXT && s->text));
  return fits ? s : NULL;
}

// ---- Tensors ------------------------------------------------------------------------------------

// The saver writes tensors, by the slices that it was opened with.
static gr_status read_tensors(const reader *in) { return gr_run_read_states(in->r, in->c, true); }

// ---- What must be unchanged ---------------------------------------------------------------------

static void write_seed(gr_run *r, gr_run_contents *out) {
  put_int(out, "run.seed", r->me.spec->set.seed);
}

static void write_batch(gr_run *r, gr_run_contents *out) {
  put_int(out, "run.global_batch", r->me.spec->set.batch);
}

static gr_status read_batch(const reader *in) {
  const gr_scalar *then = find(in, "run.global_batch", GR_SCALAR_INT);
  int now = in->r->me.spec->set.batch;
  if (!then || then->i == now) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "'%s' was made with batches of %lld, this run has %d",
              gr_checkpoint_path(in->c), (long long)then->i, now),
      "resume with the same training.batch_size");
}

static void write_samples(gr_run *r, gr_run_contents *out) {
  put_int(out, "run.samples", gr_dataset_count(r->me.spec->data, GR_SPLIT_TRAIN));
}

static gr_status read_samples(const reader *in) {
  const gr_scalar *then = find(in, "run.samples", GR_SCALAR_INT);
  int64_t now = gr_dataset_count(in->r->me.spec->data, GR_SPLIT_TRAIN);
  if (!in->r->me.rank && then && then->i != now)
    gr_log(GR_WARN, "there are %lld training samples, and were %lld: they come in another order",
           (long long)now, (long long)then->i);
  return GR_OK;
}

// What start.c compares with the run that is to go on from it.
static void write_identity(gr_run *r, gr_run_contents *out) {
  if (r->me.spec->identity) put_text(out, GR_RUN_IDENTITY, r->me.spec->identity);
  put_int(out, GR_RUN_TOTAL_STEPS, r->total_steps);
}

static void write_finite(gr_run *r, gr_run_contents *out) {
  put_int(out, GR_CHECKPOINT_FINITE, !r->skipped);
}

// Where the training data continue. Without `loop:` run.epoch and run.batch say it.
static void write_place(gr_run *r, gr_run_contents *out) {
  if (!r->me.spec->looped) return;
  put_int(out, "run.data_epoch", r->data_epoch);
  put_int(out, "run.data_batch", r->data_batch);
}

// The place in another loop means nothing in this one.
static gr_status read_place(const reader *in) {
  gr_run *r = in->r;
  const gr_scalar *epoch = find(in, "run.data_epoch", GR_SCALAR_INT);
  const gr_scalar *batch = find(in, "run.data_batch", GR_SCALAR_INT);
  if (epoch && batch) r->data_epoch = epoch->i, r->data_batch = batch->i;
  if (!r->me.spec->looped || r->batch <= r->runs_per_epoch) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
              "'%s' is %lld runs into a pass of the loop, which has %lld here",
              gr_checkpoint_path(in->c), (long long)r->batch, (long long)r->runs_per_epoch),
      "resume with the same `loop:`");
}

// ---- Metrics ------------------------------------------------------------------------------------

static void write_bests(gr_run *r, gr_run_contents *out) {
  put_text(out, "run.bests", gr_run_bests(r, out->arena));
}

static gr_status read_bests(const reader *in) {
  const gr_scalar *s = find(in, "run.bests", GR_SCALAR_TEXT);
  if (s) gr_run_restore_bests(in->r, s->text);
  return GR_OK;
}

// The results of the last evaluation. A metric's name has no dot before it.
static void write_validation(gr_run *r, gr_run_contents *out) {
  for (int i = 0; i < r->validation.n; i++)
    put_float(out, r->validation.at[i].name,
              gr_metric_value(&r->validation, r->validation.at[i].name));
}

// The metric by which checkpoints are compared, if it is one of a pass, and this is the state at
// its end. Its name has a dot.
static void write_pass(gr_run *r, gr_run_contents *out) {
  if (r->pass_step == r->step && gr_run_metric_is_of_pass(r))
    put_float(out, r->me.spec->set.metric, r->pass_value);
}

static gr_status read_validation(const reader *in) {
  gr_metrics *m = &in->r->validation;
  int n;
  const gr_scalar *all = gr_checkpoint_scalars(in->c, &n);
  for (int i = 0; i < n && m->n < GR_MAX_METRICS; i++)
    if (all[i].kind == GR_SCALAR_FLOAT && !strchr(all[i].name, '.'))
      m->at[m->n++] = (gr_metric){gr_run_metric_name(&in->r->me, all[i].name), all[i].f, 1};
  return GR_OK;
}

// The sums of the current epoch, "epoch.NAME.sum" and "epoch.NAME.weight".
static void write_epoch(gr_run *r, gr_run_contents *out) {
  for (int i = 0; i < r->epoch_train.n; i++) {
    const gr_metric *m = &r->epoch_train.at[i];
    put_float(out, gr_arena_printf(out->arena, "epoch.%s.sum", m->name), m->sum);
    put_float(out, gr_arena_printf(out->arena, "epoch.%s.weight", m->name), m->weight);
  }
}

static gr_status read_epoch(const reader *in) {
  gr_metrics *m = &in->r->epoch_train;
  int n;
  const gr_scalar *all = gr_checkpoint_scalars(in->c, &n);
  for (int i = 0; i < n && m->n < GR_MAX_METRICS; i++) {
    const char *end = strrchr(all[i].name, '.');
    if (strncmp(all[i].name, "epoch.", 6) || strcmp(end, ".sum")) continue;
    const char *name =
        gr_arena_strndup(in->r->me.arena, all[i].name + 6, (size_t)(end - all[i].name - 6));
    const gr_scalar *weight =
        find(in, gr_arena_printf(in->r->me.arena, "epoch.%s.weight", name), GR_SCALAR_FLOAT);
    if (weight)
      m->at[m->n++] = (gr_metric){gr_run_metric_name(&in->r->me, name), all[i].f, weight->f};
  }
  return GR_OK;
}

// The metrics of the last step, "step.NAME".
static void write_last(gr_run *r, gr_run_contents *out) {
  for (int i = 0; i < r->last.n; i++)
    put_float(out, gr_arena_printf(out->arena, "step.%s", r->last.at[i].name),
              gr_metric_value(&r->last, r->last.at[i].name));
}

static gr_status read_last(const reader *in) {
  gr_metrics *m = &in->r->last;
  int n;
  const gr_scalar *all = gr_checkpoint_scalars(in->c, &n);
  for (int i = 0; i < n && m->n < GR_MAX_METRICS; i++)
    if (all[i].kind == GR_SCALAR_FLOAT && !strncmp(all[i].name, "step.", 5))
      m->at[m->n++] = (gr_metric){gr_run_metric_name(&in->r->me, all[i].name + 5), all[i].f, 1};
  return GR_OK;
}

// ---- Hooks and data -----------------------------------------------------------------------------

// Requests of hooks that no agreement has acted on yet.
static void write_asked(gr_run *r, gr_run_contents *out) {
  if (r->asked.stop) put_text(out, "run.stop", r->asked.reason);
  if (r->asked.evaluate) put_int(out, "run.evaluate", 1);
  for (int i = 0; i < r->asked.n_logs; i++)
    put_float(out, gr_arena_printf(out->arena, "log.%s", r->asked.logs[i].name),
              r->asked.logs[i].value);
}

static bool same_run(const gr_run *r) { return r->me.spec->set.resume == gr_resume_auto; }

// A run that a hook has stopped is not continued, unless it is to be longer than it was, resumes
// from a checkpoint that is named by its path, or continues without hooks.
static gr_status read_asked(const reader *in) {
  gr_hook_result *a = &in->r->asked;
  int n;
  const gr_scalar *all = gr_checkpoint_scalars(in->c, &n);
  for (int i = 0; i < n && a->n_logs < GR_HOOK_LOGS; i++) {
    if (all[i].kind != GR_SCALAR_FLOAT || strncmp(all[i].name, "log.", 4)) continue;
    snprintf(a->logs[a->n_logs].name, GR_HOOK_NAME, "%s", all[i].name + 4);
    a->logs[a->n_logs++].value = all[i].f;
  }
  const gr_scalar *evaluate = find(in, "run.evaluate", GR_SCALAR_INT);
  a->evaluate = evaluate && evaluate->i;
  const gr_scalar *stop = find(in, "run.stop", GR_SCALAR_TEXT);
  const gr_scalar *total = find(in, GR_RUN_TOTAL_STEPS, GR_SCALAR_INT);
  if (total && in->r->total_steps > total->i) return GR_OK;
  if (!stop || !same_run(in->r) || !in->r->me.spec->set.n_hooks) return GR_OK;
  a->stop = true;
  snprintf(a->reason, sizeof a->reason, "%s", stop->text);
  return GR_OK;
}

// What hooks have set, by the name of the program's input.
static void write_set(gr_run *r, gr_run_contents *out) {
  for (int i = 0; i < r->me.spec->n_adjust; i++)
    if (r->is_set[i]) put_float(out, r->me.spec->adjust[i].input, r->values.set[i]);
}

static gr_status read_set(const reader *in) {
  for (int i = 0; i < in->r->me.spec->n_adjust; i++) {
    const gr_scalar *s = find(in, in->r->me.spec->adjust[i].input, GR_SCALAR_FLOAT);
    if (s) in->r->values.set[i] = s->f, in->r->is_set[i] = true;
  }
  return GR_OK;
}

static void write_hooks(gr_run *r, gr_run_contents *out) {
  (void)r;
  if (out->hooks) put_text(out, "run.hooks", out->hooks);
}

static gr_status read_hooks(const reader *in) {
  const gr_scalar *s = find(in, "run.hooks", GR_SCALAR_TEXT);
  return in->r->hooks && s ? gr_hooks_restore(in->r->hooks, s->text) : GR_OK;
}

static void write_data(gr_run *r, gr_run_contents *out) {
  gr_text data = gr_text_make(out->arena);
  if (gr_dataset_save(r->me.spec->data, &data)) put_text(out, "run.data", data.at);
}

static gr_status read_data(const reader *in) {
  const gr_scalar *s = find(in, "run.data", GR_SCALAR_TEXT);
  return s ? gr_dataset_restore(in->r->me.spec->data, s->text) : GR_OK;
}

// The names of states of two kinds.
static char *states_of(const gr_run *r, gr_arena *a, gr_kind kind, gr_kind or) {
  gr_text t = gr_text_make(a);
  for (const gr_plan_state *s = r->me.spec->plan->states;
       s < r->me.spec->plan->states + r->me.spec->plan->n_states; s++)
    if (s->kind == kind || s->kind == or) gr_text_printf(&t, "%s%s", t.len ? "\n" : "", s->name);
  return t.at;
}

// The states that using the model does not need: moments, counters.
static void write_optimizer(gr_run *r, gr_run_contents *out) {
  put_text(out, GR_CHECKPOINT_OPTIMIZER, states_of(r, out->arena, GR_KIND_MOMENT, GR_KIND_COUNTER));
}

static void write_emas(gr_run *r, gr_run_contents *out) {
  char *names = states_of(r, out->arena, GR_KIND_EMA, GR_KIND_EMA);
  if (*names) put_text(out, GR_CHECKPOINT_EMA, names);
}

static void write_exit(gr_run *r, gr_run_contents *out) {
  (void)r;
  if (out->exit_checkpoint) put_int(out, GR_RUN_EXIT_CHECKPOINT, 1);
}

// An exit checkpoint is replaced by the checkpoint of an uninterrupted run; any other checkpoint is
// already one.
static gr_status read_exit(const reader *in) {
  const gr_scalar *s = find(in, GR_RUN_EXIT_CHECKPOINT, GR_SCALAR_INT);
  if (same_run(in->r) && !(s && s->i)) in->r->saved_step = in->r->step;
  return GR_OK;
}

// ---- The table ----------------------------------------------------------------------------------

typedef enum kind { OWN, INT, FLOAT, FLAG } kind;  // functions of its own, or a field of gr_run
#define FIELD(kind, name, field) \
  { name, kind, offsetof(gr_run, field), NULL, NULL }
static const struct row {
  const char *name;
  kind kind;
  size_t field;
  void (*write)(gr_run *, gr_run_contents *);  // NULL: written by other code
  gr_status (*read)(const reader *);           // NULL: only for users and other programs
} rows[] = {
    {"tensors", OWN, 0, NULL, read_tensors},
    FIELD(INT, "run.epoch", epoch),
    FIELD(INT, "run.batch", batch),
    {"run.data_epoch and run.data_batch", OWN, 0, write_place, read_place},
    {"run.seed", OWN, 0, write_seed, NULL},
    {"run.global_batch", OWN, 0, write_batch, read_batch},
    {"run.samples", OWN, 0, write_samples, read_samples},
    {GR_RUN_IDENTITY " and " GR_RUN_TOTAL_STEPS, OWN, 0, write_identity, NULL},
    FIELD(FLOAT, "run.best", best),
    FIELD(INT, "run.best_step", best_step),
    FIELD(INT, "run.best_epoch", best_epoch),
    FIELD(INT, GR_CHECKPOINT_MEASURED, eval_step),
    FIELD(FLOAT, "run.loss", loss),
    FIELD(FLOAT, "run.lr", values.lr),
    FIELD(FLOAT, "run.grad_norm", grad_norm),
    FIELD(FLAG, "run.has_grad_norm", has_grad_norm),
    FIELD(INT, "run.lr_step", lr_step),
    FIELD(INT, "run.optimizer_step", optimizer_step),
    FIELD(INT, "run.epoch_begun", epoch_begun),
    FIELD(INT, "run.eval_begun", eval_begun),
    FIELD(INT, "run.skipped", skipped),
    FIELD(INT, "run.all_skipped", all_skipped),
    FIELD(INT, "run.failing", failing),
    {GR_CHECKPOINT_FINITE, OWN, 0, write_finite, NULL},
    FIELD(FLAG, "run.owed", owed),
    {"run.bests", OWN, 0, write_bests, read_bests},
    {"METRIC", OWN, 0, write_validation, read_validation},
    {"PROGRAM.METRIC", OWN, 0, write_pass, NULL},
    {"epoch.METRIC", OWN, 0, write_epoch, read_epoch},
    {"step.METRIC", OWN, 0, write_last, read_last},
    {"run.stop, run.evaluate and log.NAME", OWN, 0, write_asked, read_asked},
    {"set.NAME", OWN, 0, write_set, read_set},
    {"run.hooks", OWN, 0, write_hooks, read_hooks},
    {"run.data", OWN, 0, write_data, read_data},
    {GR_CHECKPOINT_OPTIMIZER, OWN, 0, write_optimizer, NULL},
    {GR_CHECKPOINT_EMA, OWN, 0, write_emas, NULL},
    {GR_RUN_EXIT_CHECKPOINT, OWN, 0, write_exit, read_exit},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

void gr_run_contents_write(gr_run *r, gr_run_contents *out) {
  for (const struct row *row = rows; row < rows + N_ROWS; row++) {
    const void *field = (const char *)r + row->field;
    if (row->kind == INT) put_int(out, row->name, *(const int64_t *)field);
    if (row->kind == FLOAT) put_float(out, row->name, *(const double *)field);
    if (row->kind == FLAG) put_int(out, row->name, *(const bool *)field);
    if (row->write) row->write(r, out);
  }
}

// Entries that a checkpoint lacks are left untouched.
static void read_field(const reader *in, const struct row *row) {
  void *field = (char *)in->r + row->field;
  const gr_scalar *s = find(in, row->name, row->kind == FLOAT ? GR_SCALAR_FLOAT : GR_SCALAR_INT);
  if (s && row->kind == INT) *(int64_t *)field = s->i;
  if (s && row->kind == FLOAT) *(double *)field = s->f;
  if (s && row->kind == FLAG) *(bool *)field = s->i != 0;
}

gr_status gr_run_weights_read(gr_run *r, gr_checkpoint *c) {
  reader in = {r, c};
  r->step = gr_checkpoint_step(c);
  GR_TRY(gr_run_read_states(r, c, false));
  return read_data(&in);
}

gr_status gr_run_contents_read(gr_run *r, gr_checkpoint *c) {
  reader in = {r, c};
  r->step = gr_checkpoint_step(c);
  for (const struct row *row = rows; row < rows + N_ROWS; row++) {
    if (row->kind != OWN) read_field(&in, row);
    if (row->read) GR_TRY(row->read(&in));
  }
  return GR_OK;
}
