// series.c - samples that are series: windows of rows whose columns are channels, or rows
// [channels, moments] of an array. See table.h.
#include "runtime/data/table/table.h"

gr_status gr_table_find_channels(gr_table *t) {
  if (!t->spec.channels) return GR_OK;
  if (t->spec.dtype != GR_F32)
    return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "a series is f32, not %s",
                                    gr_dtypes[t->spec.dtype].name),
                            "dtype channels"),
                   "data.table.dtype=f32, or data.table.channels=null");
  int most = t->spec.window ? 1 : 2;
  if (t->rank > most)
    return gr_hint(gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE, "rows of '%s' have %d dimensions",
                                    t->part[0].columns.path, t->rank),
                            "channels features"),
                   "a series is a window of rows of columns, or a row of an array [rows, "
                   "channels, t] or [rows, t]");
  t->n_channels = t->spec.window || t->rank == 2 ? t->dim[0] : 1;
  t->moments = t->spec.window ? t->spec.window : t->dim[t->rank - 1];
  return GR_OK;
}

int64_t gr_table_series_samples(const gr_table *t) {
  return t->spec.channels == GR_CHANNELS_FLATTEN ? t->n_channels : 1;
}

int64_t gr_table_series_channels(const gr_table *t) {
  return t->spec.channels == GR_CHANNELS_ALL ? t->n_channels : 1;
}

// Channel c is at v[c * step].
static void put_moment(const gr_table *t, const float *v, int64_t step, uint32_t channel,
                       float *out) {
  double sum = 0;
  switch (t->spec.channels) {
    case GR_CHANNELS_ALL:
      for (int64_t c = 0; c < t->n_channels; c++) out[c] = v[c * step];
      break;
    case GR_CHANNELS_AVERAGE:
      for (int64_t c = 0; c < t->n_channels; c++) sum += (double)v[c * step];
      out[0] = (float)(sum / (double)t->n_channels);
      break;
    default:
      out[0] = v[channel * step];
  }
}

void gr_table_series(const gr_table *t, const gr_table_part *p, const gr_table_sample *s,
                     float *out) {
  gr_arena *scratch = gr_arena_create();
  int64_t rows = t->spec.window ? t->spec.window : 1, to = gr_table_series_channels(t);
  int64_t moment = t->spec.window ? t->width : 1, channel = t->spec.window ? 1 : t->moments;
  float *v = GR_NEW(scratch, float, rows * t->width);
  for (int64_t i = 0; i < rows; i++) gr_table_scaled_row(t, p, s->row + i, v + i * t->width);
  for (int64_t i = 0; i < t->moments; i++)
    put_moment(t, v + i * moment, channel, s->channel, out + i * to);
  gr_arena_destroy(scratch);
}
