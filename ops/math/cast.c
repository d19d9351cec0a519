// cast.c - change of dtype.
#include "ops/kernels/gpu.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/widen.h"
#include "ops/ops.h"

struct cast {
  int64_t to;  // a gr_dtype
};

gr_val gr_cast_from(const gr_graph *g, gr_val v) {
  const gr_node *n = gr_maker(g, v);
  for (; n && (n->op == &gr_op_cast || n->op == &gr_op_fetch); n = gr_maker(g, v)) v = n->in[0];
  return v;
}

gr_val gr_cast(gr_builder *b, gr_val x, gr_dtype to) {
  if (b->err) return GR_NONE;
  gr_dtype dtype = gr_at(b->g, x)->type.dtype;
  const gr_node *n = gr_maker(b->g, x);
  bool widened = dtype == GR_F32 && n && n->op == &gr_op_cast && gr_is_narrow(to) &&
                 gr_at(b->g, n->in[0])->type.dtype == to;
  if (dtype == to) return x;
  return widened ? n->in[0] : GR_EMIT(b, &gr_op_cast, (&(struct cast){(int64_t)to}), x);
}

static gr_status infer(gr_op_call *s) {
  s->out[0].dtype = (gr_dtype)((const struct cast *)s->attr)->to;
  return GR_OK;
}

static void grad(const gr_grad *g) {
  gr_dtype source = gr_at(g->b->g, g->x[0])->type.dtype,
           target = gr_at(g->b->g, g->y[0])->type.dtype;
  if (gr_dtypes[source].is_float && gr_dtypes[target].is_float)
    g->dx[0] = gr_cast_product(g->b, g->dy[0], source);
}

static gr_status cast_cpu(const gr_launch *l) {
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++) OUT(0, i, IN(0, i));
  return GR_OK;
}

// Fast kernels for the pairs of dtypes that masks and mixed precision use.
#define CAST(name, From, To, expression)                                      \
  static void name##_part(void *arg, int64_t begin, int64_t end) {            \
    const gr_launch *l = arg;                                                 \
    const From *x = l->in[0];                                                 \
    To *y = l->out[0];                                                        \
    for (int64_t i = begin; i < end; i++) y[i] = expression;                  \
  }                                                                           \
  static gr_status name(const gr_launch *l) {                                 \
    gr_parallel(l, gr_type_count(l->out_type), 8192, name##_part, (void *)l); \
    return GR_OK;                                                             \
  }
CAST(i32_to_f32, int32_t, float, (float)x[i])
CAST(u8_to_f32, uint8_t, float, (float)x[i])

static gr_status narrow_to_f32(const gr_launch *l) {
  gr_widen_all(l, l->in_type->dtype, l->in[0], l->out[0], gr_type_count(l->out_type));
  return GR_OK;
}

static gr_status f32_to_narrow(const gr_launch *l) {
  gr_narrow_all(l, l->out_type->dtype, l->in[0], l->out[0], gr_type_count(l->out_type));
  return GR_OK;
}

static gr_kernel fast(const gr_op_call *s) {
  gr_dtype source = s->in[0].dtype, target = s->out[0].dtype;
  if (source == GR_F32 && gr_is_narrow(target)) return f32_to_narrow;
  if (gr_is_narrow(source) && target == GR_F32) return narrow_to_f32;
  if (source == GR_U8 && target == GR_F32) return u8_to_f32;
  return source == GR_I32 && target == GR_F32 ? i32_to_f32 : NULL;
}

// In a fused node values are f32 until they are stored, and stored values are rounded.
static void tile(const float *const *x, float *y, int64_t n, const void *attr) {
  (void)attr;
  for (int64_t i = 0; i < n; i++) y[i] = x[0][i];
}

static gr_status gpu(gr_gpu_call *g) { return gr_gpu_formula(g, "x0"); }

static void to_onnx(gr_onnx_call *c) {
  c->out[0] = gr_onnx_cast(c, c->in[0], gr_onnx_dtype(c->call[0]->out[0].dtype));
}

// Bools are 0 and 1, and whole numbers i32, whatever their size is.
static void read_cast(gr_onnx_reading *r) {
  int to = (int)gr_read_int(r, "to", 0);
  bool last, is_float = to == 1 || to == 10 || to == 11 || to == 16;
  int x = gr_read_as_is(r, 0, &last);
  gr_read_only(r, "saturate", 1);
  if (!is_float && !(to >= 2 && to <= 7) && to != GR_ONNX_BOOL && to != 12 && to != 13)
    gr_read_refuse(r, "casts to the dtype %d, which there is not", to);
  if (to == GR_ONNX_BOOL && !r->err && gr_dtypes[gr_read_type(r, x)->dtype].is_float) {
    int zero = gr_read_number(r, 0);
    x = GR_READ_TWO(r, &gr_op_add, GR_READ_TWO(r, &gr_op_less, zero, x),
                    GR_READ_TWO(r, &gr_op_less, x, zero));
  }
  gr_read_out(r, 0, gr_read_cast(r, x, is_float), last);
}

static void read_cast_like(gr_onnx_reading *r) {
  bool last;
  int x = gr_read_as_is(r, 0, &last), like = gr_read_in(r, 1, true);
  gr_read_only(r, "saturate", 1);
  if (r->err) return;
  gr_read_out(r, 0, gr_read_cast(r, x, gr_dtypes[gr_read_type(r, like)->dtype].is_float), last);
}

// Toward zero, and one less or more where that is above x, or below.
static void rounded(gr_onnx_reading *r, bool up) {
  bool last;
  int x = gr_read_as_is(r, 0, &last);
  int whole = gr_read_cast(r, gr_read_cast(r, x, false), true);
  int y = GR_READ_TWO(r, &gr_op_less, up ? whole : x, up ? x : whole);
  gr_read_out(r, 0, GR_READ_TWO(r, up ? &gr_op_add : &gr_op_sub, whole, y), last);
}

static void read_ceil(gr_onnx_reading *r) { rounded(r, true); }

// A path is left out at random by the floor of a random number plus a known one, too.
static void read_floor(gr_onnx_reading *r) {
  int x = gr_read_in(r, 0, true), line = r->vars[x].line, y = 0;
  const gr_read_line *l = line ? &r->lines[line - 1] : NULL;
  for (int k = 0; l && !y && k < 2 && !strcmp(l->op, "add"); k++)
    y = gr_read_chance(r, l->in[k], l->in[1 - k]);
  if (y)
    gr_read_out(r, 0, y, false);
  else
    rounded(r, false);
}

static const gr_attr attrs[] = {GR_ATTR(struct cast, to, GR_ATTR_DTYPE, NULL, "the new dtype"),
                                {0}};
static const gr_case cases[] = {
    {{"f32[4,6]"}, .attr = &(struct cast){GR_BF16}},
    {{"bf16[4,6]"}, .attr = &(struct cast){GR_F32}},
    {{"f32[4,6]"}, .attr = &(struct cast){GR_F16}},
    {{"f16[4,6]"}, .attr = &(struct cast){GR_F32}},
    {{"f16[4,6]"}, .attr = &(struct cast){GR_BF16}},
    {{"i32[4,6]"}, .attr = &(struct cast){GR_F32}, .fill = "i"},
    {{"u8[4,6]"}, .attr = &(struct cast){GR_F32}, .fill = "i"},
    {{"i64[4,6]"}, .attr = &(struct cast){GR_F32}, .fill = "i"},
    {{"f64[4,6]"}, .attr = &(struct cast){GR_F32}},
    {{"f32[4,6]"}, .attr = &(struct cast){GR_I32}},
    {{0}},
};

const gr_op gr_op_cast = {
    .name = "cast",
    .doc =
        "x in another dtype, rounded to nearest even (to integers: toward zero). The gradient is "
        "cast back.",
    .attr_size = sizeof(struct cast),
    .attrs = attrs,
    .index_spec = "...->...",
    .linear = true,
    .padding = GR_PADDING_PRESERVED,
    .infer = infer,
    .grad = grad,
    .cpu = cast_cpu,
    .fast = fast,
    .tile_formula = "x0",
    .tile = tile,
    .gpu = gpu,
    .multi_tensor = true,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"Cast", read_cast}, {"CastLike", read_cast_like},
                              {"Ceil", read_ceil}, {"Floor", read_floor}),
    .cases = cases,
};
