// text_scores.c - see text_scores.h. The counts of all ranks are added up as integers, so that a
// metric is the same on any number of them.
#include "runtime/train/evaluation/text_scores.h"
#include <math.h>
#include <string.h>
#include "ops/kernels/cpu.h"

struct gr_text_scores {
  gr_arena *arena;
  const gr_text_metric_spec *specs;
  gr_text_score **scores;  // n of them
  int n;
  gr_exec_tensor tokens[GR_MAX_BUCKETS], lengths[GR_MAX_BUCKETS];  // by bucket
  char *staging[2];                                                // see gr_exec_view
};

static gr_status open_scores(gr_rank *r, gr_text_scores *t) {
  size_t most[2] = {0};
  for (int i = 0; i < t->n; i++) GR_TRY(gr_text_score_open(t->arena, &t->specs[i], &t->scores[i]));
  for (int i = 0; i < GR_MAX_BUCKETS && r->eval->of_bucket[i]; i++) {
    t->tokens[i] = gr_exec_result(r->exec, r->eval->of_bucket[i], "predict.tokens");
    t->lengths[i] = gr_exec_result(r->exec, r->eval->of_bucket[i], "predict.lengths");
    const size_t bytes[] = {gr_exec_staging(r->exec, &t->tokens[i]),
                            gr_exec_staging(r->exec, &t->lengths[i])};
    for (int k = 0; k < 2; k++) most[k] = bytes[k] > most[k] ? bytes[k] : most[k];
  }
  for (int k = 0; k < 2; k++) t->staging[k] = gr_arena_alloc(t->arena, most[k] + 1);
  return GR_OK;
}

gr_status gr_text_scores_open(gr_rank *r, gr_text_scores **out) {
  const gr_loop_settings *s = &r->spec->set.loop;
  *out = NULL;
  if (!s->n_text_metrics || !r->eval || gr_run_is_dry(r) || r->spec->kind == GR_RUN_PREDICT)
    return GR_OK;
  gr_arena *a = gr_arena_create();
  gr_text_scores *t = *out = GR_NEW(a, gr_text_scores, 1);
  *t = (gr_text_scores){.arena = a, .specs = s->text_metrics, .n = s->n_text_metrics};
  t->scores = GR_NEW(a, gr_text_score *, t->n);
  return open_scores(r, t);
}

void gr_text_scores_close(gr_text_scores *t) {
  for (int i = 0; t && i < t->n; i++) gr_text_score_close(t->scores[i]);
  if (t) gr_arena_destroy(t->arena);
}

void gr_text_scores_clear(gr_text_scores *t) {
  for (int i = 0; t && i < t->n; i++)
    memset(gr_text_score_counts(t->scores[i]), 0, GR_TEXT_COUNTS * sizeof(int64_t));
}

static gr_status add(gr_text_scores *t, gr_arena *a, const gr_dataset *d, uint32_t sample,
                     const int32_t *tokens, int64_t n) {
  gr_text said = gr_text_make(a);
  gr_dataset_decode(d, tokens, n, &said);
  const char *reference = gr_dataset_reference(a, d, sample);
  for (int i = 0; i < t->n; i++) GR_TRY(gr_text_score_add(t->scores[i], said.chars, reference));
  return GR_OK;
}

gr_status gr_text_scores_take(gr_text_scores *t, gr_rank *r, const gr_batch *b) {
  const void *tokens, *lengths;
  gr_status s = GR_OK;
  if (!t) return GR_OK;
  GR_TRY(gr_exec_view(r->exec, &t->tokens[b->bucket], t->staging[0], &tokens));
  GR_TRY(gr_exec_view(r->exec, &t->lengths[b->bucket], t->staging[1], &lengths));
  int64_t most = t->tokens[b->bucket].type.dim[1];
  gr_arena *a = gr_arena_create();
  for (int row = 0; row < b->rows && !s; row++) {
    int64_t n = gr_clamp_length(((const int32_t *)lengths)[row], most);
    if (gr_batch_counts(b, row))
      s = add(t, a, r->spec->data, b->sample[row], (const int32_t *)tokens + row * most, n);
  }
  return gr_arena_end(a, s);
}

// ---- From all ranks -------------------------------------------------------------------------

// The sums over ranks, of which those that read the same rows count once. As integers of 32 bits.
static gr_status sum_counts(gr_text_scores *t, gr_rank *r, gr_arena *a, int64_t *sums) {
  int64_t n = (int64_t)t->n * GR_TEXT_COUNTS, each = n + 1;  // and the part of the batches
  int64_t *counted = GR_NEW(a, int64_t, each), *all = GR_NEW(a, int64_t, each * r->ranks);
  bool *taken = GR_NEW(a, bool, r->shares + 1);
  for (int i = 0; i < t->n; i++)
    memcpy(counted + i * GR_TEXT_COUNTS, gr_text_score_counts(t->scores[i]),
           GR_TEXT_COUNTS * sizeof *counted);
  counted[n] = r->share;
  GR_TRY(gr_comm_run(r->world, GR_ALL_GATHER, GR_I32, 2 * each, counted, all));
  for (int64_t *of = all; of < all + each * r->ranks; of += each) {
    for (int64_t i = 0; i < n && !taken[of[n]]; i++) sums[i] += of[i];
    taken[of[n]] = true;
  }
  return GR_OK;
}

static void set_metric(gr_metrics *m, const char *name, double value) {
  int i = 0;
  while (i < m->n && strcmp(m->items[i].name, name)) i++;
  if (i == GR_MAX_METRICS) return;
  if (i == m->n) m->n++;
  m->items[i] = (gr_metric){name, isnan(value) ? 0 : value, isnan(value) ? 0 : 1};
}

gr_status gr_text_scores_report(gr_text_scores *t, gr_rank *r, gr_metrics *m) {
  if (!t || !m->n) return GR_OK;
  gr_arena *a = gr_arena_create();
  int64_t *sums = GR_NEW(a, int64_t, (int64_t)t->n * GR_TEXT_COUNTS);
  gr_status s = sum_counts(t, r, a, sums);
  for (int i = 0; i < t->n && !s; i++)
    set_metric(m, gr_run_metric_name(r, t->specs[i].name),
               t->specs[i].metric->value(sums + i * GR_TEXT_COUNTS));
  return gr_arena_end(a, s);
}
