// layer_norm.c - normalises rows to mean 0 and variance 1, then scales and shifts each channel (Ba,
// Kiros, Hinton, "Layer normalization", 2016; torch.nn.LayerNorm over the last axis).
//
//   x [..., C], gamma [C], beta [C] -> y [..., C]
//   m = mean(x), s = 1 / sqrt(var(x) + eps), y = (x - m) s gamma + beta
//
// The variance is biased (divided by C), and is computed from (x - m)^2 in a second pass over the
// row, since mean(x^2) - m^2 cancels in f32 if |m| is large. The notation "...C,C,C->...C" has C in
// upper case: a row is never split over ranks, all other axes may be.
#include "ops/kernels/composed.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/ops.h"

struct layer_norm {
  double eps;
};

static gr_status infer(gr_op_call *s) {
  GR_TRY(gr_require_float(s, 1, "gamma"));
  return gr_require_float(s, 2, "beta");
}

static void grad(const gr_grad *g) {
  gr_val d = GR_EMIT(g->b, &gr_op_layer_norm_grad, g->attr, g->x[0], g->x[1], g->dy[0]);
  for (uint32_t k = 0; k < 3 && gr_is(d); k++) g->dx[k] = (gr_val){d.id + k};
}

static gr_status layer_norm_cpu(const gr_launch *l) {
  const struct layer_norm *a = l->attr;
  int64_t c = gr_last(l->in_type);
  for (int64_t r = 0, rows = gr_rows(l->in_type); r < rows; r++) {
    double mean = 0, var = 0;
    for (int64_t i = 0; i < c; i++) mean += IN(0, r * c + i) / (double)c;
    for (int64_t i = 0; i < c; i++) var += pow(IN(0, r * c + i) - mean, 2) / (double)c;
    for (int64_t i = 0; i < c; i++)
      OUT(0, r * c + i, (IN(0, r * c + i) - mean) / sqrt(var + a->eps) * IN(1, i) + IN(2, i));
  }
  return GR_OK;
}

// Returns s of a row and sets *mean to m.
static float inverse_deviation(const float *x, int64_t c, double eps, float *mean) {
  *mean = gr_sum_f32(x, c) / (float)c;
  return 1 / sqrtf(gr_spread_f32(x, *mean, c) / (float)c + (float)eps);
}

static void rows_f32(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t c = gr_last(l->in_type);
  const float *gamma = l->in[1], *beta = l->in[2];
  for (int64_t r = begin; r < end; r++) {
    const float *x = (const float *)l->in[0] + r * c;
    float *y = (float *)l->out[0] + r * c, mean;
    float scale = inverse_deviation(x, c, ((const struct layer_norm *)l->attr)->eps, &mean);
    GR_VECTOR for (int64_t i = 0; i < c; i++) y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
  }
}

static gr_status run_f32(const gr_launch *l) { return gr_run_rows(l, rows_f32); }

// A known vector of one number.
static int read_equal(gr_onnx_reading *r, int64_t n, float value) {
  float *x = GR_NEW(r->arena, float, (size_t)n + 1);
  for (int64_t i = 0; i < n; i++) x[i] = value;
  return gr_read_known(r, &(gr_type){.dtype = GR_F32, .rank = 1, .dim = {n}}, x);
}

// Over several axes: over these as one, with weights of their shape behind it.
static int read_axes(gr_onnx_reading *r, int x, int axis, int w, int b,
                     const gr_read_setting *eps) {
  int64_t flat[GR_MAX_RANK][GR_READ_CHOICES], whole[GR_MAX_RANK][GR_READ_CHOICES];
  int rank = gr_read_type(r, x)->rank;
  gr_read_dims(r, x, 0, rank, whole), gr_read_dims(r, x, 0, axis, flat);
  gr_read_count(r, x, axis, rank, flat[axis]);
  const int64_t n = flat[axis][0];
  x = gr_read_reshape(r, x, axis + 1, flat);
  x = gr_read_emit(r, &gr_op_layer_norm, 3,
                   (const int[]){x, read_equal(r, n, 1), read_equal(r, n, 0)}, 1, eps);
  x = gr_read_reshape(r, x, rank, whole);
  x = GR_READ_TWO(r, &gr_op_mul, x, w);
  return b ? GR_READ_TWO(r, &gr_op_add, x, b) : x;
}

// Over the last axis: a layer, if nothing else reads its weights.
static int read_last(gr_onnx_reading *r, int x, int w, int b, const gr_read_setting *eps) {
  gr_type type[GR_READ_CHOICES];
  const gr_read_part parts[] = {{"weight", w}, {"bias", b}};
  bool alone = gr_read_is_own(r, w) && b && gr_read_is_own(r, b);
  const gr_type *t = gr_read_type(r, x);
  const int in[] = {x, w, b ? b : read_equal(r, t->dim[t->rank - 1], 0)};
  gr_read_types(r, &gr_op_layer_norm, 3, in, 1, eps, type);
  if (!alone) return gr_read_emit(r, &gr_op_layer_norm, 3, in, 1, eps);
  return gr_read_block(r, "layer_norm", gr_read_path(r, w, "weight"), x, type, 1, eps, 2, parts);
}

static void read_layer_norm(gr_onnx_reading *r) {
  int x = gr_read_in(r, 0, true), w = gr_read_in(r, 1, true), b = gr_read_in(r, 2, false);
  gr_read_int(r, "stash_type", 1);
  const gr_read_setting eps = {
      "eps", gr_arena_printf(r->arena, "%.7g", gr_read_float(r, "epsilon", 1e-5))};
  if (r->err) return;
  int rank = gr_read_type(r, x)->rank, axis = gr_read_axis(r, gr_read_int(r, "axis", -1), rank);
  if (gr_read_needs(r, 1) || gr_read_needs(r, 2)) gr_read_refuse(r, "gives its statistics");
  if (r->err) return;
  int y = axis == rank - 1 ? read_last(r, x, w, b, &eps) : read_axes(r, x, axis, w, b, &eps);
  gr_read_out(r, 0, y, false);
}

static const gr_attr attrs[] = {
    GR_ATTR(struct layer_norm, eps, GR_ATTR_FLOAT, "1e-5", "added to the variance"), {0}};
static const struct layer_norm usual = {1e-5};
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[6]", "f32[6]"}, .attr = &usual},
    {{"f32[2,3,37]", "f32[37]", "f32[37]"}, .attr = &usual},
    {{"f32[4,6]", "f32[5]", "f32[6]"}, .attr = &usual, .fails = "sizes 6 and 5 differ"},
    {{0}},
};

const gr_op gr_op_layer_norm = {
    .name = "layer_norm",
    .doc = "(x - mean) / sqrt(variance + eps) * gamma + beta, over the last axis.",
    .attr_size = sizeof(struct layer_norm),
    .attrs = attrs,
    .index_spec = "...C,C,C->...C",
    .infer = infer,
    .grad = grad,
    .cpu = layer_norm_cpu,
    .fast_f32 = run_f32,
    .row =
        "m = sum(x0) / n; v = sum((x0 - m) * (x0 - m)) / n; d = 1 / sqrt(v + eps); "
        "(x0 - m) * d * x1 + x2",
    .inplace = {1},
    .amp = GR_AMP_WIDE,
    .onnx = "LayerNormalization axis=-1 epsilon=$eps",
    .from_onnx = GR_FROM_ONNX({"LayerNormalization", read_layer_norm},
                              {"GroupNormalization", gr_group_norm_read},
                              {"InstanceNormalization", gr_instance_norm_read}),
    .cases = cases,
};

// ---- The gradients with respect to x, gamma and beta ------------------------------------------
// With z = (x - m) s, the normalised row, and u = dy gamma:
//
//   dx = (u - mean(u) - z mean(u z)) s      dgamma = sum over rows of dy z      dbeta = of dy
//
// because dm/dx_i = 1/C, ds/dx_i = -s^2 z_i / C, and both reach every y of the row. m and s are
// computed again from x, so that nothing but x is kept from the forward pass. On a CPU the sums
// over rows are computed in chunks (gr_row_chunks).

static gr_status grad_cpu(const gr_launch *l) {
  const struct layer_norm *a = l->attr;
  int64_t c = gr_last(l->in_type), rows = gr_rows(l->in_type);
  double *dgamma = l->scratch, *dbeta = dgamma + c;
  if (!l->first) memset(dgamma, 0, sizeof *dgamma * 2 * (size_t)c);
  for (int64_t r = 0; r < rows; r++) {
    double mean = 0, var = 0, mean_u = 0, mean_uz = 0;
    for (int64_t i = 0; i < c; i++) mean += IN(0, r * c + i) / (double)c;
    for (int64_t i = 0; i < c; i++) var += pow(IN(0, r * c + i) - mean, 2) / (double)c;
    double scale = 1 / sqrt(var + a->eps);
    for (int64_t i = 0; i < c; i++) {
      double dy = IN(2, r * c + i), u = dy * IN(1, i), z = (IN(0, r * c + i) - mean) * scale;
      mean_u += u / (double)c, mean_uz += u * z / (double)c;
      dgamma[i] += dy * z, dbeta[i] += dy;
    }
    for (int64_t i = 0; i < c; i++) {
      double u = IN(2, r * c + i) * IN(1, i), z = (IN(0, r * c + i) - mean) * scale;
      OUT(0, r * c + i, (u - mean_u - z * mean_uz) * scale);
    }
  }
  for (int64_t i = 0; i < c; i++) OUT(1, i, dgamma[i]), OUT(2, i, dbeta[i]);
  return GR_OK;
}

// One row: writes dx, and adds the row's terms to dgamma and dbeta.
static void grad_row(const float *x, const float *gamma, const float *dy, int64_t c, double eps,
                     float *dx, float *restrict dgamma, float *restrict dbeta) {
  float mean, scale = inverse_deviation(x, c, eps, &mean), u[GR_LANES] = {0}, uz[GR_LANES] = {0};
  int64_t i = 0;
  for (; i + GR_LANES <= c; i += GR_LANES)
    for (int e = 0; e < GR_LANES; e++) {
      float f = dy[i + e] * gamma[i + e];
      u[e] += f, uz[e] += f * ((x[i + e] - mean) * scale);
    }
  for (int e = 0; i < c; i++, e++) {
    float f = dy[i] * gamma[i];
    u[e] += f, uz[e] += f * ((x[i] - mean) * scale);
  }
  float mean_u = gr_lanes_sum(u) / (float)c, mean_uz = gr_lanes_sum(uz) / (float)c;
  GR_VECTOR for (i = 0; i < c; i++) {
    float z = (x[i] - mean) * scale, d = dy[i];
    dgamma[i] += d * z, dbeta[i] += d;
    dx[i] = (d * gamma[i] - mean_u - z * mean_uz) * scale;
  }
}

static void grad_rows(const gr_launch *l, int64_t begin, int64_t end, float *dgamma, float *dbeta) {
  int64_t c = gr_last(l->in_type);
  double eps = ((const struct layer_norm *)l->attr)->eps;
  for (int64_t r = begin; r < end; r++)
    grad_row((const float *)l->in[0] + r * c, l->in[1], (const float *)l->in[2] + r * c, c, eps,
             (float *)l->out[0] + r * c, dgamma, dbeta);
}

static gr_status grad_run_f32(const gr_launch *l) { return gr_run_two_sums(l, grad_rows); }

static const gr_case grad_cases[] = {
    {{"f32[4,6]", "f32[6]", "f32[4,6]"}, .attr = &usual},
    {{"f32[2,36,37]", "f32[37]", "f32[2,36,37]"}, .attr = &usual},
    {{0}},
};

// Of each row, for all elements of it.
static gr_val row_means(gr_builder *b, gr_val x) {
  double c = b->err ? 1 : (double)gr_last(&gr_at(b->g, x)->type);
  return gr_scale(b, gr_row_sums(b, x), 1 / c);
}

// The formulas above: of x, gamma and dy.
static void compose(gr_builder *b, const gr_grad *of, const gr_val *x, gr_val *y) {
  const struct layer_norm *a = of->attr;
  gr_val d = gr_sub(b, x[0], row_means(b, x[0])), var = row_means(b, gr_square(b, d));
  gr_val s = gr_pow(b, gr_add_scalar(b, var, a->eps), -0.5), z = gr_mul(b, d, s);
  gr_val u = gr_scale_columns(b, x[2], x[1]);
  gr_val along = gr_mul(b, z, row_means(b, gr_mul(b, u, z)));
  y[0] = gr_mul(b, gr_sub(b, gr_sub(b, u, row_means(b, u)), along), s);
  y[1] = GR_EMIT(b, &gr_op_bias_add_grad, NULL, gr_mul(b, x[2], z));
  y[2] = GR_EMIT(b, &gr_op_bias_add_grad, NULL, x[2]);
}

static void second(const gr_grad *g) { gr_grad_of_composition(g, compose); }

const gr_op gr_op_layer_norm_grad = {
    .name = "layer_norm_grad",
    .doc = "The gradients of layer_norm with respect to x, gamma and beta, from x, gamma and dy.",
    .attr_size = sizeof(struct layer_norm),
    .attrs = attrs,
    .index_spec = "...C,C,...C->...C,C,C",
    .grad = second,
    .cpu = grad_cpu,
    .fast_f32 = grad_run_f32,
    .scratch = gr_two_sums_scratch,
    .row =
        "m = sum(x0) / n; v = sum((x0 - m) * (x0 - m)) / n; s = 1 / sqrt(v + eps); "
        "a = sum(x2 * x1) / n; b = sum(x2 * x1 * ((x0 - m) * s)) / n; "
        "(x2 * x1 - a - (x0 - m) * s * b) * s",
    .column_sums = "x2 * ((x0 - m) * s); x2",
    .inplace = {3},
    .amp = GR_AMP_WIDE,
    .cases = grad_cases,
};
