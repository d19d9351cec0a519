// sections.c - what came out of a run: its state, metrics, pictures and log. See parts.h.
#include <math.h>
#include <string.h>
#include "runtime/page/parts.h"

// ---- The head -------------------------------------------------------------------------------

// The kind of a status, which is its colour.
static const char *kind_of(const char *status) {
  if (!strcmp(status, "done")) return "good";
  if (!strcmp(status, "running")) return "live";
  return strncmp(status, "stopped", 7) ? "bad" : "warn";
}

static void put_badge(gr_text *t, const char *status) {
  gr_text_printf(t, "<span class=\"badge %s\">", kind_of(status));
  gr_html(t, gr_arena_strndup(t->arena, status, strcspn(status, " :")));
  gr_text_put(t, "</span>");
}

static void begin_tile(gr_text *t, const char *what) {
  gr_text_put(t, "<div class=\"tile\"><span>");
  gr_html(t, what);
  gr_text_put(t, "</span><b>");
}

static void end_tile(gr_text *t, const char *note) {
  gr_text_put(t, "</b><small>");
  gr_html(t, note);
  gr_text_put(t, "</small></div>\n");
}

static const gr_json *of_results(const gr_folder *f, const char *name, gr_json_kind kind) {
  return f->results ? gr_json_get(f->results, name, kind) : NULL;
}

// The value of the last evaluation of the series, or of results.
static double last_of(const gr_folder *f, const char *key) {
  const gr_json *metrics = of_results(f, "metrics", GR_JSON_OBJECT);
  const gr_json *v = metrics ? gr_json_get(metrics, key, GR_JSON_FLOAT) : NULL;
  const gr_series *s = gr_series_find(&f->series, key);
  return v ? v->f : s && s->n ? s->y[s->n - 1] : (double)NAN;
}

static void put_best(gr_text *t, const gr_folder *f) {
  const char *metric = gr_html_text_of(f->results, "best_metric");
  if (!metric) return;
  begin_tile(t, gr_arena_printf(t->arena, "best %s", metric));
  gr_html_number(t, gr_html_number_of(f->results, "best_value"));
  end_tile(t, gr_arena_printf(t->arena, "epoch %.0f, step %.0f",
                              gr_html_number_of(f->results, "best_epoch"),
                              gr_html_number_of(f->results, "best_step")));
}

static void put_loss(gr_text *t, const gr_folder *f) {
  double validation = last_of(f, "validation.loss"), train = last_of(f, "train.loss");
  bool has = !isnan(validation);
  if (!has && isnan(train)) return;
  begin_tile(t, has ? "validation loss" : "training loss");
  gr_html_number(t, has ? validation : train);
  end_tile(t, has && !isnan(train) ? gr_arena_printf(t->arena, "training %.4f", train) : "");
}

static void put_steps(gr_text *t, const gr_folder *f) {
  const gr_series *loss = gr_series_find(&f->series, "loss");
  const gr_series *epochs = gr_series_find(&f->series, "train_loss");
  double steps = gr_html_number_of(f->results, "steps");
  if (isnan(steps)) steps = loss && loss->n ? loss->x[loss->n - 1] : 0;
  begin_tile(t, "steps");
  gr_html_count(t, (int64_t)steps);
  end_tile(t, gr_arena_printf(t->arena, "%d epochs", epochs ? epochs->n : 0));
}

static void put_speed(gr_text *t, const gr_folder *f) {
  const gr_series *s = gr_series_find(&f->series, "samples_per_s");
  double inverse = 0;
  if (!s || !s->n) return;
  for (int i = 0; i < s->n; i++) inverse += s->y[i] > 0 ? 1 / s->y[i] : 0;
  begin_tile(t, "samples per second");
  gr_html_si(t, inverse > 0 ? s->n / inverse : 0, "");
  end_tile(t, "mean of all steps");
}

static void put_time(gr_text *t, const gr_folder *f) {
  gr_text note = gr_text_make(t->arena);
  double seconds = gr_html_number_of(f->results, "total_seconds");
  if (isnan(seconds)) return;
  gr_html_date(&note, gr_html_number_of(f->results, "started"));
  begin_tile(t, "duration");
  gr_html_seconds(t, seconds);
  end_tile(t, note.at);
}

static void put_data_time(gr_text *t, const gr_folder *f) {
  double seconds = gr_html_number_of(f->results, "total_data_seconds");
  if (isnan(seconds)) return;
  begin_tile(t, "waiting for data");
  gr_html_seconds(t, seconds);
  end_tile(t, "of all steps");
}

static void put_parameters(gr_text *t, const gr_folder *f) {
  double all = gr_html_number_of(f->plan, "parameters");
  double trained = gr_html_number_of(f->plan, "trained_parameters");
  gr_text note = gr_text_make(t->arena);
  if (isnan(all)) return;
  if (trained < all) gr_html_count(&note, (int64_t)trained), gr_text_put(&note, " trained");
  begin_tile(t, "parameters");
  gr_html_count(t, (int64_t)all);
  end_tile(t, trained < all ? note.at : "all trained");
}

static void put_failure(gr_text *t, const gr_folder *f) {
  bool cut = !strcmp(f->status, "unfinished");
  if (!strcmp(f->status, "done") || !strcmp(f->status, "running")) return;
  gr_text_printf(t, "<pre class=\"notice %s\">", kind_of(f->status));
  gr_html(t, cut ? "The run has not ended by itself: it was killed, or its machine was stopped."
                 : f->status);
  gr_text_put(t, "</pre>\n");
}

void gr_page_head(gr_text *t, const gr_folder *f) {
  const char *model = gr_html_text_of(f->results, "model");
  gr_text_put(t, "<header>\n<p class=\"eyebrow\">graphrun report ");
  put_badge(t, f->status);
  gr_text_put(t, "</p>\n<h1>");
  gr_html(t, f->name);
  gr_text_put(t, "</h1>\n");
  if (model) gr_text_put(t, "<p class=\"sub\">"), gr_html(t, model), gr_text_put(t, "</p>\n");
  gr_text_put(t, "</header>\n");
  put_failure(t, f);
  gr_text_put(t, "<section class=\"tiles\">\n");
  put_best(t, f);
  put_loss(t, f);
  put_steps(t, f);
  put_speed(t, f);
  put_time(t, f);
  put_data_time(t, f);
  put_parameters(t, f);
  gr_text_put(t, "</section>\n");
}

// ---- Metrics --------------------------------------------------------------------------------

// The least and the largest value of an evaluation, and their steps.
static void put_extremes(gr_text *t, const gr_series *s) {
  int low = -1, high = -1;
  for (int i = 0; s && i < s->n; i++) {
    if (!isfinite(s->y[i])) continue;
    if (low < 0 || s->y[i] < s->y[low]) low = i;
    if (high < 0 || s->y[i] > s->y[high]) high = i;
  }
  for (int k = 0, at = low; k < 2; k++, at = high) {
    gr_text_put(t, "<td class=\"n\">");
    gr_html_number(t, at < 0 ? (double)NAN : s->y[at]);
    if (at >= 0) gr_text_printf(t, " <small>step %.0f</small>", s->x[at]);
    gr_text_put(t, "</td>");
  }
}

static void put_metric(gr_text *t, const gr_folder *f, const char *name) {
  const char *best = gr_html_text_of(f->results, "best_metric");
  const char *of = gr_arena_printf(t->arena, "validation.%s", name);
  gr_text_put(t, best && !strcmp(best, name) ? "<tr class=\"best\">" : "<tr>");
  gr_html_cell(t, "", name);
  gr_text_put(t, "<td class=\"n\">");
  gr_html_number(t, last_of(f, gr_arena_printf(t->arena, "train.%s", name)));
  gr_text_put(t, "</td><td class=\"n\">");
  gr_html_number(t, last_of(f, of));
  gr_text_put(t, "</td>");
  put_extremes(t, gr_series_find(&f->series, of));
  gr_text_put(t, "</tr>\n");
}

static void put_checkpoint(gr_text *t, const gr_folder *f) {
  const char *best = gr_html_text_of(f->results, "best_checkpoint");
  if (!best) return;
  gr_text_put(t, "<p>The best checkpoint is <code>");
  gr_html(t, best);
  gr_text_put(t, "</code>.</p>\n");
}

void gr_page_metrics(gr_text *t, const gr_folder *f) {
  gr_map names = gr_map_make(t->arena);
  for (int i = 0; i < f->series.n; i++) {
    const char *key = f->series.at[i].key;
    const char *of = !strncmp(key, "validation.", 11) ? key + 11
                     : !strncmp(key, "train.", 6)     ? key + 6
                                                      : NULL;
    if (of && !gr_map_find(&names, of, NULL)) gr_map_put(&names, of, names.n);
  }
  if (!names.n) return;
  gr_text_put(
      t,
      "<section>\n<h2>Metrics</h2>\n<div class=\"scroll\"><table>\n<tr><th></th>"
      "<th class=\"n\">training</th><th class=\"n\">validation</th>"
      "<th class=\"n\">lowest validation</th><th class=\"n\">highest validation</th></tr>\n");
  for (uint32_t i = 0; i < names.n; i++) put_metric(t, f, names.keys[i]);
  gr_text_put(t, "</table></div>\n");
  put_checkpoint(t, f);
  gr_text_put(t, "</section>\n");
}

// ---- Samples --------------------------------------------------------------------------------

static void put_sample(gr_text *t, const char *line, size_t len) {
  const gr_json *s;
  gr_json_error why;
  if (!gr_json_read(t->arena, line, len, &s, &why) || s->kind != GR_JSON_OBJECT) return;
  const char *name = gr_html_text_of(s, "sample"), *is = gr_html_text_of(s, "reference");
  const char *said = gr_html_text_of(s, "predicted");
  if (!name || !is || !said) return;
  gr_text_put(t, "<tr>");
  gr_html_cell(t, "key", name);
  gr_html_cell(t, "", is);
  gr_html_cell(t, strcmp(is, said) ? "differs" : "", *said ? said : "(nothing)");
  gr_text_put(t, "</tr>\n");
}

void gr_page_samples(gr_text *t, const gr_folder *f) {
  if (!f->samples || !*f->samples) return;
  gr_text_put(t,
              "<section>\n<h2>Samples</h2>\n<div class=\"scroll\"><table class=\"samples\">\n"
              "<tr><th></th><th>reference</th><th>predicted</th></tr>\n");
  for (const char *line = f->samples; *line;) {
    size_t n = strcspn(line, "\n");
    put_sample(t, line, n);
    line += n + (line[n] == '\n');
  }
  gr_text_put(t, "</table></div>\n</section>\n");
}

// ---- Pictures and the log -------------------------------------------------------------------

void gr_page_pictures(gr_text *t, const gr_folder *f) {
  if (!f->n_pictures) return;
  gr_text_put(t, "<section class=\"charts\">\n");
  for (int i = 0; i < f->n_pictures; i++) gr_html_picture(t, &f->picture[i]);
  gr_text_put(t, "</section>\n");
}

void gr_page_log(gr_text *t, const gr_folder *f) {
  if (f->problems.len) {
    gr_text_put(t, "<pre class=\"notice warn\">");
    gr_html(t, f->problems.at);
    gr_text_put(t, "</pre>\n");
  }
  if (!f->log) return;
  gr_text_put(t, "<section>\n<details><summary>Log</summary>\n<pre>");
  gr_html(t, f->log);
  gr_text_put(t, "</pre></details>\n</section>\n");
}
