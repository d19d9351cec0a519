// source.c - the functions of the source `market`; see market.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/sort.h"
#include "runtime/data/market/market.h"
#include "runtime/data/statistics.h"

enum { MAX_DEVIATIONS = 5 };  // deviations from the mean at which features are cut off

// ---- Opening ------------------------------------------------------------------------------------

static gr_status read_spec(gr_arena *a, gr_conf *section, gr_market_spec *s) {
  int64_t period, days;
  *s = (gr_market_spec){0};
  GR_TRY(gr_conf_text(section, "path", NULL, &s->path));
  s->tickers = gr_names_read(a, section, "tickers");
  s->features = gr_names_read(a, section, "features");
  GR_TRY(gr_conf_int(section, "period", 0, &period));
  GR_TRY(gr_conf_int(section, "turbulence_days", 0, &days));
  GR_TRY(gr_conf_float(section, "turbulence_limit", 0, &s->turbulence_limit));
  s->period = (int)period, s->turbulence_days = (int)days;
  return GR_OK;
}

static int64_t width(const gr_market *m) { return (int64_t)m->n_tickers * m->spec.features.n; }

static gr_status unknown_feature(const char *name) {
  int n = 0;
  while (gr_market_indicators[n]) n++;
  gr_status s = gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "there is no feature '%s'", name);
  s = gr_hint_near(s, name, gr_market_indicators, n);
  return gr_about(gr_hint(s, "price, macd, rsi, cci, adx, change, volume, volatility"), "features");
}

// Columns are those of the first ticker, then of the next.
static gr_status compute_features(gr_market *m) {
  gr_arena *scratch = gr_arena_create();
  gr_status bad = GR_OK;
  int64_t w = width(m);
  m->raw = GR_NEW(m->arena, double, w * m->days);
  double *x = GR_NEW(scratch, double, m->days);
  for (int64_t c = 0; c < w && !bad; c++) {
    const char *name = m->spec.features.items[c % m->spec.features.n];
    const gr_ticker *t = &m->ticker[c / m->spec.features.n];
    if (!gr_market_indicator(scratch, t, name, m->days, m->spec.period, x))
      bad = unknown_feature(name);
    for (int d = 0; d < m->days && !bad; d++) m->raw[d * w + c] = x[d];
  }
  m->turbulence = GR_NEW(m->arena, double, m->days);
  if (!bad)
    gr_market_turbulence(scratch, m->ticker, m->n_tickers, m->days, m->spec.turbulence_days,
                         m->turbulence);
  return gr_arena_end(scratch, bad);
}

static gr_status market_set_up(gr_market *m, const gr_source_request *r) {
  GR_TRY(gr_source_need_path(r, m->spec.path));
  GR_TRY(gr_about(gr_market_read(m), "path"));
  if (r->limit && (uint32_t)m->days > r->limit) {
    gr_omitted_add(m->arena, r->limited, (uint32_t)m->days - r->limit, GR_NOWHERE,
                   m->dates[r->limit]);
    m->days = (int)r->limit;
  }
  m->train_days = m->days - (int)(r->validation->fraction * m->days);
  int64_t w = width(m);
  if (w * m->days > INT32_MAX)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "%d days of %lld features are too many", m->days,
                   (long long)w);
  m->mean = GR_NEW(m->arena, double, w), m->scale = GR_NEW(m->arena, double, w);
  m->close = GR_NEW(m->arena, float, (int64_t)m->days * m->n_tickers);
  m->features = GR_NEW(m->arena, float, w * m->days);
  m->ratio = GR_NEW(m->arena, float, m->days);
  for (int d = 0; d < m->days; d++)
    for (int k = 0; k < m->n_tickers; k++)
      m->close[d * m->n_tickers + k] = (float)m->ticker[k].column[GR_CLOSE][d];
  return compute_features(m);
}

static gr_status market_open(gr_source_request *r, void **out) {
  gr_market *m = *out = GR_NEW(r->arena, gr_market, 1);
  m->arena = r->arena, m->skipped = r->skipped;
  if (r->conf)
    GR_TRY(read_spec(r->arena, r->conf, &m->spec));
  else
    m->spec = *(const gr_market_spec *)r->spec;
  return market_set_up(m, r);
}

// ---- Statistics ---------------------------------------------------------------------------------

static void fill_tables(gr_market *m) {
  int64_t w = width(m);
  for (int64_t i = 0; i < w * m->days; i++) {
    double x = (m->raw[i] - m->mean[i % w]) * m->scale[i % w];
    m->features[i] = (float)fmin(fmax(x, -MAX_DEVIATIONS), MAX_DEVIATIONS);
  }
  for (int d = 0; d < m->days; d++) m->ratio[d] = (float)(m->turbulence[d] / m->unit);
}

// Features that fill_tables has cut off.
static void count_far(const gr_market *m) {
  int64_t w = width(m), n = m->spec.features.n;
  for (int64_t i = 0; i < w * m->days; i++) {
    double x = (m->raw[i] - m->mean[i % w]) * m->scale[i % w];
    if (!(fabs(x) > MAX_DEVIATIONS)) continue;
    const char *name =
        m->skipped[GR_MARKET_FAR].n
            ? NULL
            : gr_arena_printf(m->arena, "%s of %s on %s", m->spec.features.items[i % w % n],
                              m->ticker[i % w / n].name, m->dates[i / w]);
    gr_omitted_add(m->arena, &m->skipped[GR_MARKET_FAR], 1, GR_NOWHERE, name);
  }
}

// The smallest number that at least this share of the training days with a turbulence do not
// exceed.
static double quantile(const gr_market *m, gr_arena *scratch) {
  double *x = GR_NEW(scratch, double, m->train_days + 1);
  int n = 0;
  for (int d = 0; d < m->train_days; d++)
    if (m->turbulence[d] > 0) x[n++] = m->turbulence[d];
  if (!n) return 1;
  qsort(x, (size_t)n, sizeof *x, gr_order_numbers);
  int rank = (int)ceil(m->spec.turbulence_limit * n) - 1;
  return x[rank < 0 ? 0 : rank];
}

static gr_status market_fit(void *self, gr_arena *arena, const gr_sample *all, uint32_t n) {
  gr_market *m = self;
  int64_t w = width(m);
  (void)arena, (void)all, (void)n;
  for (int64_t c = 0; c < w; c++) {
    double sum = 0, squares = 0;
    for (int d = 0; d < m->train_days; d++) sum += m->raw[d * w + c] - m->raw[c];
    m->mean[c] = m->raw[c] + sum / m->train_days;
    for (int d = 0; d < m->train_days; d++)
      squares += (m->raw[d * w + c] - m->mean[c]) * (m->raw[d * w + c] - m->mean[c]);
    double deviation = sqrt(squares / m->train_days);
    m->scale[c] = 1 / gr_statistics_divisor(m->mean[c], deviation);
  }
  gr_arena *scratch = gr_arena_create();
  m->unit = quantile(m, scratch);
  gr_arena_destroy(scratch);
  fill_tables(m);
  count_far(m);
  return GR_OK;
}

// Format: "150 unit mean scale mean scale ..."; values are restored bit for bit.
static void market_save(const void *self, gr_text *out) {
  const gr_market *m = self;
  gr_text_printf(out, "%lld %.17g", (long long)width(m), m->unit);
  for (int64_t c = 0; c < width(m); c++)
    gr_text_printf(out, " %.17g %.17g", m->mean[c], m->scale[c]);
}

static gr_status market_restore(void *self, const char *text) {
  gr_market *m = self;
  char *end;
  long long n = strtoll(text, &end, 10);
  const char *cursor = end;
  if (n != width(m))
    return gr_hint(
        gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                "the checkpoint has means and deviations of %lld features, the data %lld", n,
                (long long)width(m)),
        "the same data.market.features, and as many tickers");
  bool ok = gr_statistics_read(&cursor, &m->unit) && m->unit > 0;
  for (int64_t c = 0; c < n && ok; c++)
    ok = gr_statistics_read(&cursor, &m->mean[c]) && gr_statistics_read(&cursor, &m->scale[c]);
  if (!ok)
    return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                   "the checkpoint's means and deviations are damaged");
  fill_tables(m);
  return GR_OK;
}

// ---- Samples and tables -------------------------------------------------------------------------

static int market_fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  (void)self;
  out[0] = (gr_field_spec){.name = "day", .dtype = GR_I32};
  return 1;
}

static uint32_t market_count(const void *self) { return (uint32_t)((const gr_market *)self)->days; }

static gr_sample_info market_info(const void *self, uint32_t sample) {
  const gr_market *m = self;
  return (gr_sample_info){
      .key = gr_hash_text(m->dates[sample]),
      .split = (int)sample < m->train_days ? GR_SPLIT_TRAIN : GR_SPLIT_VALIDATION,
      .length = 1};
}

// Ranks compare the prices of each day.
static uint64_t market_fingerprint(const void *self, uint32_t sample, bool with_file) {
  const gr_market *m = self;
  uint64_t hash = gr_hash_text(m->dates[sample]);
  (void)with_file;
  for (int k = 0; k < m->n_tickers; k++)
    for (int i = 0; i < GR_MARKET_COLUMNS; i++)
      hash = gr_hash_bytes(hash, &m->ticker[k].column[i][sample], sizeof(double));
  return hash;
}

static void market_fill(const void *self, uint32_t sample, const gr_loaded *loaded,
                        const gr_draw *draw, gr_row *row) {
  (void)self, (void)loaded, (void)draw;
  *(int32_t *)row->field[0] = (int32_t)sample;
}

static int market_tables(const void *self, gr_data_table out[GR_MAX_TABLES]) {
  const gr_market *m = self;
  int64_t days = m->days;
  out[0] = (gr_data_table){"close", {GR_F32, 2, {days, m->n_tickers}}, m->close};
  out[1] = (gr_data_table){"features", {GR_F32, 2, {days, width(m)}}, m->features};
  out[2] = (gr_data_table){"turbulence", {GR_F32, 2, {days, 1}}, m->ratio};
  return 3;
}

static int market_metadata(const void *self, gr_metadata out[GR_MAX_METADATA]) {
  const gr_market *m = self;
  out[0] = (gr_metadata){"tickers", m->n_tickers};
  out[1] = (gr_metadata){"features", m->spec.features.n};
  out[2] = (gr_metadata){"days", m->days};
  out[3] = (gr_metadata){"train_days", m->train_days};
  return 4;
}

static void market_name_of(const void *self, uint32_t sample, gr_text *out) {
  gr_text_put(out, ((const gr_market *)self)->dates[sample]);
}

static void market_notes(const void *self, gr_text *out) {
  const gr_market *m = self;
  for (int k = 0; k < m->n_tickers; k++)
    if (m->ticker[k].rows > m->days)
      gr_text_printf(out, "%s%s %d",
                     out->len ? ", " : "days that others lack are left out: ", m->ticker[k].name,
                     m->ticker[k].rows - m->days);
}

static void market_inspect(const void *self, const gr_sample *samples, uint32_t n, gr_text *out) {
  const gr_market *m = self;
  int left = 0;
  (void)samples, (void)n;
  gr_text_printf(out, "%d tickers on %d days, %s to %s; training until %s\n", m->n_tickers, m->days,
                 m->dates[0], m->dates[m->days - 1], m->dates[m->train_days - 1]);
  for (int k = 0; k < m->n_tickers; k++) {
    const gr_ticker *t = &m->ticker[k];
    const double *close = t->column[GR_CLOSE];
    gr_text_printf(out, "  %-12s close %g to %g, %+.1f %% in training", t->name, close[0],
                   close[m->days - 1], 100 * (close[m->train_days - 1] / close[0] - 1));
    if (t->rows > m->days) gr_text_printf(out, "; %d days others lack", t->rows - m->days);
    gr_text_put(out, "\n");
  }
  for (int d = 0; d < m->train_days; d++) left += m->turbulence[d] > m->unit;
  gr_text_printf(out, "  turbulence exceeds its limit, %g, on %d training days\n", m->unit, left);
}

static void market_record(const void *self, gr_text *json) {
  const gr_market *m = self;
  gr_text_put(json, ", \"tickers\": [");
  for (int k = 0; k < m->n_tickers; k++) {
    gr_text_json_next(json);
    gr_text_json(json, m->ticker[k].name);
  }
  gr_text_put(json, "]");
}

const gr_source_ops gr_source_market = {.name = "market",
                                        .skips = {[GR_MARKET_DAYS] = {.why = "rows of days that "
                                                                             "some tickers lack",
                                                                      .of = GR_OMITTED_OTHER},
                                                  [GR_MARKET_FILES] = {.why = "files that do not "
                                                                              "end in .csv",
                                                                       .of = GR_OMITTED_OTHER},
                                                  [GR_MARKET_FAR] = {.why = "features beyond 5 "
                                                                            "deviations, which "
                                                                            "are cut off there",
                                                                     .of = GR_OMITTED_OTHER}},
                                        .sample = "day",
                                        .path_key = "path",
                                        .path_hint = "a folder of CSV files, one for each ticker",
                                        .open = market_open,
                                        .fields = market_fields,
                                        .count = market_count,
                                        .info = market_info,
                                        .fill = market_fill,
                                        .tables = market_tables,
                                        .metadata = market_metadata,
                                        .fit = market_fit,
                                        .save = market_save,
                                        .restore = market_restore,
                                        .name_of = market_name_of,
                                        .notes = market_notes,
                                        .inspect = market_inspect,
                                        .record = market_record,
                                        .fingerprint = market_fingerprint};
