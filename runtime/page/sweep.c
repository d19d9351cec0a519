// sweep.c - the page of a sweep: its runs, best first, and their curves over each other. See
// page.h.
#include <math.h>
#include <string.h>
#include "runtime/page/page.h"
#include "runtime/page/parts.h"

enum { MAX_CURVES = 16, MAX_FIGURES = 12 };

typedef struct curves {
  const gr_page_sweep *sweep;
  gr_series_list series[MAX_CURVES];
  int n;  // runs that are drawn: the best
} curves;

// ---- Curves ---------------------------------------------------------------------------------

static void add_figure(gr_text *t, const curves *c, const char *key, bool wide) {
  gr_curve *all = GR_NEW(t->arena, gr_curve, MAX_CURVES);
  gr_panel p = {.title = key, .x_label = "step", .curves = all};
  for (int i = 0; i < c->n; i++) {
    const gr_series *s = gr_series_find(&c->series[i], key);
    const char *name = wide ? c->sweep->runs[i].label : NULL;  // other figures have its colours
    if (s) all[p.n++] = gr_page_mean(t->arena, s, name, i + 1);
  }
  if (p.n) gr_page_figure(t, &p, wide);
}

static bool is_shown(const char *key) {
  return !strncmp(key, "validation.", 11) || !strcmp(key, "loss") || !strcmp(key, "lr");
}

// The metric that ranks the runs, then other evaluations, the loss and the learning rate.
static void put_figures(gr_text *t, const curves *c) {
  const char *first = gr_arena_printf(t->arena, "validation.%s", c->sweep->metric);
  gr_map seen = gr_map_make(t->arena);
  gr_map_put(&seen, first, 0);
  gr_text_put(t, "<section class=\"charts\">\n");
  add_figure(t, c, first, true);
  for (int i = 0; i < c->n; i++)
    for (int k = 0; k < c->series[i].n && seen.n < MAX_FIGURES; k++) {
      const char *key = c->series[i].at[k].key;
      if (!is_shown(key) || gr_map_find(&seen, key, NULL)) continue;
      gr_map_put(&seen, key, seen.n);
      add_figure(t, c, key, false);
    }
  gr_text_put(t, "</section>\n");
}

// ---- The table ------------------------------------------------------------------------------

// The part of the range of all runs, for the bar behind a value.
static double part_of(const gr_page_sweep *s, double v) {
  double low = INFINITY, high = -INFINITY;
  for (int i = 0; i < s->n; i++)
    if (isfinite(s->runs[i].best)) {
      low = fmin(low, s->runs[i].best), high = fmax(high, s->runs[i].best);
    }
  return isfinite(v) && high > low ? (v - low) / (high - low) : 0;
}

static void put_run(gr_text *t, const gr_page_sweep *s, int at) {
  const gr_page_run *r = &s->runs[at];
  size_t n = strlen(s->dir);
  bool below = !strncmp(r->dir, s->dir, n) && r->dir[n] == '/';
  gr_text_printf(t, "<tr><td class=\"n\">%d</td><td>", at + 1);
  if (at < MAX_CURVES) gr_text_printf(t, "<span class=\"k%d dot\"></span>", at % 8);
  gr_html(t, *r->label ? r->label : "as configured");
  gr_text_put(t, "</td><td>");
  if (below) gr_text_put(t, "<a href=\""), gr_html_address(t, r->dir + n + 1);
  if (below) gr_text_put(t, "/" GR_PAGE_NAME "\">");
  gr_html(t, below ? r->dir + n + 1 : r->dir);
  gr_text_put(t, below ? "</a></td>" : "</td>");
  gr_html_cell(t, "", gr_arena_strndup(t->arena, r->status, strcspn(r->status, ":")));
  gr_text_printf(t, "<td class=\"n bars\"><i style=\"width:%.1f%%\"></i><b>",
                 100 * part_of(s, r->best));
  gr_html_number(t, r->best);
  gr_text_put(t, "</b></td><td class=\"n\">");
  if (!isnan(r->best)) gr_html_count(t, r->best_step);
  gr_text_put(t, "</td><td class=\"n\">");
  gr_html_number(t, r->last);
  gr_text_put(t, "</td></tr>\n");
}

static void put_runs(gr_text *t, const gr_page_sweep *s) {
  gr_text_put(t,
              "<section>\n<h2>Runs</h2>\n<div class=\"scroll\"><table>\n<tr><th class=\"n\"></th>"
              "<th>run</th><th>folder</th><th>status</th><th class=\"n\">best ");
  gr_html(t, s->metric);
  gr_text_put(t, "</th><th class=\"n\">at step</th><th class=\"n\">last</th></tr>\n");
  for (int i = 0; i < s->n; i++) put_run(t, s, i);
  gr_text_put(t, "</table></div>\n</section>\n");
}

void gr_page_sweep_text(gr_text *t, const gr_page_sweep *s) {
  curves *c = GR_NEW(t->arena, curves, 1);
  c->sweep = s;
  for (; c->n < s->n && c->n < MAX_CURVES; c->n++) {
    gr_status none = gr_series_read(t->arena, s->runs[c->n].dir, &c->series[c->n]);
    gr_status_drop(none);  // a run that has not begun has no values
  }
  gr_html_begin(t, s->dir);
  gr_text_put(t, "<header>\n<p class=\"eyebrow\">graphrun report of a sweep</p>\n<h1>");
  gr_html(t, s->dir);
  gr_text_printf(t, "</h1>\n<p class=\"sub\">%d run%s", s->n, gr_text_s(s->n));
  if (s->n > MAX_CURVES) gr_text_printf(t, "; curves of the best %d", MAX_CURVES);
  gr_text_put(t, "</p>\n</header>\n");
  put_figures(t, c);
  put_runs(t, s);
  gr_html_end(t);
}
