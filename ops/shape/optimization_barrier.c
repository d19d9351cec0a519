// optimization_barrier.c - the same value under another name, as in XLA: what reads it is not the
// same node as what reads its operand. The recompute pass puts it where the backward pass computes
// values of the forward pass again (compiler/passes/recompute.c).
#include "ops/kernels/cpu.h"
#include "ops/kernels/gpu_parts.h"
#include "ops/ops.h"

static void grad(const gr_grad *g) { g->dx[0] = g->dy[0]; }

static const gr_case cases[] = {{{"f32[4,6]"}}, {{"i32[12]"}, .fill = "i"}, {{"bf16[8,3]"}}, {{0}}};

const gr_op gr_op_optimization_barrier = {
    .name = "optimization_barrier",
    .doc = "x itself; nodes that read it are never joined with equal nodes that read x.",
    .index_spec = "...->...",
    .padding = GR_PADDING_PRESERVED,
    .inplace = {1},
    .grad = grad,
    .cpu = gr_copy_all,
    .gpu = gr_gpu_copy_all,
    .cases = cases,
};
