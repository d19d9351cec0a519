// mapping.h - a file's bytes, mapped into memory: read by the pages that are used.
#pragma once
#include "base/status.h"

typedef struct gr_mapping {
  const unsigned char *at;  // NULL where the file is empty
  size_t bytes;
} gr_mapping;

// Maps a regular file (base/file.h) for reading. Fails with GR_ERR_DATA, naming the path.
GR_MUST_USE gr_status gr_mapping_open(const char *path, gr_mapping *out);
void gr_mapping_close(gr_mapping *);  // may be closed twice
