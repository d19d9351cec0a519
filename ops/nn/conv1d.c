// conv1d.c - convolution along time, as a matmul of the kernel with patches of x (im2col).
#include "ops/kernels/gemm.h"
#include "ops/kernels/gpu_tile.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/kernels/widen.h"
#include "ops/ops.h"

struct conv1d {
  int64_t stride, pad, dilation;
  int64_t size;  // conv1d_grad_x: frames of x; conv1d_grad_w: taps of w; conv1d: 0
};

// The sizes of one op call. Frame s of y reads frames s * stride - pad + k * dilation of x.
typedef struct conv {
  const struct conv1d *a;
  int64_t n, t, c, steps, out, taps;
} conv;

static int64_t steps_of(const struct conv1d *a, int64_t t, int64_t taps) {
  int64_t room = t + 2 * a->pad - a->dilation * (taps - 1) - 1;
  return room < 0 ? 0 : room / a->stride + 1;
}

static int64_t frame(const conv *v, int64_t s, int64_t k) {
  return s * v->a->stride - v->a->pad + k * v->a->dilation;
}

static conv conv_of(const struct conv1d *a, const gr_type *x, const gr_type *w, const gr_type *y) {
  return (conv){.a = a,
                .n = x->dim[0],
                .t = x->dim[1],
                .c = x->dim[2],
                .steps = y->dim[1],
                .out = w->dim[0],
                .taps = w->dim[2]};
}

static void index_spec_of(const gr_op_call *s, char buf[128]) {
  // with a bias, c cannot be sharded: every rank's partial sum would include the bias
  strcpy(buf, s->n_in == 3 ? "nTC,oCK,o->n_o" : "nTc,ocK->n_o");
}

// The flops of y = conv1d(x, w), and equally of either gradient.
static int64_t flops_of(const gr_type *y, const gr_type *w) {
  return 2 * gr_type_count(y) * w->dim[1] * w->dim[2];
}
static int64_t flops(const gr_op_call *s) { return flops_of(s->out, &s->in[1]); }

static gr_status check_attr(const gr_op_call *s) {
  const struct conv1d *a = s->attr;
  if (a->stride >= 1 && a->pad >= 0 && a->dilation >= 1) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc,
                 "conv1d needs stride >= 1, pad >= 0 and dilation >= 1, not %lld, %lld, %lld",
                 (long long)a->stride, (long long)a->pad, (long long)a->dilation);
}

static gr_status infer(gr_op_call *s) {
  GR_TRY(check_attr(s));
  for (int k = 1; k < s->n_in; k++)
    GR_TRY(gr_require_float(s, k, k == 1 ? "the kernel" : "the bias"));
  s->out[0].dim[1] = steps_of(s->attr, s->in[0].dim[1], s->in[1].dim[2]);
  if (s->out[0].dim[1] > 0) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "%lld frames are too few for a kernel of %lld taps",
                 (long long)s->in[0].dim[1], (long long)s->in[1].dim[2]);
}

static void grad(const gr_grad *g) {
  if (g->b->err) return;
  struct conv1d a = *(const struct conv1d *)g->attr;
  if (g->want[0]) {
    a.size = gr_at(g->b->g, g->x[0])->type.dim[1];
    g->dx[0] = GR_EMIT(g->b, &gr_op_conv1d_grad_x, &a, g->x[1], g->dy[0]);
  }
  if (g->want[1] && !g->b->err) {
    a.size = gr_at(g->b->g, g->x[1])->type.dim[2];
    g->dx[1] = GR_EMIT(g->b, &gr_op_conv1d_grad_w, &a, g->x[0], g->dy[0]);
  }
  if (g->n_in == 3 && g->want[2]) g->dx[2] = GR_EMIT(g->b, &gr_op_bias_add_grad, NULL, g->dy[0]);
}

static gr_status cpu(const gr_launch *l) {
  conv v = conv_of(l->attr, l->in_type, l->in_type + 1, l->out_type);
  for (int64_t r = 0; r < v.n * v.steps; r++)
    for (int64_t o = 0; o < v.out; o++) {
      double sum = l->n_in == 3 ? IN(2, o) : 0;
      for (int64_t k = 0; k < v.taps; k++) {
        int64_t f = frame(&v, r % v.steps, k), at = (r / v.steps * v.t + f) * v.c;
        for (int64_t c = 0; f >= 0 && f < v.t && c < v.c; c++)
          sum += IN(0, at + c) * IN(1, (o * v.c + c) * v.taps + k);
      }
      OUT(0, r * v.out + o, sum);
    }
  return GR_OK;
}

// ---- f32: rows of patches [n * steps, taps * c], and the kernel as [out, taps * c] -------------

typedef struct job {
  conv v;
  const float *x, *y;
  float *patches, *to;
} job;

static void gather(void *arg, int64_t from, int64_t to) {
  const job *j = arg;
  const conv *v = &j->v;
  for (int64_t r = from; r < to; r++)
    for (int64_t k = 0; k < v->taps; k++) {
      int64_t f = frame(v, r % v->steps, k);
      float *p = j->patches + (r * v->taps + k) * v->c;
      if (f >= 0 && f < v->t)
        memcpy(p, j->x + (r / v->steps * v->t + f) * v->c, sizeof *p * (size_t)v->c);
      else
        memset(p, 0, sizeof *p * (size_t)v->c);
    }
}

// Adds patches to the frames they were gathered from (col2im), sample by sample.
static void scatter(void *arg, int64_t from, int64_t to) {
  const job *j = arg;
  const conv *v = &j->v;
  for (int64_t i = from; i < to; i++) {
    memset(j->to + i * v->t * v->c, 0, sizeof(float) * (size_t)(v->t * v->c));
    for (int64_t r = i * v->steps; r < (i + 1) * v->steps; r++)
      for (int64_t k = 0; k < v->taps; k++) {
        int64_t f = frame(v, r % v->steps, k);
        if (f < 0 || f >= v->t) continue;
        const float *p = j->patches + (r * v->taps + k) * v->c;
        float *x = j->to + (i * v->t + f) * v->c;
        GR_VECTOR for (int64_t c = 0; c < v->c; c++) x[c] += p[c];
      }
  }
}

static void kernel_to_rows(const conv *v, const float *w, float *rows) {  // [o,c,k] to [o,k,c]
  for (int64_t o = 0; o < v->out; o++)
    for (int64_t k = 0; k < v->taps; k++)
      for (int64_t c = 0; c < v->c; c++)
        rows[(o * v->taps + k) * v->c + c] = w[(o * v->c + c) * v->taps + k];
}

static void add_bias(void *arg, int64_t from, int64_t to) {
  const job *j = arg;
  for (int64_t r = from; r < to; r++) {
    float *y = j->to + r * j->v.out;
    GR_VECTOR for (int64_t o = 0; o < j->v.out; o++) y[o] += j->x[o];
  }
}

static int64_t rows_of(const conv *v) { return v->n * v->steps; }
static int64_t patch_of(const conv *v) { return v->taps * v->c; }

static gr_status run_f32(const gr_launch *l) {
  job j = {.v = conv_of(l->attr, l->in_type, l->in_type + 1, l->out_type), .x = l->in[0]};
  const conv *v = &j.v;
  float *w = l->scratch, *y = l->out[0];
  j.patches = w + v->out * patch_of(v);
  kernel_to_rows(v, l->in[1], w);
  gr_parallel(l, rows_of(v), gr_row_grain(patch_of(v)), gather, &j);
  gr_gemm g = gr_gemm_dense(false, true, rows_of(v), v->out, patch_of(v));
  gr_gemm_run(l, &g, j.patches, w, y);
  j.x = l->n_in == 3 ? l->in[2] : NULL, j.to = y;
  if (j.x) gr_parallel(l, rows_of(v), gr_row_grain(v->out), add_bias, &j);
  return GR_OK;
}

static gr_status run_narrow(const gr_launch *l) { return gr_run_widened(l, run_f32); }
static gr_kernel fast(const gr_op_call *s) { return gr_by_width(s, run_f32, run_narrow); }

static size_t bytes_of(const conv *v) {
  return sizeof(float) * (size_t)((v->out + rows_of(v)) * patch_of(v));
}

static size_t scratch(const gr_op_call *s) {
  conv v = conv_of(s->attr, s->in, s->in + 1, s->out);
  return gr_widened_scratch(s, bytes_of(&v));
}

// ---- On a GPU -----------------------------------------------------------------------------------

GR_CU(conv1d);

static void add_sizes(gr_gpu_kernel *k, const conv *v) {
  const int64_t size[] = {v->n,    v->t,         v->c,      v->steps,      v->out,
                          v->taps, v->a->stride, v->a->pad, v->a->dilation};
  for (size_t i = 0; i < sizeof size / sizeof *size; i++) gr_gpu_int(k, size[i]);
}

static gr_status gpu(gr_gpu_call *g) {
  const gr_op_call *s = g->call;
  conv v = conv_of(s->attr, s->in, s->in + 1, s->out);
  gr_gpu_kernel *k = gr_gpu_tile_add(g, gr_cu_conv1d, "conv1d", rows_of(&v), v.out, 1);
  gr_gpu_define(g, k, "FORWARD", "1");
  add_sizes(k, &v);
  return GR_OK;
}

#define COMMON                                                                         \
  GR_ATTR(struct conv1d, stride, GR_ATTR_INT, "1", "frames of x between frames of y"), \
      GR_ATTR(struct conv1d, pad, GR_ATTR_INT, "0", "zeros before and after x"),       \
      GR_ATTR(struct conv1d, dilation, GR_ATTR_INT, "1", "frames of x between taps")
static const gr_attr attrs[] = {COMMON, {0}};
static const struct conv1d one = {1, 0, 1, 0}, wide = {2, 2, 2, 0};
static const gr_case cases[] = {
    {{"f32[6,7,4]", "f32[6,4,3]"}, .attr = &one},
    {{"f32[6,9,4]", "f32[6,4,3]", "f32[6]"}, .attr = &wide},
    {{"f32[6,2,4]", "f32[6,4,3]"}, .attr = &one, .fails = "2 frames are too few"},
    {{"f32[6,7,4]", "f32[6,5,3]"}, .attr = &one, .fails = "sizes 4 and 5 differ"},
    {{"f32[6,7,4]", "f32[6,4,3]"}, .attr = &(struct conv1d){0, 0, 1, 0}, .fails = "stride >= 1"},
    {{0}},
};

const gr_op gr_op_conv1d = {
    .name = "conv1d",
    .doc =
        "Convolution of x [n,t,c] along t with kernel w [out,c,taps], plus an optional bias [out].",
    .n_in = GR_ANY,
    .n_out = 1,
    .attr_size = sizeof(struct conv1d),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .infer = infer,
    .flops = flops,
    .grad = grad,
    .cpu = cpu,
    .fast = fast,
    .scratch = scratch,
    .gpu = gpu,
    .amp = GR_AMP_NARROW,
    .cases = cases,
};

// ---- The gradient with respect to x -------------------------------------------------------------

static gr_status grad_x_infer(gr_op_call *s) {
  GR_TRY(check_attr(s));
  GR_TRY(gr_require_float(s, 1, "the gradient"));
  s->out[0].dim[1] = ((const struct conv1d *)s->attr)->size;
  return GR_OK;
}

static gr_status grad_x_cpu(const gr_launch *l) {
  conv v = conv_of(l->attr, l->out_type, l->in_type, l->in_type + 1);
  for (int64_t i = 0; i < v.n * v.t * v.c; i++) {
    double sum = 0;
    int64_t c = i % v.c, t = i / v.c % v.t, n = i / v.c / v.t;
    for (int64_t k = 0; k < v.taps; k++)
      for (int64_t s = 0; s < v.steps; s++)
        for (int64_t o = 0; frame(&v, s, k) == t && o < v.out; o++)
          sum += IN(0, (o * v.c + c) * v.taps + k) * IN(1, (n * v.steps + s) * v.out + o);
    OUT(0, i, sum);
  }
  return GR_OK;
}

static gr_status grad_x_f32(const gr_launch *l) {
  job j = {.v = conv_of(l->attr, l->out_type, l->in_type, l->in_type + 1), .to = l->out[0]};
  const conv *v = &j.v;
  float *w = l->scratch;
  j.patches = w + v->out * patch_of(v);
  kernel_to_rows(v, l->in[0], w);
  gr_gemm g = gr_gemm_dense(false, false, rows_of(v), patch_of(v), v->out);
  gr_gemm_run(l, &g, l->in[1], w, j.patches);
  gr_parallel(l, v->n, 1, scatter, &j);
  return GR_OK;
}

static gr_status x_narrow(const gr_launch *l) { return gr_run_widened(l, grad_x_f32); }
static gr_kernel grad_x_fast(const gr_op_call *s) { return gr_by_width(s, grad_x_f32, x_narrow); }

static size_t grad_x_scratch(const gr_op_call *s) {
  conv v = conv_of(s->attr, s->out, s->in, s->in + 1);
  return gr_widened_scratch(s, bytes_of(&v));
}

static gr_status grad_x_gpu(gr_gpu_call *g) {
  const gr_op_call *s = g->call;
  conv v = conv_of(s->attr, s->out, s->in, s->in + 1);
  gr_gpu_kernel *k = gr_gpu_tile_add(g, gr_cu_conv1d, "conv1d_grad_x", v.n * v.t, v.c, 1);
  gr_gpu_define(g, k, "GRAD_X", "1");
  add_sizes(k, &v);
  return GR_OK;
}

static const gr_attr grad_attrs[] = {
    COMMON,
    GR_ATTR(struct conv1d, size, GR_ATTR_INT, NULL,
            "number of frames of x (conv1d_grad_x) or taps of w (conv1d_grad_w)"),
    {0}};
static const gr_case grad_x_cases[] = {
    {{"f32[6,4,3]", "f32[6,5,6]"}, .attr = &(struct conv1d){1, 0, 1, 7}},
    {{"f32[6,4,3]", "f32[6,5,6]"}, .attr = &(struct conv1d){2, 2, 2, 9}},
    {{0}},
};

const gr_op gr_op_conv1d_grad_x = {
    .name = "conv1d_grad_x",
    .doc = "The gradient of conv1d with respect to x, from w and dy.",
    .n_in = 2,
    .n_out = 1,
    .attr_size = sizeof(struct conv1d),
    .attrs = grad_attrs,
    .index_spec = "ocK,nSo->n_c",
    .infer = grad_x_infer,
    .cpu = grad_x_cpu,
    .fast = grad_x_fast,
    .scratch = grad_x_scratch,
    .gpu = grad_x_gpu,
    .cases = grad_x_cases,
};

// ---- The gradient with respect to w -------------------------------------------------------------

static gr_status grad_w_infer(gr_op_call *s) {
  GR_TRY(check_attr(s));
  GR_TRY(gr_require_float(s, 1, "the gradient"));
  s->out[0].dim[2] = ((const struct conv1d *)s->attr)->size;
  return GR_OK;
}

static gr_status grad_w_cpu(const gr_launch *l) {
  conv v = conv_of(l->attr, l->in_type, l->out_type, l->in_type + 1);
  for (int64_t i = 0; i < v.out * v.c * v.taps; i++) {
    double sum = 0;
    int64_t k = i % v.taps, c = i / v.taps % v.c, o = i / v.taps / v.c;
    for (int64_t r = 0; r < rows_of(&v); r++) {
      int64_t f = frame(&v, r % v.steps, k);
      if (f >= 0 && f < v.t) sum += IN(0, (r / v.steps * v.t + f) * v.c + c) * IN(1, r * v.out + o);
    }
    OUT(0, i, sum);
  }
  return GR_OK;
}

static gr_status grad_w_f32(const gr_launch *l) {
  job j = {.v = conv_of(l->attr, l->in_type, l->out_type, l->in_type + 1), .x = l->in[0]};
  const conv *v = &j.v;
  float *rows = l->scratch, *dw = l->out[0];
  j.patches = rows + v->out * patch_of(v);
  gr_parallel(l, rows_of(v), gr_row_grain(patch_of(v)), gather, &j);
  gr_gemm g = gr_gemm_dense(true, false, v->out, patch_of(v), rows_of(v));
  gr_gemm_run(l, &g, l->in[1], j.patches, rows);
  for (int64_t o = 0; o < v->out; o++)
    for (int64_t c = 0; c < v->c; c++)
      for (int64_t k = 0; k < v->taps; k++)
        dw[(o * v->c + c) * v->taps + k] = rows[(o * v->taps + k) * v->c + c];
  return GR_OK;
}

static gr_status w_narrow(const gr_launch *l) { return gr_run_widened(l, grad_w_f32); }
static gr_kernel grad_w_fast(const gr_op_call *s) { return gr_by_width(s, grad_w_f32, w_narrow); }

static size_t grad_w_scratch(const gr_op_call *s) {
  conv v = conv_of(s->attr, s->in, s->out, s->in + 1);
  return gr_widened_scratch(s, bytes_of(&v));
}

static gr_status grad_w_gpu(gr_gpu_call *g) {
  enum { LEAST = 256 };  // frames that a part sums
  const gr_op_call *s = g->call;
  conv v = conv_of(s->attr, s->in, s->out, s->in + 1);
  int64_t size = v.out * patch_of(&v);
  gr_gpu_parts cut = gr_gpu_cut(1 + size / 4096, rows_of(&v), LEAST);
  gr_gpu_kernel *k =
      gr_gpu_tile_add(g, gr_cu_conv1d, "conv1d_grad_w", v.out, patch_of(&v), cut.parts);
  gr_gpu_define(g, k, "GRAD_W", "1");
  add_sizes(k, &v);
  gr_gpu_int(k, cut.share), gr_gpu_int(k, cut.parts);
  const char *source = k->source, *defines = k->defines;
  k = gr_gpu_kernel_add(g, source, "conv1d_add_parts", gr_gpu_items(size), GR_GPU_BLOCK);
  k->defines = defines;
  gr_gpu_int(k, v.out), gr_gpu_int(k, v.c), gr_gpu_int(k, v.taps), gr_gpu_int(k, cut.parts);
  g->scratch = gr_gpu_wide(s->in[0].dtype) * (size_t)(cut.parts * size);
  return GR_OK;
}

static const gr_case grad_w_cases[] = {
    {{"f32[6,7,4]", "f32[6,5,6]"}, .attr = &(struct conv1d){1, 0, 1, 3}},
    {{"f32[6,9,4]", "f32[6,5,6]"}, .attr = &(struct conv1d){2, 2, 2, 3}},
    {{0}},
};
static int64_t grad_w_flops(const gr_op_call *s) { return flops_of(&s->in[1], s->out); }

const gr_op gr_op_conv1d_grad_w = {
    .name = "conv1d_grad_w",
    .doc = "The gradient of conv1d with respect to w, from x and dy.",
    .n_in = 2,
    .n_out = 1,
    .attr_size = sizeof(struct conv1d),
    .attrs = grad_attrs,
    .index_spec = "nTc,nSo->oc_",
    .infer = grad_w_infer,
    .flops = grad_w_flops,
    .cpu = grad_w_cpu,
    .fast = grad_w_fast,
    .scratch = grad_w_scratch,
    .gpu = grad_w_gpu,
    .cases = grad_w_cases,
};
