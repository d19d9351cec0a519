// cpu_only.c - an optimizer that has a kernel for CPUs alone: w' = w - lr g scale. Its runs on
// other devices are refused before they start (optim.sh).
#include "ops/kernels/cpu.h"
#include "ops/ops.h"
#include "ops/optim/optim.h"

extern const gr_op gr_op_cpu_only;

static gr_status cpu_only_cpu(const gr_launch *l) {
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++)
    OUT(0, i, IN(0, i) - IN(2, 0) * IN(3, 0) * IN(1, i));
  return GR_OK;
}

static void emit(gr_optim_update *u) {
  u->next_w = GR_EMIT(u->b, &gr_op_cpu_only, NULL, u->w, u->g, u->lr, u->scale);
}

static const gr_optimizer optimizer = {.emit = emit};
static const gr_attr attrs[] = {{0}};
static const gr_case cases[] = {{{"f32[4,6]", "f32[4,6]", "f32[]", "f32[]"}}, {{0}}};

const gr_op gr_op_cpu_only = {
    .name = "cpu_only",
    .doc = "w' from w, gradient, lr, gradient scale.",
    .n_in = 4,
    .n_out = 1,
    .attrs = attrs,
    .index_spec = "...,...,,->...",
    .padding = GR_PADDING_PRESERVED,
    .optimizer = &optimizer,
    .cpu = cpu_only_cpu,
    .inplace = {1},
    .cases = cases,
};
