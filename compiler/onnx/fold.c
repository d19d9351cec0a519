// fold.c - finds what a model repeats: items that follow each other and come again with other
// weights, whose names count up, each time from what the time before has given. See print.h.
#include <stdlib.h>
#include <string.h>
#include "compiler/onnx/print.h"

enum { LEAST = 3, WORK = 20000000 };  // lines to be saved; comparisons, for any file

typedef struct folding {
  gr_arena *arena;
  const gr_onnx_items *all;
  const int *item_of, *last_use;  // by var: the item that gives it, or -1; the last that reads it
  int64_t work;
  gr_onnx_run *runs;
  int n_runs;
} folding;

bool gr_onnx_count(const char *a, const char *b, gr_onnx_counted *out) {
  size_t i = 0;
  while (a[i] && a[i] == b[i]) i++;
  while (i && a[i - 1] >= '0' && a[i - 1] <= '9') i--;
  size_t n = strspn(a + i, "0123456789"), m = strspn(b + i, "0123456789");
  const char *rest = a + i + n;
  bool plain = n && m && n < 9 && m < 10 && (n == 1 || a[i] != '0') && (m == 1 || b[i] != '0');
  if (!plain || strcmp(rest, b + i + m) != 0 || !(!*rest || *rest == '.' || *rest == '-'))
    return false;
  *out = (gr_onnx_counted){.before = i, .number = strtoll(a + i, NULL, 10), .after = rest};
  return strtoll(b + i, NULL, 10) == out->number + 1;
}

// Whether item j of a run and the one a time later have names that count up as the others do.
static bool same_path(const gr_onnx_item *a, const gr_onnx_item *b, gr_onnx_run *run, int time) {
  gr_onnx_counted c;
  if (!a->path || !b->path) return !a->path && !b->path;
  if (!gr_onnx_count(a->path, b->path, &c)) return false;
  if (!run->counts) run->first = c.number - time;
  run->counts = true;
  return c.number - time == run->first;
}

// What an item reads of the time before, and the first time from outside.
static bool carries(gr_onnx_run *run, int outside, int result, int reader, int giver) {
  if (reader > giver) return false;  // the name has its next value by then
  for (int i = 0; i < run->n_carried; i++)
    if (run->carried[i].result == result) return run->carried[i].outside == outside;
  if (run->n_carried == GR_ONNX_CARRIED) return false;
  run->carried[run->n_carried++] = (gr_onnx_carried){outside, result};
  return true;
}

static bool same_operand(const folding *f, gr_onnx_run *run, int j, int a, int b) {
  const gr_onnx_item *items = f->all->items;
  int s = run->begin, n = run->size, from_a = f->item_of[a], from_b = f->item_of[b];
  if (from_b < s) return a == b;
  if (from_a >= s) return from_b - from_a == n && b - items[from_b].out == a - items[from_a].out;
  return j < s + n && from_b < s + n && carries(run, a, b, j - s, from_b - s);
}

static bool same_item(folding *f, gr_onnx_run *run, int j) {
  const gr_onnx_item *a = &f->all->items[j], *b = &f->all->items[j + run->size];
  f->work += 1 + a->n_in;
  if (a->kind != b->kind || a->n_in != b->n_in || a->n_out != b->n_out) return false;
  if (!same_path(a, b, run, (j - run->begin) / run->size)) return false;
  for (int k = 0; k < a->n_in; k++)
    if (!same_operand(f, run, j, a->in[k], b->in[k])) return false;
  return true;
}

// Whether the items of a time are read by that and the next one alone.
static bool ends_soon(const folding *f, int begin, int size) {
  for (int j = begin; j < begin + size; j++)
    for (int k = 0; k < f->all->items[j].n_out; k++)
      if (f->last_use[f->all->items[j].out + k] >= begin + 2 * size) return false;
  return true;
}

static gr_onnx_run run_of(folding *f, int begin, int size, int end) {
  gr_onnx_run run = {.begin = begin, .size = size, .times = 1};
  for (int j = begin; j + 2 * size <= end && ends_soon(f, j, size); j += size, run.times++) {
    gr_onnx_run before = run;
    for (int k = j; k < j + size; k++)
      if (!same_item(f, &run, k)) return before;
  }
  return run;
}

static int saved(const gr_onnx_run *run) {
  return (run->times - 1) * run->size - LEAST - run->n_carried;
}

// The run of [begin, end) that saves most lines, of equal ones the first that carries least.
static gr_onnx_run best_of(folding *f, int begin, int end) {
  gr_onnx_run best = {.times = 1};
  int *same = GR_NEW(f->arena, int, end - begin + 1);
  for (int size = 2; size <= (end - begin) / 2 && f->work < WORK; size++) {
    same[end - size - begin] = 0;
    f->work += end - begin;
    for (int s = end - size - 1; s >= begin; s--) {
      bool equal = f->all->items[s].kind == f->all->items[s + size].kind;
      int n = same[s - begin] = equal ? same[s + 1 - begin] + 1 : 0;
      if (n < size || n / size * size - LEAST < saved(&best) || f->work > WORK) continue;
      gr_onnx_run run = run_of(f, s, size, end);
      int more = saved(&run) - saved(&best);
      if (run.times > 1 && (more > 0 || (!more && run.size <= best.size))) best = run;
    }
  }
  return best;
}

static void find(folding *f, int begin, int end) {
  gr_onnx_run best = best_of(f, begin, end);
  if (best.times < 2 || saved(&best) < LEAST) return;
  find(f, begin, best.begin);
  f->runs[f->n_runs++] = best;
  find(f, best.begin + best.size * best.times, end);
}

int gr_onnx_fold(gr_onnx_reading *r, const gr_onnx_items *all, const int *last_use,
                 gr_onnx_run **out) {
  int *item_of = GR_NEW(r->arena, int, r->n_vars + 1);
  for (int v = 0; v <= r->n_vars; v++) item_of[v] = -1;
  for (int i = 0; i < all->n; i++)
    for (int k = 0; k < all->items[i].n_out; k++) item_of[all->items[i].out + k] = i;
  folding f = {r->arena, all, item_of, last_use, .runs = GR_NEW(r->arena, gr_onnx_run, all->n + 1)};
  find(&f, 0, all->n);
  *out = f.runs;
  return f.n_runs;
}
