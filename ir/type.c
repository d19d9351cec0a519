// type.c - types, layouts and meshes. See graph.h.
#include <stdlib.h>
#include <string.h>
#include "ir/graph.h"

const struct gr_dtype_info gr_dtypes[GR_DTYPE_COUNT] = {
    [GR_F32] = {"f32", 4, true},
    [GR_F64] = {"f64", 8, true},
    [GR_BF16] = {"bf16", 2, true},
    [GR_I32] = {"i32", 4, false},
};

const gr_layout gr_layout_whole = {{GR_R, GR_R, GR_R}};

int64_t gr_type_count(const gr_type *t) {
  int64_t n = 1;
  for (int i = 0; i < t->rank; i++) n *= t->dim[i];
  return n;
}

size_t gr_type_bytes(const gr_type *t) {
  return (size_t)gr_type_count(t) * gr_dtypes[t->dtype].size;
}

bool gr_type_same(const gr_type *a, const gr_type *b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         !memcmp(a->dim, b->dim, sizeof(int64_t) * (size_t)a->rank);
}

bool gr_type_possible(const gr_type *t) {
  int64_t most = INT64_C(1) << 40;
  for (int i = 0; i < t->rank; i++) {
    if (t->dim[i] < 0 || t->dim[i] > most) return false;
    if (t->dim[i]) most /= t->dim[i];
  }
  return true;
}

// "[4,7]" into dims; sizes are at least 1.
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
  size_t name = strcspn(text, "[");
  for (int d = 0; d < GR_DTYPE_COUNT; d++) {
    *out = (gr_type){.dtype = (gr_dtype)d};
    if (strlen(gr_dtypes[d].name) == name && !strncmp(text, gr_dtypes[d].name, name) &&
        parse_dims(text + name, out))
      return GR_OK;
  }
  return gr_hint(gr_fail(GR_ERR_TYPE, GR_NOWHERE, "'%s' is not a type", text),
                 "types look like f32[4,7]: f32, f64, bf16 or i32, and at most %d sizes",
                 GR_MAX_RANK);
}

const char *gr_type_text(const gr_type *t, char buf[96]) {
  int n = snprintf(buf, 96, "%s[", gr_dtypes[t->dtype].name);
  for (int i = 0; i < t->rank && n < 90; i++)
    n += snprintf(buf + n, (size_t)(96 - n), "%s%lld", i ? "," : "", (long long)t->dim[i]);
  if (n < 95) snprintf(buf + n, (size_t)(96 - n), "]");
  return buf;
}

int gr_mesh_ranks(const gr_mesh *m) {
  int n = 1;
  for (int a = 0; a < m->n_axes; a++) n *= m->axis[a].size;
  return n;
}

int gr_mesh_coord(const gr_mesh *m, int rank, int axis) {
  for (int a = m->n_axes; --a > axis;) rank /= m->axis[a].size;
  return rank % m->axis[axis].size;
}
