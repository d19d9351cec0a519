// less.c - elementwise comparison.
#include "ops/kernels/pointwise.h"

gr_val gr_less(gr_builder *b, gr_val x, gr_val y) { return GR_EMIT(b, &gr_op_less, NULL, x, y); }

GR_POINTWISE2(less, x0 < x1 ? 1.0f : 0.0f)

static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]"}}, {{"i32[5]", "i32[5]"}, .fill = "ii"}, {{0}}};

const gr_op gr_op_less = {
    GR_POINTWISE_FIELDS(less),
    .doc = "1 where x < y, else 0, in the dtype of x.",
    .n_in = 2,
    .index_spec = "...,...->...",
    .infer = gr_pointwise_infer,
    .grad = gr_grad_zero,
    .cases = cases,
};
