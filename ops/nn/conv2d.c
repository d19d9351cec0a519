// conv2d.c - convolution along two axes.
#include "ops/nn/conv.h"

static const struct gr_conv_attr one = {{1, {1}}, {1, {0}}, {1, {1}}, 1};
static const struct gr_conv_attr uneven = {{2, {2, 1}}, {2, {1, 2}}, {2, {1, 2}}, 1};
static const struct gr_conv_attr groups = {{1, {2}}, {1, {1}}, {1, {1}}, 2};
static const struct gr_conv_attr depthwise = {{1, {1}}, {1, {1}}, {1, {1}}, 4};
static const gr_case cases[] = {
    {{"f32[6,5,7,4]", "f32[6,4,3,2]"}, .attr = &one},
    {{"f32[2,6,5,4]", "f32[6,4,3,3]", "f32[6]"}, .attr = &uneven},
    {{"f32[2,6,7,4]", "f32[6,2,3,3]", "f32[6]"}, .attr = &groups},
    {{"f32[2,4,5,4]", "f32[4,1,3,3]"}, .attr = &depthwise},
    {{"f32[2,4,5,4]", "f32[6,4,1,1]"}, .attr = &one},
    {{"f32[2,4,5,4]", "f32[6,3,3,3]"},
     .attr = &groups,
     .fails = "4 channels in 2 groups are 2 each"},
    {{"f32[2,4,5,4]", "f32[7,2,3,3]"},
     .attr = &groups,
     .fails = "does not divide 4 and 7 channels"},
    {{"f32[2,4,2,4]", "f32[6,4,3,3]"}, .attr = &one, .fails = "axis 2 has 2 elements"},
    {{"f32[2,4,5,4]", "f32[6,4,3,3]"},
     .attr = &(struct gr_conv_attr){{3, {1, 1, 1}}, {1, {0}}, {1, {1}}, 1},
     .fails = "3 numbers for 2 spatial axes"},
    {{0}},
};

const gr_op gr_op_conv2d = {
    GR_CONV_OP(2),
    .doc =
        "Convolution of x [n,h,w,c] with kernel w [out,c/groups,taps,taps], plus an optional "
        "bias [out].",
    .from_onnx = GR_FROM_ONNX({"Conv", gr_conv_read}),
    .cases = cases,
};
