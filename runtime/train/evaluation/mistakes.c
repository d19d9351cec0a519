// mistakes.c - finds the samples that an evaluation had most wrong. See mistakes.h.
#include "runtime/train/evaluation/mistakes.h"
#include <assert.h>
#include <math.h>
#include <string.h>
#include "base/shown.h"
#include "ops/kernels/cpu.h"
#include "runtime/text/units.h"
#include "runtime/train/evaluation/samples.h"

enum { MAX_CHARACTERS = 1000 };  // of a text that is compared

typedef enum kind { NONE, LOGITS, TOKENS, VALUE } kind;
static const char *const score_names[] = {"", "loss", "edit_rate", "error"};

typedef struct mistake {
  uint32_t sample;
  float score;          // the larger the worse
  float probability;    // of the class that was predicted
  int32_t n;            // words of `said`
  const int32_t *said;  // the class; tokens; or the bits of the value and of y
} mistake;

struct gr_mistakes {
  gr_arena *arena;
  kind kind;
  int64_t most, n;
  mistake *worst;  // the worst first; equal ones by their number in the data set
  struct outputs_of {
    gr_exec_tensor main, lengths;  // of a bucket's program: what `kind` compares
  } in[GR_MAX_BUCKETS];
  char *staging[2];  // see gr_exec_view
};

// ---- What is compared -----------------------------------------------------------------------

// The one f32 value of each sample that the model predicts; .address NULL: there is none, or
// several.
static gr_exec_tensor find_value(const gr_rank *r, const gr_program *p) {
  gr_exec_tensor found = {0};
  const gr_graph *g = p->frame.g;
  for (uint32_t i = 0; i < g->n_results; i++) {
    if (!gr_result_begins(g, i, "predict.")) continue;
    if (found.address) return (gr_exec_tensor){0};
    found = gr_exec_result(r->exec, p, g->result_names[i]);
  }
  const gr_type *t = &found.type;
  bool single = t->rank == 1 || (t->rank == 2 && t->dim[1] == 1);
  return found.address && t->dtype == GR_F32 && single ? found : (gr_exec_tensor){0};
}

static kind find_outputs(const gr_rank *r, const gr_program *p, struct outputs_of *in) {
  in->main = gr_exec_result(r->exec, p, "predict.tokens");
  in->lengths = gr_exec_result(r->exec, p, "predict.lengths");
  if (in->main.address && in->lengths.address && in->main.type.rank == 2) return TOKENS;
  in->lengths = (gr_exec_tensor){0};
  in->main = gr_exec_result(r->exec, p, "predict.logits");
  if (in->main.address && in->main.type.rank == 2 && in->main.type.dtype == GR_F32 &&
      in->main.type.dim[1] > 1)
    return LOGITS;
  in->main = find_value(r, p);
  return in->main.address ? VALUE : NONE;
}

gr_mistakes *gr_mistakes_open(gr_rank *r, int64_t most) {
  gr_arena *arena = gr_arena_create();
  gr_mistakes *m = GR_NEW(arena, gr_mistakes, 1);
  size_t bytes[2] = {0};
  assert(most > 0);
  m->arena = arena, m->most = most;
  m->worst = GR_NEW(arena, mistake, most + 1);
  for (int i = 0; i < GR_MAX_BUCKETS && r->eval && r->eval->of_bucket[i]; i++) {
    m->kind = find_outputs(r, r->eval->of_bucket[i], &m->in[i]);
    const gr_exec_tensor *of[2] = {&m->in[i].main, &m->in[i].lengths};
    for (int k = 0; k < 2 && of[k]->address; k++) {
      size_t now = gr_exec_staging(r->exec, of[k]);
      bytes[k] = now > bytes[k] ? now : bytes[k];
    }
  }
  for (int k = 0; k < 2; k++) m->staging[k] = gr_arena_alloc(arena, bytes[k] + 1);
  return m;
}

void gr_mistakes_close(gr_mistakes *m) {
  if (m) gr_arena_destroy(m->arena);
}

// ---- The worst ------------------------------------------------------------------------------

static bool is_worse(const mistake *a, const mistake *b) {
  return a->score > b->score || (a->score == b->score && a->sample < b->sample);
}

// Takes a mistake if it is among the worst; ranks that read the same rows have it once.
static void add(gr_mistakes *m, mistake x) {
  int64_t i = m->n;
  if (!isfinite(x.score) || (m->n == m->most && !is_worse(&x, &m->worst[m->n - 1]))) return;
  for (int64_t k = 0; k < m->n; k++)
    if (m->worst[k].sample == x.sample) return;
  int32_t *said = GR_NEW(m->arena, int32_t, x.n + 1);
  memcpy(said, x.said, (size_t)x.n * sizeof *said);
  x.said = said;
  for (; i && is_worse(&x, &m->worst[i - 1]); i--) m->worst[i] = m->worst[i - 1];
  m->worst[i] = x;
  if (m->n < m->most) m->n++;
}

static const gr_field *find_field(const gr_batch *b, const char *name) {
  for (int i = 0; i < b->n_fields; i++)
    if (!strcmp(b->field[i].name, name)) return &b->field[i];
  return NULL;
}

static void take_logits(gr_mistakes *m, gr_rank *r, uint32_t sample, const float *x, int64_t n) {
  int64_t label = gr_dataset_sample(r->spec->data, sample)->label - 1;
  int32_t best = 0;
  double sum = 0;
  for (int32_t i = 1; i < n; i++)
    if (x[i] > x[best]) best = i;
  if (label < 0 || label >= n || label == best) return;
  for (int64_t i = 0; i < n; i++) sum += exp((double)x[i] - (double)x[best]);
  double loss = log(sum) + (double)x[best] - (double)x[label];
  add(m, (mistake){sample, (float)loss, (float)(1 / sum), 1, &best});
}

// Insertions, deletions and replacements that make b of a, of at most MAX_CHARACTERS of each,
// divided by the length of a, at least 1.
static double edits(gr_arena *arena, const char *a, const char *b) {
  gr_units x = gr_units_characters(arena, a, true), y = gr_units_characters(arena, b, true);
  if (x.n > MAX_CHARACTERS) x.n = MAX_CHARACTERS;
  if (y.n > MAX_CHARACTERS) y.n = MAX_CHARACTERS;
  return (double)gr_units_distance(arena, &x, &y) / (double)(x.n ? x.n : 1);
}

static void take_tokens(gr_mistakes *m, gr_rank *r, uint32_t sample, const int32_t *tokens,
                        int32_t n) {
  gr_arena *scratch = gr_arena_create();
  gr_text said = gr_text_make(scratch);
  gr_dataset_decode(r->spec->data, tokens, n, &said);
  const char *reference = gr_dataset_reference(scratch, r->spec->data, sample);
  double wrong = edits(scratch, reference, said.chars);
  if (wrong > 0) add(m, (mistake){sample, (float)wrong, NAN, n, tokens});
  gr_arena_destroy(scratch);
}

static void take_value(gr_mistakes *m, uint32_t sample, float value, const gr_field *y,
                       int64_t row) {
  if (!y || y->type.dtype != GR_F32 || y->type.rank != 1) return;
  float wanted = ((const float *)y->data)[row];
  const int32_t said[2] = {(int32_t)gr_bits_of(value), (int32_t)gr_bits_of(wanted)};
  if (value != wanted) add(m, (mistake){sample, fabsf(value - wanted), NAN, 2, said});
}

gr_status gr_mistakes_take(gr_mistakes *m, gr_rank *r, const gr_batch *b) {
  const struct outputs_of *in = &m->in[b->bucket];
  const gr_field *y = find_field(b, "y");
  const void *main, *lengths = NULL;
  if (!m->kind) return GR_OK;
  GR_TRY(gr_exec_view(r->exec, &in->main, m->staging[0], &main));
  if (m->kind == TOKENS) GR_TRY(gr_exec_view(r->exec, &in->lengths, m->staging[1], &lengths));
  int64_t each = in->main.type.rank == 2 ? in->main.type.dim[1] : 1;
  for (int64_t row = 0; row < b->rows; row++) {
    uint32_t sample = b->sample[row];
    if (!gr_batch_counts(b, (int)row)) continue;
    if (m->kind == LOGITS)
      take_logits(m, r, sample, (const float *)main + row * each, each);
    else if (m->kind == TOKENS)
      take_tokens(m, r, sample, (const int32_t *)main + row * each,
                  (int32_t)gr_clamp_length(((const int32_t *)lengths)[row], each));
    else
      take_value(m, sample, ((const float *)main)[row], y, row);
  }
  return GR_OK;
}

// ---- From all ranks -------------------------------------------------------------------------

enum { HEAD = 4 };  // words of a mistake before what was said

// This rank's as integers.
static gr_text pack(const gr_mistakes *m) {
  gr_text t = gr_text_make(m->arena);
  for (int64_t i = 0; i < m->n; i++) {
    const mistake *x = &m->worst[i];
    const int32_t head[HEAD] = {(int32_t)x->sample, (int32_t)gr_bits_of(x->score),
                                (int32_t)gr_bits_of(x->probability), x->n};
    gr_text_putn(&t, (const char *)head, sizeof head);
    gr_text_putn(&t, (const char *)x->said, (size_t)x->n * sizeof *x->said);
  }
  return t;
}

static void unpack(gr_mistakes *m, const int32_t *words, const int32_t *end) {
  for (; words < end; words += HEAD + words[3])
    add(m, (mistake){(uint32_t)words[0], gr_float_of((uint32_t)words[1]),
                     gr_float_of((uint32_t)words[2]), words[3], words + HEAD});
}

gr_status gr_mistakes_gather(gr_mistakes *m, gr_rank *r) {
  gr_text packed = pack(m);
  gr_comm_gathered all;
  if (!m->kind || r->ranks == 1) return GR_OK;
  GR_TRY(gr_comm_gather(r->world, m->arena, packed.chars, packed.len, &all));
  m->n = 0;
  for (int i = 0; i < r->ranks && all.of_rank; i++)
    unpack(m, all.of_rank[i], all.of_rank[i] + all.bytes[i] / 4);
  return GR_OK;
}

// ---- Writing --------------------------------------------------------------------------------

static const char *more_of(const gr_mistakes *m, gr_rank *r, gr_arena *a, const mistake *x) {
  gr_text t = gr_text_make(a);
  gr_text_printf(&t, ", \"%s\": ", score_names[m->kind]);
  gr_text_json_rounded(&t, (double)x->score, 6);
  if (m->kind == LOGITS) gr_text_put(&t, ", \"probability\": ");
  if (m->kind == LOGITS) gr_text_json_rounded(&t, (double)x->probability, 6);
  gr_samples_put_input(&t, r, x->sample);
  return t.chars;
}

static gr_report_sample sample_of(const gr_mistakes *m, gr_rank *r, gr_arena *a, const mistake *x) {
  gr_dataset *d = r->spec->data;
  gr_report_sample s = {.name = gr_dataset_sample_name(a, d, x->sample),
                        .more = more_of(m, r, a, x)};
  if (m->kind == VALUE) {
    s.predicted = gr_arena_printf(a, "%.6g", gr_shown((double)gr_float_of((uint32_t)x->said[0])));
    s.reference = gr_arena_printf(a, "%.6g", gr_shown((double)gr_float_of((uint32_t)x->said[1])));
    return s;
  }
  gr_text said = gr_text_make(a);
  gr_dataset_decode(d, x->said, x->n, &said);
  s.predicted = said.chars, s.reference = gr_dataset_reference(a, d, x->sample);
  return s;
}

gr_status gr_mistakes_write(const gr_mistakes *m, gr_rank *r, gr_report *report, int64_t step) {
  if (r->rank) return GR_OK;
  gr_arena *a = gr_arena_create();
  gr_report_sample *all = GR_NEW(a, gr_report_sample, m->n + 1);
  for (int64_t i = 0; i < m->n; i++) all[i] = sample_of(m, r, a, &m->worst[i]);
  return gr_arena_end(a, gr_report_mistakes(report, step, all, (int)m->n));
}
