// npy.h - writes arrays as NumPy's .npy (numpy.lib.format, version 1.0), for tests that compare
// with programs in Python.
#pragma once
#include <stdio.h>
#include "ir/graph.h"

// Whether NumPy has the dtype.
static inline const char *npy_dtype(gr_dtype d) {
  static const char *const of[GR_DTYPE_COUNT] = {
      [GR_F32] = "<f4", [GR_F64] = "<f8", [GR_F16] = "<f2",
      [GR_I32] = "<i4", [GR_I64] = "<i8", [GR_U8] = "|u1"};
  return of[d];
}

// Writes DIR/PREFIXNAME.npy; false: it could not be written.
static inline bool npy_write(const char *dir, const char *prefix, const char *name,
                             const gr_type *t, const void *data) {
  char path[4096], shape[256] = "", head[512];
  int n = 0;
  for (int d = 0; d < t->rank; d++)
    n += snprintf(shape + n, sizeof shape - (size_t)n, "%lld, ", (long long)t->dim[d]);
  snprintf(head, sizeof head, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
           npy_dtype(t->dtype), shape);
  snprintf(path, sizeof path, "%s/%s%s.npy", dir, prefix, name);
  FILE *f = fopen(path, "wb");
  if (!f) return false;
  uint16_t length = 502;  // 512 with what is before it
  fprintf(f, "\x93NUMPY%c%c", 1, 0);
  fwrite(&length, 2, 1, f);
  fprintf(f, "%-501s\n", head);
  fwrite(data, 1, gr_type_bytes(t), f);
  bool good = !ferror(f);
  return !fclose(f) && good;
}
