// attention_call.c - what calls of attention and of its gradient have in common: operands, sizes
// and masks. See attention.h.
#include <math.h>
#include <stdio.h>
#include "ops/kernels/operands.h"
#include "ops/nn/attention.h"
#include "ops/ops.h"

// ---- Operands -----------------------------------------------------------------------------------

static bool is_gradient(const gr_op *op) { return op == &gr_op_attention_grad; }
static int first_of(const gr_op *op) { return is_gradient(op) ? ATTENTION_GRAD_IN : ATTENTION_IN; }
static bool drops(const gr_op_call *s) { return ((const struct attention *)s->attr)->p > 0; }

// Lengths, and last the step number, follow the `first` operands.
static bool has_lengths(int n_in, int first, bool dropped) { return n_in > first + dropped; }

int gr_attention_lengths(const gr_op_call *s) {
  int first = first_of(s->op);
  return has_lengths(s->n_in, first, drops(s)) ? first : -1;
}

void gr_attention_index_spec(const gr_op_call *s, char buf[128]) {
  int first = first_of(s->op);
  snprintf(buf, 128, "nThD,nShD,nShE%s%s%s->%s", is_gradient(s->op) ? ",nThE,nThE,nhT" : "",
           has_lengths(s->n_in, first, drops(s)) ? ",n" : "", drops(s) ? "," : "",
           is_gradient(s->op)                         ? "nThD,nShD,nShE"
           : s->op == &gr_op_attention_with_residuals ? "nThE,nhT"
                                                      : "nThE");
}

gr_status gr_attention_infer(gr_op_call *s) {
  int first = first_of(s->op);
  const struct attention *a = s->attr;
  GR_TRY(gr_require_operands(s, first + drops(s), first + 1 + drops(s)));
  GR_TRY(gr_require_float(s, ATTENTION_Q, "queries"));
  GR_TRY(gr_require_float(s, ATTENTION_K, "keys"));
  GR_TRY(gr_require_float(s, ATTENTION_V, "values"));
  if (has_lengths(s->n_in, first, drops(s))) GR_TRY(gr_require_ints(s, first, "lengths"));
  if (drops(s)) GR_TRY(gr_require_ints(s, s->n_in - 1, "steps"));
  if (!(a->p >= 0 && a->p < 1))
    return gr_hint(gr_fail(GR_ERR_TYPE, s->loc, "attention with p %g is not possible", a->p),
                   "p is the probability that a weight is dropped, at least 0 and below 1");
  if (!isfinite(a->scale))
    return gr_hint(
        gr_fail(GR_ERR_TYPE, s->loc, "attention with scale %g is not possible", a->scale),
        "0, the default, is 1 / sqrt(d)");
  return GR_OK;
}

// Where in the global value the part of result 0 begins along a dimension, and the whole size.
static int64_t begin_of(const gr_launch *l, int dim, int64_t *whole) {
  const gr_type *all = l->whole ? l->whole : l->out_type;
  int64_t begin = 0, size = all->dim[dim];
  for (int a = l->out_layout && l->mesh ? l->mesh->n_axes : 0; a--;) {  // as gr_global_index
    if (l->out_layout[0].placement[a] != dim) continue;
    begin += l->coord[a] * size;
    size *= l->mesh->axis[a].size;
  }
  *whole = size;
  if (l->whole && !dim) begin += l->first * all->dim[0] / gr_type_count(all);  // a tile of samples
  return begin;
}

gr_attention gr_attention_of(const gr_launch *l) {
  const struct attention *given = l->attr;
  const gr_type *q = &l->in_type[ATTENTION_Q], *v = &l->in_type[ATTENTION_V];
  int64_t samples;
  int first = l->n_out == 3 ? ATTENTION_GRAD_IN : ATTENTION_IN;
  gr_attention a = {.n = q->dim[0],
                    .t = q->dim[1],
                    .s = v->dim[1],
                    .heads = q->dim[2],
                    .d = q->dim[3],
                    .e = v->dim[3],
                    .causal = given->causal,
                    .align_end = given->causal && given->align == ATTENTION_END,
                    .drops = given->p > 0};
  a.scale = given->scale != 0 ? given->scale : 1 / sqrt((double)a.d);
  a.least = (uint32_t)(given->p * 4294967296.0), a.keep = 1 / (1 - given->p);
  a.rng = (gr_rng){.seed = (uint64_t)given->seed, .stream = given->stream};
  a.first_sample = begin_of(l, 0, &samples), a.first_head = begin_of(l, 2, &a.all_heads);
  if (!l->in) return a;
  if (has_lengths(l->n_in, first, a.drops)) a.lengths = l->in[first];
  if (a.drops)
    a.rng.step = (uint64_t)(int64_t)gr_get(l->in[l->n_in - 1], l->in_type[l->n_in - 1].dtype, 0);
  return a;
}

bool gr_attention_is_uniform(const gr_attention *a, int64_t sample) {
  return a->lengths && a->lengths[sample] <= 0;
}

// Keys of a sample, and how many more of them than its own number row 0 sees; below 0: fewer.
static int64_t keys_of(const gr_attention *a, int64_t sample) {
  return a->lengths ? gr_min_i64(a->lengths[sample], a->s) : a->s;
}
static int64_t shift_of(const gr_attention *a, int64_t sample) {
  return a->align_end ? keys_of(a, sample) - a->t : 0;
}

int64_t gr_attention_seen(const gr_attention *a, int64_t sample, int64_t i) {
  if (gr_attention_is_uniform(a, sample)) return a->s;
  int64_t n = keys_of(a, sample);
  return a->causal ? gr_max_i64(1, gr_min_i64(n, i + 1 + shift_of(a, sample))) : n;
}

int64_t gr_attention_first_row(const gr_attention *a, int64_t sample, int64_t key) {
  if (!key || !a->causal || gr_attention_is_uniform(a, sample)) return 0;
  return gr_max_i64(0, key - shift_of(a, sample));
}

// ---- Of the reference ---------------------------------------------------------------------------

int64_t gr_attention_at_row(const gr_attention_row *r) {
  return (r->sample * r->a.t + r->i) * r->a.heads + r->head;
}
int64_t gr_attention_at_key(const gr_attention_row *r, int64_t j) {
  return (r->sample * r->a.s + j) * r->a.heads + r->head;
}

double gr_attention_score(const gr_attention_row *r, int64_t j) {
  const gr_launch *l = r->l;
  double sum = 0;
  if (gr_attention_is_uniform(&r->a, r->sample)) return 0;
  for (int64_t c = 0; c < r->a.d; c++)
    sum += IN(ATTENTION_Q, gr_attention_at_row(r) * r->a.d + c) *
           IN(ATTENTION_K, gr_attention_at_key(r, j) * r->a.d + c);
  return sum * r->a.scale;
}

double gr_attention_kept(const gr_attention_row *r, int64_t j) {
  if (!r->a.drops) return 1;
  uint64_t index = gr_attention_index(&r->a, r->sample, r->head, r->i) + (uint64_t)j;
  return gr_rng_u32(&r->a.rng, index) >= r->a.least ? r->a.keep : 0;
}

int64_t gr_attention_pairs(const gr_op_call *s) {
  const gr_type *q = &s->in[ATTENTION_Q];
  int64_t t = q->dim[1], keys = s->in[ATTENTION_K].dim[1], seen = t * keys;
  if (((const struct attention *)s->attr)->causal) {
    int64_t few = gr_min_i64(t, keys), less = few * (few - 1) / 2;
    bool end = ((const struct attention *)s->attr)->align == ATTENTION_END;
    seen = end ? few * keys - less + (t - few) : few + less + (t - few) * keys;
  }
  return q->dim[0] * q->dim[2] * seen;
}

// Narrow heads take as long as those of WIDE elements.
void gr_attention_efforts(const gr_op_call *s, gr_efforts *w) {
  enum { WIDE = 64 };
  double pairs = (double)gr_attention_pairs(s), d = (double)s->in[ATTENTION_Q].dim[3];
  w->of[GR_EFFORT_ATTENTION] = (double)gr_op_flops(s) * fmax(1, WIDE / d);
  w->of[GR_EFFORT_FUNCTION] = pairs;
  w->of[GR_EFFORT_DROPPED] = drops(s) ? pairs : 0;
}
