// batch_norm.c - normalises each channel by a mean and a variance, then scales and shifts it (Ioffe
// and Szegedy, "Batch normalization", 2015; torch.nn.BatchNorm1d to 3d).
//
//   x [n, ..., c], mean [g, c], var [g, c], scale [c], bias [c] -> y = z scale + bias,
//   z = (x - mean) / sqrt(var + eps)
//
// Mean and variance are constants. With two more operands, sample weights w [n] and counts [g, 1],
// they are those of x (channel_sums, channel_squares), and with sums over the rows of a group
//   dx = (dy - w (sum(dy) + z sum(dy z)) / count) scale / sqrt(var + eps)
//
// The two sums are an op of their own, so that those of a batch that is split over ranks are
// all-reduced between it and dx. They are also the gradients of bias and scale.
#include "ops/nn/batch_norm.h"
#include <math.h>
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/rows.h"
#include "ops/ops.h"

GR_CU(batch_norm);

enum { X, MEAN, VAR, SCALE, BIAS, WEIGHT, COUNT, OPERANDS };

static const gr_batch_norm *attr_of(const void *attr) { return attr; }

static gr_status infer(gr_op_call *s) {
  if (s->n_in != BIAS + 1 && s->n_in != OPERANDS)
    return gr_hint(
        gr_fail(GR_ERR_TYPE, s->loc, "'batch_norm' takes 5 or 7 operands, got %d", s->n_in),
        "x, mean, var, scale and bias; and with statistics of x weights and counts");
  GR_TRY(gr_channels_operands(s, attr_of(s->attr)->groups, "xssccnk"));
  s->out[0] = s->in[0];
  return GR_OK;
}

static gr_status rules(const gr_op_call *s, gr_sharding_rule *rule, int *n) {
  return gr_channels_rules(s, "xssccnk", "x", rule, n);
}

static void localize(void *attr, const gr_layout *out, const gr_mesh *m) {
  gr_channels_localize(&((gr_batch_norm *)attr)->groups, out, m);
}

static void grad(const gr_grad *g) {
  gr_builder *b = g->b;
  const gr_val *x = g->x;
  bool batch = g->n_in == OPERANDS;
  gr_val sums = GR_NONE;
  if (batch || g->want[SCALE] || g->want[BIAS])
    sums = GR_EMIT(b, &gr_op_batch_norm_sums, g->attr, x[X], g->dy[0], x[MEAN], x[VAR]);
  if (b->err) return;
  gr_val sum_dyz = {sums.id + 1};
  if (g->want[SCALE]) g->dx[SCALE] = gr_sum(b, sum_dyz, 0);
  if (g->want[BIAS]) g->dx[BIAS] = gr_sum(b, sums, 0);
  if (!g->want[X]) return;
  gr_val in[] = {x[X],
                 g->dy[0],
                 x[MEAN],
                 x[VAR],
                 x[SCALE],
                 batch ? x[WEIGHT] : GR_NONE,
                 batch ? x[COUNT] : GR_NONE,
                 sums,
                 sum_dyz};
  g->dx[X] = gr_emit(b, &gr_op_batch_norm_grad, g->attr, batch ? 9 : 5, in);
}

static gr_status batch_norm_cpu(const gr_launch *l) {
  const gr_batch_norm *a = l->attr;
  gr_channels g = gr_channels_of(l->in_type, a->groups);
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++) {
    int64_t c = i % g.c, channel = i / (g.samples * g.rows * g.c) * g.c + c;
    double z = (IN(X, i) - IN(MEAN, channel)) / sqrt(IN(VAR, channel) + a->eps);
    OUT(0, i, z * IN(SCALE, c) + IN(BIAS, c));
  }
  return GR_OK;
}

// A factor and a term for each channel of each group, in working memory: y = x factor + term.
static void fold(const gr_launch *l, const gr_channels *g, float *factor, float *term) {
  double eps = attr_of(l->attr)->eps;
  for (int64_t i = 0; i < g->groups * g->c; i++) {
    double f = IN(SCALE, i % g->c) / sqrt(IN(VAR, i) + eps);
    factor[i] = (float)f, term[i] = (float)IN(BIAS, i % g->c);
  }
}

static void rows_fast(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  gr_channels g = gr_channels_of(l->in_type, attr_of(l->attr)->groups);
  float tile[3][GR_CHANNELS_TILE], room[GR_CHANNELS_TILE];
  const float *mean = NULL, *factor = NULL, *term = NULL, *factors = l->scratch;
  for (int64_t next = begin * g.c, group = -1; next < end * g.c;) {
    gr_channel_tile t = gr_channels_tile(&g, next, end * g.c);
    const float *x = gr_channels_read(l->in_type, l->in[X], &t, room);
    float *y = gr_channels_place(l->out_type, l->out[0], &t, room);
    if (t.group != group) {
      group = t.group;
      mean = gr_channels_repeat(&g, (const float *)l->in[MEAN] + group * g.c, tile[0]);
      factor = gr_channels_repeat(&g, factors + group * g.c, tile[1]);
      term = gr_channels_repeat(&g, factors + (g.groups + group) * g.c, tile[2]);
    }
    const float *m = mean + t.channel, *f = factor + t.channel, *s = term + t.channel;
    GR_VECTOR for (int64_t i = 0; i < t.n; i++) y[i] = (x[i] - m[i]) * f[i] + s[i];
    gr_channels_store(l->out_type, l->out[0], &t, room);
    next += t.n;
  }
}

static gr_status run_fast(const gr_launch *l) {
  gr_channels g = gr_channels_of(l->in_type, attr_of(l->attr)->groups);
  fold(l, &g, l->scratch, (float *)l->scratch + g.groups * g.c);
  gr_parallel(l, gr_rows(l->in_type), gr_row_grain(g.c), rows_fast, (void *)l);
  return GR_OK;
}

static size_t scratch(const gr_op_call *s) {
  size_t n = (size_t)(attr_of(s->attr)->groups * gr_last(s->in));
  return gr_is_up_to_f32(s) ? 2 * n * sizeof(float) : 0;
}

static gr_gpu_kernel *elements(gr_gpu_call *g, const char *entry, const char *part, int batch) {
  const gr_batch_norm *a = g->call->attr;
  gr_channels of = gr_channels_of(g->call->in, a->groups);
  int64_t n = gr_type_count(g->call->out);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_batch_norm, entry, gr_gpu_items(n), GR_GPU_BLOCK);
  gr_gpu_define(g, k, part, "1");
  if (g->call->n_in == batch) gr_gpu_define(g, k, "BATCH", "1");
  gr_gpu_int(k, n), gr_gpu_int(k, of.c), gr_gpu_int(k, of.samples * of.rows * of.c);
  return k;
}

static gr_status gpu(gr_gpu_call *g) {
  gr_gpu_real(elements(g, "batch_norm", "FORWARD", OPERANDS), attr_of(g->call->attr)->eps);
  return GR_OK;
}
static const gr_attr attrs[] = {
    GR_ATTR(gr_batch_norm, eps, GR_ATTR_FLOAT, "1e-5", "added to the variance"),
    GR_ATTR(gr_batch_norm, groups, GR_ATTR_INT, "1",
            "number of equal parts of the batch with statistics of their own"),
    {0}};
static const gr_batch_norm one = {1e-5, 1}, two = {1e-3, 2};
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[1,6]", "f32[1,6]", "f32[6]", "f32[6]"}, .attr = &one, .fill = "nccnn"},
    {{"f32[4,3,2,6]", "f32[2,6]", "f32[2,6]", "f32[6]", "f32[6]"}, .attr = &two, .fill = "nccnn"},
    {{"f32[2,3,130]", "f32[1,130]", "f32[1,130]", "f32[130]", "f32[130]"},
     .attr = &one,
     .fill = "nccnn"},
    {{"f32[6,5,7]", "f32[1,7]", "f32[1,7]", "f32[7]", "f32[7]", "f32[6]", "f32[1,1]"},
     .attr = &one,
     .fill = "cccnncc"},
    {{"f32[12,6]", "f32[2,6]", "f32[2,6]", "f32[6]", "f32[6]", "f32[12]", "f32[2,1]"},
     .attr = &two,
     .fill = "cccnncc"},
    {{"f32[4,6]", "f32[1,6]", "f32[1,6]", "f32[6]"},
     .attr = &one,
     .fails = "takes 5 or 7 operands"},
    {{"f32[4,6]", "f32[6]", "f32[1,6]", "f32[6]", "f32[6]"},
     .attr = &one,
     .fails = "operand 2 of 'batch_norm' is f32[6], not f32[1,6]"},
    {{0}}};

const gr_op gr_op_batch_norm = {
    .name = "batch_norm",
    .doc =
        "(x - mean) / sqrt(var + eps) * scale + bias for each channel of x [n, ..., c], with "
        "statistics [groups, c]: constants, or with weights [n] and counts [groups, 1] those of x.",
    .effort = GR_EFFORT_CHANNEL,
    .n_in = GR_ANY,
    .n_out = 1,
    .attr_size = sizeof(gr_batch_norm),
    .attrs = attrs,
    .infer = infer,
    .sharding_rules = rules,
    .localize = localize,
    .grad = grad,
    .cpu = batch_norm_cpu,
    .fast_f32 = run_fast,
    .fast_narrow = run_fast,
    .scratch = scratch,
    .gpu = gpu,
    .inplace = {1},
    .amp = GR_AMP_FIRST,
    .to_onnx = gr_batch_norm_onnx,
    .from_onnx = GR_FROM_ONNX({"BatchNormalization", gr_batch_norm_read}),
    .cases = cases,
};

// ---- The sums of the gradient -------------------------------------------------------------------

static gr_status sums_infer(gr_op_call *s) {
  GR_TRY(gr_channels_operands(s, attr_of(s->attr)->groups, "xxss"));
  gr_channels_results(s, attr_of(s->attr)->groups, "ss");
  return GR_OK;
}

static gr_status sums_rules(const gr_op_call *s, gr_sharding_rule *rule, int *n) {
  return gr_channels_rules(s, "xxss", "ss", rule, n);
}

static gr_status sums_cpu(const gr_launch *l) {
  const gr_batch_norm *a = l->attr;
  gr_channels g = gr_channels_of(l->in_type, a->groups);
  int64_t rows = g.samples * g.rows;
  for (int64_t channel = 0; channel < g.groups * g.c; channel++) {
    double sum = 0, product = 0, scale = 1 / sqrt(IN(3, channel) + a->eps);
    for (int64_t r = channel / g.c * rows; r < (channel / g.c + 1) * rows; r++) {
      double dy = IN(1, r * g.c + channel % g.c);
      sum += dy, product += dy * (IN(0, r * g.c + channel % g.c) - IN(2, channel)) * scale;
    }
    OUT(0, channel, sum), OUT(1, channel, product);
  }
  return GR_OK;
}

// The deviation is divided out at the end.
static void products(const gr_launch *l, const gr_channel_tile *t, const gr_channel_sum *to) {
  float room[2][GR_CHANNELS_TILE];
  const float *x = gr_channels_read(l->in_type, l->in[0], t, room[0]), *mean = to->mean;
  const float *dy = gr_channels_read(l->in_type, l->in[1], t, room[1]);
  float *restrict sum = to->sums, *restrict product = sum + to->width;
  GR_VECTOR for (int64_t i = 0; i < t->n; i++) {
    sum[i] += dy[i];
    product[i] += dy[i] * (x[i] - mean[i]);
  }
}

static gr_status sums_run(const gr_launch *l) {
  gr_channels g = gr_channels_of(l->in_type, attr_of(l->attr)->groups);
  double eps = attr_of(l->attr)->eps;
  gr_channels_sum(l, &g, 2, l->in[2], products);
  for (int64_t i = 0; i < g.groups * g.c; i++)
    OUT(1, i, (double)((const float *)l->out[1])[i] / sqrt(IN(3, i) + eps));
  return GR_OK;
}

static size_t sums_scratch(const gr_op_call *s) {
  gr_channels g = gr_channels_of(s->in, attr_of(s->attr)->groups);
  return gr_is_up_to_f32(s) ? gr_channels_scratch(&g, 2) : 0;
}

static gr_status sums_gpu(gr_gpu_call *g) {
  gr_channels of = gr_channels_of(g->call->in, attr_of(g->call->attr)->groups);
  gr_channels_sum_gpu(g, &of, 2, "GRADIENT", attr_of(g->call->attr)->eps);
  return GR_OK;
}

static const gr_case sums_cases[] = {
    {{"f32[4,6]", "f32[4,6]", "f32[1,6]", "f32[1,6]"}, .attr = &one, .fill = "nnnp"},
    {{"f32[6,5,3,7]", "f32[6,5,3,7]", "f32[1,7]", "f32[1,7]"}, .attr = &one, .fill = "ppzc"},
    {{"f32[12,30,6]", "f32[12,30,6]", "f32[2,6]", "f32[2,6]"}, .attr = &two, .fill = "nnnp"},
    {{"f32[2,3,130]", "f32[2,3,130]", "f32[1,130]", "f32[1,130]"}, .attr = &one, .fill = "nncc"},
    {{0}}};

const gr_op gr_op_batch_norm_sums = {
    .name = "batch_norm_sums",
    .doc =
        "The sums over the rows of each group of dy and of dy z, [groups, c] each, with z the "
        "normalised x: from x, dy, mean and var.",
    .effort = GR_EFFORT_CHANNEL,
    .n_in = 4,
    .n_out = 2,
    .attr_size = sizeof(gr_batch_norm),
    .attrs = attrs,
    .infer = sums_infer,
    .sharding_rules = sums_rules,
    .localize = localize,
    .grad = gr_batch_norm_sums_second,
    .cpu = sums_cpu,
    .fast_f32 = sums_run,
    .fast_narrow = sums_run,
    .scratch = sums_scratch,
    .gpu = sums_gpu,
    .amp = GR_AMP_WIDE,
    .cases = sums_cases,
};

// ---- The gradient by x --------------------------------------------------------------------------

static gr_status grad_infer(gr_op_call *s) {
  if (s->n_in != 5 && s->n_in != 9)
    return gr_fail(GR_ERR_TYPE, s->loc, "'batch_norm_grad' takes 5 or 9 operands, got %d", s->n_in);
  GR_TRY(gr_channels_operands(s, attr_of(s->attr)->groups, "xxsscnkss"));
  s->out[0] = s->in[0];
  return GR_OK;
}

static gr_status grad_rules(const gr_op_call *s, gr_sharding_rule *rule, int *n) {
  return gr_channels_rules(s, "xxsscnkss", "x", rule, n);
}

static gr_status grad_cpu(const gr_launch *l) {
  const gr_batch_norm *a = l->attr;
  gr_channels g = gr_channels_of(l->in_type, a->groups);
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++) {
    int64_t c = i % g.c, row = i / g.c, group = row / (g.samples * g.rows),
            channel = group * g.c + c;
    double s = 1 / sqrt(IN(3, channel) + a->eps), d = IN(1, i), z = (IN(0, i) - IN(2, channel)) * s;
    if (l->n_in == 9 && IN(6, group) > 0)
      d -= IN(5, row / g.rows) * (IN(7, channel) + z * IN(8, channel)) / IN(6, group);
    OUT(0, i, d * s * IN(4, c));
  }
  return GR_OK;
}

// dx = dy factor - w (x - mean) slope - w shift, with three numbers for each channel of each group.
static void grad_fold(const gr_launch *l, const gr_channels *g, float *folded) {
  int64_t n = g->groups * g->c;
  for (int64_t i = 0; i < n; i++) {
    double s = 1 / sqrt(IN(3, i) + attr_of(l->attr)->eps), f = s * IN(4, i % g->c);
    double count = l->n_in == 9 ? IN(6, i / g->c) : 0;
    folded[i] = (float)f;
    folded[n + i] = count > 0 ? (float)(f * s * IN(8, i) / count) : 0;
    folded[2 * n + i] = count > 0 ? (float)(f * IN(7, i) / count) : 0;
  }
}

static void grad_rows(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  gr_channels g = gr_channels_of(l->in_type, attr_of(l->attr)->groups);
  float tile[4][GR_CHANNELS_TILE], room[2][GR_CHANNELS_TILE];
  const float *mean = NULL, *f[3] = {NULL};
  for (int64_t next = begin * g.c, group = -1; next < end * g.c;) {
    gr_channel_tile t = gr_channels_tile(&g, next, end * g.c);
    const float *x = gr_channels_read(l->in_type, l->in[0], &t, room[0]);
    const float *dy = gr_channels_read(l->in_type, l->in[1], &t, room[1]);
    float *dx = gr_channels_place(l->out_type, l->out[0], &t, room[1]);
    float w = l->n_in == 9 ? ((const float *)l->in[5])[t.sample] : 0;
    if (t.group != group) {
      group = t.group;
      mean = gr_channels_repeat(&g, (const float *)l->in[2] + group * g.c, tile[3]);
      for (int k = 0; k < 3; k++)
        f[k] = gr_channels_repeat(&g, (const float *)l->scratch + (k * g.groups + group) * g.c,
                                  tile[k]);
    }
    const float *m = mean + t.channel, *a = f[0] + t.channel, *b = f[1] + t.channel;
    const float *c = f[2] + t.channel;
    GR_VECTOR for (int64_t i = 0; i < t.n; i++) dx[i] =
        dy[i] * a[i] - w * ((x[i] - m[i]) * b[i] + c[i]);
    gr_channels_store(l->out_type, l->out[0], &t, room[1]);
    next += t.n;
  }
}

static gr_status grad_run(const gr_launch *l) {
  gr_channels g = gr_channels_of(l->in_type, attr_of(l->attr)->groups);
  grad_fold(l, &g, l->scratch);
  gr_parallel(l, gr_rows(l->in_type), gr_row_grain(g.c), grad_rows, (void *)l);
  return GR_OK;
}

static size_t grad_scratch(const gr_op_call *s) {
  size_t n = (size_t)(attr_of(s->attr)->groups * gr_last(s->in));
  return gr_is_up_to_f32(s) ? 3 * n * sizeof(float) : 0;
}

static gr_status grad_gpu(gr_gpu_call *g) {
  gr_channels of = gr_channels_of(g->call->in, attr_of(g->call->attr)->groups);
  gr_gpu_kernel *k = elements(g, "batch_norm_grad", "BACKWARD", 9);
  gr_gpu_int(k, of.rows * of.c), gr_gpu_real(k, attr_of(g->call->attr)->eps);
  return GR_OK;
}

static const gr_case grad_cases[] = {
    {{"f32[4,6]", "f32[4,6]", "f32[1,6]", "f32[1,6]", "f32[6]"}, .attr = &one, .fill = "nnnpn"},
    {{"f32[6,5,7]", "f32[6,5,7]", "f32[1,7]", "f32[1,7]", "f32[7]", "f32[6]", "f32[1,1]",
      "f32[1,7]", "f32[1,7]"},
     .attr = &one,
     .fill = "nnnpnmpnn"},
    {{"f32[2,3,130]", "f32[2,3,130]", "f32[1,130]", "f32[1,130]", "f32[130]"},
     .attr = &one,
     .fill = "nnccn"},
    {{"f32[12,2,6]", "f32[12,2,6]", "f32[2,6]", "f32[2,6]", "f32[6]", "f32[12]", "f32[2,1]",
      "f32[2,6]", "f32[2,6]"},
     .attr = &two,
     .fill = "nnnpnmpnn"},
    {{0}}};

const gr_op gr_op_batch_norm_grad = {
    .name = "batch_norm_grad",
    .doc =
        "The gradient of batch_norm with respect to x, from x, dy, mean, var and scale, and, if "
        "the statistics are those of x, weights, counts and the sums of dy and dy z.",
    .effort = GR_EFFORT_CHANNEL,
    .n_in = GR_ANY,
    .n_out = 1,
    .attr_size = sizeof(gr_batch_norm),
    .attrs = attrs,
    .infer = grad_infer,
    .sharding_rules = grad_rules,
    .localize = localize,
    .grad = gr_batch_norm_second,
    .cpu = grad_cpu,
    .fast_f32 = grad_run,
    .fast_narrow = grad_run,
    .scratch = grad_scratch,
    .gpu = grad_gpu,
    .inplace = {2},
    .amp = GR_AMP_WIDE,
    .cases = grad_cases,
};
