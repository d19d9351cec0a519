// clip_values.c - gradients whose elements are limited one by one (training.grad_clip_value), as
// torch.nn.utils.clip_grad_value_ does it.
#include "ops/kernels/formula.h"

typedef struct clip_values {
  double limit;
} clip_values;

GR_FORMULA(clip_values, clip_values, (EACH(g), ONE(scale), PARAM(limit)), (g),
           const T d = g * scale;
           g = d > limit    ? limit
               : d < -limit ? -limit
                            : d;)

static const gr_attr attrs[] = {
    GR_ATTR(clip_values, limit, GR_ATTR_FLOAT, NULL, "the largest magnitude of an element"), {0}};
static const clip_values tenth = {0.1};
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[]"}, .attr = &tenth, .fill = "ns"},
    {{"f32[6,3000]", "f32[]"}, .attr = &tenth, .fill = "ns"},
    {{"f32[5]", "f32[3]"}, .attr = &tenth, .fails = "has 1 axis; expected 0"},
    {{0}},
};

const gr_op gr_op_clip_values = {
    GR_FORMULA_FIELDS(clip_values),
    .doc =
        "A gradient times its scale, each element of which is at least -limit and at most limit.",
    .attr_size = sizeof(clip_values),
    .attrs = attrs,
    .index_spec = "...,->...",
    .padding = GR_PADDING_PRESERVED,
    .multi_tensor = true,
    .cases = cases,
};
