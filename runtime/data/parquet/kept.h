// kept.h - decoded pages of Parquet, kept for later reads: an unpacked page has the values of many
// rows, which are read in any order. Any thread may call these functions.
#pragma once
#include "runtime/data/parquet/parquet.h"

typedef struct gr_kept_pages gr_kept_pages;
typedef struct gr_kept_page gr_kept_page;

// Keeps at most so many bytes, beside pages that are being read. NULL: there is no memory for it.
gr_kept_pages *gr_kept_open(size_t most);
// Changes the most that are kept, and drops those that were read longest ago. NULL is fine.
void gr_kept_limit(gr_kept_pages *, size_t most);
// Gives a page of the list, which must outlive it: reads it unless it is kept, or another thread
// reads it. *reader is as after gr_parquet_read until gr_kept_release. Fails as gr_parquet_read.
GR_MUST_USE gr_status gr_kept_read(gr_kept_pages *, const gr_parquet_pages *, int page,
                                   gr_kept_page **out, const gr_parquet_reader **reader);
// The memory that a page takes with its dictionary, about.
size_t gr_kept_bytes(const gr_parquet_pages *, int page);
// Ends the use of a page, which may be dropped then.
void gr_kept_release(gr_kept_pages *, gr_kept_page *);
void gr_kept_close(gr_kept_pages *);  // when all pages are released; NULL is fine
