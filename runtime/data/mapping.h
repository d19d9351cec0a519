// mapping.h - a file's bytes, mapped into memory: read by the pages that are used.
//
// If the file is cut short while it is mapped, the bytes that are gone read as 0, and
// gr_mapping_check fails: it is called after bytes have been read and before they are used.
#pragma once
#include "base/status.h"

typedef struct gr_mapping {
  const unsigned char *data;  // NULL where the file is empty
  size_t bytes;
  const char *path;
  int file;                        // open while `at` is not NULL
  struct gr_mapping_range *range;  // of addresses, known to the handler of SIGBUS
} gr_mapping;

// Maps a regular file (base/file.h) for reading; `path` is borrowed. Fails with GR_ERR_DATA, naming
// the path.
GR_MUST_USE gr_status gr_mapping_open(const char *path, gr_mapping *out);
// Few bytes of it will be read, here and there: no pages are read ahead of those that are used.
void gr_mapping_expect_few(const gr_mapping *);
// Fails with GR_ERR_DATA, naming the path, if bytes that were mapped are not in the file any more.
// Several threads may call it.
GR_MUST_USE gr_status gr_mapping_check(const gr_mapping *);
// Checks and closes it after bytes have led to s: returns s, or in its place why they were wrong.
GR_MUST_USE gr_status gr_mapping_end(gr_mapping *, gr_status s);
void gr_mapping_close(gr_mapping *);  // may be closed twice
