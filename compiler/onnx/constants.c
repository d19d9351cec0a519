// constants.c - known values of a file of ONNX, by choice of open sizes: whether the text of a
// model can have them, and how. See print.h.
#include <string.h>
#include "compiler/onnx/print.h"
#include "ops/kernels/cpu.h"

bool gr_onnx_is_settled(const gr_onnx_reading *r, const gr_read_var *v) {
  for (int c = 1; c < r->n_choices; c++)
    if (!gr_type_same(&v->type[c], &v->type[0]) ||
        memcmp(v->data[c], v->data[0], gr_type_bytes(&v->type[0])) != 0)
      return false;
  return true;
}

bool gr_onnx_has_pattern(const gr_onnx_reading *r, const gr_read_var *v, bool *equal,
                         int64_t n[GR_READ_CHOICES]) {
  const gr_dtype dtype = v->type[0].dtype;
  bool counts = dtype == GR_I64;
  double x = gr_get(v->data[0], dtype, 0);
  *equal = true;
  for (int c = 0; c < r->n_choices; c++) {
    n[c] = gr_type_count(&v->type[c]);
    for (int64_t i = 0; i < n[c]; i++) {
      double y = gr_get(v->data[c], dtype, i);
      *equal &= y == x, counts &= y == (double)i;
    }
  }
  return *equal || counts;
}

// Whether the values at index i of an axis are those at index 0.
static bool is_same_along(const gr_type *t, const char *data, int axis) {
  size_t row = (size_t)gr_dtypes[t->dtype].size;
  for (int d = axis + 1; d < t->rank; d++) row *= (size_t)t->dim[d];
  int64_t n = (int64_t)(gr_type_bytes(t) / row), size = t->dim[axis];
  for (int64_t i = 0; i < n; i++)
    if (memcmp(data + row * (size_t)i, data + row * (size_t)(i - i % size), row) != 0) return false;
  return true;
}

int gr_onnx_repeated_axis(const gr_onnx_reading *r, const gr_read_var *v) {
  for (int d = 0; d < v->type[0].rank; d++) {
    bool open = false, same = true;
    for (int c = 0; c < r->n_choices; c++) {
      open |= v->type[c].dim[d] != v->type[0].dim[d];
      same &= is_same_along(&v->type[c], v->data[c], d);
    }
    if (open && same) return d;
  }
  return -1;
}

gr_read_var *gr_onnx_without_axis(gr_onnx_reading *r, const gr_read_var *v, int axis) {
  gr_read_var *y = GR_NEW(r->arena, gr_read_var, 1);
  *y = *v;
  for (int c = 0; c < r->n_choices; c++) {
    const gr_type *t = &v->type[c];
    size_t row = (size_t)gr_dtypes[t->dtype].size;
    for (int d = axis + 1; d < t->rank; d++) row *= (size_t)t->dim[d];
    size_t n = gr_type_bytes(t) / row / (size_t)t->dim[axis];
    char *to = gr_arena_alloc(r->arena, row * n + 8);
    for (size_t i = 0; i < n; i++)
      memcpy(to + row * i, (const char *)v->data[c] + row * i * (size_t)t->dim[axis], row);
    y->data[c] = to, y->type[c].rank--;
    for (int d = axis; d < y->type[c].rank; d++) y->type[c].dim[d] = t->dim[d + 1];
  }
  return y;
}

bool gr_onnx_is_constant(gr_onnx_reading *r, const gr_read_var *v) {
  int64_t n[GR_READ_CHOICES];
  bool equal;
  if (gr_onnx_is_settled(r, v) || gr_onnx_has_pattern(r, v, &equal, n)) return true;
  int axis = gr_onnx_repeated_axis(r, v);
  return axis >= 0 && gr_onnx_is_constant(r, gr_onnx_without_axis(r, v, axis));
}

// Integers of a model are i32: others would be other numbers.
gr_status gr_onnx_check_range(const gr_onnx_reading *r, const gr_read_var *v,
                              const gr_read_line *user) {
  for (int c = 0; c < r->n_choices && v->type[0].dtype == GR_I64; c++)
    for (int64_t i = 0, n = gr_type_count(&v->type[c]); i < n; i++) {
      int64_t x = ((const int64_t *)v->data[c])[i];
      if (x < INT32_MIN || x > INT32_MAX)
        return gr_hint(gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                               "'%s': the node '%s' (%s) reads the integer %lld, and a model's are "
                               "i32",
                               r->file, user->node->name, user->node->op, (long long)x),
                       "export a model whose integers are -2^31 to 2^31 - 1, as an index's and a "
                       "limit's can be");
    }
  return GR_OK;
}
