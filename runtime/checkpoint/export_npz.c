// export_npz.c - NumPy's archive of arrays: a ZIP file (APPNOTE.TXT 6.3.10 of PKWARE) of members
// NAME.npy (numpy.lib.format, version 1.0), stored. See export.h.
//
// The file is written in one pass, so that it may be a pipe: a member's checksum follows its data
// (bit 3), and sizes are in the directory at the end. Sizes and offsets of 4 GiB and more are
// written as ZIP64 has them.
#include <string.h>
#include "base/crc.h"
#include "base/text.h"
#include "runtime/checkpoint/chunks.h"
#include "runtime/checkpoint/export.h"

enum { FOLLOWS = 1 << 3, UTF8 = 1 << 11, ZIP20 = 20, ZIP45 = 45, JANUARY_1980 = 0x21 };
enum { MAX_MEMBERS = 0xffff, ALIGNED = 64 };

typedef struct member {
  char *name;
  uint64_t offset, bytes;
  uint32_t crc;
} member;

typedef struct archive {
  gr_exporter *exporter;
  uint64_t offset;
  member *members, *now;
  bool widens;  // the tensor's bf16, which NumPy has not, are written as f32
} archive;

// ---- Members ------------------------------------------------------------------------------------

static void put(archive *z, const void *data, size_t bytes) {
  fwrite(data, 1, bytes, z->exporter->file);
  z->offset += bytes;
}

static void number(archive *z, uint64_t v, int bytes) {
  unsigned char little[8];
  for (int i = 0; i < bytes; i++) little[i] = (unsigned char)(v >> (8 * i));
  put(z, little, (size_t)bytes);
}

static void put_data(archive *z, const void *data, size_t bytes) {
  z->now->crc = gr_crc(GR_CRC32, z->now->crc, data, bytes);
  put(z, data, bytes);
}

static void put_piece(void *ctx, const char *data, int64_t bytes) {
  archive *z = ctx;
  if (!z->widens) {
    put_data(z, data, (size_t)bytes);
    return;
  }
  enum { PART = 1024 };
  char wide[4 * PART] = {0};
  for (int64_t done = 0, n; done < bytes; done += 2 * n) {
    n = (bytes - done) / 2 < PART ? (bytes - done) / 2 : PART;
    for (int64_t i = 0; i < n; i++) memcpy(wide + 4 * i + 2, data + done + 2 * i, 2);
    put_data(z, wide, (size_t)(4 * n));
  }
}

static const char *descr(const char *dtype) {
  static const char *const names[][2] = {{"f64", "<f8"},  {"f32", "<f4"}, {"f16", "<f2"},
                                         {"bf16", "<f4"}, {"i64", "<i8"}, {"i32", "<i4"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i][0], dtype)) return names[i][1];
  return "|u1";
}

gr_text gr_export_npy_head(gr_arena *a, const gr_tensor_slice *p) {
  gr_text t = gr_text_make(a);
  gr_text_putn(&t, "\x93NUMPY\1\0\0\0", 10);
  gr_text_printf(&t, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr(p->dtype));
  for (int d = 0; d < p->rank; d++)
    gr_text_printf(&t, "%s%lld", d ? ", " : "", (long long)p->dims[d]);
  gr_text_put(&t, p->rank == 1 ? ",), }" : "), }");
  while ((t.len + 1) % ALIGNED) gr_text_put(&t, " ");
  gr_text_put(&t, "\n");
  t.chars[8] = (char)((t.len - 10) & 255), t.chars[9] = (char)((t.len - 10) >> 8);
  return t;
}

static bool is_wide(uint64_t v) { return v >= gr_chunks.zip32; }

// What the local header and the directory's entry of a member both have.
static void put_entry(archive *z, const member *m, bool wide, bool known, int extra) {
  number(z, wide ? ZIP45 : ZIP20, 2);
  number(z, FOLLOWS | UTF8, 2);
  number(z, 0, 2);  // stored
  number(z, 0, 2), number(z, JANUARY_1980, 2);
  number(z, known ? m->crc : 0, 4);
  number(z, wide ? UINT32_MAX : known ? m->bytes : 0, 4);
  number(z, wide ? UINT32_MAX : known ? m->bytes : 0, 4);
  number(z, strlen(m->name), 2);
  number(z, (uint64_t)extra, 2);
}

static gr_status put_member(archive *z, int i) {
  const gr_tensor_slice *p = &z->exporter->tensors[i];
  gr_text head = gr_export_npy_head(z->exporter->arena, p);
  member *m = z->now = &z->members[i];
  z->widens = !strcmp(p->dtype, "bf16");
  *m =
      (member){.name = gr_arena_printf(z->exporter->arena, "%s.npy", p->name), .offset = z->offset};
  m->bytes = head.len + (uint64_t)gr_tensor_slice_bytes(p) * (z->widens ? 2 : 1);
  bool wide = is_wide(m->bytes);
  number(z, 0x04034b50, 4);
  put_entry(z, m, wide, false, wide ? 20 : 0);
  put(z, m->name, strlen(m->name));
  if (wide) number(z, 1, 2), number(z, 16, 2), number(z, 0, 8), number(z, 0, 8);
  put_data(z, head.chars, head.len);
  GR_TRY(gr_exporter_read(z->exporter, i, put_piece, z));
  number(z, 0x08074b50, 4), number(z, m->crc, 4);
  number(z, m->bytes, wide ? 8 : 4), number(z, m->bytes, wide ? 8 : 4);
  return GR_OK;
}

// ---- The directory ------------------------------------------------------------------------------

static void put_directory_entry(archive *z, const member *m) {
  bool wide = is_wide(m->bytes) || is_wide(m->offset);
  number(z, 0x02014b50, 4), number(z, wide ? ZIP45 : ZIP20, 2);
  put_entry(z, m, wide, true, wide ? 28 : 0);
  number(z, 0, 8);  // no comment, the first disk, no attributes
  number(z, 0, 2);
  number(z, wide ? UINT32_MAX : m->offset, 4);
  put(z, m->name, strlen(m->name));
  if (!wide) return;
  number(z, 1, 2), number(z, 24, 2);
  number(z, m->bytes, 8), number(z, m->bytes, 8), number(z, m->offset, 8);
}

static void put_end(archive *z, uint64_t n, uint64_t offset, uint64_t bytes) {
  uint64_t end = z->offset;
  bool wide = n >= MAX_MEMBERS || is_wide(offset) || is_wide(bytes);
  if (wide) {
    number(z, 0x06064b50, 4), number(z, 44, 8), number(z, ZIP45, 2), number(z, ZIP45, 2);
    number(z, 0, 8), number(z, n, 8), number(z, n, 8), number(z, bytes, 8), number(z, offset, 8);
    number(z, 0x07064b50, 4), number(z, 0, 4), number(z, end, 8), number(z, 1, 4);
  }
  number(z, 0x06054b50, 4), number(z, 0, 4);
  number(z, wide ? MAX_MEMBERS : n, 2), number(z, wide ? MAX_MEMBERS : n, 2);
  number(z, wide ? UINT32_MAX : bytes, 4), number(z, wide ? UINT32_MAX : offset, 4);
  number(z, 0, 2);
}

gr_status gr_export_npz(gr_exporter *x) {
  archive *z = GR_NEW(x->arena, archive, 1);
  z->exporter = x, z->members = GR_NEW(x->arena, member, x->n + 1);
  for (int i = 0; i < x->n; i++) GR_TRY(put_member(z, i));
  uint64_t offset = z->offset;
  for (int i = 0; i < x->n; i++) put_directory_entry(z, &z->members[i]);
  put_end(z, (uint64_t)x->n, offset, z->offset - offset);
  return GR_OK;
}
