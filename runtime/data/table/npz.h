// npz.h - NumPy's archive of arrays: a ZIP file (APPNOTE.TXT 6.3.10 of PKWARE, with ZIP64) of
// members NAME.npy, each stored or deflated.
#pragma once
#include "runtime/data/array.h"
#include "runtime/data/mapping.h"

typedef struct gr_npz_member {
  const char *name;  // without ".npy"
  bool deflated;
  uint32_t crc;           // of what is unpacked (CRC-32 of ISO-HDLC)
  uint64_t packed, size;  // bytes in the file, and unpacked
  uint64_t offset;        // of its local header, in the file
  unsigned char *bytes;   // unpacked; NULL: not yet, or stored
} gr_npz_member;

typedef struct gr_npz {
  const char *path;
  gr_arena *arena;  // of gr_npz_open
  gr_mapping map;
  gr_npz_member *members;
  int n;
  uint64_t packed;  // bytes of all members in the file
} gr_npz;

// Lists the arrays of a file; no array is read. `path` is borrowed. Fails with GR_ERR_DATA, which
// names the file, the member, the byte, and what is wrong there.
GR_MUST_USE gr_status gr_npz_open(gr_arena *, const char *path, gr_npz *out);
void gr_npz_close(gr_npz *);  // after its arrays; may be closed twice
// The array of that name: a view of the mapped file where it is stored, unpacked into memory where
// it is deflated, which needs zlib. Its checksum is compared if it has at most GR_NPZ_CHECKED
// bytes. Fails as above; *out lives until gr_npz_close.
GR_MUST_USE gr_status gr_npz_read(gr_npz *, const char *name, gr_array *out);
// Unpacks the bytes of a file of gzip into the arena, which needs zlib. Fails with GR_ERR_DATA.
GR_MUST_USE gr_status gr_npz_unpack_gzip(gr_arena *, const char *path, const unsigned char *packed,
                                         size_t n, const unsigned char **out, size_t *size);

#define GR_NPZ_CHECKED (UINT64_C(1) << 30)
