// pointwise.c - see pointwise.h.
#include "ops/kernels/pointwise.h"
#include <assert.h>

gr_status gr_pointwise_infer(gr_op_call *s) {
  for (int k = 1; k < s->n_in; k++)
    if (s->in[k].dtype != s->in[0].dtype)
      return gr_hint(gr_fail(GR_ERR_TYPE, s->loc, "operand %d is %s, but operand 1 is %s", k + 1,
                             gr_dtypes[s->in[k].dtype].name, gr_dtypes[s->in[0].dtype].name),
                     "the op 'cast' converts one of them to the dtype of the other");
  return GR_OK;
}

gr_status gr_pointwise_infer_float(gr_op_call *s) {
  if (!gr_dtypes[s->in[0].dtype].is_float)
    return gr_hint(
        gr_fail(GR_ERR_TYPE, s->loc, "takes floats, got %s", gr_dtypes[s->in[0].dtype].name),
        "cast the operand to f32 first");
  return gr_pointwise_infer(s);
}

static bool all_are(const gr_op_call *s, gr_dtype dtype) {
  for (int k = 0; k < s->n_in; k++)
    if (s->in[k].dtype != dtype) return false;
  return s->out[0].dtype == dtype;
}

bool gr_pointwise_f32(const gr_op_call *s) { return all_are(s, GR_F32); }
bool gr_pointwise_fast(const gr_op_call *s) {
  return all_are(s, GR_F32) || all_are(s, GR_BF16) || all_are(s, GR_F16);
}

typedef struct work {
  const gr_launch *l;
  gr_tile tile;
  int n_x;
} work;

static void part(void *arg, int64_t begin, int64_t end) {
  const work *w = arg;
  const float *x[3] = {0};
  for (int k = 0; k < w->n_x; k++) x[k] = (const float *)w->l->in[k] + begin;
  w->tile(x, (float *)w->l->out[0] + begin, end - begin, w->l->attr);
}

// Elements first to first + n - 1 of an array of a narrow float type (bf16) as f32.
static void load(const void *array, gr_dtype dtype, int64_t first, int64_t n, float *out) {
  assert(first >= 0 && n >= 0);
  gr_widen(dtype, (const uint16_t *)array + first, out, n);
}

// Rounds n numbers to those elements.
static void store(void *array, gr_dtype dtype, int64_t first, int64_t n, const float *x) {
  assert(first >= 0 && n >= 0);
  gr_narrow(dtype, x, (uint16_t *)array + first, n);
}

static void part_narrow(void *arg, int64_t begin, int64_t end) {
  enum { TILE = 512 };
  const work *w = arg;
  gr_dtype dtype = w->l->out_type->dtype;
  float tile[3][TILE], y[TILE];
  const float *x[3] = {tile[0], tile[1], tile[2]};
  for (; begin < end; begin += TILE) {
    int64_t n = end - begin < TILE ? end - begin : TILE;
    for (int k = 0; k < w->n_x; k++) load(w->l->in[k], dtype, begin, n, tile[k]);
    w->tile(x, y, n, w->l->attr);
    store(w->l->out[0], dtype, begin, n, y);
  }
}

gr_status gr_pointwise_run(const gr_launch *l, gr_tile tile, int n_x) {
  gr_parallel(l, gr_type_count(l->out_type), 4096,
              gr_is_narrow(l->out_type->dtype) ? part_narrow : part, &(work){l, tile, n_x});
  return GR_OK;
}

void gr_grad_zero(const gr_grad *g) { (void)g; }

void gr_grad_of_last(const gr_grad *g) {
  gr_val in[GR_MAX_ARGS];
  for (int k = 0; k < g->n_in; k++) in[k] = k + 1 < g->n_in ? g->x[k] : g->dy[0];
  if (g->want[g->n_in - 1]) g->dx[g->n_in - 1] = gr_emit(g->b, g->op, g->attr, g->n_in, in);
}

const gr_case gr_float_cases[] = {
    {{"f32[4,6]"}}, {{"f32[2,3,5]"}}, {{"i32[4]"}, .fails = "takes floats, got i32"}, {{0}}};
const gr_case gr_gradient_cases[] = {{{"f32[4,6]", "f32[4,6]"}}, {{0}}};
