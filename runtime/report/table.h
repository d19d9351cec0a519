// table.h - tensors that a run reports, such as a confusion matrix: as JSON, text, SVG and PNG.
#pragma once
#include "base/arena.h"
#include "base/text.h"

enum { GR_TABLE_RANK = 6 };
typedef struct gr_table {
  const char *name;
  int rank;
  int64_t dim[GR_TABLE_RANK];
  float *values;  // in row-major order
} gr_table;

typedef struct gr_tables {
  const gr_table *items;
  int n;
  const char *const *classes;  // names for axes of this length; NULL: there are none
  int n_classes;
} gr_tables;

// Appends the values as nested arrays, [[3, 1], [0, 4]].
void gr_table_json(gr_text *, const gr_table *);
// Appends vectors and matrices as lines of text, with the names of classes.
void gr_table_text(gr_text *, const gr_table *, const gr_tables *names);

// Whether it is drawn: a square matrix that is not too large. A cell's shade is its part of the sum
// of its row.
bool gr_table_is_drawn(const gr_table *);
// Appends an SVG document of one that is drawn, with the values and the names of classes.
void gr_table_svg(gr_text *, const gr_table *, const gr_tables *names);
// Appends a PNG file of one that is drawn, *side pixels wide and high. The same table gives the
// same bytes.
void gr_table_png(gr_text *, const gr_table *, int *side);
