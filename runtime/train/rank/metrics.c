// metrics.c - see metrics.h.
#include "runtime/train/rank/metrics.h"
#include <math.h>
#include <string.h>
#include "base/shown.h"

const char *gr_metric_name(gr_metric_names *names, gr_arena *a, const char *name) {
  for (int i = 0; i < names->n; i++)
    if (!strcmp(names->items[i], name)) return names->items[i];
  const char *copy = gr_arena_strdup(a, name);
  if (names->n < GR_MAX_METRICS) names->items[names->n++] = copy;
  return copy;
}

const char *gr_run_metric_of(gr_arena *arena, const char *program, const char *name) {
  size_t n = strcspn(program, ".");
  bool unprefixed =
      (n == 5 && !strncmp(program, "train", n)) || (n == 4 && !strncmp(program, "eval", n));
  return unprefixed ? name : gr_arena_printf(arena, "%.*s.%s", (int)n, program, name);
}

void gr_metrics_add(gr_metrics *sums, const gr_metrics *now) {
  for (int i = 0; i < now->n; i++) {
    int index = 0;
    while (index < sums->n && sums->items[index].name != now->items[i].name) index++;
    if (index == GR_MAX_METRICS) continue;
    if (index == sums->n) sums->items[sums->n++] = (gr_metric){.name = now->items[i].name};
    sums->items[index].sum += now->items[i].sum, sums->items[index].weight += now->items[i].weight;
  }
}

void gr_metrics_add_tree(gr_metrics *levels, int k, const gr_metrics *now) {
  gr_metrics all = *now;
  for (; k & 1; k >>= 1, levels++)
    for (int i = 0; i < all.n; i++) {
      // In float from the start: gcc 12 leaves out the rounding of two sums of doubles side by
      // side.
      all.items[i].sum = (double)((float)levels->items[i].sum + (float)all.items[i].sum);
      all.items[i].weight = (double)((float)levels->items[i].weight + (float)all.items[i].weight);
    }
  *levels = all;
}

static const gr_metric *find(const gr_metrics *m, const char *name) {
  for (int i = 0; i < m->n; i++)
    if (!strcmp(m->items[i].name, name)) return &m->items[i];
  return NULL;
}

bool gr_metrics_has(const gr_metrics *m, const char *name) { return find(m, name) != NULL; }

double gr_metric_value(const gr_metrics *m, const char *name) {
  const gr_metric *found = find(m, name);
  return found ? found->sum / found->weight : (double)NAN;
}

bool gr_metric_is_empty(const gr_metrics *m, const char *name) {
  const gr_metric *found = find(m, name);
  return found && found->weight == 0 && found->sum == 0;
}

int gr_metrics_named(gr_arena *arena, const gr_metrics *m, const char *prefix, gr_named *out) {
  int n = 0;
  for (int i = 0; i < m->n; i++)
    if (m->items[i].weight != 0)
      out[n++] =
          (gr_named){gr_arena_printf(arena, "%s%s", strchr(m->items[i].name, '.') ? "" : prefix,
                                     m->items[i].name),
                     m->items[i].sum / m->items[i].weight};
  return n;
}

void gr_metrics_print(gr_text *t, const gr_metrics *m, const char *separator) {
  char value[GR_QUANTITY];
  for (int i = 0; i < m->n; i++)
    gr_text_printf(t, "%s%s %s", separator, m->items[i].name,
                   gr_result_text(m->items[i].sum / m->items[i].weight, value));
}
