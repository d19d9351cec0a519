// new_tables.c - see new_tables.h.
#include "cli/new_tables.h"
#include <math.h>

void gr_new_set_scale_of(gr_new_own *o, const char *params, const double *y, size_t n) {
  double mean = 0, square = 0, seen = 0;
  for (size_t i = 0; i < n; i++) {
    double away = y[i] - mean;
    if (!isfinite(y[i])) continue;
    mean += away / ++seen, square += away * (y[i] - mean);
  }
  double deviation = seen > 0 && square > 0 ? sqrt(square / seen) : 1;
  gr_new_set(o, "params",
             gr_arena_printf(o->arena, "{%s, center: %.7g, scale: %.4g}", params, mean, deviation));
}

void gr_new_set_scale(gr_new_own *o, const char *params, const gr_csv *t, int label) {
  const gr_column *c = &t->columns[label];
  double *y = GR_NEW(o->arena, double, t->rows + 1);
  for (uint32_t i = 0; i < t->rows; i++) {
    y[i] = c->type == GR_COLUMN_INT ? (double)c->ints[i] : c->floats[i];
    if (gr_csv_missing(t, i, label)) y[i] = NAN;
  }
  gr_new_set_scale_of(o, params, y, t->rows);
}

const char gr_new_is_class[] = "label_is: class   # not a number";

void gr_new_table_of(gr_new_own *o, const gr_csv *t, int label) {
  uint32_t distinct, incomplete = gr_new_incomplete_rows(t, label);
  bool value = gr_new_is_value(t, label, &distinct);
  gr_new_begin(o, value ? "regression" : "table", "path", t->path);
  gr_new_name(o, "label", t->columns[label].name);
  if (value)
    gr_new_set_scale(o, "width: 32, layers: 2", t, label);
  else
    gr_new_add(o, "label", gr_new_is_class);
  gr_new_set_one_hot(o, t, label);
  gr_new_set_format(o, t);
  if (incomplete)
    gr_new_add(o, "source",
               "skip_unreadable: true   # leaves out rows that lack a feature or their class");
  gr_text_printf(&o->said, "%u rows of %d columns", t->rows, t->n_columns);
  gr_text_printf(&o->said, "; to predict: '%s'", t->columns[label].name);
  if (value)
    gr_text_put(&o->said, ", a number\n");
  else
    gr_text_printf(&o->said, ", %u classes\n", distinct), gr_new_set_classes(o, distinct);
}

// ---- Texts --------------------------------------------------------------------------------------

// Returns how many bytes of a text are read.
static int begin_texts(gr_new_own *o, const char *kind, const gr_csv *t, int text, const char *key,
                       int column) {
  int most = gr_new_text_tokens(t, text, 128);
  gr_new_begin(o, kind, "path", t->path);
  gr_new_name(o, "text", t->columns[text].name);
  gr_new_name(o, key, t->columns[column].name);
  gr_new_set(o, "max_tokens", gr_arena_printf(o->arena, "%d", most));
  gr_new_set_format(o, t);
  if (t->format.encoding) gr_new_add(o, "path", "encoding: auto   # as its bytes say");
  gr_text_printf(&o->said, "%u texts, in '%s'", t->rows, t->columns[text].name);
  return most;
}

void gr_new_pairs_of(gr_new_own *o, const gr_csv *t, int text, int target) {
  int most = gr_new_text_tokens(t, target, 16);
  int read = begin_texts(o, "pairs", t, text, "target", target);
  gr_new_set(o, "params",
             gr_arena_printf(o->arena, "{dim: 64, layers: 2, context: %d, text_context: %d}", read,
                             1 + most));
  gr_new_add(o, "suffix",
             gr_arena_printf(o->arena, "max_target_tokens: %d   # so are targets", most));
  gr_new_set(o, "generation", gr_arena_printf(o->arena, "{max_tokens: %d}", most));
  gr_text_printf(&o->said, "; to write: those in '%s'\n", t->columns[target].name);
}

void gr_new_texts_of(gr_new_own *o, const gr_csv *t, int text, int label) {
  uint32_t rows;
  if (gr_new_has_names(t, label)) {
    gr_new_pairs_of(o, t, text, label);
    return;
  }
  uint32_t classes = gr_csv_distinct(t, label, &rows);
  (void)begin_texts(o, "texts", t, text, "label", label);
  gr_text_printf(&o->said, "; to predict: '%s', %u classes\n", t->columns[label].name, classes);
  gr_new_set_classes(o, classes);
}
