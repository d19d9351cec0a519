// concat.c - concatenates values along one axis.
#include "ops/kernels/cpu.h"
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

GR_CU(concat);

struct concat {
  int64_t axis;
};

gr_val gr_concat(gr_builder *b, int n, const gr_val *x, int axis) {
  return gr_emit(b, &gr_op_concat, &(struct concat){axis}, n, x);
}

static gr_status check_operand(const gr_op_call *s, int k, int axis) {
  const gr_type *t = &s->in[0], *u = &s->in[k];
  if (u->dtype != t->dtype)
    return gr_hint(gr_fail(GR_ERR_TYPE, s->loc, "operand %d is %s, but operand 1 is %s", k + 1,
                           gr_dtypes[u->dtype].name, gr_dtypes[t->dtype].name),
                   "the op 'cast' converts one of them to the dtype of the other");
  if (u->rank != t->rank)
    return gr_fail(GR_ERR_TYPE, s->loc, "operand %d has %d axes, but operand 1 has %d", k + 1,
                   u->rank, t->rank);
  for (int d = 0; d < t->rank; d++)
    if (d != axis && u->dim[d] != t->dim[d])
      return gr_hint(
          gr_fail(GR_ERR_TYPE, s->loc, "axis %d is %lld in operand %d, but %lld in operand 1", d,
                  (long long)u->dim[d], k + 1, (long long)t->dim[d]),
          "operands differ along 'axis' alone; what pooling or strides have made smaller and "
          "something larger again, is as large as before where the input's sizes are multiples of "
          "the strides");
  return GR_OK;
}

static gr_status infer(gr_op_call *s) {
  int axis = (int)((const struct concat *)s->attr)->axis;
  if (!s->n_in) return gr_fail(GR_ERR_TYPE, s->loc, "takes at least one operand");
  if (axis < 0 || axis >= s->in[0].rank)
    return gr_fail(GR_ERR_TYPE, s->loc, "no axis %d in a value of %d axes", axis, s->in[0].rank);
  s->out[0] = s->in[0];
  for (int k = 1; k < s->n_in; k++) {
    GR_TRY(check_operand(s, k, axis));
    s->out[0].dim[axis] += s->in[k].dim[axis];
  }
  return GR_OK;
}

// Rows of each operand are copied apart.
static void efforts(const gr_op_call *s, gr_efforts *w) {
  double outer = 1;
  for (int d = 0; d < ((const struct concat *)s->attr)->axis; d++) outer *= (double)s->out->dim[d];
  gr_count_runs((double)gr_type_count(s->out), (double)gr_type_count(s->out) / (outer * s->n_in),
                w);
}

// Index notation cannot express a variable number of operands; every axis but the concatenated one
// may be sharded.
static gr_status rules(const gr_op_call *s, gr_sharding_rule *rule, int *out_n) {
  int n = 0, axis = (int)((const struct concat *)s->attr)->axis;
  memset(&rule[n++], GR_REPLICATE, sizeof *rule);
  for (int d = 0; d < s->in[0].rank; d++)
    if (d != axis) memset(&rule[n++], d, sizeof *rule);
  if (gr_dtypes[s->in[0].dtype].is_float) memset(&rule[n++], GR_PARTIAL, sizeof *rule);
  *out_n = n;
  return GR_OK;
}

static void grad(const gr_grad *g) {
  int axis = (int)((const struct concat *)g->attr)->axis;
  int64_t begin = 0, total = gr_at(g->b->g, g->y[0])->type.dim[axis];
  for (int k = 0; begin < total && !g->b->err; k++) {
    int64_t size = gr_at(g->b->g, g->x[k])->type.dim[axis];
    if (g->want[k]) g->dx[k] = gr_slice(g->b, g->dy[0], axis, begin, size);
    begin += size;
  }
}

static gr_status concat_cpu(const gr_launch *l) {
  const gr_type *y = l->out_type;
  int axis = (int)((const struct concat *)l->attr)->axis;
  int64_t bytes = gr_dtypes[y->dtype].size, outer = 1;
  for (int d = axis + 1; d < y->rank; d++) bytes *= y->dim[d];
  for (int d = 0; d < axis; d++) outer *= y->dim[d];
  char *to = l->out[0];
  for (int k = 0; to < (char *)l->out[0] + bytes * y->dim[axis]; k++) {
    int64_t row = bytes * l->in_type[k].dim[axis];
    gr_copy_rows(l, to, bytes * y->dim[axis], l->in[k], row, row, outer);
    to += row;
  }
  return GR_OK;
}

static gr_status gpu(gr_gpu_call *g) {
  const gr_op_call *call = g->call;
  int axis = (int)((const struct concat *)call->attr)->axis;
  int64_t inner = 1;
  for (int d = axis + 1; d < call->out[0].rank; d++) inner *= call->out[0].dim[d];
  gr_gpu_kernel *k = gr_gpu_elements(g, gr_cu_concat, "concat");
  gr_gpu_define_list(g, k, "OPERANDS", call->n_in);
  gr_gpu_int(k, inner * call->out[0].dim[axis]);
  for (int i = 0; i < call->n_in; i++) gr_gpu_int(k, inner * call->in[i].dim[axis]);
  return GR_OK;
}

static void read_concat(gr_onnx_reading *r) {
  enum { MOST = 16 };  // of a node of the graph language
  int in[MOST], all = r->node->n_in, n = 0;
  gr_read_setting s = {"axis", NULL};
  bool last = all > 0;
  for (int k = 0; k < all && !r->err; k++) last &= gr_read_is_last(r, k);
  for (int k = 0; k < all && !r->err; k++) {
    if (n == MOST) in[0] = gr_read_emit(r, &gr_op_concat, n, in, 1, &s), n = 1;
    in[n] = last ? gr_read_in_last(r, k) : gr_read_in(r, k, true);
    if (r->err) return;
    int rank = gr_read_type(r, in[n])->rank;
    int axis = gr_read_axis(r, gr_read_int(r, "axis", 0), rank ? rank : 1);
    s.text = gr_arena_printf(r->arena, "%d", gr_read_place(axis, rank, last));
    n += !r->err && gr_type_count(gr_read_type(r, in[n])) > 0;
  }
  if (!n) gr_read_refuse(r, "has no operand with elements");
  gr_read_out(r, 0, gr_read_emit(r, &gr_op_concat, n, in, 1, &s), last);
}

static const gr_attr attrs[] = {
    GR_AXIS(struct concat, axis, GR_ATTR_INT, NULL, "the axis to concatenate along"), {0}};
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[2,6]"}, .attr = &(struct concat){0}},
    {{"f32[4,6]", "f32[4,1]", "f32[4,3]"}, .attr = &(struct concat){1}},
    {{"f32[2,4,6]"}, .attr = &(struct concat){1}},
    {{"i32[4]", "i32[3]"}, .attr = &(struct concat){0}, .fill = "ii"},
    {{"f32[4,6]", "f32[4,5]"}, .attr = &(struct concat){0}, .fails = "axis 1 is 5 in operand 2"},
    {{"f32[4]", "i32[4]"}, .attr = &(struct concat){0}, .fails = "operand 2 is i32"},
    {{"f32[4]", "f32[4,1]"}, .attr = &(struct concat){0}, .fails = "operand 2 has 2 axes"},
    {{"f32[4]"}, .attr = &(struct concat){1}, .fails = "no axis 1"},
    {{0}},
};

const gr_op gr_op_concat = {
    .name = "concat",
    .doc = "The operands, concatenated along one axis.",
    .efforts = efforts,
    .n_in = GR_ANY,
    .n_out = 1,
    .attr_size = sizeof(struct concat),
    .attrs = attrs,
    .linear = true,
    .infer = infer,
    .sharding_rules = rules,
    .grad = grad,
    .cpu = concat_cpu,
    .gpu = gpu,
    .onnx = "Concat axis=$axis",
    .from_onnx = GR_FROM_ONNX({"Concat", read_concat}),
    .cases = cases,
};
