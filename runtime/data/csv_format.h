// csv_format.h - how a file of CSV is written, as far as it is not the same in all.
#pragma once
#include <stdbool.h>
#include "base/text.h"
#include "compose/tree/conf.h"

typedef struct gr_csv_format {
  char delimiter;        // 0: as the file has it (gr_csv_find_delimiter)
  bool header;           // the first line names the columns; false: they are c0, c1, ...
  const char *section;   // of the keys `delimiter` and `header`, for messages: "data.table"; NULL:
                         // the format is fixed
  bool any_header;       // whether there is such a line is as the file has it; `header` is not read
  const char *encoding;  // as iconv names it; NULL: UTF-8; "": as the file has it
  const char *texts[2];  // names of columns whose cells are text, numbers too; NULL: of none
} gr_csv_format;

// Reads the keys delimiter, header and encoding of a source's section, whose name is `name`; null:
// as the file has it. GR_ERR_CONFIG about a key.
GR_MUST_USE gr_status gr_csv_read_format(gr_conf *section, const char *name, gr_csv_format *out);
// Appends a line for each of n files, "'a.csv' is read with ';' between fields, without a line of
// names, as UTF-16", as far as it was found and the format that was asked for does not say so; none
// of a file that is as others write CSV, or as the file before it.
void gr_csv_put_formats(const char *const *paths, const gr_csv_format *found, int n,
                        const gr_csv_format *asked, gr_text *);

enum { GR_CSV_COLUMNS = 65536 };
#define GR_CSV_BYTES (UINT64_C(1) << 32)  // of a file
