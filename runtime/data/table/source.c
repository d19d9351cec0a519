// source.c - the functions of the source `table`; see table.h.
#include <assert.h>
#include <string.h>
#include "runtime/data/table/table.h"

enum { X, Y };

static gr_status check_spec(const gr_table_spec *s, const gr_source_request *r) {
  GR_TRY(gr_table_check_spec_inputs(s));
  if (r->n_inputs > GR_TABLE_INPUTS)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there are more than %d files", GR_TABLE_INPUTS);
  GR_TRY(gr_source_need_path(r, s->paths.n));
  if (r->predicts && !r->n_inputs)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "no file to predict has columns of a table"),
                   "a list that has them beside what the other joined sources read: .csv, .jsonl");
  if (s->stride && !s->window)
    return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                    "data.table.stride is %d, and there are no windows", s->stride),
                            "stride"),
                   "data.table.window says how many rows a sample has");
  if (s->split && s->eval.n)
    return gr_hint(
        gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                         "data.table.split and data.table.eval_path both say what is for "
                         "validation"),
                 "split eval_path"),
        "give one of them");
  return GR_OK;
}

static gr_status check_majority(const gr_table *t) {
  if (!t->spec.majority || t->classes.n) return GR_OK;
  return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                  "data.table.window_label is majority, and labels are no classes"),
                          "window_label"),
                 "values have no majority: data.table.window_label=last");
}

static void table_close(void *self) {
  gr_table *t = self;
  for (int i = 0; i < t->n_parts; i++) gr_columns_close(&t->part[i].columns);
}

static gr_status table_check(const void *self) {
  const gr_table *t = self;
  for (int i = 0; i < t->n_parts; i++)
    GR_TRY(gr_about(gr_columns_check(&t->part[i].columns), t->inputs ? NULL
                                                           : i       ? "eval_path"
                                                                     : "path"));
  return GR_OK;
}

static gr_status table_open(gr_source_request *r, void **out) {
  gr_table *t = *out = GR_NEW(r->arena, gr_table, 1);
  t->arena = r->arena, t->inputs = r->predicts, t->section = "data.table";
  if (r->conf)
    GR_TRY(gr_table_read_spec(r->arena, r->conf, &t->spec));
  else
    t->spec = *(const gr_table_spec *)r->spec;
  GR_TRY(check_spec(&t->spec, r));
  GR_TRY(gr_table_open_columns(t, r));
  GR_TRY(gr_table_find_classes(t, r->record));
  GR_TRY(gr_table_find_targets(t, r->record));
  GR_TRY(check_majority(t));
  if (!t->inputs) r->place = gr_columns_names(&t->part[0].columns);
  return gr_table_list(t, r);
}

// ---- Metadata ------------------------------------------------------------------------------

static bool has_targets(const gr_table *t) { return t->spec.label && !t->classes.n; }

static int table_fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  const gr_table *t = self;
  gr_field_spec *x = &out[X];
  *x = (gr_field_spec){.name = "x", .dtype = t->spec.dtype};
  if (t->spec.channels) {
    x->rank = 2, x->dim[0] = t->moments, x->dim[1] = gr_table_series_channels(t);
  } else {
    if (t->spec.window) x->dim[x->rank++] = t->spec.window;
    for (int k = 0; k < t->rank; k++) x->dim[x->rank++] = t->dim[k];
  }
  int n = has_targets(t) ? 2 : 1;
  if (n > 1) gr_table_target_field(t, &out[Y]);
  for (int i = 0; i < t->spec.inputs.n; i++) out[n++] = t->more[i];
  return n;
}

static gr_classes *table_classes(void *self) {
  gr_table *t = self;
  return t->classes.n ? &t->classes : NULL;
}

static int table_metadata(const void *self, gr_metadata out[GR_MAX_METADATA]) {
  const gr_table *t = self;
  bool series = t->spec.channels != GR_CHANNELS_NONE;
  int n = 0;
  out[n++] = (gr_metadata){"features", series ? gr_table_series_channels(t) : t->dim[t->rank - 1]};
  if (t->classes.n) out[n++] = (gr_metadata){"classes", t->classes.n};
  if (t->n_targets) out[n++] = (gr_metadata){"targets", t->n_targets};
  if (series || t->spec.window)
    out[n++] = (gr_metadata){"window", series ? t->moments : t->spec.window};
  return n;
}

static const char *table_advice(const void *self, const char *field) {
  const gr_table *t = self;
  if (gr_columns_find(&t->part[0].columns, field) >= 0 && strcmp(field, "y") != 0)
    return "data.table.inputs: [NAME] makes that column an input";
  if (strcmp(field, "y") != 0 && strcmp(field, "class_weight") != 0) return NULL;
  if (!t->spec.label) return "data.table.label=COLUMN makes that column y";
  if (!t->classes.n) return "data.table.label_is=class makes a y of i32 of whole numbers or text";
  return t->numbered ? "data.table.label_is=value makes a y of f32 of these numbers" : NULL;
}

static uint32_t table_count(const void *self) { return ((const gr_table *)self)->count; }

static gr_sample_info table_info(const void *self, uint32_t sample) {
  const gr_table *t = self;
  const gr_table_sample *s = t->samples + sample;
  assert(sample < t->count && s->part < t->n_parts);
  return (gr_sample_info){.key = s->key,
                          .split = (gr_split)s->split,
                          .length = 1,
                          .loc = gr_columns_place(&t->part[s->part].columns, s->row),
                          .label = t->classes.n && !t->inputs ? s->label + 1 : 0};
}

// ---- A sample -----------------------------------------------------------------------------------

static void fill_ints(const gr_table *t, const gr_table_part *p, int64_t row, char *out) {
  size_t size = gr_dtypes[t->spec.dtype].size;
  for (int i = 0; i < t->spec.features.n; i++) {
    const gr_array *a = &p->columns.items[p->features[i]].values;
    int64_t n = a->count / a->dim[0];
    (void)gr_array_ints(a, row * n, n, size, out);  // all fit: gr_table_list has checked them
    out += (size_t)n * size;
  }
}

static void fill_rows(const gr_table *t, const gr_table_part *p, const gr_table_sample *s,
                      void *x) {
  int64_t rows = t->spec.window ? t->spec.window : 1;
  for (int64_t i = 0; i < rows; i++) {
    if (t->spec.dtype != GR_F32) {
      size_t bytes = (size_t)t->width * gr_dtypes[t->spec.dtype].size;
      fill_ints(t, p, s->row + i, (char *)x + (size_t)i * bytes);
      continue;
    }
    gr_table_scaled_row(t, p, s->row + i, (float *)x + i * t->width);
  }
}

static void table_fill(const void *self, uint32_t sample, const gr_loaded *loaded,
                       const gr_draw *draw, gr_row *row) {
  const gr_table *t = self;
  const gr_table_sample *s = t->samples + sample;
  const gr_table_part *p = &t->part[s->part];
  (void)loaded, (void)draw;
  if (t->spec.channels)
    gr_table_series(t, p, s, row->field[X]);
  else
    fill_rows(t, p, s, row->field[X]);
  if (has_targets(t) && !t->inputs) gr_table_targets(t, p, s->label_row, row->field[Y]);
  gr_table_fill_inputs(t, p, s->row, row->field + (has_targets(t) ? 2 : 1));
}

// ---- Summaries and identity -----------------------------------------------------------------

static void table_name_of(const void *self, uint32_t sample, gr_text *out) {
  const gr_table *t = self;
  const gr_table_sample *s = t->samples + sample;
  const gr_columns *c = &t->part[s->part].columns;
  gr_loc loc = gr_columns_place(c, s->row);
  if (loc.file)
    gr_text_printf(out, "%s:%d", loc.file, loc.line);
  else
    gr_text_printf(out, "%s[%u]", c->path, s->row);
  if (t->spec.channels != GR_CHANNELS_FLATTEN) return;
  if (t->spec.features.n == t->n_channels)
    gr_text_printf(out, " %s", t->spec.features.items[s->channel]);
  else
    gr_text_printf(out, " channel %u", s->channel);
}

static void table_reference(const void *self, uint32_t sample, gr_text *out) {
  const gr_table *t = self;
  const gr_table_sample *s = t->samples + sample;
  if (t->spec.label && !t->inputs) gr_table_put_targets(t, &t->part[s->part], s->label_row, out);
}

// The names of classes or targets by their numbers.
static void table_decode(const void *self, const int32_t *ids, int64_t n, gr_text *out) {
  const gr_table *t = self;
  gr_classes_decode(t->classes.n ? &t->classes : &t->targets, ids, n, out);
}

static void table_preprocessing(const void *self, gr_text *out) {
  const gr_table *t = self;
  if (t->spec.one_hot.n)
    gr_text_printf(out, "features NAME=VALUE are 1 where the column NAME has VALUE, else 0%s",
                   t->n_statistics ? "; " : "");
  if (t->n_statistics)
    gr_text_put(out, "normalized: (x - mean) * scale of its metadata graphrun.data");
}

const gr_source_ops gr_source_table = {
    .name = "table",
    .sample = "sample",
    .inputs = "CSV, Parquet, .npz and .npy files with the columns of the features",
    .path_key = "path",
    .project = "table",
    .path_hint = "a file of CSV, Parquet, .npz or .npy; several stand side by side",
    .endings = {{".csv", "a table", .text = true},
                {".tsv", "a table", .text = true},
                {".parquet", "a table"},
                {".txt", .text = true},
                {".jsonl", .text = true},
                {".tar", .text = true},
                {".arff", "a table", .text = true},
                {".ts", "series", .text = true},
                {".npz", "a file of arrays"},
                {".npy", "an array"},
                {"-ubyte", "an array"},
                {"-ubyte.gz", "an array"}},
    .skips = {[GR_TABLE_ACROSS] = {.why = "windows with rows of both splits",
                                   .hint = "a smaller data.table.window, or data.table.eval_path"},
              [GR_TABLE_SHORT] = {.why = "series of fewer rows than a window",
                                  .hint = "a smaller data.table.window"},
              [GR_TABLE_REST] = {.why = "rows of no window, at the end of their series",
                                 .of = GR_OMITTED_OTHER}},
    .open = table_open,
    .close = table_close,
    .fields = table_fields,
    .count = table_count,
    .info = table_info,
    .classes = table_classes,
    .fill = table_fill,
    .check = table_check,
    .metadata = table_metadata,
    .fit = gr_table_fit,
    .save = gr_table_save,
    .restore = gr_table_restore,
    .name_of = table_name_of,
    .reference = table_reference,
    .decode = table_decode,
    .inspect = gr_table_inspect,
    .notes = gr_table_notes,
    .check_lookup = gr_table_check_lookup,
    .advice = table_advice,
    .preprocessing = table_preprocessing,
    .record = gr_table_record};
