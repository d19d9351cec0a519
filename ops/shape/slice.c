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

static void index_spec_of(const gr_op_call *s, char buf[128]) {  // "a_c->a_c"
  const struct slice *a = s->attr;
  char *p = buf;
  for (int d = 0; d < s->in[0].rank; d++) *p++ = d == a->axis ? '_' : (char)('a' + d);
  *p = 0;
  snprintf(p, 64, "->%.*s", s->in[0].rank, buf);
}

// part: the size of the slice; whole: the size of the axis.
static gr_status check(const gr_op_call *s, int64_t part, int64_t whole) {
  const struct slice *a = s->attr;
  if (a->begin < 0 || part < 1 || a->begin > whole - part)
    return gr_fail(GR_ERR_TYPE, s->loc, "%lld indices from %lld exceed an axis of %lld",
                   (long long)part, (long long)a->begin, (long long)whole);
  return GR_OK;
}

static gr_status check_axis(const gr_op_call *s) {
  const struct slice *a = s->attr;
  if (a->axis < 0 || a->axis >= s->in[0].rank)
    return gr_fail(GR_ERR_TYPE, s->loc, "no axis %lld in a value of %d axes", (long long)a->axis,
                   s->in[0].rank);
  return GR_OK;
}

static gr_status infer(gr_op_call *s) {
  const struct slice *a = s->attr;
  GR_TRY(check_axis(s));
  GR_TRY(check(s, a->size, s->in[0].dim[a->axis]));
  s->out[0].dim[a->axis] = a->size;
  return GR_OK;
}

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

// The elements per index of the axis, and of the axis and all later ones; rows of them.
static gr_gpu_box box_of(const gr_op_call *s, int64_t axis) {
  int64_t inner = 1, outer = 1;
  for (int d = 0; d < s->in[0].rank; d++)
    if (d != axis) *(d < axis ? &outer : &inner) *= s->in[0].dim[d];
  int64_t x = inner * s->in[0].dim[axis], y = inner * s->out[0].dim[axis];
  return (gr_gpu_box){.rows = outer, .columns = gr_min_i64(x, y), .x_width = x, .y_width = y};
}

static gr_status gpu(gr_gpu_call *g) {
  const struct slice *a = g->call->attr;
  gr_gpu_box b = box_of(g->call, a->axis);
  b.x_from = a->begin * (b.x_width / g->call->in[0].dim[a->axis]);
  gr_gpu_copy_box(g, &b);
  return GR_OK;
}

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

// Index i of an axis as Slice has it: from the end if it is negative, and within the axis.
static int64_t clip_index(int64_t i, int64_t size) {
  i = i < 0 ? i + size : i;
  return i < 0 ? 0 : i > size ? size : i;
}

static int read_part(gr_onnx_reading *r, int x, int axis, const int64_t *start,
                     const int64_t *end) {
  int64_t first[GR_READ_CHOICES], size[GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    int64_t whole = r->vars[x].type[c].dim[axis];
    first[c] = clip_index(start[c], whole), size[c] = clip_index(end[c], whole) - first[c];
    if (size[c] < 1 && !gr_read_is_known(r, x)) gr_read_refuse(r, "takes nothing of axis %d", axis);
  }
  if (!r->err && size[0] < 1)  // no sizes, which Concat leaves out
    return gr_read_known(r, &(gr_type){.dtype = GR_I64, .rank = 1}, "");
  return r->err ? 0 : gr_read_slice(r, x, axis, first, size);
}

// Which indices of an axis those are, from `i` to before `stop` by a step; returns their number.
static int64_t indices(int64_t i, int64_t stop, int64_t by, int64_t size, int64_t *out) {
  int64_t n = 0;
  by = by < -size ? -size : by > size ? size : by;
  if (i < 0) i += size;
  if (i < 0) i = by < 0 ? -1 : 0;
  if (i >= size) i = by < 0 ? size - 1 : size;
  if (stop < 0) stop = stop < -size ? -1 : stop + size;
  for (; by && i >= 0 && i < size && (by < 0 ? i > stop : i < stop); i += by) out[n++] = i;
  return n;
}

// Every step-th row of a known value; the step may be below 0.
static int read_steps(gr_onnx_reading *r, int x, int axis, const int64_t *start, const int64_t *end,
                      const int64_t *step) {
  gr_type type[GR_READ_CHOICES];
  const void *data[GR_READ_CHOICES];
  if (!gr_read_is_known(r, x) || r->vars[x].weight)
    gr_read_refuse(r, "has steps; only steps of 1 are read");
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    type[c] = r->vars[x].type[c];
    rows source = rows_of(&type[c], axis), to;
    int64_t *index = GR_NEW(r->arena, int64_t, (size_t)type[c].dim[axis] + 1);
    type[c].dim[axis] = indices(start[c], end[c], step[c], type[c].dim[axis], index);
    if (!type[c].dim[axis]) gr_read_refuse(r, "takes nothing of axis %d", axis);
    char *copy = gr_arena_alloc(r->arena, gr_type_bytes(&type[c]) + 8);
    to = rows_of(&type[c], axis);
    for (int64_t i = 0; i < to.n && !r->err; i++)
      for (int64_t k = 0; k < type[c].dim[axis]; k++)
        memcpy(copy + i * to.bytes + k * to.item,
               (const char *)r->vars[x].data[c] + i * source.bytes + index[k] * source.item,
               (size_t)to.item);
    data[c] = copy;
  }
  int y = r->err ? 0 : gr_read_var_add(r, type);
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) r->vars[y].data[c] = data[c];
  return y;
}

static void read_slice(gr_onnx_reading *r) {
  int64_t start[GR_MAX_RANK][GR_READ_CHOICES], end[GR_MAX_RANK][GR_READ_CHOICES];
  int64_t axes[GR_MAX_RANK][GR_READ_CHOICES], step[GR_MAX_RANK][GR_READ_CHOICES];
  bool last;
  int x = gr_read_as_is(r, 0, &last), a = gr_read_in(r, 3, false), s = gr_read_in(r, 4, false);
  int n = gr_read_numbers(r, gr_read_in(r, 1, true), GR_MAX_RANK, start);
  if (n < 0 || gr_read_numbers(r, gr_read_in(r, 2, true), GR_MAX_RANK, end) != n ||
      (a && gr_read_numbers(r, a, GR_MAX_RANK, axes) != n) ||
      (s && gr_read_numbers(r, s, GR_MAX_RANK, step) != n))
    gr_read_refuse(r, "has bounds that are no constants");
  for (int i = 0; i < n && !r->err; i++) {
    int rank = gr_read_type(r, x)->rank, axis = gr_read_axis(r, a ? axes[i][0] : i, rank);
    if (s && step[i][0] != 1)
      x = read_steps(r, x, gr_read_place(axis, rank, last), start[i], end[i], step[i]);
    else
      x = read_part(r, x, gr_read_place(axis, rank, last), start[i], end[i]);
  }
  gr_read_out(r, 0, x, last);
}

// The sizes are given, or as equal as they can be.
static void read_split(gr_onnx_reading *r) {
  enum { MOST = 64 };
  int64_t sizes[MOST][GR_READ_CHOICES], start[GR_READ_CHOICES] = {0};
  bool last;
  int x = gr_read_as_is(r, 0, &last), s = gr_read_in(r, 1, false), n = r->node->n_out;
  gr_read_int(r, "num_outputs", n);
  if (r->err) return;
  int rank = gr_read_type(r, x)->rank;
  int axis = gr_read_place(gr_read_axis(r, gr_read_int(r, "axis", 0), rank), rank, last);
  if (n > MOST || (s && gr_read_numbers(r, s, MOST, sizes) != n))
    gr_read_refuse(r, "has parts that are no constants");
  for (int i = 0; i < n && !r->err; i++) {
    int64_t size[GR_READ_CHOICES], end[GR_READ_CHOICES];
    for (int c = 0; c < GR_READ_CHOICES; c++) {
      int64_t whole = r->vars[x].type[c].dim[axis];
      size[c] = s ? sizes[i][c] : (whole + n - 1) / n;
      end[c] = start[c] + size[c];
    }
    gr_read_out(r, i, read_part(r, x, axis, start, end), last);
    for (int c = 0; c < GR_READ_CHOICES; c++) start[c] = end[c];
  }
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
    .n_in = 1,
    .n_out = 1,
    .attr_size = sizeof(struct slice),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .linear = true,
    .infer = infer,
    .grad = grad,
    .cpu = slice_cpu,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"Slice", read_slice}, {"Split", read_split}),
    .cases = cases,
};

static gr_status pad_infer(gr_op_call *s) {
  const struct slice *a = s->attr;
  GR_TRY(check_axis(s));
  GR_TRY(check(s, s->in[0].dim[a->axis], a->size));
  s->out[0].dim[a->axis] = a->size;
  return GR_OK;
}

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

static gr_status pad_gpu(gr_gpu_call *g) {
  const struct slice *a = g->call->attr;
  gr_gpu_box b = box_of(g->call, a->axis);
  b.y_from = a->begin * (b.x_width / g->call->in[0].dim[a->axis]);
  gr_gpu_copy_box(g, &b);
  return GR_OK;
}

static int64_t zeros(const gr_op_call *c, int after) {
  const struct slice *a = c->attr;
  return after ? a->size - a->begin - c->in[0].dim[a->axis] : a->begin;
}

static void pad_onnx(gr_onnx_call *c) {
  const struct slice *a = c->call[0]->attr;
  const char *before = gr_onnx_size(c, zeros, false), *after = gr_onnx_size(c, zeros, true);
  const char *pads = GR_ONNX(c, "Concat", before, after);
  gr_onnx_int(c, "axis", 0);
  c->out[0] = GR_ONNX(c, "Pad", c->in[0], pads, "", gr_onnx_vector(c, 1, &a->axis));
}

// Which element of an axis stands at position i beyond its ends; -1: none.
static int64_t beyond(int64_t i, int64_t size, const char *mode) {
  if (!strcmp(mode, "edge")) return i < 0 ? 0 : i >= size ? size - 1 : i;
  if (!strcmp(mode, "wrap")) return (i % size + size) % size;
  i = i < 0 ? -i : i;
  return i < size ? i : 2 * size - 2 - i;
}

// Elements of the axis again, of which each is one times a row of a matrix.
static int pad_again(gr_onnx_reading *r, int x, int axis, const int64_t pads[2], const char *mode) {
  enum { MOST = 1 << 12 };  // elements of the axis
  int64_t size = gr_read_type(r, x)->dim[axis];
  if (pads[0] < 0 || pads[1] < 0 || pads[0] > size || pads[1] > size || size > MOST)
    gr_read_refuse(r, "pads an axis of %lld by %lld and %lld", (long long)size, (long long)pads[0],
                   (long long)pads[1]);
  if (r->err) return 0;
  int64_t wide = size + pads[0] + pads[1];
  float *matrix = GR_NEW(r->arena, float, (size_t)(wide * size));
  for (int64_t i = 0; i < wide; i++) {
    int64_t k = beyond(i - pads[0], size, mode);
    if (k >= 0 && k < size) matrix[i * size + k] = 1;
  }
  return gr_read_mix(r, x, axis, wide, matrix);
}

static int pad_zeros(gr_onnx_reading *r, int x, int d, const int64_t *before,
                     const int64_t *after) {
  int64_t axis[1][GR_READ_CHOICES], size[1][GR_READ_CHOICES], first[1][GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    axis[0][c] = d, first[0][c] = before[c];
    size[0][c] = r->vars[x].type[c].dim[d] + before[c] + after[c];
  }
  return GR_READ(r, &gr_op_pad, x, GR_READ_NUMBER("axis", axis), GR_READ_NUMBER("from", first),
                 GR_READ_NUMBER("size", size));
}

static void read_pad(gr_onnx_reading *r) {
  int64_t pads[2 * GR_MAX_RANK][GR_READ_CHOICES];
  bool last;
  int x = gr_read_as_is(r, 0, &last), value = gr_read_in(r, 2, false);
  const char *mode = gr_read_text(r, "mode", "constant");
  double v = 0;
  if (r->err) return;
  int rank = gr_read_type(r, x)->rank;
  if (gr_read_numbers(r, gr_read_in(r, 1, true), 2 * GR_MAX_RANK, pads) != 2 * rank)
    gr_read_refuse(r, "has widths that are no constants, or not of all axes");
  bool zeros = !strcmp(mode, "constant");
  if ((zeros && value && (!gr_read_scalar(r, value, &v) || v != 0)) || gr_read_in(r, 3, false))
    gr_read_refuse(r, "does not pad all axes with zeros");
  for (int d = 0; d < rank && !r->err; d++) {
    int axis = gr_read_place(d, rank, last);
    if (!pads[d][0] && !pads[d + rank][0]) continue;
    for (int c = 0; c < GR_READ_CHOICES; c++)
      if (pads[d][c] < -INT32_MAX || pads[d][c] > INT32_MAX || pads[d + rank][c] < -INT32_MAX ||
          pads[d + rank][c] > INT32_MAX)
        gr_read_refuse(r, "pads by more than an axis can have");
    if (r->err) return;
    x = zeros ? pad_zeros(r, x, axis, pads[d], pads[d + rank])
              : pad_again(r, x, axis, (int64_t[]){pads[d][0], pads[d + rank][0]}, mode);
  }
  gr_read_out(r, 0, x, last);
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
    .n_in = 1,
    .n_out = 1,
    .attr_size = sizeof(struct slice),
    .attrs = pad_attrs,
    .index_spec_of = index_spec_of,
    .linear = true,
    .infer = pad_infer,
    .grad = pad_grad,
    .cpu = pad_cpu,
    .gpu = pad_gpu,
    .to_onnx = pad_onnx,
    .from_onnx = GR_FROM_ONNX({"Pad", read_pad}),
    .cases = pad_cases,
};
