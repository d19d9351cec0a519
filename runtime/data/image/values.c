// values.c - labels of a list that are values, or several: those of a table. See image.h.
#include "runtime/data/image/image.h"

gr_status gr_image_take_labels(gr_image *m, const gr_file_list *rows, bool *classes) {
  gr_table *t = &m->values;
  bool text;
  gr_csv *csv = GR_NEW(m->list.arena, gr_csv, 1);
  *csv = rows->csv;
  if (!t->n_parts) t->part = GR_NEW(m->list.arena, gr_table_part, 2);
  gr_table_part *p = &t->part[t->n_parts++];
  p->split = p->series = -1;
  gr_columns_of_csv(m->list.arena, csv, &p->columns);
  GR_TRY(gr_table_find_labels(t, p));
  GR_TRY(gr_table_has_classes(t, classes, &text));
  m->has_values = !*classes;
  return GR_OK;
}

int64_t gr_image_row(const gr_image *m, uint32_t sample, const gr_table_part **part) {
  bool second = m->values.n_parts > 1 && sample >= m->first_of_eval;
  *part = &m->values.part[second];
  return sample - (second ? m->first_of_eval : 0);
}

gr_status gr_image_find_values(gr_image *m, const gr_json *record) {
  const gr_table_part *p;
  if (m->list.classes.found.n)
    return gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                            "labels are values, and the folders of images are classes"),
                    "label_is label");
  GR_TRY(gr_table_find_targets(&m->values, record));
  for (uint32_t i = 0; i < m->list.count && !m->list.inputs; i++) {
    int64_t row = gr_image_row(m, i, &p);
    GR_TRY(gr_place(gr_table_check_label(&m->values, p, row), m->list.file[i].info.loc));
  }
  return GR_OK;
}
