// unpack.c - compressed pages (Compression.md of parquet-format). See parts.h.
#include <zstd.h>
#ifdef GR_HAVE_ZLIB
#include <zlib.h>
#endif
#include "base/module.h"
#include "runtime/data/parquet/parts.h"

const char *gr_unpack_refused(int codec) {
  switch (codec) {
    case GR_CODEC_NONE:
    case GR_CODEC_ZSTD:
      return NULL;
#ifdef GR_HAVE_SNAPPY
    case GR_CODEC_SNAPPY:
      return NULL;
#else
    case GR_CODEC_SNAPPY:
      return "is compressed by Snappy, and graphrun is built without libsnappy (libsnappy-dev)";
#endif
#ifdef GR_HAVE_ZLIB
    case GR_CODEC_GZIP:
      return NULL;
#else
    case GR_CODEC_GZIP:
      return "is compressed by gzip, and graphrun is built without zlib (zlib1g-dev)";
#endif
    case GR_CODEC_LZO:
      return "is compressed by LZO";
    case GR_CODEC_BROTLI:
      return "is compressed by Brotli";
    case GR_CODEC_LZ4:
    case GR_CODEC_LZ4_RAW:
      return "is compressed by LZ4";
    default:
      return "is compressed in a way that is not known";
  }
}

bool gr_unpack_plausible(int codec, size_t n, size_t size) {
  // What a byte expands to at most: Snappy copies 64 bytes by 3 (format_description.txt), deflate
  // 1032 to one (zlib's "Maximum Compression Factor"), and zstd a block of 128 KiB by 4 (RFC 8878).
  size_t factor = codec == GR_CODEC_SNAPPY ? 22 : codec == GR_CODEC_GZIP ? 1040 : 1 << 15;
  return codec == GR_CODEC_NONE ? size == n : size / factor <= n;
}

#ifdef GR_HAVE_ZLIB
bool gr_unpack_same_crc(const unsigned char *p, size_t n, uint32_t want) {
  return crc32_z(crc32_z(0, NULL, 0), p, n) == want;
}

// One or several members of gzip (RFC 1952), of fewer than 2^31 bytes.
static bool inflate_pages(const unsigned char *source, size_t n, unsigned char *target,
                          size_t size) {
  z_stream s = {.next_in = (Bytef *)(uintptr_t)source,
                .avail_in = (uInt)n,
                .next_out = target,
                .avail_out = (uInt)size};
  if (inflateInit2(&s, MAX_WBITS + 16) != Z_OK) return false;
  int code = inflate(&s, Z_FINISH);
  while (code == Z_STREAM_END && s.avail_in && inflateReset(&s) == Z_OK)
    code = inflate(&s, Z_FINISH);
  inflateEnd(&s);
  return code == Z_STREAM_END && !s.avail_in && !s.avail_out;
}
#else
bool gr_unpack_same_crc(const unsigned char *p, size_t n, uint32_t want) {
  return (void)p, (void)n, (void)want, true;
}
static bool inflate_pages(const unsigned char *source, size_t n, unsigned char *target,
                          size_t size) {
  return (void)source, (void)n, (void)target, (void)size, false;
}
#endif

#ifdef GR_HAVE_SNAPPY
static gr_status unpack_snappy(const unsigned char *source, size_t n, unsigned char *target,
                               size_t size, bool *good) {
  const gr_snappy_module *snappy;
  GR_TRY(gr_module_open("snappy", &snappy));
  *good = snappy->unpack(source, n, target, size);
  return GR_OK;
}
#else
static gr_status unpack_snappy(const unsigned char *source, size_t n, unsigned char *target,
                               size_t size, bool *good) {
  (void)source, (void)n, (void)target, (void)size;
  return *good = false, GR_OK;
}
#endif

gr_status gr_unpack(int codec, const unsigned char *source, size_t n, unsigned char *target,
                    size_t size, bool *good) {
  if (codec == GR_CODEC_SNAPPY) return unpack_snappy(source, n, target, size, good);
  if (codec == GR_CODEC_GZIP)
    *good = inflate_pages(source, n, target, size);
  else
    *good = codec == GR_CODEC_ZSTD && ZSTD_decompress(target, size, source, n) == size;
  return GR_OK;
}
