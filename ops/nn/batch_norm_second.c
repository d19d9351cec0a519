// batch_norm_second.c - the gradients of what batch norm's gradient is computed by, as compositions
// of other ops. Those of statistics flow here: batch_norm's own rule accounts for them itself, but
// its gradient reads mean, variance and sums as operands, so that what flows back to them is
// needed.
#include "ops/kernels/composed.h"
#include "ops/nn/batch_norm.h"
#include "ops/ops.h"

static gr_type type_of(const gr_builder *b, gr_val v) {
  return b->err ? (gr_type){.rank = 2, .dim = {1, 1}} : gr_at(b->g, v)->type;
}

// x [n, ...] as [groups, n / groups, ...]; of one group with any number of samples.
static gr_val grouped(gr_builder *b, gr_val x, int64_t groups) {
  const gr_type t = type_of(b, x);
  gr_ints shape = {t.rank + 1, {-1, t.dim[0] / groups}};
  for (int d = 1; d < t.rank; d++) shape.items[d + 1] = t.dim[d];
  return gr_reshape(b, x, shape);
}

// Statistics [groups, c] for all elements of their channel and group of `like`, a value like x.
static gr_val spread(gr_builder *b, gr_val v, gr_val like) {
  const gr_type t = type_of(b, like), s = type_of(b, v);
  gr_ints flat = {1, {t.dim[t.rank - 1]}}, shape = {t.rank, {-1}};
  if (s.dim[0] == 1) return gr_broadcast_channels(b, gr_reshape(b, v, flat), like);
  for (int d = t.rank - 2; d > 0; d--) v = gr_broadcast(b, v, 1, t.dim[d]);
  v = gr_broadcast(b, v, 1, t.dim[0] / s.dim[0]);
  for (int d = 1; d < t.rank; d++) shape.items[d] = t.dim[d];
  return gr_reshape(b, v, shape);
}

// The sums [groups, c] of a value like x over the rows of each group.
static gr_val total(gr_builder *b, gr_val x, int64_t groups) {
  const gr_type t = type_of(b, x);
  if (groups == 1)
    return gr_reshape(b, GR_EMIT(b, &gr_op_bias_add_grad, NULL, x),
                      (gr_ints){2, {1, t.dim[t.rank - 1]}});
  x = grouped(b, x, groups);
  for (int d = 1; d < t.rank; d++) x = gr_sum(b, x, 1);
  return x;
}

// [groups, 1] for all channels of v [groups, c].
static gr_val over_channels(gr_builder *b, gr_val k, gr_val v) {
  const gr_type t = type_of(b, v);
  return gr_broadcast(b, gr_reshape(b, k, (gr_ints){1, {-1}}), 1, t.dim[1]);
}

static gr_val scale_of(gr_builder *b, gr_val var, double eps) {
  return gr_pow(b, gr_add_scalar(b, var, eps), -0.5);
}

// (x - mean) / sqrt(var + eps), of x in the dtype of the statistics.
static gr_val normalised(gr_builder *b, gr_val x, gr_val mean, gr_val s) {
  return gr_mul(b, gr_sub(b, x, spread(b, mean, x)), spread(b, s, x));
}

// A count, or 1 where it is 0: all weights of the group are 0 then.
static gr_val not_none(gr_builder *b, gr_val count) {
  const gr_type t = type_of(b, count);
  return gr_add(b, count, gr_less(b, count, gr_fill(b, &t, 1e-30)));
}

enum { X, DY, MEAN, VAR, SCALE, WEIGHT, COUNT, SUM, SUM_Z };

static void compose(gr_builder *b, const gr_grad *of, const gr_val *x, gr_val *y) {
  gr_dtype wide = type_of(b, x[MEAN]).dtype;
  gr_val s = scale_of(b, x[VAR], ((const gr_batch_norm *)of->attr)->eps);
  gr_val dy = gr_cast(b, x[DY], wide), in = gr_cast(b, x[X], wide);
  if (of->n_in > SCALE + 1) {
    gr_val count = over_channels(b, not_none(b, x[COUNT]), x[SUM]);
    gr_val along =
        gr_mul(b, normalised(b, in, x[MEAN], s), spread(b, gr_div(b, x[SUM_Z], count), in));
    gr_val all = gr_add(b, along, spread(b, gr_div(b, x[SUM], count), in));
    dy = gr_sub(b, dy, gr_mul(b, all, gr_broadcast_samples(b, x[WEIGHT], in)));
  }
  dy = gr_scale_columns(b, gr_mul(b, dy, spread(b, s, in)), x[SCALE]);
  y[0] = gr_cast(b, dy, type_of(b, x[X]).dtype);
}

void gr_batch_norm_second(const gr_grad *g) { gr_grad_of_composition(g, compose); }

static void compose_sums(gr_builder *b, const gr_grad *of, const gr_val *x, gr_val *y) {
  const gr_batch_norm *a = of->attr;
  gr_dtype wide = type_of(b, x[MEAN]).dtype;
  gr_val z = normalised(b, gr_cast(b, x[X], wide), x[MEAN], scale_of(b, x[VAR], a->eps));
  gr_val dy = gr_cast(b, x[DY], wide);
  y[0] = total(b, dy, a->groups);
  y[1] = total(b, gr_mul(b, dy, z), a->groups);
}

void gr_batch_norm_sums_second(const gr_grad *g) { gr_grad_of_composition(g, compose_sums); }

// ---- Of the statistics: x, weights w, and the mean ----------------------------------------------

static int64_t groups_of(const gr_grad *of) { return *(const int64_t *)of->attr; }

static void compose_channel_sums(gr_builder *b, const gr_grad *of, const gr_val *x, gr_val *y) {
  int64_t groups = groups_of(of);
  const gr_type t = type_of(b, x[0]);
  gr_val in = gr_cast(b, x[0], type_of(b, x[1]).dtype);
  y[0] = total(b, gr_mul(b, in, gr_broadcast_samples(b, x[1], in)), groups);
  gr_val counts = groups == 1 ? gr_sum(b, x[1], 0) : gr_sum(b, grouped(b, x[1], groups), 1);
  double rows = (double)(gr_type_count(&t) / (t.dim[0] * t.dim[t.rank - 1]));
  y[1] = gr_scale(b, gr_reshape(b, counts, (gr_ints){2, {groups == 1 ? 1 : -1, 1}}), rows);
}

void gr_channel_sums_grad(const gr_grad *g) { gr_grad_of_composition(g, compose_channel_sums); }

static void compose_channel_squares(gr_builder *b, const gr_grad *of, const gr_val *x, gr_val *y) {
  gr_val in = gr_cast(b, x[0], type_of(b, x[1]).dtype);
  gr_val squares = gr_square(b, gr_sub(b, in, spread(b, x[2], in)));
  y[0] = total(b, gr_mul(b, squares, gr_broadcast_samples(b, x[1], in)), groups_of(of));
}

void gr_channel_squares_grad(const gr_grad *g) {
  gr_grad_of_composition(g, compose_channel_squares);
}
