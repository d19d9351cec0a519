// parquet.h - files of Apache Parquet (the repository apache/parquet-format: README.md,
// parquet.thrift, Encodings.md, Compression.md): their columns, and the pages of a column, read one
// at a time.
//
// Read are columns of numbers, truth values, texts and bytes, also within structs, with or without
// values that are missing; lists and maps, decimal numbers, and times of 96 bits (INT96) are not,
// and their columns say so. Pages are of version 1 or 2, plain, by a dictionary or by differences
// (DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY) or with their bytes apart
// (BYTE_STREAM_SPLIT), uncompressed or compressed by Snappy (with libsnappy), gzip (with zlib) or
// zstd. No size that a file claims is allocated before it is plausible for the bytes that it has.
#pragma once
#include "runtime/data/array.h"
#include "runtime/data/mapping.h"
#include "runtime/data/parquet/encodings.h"

typedef enum gr_parquet_type {  // how values are stored, numbered as in parquet.thrift
  GR_PARQUET_BOOL,
  GR_PARQUET_INT32,
  GR_PARQUET_INT64,
  GR_PARQUET_INT96,
  GR_PARQUET_FLOAT,
  GR_PARQUET_DOUBLE,
  GR_PARQUET_BYTES,
  GR_PARQUET_FIXED,  // bytes, of all values as many
} gr_parquet_type;

typedef struct gr_parquet_column {
  const char *name;  // of the fields on the way to it, with a point between: "audio.bytes"; those
                     // within a list have its name
  gr_parquet_type type;
  gr_element element;   // of numbers: BOOL, INT, UINT or FLOAT
  size_t size;          // bytes of a value; 0: they differ, or all are `width`
  size_t width;         // of GR_PARQUET_FIXED
  bool text;            // bytes that are UTF-8
  int definitions;      // fields on the way that may be missing: 0: all values are there
  const char *refused;  // why its values are not read: "is a list"; NULL: they are
  // Of whole numbers that stand for names: those of 0 to n_names - 1, as datasets of Hugging Face
  // keeps them of a ClassLabel, in the metadata "huggingface".
  const char **names;
  int n_names;
} gr_parquet_column;

// The values of a column in a row group: its pages, which follow each other.
typedef struct gr_parquet_chunk {
  int codec;
  uint64_t first, bytes;  // in the file
} gr_parquet_chunk;

typedef struct gr_parquet_group {
  int64_t rows;
  gr_parquet_chunk *chunks;  // [n_columns]
} gr_parquet_group;

typedef struct gr_parquet {
  const char *path;
  gr_mapping map;
  gr_parquet_column *columns;
  int n_columns;
  gr_parquet_group *groups;
  int n_groups;
  int64_t rows;  // of all groups; at most GR_PARQUET_CELLS values of all columns for each byte
} gr_parquet;

// The most values for each byte of a file, beside GR_PARQUET_SMALL: one that is repeated takes few.
enum { GR_PARQUET_CELLS = 1 << 14, GR_PARQUET_SMALL = 1 << 20 };

// Maps a file and reads its metadata, into the arena; `path` is borrowed. Fails with GR_ERR_DATA,
// which names the file, the byte, and what is wrong there, or what it has that is not read.
GR_MUST_USE gr_status gr_parquet_open(gr_arena *, const char *path, gr_parquet *out);
// GR_ERR_DATA if the file has been cut short since; see gr_mapping_check.
GR_MUST_USE gr_status gr_parquet_check(const gr_parquet *);
void gr_parquet_close(gr_parquet *);  // after its readers; may be closed twice
// The number of the column of that name; -1: there is none.
int gr_parquet_find(const gr_parquet *, const char *name);
// GR_ERR_DATA with its name and why, if the values of a column are not read.
GR_MUST_USE gr_status gr_parquet_need(const gr_parquet *, int column);

// The error of a column that is not read: "the column 'x' of 'a.parquet' is a list, which is not
// read".
GR_MUST_USE gr_status gr_parquet_refuse(const char *path, const char *column, const char *why);

typedef struct gr_parquet_page {
  int group;
  int64_t row;            // of the file, that its first value is of
  int32_t n;              // values, with those that are missing
  int encoding, version;  // version: 1 or 2
  bool packed;            // it is compressed
  uint64_t first;         // of what follows its head, in the file
  uint32_t bytes, size;   // there, and uncompressed
  uint32_t levels;        // of version 2: bytes before its values, never compressed
  uint32_t crc;           // if has_crc, of its bytes in the file
  bool has_crc;
} gr_parquet_page;

// The pages of a column, without dictionaries, in the order of their rows, which are all rows.
typedef struct gr_parquet_pages {
  const gr_parquet *file;
  int column;
  gr_parquet_page *pages;
  int n;
  gr_parquet_page *dictionaries;  // [groups of the file]; n 0: the group has none
} gr_parquet_pages;

// Lists the pages of a column by their heads, in the arena. Fails as gr_parquet_open.
GR_MUST_USE gr_status gr_parquet_list(gr_arena *, const gr_parquet *, int column,
                                      gr_parquet_pages *out);

// Reads pages of a column, one after the other. Several readers of a file are independent: each
// thread has its own.
typedef struct gr_parquet_reader {
  const gr_parquet_pages *list;
  // Of the page that was read last, until the next one or the end of the reader.
  int32_t n;                   // values
  const unsigned char *there;  // [n]: 1, or 0: it is missing; NULL: all are there
  const unsigned char *fixed;  // [n][size] of numbers, little-endian; 0 where it is missing
  const gr_bytes *texts;       // [n] of others; of no bytes where it is missing
  struct gr_parquet_memory *memory;
} gr_parquet_reader;

// Starts reading of pages, which must outlive it: reads nothing.
gr_parquet_reader gr_parquet_reader_open(const gr_parquet_pages *);
// Reads a page of the list. Fails with GR_ERR_DATA as gr_parquet_open, and GR_ERR_LAUNCH without
// the module that unpacks it.
GR_MUST_USE gr_status gr_parquet_read(gr_parquet_reader *, int page);
void gr_parquet_reader_close(gr_parquet_reader *);  // may be closed twice
// The number of the page that has a row of the file.
int gr_parquet_page_of(const gr_parquet_pages *, int64_t row);
