// accumulate_tree.c - adds the terms of a step's micro-batches as a binary tree. See ops.h.
//
// Accumulator k holds the sum of the last 2^k terms that is not part of a larger sum yet, as the
// digits of a binary counter: term i is added to those of the trailing ones of i, the earlier sum
// on the left. After the last of 2^n terms the last accumulator holds them all:
//
//   accumulators 0 and 1 after terms a, b, c and d:  a -    - a+b    c a+b    - (a+b)+(c+d)
#include "ops/kernels/cpu.h"
#include "ops/ops.h"
#include "ops/optim/optim.h"

static int accumulators_of(const gr_launch *l) { return l->n_in - 2; }

static gr_status infer(gr_op_call *s) {
  int n = s->n_out = s->n_in - 2;
  if (n < 1 || s->in[n + 1].dtype != GR_I32 || s->in[n + 1].rank)
    return gr_fail(GR_ERR_TYPE, s->loc,
                   "takes accumulators, a term of their type, and the index of the micro-batch, "
                   "an i32");
  for (int k = 0; k < n; k++) {
    if (!gr_type_same(&s->in[k], &s->in[n]))
      return gr_fail(GR_ERR_TYPE, s->loc, "an accumulator is of another type than the term");
    s->out[k] = s->in[k];
  }
  return GR_OK;
}

// How many of the accumulators this term is added to.
static int added(const gr_launch *l) {
  int n = accumulators_of(l), k = 0;
  for (int32_t i = *(const int32_t *)l->in [n + 1]; k < n && i & 1; i >>= 1) k++;
  return k;
}

// The accumulator that takes the sum; the others stay as they are.
static int target(const gr_launch *l) {
  int n = accumulators_of(l), k = added(l);
  for (int i = 0; i < n; i++)
    if (i != (k < n ? k : n - 1) && l->out[i] != l->in[i])
      memcpy(l->out[i], l->in[i], gr_type_bytes(&l->in_type[i]));
  return k < n ? k : n - 1;
}

static gr_status accumulate_tree_cpu(const gr_launch *l) {
  int term = accumulators_of(l), n = added(l), to = target(l);
  gr_dtype d = l->in_type[0].dtype;
  for (int64_t i = 0, count = gr_type_count(l->in_type); i < count; i++) {
    double x = gr_get(l->in[term], d, i), rounded;
    for (int k = 0; k < n; k++) {
      gr_put(&rounded, d, 0, gr_get(l->in[k], d, i) + x);
      x = gr_get(&rounded, d, 0);
    }
    gr_put(l->out[to], d, i, x);
  }
  return GR_OK;
}

typedef struct tree {
  const gr_launch *l;
  int added;
  float *to;
} tree;

static void part(void *arg, int64_t begin, int64_t end) {
  const tree *t = arg;
  enum { BLOCK = 512 };
  float sum[BLOCK];
  for (; begin < end; begin += BLOCK) {
    int64_t n = end - begin < BLOCK ? end - begin : BLOCK;
    memcpy(sum, (const float *)t->l->in[accumulators_of(t->l)] + begin, (size_t)n * sizeof *sum);
    for (int k = 0; k < t->added; k++) {
      const float *earlier = (const float *)t->l->in[k] + begin;
      for (int64_t i = 0; i < n; i++) sum[i] = earlier[i] + sum[i];
    }
    memcpy(t->to + begin, sum, (size_t)n * sizeof *sum);
  }
}

static gr_status run_f32(const gr_launch *l) {
  tree t = {l, added(l), (float *)l->out[target(l)]};
  gr_parallel(l, gr_type_count(l->in_type), 1 << 14, part, &t);
  return GR_OK;
}

static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]", "i32[]"}, .fill = "nnz"},
    {{"f32[6,3000]", "f32[6,3000]", "f32[6,3000]", "i32[]"}, .fill = "nnn1"},
    {{"f64[5]", "f64[5]", "f64[5]", "i32[]"}, .fill = "nnni"},
    {{"f32[5]", "f32[6]", "i32[]"}, .fails = "of another type than the term"},
    {{"f32[5]", "f32[5]", "f32[]"}, .fails = "an i32"},
    {{0}},
};

const gr_op gr_op_accumulate_tree = {
    .name = "accumulate_tree",
    .doc =
        "accumulators with the term of micro-batch i added as to a binary counter, so that the "
        "last one becomes the sum of all 2^n terms as a binary tree.",
    .n_in = GR_ANY,
    .n_out = GR_ANY,
    .padding = GR_PADDING_PRESERVED,
    .infer = infer,
    .sharding_rules = gr_accumulate_rules,
    .cpu_only = true,
    .cpu = accumulate_tree_cpu,
    .fast_f32 = run_f32,
    .inplace_each = true,
    .cases = cases,
};
