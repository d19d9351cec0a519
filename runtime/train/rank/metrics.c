// metrics.c - see metrics.h.
#include "runtime/train/rank/metrics.h"
#include <math.h>
#include <string.h>

const char *gr_metric_name(gr_metric_names *names, gr_arena *a, const char *name) {
  for (int i = 0; i < names->n; i++)
    if (!strcmp(names->at[i], name)) return names->at[i];
  const char *own = gr_arena_strdup(a, name);
  if (names->n < GR_MAX_METRICS) names->at[names->n++] = own;
  return own;
}

const char *gr_run_metric_of(gr_arena *arena, const char *program, const char *name) {
  size_t n = strcspn(program, ".");
  bool own = (n == 5 && !strncmp(program, "train", n)) || (n == 4 && !strncmp(program, "eval", n));
  return own ? name : gr_arena_printf(arena, "%.*s.%s", (int)n, program, name);
}

void gr_metrics_add(gr_metrics *sums, const gr_metrics *now) {
  for (int i = 0; i < now->n; i++) {
    int at = 0;
    while (at < sums->n && sums->at[at].name != now->at[i].name) at++;
    if (at == GR_MAX_METRICS) continue;
    if (at == sums->n) sums->at[sums->n++] = (gr_metric){.name = now->at[i].name};
    sums->at[at].sum += now->at[i].sum, sums->at[at].weight += now->at[i].weight;
  }
}

static const gr_metric *find(const gr_metrics *m, const char *name) {
  for (int i = 0; i < m->n; i++)
    if (!strcmp(m->at[i].name, name)) return &m->at[i];
  return NULL;
}

bool gr_metrics_has(const gr_metrics *m, const char *name) { return find(m, name) != NULL; }

double gr_metric_value(const gr_metrics *m, const char *name) {
  const gr_metric *found = find(m, name);
  return found ? found->sum / found->weight : (double)NAN;
}

int gr_metrics_named(gr_arena *arena, const gr_metrics *m, const char *prefix, gr_named *out) {
  int n = 0;
  for (int i = 0; i < m->n; i++)
    if (m->at[i].weight != 0)
      out[n++] = (gr_named){
          gr_arena_printf(arena, "%s%s", strchr(m->at[i].name, '.') ? "" : prefix, m->at[i].name),
          m->at[i].sum / m->at[i].weight};
  return n;
}

void gr_metrics_print(gr_text *t, const gr_metrics *m, const char *separator) {
  for (int i = 0; i < m->n; i++)
    gr_text_printf(t, "%s%s %.4f", separator, m->at[i].name, m->at[i].sum / m->at[i].weight);
}
