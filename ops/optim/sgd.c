// sgd.c - stochastic gradient descent, with optional momentum, as PyTorch defines it.
#include <stdio.h>
#include "ops/kernels/gpu.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/ops.h"
#include "ops/optim/optim.h"

typedef struct sgd {
  double momentum;      // used if there is a state m
  double weight_decay;  // L2: added to the gradient
} sgd;

// The operands w, g, lr, scale and ok are followed by m, if there is one, and by the attributes, if
// they are operands.
enum { FIRST = 5 };

static bool has_m(int n_in) { return n_in % 2 == 0; }

static sgd params_of(const gr_launch *l) {
  if (l->n_in <= FIRST + 1) return *(const sgd *)l->attr;
  return (sgd){IN(l->n_in - 2, 0), IN(l->n_in - 1, 0)};
}

// ---- Without momentum: d = g scale + decay w; w' = w - lr d ----------------------------------

enum { GRAIN = 16384 };

static double scalar(const gr_launch *l, int k) { return IN(k, 0); }

static gr_status plain_cpu(const gr_launch *l) {
  const sgd p = params_of(l), *a = &p;
  double lr = scalar(l, 2), scale = scalar(l, 3);
  bool ok = scalar(l, 4) != 0;
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++) {
    double w = IN(0, i), d = IN(1, i) * scale + a->weight_decay * w;
    OUT(0, i, ok ? w - lr * d : w);
  }
  return GR_OK;
}

static void plain_part(void *arg, int64_t from, int64_t to) {
  const gr_launch *l = arg;
  float lr = (float)scalar(l, 2), scale = (float)scalar(l, 3);
  float decay = (float)params_of(l).weight_decay;
  const float *w = l->in[0], *g = l->in[1];
  float *to_w = l->out[0];
  bool ok = scalar(l, 4) != 0;
  GR_VECTOR for (int64_t i = from; i < to; i++) to_w[i] =
      ok ? w[i] - lr * (g[i] * scale + decay * w[i]) : w[i];
}

static gr_status plain_run_f32(const gr_launch *l) {
  gr_parallel(l, gr_type_count(l->out_type), GRAIN, plain_part, (void *)l);
  return GR_OK;
}

// ---- With momentum: d = g scale + decay w; m' = mu m + d; w' = w - lr m' -----------------------

static gr_status momentum_cpu(const gr_launch *l) {
  const sgd p = params_of(l), *a = &p;
  double lr = scalar(l, 2), scale = scalar(l, 3);
  bool ok = scalar(l, 4) != 0;
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++) {
    double w = IN(0, i), m = IN(5, i), d = IN(1, i) * scale + a->weight_decay * w;
    double next = ok ? a->momentum * m + d : m;
    OUT(0, i, ok ? w - lr * next : w);
    OUT(1, i, next);
  }
  return GR_OK;
}

static void momentum_part(void *arg, int64_t from, int64_t to) {
  const gr_launch *l = arg;
  const sgd p = params_of(l), *a = &p;
  float lr = (float)scalar(l, 2), scale = (float)scalar(l, 3);
  float mu = (float)a->momentum, decay = (float)a->weight_decay;
  const float *w = l->in[0], *g = l->in[1], *m = l->in[5];
  float *to_w = l->out[0], *to_m = l->out[1];
  bool ok = scalar(l, 4) != 0;
  GR_VECTOR for (int64_t i = from; i < to; i++) {
    float next = ok ? mu * m[i] + (g[i] * scale + decay * w[i]) : m[i];
    to_w[i] = ok ? w[i] - lr * next : w[i];
    to_m[i] = next;
  }
}

static gr_status momentum_run_f32(const gr_launch *l) {
  gr_parallel(l, gr_type_count(l->out_type), GRAIN, momentum_part, (void *)l);
  return GR_OK;
}

// ---- The op -----------------------------------------------------------------------------------

static void index_spec_of(const gr_op_call *s, char buf[128]) {
  bool m = has_m(s->n_in);
  snprintf(buf, 128, "...,...,,,%s%s->...%s", m ? ",..." : "", s->n_in > FIRST + 1 ? ",," : "",
           m ? ",..." : "");
}

static gr_status cpu(const gr_launch *l) { return (has_m(l->n_in) ? momentum_cpu : plain_cpu)(l); }

static gr_kernel fast(const gr_op_call *s) {
  if (!gr_is_f32(s) || s->in[1].dtype != GR_F32) return NULL;
  return has_m(s->n_in) ? momentum_run_f32 : plain_run_f32;
}

GR_CU(sgd);

static gr_status gpu(gr_gpu_call *g) {
  const sgd *a = g->call->attr;
  int64_t n = gr_type_count(g->call->out);
  bool m = has_m(g->call->n_in), set = g->call->n_in > FIRST + 1;
  gr_gpu_kernel *k =
      gr_gpu_kernel_add(g, gr_cu_sgd, m ? "sgd_momentum" : "sgd", gr_gpu_items(n), GR_GPU_BLOCK);
  if (m) gr_gpu_define(g, k, "MOMENTUM", "1");
  if (set) gr_gpu_define(g, k, "SET", "1");
  gr_gpu_int(k, n);
  gr_gpu_real(k, a->momentum), gr_gpu_real(k, a->weight_decay);
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_PARAM(sgd, momentum, "0", ">= 0 < 1", "factor of the previous step; 0: none"),
    GR_PARAM(sgd, weight_decay, "0", ">= 0", "L2: added to the gradient"),
    {0}};
static const gr_optimizer optimizer = {
    .states = {{"m", "momentum buffer, the decayed sum of gradients", .when = "momentum"}},
    .operands = "w g lr scale ok m momentum weight_decay",
};
static const sgd plain = {0, 0.01}, heavy = {0.9, 0.01};
#define OPERANDS "f32[4,6]", "f32[4,6]", "f32[]", "f32[]", "f32[]"
static const gr_case cases[] = {
    {{OPERANDS}, .attr = &plain, .fill = "nnss1"},
    {{OPERANDS}, .attr = &plain, .fill = "nnssz"},
    {{OPERANDS, "f32[4,6]"}, .attr = &heavy, .fill = "nnss1n"},
    {{OPERANDS, "f32[4,6]"}, .attr = &heavy, .fill = "nnsszn"},
    {{OPERANDS, "f64[]", "f64[]"}, .attr = &plain, .fill = "nnss1ss"},
    {{OPERANDS, "f32[4,6]", "f64[]", "f64[]"}, .attr = &heavy, .fill = "nnss1nss"},
    {{0}},
};

const gr_op gr_op_sgd = {
    .name = "sgd",
    .doc =
        "w' from w, gradient, lr, gradient scale, ok: w - lr d, d = g scale + weight_decay w. With "
        "the optional operand m also m' = momentum m + d, and w' = w - lr m'. The attributes may "
        "be "
        "operands, too: f64[], in their order.",
    .n_in = GR_ANY,
    .n_out = GR_ANY,
    .attr_size = sizeof(sgd),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .padding = GR_PADDING_PRESERVED,
    .optimizer = &optimizer,
    .cpu = cpu,
    .fast = fast,
    .gpu = gpu,
    .multi_tensor = true,
    .inplace = {1, 6},
    .cases = cases,
};
