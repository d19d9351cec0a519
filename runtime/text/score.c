// score.c - see text.h.
#include <string.h>
#include "runtime/text/parts.h"

const gr_text_metric *const gr_text_metrics[] = {
#define GR_TEXT_METRIC(name, doc) &gr_text_metric_##name,
#include "runtime/text/metrics.def"
#undef GR_TEXT_METRIC
    NULL};
static const gr_normaliser *const normalisers[] = {
#define GR_NORMALISER(name, doc) &gr_normaliser_##name,
#include "runtime/text/normalisers.def"
#undef GR_NORMALISER
    NULL};

const gr_text_metric *gr_text_metric_find(const char *name) {
  const gr_text_metric *const *m = gr_text_metrics;
  while (*m && strcmp((*m)->name, name)) m++;
  return *m;
}

const gr_normaliser *gr_normaliser_find(const char *name) {
  const gr_normaliser *const *n = normalisers;
  while (*n && strcmp((*n)->name, name)) n++;
  return *n;
}

struct gr_text_score {
  const gr_text_metric *metric;
  gr_text_steps *normalise, *split;  // of the normaliser and of the metric
  int64_t counts[GR_TEXT_COUNTS];
};

gr_status gr_text_score_open(gr_arena *a, const gr_text_metric_spec *spec, gr_text_score **out) {
  gr_text_score *s = *out = GR_NEW(a, gr_text_score, 1);
  s->metric = spec->metric;
  GR_TRY(gr_text_steps_open(a, spec->normaliser->steps, &spec->options, &s->normalise));
  return gr_text_steps_open(a, spec->metric->steps, &spec->options, &s->split);
}

void gr_text_score_close(gr_text_score *s) {
  if (!s) return;
  gr_text_steps_close(s->normalise);
  gr_text_steps_close(s->split);
}

static const char *valid(gr_arena *a, const char *text) {
  gr_text t = gr_text_make(a);
  if (gr_utf8_valid(text)) return text;
  for (int n; *text; text += n ? n : 1) {
    n = gr_utf8_len(text);
    gr_text_put_code(&t, n ? gr_utf8_code(text, n) : 0xfffd);
  }
  return t.chars;
}

gr_status gr_text_score_normalise(const gr_text_score *s, gr_arena *a, const char *text,
                                  const char **out) {
  return gr_text_steps_run(s->normalise, a, valid(a, text), out);
}

static gr_status add(gr_text_score *s, gr_arena *a, const char *const pair[2]) {
  const char *texts[2];
  for (int i = 0; i < 2; i++) {
    GR_TRY(gr_text_score_normalise(s, a, pair[i], &texts[i]));
    GR_TRY(gr_text_steps_run(s->split, a, texts[i], &texts[i]));
  }
  s->metric->count(a, texts[0], texts[1], s->counts);
  return GR_OK;
}

gr_status gr_text_score_add(gr_text_score *s, const char *hypothesis, const char *reference) {
  gr_arena *a = gr_arena_create();
  gr_status st = add(s, a, (const char *const[2]){hypothesis, reference});
  return gr_arena_end(a, st);
}

int64_t *gr_text_score_counts(gr_text_score *s) { return s->counts; }
