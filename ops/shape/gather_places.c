// gather_places.c - elements of a value by constant indices, of one axis and of several, and by one
// for each sample that is computed (ops/kernels/onnx_read.h).
#include <string.h>
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

enum { MAX_INDICES = 4096 };   // that do not follow each other
enum { MAX_BYTES = 1 << 26 };  // of a known value

int64_t gr_read_index(gr_onnx_reading *r, int64_t i, int64_t size) {
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
  for (int64_t i = 0; i < n && !r->err; i++)
    matrix[i * size + gr_read_index(r, index[i], size)] = 1;
  return r->err ? 0 : gr_read_mix(r, x, axis, n, matrix);
}

int gr_read_elements(gr_onnx_reading *r, int x, int axis, const int64_t *n,
                     const int64_t *const *index) {
  int64_t first[GR_READ_CHOICES];
  bool follow = true, fixed = true;
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    int64_t size = r->vars[x].type[c].dim[axis];
    fixed &= n[c] == n[0] && !memcmp(index[c], index[0], sizeof **index * (size_t)n[0]);
    first[c] = gr_read_index(r, index[c][0], size);
    for (int64_t i = 0; i < n[c] && !r->err; i++)
      follow &= gr_read_index(r, index[c][i], size) == first[c] + i;
  }
  if (!r->err && !follow && !fixed)
    gr_read_refuse(r, "has indices that do not follow each other and depend on an open size");
  if (r->err) return 0;
  return follow ? gr_read_slice(r, x, axis, first, n) : picked(r, x, axis, n[0], index[0]);
}

// ---- Along several axes, by constants -----------------------------------------------------------

int gr_read_known_by_choice(gr_onnx_reading *r, const gr_type type[GR_READ_CHOICES],
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

int gr_read_known_at(gr_onnx_reading *r, int x, int ids) {
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
        offset = offset * p.x->dim[d] + gr_read_index(r, p.id[i * p.k + d], p.x->dim[d]);
      memcpy(to + i * row, (const char *)r->vars[x].data[c] + offset * row, (size_t)row);
    }
    data[c] = to;
  }
  return r->err ? 0 : gr_read_known_by_choice(r, type, data);
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

int gr_read_index_axis(const gr_onnx_reading *r, int ids, int j) {
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
  for (int j = 0; j < k && !r->err; j++) {
    int axis = gr_read_index_axis(r, ids, j);
    if (axis >= 0) has[axis] = true;
    x = r->err ? 0 : along(r, x, ids, j, axis);
  }
  return x;
}

// Each axis of x by one of theirs: parts of axes, which are then repeated.
static int grid(gr_onnx_reading *r, int x, int ids) {
  if (r->err) return 0;
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  const gr_type *t = gr_read_type(r, ids);
  int axes = t->rank - 1, k = (int)t->dim[axes], rank = gr_read_type(r, x)->rank, n = 0;
  bool has[GR_MAX_RANK] = {false};
  x = take_grid(r, x, ids, k, has);
  if (r->err) return 0;
  for (int d = 0; d < axes; d++)
    if (has[d]) n += gr_read_dims(r, ids, d, d + 1, &sizes[n]);
  n += gr_read_dims(r, x, k, rank, &sizes[n]);
  x = gr_read_reshape(r, x, n, sizes);
  for (int d = 0; d < axes; d++) {
    gr_read_dims(r, ids, d, d + 1, sizes);
    if (!has[d]) x = gr_read_repeat(r, x, d, sizes[0]);
  }
  return x;
}

// The sizes of a result: those of the indices but their last axis, and of x but its first k axes.
static int result_sizes(const gr_onnx_reading *r, int x, int ids, int k,
                        int64_t (*out)[GR_READ_CHOICES]) {
  int n = gr_read_dims(r, ids, 0, gr_read_type(r, ids)->rank - 1, out);
  return n + gr_read_dims(r, x, k, gr_read_type(r, x)->rank, &out[n]);
}

// ---- Constants ----------------------------------------------------------------------------------

// Whether each of the k indices changes along an axis of its own, in their order.
static bool is_grid(const gr_onnx_reading *r, int ids, int k) {
  int last = -1;
  for (int j = 0; j < k; j++) {
    int axis = gr_read_index_axis(r, ids, j);
    if (axis == -2 || (axis >= 0 && axis <= last)) return false;
    if (axis >= 0) last = axis;
  }
  return true;
}

// Any elements: of the first k axes as one.
static int any_places(gr_onnx_reading *r, int x, int ids, int k) {
  int64_t flat[GR_MAX_RANK][GR_READ_CHOICES], sizes[GR_MAX_RANK][GR_READ_CHOICES],
      n[GR_READ_CHOICES];
  const int64_t *index[GR_READ_CHOICES];
  int rank = gr_read_type(r, x)->rank;
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    const int64_t *id = r->vars[ids].data[c], *dim = r->vars[x].type[c].dim;
    n[c] = gr_type_count(&r->vars[ids].type[c]) / k;
    int64_t *to = GR_NEW(r->arena, int64_t, (size_t)n[c] + 1);
    flat[0][c] = 1;
    for (int d = 0; d < rank; d++)
      if (d < k)
        flat[0][c] *= dim[d];
      else
        flat[d - k + 1][c] = dim[d];
    for (int64_t i = 0; i < n[c]; i++)
      for (int d = 0; d < k; d++, id++) to[i] = to[i] * dim[d] + gr_read_index(r, *id, dim[d]);
    index[c] = to;
  }
  if (r->err) return 0;
  x = gr_read_reshape(r, x, rank - k + 1, flat);
  int y = gr_read_elements(r, x, 0, n, index);
  if (r->err) return 0;
  int m = result_sizes(r, y, ids, 1, sizes);
  return gr_read_reshape(r, y, m, sizes);
}

int gr_read_places(gr_onnx_reading *r, int x, int ids) {
  int k = r->err || !ids ? 0 : (int)gr_last(gr_read_type(r, ids));
  if (r->err) return 0;
  return is_grid(r, ids, k) ? grid(r, x, ids) : any_places(r, x, ids, k);
}

// ---- One for each sample ------------------------------------------------------------------------

int gr_read_second_of_pairs(const gr_onnx_reading *r, int x, int ids) {
  int i = r->vars[ids].line;
  const gr_read_line *l = i > 0 ? &r->lines[i - 1] : NULL;
  if (!l || strcmp(l->op, "concat") != 0 || l->n_in != 2 || !gr_read_is_constant(r, l->in[0]))
    return 0;
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    const gr_type *t = &r->vars[l->in[0]].type[c];
    const int64_t *id = r->vars[l->in[0]].data[c];
    int64_t n = gr_type_count(t), each = n / t->dim[0];
    if (t->dtype != GR_I64 || gr_last(t) != 1 || t->dim[0] != r->vars[x].type[c].dim[0]) return 0;
    for (int64_t k = 0; k < n; k++)
      if (id[k] != k / each) return 0;
  }
  return l->in[1];
}

// Along the last axis, to which that of the index is moved.
int gr_read_of_samples(gr_onnx_reading *r, int x, int pairs, int id) {
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES], wide[GR_MAX_RANK][GR_READ_CHOICES];
  int64_t there[GR_MAX_RANK], back[GR_MAX_RANK];
  int rank = gr_read_type(r, x)->rank, last = rank - 1;
  for (int d = 0; d < rank; d++) {
    there[d] = d == 0 ? 0 : d == last ? 1 : d + 1;
    back[d] = d == 0 ? 0 : d == 1 ? last : d - 1;
    for (int c = 0; c < GR_READ_CHOICES; c++) {
      const gr_type *t = &r->vars[id].type[c];
      int64_t many = gr_type_count(t) / t->dim[0];
      sizes[d][c] = d == 0 ? t->dim[0] : d == last ? many : 1;
      wide[d][c] = d == 0 || d == last ? sizes[d][c] : r->vars[x].type[c].dim[d + 1];
    }
  }
  id = gr_read_reshape(r, id, rank, sizes);
  id = gr_read_expand(r, id, rank, wide);
  int y = GR_READ_TWO(r, &gr_op_gather, gr_read_transpose(r, x, there), id);
  y = gr_read_transpose(r, y, back);
  int n = result_sizes(r, x, pairs, 2, sizes);
  return gr_read_reshape(r, y, n, sizes);
}
