// slice_read.c - reads parts of values of ONNX: slices, also with steps, splits, and sequences of
// parts, which are known by their numbers alone.
#include <string.h>
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

// Index i of an axis as Slice has it: from the end if it is negative, and within the axis.
static int64_t clip_index(int64_t i, int64_t size) {
  i = i < 0 ? i + size : i;
  return i < 0 ? 0 : i > size ? size : i;
}

static int read_part(gr_onnx_reading *r, int x, int axis, const int64_t *start,
                     const int64_t *end) {
  int64_t first[GR_READ_CHOICES], size[GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    int64_t whole = r->vars[x].type[c].dim[axis];
    first[c] = clip_index(start[c], whole), size[c] = clip_index(end[c], whole) - first[c];
    if (size[c] < 1 && !gr_read_is_known(r, x)) gr_read_refuse(r, "takes nothing of axis %d", axis);
  }
  if (!r->err && size[0] < 1)  // no sizes, which Concat leaves out
    return gr_read_known(r, &(gr_type){.dtype = GR_I64, .rank = 1}, "");
  return r->err ? 0 : gr_read_slice(r, x, axis, first, size);
}

// Which indices of an axis those are, from `i` to before `stop` by a step; returns their number.
static int64_t indices(int64_t i, int64_t stop, int64_t by, int64_t size, int64_t *out) {
  int64_t n = 0;
  by = by < -size ? -size : by > size ? size : by;
  if (i < 0) i += size;
  if (i < 0) i = by < 0 ? -1 : 0;
  if (i >= size) i = by < 0 ? size - 1 : size;
  if (stop < 0) stop = stop < -size ? -1 : stop + size;
  for (; by && i >= 0 && i < size && (by < 0 ? i > stop : i < stop); i += by) out[n++] = i;
  return n;
}

// Every step-th row of a known value; the step may be below 0.
static int known_steps(gr_onnx_reading *r, int x, int axis, const int64_t *start,
                       const int64_t *end, const int64_t *step) {
  gr_type type[GR_READ_CHOICES];
  const void *data[GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    type[c] = r->vars[x].type[c];
    size_t item = (size_t)gr_dtypes[type[c].dtype].size;
    int64_t rows = 1, whole = type[c].dim[axis];
    for (int d = 0; d < axis; d++) rows *= type[c].dim[d];
    for (int d = axis + 1; d < type[c].rank; d++) item *= (size_t)type[c].dim[d];
    int64_t *index = GR_NEW(r->arena, int64_t, (size_t)type[c].dim[axis] + 1);
    type[c].dim[axis] = indices(start[c], end[c], step[c], type[c].dim[axis], index);
    if (!type[c].dim[axis]) gr_read_refuse(r, "takes nothing of axis %d", axis);
    char *copy = gr_arena_alloc(r->arena, gr_type_bytes(&type[c]) + 8);
    for (int64_t i = 0; i < rows && !r->err; i++)
      for (int64_t k = 0, n = type[c].dim[axis]; k < n; k++)
        memcpy(copy + (size_t)(i * n + k) * item,
               (const char *)r->vars[x].data[c] + (size_t)(i * whole + index[k]) * item, item);
    data[c] = copy;
  }
  int y = r->err ? 0 : gr_read_var_add(r, type);
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) r->vars[y].data[c] = data[c];
  return y;
}

// Every step-th row of a computed value: the first of each group of so many.
static int first_of_groups(gr_onnx_reading *r, int x, int axis, const int64_t *start,
                           const int64_t *end, int64_t step) {
  int64_t sizes[GR_MAX_RANK + 1][GR_READ_CHOICES], first[GR_READ_CHOICES], wide[GR_READ_CHOICES];
  int64_t none[GR_READ_CHOICES] = {0}, more[GR_READ_CHOICES], one[GR_READ_CHOICES];
  bool keep[GR_MAX_RANK], pads = false;
  int rank = gr_read_type(r, x)->rank;
  if (rank == GR_MAX_RANK || step < 1 || step > INT32_MAX)
    gr_read_refuse(r, "has steps of %lld, which are not read", (long long)step);
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    int64_t whole = r->vars[x].type[c].dim[axis];
    first[c] = clip_index(start[c], whole), one[c] = 1;
    int64_t n = (clip_index(end[c], whole) - first[c] + step - 1) / step;
    if (n < 1) gr_read_refuse(r, "takes nothing of axis %d", axis);
    wide[c] = n * step, more[c] = gr_max_i64(0, first[c] + wide[c] - whole);
    pads |= more[c] > 0;
    sizes[axis][c] = n, sizes[axis + 1][c] = step;
  }
  for (int d = 0; d < GR_MAX_RANK; d++) keep[d] = d != axis + 1;
  if (r->err) return 0;
  gr_read_dims(r, x, 0, axis, sizes), gr_read_dims(r, x, axis + 1, rank, &sizes[axis + 2]);
  if (pads) x = gr_read_pad_zeros(r, x, axis, none, more);
  x = gr_read_slice(r, x, axis, first, wide);
  x = gr_read_reshape(r, x, rank + 1, sizes);
  return gr_read_squeeze(r, gr_read_slice(r, x, axis + 1, none, one), keep);
}

// Rows from the end on.
static int backwards(gr_onnx_reading *r, int x, int axis, const int64_t *start, const int64_t *end,
                     const int64_t *step) {
  int64_t n[GR_READ_CHOICES];
  const int64_t *index[GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    int64_t size = r->vars[x].type[c].dim[axis], *to = GR_NEW(r->arena, int64_t, (size_t)size + 1);
    n[c] = indices(start[c], end[c], step[c], size, to), index[c] = to;
    if (!n[c]) gr_read_refuse(r, "takes nothing of axis %d", axis);
  }
  return r->err ? 0 : gr_read_elements(r, x, axis, n, index);
}

static int read_steps(gr_onnx_reading *r, int x, int axis, const int64_t *start, const int64_t *end,
                      const int64_t *step) {
  if (step[0] < 0 && !gr_read_is_known(r, x)) return backwards(r, x, axis, start, end, step);
  return gr_read_is_known(r, x) && !r->vars[x].weight
             ? known_steps(r, x, axis, start, end, step)
             : first_of_groups(r, x, axis, start, end, step[0]);
}

void gr_slice_read(gr_onnx_reading *r) {
  int64_t start[GR_MAX_RANK][GR_READ_CHOICES], end[GR_MAX_RANK][GR_READ_CHOICES];
  int64_t axes[GR_MAX_RANK][GR_READ_CHOICES], step[GR_MAX_RANK][GR_READ_CHOICES];
  bool last;
  int x = gr_read_as_is(r, 0, &last), a = gr_read_in(r, 3, false), s = gr_read_in(r, 4, false);
  int n = gr_read_numbers(r, gr_read_in(r, 1, true), GR_MAX_RANK, start);
  if (n < 0 || gr_read_numbers(r, gr_read_in(r, 2, true), GR_MAX_RANK, end) != n ||
      (a && gr_read_numbers(r, a, GR_MAX_RANK, axes) != n) ||
      (s && gr_read_numbers(r, s, GR_MAX_RANK, step) != n))
    gr_read_refuse(r, "has bounds that are no constants");
  for (int i = 0; i < n && !r->err; i++) {
    int rank = gr_read_type(r, x)->rank, axis = gr_read_axis(r, a ? axes[i][0] : i, rank);
    if (s && step[i][0] != 1)
      x = read_steps(r, x, gr_read_place(axis, rank, last), start[i], end[i], step[i]);
    else
      x = read_part(r, x, gr_read_place(axis, rank, last), start[i], end[i]);
  }
  gr_read_out(r, 0, x, last);
}

enum { MOST = 64 };  // parts

// The parts of an axis, of those sizes; NULL: as equal as they can be.
static void read_parts(gr_onnx_reading *r, int x, int axis, int n,
                       int64_t (*sizes)[GR_READ_CHOICES], int *out) {
  int64_t start[GR_READ_CHOICES] = {0}, end[GR_READ_CHOICES];
  for (int i = 0; i < n && !r->err; i++) {
    for (int c = 0; c < GR_READ_CHOICES; c++) {
      int64_t whole = r->vars[x].type[c].dim[axis];
      int64_t size = sizes ? sizes[i][c] : (whole + n - 1) / n;
      if (size < 0 || size > whole)
        gr_read_refuse(r, "has a part of %lld of an axis of %lld", (long long)size,
                       (long long)whole);
      if (r->err) return;
      end[c] = start[c] + size;
    }
    out[i] = read_part(r, x, axis, start, end);
    for (int c = 0; c < GR_READ_CHOICES; c++) start[c] = end[c];
  }
}

static int split_axis(gr_onnx_reading *r, int x, bool last) {
  int rank = gr_read_type(r, x)->rank;
  return gr_read_place(gr_read_axis(r, gr_read_int(r, "axis", 0), rank), rank, last);
}

void gr_split_read(gr_onnx_reading *r) {
  int64_t sizes[MOST][GR_READ_CHOICES];
  bool last;
  int x = gr_read_as_is(r, 0, &last), s = gr_read_in(r, 1, false), n = r->node->n_out, part[MOST];
  gr_read_int(r, "num_outputs", n);
  if (n > MOST || (s && gr_read_numbers(r, s, MOST, sizes) != n))
    gr_read_refuse(r, "has parts that are no constants");
  if (r->err) return;
  read_parts(r, x, split_axis(r, x, last), n, s ? sizes : NULL, part);
  for (int i = 0; i < n; i++) gr_read_out(r, i, part[i], last);
}

// ---- Sequences ----------------------------------------------------------------------------------

static const char *element(gr_onnx_reading *r, const char *sequence, int64_t i) {
  return gr_arena_printf(r->arena, "%s[%lld]", sequence, (long long)i);
}

// One size is that of all parts but the last, which has what is left; returns their number.
static int equal_parts(gr_onnx_reading *r, int x, int axis, int64_t (*sizes)[GR_READ_CHOICES]) {
  int n = 0;
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    int64_t whole = r->vars[x].type[c].dim[axis], size = sizes[0][c];
    int64_t many = size < 1 ? 0 : whole / size + (whole % size != 0);
    if (many < 1 || many > MOST || (c && many != n))
      gr_read_refuse(r, "splits %lld by %lld", (long long)whole, (long long)size);
    if (!r->err) n = (int)many;
    for (int i = n - 1; i >= 0 && !r->err; i--)
      sizes[i][c] = i < n - 1 ? size : whole - size * (n - 1);
  }
  return n;
}

void gr_sequence_read(gr_onnx_reading *r) {
  int64_t sizes[MOST][GR_READ_CHOICES];
  bool last;
  int x = gr_read_as_is(r, 0, &last), s = gr_read_in(r, 1, true), part[MOST];
  int n = gr_read_numbers(r, s, MOST, sizes);
  gr_read_int(r, "keepdims", 1);  // of a node without sizes
  if (n < 1 || r->node->n_out != 1) gr_read_refuse(r, "has parts that are no constants");
  if (r->err) return;
  int axis = split_axis(r, x, last);
  if (!r->err && !gr_read_type(r, s)->rank) n = equal_parts(r, x, axis, sizes);
  read_parts(r, x, axis, n, sizes, part);
  for (int i = 0; i < n && !r->err; i++)
    gr_read_bind(r, element(r, r->node->out[0], i), part[i], last);
}

void gr_sequence_at_read(gr_onnx_reading *r) {
  int64_t index[1][GR_READ_CHOICES];
  const gr_read_binding *b = NULL;
  bool known = gr_read_numbers(r, gr_read_in(r, 1, true), 1, index) == 1;
  if (!r->err && known) b = gr_read_find(r, element(r, r->node->in[0], index[0][0]));
  if (!b) gr_read_refuse(r, "takes what is no part of a value that was split");
  if (!r->err) gr_read_out(r, 0, b->var, b->last);
}
