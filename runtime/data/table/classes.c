// classes.c - labels that are classes: collects the classes and numbers them. See table.h.
#include <stdlib.h>
#include <string.h>
#include "base/map.h"
#include "runtime/data/table/table.h"

typedef struct table_class {
  const char *name;
  int64_t number;  // if all labels are integers
  int32_t found;   // its index in the order of discovery
} table_class;

static int by_number(const void *x, const void *y) {
  const table_class *a = x, *b = y;
  return (a->number > b->number) - (a->number < b->number);
}
static int by_name(const void *x, const void *y) {
  return strcmp(((const table_class *)x)->name, ((const table_class *)y)->name);
}

static gr_status not_class(const gr_table_part *p, const gr_array *a, int64_t row) {
  return gr_hint(gr_about(gr_fail(GR_ERR_DATA, gr_columns_place(&p->columns, row),
                                  "the label in row %lld of '%s' is %.9g, which is no class",
                                  (long long)row, a->file, gr_array_number(a, row)),
                          "label"),
                 "classes are whole numbers or text; data.table.label_is=value takes any number");
}

// Collects the classes of a part, in the order in which they are found.
static gr_status find_in(gr_table *t, gr_table_part *p, gr_arena *scratch, gr_map *seen) {
  const gr_array *a;
  int64_t number;
  GR_TRY(gr_columns_read(&p->columns, p->label, &a));
  p->classes = GR_NEW(t->arena, int32_t, a->count);
  for (int64_t row = 0; row < a->count; row++) {
    uint32_t at;
    p->classes[row] = -1;
    if (gr_columns_missing(&p->columns, p->label, row)) continue;
    bool text = gr_array_is_text(a);
    if (!text && !gr_array_integer(a, row, &number)) return not_class(p, a, row);
    const char *name =
        text ? gr_array_text(scratch, a, row) : gr_arena_printf(scratch, "%lld", (long long)number);
    if (!gr_map_find(seen, name, &at)) {
      at = seen->n;
      if (at == GR_TABLE_CLASSES)
        return gr_hint(
            gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' in '%s' has more than %d classes",
                             a->name, a->file, GR_TABLE_CLASSES),
                     "label"),
            "data.table.label_is=value takes labels as numbers");
      gr_map_put(seen, gr_arena_strdup(t->arena, name), at);
    }
    p->classes[row] = (int32_t)at;
  }
  return GR_OK;
}

static gr_status is_class(gr_table *t, bool *out, bool *text) {
  *out = t->spec.label != NULL, *text = false;
  for (int i = 0; *out && i < t->n_parts; i++) {
    const gr_array *a;
    GR_TRY(gr_columns_read(&t->part[i].columns, t->part[i].label, &a));
    if (a->rank > 2 || (a->rank == 2 && a->dim[1] != 1))
      return gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                              "'%s' in '%s' has several labels for each row", a->name, a->file),
                      "label");
    *text |= gr_array_is_text(a);
    bool value = t->spec.label_is == GR_LABEL_VALUE ||
                 (t->spec.label_is == GR_LABEL_AUTO && a->element == GR_ELEMENT_FLOAT);
    if (value && gr_array_is_text(a))
      return gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                              "the label '%s' of '%s' is text, not a value", a->name, a->file),
                      "label_is label");
    *out = !value;
  }
  return GR_OK;
}

// Replaces the numbers in the order of discovery by those of `place`.
static void renumber(gr_table *t, const int32_t *place) {
  for (int i = 0; i < t->n_parts; i++)
    for (int64_t row = 0; row < t->part[i].columns.rows; row++)
      if (t->part[i].classes[row] >= 0) t->part[i].classes[row] = place[t->part[i].classes[row]];
}

// The row of a part where a class is first.
static gr_loc first_of(const gr_table *t, int32_t class) {
  for (int i = 0; i < t->n_parts; i++)
    for (int64_t row = 0; row < t->part[i].columns.rows; row++)
      if (t->part[i].classes[row] == class) return gr_columns_place(&t->part[i].columns, row);
  return GR_NOWHERE;
}

// Numbers the classes as the run has whose weights are used: other data may lack some of them.
static gr_status number_as(gr_table *t, const gr_map *seen, const gr_names *names) {
  int32_t *place = GR_NEW(t->arena, int32_t, seen->n + 1);
  gr_map known = gr_map_make(t->arena);
  for (int i = 0; i < names->n; i++) gr_map_put(&known, names->at[i], (uint32_t)i);
  for (uint32_t i = 0, at; i < seen->n; i++) {
    if (!gr_map_find(&known, seen->keys[i], &at))
      return gr_hint(gr_about(gr_fail(GR_ERR_DATA, first_of(t, (int32_t)i),
                                      "the label '%s' is none of the %d classes of the run",
                                      seen->keys[i], names->n),
                              "label"),
                     "its classes are in the data.json of its folder");
    place[i] = (int32_t)at;
  }
  t->names = names->at, t->n_classes = names->n;
  renumber(t, place);
  return GR_OK;
}

// Numbers the classes in sorted order.
static void sort_classes(gr_table *t, const gr_map *seen, bool text) {
  table_class *all = GR_NEW(t->arena, table_class, seen->n + 1);
  int32_t *place = GR_NEW(t->arena, int32_t, seen->n + 1);
  for (uint32_t i = 0; i < seen->n; i++)
    all[i] = (table_class){seen->keys[i], strtoll(seen->keys[i], NULL, 10), (int32_t)i};
  qsort(all, seen->n, sizeof *all, text ? by_name : by_number);
  t->names = GR_NEW(t->arena, const char *, seen->n + 1);
  for (uint32_t i = 0; i < seen->n; i++)
    place[all[i].found] = (int32_t)i, t->names[i] = all[i].name;
  t->n_classes = (int)seen->n;
  renumber(t, place);
}

gr_status gr_table_find_classes(gr_table *t, const gr_json *record) {
  bool classes, text;
  gr_names recorded = gr_table_recorded(t->arena, record, "class_names");
  if (t->inputs && !record && t->spec.label)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                           "the run's data.json, which names its classes, is not there"),
                   "every run writes it into its folder: copy the whole folder");
  if (t->inputs) {
    t->names = recorded.at, t->n_classes = recorded.n;
    return GR_OK;
  }
  GR_TRY(is_class(t, &classes, &text));
  if (!classes) return GR_OK;
  gr_arena *scratch = gr_arena_create();
  gr_map seen = gr_map_make(t->arena);
  gr_status s = GR_OK;
  for (int i = 0; i < t->n_parts && !s; i++) s = find_in(t, &t->part[i], scratch, &seen);
  if (!s && recorded.n) s = number_as(t, &seen, &recorded);
  if (!s && !recorded.n) sort_classes(t, &seen, text);
  gr_arena_destroy(scratch);
  return s;
}
