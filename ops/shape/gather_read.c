// gather_read.c - reads Gather, GatherND and GatherElements of ONNX: as rows of a table, as parts
// of axes where the indices are constants, and of known values as known ones.
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

static void read_indices(gr_onnx_reading *r, int x, int ids, int axis) {
  int64_t n[GR_READ_CHOICES];
  const int64_t *index[GR_READ_CHOICES];
  bool keep[GR_MAX_RANK], drops = gr_read_type(r, ids)->rank == 0;
  const gr_read_var *v = &r->vars[ids];
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    n[c] = gr_type_count(&v->type[c]), index[c] = v->data[c];
    if (v->weight || v->type[c].dtype != GR_I64 || v->type[c].rank > 1 || n[c] < 1)
      gr_read_refuse(r, "has indices that are not read: only of rows of a table, and constants");
  }
  for (int d = 0; d < GR_MAX_RANK; d++) keep[d] = d != axis;
  gr_read_keep(r, x);  // a table of positions, of which some are read
  x = r->err ? 0 : gr_read_elements(r, x, axis, n, index);
  gr_read_out(r, 0, drops ? gr_read_squeeze(r, x, keep) : x, false);
}

// Rows of a table by more indices than one list, or of weights by many.
static bool is_table(const gr_onnx_reading *r, int x, int ids) {
  const gr_type *t = gr_read_type(r, ids);
  return t->rank > 1 || (r->vars[x].weight && gr_type_count(t) > gr_read_type(r, x)->dim[0]);
}

// ---- By indices of several axes -----------------------------------------------------------------

// How many axes of a value became axis 0 of x, which it is the same as in another shape; 0: it is
// not made of whole axes.
static int axes_in_first(const gr_onnx_reading *r, int whole, int x) {
  for (int k = 1; k <= gr_read_type(r, whole)->rank; k++) {
    bool same = true;
    for (int c = 0; c < GR_READ_CHOICES; c++) {
      int64_t n = 1;
      for (int d = 0; d < k; d++) n *= r->vars[whole].type[c].dim[d];
      same &= n == r->vars[x].type[c].dim[0];
    }
    if (same) return k;
  }
  return 0;
}

// Indices of axis 0 as indices of the k axes that it was made of.
static int unfold(gr_onnx_reading *r, int ids, int whole, int k) {
  gr_type type[GR_READ_CHOICES];
  const void *data[GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    const gr_type *t = &r->vars[ids].type[c], *of = &r->vars[whole].type[c];
    int64_t n = gr_type_count(t), *to = GR_NEW(r->arena, int64_t, (size_t)(n * k) + 1), size = 1;
    for (int d = 0; d < k; d++) size *= of->dim[d];
    for (int64_t i = 0; i < n && !r->err; i++) {
      int64_t rest = gr_read_index(r, ((const int64_t *)r->vars[ids].data[c])[i], size);
      for (int d = k - 1; d >= 0; rest /= of->dim[d], d--) to[i * k + d] = rest % of->dim[d];
    }
    type[c] = *t, type[c].dim[type[c].rank++] = k, data[c] = to;
  }
  return r->err ? 0 : gr_read_known_by_choice(r, type, data);
}

// Elements of axis 0 by constants in several axes.
static void read_folded(gr_onnx_reading *r, int x, int ids) {
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  const gr_type *t = gr_read_type(r, x), *i = gr_read_type(r, ids);
  int whole = gr_read_unshaped(r, x), k = axes_in_first(r, whole, x), n = i->rank + t->rank - 1;
  if (!k) whole = x, k = 1;
  if (i->rank == GR_MAX_RANK || n > GR_MAX_RANK || gr_type_count(i) < 1)
    gr_read_refuse(r, "gives nothing, or too many axes");
  if (r->err) return;
  gr_read_dims(r, ids, 0, i->rank, sizes), gr_read_dims(r, x, 1, t->rank, &sizes[i->rank]);
  int y = gr_read_places(r, whole, unfold(r, ids, whole, k));
  gr_read_out(r, 0, gr_read_reshape(r, y, n, sizes), false);
}

// Of another axis: by all of them as one list, whose axis becomes theirs.
static void read_several(gr_onnx_reading *r, int x, int ids, int axis) {
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES], n[GR_READ_CHOICES];
  const int64_t *index[GR_READ_CHOICES];
  const gr_type *t = gr_read_type(r, x), *i = gr_read_type(r, ids);
  int rank = t->rank + i->rank - 1;
  if (rank > GR_MAX_RANK || gr_type_count(i) < 1) gr_read_refuse(r, "gives too many axes");
  if (r->err) return;
  for (int c = 0; c < GR_READ_CHOICES; c++)
    n[c] = gr_type_count(&r->vars[ids].type[c]), index[c] = r->vars[ids].data[c];
  gr_read_dims(r, x, 0, axis, sizes), gr_read_dims(r, ids, 0, i->rank, &sizes[axis]);
  gr_read_dims(r, x, axis + 1, t->rank, &sizes[axis + i->rank]);
  int y = gr_read_elements(r, x, axis, n, index);
  gr_read_out(r, 0, gr_read_reshape(r, y, rank, sizes), false);
}

static void gather(gr_onnx_reading *r, int x, int ids, int64_t of) {
  if (r->err) return;
  const gr_type *t = gr_read_type(r, x), *i = gr_read_type(r, ids);
  int axis = gr_read_axis(r, of, t->rank);
  int at_step = r->err || gr_read_is_known(r, ids) ? 0 : gr_read_at_step(r, x, ids, axis);
  if (at_step || r->err) {
    gr_read_out(r, 0, at_step, false);
    return;
  }
  bool rows = !axis && t->rank == 2 && gr_dtypes[t->dtype].is_float;
  if (rows && (!gr_read_is_known(r, ids) || is_table(r, x, ids)))
    gr_read_embedding(r, x, ids);
  else if (!gr_read_is_known(r, ids))
    gr_read_refuse(r,
                   "takes elements by indices that are computed; only rows of a table are read so");
  else if (!axis && i->rank > 1 && i->dtype == GR_I64 && gr_read_is_constant(r, ids))
    read_folded(r, x, ids);
  else if (i->rank > 1 && i->dtype == GR_I64 && gr_read_is_constant(r, ids))
    read_several(r, x, ids, axis);
  else
    read_indices(r, x, ids, axis);
}

void gr_gather_read(gr_onnx_reading *r) {
  gather(r, gr_read_in(r, 0, true), gr_read_in(r, 1, true), gr_read_int(r, "axis", 0));
}

void gr_gather_nd_read(gr_onnx_reading *r) {
  bool keep[GR_MAX_RANK];
  int x = gr_read_in(r, 0, true), ids = gr_read_in(r, 1, true);
  gr_read_only(r, "batch_dims", 0);
  if (r->err) return;
  const gr_type *t = gr_read_type(r, ids), *of = gr_read_type(r, x);
  int64_t k = t->rank ? t->dim[t->rank - 1] : 0;
  for (int d = 0; d < GR_MAX_RANK; d++) keep[d] = d < t->rank - 1;
  if (k < 1 || k > of->rank || t->rank - 1 + of->rank - k > GR_MAX_RANK)
    gr_read_refuse(r, "has indices of %lld axes, of a value of %d", (long long)k, of->rank);
  if (!r->err && gr_type_count(t) < 1) gr_read_refuse(r, "has no indices");
  if (r->err) return;
  bool known = gr_read_is_constant(r, ids) && t->dtype == GR_I64;
  int id = k == 2 && !known ? gr_read_second_of_pairs(r, x, ids) : 0;
  if (k > 1 && !known && !id) gr_read_refuse(r, "has indices of several axes that are computed");
  if (k == 1 && !(known && gr_read_is_constant(r, x))) {
    gather(r, x, gr_read_squeeze(r, ids, keep), 0);
    return;
  }
  int y = r->err                      ? 0
          : id                        ? gr_read_of_samples(r, x, ids, id)
          : gr_read_is_constant(r, x) ? gr_read_known_at(r, x, ids)
                                      : gr_read_places(r, x, ids);
  gr_read_out(r, 0, y, false);
}

// ---- By an index for each element ---------------------------------------------------------------

// Known indices of one axis as those of all axes: of the others, the element's own.
static int all_axes(gr_onnx_reading *r, int ids, int axis) {
  gr_type type[GR_READ_CHOICES];
  const void *data[GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    const gr_type *t = &r->vars[ids].type[c];
    int64_t n = gr_type_count(t), *to = GR_NEW(r->arena, int64_t, (size_t)(n * t->rank) + 1);
    for (int64_t i = 0; i < n; i++) {
      int64_t rest = i;
      for (int d = t->rank - 1; d >= 0; rest /= t->dim[d], d--)
        to[i * t->rank + d] =
            d == axis ? ((const int64_t *)r->vars[ids].data[c])[i] : rest % t->dim[d];
    }
    type[c] = *t, type[c].dim[type[c].rank++] = t->rank, data[c] = to;
  }
  return gr_read_known_by_choice(r, type, data);
}

void gr_gather_elements_read(gr_onnx_reading *r) {
  int x = gr_read_in(r, 0, true), ids = gr_read_in(r, 1, true);
  int rank = r->err ? 0 : gr_read_type(r, x)->rank;
  int axis = gr_read_axis(r, gr_read_int(r, "axis", 0), rank);
  if (!r->err && gr_read_type(r, ids)->rank != rank)
    gr_read_refuse(r, "has indices of %d axes, of a value of %d", gr_read_type(r, ids)->rank, rank);
  if (r->err) return;
  bool known = gr_read_is_constant(r, ids) && gr_read_type(r, ids)->dtype == GR_I64;
  if (known && gr_read_is_constant(r, x) && rank < GR_MAX_RANK) {
    gr_read_out(r, 0, gr_read_known_at(r, x, all_axes(r, ids, axis)), false);
    return;
  }
  x = gr_read_swap_last(r, x, axis), ids = gr_read_swap_last(r, ids, axis);
  gr_read_out(r, 0, gr_read_swap_last(r, GR_READ_TWO(r, &gr_op_gather, x, ids), axis), false);
}
