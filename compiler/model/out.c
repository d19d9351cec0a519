// out.c - builds train:, metrics: and predict: as sums over the batch. See report.c for sums:.
//
// A score is (sum [n], weight [n]); a vector [n] has weight 1. Of samples both are multiplied by
// the batch's weights, which are 0 for padding, and summed: sum / weight is the mean over real
// samples on any number of ranks and padded samples. What depends on no input, such as what a
// program computes from buffers, is of any length and has no padding. A scalar is used unchanged.
#include <string.h>
#include "compiler/model/emit.h"

static gr_val as_f32(gr_builder *b, gr_val v) {
  return b->err || gr_at(b->g, v)->type.dtype == GR_F32 ? v : gr_cast(b, v, GR_F32);
}

// Whether a value is of the samples of a batch: it depends on an input.
static bool is_of_samples(gr_build_context *a, gr_val v) {
  const gr_graph *g = a->root.g;
  bool *depends = GR_NEW(a->arena, bool, g->n_values);
  for (uint32_t i = 1; i < g->n_values; i++) depends[i] = g->values[i].role == GR_INPUT;
  gr_mark_dependents(g, depends);
  return depends[v.id];
}

// The contribution of each sample to the sum of a score (0), or to its weight (1), which defaults
// to 1.
static gr_val weighted(gr_build_context *a, const gr_val score[2], int which) {
  gr_builder *b = &a->root;
  gr_type each = {GR_F32, 1, {gr_model_type(a, score[0])->dim[0]}};
  bool of_samples = is_of_samples(a, score[0]) || (gr_is(score[1]) && is_of_samples(a, score[1]));
  gr_val v = score[which];
  if (!of_samples) return gr_is(v) ? as_f32(b, v) : gr_fill(b, &each, 1);
  return gr_is(v) ? gr_mul(b, as_f32(b, v), a->weight) : a->weight;
}

// The two sums of a score over the batch.
static void sum_batch(gr_build_context *a, const gr_val score[2], gr_val out[2]) {
  for (int i = 0; i < 2; i++) out[i] = gr_sum(&a->root, weighted(a, score, i), 0);
}

// The sums over the ranks of each rank's mean, and of 1 for each rank that has a sample.
static void sum_ranks(gr_build_context *a, const gr_val score[2], gr_val out[2]) {
  gr_builder *b = &a->root;
  const gr_mesh *mesh = &a->request->mesh;
  int64_t ranks = 1, n = gr_model_type(a, score[0])->dim[0];
  for (int i = 0; i < mesh->n_axes; i++)
    if (gr_model_splits_batch(a, i)) ranks *= mesh->axis[i].size;
  gr_val sum[2];
  for (int i = 0; i < 2; i++)
    sum[i] = gr_sum(b, gr_reshape(b, weighted(a, score, i), (gr_ints){2, {-1, n / ranks}}), 1);
  gr_type by_rank = {GR_F32, 1, {ranks}};
  gr_val has = gr_less(b, gr_fill(b, &by_rank, 0), sum[1]);
  gr_val weight = gr_where(b, has, sum[1], gr_fill(b, &by_rank, 1));
  out[0] = gr_sum(b, gr_div(b, sum[0], weight), 0);
  out[1] = gr_sum(b, has, 0);
}

static gr_val one(gr_builder *b) {
  return gr_model_make(b, "fill", 0, NULL,
                       (gr_setting[]){{"shape", "[]"}, {"value", "1.0"}, {"dtype", "f32"}, {0}});
}

static gr_status misfit(gr_build_context *a, const gr_binding *s, const char *name, gr_loc loc) {
  char first[96], second[96];
  return gr_hint(gr_fail(GR_ERR_TYPE, loc, "'%s' is %s%s%s, which is not a score", name,
                         gr_type_text(gr_model_type(a, s->v[0]), first), s->n > 1 ? " and " : "",
                         s->n > 1 ? gr_type_text(gr_model_type(a, s->v[1]), second) : ""),
                 "a score is one number per sample, [n], or a sum and a weight, [n] and [n]");
}

// Of samples, one for each; else any vector.
static bool is_per_sample(gr_build_context *a, gr_val v) {
  const gr_type *t = gr_model_type(a, v);
  if (t->rank != 1 || !gr_is(a->weight) || !is_of_samples(a, v)) return t->rank == 1;
  return t->dim[0] == gr_model_type(a, a->weight)->dim[0];
}

// Builds the two scalars of a score with one of the two functions above.
typedef void (*summing)(gr_build_context *, const gr_val score[2], gr_val out[2]);

static gr_status sums(gr_build_context *a, const gr_binding *s, const char *name, gr_loc loc,
                      summing how, gr_val out[2]) {
  gr_builder *b = &a->root;
  b->loc = loc, b->scope = name;
  bool vector = is_per_sample(a, s->v[0]);
  if (s->n > 2 || (s->n == 2 && (!vector || !is_per_sample(a, s->v[1]))) ||
      (!vector && gr_model_type(a, s->v[0])->rank))
    return misfit(a, s, name, loc);
  if (vector)
    how(a, (gr_val[]){s->v[0], s->n == 2 ? s->v[1] : GR_NONE}, out);
  else
    out[0] = as_f32(b, s->v[0]), out[1] = one(b);
  return gr_model_take_error(a);
}

static gr_status read_score(gr_build_context *a, gr_conf *c, gr_binding got[2]) {
  int n;
  GR_TRY(gr_model_operands(a, c, false, got, 2, &n));
  if (!n) return gr_fail(GR_ERR_CONFIG, c->loc, "expected the name of a score");
  if (n == 2) {
    if (got[0].n != 1 || got[1].n != 1)
      return gr_fail(GR_ERR_CONFIG, c->loc, "of [sum, weight], each is one tensor");
    got[0].n = 2, got[0].v[1] = got[1].v[0];
  }
  return GR_OK;
}

static gr_status sum_score(gr_build_context *a, const gr_conf *c, const gr_binding *s, summing how,
                           gr_val out[2]) {
  const char *name = c->kind == GR_CONF_TEXT ? c->text : c->items[0]->text;
  return sums(a, s, name, c->loc, how, out);
}

static gr_status score(gr_build_context *a, gr_conf *c, summing how, gr_val out[2]) {
  gr_binding got[2] = {0};
  GR_TRY(read_score(a, c, got));
  return sum_score(a, c, got, how, out);
}

static void put_metric(gr_build_context *a, const char *name, const gr_val v[2]) {
  gr_result(&a->root, gr_arena_printf(a->arena, "metric.%s.sum", name), v[0]);
  gr_result(&a->root, gr_arena_printf(a->arena, "metric.%s.weight", name), v[1]);
}

// The score to minimise, which evaluation reports: the program's, or train's.
static gr_conf *find_loss(const gr_build_context *a, gr_conf *file) {
  gr_conf *stated = a->program ? gr_conf_member(a->program, "loss") : NULL;
  if (a->named) return stated;
  gr_conf *train = a->programs ? gr_conf_member(a->programs, "train") : NULL;
  gr_conf *trained = train ? gr_conf_member(train, "loss") : NULL;
  if (stated || !trained) return stated ? stated : gr_conf_member(file, "train");
  return gr_model_is_bound(a, trained) ? trained : NULL;
}

static gr_status train(gr_build_context *a, gr_conf *file) {
  gr_conf *c = find_loss(a, file);
  gr_val v[2];
  if (!c && a->built.trains && a->request->purpose == GR_TRAIN)
    return gr_hint(gr_fail(GR_ERR_CONFIG, file->loc, "the graph has no 'train:'"),
                   "train: NAME names the loss to minimise");
  if (!c) return GR_OK;
  bool by_rank = a->request->by_rank && a->request->purpose == GR_TRAIN;
  summing how = by_rank ? sum_ranks : sum_batch;
  gr_binding got[2] = {0}, parts[2] = {0};  // what a teacher's loss is mixed of
  GR_TRY(read_score(a, c, got));
  GR_TRY(gr_model_distill(a, c->loc, &got[0], &parts[0], &parts[1]));
  GR_TRY(sum_score(a, c, &got[0], how, v));
  if (!gr_dtypes[gr_model_type(a, v[0])->dtype].is_float)
    return gr_fail(GR_ERR_TYPE, c->loc, "the loss must be a float");
  a->root.g->loss = v[0], a->root.g->loss_denominator = v[1];
  put_metric(a, "loss", v);
  for (int i = 0; i < 2 && parts[i].n; i++) {
    GR_TRY(sum_score(a, c, &parts[i], how, v));
    put_metric(a, i ? GR_TEACHER_KL : GR_TEACHER_HARD_LOSS, v);
  }
  return GR_OK;
}

static gr_status metrics(gr_build_context *a, gr_conf *map) {
  if (!map) return GR_OK;
  GR_TRY(gr_model_expect(map, GR_CONF_MAP, "metrics:"));
  for (int i = 0; i < map->n; i++) {
    gr_val v[2];
    const char *name = gr_model_result_name(a, map, i);
    if (!name) continue;
    gr_loc loc = map->items[i]->key_loc;
    if (!strcmp(name, "loss"))
      return gr_fail(GR_ERR_CONFIG, loc,
                     "the name 'loss' is reserved for the score that train: names");
    if (gr_is(gr_graph_result(a->root.g, gr_arena_printf(a->arena, "metric.%s.sum", name))))
      return gr_fail(GR_ERR_CONFIG, loc, "two metrics are called '%s'", name);
    GR_TRY(score(a, map->items[i], sum_batch, v));
    put_metric(a, name, v);
  }
  return GR_OK;
}

static gr_status predict(gr_build_context *a, gr_conf *map) {
  if (!map) return GR_OK;
  GR_TRY(gr_model_expect(map, GR_CONF_MAP, "what is predicted"));
  for (int i = 0; i < map->n; i++) {
    gr_val v;
    const char *key = gr_model_result_name(a, map, i), *name;
    if (!key) continue;
    name = gr_arena_printf(a->arena, "predict.%s", key);
    GR_TRY(gr_model_expect(map->items[i], GR_CONF_TEXT, "what is predicted"));
    GR_TRY(gr_model_value(a, map->items[i]->text, map->items[i]->loc, &v));
    if (gr_is(gr_graph_result(a->root.g, name)))
      return gr_fail(GR_ERR_CONFIG, map->items[i]->key_loc, "two results are called '%s'", key);
    if (a->evaluates || a->own_inputs) gr_result(&a->root, name, v);
  }
  return GR_OK;
}

gr_status gr_model_outputs(gr_build_context *a, gr_conf *file) {
  GR_TRY(train(a, file));
  if (!a->named) GR_TRY(metrics(a, gr_conf_member(file, "metrics")));
  if (a->program) GR_TRY(metrics(a, gr_conf_member(a->program, "metrics")));
  if (!a->named) GR_TRY(predict(a, gr_conf_member(file, "predict")));
  if (a->program) GR_TRY(predict(a, gr_conf_member(a->program, "results")));
  if (!a->named) GR_TRY(gr_model_sums(a, gr_conf_member(file, "sums")));
  return a->program ? gr_model_sums(a, gr_conf_member(a->program, "sums")) : GR_OK;
}
