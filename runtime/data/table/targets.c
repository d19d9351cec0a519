// targets.c - labels that are values: one, several columns, an array of several, or lists of labels
// as marks of 0 and 1. See table.h.
#include <math.h>
#include <string.h>
#include "base/shown.h"
#include "runtime/data/table/table.h"

enum { MAX_LABEL = 4096 };  // bytes of a name in a list

int gr_table_labels(const gr_table *t) { return t->spec.labels.n ? t->spec.labels.n : 1; }

int gr_table_label_column(const gr_table_part *p, int i) { return i ? p->labels[i] : p->label; }

bool gr_table_is_label(const gr_table *t, const gr_table_part *p, int column) {
  if (p->label < 0) return false;
  for (int i = 0; i < gr_table_labels(t); i++)
    if (gr_table_label_column(p, i) == column) return true;
  return false;
}

// ---- Lists of labels ----------------------------------------------------------------------------

static const char *separator_of(const gr_table *t) {
  return t->spec.separator ? t->spec.separator : "|";
}

// Calls for each label of a row, in its order; blanks around it do not count.
typedef gr_status take_label(gr_table *, gr_table_part *, int64_t row, const char *name);

static gr_status each_label(gr_table *t, gr_table_part *p, int64_t row, const char *text,
                            take_label *take) {
  const char *separator = separator_of(t);
  for (const char *end; text; text = end ? end + strlen(separator) : NULL) {
    char name[MAX_LABEL];
    end = strstr(text, separator);
    text += strspn(text, " \t");
    size_t n = end && end > text ? (size_t)(end - text) : end ? 0 : strlen(text);
    while (n && strchr(" \t", text[n - 1])) n--;
    if (n >= sizeof name)
      return gr_fail(GR_ERR_DATA, gr_columns_place(&p->columns, row),
                     "a label has more than %d bytes", MAX_LABEL - 1);
    memcpy(name, text, n), name[n] = 0;
    if (n) GR_TRY(take(t, p, row, name));
  }
  return GR_OK;
}

static gr_status add_name(gr_table *t, gr_table_part *p, int64_t row, const char *name) {
  int32_t place;
  return gr_classes_add(&t->targets, t->arena, name, gr_columns_place(&p->columns, row), &place);
}

static gr_status mark(gr_table *t, gr_table_part *p, int64_t row, const char *name) {
  uint32_t place = 0;
  (void)gr_map_find(&t->targets.found, name, &place);  // add_name has been there
  p->marks[row * t->n_targets + t->target_number[place]] = 1;
  return GR_OK;
}

static gr_status each_row(gr_table *t, gr_table_part *p, take_label *take) {
  const gr_array *a;
  gr_arena *scratch = gr_arena_create();
  gr_status s = gr_columns_read(&p->columns, p->label, &a);
  for (int64_t row = 0; !s && row < a->count; row++)
    if (!gr_columns_missing(&p->columns, p->label, row))
      s = each_label(t, p, row, gr_array_text(scratch, a, row), take);
  return gr_arena_end(scratch, s);
}

// Labels of several words with another separator, where no row has that of the lists.
static gr_status check_separator(const gr_table *t, bool split) {
  static const char *const others[] = {";", ",", "/", "\t"};
  const gr_map *names = &t->targets.found;
  for (size_t k = 0; k < sizeof others / sizeof *others && !split; k++) {
    uint32_t with = 0, first = 0;
    for (uint32_t i = names->n; i-- > 0;)
      if (strstr(names->keys[i], others[k])) with++, first = i;
    if (with < 2 || 2 * with <= names->n) continue;
    return gr_hint(
        gr_about(
            gr_fail(GR_ERR_DATA, gr_columns_names(&t->part[0].columns),
                    "no row of '%s' has the separator '%s' of its labels, and %u of %u labels "
                    "have '%s' in them, as '%s'",
                    t->spec.label, separator_of(t), with, names->n, others[k], names->keys[first]),
            "label_separator label"),
        "%s.label_separator=\"'%s'\" separates them, \"'%s'\" takes them as they are", t->section,
        others[k], separator_of(t));
  }
  return GR_OK;
}

// Whether a row has several labels.
static gr_status has_several(gr_table *t, gr_table_part *p, bool *out) {
  const gr_array *a;
  gr_arena *scratch = gr_arena_create();
  gr_status s = gr_columns_read(&p->columns, p->label, &a);
  for (int64_t row = 0; !s && row < a->count && !*out; row++)
    *out = strstr(gr_array_text(scratch, a, row), separator_of(t)) != NULL;
  gr_arena_destroy(scratch);
  return s;
}

static gr_status find_lists(gr_table *t, const gr_names *recorded) {
  bool split = t->spec.separator_given || recorded->n;
  t->targets = gr_classes_make(t->arena);
  for (int i = 0; i < t->n_parts; i++) GR_TRY(each_row(t, &t->part[i], add_name));
  if (!t->targets.found.n && !recorded->n)
    return gr_about(gr_fail(GR_ERR_DATA, gr_columns_names(&t->part[0].columns),
                            "no row has a label in '%s'", t->spec.label),
                    "label");
  for (int i = 0; i < t->n_parts; i++) GR_TRY(has_several(t, &t->part[i], &split));
  GR_TRY(check_separator(t, split));
  GR_TRY(gr_classes_number(&t->targets, t->arena, true, recorded, &t->target_number));
  t->n_targets = t->targets.n;
  for (int i = 0; i < t->n_parts; i++) {
    gr_table_part *p = &t->part[i];
    p->marks = GR_NEW(t->arena, uint8_t, p->columns.rows * t->n_targets + 1);
    GR_TRY(each_row(t, p, mark));
  }
  return GR_OK;
}

// ---- Values -------------------------------------------------------------------------------------

// Values of a row of a column: 1, or those of its second dimension.
static int64_t values_of(const gr_array *a) { return a->rank > 1 ? a->dim[1] : 1; }

static gr_status count_values(const gr_table *t, gr_table_part *p, int64_t *out) {
  *out = 0;
  for (int i = 0; i < gr_table_labels(t); i++) {
    const gr_array *a;
    GR_TRY(gr_columns_read(&p->columns, gr_table_label_column(p, i), &a));
    if (!gr_array_is_text(a) && a->rank <= 2) {
      *out += values_of(a);
      continue;
    }
    return gr_hint(
        gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' of '%s' is %s, and one of several labels",
                         a->name, a->file, gr_array_is_text(a) ? "text" : "of many dimensions"),
                 "label"),
        "several labels are columns of numbers, such as 0 and 1");
  }
  return *out < GR_TABLE_FEATURES
             ? GR_OK
             : gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE, "there are more than %d labels",
                                GR_TABLE_FEATURES),
                        "label");
}

// Columns are called by their names, those of an array by it and their numbers.
static void name_targets(gr_table *t) {
  const gr_table_part *p = t->part;
  t->targets.names = GR_NEW(t->arena, const char *, t->n_targets);
  for (int i = 0; i < gr_table_labels(t); i++) {
    const gr_array *a = &p->columns.items[gr_table_label_column(p, i)].values;
    for (int64_t k = 0; k < values_of(a); k++)
      t->targets.names[t->targets.n++] =
          a->rank > 1 ? gr_arena_printf(t->arena, "%s[%lld]", a->name, (long long)k) : a->name;
  }
}

static gr_status find_values(gr_table *t) {
  int64_t n[2] = {0};
  for (int i = 0; i < t->n_parts; i++) GR_TRY(count_values(t, &t->part[i], &n[i]));
  if (t->n_parts > 1 && n[0] != n[1])
    return gr_about(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has %lld labels, '%s' %lld", t->part[0].columns.path,
                (long long)n[0], t->part[1].columns.path, (long long)n[1]),
        "label eval_path");
  t->n_targets = t->spec.labels.n || n[0] > 1 ? n[0] : 0;
  if (t->n_targets) name_targets(t);
  return GR_OK;
}

gr_status gr_table_refuse_missing(const gr_table_spec *s) {
  if (!s->may_miss) return GR_OK;
  return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                  "label_missing is for labels that are values, and these are "
                                  "classes"),
                          "label_missing"),
                 "data.skip_unreadable=true leaves out samples without a class; several columns, "
                 "or label_is=value, make labels values");
}

gr_status gr_table_find_targets(gr_table *t, const gr_json *record) {
  gr_names recorded = gr_names_recorded(t->arena, record, "targets");
  if (t->classes.n) GR_TRY(gr_table_refuse_missing(&t->spec));
  if (!t->spec.label || t->classes.n) return GR_OK;
  if (t->inputs) {
    t->targets.names = recorded.items, t->targets.n = recorded.n, t->n_targets = recorded.n;
    return GR_OK;
  }
  bool lists = t->spec.label_is == GR_LABEL_LIST && !t->spec.labels.n;
  const gr_array *first = &t->part[0].columns.items[t->part[0].label].values;
  return lists && first->rank == 1 ? find_lists(t, &recorded) : find_values(t);
}

// ---- Rows ---------------------------------------------------------------------------------------

// Whether label k of n of a row and a column has no value, where label_missing says that it may.
static bool is_missing(const gr_table *t, const gr_table_part *p, int column, int64_t row,
                       int64_t n, int64_t k) {
  if (!t->spec.may_miss || p->classes) return false;
  const gr_array *a = &p->columns.items[column].values;
  return gr_columns_missing(&p->columns, column, row) || isnan(gr_array_number(a, row * n + k));
}

gr_status gr_table_check_label(const gr_table *t, const gr_table_part *p, int64_t row) {
  char where[GR_COLUMNS_WHERE];
  if (p->label < 0 || p->marks) return GR_OK;  // a list of labels may be empty
  for (int i = 0; i < gr_table_labels(t); i++) {
    int column = gr_table_label_column(p, i);
    const gr_array *a = &p->columns.items[column].values;
    int64_t n = values_of(a);
    if (!is_missing(t, p, column, row, n, 0)) GR_TRY(gr_columns_need(&p->columns, column, row));
    for (int64_t k = 0; k < n && !p->classes; k++) {
      double v = gr_array_number(a, row * n + k);
      if (is_missing(t, p, column, row, n, k)) continue;
      gr_columns_where(&p->columns, row, a->file, where);
      if (!isfinite(v))
        return gr_fail(GR_ERR_DATA, GR_NOWHERE, "the label in %s is not finite", where);
      if (t->spec.label_is == GR_LABEL_LIST && v != 0 && v != 1)
        return gr_hint(
            gr_fail(GR_ERR_DATA, GR_NOWHERE, "the label '%s' in %s is %.9g", a->name, where, v),
            "with %s.label_is=labels it is 0 or 1", t->section);
    }
  }
  return GR_OK;
}

void gr_table_targets(const gr_table *t, const gr_table_part *p, int64_t row, float *out) {
  for (int64_t k = 0; p->marks && k < t->n_targets; k++) out[k] = p->marks[row * t->n_targets + k];
  for (int i = 0; !p->marks && i < gr_table_labels(t); i++) {
    int column = gr_table_label_column(p, i);
    const gr_array *a = &p->columns.items[column].values;
    int64_t n = values_of(a);
    gr_array_floats(a, row * n, n, out);
    for (int64_t k = 0; k < n; k++)
      if (is_missing(t, p, column, row, n, k)) out[k] = t->spec.missing;
    out += n;
  }
}

void gr_table_put_targets(const gr_table *t, const gr_table_part *p, int64_t row, gr_text *out) {
  int64_t n = t->n_targets ? t->n_targets : 1;
  gr_arena *scratch = gr_arena_create();
  float *y = GR_NEW(scratch, float, n);
  gr_table_targets(t, p, row, y);
  size_t before = out->len;
  for (int64_t i = 0; i < n; i++) {
    if (p->marks && y[i] == 0) continue;
    gr_text_put(out, out->len > before ? " " : "");
    if (p->marks)
      gr_text_put(out, t->targets.names[i]);
    else
      gr_text_printf(out, "%.6g", gr_shown((double)y[i]));
  }
  gr_arena_destroy(scratch);
}

void gr_table_target_field(const gr_table *t, gr_field_spec *y) {
  *y = (gr_field_spec){.name = "y", .dtype = GR_F32};
  if (t->n_targets) y->rank = 1, y->dim[0] = t->n_targets;
}
