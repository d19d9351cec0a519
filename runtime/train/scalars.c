// scalars.c - see scalars.h.
#include "runtime/train/scalars.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/grow.h"

// ---- Writing -----------------------------------------------------------------------------------

static gr_scalar *add(gr_scalars_out *out, const char *name, gr_scalar_kind kind) {
  GR_GROW(out->arena, out->items, out->n, out->most);
  gr_scalar *s = &out->items[out->n++];
  *s = (gr_scalar){.name = name, .kind = kind};
  return s;
}

void gr_scalars_put_int(gr_scalars_out *out, const char *name, int64_t i) {
  add(out, name, GR_SCALAR_INT)->i = i;
}

void gr_scalars_put_float(gr_scalars_out *out, const char *name, double f) {
  add(out, name, GR_SCALAR_FLOAT)->f = f;
}

void gr_scalars_put_text(gr_scalars_out *out, const char *name, const char *text) {
  add(out, name, GR_SCALAR_TEXT)->text = text;
}

void gr_scalars_put_metrics(gr_scalars_out *out, const char *prefix, const gr_metrics *m) {
  for (int i = 0; i < m->n; i++) {
    const char *name = m->items[i].name;
    if (*prefix) name = gr_arena_printf(out->arena, "%s.%s", prefix, name);
    gr_scalars_put_float(out, name, gr_metric_value(m, m->items[i].name));
  }
}

// ---- Reading -----------------------------------------------------------------------------------

bool gr_scalars_of_same_run(const gr_scalars_in *in) {
  return in->rank->spec->set.saving.resume == gr_resume_auto;
}

const gr_scalar *gr_scalars_find(const gr_scalars_in *in, const char *name, gr_scalar_kind kind) {
  const gr_scalar *s = gr_checkpoint_scalar(in->checkpoint, name);
  bool fits = s && (s->kind == kind || (kind == GR_SCALAR_TEXT && s->text));
  return fits ? s : NULL;
}

void gr_scalars_take_metrics(const gr_scalars_in *in, const char *prefix, gr_metrics *m) {
  size_t skip = *prefix ? strlen(prefix) + 1 : 0;
  int n;
  const gr_scalar *all = gr_checkpoint_scalars(in->checkpoint, &n);
  for (int i = 0; i < n && m->n < GR_MAX_METRICS; i++) {
    const char *name = all[i].name, *dot = strchr(name, '.');
    bool fits = skip ? !strncmp(name, prefix, skip - 1) && name[skip - 1] == '.' : !dot;
    if (fits && all[i].kind == GR_SCALAR_FLOAT)
      m->items[m->n++] = (gr_metric){gr_run_metric_name(in->rank, name + skip), all[i].f, 1};
  }
}

// ---- Tables ------------------------------------------------------------------------------------

void gr_scalar_table_add(gr_scalar_table *t, const gr_scalar_row *rows, int n) {
  gr_scalar_row *all = GR_NEW(t->arena, gr_scalar_row, t->n + n);
  if (t->n) memcpy(all, t->rows, sizeof *all * (size_t)t->n);
  memcpy(all + t->n, rows, sizeof *rows * (size_t)n);
  t->rows = all, t->n += n;
}

static int by_place(const void *a, const void *b) {
  const gr_scalar_row *x = a, *y = b;
  assert(a == b || x->place != y->place);
  return x->place - y->place;
}

static void sort(gr_scalar_table *t) { qsort(t->rows, (size_t)t->n, sizeof *t->rows, by_place); }

void gr_scalar_table_write(gr_scalar_table *t, gr_scalars_out *out) {
  sort(t);
  for (const gr_scalar_row *row = t->rows; row < t->rows + t->n; row++) {
    if (row->type == GR_FIELD_INT) gr_scalars_put_int(out, row->name, *(const int64_t *)row->value);
    if (row->type == GR_FIELD_FLOAT)
      gr_scalars_put_float(out, row->name, *(const double *)row->value);
    if (row->type == GR_FIELD_FLAG) gr_scalars_put_int(out, row->name, *(const bool *)row->value);
    if (row->write) row->write(row->value, out);
  }
}

static void read_field(const gr_scalars_in *in, const gr_scalar_row *row) {
  bool is_float = row->type == GR_FIELD_FLOAT;
  const gr_scalar *s = gr_scalars_find(in, row->name, is_float ? GR_SCALAR_FLOAT : GR_SCALAR_INT);
  if (s && row->type == GR_FIELD_INT) *(int64_t *)row->value = s->i;
  if (s && row->type == GR_FIELD_FLOAT) *(double *)row->value = s->f;
  if (s && row->type == GR_FIELD_FLAG) *(bool *)row->value = s->i != 0;
}

gr_status gr_scalar_table_read(gr_scalar_table *t, const gr_scalars_in *in) {
  sort(t);
  for (const gr_scalar_row *row = t->rows; row < t->rows + t->n; row++) {
    if (row->type != GR_SCALARS) read_field(in, row);
    if (row->read) GR_TRY(row->read(row->value, in));
  }
  return GR_OK;
}
