// conv1d.c - convolution along time.
#include "ops/nn/conv.h"

static const struct gr_conv_attr one = {{1, {1}}, {1, {0}}, {1, {1}}, 1};
static const struct gr_conv_attr wide = {{1, {2}}, {1, {2}}, {1, {2}}, 1};
static const gr_case cases[] = {
    {{"f32[6,7,4]", "f32[6,4,3]"}, .attr = &one},
    {{"f32[6,9,4]", "f32[6,4,3]", "f32[6]"}, .attr = &wide},
    {{"f32[6,7,4]", "f32[6,2,3]"}, .attr = &(struct gr_conv_attr){{1, {1}}, {1, {1}}, {1, {1}}, 2}},
    {{"f32[6,2,4]", "f32[6,4,3]"}, .attr = &one, .fails = "axis 1 has 2 elements"},
    {{"f32[6,7,4]", "f32[6,5,3]"}, .attr = &one, .fails = "sizes 4 and 5 differ"},
    {{"f32[6,7,4]", "f32[6,4,3]"},
     .attr = &(struct gr_conv_attr){{1, {0}}, {1, {0}}, {1, {1}}, 1},
     .fails = "stride of conv1d is 0"},
    {{0}},
};

const gr_op gr_op_conv1d = {
    GR_CONV_OP(1),
    .doc =
        "Convolution of x [n,t,c] along t with kernel w [out,c/groups,taps], plus an optional "
        "bias [out].",
    .from_onnx = GR_FROM_ONNX({NULL, NULL}),
    .cases = cases,
};
