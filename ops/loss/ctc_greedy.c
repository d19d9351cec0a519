// ctc_greedy.c - greedy CTC decoding: the most likely class of each frame, without repeats and
// blanks.
#include "ops/kernels/gpu.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

struct ctc_greedy {
  int64_t blank;
};

static gr_status infer(gr_op_call *s) {
  const struct ctc_greedy *a = s->attr;
  GR_TRY(gr_require_float(s, 0, "logits"));
  GR_TRY(gr_require_ints(s, 1, "lengths"));
  s->out[0].dtype = s->out[1].dtype = GR_I32;
  int64_t v = s->in[0].dim[2];
  if (a->blank >= -v && a->blank < v) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "blank %lld is not one of %lld classes", (long long)a->blank,
                 (long long)v);
}

static int64_t argmax(const gr_launch *l, int64_t row, int64_t v) {
  int64_t best = 0;
  for (int64_t k = 1; k < v; k++)
    if (IN(0, row * v + k) > IN(0, row * v + best)) best = k;
  return best;
}

static gr_status ctc_greedy_cpu(const gr_launch *l) {
  const struct ctc_greedy *a = l->attr;
  int64_t n = l->in_type[0].dim[0], t = l->in_type[0].dim[1], v = l->in_type[0].dim[2];
  int64_t blank = a->blank < 0 ? v + a->blank : a->blank;
  for (int64_t i = 0; i < n; i++) {
    int32_t *token = (int32_t *)l->out[0] + i * t, count = 0;
    int64_t before = blank, frames = gr_length(l, 1, i, t);
    for (int64_t f = 0; f < frames; f++) {
      int64_t best = argmax(l, i * t + f, v);
      if (best != before && best != blank) token[count++] = (int32_t)best;
      before = best;
    }
    ((int32_t *)l->out[1])[i] = count;
    for (int64_t f = count; f < t; f++) token[f] = 0;
  }
  return GR_OK;
}

GR_CU(ctc_greedy);

static gr_status gpu(gr_gpu_call *g) {
  enum { WARP = 32 };
  const gr_type *x = g->call->in;
  int64_t n = x->dim[0], t = x->dim[1], v = x->dim[2];
  int64_t blank = ((const struct ctc_greedy *)g->call->attr)->blank;
  gr_gpu_kernel *k =
      gr_gpu_kernel_add(g, gr_cu_ctc_greedy, "ctc_greedy_classes", n * t * WARP, GR_GPU_BLOCK);
  gr_gpu_int(k, n * t), gr_gpu_int(k, v);
  k = gr_gpu_kernel_add(g, gr_cu_ctc_greedy, "ctc_greedy", n * WARP, GR_GPU_BLOCK);
  gr_gpu_int(k, n), gr_gpu_int(k, t), gr_gpu_int(k, blank < 0 ? v + blank : blank);
  g->scratch = sizeof(int32_t) * (size_t)(n * t);
  return GR_OK;
}

// A frame gives a symbol if its class is neither the blank nor that of the frame before; symbols
// are added to zeros at the places that a running count of them gives.
static void to_onnx(gr_onnx_call *c) {
  const gr_type *x = &c->call[0]->in[0];
  int64_t blank = ((const struct ctc_greedy *)c->call[0]->attr)->blank;
  if (blank < 0) blank += x->dim[2];
  const char *none = gr_onnx_number(c, GR_I32, (double)blank), *zero = gr_onnx_number(c, GR_I32, 0);
  const char *one = gr_onnx_vector(c, 1, &(int64_t){1}), *best = GR_ONNX(c, "ArgMax", c->in[0]);
  gr_onnx_int(c, "axis", -1);
  gr_onnx_int(c, "keepdims", 0);
  best = gr_onnx_cast(c, best, gr_onnx_dtype(GR_I32));
  const char *before = GR_ONNX(c, "Pad", best, gr_onnx_vector(c, 2, (int64_t[]){1, 0}), none, one);
  before = gr_onnx_slice(c, before, 1, gr_onnx_vector(c, 1, &(int64_t){0}),
                         gr_onnx_vector(c, 1, &(int64_t){-1}));
  const char *repeated = GR_ONNX(c, "Equal", best, before);
  const char *left_out = GR_ONNX(c, "Or", repeated, GR_ONNX(c, "Equal", best, none));
  const char *gives = gr_onnx_and(c, GR_ONNX(c, "Not", left_out),
                                  gr_onnx_within(c, 1, 2, 1, gr_onnx_out_size(c, 0, 1)));
  const char *counted = gr_onnx_cast(c, gives, gr_onnx_dtype(GR_I32));
  const char *number = GR_ONNX(c, "CumSum", counted, gr_onnx_number(c, GR_I64, 1));
  const char *place =
      GR_ONNX(c, "Max", zero, GR_ONNX(c, "Sub", number, gr_onnx_number(c, GR_I32, 1)));
  const char *zeros = GR_ONNX(c, "Sub", best, best), *symbol = GR_ONNX(c, "Mul", best, counted);
  c->out[0] = GR_ONNX(c, "ScatterElements", zeros, place, symbol);
  gr_onnx_int(c, "axis", 1);
  gr_onnx_text(c, "reduction", "add");
  c->out[1] = GR_ONNX(c, "ReduceSum", counted, one);
  gr_onnx_int(c, "keepdims", 0);
}

static const gr_attr attrs[] = {GR_ATTR(struct ctc_greedy, blank, GR_ATTR_INT, "-1",
                                        "class index of the blank; -1 is the last class"),
                                {0}};
static const gr_case cases[] = {
    {{"f32[6,9,4]", "i32[6]"}, .attr = &(struct ctc_greedy){-1}, .fill = "nl"},
    {{"f32[6,9,4]", "i32[6]"}, .attr = &(struct ctc_greedy){0}, .fill = "nl"},
    {{"f32[6,9,4]", "i32[6]"}, .attr = &(struct ctc_greedy){4}, .fails = "blank 4 is not one of 4"},
    {{0}},
};

const gr_op gr_op_ctc_greedy = {
    .name = "ctc_greedy",
    .doc =
        "Decodes logits [n,t,v] of lengths [n] to symbols [n,t], padded with 0, and their number "
        "[n].",
    .effort = GR_EFFORT_SERIAL,
    .attr_size = sizeof(struct ctc_greedy),
    .attrs = attrs,
    .index_spec = "nTV,n->nT,n",
    .infer = infer,
    .cpu = ctc_greedy_cpu,
    .gpu = gpu,
    .amp = GR_AMP_WIDE,
    .to_onnx = to_onnx,
    .cases = cases,
};
