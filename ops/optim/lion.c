// lion.c - Lion (Chen et al., "Symbolic discovery of optimization algorithms", 2023, algorithm 2):
// the step is the sign of a running mean of gradients, with decoupled weight decay. Lion has one
// state where Adam has two.
#include <stdio.h>
#include "ops/kernels/gpu.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/ops.h"
#include "ops/optim/optim.h"

// The operands, in order; those after OK are the attributes, if they are operands.
enum { W, G, M, LR, SCALE, OK, BETA1, BETA2, DECAY, OPERANDS };
enum { GRAIN = 16384 };

typedef struct lion {
  double beta1, beta2, weight_decay;
} lion;

static lion params_of(const gr_launch *l) {
  if (l->n_in < OPERANDS) return *(const lion *)l->attr;
  return (lion){IN(BETA1, 0), IN(BETA2, 0), IN(DECAY, 0)};
}

static gr_status cpu(const gr_launch *l) {
  const lion p = params_of(l), *a = &p;
  double lr = IN(LR, 0), scale = IN(SCALE, 0);
  bool ok = IN(OK, 0) != 0;
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++) {
    double w = IN(W, i), m = IN(M, i), g = IN(G, i) * scale;
    double mean = a->beta1 * m + (1 - a->beta1) * g;
    double sign = (mean > 0) - (mean < 0);
    OUT(0, i, ok ? w * (1 - lr * a->weight_decay) - lr * sign : w);
    OUT(1, i, ok ? a->beta2 * m + (1 - a->beta2) * g : m);
  }
  return GR_OK;
}

static void part(void *arg, int64_t from, int64_t to) {
  const gr_launch *l = arg;
  const lion p = params_of(l), *a = &p;
  const float *w = l->in[W], *g = l->in[G], *m = l->in[M];
  float *to_w = l->out[0], *to_m = l->out[1];
  float lr = (float)IN(LR, 0), scale = (float)IN(SCALE, 0);
  float keep = (float)(1 - IN(LR, 0) * a->weight_decay);
  float b1 = (float)a->beta1, c1 = (float)(1 - a->beta1);
  float b2 = (float)a->beta2, c2 = (float)(1 - a->beta2);
  bool ok = IN(OK, 0) != 0;
  GR_VECTOR for (int64_t i = from; i < to; i++) {
    float d = g[i] * scale, mean = b1 * m[i] + c1 * d;
    float sign = (mean > 0 ? 1.0f : 0.0f) - (mean < 0 ? 1.0f : 0.0f);
    float next_m = ok ? b2 * m[i] + c2 * d : m[i];
    to_w[i] = ok ? w[i] * keep - lr * sign : w[i];
    to_m[i] = next_m;
  }
}

static gr_status run_f32(const gr_launch *l) {
  gr_parallel(l, gr_type_count(l->out_type), GRAIN, part, (void *)l);
  return GR_OK;
}

static gr_kernel fast(const gr_op_call *c) {
  bool all = gr_is_f32(c) && c->in[G].dtype == GR_F32 && c->in[M].dtype == GR_F32;
  return all ? run_f32 : NULL;
}

GR_CU(lion);

static gr_status gpu(gr_gpu_call *g) {
  const lion *a = g->call->attr;
  int64_t n = gr_type_count(g->call->out);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_lion, "lion", gr_gpu_items(n), GR_GPU_BLOCK);
  gr_gpu_int(k, n);
  gr_gpu_real(k, a->beta1), gr_gpu_real(k, a->beta2), gr_gpu_real(k, a->weight_decay);
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_PARAM(lion, beta1, "0.9", ">= 0 < 1",
             "weight of m in the interpolated gradient, whose sign is the step"),
    GR_PARAM(lion, beta2, "0.99", ">= 0 < 1", "decay of m, the running mean of gradients"),
    GR_PARAM(lion, weight_decay, "0", ">= 0",
             "decoupled: the weight is multiplied by 1 - lr weight_decay"),
    {0}};
static const gr_optimizer optimizer = {
    .states = {{"m", "running mean of gradients"}},
    .operands = "w g m lr scale ok beta1 beta2 weight_decay",
};
static void index_spec_of(const gr_op_call *c, char buf[128]) {
  snprintf(buf, 128, "...,...,...,,,%s->...,...", c->n_in > DECAY ? ",,," : "");
}
static const lion usual = {0.9, 0.99, 0.01};
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]", "f32[4,6]", "f32[]", "f32[]", "f32[]"}, &usual, .fill = "nnnss1"},
    {{"f32[6,2,37]", "f32[6,2,37]", "f32[6,2,37]", "f32[]", "f32[]", "f32[]"},
     &usual,
     .fill = "nnnss1"},
    {{"f32[4,6]", "f32[4,6]", "f32[4,6]", "f32[]", "f32[]", "f32[]"}, &usual, .fill = "nnnssz"},
    {{"f32[4,6]", "f32[4,6]", "f32[4,6]", "f32[]", "f32[]", "f32[]", "f64[]", "f64[]", "f64[]"},
     &usual,
     .fill = "nnnss1sss"},
    {{"f32[4,6]", "f32[4,5]", "f32[4,6]", "f32[]", "f32[]", "f32[]"},
     &usual,
     .fails = "sizes 6 and 5 differ"},
    {{0}},
};

const gr_op gr_op_lion = {
    .name = "lion",
    .doc =
        "w', m' from w, gradient, m, lr, gradient scale, ok: Lion, w - lr (sign(mean) + "
        "weight_decay w). The attributes may be operands, too: f64[], in their order.",
    .n_in = GR_ANY,
    .n_out = GR_ANY,
    .attr_size = sizeof(lion),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .padding = GR_PADDING_PRESERVED,
    .optimizer = &optimizer,
    .cpu = cpu,
    .fast = fast,
    .gpu = gpu,
    .multi_tensor = true,
    .inplace = {1 + W, 1 + M},
    .cases = cases,
};
