// ids.c - columns that a model looks up in tables: data.table.ids. See table.h.
#include <math.h>
#include <string.h>
#include "runtime/data/table/table.h"

enum { MAX_ID = 1 << 24 };  // f32 has all whole numbers up to it

static bool is_named(const gr_names *names, const char *name) {
  for (int i = 0; i < names->n; i++)
    if (!strcmp(names->items[i], name)) return true;
  return false;
}

bool gr_table_is_id(const gr_table *t, const char *column) {
  return is_named(&t->spec.ids, column);
}

static gr_status fail(gr_loc loc, const char *column, const char *what) {
  return gr_about(gr_fail(GR_ERR_DATA, loc, "the column '%s' of data.table.ids %s", column, what),
                  "ids");
}

static gr_status check_values(const gr_table_part *p, int column) {
  const gr_table_column *c = &p->columns.items[column];
  const gr_array *a = &c->values;
  int64_t each = a->dim[0] ? a->count / a->dim[0] : 0;
  for (int64_t row = 0; row < a->dim[0]; row++) {
    if (gr_columns_missing(&p->columns, column, row)) continue;
    for (int64_t k = 0; k < each; k++) {
      double v = gr_array_number(a, row * each + k);
      if (v >= 0 && v <= MAX_ID) continue;
      char what[64];
      snprintf(what, sizeof what, "is %.15g in this row", v);
      return gr_hint(fail(gr_columns_place(&p->columns, row), c->name, what),
                     "ids are whole numbers from 0 to %d", MAX_ID);
    }
  }
  return GR_OK;
}

static gr_status check_column(const gr_table *t, gr_table_part *p, int column) {
  const gr_table_column *c = &p->columns.items[column];
  const gr_array *a;
  GR_TRY(gr_columns_read(&p->columns, column, &a));
  if (gr_array_is_text(a))
    return gr_hint(fail(GR_NOWHERE, c->name, "is of texts"),
                   "ids are whole numbers from 0 on; data.table.one_hot=[%s] makes a feature of "
                   "each text",
                   c->name);
  if (!is_named(&t->spec.features, c->name))
    return gr_hint(fail(GR_NOWHERE, c->name, "is not among the features"),
                   "add it to data.table.features, or leave it out of ids: a label, a split and "
                   "columns of data.table.one_hot are none");
  if (!gr_array_is_whole(a))
    return gr_hint(fail(GR_NOWHERE, c->name, "has numbers with fractions"),
                   "ids are whole numbers from 0 on; leave it out of ids");
  return check_values(p, column);
}

gr_status gr_table_check_ids(const gr_table *t, gr_table_part *p) {
  for (int i = 0; i < t->spec.ids.n; i++) {
    int column = gr_columns_find(&p->columns, t->spec.ids.items[i]);
    if (column >= 0) GR_TRY(check_column(t, p, column));
  }
  return GR_OK;
}

// ---- What a model looks up ----------------------------------------------------------------------

// The feature that has the column number k of x; -1: x has other columns.
static int feature_of(const gr_table *t, const gr_table_part *p, int64_t k) {
  if (t->spec.channels > GR_CHANNELS_ALL || t->rank > 1) return -1;
  for (int i = 0; i < t->spec.features.n; i++) {
    const gr_array *a = &p->columns.items[p->features[i]].values;
    int64_t n = a->dim[0] ? a->count / a->dim[0] : 0;
    if (k < n) return i;
    k -= n;
  }
  return -1;
}

static const char *feature_name(const gr_table *t, int64_t k) {
  int feature = feature_of(t, &t->part[0], k);
  return feature < 0 ? NULL : t->spec.features.items[feature];
}

// What data.table.ids is to be, so that nothing that the model looks up is standardised.
static const char *list_ids(const gr_table *t, const gr_column_lookup *l) {
  gr_text list = gr_text_make(t->arena);
  gr_names all = {GR_NEW(t->arena, const char *, t->spec.ids.n + l->n_all), 0};
  for (int i = 0; i < t->spec.ids.n; i++) all.items[all.n++] = t->spec.ids.items[i];
  for (int i = 0; i < l->n_all; i++) {
    const char *name = feature_name(t, l->all[i]);
    if (name && !is_named(&all, name)) all.items[all.n++] = name;
  }
  for (int i = 0; i < all.n; i++) gr_text_printf(&list, "%s%s", i ? "," : "", all.items[i]);
  return list.chars;
}

static gr_status check_scaled(const gr_table *t, const gr_column_lookup *l) {
  const char *first = NULL;
  for (int i = l->n; i-- > 0;) {
    const char *name = feature_name(t, l->columns[i]);
    if (name && !gr_table_is_id(t, name)) first = name;
  }
  if (!t->n_statistics || !first) return GR_OK;
  return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, l->loc,
                                  "embedding looks up the column '%s' in a table of %lld rows, and "
                                  "data.table.normalize standardises it: its numbers are no ids",
                                  first, (long long)l->rows),
                          "normalize"),
                 "data.table.ids=[%s] leaves what is looked up as it is; "
                 "data.table.normalize=false leaves all features",
                 list_ids(t, l));
}

static gr_status beyond(const gr_table *t, const gr_table_part *p, int column, int64_t row,
                        double most, const gr_column_lookup *l) {
  const gr_array *a = &p->columns.items[column].values;
  double v = gr_array_number(a, row);
  char where[GR_COLUMNS_WHERE];
  gr_status s = gr_fail(GR_ERR_DATA, gr_columns_place(&p->columns, row),
                        "'%s' is %.15g in %s, and embedding in %s:%d looks it up in a table of "
                        "%lld rows",
                        a->name, v, gr_columns_where(&p->columns, row, a->file, where),
                        l->loc.file ? l->loc.file : "the model", l->loc.line, (long long)l->rows);
  if (v < 0) return gr_hint(s, "ids are whole numbers from 0 on");
  if (t->kept) return gr_hint(s, "the run was not trained on it: leave the row out");
  return gr_hint(s,
                 "the largest is %.15g: a table of %.15g rows has them all, or number them from 0 "
                 "on",
                 most, floor(most) + 1);
}

static gr_status check_rows(const gr_table *t, const gr_table_part *p, int feature,
                            const gr_column_lookup *l) {
  int column = p->features[feature];
  const gr_array *a = &p->columns.items[column].values;
  int64_t first = -1;
  double most = -INFINITY;
  for (int64_t row = 0; a->rank == 1 && row < a->dim[0]; row++) {
    if (gr_columns_missing(&p->columns, column, row)) continue;
    double v = gr_array_number(a, row);
    bool there = v > -1 && v < (double)l->rows;
    if (!there && first < 0) first = row;
    most = v > most ? v : most;
  }
  return first < 0 ? GR_OK : beyond(t, p, column, first, most, l);
}

gr_status gr_table_check_lookup(const void *self, const gr_column_lookup *l) {
  const gr_table *t = self;
  GR_TRY(check_scaled(t, l));
  for (int part = 0; part < t->n_parts; part++)
    for (int i = 0; i < l->n; i++) {
      int feature = feature_of(t, &t->part[part], l->columns[i]);
      if (feature >= 0) GR_TRY(check_rows(t, &t->part[part], feature, l));
    }
  return GR_OK;
}
