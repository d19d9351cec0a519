// file_list.c - see file_list.h.
#include "runtime/data/file_list.h"
#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/grow.h"
#include "base/port.h"
#include "base/sort.h"
#include "base/work.h"

enum { MAX_RANGE = 1 << 20 };

static void find_column(gr_file_list *l, const char *name, int *column, gr_array *out) {
  *column = name ? gr_csv_find(&l->csv, name) : -1;
  if (*column >= 0) *out = gr_csv_array(&l->csv, *column);
}

static gr_status check_columns(const gr_file_list *l, const char *label, const char *optional) {
  const char *missing = l->path_column < 0 ? "path" : label && l->label_column < 0 ? label : NULL;
  if (!missing) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){l->csv.path, 1, 1},
                         "the list of %s has no column '%s'", l->what, missing),
                 "its first line names the columns: path%s%s, and optionally %s and weight",
                 label ? " and " : "", label ? label : "", optional);
}

static const char *const path_names[] = {"filename", "file_name", "path"};  // the last first
enum { PATH_NAMES = sizeof path_names / sizeof *path_names };

bool gr_file_list_is_path(const char *column) {
  bool found = false;
  for (int i = 0; i < PATH_NAMES; i++) found |= !strcmp(column, path_names[i]);
  return found;
}

void gr_file_list_find(gr_file_list *l, const char *label) {
  find_column(l, label, &l->label_column, &l->label);
  find_column(l, "split", &l->split_column, &l->split);
  find_column(l, "weight", &l->weight_column, &l->weight);
}

gr_status gr_file_list_open(gr_arena *a, const char *path, const char *what, const char *label,
                            const char *optional, gr_file_list *out) {
  gr_csv_format format = gr_csv_fixed;
  *out = (gr_file_list){.what = what, .path_column = -1};
  format.texts[0] = "path", format.texts[1] = "file_name";  // 001 is another file than 1
  if (gr_ends_in(path, ".tsv")) format.delimiter = '\t';
  out->archived = gr_archive_named(path);
  if (out->archived) {
    gr_names files;
    GR_TRY(gr_file_list_match(a, path, &files));
    GR_TRY(gr_csv_read_all(a, files.items, files.n, &format, &out->csv));
  } else {
    GR_TRY(gr_csv_read(a, path, &format, &out->csv));
  }
  out->columns_known = true;
  for (int i = 0; i < PATH_NAMES; i++)
    if (gr_csv_find(&out->csv, path_names[i]) >= 0)
      find_column(out, path_names[i], &out->path_column, &out->path);
  gr_file_list_find(out, label);
  GR_TRY(check_columns(out, label, optional));
  if (!out->csv.rows)
    return gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){path, 1, 1}, "the list of %s has no rows%s", what,
                           out->csv.typed ? "" : ", only a line of names"),
                   "a row has the path and the label of a file");
  return GR_OK;
}

gr_loc gr_file_list_place(const gr_file_list *l, uint32_t row) {
  return gr_csv_place(&l->csv, row);
}

gr_status gr_file_list_check(const gr_file_list *l, uint32_t row, int column) {
  if (column < 0 || !gr_csv_missing(&l->csv, row, column)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, gr_file_list_place(l, row), "there is no %s in this %s",
                         l->csv.columns[column].name, gr_csv_unit(&l->csv)),
                 "fill it in, or leave out the %s", gr_csv_unit(&l->csv));
}

gr_status gr_file_list_classes(gr_file_list *l, gr_arena *a, gr_classes *classes) {
  if (l->label_column >= 0 && l->label.element == GR_ELEMENT_FLOAT)
    return gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){l->csv.path, 1, 1},
                           "labels of the list of %s are numbers with fractions", l->what),
                   "classes are whole numbers or text");
  if (l->label_column >= 0) gr_classes_declare(classes, a, &l->label);
  gr_arena *scratch = gr_arena_create();
  gr_status s = GR_OK;
  l->class_of = GR_NEW(a, int32_t, l->csv.rows + 1);
  for (uint32_t row = 0; row < l->csv.rows && !s; row++) {
    s = gr_file_list_check(l, row, l->path_column);
    s = s ? s : gr_file_list_check(l, row, l->label_column);
    s = s ? s : gr_file_list_check(l, row, l->split_column);
    l->class_of[row] = -1;
    if (!s && l->label_column >= 0)
      s = gr_classes_add(classes, a, gr_array_text(scratch, &l->label, row),
                         gr_file_list_place(l, row), &l->class_of[row]);
  }
  return gr_arena_end(scratch, s);
}

static double number_in(const gr_file_list *l, uint32_t row, const char *column, const char *what) {
  char name[32];
  snprintf(name, sizeof name, "%s.%s", column, what);
  int c = gr_csv_find(&l->csv, name);
  if (c < 0 || gr_csv_missing(&l->csv, row, c)) return -1;
  gr_array numbers = gr_csv_array(&l->csv, c);
  return gr_array_is_text(&numbers) ? -1 : gr_array_number(&numbers, row);
}

gr_status gr_file_list_member(const gr_file_list *l, uint32_t row, const char *column,
                              gr_member *out) {
  *out = (gr_member){0};
  if (!l->archived) return GR_OK;
  double offset = number_in(l, row, column, "offset"), bytes = number_in(l, row, column, "bytes");
  gr_loc loc = gr_file_list_place(l, row);
  if (offset < 0 || bytes < 0)
    return gr_fail(GR_ERR_DATA, loc, "this sample has no %s",
                   strcmp(column, "path") ? column : l->what);
  *out = (gr_member){loc.file, (uint64_t)offset, (uint64_t)bytes};
  return GR_OK;
}

const char *gr_file_list_name(gr_arena *a, const gr_file_list *l, uint32_t row) {
  return gr_array_text(a, &l->path, row);
}

const char *gr_file_list_path(gr_arena *a, const gr_file_list *l, const char *name) {
  const char *list = l->csv.path, *slash = strrchr(list, '/');
  if (l->archived) return name;
  if (*name != '/' && l->root) return gr_arena_printf(a, "%s/%s", l->root, name);
  if (*name == '/' || !slash) return name;
  return gr_arena_printf(a, "%.*s%s", (int)(slash + 1 - list), list, name);
}

gr_status gr_file_list_weight(const gr_file_list *l, uint32_t row, bool *has, float *out) {
  *has = l->weight_column >= 0;
  if (!*has) return GR_OK;
  GR_TRY(gr_file_list_check(l, row, l->weight_column));
  double v = gr_array_is_text(&l->weight) ? -1 : gr_array_number(&l->weight, row);
  *out = (float)v;
  if (v >= 0 && v <= 1e30) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, gr_file_list_place(l, row),
                         "the weight in this %s is no number of at least 0", gr_csv_unit(&l->csv)),
                 "data.sampler=weighted draws samples in proportion to their weights");
}

gr_status gr_file_list_split(const gr_file_list *l, uint32_t row, uint64_t key,
                             gr_share *validation, gr_split *out) {
  if (l->split_column < 0) *out = gr_split_by_key(key, validation);
  if (l->split_column < 0) return GR_OK;
  gr_arena *scratch = gr_arena_create();
  const char *word = gr_array_text(scratch, &l->split, row);
  gr_status s = GR_OK;
  if (!gr_split_by_word(word, out))
    s = gr_hint(gr_fail(GR_ERR_DATA, gr_file_list_place(l, row), "the split in this %s is '%s'",
                        gr_csv_unit(&l->csv), word),
                GR_SPLIT_WORDS);
  return gr_arena_end(scratch, s);
}

// ---- Folders ------------------------------------------------------------------------------------

// Hidden files, and what macOS and Windows add to folders and archives, are no images.
static bool is_shown(const char *name) {
  static const char *const added[] = {"__MACOSX", "Thumbs.db", "desktop.ini"};
  for (size_t i = 0; i < sizeof added / sizeof *added; i++)
    if (!strcasecmp(name, added[i])) return false;
  return *name != '.';
}

gr_status gr_file_list_folder(gr_arena *a, const char *path, gr_names *out) {
  int n;
  *out = (gr_names){.items = gr_list_dir(a, path, &n)};
  if (!out->items) return gr_fail_errno(GR_ERR_DATA, errno, "cannot read the folder '%s'", path);
  for (int i = 0; i < n; i++)
    if (is_shown(out->items[i])) out->items[out->n++] = out->items[i];
  return GR_OK;
}

typedef struct tree {
  gr_arena *arena;
  gr_names files;
  int room;
} tree;

static gr_status add_tree(tree *t, const char *path, int depth) {
  enum { MAX_DEPTH = 8 };
  gr_names names;
  if (depth > MAX_DEPTH)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is %d folders deep", path, depth),
                   "a link to a folder above it makes an endless path: remove it");
  GR_TRY(gr_work_step(0));
  GR_TRY(gr_file_list_folder(t->arena, path, &names));
  for (int i = 0; i < names.n; i++) {
    const char *inner = gr_arena_printf(t->arena, "%s/%s", path, names.items[i]);
    if (gr_is_dir(inner)) {
      GR_TRY(add_tree(t, inner, depth + 1));
    } else {
      GR_GROW(t->arena, t->files.items, t->files.n, t->room);
      t->files.items[t->files.n++] = inner;
    }
  }
  return GR_OK;
}

gr_status gr_file_list_tree(gr_arena *a, const char *path, gr_names *out) {
  tree t = {.arena = a};
  gr_status s = add_tree(&t, path, 1);
  *out = t.files;
  return s;
}

// ---- Patterns -----------------------------------------------------------------------------------

// The paths of WebDataset's x-{000..123}.tar, numbers with as many digits as the first.
static bool expand_range(gr_arena *a, const char *path, gr_names *out) {
  int first, last, end = 0, room = 0;
  const char *brace = strchr(path, '{');
  int digits = brace ? (int)strspn(brace + 1, "0123456789") : 0;
  if (!digits || sscanf(brace, "{%9d..%9d}%n", &first, &last, &end) < 2 || !end || last < first ||
      last - first >= MAX_RANGE)
    return false;
  *out = (gr_names){0};
  for (int i = first; i <= last; i++) {
    GR_GROW(a, out->items, out->n, room);
    out->items[out->n++] =
        gr_arena_printf(a, "%.*s%0*d%s", (int)(brace - path), path, digits, i, brace + end);
  }
  return true;
}

// Where it matches no file it is the path itself.
static void match(gr_arena *a, const char *path, gr_names *out) {
  glob_t found;
  *out = (gr_names){GR_NEW(a, const char *, 1), 1};
  out->items[0] = path;
  if (gr_is_file(path) || expand_range(a, path, out) || !strpbrk(path, "*?[")) return;
  if (!glob(path, GLOB_NOSORT, NULL, &found) && found.gl_pathc < INT32_MAX) {
    out->items = GR_NEW(a, const char *, found.gl_pathc + 1), out->n = 0;
    for (size_t i = 0; i < found.gl_pathc; i++)
      if (gr_is_file(found.gl_pathv[i]))
        out->items[out->n++] = gr_arena_strdup(a, found.gl_pathv[i]);
    qsort(out->items, (size_t)out->n, sizeof *out->items, gr_order_texts);
    globfree(&found);
  } else {
    out->n = 0;
  }
}

gr_status gr_file_list_match(gr_arena *a, const char *path, gr_names *out) {
  match(a, path, out);
  if (out->n) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "no file matches '%s'", path),
                 "'*' stands for any letters but '/', '?' for one, '[ab]' for one of these");
}

bool gr_file_list_matches(const char *path) {
  gr_arena *a = gr_arena_create();
  gr_names files;
  match(a, path, &files);
  bool found = files.n && gr_is_file(files.items[0]);
  gr_arena_destroy(a);
  return found;
}

// ---- Folders of tables --------------------------------------------------------------------------

// Words are apart by a capital, too: trainLabels.
static bool begins_word(const char *name, size_t n) {
  return n > 0 && isupper((unsigned char)name[n]) && islower((unsigned char)name[n - 1]);
}

gr_table_use gr_file_list_use(const char *name) {
  static const struct {
    const char *word;
    gr_table_use use;
  } known[] = {{"train", GR_TABLE_TRAINS},    {"training", GR_TABLE_TRAINS},
               {"val", GR_TABLE_VALIDATES},   {"validation", GR_TABLE_VALIDATES},
               {"dev", GR_TABLE_VALIDATES},   {"valid", GR_TABLE_VALIDATES},
               {"test", GR_TABLE_OTHER},      {"testing", GR_TABLE_OTHER},
               {"submission", GR_TABLE_OTHER}};
  if (!strncasecmp(name, "t10k", 4)) return GR_TABLE_OTHER;  // MNIST's
  for (size_t n; *name; name += n ? n : 1) {
    for (n = 0; isalpha((unsigned char)name[n]) && !begins_word(name, n);) n++;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
      if (n == strlen(known[i].word) && !strncasecmp(name, known[i].word, n)) return known[i].use;
  }
  return GR_TABLE_ANY;
}

// How many letters two names begin with alike.
static int alike(const char *a, const char *b) {
  int n = 0;
  while (a[n] && a[n] == b[n]) n++;
  return n;
}

// Those of an ending and a use in a folder: a file, or a pattern; NULL: there are none, or a
// pattern would match others, too.
static const char *tables_of(gr_arena *a, const char *dir, const gr_names *names,
                             const char *ending, gr_table_use use) {
  const char *first = NULL;
  int n = 0, same = INT32_MAX;
  for (int i = 0; i < names->n; i++) {
    if (!gr_ends_in(names->items[i], ending) || gr_file_list_use(names->items[i]) != use) continue;
    if (n++ == 0) first = names->items[i];
    int here = alike(first, names->items[i]);
    same = here < same ? here : same;
  }
  if (n < 2) return n ? gr_arena_printf(a, "%s/%s", dir, first) : NULL;
  while (same && strchr("-_.0123456789", first[same - 1])) same--;
  if (use == GR_TABLE_ANY) same = 0;
  for (int i = 0; i < names->n && use != GR_TABLE_ANY; i++)
    if (gr_ends_in(names->items[i], ending) && alike(first, names->items[i]) >= same &&
        gr_file_list_use(names->items[i]) != use)
      return NULL;
  return gr_arena_printf(a, "%s/%.*s*%s", dir, same, first, ending);
}

static bool find_tables(gr_arena *a, const char *dir, gr_folder_tables *out) {
  static const char *const endings[] = {".parquet", ".tar", ".csv", ".tsv", ".jsonl", ".arff"};
  gr_names names = {0};
  const char *found = NULL;
  int kinds = 0;
  if (gr_is_dir(dir)) names.items = gr_list_dir(a, dir, &names.n);
  for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
    bool some = false;
    for (int i = 0; i < names.n; i++) some |= gr_ends_in(names.items[i], endings[e]);
    if (some) found = endings[e], kinds++;
  }
  if (kinds != 1) return false;
  *out = (gr_folder_tables){tables_of(a, dir, &names, found, GR_TABLE_TRAINS),
                            tables_of(a, dir, &names, found, GR_TABLE_VALIDATES),
                            tables_of(a, dir, &names, found, GR_TABLE_OTHER)};
  const char *any = tables_of(a, dir, &names, found, GR_TABLE_ANY);
  if (out->all) return out->other = out->other ? out->other : any, true;
  out->all = any;  // a pattern of any would match those of splits, too
  return any && !out->eval && !out->other;
}

bool gr_file_list_tables(gr_arena *a, const char *dir, gr_folder_tables *out) {
  return find_tables(a, dir, out) || find_tables(a, gr_arena_printf(a, "%s/data", dir), out);
}
