// inspect.c - prints a summary of a table, as text and as JSON. See table.h.
#include <math.h>
#include "base/shown.h"
#include "runtime/data/bar.h"
#include "runtime/data/table/table.h"

static const char *role_of(const gr_table *t, const gr_table_part *p, int column) {
  if (gr_table_is_label(t, p, column))
    return t->classes.n ? "label: classes" : t->part->marks ? "label: labels" : "label: values";
  if (column == p->split) return "split";
  if (column == p->series) return "series";
  if (gr_table_is_input(t, p, column)) return "input";
  if (p->columns.items[column].one_hot) return "one-hot";
  for (int i = 0; i < t->spec.features.n; i++)
    if (p->features[i] == column) return "feature";
  return "not used";
}

// Prints the shape of an array, and the range of its numbers, without cells that are missing.
static void put_values(const gr_table_column *c, gr_text *out) {
  const gr_array *a = &c->values;
  double least = INFINITY, most = -INFINITY;
  for (int i = 0; i < a->rank; i++)
    gr_text_printf(out, "%s%lld", i ? "," : "[", (long long)a->dim[i]);
  gr_text_put(out, "]");
  for (int64_t i = 0; i < a->count && !gr_array_is_text(a); i++) {
    if (c->csv && gr_csv_missing(c->csv, (uint32_t)i, c->csv_column)) continue;
    double v = gr_array_number(a, i);
    least = v < least ? v : least, most = v > most ? v : most;
  }
  if (least <= most) gr_text_printf(out, "  %.6g to %.6g", gr_shown(least), gr_shown(most));
  const gr_column *csv = c->csv ? &c->csv->columns[c->csv_column] : NULL;
  if (csv && csv->missing)
    gr_text_printf(out, "  %u missing, first in %s %d", csv->missing, gr_csv_unit(c->csv),
                   gr_csv_place(c->csv, csv->first_missing).line);
}

static void put_columns(const gr_table *t, const gr_table_part *p, bool labels, gr_text *out) {
  gr_text_printf(out, "%s of %s\n", labels ? "labels" : "columns", p->columns.path);
  for (int i = 0; i < p->columns.n; i++) {
    const gr_table_column *c = &p->columns.items[i];
    bool read = c->values.file != NULL;
    if (labels && !gr_table_is_label(t, p, i)) continue;
    gr_text_printf(out, "  %-24s %-5s %-15s", gr_name_shown(out->arena, c->name),
                   read ? gr_array_type(&c->values) : "", role_of(t, p, i));
    if (read) put_values(c, out);
    gr_text_put(out, "\n");
  }
}

void gr_table_inspect(const void *self, const gr_sample *all, uint32_t n, gr_text *out) {
  const gr_table *t = self;
  (void)all, (void)n;
  for (int i = 0; i < t->n_parts; i++) put_columns(t, &t->part[i], false, out);
}

void gr_table_inspect_labels(const gr_table *t, gr_text *out) {
  for (int i = 0; i < t->n_parts; i++) put_columns(t, &t->part[i], true, out);
}

static void put_list(gr_text *out, const char *name, const double *v, int64_t n) {
  gr_text_json_key(out, name);
  gr_text_put(out, "[");
  for (int64_t k = 0; k < n; k++) {
    gr_text_json_next(out);
    gr_text_json_rounded(out, v[k], 9);
  }
  gr_text_put(out, "]");
}

void gr_table_record(const void *self, gr_text *out) {
  const gr_table *t = self;
  gr_text_json_key(out, "features");
  gr_text_json_texts(out, t->spec.features.items, t->spec.features.n);
  if (t->classes.n) gr_classes_record(&t->classes, out);
  if (t->n_targets) gr_classes_record_as(&t->targets, "targets", out);
  if (t->n_statistics) put_list(out, "mean", t->mean, t->n_statistics);
  if (t->n_statistics) put_list(out, "scale", t->scale, t->n_statistics);
}
