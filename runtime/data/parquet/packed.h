// packed.h - files within a Parquet file, as Hugging Face's datasets writes recordings and images:
// a column struct{bytes, path}. They stay in it: the page that has one is read when it is used.
#pragma once
#include "base/text.h"
#include "runtime/data/parquet/kept.h"

// What the files are, for messages.
typedef struct gr_packed_words {
  const char *one, *many;  // "recording", "recordings"
  const char *column;      // what the column is called: "audio"
  const char *except;      // what one of other files is called; or NULL
  bool strict;             // no column that is called otherwise has the files
} gr_packed_words;

typedef struct gr_packed {
  gr_parquet file;
  gr_parquet_pages pages;  // of the bytes
  int names;               // the column of their paths; -1: there is none that is read
  const gr_packed_words *words;
  gr_kept_pages *kept;  // pages of `pages`
  uint32_t first;       // the number of its first row, where the rows of several files are a list
} gr_packed;

// Whether a path or a pattern of paths names Parquet files, by its ending.
bool gr_packed_named(const char *path);
// GR_ERR_DATA: "has no column WHAT", with those that there are and a hint.
GR_MUST_USE gr_status gr_packed_no_column(const gr_parquet *, const char *what, const char *hint);
// Opens a file and finds its column of files, the one called so or the only one, in the arena;
// `path` is borrowed, and so are the kept pages, which end before the file is closed. Fails with
// GR_ERR_DATA; gr_packed_close follows in any case.
GR_MUST_USE gr_status gr_packed_open(gr_arena *, const char *path, const gr_packed_words *,
                                     gr_kept_pages *, gr_packed *out);
// Opens n files, whose rows follow each other: out[n]; *opened of them are to be closed.
// GR_ERR_DATA also where they have no rows, or 2^31 and more. *rows: how many.
GR_MUST_USE gr_status gr_packed_open_all(gr_arena *, const char *const *paths, int n,
                                         const gr_packed_words *, gr_kept_pages *, gr_packed *out,
                                         int *opened, uint32_t *rows);
void gr_packed_close(gr_packed *);  // may be called twice
// The memory that all pages of n files take.
size_t gr_packed_bytes(const gr_packed *, int n);
// Appends a line where so many bytes do not hold all pages of n files: they are unpacked again.
void gr_packed_note(const gr_packed *, int n, size_t cache_bytes, gr_text *);

// The bytes at place k of a page that has been read. `name` is for messages. GR_ERR_DATA: there are
// none.
GR_MUST_USE gr_status gr_packed_at(const gr_packed *, const gr_parquet_reader *, uint32_t k,
                                   const char *name, gr_bytes *out);
// Bytes of a row, whose page is held.
typedef struct gr_packed_file {
  gr_bytes bytes;
  const gr_packed *of;
  gr_kept_page *page;
} gr_packed_file;
// The same of a row of the file; gr_packed_end follows in any case.
GR_MUST_USE gr_status gr_packed_read(const gr_packed *, int64_t row, const char *name,
                                     gr_packed_file *out);
// Lets the page go, if there is one. Returns s, which the bytes have led to, or GR_ERR_DATA in
// place of it where the Parquet file was cut short: bytes that are gone were read as 0.
GR_MUST_USE gr_status gr_packed_end(gr_packed_file *, gr_status s);
