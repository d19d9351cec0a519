// attention.c - scaled dot-product attention (Vaswani et al., 2017): for each row of queries the
// mean of the values, weighted by the softmax of its products with the keys. The weights, which are
// [n, h, t, s], are never in memory: see attention_f32.c and attention.cu.
#include "ops/nn/attention.h"
#include <math.h>
#include "ops/kernels/onnx.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/widen.h"
#include "ops/ops.h"

// The sums of rows of narrow operands are f32.
static gr_status infer(gr_op_call *s) {
  GR_TRY(gr_attention_infer(s));
  if (s->n_out > 1 && gr_is_narrow(s->in[0].dtype)) s->out[1].dtype = GR_F32;
  return GR_OK;
}

// ---- Gradients ----------------------------------------------------------------------------------

static gr_val save_for_backward(gr_builder *b, const gr_node *n, const gr_val *in,
                                const bool *want) {
  bool any = want[ATTENTION_Q] || want[ATTENTION_K] || want[ATTENTION_V];
  return gr_emit(b, any ? &gr_op_attention_with_residuals : n->op, n->attr, n->n_in, in);
}

// The builder deduplicates nodes, so this returns the node that save_for_backward emitted.
static void grad(const gr_grad *g) {
  gr_val in[GR_MAX_ARGS];
  if (!gr_is(g->dy[0]) || g->b->err) return;
  gr_val y = gr_emit(g->b, &gr_op_attention_with_residuals, g->attr, g->n_in, g->x);
  if (g->b->err) return;
  for (int k = 0; k < g->n_in; k++) in[k < ATTENTION_IN ? k : k + 3] = g->x[k];
  in[ATTENTION_Y] = y, in[ATTENTION_LSE] = (gr_val){y.id + 1};
  in[ATTENTION_DY] = gr_cast(g->b, g->dy[0], gr_at(g->b->g, y)->type.dtype);
  gr_val d = gr_emit(g->b, &gr_op_attention_grad, g->attr, g->n_in + 3, in);
  for (uint32_t k = 0; k < ATTENTION_IN && gr_is(d); k++) g->dx[k] = (gr_val){d.id + k};
}

// ---- The reference ------------------------------------------------------------------------------

static void row_forward(const gr_attention_row *r, double *weight) {
  const gr_launch *l = r->l;
  const gr_attention *a = &r->a;
  int64_t n = gr_attention_seen(a, r->sample, r->i);
  double top = -INFINITY, sum = 0;
  for (int64_t j = 0; j < n; j++) weight[j] = gr_attention_score(r, j), top = fmax(top, weight[j]);
  for (int64_t j = 0; j < n; j++) sum += weight[j] = exp(weight[j] - top);
  for (int64_t c = 0; c < a->e; c++) {
    double y = 0;
    for (int64_t j = 0; j < n; j++)
      y += weight[j] / sum * gr_attention_kept(r, j) *
           IN(ATTENTION_V, gr_attention_at_key(r, j) * a->e + c);
    OUT(0, gr_attention_at_row(r) * a->e + c, y);
  }
  if (l->n_out > 1) OUT(1, (r->sample * a->heads + r->head) * a->t + r->i, top + log(sum));
}

static gr_status attention_cpu(const gr_launch *l) {
  gr_attention_row r = {.l = l, .a = gr_attention_of(l)};
  for (r.sample = 0; r.sample < r.a.n; r.sample++)
    for (r.head = 0; r.head < r.a.heads; r.head++)
      for (r.i = 0; r.i < r.a.t; r.i++) row_forward(&r, l->scratch);
  return GR_OK;
}

// ---- Kernels, sizes -----------------------------------------------------------------------------

static gr_status run_narrow(const gr_launch *l) {
  return gr_run_widened(l, gr_each, gr_attention_f32);
}

static size_t scratch(const gr_op_call *s) {
  size_t plain = sizeof(double) * (size_t)s->in[ATTENTION_K].dim[1];
  size_t wide = gr_widened_scratch(s, gr_each, gr_attention_f32_scratch(s));
  return plain > wide ? plain : wide;
}

// q k' and w v.
static int64_t flops(const gr_op_call *s) {
  return 2 * gr_attention_pairs(s) * (s->in[ATTENTION_Q].dim[3] + s->in[ATTENTION_V].dim[3]);
}

// softmax(scale q k') v, with heads in front: [n, h, t, d].
static void to_onnx(gr_onnx_call *c) {
  static const int64_t heads[] = {0, 2, 1, 3}, turned[] = {0, 2, 3, 1};
  const gr_op_call *call = c->call[0];
  const struct attention *a = call->attr;
  int lengths = gr_attention_lengths(call);
  double scale = a->scale != 0 ? a->scale : 1 / sqrt((double)call->in[ATTENTION_Q].dim[3]);
  if (a->p > 0) gr_onnx_refuse(c, "it drops weights, as training does");
  if (a->causal && a->align == ATTENTION_END)
    gr_onnx_refuse(c, "its causal rows are aligned with the last keys");
  gr_dtype d = call->in[ATTENTION_Q].dtype;
  const char *q = gr_onnx_transpose(c, c->in[ATTENTION_Q], 4, heads), *mask = NULL;
  q = GR_ONNX(c, "Mul", q, gr_onnx_number(c, d, scale));
  const char *scores = GR_ONNX(c, "MatMul", q, gr_onnx_transpose(c, c->in[ATTENTION_K], 4, turned));
  const char *keys = gr_onnx_in_size(c, ATTENTION_K, 1);
  if (lengths >= 0) mask = gr_onnx_within(c, lengths, 4, 3, keys);
  if (a->causal) mask = gr_onnx_and(c, mask, gr_onnx_causal(c, gr_onnx_out_size(c, 0, 1), keys));
  const char *w = gr_onnx_probabilities(c, scores, mask, d);
  const char *y = GR_ONNX(c, "MatMul", w, gr_onnx_transpose(c, c->in[ATTENTION_V], 4, heads));
  c->out[0] = gr_onnx_transpose(c, y, 4, heads);
}

// ---- The ops ------------------------------------------------------------------------------------

const gr_attr gr_attention_attrs[] = {
    GR_ATTR(struct attention, scale, GR_ATTR_FLOAT, "0.0",
            "what products of queries and keys are multiplied by; 0: 1 / sqrt(d)"),
    GR_ATTR(struct attention, causal, GR_ATTR_BOOL, "false", "row i sees keys 0 to i only"),
    GR_CHOICE(
        struct attention, align, "start|end", "start",
        "of causal rows, the one that is as far along as its key: the first, which sees key 0 "
        "only, or the last, which sees all keys of the sample, as with a cache of keys"),
    GR_ATTR(struct attention, p, GR_ATTR_FLOAT, "0.0", "probability that a weight is dropped"),
    GR_ATTR(struct attention, seed, GR_ATTR_INT, "0", "seed of the random numbers"),
    GR_ATTR(struct attention, stream, GR_ATTR_STREAM, "dropout", "name of the random stream"),
    {0}};

#define WITH(...) .attr = (&(struct attention){__VA_ARGS__})
// A head of values as wide as that of keys, or not; more rows than keys, and fewer.
#define FORWARD_CASES                                                                           \
  {{"f32[2,5,6,4]", "f32[2,5,6,4]", "f32[2,5,6,4]"}, WITH(0)},                                  \
      {{"f32[6,7,2,20]", "f32[6,9,2,20]", "f32[6,9,2,17]", "i32[6]"}, WITH(0), .fill = "nnnl"}, \
      {{"f32[2,9,6,3]", "f32[2,7,6,3]", "f32[2,7,6,3]"}, WITH(0.7, 1)},                         \
      {{"f32[2,6,2,4]", "f32[2,7,2,4]", "f32[2,7,2,4]", "i32[2]", "i32[]"},                     \
       WITH(0, 1, 0.2, 1, 2),                                                                   \
       .fill = "nnnii"},                                                                        \
      {{"f32[6,3,2,4]", "f32[6,9,2,4]", "f32[6,9,2,3]", "i32[6]"},                              \
       WITH(0, 1, .align = ATTENTION_END),                                                      \
       .fill = "nnnl"},                                                                         \
  {                                                                                             \
    {"f32[2,5,2,4]", "f32[2,3,2,4]", "f32[2,3,2,4]"}, WITH(0, 1, .align = ATTENTION_END)        \
  }
static const gr_case cases[] = {
    FORWARD_CASES,
    {{"f32[2,5,6,4]", "f32[2,5,6,3]", "f32[2,5,6,4]"}, WITH(0), .fails = "sizes 4 and 3 differ"},
    {{"f32[2,5,6,4]", "f32[2,5,6,4]", "f32[2,3,6,4]"}, WITH(0), .fails = "sizes 5 and 3 differ"},
    {{"f32[2,5,6,4]", "f32[2,5,6,4]", "f32[2,5,6,4]", "f32[2]"},
     WITH(0),
     .fails = "lengths of 'attention' must be i32"},
    {{"f32[2,5,6,4]", "f32[2,5,6,4]", "f32[2,5,6,4]", "i32[]"},
     WITH(.p = 1.5),
     .fails = "attention with p 1.5"},
    {{"f32[2,5,6,4]", "f32[2,5,6,4]"}, WITH(0), .fails = "takes"},
    {{0}},
};

const gr_op gr_op_attention = {
    .name = "attention",
    .doc =
        "Scaled dot-product attention of q [n,t,h,d] to k [n,s,h,d] and v [n,s,h,e]: "
        "softmax(scale q k') v, without the weights in memory. Keys at or beyond the sample's "
        "length, the optional fourth operand, are not seen; a sample of length 0 weighs all keys "
        "alike. In training weights are dropped with probability p, and the rest divided by 1 - p.",
    .efforts = gr_attention_efforts,
    .n_in = GR_ANY,
    .attr_size = sizeof(struct attention),
    .attrs = gr_attention_attrs,
    .index_spec_of = gr_attention_index_spec,
    .infer = infer,
    .flops = flops,
    .save_for_backward = save_for_backward,
    .grad = grad,
    .random = true,
    .training_only = true,
    .cpu = attention_cpu,
    .fast_f32 = gr_attention_f32,
    .fast_narrow = run_narrow,
    .scratch = scratch,
    .gpu = gr_attention_gpu,
    .amp = GR_AMP_NARROW,
    .to_onnx = to_onnx,
    .cases = cases,
};

// And keys, or rows, of several tiles.
static const gr_case kept_cases[] = {
    FORWARD_CASES,
    {{"f32[2,2,2,2]", "f32[2,257,2,2]", "f32[2,257,2,1]", "i32[]"},
     WITH(.p = 0.3, .seed = 1, .stream = 2),
     .fill = "ccci"},
    {{"f32[2,129,2,2]", "f32[2,3,2,2]", "f32[2,3,2,2]", "i32[2]", "i32[]"},
     WITH(9, 1, 0.2, 1, 2),
     .fill = "cccii"},
    {{"f32[2,130,2,2]", "f32[2,300,2,2]", "f32[2,300,2,1]", "i32[2]"},
     WITH(0, 1, .align = ATTENTION_END),
     .fill = "cccl"},
    {{0}}};

const gr_op gr_op_attention_with_residuals = {
    .name = "attention_with_residuals",
    .doc = "attention, and the log of each row's sum of exponentials, [n,h,t].",
    .efforts = gr_attention_efforts,
    .n_in = GR_ANY,
    .attr_size = sizeof(struct attention),
    .attrs = gr_attention_attrs,
    .index_spec_of = gr_attention_index_spec,
    .infer = infer,
    .flops = flops,
    .grad = grad,
    .random = true,
    .cpu = attention_cpu,
    .fast_f32 = gr_attention_f32,
    .fast_narrow = run_narrow,
    .scratch = scratch,
    .gpu = gr_attention_gpu,
    .amp = GR_AMP_NARROW,
    .cases = kept_cases,
};
