// ema.c - an exponential moving average of a weight, kept beside it (training.ema_decay).
#include "ops/kernels/formula.h"

// PyTorch's lerp with the weight 1 - decay, which has two forms: each is exact at its end. Where
// decay is 0 the average is the weight, whatever it was before.
GR_UPDATE(ema, void,
          (EACH(e), EACH(w), ONE(decay), ONE(ok), SHARED(part, 1 - decay),
           SHARED(copies, decay == 0)),
          (e),  // result
          const T rest = 1 - part;
          e = copies != 0   ? w
              : part < 0.5f ? e + part * (w - e)
                            : w - (w - e) * rest;)

static gr_status infer(gr_op_call *s) {
  if (s->in[0].dtype != s->in[1].dtype || !gr_dtypes[s->in[0].dtype].is_float)
    return gr_fail(GR_ERR_TYPE, s->loc, "an average of %s cannot follow a weight of %s",
                   gr_dtypes[s->in[0].dtype].name, gr_dtypes[s->in[1].dtype].name);
  return GR_OK;
}

static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]", "f64[]", "f32[]"}, .fill = "nns1"},
    {{"f32[6,3000]", "f32[6,3000]", "f64[]", "f32[]"}, .fill = "nns1"},
    {{"f32[24]", "f32[24]", "f64[]", "f32[]"}, .fill = "nnz1"},
    {{"f32[24]", "f32[24]", "f64[]", "f32[]"}, .fill = "nn11"},
    {{"f32[24]", "f32[24]", "f64[]", "f32[]"}, .fill = "nnsz"},
    {{"f32[5]", "f64[5]", "f64[]", "f32[]"}, .fails = "cannot follow a weight of f64"},
    {{"f32[5]", "f32[6]", "f64[]", "f32[]"}, .fails = "sizes 5 and 6 differ"},
    {{0}},
};

const gr_op gr_op_ema = {
    GR_FORMULA_FIELDS(ema),
    .doc =
        "The next exponential moving average e' of a weight, from e, the weight's next value w, "
        "decay and ok: decay e + (1 - decay) w; w if decay is 0; e if ok is 0.",
    .index_spec = "...,...,,->...",
    .padding = GR_PADDING_PRESERVED,
    .infer = infer,
    .multi_tensor = true,
    .cases = cases,
};
