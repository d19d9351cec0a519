// slice.c - a contiguous range of one axis; and its gradient, which pads with zeros.
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

struct slice {
  int64_t axis, begin, size;
};

gr_val gr_slice(gr_builder *b, gr_val x, int axis, int64_t begin, int64_t size) {
  return GR_EMIT(b, &gr_op_slice, (&(struct slice){axis, begin, size}), x);
}

gr_val gr_pad(gr_builder *b, gr_val x, int axis, int64_t begin, int64_t size) {
  return GR_EMIT(b, &gr_op_pad, (&(struct slice){axis, begin, size}), x);
}

int64_t gr_slice_begin(const gr_node *n, int axis) {
  const struct slice *a = n->attr;
  return (n->op == &gr_op_slice || n->op == &gr_op_pad) && a->axis == axis ? a->begin : -1;
}

static void index_spec_of(const gr_op_call *s, char buf[128]) {  // "a_c->a_c"
  const struct slice *a = s->attr;
  char *p = buf;
  for (int d = 0; d < s->in[0].rank; d++) *p++ = d == a->axis ? '_' : (char)('a' + d);
  *p = 0;
  snprintf(p, 64, "->%.*s", s->in[0].rank, buf);
}

// part: the size of the slice; whole: the size of the axis.
static gr_status check_range(const gr_op_call *s, int64_t part, int64_t whole) {
  const struct slice *a = s->attr;
  if (a->begin >= 0 && part > 0 && a->begin <= whole - part) return GR_OK;
  gr_status e = gr_fail(GR_ERR_TYPE, s->loc, "%lld indices from %lld exceed an axis of %lld",
                        (long long)part, (long long)a->begin, (long long)whole);
  if (a->begin >= 0 || part < 1 || part > whole) return e;
  return gr_hint(e,
                 "indices count from 0: the last are from %lld; an expression may say so: t - %lld",
                 (long long)(whole - part), (long long)part);
}

// pads: the result has the axis, and the operand the slice.
static gr_status infer_either(gr_op_call *s, bool pads) {
  const struct slice *a = s->attr;
  if (a->axis < 0 || a->axis >= s->in[0].rank)
    return gr_fail(GR_ERR_TYPE, s->loc, "no axis %lld in a value of %d axes", (long long)a->axis,
                   s->in[0].rank);
  int64_t has = s->in[0].dim[a->axis];
  s->out[0].dim[a->axis] = a->size;
  return pads ? check_range(s, has, a->size) : check_range(s, a->size, has);
}

// What it makes, or pads, is copied in rows.
static void efforts(const gr_op_call *s, gr_efforts *w) {
  const gr_type *less = gr_type_count(s->in) < gr_type_count(s->out) ? s->in : s->out;
  double outer = 1;
  for (int d = 0; d < ((const struct slice *)s->attr)->axis; d++) outer *= (double)s->out->dim[d];
  gr_count_runs((double)gr_type_count(s->out), (double)gr_type_count(s->out) / outer, w);
  w->bytes = (double)(gr_type_bytes(less) + gr_type_bytes(s->out));
}

static gr_status infer(gr_op_call *s) { return infer_either(s, false); }

static void grad(const gr_grad *g) {
  const struct slice *a = g->attr;
  int64_t whole = gr_at(g->b->g, g->x[0])->type.dim[a->axis];
  g->dx[0] = gr_pad(g->b, g->dy[0], (int)a->axis, a->begin, whole);
}

// A value as rows of bytes that cover the axis and all later axes.
typedef struct rows {
  int64_t n, bytes, item;  // item: bytes per index of the axis
} rows;

static rows rows_of(const gr_type *t, int64_t axis) {
  rows r = {1, 0, gr_dtypes[t->dtype].size};
  for (int d = 0; d < t->rank; d++) *(d < axis ? &r.n : &r.item) *= d == axis ? 1 : t->dim[d];
  r.bytes = r.item * t->dim[axis];
  return r;
}

static gr_status slice_cpu(const gr_launch *l) {
  const struct slice *a = l->attr;
  rows x = rows_of(l->in_type, a->axis), y = rows_of(l->out_type, a->axis);
  gr_copy_rows(l, l->out[0], y.bytes, (const char *)l->in[0] + a->begin * x.item, x.bytes, y.bytes,
               x.n);
  return GR_OK;
}

static gr_status copy_box(gr_gpu_call *g, bool pads) {
  const struct slice *a = g->call->attr;
  rows x = rows_of(g->call->in, a->axis), y = rows_of(g->call->out, a->axis);
  int64_t each = gr_dtypes[g->call->in->dtype].size, first = a->begin * x.item / each;
  gr_gpu_copy_box(g, &(gr_gpu_box){.rows = x.n,
                                   .columns = gr_min_i64(x.bytes, y.bytes) / each,
                                   .x_width = x.bytes / each,
                                   .y_width = y.bytes / each,
                                   .x_from = pads ? 0 : first,
                                   .y_from = pads ? first : 0});
  return GR_OK;
}

static gr_status gpu(gr_gpu_call *g) { return copy_box(g, false); }

// The first index, and the one after the last; from the end, where that does not change: -1 is then
// the last index.
enum { FIRST, END, FIRST_OF_END, END_OF_END };
static int64_t bound(const gr_op_call *c, int which) {
  const struct slice *a = c->attr;
  int64_t index = which & 1 ? a->begin + a->size : a->begin;
  return which < FIRST_OF_END ? index : index - c->in[0].dim[a->axis];
}

static const char *bound_onnx(gr_onnx_call *c, int which) {
  int of_end = which + FIRST_OF_END;
  int64_t index = bound(c->call[0], of_end);
  if (gr_onnx_is_fixed(c, bound, which) || !gr_onnx_is_fixed(c, bound, of_end))
    return gr_onnx_size(c, bound, which);
  return gr_onnx_vector(c, 1, index ? &index : &(int64_t){INT64_MAX});
}

static void to_onnx(gr_onnx_call *c) {
  int axis = (int)((const struct slice *)c->call[0]->attr)->axis;
  const char *first = bound_onnx(c, FIRST);
  c->out[0] = gr_onnx_slice(c, c->in[0], axis, first, bound_onnx(c, END));
}

static const gr_attr attrs[] = {
    GR_AXIS(struct slice, axis, GR_ATTR_INT, NULL, "the axis to slice"),
    {"from", GR_ATTR_INT, offsetof(struct slice, begin), "0", "first index"},
    GR_ATTR(struct slice, size, GR_ATTR_INT, NULL, "number of indices"),
    {0}};
static const gr_case cases[] = {
    {{"f32[4,6]"}, .attr = &(struct slice){1, 2, 3}},
    {{"f32[4,6]"}, .attr = &(struct slice){0, 1, 1}},
    {{"f32[2,4,6]"}, .attr = &(struct slice){1, 0, 3}},
    {{"i32[5]"}, .attr = &(struct slice){0, 1, 4}, .fill = "i"},
    {{"f32[4,6]"},
     .attr = &(struct slice){1, 4, 3},
     .fails = "3 indices from 4 exceed an axis of 6"},
    {{"f32[4,6]"}, .attr = &(struct slice){2, 0, 1}, .fails = "no axis 2"},
    {{"f32[4,6]"}, .attr = &(struct slice){-1, 0, 1}, .fails = "no axis -1"},
    {{0}},
};

const gr_op gr_op_slice = {
    .name = "slice",
    .doc = "The indices from `from` to `from + size - 1` of one axis.",
    .efforts = efforts,
    .n_in = 1,
    .attr_size = sizeof(struct slice),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .linear = true,
    .infer = infer,
    .grad = grad,
    .cpu = slice_cpu,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .from_onnx =
        GR_FROM_ONNX({"Slice", gr_slice_read}, {"Split", gr_split_read},
                     {"SplitToSequence", gr_sequence_read}, {"SequenceAt", gr_sequence_at_read}),
    .cases = cases,
};

static gr_status pad_infer(gr_op_call *s) { return infer_either(s, true); }

static void pad_grad(const gr_grad *g) {
  const struct slice *a = g->attr;
  int64_t part = gr_at(g->b->g, g->x[0])->type.dim[a->axis];
  g->dx[0] = gr_slice(g->b, g->dy[0], (int)a->axis, a->begin, part);
}

static gr_status pad_cpu(const gr_launch *l) {
  const struct slice *a = l->attr;
  rows x = rows_of(l->in_type, a->axis), y = rows_of(l->out_type, a->axis);
  memset(l->out[0], 0, gr_type_bytes(l->out_type));
  gr_copy_rows(l, (char *)l->out[0] + a->begin * y.item, y.bytes, l->in[0], x.bytes, x.bytes, x.n);
  return GR_OK;
}

static gr_status pad_gpu(gr_gpu_call *g) { return copy_box(g, true); }

static int64_t zeros(const gr_op_call *c, int after) {
  const struct slice *a = c->attr;
  return after ? a->size - a->begin - c->in[0].dim[a->axis] : a->begin;
}

// Widths of all axes: onnxruntime 1.32, which moves transposes through a Pad, permutes the widths
// of some as if they were those of all.
static void pad_onnx(gr_onnx_call *c) {
  static const int64_t none[GR_MAX_RANK] = {0};
  const gr_op_call *call = c->call[0];
  const int64_t axis = ((const struct slice *)call->attr)->axis, rank = call->in[0].rank;
  const int64_t gap[] = {axis, rank - 1, rank - 1 - axis};
  const char *part[5];
  int n = 0;
  for (int i = 0; i < 3; i++) {
    if (gap[i]) part[n++] = gr_onnx_vector(c, (int)gap[i], none);
    if (i < 2) part[n++] = gr_onnx_size(c, zeros, i);
  }
  const char *pads = gr_onnx_emit(c, "Concat", n, part);
  gr_onnx_int(c, "axis", 0);
  c->out[0] = GR_ONNX(c, "Pad", c->in[0], pads);
}

static const gr_attr pad_attrs[] = {
    GR_AXIS(struct slice, axis, GR_ATTR_INT, NULL, "the axis to slice"),
    {"from", GR_ATTR_INT, offsetof(struct slice, begin), "0", "number of zeros before x"},
    GR_ATTR(struct slice, size, GR_ATTR_INT, NULL, "size of the axis in the result"),
    {0}};
static const gr_case pad_cases[] = {
    {{"f32[4,6]"}, .attr = &(struct slice){1, 2, 9}},
    {{"f32[4,6]"}, .attr = &(struct slice){0, 0, 5}},
    {{"f32[4,6]"},
     .attr = &(struct slice){1, 4, 9},
     .fails = "6 indices from 4 exceed an axis of 9"},
    {{0}},
};

const gr_op gr_op_pad = {
    .name = "pad",
    .doc = "x padded with zeros before and after, along one axis: the gradient of slice.",
    .efforts = efforts,
    .n_in = 1,
    .attr_size = sizeof(struct slice),
    .attrs = pad_attrs,
    .index_spec_of = index_spec_of,
    .linear = true,
    .infer = pad_infer,
    .grad = pad_grad,
    .cpu = pad_cpu,
    .gpu = pad_gpu,
    .to_onnx = pad_onnx,
    .from_onnx = GR_FROM_ONNX({"Pad", gr_pad_read}),
    .cases = pad_cases,
};
