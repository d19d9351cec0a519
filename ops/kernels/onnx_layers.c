// onnx_layers.c - readers that several ops share (ops/kernels/onnx_read.h).
#include <string.h>
#include "ops/kernels/onnx_read.h"
#include "ops/ops.h"

// ---- Linear layers ----------------------------------------------------------------------------

static bool is_vector_of(const gr_onnx_reading *r, int var, int64_t n) {
  return gr_read_is_own(r, var) && gr_read_is_vector(r, var, n);
}

// Rows of a matrix that a reshape has made of more axes: a layer is along the last axis of these as
// well, where the batch is an axis of its list.
static int unflattened(gr_onnx_reading *r, int x) {
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  int i = r->vars[x].line, k = 0;
  if (!i || strcmp(r->lines[i - 1].op, "reshape") != 0 || gr_read_type(r, x)->rank != 2) return x;
  int source = r->lines[i - 1].in[0], rank = gr_read_type(r, source)->rank;
  int64_t rows = 1, all = gr_read_type(r, x)->dim[0];
  while (k < rank && rows < all) rows *= gr_read_type(r, source)->dim[k++];
  if (rows != all || k < 2 || k == GR_MAX_RANK) return x;
  gr_read_dims(r, source, 0, k, sizes), gr_read_dims(r, x, 1, 2, &sizes[k]);
  return gr_read_reshape(r, source, k + 1, sizes);
}

// y, which is of `wide`, as rows again where x was.
static int flattened(gr_onnx_reading *r, int x, int wide, int y, int64_t n) {
  int64_t sizes[2][GR_READ_CHOICES];
  if (r->err || wide == x) return y;
  gr_read_dims(r, x, 0, 1, sizes), gr_read_same(sizes[1], n);
  return gr_read_reshape(r, y, 2, sizes);
}

int gr_read_product(gr_onnx_reading *r, int x, int w) {
  if (r->err) return 0;
  int wide = unflattened(r, x);
  return flattened(r, x, wide, GR_READ_TWO(r, &gr_op_matmul, wide, w), gr_read_type(r, w)->dim[1]);
}

int gr_read_linear(gr_onnx_reading *r, int x, int w, int b) {
  if (r->err || !gr_read_is_own(r, w) || gr_read_type(r, w)->rank != 2) return 0;
  if (r->vars[w].named && !gr_read_path(r, w, "weight")) return 0;  // it keeps its name
  int64_t n = gr_read_type(r, w)->dim[0];
  if ((b && !is_vector_of(r, b, n)) || gr_read_type(r, x)->rank < 2) return 0;
  int wide = unflattened(r, x);
  gr_type type[GR_READ_CHOICES];
  const gr_read_setting turned = {"tb", "true"};
  gr_read_types(r, &gr_op_matmul, 2, (const int[]){wide, w}, 1, &turned, type);
  if (r->err) return 0;
  const gr_read_setting s[] = {{"out", gr_arena_printf(r->arena, "%lld", (long long)n)},
                               {"bias", b ? NULL : "false"}};
  const gr_read_part parts[] = {{"weight", w}, {"bias", b}};
  int y = gr_read_block(r, "linear", gr_read_path(r, w, "weight"), wide, type, 2, s, 2, parts);
  return flattened(r, x, wide, y, n);
}

int gr_read_bias(gr_onnx_reading *r, int x, int b) {
  uint32_t uses = 0;
  int y = gr_read_in(r, x, true), v = gr_read_in(r, b, true), i = y ? r->vars[y].line : 0;
  if (r->err || !i || !v || strcmp(r->lines[i - 1].op, "linear") != 0) return 0;
  gr_read_line *l = &r->lines[i - 1];
  bool takes = l->n_parts == 1 && gr_map_find(&r->uses, r->node->in[x], &uses) && uses == 1;
  if (!takes || !is_vector_of(r, v, gr_read_type(r, l->part[0].var)->dim[0])) return 0;
  l->part[l->n_parts++] = (gr_read_part){"bias", v};
  l->setting[1].text = NULL;
  const char *path = gr_read_path(r, v, "bias");
  if (path && !gr_read_path(r, l->part[0].var, "weight")) l->path = gr_read_free_path(r, path);
  return y;
}

// ---- Embeddings --------------------------------------------------------------------------------

// A table with a name of its own, which is no layer's weight, stays a parameter of that name.
void gr_read_embedding(gr_onnx_reading *r, int table, int ids) {
  const char *path = gr_read_path(r, table, "weight"), *name = r->vars[table].name;
  bool unnamed = !name || !strncmp(name, "Gather_", 7);
  if (gr_read_type(r, ids)->rank == GR_MAX_RANK) gr_read_refuse(r, "gives too many axes");
  if (r->err) return;
  if (gr_read_is_own(r, table) && (path || unnamed)) {
    gr_type t[GR_READ_CHOICES];
    const gr_type *w = gr_read_type(r, table);
    for (int c = 0; c < GR_READ_CHOICES; c++) {
      t[c] = r->vars[ids].type[c], t[c].dtype = GR_F32;
      t[c].dim[t[c].rank++] = w->dim[1];
    }
    const gr_read_setting s[] = {{"vocab", gr_arena_printf(r->arena, "%lld", (long long)w->dim[0])},
                                 {"dim", gr_arena_printf(r->arena, "%lld", (long long)w->dim[1])}};
    gr_read_out(
        r, 0,
        gr_read_block(r, "embedding", path, ids, t, 2, s, 1, &(gr_read_part){"weight", table}),
        false);
  } else {
    int n = r->n_lines, *in = GR_NEW(r->arena, int, 2);
    in[0] = ids, in[1] = table;  // the block of that name takes them so
    gr_read_out(r, 0, GR_READ_TWO(r, &gr_op_embedding, table, ids), false);
    if (r->n_lines > n) r->lines[n].in = in;
  }
}

// ---- Axes -------------------------------------------------------------------------------------

int gr_read_axes(gr_onnx_reading *r, int rank, int64_t *out, bool *none) {
  int64_t axes[GR_MAX_RANK][GR_READ_CHOICES];
  int given = gr_read_in(r, 1, false), n = gr_read_ints(r, "axes", GR_MAX_RANK, out, 0);
  *none = gr_read_int(r, "noop_with_empty_axes", 0);
  if (given && (n = gr_read_numbers(r, given, GR_MAX_RANK, axes)) < 0)
    gr_read_refuse(r, "has axes that are no constants");
  for (int i = 0; i < n && !r->err; i++)
    out[i] = gr_read_axis(r, given ? axes[i][0] : out[i], rank);
  for (int d = 0; d < rank && !n; d++) out[d] = d;
  *none &= !n;
  return r->err ? 0 : n ? n : rank;
}

void gr_read_reduce(gr_onnx_reading *r) {
  int64_t list[GR_MAX_RANK];
  bool last, none;
  int x = gr_read_as_is(r, 0, &last);
  bool keep = gr_read_int(r, "keepdims", 1);
  if (r->err) return;
  int rank = gr_read_type(r, x)->rank, n = gr_read_axes(r, rank, list, &none);
  // Without an axis between, what is left of channels-last is in ONNX's order.
  if (last && !keep && n < rank - 2) x = gr_read_in(r, 0, true), last = false;
  for (int i = 0; i < n; i++) list[i] = gr_read_place((int)list[i], rank, last);
  const char *text = gr_read_list(r, n, list);
  if (r->reader->before) x = GR_READ_ONE(r, r->reader->before, x);
  int y = none ? x : GR_READ(r, r->op, x, {"axes", text}, {"keepdim", keep ? "true" : NULL});
  if (r->reader->after) y = GR_READ_ONE(r, r->reader->after, y);
  gr_read_out(r, 0, y, last && (keep || none));
}

int gr_read_reduced(gr_onnx_reading *r, int var, int n, const int64_t *axes) {
  bool keep[GR_MAX_RANK];
  for (int d = 0; d < GR_MAX_RANK; d++) keep[d] = true;
  for (int i = 0; i < n; i++) keep[axes[i]] = false;
  return gr_read_int(r, "keepdims", 1) ? var : gr_read_squeeze(r, var, keep);
}

int gr_read_swap_last(gr_onnx_reading *r, int x, int axis) {
  int64_t perm[GR_MAX_RANK];
  int rank = r->err || !x ? 0 : gr_read_type(r, x)->rank;
  for (int d = 0; d < rank; d++) perm[d] = d == axis ? rank - 1 : d == rank - 1 ? axis : d;
  return gr_read_transpose(r, x, perm);
}

// Other axes are moved to the end and back.
void gr_read_over_last(gr_onnx_reading *r) {
  int x = gr_read_in(r, 0, true);
  if (r->err) return;
  int axis = gr_read_axis(r, gr_read_int(r, "axis", -1), gr_read_type(r, x)->rank);
  int y = gr_read_swap_last(r, x, axis);
  gr_read_out(r, 0, gr_read_swap_last(r, GR_READ_ONE(r, r->op, y), axis), false);
}

// x is [before, axis, after] for the product.
int gr_read_mix(gr_onnx_reading *r, int x, int axis, int64_t rows, const float *matrix) {
  int64_t flat[3][GR_READ_CHOICES], whole[GR_MAX_RANK][GR_READ_CHOICES];
  if (r->err || !x) return 0;
  int rank = gr_read_type(r, x)->rank;
  gr_read_dims(r, x, 0, rank, whole), gr_read_same(whole[axis], rows);
  gr_read_count(r, x, 0, axis, flat[0]), gr_read_dims(r, x, axis, axis + 1, &flat[1]);
  gr_read_count(r, x, axis + 1, rank, flat[2]);
  for (int c = 0; c < GR_READ_CHOICES; c++)
    if (flat[1][c] != flat[1][0]) gr_read_refuse(r, "changes an axis whose size is open");
  const gr_type type = {.dtype = GR_F32, .rank = 2, .dim = {rows, flat[1][0]}};
  int m = r->err ? 0 : gr_read_known(r, &type, matrix);
  x = gr_read_reshape(r, x, 3, flat);
  x = GR_READ_TWO(r, &gr_op_matmul, m, x);
  return gr_read_reshape(r, x, rank, whole);
}

void gr_read_all(gr_onnx_reading *r) {
  int in[GR_MAX_ARGS], n = r->node->n_in;
  if (n < 1 || n > GR_MAX_ARGS) gr_read_refuse(r, "has %d operands", n);
  bool last = !r->err && gr_read_together(r, n, in);
  for (int k = 1; k < n && !r->err; k++) in[0] = GR_READ_TWO(r, r->op, in[0], in[k]);
  gr_read_out(r, 0, r->err ? 0 : in[0], last);
}

bool gr_read_truths(gr_onnx_reading *r, int in[2]) {
  bool last = gr_read_together(r, 2, in);
  for (int k = 0; k < 2 && !r->err; k++) {
    bool known = gr_read_is_known(r, in[k]);
    in[k] = gr_read_cast(r, in[k], !known && gr_dtypes[gr_read_type(r, in[k])->dtype].is_float);
  }
  bool is_float = false;
  for (int k = 0; k < 2 && !r->err; k++)
    is_float |= gr_dtypes[gr_read_type(r, in[k])->dtype].is_float;
  for (int k = 0; k < 2 && !r->err; k++) in[k] = gr_read_cast(r, in[k], is_float);
  return last;
}

void gr_read_logic(gr_onnx_reading *r) {
  int in[2] = {0};
  bool last = gr_read_truths(r, in);
  gr_read_out(r, 0, GR_READ_TWO(r, r->op, in[0], in[1]), last);
}
