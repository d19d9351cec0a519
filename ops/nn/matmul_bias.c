// matmul_bias.c - a product, a vector added to its rows, and relu, as one op: GPUs' libraries do
// that when they write the product (an epilogue). Only the pass `epilogue` emits it, for GPUs.
#include "ops/kernels/gpu_parts.h"
#include "ops/nn/matmul.h"

typedef struct matmul_bias {
  int64_t ta, tb, wide, relu;
} matmul_bias;

static struct matmul matmul_of(const matmul_bias *a) {
  return (struct matmul){.ta = a->ta, .tb = a->tb, .wide = a->wide};
}

gr_val gr_matmul_bias(gr_builder *b, const gr_node *matmul, gr_val x, gr_val y, gr_val v,
                      bool relu) {
  const struct matmul *m = matmul->attr;
  matmul_bias a = {m->ta, m->tb, m->wide, relu};
  return GR_EMIT(b, &gr_op_matmul_bias, &a, x, y, v);
}

bool gr_matmul_takes_bias(const gr_node *n) {
  return n->op == &gr_op_matmul && !((const struct matmul *)n->attr)->sum;
}

// As matmul's, but that the summed axis is whole: a vector is added to whole sums only.
static void index_spec_of(const gr_op_call *s, char buf[128]) {
  const matmul_bias *a = s->attr;
  bool lead_y = s->in[1].rank > 2, lead_x = s->in[0].rank > 2 || !lead_y;
  snprintf(buf, 128, "%s%s,%s%s,n->...mn", lead_x ? "..." : "", a->ta ? "Km" : "mK",
           lead_y ? "..." : "", a->tb ? "nK" : "Kn");
}

static gr_status infer(gr_op_call *s) {
  if (((const matmul_bias *)s->attr)->wide && gr_is_narrow(s->out[0].dtype))
    s->out[0].dtype = GR_F32;
  GR_TRY(gr_require_float(s, 1, "the second operand"));
  if (s->in[2].dtype == s->out[0].dtype) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "the vector is %s, but the product is %s",
                 gr_dtypes[s->in[2].dtype].name, gr_dtypes[s->out[0].dtype].name);
}

static gr_status matmul_bias_cpu(const gr_launch *l) {
  const matmul_bias *a = l->attr;
  struct matmul m = matmul_of(a);
  gr_matmul_shape p = gr_matmul_shape_of(l->in_type, l->in_type + 1, &m);
  gr_gemm g = p.g;
  int64_t ra = a->ta ? 1 : g.lda, ca = a->ta ? g.lda : 1;
  int64_t rb = a->tb ? 1 : g.ldb, cb = a->tb ? g.ldb : 1;
  for (int64_t o = 0; o < p.count; o++)
    for (int64_t i = 0; i < g.m; i++)
      for (int64_t j = 0; j < g.n; j++) {
        double s = IN(2, j);
        for (int64_t k = 0; k < g.k; k++)
          s += IN(0, o * p.step.a + i * ra + k * ca) * IN(1, o * p.step.b + k * rb + j * cb);
        OUT(0, o * p.step.c + i * g.n + j, a->relu && s < 0 ? 0 : s);
      }
  return GR_OK;
}

GR_CU(matmul_bias);

// What the library does not do as it writes the product, a kernel of our own does after it.
static gr_status gpu(gr_gpu_call *g) {
  const matmul_bias *a = g->call->attr;
  struct matmul m = matmul_of(a);
  gr_matmul_shape p = gr_matmul_shape_of(g->call->in, g->call->in + 1, &m);
  gr_gpu_gemm gemm = gr_matmul_gpu(g->call, &p);
  gr_gpu_epilogue wanted = a->relu ? GR_GPU_BIAS_RELU : GR_GPU_BIAS;
  gemm.bias = gr_gpu_in(g, 2, 0);
  for (gemm.epilogue = wanted; g->takes && gemm.epilogue != GR_GPU_PLAIN; gemm.epilogue--)
    if (g->takes(g->device, &gemm)) break;
  gr_gpu_gemm_add(g, &gemm);
  if (gemm.epilogue == wanted) return GR_OK;
  gr_gpu_kernel *k = gr_gpu_elements(g, gr_cu_matmul_bias, "matmul_bias");
  gr_gpu_int(k, p.g.n), gr_gpu_int(k, gemm.epilogue == GR_GPU_PLAIN), gr_gpu_int(k, a->relu);
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_ATTR(matmul_bias, ta, GR_ATTR_BOOL, "false", "read x transposed"),
    GR_ATTR(matmul_bias, tb, GR_ATTR_BOOL, "false", "read y transposed"),
    GR_ATTR(matmul_bias, wide, GR_ATTR_BOOL, "false", "the result of bf16 or f16 is f32"),
    GR_ATTR(matmul_bias, relu, GR_ATTR_BOOL, "false", "negative results are 0"),
    {0}};
#define WITH(...) .attr = (&(matmul_bias){__VA_ARGS__})
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[6,8]", "f32[8]"}, WITH(0)},
    {{"f32[2,4,6]", "f32[8,6]", "f32[8]"}, WITH(0, 1, 0, 1)},
    {{"f32[2,6,4]", "f32[2,6,8]", "f32[8]"}, WITH(1, 0, 0, 1)},
    {{"bf16[40,96]", "bf16[96,70]", "f32[70]"}, WITH(0, 0, 1)},
    {{"f16[96,40]", "f16[96,72]", "f16[72]"}, WITH(1, 0, 0, 1)},
    {{"f32[4,6]", "f32[6,8]", "f32[6]"}, WITH(0), .fails = "sizes 8 and 6 differ"},
    {{"f32[4,6]", "f32[6,8]", "bf16[8]"}, WITH(0), .fails = "the vector is bf16"},
    {{0}},
};

const gr_op gr_op_matmul_bias = {
    .name = "matmul_bias",
    .doc = "z = x y + v for each row of the product, then relu if asked for.",
    .effort = GR_EFFORT_MATMUL,
    .n_in = 3,
    .attr_size = sizeof(matmul_bias),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .infer = infer,
    .cpu = matmul_bias_cpu,
    .gpu = gpu,
    .cases = cases,
};
