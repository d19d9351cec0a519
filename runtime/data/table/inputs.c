// inputs.c - arrays and columns that the model reads by names of their own, beside x and y
// (data.table.inputs): whole numbers as i32, others as f32, never normalised. See table.h.
#include <math.h>
#include <string.h>
#include "runtime/data/table/table.h"

static gr_status refuse(const char *name, const char *why) {
  return gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "'%s' of data.table.inputs %s", name, why),
                  "inputs");
}

gr_status gr_table_check_spec_inputs(const gr_table_spec *s) {
  static const char *const taken[] = {"x", "y", "weight", "class_weight"};
  if (s->inputs.n > GR_TABLE_MORE)
    return gr_hint(
        gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "there are %d data.table.inputs", s->inputs.n),
                 "inputs"),
        "at most %d: several columns may be one array, of which the model takes parts",
        GR_TABLE_MORE);
  if (s->inputs.n && (s->window || s->channels))
    return gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                            "data.table.inputs are of rows, and samples are windows or series"),
                    "inputs");
  for (int i = 0; i < s->inputs.n; i++) {
    const char *name = s->inputs.items[i];
    for (size_t k = 0; k < sizeof taken / sizeof *taken; k++)
      if (!strcmp(name, taken[k])) return refuse(name, "is the name of another input");
    for (int k = 0; k < i; k++)
      if (!strcmp(name, s->inputs.items[k])) return refuse(name, "is there twice");
  }
  return GR_OK;
}

bool gr_table_is_input(const gr_table *t, const gr_table_part *p, int column) {
  for (int i = 0; i < t->spec.inputs.n; i++)
    if (p->more[i] == column) return true;
  return false;
}

static gr_status other_shape(const gr_table *t, const gr_table_part *p, const char *name) {
  return gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                          "rows of '%s' in '%s' are of another shape than those in '%s'", name,
                          p->columns.path, t->part[0].columns.path),
                  "inputs");
}

gr_status gr_table_find_inputs(gr_table *t, gr_table_part *p) {
  for (int i = 0; i < t->spec.inputs.n; i++) {
    const char *name = t->spec.inputs.items[i];
    const gr_array *a;
    GR_TRY(gr_columns_read(&p->columns, p->more[i], &a));
    GR_TRY(gr_table_need_numbers(t, "inputs", &p->columns.items[p->more[i]]));
    if (a->count < 1 || a->rank > GR_MAX_RANK)
      return refuse(name, "has no values, or too many dimensions");
    gr_field_spec f = {
        .name = name, .dtype = gr_array_is_whole(a) ? GR_I32 : GR_F32, .rank = a->rank - 1};
    for (int k = 0; k < f.rank; k++) f.dim[k] = a->dim[k + 1];
    const gr_field_spec *first = &t->more[i];
    if (p == t->part)
      t->more[i] = f;
    else if (f.rank != first->rank || memcmp(f.dim, first->dim, sizeof f.dim))
      return other_shape(t, p, name);
  }
  return GR_OK;
}

gr_status gr_table_check_inputs(const gr_table *t, const gr_table_part *p, int64_t row) {
  for (int i = 0; i < t->spec.inputs.n; i++) {
    const gr_array *a = &p->columns.items[p->more[i]].values;
    int64_t n = a->count / a->dim[0], whole;
    bool good = true;
    GR_TRY(gr_columns_need(&p->columns, p->more[i], row));
    for (int64_t k = row * n; k < (row + 1) * n && good; k++)
      good = t->more[i].dtype == GR_F32 ? isfinite((float)gr_array_number(a, k)) != 0
                                        : gr_array_integer(a, k, &whole) && whole == (int32_t)whole;
    char where[GR_COLUMNS_WHERE];
    if (!good)
      return gr_hint(
          gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has a value in %s that %s does not hold",
                  t->more[i].name, gr_columns_where(&p->columns, row, a->file, where),
                  gr_dtypes[t->more[i].dtype].name),
          "correct it");
  }
  return GR_OK;
}

void gr_table_fill_inputs(const gr_table *t, const gr_table_part *p, int64_t row,
                          void *const field[]) {
  for (int i = 0; i < t->spec.inputs.n; i++) {
    const gr_array *a = &p->columns.items[p->more[i]].values;
    int64_t n = a->count / a->dim[0];
    if (t->more[i].dtype == GR_F32)
      gr_array_floats(a, row * n, n, field[i]);
    else
      (void)gr_array_ints(a, row * n, n, sizeof(int32_t), field[i]);  // all fit: they are checked
  }
}
