// adam.c - Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019), in the order of
// operations that PyTorch documents. They differ only in where the weight decay is applied.
#include <stdio.h>
#include "ops/kernels/gpu.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/ops.h"
#include "ops/optim/optim.h"

// The operands, in order; those after OK are the attributes, if they are operands.
enum { W, G, M, V, LR, STEP, SCALE, OK, BETA1, BETA2, EPS, DECAY, OPERANDS };
enum { GRAIN = 16384 };

typedef struct adam {
  double beta1, beta2, eps;
  double weight_decay;  // adam: L2, added to the gradient; adamw: decoupled
} adam;

static adam params_of(const gr_launch *l) {
  if (l->n_in < OPERANDS) return *(const adam *)l->attr;
  return (adam){IN(BETA1, 0), IN(BETA2, 0), IN(EPS, 0), IN(DECAY, 0)};
}

// The factors that all elements of a launch share.
typedef struct rates {
  double step;             // lr / (1 - beta1^t)
  double root;             // 1 / sqrt(1 - beta2^t)
  double scale, l2, keep;  // factors of g; of w in the gradient; of w in the update
  bool ok;
} rates;

static rates rates_of(const gr_launch *l, const adam *a, bool decoupled) {
  double lr = IN(LR, 0), t = IN(STEP, 0) + 1;
  return (rates){.step = lr / (1 - pow(a->beta1, t)),
                 .root = 1 / sqrt(1 - pow(a->beta2, t)),
                 .scale = IN(SCALE, 0),
                 .l2 = decoupled ? 0 : a->weight_decay,
                 .keep = decoupled ? 1 - lr * a->weight_decay : 1,
                 .ok = IN(OK, 0) != 0};
}

static gr_status plain(const gr_launch *l, bool decoupled) {
  adam p = params_of(l), *a = &p;
  rates r = rates_of(l, a, decoupled);
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++) {
    double w = IN(W, i), m = IN(M, i), v = IN(V, i);
    if (r.ok) {
      double g = IN(G, i) * r.scale + r.l2 * w;
      m = a->beta1 * m + (1 - a->beta1) * g;
      v = a->beta2 * v + (1 - a->beta2) * g * g;
      w = w * r.keep - r.step * m / (sqrt(v) * r.root + a->eps);
    }
    OUT(0, i, w), OUT(1, i, m), OUT(2, i, v);
  }
  return GR_OK;
}

static void update(const adam *a, const rates *r, const gr_launch *l, int64_t from, int64_t to) {
  const float *w = l->in[W], *g = l->in[G], *m = l->in[M], *v = l->in[V];
  float *to_w = l->out[0], *to_m = l->out[1], *to_v = l->out[2];
  float b1 = (float)a->beta1, c1 = (float)(1 - a->beta1), b2 = (float)a->beta2;
  float c2 = (float)(1 - a->beta2), eps = (float)a->eps, step = (float)r->step;
  float root = (float)r->root, scale = (float)r->scale, l2 = (float)r->l2, keep = (float)r->keep;
  GR_VECTOR for (int64_t i = from; i < to; i++) {
    float d = g[i] * scale + l2 * w[i];
    float m1 = b1 * m[i] + c1 * d, v1 = b2 * v[i] + c2 * d * d;
    to_w[i] = w[i] * keep - step * m1 / (sqrtf(v1) * root + eps);
    to_m[i] = m1, to_v[i] = v1;
  }
}

static void update_part(const gr_launch *l, bool decoupled, int64_t from, int64_t to) {
  static const int of[3] = {W, M, V};
  adam a = params_of(l);
  rates r = rates_of(l, &a, decoupled);
  if (r.ok) update(&a, &r, l, from, to);
  for (int k = 0; k < 3 && !r.ok; k++)
    memmove((float *)l->out[k] + from, (const float *)l->in[of[k]] + from,
            sizeof(float) * (size_t)(to - from));
}

static gr_status adam_cpu(const gr_launch *l) { return plain(l, false); }
static gr_status adamw_cpu(const gr_launch *l) { return plain(l, true); }

static void adam_part(void *arg, int64_t from, int64_t to) { update_part(arg, false, from, to); }
static void adamw_part(void *arg, int64_t from, int64_t to) { update_part(arg, true, from, to); }

static gr_status adam_f32(const gr_launch *l) {
  gr_parallel(l, gr_type_count(l->out_type), GRAIN, adam_part, (void *)l);
  return GR_OK;
}
static gr_status adamw_f32(const gr_launch *l) {
  gr_parallel(l, gr_type_count(l->out_type), GRAIN, adamw_part, (void *)l);
  return GR_OK;
}

static bool all_f32(const gr_op_call *s) {
  return gr_is_f32(s) && s->in[G].dtype == GR_F32 && s->in[M].dtype == GR_F32 &&
         s->in[V].dtype == GR_F32;
}
static gr_kernel adam_fast(const gr_op_call *s) { return all_f32(s) ? adam_f32 : NULL; }
static gr_kernel adamw_fast(const gr_op_call *s) { return all_f32(s) ? adamw_f32 : NULL; }

GR_CU(adam);

static gr_status gpu(gr_gpu_call *g) {
  const adam *a = g->call->attr;
  int64_t n = gr_type_count(g->call->out);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_adam, "adam", gr_gpu_items(n), GR_GPU_BLOCK);
  gr_gpu_int(k, n), gr_gpu_int(k, g->call->op == &gr_op_adamw);
  gr_gpu_real(k, a->beta1), gr_gpu_real(k, a->beta2), gr_gpu_real(k, a->eps);
  gr_gpu_real(k, a->weight_decay);
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_PARAM(adam, beta1, "0.9", ">= 0 < 1", "decay of the running mean of gradients"),
    GR_PARAM(adam, beta2, "0.999", ">= 0 < 1", "decay of the running mean of squared gradients"),
    GR_PARAM(adam, eps, "1e-8", "> 0", "added to the root of the second moment"),
    GR_PARAM(adam, weight_decay, "0", ">= 0",
             "adam: L2, added to the gradient; adamw: decoupled, w is multiplied by 1 - lr "
             "weight_decay"),
    {0}};
static const gr_optimizer optimizer = {
    .states = {{"m", "running mean of gradients"}, {"v", "running mean of squared gradients"}},
    .operands = "w g m v lr step scale ok beta1 beta2 eps weight_decay",
};
static void index_spec_of(const gr_op_call *c, char buf[128]) {
  snprintf(buf, 128, "...,...,...,...,,,,%s->...,...,...", c->n_in > DECAY ? ",,,," : "");
}
static const adam usual = {0.9, 0.999, 1e-8, 0.01};
#define OPERANDS_OF(t) \
  { t, t, t, t, "f32[]", "i32[]", "f32[]", "f32[]" }
#define ALL_OPERANDS_OF(t) \
  { t, t, t, t, "f32[]", "i32[]", "f32[]", "f32[]", "f64[]", "f64[]", "f64[]", "f64[]" }
static const gr_case cases[] = {
    {OPERANDS_OF("f32[4,6]"), .attr = &usual, .fill = "nnnpsis1"},
    {OPERANDS_OF("f32[6,2,37]"), .attr = &usual, .fill = "nnnpsis1"},
    {OPERANDS_OF("f32[4,6]"), .attr = &usual, .fill = "nnnpsisz"},
    {ALL_OPERANDS_OF("f32[4,6]"), .attr = &usual, .fill = "nnnpsis1ssss"},
    {ALL_OPERANDS_OF("f32[6,2,37]"), .attr = &usual, .fill = "nnnpsis1ssss"},
    {{0}},
};

const gr_op gr_op_adam = {
    .name = "adam",
    .doc =
        "w', m', v' from w, gradient, m, v, lr, step, gradient scale, ok: Adam with L2 weight "
        "decay. The attributes may be operands, too: f64[], in their order.",
    .n_in = GR_ANY,
    .n_out = GR_ANY,
    .attr_size = sizeof(adam),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .padding = GR_PADDING_PRESERVED,
    .optimizer = &optimizer,
    .cpu = adam_cpu,
    .fast = adam_fast,
    .gpu = gpu,
    .multi_tensor = true,
    .inplace = {1 + W, 1 + M, 1 + V},
    .cases = cases,
};

const gr_op gr_op_adamw = {
    .name = "adamw",
    .doc =
        "w', m', v' from w, gradient, m, v, lr, step, gradient scale, ok: Adam with decoupled "
        "weight decay. The attributes may be operands, too: f64[], in their order.",
    .n_in = GR_ANY,
    .n_out = GR_ANY,
    .attr_size = sizeof(adam),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .padding = GR_PADDING_PRESERVED,
    .optimizer = &optimizer,
    .cpu = adamw_cpu,
    .fast = adamw_fast,
    .gpu = gpu,
    .multi_tensor = true,
    .inplace = {1 + W, 1 + M, 1 + V},
    .cases = cases,
};
