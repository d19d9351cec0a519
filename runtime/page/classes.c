// classes.c - a table of the classes: precision, recall and whatever else a model reports for each
// of them. See parts.h.
#include <math.h>
#include <string.h>
#include "runtime/page/parts.h"

enum { MAX_VECTORS = 16 };
static const char validation[] = "validation.";

typedef struct classes {
  const gr_json *names;  // of data.json, n of them; NULL: numbers
  int n;
  const gr_json *vector[MAX_VECTORS];  // of a value for each class
  int n_vectors;
  const gr_json *confusion;  // counts, whose rows are the classes that samples have; or NULL
} classes;

static bool is_number(const gr_json *v) { return gr_json_is_number(v) || v->kind == GR_JSON_NULL; }

static bool is_vector(const gr_json *v, int n) {
  bool all = v->kind == GR_JSON_ARRAY && v->n == n;
  for (const gr_json *i = all ? v->first : NULL; i; i = i->next) all &= is_number(i);
  return all;
}

static bool is_count(const gr_json *v) {
  return is_number(v) && v->kind != GR_JSON_NULL && v->f >= 0 && v->f == floor(v->f);
}

// A matrix of counts, [n, n].
static bool is_confusion(const gr_json *v, int n) {
  bool all = v->kind == GR_JSON_ARRAY && v->n == n;
  for (const gr_json *i = all ? v->first : NULL; i && all; i = i->next) {
    all = is_vector(i, n);
    for (const gr_json *k = all ? i->first : NULL; k; k = k->next) all &= is_count(k);
  }
  return all;
}

static bool is_of_validation(const gr_json *v) {
  return !strncmp(v->name, validation, strlen(validation));
}

// As many classes as the matrix has rows, or else names.
static void find(const gr_folder *f, classes *c) {
  *c = (classes){.names = f->data ? gr_json_get(f->data, "class_names", GR_JSON_ARRAY) : NULL};
  const gr_json *first = f->tables ? f->tables->first : NULL;
  for (const gr_json *v = first; v && !c->confusion; v = v->next)
    if (is_of_validation(v) && v->n > 1 && is_confusion(v, v->n)) c->confusion = v;
  c->n = c->confusion ? c->confusion->n : c->names ? c->names->n : 0;
  if (c->names && c->names->n != c->n) c->names = NULL;
  for (const gr_json *v = first; v && c->n_vectors < MAX_VECTORS; v = v->next)
    if (is_of_validation(v) && is_vector(v, c->n)) c->vector[c->n_vectors++] = v;
}

static void put_value(gr_text *t, double v) {
  gr_text_put(t, "<td class=\"n\">");
  gr_html_number(t, v);
  gr_text_put(t, "</td>");
}

static const gr_json *item(const gr_json *list, int i) {
  const gr_json *v = list->first;
  while (i--) v = v->next;
  return v;
}

static void put_class(gr_text *t, const classes *c, int i) {
  double support = 0;
  gr_text_put(t, "<tr><td>");
  if (c->names)
    gr_html_json(t, item(c->names, i));
  else
    gr_text_put_int(t, i);
  gr_text_put(t, "</td>");
  for (int k = 0; k < c->n_vectors; k++) {
    const gr_json *v = item(c->vector[k], i);
    put_value(t, v->kind == GR_JSON_NULL ? (double)NAN : v->f);
  }
  const gr_json *row = c->confusion ? item(c->confusion, i)->first : NULL;
  for (; row; row = row->next) support += row->f;
  if (c->confusion) {
    gr_text_put(t, "<td class=\"n\">");
    gr_html_count(t, (int64_t)support);
    gr_text_put(t, "</td>");
  }
  gr_text_put(t, "</tr>\n");
}

void gr_page_classes(gr_text *t, const gr_folder *f) {
  classes c;
  find(f, &c);
  if (!c.n_vectors && !c.confusion) return;
  gr_text_put(t,
              "<section>\n<h2>Classes of the validation set</h2>\n<div class=\"scroll\"><table>\n"
              "<tr><th></th>");
  for (int k = 0; k < c.n_vectors; k++) {
    gr_text_put(t, "<th class=\"n\">");
    gr_html(t, c.vector[k]->name + strlen(validation));
    gr_text_put(t, "</th>");
  }
  gr_text_put(t, c.confusion ? "<th class=\"n\">support</th></tr>\n" : "</tr>\n");
  for (int i = 0; i < c.n; i++) put_class(t, &c, i);
  gr_text_put(t, "</table></div>\n</section>\n");
}
