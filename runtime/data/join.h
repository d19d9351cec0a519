// join.h - several sources as one: data.source=[image,texts]. A sample is what all of them have in
// a row of one list: an image of its column of paths, and a text of another column.
//
// Every part is a source with a section and keys of its own, which knows nothing of the others. The
// samples, their order, split and weights are the first part's; of the others each row of the list
// may be one sample. Rows that a part lacks are left out.
// Fields, metadata and tables have their names, but where a part before has one of that name:
// there the source's name is put in front ("texts_x"). Lengths are those of the first part with a
// unit; fields of others that have them, too, are as long as the longest of the bucket.
// Files to predict are lists, which all parts read, or files of single samples, which have the
// fields of those parts that read them, and padding in the others.
// Internal to this folder.
#pragma once
#include "runtime/data/labels.h"

enum { GR_MAX_JOINED = 4 };
static const uint32_t GR_NO_ROW = UINT32_MAX;  // a part has no sample of a row

// A source that is joined.
typedef struct gr_join_part {
  const gr_source_ops *ops;
  void *self;
  int first, n;    // of its fields in those of the join
  bool stretched;  // its lengths are extents
} gr_join_part;

typedef struct gr_join {
  gr_arena *arena;
  gr_join_part part[GR_MAX_JOINED];
  int n;
  int lengths;          // the part whose lengths samples have; -1: they have none
  gr_classes *classes;  // of the part that has them; NULL: none
  int classes_of;       // that part
  uint32_t count;
  uint32_t *row;  // [count][n]: the number of each part's sample, or GR_NO_ROW
  gr_field_spec field[GR_MAX_FIELDS];
  int n_fields;
} gr_join;

enum { GR_JOIN_LACKING, GR_JOIN_REASONS };  // of gr_source_ops.skips; then those of the parts

// Those of every join, but for what is printed (join.c).
extern const gr_source_ops gr_join_functions;
void gr_join_print(gr_source_ops *);  // sets what is (join_lines.c)
// The functions of the sources that the list data.source names, joined, in the arena. GR_ERR_CONFIG
// at the name of one that cannot be.
GR_MUST_USE gr_status gr_join_make(gr_arena *, gr_conf *data, const gr_source_ops **out);
// The same of tables of functions (join_make.c): n of them, at most GR_MAX_JOINED.
const gr_source_ops *gr_join_ops(gr_arena *, const gr_source_ops *const *parts, int n);
// Opens every part and lists what all have of a row (join_rows.c): see gr_source_ops. A request's
// `spec` are those of the parts, const void *const[n].
gr_status gr_join_open(gr_source_request *, void **out);
// The name of a part's field, number or table, which `taken` of the join have before it.
const char *gr_join_name(gr_arena *, const gr_join_part *, const char *name, bool taken);

// The number of a part's sample of a row, or GR_NO_ROW.
static inline uint32_t gr_join_row(const gr_join *j, uint32_t sample, int part) {
  return j->row[(size_t)sample * (size_t)j->n + (size_t)part];
}
// The first part that has a sample of the row, and its number.
const gr_join_part *gr_join_first(const gr_join *, uint32_t sample, uint32_t *row);
// The samples that a part has of n rows, in the arena; *m of them.
gr_sample *gr_join_samples(gr_arena *, const gr_join *, int part, const gr_sample *rows, uint32_t n,
                           uint32_t *m);
