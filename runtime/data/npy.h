// npy.h - NumPy's format of one array (numpy.lib.format, versions 1.0, 2.0 and 3.0).
#pragma once
#include "runtime/data/array.h"

// Reads the header in bytes[0 .. n) and checks that the values are all there; *out views them, and
// `file` and `name` are borrowed for it. Integers, floats, booleans and texts. Values that are
// big-endian or in Fortran order are copied into the arena. Fails with GR_ERR_DATA, which names the
// file, the byte, what was found and what to do.
GR_MUST_USE gr_status gr_npy_parse(gr_arena *, const char *file, const char *name,
                                   const unsigned char *bytes, size_t n, gr_array *out);
// The same without the values, of which none is read: out->at is NULL.
GR_MUST_USE gr_status gr_npy_head(const char *file, const char *name, const unsigned char *bytes,
                                  size_t n, gr_array *out);
