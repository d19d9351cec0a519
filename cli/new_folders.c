// new_folders.c - see new_folders.h.
#include "cli/new_folders.h"
#include <string.h>
#include <strings.h>
#include "base/port.h"
#include "cli/new_columns.h"
#include "runtime/data/file_list.h"
#include "runtime/data/image/image.h"

// ---- Folders ------------------------------------------------------------------------------------

// What cannot be read is not what is not there. Folders are looked into within reason: a link may
// lead upwards.
static gr_status check_within(gr_arena *a, const char *dir, int depth) {
  enum { MOST = 8 };
  gr_names names;
  GR_TRY(gr_file_list_folder(a, dir, &names));
  for (int i = 0; i < names.n && depth < MOST; i++) {
    const char *inner = gr_arena_printf(a, "%s/%s", dir, names.items[i]);
    if (gr_is_dir(inner)) GR_TRY(check_within(a, inner, depth + 1));
  }
  return GR_OK;
}

gr_status gr_new_check_readable(gr_arena *a, const char *dir) { return check_within(a, dir, 0); }

enum { KINDS = 4 };
typedef struct kind_of_files {
  const char *ending;
  int n;
} kind_of_files;

gr_status gr_new_say_files(gr_arena *a, const char *dir, const char **out) {
  gr_names files;
  gr_text said = gr_text_make(a);
  kind_of_files kinds[KINDS + 1] = {{0}};
  GR_TRY(gr_file_list_tree(a, dir, &files));
  for (int i = 0; i < files.n; i++) {
    const char *name = strrchr(files.items[i], '/') + 1, *dot = strrchr(name, '.');
    const char *ending = dot ? dot : "without an ending";
    int k = 0;
    while (k < KINDS && kinds[k].ending && strcasecmp(kinds[k].ending, ending) != 0) k++;
    kinds[k].ending = k < KINDS ? ending : "others", kinds[k].n++;
  }
  for (int k = 0; k <= KINDS && kinds[k].ending; k++)
    gr_text_printf(&said, "%s%d %s", k ? ", " : "", kinds[k].n, kinds[k].ending);
  *out = files.n ? said.chars : "no files";
  return GR_OK;
}

const char *gr_new_unwrap(gr_arena *a, const char *path) {
  enum { MOST = 8 };
  for (int depth = 0; depth < MOST; depth++) {
    gr_names names;
    gr_status s = gr_file_list_folder(a, path, &names);
    const char *inner = !s && names.n == 1 ? gr_arena_printf(a, "%s/%s", path, names.items[0]) : "";
    gr_status_drop(s);
    if (!gr_is_dir(inner)) break;
    path = inner;
  }
  return path;
}

// ---- Tables -------------------------------------------------------------------------------------

// What the folders of splits have, or of series the only file, or that for training.
static bool find_within(gr_arena *a, const char *dir, const gr_names *names,
                        gr_folder_tables *out) {
  const char *series = NULL;
  for (int i = 0; i < names->n; i++) {
    const char *path = gr_arena_printf(a, "%s/%s", dir, names->items[i]);
    gr_table_use use = gr_file_list_use(names->items[i]);
    gr_folder_tables inner;
    if (gr_ends_in(path, ".ts") && (use == GR_TABLE_TRAINS || names->n == 1)) series = path;
    if (use == GR_TABLE_ANY || !gr_is_dir(path) || !gr_file_list_tables(a, path, &inner)) continue;
    const char **to = use == GR_TABLE_TRAINS      ? &out->all
                      : use == GR_TABLE_VALIDATES ? &out->eval
                                                  : &out->other;
    *to = inner.all;
  }
  if (!out->all) out->all = series;
  return out->all != NULL;
}

gr_status gr_new_find_tables(gr_arena *a, const char *dir, gr_folder_tables *out, bool *found) {
  gr_names names;
  *found = gr_file_list_tables(a, dir, out);
  if (*found) return GR_OK;
  *out = (gr_folder_tables){0};
  GR_TRY(gr_file_list_folder(a, dir, &names));
  return *found = find_within(a, dir, &names, out), GR_OK;
}

bool gr_new_is_tested(const char *table, const char *tests) {
  gr_arena *a = gr_arena_create();
  gr_csv t, other;
  gr_status s = gr_new_read_table(a, table, &t);
  s = s ? s : gr_new_read_table(a, tests, &other);
  bool same = !s && t.n_columns == other.n_columns;
  for (int c = 0; same && c < t.n_columns; c++) same = gr_csv_find(&other, t.columns[c].name) >= 0;
  gr_status_drop(s);
  gr_arena_destroy(a);
  return same;
}

const char *gr_new_find_untested(gr_arena *a, const char *table, const char *tests) {
  gr_csv t, other;
  const char *found = NULL;
  int n = 0;
  gr_status s = gr_new_read_table(a, table, &t);
  s = s ? s : gr_new_read_table(a, tests, &other);
  for (int c = 0; !s && c < t.n_columns; c++)
    if (gr_csv_find(&other, t.columns[c].name) < 0) found = t.columns[c].name, n++;
  bool one = !s && n == 1 && other.n_columns == t.n_columns - 1;
  gr_status_drop(s);
  return one ? found : NULL;
}

// Words have blanks between them, too: rows of these are of numbers, or name files.
static bool is_of_words(const gr_csv *t) {
  bool words = false;
  for (int c = 0; c < t->n_columns; c++) words |= t->columns[c].type == GR_COLUMN_TEXT;
  return words && !(t->columns[0].type == GR_COLUMN_TEXT &&
                    gr_source_of_file(t->columns[0].texts[0], NULL) == &gr_source_image);
}

// A text as a table; *good: whether its lines have fields, the same number each.
static gr_csv read_fields(gr_arena *a, const char *path, bool *good) {
  enum { LEAST = 16 };
  gr_csv t;
  gr_status s = gr_csv_read(a, path, &gr_csv_any, &t);
  *good = !s && t.n_columns > 1 && t.rows >= LEAST;
  *good = *good && (t.format.delimiter != ' ' || !is_of_words(&t));
  gr_status_drop(s);
  return t;
}

bool gr_new_is_table(gr_arena *a, const char *path) {
  bool good;
  (void)read_fields(a, path, &good);
  return good;
}

gr_status gr_new_check_columns(gr_arena *a, const char *path) {
  bool good, aligned = false;
  gr_csv t = read_fields(a, path, &good);
  for (int c = 0; good && t.format.delimiter == ' ' && c < t.n_columns; c++)
    aligned |= t.columns[c].missing == t.rows;
  if (!aligned) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, ((gr_loc){path, 1, 1}),
                         "columns of numbers are aligned by several blanks"),
                 "one ',' between them, in a .csv: sed -E 's/^ +//; s/ +/,/g'");
}
