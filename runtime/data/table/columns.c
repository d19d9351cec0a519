// columns.c - see columns.h.
#include "runtime/data/table/columns.h"
#include <assert.h>
#include <string.h>
#include <strings.h>
#include "base/text.h"
#include "runtime/data/file_list.h"
#include "runtime/data/npy.h"
#include "runtime/data/parquet/parquet.h"
#include "runtime/data/source.h"
#include "runtime/data/table/idx.h"

// The file's name without folder and extension.
static const char *stem(gr_arena *a, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  return gr_arena_strndup(a, name, strlen(name) - strlen(".npy"));
}

#define SIDE_BY_SIDE                                                                 \
  "a list of files is one table, whose columns are side by side; a pattern of paths" \
  " (data/*.csv) has the rows of all, and data.table.eval_path takes those for validation"

gr_table_column *gr_columns_room(gr_arena *a, gr_columns *c, int more) {
  gr_table_column *all = GR_NEW(a, gr_table_column, c->n + more);
  if (c->n) memcpy(all, c->items, (size_t)c->n * sizeof *all);
  c->items = all;
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

static void add_cells(gr_arena *a, gr_columns *c, gr_csv *t) {
  gr_table_column *to = gr_columns_room(a, c, t->n_columns);
  for (int i = 0; i < t->n_columns; i++)
    if (!gr_csv_is_place(t, i))
      to++[0] = (gr_table_column){
          .name = t->columns[i].name, .values = gr_csv_array(t, i), .csv = t, .csv_column = i};
  c->n = (int)(to - c->items);
}

void gr_columns_of_csv(gr_arena *a, gr_csv *t, gr_columns *out) {
  *out = (gr_columns){.arena = a, .path = t->path, .rows = t->rows};
  add_cells(a, out, t);
}

static gr_status open_csv(gr_arena *a, const gr_names *files, const gr_csv_format *format,
                          gr_columns *c) {
  gr_csv *t = GR_NEW(a, gr_csv, 1);
  GR_TRY(gr_csv_read_all(a, files->items, files->n, format, t));
  add_cells(a, c, t);
  return GR_OK;
}

// Columns that are not read come last, so that an error names them where they are wanted.
static gr_status open_parquet(gr_arena *a, const gr_names *files, gr_columns *c) {
  gr_csv *t = GR_NEW(a, gr_csv, 1);
  gr_table_column *refused;
  int n;
  GR_TRY(gr_columns_read_parquet(a, files, c->only, t, &refused, &n));
  add_cells(a, c, t);
  gr_table_column *to = gr_columns_room(a, c, n);
  for (int i = 0; i < n; i++) to[i] = refused[i];
  c->n += n;
  return GR_OK;
}

static gr_status open_npz(gr_arena *a, const char *path, gr_columns *c, gr_npz *z) {
  GR_TRY(gr_npz_open(a, path, z));
  gr_table_column *to = gr_columns_room(a, c, z->n);
  for (int i = 0; i < z->n; i++) to[i] = (gr_table_column){.name = z->members[i].name, .npz = z};
  c->n += z->n;
  return GR_OK;
}

// Of .npy, or of IDX.
static gr_status open_array(gr_arena *a, const char *path, bool npy, gr_columns *c, gr_mapping *m) {
  gr_table_column *to = gr_columns_room(a, c, 1);
  *to = (gr_table_column){.name = npy ? stem(a, path) : gr_idx_name(a, path)};
  c->n++;
  GR_TRY(gr_mapping_open(path, m));
  return (npy ? gr_npy_parse : gr_idx_parse)(a, path, to->name, m->data, m->bytes, &to->values);
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
  return gr_arena_end(a, s);
}

static gr_status open_arrays(gr_arena *a, const char *path, gr_columns *c, int file) {
  const gr_source_ending *e = gr_source_reads(&gr_source_table, path);
  if (!strcmp(e->ending, ".npz")) return open_npz(a, path, c, &c->npz[file]);
  return open_array(a, path, !strcmp(e->ending, ".npy"), c, &c->maps[file]);
}

// ---- Arrays of several files --------------------------------------------------------------------

#define ALIKE "files whose rows follow each other have the same columns, in the same order"

static gr_columns columns_make(gr_arena *a, const char *path, int n) {
  return (gr_columns){.arena = a,
                      .path = path,
                      .rows = -1,
                      .npz = GR_NEW(a, gr_npz, n),
                      .maps = GR_NEW(a, gr_mapping, n),
                      .stacks = GR_NEW(a, gr_stack, n),
                      .n_files = n};
}

static gr_status check_alike(const gr_columns *first, const gr_columns *c) {
  if (c->n != first->n)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has %d array%s, and '%s' %d", c->path,
                           c->n, gr_text_s(c->n), first->path, first->n),
                   ALIKE);
  for (int i = 0; i < c->n && c->items[i].npz; i++)
    if (strcmp(c->items[i].name, first->items[i].name) != 0)
      return gr_hint(
          gr_fail(GR_ERR_DATA, GR_NOWHERE, "the array %d of '%s' is called '%s', and '%s' in '%s'",
                  i + 1, c->path, c->items[i].name, first->items[i].name, first->path),
          ALIKE);
  return GR_OK;
}

// What a pattern begins with: x of "parts/x_*.npy".
static const char *pattern_stem(gr_arena *a, const char *pattern) {
  const char *slash = strrchr(pattern, '/'), *name = slash ? slash + 1 : pattern;
  size_t n = strcspn(name, "*?[");
  while (n && strchr("_-. ", name[n - 1])) n--;
  return n ? gr_arena_strndup(a, name, n) : "x";
}

// Each file is opened by itself.
static gr_status open_stack(gr_arena *a, const char *pattern, const gr_names *files, gr_columns *c,
                            gr_stack *s) {
  s->file = GR_NEW(a, gr_columns, files->n);
  while (s->n < files->n) {
    gr_columns *file = &s->file[s->n];
    *file = columns_make(a, files->items[s->n++], 1);
    GR_TRY(open_arrays(a, file->path, file, 0));
    for (int i = 0; i < file->n; i++) file->items[i].file = file->path;
    GR_TRY(check_alike(&s->file[0], file));
  }
  int n = s->file[0].n;
  gr_table_column *to = gr_columns_room(a, c, n);
  for (int i = 0; i < n; i++) {
    const gr_table_column *one = &s->file[0].items[i];
    to[i] = (gr_table_column){
        .name = one->npz ? one->name : pattern_stem(a, pattern), .stack = s, .member = i};
  }
  c->n += n;
  return GR_OK;
}

// Reads an array of one file, unless it is read.
static gr_status read_array(gr_table_column *c) {
  if (c->values.file) return GR_OK;
  return gr_npz_read(c->npz, c->given ? c->given : c->name, &c->values);
}

static gr_status check_array(const gr_array *first, const gr_array *a) {
  bool same = a->rank == first->rank && a->element == first->element && a->size == first->size;
  for (int k = 1; same && k < a->rank; k++) same = a->dim[k] == first->dim[k];
  if (same && a->rank) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                         "'%s' of '%s' has rows of another type or shape than that of '%s'",
                         a->name, a->file, first->file),
                 ALIKE);
}

static gr_status read_stack(gr_arena *a, const gr_table_column *c, gr_array *out) {
  size_t bytes = 0, done = 0;
  for (int i = 0; i < c->stack->n; i++) {
    gr_table_column *part = &c->stack->file[i].items[c->member];
    GR_TRY(read_array(part));
    if (!i) *out = part->values, out->count = out->dim[0] = 0;
    GR_TRY(check_array(&c->stack->file[0].items[c->member].values, &part->values));
    out->count += part->values.count, out->dim[0] += part->values.dim[0];
    bytes += (size_t)part->values.count * out->size;
  }
  unsigned char *all = gr_arena_alloc(a, bytes + 1);
  for (int i = 0; i < c->stack->n; i++) {
    const gr_array *part = &c->stack->file[i].items[c->member].values;
    if (part->count) memcpy(all + done, part->data, (size_t)part->count * out->size);
    done += (size_t)part->count * out->size;
  }
  out->data = all;
  return GR_OK;
}

// ---- Opening ------------------------------------------------------------------------------------

static bool is_parquet(const gr_source_ending *e) { return !strcmp(e->ending, ".parquet"); }

static gr_status open_kind(gr_arena *a, const char *path, const gr_csv_format *format,
                           gr_columns *c, int file) {
  gr_names files;
  GR_TRY(gr_file_list_match(a, path, &files));
  const gr_source_ending *e = gr_source_reads(&gr_source_table, files.items[0]);
  for (int i = 0; i < files.n; i++)
    if (!gr_source_reads(&gr_source_table, files.items[i])) return unknown_kind(files.items[i]);
  for (int i = 1; i < files.n; i++) {
    const gr_source_ending *other = gr_source_reads(&gr_source_table, files.items[i]);
    if (other->text != e->text || is_parquet(other) != is_parquet(e))
      return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' and '%s' are of different kinds",
                             files.items[0], files.items[i]),
                     "'%s' matches both: files whose rows follow each other are of one kind", path);
  }
  if (is_parquet(e)) return open_parquet(a, &files, c);
  if (e->text) return open_csv(a, &files, format, c);
  return files.n > 1 ? open_stack(a, path, &files, c, &c->stacks[file])
                     : open_arrays(a, files.items[0], c, file);
}

static gr_status open_file(gr_arena *a, const char *path, const gr_csv_format *format,
                           gr_columns *c, int file) {
  int before = c->n;
  gr_status s = open_kind(a, path, format, c, file);
  for (int i = before; i < c->n; i++) c->items[i].file = path;
  return s;
}

// ---- Arrays of a split --------------------------------------------------------------------------

static bool is_word(const char *word, size_t n, const char *const *words) {
  for (; *words; words++)
    if (strlen(*words) == n && !strncasecmp(word, *words, n)) return true;
  return false;
}

// The split that a word of an array's name says, and the name without it. GR_SPLIT_BY_KEY: none.
static gr_split split_of_name(gr_arena *a, const char *name, const char **plain) {
  static const char separators[] = "_-. ";
  static const char *const train[] = {"train", "training", NULL};
  static const char *const other[] = {"test", "testing",    "val", "valid",
                                      "t10k", "validation", "dev", NULL};  // t10k: MNIST's
  for (const char *word = name; *word;) {
    size_t n = strcspn(word, separators);
    bool trains = is_word(word, n, train);
    if (trains || is_word(word, n, other)) {
      const char *rest = word + n + (word[n] != 0);
      size_t before = (size_t)(word - name);
      if (!*rest && before) before--;
      *plain = gr_arena_printf(a, "%.*s%s", (int)before, name, rest);
      return **plain ? (trains ? GR_SPLIT_TRAIN : GR_SPLIT_VALIDATION) : GR_SPLIT_BY_KEY;
    }
    word += n + (word[n] != 0);
  }
  return GR_SPLIT_BY_KEY;
}

static void take_split(gr_columns *c, gr_split split) {
  int wanted = 0, n = 0;
  const char *plain;
  for (int i = 0; i < c->n; i++)
    wanted += !c->items[i].csv && split_of_name(c->arena, c->items[i].name, &plain) == split;
  for (int i = 0; i < c->n; i++) {
    gr_split said =
        c->items[i].csv ? GR_SPLIT_BY_KEY : split_of_name(c->arena, c->items[i].name, &plain);
    bool other = wanted && said != GR_SPLIT_BY_KEY && said != split;
    c->has_other |= other;
    if (other) continue;
    c->items[n] = c->items[i];
    if (said != GR_SPLIT_BY_KEY && gr_columns_find(c, plain) < 0)
      c->items[n].given = c->items[n].name, c->items[n].name = plain;
    n++;
  }
  c->n = n;
}

static gr_status check_names(const gr_columns *c) {
  for (int i = 0; i < c->n; i++)
    for (int k = 0; k < i; k++)
      if (!strcmp(c->items[i].name, c->items[k].name))
        return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' and '%s' both have a column '%s'",
                               c->items[k].file, c->items[i].file, c->items[i].name),
                       SIDE_BY_SIDE);
  return GR_OK;
}

// Arrays of .npz and stacks have theirs when they are read.
static gr_status check_all_rows(gr_columns *c) {
  for (int i = 0; i < c->n; i++)
    if (c->items[i].values.file) GR_TRY(check_rows(c, &c->items[i].values));
  return GR_OK;
}

gr_status gr_columns_open(gr_arena *a, const char *const *paths, int n, const gr_csv_format *format,
                          gr_split split, const gr_names *only, gr_columns *c) {
  *c = columns_make(a, paths[0], n);
  c->only = only;
  gr_status s = GR_OK;
  for (int i = 0; i < n && !s; i++) s = open_file(a, paths[i], format, c, i);
  if (!s && split != GR_SPLIT_BY_KEY) take_split(c, split);
  if (!s && n > 1) s = check_names(c);
  if (!s) s = check_all_rows(c);
  if (s) gr_columns_close(c);
  return s;
}

gr_status gr_columns_check(const gr_columns *c) {
  for (int i = 0; i < c->n_files; i++) {
    GR_TRY(gr_mapping_check(&c->npz[i].map));
    GR_TRY(gr_mapping_check(&c->maps[i]));
    for (int k = 0; k < c->stacks[i].n; k++) {
      GR_TRY(gr_mapping_check(&c->stacks[i].file[k].npz->map));
      GR_TRY(gr_mapping_check(c->stacks[i].file[k].maps));
    }
  }
  return GR_OK;
}

void gr_columns_close(gr_columns *c) {
  for (int i = 0; i < c->n_files; i++) {
    gr_npz_close(&c->npz[i]);
    gr_mapping_close(&c->maps[i]);
    for (int k = 0; k < c->stacks[i].n; k++) {
      gr_npz_close(c->stacks[i].file[k].npz);
      gr_mapping_close(c->stacks[i].file[k].maps);
    }
  }
  c->n = c->n_files = 0;
}

int gr_columns_find(const gr_columns *c, const char *name) {
  for (int i = 0; i < c->n; i++)
    if (!strcmp(c->items[i].name, name)) return i;
  for (int i = 0; i < c->n; i++)
    if (c->items[i].given && !strcmp(c->items[i].given, name)) return i;
  return -1;
}

const char *gr_columns_list(gr_arena *a, const gr_columns *c) {
  gr_text t = gr_text_make(a);
  for (int i = 0; i < c->n; i++)
    if (!c->items[i].value) gr_text_printf(&t, "%s%s", i ? ", " : "", c->items[i].name);
  return t.chars;
}

gr_status gr_columns_read(gr_columns *c, int column, const gr_array **out) {
  assert(column >= 0 && column < c->n);
  gr_table_column *col = &c->items[column];
  *out = &col->values;
  if (col->values.file) return GR_OK;
  if (col->refused) return gr_parquet_refuse(col->file, col->name, col->refused);
  GR_TRY(col->stack ? read_stack(c->arena, col, &col->values) : read_array(col));
  return check_rows(c, &col->values);
}

bool gr_columns_missing(const gr_columns *c, int column, int64_t row) {
  const gr_table_column *col = &c->items[column];
  return col->csv && gr_csv_missing(col->csv, (uint32_t)row, col->csv_column);
}

gr_status gr_columns_need(const gr_columns *c, int column, int64_t row) {
  char where[GR_COLUMNS_WHERE];
  if (!gr_columns_missing(c, column, row)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "the column '%s' has no value in %s",
                         c->items[column].name, gr_columns_where(c, row, c->path, where)),
                 "fill it in");
}

gr_loc gr_columns_place(const gr_columns *c, int64_t row) {
  const gr_csv *csv = c->n ? c->items[0].csv : NULL;
  return csv ? gr_csv_place(csv, (uint32_t)row) : GR_NOWHERE;
}

gr_loc gr_columns_names(const gr_columns *c) {
  const gr_csv *csv = c->n ? c->items[0].csv : NULL;
  return csv && !csv->typed ? (gr_loc){csv->path, 1, 1} : GR_NOWHERE;
}

const char *gr_columns_where(const gr_columns *c, int64_t row, const char *file,
                             char out[GR_COLUMNS_WHERE]) {
  if (gr_columns_place(c, row).file)
    snprintf(out, GR_COLUMNS_WHERE, "this %s", gr_csv_unit(c->items[0].csv));
  else
    snprintf(out, GR_COLUMNS_WHERE, "row %lld of '%.400s'", (long long)row, file);
  return out;
}
