// gather.c - what a page shows, as one object of JSON. See parts.h.
#include <math.h>
#include <string.h>
#include "runtime/page/parts.h"

// A series of more points is written as so many means, each with the least and the largest value
// that it stands for.
enum { MAX_POINTS = 1000, MAX_CURVES = 16, DIGITS = 7 };

static void put_key(gr_text *t, const char *name) {
  char last = t->len ? t->chars[t->len - 1] : '{';
  gr_text_put(t, last == '{' ? "" : ",\n");
  gr_text_json_key(t, name);
}

static void put_text(gr_text *t, const char *name, const char *value) {
  put_key(t, name);
  gr_text_json(t, value);
}

static void put_float(gr_text *t, const char *name, double value) {
  put_key(t, name);
  gr_text_json_known(t, value);
}

static void put_int(gr_text *t, const char *name, int64_t value) {
  put_key(t, name);
  gr_text_put_int(t, value);
}

// ---- Series ---------------------------------------------------------------------------------

typedef struct point {
  double x, mean, low, high;
} point;

// The points [first, end) as one; without a finite value its mean is NaN.
static point join(const gr_series *s, int first, int end) {
  point p = {.x = s->x[end - 1], .low = INFINITY, .high = -INFINITY};
  int n = 0;
  for (int i = first; i < end; i++) {
    if (!isfinite(s->y[i])) continue;
    p.mean += s->y[i], n++;
    p.low = fmin(p.low, s->y[i]), p.high = fmax(p.high, s->y[i]);
  }
  p.mean = n ? p.mean / n : (double)NAN;
  if (end == first + 1) p.mean = s->y[first];
  return p;
}

static void put_numbers(gr_text *t, const char *name, const point *p, int n, size_t member) {
  put_key(t, name);
  gr_text_put(t, "[");
  for (int i = 0; i < n; i++) {
    const double *value = (const double *)((const char *)&p[i] + member);
    if (i) gr_text_put(t, ",");
    gr_text_json_rounded(t, *value, member == offsetof(point, x) ? 15 : DIGITS);
  }
  gr_text_put(t, "]");
}

static void put_series(gr_text *t, const gr_series *s) {
  int n = s->n < MAX_POINTS ? s->n : MAX_POINTS;
  point *p = GR_NEW(t->arena, point, n + 1);
  for (int i = 0; i < n; i++)
    p[i] = join(s, (int)((int64_t)s->n * i / n), (int)((int64_t)s->n * (i + 1) / n));
  gr_text_put(t, "{");
  put_text(t, "key", s->key);
  put_numbers(t, "x", p, n, offsetof(point, x));
  put_numbers(t, "y", p, n, offsetof(point, mean));
  if (n < s->n) put_numbers(t, "low", p, n, offsetof(point, low));
  if (n < s->n) put_numbers(t, "high", p, n, offsetof(point, high));
  gr_text_put(t, "}");
}

static void put_all_series(gr_text *t, const gr_series_list *all) {
  put_key(t, "series");
  gr_text_put(t, "[");
  for (int i = 0; i < all->n; i++) {
    if (i) gr_text_put(t, ",\n");
    put_series(t, &all->items[i]);
  }
  gr_text_put(t, "]");
}

// ---- A run ----------------------------------------------------------------------------------

static void put_value(gr_text *t, const char *name, const gr_json *value) {
  if (!value) return;
  put_key(t, name);
  gr_json_put(t, value);
}

// Without what the page has by another name: rows of epochs as series, the configuration with the
// places of its values, and tables.
static void put_results(gr_text *t, const gr_json *results) {
  static const char *const others[] = {"history", "config", "tables"};
  if (!results) return;
  put_key(t, "results");
  gr_text_put(t, "{");
  for (const gr_json *m = results->first; m; m = m->next) {
    bool left_out = false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
      left_out |= !strcmp(m->name, others[i]);
    if (!left_out) put_value(t, m->name, m);
  }
  gr_text_put(t, "}");
}

// Lines that are objects, as a list; others are left out.
static void put_lines(gr_text *t, const char *name, const char *lines) {
  const char *between = "";
  if (!lines) return;
  put_key(t, name);
  gr_text_put(t, "[");
  for (size_t n; *lines; lines += n + (lines[n] == '\n')) {
    const gr_json *row;
    gr_json_error why;
    n = strcspn(lines, "\n");
    if (!gr_json_read(t->arena, lines, n, &row, &why) || row->kind != GR_JSON_OBJECT) continue;
    gr_text_put(t, between);
    gr_json_put(t, row);
    between = ",\n";
  }
  gr_text_put(t, "]");
}

void gr_gather_run(gr_text *t, const gr_folder *f) {
  gr_text_put(t, "{");
  put_text(t, "kind", "run");
  put_text(t, "name", f->name);
  put_text(t, "status", f->status);
  put_text(t, "problems", f->problems.chars);
  put_results(t, f->results);
  put_value(t, "tables", f->tables);
  put_value(t, "data", f->data);
  put_value(t, "plan", f->plan);
  put_value(t, "about", f->about);
  put_lines(t, "samples", f->samples);
  put_lines(t, "mistakes", f->mistakes);
  put_all_series(t, &f->series);
  if (f->picture) put_text(t, "picture", f->picture);
  if (f->log) put_text(t, "log", f->log);
  gr_text_put(t, "}");
}

// ---- Runs -----------------------------------------------------------------------------------

// curves: with its series.
static void put_run(gr_text *t, const gr_page_runs *s, const gr_page_run *r, bool curves) {
  const char *link = gr_html_link(t->arena, s->dir, r->dir);
  gr_text_put(t, "{");
  put_text(t, "run", r->dir);
  if (link) put_text(t, "page", link);
  put_text(t, "label", r->label);
  put_text(t, "status", r->status);
  put_float(t, "best", r->best);
  put_int(t, "best_step", r->best_step);
  put_float(t, "last", r->last);
  put_int(t, "ranks", r->ranks);
  put_float(t, "samples_per_s", r->speed);
  put_key(t, "differs");
  gr_text_put(t, "{");
  for (int k = 0; k < s->n_keys; k++) put_text(t, s->keys[k], r->values[k]);
  gr_text_put(t, "}");
  if (curves) {
    gr_series_list series;
    gr_status none = gr_series_read(t->arena, r->dir, &series);
    gr_status_drop(none);  // a run that has not begun has no values
    put_all_series(t, &series);
  }
  gr_text_put(t, "}");
}

void gr_gather_runs(gr_text *t, const gr_page_runs *s) {
  gr_text_put(t, "{");
  put_text(t, "kind", "runs");
  put_text(t, "name", s->dir);
  put_text(t, "metric", s->metric);
  put_text(t, "mode", s->max ? "max" : "min");
  put_key(t, "runs");
  gr_text_put(t, "[");
  for (int i = 0; i < s->n; i++) {
    if (i) gr_text_put(t, ",\n");
    put_run(t, s, &s->runs[i], i < MAX_CURVES);
  }
  gr_text_put(t, "]}");
}
