// sums.c - the sums of an evaluation, and the program that makes metrics of them. See sums.h.
//
// The evaluation program gives each batch's sums over all ranks. They are added up in f64 on the
// host, so that counts are exact; the report program reads them in f32, which is exact up to 2^24.
#include "runtime/train/evaluation/sums.h"
#include <string.h>
#include "ops/kernels/cpu.h"

typedef struct sum {
  const char *name;
  gr_type type;
  gr_exec_tensor results[GR_MAX_BUCKETS];  // by bucket: the result of its program
  gr_exec_tensor to;  // the report program's input; .address NULL: it reads it not
  float *now;         // of one batch, and then the input
  float *levels;      // [GR_SHARD_LEVELS, n] of virtual shards, or [1, n]
  double *total;
} sum;

typedef struct scalar {  // an input or a result that is one number
  const char *name;
  gr_exec_tensor tensor;
  float value;
} scalar;

struct gr_sums {
  const gr_program *report;
  sum *items;
  scalar *inputs, *metrics;
  gr_table *tables;
  gr_exec_tensor *results;  // of the tables
  const char **classes;     // names of the data's classes, n_classes
  int n, n_inputs, n_metrics, n_tables, n_classes;
};

// ---- Opening ------------------------------------------------------------------------------------

static gr_status open_sum(gr_rank *r, gr_sums *s, const char *result, const gr_type *t) {
  sum *a = &s->items[s->n++];
  *a = (sum){.name = result + 4, .type = *t};
  size_t n = (size_t)gr_type_count(t);
  a->now = GR_NEW(r->arena, float, n), a->total = GR_NEW(r->arena, double, n);
  size_t levels = r->spec->set.options.sharding.shards_each ? GR_SHARD_LEVELS : 1;
  a->levels = GR_NEW(r->arena, float, levels *n);
  for (int i = 0; i < GR_MAX_BUCKETS && r->eval->of_bucket[i]; i++) {
    a->results[i] = gr_exec_result(r->exec, r->eval->of_bucket[i], result);
    if (!a->results[i].address || !gr_type_same(&a->results[i].type, t))
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "the sum '%s' differs between buckets", a->name);
  }
  a->to = gr_exec_input(r->exec, s->report, a->name);
  return GR_OK;
}

static bool is_sum(const gr_sums *s, const char *name) {
  for (int i = 0; i < s->n; i++)
    if (!strcmp(s->items[i].name, name)) return true;
  return false;
}

static void open_inputs(gr_rank *r, gr_sums *s) {
  const gr_program_inputs *in = &r->spec->inputs[s->report - r->spec->plan->programs];
  s->inputs = GR_NEW(r->arena, scalar, in->n + 1);
  for (int i = 0; i < in->n; i++)
    if (!is_sum(s, in->items[i].name))
      s->inputs[s->n_inputs++] =
          (scalar){.name = gr_run_metric_name(r, in->items[i].name),
                   .tensor = gr_exec_input(r->exec, s->report, in->items[i].name)};
}

static void open_results(gr_rank *r, gr_sums *s) {
  const gr_graph *g = s->report->frame.g;
  s->metrics = GR_NEW(r->arena, scalar, g->n_results + 1);
  s->tables = GR_NEW(r->arena, gr_table, g->n_results + 1);
  s->results = GR_NEW(r->arena, gr_exec_tensor, g->n_results + 1);
  for (uint32_t i = 0; i < g->n_results; i++) {
    const char *name = g->result_names[i], *plain = strchr(name, '.') + 1;
    gr_exec_tensor result = gr_exec_result(r->exec, s->report, name);
    if (!strncmp(name, "report.", 7)) {
      s->metrics[s->n_metrics++] = (scalar){gr_run_metric_name(r, plain), result, 0};
      continue;
    }
    gr_table *t = &s->tables[s->n_tables];
    *t = (gr_table){.name = plain, .rank = result.type.rank};
    memcpy(t->dim, result.type.dim, sizeof t->dim);
    t->values = GR_NEW(r->arena, float, gr_type_count(&result.type));
    s->results[s->n_tables++] = result;
  }
}

// The names of classes, if the data has any, as it prints what is predicted.
static void open_classes(gr_rank *r, gr_sums *s) {
  gr_metadata metadata[GR_MAX_METADATA];
  int n = gr_dataset_metadata(r->spec->data, metadata);
  for (int i = 0; i < n; i++)
    if (!strcmp(metadata[i].name, "classes")) s->n_classes = (int)metadata[i].value;
  s->classes = GR_NEW(r->arena, const char *, s->n_classes + 1);
  for (int32_t i = 0; i < s->n_classes; i++) {
    gr_text t = gr_text_make(r->arena);
    gr_dataset_decode(r->spec->data, &i, 1, &t);
    s->classes[i] = t.chars ? t.chars : "";
  }
}

gr_status gr_run_open_sums(gr_rank *r, gr_sums **out) {
  const gr_program *report = gr_plan_find(r->spec->plan, "report", "");
  *out = NULL;
  if (!report) return GR_OK;
  gr_sums *s = *out = GR_NEW(r->arena, gr_sums, 1);
  const gr_graph *eval = r->eval->of_bucket[0]->frame.g;
  s->report = report;
  s->items = GR_NEW(r->arena, sum, eval->n_results + 1);
  for (uint32_t i = 0; i < eval->n_results; i++)
    if (!strncmp(eval->result_names[i], "sum.", 4))
      GR_TRY(open_sum(r, s, eval->result_names[i], &gr_at(eval, eval->results[i])->type));
  open_inputs(r, s);
  open_results(r, s);
  open_classes(r, s);
  return GR_OK;
}

// ---- An evaluation ------------------------------------------------------------------------------

void gr_run_clear_sums(gr_sums *s) {
  for (int i = 0; s && i < s->n; i++)
    memset(s->items[i].total, 0, (size_t)gr_type_count(&s->items[i].type) * sizeof(double));
}

static void add_sum(sum *a, int k, bool last) {
  int64_t n = gr_type_count(&a->type);
  float *level = a->levels;
  for (; k & 1; k >>= 1, level += n)
    for (int64_t i = 0; i < n; i++) a->now[i] = level[i] + a->now[i];
  memcpy(level, a->now, (size_t)n * sizeof *level);
  for (int64_t i = 0; i < n && last; i++) a->total[i] += (double)a->now[i];
}

gr_status gr_run_add_sums(gr_rank *r, gr_sums *s, int bucket, int k, bool last) {
  if (!s || !s->n) return GR_OK;
  for (int i = 0; i < s->n; i++)
    GR_TRY(gr_exec_read(r->exec, &s->items[i].results[bucket], s->items[i].now));
  GR_TRY(gr_exec_wait(r->exec));
  for (int i = 0; i < s->n; i++) add_sum(&s->items[i], k, last);
  return GR_OK;
}

static gr_status write_inputs(gr_rank *r, gr_sums *s, const gr_metrics *m) {
  for (int i = 0; i < s->n; i++) {
    sum *a = &s->items[i];
    for (int64_t k = 0; k < gr_type_count(&a->type); k++) a->now[k] = (float)a->total[k];
    if (a->to.address) GR_TRY(gr_exec_write(r->exec, &a->to, a->now));
  }
  for (int i = 0; i < s->n_inputs; i++) {
    s->inputs[i].value = (float)gr_metric_value(m, s->inputs[i].name);
    GR_TRY(gr_exec_write(r->exec, &s->inputs[i].tensor, &s->inputs[i].value));
  }
  return GR_OK;
}

static void add_metrics(const gr_sums *s, gr_metrics *m) {
  for (int i = 0; i < s->n_metrics && m->n < GR_MAX_METRICS; i++)
    m->items[m->n++] = (gr_metric){s->metrics[i].name, (double)s->metrics[i].value, 1};
}

gr_status gr_run_report_sums(gr_rank *r, gr_sums *s, gr_metrics *m) {
  if (!s || !m->n) return GR_OK;
  GR_TRY(write_inputs(r, s, m));
  GR_TRY(gr_exec_run(r->exec, s->report));
  for (int i = 0; i < s->n_metrics; i++)
    GR_TRY(gr_exec_read(r->exec, &s->metrics[i].tensor, &s->metrics[i].value));
  for (int i = 0; i < s->n_tables; i++)
    GR_TRY(gr_exec_read(r->exec, &s->results[i], s->tables[i].values));
  GR_TRY(gr_exec_wait(r->exec));
  add_metrics(s, m);
  return GR_OK;
}

// ---- Tables -------------------------------------------------------------------------------------

gr_tables gr_run_tables(const gr_sums *s) {
  return s ? (gr_tables){s->tables, s->n_tables, s->classes, s->n_classes} : (gr_tables){0};
}

gr_tables gr_tables_copy(gr_arena *a, gr_tables t, const char *prefix) {
  gr_table *out = GR_NEW(a, gr_table, t.n + 1);
  for (int i = 0; i < t.n; i++) {
    size_t n = 1;
    for (int d = 0; d < t.items[i].rank; d++) n *= (size_t)t.items[i].dim[d];
    out[i] = t.items[i];
    out[i].name = gr_arena_printf(a, "%s%s", prefix, t.items[i].name);
    out[i].values = GR_NEW(a, float, n);
    memcpy(out[i].values, t.items[i].values, n * sizeof(float));
  }
  return (gr_tables){out, t.n, t.classes, t.n_classes};
}
