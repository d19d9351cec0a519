// fit.c - makes NumPy broadcasting explicit: ops of the IR do not broadcast.
//
// Numbers become attributes if there is an op for it (x + 1 is add_scalar). Adding a vector to rows
// is a bias_add, multiplying them by one scale_columns. The body of a scan must not contain the
// batch size (the batch is sharded later), so there the rows come from another operand instead of
// from `broadcast`.
#include <string.h>
#include "compiler/model/emit.h"

// Zeros like x, also where x is not finite; no gradient flows.
static gr_val zeros_like(gr_builder *b, gr_val x) { return gr_less(b, x, x); }

// Lowers `x op number` and `number op x` to one or two ops of a single operand.
static gr_val with_number(gr_builder *b, const char *op, gr_val x, double by, bool first) {
  if (!strcmp(op, "add")) return gr_add_scalar(b, x, by);
  if (!strcmp(op, "mul")) return gr_scale(b, x, by);
  if (!strcmp(op, "sub"))
    return first ? gr_add_scalar(b, gr_scale(b, x, -1), by) : gr_add_scalar(b, x, -by);
  if (!strcmp(op, "div") && !first) return gr_scale(b, x, 1 / by);
  return GR_NONE;
}

// The shape of all operands together, aligned at the last axis.
static bool join_shapes(gr_build_context *a, const gr_operand *in, int n, gr_type *out) {
  *out = (gr_type){0};
  for (int i = 0; i < n; i++)
    if (!in[i].number && gr_model_type(a, in[i].v)->rank > out->rank)
      out->rank = gr_model_type(a, in[i].v)->rank;
  for (int d = 0; d < out->rank; d++) out->dim[d] = 1;
  for (int i = 0; i < n; i++) {
    if (in[i].number) continue;
    const gr_type *t = gr_model_type(a, in[i].v);
    for (int d = 0; d < t->rank; d++) {
      int64_t *to = &out->dim[out->rank - t->rank + d];
      if (*to != t->dim[d] && *to != 1 && t->dim[d] != 1) return false;
      if (*to == 1) *to = t->dim[d];
    }
  }
  return true;
}

static bool same_shape(const gr_type *a, const gr_type *b) {
  return a->rank == b->rank && !memcmp(a->dim, b->dim, sizeof *a->dim * (size_t)a->rank);
}

static bool is_row(const gr_type *v, const gr_type *whole) {
  return v->rank == 1 && whole->rank > 1 && v->dim[0] == whole->dim[whole->rank - 1];
}

static gr_type type_at(gr_builder *b, gr_val v) { return gr_at(b->g, v)->type; }

static gr_val spread_to(gr_builder *b, gr_val v, const gr_type *to, int least_rank) {
  for (int have = b->err ? to->rank : type_at(b, v).rank; have < least_rank && !b->err; have++)
    v = gr_broadcast(b, v, 0, to->dim[to->rank - have - 1]);
  for (int d = 0; !b->err && d < type_at(b, v).rank; d++) {
    gr_type t = type_at(b, v);
    int64_t size = to->dim[to->rank - t.rank + d];
    if (t.dim[d] != size) v = gr_broadcast(b, gr_sum(b, v, d), d, size);
  }
  return v;
}

static gr_val fit_one(gr_build_context *a, gr_val v, const gr_type *to, gr_val like) {
  gr_builder *b = gr_model_builder(a);
  const gr_type *t = gr_model_type(a, v);
  if (same_shape(t, to)) return v;
  if (!a->depth || !gr_is(like) || to->rank < 2 || t->rank > 1)
    return spread_to(b, v, to, to->rank);
  v = spread_to(b, v, to, 1);
  return b->err ? v : gr_bias_add(b, zeros_like(b, like), v);
}

static void make_numbers(gr_build_context *a, gr_operand *in, int n, gr_val like) {
  gr_builder *b = gr_model_builder(a);
  for (int i = 0; i < n; i++)
    if (in[i].number) in[i].v = gr_add_scalar(b, zeros_like(b, like), in[i].by);
}

static gr_status misfit(gr_build_context *a, const gr_op *op, const gr_operand *in, int n) {
  gr_text t = gr_text_make(a->arena);
  char buf[96];
  for (int i = 0; i < n; i++)
    if (!in[i].number)
      gr_text_printf(&t, "%s%s%s%s", t.len ? " and " : "", in[i].name ? in[i].name : "",
                     in[i].name ? " " : "", gr_type_text(gr_model_type(a, in[i].v), buf));
  return gr_hint(gr_fail(GR_ERR_TYPE, in[n - 1].loc, "the shapes of %s's operands do not fit: %s",
                         op->name, t.chars),
                 "axes are compared from the last; each pair must be equal, or one of them 1");
}

// Replaces a pointwise op of two operands if one is a number, or a vector is added to rows or
// multiplies them.
static gr_val shortcut(gr_build_context *a, const gr_op *op, const gr_operand *in,
                       const gr_type *to) {
  gr_builder *b = gr_model_builder(a);
  for (int i = 0; i < 2; i++) {
    const gr_operand *x = &in[i], *y = &in[1 - i];
    if (y->number) return with_number(b, op->name, x->v, y->by, false);
    const gr_type *full = gr_model_type(a, x->v), *row = gr_model_type(a, y->v);
    if (!same_shape(full, to) || !is_row(row, to)) continue;
    if (!strcmp(op->name, "add")) return gr_bias_add(b, x->v, y->v);
    if (!strcmp(op->name, "mul") && gr_dtypes[full->dtype].is_float && full->dtype == row->dtype)
      return gr_scale_columns(b, x->v, y->v);
  }
  return GR_NONE;
}

static gr_status no_numbers(const gr_op *op, const gr_operand *in, int n) {
  for (int i = 0; i < n; i++)
    if (in[i].number)
      return gr_hint(gr_fail(GR_ERR_CONFIG, in[i].loc,
                             "op '%s' takes tensors, found the number %.9g", op->name, in[i].by),
                     "the op 'fill' makes a tensor of one number");
  return GR_OK;
}

gr_status gr_model_fit(gr_build_context *a, const gr_op *op, gr_operand *in, int n, gr_val *made) {
  *made = GR_NONE;
  if (!op->formula || !n) return no_numbers(op, in, n);
  gr_val like = GR_NONE;
  gr_type to;
  for (int i = n; i--;)
    if (!in[i].number) like = in[i].v;
  for (int i = 0; i < n && !gr_is(like); i++)
    if (in[i].of_block) {
      in[i].v = like = gr_fill(gr_model_builder(a), &(gr_type){.dtype = GR_F32}, in[i].by);
      in[i].number = false;
    }
  if (!gr_is(like))
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, in[0].loc, "op '%s' has no tensor among its operands", op->name),
        "write a value that is known at compile time as an expression");
  if (!join_shapes(a, in, n, &to)) return misfit(a, op, in, n);
  if (n == 2) {
    *made = in[0].number ? with_number(gr_model_builder(a), op->name, in[1].v, in[0].by, true)
                         : shortcut(a, op, in, &to);
    GR_TRY(gr_model_take_error(a));
    if (gr_is(*made)) return GR_OK;
  }
  make_numbers(a, in, n, like);
  GR_TRY(gr_model_take_error(a));
  gr_val whole = GR_NONE;
  for (int i = n; i--;)
    if (same_shape(gr_model_type(a, in[i].v), &to)) whole = in[i].v;
  for (int i = 0; i < n; i++) {
    in[i].v = fit_one(a, in[i].v, &to, whole);
    GR_TRY(gr_model_take_error(a));
  }
  return GR_OK;
}
