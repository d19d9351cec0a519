// new_arrays.c - see new_arrays.h.
#include "cli/new_arrays.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/port.h"
#include "base/sort.h"
#include "cli/new_tables.h"
#include "runtime/data/file_list.h"
#include "runtime/data/source.h"
#include "runtime/data/table/columns.h"

// What is trained on, and the files that training reads.
typedef struct arrays {
  gr_names train, eval;
  gr_columns columns;  // of those to train on
  const gr_array *x, *y;
  uint32_t classes;  // 0: y has values
} arrays;

// What a project is made of: the text of its configuration is that of rows.
typedef struct layout {
  const char *what, *kind, *value_kind, *params;
} layout;

bool gr_new_is_arrays(const char *path) {
  const gr_source_ending *e = gr_source_reads(&gr_source_table, path);
  return e && !e->text && strcmp(e->ending, ".parquet") != 0;
}

// ---- Files --------------------------------------------------------------------------------------

// Files of .npz have all arrays; others are packed beside what they are of.
static bool is_taken(const char *dir, const char *name, bool packed) {
  gr_arena *a = gr_arena_create();
  const char *plain = gr_arena_printf(a, "%s/%.*s", dir, (int)(strlen(name) - 3), name);
  bool twice = gr_ends_in(name, ".gz") && gr_is_file(plain);
  gr_arena_destroy(a);
  return gr_new_is_arrays(name) && gr_ends_in(name, ".npz") == packed && !twice;
}

static gr_names files_of(gr_arena *a, const char *dir, const gr_names *all, bool packed,
                         gr_table_use use) {
  gr_names out = {.items = GR_NEW(a, const char *, all->n + 1)};
  for (int i = 0; i < all->n; i++)
    if (is_taken(dir, all->items[i], packed) && gr_file_list_use(all->items[i]) == use)
      out.items[out.n++] = gr_arena_printf(a, "%s/%s", dir, all->items[i]);
  return out;
}

static gr_status find_files(gr_arena *a, const char *path, arrays *out) {
  gr_names all;
  bool is_dir = gr_is_dir(path);
  out->train = (gr_names){.items = GR_NEW(a, const char *, 1), .n = 1};
  out->train.items[0] = path;
  if (gr_ends_in(path, ".npz")) return GR_OK;
  const char *dir = is_dir ? path : gr_arena_strndup(a, path, (size_t)(strrchr(path, '/') - path));
  GR_TRY(gr_file_list_folder(a, dir, &all));
  for (int packed = is_dir; packed >= 0; packed--) {
    out->train = files_of(a, dir, &all, packed, GR_TABLE_TRAINS);
    out->eval = files_of(a, dir, &all, packed, GR_TABLE_VALIDATES);
    if (!out->eval.n) out->eval = files_of(a, dir, &all, packed, GR_TABLE_OTHER);
    if (!out->train.n) out->train = files_of(a, dir, &all, packed, GR_TABLE_ANY);
    if (out->train.n && packed) out->train.n = 1, out->eval.n = out->eval.n > 0;
    if (out->train.n) break;
  }
  return GR_OK;
}

// ---- Roles --------------------------------------------------------------------------------------

static bool is_usual(const char *name, const char *const *words) {
  while (*words && strcasecmp(name, *words) != 0) words++;
  return *words != NULL;
}

// "x [60000, 28, 28] of u8, y [60000] of i64"
static const char *list_of(gr_arena *a, const gr_columns *c) {
  gr_text t = gr_text_make(a);
  for (int i = 0; i < c->n; i++) {
    const gr_array *v = &c->items[i].values;
    gr_text_printf(&t, "%s%s [", i ? ", " : "", c->items[i].name);
    for (int k = 0; k < v->rank; k++)
      gr_text_printf(&t, "%s%lld", k ? ", " : "", (long long)v->dim[k]);
    gr_text_printf(&t, "] of %s", gr_array_type(v));
  }
  return t.chars;
}

static gr_status no_roles(gr_new_own *o, const arrays *s, const char *lacks) {
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s': of its arrays none is %s; it has: %s",
                         s->columns.path, lacks, list_of(o->arena, &s->columns)),
                 "numpy.savez('data.npz', x=..., y=...), whose first dimension is the samples; or "
                 "--label=NAME of the array that is to be predicted");
}

// The array of a usual name, or the only one whose rows are `numbers` (one each) or more; NULL.
static const gr_array *find_role(const arrays *s, const gr_array *but, const char *const *words,
                                 bool numbers) {
  const gr_array *only = NULL;
  int n = 0;
  for (int i = 0; i < s->columns.n; i++) {
    const gr_array *v = &s->columns.items[i].values;
    bool one = v->rank == 1 || (v->rank == 2 && v->dim[1] == 1);
    if (v == but || !v->rank || (s->x && v->dim[0] != s->x->dim[0])) continue;
    if (is_usual(s->columns.items[i].name, words)) return v;
    if (one == numbers) only = v, n++;
  }
  return n == 1 ? only : NULL;
}

static const char *name_of(const arrays *s, const gr_array *v) {
  int i = 0;
  while (&s->columns.items[i].values != v) i++;
  return s->columns.items[i].name;
}

static gr_status find_roles(gr_new_own *o, arrays *s) {
  static const char *const features[] = {"x",        "images", "image",   "data",
                                         "features", "inputs", "windows", NULL};
  static const char *const labels[] = {"y", "label", "labels", "target", "targets", "class", NULL};
  for (int i = 0; i < s->columns.n; i++) {
    const gr_array *v;
    s->columns.rows = -1;  // of .npz: only those that are used have as many
    GR_TRY(gr_columns_read(&s->columns, i, &v));
  }
  int given = o->label ? gr_columns_find(&s->columns, o->label) : -1;
  if (o->label && given < 0)
    return no_roles(o, s, gr_arena_printf(o->arena, "called '%s'", o->label));
  const gr_array *label = given < 0 ? NULL : &s->columns.items[given].values;
  s->x = find_role(s, label, features, false);
  if (!s->x || s->x == label) return no_roles(o, s, "what it is to be predicted of, x");
  s->y = label ? label : find_role(s, s->x, labels, true);
  if (!s->y || !s->y->rank || s->y->dim[0] != s->x->dim[0])
    return no_roles(o, s, "to be predicted, y, with as many rows as x");
  if (s->y->rank == 1 || (s->y->rank == 2 && s->y->dim[1] == 1)) return GR_OK;
  return no_roles(o, s,
                  "of one class or value for each row, to be predicted (of one-hot rows: "
                  "y.argmax(1))");
}

// ---- Classes and values -------------------------------------------------------------------------

// Whole numbers are classes, unless nearly each row has another.
static gr_status count_classes(gr_new_own *o, arrays *s, double *y) {
  enum { FEW = 20, ROWS_EACH = 10 };
  size_t n = (size_t)s->y->count, distinct = 1;
  bool text = gr_array_is_text(s->y), whole = true;
  const char **names = GR_NEW(o->arena, const char *, text ? n : 1);
  for (size_t i = 0; i < n && text; i++) names[i] = gr_array_text(o->arena, s->y, (int64_t)i);
  if (!text) gr_array_doubles(s->y, 0, s->y->count, y);
  if (n)
    qsort(text ? (void *)names : y, n, text ? sizeof *names : sizeof *y,
          text ? gr_order_texts : gr_order_numbers);
  for (size_t i = 0; i < n; i++) {
    whole = whole && (text || floor(y[i]) == y[i]);
    distinct += i && (text ? strcmp(names[i], names[i - 1]) != 0 : y[i] != y[i - 1]);
  }
  if (n < 2 || distinct < 2)
    return no_roles(o, s, "to be predicted, of more than one class or value");
  bool value = !text && (!whole || (distinct > FEW && ROWS_EACH * distinct > n));
  s->classes = value ? 0 : (uint32_t)distinct;
  return GR_OK;
}

// ---- Layouts ------------------------------------------------------------------------------------

static bool is_bytes(const gr_array *a) { return a->element == GR_ELEMENT_UINT && a->size == 1; }

static gr_status find_layout(gr_new_own *o, const arrays *s, layout *out) {
  enum { LEAST_SIDE = 8 };
  static const layout rows = {"rows", "table", "regression", "width: 32, layers: 2"},
                      images = {"images", "image", "image_regression", "filters: 8"},
                      series = {"series", "series", NULL, "filters: 16"};
  const int64_t *dim = s->x->dim;
  bool large = s->x->rank > 2 && dim[1] >= LEAST_SIDE && dim[2] >= LEAST_SIDE;
  if (gr_array_is_text(s->x)) return no_roles(o, s, "of numbers, x");
  *out = s->x->rank == 2                                                   ? rows
         : s->x->rank == 4 || (s->x->rank == 3 && is_bytes(s->x) && large) ? images
                                                                           : series;
  if (s->x->rank <= 4 && (s->classes || out->value_kind)) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_USAGE, GR_NOWHERE,
              "'%s': there is no project for a %s of each '%s'; it has: %s", s->columns.path,
              s->classes ? "class" : "value", name_of(s, s->x), list_of(o->arena, &s->columns)),
      "rows [n, features]; series [n, moments, channels], with a class; images [n, "
      "height, width] or [n, height, width, channels] of u8; or a configuration of "
      "your own, of the source `table`: configs/digits.yaml is one");
}

// The graph with `new` in place of the first `old`.
static void change(gr_new_own *o, const char *old, const char *new) {
  const char *graph = o->graph ? o->graph : o->kind->texts[1], *first = strstr(graph, old);
  if (first)
    o->graph = gr_arena_printf(o->arena, "%.*s%s%s", (int)(first - graph), graph, new,
                               first + strlen(old));
}

// Images are bytes of [height, width, channels] there.
static void set_images(gr_new_own *o, const gr_array *x) {
  static const char first[] = "  - x: {stage: x, out: filters, name: stage1}";
  const char *shape = x->rank == 3 ? "[n, h, w]" : "[n, h, w, c]", *node = "";
  if (x->rank == 3) node = "  - x: {reshape: x, shape: [n, h, w, 1]}   # one channel\n";
  if (x->rank == 4 && x->dim[1] <= 4 && x->dim[3] > 4)
    shape = "[n, c, h, w]", node = "  - x: {transpose: x, perm: [0, 2, 3, 1]}   # channels last\n";
  if (is_bytes(x)) {
    gr_new_set(o, "normalize", "false"),
        gr_new_add(o, "normalize", "dtype: u8   # bytes, as they are");
  } else {
    change(o,
           "  - x: {cast: x, to: f32}               # bytes travel to the device, and are "
           "converted there\n",
           "");
    change(o, "  - x: {scale: x, by: 1 / 255}\n", "");
  }
  change(o, "shape: [n, h, w, c], dtype: u8",
         gr_arena_printf(o->arena, "shape: %s, dtype: %s", shape, is_bytes(x) ? "u8" : "f32"));
  change(o, first, gr_arena_printf(o->arena, "%s%s", node, first));
}

static const char *path_list(gr_new_own *o, const gr_names *files) {
  gr_text t = gr_text_make(o->arena);
  for (int i = 0; i < files->n; i++)
    gr_text_printf(&t, "%s%s", i ? ", " : "", gr_new_quoted(o, files->items[i]));
  return files->n == 1 ? t.chars : gr_arena_printf(o->arena, "[%s]", t.chars);
}

static void set_files(gr_new_own *o, const arrays *s) {
  gr_new_set(o, "path", path_list(o, &s->train));
  if (s->eval.n)
    gr_new_add(o, "path",
               gr_arena_printf(o->arena, "eval_path: %s   # validation", path_list(o, &s->eval)));
  if (s->eval.n || s->columns.has_other) gr_new_drop(o, "validation_fraction");
  gr_new_name(o, "label", name_of(s, s->y));
  if (s->classes) gr_new_add(o, "label", gr_new_is_class);
  gr_new_add(o, "path",
             gr_arena_printf(o->arena, "features: %s   # this array becomes x",
                             gr_new_quoted(o, name_of(s, s->x))));
}

static void say(gr_new_own *o, const arrays *s, const layout *l) {
  const char *name = s->eval.n ? strrchr(s->eval.items[0], '/') + 1 : NULL;
  gr_text_printf(&o->said, "%lld %s, in '%s' [", (long long)s->x->dim[0], l->what,
                 name_of(s, s->x));
  for (int k = 0; k < s->x->rank; k++)
    gr_text_printf(&o->said, "%s%lld", k ? ", " : "", (long long)s->x->dim[k]);
  gr_text_printf(&o->said, "] of %s; to predict: '%s'", gr_array_type(s->x), name_of(s, s->y));
  if (s->classes)
    gr_text_printf(&o->said, ", %u classes\n", s->classes);
  else
    gr_text_put(&o->said, ", a number\n");
  if (name) gr_text_printf(&o->said, "for validation: '%s'\n", name);
  if (!name && s->columns.has_other)
    gr_text_put(&o->said, "for validation: the arrays called as a split is\n");
}

static gr_status make(gr_new_own *o, arrays *s) {
  layout l;
  double *y = GR_NEW(o->arena, double, s->y->count + 1);
  GR_TRY(count_classes(o, s, y));
  GR_TRY(find_layout(o, s, &l));
  gr_new_begin(o, s->classes ? "table" : "regression", "path", s->train.items[0]);
  set_files(o, s);
  gr_new_set(o, "params", gr_arena_printf(o->arena, "{%s}", l.params));
  if (!s->classes) gr_new_set_scale_of(o, l.params, y, (size_t)s->y->count);
  for (o->kind = gr_new_kinds; strcmp(o->kind->name, s->classes ? l.kind : l.value_kind) != 0;)
    o->kind++;
  say(o, s, &l);
  if (s->classes) gr_new_set_classes(o, s->classes);
  if (l.kind[0] == 'i') set_images(o, s->x);
  // [rows, channels, moments], as archives of series have them, or [rows, moments]
  if (s->x->rank == 3 && l.kind[0] == 's' && s->x->dim[1] < s->x->dim[2])
    gr_new_add(o, "label", "channels: all   # x [n, t, c], of an array [rows, channels, moments]");
  return GR_OK;
}

gr_status gr_new_find_arrays(gr_new_own *o, const char *path, bool *found) {
  arrays s = {0};
  gr_csv_format format = gr_csv_any;
  *found = false;
  GR_TRY(find_files(o->arena, path, &s));
  if (!s.train.n) return GR_OK;
  *found = true;
  GR_TRY(gr_columns_open(o->arena, s.train.items, s.train.n, &format, GR_SPLIT_TRAIN, NULL,
                         &s.columns));
  gr_status found_roles = find_roles(o, &s);
  if (!found_roles) found_roles = make(o, &s);
  gr_columns_close(&s.columns);
  return found_roles;
}
