// gather_read.c - reads Gather, GatherElements and GatherND of ONNX: as rows of a table, as parts
// of axes where the indices are constants, and of known values as known ones.
#include <string.h>
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

enum { MAX_INDICES = 4096 };   // that do not follow each other
enum { MAX_BYTES = 1 << 26 };  // of a known value

// An index of an axis, counted from its end if it is negative.
static int64_t index_of(gr_onnx_reading *r, int64_t i, int64_t size) {
  int64_t index = i < 0 ? i + size : i;
  if (index < 0 || index >= size) gr_read_refuse(r, "has the index %lld", (long long)i);
  return r->err ? 0 : index;
}

// ---- Along one axis, by constants ---------------------------------------------------------------

// Elements of an axis by constant indices: each is one times a row of a matrix.
static int picked(gr_onnx_reading *r, int x, int axis, int64_t n, const int64_t *index) {
  int64_t size = gr_read_type(r, x)->dim[axis];
  if (n > MAX_INDICES || !gr_dtypes[gr_read_type(r, x)->dtype].is_float || size * n > 1 << 24)
    gr_read_refuse(r, "has indices that do not follow each other, of whole numbers or too many");
  float *matrix = r->err ? NULL : GR_NEW(r->arena, float, (size_t)(size * n));
  for (int64_t i = 0; i < n && !r->err; i++) matrix[i * size + index_of(r, index[i], size)] = 1;
  return r->err ? 0 : gr_read_mix(r, x, axis, n, matrix);
}

int gr_read_elements(gr_onnx_reading *r, int x, int axis, const int64_t *n,
                     const int64_t *const *index) {
  int64_t first[GR_READ_CHOICES];
  bool follow = true, fixed = true;
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    int64_t size = r->vars[x].type[c].dim[axis];
    fixed &= n[c] == n[0] && !memcmp(index[c], index[0], sizeof **index * (size_t)n[0]);
    first[c] = index_of(r, index[c][0], size);
    for (int64_t i = 0; i < n[c] && !r->err; i++)
      follow &= index_of(r, index[c][i], size) == first[c] + i;
  }
  if (!r->err && !follow && !fixed)
    gr_read_refuse(r, "has indices that do not follow each other and depend on an open size");
  if (r->err) return 0;
  return follow ? gr_read_slice(r, x, axis, first, n) : picked(r, x, axis, n[0], index[0]);
}

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
  x = r->err ? 0 : gr_read_elements(r, x, axis, n, index);
  gr_read_out(r, 0, drops ? gr_read_squeeze(r, x, keep) : x, false);
}

// Rows of a table by more indices than one list, or of weights by many.
static bool is_table(const gr_onnx_reading *r, int x, int ids) {
  const gr_type *t = gr_read_type(r, ids);
  return t->rank > 1 || (r->vars[x].weight && gr_type_count(t) > gr_read_type(r, x)->dim[0]);
}

// ---- By indices of several axes -----------------------------------------------------------------

static bool is_constant(const gr_onnx_reading *r, int var) {
  return var && gr_read_is_known(r, var) && !r->vars[var].weight;
}

static int add_known(gr_onnx_reading *r, const gr_type type[GR_READ_CHOICES],
                     const void *const data[GR_READ_CHOICES]) {
  int y = gr_read_var_add(r, type);
  for (int c = 0; c < GR_READ_CHOICES; c++) r->vars[y].data[c] = data[c];
  return y;
}

// Indices [..., k] of k axes, and the values that they are taken from.
typedef struct places {
  const gr_type *x, *ids;
  const int64_t *id;
  int k;
} places;

static places places_of(const gr_onnx_reading *r, int x, int ids, int c) {
  const gr_type *t = &r->vars[ids].type[c];
  return (places){&r->vars[x].type[c], t, r->vars[ids].data[c], (int)t->dim[t->rank - 1]};
}

static gr_type type_of(const places *p) {
  gr_type t = *p->ids;
  t.dtype = p->x->dtype, t.rank--;
  for (int d = p->k; d < p->x->rank; d++) t.dim[t.rank++] = p->x->dim[d];
  return t;
}

// A known value at known indices is one.
static int known_at(gr_onnx_reading *r, int x, int ids) {
  gr_type type[GR_READ_CHOICES];
  const void *data[GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    places p = places_of(r, x, ids, c);
    type[c] = type_of(&p);
    int64_t n = gr_type_count(p.ids) / p.k, row = (int64_t)gr_dtypes[p.x->dtype].size;
    for (int d = p.k; d < p.x->rank; d++) row *= p.x->dim[d];
    if (n > MAX_BYTES / row) gr_read_refuse(r, "gives too much");
    char *to = r->err ? NULL : gr_arena_alloc(r->arena, (size_t)(n * row) + 8);
    for (int64_t i = 0; i < n && !r->err; i++) {
      int64_t offset = 0;
      for (int d = 0; d < p.k; d++)
        offset = offset * p.x->dim[d] + index_of(r, p.id[i * p.k + d], p.x->dim[d]);
      memcpy(to + i * row, (const char *)r->vars[x].data[c] + offset * row, (size_t)row);
    }
    data[c] = to;
  }
  return r->err ? 0 : add_known(r, type, data);
}

// How many indices one step along an axis of them passes.
static int64_t stride_of(const gr_type *ids, int axis) {
  int64_t n = 1;
  for (int d = axis + 1; d < ids->rank; d++) n *= ids->dim[d];
  return n;
}

// Whether the j-th of the indices [..., k] change along an axis of them.
static bool changes_along(const gr_onnx_reading *r, int ids, int j, int axis) {
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    const gr_type *t = &r->vars[ids].type[c];
    const int64_t *id = r->vars[ids].data[c];
    int64_t n = gr_type_count(t), stride = stride_of(t, axis);
    for (int64_t i = j; i < n; i += gr_last(t))
      if (id[i] != id[i - i / stride % t->dim[axis] * stride]) return true;
  }
  return false;
}

// The axis of the indices along which the j-th change; -1: none; -2: they change along more.
static int axis_of(const gr_onnx_reading *r, int ids, int j) {
  int axis = -1;
  for (int d = 0; d < gr_read_type(r, ids)->rank - 1; d++)
    if (changes_along(r, ids, j, d)) axis = axis == -1 ? d : -2;
  return axis;
}

// The elements of axis j of x at the j-th indices, which change along one axis of them at most.
static int along(gr_onnx_reading *r, int x, int ids, int j, int axis) {
  int64_t n[GR_READ_CHOICES];
  const int64_t *index[GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    const gr_type *t = &r->vars[ids].type[c];
    int64_t stride = axis < 0 ? 0 : stride_of(t, axis);
    n[c] = axis < 0 ? 1 : t->dim[axis];
    int64_t *to = GR_NEW(r->arena, int64_t, (size_t)n[c] + 1);
    for (int64_t i = 0; i < n[c]; i++)
      to[i] = ((const int64_t *)r->vars[ids].data[c])[j + i * stride];
    index[c] = to;
  }
  return gr_read_elements(r, x, j, n, index);
}

// The elements of x by the indices of each of its first k axes; sets which axes of the indices x
// has then.
static int take_grid(gr_onnx_reading *r, int x, int ids, int k, bool *has) {
  int last = -1;
  for (int j = 0; j < k && !r->err; j++) {
    int axis = axis_of(r, ids, j);
    if (axis == -2 || (axis >= 0 && axis <= last))
      gr_read_refuse(r, "has indices of several axes that are no grid in their order");
    if (axis >= 0) has[last = axis] = true;
    x = r->err ? 0 : along(r, x, ids, j, axis);
  }
  return x;
}

// Indices of a grid, each axis of x by one of theirs: parts of axes, which are then repeated.
static int grid(gr_onnx_reading *r, int x, int ids) {
  if (r->err) return 0;
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  const gr_type *t = gr_read_type(r, ids);
  int axes = t->rank - 1, k = (int)t->dim[axes], rank = gr_read_type(r, x)->rank, n = 0;
  bool has[GR_MAX_RANK] = {false};
  x = take_grid(r, x, ids, k, has);
  if (r->err) return 0;
  for (int d = 0; d < axes + rank - k; d++) {
    if (d < axes && !has[d]) continue;
    for (int c = 0; c < GR_READ_CHOICES; c++)
      sizes[n][c] = d < axes ? r->vars[ids].type[c].dim[d] : r->vars[x].type[c].dim[d - axes + k];
    n++;
  }
  x = gr_read_reshape(r, x, n, (const int64_t(*)[GR_READ_CHOICES])sizes);
  for (int d = 0; d < axes; d++) {
    int64_t size[GR_READ_CHOICES];
    for (int c = 0; c < GR_READ_CHOICES; c++) size[c] = r->vars[ids].type[c].dim[d];
    if (!has[d]) x = gr_read_repeat(r, x, d, size);
  }
  return x;
}

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
      int64_t rest = index_of(r, ((const int64_t *)r->vars[ids].data[c])[i], size);
      for (int d = k - 1; d >= 0; rest /= of->dim[d], d--) to[i * k + d] = rest % of->dim[d];
    }
    type[c] = *t, type[c].dim[type[c].rank++] = k, data[c] = to;
  }
  return r->err ? 0 : add_known(r, type, data);
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
  for (int d = 0; d < n; d++)
    for (int c = 0; c < GR_READ_CHOICES; c++)
      sizes[d][c] =
          d < i->rank ? r->vars[ids].type[c].dim[d] : r->vars[x].type[c].dim[d - i->rank + 1];
  int y = grid(r, whole, unfold(r, ids, whole, k));
  gr_read_out(r, 0, gr_read_reshape(r, y, n, (const int64_t(*)[GR_READ_CHOICES])sizes), false);
}

static void gather(gr_onnx_reading *r, int x, int ids, int64_t of) {
  if (r->err) return;
  const gr_type *t = gr_read_type(r, x), *i = gr_read_type(r, ids);
  int axis = gr_read_axis(r, of, t->rank);
  bool rows = !axis && t->rank == 2 && gr_dtypes[t->dtype].is_float;
  if (rows && (!gr_read_is_known(r, ids) || is_table(r, x, ids)))
    gr_read_embedding(r, x, ids);
  else if (!gr_read_is_known(r, ids))
    gr_read_refuse(r,
                   "takes elements by indices that are computed; only rows of a table are read so");
  else if (!axis && i->rank > 1 && i->dtype == GR_I64 && is_constant(r, ids))
    read_folded(r, x, ids);
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
  bool known = !r->err && is_constant(r, ids) && t->dtype == GR_I64;
  if (!r->err && k > 1 && !known)
    gr_read_refuse(r, "has indices of several axes that are computed");
  if (r->err) return;
  if (known && is_constant(r, x))
    gr_read_out(r, 0, known_at(r, x, ids), false);
  else if (k > 1)
    gr_read_out(r, 0, grid(r, x, ids), false);
  else
    gather(r, x, gr_read_squeeze(r, ids, keep), 0);
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
  return add_known(r, type, data);
}

void gr_gather_elements_read(gr_onnx_reading *r) {
  int x = gr_read_in(r, 0, true), ids = gr_read_in(r, 1, true);
  int rank = r->err ? 0 : gr_read_type(r, x)->rank;
  int axis = gr_read_axis(r, gr_read_int(r, "axis", 0), rank);
  if (!r->err && gr_read_type(r, ids)->rank != rank)
    gr_read_refuse(r, "has indices of %d axes, of a value of %d", gr_read_type(r, ids)->rank, rank);
  if (r->err) return;
  bool known = is_constant(r, ids) && gr_read_type(r, ids)->dtype == GR_I64;
  if (known && is_constant(r, x) && rank < GR_MAX_RANK) {
    gr_read_out(r, 0, known_at(r, x, all_axes(r, ids, axis)), false);
    return;
  }
  x = gr_read_swap_last(r, x, axis), ids = gr_read_swap_last(r, ids, axis);
  gr_read_out(r, 0, gr_read_swap_last(r, GR_READ_TWO(r, &gr_op_gather, x, ids), axis), false);
}
