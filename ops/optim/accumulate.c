// accumulate.c - adds a micro-batch's gradient to the accumulator; the first micro-batch resets it.
#include "ops/kernels/formula.h"
#include "ops/optim/optim.h"

GR_FORMULA(accumulate, void, (EACH(total), EACH(term), ONE(micro_batch)), (total),  // result
           total = micro_batch == 0 ? term : total + term;)

static gr_status infer(gr_op_call *s) {
  if (s->in[2].dtype != GR_I32)
    return gr_fail(GR_ERR_TYPE, s->loc, "the index of the micro-batch must be i32, not %s",
                   gr_dtypes[s->in[2].dtype].name);
  if (s->in[0].dtype == s->in[1].dtype) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "a gradient of %s cannot be added to an accumulator of %s",
                 gr_dtypes[s->in[1].dtype].name, gr_dtypes[s->in[0].dtype].name);
}

static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]", "i32[]"}, .fill = "nnz"},
    {{"f32[6,3000]", "f32[6,3000]", "i32[]"}, .fill = "nn1"},
    {{"i32[5]", "i32[5]", "i32[]"}, .fill = "ii1"},
    {{"f32[5]", "i32[5]", "i32[]"}, .fails = "a gradient of i32"},
    {{"f32[5]", "f32[5]", "f32[]"}, .fails = "must be i32"},
    {{0}},
};

const gr_op gr_op_accumulate = {
    GR_FORMULA_FIELDS(accumulate),
    .doc = "accumulator + gradient; for micro-batch 0, the gradient alone.",
    .index_spec = "...,...,->...",
    .padding = GR_PADDING_PRESERVED,
    .infer = infer,
    .sharding_rules = gr_accumulate_rules,
    .multi_tensor = true,
    .inplace = {1},
    .cases = cases,
};
