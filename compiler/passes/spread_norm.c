// spread_norm.c - batch norms as elementwise nodes, which the pass `fuse` joins with what stands
// around them: with relu and what is added behind the norm, and in the gradient with relu's mask
// before the sums over rows.
//
//   y  = (x - mean) f + bias, with f = scale / deviation
//   dx = dy f - w ((x - mean) a + b), with a = f sum(dy z) / (deviation count) and
//        b = f sum(dy) / count
//
// It runs after sharding, of norms whose channels and statistics are whole on each rank, and only
// where a neighbour can be a part of the same fused node: alone the ops read and write as little.
//
// Nodes over all of x are each norm's own, also where they are equal, so that none of them is kept
// for another; vectors of channels are made once.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "ops/kernels/fused.h"
#include "ops/nn/batch_norm.h"

enum { X, MEAN, VAR, SCALE, BIAS, WEIGHT, COUNT };
enum { DX_X, DX_DY, DX_MEAN, DX_VAR, DX_SCALE, DX_WEIGHT, DX_COUNT, DX_SUM, DX_DOT };
// The least count that is divided by: without samples the sums are multiplied by weights of 0.
#define LEAST_COUNT 1e-6

typedef struct spread {
  const gr_graph *g;
  gr_builder *b;
  gr_val *map;
  bool *feeds;   // by value: a node that can be a part of a fused node reads it
  bool *summed;  // by value: it is written beside sums of it
} spread;

// ---- Which ------------------------------------------------------------------------------------

static void find_feeds(spread *s) {
  for (uint32_t i = 0; i < s->g->n_nodes; i++) {
    const gr_node *n = &s->g->nodes[i];
    bool takes = gr_fused_takes(s->g, n);
    for (int k = 0; takes && k < n->n_in; k++) s->feeds[n->in[k].id] = true;
  }
}

// Whether the gradient that sums are of is made by a part, when the norm's operand is there
// already: where that is computed again after it, both would be in memory together with what makes
// them.
static bool is_summed_where_made(const spread *s, const gr_node *n) {
  const gr_value *x = gr_at(s->g, n->in[0]), *dy = gr_at(s->g, n->in[1]);
  return dy->role == GR_TEMP && gr_fused_takes(s->g, &s->g->nodes[dy->node]) &&
         (x->role != GR_TEMP || x->node < dy->node);
}

static bool has_placements(const spread *s, gr_val v, bool samples) {
  for (int a = 0; a < s->g->mesh.n_axes; a++) {
    gr_axis_placement p = gr_at(s->g, v)->layout.placement[a];
    if (p != GR_REPLICATE && !(samples && p == 0)) return false;
  }
  return true;
}

// Whether statistics are one row of whole channels, and x has whole samples.
static bool is_plain(const spread *s, const gr_node *n, int mean) {
  const gr_type *x = &gr_at(s->g, n->in[0])->type;
  return ((const gr_batch_norm *)n->attr)->groups == 1 && has_placements(s, n->in[0], true) &&
         has_placements(s, n->in[mean], false) && x->dim[x->rank - 1] <= GR_FUSED_ROW;
}

// ---- Values -----------------------------------------------------------------------------------

static gr_val placed(const spread *s, gr_val v, gr_layout layout) {
  if (gr_is(v)) gr_at(s->b->g, v)->layout = layout;
  return v;
}

// Statistics [1, c] as a vector of channels.
static gr_val vector(const spread *s, gr_val v) {
  gr_ints shape = {.n = 1, .items = {-1}};
  return gr_reshape(s->b, s->map[v.id], shape);
}

static gr_val deviation(const spread *s, gr_val var, const gr_node *n) {
  gr_val sum = gr_add_scalar(s->b, vector(s, var), ((const gr_batch_norm *)n->attr)->eps);
  return GR_EMIT(s->b, &gr_op_sqrt, NULL, sum);
}

static gr_val factor(const spread *s, gr_val scale, gr_val var, const gr_node *n) {
  return gr_div(s->b, s->map[scale.id], deviation(s, var, n));
}

// The emitters of nodes over all of x: each a new node.
static gr_val wide(const spread *s, gr_val v) {
  return placed(s, gr_cast(s->b, s->map[v.id], GR_F32), gr_at(s->g, v)->layout);
}

static gr_val with_vector(const spread *s, const gr_op *op, gr_val x, gr_val v, gr_val like) {
  return placed(s, GR_EMIT(s->b, op, NULL, x, v), gr_at(s->g, like)->layout);
}

static gr_val narrowed(const spread *s, gr_val v, gr_val like) {
  const gr_value *of = gr_at(s->g, like);
  return placed(s, gr_cast(s->b, v, of->type.dtype), of->layout);
}

// ---- The norm -----------------------------------------------------------------------------------

static void spread_forward(spread *s, const gr_node *n) {
  s->b->distinct = false;
  gr_val minus = gr_neg(s->b, vector(s, n->in[MEAN]));
  gr_val by = factor(s, n->in[SCALE], n->in[VAR], n);
  s->b->distinct = true;
  gr_val y = with_vector(s, &gr_op_bias_add, wide(s, n->in[X]), minus, n->in[X]);
  y = with_vector(s, &gr_op_scale_columns, y, by, n->in[X]);
  y = with_vector(s, &gr_op_bias_add, y, s->map[n->in[BIAS].id], n->in[X]);
  s->map[n->out.id] = narrowed(s, y, n->out);
}

// ---- The sums of its gradient -------------------------------------------------------------------

// Sums [c] of a vector of channels in place of a result [1, c].
static void put_sums(spread *s, gr_val sums, gr_val result) {
  const gr_value *of = gr_at(s->g, result);
  gr_layout layout = of->layout;
  placed(s, sums, layout);
  gr_ints shape = {.n = 2, .items = {1, -1}};
  s->map[result.id] = placed(s, gr_reshape(s->b, sums, shape), layout);
}

static void spread_sums(spread *s, const gr_node *n) {
  gr_val dy = n->in[1];
  s->b->distinct = false;
  gr_val minus = gr_neg(s->b, vector(s, n->in[2])), deviations = deviation(s, n->in[3], n);
  gr_val ones = s->b->err ? GR_NONE : gr_fill(s->b, &gr_at(s->b->g, deviations)->type, 1);
  gr_val by = gr_div(s->b, ones, deviations);
  s->b->distinct = true;
  gr_val z = with_vector(s, &gr_op_bias_add, wide(s, n->in[0]), minus, n->in[0]);
  z = with_vector(s, &gr_op_scale_columns, z, by, n->in[0]);
  gr_val out = with_vector(s, &gr_op_dot_columns, z, wide(s, dy), dy);
  if (s->b->err) return;
  put_sums(s, (gr_val){out.id + 1}, n->out);
  put_sums(s, (gr_val){out.id + 2}, gr_out(n, 1));
  if (s->summed[dy.id]) return;
  s->summed[dy.id] = true;
  s->map[dy.id] = narrowed(s, out, dy);  // what reads dy reads what is written beside the sums
}

// ---- Its gradient by x --------------------------------------------------------------------------

// The weights of samples, for each row.
static gr_val rows_of(const spread *s, gr_val weight, gr_val x) {
  const gr_value *of = gr_at(s->g, x);
  gr_val w = s->map[weight.id];
  s->b->distinct = false;
  for (int axis = 1; axis < of->type.rank - 1; axis++)
    w = placed(s, gr_broadcast(s->b, w, axis, of->type.dim[axis]), of->layout);
  s->b->distinct = true;
  int last = of->type.rank - 1;
  return placed(s, gr_broadcast(s->b, w, last, of->type.dim[last]), of->layout);
}

// factor sum / count, for each channel.
static gr_val mean_of(const spread *s, gr_val sum, gr_val by, const gr_node *n) {
  gr_val count = s->map[n->in[DX_COUNT].id];
  if (s->b->err) return GR_NONE;
  gr_val least = gr_fill(s->b, &gr_at(s->b->g, count)->type, LEAST_COUNT);
  gr_ints one = {.n = 1, .items = {-1}}, scalar = {.n = 0};
  count = gr_reshape(s->b, gr_max(s->b, count, least), scalar);
  const gr_type *x = &gr_at(s->g, n->in[0])->type;
  count = gr_broadcast(s->b, count, 0, x->dim[x->rank - 1]);
  sum = gr_reshape(s->b, s->map[sum.id], one);
  return gr_div(s->b, gr_mul(s->b, sum, by), count);
}

// w ((x - mean) a + b)
static gr_val correction(const spread *s, const gr_node *n, gr_val by) {
  gr_val x = n->in[DX_X];
  s->b->distinct = false;
  gr_val minus = gr_neg(s->b, vector(s, n->in[DX_MEAN]));
  gr_val a = gr_div(s->b, mean_of(s, n->in[DX_DOT], by, n), deviation(s, n->in[DX_VAR], n));
  gr_val b = mean_of(s, n->in[DX_SUM], by, n);
  s->b->distinct = true;
  gr_val t = with_vector(s, &gr_op_bias_add, wide(s, x), minus, x);
  t = with_vector(s, &gr_op_scale_columns, t, a, x);
  t = with_vector(s, &gr_op_bias_add, t, b, x);
  return with_vector(s, &gr_op_mul, t, rows_of(s, n->in[DX_WEIGHT], x), x);
}

static void spread_grad(spread *s, const gr_node *n) {
  gr_val dy = n->in[DX_DY];
  s->b->distinct = false;
  gr_val by = factor(s, n->in[DX_SCALE], n->in[DX_VAR], n);
  s->b->distinct = true;
  gr_val dx = with_vector(s, &gr_op_scale_columns, wide(s, dy), by, dy);
  if (n->n_in > DX_WEIGHT) dx = with_vector(s, &gr_op_sub, dx, correction(s, n, by), dy);
  s->map[n->out.id] = narrowed(s, dx, n->out);
}

// ---- The pass -----------------------------------------------------------------------------------

static void emit(spread *s, const gr_node *n) {
  s->b->loc = n->loc, s->b->scope = n->scope;
  if (n->op == &gr_op_batch_norm && is_plain(s, n, MEAN) && s->feeds[n->out.id])
    spread_forward(s, n);
  else if (n->op == &gr_op_batch_norm_sums && is_plain(s, n, 2) && is_summed_where_made(s, n))
    spread_sums(s, n);
  else if (n->op == &gr_op_batch_norm_grad && is_plain(s, n, DX_MEAN) && s->feeds[n->out.id])
    spread_grad(s, n);
  else
    gr_emit_placed(s->b, s->g, n, s->map);
}

gr_status gr_pass_spread_norm(gr_rewrite *rw) {
  spread s = {.g = rw->old, .b = &rw->b, .map = rw->map};
  s.feeds = GR_NEW(rw->b.g->tables, bool, rw->old->n_values);
  s.summed = GR_NEW(rw->b.g->tables, bool, rw->old->n_values);
  find_feeds(&s);
  gr_copy_leaves(rw);
  rw->b.distinct = true;
  for (uint32_t i = 0; i < rw->old->n_nodes && !rw->b.err; i++) emit(&s, &rw->old->nodes[i]);
  gr_copy_links(rw);
  return GR_OK;
}
