// broadcast.c - repeats a value along a new axis. No other op broadcasts.
#include <stdio.h>
#include "ops/kernels/cpu.h"
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/ops.h"

GR_CU(broadcast);

struct broadcast {
  int64_t axis;
  int64_t size;
};

gr_val gr_broadcast(gr_builder *b, gr_val x, int axis, int64_t size) {
  return GR_EMIT(b, &gr_op_broadcast, (&(struct broadcast){axis, size}), x);
}

gr_val gr_broadcast_samples(gr_builder *b, gr_val v, gr_val like) {
  const gr_type t = b->err ? (gr_type){0} : gr_at(b->g, like)->type;
  for (int d = 1; d < t.rank; d++) v = gr_broadcast(b, v, d, t.dim[d]);
  return v;
}

gr_val gr_broadcast_channels(gr_builder *b, gr_val v, gr_val like) {
  const gr_type t = b->err ? (gr_type){0} : gr_at(b->g, like)->type;
  for (int d = t.rank - 2; d >= 0; d--) v = gr_broadcast(b, v, 0, t.dim[d]);
  return v;
}

int gr_broadcast_axis(const gr_node *n) { return (int)((const struct broadcast *)n->attr)->axis; }

static void index_spec_of(const gr_op_call *s, char buf[128]) {  // "ac->a_c"
  const struct broadcast *a = s->attr;
  char *p = buf;
  for (int d = 0; d < s->in[0].rank; d++) *p++ = (char)('a' + d);
  *p++ = '-', *p++ = '>';
  for (int d = 0; d < s->in[0].rank + 1; d++)
    *p++ = d == a->axis ? '_' : (char)('a' + d - (d > a->axis));
  *p = 0;
}

static gr_status infer(gr_op_call *s) {
  const struct broadcast *a = s->attr;
  if (s->in[0].rank >= GR_MAX_RANK)
    return gr_fail(GR_ERR_TYPE, s->loc, "a value has at most %d axes", GR_MAX_RANK);
  if (a->axis < 0 || a->axis > s->in[0].rank)
    return gr_fail(GR_ERR_TYPE, s->loc,
                   "a new axis cannot be inserted at %lld of a value of %d axes",
                   (long long)a->axis, s->in[0].rank);
  s->out[0].dim[a->axis] = a->size;
  return GR_OK;
}

static void add_rule(gr_sharding_rule *rules, int *n, int in, int out) {
  rules[*n].in[0] = (gr_axis_placement)in, rules[(*n)++].out[0] = (gr_axis_placement)out;
}

// Beyond the notation, a rank can make its part of a new first axis, as of a batch. (Of a last axis
// a fused node makes whole rows.)
static gr_status rules(const gr_op_call *s, gr_sharding_rule *rule, int *out_n) {
  int axis = (int)((const struct broadcast *)s->attr)->axis, n = 0;
  add_rule(rule, &n, GR_REPLICATE, GR_REPLICATE);
  for (int d = 0; d < s->in[0].rank; d++) add_rule(rule, &n, d, d + (d >= axis));
  if (!axis) add_rule(rule, &n, GR_REPLICATE, 0);
  if (gr_dtypes[s->in[0].dtype].is_float) add_rule(rule, &n, GR_PARTIAL, GR_PARTIAL);
  *out_n = n;
  return GR_OK;
}

static void localize(void *attr, const gr_layout *out, const gr_mesh *m) {
  struct broadcast *a = attr;
  for (int k = 0; k < m->n_axes; k++)
    if (out->placement[k] == a->axis) a->size /= m->axis[k].size;
}

static void grad(const gr_grad *g) {
  g->dx[0] = gr_sum(g->b, g->dy[0], (int)((const struct broadcast *)g->attr)->axis);
}

static gr_status broadcast_cpu(const gr_launch *l) {
  const struct broadcast *a = l->attr;
  const gr_type *t = l->out_type;
  int64_t inner = 1, n = t->dim[a->axis];
  for (int d = (int)a->axis + 1; d < t->rank; d++) inner *= t->dim[d];
  for (int64_t o = 0, outs = gr_type_count(t); o < outs; o++)
    OUT(0, o, IN(0, o / (inner * n) * inner + o % inner));
  return GR_OK;
}

// Treats y as [outer, size, inner] and x as [outer, inner].
static int64_t inner_of(const gr_launch *l) {
  int64_t inner = 1;
  for (int d = (int)((const struct broadcast *)l->attr)->axis + 1; d < l->out_type->rank; d++)
    inner *= l->out_type->dim[d];
  return inner;
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t size = ((const struct broadcast *)l->attr)->size;
  size_t row = (size_t)inner_of(l) * gr_dtypes[l->in_type->dtype].size;
  for (int64_t i = begin; i < end; i++)
    memcpy((char *)l->out[0] + (size_t)i * row, (const char *)l->in[0] + (size_t)(i / size) * row,
           row);
}

// Runs of one repeated element: inner is 1.
#define RUNS(name, type)                                                       \
  static void name(void *arg, int64_t begin, int64_t end) {                    \
    const gr_launch *l = arg;                                                  \
    int64_t size = ((const struct broadcast *)l->attr)->size;                  \
    for (int64_t i = begin; i < end; i++) {                                    \
      type x = ((const type *)l->in[0])[i], *y = (type *)l->out[0] + i * size; \
      for (int64_t k = 0; k < size; k++) y[k] = x;                             \
    }                                                                          \
  }
RUNS(runs_of_4, uint32_t)
RUNS(runs_of_2, uint16_t)

static gr_status run_fast(const gr_launch *l) {
  int64_t inner = inner_of(l), size = ((const struct broadcast *)l->attr)->size;
  int64_t n = gr_type_count(l->out_type);
  gr_part runs = gr_dtypes[l->in_type->dtype].size == 4 ? runs_of_4 : runs_of_2;
  if (inner == 1)
    gr_parallel(l, n / size, 1 + 8192 / size, runs, (void *)l);
  else
    gr_parallel(l, n / inner, 1 + 8192 / inner, rows, (void *)l);
  return GR_OK;
}

static gr_kernel fast(const gr_op_call *s) {
  size_t bytes = gr_dtypes[s->in[0].dtype].size;
  return bytes == 4 || bytes == 2 ? run_fast : NULL;
}

static gr_status gpu(gr_gpu_call *g) {
  const struct broadcast *a = g->call->attr;
  const gr_type *y = &g->call->out[0];
  int64_t inner = 1;
  for (int d = (int)a->axis + 1; d < y->rank; d++) inner *= y->dim[d];
  gr_gpu_kernel *k = gr_gpu_elements(g, gr_cu_broadcast, "broadcast");
  gr_gpu_int(k, y->dim[a->axis]), gr_gpu_int(k, inner);
  return GR_OK;
}

static void row_of(const gr_op_call *s, char buf[GR_ROW_TEXT]) {
  int64_t axis = ((const struct broadcast *)s->attr)->axis;
  bool last = axis && axis == s->in[0].rank;
  snprintf(buf, GR_ROW_TEXT, "%s", last ? "x0" : "");
}

static void to_onnx(gr_onnx_call *c) {
  int axis = (int)((const struct broadcast *)c->call[0]->attr)->axis, rank = c->call[0]->in[0].rank;
  const char *one = gr_onnx_vector(c, 1, &(int64_t){1}), *shape[GR_MAX_RANK];
  for (int d = 0; d <= rank; d++) shape[d] = d == axis ? gr_onnx_out_size(c, 0, d) : one;
  const char *x = gr_onnx_unsqueeze(c, c->in[0], axis);
  const char *sizes = gr_onnx_emit(c, "Concat", rank + 1, shape);
  gr_onnx_int(c, "axis", 0);
  c->out[0] = GR_ONNX(c, "Expand", x, sizes);
}

// New axes come first; an axis of 1 is removed, and repeated.
int gr_read_expand(gr_onnx_reading *r, int x, int n, int64_t (*sizes)[GR_READ_CHOICES]) {
  if (r->err) return 0;
  int rank = gr_read_type(r, x)->rank, added = n > rank ? n - rank : 0;
  for (int d = 0; d < added + rank; d++) {
    const int64_t *want = d >= added + rank - n ? sizes[d - (added + rank - n)] : NULL;
    bool is_new = d < added;
    if (!want || (!is_new && (want[0] == 1 || want[0] == gr_read_type(r, x)->dim[d]))) continue;
    if (!is_new) {
      bool keep[GR_MAX_RANK];
      for (int k = 0; k < gr_read_type(r, x)->rank; k++) keep[k] = k != d;
      if (gr_read_type(r, x)->dim[d] != 1) gr_read_refuse(r, "repeats an axis that is not 1");
      gr_read_keep(r, x);
      x = gr_read_squeeze(r, x, keep);
    }
    x = gr_read_repeat(r, x, d, want);
    if (r->err) return 0;
  }
  return x;
}

static void read_expand(gr_onnx_reading *r) {
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  int x = gr_read_in(r, 0, true),
      n = gr_read_numbers(r, gr_read_in(r, 1, true), GR_MAX_RANK, sizes);
  if (n < 0) gr_read_refuse(r, "has a shape that is no constant, or of more than 6 axes");
  gr_read_out(r, 0, gr_read_expand(r, x, n, sizes), false);
}

// An axis several times, one behind the other.
static int tiled(gr_onnx_reading *r, int x, int axis, const int64_t *times) {
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  int rank = gr_read_type(r, x)->rank;
  if (rank == GR_MAX_RANK) gr_read_refuse(r, "is of a value of too many axes");
  if (r->err) return 0;
  gr_read_dims(r, x, 0, rank, sizes);
  for (int c = 0; c < GR_READ_CHOICES; c++) sizes[axis][c] *= times[c];
  x = gr_read_repeat(r, x, axis, times);
  return gr_read_reshape(r, x, rank, sizes);
}

static void read_tile(gr_onnx_reading *r) {
  int64_t times[GR_MAX_RANK][GR_READ_CHOICES];
  int x = gr_read_in(r, 0, true),
      n = gr_read_numbers(r, gr_read_in(r, 1, true), GR_MAX_RANK, times);
  if (!r->err && n != gr_read_type(r, x)->rank)
    gr_read_refuse(r, "has repeats that are no constants, or not one for each axis");
  for (int d = 0; d < n && !r->err; d++) {
    bool once = true;
    for (int c = 0; c < GR_READ_CHOICES; c++) {
      once &= times[d][c] == 1;
      if (times[d][c] < 1 || times[d][c] > INT32_MAX)
        gr_read_refuse(r, "repeats an axis %lld times", (long long)times[d][c]);
    }
    if (!once && !r->err) x = tiled(r, x, d, times[d]);
  }
  gr_read_out(r, 0, x, false);
}

static const gr_attr attrs[] = {
    GR_ATTR(struct broadcast, axis, GR_ATTR_INT, NULL, "position of the new axis in the result"),
    GR_ATTR(struct broadcast, size, GR_ATTR_INT, NULL, "size of the new axis"),
    {0}};
static const gr_case cases[] = {
    {{"f32[6]"}, .attr = &(struct broadcast){0, 4}},
    {{"f32[2,6]"}, .attr = &(struct broadcast){1, 3}},
    {{"f32[2,6]"}, .attr = &(struct broadcast){2, 3}},
    {{"f32[]"}, .attr = &(struct broadcast){0, 5}},
    {{"f32[2]"}, .attr = &(struct broadcast){2, 5}, .fails = "cannot be inserted at 2"},
    {{"f32[2]"}, .attr = &(struct broadcast){0, 0}, .fails = "empty"},
    {{0}}};

const gr_op gr_op_broadcast = {
    .name = "broadcast",
    .doc = "Repeats x along a new axis.",
    .n_in = 1,
    .attr_size = sizeof(struct broadcast),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .sharding_rules = rules,
    .localize = localize,
    .linear = true,
    .infer = infer,
    .grad = grad,
    .cpu = broadcast_cpu,
    .fast = fast,
    .gpu = gpu,
    .row_of = row_of,
    .to_onnx = to_onnx,
    .from_onnx =
        GR_FROM_ONNX({"Expand", read_expand}, {"Tile", read_tile}, {"Resize", gr_resize_read}),
    .cases = cases,
};
