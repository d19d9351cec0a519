// runs_print.c - the table of runs as text and as JSON. See runs_table.h.
#include <math.h>
#include <string.h>
#include "cli/runs_table.h"

enum { VALUE_COLUMNS = 24, MAX_SHOWN = 8 };

static const char *number(gr_arena *a, double v) {
  return isnan(v) ? "-" : gr_arena_printf(a, "%.6g", v);
}

// The end of a key that no other key has: "lr" of "training.lr".
static const char *short_key(const gr_runs_table *t, int key) {
  const char *whole = t->keys[key], *start = whole + strlen(whole);
  for (;;) {
    while (start > whole && start[-1] != '.') start--;
    int same = 0;
    for (int k = 0; k < t->n_keys; k++) {
      size_t n = strlen(t->keys[k]), len = strlen(start);
      bool ends = n >= len && !strcmp(t->keys[k] + n - len, start);
      same += ends && (n == len || t->keys[k][n - len - 1] == '.');
    }
    if (same == 1 || start == whole) return start;
    start--;
  }
}

static const char *shortened(gr_arena *a, const char *text) {
  size_t n = strlen(text);
  return n <= VALUE_COLUMNS ? text : gr_arena_printf(a, "%.*s...", VALUE_COLUMNS - 3, text);
}

// Cell `column` of a run, or of the head (NULL).
static const char *cell(const gr_runs_table *t, const gr_ranked_run *r, int column) {
  gr_arena *a = t->arena;
  switch (column) {
    case 0:
      return r ? r->path : "run";
    case 1:
      return r ? shortened(a, r->status) : "status";
    case 2:
      return r ? gr_arena_printf(a, "%lld", (long long)r->steps) : "steps";
    case 3:
      return r ? number(a, r->best) : gr_arena_printf(a, "best %s", t->metric);
    case 4:
      return !r               ? "at step"
             : isnan(r->best) ? "-"
                              : gr_arena_printf(a, "%lld", (long long)r->best_step);
    case 5:
      return r ? number(a, r->last) : "last";
    default:
      return r ? shortened(a, r->values[column - 6]) : short_key(t, column - 6);
  }
}

// ---- Means over runs that repeat each other -----------------------------------------------------

typedef struct mean {
  int first, n;  // the best of these runs, and how many they are
  double mean, deviation;
} mean;

// Keys by which a run is repeated, on other samples or with other random numbers.
static bool repeats(const char *key) {
  static const char *const keys[] = {"data.validation_fold", "data.table.split", "training.seed"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (!strcmp(key, keys[i])) return true;
  return false;
}

static bool is_repeated(const gr_runs_table *t, int a, int b) {
  const gr_ranked_run *x = &t->runs[a], *y = &t->runs[b];
  bool same = !isnan(x->best) && !isnan(y->best);
  for (int k = 0; k < t->n_keys && same; k++)
    same = repeats(t->keys[k]) || !strcmp(x->values[k], y->values[k]);
  return same;
}

static mean mean_of(const gr_runs_table *t, int first) {
  mean m = {.first = first};
  double sum = 0, squares = 0;
  for (int i = first; i < t->n; i++)
    if (is_repeated(t, first, i)) m.n++, sum += t->runs[i].best;
  m.mean = sum / m.n;
  for (int i = first; i < t->n; i++)
    if (is_repeated(t, first, i))
      squares += (t->runs[i].best - m.mean) * (t->runs[i].best - m.mean);
  m.deviation = m.n > 1 ? sqrt(squares / (m.n - 1)) : 0;
  return m;
}

// The means of runs that differ in keys of repeats() alone, the best first.
static int list_means(const gr_runs_table *t, mean *out) {
  int n = 0;
  for (int i = 0; i < t->n; i++) {
    bool is_first = !isnan(t->runs[i].best);
    for (int k = 0; k < i && is_first; k++) is_first = !is_repeated(t, k, i);
    mean m = is_first ? mean_of(t, i) : (mean){0};
    if (m.n < 2) continue;
    int slot = n++;
    for (; slot && (t->max ? m.mean > out[slot - 1].mean : m.mean < out[slot - 1].mean); slot--)
      out[slot] = out[slot - 1];
    out[slot] = m;
  }
  return n;
}

static void print_means(const gr_runs_table *t) {
  mean *all = GR_NEW(t->arena, mean, t->n + 1);
  for (int i = 0, n = list_means(t, all); i < n; i++) {
    printf("mean best %s %.6g, deviation %.3g, of %d runs", t->metric, all[i].mean,
           all[i].deviation, all[i].n);
    for (int k = 0, shown = 0; k < t->n_keys; k++)
      if (!repeats(t->keys[k]))
        printf("%s%s=%s", shown++ ? " " : ": ", short_key(t, k), t->runs[all[i].first].values[k]);
    putchar('\n');
  }
}

// ---- The table ----------------------------------------------------------------------------------

void gr_runs_print(const gr_runs_table *t) {
  int shown = t->n_keys < MAX_SHOWN ? t->n_keys : MAX_SHOWN;
  for (int row = -1; row < t->n; row++) {
    gr_text line = gr_text_make(t->arena);
    for (int c = 0; c < 6 + shown; c++) {
      int width = 0;
      for (int i = -1; i < t->n; i++) {
        int n = (int)strlen(cell(t, i < 0 ? NULL : &t->runs[i], c));
        width = n > width ? n : width;
      }
      bool last = c == 5 + shown, right = c >= 2 && c <= 5;
      gr_text_printf(&line, "%*s%s",
                     right  ? width
                     : last ? 0
                            : -width,
                     cell(t, row < 0 ? NULL : &t->runs[row], c), last ? "" : "  ");
    }
    gr_print_line(stdout, line.chars, line.len);
    putchar('\n');
  }
  if (shown < t->n_keys) printf("%d more keys differ: --json lists all\n", t->n_keys - shown);
  print_means(t);
}

void gr_runs_put_number(gr_text *t, const char *name, double v) {
  gr_text_json_key(t, name);
  gr_text_json_known(t, v);
}

void gr_runs_print_json(const gr_runs_table *t) {
  gr_text out = gr_text_make(t->arena);
  gr_text_put(&out, "[");
  for (int i = 0; i < t->n; i++) {
    const gr_ranked_run *r = &t->runs[i];
    gr_text_json_line(&out, "\n {");
    gr_text_json_member(&out, "run", r->path);
    gr_text_json_member(&out, "status", r->status);
    gr_text_printf(&out, ", \"steps\": %lld", (long long)r->steps);
    gr_text_json_member(&out, "metric", t->metric);
    gr_runs_put_number(&out, "best", r->best);
    gr_text_printf(&out, ", \"best_step\": %lld", (long long)r->best_step);
    gr_runs_put_number(&out, "last", r->last);
    gr_text_put(&out, ", \"differs\": {");
    for (int k = 0; k < t->n_keys; k++) gr_text_json_member(&out, t->keys[k], r->values[k]);
    gr_text_put(&out, "}}");
  }
  puts(out.chars);
  puts("]");
}

const char *gr_runs_label(const gr_runs_table *t, int run) {
  gr_text label = gr_text_make(t->arena);
  for (int k = 0; k < t->n_keys; k++)
    gr_text_printf(&label, "%s%s=%s", k ? " " : "", short_key(t, k), t->runs[run].values[k]);
  return label.chars;
}
