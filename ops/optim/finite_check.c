// finite_check.c - checks that a step is finite, and clips the gradient's norm.
//
// Losses and gradients are weighted sums over samples; `norm` is the sum of the weights, so the
// gradient of the mean loss is g / norm and its L2 norm is sqrt(total) / norm. Clipping follows
// PyTorch's clip_grad_norm_: a gradient whose norm exceeds `clip` is scaled to it (Pascanu,
// Mikolov, Bengio, "On the difficulty of training recurrent neural networks", 2013).
#include "ops/kernels/formula.h"

struct finite_check {
  double clip;
};

GR_SCALARS(finite_check, struct finite_check, (ONE(total), ONE(loss), ONE(norm), PARAM(clip)),
           (factor, ok, length),  // results
           const bool good = isfinite(total) && isfinite(loss) && isfinite(norm) && norm > 0;
           const T length = good ? sqrt(total) / norm : total;
           const T shorten = clip > 0 ? fmin(1.0, clip / (length + 1e-6)) : 1;
           const T factor = good ? shorten / norm : 0, ok = good ? 1 : 0;)

static gr_status infer(gr_op_call *s) {
  for (int k = 0; k < s->n_in; k++)
    if (s->in[k].rank || !gr_dtypes[s->in[k].dtype].is_float)
      return gr_fail(GR_ERR_TYPE, s->loc, "operand %d of finite_check must be a float scalar", k);
  for (int k = 0; k < 3; k++) s->out[k] = (gr_type){.dtype = GR_F32};
  return GR_OK;
}

static const gr_attr attrs[] = {GR_ATTR(struct finite_check, clip, GR_ATTR_FLOAT, "0.0",
                                        "maximum norm of the gradient; 0: no clipping"),
                                {0}};
static const gr_case cases[] = {
    {{"f32[]", "f32[]", "f32[]"}, .attr = &(struct finite_check){0}, .fill = "ppp"},
    {{"f32[]", "f32[]", "f32[]"}, .attr = &(struct finite_check){0.5}, .fill = "ppp"},
    {{"f32[]", "f32[]", "f32[]", "f64[]"}, .attr = &(struct finite_check){0}, .fill = "ppps"},
    {{"f32[]", "f32[]", "f32[]", "f64[]"}, .attr = &(struct finite_check){0.5}, .fill = "pppz"},
    {{"f32[3]", "f32[]", "f32[]"}, .attr = &(struct finite_check){0}, .fails = "expected 0"},
    {{0}}};

const gr_op gr_op_finite_check = {
    GR_FORMULA_FIELDS(finite_check),
    .doc =
        "From the gradients' sum of squares, the sum of losses and the sum of weights: the factor "
        "for gradients, 1 if all three are finite (else 0), and the gradient's norm. The clip may "
        "be "
        "a fourth operand, f64[].",
    .attr_size = sizeof(struct finite_check),
    .attrs = attrs,
    GR_FORMULA_OPERANDS,
    .infer = infer,
    .cases = cases,
};

gr_val gr_finite_check(gr_builder *b, gr_val total, gr_val loss, gr_val norm, double clip,
                       gr_val set_clip) {
  const gr_val in[4] = {total, loss, norm, set_clip};
  return gr_emit(b, &gr_op_finite_check, &(struct finite_check){clip}, gr_is(set_clip) ? 4 : 3, in);
}
