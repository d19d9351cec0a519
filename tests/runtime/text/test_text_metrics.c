// test_text_metrics.c - metrics of texts and normalisers, equal to what sacrebleu and
// openai-whisper make of the same texts (tests/golden/text_metrics.py). A second argument is a
// folder in the place of that of the recorded texts.
#include <math.h>
#include "base/json.h"
#include "runtime/text/text.h"
#include "tests/check.h"

static gr_arena *arena;
static const char *folder = GR_GOLDEN "/text_metrics";

static gr_text_score *opened(const char *metric, const char *normaliser, gr_normaliser_options o) {
  gr_text_metric_spec *spec = GR_NEW(arena, gr_text_metric_spec, 1);
  gr_text_score *s;
  *spec =
      (gr_text_metric_spec){metric, gr_text_metric_find(metric), gr_normaliser_find(normaliser), o};
  MUST(gr_text_score_open(arena, spec, &s));
  return s;
}

static gr_text_score *plain(const char *metric) {
  return opened(metric, "none", (gr_normaliser_options){0});
}

// The rows of a file of JSON lines; *n becomes their number.
static const gr_json **rows_of(const char *name, int *n) {
  char *text, *rest = NULL;
  MUST(gr_file_read(arena, gr_arena_printf(arena, "%s/%s.jsonl", folder, name), 64 << 20, &text,
                    NULL));
  const gr_json **rows = GR_NEW(arena, const gr_json *, strlen(text) / 2 + 1);
  gr_json_error why;
  *n = 0;
  for (char *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
    bool read = gr_json_read(arena, l, strlen(l), &rows[(*n)++], &why);
    CHECK(read, "line %d of %s: %s", *n, name, read ? "" : why.why);
    if (!read) check_leave();
  }
  return rows;
}

// ---- Recorded texts -----------------------------------------------------------------------------

static void normalises(void) {
  gr_text_score *by[] = {
      plain("wer"), opened("wer", "basic", (gr_normaliser_options){0}),
      opened("wer", "basic",
             (gr_normaliser_options){.remove_diacritics = true, .split_letters = true}),
      opened("wer", "english", (gr_normaliser_options){0})};
  int n;
  const gr_json **rows = rows_of("normalised", &n);
  CHECK(n >= 500, "%d texts", n);
  for (int i = 0; i < n; i++) {
    const gr_json *wanted = rows[i]->first;
    for (int k = 0; k < 4; k++, wanted = wanted->next) {
      const char *found;
      MUST(gr_text_score_normalise(by[k], arena, rows[i]->first->text, &found));
      CHECK(!strcmp(found, wanted->text), "normaliser %d, text %d '%s'\n  is     '%s'\n  wanted '%s'",
            k, i + 1, rows[i]->first->text, found, wanted->text);
    }
  }
  for (int k = 0; k < 4; k++) gr_text_score_close(by[k]);
}

// The counts of pairs, which are added up as those of ranks are.
static const int64_t *counts_of(const char *metric, const gr_json **pairs, int n) {
  int64_t *all = GR_NEW(arena, int64_t, (size_t)n * GR_TEXT_COUNTS);
  for (int i = 0; i < n; i++) {
    gr_text_score *s = plain(metric);
    MUST(gr_text_score_add(s, pairs[i]->first->text, pairs[i]->first->next->text));
    memcpy(all + i * GR_TEXT_COUNTS, gr_text_score_counts(s), GR_TEXT_COUNTS * sizeof *all);
    gr_text_score_close(s);
  }
  return all;
}

static void scores(void) {
  static const char *const names[] = {"bleu", "chrf"};
  int n_pairs, n;
  const gr_json **pairs = rows_of("pairs", &n_pairs), **rows = rows_of("scores", &n);
  CHECK(n_pairs >= 200 && n > 100, "%d pairs, %d scores", n_pairs, n);
  for (int k = 0; k < 2; k++) {
    const int64_t *counts = counts_of(names[k], pairs, n_pairs);
    for (int i = 0; i < n; i++) {
      const gr_json *first = rows[i]->first, *wanted = first->next->next;
      int64_t sums[GR_TEXT_COUNTS] = {0};
      for (int64_t p = first->i; p < first->next->i; p++)
        for (int c = 0; c < GR_TEXT_COUNTS; c++) sums[c] += counts[p * GR_TEXT_COUNTS + c];
      double found = gr_text_metric_find(names[k])->value(sums),
             want = k ? wanted->next->f : wanted->f;
      CHECK(fabs(found - want) < 1e-9, "%s of pairs %d to %d is %.12g, not %.12g", names[k],
            (int)first->i, (int)first->next->i, found, want);
    }
  }
}

// ---- By hand ------------------------------------------------------------------------------------

static double score(gr_text_score *s, const char *metric) {
  double value = gr_text_metric_find(metric)->value(gr_text_score_counts(s));
  gr_text_score_close(s);
  return value;
}

static void error_rates(void) {
  gr_text_score *w = plain("wer"), *c = plain("cer");
  MUST(gr_text_score_add(w, " a b  c ", "a x c d"));  // one replaced, one missing
  MUST(gr_text_score_add(w, "more than there is", ""));
  CHECK(score(w, "wer") == 6 / 4.0, "word errors");
  MUST(gr_text_score_add(c, " héllo wrld", "hello world "));
  MUST(gr_text_score_add(c, "", "七時"));
  CHECK(score(c, "cer") == 4 / 13.0, "character errors");
  CHECK(isnan(score(plain("wer"), "wer")), "of no word there is no rate");
  CHECK(score(plain("bleu"), "bleu") == 0 && score(plain("chrf"), "chrf") == 0, "of no text");
}

static void normalised_rates(void) {
  gr_spelling list = {.words = gr_map_make(arena), .instead = (const char *[]){"color"}};
  gr_map_put(&list.words, "colour", 0);
  gr_text_score *s = opened("wer", "english", (gr_normaliser_options){.spelling = &list});
  MUST(gr_text_score_add(s, "Mr. Green's colour is twenty-one (sic).",
                         "mister green is color is 21"));
  CHECK(score(s, "wer") == 0, "what is said alike is written alike");
}

// Text that a model has made may be anything.
static void hostile(void) {
  static const char *const normalisers[] = {"none", "basic", "english"};
  static const char *const parts[] = {"(",       "[",  "'",      "1",    "one ",     "hundred ",
                                      "1,",      ".",  "$",      "\xff", "\xe2\x82", "and a half ",
                                      "double ", "  ", "point ", "Σ"};
  for (int k = 0; k < 3; k++)
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
      gr_text t = gr_text_make(arena);
      for (int n = 0; n < 2000; n++) gr_text_put(&t, parts[i]);
      for (const gr_text_metric *const *m = gr_text_metrics; *m; m++) {
        gr_text_score *s = opened((*m)->name, normalisers[k], (gr_normaliser_options){0});
        MUST(gr_text_score_add(s, t.chars, "one"));
        gr_text_score_close(s);
      }
    }
}

static void tables(void) {
  for (const gr_text_metric *const *m = gr_text_metrics; *m; m++)
    CHECK((*m)->n <= GR_TEXT_COUNTS && gr_text_metric_find((*m)->name) == *m, "%s", (*m)->name);
  CHECK(!gr_text_metric_find("rouge") && !gr_normaliser_find(""), "none has that name");
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  if (argc > 2) folder = argv[2];
  int failed =
      RUN(argc, argv, {"normalises", normalises}, {"scores", scores}, {"error_rates", error_rates},
          {"normalised_rates", normalised_rates}, {"hostile", hostile}, {"tables", tables});
  gr_arena_destroy(arena);
  return failed;
}
