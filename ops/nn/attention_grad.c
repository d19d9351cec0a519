// attention_grad.c - the gradients of attention (attention.c), from weights that are computed again
// from the log of each row's sum of exponentials.
#include <math.h>
#include <string.h>
#include "ops/kernels/composed.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/widen.h"
#include "ops/nn/attention.h"
#include "ops/ops.h"

static gr_status infer(gr_op_call *s) {
  GR_TRY(gr_attention_infer(s));
  GR_TRY(gr_require_float(s, ATTENTION_Y, "the result"));
  GR_TRY(gr_require_float(s, ATTENTION_DY, "the gradient"));
  if (s->in[ATTENTION_LSE].dtype == GR_F32) return GR_OK;
  return gr_require_float(s, ATTENTION_LSE, "the log of sums");
}

// The sums of a head's gradients, in double.
typedef struct sums {
  double *dq, *dk, *dv;
} sums;

static void row_backward(const gr_attention_row *r, const sums *to) {
  const gr_launch *l = r->l;
  const gr_attention *a = &r->a;
  double lse = IN(ATTENTION_LSE, (r->sample * a->heads + r->head) * a->t + r->i), delta = 0;
  double scale = gr_attention_is_uniform(a, r->sample) ? 0 : a->scale;
  for (int64_t c = 0; c < a->e; c++)
    delta += IN(ATTENTION_Y, gr_attention_at_row(r) * a->e + c) *
             IN(ATTENTION_DY, gr_attention_at_row(r) * a->e + c);
  memset(to->dq, 0, sizeof *to->dq * (size_t)a->d);
  for (int64_t j = 0, n = gr_attention_seen(a, r->sample, r->i); j < n; j++) {
    double w = exp(gr_attention_score(r, j) - lse), m = gr_attention_kept(r, j), dw = 0;
    for (int64_t c = 0; c < a->e; c++) {
      double dy = IN(ATTENTION_DY, gr_attention_at_row(r) * a->e + c);
      dw += dy * IN(ATTENTION_V, gr_attention_at_key(r, j) * a->e + c);
      to->dv[j * a->e + c] += w * m * dy;
    }
    double ds = scale != 0 ? w * (m * dw - delta) * scale : 0;
    for (int64_t c = 0; c < a->d && scale != 0; c++) {
      to->dq[c] += ds * IN(ATTENTION_K, gr_attention_at_key(r, j) * a->d + c);
      to->dk[j * a->d + c] += ds * IN(ATTENTION_Q, gr_attention_at_row(r) * a->d + c);
    }
  }
  for (int64_t c = 0; c < a->d; c++) OUT(0, gr_attention_at_row(r) * a->d + c, to->dq[c]);
}

static gr_status attention_grad_cpu(const gr_launch *l) {
  gr_attention_row r = {.l = l, .a = gr_attention_of(l)};
  const gr_attention *a = &r.a;
  sums to = {l->scratch, (double *)l->scratch + a->d, (double *)l->scratch + a->d * (1 + a->s)};
  for (r.sample = 0; r.sample < a->n; r.sample++)
    for (r.head = 0; r.head < a->heads; r.head++) {
      memset(to.dk, 0, sizeof *to.dk * (size_t)(a->s * (a->d + a->e)));
      for (r.i = 0; r.i < a->t; r.i++) row_backward(&r, &to);
      for (int64_t j = 0; j < a->s; j++) {
        for (int64_t c = 0; c < a->d; c++)
          OUT(1, gr_attention_at_key(&r, j) * a->d + c, to.dk[j * a->d + c]);
        for (int64_t c = 0; c < a->e; c++)
          OUT(2, gr_attention_at_key(&r, j) * a->e + c, to.dv[j * a->e + c]);
      }
    }
  return GR_OK;
}

static gr_status run_narrow(const gr_launch *l) {
  return gr_run_widened(l, gr_each, gr_attention_grad_f32);
}

static size_t scratch(const gr_op_call *s) {
  int64_t d = s->in[ATTENTION_Q].dim[3], e = s->in[ATTENTION_V].dim[3];
  size_t plain = sizeof(double) * (size_t)(d + s->in[ATTENTION_K].dim[1] * (d + e));
  size_t wide = gr_widened_scratch(s, gr_each, gr_attention_grad_f32_scratch(s));
  return plain > wide ? plain : wide;
}

// q k' again, dy v', w' dy, ds k and ds' q.
static int64_t flops(const gr_op_call *s) {
  return 2 * gr_attention_pairs(s) *
         (3 * s->in[ATTENTION_Q].dim[3] + 2 * s->in[ATTENTION_V].dim[3]);
}

// ---- Of the gradient, its gradient --------------------------------------------------------------

// [n, t, h, d], and [n, h, t, d].
static gr_val turned(gr_builder *b, gr_val x) {
  return gr_transpose(b, x, (gr_ints){4, {0, 2, 1, 3}});
}

// Of q, k, v and dy alone: weights are computed from q and k, so that nothing flows to y and to the
// log of sums, which follow from these.
static void compose(gr_builder *b, const gr_grad *of, const gr_val *x, gr_val *y) {
  const struct attention *a = of->attr;
  bool drops = a->p > 0;
  if (b->err) return;
  double scale = a->scale != 0 ? a->scale : 1 / sqrt((double)gr_at(b->g, x[0])->type.dim[3]);
  gr_val q = turned(b, x[ATTENTION_Q]), k = turned(b, x[ATTENTION_K]);
  gr_val v = turned(b, x[ATTENTION_V]), dy = turned(b, x[ATTENTION_DY]);
  gr_val lengths = of->n_in > ATTENTION_GRAD_IN + drops ? x[ATTENTION_GRAD_IN] : GR_NONE;
  gr_val scores = gr_scale(b, gr_matmul(b, q, k, false, true), scale);
  gr_val p = gr_softmax(b, scores, lengths, a->causal), kept = p;
  gr_val dp = gr_matmul(b, dy, v, false, true), step = x[of->n_in - 1];
  if (drops) kept = gr_dropout(b, p, step, a->p, a->seed, a->stream);
  if (drops) dp = gr_dropout(b, dp, step, a->p, a->seed, a->stream);
  gr_val ds = gr_scale(b, gr_softmax_grad(b, p, dp, lengths), scale);
  y[0] = turned(b, gr_matmul(b, ds, k, false, false));
  y[1] = turned(b, gr_matmul(b, ds, q, true, false));
  y[2] = turned(b, gr_matmul(b, kept, dy, true, false));
}

static void second(const gr_grad *g) {
  const struct attention *a = g->attr;
  if (a->causal && a->align == ATTENTION_END && !g->b->err)
    g->b->err = gr_hint(gr_fail(GR_ERR_UNSUPPORTED, g->b->loc,
                                "the gradient of 'attention' has no gradient itself where its "
                                "causal rows are aligned with the last keys"),
                        "of as many rows as keys, 'align: start' is the same");
  else
    gr_grad_of_composition(g, compose);
}

#define WITH(...) .attr = (&(struct attention){__VA_ARGS__})
static const gr_case cases[] = {
    {{"f32[2,5,6,4]", "f32[2,5,6,4]", "f32[2,5,6,4]", "f32[2,5,6,4]", "f32[2,5,6,4]", "f32[2,6,5]"},
     WITH(0)},
    {{"f32[6,7,2,20]", "f32[6,9,2,20]", "f32[6,9,2,17]", "f32[6,7,2,17]", "f32[6,7,2,17]",
      "f32[6,2,7]", "i32[6]"},
     WITH(0),
     .fill = "nnnnnnl"},
    {{"f32[2,2,2,2]", "f32[2,257,2,2]", "f32[2,257,2,1]", "f32[2,2,2,1]", "f32[2,2,2,1]",
      "f32[2,2,2]", "i32[]"},
     WITH(.p = 0.3, .seed = 1, .stream = 2),
     .fill = "nnnnnni"},
    {{"f32[2,129,2,2]", "f32[2,3,2,2]", "f32[2,3,2,2]", "f32[2,129,2,2]", "f32[2,129,2,2]",
      "f32[2,2,129]", "i32[2]", "i32[]"},
     WITH(0, 1, 0.2, 1, 2),
     .fill = "nnnnnpii"},
    {{"f32[4,130,1,2]", "f32[4,600,1,2]", "f32[4,600,1,1]", "f32[4,130,1,1]", "f32[4,130,1,1]",
      "f32[4,1,130]", "i32[4]"},
     WITH(0, 1, .align = ATTENTION_END),
     .fill = "nnnnnpl"},
    {{"f32[4,2,1,2]", "f32[4,600,1,2]", "f32[4,600,1,1]", "f32[4,2,1,1]", "f32[4,2,1,1]",
      "f32[4,1,2]", "i32[4]"},
     WITH(0),
     .fill = "nnnnnnl"},
    {{0}},
};

const gr_op gr_op_attention_grad = {
    .name = "attention_grad",
    .doc =
        "The gradients of attention with respect to q, k and v, from them, y, dy, the log of sums, "
        "the lengths and the step.",
    .efforts = gr_attention_efforts,
    .n_in = GR_ANY,
    .attr_size = sizeof(struct attention),
    .attrs = gr_attention_attrs,
    .index_spec_of = gr_attention_index_spec,
    .infer = infer,
    .flops = flops,
    .grad = second,
    .random = true,
    .cpu = attention_grad_cpu,
    .fast_f32 = gr_attention_grad_f32,
    .fast_narrow = run_narrow,
    .scratch = scratch,
    .gpu = gr_attention_grad_gpu,
    .cases = cases,
};
