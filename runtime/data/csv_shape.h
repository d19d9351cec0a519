// csv_shape.h - whether a file of CSV is text, and what its first lines say of its delimiter and
// its names.
#pragma once
#include "base/status.h"
#include "runtime/data/csv_format.h"

// Fails with GR_ERR_DATA at the first byte that is not UTF-8, and at the first line where lines end
// in CR alone. The text ends in a NUL, and has no other.
GR_MUST_USE gr_status gr_csv_check_text(const char *path, const char *text, size_t n);
// Fails with GR_ERR_DATA and a line where the delimiter is probably another: with the given one the
// first line has one field, or the first lines have not all as many, and with the other all of them
// have as many, at least two.
GR_MUST_USE gr_status gr_csv_check_delimiter(const char *path, const char *text, size_t n,
                                             const gr_csv_format *);
// The delimiter of a text, by its first lines: ',' where they have as many fields, else what
// gr_csv_check_delimiter would name, else ','.
char gr_csv_find_delimiter(const char *text, size_t n);
// Whether the first of the rows names the columns. It does not where it has numbers only, as
// gr_csv_check_names says, or a number with a fraction above other numbers. `cells` are those of
// all rows.
bool gr_csv_has_names(const char *text, char *const *cells, size_t rows, int width);
// Fails with GR_ERR_DATA where the cells of the line that names n columns are all numbers, as those
// of a row are, and do not count up by one, as names do that are numbers. A cell that was in quotes
// is a name. `text` is the beginning of the file's text.
GR_MUST_USE gr_status gr_csv_check_names(gr_loc loc, const char *text, char *const *cells, int n,
                                         const gr_csv_format *);
