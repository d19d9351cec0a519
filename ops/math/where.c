// where.c - elementwise choice between two values.
#include "base/grow.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/pointwise.h"

gr_val gr_where(gr_builder *b, gr_val x, gr_val y, gr_val z) {
  return GR_EMIT(b, &gr_op_where, NULL, x, y, z);
}

GR_POINTWISE3(where, x0 != 0 ? x1 : x2)

static void grad(const gr_grad *g) {
  gr_val taken = GR_EMIT(g->b, &gr_op_where_grad, NULL, g->x[0], g->dy[0]);
  g->dx[1] = taken;
  if (g->want[2]) g->dx[2] = gr_sub(g->b, g->dy[0], taken);
}

static void read_where(gr_onnx_reading *r) {
  int in[3] = {0};
  bool last = gr_read_together(r, 3, in);
  if (r->err) return;
  in[0] = gr_read_cast(r, in[0], gr_dtypes[gr_read_type(r, in[1])->dtype].is_float);
  gr_read_out(r, 0, gr_read_emit(r, &gr_op_where, 3, in, 0, NULL), last);
}

// Reads the nodes of a graph in the node, and gives the node's results.
static void read_inner(gr_onnx_reading *r, const gr_onnx_graph *g) {
  const gr_onnx_node *node = r->node;
  gr_read_nodes(r, g);
  if (r->err) return;
  const gr_onnx_value *v = g->outputs;
  for (int k = 0; k < node->n_out; k++, v = v->next) {
    if (!v || !gr_read_find(r, v->name)) {
      gr_read_refuse(r, "has a branch that does not give its result %d", k + 1);
      return;
    }
    gr_read_bind(r, node->out[k], 0, false);
    *gr_read_find(r, node->out[k]) = *gr_read_find(r, v->name);
  }
}

// The branch that is taken, which must be the same for all sizes.
static void read_if(gr_onnx_reading *r) {
  const gr_onnx_graph *yes = gr_read_graph(r, "then_branch"), *no = gr_read_graph(r, "else_branch");
  int on = gr_read_in(r, 0, true);
  double truth = 0;
  if (r->err) return;
  if (gr_read_scalar(r, on, &truth)) {
    GR_GROW(r->arena, r->checks, r->n_checks, r->cap_checks);
    r->checks[r->n_checks++] = (gr_read_check){on, truth != 0, r->node};
    read_inner(r, truth != 0 ? yes : no);
    return;
  }
  bool known = gr_read_is_known(r, on);
  gr_read_refuse(r, "has a condition that %s, and here one branch is taken always",
                 known ? "open sizes decide" : "the data decide");
  r->err = gr_hint(
      r->err, known
                  ? "export the model with that size closed"
                  : "in the model, write torch.where in place of the `if` of a tensor's elements");
}

// 0, 1, 2, ... along the last axis but `back`, plus a number.
static int count_along(gr_onnx_reading *r, int x, int back, int64_t first) {
  int64_t sizes[2][GR_READ_CHOICES];
  int axis = gr_read_type(r, x)->rank - 1 - back;
  gr_read_dims(r, x, axis, axis + 1, &sizes[1 - back]), gr_read_same(sizes[back], 1);
  int y =
      gr_read_emit(r, &gr_op_arange, 0, NULL, 2,
                   (gr_read_setting[]){GR_READ_NUMBER("size", &sizes[1 - back]), {"dtype", "i64"}});
  y = gr_read_reshape(r, y, 2, sizes);
  return first ? GR_READ_TWO(r, &gr_op_add, y,
                             gr_read_integers(r, &(gr_type){.dtype = GR_I64}, &first))
               : y;
}

// The upper or lower triangle: zeros below the diagonal k, or above it.
static void read_trilu(gr_onnx_reading *r) {
  int64_t k[1][GR_READ_CHOICES] = {{0}}, zero = 0;
  int x = gr_read_in(r, 0, true), given = gr_read_in(r, 1, false);
  bool upper = gr_read_int(r, "upper", 1);
  if (given && gr_read_numbers(r, given, 1, k) != 1)
    gr_read_refuse(r, "has a diagonal that is no constant");
  if (k[0][0] < -INT32_MAX || k[0][0] > INT32_MAX) gr_read_refuse(r, "has no such diagonal");
  if (r->err) return;
  if (gr_read_type(r, x)->rank < 2) gr_read_refuse(r, "is of a value without two axes");
  if (r->err) return;
  bool is_float = gr_dtypes[gr_read_type(r, x)->dtype].is_float;
  int none =
      is_float ? gr_read_number(r, 0) : gr_read_integers(r, &(gr_type){.dtype = GR_I64}, &zero);
  int row = count_along(r, x, 1, k[0][0]), column = count_along(r, x, 0, 0);
  int out = GR_READ_TWO(r, &gr_op_less, upper ? column : row, upper ? row : column);
  const int in[] = {gr_read_cast(r, out, is_float), none, x};
  gr_read_out(r, 0, gr_read_emit(r, &gr_op_where, 3, in, 0, NULL), false);
}

static const gr_case cases[] = {{{"f32[4,6]", "f32[4,6]", "f32[4,6]"}, .fill = "mnn"},
                                {{"i32[4]", "i32[4]", "i32[4]"}, .fill = "mii"},
                                {{0}}};

const gr_op gr_op_where = {
    GR_POINTWISE_FIELDS(where),
    .doc = "x where cond is not 0, else y.",
    .infer = gr_pointwise_infer,
    .grad = grad,
    .from_onnx = GR_FROM_ONNX({"Where", read_where}, {"Trilu", read_trilu}, {"If", read_if}),
    .cases = cases,
};

GR_POINTWISE2(where_grad, x0 != 0 ? x1 : 0)

static const gr_case grad_cases[] = {{{"f32[4,6]", "f32[4,6]"}, .fill = "mn"}, {{0}}};

const gr_op gr_op_where_grad = {
    GR_POINTWISE_FIELDS(where_grad),
    .doc = "dy where cond is not 0, else 0.",
    .infer = gr_pointwise_infer,
    .grad = gr_grad_of_last,
    .cases = grad_cases,
};
