// report.c - builds sums: and report:, the metrics that are no means over samples.
//
//   sums: {confusion: counts}             evaluation adds counts [k, k] over its batches
//   report:                               a program over these sums, after the last batch
//     nodes: [f: {f1: confusion}]
//     metrics: {f1_macro: f}              scalars, reported beside the loss
//     results: {confusion: confusion}     tensors, which results and pictures have
//
// A sum is a tensor without the batch's axis, which nodes have summed over the batch with the
// samples' weights. The inputs of report: are the sums, and the metrics of evaluation as scalars.
#include <string.h>
#include "compiler/model/parts.h"

static const char sum_prefix[] = "sum.";

// ---- sums: --------------------------------------------------------------------------------------

// The dimension that a rule of the op gives to result k, if the operands' are split along `dim`.
static bool fits(const gr_sharding_rule *rule, const gr_node *n, const int8_t *dim) {
  bool any = false;
  for (int k = 0; k < n->n_in; k++) {
    int axis = dim[n->in[k].id];
    if (axis < 0) continue;
    if (rule->in[k] != axis) return false;
    any = true;
  }
  return any;
}

// Sets dim[] of a node's results: along which axis they are rows of the batch, or -1.
static void follow(const gr_graph *g, const gr_node *n, int8_t *dim) {
  gr_sharding_rule rules[GR_MAX_SHARDING_RULES];
  gr_op_call call;
  int count = 0;
  gr_op_call_of(g, n, &call);
  gr_status s = gr_op_sharding_rules(&call, rules, &count);
  if (s) gr_status_drop(s), count = 0;
  for (int k = 0; k < n->n_out; k++) dim[gr_out(n, k).id] = -1;
  for (int i = 0; i < count; i++) {
    if (!fits(&rules[i], n, dim)) continue;
    for (int k = 0; k < n->n_out; k++)
      dim[gr_out(n, k).id] = (int8_t)(rules[i].out[k] >= 0 ? rules[i].out[k] : -1);
    return;
  }
}

// By value: the axis of the batch's samples, which ops keep, move or sum over; -1: none. The
// inputs have it first, and it is followed as if the batch were divided along it.
static const int8_t *batch_axes(gr_build_context *a) {
  const gr_graph *g = a->root.g;
  int8_t *dim = GR_NEW(a->arena, int8_t, g->n_values + 1);
  for (uint32_t i = 0; i < g->n_values; i++)
    dim[i] = (int8_t)(g->values[i].role == GR_INPUT && g->values[i].type.rank ? 0 : -1);
  for (uint32_t i = 0; i < g->n_nodes; i++) follow(g, &g->nodes[i], dim);
  return dim;
}

static gr_status sum(gr_build_context *a, const char *name, const gr_conf *c, const int8_t *dim) {
  gr_val v;
  char type[96];
  GR_TRY(gr_model_expect(c, GR_CONF_TEXT, "a sum"));
  GR_TRY(gr_model_value(a, c->text, c->loc, &v));
  const gr_type *t = gr_model_type(a, v);
  if (dim[v.id] >= 0)
    return gr_hint(gr_fail(GR_ERR_TYPE, c->loc, "'%s' is %s, a row for each sample, and no sum",
                           c->text, gr_type_text(t, type)),
                   "the block batch_sum adds rows up, without those of padding");
  const char *result = gr_arena_printf(a->arena, "%s%s", sum_prefix, name);
  if (gr_is(gr_graph_result(a->root.g, result)))
    return gr_fail(GR_ERR_CONFIG, c->key_loc, "two sums are called '%s'", name);
  if (gr_is(gr_graph_result(a->root.g, gr_arena_printf(a->arena, "metric.%s.sum", name))))
    return gr_fail(GR_ERR_CONFIG, c->key_loc, "a metric and a sum are called '%s'", name);
  a->root.loc = c->loc, a->root.scope = name;
  gr_result(&a->root, result, t->dtype == GR_F32 ? v : gr_cast(&a->root, v, GR_F32));
  return gr_model_take_error(a);
}

gr_status gr_model_sums(gr_build_context *a, gr_conf *map) {
  if (!map) return GR_OK;
  GR_TRY(gr_model_expect(map, GR_CONF_MAP, "sums:"));
  if (a->request->purpose != GR_EVAL) return GR_OK;
  const int8_t *dim = batch_axes(a);
  gr_status s = GR_OK;
  for (int i = 0; i < map->n; i++) {
    const char *name = gr_model_result_name(a, map, i);
    if (name) s = gr_also(s, sum(a, name, map->items[i], dim));
  }
  return s;
}

// ---- report: ------------------------------------------------------------------------------------

static const char *const report_keys[] = {"doc", "nodes", "metrics", "results"};

static void input(gr_build_context *a, const char *name, const gr_type *t) {
  gr_binding bound = {.n = 1};
  bound.v[0] = gr_leaf(&a->root, GR_INPUT, GR_KIND_BUFFER, name, *t, gr_layout_replicated);
  gr_model_bind(a, name, a->root.loc, &bound);
}

// One for each sum and each metric of evaluation.
static void open_inputs(gr_build_context *a, const gr_graph *eval) {
  static const gr_type scalar = {.dtype = GR_F32};
  for (uint32_t i = 0; i < eval->n_results; i++) {
    const char *name = eval->result_names[i], *end = strrchr(name, '.');
    if (!strncmp(name, sum_prefix, 4)) input(a, name + 4, &gr_at(eval, eval->results[i])->type);
    if (!strncmp(name, "metric.", 7) && !strcmp(end, ".sum"))
      input(a, gr_arena_strndup(a->arena, name + 7, (size_t)(end - name - 7)), &scalar);
  }
}

static gr_status check_result(gr_build_context *a, const gr_conf *c, const char *name, bool scalar,
                              gr_val v) {
  char type[96];
  const gr_type *t = gr_model_type(a, v);
  if (scalar && t->rank)
    return gr_hint(gr_fail(GR_ERR_TYPE, c->loc, "'%s' is %s, and a metric is one number", c->text,
                           gr_type_text(t, type)),
                   "tensors are results: of report:");
  if (scalar && gr_model_find(a, name) && gr_is(gr_graph_leaf(a->root.g, GR_INPUT, name)))
    return gr_fail(GR_ERR_CONFIG, c->key_loc, "evaluation has a metric or sum '%s' already", name);
  return GR_OK;
}

static gr_status put_results(gr_build_context *a, gr_conf *map, const char *what, bool scalar) {
  if (!map) return GR_OK;
  GR_TRY(gr_model_expect(map, GR_CONF_MAP, "what is reported"));
  for (int i = 0; i < map->n; i++) {
    const gr_conf *c = map->items[i];
    const char *name = gr_model_result_name(a, map, i);
    gr_val v;
    if (!name) continue;
    GR_TRY(gr_model_expect(c, GR_CONF_TEXT, "what is reported"));
    GR_TRY(gr_model_value(a, c->text, c->loc, &v));
    GR_TRY(check_result(a, c, name, scalar, v));
    a->root.loc = c->loc, a->root.scope = name;
    if (gr_model_type(a, v)->dtype != GR_F32) v = gr_cast(&a->root, v, GR_F32);
    gr_result(&a->root, gr_arena_printf(a->arena, "%s.%s", what, name), v);
    GR_TRY(gr_model_take_error(a));
  }
  return GR_OK;
}

static gr_status check_states(const gr_build_context *a) {
  for (uint32_t i = 1; i < a->root.g->n_values; i++)
    if (a->root.g->values[i].role == GR_STATE)
      return gr_fail(GR_ERR_CONFIG, a->root.g->values[i].loc,
                     "report: has no weights, buffers or random numbers, only sums and metrics");
  return GR_OK;
}

gr_status gr_model_report(gr_build_context *a, gr_conf *file, const gr_graph *eval) {
  gr_conf *report = gr_conf_member(file, "report"), *nodes;
  GR_TRY(gr_model_expect(report, GR_CONF_MAP, "report:"));
  GR_TRY(gr_model_keys(report, "report:", report_keys, 4));
  a->root.loc = report->key_loc;
  open_inputs(a, eval);
  if ((nodes = gr_conf_member(report, "nodes"))) GR_TRY(gr_model_run_nodes(a, nodes));
  GR_TRY(check_states(a));
  GR_TRY(put_results(a, gr_conf_member(report, "metrics"), "report", true));
  return put_results(a, gr_conf_member(report, "results"), "result", false);
}
