// samples.c - the model's outputs for some samples of an evaluation: printed, and written for
// TensorBoard. The samples depend only on the order of the data; their outputs are gathered from
// all ranks. See samples.h.
#include "runtime/train/evaluation/samples.h"
#include <string.h>
#include "ops/kernels/cpu.h"

enum { NAME_COLUMNS = 24 };

typedef struct answer {
  const int32_t *tokens;
  int32_t n;
} answer;

struct gr_samples {
  gr_arena *arena;
  uint32_t n, of, *items;  // the samples, ascending; of how many
  answer *answers;         // `tokens` is NULL for samples of other ranks
  struct answers_of {      // by bucket: the outputs of its program; .address NULL: it has none
    gr_exec_tensor tokens, lengths, logits;
  } in[GR_MAX_BUCKETS];
  char *staging[2];  // for a batch's tokens or logits, and lengths; see gr_exec_view
};

static void find_answers(const gr_rank *r, gr_samples *s) {
  size_t most[2] = {0};
  for (int i = 0; i < GR_MAX_BUCKETS && r->eval && r->eval->of_bucket[i]; i++) {
    const gr_program *eval = r->eval->of_bucket[i];
    struct answers_of *in = &s->in[i];
    in->tokens = gr_exec_result(r->exec, eval, "predict.tokens");
    in->lengths = gr_exec_result(r->exec, eval, "predict.lengths");
    in->logits = gr_exec_result(r->exec, eval, "predict.logits");
    const gr_exec_tensor *of = in->tokens.address ? &in->tokens : &in->logits;
    size_t bytes[2] = {gr_exec_staging(r->exec, of), gr_exec_staging(r->exec, &in->lengths)};
    for (int k = 0; k < 2; k++) most[k] = bytes[k] > most[k] ? bytes[k] : most[k];
  }
  for (int k = 0; k < 2; k++) s->staging[k] = gr_arena_alloc(s->arena, most[k] + 1);
}

gr_samples *gr_samples_choose(gr_rank *r, gr_split split, int64_t most) {
  gr_arena *arena = gr_arena_create();
  gr_samples *s = GR_NEW(arena, gr_samples, 1);
  s->arena = arena;
  s->of = gr_dataset_count(r->spec->data, split);
  s->n = most < s->of ? (uint32_t)most : s->of;
  s->items = GR_NEW(arena, uint32_t, s->n + 1);
  s->answers = GR_NEW(arena, answer, s->n + 1);
  find_answers(r, s);
  gr_dataset_sample_evenly(r->spec->data, split, s->n, s->items);
  return s;
}

void gr_samples_close(gr_samples *s) {
  if (s) gr_arena_destroy(s->arena);
}

// The index of an item among the chosen samples; -1: it is not chosen.
static int64_t find(const gr_samples *s, uint32_t item) {
  uint32_t low = 0, high = s->n;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (s->items[middle] < item)
      low = middle + 1;
    else
      high = middle;
  }
  return low < s->n && s->items[low] == item ? (int64_t)low : -1;
}

static int32_t largest(const float *logits, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; i++)
    if (logits[i] > logits[best]) best = i;
  return (int32_t)best;
}

// If a model outputs logits [n, classes] instead of symbols, the most likely class is printed.
static gr_status take_classes(gr_samples *s, gr_rank *r, const gr_batch *f) {
  gr_exec_tensor t = s->in[f->bucket].logits;
  const void *logits;
  if (!t.address || t.type.rank != 2 || t.type.dtype != GR_F32) return GR_OK;
  GR_TRY(gr_exec_view(r->exec, &t, s->staging[0], &logits));
  for (int row = 0; row < f->rows; row++) {
    int64_t index = find(s, f->sample[row]);
    if (index < 0 || !gr_batch_counts(f, row)) continue;
    int32_t *label = GR_NEW(s->arena, int32_t, 1);
    *label = largest((const float *)logits + row * t.type.dim[1], t.type.dim[1]);
    s->answers[index] = (answer){label, 1};
  }
  return GR_OK;
}

gr_status gr_samples_take(gr_samples *s, gr_rank *r, const gr_batch *f) {
  const void *tokens_at, *lengths_at;
  gr_exec_tensor t = s->in[f->bucket].tokens, of_lengths = s->in[f->bucket].lengths;
  if (!t.address && !of_lengths.address) return take_classes(s, r, f);
  if (!t.address || !of_lengths.address || t.type.rank != 2) return GR_OK;
  GR_TRY(gr_exec_view(r->exec, &t, s->staging[0], &tokens_at));
  GR_TRY(gr_exec_view(r->exec, &of_lengths, s->staging[1], &lengths_at));
  const int32_t *tokens = tokens_at, *lengths = lengths_at;
  for (int row = 0; row < f->rows; row++) {
    int64_t index = find(s, f->sample[row]);
    if (index < 0 || !gr_batch_counts(f, row)) continue;
    int32_t n = (int32_t)gr_clamp_length(lengths[row], t.type.dim[1]);
    int32_t *copy = GR_NEW(s->arena, int32_t, n + 1);
    memcpy(copy, tokens + row * t.type.dim[1], (size_t)n * sizeof *copy);
    s->answers[index] = (answer){copy, n};
  }
  return GR_OK;
}

// ---- From all ranks ---------------------------------------------------------------------------

// This rank's answers as integers: index, length, tokens.
static gr_text pack(const gr_samples *s) {
  gr_text t = gr_text_make(s->arena);
  for (uint32_t i = 0; i < s->n; i++) {
    const answer *a = &s->answers[i];
    if (!a->tokens) continue;
    gr_text_putn(&t, (const char *)(int32_t[]){(int32_t)i, a->n}, 2 * sizeof(int32_t));
    gr_text_putn(&t, (const char *)a->tokens, (size_t)a->n * sizeof *a->tokens);
  }
  return t;
}

static void unpack(gr_samples *s, const int32_t *words, const int32_t *end) {
  for (; words < end; words += 2 + words[1]) s->answers[*words] = (answer){words + 2, words[1]};
}

gr_status gr_samples_gather(gr_samples *s, gr_rank *r) {
  gr_text packed = pack(s);
  gr_comm_gathered all;
  if (!s->n) return GR_OK;
  GR_TRY(gr_comm_gather(r->world, s->arena, packed.chars, packed.len, &all));
  for (int i = 0; i < r->ranks && all.of_rank; i++)
    unpack(s, all.of_rank[i], all.of_rank[i] + all.bytes[i] / 4);
  return GR_OK;
}

// ---- Printing -------------------------------------------------------------------------------

// Keeps the end of a name, which says more than its beginning: "...ve/2024-11-02/take-003.wav".
// Characters are not cut.
static const char *short_name(gr_arena *a, const char *name) {
  int n = 0;
  const char *tail = name + strlen(name);
  for (const char *c = name; *c; c++) n += (*c & 0xc0) != 0x80;
  if (n <= NAME_COLUMNS) return name;
  for (int keep = NAME_COLUMNS - 3; keep && tail > name;) keep -= (*--tail & 0xc0) != 0x80;
  return gr_arena_printf(a, "...%s", tail);
}

// The number of columns that a string takes, and spaces that pad it to a width.
static int columns(const char *text) {
  int n = 0;
  for (; *text; text++) n += (*text & 0xc0) != 0x80;
  return n;
}

void gr_samples_put_input(gr_text *t, gr_rank *r, uint32_t sample) {
  gr_text input = gr_text_make(t->arena);
  gr_status_drop(gr_dataset_preview(r->spec->data, sample, &input));
  if (input.len) gr_text_put(t, ", \"input\": "), gr_text_put(t, input.chars);
}

// Samples with their predictions as texts; returns their number. *out is in the arena.
static int texts_of(gr_rank *r, gr_arena *a, const gr_samples *s, gr_report_sample **out) {
  int n = 0;
  *out = GR_NEW(a, gr_report_sample, s->n + 1);
  for (uint32_t i = 0; i < s->n; i++) {
    if (!s->answers[i].tokens) continue;
    gr_text said = gr_text_make(a), more = gr_text_make(a);
    gr_samples_put_input(&more, r, s->items[i]);
    gr_dataset_decode(r->spec->data, s->answers[i].tokens, s->answers[i].n, &said);
    (*out)[n++] = (gr_report_sample){gr_dataset_sample_name(a, r->spec->data, s->items[i]),
                                     gr_dataset_reference(a, r->spec->data, s->items[i]),
                                     said.chars, more.chars};
  }
  return n;
}

static void print(gr_arena *a, const gr_report_sample *s, int n) {
  int width = 9;  // "predicted"
  for (int i = 0; i < n; i++) {
    int now = columns(short_name(a, s[i].name));
    width = now > width ? now : width;
  }
  for (int i = 0; i < n; i++) {
    const char *name = short_name(a, s[i].name);
    gr_log_result("  %s%*s  %s", name, width - columns(name), "", s[i].reference);
    gr_log_result("  %*s  %s", width, "predicted", *s[i].predicted ? s[i].predicted : "(nothing)");
  }
}

gr_status gr_samples_write(const gr_samples *s, gr_rank *r, gr_report *report, int64_t step,
                           bool again) {
  gr_report_sample *texts;
  if (r->rank || !s->n) return GR_OK;
  gr_arena *scratch = gr_arena_create();
  int n = texts_of(r, scratch, s, &texts);
  return gr_arena_end(scratch, gr_report_samples(report, step, texts, n, again));
}

void gr_samples_print(const gr_samples *s, gr_rank *r) {
  gr_report_sample *texts;
  if (r->rank) return;
  gr_arena *scratch = gr_arena_create();
  int n = texts_of(r, scratch, s, &texts);
  if (n) gr_log_result("%d of %u validation samples with their labels and predictions:", n, s->of);
  print(scratch, texts, n);
  gr_arena_destroy(scratch);
}
