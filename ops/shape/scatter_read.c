// scatter_read.c - reads ScatterND and ScatterElements of ONNX: what constant indices write is put
// between the parts that stay, and what computed ones write is added to zeros (scatter_add).
#include <string.h>
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

enum { WHOLE, INDEX, PART };  // operands
typedef int64_t by_choice[GR_READ_CHOICES];

static bool is_constant(const gr_onnx_reading *r, int var) {
  return gr_read_is_known(r, var) && !r->vars[var].weight;
}

// ---- Constants into constants -------------------------------------------------------------------

// Writes rows of constants, which masks are made by, at their indices of the first k axes.
static void write_rows(gr_onnx_reading *r, const int *in, int c, char *to) {
  const gr_type *x = &r->vars[in[WHOLE]].type[c], *ids = &r->vars[in[INDEX]].type[c];
  const char *part = r->vars[in[PART]].data[c];
  const int64_t *id = r->vars[in[INDEX]].data[c];
  int k = (int)ids->dim[ids->rank - 1];
  int64_t n = gr_type_count(ids) / k, row = (int64_t)gr_dtypes[x->dtype].size;
  for (int d = k; d < x->rank; d++) row *= x->dim[d];
  if (n * row != (int64_t)gr_type_bytes(&r->vars[in[PART]].type[c]))
    gr_read_refuse(r, "writes other sizes than its indices say");
  for (int64_t i = 0; i < n && !r->err; i++) {
    int64_t offset = 0;
    for (int d = 0; d < k; d++, id++) {
      int64_t index = *id < 0 ? *id + x->dim[d] : *id;
      if (index < 0 || index >= x->dim[d]) gr_read_refuse(r, "has the index %lld", (long long)*id);
      if (r->err) return;
      offset = offset * x->dim[d] + index;
    }
    memcpy(to + offset * row, part + i * row, (size_t)row);
  }
}

static void read_known(gr_onnx_reading *r, const int *in) {
  const void *data[GR_READ_CHOICES];
  if (gr_read_type(r, in[PART])->dtype != gr_read_type(r, in[WHOLE])->dtype)
    gr_read_refuse(r, "writes another dtype");
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    size_t bytes = gr_type_bytes(&r->vars[in[WHOLE]].type[c]);
    char *copy = gr_arena_alloc(r->arena, bytes + 8);
    write_rows(r, in, c, memcpy(copy, r->vars[in[WHOLE]].data[c], bytes));
    data[c] = copy;
  }
  int y = r->err ? 0 : gr_read_var_add(r, r->vars[in[WHOLE]].type);
  for (int c = 0; c < GR_READ_CHOICES && y; c++) r->vars[y].data[c] = data[c];
  gr_read_out(r, 0, y, false);
}

// ---- A box of a value ---------------------------------------------------------------------------

static void no_box(gr_onnx_reading *r) {
  gr_read_refuse(r, "writes at indices that do not follow each other along each axis");
  r->err = gr_hint(r->err, "in the model, write one slice at a time, or torch.where with a mask");
}

// Elements of an axis from `first` on; 0: there are none.
static int piece(gr_onnx_reading *r, int x, int axis, const int64_t *first, const int64_t *size) {
  for (int c = 0; c < GR_READ_CHOICES; c++)
    if (size[c] < 0 || !size[c] != !size[0]) no_box(r);
  return size[0] ? gr_read_slice(r, x, axis, first, size) : 0;
}

// x with a box of it, which begins there along the axes from `axis` on, replaced by a value.
static int replaced(gr_onnx_reading *r, int x, int box, int axis, by_choice *begin) {
  int64_t zero[GR_READ_CHOICES] = {0}, size[GR_READ_CHOICES], end[GR_READ_CHOICES],
          rest[GR_READ_CHOICES];
  if (r->err || axis == gr_read_type(r, x)->rank) return box;
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    size[c] = r->vars[box].type[c].dim[axis], end[c] = begin[axis][c] + size[c];
    rest[c] = r->vars[x].type[c].dim[axis] - end[c];
  }
  int before = piece(r, x, axis, zero, begin[axis]), after = piece(r, x, axis, end, rest);
  int middle = gr_read_slice(r, x, axis, begin[axis], size), in[3], n = 0;
  middle = replaced(r, middle, box, axis + 1, begin);
  if (before) in[n++] = before;
  in[n++] = middle;
  if (after) in[n++] = after;
  const gr_read_setting s = {"axis", gr_arena_printf(r->arena, "%d", axis)};
  return n == 1 ? middle : gr_read_emit(r, &gr_op_concat, n, in, 1, &s);
}

// The indices of axis j: they change along one axis of ids at most, each by 1.
static void follow(gr_onnx_reading *r, const int *in, int j, int axis, by_choice *begin,
                   by_choice *size) {
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    const gr_type *t = &r->vars[in[INDEX]].type[c];
    const int64_t *id = (const int64_t *)r->vars[in[INDEX]].data[c] + j;
    int64_t whole = r->vars[in[WHOLE]].type[c].dim[j], step = 1;
    for (int d = axis + 1; d < t->rank; d++) step *= t->dim[d];
    begin[j][c] = *id < 0 ? *id + whole : *id, size[j][c] = axis < 0 ? 1 : t->dim[axis];
    for (int64_t i = 0; i < size[j][c]; i++)
      if ((id[i * step] < 0 ? id[i * step] + whole : id[i * step]) != begin[j][c] + i) no_box(r);
  }
}

void gr_scatter_nd_read(gr_onnx_reading *r) {
  int64_t begin[GR_MAX_RANK][GR_READ_CHOICES], size[GR_MAX_RANK][GR_READ_CHOICES];
  const int in[] = {gr_read_in(r, 0, true), gr_read_in(r, 1, true), gr_read_in(r, 2, true)};
  if (strcmp(gr_read_text(r, "reduction", "none"), "none") != 0)
    gr_read_refuse(r, "has a reduction; only what replaces is read");
  if (!r->err && !is_constant(r, in[INDEX])) {
    gr_read_refuse(r, "writes at indices that are computed");
    r->err = gr_hint(r->err, "in the model, write torch.where with a mask, or scatter_add");
  }
  if (r->err) return;
  const gr_type *x = gr_read_type(r, in[WHOLE]), *ids = gr_read_type(r, in[INDEX]);
  int k = ids->rank ? (int)ids->dim[ids->rank - 1] : 0, last = -1;
  if (ids->dtype != GR_I64 || k < 1 || k > x->rank || gr_type_count(ids) < 1)
    gr_read_refuse(r, "has indices of other axes, or another dtype");
  if (!r->err && is_constant(r, in[WHOLE]) && is_constant(r, in[PART])) {
    read_known(r, in);
    return;
  }
  for (int d = 0; d < x->rank && !r->err; d++) {
    int axis = d < k ? gr_read_index_axis(r, in[INDEX], d) : -1;
    if (axis == -2 || (axis >= 0 && axis <= last)) no_box(r);
    if (axis >= 0) last = axis;
    if (d < k) follow(r, in, d, axis, begin, size);
    for (int c = 0; c < GR_READ_CHOICES && d >= k; c++)
      begin[d][c] = 0, size[d][c] = r->vars[in[WHOLE]].type[c].dim[d];
  }
  if (r->err) return;
  int box = gr_read_reshape(r, in[PART], x->rank, size);
  gr_read_out(r, 0, replaced(r, in[WHOLE], box, 0, begin), false);
}

// ---- By an index for each element ---------------------------------------------------------------

// Whether known indices are those of a box: along the axis each is one more, wherever else.
static bool is_box(const gr_onnx_reading *r, int ids, int axis, by_choice *begin) {
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    const gr_type *t = &r->vars[ids].type[c];
    const int64_t *id = r->vars[ids].data[c];
    int64_t n = gr_type_count(t), step = 1;
    for (int d = axis + 1; d < t->rank; d++) step *= t->dim[d];
    for (int64_t i = 0; i < n; i++)
      if (id[i] != id[0] + i / step % t->dim[axis]) return false;
    for (int d = 0; d < t->rank; d++) begin[d][c] = d == axis ? id[0] : 0;
  }
  return true;
}

// Whether a value is one known number.
static bool is_number(const gr_onnx_reading *r, int var, double *out) {
  if (!is_constant(r, var)) return false;
  *out = gr_get(r->vars[var].data[0], gr_read_type(r, var)->dtype, 0);
  for (int c = 0; c < GR_READ_CHOICES; c++)
    for (int64_t i = 0, n = gr_type_count(&r->vars[var].type[c]); i < n; i++)
      if (gr_get(r->vars[var].data[c], r->vars[var].type[c].dtype, i) != *out) return false;
  return true;
}

// Whether no index comes twice along the last axis: there is one, or they are those of a top_k.
static bool are_distinct(const gr_onnx_reading *r, int ids) {
  const gr_read_var *v = &r->vars[ids];
  bool one = true;
  for (int c = 0; c < GR_READ_CHOICES; c++) one &= gr_last(&v->type[c]) == 1;
  return one || (v->line > 0 && !strcmp(r->lines[v->line - 1].op, "top_k") && v->result == 1);
}

static int scattered(gr_onnx_reading *r, int part, int ids, int x) {
  int64_t size[GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) size[c] = gr_last(&r->vars[x].type[c]);
  const gr_read_setting s = GR_READ_NUMBER("size", &size);
  return gr_read_emit(r, &gr_op_scatter_add, 2, (const int[]){part, ids}, 1, &s);
}

// Ones of the sizes of a value.
static int ones(gr_onnx_reading *r, int x) {
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  int n = gr_read_dims(r, x, 0, gr_read_type(r, x)->rank, sizes);
  bool is_float = gr_dtypes[gr_read_type(r, x)->dtype].is_float;
  int one = is_float ? gr_read_number(r, 1)
                     : gr_read_integers(r, &(gr_type){.dtype = GR_I64}, &(int64_t){1});
  return gr_read_expand(r, one, n, sizes);
}

// Along the last axis. Of indices that come twice one number is the same, whichever is written.
static int written(gr_onnx_reading *r, int x, int ids, int part, bool adds) {
  double number = 0, base = 1;
  bool same = is_number(r, part, &number), none = is_number(r, x, &base) && base == 0;
  if (!adds && !same && !are_distinct(r, ids)) {
    gr_read_refuse(r, "writes values at computed indices that may come twice");
    r->err = gr_hint(r->err, "in the model, write scatter_add, or torch.where with a mask");
  }
  int y = adds || !same ? scattered(r, part, ids, x) : 0;
  if (r->err || (none && y)) return y;
  if (adds) return GR_READ_TWO(r, &gr_op_add, x, y);
  int hits = scattered(r, ones(r, part), ids, x);
  if (same)
    y = gr_dtypes[gr_read_type(r, part)->dtype].is_float
            ? gr_read_number(r, number)
            : gr_read_integers(r, &(gr_type){.dtype = GR_I64}, &(int64_t){(int64_t)number});
  return gr_read_emit(r, &gr_op_where, 3, (const int[]){hits, y, x}, 0, NULL);
}

static void read_elements(gr_onnx_reading *r, const int *in, int axis, bool adds) {
  int64_t begin[GR_MAX_RANK][GR_READ_CHOICES];
  int rank = gr_read_type(r, in[WHOLE])->rank, last[3];
  bool known = is_constant(r, in[INDEX]);
  if (known && !adds && is_box(r, in[INDEX], axis, begin)) {
    gr_read_out(r, 0, replaced(r, in[WHOLE], in[PART], 0, begin), false);
    return;
  }
  if (known) no_box(r);
  for (int d = 0; d < rank && !r->err; d++)
    for (int c = 0; c < GR_READ_CHOICES; c++)
      if (d != axis && r->vars[in[WHOLE]].type[c].dim[d] != r->vars[in[INDEX]].type[c].dim[d])
        gr_read_refuse(r, "writes a part of an axis other than its own");
  for (int k = 0; k < 3; k++) last[k] = gr_read_swap_last(r, in[k], axis);
  int y = r->err ? 0 : written(r, last[WHOLE], last[INDEX], last[PART], adds);
  gr_read_out(r, 0, gr_read_swap_last(r, y, axis), false);
}

void gr_scatter_elements_read(gr_onnx_reading *r) {
  const int in[] = {gr_read_in(r, 0, true), gr_read_in(r, 1, true), gr_read_in(r, 2, true)};
  const char *how = gr_read_text(r, "reduction", "none");
  bool adds = !strcmp(how, "add"), fits = true;
  int64_t of = gr_read_int(r, "axis", 0);
  if (!adds && strcmp(how, "none") != 0)
    gr_read_refuse(r, "has the reduction '%s'; only add and none are read", how);
  if (r->err) return;
  int axis = gr_read_axis(r, of, gr_read_type(r, in[WHOLE])->rank);
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    gr_type ids = r->vars[in[INDEX]].type[c];
    ids.dtype = r->vars[in[PART]].type[c].dtype;
    fits &= gr_type_same(&ids, &r->vars[in[PART]].type[c]) &&
            ids.rank == r->vars[in[WHOLE]].type[c].rank && gr_type_count(&ids) > 0;
  }
  if (!fits) gr_read_refuse(r, "has indices, and values, of other sizes than its first operand");
  if (!r->err) read_elements(r, in, axis, adds);
}
