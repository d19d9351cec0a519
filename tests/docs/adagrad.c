// adagrad.c - Adagrad (Duchi, Hazan and Singer, 2011), as torch.optim.Adagrad without lr_decay.
#include <math.h>
#include "ops/kernels/operands.h"
#include "ops/ops.h"
#include "ops/optim/optim.h"

enum { W, G, SUM, LR, SCALE, OK, OPERANDS };  // the operands, in order

typedef struct adagrad {
  double eps, initial;
} adagrad;

static gr_status cpu(const gr_launch *l) {
  const adagrad *a = l->attr;
  double lr = IN(LR, 0), scale = IN(SCALE, 0);
  bool ok = IN(OK, 0) != 0;
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++) {
    double w = IN(W, i), g = IN(G, i) * scale, sum = IN(SUM, i) + (ok ? g * g : 0);
    OUT(0, i, ok ? w - lr * g / (sqrt(sum) + a->eps) : w);
    OUT(1, i, sum);
  }
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_PARAM(adagrad, eps, "1e-10", "> 0", "added to the root of the sum"),
    GR_PARAM(adagrad, initial, "0.1", ">= 0", "what the sum of squares starts as"),
    {0}};
static const gr_optimizer optimizer = {
    .states = {{"sum", "sum of squared gradients", .initial = "initial"}},
    .operands = "w g sum lr scale ok",
};
static const adagrad usual = {1e-10, 0.1};
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]", "f32[4,6]", "f32[]", "f32[]", "f32[]"}, &usual, .fill = "nnpss1"},
    {{"f32[5]", "f32[5]", "f32[5]", "f32[]", "f32[]", "f32[]"}, &usual, .fill = "nnpssz"},
    {{0}}};

const gr_op gr_op_adagrad = {
    .name = "adagrad",
    .doc = "w', sum' from w, gradient, sum, lr, gradient scale, ok: w - lr g / (sqrt(sum') + eps).",
    .n_in = OPERANDS,
    .n_out = 2,
    .attr_size = sizeof(adagrad),
    .attrs = attrs,
    .index_spec = "...,...,...,,,->...,...",
    .padding = GR_PADDING_PRESERVED,
    .optimizer = &optimizer,
    .cpu = cpu,
    .inplace = {1 + W, 1 + SUM},
    .cases = cases,
};
