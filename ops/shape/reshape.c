// reshape.c - the same elements in the same order, with another shape.
#include "ops/kernels/cpu.h"
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/ops.h"

// At most one size is -1 and is inferred. In a loop's body, which does not know the batch size,
// this is the axis that may be sharded.
struct reshape {
  gr_ints shape;
};

gr_val gr_reshape(gr_builder *b, gr_val x, gr_ints shape) {
  return GR_EMIT(b, &gr_op_reshape, &(struct reshape){shape}, x);
}

static int inferred_axis(const gr_ints *shape) {
  for (int d = 0; d < (int)shape->n; d++)
    if (shape->items[d] == -1) return d;
  return -1;
}

static gr_status infer(gr_op_call *s) {
  const struct reshape *a = s->attr;
  int64_t total = gr_type_count(&s->in[0]), known = 1;
  int rest = inferred_axis(&a->shape);
  s->out[0] = (gr_type){.dtype = s->in[0].dtype, .rank = (int)a->shape.n};
  for (int d = 0; d < s->out[0].rank; d++) {
    int64_t size = a->shape.items[d];
    if (d != rest && (size < 1 || size > total))
      return gr_fail(GR_ERR_TYPE, s->loc, "axis %d of the new shape is %lld, for %lld elements", d,
                     (long long)size, (long long)total);
    if (d != rest) known *= size;
    s->out[0].dim[d] = size;
    if (known > total) break;
  }
  if (rest < 0 ? known != total : total % known != 0)
    return gr_fail(GR_ERR_TYPE, s->loc, "%lld elements do not fit a shape of %s%lld",
                   (long long)total, rest < 0 ? "" : "a multiple of ", (long long)known);
  if (rest >= 0) s->out[0].dim[rest] = total / known;
  return GR_OK;
}

// The axis of x that is preceded by as many elements as `axis` of y: sharding either shards the
// other.
static int matching_axis(const gr_type *x, const gr_type *y, int axis) {
  int64_t before = 1, end = 1;
  int found = -1;
  for (int d = 0; d < axis; d++) end *= y->dim[d];
  for (int d = 0; d < x->rank; before *= x->dim[d++])
    if (before == end) found = d;
  return found;
}

static void add_rule(gr_sharding_rule *rule, int *n, int input, int output) {
  memset(&rule[*n], GR_REPLICATE, sizeof *rule);
  rule[*n].in[0] = (gr_axis_placement)input, rule[(*n)++].out[0] = (gr_axis_placement)output;
}

// Sharding an axis of x shards an axis of y if the product of the sizes before it is equal: a slice
// of [n, t, heads c] is a slice of [n, t, heads, c].
static gr_status rules(const gr_op_call *s, gr_sharding_rule *rule, int *out_n) {
  const struct reshape *a = s->attr;
  const gr_type *x = &s->in[0], *y = &s->out[0];
  int n = 0, output = inferred_axis(&a->shape);
  add_rule(rule, &n, GR_REPLICATE, GR_REPLICATE);
  int input = output < 0 ? -1 : matching_axis(x, y, output);
  if (input >= 0) add_rule(rule, &n, input, output);
  int64_t before_x = 1;
  for (int i = 0; i < x->rank; before_x *= x->dim[i++]) {
    int64_t before_y = 1;
    for (int k = 0; k < y->rank && before_y <= before_x && n < GR_MAX_SHARDING_RULES - 1;
         before_y *= y->dim[k++])
      if (before_x == before_y && x->dim[i] > 1 && y->dim[k] > 1 && !(i == input && k == output))
        add_rule(rule, &n, i, k);
  }
  if (gr_dtypes[x->dtype].is_float) add_rule(rule, &n, GR_PARTIAL, GR_PARTIAL);
  *out_n = n;
  return GR_OK;
}

static void localize(void *attr, const gr_layout *out, const gr_mesh *m) {
  gr_ints *shape = &((struct reshape *)attr)->shape;
  for (int a = 0; a < m->n_axes; a++) {
    gr_axis_placement d = out->placement[a];
    if (d >= 0 && shape->items[d] > 0) shape->items[d] /= m->axis[a].size;
  }
}

static void grad(const gr_grad *g) {
  gr_type x = gr_at(g->b->g, g->x[0])->type, y = gr_at(g->b->g, g->y[0])->type;
  int rest = inferred_axis(&((const struct reshape *)g->attr)->shape);
  gr_ints back = {.n = x.rank};
  memcpy(back.items, x.dim, sizeof *x.dim * (size_t)x.rank);
  if (rest >= 0) rest = matching_axis(&x, &y, rest);
  if (rest >= 0) back.items[rest] = -1;
  g->dx[0] = gr_reshape(g->b, g->dy[0], back);
}

static void to_onnx(gr_onnx_call *c) {
  c->out[0] = GR_ONNX(c, "Reshape", c->in[0], gr_onnx_out_shape(c, 0, true));
}

// 0 is the operand's size of that axis, and -1 what is left.
static void complete(gr_onnx_reading *r, int x, int n, int64_t (*sizes)[GR_READ_CHOICES],
                     bool zeros) {
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    const gr_type *t = &r->vars[x].type[c];
    int64_t known = 1, count = gr_type_count(t);
    for (int d = 0; d < n; d++) {
      if (!sizes[d][c] && zeros && d < t->rank) sizes[d][c] = t->dim[d];
      if (sizes[d][c] > 0) known = sizes[d][c] > count / known ? count + 1 : known * sizes[d][c];
    }
    for (int d = 0; d < n; d++)
      if (sizes[d][c] == -1) sizes[d][c] = count / known;
  }
}

static void read_reshape(gr_onnx_reading *r) {
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  int x = gr_read_in(r, 0, true), shape = gr_read_in(r, 1, true);
  int n = gr_read_numbers(r, shape, GR_MAX_RANK, sizes);
  bool zeros = !gr_read_int(r, "allowzero", 0);
  if (n < 0) gr_read_refuse(r, "has a shape that is no constant, or of more than 6 axes");
  if (r->err) return;
  complete(r, x, n, sizes, zeros);
  gr_read_out(r, 0, gr_read_reshape(r, x, n, sizes), false);
}

static void read_flatten(gr_onnx_reading *r) {
  int64_t sizes[2][GR_READ_CHOICES];
  int x = gr_read_in(r, 0, true);
  if (r->err) return;
  int64_t axis = gr_read_int(r, "axis", 1);
  int rank = gr_read_type(r, x)->rank, split = axis == rank ? rank : gr_read_axis(r, axis, rank);
  gr_read_count(r, x, 0, split, sizes[0]), gr_read_count(r, x, split, rank, sizes[1]);
  gr_read_out(r, 0, gr_read_reshape(r, x, 2, sizes), false);
}

// The axes of Squeeze, or those that Unsqueeze adds, which it marks; 0: none are given.
static int read_axes(gr_onnx_reading *r, int rank, bool adds, bool *marked) {
  int64_t axes[GR_MAX_RANK][GR_READ_CHOICES], listed[GR_MAX_RANK];
  int given = gr_read_in(r, 1, false), n;
  if (given) {
    n = gr_read_numbers(r, given, GR_MAX_RANK, axes);
    if (n < 0) gr_read_refuse(r, "has axes that are no constants");
  } else {
    n = gr_read_ints(r, "axes", GR_MAX_RANK, listed, 0);
    for (int i = 0; i < n; i++) axes[i][0] = listed[i];
  }
  for (int i = 0; i < n && !r->err; i++) {
    int d = gr_read_axis(r, axes[i][0], adds ? rank + n : rank);
    if (!r->err) marked[d] = true;
  }
  return n;
}

static void read_squeeze(gr_onnx_reading *r) {
  bool marked[2 * GR_MAX_RANK] = {false}, keep[GR_MAX_RANK];
  int x = gr_read_in(r, 0, true);
  if (r->err) return;
  const gr_type *t = gr_read_type(r, x);
  int n = read_axes(r, t->rank, false, marked);
  for (int d = 0; d < t->rank; d++) {
    keep[d] = n ? !marked[d] : t->dim[d] != 1;
    if (!keep[d] && t->dim[d] != 1)
      gr_read_refuse(r, "removes an axis of %lld", (long long)t->dim[d]);
  }
  gr_read_out(r, 0, gr_read_squeeze(r, x, keep), false);
}

static void read_unsqueeze(gr_onnx_reading *r) {
  bool marked[2 * GR_MAX_RANK + 1] = {false};
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  int x = gr_read_in(r, 0, true);
  if (r->err) return;
  int rank = gr_read_type(r, x)->rank, n = read_axes(r, rank, true, marked), k = 0;
  n += rank;
  if (n > GR_MAX_RANK) gr_read_refuse(r, "gives %d axes; there can be %d", n, GR_MAX_RANK);
  for (int d = 0; d < n && !r->err; d++) {
    for (int c = 0; c < GR_READ_CHOICES; c++)
      sizes[d][c] = marked[d] || k >= rank ? 1 : r->vars[x].type[c].dim[k];
    k += !marked[d];
  }
  gr_read_out(r, 0, r->err ? 0 : gr_read_reshape(r, x, n, sizes), false);
}

static void read_shape(gr_onnx_reading *r) {
  int64_t all[GR_MAX_RANK][GR_READ_CHOICES];
  int rank = gr_read_sizes(r, 0, all);
  int64_t start = gr_read_int(r, "start", 0), end = gr_read_int(r, "end", rank);
  start += start < 0 ? rank : 0, end += end < 0 ? rank : 0;
  if (start < 0) start = 0;
  if (end > rank) end = rank;
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  for (int64_t d = start; d < end; d++)
    for (int c = 0; c < GR_READ_CHOICES; c++) sizes[d - start][c] = all[d][c];
  if (end <= start) gr_read_refuse(r, "gives no size");
  if (!r->err) gr_read_out(r, 0, gr_read_vector(r, (int)(end - start), sizes), false);
}

static const gr_attr attrs[] = {GR_ATTR(struct reshape, shape, GR_ATTR_INTS, NULL,
                                        "the new shape; one size may be -1 and is inferred"),
                                {0}};
#define SHAPE(...)                                                        \
  &(struct reshape) {                                                     \
    {                                                                     \
      sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), { __VA_ARGS__ } \
    }                                                                     \
  }
static const gr_case cases[] = {
    {{"f32[4,6]"}, .attr = SHAPE(-1, 3, 2)},
    {{"f32[12,3,2]"}, .attr = SHAPE(-1, 6)},
    {{"f32[6,12,3]"}, .attr = SHAPE(-1, 3)},
    {{"f32[5,12,4]"}, .attr = SHAPE(5, -1, 2, 2)},
    {{"f32[4,6]"}, .attr = SHAPE(24)},
    {{"i32[4,6]"}, .attr = SHAPE(6, 4), .fill = "i"},
    {{"f32[4,6]"}, .attr = SHAPE(-1, 5), .fails = "do not fit a shape of a multiple of 5"},
    {{"f32[4,6]"}, .attr = SHAPE(4, 5), .fails = "24 elements do not fit a shape of 20"},
    {{"f32[4,6]"}, .attr = SHAPE(-1, -1), .fails = "axis 1 of the new shape is -1"},
    {{0}},
};

const gr_op gr_op_reshape = {
    .name = "reshape",
    .doc = "The elements of x in the same order, with another shape.",
    .effort = GR_EFFORT_MOVE,
    .n_in = 1,
    .n_out = 1,
    .attr_size = sizeof(struct reshape),
    .attrs = attrs,
    .linear = true,
    .inplace = {1},
    .infer = infer,
    .sharding_rules = rules,
    .localize = localize,
    .grad = grad,
    .cpu = gr_copy_all,
    .gpu = gr_gpu_copy_all,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"Reshape", read_reshape}, {"Flatten", read_flatten},
                              {"Squeeze", read_squeeze}, {"Unsqueeze", read_unsqueeze},
                              {"Shape", read_shape}),
    .cases = cases,
};
