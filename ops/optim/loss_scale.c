// loss_scale.c - the dynamic loss scale of f16 (Micikevicius et al., "Mixed precision training",
// 2018), as torch.amp.GradScaler has it: the loss is multiplied by the scale before the backward
// pass, so that small gradients are not 0 in f16. A step whose gradients overflow is skipped and
// makes the scale smaller; so many good steps in a row make it larger.
#include "ops/kernels/formula.h"

GR_SCALARS(loss_scale, gr_loss_scale,
           (ONE(scale), ONE(steps), ONE(ok), PARAM(growth_interval), PARAM(growth_factor),
            PARAM(backoff_factor), PARAM(min)),
           (next, good),  // results
           const T more = steps + 1;
           const bool grows = ok > 0 && more >= growth_interval;
           const T to = ok > 0 ? scale * (grows ? growth_factor : 1)
                               : fmax(scale * backoff_factor, min);
           const T next = isfinite((float)to) ? to : scale, good = ok > 0 && !grows ? more : 0;)

static gr_status infer(gr_op_call *s) {
  s->out[1].dtype = GR_I32;
  if (s->in[0].dtype == GR_F32 && s->in[1].dtype == GR_I32 && s->in[2].dtype == GR_F32)
    return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "loss_scale takes an f32, an i32 and an f32");
}

static const gr_attr attrs[] = {
    GR_ATTR(gr_loss_scale, init, GR_ATTR_FLOAT, "65536.0", "scale of the first step"),
    GR_ATTR(gr_loss_scale, growth_factor, GR_ATTR_FLOAT, "2.0", "after good steps"),
    GR_ATTR(gr_loss_scale, backoff_factor, GR_ATTR_FLOAT, "0.5", "after a step that overflows"),
    GR_ATTR(gr_loss_scale, min, GR_ATTR_FLOAT, "1.0", "smallest scale"),
    GR_ATTR(gr_loss_scale, growth_interval, GR_ATTR_INT, "2000", "number of good steps to grow"),
    {0}};
#define WITH(interval) .attr = (&(gr_loss_scale){65536, 2, 0.5, 1, interval})
static const gr_case cases[] = {
    {{"f32[]", "i32[]", "f32[]"}, WITH(2000), .fill = "pi1"},
    {{"f32[]", "i32[]", "f32[]"}, WITH(1), .fill = "pi1"},
    {{"f32[]", "i32[]", "f32[]"}, WITH(2000), .fill = "piz"},
    {{"f32[]", "f32[]", "f32[]"}, WITH(2000), .fails = "takes an f32, an i32 and an f32"},
    {{0}}};

const gr_op gr_op_loss_scale = {
    GR_FORMULA_FIELDS(loss_scale),
    .doc =
        "From the loss scale, the number of good steps since it changed, and whether this step is "
        "good: the next scale and number.",
    .attr_size = sizeof(gr_loss_scale),
    .attrs = attrs,
    .index_spec = ",,->,",
    .infer = infer,
    .cases = cases,
};
