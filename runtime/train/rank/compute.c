// compute.c - runs a program of a run. See rank.h.
#include "base/events.h"
#include "ops/kernels/cpu.h"
#include "runtime/train/rank/rank.h"

static gr_status none_left(const gr_rank *r, const gr_run_program *of, unsigned frozen) {
  const gr_texts *freezable = &r->spec->set.options.optimizer.freezable;
  gr_arena *a = gr_arena_create();
  gr_status e =
      gr_hint(gr_fail(GR_ERR_HOOK, GR_NOWHERE, "the plan has no program %s: it would train nothing",
                      gr_frozen_kind(a, of->name, freezable->text, freezable->n, frozen)),
              "a hook has frozen all weights that the program %s trains; unfreeze one pattern of "
              "training.freezable before the next step",
              of->name);
  return gr_arena_end(a, e);
}

// The program that freezes what hooks have frozen.
static gr_status find_variant(const gr_rank *r, const gr_step_values *values,
                              const gr_run_program *of, const gr_run_program **out) {
  unsigned frozen = 0, bit = 1;
  for (int i = 0; i < r->spec->n_adjust; i++) {
    if (!r->spec->adjust[i].freezes) continue;
    if (values->set[i] != 0) frozen |= bit;
    bit <<= 1;
  }
  frozen &= of->may_freeze;
  *out = of;
  for (int i = 0; i < of->n_variants && frozen; i++)
    if (of->variants[i].frozen == frozen) *out = &of->variants[i];
  return frozen && *out == of ? none_left(r, of, frozen) : GR_OK;
}

void gr_run_follow(gr_rank *r, gr_loader *loader, const gr_run_program *next) {
  if (loader != r->next_from) r->ahead = NULL, r->waited = 0;
  r->next_from = loader, r->next = next && next->takes_batch ? next : NULL;
}

static int parts_of(const gr_rank *r, const gr_run_program *of) {
  return of->update ? r->spec->set.options.batch.micro_batches : 1;
}

// Uploads the first inputs of the batch that follows while the program that has been enqueued runs.
// Hooks may still choose another program, or another batch may come first: then it is done again.
static gr_status upload_next(gr_rank *r, const gr_step_values *values) {
  const gr_batch *b;
  const gr_run_program *next;
  if (!r->next_from || !r->next || !gr_exec_uploads_ahead(r->exec)) return GR_OK;
  double start = gr_run_span_begin(r), began = gr_seconds();
  bool ready = gr_loader_ready(r->next_from);
  gr_event("taking the next batch");
  gr_loader_peek(r->next_from, &b);
  r->waited += ready ? 0 : gr_seconds() - began;
  gr_status s = find_variant(r, values, r->next, &next);
  if (s || !b) return gr_status_drop(s), GR_OK;
  gr_batch first = gr_batch_slice(b, 0, parts_of(r, next));
  r->ahead = b, r->ahead_of = next->of_bucket[b->bucket];
  s = gr_run_write_batch(r, r->ahead_of, &first);
  gr_run_span(r, GR_TRACE_COPIES, "next inputs", start);
  return s;
}

// Part i of a batch, unless it has been uploaded while the last program ran.
static gr_status write_part(gr_rank *r, const gr_program *p, const gr_batch *b, int i, int parts) {
  bool there = !i && r->ahead == b && r->ahead_of == p && gr_exec_is_ahead(r->exec, p);
  gr_batch part = gr_batch_slice(b, i, parts);
  r->ahead = NULL;
  return there ? GR_OK : gr_run_write_batch(r, p, &part);
}

// Runs one program; with accumulation, the micro-step program and then the one that ends the step,
// which has the results.
gr_status gr_run_compute(gr_rank *r, const gr_step_values *values, const gr_run_program *of,
                         const gr_batch *b, gr_step_results *out) {
  GR_TRY(find_variant(r, values, of, &of));
  const gr_program *p = of->of_bucket[b ? b->bucket : 0];
  int parts = parts_of(r, of);
  for (int i = 0; i < parts; i++) {
    double start = gr_run_span_begin(r);
    if (of->update) gr_exec_set_shard(r->exec, i, false);
    if (b) GR_TRY(write_part(r, p, b, i, parts));
    GR_TRY(gr_run_write_values(r, values, p, i));
    gr_run_span(r, GR_TRACE_COPIES, "inputs", start);
    GR_TRY(gr_exec_run(r->exec, p));
  }
  if (of->update) GR_TRY(gr_run_write_values(r, values, of->update, 0));
  if (of->update) GR_TRY(gr_exec_run(r->exec, of->update));
  GR_TRY(upload_next(r, values));
  double start = gr_run_span_begin(r);
  GR_TRY(gr_run_read_results(r, of->update ? of->update : p, out));
  gr_run_span(r, GR_TRACE_COPIES, "results", start);
  return GR_OK;
}

bool gr_run_can_eval(const gr_rank *r, gr_split split) {
  if (!r->eval) return false;
  if (!r->eval->takes_batch) return split == GR_SPLIT_VALIDATION;
  return gr_dataset_count(r->spec->data, split) > 0;
}

bool gr_batch_counts(const gr_batch *b, int row) {
  const gr_field *weight = &b->field[b->n_fields - 1];
  return b->sample[row] != GR_NO_SAMPLE && gr_get(weight->data, weight->type.dtype, row) != 0;
}
