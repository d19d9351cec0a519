// columns.c - see columns.h.
#include "runtime/data/table/columns.h"
#include <assert.h>
#include <string.h>
#include "base/text.h"
#include "runtime/data/npy.h"
#include "runtime/data/source.h"

// The file's name without folder and extension.
static const char *stem(gr_arena *a, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  return gr_arena_strndup(a, name, strlen(name) - strlen(".npy"));
}

#define SIDE_BY_SIDE                                                               \
  "a list of files is one table, whose columns are side by side; to have the rows" \
  " of all, append them to one file, and for validation data.table.eval_path takes one"

static gr_table_column *room(gr_arena *a, gr_columns *c, int more) {
  gr_table_column *all = GR_NEW(a, gr_table_column, c->n + more);
  if (c->n) memcpy(all, c->at, (size_t)c->n * sizeof *all);
  c->at = all;
  return all + c->n;
}

// All columns of all files are one table: what is of another length is another table's.
static gr_status check_rows(gr_columns *c, const gr_array *a) {
  if (!a->rank)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' in '%s' is one number, not an array",
                           a->name, a->file),
                   "its first dimension is the samples");
  if (c->rows < 0) c->rows = a->dim[0];
  if (c->rows == a->dim[0] && c->rows < UINT32_MAX) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' in '%s' has %lld rows, others have %lld",
                         a->name, a->file, (long long)a->dim[0], (long long)c->rows),
                 "a row is one sample: all columns have as many, fewer than 2^32; " SIDE_BY_SIDE);
}

static gr_status open_csv(gr_arena *a, const char *path, const gr_csv_format *format,
                          gr_columns *c) {
  gr_csv *t = GR_NEW(a, gr_csv, 1);
  GR_TRY(gr_csv_read(a, path, format, t));
  gr_table_column *to = room(a, c, t->n_columns);
  for (int i = 0; i < t->n_columns; i++)
    to[i] = (gr_table_column){
        .name = t->columns[i].name, .values = gr_csv_array(t, i), .csv = t, .csv_column = i};
  c->n += t->n_columns;
  return check_rows(c, &to[0].values);
}

static gr_status open_npz(gr_arena *a, const char *path, gr_columns *c, gr_npz *z) {
  GR_TRY(gr_npz_open(a, path, z));
  gr_table_column *to = room(a, c, z->n);
  for (int i = 0; i < z->n; i++) to[i] = (gr_table_column){.name = z->members[i].name, .npz = z};
  c->n += z->n;
  return GR_OK;
}

static gr_status open_npy(gr_arena *a, const char *path, gr_columns *c, gr_mapping *m) {
  GR_TRY(gr_mapping_open(path, m));
  gr_table_column *to = room(a, c, 1);
  *to = (gr_table_column){.name = stem(a, path)};
  c->n++;
  GR_TRY(gr_npy_parse(a, path, to->name, m->at, m->bytes, &to->values));
  return check_rows(c, &to->values);
}

static gr_status unknown_kind(const char *path) {
  gr_arena *a = gr_arena_create();
  gr_text endings = gr_text_make(a);
  gr_source_put_endings(&gr_source_table, " or ", &endings);
  gr_status s = gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' does not say what kind of table it is", path),
      "its name ends in %s: rename a file of text, unpack a packed one, and save a spreadsheet as "
      "CSV",
      endings.chars);
  gr_arena_destroy(a);
  return s;
}

static gr_status open_kind(gr_arena *a, const char *path, const gr_csv_format *format,
                           gr_columns *c, int file) {
  const gr_source_ending *e = gr_source_reads(&gr_source_table, path);
  if (!e) return unknown_kind(path);
  if (e->text) return open_csv(a, path, format, c);
  return strcmp(e->ending, ".npz") ? open_npy(a, path, c, &c->maps[file])
                                   : open_npz(a, path, c, &c->npz[file]);
}

static gr_status open_file(gr_arena *a, const char *path, const gr_csv_format *format,
                           gr_columns *c, int file) {
  int before = c->n;
  gr_status s = open_kind(a, path, format, c, file);
  for (int i = before; i < c->n; i++) c->at[i].file = path;
  return s;
}

static gr_status check_names(const gr_columns *c) {
  for (int i = 0; i < c->n; i++)
    for (int k = 0; k < i; k++)
      if (!strcmp(c->at[i].name, c->at[k].name))
        return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' and '%s' both have a column '%s'",
                               c->at[k].file, c->at[i].file, c->at[i].name),
                       SIDE_BY_SIDE);
  return GR_OK;
}

gr_status gr_columns_open(gr_arena *a, const char *const *paths, int n, const gr_csv_format *format,
                          gr_columns *c) {
  *c = (gr_columns){.path = paths[0],
                    .rows = -1,
                    .npz = GR_NEW(a, gr_npz, n),
                    .maps = GR_NEW(a, gr_mapping, n),
                    .n_files = n};
  gr_status s = GR_OK;
  for (int i = 0; i < n && !s; i++) s = open_file(a, paths[i], format, c, i);
  if (!s && n > 1) s = check_names(c);
  if (s) gr_columns_close(c);
  return s;
}

gr_status gr_columns_check(const gr_columns *c) {
  for (int i = 0; i < c->n_files; i++) {
    GR_TRY(gr_mapping_check(&c->npz[i].map));
    GR_TRY(gr_mapping_check(&c->maps[i]));
  }
  return GR_OK;
}

void gr_columns_close(gr_columns *c) {
  for (int i = 0; i < c->n_files; i++) {
    gr_npz_close(&c->npz[i]);
    gr_mapping_close(&c->maps[i]);
  }
  c->n = c->n_files = 0;
}

int gr_columns_find(const gr_columns *c, const char *name) {
  for (int i = 0; i < c->n; i++)
    if (!strcmp(c->at[i].name, name)) return i;
  return -1;
}

const char *gr_columns_list(gr_arena *a, const gr_columns *c) {
  gr_text t = gr_text_make(a);
  for (int i = 0; i < c->n; i++) gr_text_printf(&t, "%s%s", i ? ", " : "", c->at[i].name);
  return t.chars;
}

gr_status gr_columns_read(gr_columns *c, int column, const gr_array **out) {
  assert(column >= 0 && column < c->n);
  gr_table_column *col = &c->at[column];
  *out = &col->values;
  if (col->values.file) return GR_OK;
  GR_TRY(gr_npz_read(col->npz, col->name, &col->values));
  return check_rows(c, &col->values);
}

bool gr_columns_missing(const gr_columns *c, int column, int64_t row) {
  const gr_table_column *col = &c->at[column];
  return col->csv && gr_csv_missing(col->csv, (uint32_t)row, col->csv_column);
}

gr_loc gr_columns_place(const gr_columns *c, int64_t row) {
  const gr_csv *csv = c->n ? c->at[0].csv : NULL;
  return csv ? (gr_loc){csv->path, csv->lines[row], 1} : GR_NOWHERE;
}

gr_loc gr_columns_names(const gr_columns *c) {
  const gr_csv *csv = c->n ? c->at[0].csv : NULL;
  return csv ? (gr_loc){csv->path, 1, 1} : GR_NOWHERE;
}

const char *gr_columns_where(const gr_columns *c, int64_t row, const char *file,
                             char out[GR_COLUMNS_WHERE]) {
  if (gr_columns_place(c, row).file)
    snprintf(out, GR_COLUMNS_WHERE, "this line");
  else
    snprintf(out, GR_COLUMNS_WHERE, "row %lld of '%.400s'", (long long)row, file);
  return out;
}
