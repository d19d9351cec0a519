// npz.c - see npz.h.
#include "runtime/data/table/npz.h"
#include <stdlib.h>
#include <string.h>
#ifdef GR_HAVE_ZLIB
#include <zlib.h>
#endif
#include "base/stop.h"
#include "base/text.h"
#include "runtime/data/npy.h"

enum { LOCAL = 30, CENTRAL = 46, END = 22, END64 = 56, LOCATOR = 20, COMMENT = 65535 };
enum { MAX_MEMBERS = 65536, STORED = 0, DEFLATED = 8, ENCRYPTED = 1 };
static const uint32_t is_local = 0x04034b50, is_central = 0x02014b50, is_end = 0x06054b50,
                      is_end64 = 0x06064b50, is_locator = 0x07064b50;

static uint64_t read_number(const unsigned char *p, int bytes) {
  uint64_t v = 0;
  for (int i = bytes - 1; i >= 0; i--) v = v << 8 | p[i];
  return v;
}

static gr_status broken(const gr_npz *z, uint64_t offset, const char *what) {
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is no .npz file: at byte %llu, %s", z->path,
                         (unsigned long long)offset, what),
                 "an .npz file is what numpy.savez writes; copy or write it again");
}

// The record of this size that begins at `offset` with the given signature; NULL: there is none.
static const unsigned char *record(const gr_npz *z, uint64_t offset, uint64_t bytes,
                                   uint32_t signature) {
  if (offset > z->map.bytes || bytes > z->map.bytes - offset) return NULL;
  const unsigned char *p = z->map.data + offset;
  return read_number(p, 4) == signature ? p : NULL;
}

// ---- Central directory ---------------------------------------------------------

typedef struct directory {
  uint64_t offset, bytes, n;
} directory;

// With ZIP64 a locator before the end record points to another end record with 64-bit numbers.
static gr_status find_directory64(const gr_npz *z, uint64_t end, directory *out) {
  const unsigned char *p = end < LOCATOR ? NULL : record(z, end - LOCATOR, LOCATOR, is_locator);
  if (!p) return GR_OK;
  uint64_t offset = read_number(p + 8, 8);
  p = record(z, offset, END64, is_end64);
  if (!p) return broken(z, end - LOCATOR, "the end record of ZIP64 is not where its locator says");
  *out = (directory){read_number(p + 48, 8), read_number(p + 40, 8), read_number(p + 32, 8)};
  return GR_OK;
}

static gr_status find_directory(const gr_npz *z, directory *out) {
  uint64_t n = z->map.bytes, end = n < END ? 0 : n - END;
  uint64_t least = end > COMMENT ? end - COMMENT : 0;
  const unsigned char *p = record(z, end, END, is_end);
  while (!p && end > least) p = record(z, --end, END, is_end);
  if (!p) return broken(z, n, "the file ends without the end record of a ZIP file");
  *out = (directory){read_number(p + 16, 4), read_number(p + 12, 4), read_number(p + 10, 2)};
  GR_TRY(find_directory64(z, end, out));
  if (out->offset > end || out->bytes > end - out->offset)
    return broken(z, end, "the directory is said to be beyond the end of the file");
  if (out->n > MAX_MEMBERS || out->n > out->bytes / CENTRAL)
    return broken(z, end, "more members are counted than the directory has room for");
  return GR_OK;
}

// Sizes that do not fit in 32 bits are in the extra field 0x0001, in this order.
static bool read_extra(gr_npz_member *m, const unsigned char *p, const unsigned char *end) {
  uint64_t *wide[] = {&m->size, &m->packed, &m->offset};
  int left = 0;
  for (int i = 0; i < 3; i++) left += *wide[i] == UINT32_MAX;
  while (left && end - p >= 4) {
    uint64_t id = read_number(p, 2), n = read_number(p + 2, 2);
    p += 4;
    if (n > (uint64_t)(end - p)) return false;
    const unsigned char *q = p, *of = p + n;
    for (int i = 0; id == 1 && i < 3; i++) {
      if (*wide[i] != UINT32_MAX) continue;
      if (of - q < 8) return false;
      *wide[i] = read_number(q, 8), q += 8, left--;
    }
    p = of;
  }
  return true;
}

static gr_status read_entry(gr_npz *z, gr_arena *a, uint64_t *offset, uint64_t end) {
  const unsigned char *p = record(z, *offset, CENTRAL, is_central);
  if (!p || *offset + CENTRAL > end) return broken(z, *offset, "a member's entry should be here");
  uint64_t name = read_number(p + 28, 2), extra = read_number(p + 30, 2),
           note = read_number(p + 32, 2);
  if (name + extra + note > end - *offset - CENTRAL)
    return broken(z, *offset, "a member's entry is longer than the directory");
  gr_npz_member *m = &z->members[z->n];
  uint64_t method = read_number(p + 10, 2);
  *m = (gr_npz_member){.crc = (uint32_t)read_number(p + 16, 4),
                       .packed = read_number(p + 20, 4),
                       .size = read_number(p + 24, 4),
                       .offset = read_number(p + 42, 4),
                       .deflated = method == DEFLATED};
  const char *text = (const char *)p + CENTRAL;
  size_t stem = name > 4 && !memcmp(text + name - 4, ".npy", 4) ? name - 4 : 0;
  if (!read_extra(m, p + CENTRAL + name, p + CENTRAL + name + extra))
    return broken(z, *offset, "the extra field with 64-bit sizes is cut short");
  *offset += CENTRAL + name + extra + note;
  if (m->packed > z->map.bytes - z->packed)  // members that share bytes would multiply them
    return broken(z, *offset, "members are said to have more bytes than the file");
  z->packed += m->packed;
  if (!stem) return GR_OK;  // members that are not arrays are ignored
  m->name = gr_arena_strndup(a, text, stem);
  if ((method != STORED && method != DEFLATED) || (read_number(p + 8, 2) & ENCRYPTED))
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                           "the member '%s' of '%s' is encrypted, or packed by method %d", m->name,
                           z->path, (int)method),
                   "numpy.savez and numpy.savez_compressed write what can be read");
  z->n++;
  return GR_OK;
}

static gr_status read_directory(gr_npz *z, gr_arena *a) {
  directory d = {0};
  GR_TRY(find_directory(z, &d));
  z->members = GR_NEW(a, gr_npz_member, d.n + 1);
  uint64_t offset = d.offset;
  for (uint64_t i = 0; i < d.n; i++) GR_TRY(read_entry(z, a, &offset, d.offset + d.bytes));
  return GR_OK;
}

gr_status gr_npz_open(gr_arena *a, const char *path, gr_npz *out) {
  *out = (gr_npz){.path = path, .arena = a};
  GR_TRY(gr_mapping_open(path, &out->map));
  gr_status s = read_directory(out, a);
  if (s) gr_npz_close(out);
  return s;
}

void gr_npz_close(gr_npz *z) {
  for (int i = 0; i < z->n; i++) free(z->members[i].bytes);
  gr_mapping_close(&z->map);
  z->n = 0;
}

// ---- A member -----------------------------------------------------------------------------------

#ifdef GR_HAVE_ZLIB
// Deflate expands a byte to at most 1032 (zlib's "Maximum Compression Factor").
static bool is_plausible(uint64_t packed, uint64_t size) { return size / 1040 <= packed + 1; }

// window: of zlib's inflateInit2: raw deflate (RFC 1951), without header or trailer, or gzip. zlib
// counts in 32 bits, so data is passed in chunks.
static bool inflate_all(int window, const unsigned char *source, uint64_t packed,
                        unsigned char *target, uint64_t size) {
  enum { PIECE = 16 << 20 };
  z_stream s = {.next_in = (Bytef *)(uintptr_t)source, .next_out = target};
  if (inflateInit2(&s, window) != Z_OK) return false;
  int code = Z_OK;
  uint64_t in = packed, out = size;
  while (code == Z_OK && !gr_stop_due()) {
    uInt give = (uInt)(in < PIECE ? in : PIECE), room = (uInt)(out < PIECE ? out : PIECE);
    s.avail_in = give, s.avail_out = room;
    code = inflate(&s, Z_NO_FLUSH);
    in -= give - s.avail_in, out -= room - s.avail_out;
    if (give == s.avail_in && room == s.avail_out) break;  // zlib made no progress
  }
  inflateEnd(&s);
  return code == Z_STREAM_END && !in && !out;
}

static bool same_crc(const unsigned char *p, uint64_t n, uint32_t want) {
  return n > GR_NPZ_CHECKED || crc32_z(crc32_z(0, NULL, 0), p, n) == want;
}

static gr_status unpack(const gr_npz *z, gr_npz_member *m, const unsigned char *packed) {
  if (m->bytes) return GR_OK;
  if (!is_plausible(m->packed, m->size) || !(m->bytes = malloc(m->size + 1)))
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for the %llu bytes of '%s' in '%s'",
                   (unsigned long long)m->size, m->name, z->path);
  if (inflate_all(-MAX_WBITS, packed, m->packed, m->bytes, m->size)) return GR_OK;
  free(m->bytes);
  m->bytes = NULL;
  GR_TRY(gr_stop_check());
  return gr_fail(GR_ERR_DATA, GR_NOWHERE,
                 "the member '%s' of '%s' is damaged: it cannot be unpacked", m->name, z->path);
}

// The last 4 bytes are the unpacked size (RFC 1952), of one member of less than 4 GiB.
gr_status gr_npz_unpack_gzip(gr_arena *a, const char *path, const unsigned char *packed, size_t n,
                             const unsigned char **out, size_t *size) {
  enum { LEAST = 18, SIZE = 4 };
  *size = n < LEAST ? 0 : read_number(packed + n - SIZE, SIZE);
  unsigned char *bytes = n >= LEAST && is_plausible(n, *size) ? gr_arena_alloc(a, *size + 1) : NULL;
  *out = bytes;
  if (bytes && inflate_all(MAX_WBITS + 16, packed, n, bytes, *size)) return GR_OK;
  GR_TRY(gr_stop_check());
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is damaged: it cannot be unpacked", path),
                 "copy it again, or unpack it: gunzip FILE");
}
#else
gr_status gr_npz_unpack_gzip(gr_arena *a, const char *path, const unsigned char *packed, size_t n,
                             const unsigned char **out, size_t *size) {
  (void)a, (void)packed, (void)n, (void)out, (void)size;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                         "'%s' is compressed, and graphrun is built without zlib", path),
                 "unpack it: gunzip FILE; or build with zlib (zlib1g-dev)");
}
static bool same_crc(const unsigned char *p, uint64_t n, uint32_t want) {
  return (void)p, (void)n, (void)want, true;
}
static gr_status unpack(const gr_npz *z, gr_npz_member *m, const unsigned char *packed) {
  (void)packed;
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE,
              "the member '%s' of '%s' is compressed, and graphrun is built without zlib", m->name,
              z->path),
      "write the file with numpy.savez, or build with zlib (zlib1g-dev)");
}
#endif

// The stored bytes of a member, after its local header.
static gr_status packed_bytes(const gr_npz *z, const gr_npz_member *m, const unsigned char **out) {
  const unsigned char *p = record(z, m->offset, LOCAL, is_local);
  if (!p) return broken(z, m->offset, "a member's local header should be here");
  uint64_t offset = m->offset + LOCAL + read_number(p + 26, 2) + read_number(p + 28, 2);
  if (offset > z->map.bytes || m->packed > z->map.bytes - offset)
    return broken(z, m->offset, "a member is said to end beyond the end of the file");
  *out = z->map.data + offset;
  return GR_OK;
}

static gr_status no_array(const gr_npz *z, const char *name) {
  gr_arena *a = gr_arena_create();
  const char **names = GR_NEW(a, const char *, z->n + 1);
  for (int i = 0; i < z->n; i++) names[i] = z->members[i].name;
  const char *near = gr_text_nearest(name, names, z->n), *list = gr_text_names(a, names, z->n);
  gr_status s = gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has no array '%s'", z->path, name);
  s = near ? gr_hint(s, "did you mean '%s'? it has: %s", near, list)
           : gr_hint(s, "it has: %s", z->n ? list : "none at all");
  return gr_arena_end(a, s);
}

// The bytes of the file NAME.npy.
static gr_status member_bytes(gr_npz *z, const char *name, const unsigned char **out, size_t *n) {
  gr_npz_member *m = z->members, *end = m + z->n;
  while (m < end && strcmp(m->name, name)) m++;
  if (m == end) return no_array(z, name);
  const unsigned char *bytes = NULL;
  GR_TRY(packed_bytes(z, m, &bytes));
  if (m->deflated) {
    GR_TRY(unpack(z, m, bytes));
    bytes = m->bytes;
  } else if (m->packed != m->size) {
    return broken(z, m->offset, "a stored member has two sizes");
  }
  if (!same_crc(bytes, m->size, m->crc))
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                           "the member '%s' of '%s' is damaged: its checksum "
                           "differs from what the file declares",
                           m->name, z->path),
                   "copy or write the file again");
  *out = bytes, *n = m->size;
  return GR_OK;
}

gr_status gr_npz_read(gr_npz *z, const char *name, gr_array *out) {
  const unsigned char *bytes = NULL;
  size_t n = 0;
  GR_TRY(member_bytes(z, name, &bytes, &n));
  return gr_npy_parse(z->arena, z->path, name, bytes, n, out);
}
