// status_parts.h - private layout of an error, shared by errors.c and status_print.c.
#pragma once
#include "base/status.h"

struct gr_error {
  gr_code code;
  gr_loc loc;   // its file is `file`
  char *file;   // owned; NULL: no place
  char *quote;  // owned; the text of the file as it was then; NULL: it is read
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
