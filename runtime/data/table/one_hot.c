// one_hot.c - columns of which each value becomes a feature that is 1 in its rows and 0 in others;
// see table.h.
#include <string.h>
#include "base/map.h"
#include "runtime/data/table/table.h"

enum { MAX_VALUES = 1024 };  // of a column

static gr_status fail(const gr_table_column *c, const char *what) {
  return gr_about(
      gr_fail(GR_ERR_DATA, GR_NOWHERE, "the column '%s' of data.table.one_hot %s", c->name, what),
      "one_hot");
}

static gr_status check_column(const gr_table *t, const gr_table_part *p, int column,
                              const gr_array *a) {
  const gr_table_column *c = &p->columns.items[column];
  if (gr_table_is_label(t, p, column) || column == p->split)
    return gr_hint(fail(c, "is the label or the split"), "leave it out of one_hot");
  if (a->rank == 1 && (gr_array_is_text(a) || gr_array_is_whole(a))) return GR_OK;
  return gr_hint(fail(c, "has neither texts nor whole numbers, one for each row"),
                 "numbers with fractions are features as they are");
}

// What a row has: as text, and NULL where it is missing.
static const char *value_of(gr_arena *a, const gr_table_part *p, int column, int64_t row) {
  if (gr_columns_missing(&p->columns, column, row)) return NULL;
  return gr_array_text(a, &p->columns.items[column].values, row);
}

// The features NAME=VALUE of the run, or of the file that is trained on, in their order.
static gr_names known_values(const gr_table *t, const char *name) {
  size_t n = strlen(name);
  gr_names out = {GR_NEW(t->arena, const char *, t->spec.features.n + 1), 0};
  for (int i = 0; i < t->spec.features.n; i++) {
    const char *feature = t->spec.features.items[i];
    if (!strncmp(feature, name, n) && feature[n] == '=') out.items[out.n++] = feature + n + 1;
  }
  return out;
}

// The values of a column that is trained on, in the order of texts or of numbers.
static gr_status find_values(const gr_table *t, const gr_table_part *p, int column, gr_names *out) {
  const gr_table_column *c = &p->columns.items[column];
  const gr_names none = {NULL, 0};
  gr_classes found = gr_classes_make(t->arena);
  gr_arena *scratch = gr_arena_create();
  gr_status s = GR_OK;
  int32_t *place;
  for (int64_t row = 0; row < c->values.dim[0] && !s; row++) {
    const char *value = value_of(scratch, p, column, row);
    int32_t number;
    if (value)
      s = gr_classes_add(&found, t->arena, value, gr_columns_place(&p->columns, row), &number);
    if (!s && found.found.n > MAX_VALUES)
      s = gr_hint(fail(c, gr_arena_printf(scratch, "has more than %d values", MAX_VALUES)),
                  "a name of rows says nothing; numbers are features as they are");
  }
  gr_arena_destroy(scratch);
  GR_TRY(s);
  GR_TRY(gr_classes_number(&found, t->arena, gr_array_is_text(&c->values), &none, &place));
  *out = (gr_names){found.names, found.n};
  return found.n ? GR_OK : fail(c, "has no values");
}

static void note_unknown(gr_table_part *p, const char *name, int64_t row) {
  if (!p->unknown++) p->unknown_column = name, p->unknown_row = row;
}

// Appends a column for each value.
static gr_status add_columns(const gr_table *t, gr_table_part *p, int column,
                             const gr_names *values) {
  gr_table_column *to = gr_columns_room(t->arena, &p->columns, values->n);
  gr_table_column *of = &p->columns.items[column];
  int64_t rows = of->values.dim[0];
  gr_map numbers = gr_map_make(t->arena);
  unsigned char *marks = gr_arena_alloc(t->arena, (size_t)rows * (size_t)values->n + 1);
  for (int i = 0; i < values->n; i++) {
    to[i] = *of;
    to[i].name = gr_arena_printf(t->arena, "%s=%s", of->name, values->items[i]);
    to[i].value = values->items[i];
    to[i].values = (gr_array){.file = of->values.file,
                              .name = to[i].name,
                              .element = GR_ELEMENT_UINT,
                              .size = 1,
                              .rank = 1,
                              .dim = {rows},
                              .count = rows,
                              .data = marks + i * rows};
    gr_map_put(&numbers, values->items[i], (uint32_t)i);
    if (gr_columns_find(&p->columns, to[i].name) >= 0)
      return gr_hint(fail(of, "has a value for which there is a column"), "rename the column '%s'",
                     to[i].name);
  }
  gr_arena *scratch = gr_arena_create();
  for (int64_t row = 0; row < rows; row++) {
    uint32_t i;
    const char *value = value_of(scratch, p, column, row);
    if (value && gr_map_find(&numbers, value, &i))
      marks[i * rows + row] = 1;
    else if (value)
      note_unknown(p, of->name, row);
  }
  gr_arena_destroy(scratch);
  p->columns.n += values->n, of->one_hot = true;
  return GR_OK;
}

// In a list of features that the configuration names, a column stands for its values.
static gr_status expand(gr_table *t, const gr_table_column *c, const gr_names *values) {
  const gr_names *old = &t->spec.features;
  const char *name = c->name;
  bool found = false;
  gr_names all = {GR_NEW(t->arena, const char *, old->n + values->n), 0};
  for (int i = 0; i < old->n; i++) {
    bool is_column = !strcmp(old->items[i], name);
    if (!is_column) all.items[all.n++] = old->items[i];
    for (int k = 0; k < values->n && is_column; k++)
      all.items[all.n++] = gr_arena_printf(t->arena, "%s=%s", name, values->items[k]);
    found |= is_column;
  }
  if (old->n && !found)
    return gr_hint(fail(c, "is not among data.table.features"),
                   "add it to the features, or leave it out of one_hot");
  t->spec.features = all;
  return GR_OK;
}

gr_status gr_table_one_hot(gr_table *t, gr_table_part *p, int column) {
  const gr_array *a;
  const char *name = p->columns.items[column].name;
  GR_TRY(gr_columns_read(&p->columns, column, &a));
  GR_TRY(check_column(t, p, column, a));
  gr_names values = known_values(t, name);
  if (!values.n) {
    GR_TRY(find_values(t, p, column, &values));
    GR_TRY(expand(t, &p->columns.items[column], &values));
  }
  return add_columns(t, p, column, &values);
}
