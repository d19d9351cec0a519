// write_slice.c - a value with one range of an axis replaced, from an index that is computed: what
// a cache of keys and values is written by. In a loop the value is a carry, which the planner lets
// the result take the place of, so that a step writes the range alone.
#include <string.h>
#include "ops/kernels/gpu.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

struct write_slice {
  int64_t axis;
};
enum { WHOLE, PART, INDEX };

static void index_spec_of(const gr_op_call *s, char buf[128]) {  // "a_c,a_c,->a_c"
  const struct write_slice *a = s->attr;
  char x[GR_MAX_RANK + 1] = {0};
  for (int d = 0; d < s->in[WHOLE].rank; d++) x[d] = d == a->axis ? '_' : (char)('a' + d);
  snprintf(buf, 128, "%s,%s,->%s", x, x, x);
}

static gr_status infer(gr_op_call *s) {
  const struct write_slice *a = s->attr;
  const gr_type *x = &s->in[WHOLE], *part = &s->in[PART];
  if (a->axis < 0 || a->axis >= x->rank)
    return gr_fail(GR_ERR_TYPE, s->loc, "no axis %lld in a value of %d axes", (long long)a->axis,
                   x->rank);
  GR_TRY(gr_require_ints(s, INDEX, "the index"));
  if (part->dtype != x->dtype)
    return gr_fail(GR_ERR_TYPE, s->loc, "a slice of %s cannot be written into %s",
                   gr_dtypes[part->dtype].name, gr_dtypes[x->dtype].name);
  if (part->dim[a->axis] > x->dim[a->axis])
    return gr_fail(GR_ERR_TYPE, s->loc, "%lld indices exceed an axis of %lld",
                   (long long)part->dim[a->axis], (long long)x->dim[a->axis]);
  s->out[0] = *x;
  return GR_OK;
}

// Bytes of an index of the axis, rows of `size` of them, and how many of them are written.
typedef struct rows {
  int64_t n, item, size, part;
} rows;

static rows rows_of(const gr_type *x, const gr_type *part, int64_t axis) {
  rows r = {1, 1, x->dim[axis], part->dim[axis]};
  for (int d = 0; d < x->rank; d++)
    if (d != axis) *(d < axis ? &r.n : &r.item) *= x->dim[d];
  return r;
}

static gr_status write_slice_cpu(const gr_launch *l) {
  const struct write_slice *a = l->attr;
  rows r = rows_of(&l->in_type[WHOLE], &l->in_type[PART], a->axis);
  int64_t item = r.item * (int64_t)gr_dtypes[l->out_type->dtype].size;
  int64_t index = *(const int32_t *)l->in[INDEX];
  int64_t begin = gr_max_i64(0, gr_min_i64(index, r.size - r.part));
  if (l->out[0] != l->in[WHOLE]) memcpy(l->out[0], l->in[WHOLE], gr_type_bytes(l->out_type));
  gr_copy_rows(l, (char *)l->out[0] + begin * item, r.size * item, l->in[PART], r.part * item,
               r.part * item, r.n);
  return GR_OK;
}

GR_CU(write_slice);

static gr_status gpu(gr_gpu_call *g) {
  const struct write_slice *a = g->call->attr;
  rows r = rows_of(&g->call->in[WHOLE], &g->call->in[PART], a->axis);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_write_slice, "write_slice",
                                       gr_gpu_items(r.n * r.size * r.item), GR_GPU_BLOCK);
  gr_gpu_int(k, r.n), gr_gpu_int(k, r.size), gr_gpu_int(k, r.part), gr_gpu_int(k, r.item);
  return GR_OK;
}

// What is before the slice, the slice, and what is behind it.
static void to_onnx(gr_onnx_call *c) {
  int axis = (int)((const struct write_slice *)c->call[0]->attr)->axis;
  const char *size = gr_onnx_in_size(c, WHOLE, axis), *part = gr_onnx_in_size(c, PART, axis);
  const char *zero = gr_onnx_vector(c, 1, &(int64_t){0});
  const char *index = gr_onnx_unsqueeze(c, gr_onnx_cast(c, c->in[INDEX], GR_ONNX_I64), 0);
  const char *begin = GR_ONNX(c, "Min", index, GR_ONNX(c, "Sub", size, part));
  begin = GR_ONNX(c, "Max", begin, zero);
  const char *before = gr_onnx_slice(c, c->in[WHOLE], axis, zero, begin);
  const char *end = GR_ONNX(c, "Add", begin, part);
  c->out[0] =
      GR_ONNX(c, "Concat", before, c->in[PART], gr_onnx_slice(c, c->in[WHOLE], axis, end, size));
  gr_onnx_int(c, "axis", axis);
}

static const gr_attr attrs[] = {
    GR_AXIS(struct write_slice, axis, GR_ATTR_INT, NULL, "the axis to write along"), {0}};
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,2]", "i32[]"}, .attr = &(struct write_slice){1}, .fill = "nni"},
    {{"f32[2,5,3]", "f32[2,1,3]", "i32[]"}, .attr = &(struct write_slice){1}, .fill = "nni"},
    {{"i32[5]", "i32[5]", "i32[]"}, .attr = &(struct write_slice){0}, .fill = "iii"},
    {{"f32[4,6]", "f32[4,7]", "i32[]"},
     .attr = &(struct write_slice){1},
     .fails = "7 indices exceed an axis of 6"},
    {{"f32[4,6]", "i32[4,1]", "i32[]"},
     .attr = &(struct write_slice){1},
     .fails = "a slice of i32 cannot be written into f32"},
    {{"f32[4,6]", "f32[4,6]", "i32[]"}, .attr = &(struct write_slice){2}, .fails = "no axis 2"},
    {{0}},
};

const gr_op gr_op_write_slice = {
    .name = "write_slice",
    .doc =
        "x with the indices of one axis from `index` on, an i32 [], replaced by those of part. An "
        "index at which part would reach beyond the axis, or before it, is the nearest that fits.",
    .n_in = 3,
    .attr_size = sizeof(struct write_slice),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .infer = infer,
    .cpu = write_slice_cpu,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"ScatterND", gr_scatter_nd_read}),
    .inplace = {1},
    .cases = cases,
};
