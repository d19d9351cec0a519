// csv_format.h - how a file of CSV is written, as far as it is not the same in all.
#pragma once
#include <stdbool.h>

typedef struct gr_csv_format {
  char delimiter;
  bool header;          // the first line names the columns; false: they are c0, c1, ...
  const char *section;  // of the keys `delimiter` and `header`, for messages: "data.table"; NULL:
                        // the format is fixed
} gr_csv_format;
