// numbers.c - the main numbers of a page as tables of HTML. See parts.h.
#include <math.h>
#include "runtime/page/parts.h"

static void put_cell(gr_text *t, const char *text) {
  gr_text_put(t, "<td>");
  gr_html(t, text);
  gr_text_put(t, "</td>");
}

static const char *number(gr_arena *a, double v) {
  return isnan(v) ? "-" : gr_arena_printf(a, "%.6g", v);
}

// A row of a name and a number or text; lists and objects are left out.
static void put_member(gr_text *t, const gr_json *m) {
  const char *value = NULL;
  if (m->kind == GR_JSON_TEXT) value = m->text;
  if (m->kind == GR_JSON_INT) value = gr_arena_printf(t->arena, "%lld", (long long)m->i);
  if (m->kind == GR_JSON_FLOAT) value = number(t->arena, m->f);
  if (!value) return;
  gr_text_put(t, "<tr>");
  put_cell(t, m->name);
  put_cell(t, value);
  gr_text_put(t, "</tr>\n");
}

static void put_members(gr_text *t, const gr_json *object) {
  for (const gr_json *m = object ? object->first : NULL; m; m = m->next) put_member(t, m);
}

static void begin(gr_text *t, const char *title, const char *status) {
  gr_text_put(t, "<h1>");
  gr_html(t, title);
  gr_text_put(t, "</h1>\n<p>");
  gr_html(t, status);
  gr_text_put(t, "</p>\n");
}

void gr_numbers_run(gr_text *t, const gr_folder *f) {
  begin(t, f->name, f->status);
  gr_text_put(t, "<table>\n");
  put_members(t, gr_json_get(f->results, "metrics", GR_JSON_OBJECT));
  put_members(t, f->results);
  for (int i = 0; i < f->series.n && !f->results; i++) {
    const gr_series *s = &f->series.items[i];
    if (!s->n) continue;
    gr_text_put(t, "<tr>");
    put_cell(t, s->key);
    put_cell(t, gr_arena_printf(t->arena, "%s (step %.0f)", number(t->arena, s->y[s->n - 1]),
                                s->x[s->n - 1]));
    gr_text_put(t, "</tr>\n");
  }
  gr_text_put(t, "</table>\n");
}

static void put_run(gr_text *t, const gr_page_runs *s, const gr_page_run *r) {
  const char *link = gr_html_link(t->arena, s->dir, r->dir);
  gr_text_put(t, "<tr><td>");
  if (link) gr_text_put(t, "<a href=\""), gr_text_put(t, link), gr_text_put(t, "\">");
  gr_html(t, r->dir);
  gr_text_put(t, link ? "</a></td>" : "</td>");
  put_cell(t, r->label);
  put_cell(t, r->status);
  put_cell(t, number(t->arena, r->best));
  put_cell(t, number(t->arena, r->last));
  gr_text_put(t, "</tr>\n");
}

void gr_numbers_runs(gr_text *t, const gr_page_runs *s) {
  begin(t, s->dir, gr_arena_printf(t->arena, "%d run%s", s->n, gr_text_s(s->n)));
  gr_text_put(t, "<table>\n<tr><th>folder</th><th>run</th><th>status</th><th>best ");
  gr_html(t, s->metric);
  gr_text_put(t, "</th><th>last</th></tr>\n");
  for (int i = 0; i < s->n; i++) put_run(t, s, &s->runs[i]);
  gr_text_put(t, "</table>\n");
}
