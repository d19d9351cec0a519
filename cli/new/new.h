// new.h - starting folders: their kinds, files and generated data.
#pragma once
#include "base/base.h"

enum { GR_NEW_FILES = 4 };
typedef struct gr_new_kind {
  const char *name, *doc;
  const char *const *texts;  // of config.yaml, graph.yaml, hook.lua and README.md
  gr_status (*generate)(gr_arena *, const char *dir);  // writes the data into the project's folder
} gr_new_kind;

extern const gr_new_kind gr_new_kinds[];              // ends with an entry whose name is NULL
extern const char *const gr_new_names[GR_NEW_FILES];  // of the files

extern const char gr_new_text_own[];  // README.md of a project for the user's own data

// The data of each kind, in the project's folder. The same bytes on every machine. GR_ERR_IO.
#define GR_NEW_KIND(name, doc) GR_MUST_USE gr_status gr_new_##name(gr_arena *, const char *dir);
#include "cli/new/kinds.def"
#undef GR_NEW_KIND

// Writes a file of the project. GR_ERR_IO.
GR_MUST_USE gr_status gr_new_write(const char *dir, const char *name, const void *data,
                                   size_t bytes);
// Writes data.csv and test.csv, of 600 and 100 rows below a line of names; `put` appends a row, by
// its number, with the random numbers of that stream.
typedef void gr_new_row(gr_text *, const gr_rng *, uint64_t row);
// `stream` seeds the numbers, `head` is the line of names. GR_ERR_IO.
GR_MUST_USE gr_status gr_new_write_tables(gr_arena *, const char *dir, const char *stream,
                                          const char *head, gr_new_row *put);
