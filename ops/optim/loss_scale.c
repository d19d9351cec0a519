// loss_scale.c - the dynamic loss scale of f16 (Micikevicius et al., "Mixed precision training",
// 2018), as torch.amp.GradScaler has it: the loss is multiplied by the scale before the backward
// pass, so that small gradients are not 0 in f16. A step whose gradients overflow is skipped and
// makes the scale smaller; so many good steps in a row make it larger.
#include <math.h>
#include "ops/kernels/cpu.h"
#include "ops/kernels/gpu.h"
#include "ops/ops.h"

static gr_status infer(gr_op_call *s) {
  s->out[1].dtype = GR_I32;
  if (s->in[0].dtype == GR_F32 && s->in[1].dtype == GR_I32 && s->in[2].dtype == GR_F32)
    return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "loss_scale takes an f32, an i32 and an f32");
}

static gr_status cpu(const gr_launch *l) {
  const gr_loss_scale *a = l->attr;
  double scale = IN(0, 0), good = IN(1, 0) + 1;
  bool ok = IN(2, 0) > 0, grows = ok && good >= (double)a->growth_interval;
  double next = !ok     ? fmax(scale * a->backoff_factor, a->min)
                : grows ? scale * a->growth_factor
                        : scale;
  OUT(0, 0, isfinite((float)next) ? next : scale);
  OUT(1, 0, ok && !grows ? good : 0);
  return GR_OK;
}

GR_CU(loss_scale);

static gr_status gpu(gr_gpu_call *g) {
  const gr_loss_scale *a = g->call->attr;
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_loss_scale, "loss_scale", 1, 32);
  gr_gpu_int(k, a->growth_interval);
  gr_gpu_real(k, a->growth_factor), gr_gpu_real(k, a->backoff_factor), gr_gpu_real(k, a->min);
  return GR_OK;
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
    .name = "loss_scale",
    .doc =
        "From the loss scale, the number of good steps since it changed, and whether this step is "
        "good: the next scale and number.",
    .n_in = 3,
    .n_out = 2,
    .attr_size = sizeof(gr_loss_scale),
    .attrs = attrs,
    .index_spec = ",,->,",
    .infer = infer,
    .cpu = cpu,
    .gpu = gpu,
    .cases = cases,
};
