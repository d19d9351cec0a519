// parts.h - what the files of this room share; see parquet.h.
#pragma once
#include "runtime/data/parquet/parquet.h"
#include "runtime/data/parquet/thrift.h"

// GR_ERR_DATA: the file is damaged, or none of Parquet, at a byte of it.
GR_MUST_USE gr_status gr_parquet_broken(const gr_parquet *, uint64_t offset, const char *what);
// The same of an element of Thrift's, for its mistake.
GR_MUST_USE gr_status gr_parquet_wrong(const gr_parquet *, const gr_thrift *);
// GR_ERR_DATA: a column has something that is not read, by its name.
GR_MUST_USE gr_status gr_parquet_unread(const gr_parquet *, int column, const char *what);

// Reads the columns from the list of the schema's elements, which is next: its length is read.
// schema.c.
GR_MUST_USE gr_status gr_parquet_schema(gr_arena *, gr_parquet *, gr_thrift *, size_t elements);

// Sets the names of columns of whole numbers from JSON that datasets of Hugging Face writes
// (names.c): {"info": {"features": {"label": {"_type": "ClassLabel", "names": [...]}}}}. What is
// not of that form has none.
void gr_parquet_name_classes(gr_arena *, gr_parquet *, const gr_bytes *json);

// Compression, numbered as in parquet.thrift.
enum {
  GR_CODEC_NONE,
  GR_CODEC_SNAPPY,
  GR_CODEC_GZIP,
  GR_CODEC_LZO,
  GR_CODEC_BROTLI,
  GR_CODEC_LZ4,
  GR_CODEC_ZSTD,
  GR_CODEC_LZ4_RAW
};
// NULL: this build unpacks it; else what it is called and why it does not.
const char *gr_unpack_refused(int codec);
// Whether n bytes may become `size` of them.
bool gr_unpack_plausible(int codec, size_t n, size_t size);
// Unpacks n bytes to exactly `size`. *good: whether they were packed so. Fails with GR_ERR_LAUNCH
// without the module.
GR_MUST_USE gr_status gr_unpack(int codec, const unsigned char *source, size_t n,
                                unsigned char *target, size_t size, bool *good);
// Whether the bytes have that checksum (CRC-32 of ISO-HDLC); true in a build without zlib.
bool gr_unpack_same_crc(const unsigned char *, size_t n, uint32_t want);

// Module "snappy" (snappy.c): whether n bytes became exactly `size`.
typedef struct gr_snappy_module {
  bool (*unpack)(const unsigned char *source, size_t n, unsigned char *target, size_t size);
} gr_snappy_module;
