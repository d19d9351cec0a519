// new_listed.c - see new_listed.h.
#include "cli/new_listed.h"
#include <string.h>
#include <strings.h>
#include "base/grow.h"
#include "base/output.h"
#include "base/port.h"

// How the rows of a list are divided.
typedef struct split {
  int column;        // of words, or of folds; -1: there is none
  const char *fold;  // that for validation; or NULL
  bool folders;      // by those of the files
  bool tests;        // what is for a test is for validation: there is nothing else
  bool both;         // there is something for either
} split;

typedef struct relist {
  const gr_new_index *index;
  const gr_csv *t;
  int column;
  const char **path;  // [rows]; NULL: it is not there
  split by;
} relist;

static gr_table_use use_of(const relist *r, uint32_t row) {
  const split *by = &r->by;
  if (by->folders) return gr_new_index_use(r->index, r->path[row]);
  if (by->column < 0) return GR_TABLE_ANY;
  const char *cell = gr_new_cell(r->index->arena, r->t, row, by->column);
  if (by->fold) return strcmp(cell, by->fold) ? GR_TABLE_TRAINS : GR_TABLE_VALIDATES;
  return gr_file_list_use(cell);
}

static void count_uses(const relist *r, uint32_t n[GR_TABLE_ANY + 1]) {
  memset(n, 0, sizeof *n * (GR_TABLE_ANY + 1));
  for (uint32_t i = 0; i < r->t->rows; i++)
    if (r->path[i]) n[use_of(r, i)]++;
}

// Whether the uses that are found divide the rows.
static bool divides(relist *r) {
  uint32_t n[GR_TABLE_ANY + 1];
  count_uses(r, n);
  r->by.tests = !n[GR_TABLE_VALIDATES];
  r->by.both = n[GR_TABLE_VALIDATES] && n[GR_TABLE_OTHER];
  uint32_t others = n[GR_TABLE_VALIDATES] + n[GR_TABLE_OTHER];
  return others && n[GR_TABLE_TRAINS] + n[GR_TABLE_ANY];
}

static bool is_of_splits(const relist *r, int column) {
  if (r->t->columns[column].type != GR_COLUMN_TEXT || column == r->column) return false;
  for (uint32_t i = 0; i < r->t->rows; i++)
    if (gr_file_list_use(gr_new_cell(r->index->arena, r->t, i, column)) == GR_TABLE_ANY)
      return false;
  return true;
}

// The last of the folds of a column; NULL: it has none.
static const char *last_fold(const relist *r, int column) {
  enum { MOST = 20 };
  const gr_column *c = &r->t->columns[column];
  int64_t last = INT64_MIN;
  uint32_t n, folds = gr_csv_distinct(r->t, column, &n);
  if (strcasecmp(c->name, "fold") || c->type != GR_COLUMN_INT || folds < 2 || folds > MOST)
    return NULL;
  for (uint32_t i = 0; i < r->t->rows; i++) last = c->ints[i] > last ? c->ints[i] : last;
  return gr_arena_printf(r->index->arena, "%lld", (long long)last);
}

// By a column `split` of numbers training divides them.
static void find_split(relist *r) {
  int named = gr_csv_find(r->t, "split");
  if (named >= 0 && !is_of_splits(r, named)) return;
  for (int c = 0; c < r->t->n_columns; c++) {
    r->by = (split){.column = c, .fold = last_fold(r, c)};
    if ((r->by.fold || is_of_splits(r, c)) && divides(r)) return;
  }
  r->by = (split){.column = -1, .folders = true};
  if (!divides(r)) r->by.folders = false;
}

// A column that the list has as the table does; what names its files is its first.
static bool is_kept(const relist *r, int c) {
  const char *name = r->t->columns[c].name;
  bool divided = r->by.column >= 0 || r->by.folders;
  if (c == r->by.column && !r->by.fold) return false;
  return c != r->column && !gr_file_list_is_path(name) && !(divided && !strcmp(name, "split"));
}

// Ends a line of the list with the other cells of a row; -1: with their names.
static void put_others(const relist *r, int64_t row, gr_text *out) {
  for (int c = 0; c < r->t->n_columns; c++)
    if (is_kept(r, c))
      gr_new_put_cell(
          out, ",",
          row < 0 ? r->t->columns[c].name : gr_new_cell(r->index->arena, r->t, (uint32_t)row, c));
  gr_text_put(out, "\n");
}

// Notes of what line of the table the lines are that have been added to a list.
static void note_lines(gr_new_lines *l, gr_arena *a, const gr_text *list, size_t before, int line) {
  for (const char *c = list->chars + before; c < list->chars + list->len; c++) {
    if (*c != '\n') continue;
    GR_GROW(a, l->line, l->n, l->room);
    l->line[l->n++] = line;
  }
}

// Lines of path, split where the rows are divided, and the other columns.
static void put_list(const relist *r, gr_text *out, gr_new_lines *l) {
  gr_arena *a = r->index->arena;
  bool divided = r->by.column >= 0 || r->by.folders;
  gr_text_put(out, divided ? "path,split" : "path");
  put_others(r, -1, out);
  note_lines(l, a, out, 0, 1);
  for (uint32_t i = 0; i < r->t->rows; i++) {
    if (!r->path[i]) continue;
    gr_table_use use = use_of(r, i);
    bool test = divided && use == GR_TABLE_OTHER;
    if (test && !r->by.tests) continue;
    size_t before = out->len;
    gr_new_put_cell(out, "", r->path[i]);
    if (divided) gr_text_put(out, test || use == GR_TABLE_VALIDATES ? ",validation" : ",train");
    put_others(r, i, out);
    note_lines(l, a, out, before, gr_csv_place(r->t, i).line);
  }
}

static void say_split(gr_new_own *o, const relist *r) {
  uint32_t n[GR_TABLE_ANY + 1];
  const split *by = &r->by;
  count_uses(r, n);
  if (by->column < 0 && !by->folders) return;
  const char *of = by->folders ? "their folders"
                               : gr_arena_printf(o->arena, "'%s'", r->t->columns[by->column].name);
  gr_text_printf(&o->said, "for validation: %u files, by %s%s%s",
                 n[by->tests ? GR_TABLE_OTHER : GR_TABLE_VALIDATES], of,
                 by->fold ? ", those of " : "", by->fold ? by->fold : "");
  if (!by->tests && n[GR_TABLE_OTHER])
    gr_text_printf(&o->said, "; not used: %u for a test", n[GR_TABLE_OTHER]);
  gr_text_put(&o->said, "\n");
}

bool gr_new_is_list(const gr_csv *t, int column) {
  char usual = gr_ends_in(t->path, ".tsv") ? '\t' : ',';
  return gr_file_list_is_path(t->columns[column].name) && t->format.delimiter == usual &&
         t->format.header;
}

// Whether training finds its files, by the first of them.
static bool is_read(const relist *r) {
  const gr_csv *t = r->t;
  gr_file_list list = {.csv = {.path = t->path}};
  const char *first = gr_new_cell(r->index->arena, t, 0, r->column);
  return gr_new_is_list(t, r->column) &&
         gr_is_file(gr_file_list_path(r->index->arena, &list, first));
}

// The files of the rows; *lost of them are not there, of which the first is *first.
static relist open_list(const gr_new_index *x, const gr_csv *t, int column, uint32_t *lost,
                        uint32_t *first) {
  relist r = {x, t, column, GR_NEW(x->arena, const char *, t->rows + 1), {.column = -1}};
  const char *slash = strrchr(t->path, '/');
  gr_table_use use = gr_file_list_use(slash ? slash : t->path);
  *lost = *first = 0;
  for (uint32_t i = 0; i < t->rows; i++) {
    r.path[i] = gr_new_index_find(x, gr_new_cell(x->arena, t, i, column), use);
    if (!r.path[i] && !(*lost)++) *first = i;
  }
  return r;
}

const gr_table_use *gr_new_uses(const gr_new_index *x, const gr_csv *t, int column) {
  uint32_t lost, first;
  relist r = open_list(x, t, column, &lost, &first);
  find_split(&r);
  if (r.by.column < 0 && !r.by.folders) return NULL;
  gr_table_use *use = GR_NEW(x->arena, gr_table_use, t->rows);
  for (uint32_t i = 0; i < t->rows; i++) {
    use[i] = r.path[i] ? use_of(&r, i) : GR_TABLE_ANY;
    if (use[i] == GR_TABLE_OTHER && r.by.tests) use[i] = GR_TABLE_VALIDATES;
  }
  return use;
}

gr_status gr_new_relist(gr_new_own *o, const gr_new_index *x, const char *name, bool whole,
                        gr_csv *t, int *column) {
  const char *file = gr_arena_printf(o->arena, "%s/%s", o->dir, name);
  uint32_t lost, first;
  relist r = open_list(x, t, *column, &lost, &first);
  gr_text lines = gr_text_make(o->arena);
  if (10 * (uint64_t)lost > t->rows) return GR_OK;
  if (gr_new_index_find(x, t->columns[*column].name, GR_TABLE_ANY))
    return gr_hint(gr_fail(GR_ERR_DATA, ((gr_loc){t->path, 1, 1}),
                           "the first line names a file, and not the columns"),
                   "write a line above it: path,label");
  if (!whole) find_split(&r);
  bool divided = r.by.folders || r.by.column >= 0;
  if (r.by.column >= 0 && !strcmp(t->columns[r.by.column].name, "split"))
    divided = r.by.tests || r.by.both;  // training knows its other words
  if (is_read(&r) && !divided) return GR_OK;
  if (lost)
    gr_text_printf(&o->said, "%u row%s without a file left out, the first '%s'\n", lost,
                   gr_text_s(lost), gr_new_cell(o->arena, t, first, *column));
  gr_text_printf(&o->said, "written: %s, the list with its files' paths\n", name);
  say_split(o, &r);
  gr_new_lines *l = o->lists;
  while (l->name) l++;
  *l = (gr_new_lines){.name = name, .source = t->path};
  put_list(&r, &lines, l);
  GR_TRY(gr_output_write(o->dir, name, lines.chars, lines.len));
  GR_TRY(gr_new_read_table(o->arena, file, t));
  return *column = 0, GR_OK;
}

gr_status gr_new_relist_validation(gr_new_own *o, const gr_new_index *x, const char *table,
                                   const char *key) {
  gr_csv t;
  if (!table) return GR_OK;
  GR_TRY(gr_new_read_table(o->arena, table, &t));
  int column = gr_new_find_listed(x, &t);
  GR_TRY(gr_new_relist(o, x, "validation.csv", true, &t, &column));
  return gr_new_set_evaluation(o, key, t.path), GR_OK;
}
