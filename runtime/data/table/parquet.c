// parquet.c - columns of Parquet files, read as those of CSV are: integers, floats or text, with
// cells that are missing. See columns.h.
#include "runtime/data/parquet/parquet.h"
#include <string.h>
#include "base/text.h"
#include "runtime/data/table/columns.h"

#define ALIKE "files whose rows follow each other have the same columns, in the same order"

// What a column is for a table. False: nothing, and *why says so.
static bool type_of(const gr_parquet_column *c, gr_column_type *out, const char **why) {
  *why = c->refused;
  *out = c->text                          ? GR_COLUMN_TEXT
         : c->element == GR_ELEMENT_FLOAT ? GR_COLUMN_FLOAT
                                          : GR_COLUMN_INT;
  if (!*why && !c->text && c->element == GR_ELEMENT_BYTES) *why = "has bytes that are no text";
  return !*why;
}

// ---- Several files ------------------------------------------------------------------------------

static gr_status check_column(const gr_parquet *first, const gr_parquet *p, int i) {
  const gr_parquet_column *c = &p->columns[i], *d = &first->columns[i];
  gr_column_type type, other;
  const char *why, *other_why;
  if (strcmp(c->name, d->name) != 0)
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "the column %d of '%s' is called '%s', and '%s' in '%s'",
                i + 1, p->path, c->name, d->name, first->path),
        ALIKE);
  bool good = type_of(c, &type, &why), other_good = type_of(d, &other, &other_why);
  if (good == other_good && type == other) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' of '%s' is of another type than that of '%s'", c->name,
              p->path, first->path),
      ALIKE);
}

static gr_status check_alike(const gr_parquet *first, const gr_parquet *p) {
  if (p->n_columns != first->n_columns)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has %d column%s, and '%s' %d", p->path,
                           p->n_columns, gr_text_s(p->n_columns), first->path, first->n_columns),
                   ALIKE);
  for (int i = 0; i < p->n_columns; i++) GR_TRY(check_column(first, p, i));
  return GR_OK;
}

// ---- Cells --------------------------------------------------------------------------------------

// A column that is being filled.
typedef struct filling {
  gr_arena *arena;
  gr_csv *csv;
  int column;
  int64_t *ints;
  double *floats;
  const char **texts;
  uint32_t row;
} filling;

static gr_status bad_cell(const filling *f, const char *why) {
  return gr_fail(GR_ERR_DATA, gr_csv_place(f->csv, f->row), "the column '%s' has %s in this row",
                 f->csv->columns[f->column].name, why);
}

static gr_status put_text(filling *f, const gr_bytes *b) {
  if (memchr(b->n ? (const void *)b->first : "", 0, b->n)) return bad_cell(f, "a text with a NUL");
  f->texts[f->row] = gr_arena_strndup(f->arena, b->n ? (const char *)b->first : "", b->n);
  return gr_utf8_valid(f->texts[f->row]) ? GR_OK : bad_cell(f, "a text that is not UTF-8");
}

static gr_status put_cell(filling *f, const gr_parquet_reader *r, const gr_array *numbers,
                          int32_t i) {
  gr_column *c = &f->csv->columns[f->column];
  if (r->there && !r->there[i]) {
    if (!c->missing++) c->first_missing = f->row;
    f->csv->holes[(size_t)f->row * (size_t)f->csv->n_columns + (size_t)f->column] = true;
    if (f->texts) f->texts[f->row] = "";
    return GR_OK;
  }
  if (f->texts) return put_text(f, &r->texts[i]);
  if (f->floats) return f->floats[f->row] = gr_array_number(numbers, i), GR_OK;
  return gr_array_integer(numbers, i, &f->ints[f->row])
             ? GR_OK
             : bad_cell(f, "a number of more than 2^63 - 1");
}

static gr_status put_page(filling *f, const gr_parquet_reader *r) {
  const gr_parquet_column *c = &r->list->file->columns[r->list->column];
  gr_array numbers = {
      .element = c->element, .size = c->size, .rank = 1, .count = r->n, .data = r->fixed};
  for (int32_t i = 0; i < r->n; i++, f->row++) GR_TRY(put_cell(f, r, &numbers, i));
  return GR_OK;
}

static gr_status put_pages(filling *f, const gr_parquet_pages *list) {
  gr_parquet_reader r = gr_parquet_reader_open(list);
  gr_status s = GR_OK;
  for (int i = 0; i < list->n && !s; i++) {
    s = gr_parquet_read(&r, i);
    if (!s) s = put_page(f, &r);
  }
  gr_parquet_reader_close(&r);
  return s;
}

static gr_status fill_column(gr_arena *a, gr_csv *t, const gr_parquet *files, int source,
                             int column) {
  gr_column *c = &t->columns[column];
  filling f = {.arena = a, .csv = t, .column = column};
  gr_arena *scratch = gr_arena_create();
  gr_status s = GR_OK;
  if (c->type == GR_COLUMN_TEXT)
    c->texts = f.texts = GR_NEW(a, const char *, t->rows + 1);
  else if (c->type == GR_COLUMN_FLOAT)
    c->floats = f.floats = GR_NEW(a, double, t->rows + 1);
  else
    c->ints = f.ints = GR_NEW(a, int64_t, t->rows + 1);
  for (int i = 0; i < t->n_paths && !s; i++) {
    gr_parquet_pages list;
    s = gr_parquet_list(scratch, &files[i], source, &list);
    if (!s) s = put_pages(&f, &list);
  }
  // A text that is no number, for messages.
  while (f.texts && c->first_text + 1 < t->rows &&
         t->holes[(size_t)c->first_text * (size_t)t->n_columns + (size_t)column])
    c->first_text++;
  c->first_text_column = 1;
  return gr_arena_end(scratch, s);
}

// ---- The table ----------------------------------------------------------------------------------

// Numbers the rows of the files.
static gr_status count_rows(gr_arena *a, gr_csv *t, const gr_parquet *files) {
  int64_t rows = 0;
  uint32_t *first = GR_NEW(a, uint32_t, t->n_paths);
  for (int i = 0; i < t->n_paths; i++) {
    first[i] = (uint32_t)rows;
    if (files[i].rows >= INT32_MAX || (rows += files[i].rows) >= INT32_MAX)
      return gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has too many rows: 2^31 or more",
                     files[i].path);
  }
  t->rows = (uint32_t)rows, t->first = first;
  if (!rows) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has no rows", t->path);
  int *lines = GR_NEW(a, int, rows);
  for (int i = 0; i < t->n_paths; i++)
    for (int64_t k = 0; k < files[i].rows; k++) lines[first[i] + k] = (int)k + 1;
  t->lines = lines;
  t->holes = GR_NEW(a, bool, (size_t)rows *(size_t)t->n_columns + 1);
  return GR_OK;
}

// pandas writes an index without a name so.
static bool is_unnamed(const char *name) {
  return !strncmp(name, "__index_level_", strlen("__index_level_"));
}

static bool is_wanted(const gr_names *only, const char *name) {
  for (int i = 0; only && i < only->n; i++)
    if (!strcmp(only->items[i], name)) return true;
  return !only;
}

static gr_status fill(gr_arena *a, gr_csv *t, const gr_parquet *files, const gr_names *only,
                      gr_table_column *refused, int *n_refused) {
  const gr_parquet *p = &files[0];
  int *source = GR_NEW(a, int, p->n_columns);
  const char *why;
  for (int i = 0; i < p->n_columns; i++) {
    const char *name = p->columns[i].name;
    gr_column *c = &t->columns[t->n_columns];
    bool good = type_of(&p->columns[i], &c->type, &why);
    if (good && !is_wanted(only, name)) good = false, why = "is not used";
    if (good && c->type == GR_COLUMN_INT)
      c->names = p->columns[i].names, c->n_names = p->columns[i].n_names;
    if (good)
      c->name = name, c->unnamed = is_unnamed(name), source[t->n_columns++] = i;
    else if (!*n_refused || strcmp(refused[*n_refused - 1].name, name) != 0)
      refused[(*n_refused)++] = (gr_table_column){.name = name, .refused = why};
  }
  if (!t->n_columns && only) return *n_refused = 0, fill(a, t, files, NULL, refused, n_refused);
  if (!t->n_columns) return gr_parquet_need(p, 0);
  GR_TRY(count_rows(a, t, files));
  for (int i = 0; i < t->n_columns; i++) GR_TRY(fill_column(a, t, files, source[i], i));
  return GR_OK;
}

gr_status gr_columns_read_parquet(gr_arena *a, const gr_names *paths, const gr_names *only,
                                  gr_csv *out, gr_table_column **refused, int *n_refused) {
  gr_parquet *files = GR_NEW(a, gr_parquet, paths->n);
  gr_status s = GR_OK;
  int opened = 0;
  *n_refused = 0;
  while (opened < paths->n && !s) {
    s = gr_parquet_open(a, paths->items[opened], &files[opened]);
    if (!s && opened) s = check_alike(&files[0], &files[opened]);
    opened++;
  }
  int n = s ? 0 : files[0].n_columns;
  *out = (gr_csv){.path = paths->items[0],
                  .format = gr_csv_fixed,
                  .paths = paths->items,
                  .n_paths = paths->n,
                  .columns = GR_NEW(a, gr_column, n + 1),
                  .typed = true};
  *refused = GR_NEW(a, gr_table_column, n + 1);
  if (!s) s = fill(a, out, files, only, *refused, n_refused);
  for (int i = 0; i < opened; i++) gr_parquet_close(&files[i]);
  return s;
}
