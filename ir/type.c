// type.c - types, layouts and meshes (graph.h).
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "ir/graph.h"

const struct gr_dtype_info gr_dtypes[GR_DTYPE_COUNT] = {
    [GR_F32] = {"f32", 4, true}, [GR_F64] = {"f64", 8, true},  [GR_BF16] = {"bf16", 2, true},
    [GR_F16] = {"f16", 2, true}, [GR_I32] = {"i32", 4, false}, [GR_I64] = {"i64", 8, false},
    [GR_U8] = {"u8", 1, false},
};

const gr_layout gr_layout_replicated = {.placement = {GR_REPLICATE, GR_REPLICATE, GR_REPLICATE}};

int64_t gr_type_count(const gr_type *t) {
  assert(gr_type_possible(t));
  int64_t n = 1;
  for (int i = 0; i < t->rank; i++) n *= t->dim[i];
  return n;
}

size_t gr_type_bytes(const gr_type *t) {
  return (size_t)gr_type_count(t) * gr_dtypes[t->dtype].size;
}

size_t gr_types_bytes(const gr_type *t, int n) {
  size_t bytes = 0;
  for (int k = 0; k < n; k++) bytes += gr_type_bytes(&t[k]);
  return bytes;
}

bool gr_type_possible(const gr_type *t) {
  const int64_t most = INT64_C(1) << 40;
  int64_t n = 1;
  for (int i = 0; i < t->rank; i++) {
    if (t->dim[i] < 0 || t->dim[i] > most) return false;
    if (t->dim[i] && (__builtin_mul_overflow(n, t->dim[i], &n) || n > most)) return false;
  }
  return true;
}

// Parses "[4,7]"; sizes are at least 1.
static bool parse_dims(const char *p, gr_type *out) {
  if (*p++ != '[') return false;
  while (*p != ']') {
    char *end;
    if (*p < '0' || *p > '9' || out->rank == GR_MAX_RANK) return false;
    int64_t n = out->dim[out->rank++] = strtoll(p, &end, 10);
    if (n < 1) return false;
    if (*end != ',' && *end != ']') return false;
    p = end + (*end == ',' && end[1] != ']');
  }
  return !p[1] && gr_type_possible(out);
}

gr_status gr_type_parse(const char *text, gr_type *out) {
  assert(text && out);
  size_t name = strcspn(text, "[");
  for (int d = 0; d < GR_DTYPE_COUNT; d++) {
    *out = (gr_type){.dtype = (gr_dtype)d};
    if (strlen(gr_dtypes[d].name) == name && !strncmp(text, gr_dtypes[d].name, name) &&
        parse_dims(text + name, out))
      return GR_OK;
  }
  return gr_hint(gr_fail(GR_ERR_TYPE, GR_NOWHERE, "'%s' is not a type", text),
                 "types look like f32[4,7]: f32, f64, bf16, f16 or i32, with at most %d sizes",
                 GR_MAX_RANK);
}

const char *gr_type_text(const gr_type *t, char buf[96]) {
  char *p = stpcpy(stpcpy(buf, gr_dtypes[t->dtype].name), "["), *most = buf + 96 - GR_DIGITS - 2;
  for (int i = 0; i < t->rank && p <= most; i++) {
    if (i) *p++ = ',';
    p = gr_put_int(p, t->dim[i]);
  }
  stpcpy(p, "]");
  return buf;
}

int gr_mesh_axis(const gr_mesh *m, const char *name) {
  assert(name);
  for (int a = 0; a < m->n_axes; a++)
    if (!strcmp(m->axis[a].name, name)) return a;
  return -1;
}

int gr_mesh_virtual(const gr_mesh *m) { return gr_mesh_axis(m, GR_VIRTUAL_AXIS); }

// The ranks along an axis.
static int ranks_of(const gr_mesh *m, int axis) {
  return axis == gr_mesh_virtual(m) ? 1 : m->axis[axis].size;
}

int gr_mesh_ranks(const gr_mesh *m) {
  int n = 1;
  for (int a = 0; a < m->n_axes; a++) n *= ranks_of(m, a);
  return n;
}

int gr_mesh_coord(const gr_mesh *m, int rank, int axis) {
  assert(axis >= 0 && axis < m->n_axes && rank >= 0);
  for (int a = m->n_axes; --a > axis;) rank /= ranks_of(m, a);
  return rank % ranks_of(m, axis);
}

gr_mesh_group gr_mesh_group_of(const gr_mesh *m, int rank, int axis) {
  assert(axis >= 0 && axis < m->n_axes && rank >= 0 && rank < gr_mesh_ranks(m));
  int stride = 1;
  for (int a = axis + 1; a < m->n_axes; a++) stride *= ranks_of(m, a);
  return (gr_mesh_group){rank - gr_mesh_coord(m, rank, axis) * stride, stride, ranks_of(m, axis)};
}

// ---- Layouts -----------------------------------------------------------------------------

bool gr_layout_is_partial(const gr_layout *l, const gr_mesh *m) {
  for (int a = 0; a < m->n_axes; a++)
    if (l->placement[a] == GR_PARTIAL) return true;
  return false;
}

bool gr_layout_same(const gr_layout *a, const gr_layout *b) {
  for (int i = 0; i < GR_MAX_MESH; i++)
    if (a->placement[i] != b->placement[i] || a->pad[i] != b->pad[i]) return false;
  return true;
}

static int64_t slice_size(int64_t size, int ranks) { return (size + ranks - 1) / ranks; }

// If several mesh axes shard one dimension, the first of them is the outermost.
gr_layout gr_layout_of(const gr_type *whole, gr_layout l, const gr_mesh *m) {
  gr_type t = *whole;
  for (int a = 0; a < GR_MAX_MESH; a++) {
    bool split = a < m->n_axes && l.placement[a] >= 0;
    int64_t size = split ? t.dim[l.placement[a]] : 0, ranks = split ? m->axis[a].size : 1;
    l.pad[a] = (int32_t)(ranks * slice_size(size, (int)ranks) - size);
    if (split) t.dim[l.placement[a]] = slice_size(size, (int)ranks);
  }
  return l;
}

gr_type gr_type_local(const gr_type *whole, const gr_layout *l, const gr_mesh *m) {
  gr_type t = *whole;
  for (int a = 0; a < m->n_axes; a++)
    if (l->placement[a] >= 0)
      t.dim[l->placement[a]] = slice_size(t.dim[l->placement[a]], m->axis[a].size);
  return t;
}

gr_type gr_type_global(const gr_type *local, const gr_layout *l, const gr_mesh *m) {
  gr_type t = *local;
  for (int a = m->n_axes; a--;)
    if (l->placement[a] >= 0)
      t.dim[l->placement[a]] = t.dim[l->placement[a]] * m->axis[a].size - l->pad[a];
  return t;
}

void gr_layout_slice(const gr_type *whole, const gr_layout *l, const gr_mesh *m, int rank,
                     int64_t offset[], int64_t size[]) {
  assert(rank >= 0 && rank < gr_mesh_ranks(m));
  gr_type t = *whole;
  for (int d = 0; d < t.rank; d++) offset[d] = 0;
  for (int a = 0; a < m->n_axes; a++) {
    gr_axis_placement d = l->placement[a];
    if (d < 0) continue;
    t.dim[d] = slice_size(t.dim[d], m->axis[a].size);
    offset[d] += t.dim[d] * gr_mesh_coord(m, rank, a);
  }
  for (int d = 0; d < t.rank; d++) {
    if (offset[d] > whole->dim[d]) offset[d] = whole->dim[d];
    int64_t left = whole->dim[d] - offset[d];
    size[d] = left < t.dim[d] ? left : t.dim[d];
  }
}
