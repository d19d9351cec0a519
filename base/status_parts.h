// status_parts.h - private layout of an error, shared by errors.c and status_print.c.
#pragma once
#include "base/status.h"

enum { GR_MAX_SOURCES = 64 };

struct gr_error {
  gr_code code;
  gr_loc loc;  // its file is `file`
  char *file;  // owned; NULL: no place
  const char *cfile;
  int cline;
  char text[2048], notes[4096], hint[2048], about[256];
  struct gr_error *next;
};

typedef struct gr_code_row {
  const char *name;
  int exit;  // as in sysexits.h where that has an equivalent; README lists them
} gr_code_row;
extern const gr_code_row gr_codes[];  // indexed by gr_code

// Sources registered with gr_source_add; errors quote these instead of a file.
typedef struct gr_source {
  char *file, *text;  // owned
} gr_source;
extern gr_source gr_sources_known[GR_MAX_SOURCES];
extern int gr_n_sources_known;
