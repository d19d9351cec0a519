// series.c - see series.h.
#include "runtime/report/series.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/grow.h"
#include "base/json.h"
#include "base/port.h"
#include "base/sort.h"

// Files with the member that counts steps, and what is added to it to get completed steps.
static const struct file {
  const char *name, *steps;
  int add;
} files[] = {
    {"metrics.jsonl", "step", 1}, {"evals.jsonl", "steps", 0}, {"epochs.jsonl", "steps", 0}};
enum { N_FILES = sizeof files / sizeof *files };

typedef struct reader {
  gr_arena *arena;
  const struct file *file;
  gr_series_list *out;
  int before;  // series of earlier files, which are complete
} reader;

static gr_series *series_of(reader *r, const char *key) {
  gr_series_list *l = r->out;
  for (int i = 0; i < l->n; i++)
    if (!strcmp(l->items[i].key, key)) return i < r->before ? NULL : &l->items[i];
  GR_GROW(r->arena, l->items, l->n, l->room);
  l->items[l->n] = (gr_series){.key = gr_arena_strdup(r->arena, key)};
  return &l->items[l->n++];
}

static double *grow(gr_arena *a, const double *old, int n, int room) {
  double *larger = GR_NEW(a, double, room);
  if (n) memcpy(larger, old, sizeof *larger * (size_t)n);
  return larger;
}

static void add(gr_arena *a, gr_series *s, double x, double y) {
  if (s->n == s->room) {
    s->room = 64 + 2 * s->room;
    s->x = grow(a, s->x, s->n, s->room), s->y = grow(a, s->y, s->n, s->room);
  }
  s->x[s->n] = x, s->y[s->n++] = y;
}

static bool is_value(const reader *r, const gr_json *v) {
  return gr_json_is_number(v) && strcmp(v->name, r->file->steps) && strcmp(v->name, "epoch") &&
         strcmp(v->name, "wall");
}

static gr_status read_line(reader *r, const char *path, int line, const char *text, size_t len) {
  gr_arena *scratch = gr_arena_create();
  const gr_json *row;
  gr_json_error why = {.col = 1, .why = "expected an object with a step"};
  bool ok = gr_json_read(scratch, text, len, &row, &why) && row->kind == GR_JSON_OBJECT;
  const gr_json *steps = ok ? gr_json_get(row, r->file->steps, GR_JSON_INT) : NULL;
  for (const gr_json *v = steps ? row->first : NULL; v; v = v->next) {
    gr_series *s = is_value(r, v) ? series_of(r, v->name) : NULL;
    if (s) add(r->arena, s, (double)(steps->i + r->file->add), v->f);
  }
  gr_arena_destroy(scratch);
  if (steps) return GR_OK;
  return gr_fail(GR_ERR_DATA, (gr_loc){gr_arena_strdup(r->arena, path), line, why.col},
                 "the line is no row of values: %s", why.why);
}

static gr_status read_file(reader *r, const char *path) {
  FILE *f;
  char *text = NULL;
  size_t cap = 0;
  GR_TRY(gr_file_stream(path, GR_ERR_DATA, &f));
  gr_status s = GR_OK;
  ssize_t n;
  for (int line = 1; !s && (n = getline(&text, &cap, f)) > 0 && text[n - 1] == '\n'; line++)
    s = read_line(r, path, line, text, (size_t)n - 1);
  free(text);
  fclose(f);
  return s;
}

gr_status gr_series_read(gr_arena *a, const char *run, gr_series_list *out) {
  reader r = {.arena = a, .out = out};
  bool any = false;
  *out = (gr_series_list){0};
  for (int i = 0; i < N_FILES; i++) {
    const char *path = gr_arena_printf(a, "%s/%s", run, files[i].name);
    if (!gr_is_file(path)) continue;
    any = true, r.file = &files[i], r.before = out->n;
    GR_TRY(read_file(&r, path));
  }
  if (any) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                         "'%s' has no metrics.jsonl, evals.jsonl or "
                         "epochs.jsonl",
                         run),
                 "the folder that a run printed as its output, such as outputs/DATE/TIME");
}

const gr_series *gr_series_find(const gr_series_list *l, const char *key) {
  for (int i = 0; i < l->n; i++)
    if (!strcmp(l->items[i].key, key)) return &l->items[i];
  return NULL;
}

double gr_series_steady(gr_arena *a, const gr_series *s) {
  int first = s->n / 10 + 1, n = 0;
  double *v = GR_NEW(a, double, s->n + 1);
  for (int i = first; i < s->n; i++)
    if (isfinite(s->y[i])) v[n++] = s->y[i];
  qsort(v, (size_t)n, sizeof *v, gr_order_numbers);
  return !n ? NAN : n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}
