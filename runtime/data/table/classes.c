// classes.c - labels that are classes: collects the classes of columns. See table.h.
#include "base/shown.h"
#include "runtime/data/table/table.h"

static gr_status not_class(const gr_table_part *p, const gr_array *a, int64_t row) {
  char where[GR_COLUMNS_WHERE];
  return gr_hint(gr_about(gr_fail(GR_ERR_DATA, gr_columns_place(&p->columns, row),
                                  "the label in %s is %.9g, which is no class",
                                  gr_columns_where(&p->columns, row, a->file, where),
                                  gr_shown(gr_array_number(a, row))),
                          "label"),
                 "classes are whole numbers or text; data.table.label_is=value takes any number");
}

// Collects the classes of a part, in the order in which they are found.
static gr_status find_in(gr_table *t, gr_table_part *p, gr_arena *scratch) {
  const gr_array *a;
  int64_t number;
  GR_TRY(gr_columns_read(&p->columns, p->label, &a));
  p->classes = GR_NEW(t->arena, int32_t, a->count);
  gr_classes_declare(&t->classes, t->arena, a);
  for (int64_t row = 0; row < a->count; row++) {
    p->classes[row] = -1;
    if (gr_columns_missing(&p->columns, p->label, row)) continue;
    bool text = gr_array_is_text(a);
    if (!text && !gr_array_integer(a, row, &number)) return not_class(p, a, row);
    const char *name = text || a->names ? gr_array_text(scratch, a, row)
                                        : gr_arena_printf(scratch, "%lld", (long long)number);
    GR_TRY(gr_classes_add(&t->classes, t->arena, name, gr_columns_place(&p->columns, row),
                          &p->classes[row]));
  }
  return GR_OK;
}

// Labels of one file are values and those of the other are not.
static gr_status differ(const gr_table *t, const char *kind, const char *other_kind) {
  return gr_hint(
      gr_about(gr_fail(GR_ERR_DATA, gr_columns_names(&t->part[1].columns),
                       "the label '%s' of '%s' is %s, that of '%s' %s", t->spec.label,
                       t->part[1].columns.path, kind, t->part[0].columns.path, other_kind),
               "label_is label"),
      "%s.label_is=class or value, or write whole numbers alike in both files", t->section);
}

gr_status gr_table_has_classes(gr_table *t, bool *out, bool *text) {
  *out = t->spec.label != NULL, *text = false;
  for (int i = 0; t->spec.label && i < t->n_parts; i++) {
    const gr_array *a;
    GR_TRY(gr_columns_read(&t->part[i].columns, t->part[i].label, &a));
    bool several = t->spec.labels.n || a->rank > 2 || (a->rank == 2 && a->dim[1] != 1);
    if (a->rank > 2 || (several && t->spec.label_is == GR_LABEL_CLASS))
      return gr_hint(
          gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' in '%s' has several labels for each row",
                           a->name, a->file),
                   "label label_is"),
          "several columns are values: %s.label_is=value", t->section);
    bool list = t->spec.label_is == GR_LABEL_LIST;
    bool value = several || list || t->spec.label_is == GR_LABEL_VALUE ||
                 (t->spec.label_is == GR_LABEL_AUTO && a->element == GR_ELEMENT_FLOAT);
    *text |= gr_array_is_text(a);
    if (value && !list && gr_array_is_text(a))
      return gr_hint(
          gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE, "the label '%s' of '%s' is text, not a value",
                           a->name, a->file),
                   "label_is label"),
          "%s.label_is=class takes text; values are numbers in another column", t->section);
    if (i && *out == value)
      return differ(t, value ? "fractions" : "classes", value ? "classes" : "fractions");
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

// A class for nearly every row names the rows, or is a value.
static gr_status check_few(const gr_table *t, bool text) {
  uint64_t rows = 0;
  for (int i = 0; i < t->n_parts; i++) rows += (uint64_t)t->part[i].columns.rows;
  uint32_t n = (uint32_t)t->classes.n, most = rows < UINT32_MAX ? (uint32_t)rows : UINT32_MAX;
  if (!gr_csv_names_rows(n, most)) return GR_OK;
  return gr_hint(
      gr_about(gr_fail(GR_ERR_DATA, gr_columns_names(&t->part[0].columns),
                       "the label '%s' has %u classes in %u rows: too few of each to learn",
                       t->spec.label, n, most),
               "label"),
      text ? "another column for data.table.label"
           : "data.table.label_is=value for numbers to be predicted, or another column for "
             "data.table.label");
}

static gr_status check_several(const gr_table *t, bool text) {
  if (t->classes.n != 1) return check_few(t, text);
  return gr_hint(gr_about(gr_fail(GR_ERR_DATA, gr_columns_place(&t->part[0].columns, 0),
                                  "all rows of '%s' are of one class, '%s': there is nothing to "
                                  "tell apart",
                                  t->part[0].columns.path, t->classes.names[0]),
                          "label"),
                 "another column for data.table.label, rows of other classes, or "
                 "data.table.label_is=value");
}

gr_status gr_table_find_classes(gr_table *t, const gr_json *record) {
  bool classes, text;
  gr_names targets = gr_names_recorded(t->arena, record, "targets");
  if (t->inputs && t->spec.label && !targets.n)
    return gr_classes_recall(&t->classes, t->arena, record);
  if (t->inputs) return GR_OK;
  gr_names recorded = gr_names_recorded(t->arena, record, "class_names");
  GR_TRY(gr_table_has_classes(t, &classes, &text));
  if (!classes) return GR_OK;
  t->numbered = !text;
  gr_arena *scratch = gr_arena_create();
  gr_status s = GR_OK;
  int32_t *place;
  t->classes = gr_classes_make(t->arena);
  for (int i = 0; i < t->n_parts && !s; i++) s = find_in(t, &t->part[i], scratch);
  if (!s) s = gr_classes_number(&t->classes, t->arena, text, &recorded, &place);
  if (!s) renumber(t, place);
  if (!s && !recorded.n) s = check_several(t, text);
  return gr_arena_end(scratch, s);
}
