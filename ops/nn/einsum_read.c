// einsum_read.c - reads an Einsum of ONNX (einsum.h).
#include "ops/kernels/onnx_read.h"
#include "ops/nn/einsum.h"
#include "ops/ops.h"

// Ones where both axes are equal, which must be of one size.
static int read_eye(gr_onnx_reading *r, const gr_einsum *e, const char *letter) {
  int64_t n = gr_einsum_size(e, letter, 0);
  if (gr_einsum_is_open(e, letter)) gr_read_refuse(r, "takes a diagonal of axes of several sizes");
  float *x = GR_NEW(r->arena, float, (size_t)(n * n) + 1);
  for (int64_t i = 0; i < n; i++) x[i * n + i] = 1;
  return gr_read_known(r, &(gr_type){.dtype = GR_F32, .rank = 2, .dim = {n, n}}, x);
}

static int read_shape(gr_onnx_reading *r, const gr_einsum *e, const gr_einsum_step *s, int x) {
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  for (int g = 0; g < s->n; g++)
    for (int c = 0; c < GR_READ_CHOICES; c++) sizes[g][c] = gr_einsum_size(e, s->group[g], c);
  return gr_read_reshape(r, x, s->n, sizes);
}

static int read_step(gr_onnx_reading *r, const gr_einsum *e, const gr_einsum_step *s,
                     const int *var) {
  const int in[] = {var[s->in[0]], var[s->in[1]]};
  const gr_read_setting turned[] = {{"ta", s->ta ? "true" : NULL}, {"tb", s->tb ? "true" : NULL}};
  switch (s->kind) {
    case GR_EINSUM_EYE:
      return read_eye(r, e, s->group[0]);
    case GR_EINSUM_TURN:
      return gr_read_transpose(r, in[0], s->axes);
    case GR_EINSUM_SHAPE:
      return read_shape(r, e, s, in[0]);
    case GR_EINSUM_SUM:
      return GR_READ(r, &gr_op_sum, in[0], {"axes", gr_read_list(r, s->n, s->axes)});
    case GR_EINSUM_TIMES:
      return GR_READ_TWO(r, &gr_op_mul, in[0], in[1]);
    case GR_EINSUM_PRODUCT:
      return gr_read_emit(r, &gr_op_matmul, 2, in, 2, turned);
  }
  return 0;
}

void gr_einsum_read(gr_onnx_reading *r) {
  gr_einsum *e = GR_NEW(r->arena, gr_einsum, 1);
  e->arena = r->arena, e->equation = gr_read_text(r, "equation", "");
  e->n = r->node->n_in, e->choices = GR_READ_CHOICES;
  int *var = GR_NEW(r->arena, int, GR_EINSUM_TERMS);
  for (int k = 0; k < e->n && k < GR_EINSUM_TERMS && !r->err; k++) {
    var[k] = gr_read_in(r, k, true);
    gr_read_keep(r, var[k]);
    if (!r->err) e->rank[k] = gr_read_dims(r, var[k], 0, gr_read_type(r, var[k])->rank, e->dim[k]);
  }
  if (!r->err) gr_einsum_plan(e);
  if (e->wrong) gr_read_refuse(r, "%s", e->wrong);
  if (r->err) return;
  int *made = GR_NEW(r->arena, int, (size_t)(e->n + e->n_steps));
  for (int k = 0; k < e->n; k++) made[k] = var[k];
  for (int i = 0; i < e->n_steps && !r->err; i++)
    made[e->n + i] = read_step(r, e, &e->step[i], made);
  if (!r->err) gr_read_out(r, 0, made[e->value], false);
}
