// new_index.c - see new_index.h.
#include "cli/new_index.h"
#include <string.h>
#include <strings.h>
#include "base/grow.h"
#include "base/port.h"
#include "cli/new_columns.h"

// ---- Files --------------------------------------------------------------------------------------

// Arrays may be of anything, but images.
static bool is_listed(const gr_new_index *x, const char *name) {
  const gr_source_ending *e = gr_source_reads(x->kind->source, name);
  return e && e->in_lists && (e->what || x->kind->source != &gr_source_image);
}

static void add_files(gr_new_index *x, gr_names *all, int *room, const char *dir, int depth) {
  gr_names names = {0};
  gr_status_drop(gr_file_list_folder(x->arena, dir, &names));
  for (int i = 0; i < names.n; i++) {
    const char *path = gr_arena_printf(x->arena, "%s/%s", dir, names.items[i]);
    if (is_listed(x, path)) {
      GR_GROW(x->arena, all->items, all->n, *room);
      all->items[all->n++] = path;
    } else if (depth > 0 && gr_is_dir(path)) {
      add_files(x, all, room, path, depth - 1);
    }
  }
}

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static const char *folder_of(gr_arena *a, const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? gr_arena_strndup(a, path, (size_t)(slash - path)) : ".";
}

// Its name without folders and ending; of digits without zeros before them, which tables lose.
static const char *stem_of(const gr_new_index *x, const char *path) {
  const char *name = last_part(path), *dot = strrchr(name, '.');
  size_t n = dot && is_listed(x, name) ? (size_t)(dot - name) : strlen(name);
  const char *stem = gr_arena_strndup(x->arena, name, n);
  if (strspn(stem, "0123456789") == n)
    while (*stem == '0' && stem[1]) stem++;
  return stem;
}

gr_new_index gr_new_index_make(gr_arena *a, const gr_new_files *kind, const char *root, int depth) {
  gr_new_index x = {.arena = a, .kind = kind, .root = root, .first = gr_map_make(a)};
  int room = 0;
  add_files(&x, &x.files, &room, root, depth);
  x.next = GR_NEW(a, int, x.files.n + 1);
  for (int i = x.files.n - 1; i >= 0; i--) {
    uint32_t other;
    const char *stem = stem_of(&x, x.files.items[i]);
    x.next[i] = gr_map_find(&x.first, stem, &other) ? (int)other : -1;
    gr_map_put(&x.first, stem, (uint32_t)i);
  }
  return x;
}

gr_new_index gr_new_index_of(gr_arena *a, const gr_new_files *kind, const gr_csv *t) {
  const char *dir = folder_of(a, t->path), *name = last_part(dir);
  enum { WITHIN = 1, WITHIN_NAMED = 3 };
  bool beside = !strcmp(name, "meta") || !strcmp(name, "metadata");
  int depth = gr_new_find_listed(&(gr_new_index){.kind = kind}, t) < 0 ? WITHIN : WITHIN_NAMED;
  gr_new_index x =
      gr_new_index_make(a, kind, beside ? folder_of(a, dir) : dir, beside ? GR_NEW_DEPTH : depth);
  return x.apart = !beside, x;
}

// ---- Names --------------------------------------------------------------------------------------

// How many of the last folders of two paths are alike.
static int folders_alike(const char *a, const char *b) {
  const char *x = last_part(a), *y = last_part(b);
  int n = 0;
  for (; x > a && y > b; n++) {
    const char *x_end = --x, *y_end = --y;
    while (x > a && x[-1] != '/') x--;
    while (y > b && y[-1] != '/') y--;
    if (x_end == x || x_end - x != y_end - y || memcmp(x, y, (size_t)(x_end - x)) != 0) break;
  }
  return n;
}

gr_table_use gr_new_index_use(const gr_new_index *x, const char *path) {
  return gr_file_list_use(folder_of(x->arena, path + strlen(x->root)));
}

static int score(const gr_new_index *x, const char *cell, const char *path, gr_table_use use) {
  gr_table_use of = gr_new_index_use(x, path);
  int alike = folders_alike(cell, path), same = !strcmp(last_part(cell), last_part(path));
  return 8 * alike + 4 * same + (of == use ? 2 : of == GR_TABLE_TRAINS || of == GR_TABLE_ANY);
}

const char *gr_new_index_find(const gr_new_index *x, const char *cell, gr_table_use use) {
  char *name = gr_arena_strdup(x->arena, cell);
  uint32_t first;
  int best = -1, found = -1;
  for (char *c = name; *c; c++)
    if (*c == '\\') *c = '/';
  if (!gr_map_find(&x->first, stem_of(x, name), &first)) return NULL;
  for (int i = (int)first; i >= 0; i = x->next[i]) {
    int here = score(x, name, x->files.items[i], use);
    if (here >= best) found = here > best ? i : -1, best = here;
  }
  return found < 0 ? NULL : x->files.items[found];
}

const char *gr_new_cell(gr_arena *a, const gr_csv *t, uint32_t row, int column) {
  gr_array cells = gr_csv_array(t, column);
  return gr_csv_missing(t, row, column) ? "" : gr_array_text(a, &cells, row);
}

static bool has_fractions(const gr_csv *t) {
  bool some = false;
  for (int c = 0; c < t->n_columns; c++) some |= t->columns[c].type == GR_COLUMN_FLOAT;
  return some;
}

// Names without an ending are of one file each: else they may be classes.
static bool names_files(const gr_new_index *x, const gr_csv *t, int column, gr_table_use use) {
  enum { LOOKED_AT = 64 };
  uint32_t rows = t->rows < LOOKED_AT ? t->rows : LOOKED_AT, found = 0, n;
  gr_column_type type = t->columns[column].type;
  if (type == GR_COLUMN_FLOAT || (x->apart && type == GR_COLUMN_INT && has_fractions(t)))
    return false;
  for (uint32_t i = 0; i < rows; i++)
    found += gr_new_index_find(x, gr_new_cell(x->arena, t, i, column), use) != NULL;
  return 10 * found >= 9 * rows && 2 * (uint64_t)gr_csv_distinct(t, column, &n) > n;
}

int gr_new_find_listed(const gr_new_index *x, const gr_csv *t) {
  const char *slash = strrchr(t->path, '/');
  gr_table_use use = gr_file_list_use(slash ? slash : t->path);
  for (int c = 0; c < t->n_columns && t->rows; c++)
    if (t->columns[c].type == GR_COLUMN_TEXT && is_listed(x, t->columns[c].texts[0])) return c;
  for (int c = 0; c < t->n_columns && x->files.n && !t->typed; c++)
    if (names_files(x, t, c, use)) return c;
  return -1;
}

// ---- Tables -------------------------------------------------------------------------------------

static bool names_any(const gr_new_index *x, const char *path) {
  gr_csv t;
  if (!gr_is_file(path)) return false;
  gr_status s = gr_new_read_table(x->arena, path, &t);
  bool found = !s && gr_new_find_listed(x, &t) >= 0;
  gr_status_drop(s);
  return found;
}

// The names of others (validated.tsv) are no words of splits.
static gr_status find_sheets(const gr_new_index *x, const char *dir, gr_new_sheets *out) {
  const char *any = NULL, *second = NULL;
  int n = 0;
  const char **names = gr_is_dir(dir) ? gr_list_dir(x->arena, dir, &n) : NULL;
  for (int i = 0; i < n; i++) {
    const char *path = gr_arena_printf(x->arena, "%s/%s", dir, names[i]);
    bool table = gr_ends_in(path, ".csv") || gr_ends_in(path, ".tsv");
    if (!table || !names_any(x, path)) continue;
    gr_table_use use = gr_file_list_use(names[i]);
    if (use == GR_TABLE_TRAINS) out->all = path;
    if (use == GR_TABLE_VALIDATES) out->validation = path;
    if (use == GR_TABLE_OTHER) out->other = path;
    if (use == GR_TABLE_OTHER) continue;
    if (any) second = path;
    if (!any) any = path;
  }
  if (out->all) return GR_OK;
  *out = (gr_new_sheets){any ? any : out->other, NULL, any ? out->other : NULL};
  if (!second) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' and '%s' both name %s", any, second, x->kind->what),
      "give one of them: --from=%s", any);
}

gr_status gr_new_find_sheets(const gr_new_index *x, gr_new_sheets *out) {
  static const char *const folders[] = {"", "/meta", "/metadata"};
  *out = (gr_new_sheets){0};
  for (int i = 0; i < 2 && !out->all; i++) {
    const char *path = gr_arena_printf(x->arena, "%s/metadata.%s", x->root, i ? "jsonl" : "csv");
    if (names_any(x, path)) out->all = path;
  }
  for (size_t i = 0; i < sizeof folders / sizeof *folders && !out->all && x->files.n; i++)
    GR_TRY(find_sheets(x, gr_arena_printf(x->arena, "%s%s", x->root, folders[i]), out));
  return GR_OK;
}
