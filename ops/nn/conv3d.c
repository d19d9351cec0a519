// conv3d.c - convolution along three axes.
#include "ops/nn/conv.h"

static const struct gr_conv_attr one = {{1, {1}}, {1, {1}}, {1, {1}}, 1};
static const struct gr_conv_attr uneven = {{3, {1, 2, 3}}, {3, {2, 0, 1}}, {3, {2, 1, 1}}, 1};
static const struct gr_conv_attr groups = {{3, {2, 2, 1}}, {1, {1}}, {1, {1}}, 2};
static const gr_case cases[] = {
    {{"f32[2,3,4,5,2]", "f32[4,2,3,3,3]"}, .attr = &one},
    {{"f32[2,3,5,6,2]", "f32[6,2,3,2,3]", "f32[6]"}, .attr = &uneven},
    {{"f32[2,4,3,5,4]", "f32[6,2,2,3,2]"}, .attr = &groups},
    {{"f32[2,3,4,4]", "f32[4,2,3,3,3]"}, .attr = &one, .fails = "has 4 axes; expected 5"},
    {{0}},
};

const gr_op gr_op_conv3d = {
    GR_CONV_OP(3),
    .doc =
        "Convolution of x [n,d,h,w,c] with kernel w [out,c/groups,taps,taps,taps], plus an "
        "optional bias [out].",
    .from_onnx = GR_FROM_ONNX({NULL, NULL}),
    .cases = cases,
};
