// increment.c - the counter of steps; a step that is skipped does not count.
#include "ops/kernels/formula.h"

GR_SCALARS(increment, void, (ONE(step), ONE(ok)), (next), const T next = step + (ok > 0 ? 1 : 0);)

static gr_status infer(gr_op_call *s) {
  if (s->in[0].dtype != GR_I32)
    return gr_fail(GR_ERR_TYPE, s->loc, "the step must be i32, not %s",
                   gr_dtypes[s->in[0].dtype].name);
  return GR_OK;
}

static const gr_case cases[] = {
    {{"i32[]", "f32[]"}, .fill = "i1"},
    {{"i32[]", "f32[]"}, .fill = "iz"},
    {{"f32[]", "f32[]"}, .fails = "must be i32"},
    {{0}},
};

const gr_op gr_op_increment = {
    GR_FORMULA_FIELDS(increment),
    .doc = "step + 1 if ok, else step.",
    .index_spec = ",->",
    .infer = infer,
    .inplace = {1},
    .cases = cases,
};
