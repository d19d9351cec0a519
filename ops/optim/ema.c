// ema.c - an exponential moving average of a weight, kept beside it (training.ema_decay).
#include <math.h>
#include "ops/kernels/gpu.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/ops.h"

enum { E, W, DECAY, OK };
enum { GRAIN = 16384 };

static gr_status infer(gr_op_call *s) {
  if (s->in[E].dtype != s->in[W].dtype || !gr_dtypes[s->in[E].dtype].is_float)
    return gr_fail(GR_ERR_TYPE, s->loc, "an average of %s cannot follow a weight of %s",
                   gr_dtypes[s->in[E].dtype].name, gr_dtypes[s->in[W].dtype].name);
  return GR_OK;
}

// PyTorch's lerp with the weight 1 - decay, which has two forms: each is exact at its end. Where
// decay is 0 the average is the weight, whatever it was before.
static gr_status cpu(const gr_launch *l) {
  double decay = IN(DECAY, 0), part = 1 - decay;
  bool ok = IN(OK, 0) != 0;
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++) {
    double e = IN(E, i), w = IN(W, i);
    double next = part < 0.5 ? e + part * (w - e) : w - (w - e) * (1 - part);
    OUT(0, i, !ok ? e : decay == 0 ? w : next);
  }
  return GR_OK;
}

static void follow(const gr_launch *l, int64_t from, int64_t to) {
  const float *e = l->in[E], *w = l->in[W];
  float *out = l->out[0], part = (float)(1 - IN(DECAY, 0)), rest = 1 - part;
  if (part < 0.5f)
    GR_VECTOR for (int64_t i = from; i < to; i++) out[i] = e[i] + part * (w[i] - e[i]);
  else
    GR_VECTOR for (int64_t i = from; i < to; i++) out[i] = w[i] - (w[i] - e[i]) * rest;
}

static void part_f32(void *arg, int64_t from, int64_t to) {
  const gr_launch *l = arg;
  bool ok = IN(OK, 0) != 0, copies = !ok || IN(DECAY, 0) == 0;
  const float *same = l->in[ok ? W : E];
  float *out = l->out[0];
  if (copies)
    memmove(out + from, same + from, sizeof *out * (size_t)(to - from));
  else
    follow(l, from, to);
}

static gr_status run_f32(const gr_launch *l) {
  gr_parallel(l, gr_type_count(l->out_type), GRAIN, part_f32, (void *)l);
  return GR_OK;
}

static gr_kernel fast(const gr_op_call *s) { return gr_is_f32(s) ? run_f32 : NULL; }

GR_CU(ema);

static gr_status gpu(gr_gpu_call *g) {
  int64_t n = gr_type_count(g->call->out);
  gr_gpu_int(gr_gpu_kernel_add(g, gr_cu_ema, "ema", gr_gpu_items(n), GR_GPU_BLOCK), n);
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
    .name = "ema",
    .doc =
        "The next exponential moving average e' of a weight, from e, the weight's next value w, "
        "decay and ok: decay e + (1 - decay) w; w if decay is 0; e if ok is 0.",
    .n_in = 4,
    .n_out = 1,
    .index_spec = "...,...,,->...",
    .padding = GR_PADDING_PRESERVED,
    .infer = infer,
    .cpu = cpu,
    .fast = fast,
    .gpu = gpu,
    .multi_tensor = true,
    .inplace = {1},
    .cases = cases,
};
