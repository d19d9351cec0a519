// config.c - reads the keys of the source `table` in the section data.table (the schema has
// filled in every default); see table.h.
#include <string.h>
#include "runtime/data/table/table.h"

static gr_status read_rows(gr_conf *section, const char *path, int32_t *out) {
  int64_t v;
  GR_TRY(gr_conf_int(section, path, 0, &v));
  *out = (int32_t)v;
  return gr_range(path, v, 0, 1 << 24);
}

static gr_status read_words(gr_conf *section, gr_table_spec *s) {
  static const char *const channels[] = {"", "all", "flatten", "average", "first"};
  const char *dtype, *of_window, *of_series, *bad;
  GR_TRY(gr_conf_text(section, "dtype", "", &dtype));
  GR_TRY(gr_conf_text(section, "window_label", "", &of_window));
  GR_TRY(gr_conf_text(section, "on_bad_cell", "", &bad));
  s->bad_is_missing = !strcmp(bad, "missing");
  for (int d = 0; d < GR_DTYPE_COUNT; d++)
    if (!strcmp(dtype, gr_dtypes[d].name)) s->dtype = (gr_dtype)d;
  GR_TRY(gr_conf_text(section, "channels", "", &of_series));
  for (int i = 0; i < (int)(sizeof channels / sizeof *channels); i++)
    if (of_series && !strcmp(of_series, channels[i])) s->channels = (gr_table_channels)i;
  s->majority = !strcmp(of_window, "majority");
  return GR_OK;
}

static void read_missing(gr_conf *section, gr_table_spec *s) {
  const gr_conf *missing = gr_conf_find(section, "label_missing");
  s->may_miss = missing && gr_conf_is_number(missing);
  s->missing = s->may_miss ? (float)gr_conf_number(missing) : 0;
}

gr_status gr_table_read_labels(gr_arena *a, gr_conf *section, gr_table_spec *s) {
  const char *label_is;
  gr_names labels = gr_names_read(a, section, "label");
  if (labels.n) s->label = labels.items[0];
  if (labels.n > 1) s->labels = labels;
  read_missing(section, s);
  GR_TRY(gr_conf_text(section, "label_is", "", &label_is));
  s->label_is = !strcmp(label_is, "class")    ? GR_LABEL_CLASS
                : !strcmp(label_is, "value")  ? GR_LABEL_VALUE
                : !strcmp(label_is, "labels") ? GR_LABEL_LIST
                                              : GR_LABEL_AUTO;
  if (s->label_is != GR_LABEL_LIST)
    return gr_source_refuse(
        section, &(gr_source_unused){"label_separator", "|",
                                     "it is between the labels of a list, as label_is=labels reads",
                                     "remove it, or give label_is, too"});
  const gr_conf *separator = gr_conf_find(section, "label_separator");
  s->separator_given = separator && !separator->is_default;
  return gr_conf_text(section, "label_separator", "|", &s->separator);
}

gr_status gr_table_read_spec(gr_arena *a, gr_conf *section, gr_table_spec *s) {
  *s = (gr_table_spec){0};
  s->paths = gr_names_read(a, section, "path");
  s->eval = gr_names_read(a, section, "eval_path");
  s->features = gr_names_read(a, section, "features");
  s->one_hot = gr_names_read(a, section, "one_hot");
  s->ids = gr_names_read(a, section, "ids");
  s->inputs = gr_names_read(a, section, "inputs");
  GR_TRY(gr_table_read_labels(a, section, s));
  GR_TRY(gr_conf_text(section, "split", NULL, &s->split));
  GR_TRY(gr_conf_text(section, "series", NULL, &s->series));
  GR_TRY(gr_csv_read_format(section, "data.table", &s->csv));
  GR_TRY(gr_conf_bool(section, "normalize", false, &s->normalize));
  GR_TRY(read_rows(section, "window", &s->window));
  GR_TRY(read_rows(section, "stride", &s->stride));
  return read_words(section, s);
}
