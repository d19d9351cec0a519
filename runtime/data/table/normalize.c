// normalize.c - statistics of the training samples: mean and standard deviation. See table.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/stop.h"
#include "runtime/data/statistics.h"
#include "runtime/data/table/table.h"

// Marks the rows of training samples; a row that is in several windows counts once.
static void mark_rows(const gr_table *t, const gr_sample *all, uint32_t n, bool *used[2]) {
  int64_t window = t->spec.window ? t->spec.window : 1;
  for (uint32_t i = 0; i < n; i++) {
    const gr_table_sample *s = t->samples + all[i].index;
    if (all[i].split == GR_SPLIT_TRAIN) memset(used[s->part] + s->row, 1, (size_t)window);
  }
}

// Of a row's features, in 64 bits: in 32 times in seconds differ by 128 at least.
static void read_row(const gr_table *t, const gr_table_part *p, int64_t row, double *out) {
  for (int i = 0; i < t->spec.features.n; i++) {
    const gr_array *a = &p->columns.items[p->features[i]].values;
    int64_t n = a->dim[0] ? a->count / a->dim[0] : 0;
    gr_array_doubles(a, row * n, n, out);
    out += n;
  }
}

// Sums x - mean, or its square, over the marked rows. Returns the number of rows. In the first sum
// the means are the values of the first row, so that a constant has its value for a mean.
static int64_t add_up(gr_table *t, bool *const used[2], bool square, double *row, double *sum) {
  int64_t rows = 0, each = t->width / t->n_statistics;
  for (int p = 0; p < t->n_parts; p++)
    for (int64_t i = 0; i < t->part[p].columns.rows && !gr_stop_due(); i++) {
      if (!used[p][i]) continue;
      read_row(t, &t->part[p], i, row);
      for (int64_t k = 0; k < t->n_statistics && !square && !rows; k++) t->mean[k] = row[k * each];
      for (int64_t k = 0; k < t->width; k++) {
        double d = row[k] - t->mean[k / each];
        sum[k / each] += square ? d * d : d;
      }
      rows++;
    }
  return rows;
}

// Ids are not scaled.
static void keep_ids(gr_table *t) {
  for (int i = 0, k = 0; i < t->spec.features.n && t->spec.ids.n; i++) {
    const gr_array *a = &t->part[0].columns.items[t->part[0].features[i]].values;
    int64_t n = a->dim[0] ? a->count / a->dim[0] : 0;
    for (; n-- > 0; k++)
      if (gr_table_is_id(t, t->spec.features.items[i])) t->mean[k] = 0, t->scale[k] = 1;
  }
}

gr_status gr_table_fit(void *self, gr_arena *arena, const gr_sample *all, uint32_t n) {
  gr_table *t = self;
  if (!t->spec.normalize || t->spec.dtype != GR_F32) return GR_OK;
  int64_t each = t->spec.channels ? t->n_channels : t->width;
  t->n_statistics = each <= GR_TABLE_STATISTICS ? each : 1;
  t->mean = GR_NEW(arena, double, t->n_statistics);
  t->scale = GR_NEW(arena, double, t->n_statistics);
  if (t->inputs) return GR_OK;  // they are restored from a checkpoint
  gr_arena *scratch = gr_arena_create();
  bool *used[2] = {NULL};
  for (int p = 0; p < t->n_parts; p++) used[p] = GR_NEW(scratch, bool, t->part[p].columns.rows + 1);
  mark_rows(t, all, n, used);
  double *row = GR_NEW(scratch, double, t->width);
  double *sum = GR_NEW(scratch, double, t->n_statistics),
         *squares = GR_NEW(scratch, double, t->n_statistics);
  int64_t rows = add_up(t, used, false, row, sum) * (t->width / t->n_statistics);
  for (int64_t k = 0; k < t->n_statistics; k++) t->mean[k] += sum[k] / (double)rows;
  (void)add_up(t, used, true, row, squares);
  for (int64_t k = 0; k < t->n_statistics; k++) {
    double deviation = sqrt(squares[k] / (double)rows);
    t->scale[k] = 1 / gr_statistics_divisor(t->mean[k], deviation);
  }
  keep_ids(t);
  gr_arena_destroy(scratch);
  return gr_stop_check();
}

// Values [first, first + n) of a row, of the features from `k` on.
static void put_scaled(const gr_table *t, const gr_array *a, int64_t first, int64_t n, int64_t k,
                       float *out) {
  enum { CHUNK = 256 };
  double v[CHUNK];
  int64_t each = t->width / t->n_statistics;
  for (int64_t take; n > 0; n -= take, first += take) {
    take = n < CHUNK ? n : CHUNK;
    gr_array_doubles(a, first, take, v);
    for (int64_t i = 0; i < take; i++, k++)
      out[k] = (float)((v[i] - t->mean[k / each]) * t->scale[k / each]);
  }
}

void gr_table_scaled_row(const gr_table *t, const gr_table_part *p, int64_t row, float *out) {
  int64_t k = 0;
  if (!t->n_statistics) {
    gr_table_row(t, p, row, out);
    return;
  }
  for (int i = 0; i < t->spec.features.n; i++) {
    const gr_array *a = &p->columns.items[p->features[i]].values;
    int64_t n = a->dim[0] ? a->count / a->dim[0] : 0;
    put_scaled(t, a, row * n, n, k, out);
    k += n;
  }
}

// Format: "64 mean scale mean scale ..."; values are restored bit for bit.
void gr_table_save(const void *self, gr_text *out) {
  const gr_table *t = self;
  if (t->n_statistics) gr_text_printf(out, "%lld", (long long)t->n_statistics);
  for (int64_t k = 0; k < t->n_statistics; k++)
    gr_text_printf(out, " %.17g %.17g", t->mean[k], t->scale[k]);
}

gr_status gr_table_restore(void *self, const char *text) {
  gr_table *t = self;
  char *end;
  long long n = strtoll(text, &end, 10);
  if (n != t->n_statistics)
    return gr_hint(
        gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                "the checkpoint has means and deviations of %lld values, the data of %lld", n,
                (long long)t->n_statistics),
        "resume with the same data.table.features and data.table.normalize");
  const char *cursor = end;
  for (int64_t k = 0; k < n; k++)
    if (!gr_statistics_read(&cursor, &t->mean[k]) || !gr_statistics_read(&cursor, &t->scale[k]))
      return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                     "the checkpoint's means and deviations are damaged");
  return GR_OK;
}

void gr_table_row(const gr_table *t, const gr_table_part *p, int64_t row, float *out) {
  for (int i = 0; i < t->spec.features.n; i++) {
    const gr_array *a = &p->columns.items[p->features[i]].values;
    int64_t n = a->dim[0] ? a->count / a->dim[0] : 0;
    gr_array_floats(a, row * n, n, out);
    out += n;
  }
}
