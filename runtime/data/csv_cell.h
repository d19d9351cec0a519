// csv_cell.h - what the text of a cell of CSV says: a number, nothing, or something else. Private
// to csv*.c.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// Whether the cell is empty, or one of the words that mean so (csv.h).
bool gr_cell_missing(const char *cell);
// Whether it is an integer of 64 bits; blanks around it do not count.
bool gr_cell_int(const char *cell, int64_t *out);
// Whether it is a number in C's notation in base 10; blanks around it do not count.
bool gr_cell_float(const char *cell, double *out);
// Whether it would be a number without the commas in it: "60,1" or "1,234.5".
bool gr_cell_has_commas(const char *cell);
