// contents.c - what a checkpoint holds: its tensors, and the scalars of every part of a run. See
// run.h and scalars.h.
#include <string.h>
#include "runtime/train/run.h"

// ---- What must be unchanged, and what other programs read --------------------------------------

static void write_seed(const void *part, gr_scalars_out *out) {
  gr_scalars_put_int(out, "run.seed", ((const gr_rank *)part)->spec->set.loop.seed);
}

const char *gr_run_batches(const gr_rank *r, gr_arena *a) {
  const gr_batch_settings *s = &r->spec->set.options.batch;
  gr_text t = gr_text_make(a);
  for (int b = 0; s->global_of && b < r->spec->contract->n_buckets; b++)
    gr_text_printf(&t, b ? ", %d" : "%d", s->global_of[b]);
  if (!s->global_of) gr_text_printf(&t, "%d", s->global);
  return t.chars;
}

static void write_batch(const void *part, gr_scalars_out *out) {
  const gr_batch_settings *s = &((const gr_rank *)part)->spec->set.options.batch;
  gr_scalars_put_int(out, "run.global_batch", s->global);
  if (s->global_of) gr_scalars_put_text(out, "run.batches", gr_run_batches(part, out->arena));
}

static gr_status read_batch(void *part, const gr_scalars_in *in) {
  const gr_scalar *mean = gr_scalars_find(in, "run.global_batch", GR_SCALAR_INT);
  const gr_scalar *each = gr_scalars_find(in, "run.batches", GR_SCALAR_TEXT);
  gr_arena *a = ((gr_rank *)part)->arena;
  const char *now = gr_run_batches(part, a), *then = now;
  if (mean) then = gr_arena_printf(a, "%lld", (long long)mean->i);
  if (each) then = each->text;
  if (!strcmp(then, now)) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "'%s' was made with batches of %s, this run has %s",
              gr_checkpoint_path(in->checkpoint), then, now),
      "resume with the same training.batch_size; of one by memory all else is planned alike, too");
}

static void write_samples(const void *part, gr_scalars_out *out) {
  const gr_rank *r = part;
  gr_scalars_put_int(out, "run.samples", gr_dataset_count(r->spec->data, GR_SPLIT_TRAIN));
}

static gr_status read_samples(void *part, const gr_scalars_in *in) {
  const gr_scalar *then = gr_scalars_find(in, "run.samples", GR_SCALAR_INT);
  const gr_rank *r = part;
  int64_t now = gr_dataset_count(r->spec->data, GR_SPLIT_TRAIN);
  if (!r->rank && then && then->i != now)
    gr_log(GR_WARN, "there are %lld training samples, and were %lld: they come in another order",
           (long long)now, (long long)then->i);
  return GR_OK;
}

// What start.c compares with the run that is to go on from it.
static void write_identity(const void *part, gr_scalars_out *out) {
  const char *identity = ((const gr_rank *)part)->spec->identity;
  if (identity) gr_scalars_put_text(out, GR_RUN_IDENTITY, identity);
}

static void write_data(const void *part, gr_scalars_out *out) {
  const gr_rank *r = part;
  gr_text data = gr_text_make(out->arena);
  if (gr_dataset_save(r->spec->data, &data)) gr_scalars_put_text(out, "run.data", data.chars);
}

static gr_status read_data(void *part, const gr_scalars_in *in) {
  const gr_scalar *s = gr_scalars_find(in, "run.data", GR_SCALAR_TEXT);
  return s ? gr_dataset_restore(((gr_rank *)part)->spec->data, s->text) : GR_OK;
}

// The names of states of two kinds.
static char *states_of(const gr_rank *r, gr_arena *a, gr_kind kind, gr_kind or, bool teacher) {
  const gr_plan *p = r->spec->plan;
  gr_text t = gr_text_make(a);
  teacher = teacher && r->spec->set.model.teacher_graph;
  for (const gr_plan_state *s = p->states; s < p->states + p->n_states; s++)
    if (s->kind == kind || s->kind == or || (teacher && gr_is_of_teacher(s->name)))
      gr_text_printf(&t, "%s%s", t.len ? "\n" : "", s->name);
  return t.chars;
}

// The states that using the model does not need: moments, counters, those of a teacher.
static void write_optimizer(const void *part, gr_scalars_out *out) {
  gr_scalars_put_text(out, GR_CHECKPOINT_OPTIMIZER,
                      states_of(part, out->arena, GR_KIND_MOMENT, GR_KIND_COUNTER, true));
}

static void write_emas(const void *part, gr_scalars_out *out) {
  char *names = states_of(part, out->arena, GR_KIND_EMA, GR_KIND_EMA, false);
  if (*names) gr_scalars_put_text(out, GR_CHECKPOINT_EMA, names);
}

// What an export says of adapters, or adds to the weights.
static void write_adapters(const void *part, gr_scalars_out *out) {
  const gr_optimizer_settings *o = &((const gr_rank *)part)->spec->set.options.optimizer;
  gr_text t = gr_text_make(out->arena);
  for (int i = 0; i < o->n_adapters; i++) {
    const gr_adapter *p = &o->adapters[i];
    gr_text_printf(&t, "%s{\"name\": \"%s\", \"rank\": %lld, \"alpha\": ", i ? ", " : "[", p->name,
                   (long long)p->rank);
    gr_text_json_float(&t, p->alpha);
    gr_text_put(&t, ", \"dropout\": ");
    gr_text_json_float(&t, p->dropout);
    gr_text_put(&t, i == o->n_adapters - 1 ? "}]" : "}");
  }
  if (o->n_adapters) gr_scalars_put_text(out, GR_CHECKPOINT_ADAPTERS, t.chars);
}

static void spec_scalars(gr_rank *r, gr_scalar_table *t) {
  const gr_scalar_row rows[] = {
      {40, "run.seed", GR_SCALARS, r, write_seed, NULL},
      {50, "run.global_batch", GR_SCALARS, r, write_batch, read_batch},
      {60, "run.samples", GR_SCALARS, r, write_samples, read_samples},
      {70, GR_RUN_IDENTITY, GR_SCALARS, r, write_identity, NULL},
      {340, "run.data", GR_SCALARS, r, write_data, read_data},
      {350, GR_CHECKPOINT_OPTIMIZER, GR_SCALARS, r, write_optimizer, NULL},
      {360, GR_CHECKPOINT_EMA, GR_SCALARS, r, write_emas, NULL},
      {365, GR_CHECKPOINT_ADAPTERS, GR_SCALARS, r, write_adapters, NULL},
  };
  gr_scalar_table_add(t, rows, sizeof rows / sizeof *rows);
}

// ---- All ---------------------------------------------------------------------------------------

static gr_scalar_table table_of(gr_run *r, gr_arena *a) {
  gr_scalar_table t = {.arena = a};
  spec_scalars(&r->me, &t);
  gr_progress_scalars(&r->progress, &t);
  gr_evaluation_scalars(&r->evaluation, &t);
  gr_control_scalars(&r->control, &t);
  gr_outputs_scalars(&r->outputs, &t);
  gr_saving_scalars(&r->saving, &t);
  return t;
}

void gr_run_contents_write(gr_run *r, gr_scalars_out *out) {
  gr_scalar_table t = table_of(r, out->arena);
  gr_scalar_table_write(&t, out);
}

gr_status gr_run_weights_read(gr_run *r, gr_checkpoint *c) {
  gr_scalars_in in = {.rank = &r->me, .checkpoint = c};
  gr_progress_restore(&r->progress, gr_checkpoint_step(c));
  GR_TRY(gr_run_read_states(&r->saving.states, c, false));
  return read_data(&r->me, &in);
}

gr_status gr_run_contents_read(gr_run *r, gr_checkpoint *c) {
  gr_scalars_in in = {.rank = &r->me, .checkpoint = c, .total_steps = r->progress.total_steps};
  gr_scalar_table t = table_of(r, r->me.arena);
  gr_progress_restore(&r->progress, gr_checkpoint_step(c));
  GR_TRY(gr_run_read_states(&r->saving.states, c, true));
  return gr_scalar_table_read(&t, &in);
}
