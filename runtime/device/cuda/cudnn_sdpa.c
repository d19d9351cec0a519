// cudnn_sdpa.c - attention as a graph of operations that cuDNN runs as one kernel, or as a few.
// Values are [n, t, heads, d] in memory and [n, heads, t, d] to cuDNN, which takes strides.
//
// cuDNN 9 also has one operation for all of it, of which version 9.19 accepts the forward pass
// alone, without a causal mask. Of the gradients, that of q is a product of the gradient of the
// scores, which is in the working memory then: without that, blocks add to it in any order.
#include "runtime/device/cuda/cudnn_graph.h"
#if GR_HAVE_CUDA && GR_HAVE_CUDNN

typedef struct attention {
  gr_dnn_graph *g;
  const gr_gpu_attention *a;
  int64_t n, heads;            // of the graph
  gr_dnn_shape scores, row;    // f32 [n, heads, t, s], [n, heads, t, 1]
  gr_dnn_value rows, keys;     // how many a sample has, or NULL
  gr_dnn_value scale, hidden;  // scalars
  gr_dnn_value mask, keep;     // of dropout, or NULL; a scalar
} attention;

static cudnnDataType_t type_of(gr_dtype d) {
  return d == GR_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
}
static bool is_there(const gr_gpu_attention *a, gr_gpu_place p) {
  return a->arrays[p].space != GR_GPU_NOTHING;
}

static gr_dnn_shape shape_of(const gr_gpu_attention *a, int64_t n, int64_t heads, gr_gpu_place p) {
  if (p == GR_GPU_ROWS || p == GR_GPU_KEYS)
    return (gr_dnn_shape){CUDNN_DATA_INT32, {n, 1, 1, 1}, {1, 1, 1, 1}};
  if (p == GR_GPU_LSE || p == GR_GPU_DELTA)
    return (gr_dnn_shape){CUDNN_DATA_FLOAT, {n, heads, a->t, 1}, {a->heads * a->t, a->t, 1, 1}};
  if (p == GR_GPU_MASK) {
    gr_dnn_shape s = gr_dnn_dense(type_of(a->dtype), n, heads, a->t, gr_gpu_mask_pitch(a->s));
    return s.dim[3] = a->s, s;
  }
  bool key = p == GR_GPU_K || p == GR_GPU_V || p == GR_GPU_DK || p == GR_GPU_DV;
  bool narrow = p == GR_GPU_Q || p == GR_GPU_K || p == GR_GPU_DQ || p == GR_GPU_DK;
  int64_t rows = key ? a->s : a->t, width = narrow ? a->d : a->e;
  return (gr_dnn_shape){type_of(a->dtype),
                        {n, heads, rows, width},
                        {rows * a->heads * width, width, a->heads * width, 1}};
}

int64_t gr_dnn_attention_offset(const gr_gpu_attention *a, gr_gpu_place p, int64_t sample,
                                int64_t head) {
  if (p == GR_GPU_MASK) return 0;
  gr_dnn_shape s = shape_of(a, 1, 1, p);
  bool counts = s.type == CUDNN_DATA_INT32;
  int64_t elements = sample * s.stride[0] + (counts ? 0 : head * s.stride[1]);
  return elements * (counts || s.type == CUDNN_DATA_FLOAT ? 4 : 2);
}

enum { ALIGNED = 16, ELEMENT = 4 };
static gr_dnn_value in_memory(const attention *x, gr_gpu_place p, const gr_dnn_shape *s) {
  bool small = p == GR_GPU_LSE || p == GR_GPU_DELTA || p == GR_GPU_ROWS || p == GR_GPU_KEYS;
  return gr_dnn_memory(x->g, p + 1, s, small ? ELEMENT : ALIGNED);
}
static gr_dnn_value value(const attention *x, gr_gpu_place p) {
  const gr_dnn_shape s = shape_of(x->a, x->n, x->heads, p);
  return in_memory(x, p, &s);
}
static gr_dnn_value transposed(const attention *x, gr_gpu_place p) {
  const gr_dnn_shape s = gr_dnn_transposed(shape_of(x->a, x->n, x->heads, p));
  return in_memory(x, p, &s);
}

// ---- Parts --------------------------------------------------------------------------------------

static gr_dnn_shape as(gr_dnn_shape s, cudnnDataType_t type) { return s.type = type, s; }
static gr_dnn_value pointwise(const attention *x, cudnnPointwiseMode_t mode, gr_dnn_value v,
                              gr_dnn_value b, gr_dnn_shape s) {
  return gr_dnn_pointwise(x->g, mode, CUDNN_DATA_FLOAT, v, b, NULL, gr_dnn_virtual(x->g, &s));
}
static gr_dnn_value compare(const attention *x, cudnnPointwiseMode_t mode, gr_dnn_value v,
                            gr_dnn_value b) {
  const gr_dnn_shape s = as(x->scores, CUDNN_DATA_BOOLEAN);
  return gr_dnn_pointwise(x->g, mode, CUDNN_DATA_BOOLEAN, v, b, NULL, gr_dnn_virtual(x->g, &s));
}
static gr_dnn_value reduce(const attention *x, cudnnReduceTensorOp_t with, gr_dnn_value v) {
  return gr_dnn_reduce(x->g, with, v, gr_dnn_virtual(x->g, &x->row));
}
static gr_dnn_value index_along(const attention *x, int64_t axis, gr_dnn_value like) {
  const gr_dnn_shape s = as(x->scores, CUDNN_DATA_INT32);
  return gr_dnn_index(x->g, axis, like, gr_dnn_virtual(x->g, &s));
}
// Scores where `seen`, and -infinity elsewhere.
static gr_dnn_value hide(const attention *x, gr_dnn_value scores, gr_dnn_value seen) {
  return gr_dnn_pointwise(x->g, CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, scores, x->hidden,
                          seen, gr_dnn_virtual(x->g, &x->scores));
}
static gr_dnn_value mask_lengths(const attention *x, gr_dnn_value scores) {
  if (!x->keys) return scores;
  gr_dnn_value i = index_along(x, 2, scores), j = index_along(x, 3, scores);
  gr_dnn_value row = compare(x, CUDNN_POINTWISE_CMP_LT, i, x->rows);
  gr_dnn_value key = compare(x, CUDNN_POINTWISE_CMP_LT, j, x->keys);
  return hide(x, scores, compare(x, CUDNN_POINTWISE_LOGICAL_AND, row, key));
}
static gr_dnn_value mask_causal(const attention *x, gr_dnn_value scores) {
  if (!x->a->causal) return scores;
  gr_dnn_value i = index_along(x, 2, scores), j = index_along(x, 3, scores);
  return hide(x, scores, compare(x, CUDNN_POINTWISE_CMP_GE, i, j));
}

// v of the weights that are kept, and 0 of those that are dropped.
static gr_dnn_value drop(const attention *x, gr_dnn_value v, gr_dnn_shape s) {
  return x->mask ? pointwise(x, CUDNN_POINTWISE_MUL, v, x->mask, s) : v;
}
static gr_dnn_value keep(const attention *x, gr_dnn_value v) {
  return x->mask ? pointwise(x, CUDNN_POINTWISE_MUL, v, x->keep, x->scores) : v;
}

// scale q k', with what a sample does not have masked; k is transposed.
static gr_dnn_value scores_of(const attention *x, gr_dnn_value q, gr_dnn_value k) {
  gr_dnn_value v =
      gr_dnn_matmul(x->g, q, k, x->rows, x->keys, NULL, gr_dnn_virtual(x->g, &x->scores));
  return mask_lengths(x, pointwise(x, CUDNN_POINTWISE_MUL, v, x->scale, x->scores));
}

// ---- Graphs -------------------------------------------------------------------------------------

static void forward(const attention *x) {
  gr_dnn_value v = scores_of(x, value(x, GR_GPU_Q), transposed(x, GR_GPU_K));
  v = mask_causal(x, v);
  gr_dnn_value top = reduce(x, CUDNN_REDUCE_TENSOR_MAX, v);
  v = pointwise(x, CUDNN_POINTWISE_SUB, v, top, x->scores);
  v = pointwise(x, CUDNN_POINTWISE_EXP, v, NULL, x->scores);
  gr_dnn_value sum = reduce(x, CUDNN_REDUCE_TENSOR_ADD, v);
  bool kept = is_there(x->a, GR_GPU_LSE);  // the pattern that cuDNN knows has it anyway
  gr_dnn_pointwise(x->g, CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, top,
                   pointwise(x, CUDNN_POINTWISE_LOG, sum, NULL, x->row), NULL,
                   kept ? value(x, GR_GPU_LSE) : gr_dnn_virtual(x->g, &x->row));
  const gr_dnn_shape narrow = as(x->scores, type_of(x->a->dtype));
  v = pointwise(x, CUDNN_POINTWISE_DIV, v, sum, x->mask ? x->scores : narrow);
  v = drop(x, keep(x, v), narrow);
  gr_dnn_matmul(x->g, v, value(x, GR_GPU_V), x->rows, NULL, x->keys, value(x, GR_GPU_Y));
}

// The sums of y dy of all rows, without what weights that are kept are multiplied by; a product by
// 1 is a part of the pattern that cuDNN knows, too.
static gr_dnn_value delta_of(const attention *x, gr_dnn_value dy) {
  const gr_gpu_attention *a = x->a;
  const gr_dnn_shape s = gr_dnn_dense(CUDNN_DATA_FLOAT, x->n, x->heads, a->t, a->e);
  gr_dnn_value v = pointwise(x, CUDNN_POINTWISE_MUL, dy, value(x, GR_GPU_Y), s);
  return gr_dnn_pointwise(x->g, CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT,
                          reduce(x, CUDNN_REDUCE_TENSOR_ADD, v), gr_dnn_scalar(x->g, GR_DNN_UNKEEP),
                          NULL, value(x, GR_GPU_DELTA));
}

// `of` of [n, heads, t, s] as [n, heads, s, t], by rows [n, heads, t, width].
static void add_by_rows(const attention *x, gr_dnn_value of, gr_dnn_value by, gr_gpu_place to) {
  const gr_dnn_shape s = gr_dnn_transposed(as(x->scores, type_of(x->a->dtype)));
  gr_dnn_value turned = gr_dnn_reshape(x->g, of, gr_dnn_virtual(x->g, &s));
  gr_dnn_matmul(x->g, turned, by, x->keys, NULL, x->rows, value(x, to));
}

static void gradients(const attention *x) {
  gr_dnn_value q = value(x, GR_GPU_Q), k = transposed(x, GR_GPU_K), dy = value(x, GR_GPU_DY);
  gr_dnn_value delta = delta_of(x, dy);
  gr_dnn_value v = scores_of(x, q, k);
  v = pointwise(x, CUDNN_POINTWISE_SUB, v, value(x, GR_GPU_LSE), x->scores);
  gr_dnn_value weights = pointwise(x, CUDNN_POINTWISE_EXP, mask_causal(x, v), NULL, x->scores);
  add_by_rows(x, keep(x, drop(x, weights, x->scores)), dy, GR_GPU_DV);
  v = gr_dnn_matmul(x->g, dy, transposed(x, GR_GPU_V), x->rows, x->keys, NULL,
                    gr_dnn_virtual(x->g, &x->scores));
  v = pointwise(x, CUDNN_POINTWISE_SUB, drop(x, v, x->scores), delta, x->scores);
  v = keep(x, pointwise(x, CUDNN_POINTWISE_MUL, v, weights, x->scores));
  v = pointwise(x, CUDNN_POINTWISE_MUL, v, x->scale, as(x->scores, type_of(x->a->dtype)));
  add_by_rows(x, v, q, GR_GPU_DK);
  const gr_dnn_shape keys = shape_of(x->a, x->n, x->heads, GR_GPU_K);
  k = gr_dnn_reshape(x->g, k, gr_dnn_virtual(x->g, &keys));
  gr_dnn_matmul(x->g, v, k, x->rows, NULL, x->keys, value(x, GR_GPU_DQ));
}

void gr_dnn_attention(gr_dnn_graph *g, const gr_gpu_attention *a, int64_t samples, int64_t heads) {
  attention x = {.g = g, .a = a, .n = samples, .heads = heads};
  x.scores = gr_dnn_dense(CUDNN_DATA_FLOAT, samples, heads, a->t, a->s);
  x.row = gr_dnn_dense(CUDNN_DATA_FLOAT, samples, heads, a->t, 1);
  x.scale = gr_dnn_scalar(g, GR_DNN_SCALE);
  if (is_there(a, GR_GPU_KEYS)) x.rows = value(&x, GR_GPU_ROWS), x.keys = value(&x, GR_GPU_KEYS);
  if (is_there(a, GR_GPU_MASK))
    x.mask = value(&x, GR_GPU_MASK), x.keep = gr_dnn_scalar(g, GR_DNN_KEEP);
  if (a->causal || x.keys) x.hidden = gr_dnn_scalar(g, GR_DNN_HIDDEN);
  if (a->gradient)
    gradients(&x);
  else
    forward(&x);
}
#endif
