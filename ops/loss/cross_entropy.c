// cross_entropy.c - cross-entropy loss and its gradient. Class weights, label smoothing and ignored
// labels follow PyTorch's definitions.
#include "ops/kernels/composed.h"
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/kernels/widen.h"
#include "ops/loss/score.h"
#include "ops/ops.h"

GR_CU(cross_entropy);
GR_CU(cross_entropy_grad);

struct cross_entropy {
  double smoothing;
  int64_t ignore_index;
};

// Probabilities in place of labels: they have the logits' axes, so that infer says what makes it.
static bool is_of_probabilities(const gr_op_call *s) {
  return gr_dtypes[s->in[1].dtype].is_float && s->in[1].rank == s->in[0].rank && s->in[1].rank;
}

// The operands: logits [n,...,V], labels [n,...], optional class weights [V].
static void index_spec_of(const gr_op_call *s, char buf[128]) {
  const char *rest = s->n_in == 3 ? ",V->n,n" : "->n,n";
  char x[GR_MAX_RANK + 1];
  if (!is_of_probabilities(s)) {
    gr_score_axes(s, buf, rest);
    return;
  }
  gr_letters(x, "n", s->in[0].rank);
  x[s->in[0].rank - 1] = 'V';
  snprintf(buf, 128, "%s,%s%s", x, x, rest);
}

static gr_status infer(gr_op_call *s) {
  const struct cross_entropy *a = s->attr;
  if (is_of_probabilities(s))
    return gr_hint(gr_fail(GR_ERR_TYPE, s->loc,
                           "labels of 'cross_entropy' must be i32 numbers of classes, not "
                           "probabilities"),
                   "of probabilities p it is {soft_cross_entropy: [logits, p]}");
  GR_TRY(gr_score_infer(s));
  if (s->n_in == 3) GR_TRY(gr_require_wide(s, 2, "class weights"));
  if (a->smoothing < 0 || a->smoothing > 1)
    return gr_fail(GR_ERR_TYPE, s->loc, "label smoothing must be from 0 to 1, not %g",
                   a->smoothing);
  return GR_OK;
}

static void grad(const gr_grad *g) {
  if (g->n_in == 3 && g->want[2] && !g->b->err)
    g->b->err = gr_hint(gr_fail(GR_ERR_UNSUPPORTED, g->b->loc,
                                "cross_entropy has no gradient for its class weights"),
                        "class weights must be a constant, not a trained weight");
  if (!g->want[0] || !gr_is(g->dy[0])) return;
  g->dx[0] =
      g->n_in == 3
          ? GR_EMIT(g->b, &gr_op_cross_entropy_grad, g->attr, g->x[0], g->x[1], g->dy[0], g->x[2])
          : GR_EMIT(g->b, &gr_op_cross_entropy_grad, g->attr, g->x[0], g->x[1], g->dy[0]);
}

static double class_weight(const gr_launch *l, int k, int64_t class) {
  return l->n_in > k ? IN(k, class) : 1;
}

static double total_class_weight(const gr_launch *l, int k, int64_t v) {
  double s = 0;
  for (int64_t i = 0; i < v; i++) s += class_weight(l, k, i);
  return s;
}

static gr_status check(const gr_launch *l) {
  const struct cross_entropy *a = l->attr;
  return gr_check_labels(l, gr_last(l->in_type), a->ignore_index);
}

// loss = (1 - e) w[y] (lse - x[y]) + e / V sum_i w[i] (lse - x[i])
static gr_status cross_entropy_cpu(const gr_launch *l) {
  const struct cross_entropy *a = l->attr;
  int64_t v = gr_last(l->in_type), n = l->in_type[0].dim[0], rows = gr_rows(l->in_type) / n;
  GR_TRY(check(l));
  double e = a->smoothing, all = total_class_weight(l, 2, v);
  for (int64_t s = 0; s < n; s++) {
    double loss = 0, weight = 0;
    for (int64_t r = s * rows; r < (s + 1) * rows; r++) {
      int64_t y = (int64_t)IN(1, r);
      if (y == a->ignore_index) continue;
      double lse = gr_log_sum_exp(l, r, v), w = class_weight(l, 2, y), mean = all * lse;
      for (int64_t i = 0; e > 0 && i < v; i++) mean -= class_weight(l, 2, i) * IN(0, r * v + i);
      loss += (1 - e) * w * (lse - IN(0, r * v + y)) + e / (double)v * mean;
      weight += w;
    }
    OUT(0, s, loss), OUT(1, s, weight);
  }
  return GR_OK;
}

static void samples_f32(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  const struct cross_entropy *a = l->attr;
  int64_t v = gr_last(l->in_type), rows = gr_rows(l->in_type) / l->in_type[0].dim[0];
  const float *w = l->n_in == 3 ? l->in[2] : NULL;
  double e = a->smoothing, all = total_class_weight(l, 2, v);
  for (int64_t s = begin; s < end; s++) {
    double loss = 0, weight = 0;
    for (int64_t r = s * rows; r < (s + 1) * rows; r++) {
      const float *x = (const float *)l->in[0] + r * v;
      int64_t y = ((const int32_t *)l->in[1])[r];
      if (y == a->ignore_index) continue;
      double lse = (double)gr_log_sum_exp_f32(x, v), wy = w ? (double)w[y] : 1, mean = 0;
      if (e > 0) mean = all * lse - (double)(w ? gr_dot_f32(w, x, v) : gr_sum_f32(x, v));
      loss += (1 - e) * wy * (lse - (double)x[y]) + e / (double)v * mean;
      weight += wy;
    }
    ((float *)l->out[0])[s] = (float)loss, ((float *)l->out[1])[s] = (float)weight;
  }
}

static gr_status run_f32(const gr_launch *l) {
  int64_t n = l->in_type[0].dim[0], sample = gr_type_count(l->in_type) / n;
  GR_TRY(check(l));
  gr_parallel(l, n, gr_row_grain(sample), samples_f32, (void *)l);
  return GR_OK;
}

// Class weights have no samples. Labels are checked here, where their numbers are the batch's.
static const gr_samples samples = {1u << 0 | 1u << 1, false}, grad_samples = {7, false};

static gr_status run_narrow(const gr_launch *l) {
  GR_TRY(check(l));
  return gr_run_widened(l, samples, run_f32);
}
static size_t scratch(const gr_op_call *s) { return gr_widened_scratch(s, samples, 0); }

static gr_status gpu(gr_gpu_call *g) {
  const struct cross_entropy *a = g->call->attr;
  gr_gpu_kernel *k = gr_score_rows(g, gr_cu_cross_entropy, "cross_entropy");
  gr_gpu_int(k, a->ignore_index), gr_gpu_real(k, a->smoothing);
  gr_score_sums(g, k, gr_rows(&g->call->in[0]));
  return GR_OK;
}

static const gr_attr attrs[] = {GR_ATTR(struct cross_entropy, smoothing, GR_ATTR_FLOAT, "0",
                                        "probability that is spread evenly over all classes"),
                                GR_ATTR(struct cross_entropy, ignore_index, GR_ATTR_INT, "-100",
                                        "labels with this value are ignored"),
                                {0}};
static const struct cross_entropy usual = {0, -100}, smooth = {0.1, 1};
static const gr_case cases[] = {
    {{"f32[6,20]", "i32[6]"}, .attr = &usual, .fill = "ni"},
    {{"f32[6,3,20]", "i32[6,3]"}, .attr = &smooth, .fill = "ni"},
    {{"f32[6,3,20]", "i32[6,3]", "f32[20]"}, .attr = &smooth, .fill = "nic"},
    {{"f32[6,20]", "f32[6]"}, .attr = &usual, .fails = "labels of 'cross_entropy' must be i32"},
    {{"f32[6,20]", "f32[6,20]"}, .attr = &usual, .fails = "must be i32 numbers of classes"},
    {{"f32[6,20]", "i32[5]"}, .attr = &usual, .fails = "sizes 6 and 5 differ"},
    {{0}},
};

const gr_op gr_op_cross_entropy = {
    .name = "cross_entropy",
    .doc =
        "Per sample, the sum of -log softmax(logits)[label], each times the weight of its label, "
        "and the sum of these weights. The optional third operand gives the class weights, else 1.",
    .efforts = gr_softmax_efforts,
    .n_in = GR_ANY,
    .attr_size = sizeof(struct cross_entropy),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .infer = infer,
    .grad = grad,
    .check = check,
    .cpu = cross_entropy_cpu,
    .fast_f32 = run_f32,
    .fast_narrow = run_narrow,
    .scratch = scratch,
    .gpu = gpu,
    .amp = GR_AMP_FIRST,
    .cases = cases,
};

// ---- The gradient with respect to the logits ------------------------------------------------
// dy ((1 - e) w[y] (p - onehot(y)) + e / V (p sum(w) - w))

static void grad_index_spec_of(const gr_op_call *s, char buf[128]) {
  char x[GR_MAX_RANK + 1], after[32];
  gr_letters(x, "n", s->in[0].rank);
  if (s->in[0].rank) x[s->in[0].rank - 1] = 'V';
  snprintf(after, sizeof after, s->n_in == 4 ? ",n,V->%s" : ",n->%s", x);
  gr_score_axes(s, buf, after);
}

static gr_status grad_infer(gr_op_call *s) {
  GR_TRY(gr_score_labels(s));
  return gr_require_wide(s, 2, "the gradient");
}

static gr_status grad_cpu(const gr_launch *l) {
  const struct cross_entropy *a = l->attr;
  int64_t v = gr_last(l->in_type), n = l->in_type[0].dim[0], rows = gr_rows(l->in_type);
  GR_TRY(check(l));
  double e = a->smoothing, all = total_class_weight(l, 3, v);
  for (int64_t r = 0; r < rows; r++) {
    int64_t y = (int64_t)IN(1, r);
    double dy = y == a->ignore_index ? 0 : IN(2, r / (rows / n)), lse = gr_log_sum_exp(l, r, v);
    double w = dy != 0 ? class_weight(l, 3, y) : 0;
    for (int64_t i = 0; i < v; i++) {
      double p = exp(IN(0, r * v + i) - lse);
      double smoothed = e / (double)v * (p * all - class_weight(l, 3, i));
      OUT(0, r * v + i, dy == 0 ? 0 : dy * ((1 - e) * w * (p - (i == y)) + smoothed));
    }
  }
  return GR_OK;
}

static void grad_rows_f32(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  const struct cross_entropy *a = l->attr;
  int64_t v = gr_last(l->in_type), per = gr_rows(l->in_type) / l->in_type[0].dim[0];
  const float *w = l->n_in == 4 ? l->in[3] : NULL;
  float e = (float)a->smoothing, all = (float)total_class_weight(l, 3, v);
  for (int64_t r = begin; r < end; r++) {
    const float *x = (const float *)l->in[0] + r * v;
    float *dx = (float *)l->out[0] + r * v, dy = ((const float *)l->in[2])[r / per];
    int64_t y = ((const int32_t *)l->in[1])[r];
    if (y == a->ignore_index) memset(dx, 0, sizeof *dx * (size_t)v);
    if (y == a->ignore_index) continue;
    float lse = gr_log_sum_exp_f32(x, v), hit = dy * (1 - e) * (w ? w[y] : 1);
    float part = e / (float)v * dy, f = hit + part * all;
    GR_VECTOR for (int64_t i = 0; i < v; i++) dx[i] = gr_exp_f32(x[i] - lse) * f;
    for (int64_t i = 0; part != 0 && i < v; i++) dx[i] -= part * (w ? w[i] : 1);
    dx[y] -= hit;
  }
}

static gr_status grad_run_f32(const gr_launch *l) {
  int64_t v = gr_last(l->in_type);
  GR_TRY(check(l));
  gr_parallel(l, gr_rows(l->in_type), gr_row_grain(v), grad_rows_f32, (void *)l);
  return GR_OK;
}

static gr_status grad_run_narrow(const gr_launch *l) {
  GR_TRY(check(l));
  return gr_run_widened(l, grad_samples, grad_run_f32);
}
static size_t grad_scratch(const gr_op_call *s) { return gr_widened_scratch(s, grad_samples, 0); }

static gr_status grad_gpu(gr_gpu_call *g) {
  const struct cross_entropy *a = g->call->attr;
  const gr_type *x = &g->call->in[0];
  int64_t rows = gr_rows(x), n = gr_last(x);
  gr_gpu_kernel *k = gr_gpu_rows(g, gr_cu_cross_entropy_grad, "cross_entropy_grad",
                                 g->call->in[0].dtype, rows, n, 1024);
  gr_gpu_int(k, rows), gr_gpu_int(k, n), gr_gpu_int(k, rows / x->dim[0]);
  gr_gpu_int(k, a->ignore_index), gr_gpu_real(k, a->smoothing);
  return GR_OK;
}

static const gr_case grad_cases[] = {
    {{"f32[6,3,20]", "i32[6,3]", "f32[6]"}, .attr = &smooth, .fill = "nin"},
    {{"f32[6,3,20]", "i32[6,3]", "f32[6]", "f32[20]"}, .attr = &smooth, .fill = "ninp"},
    {{0}},
};

// With the distribution t = w ((1 - e) onehot(y) + e / V), the gradient is dy (p sum(t) - t), or 0
// where the label is ignored.
static void compose(gr_builder *b, const gr_grad *of, const gr_val *x, gr_val *y) {
  const struct cross_entropy *a = of->attr;
  if (b->err) return;
  const gr_type logits = gr_at(b->g, x[0])->type, labels = gr_at(b->g, x[1])->type;
  gr_dtype wide = gr_at(b->g, x[2])->type.dtype;
  int64_t v = gr_last(&logits);
  gr_val p = gr_softmax(b, gr_cast(b, x[0], wide), GR_NONE, false);
  gr_val t = gr_scale(b, gr_one_hot(b, x[1], v, wide), 1 - a->smoothing);
  t = gr_add_scalar(b, t, a->smoothing / (double)v);
  if (of->n_in == 4) t = gr_scale_columns(b, t, x[3]);
  gr_val none = gr_fill(b, &labels, (double)a->ignore_index);
  gr_val counts = gr_add(b, gr_less(b, x[1], none), gr_less(b, none, x[1]));
  gr_val dy = gr_mul(b, gr_broadcast_samples(b, x[2], x[1]), gr_cast(b, counts, wide));
  dy = gr_mul(b, gr_broadcast(b, dy, labels.rank, v),
              gr_sub(b, gr_mul(b, p, gr_row_sums(b, t)), t));
  y[0] = gr_cast(b, dy, logits.dtype);
}

static void second(const gr_grad *g) { gr_grad_of_composition(g, compose); }

const gr_op gr_op_cross_entropy_grad = {
    .name = "cross_entropy_grad",
    .doc =
        "The gradient of cross_entropy with respect to the logits, from logits, labels, dy and "
        "optional class weights.",
    .efforts = gr_softmax_efforts,
    .n_in = GR_ANY,
    .attr_size = sizeof(struct cross_entropy),
    .attrs = attrs,
    .index_spec_of = grad_index_spec_of,
    .infer = grad_infer,
    .grad = second,
    .check = check,
    .cpu = grad_cpu,
    .fast_f32 = grad_run_f32,
    .fast_narrow = grad_run_narrow,
    .scratch = grad_scratch,
    .gpu = grad_gpu,
    .inplace = {1},
    .amp = GR_AMP_FIRST,
    .cases = grad_cases,
};
