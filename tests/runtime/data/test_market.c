// test_market.c - prices of tickers: indicators and turbulence against plain NumPy
// (tests/golden/market.txt), the days that all have, the split, and what is refused.
#include <math.h>
#include <sys/stat.h>
#include "runtime/data/market/market.h"
#include "tests/golden/golden.h"
#include "tests/runtime/data/fixture.h"

enum { DAYS = 60, TRAIN = 45, INDICATORS = 8 };
static gr_arena *arena;

typedef struct market {
  gr_market_spec spec;
  gr_dataset_options options;
} market;

static market market_of(const char *folder) {
  static const char *all[] = {"price", "macd",   "rsi",    "cci",
                              "adx",   "change", "volume", "volatility"};
  return (market){.spec = {.path = folder,
                           .features = {all, INDICATORS},
                           .period = 5,
                           .turbulence_days = 20,
                           .turbulence_limit = 0.9},
                  .options = {.n_buckets = 1, .validation_fraction = 0.25}};
}

static gr_status open_market(const market *m, gr_dataset **out) {
  return gr_dataset_create(&gr_source_market, &m->spec, &m->options, out);
}

static const char *folder_of(const char *name) {
  const char *path = gr_arena_strdup(arena, fixture_path("%s", name));
  mkdir(path, 0777);
  return path;
}

static void write_file(const char *folder, const char *ticker, const char *text) {
  fixture_text(gr_arena_printf(arena, "%s/%s.csv", folder, ticker), text);
}

// The golden prices; a ticker may have its own days besides those of all.
static const char *golden_folder(const golden *all, int n, bool more) {
  const char *folder = folder_of(more ? "more" : "plain");
  for (int i = 0; i < n; i++) {
    gr_text t = gr_text_make(arena);
    if (strcmp(all[i].kind, "prices")) continue;
    gr_text_put(&t, "timestamp,open,high,low,close,volume\n");
    for (int d = 0; d < DAYS; d++) {
      if (more && (d + i) % 7 == 0) gr_text_printf(&t, "%d,1,1,1,1,%d\n", 20 * d + i + 1, i);
      gr_text_printf(&t, "%d", 20 * d + 10);
      for (int k = 0; k < 5; k++) gr_text_printf(&t, ",%.9g", all[i].values[k * DAYS + d]);
      gr_text_put(&t, "\n");
    }
    write_file(folder, all[i].name, t.chars);
  }
  write_file(folder, "._A", "no prices");  // as macOS adds beside A.csv
  return folder;
}

static const gr_data_table *table_of(const gr_dataset *d, const char *name) {
  static gr_data_table all[GR_MAX_TABLES];
  int n = gr_dataset_tables(d, all);
  for (int i = 0; i < n; i++)
    if (!strcmp(all[i].name, name)) return &all[i];
  CHECK(false, "there is no table %s", name);
  check_leave();
}

static void compare(const gr_dataset *d, const golden *all, int n, const char *name) {
  const gr_data_table *t = table_of(d, name);
  const golden *want = golden_find(all, n, "table", name);
  CHECK(want && gr_type_count(&t->type) == want->count, "%s", name);
  for (int64_t i = 0; i < want->count; i++) {
    double got = (double)((const float *)t->data)[i];
    CHECK(fabs(got - want->values[i]) < 2e-6 * (1 + fabs(want->values[i])),
          "%s at %lld is %.9g, not %.9g", name, (long long)i, got, want->values[i]);
  }
}

static const golden *read_golden(int *n) {
  const golden *all = golden_read(arena, GR_GOLDEN "/market.txt", n, NULL);
  CHECK(all && *n == 5, "%s/market.txt", GR_GOLDEN);
  return all;
}

static void numpy_agrees(void) {
  int n = 0;
  const golden *all = read_golden(&n);
  for (int more = 0; more < 2; more++) {
    market m = market_of(golden_folder(all, n, more));
    gr_dataset *d;
    MUST(open_market(&m, &d));
    CHECK(gr_dataset_count(d, GR_SPLIT_TRAIN) == TRAIN && gr_dataset_samples(d) == DAYS,
          "the last quarter of the days is for validation");
    for (uint32_t i = 0; i < DAYS; i++)
      CHECK(gr_dataset_sample(d, i)->split == (i >= TRAIN), "day %u", i);
    compare(d, all, n, "features");
    compare(d, all, n, "turbulence");
    const golden *prices = golden_find(all, n, "prices", "T1");
    const float *close = table_of(d, "close")->data;
    for (int k = 0; k < DAYS; k++)
      CHECK(close[3 * k + 1] == (float)prices->values[3 * DAYS + k], "the close of day %d", k);
    gr_dataset_close(d);
  }
}

// Statistics come from a checkpoint, also for other days.
static void restores(void) {
  int n = 0;
  const golden *all = read_golden(&n);
  market m = market_of(golden_folder(all, n, false)), few = m;
  gr_dataset *d, *other;
  gr_text saved = gr_text_make(arena), again = gr_text_make(arena);
  MUST(open_market(&m, &d));
  CHECK(gr_dataset_save(d, &saved), "statistics");
  few.options.validation_fraction = 0.75;
  MUST(open_market(&few, &other));
  CHECK(((const float *)table_of(other, "features")->data)[9] !=
            ((const float *)table_of(d, "features")->data)[9],
        "of other training days");
  MUST(gr_dataset_restore(other, saved.chars));
  compare(other, all, n, "features");
  compare(other, all, n, "turbulence");
  CHECK(gr_dataset_save(other, &again) && !strcmp(saved.chars, again.chars), "to the last bit");
  few.spec.features.n = 3;
  gr_dataset_close(other);
  MUST(open_market(&few, &other));
  fixture_fails(gr_dataset_restore(other, saved.chars), GR_ERR_CHECKPOINT, 0,
                "24 features, the data");
  fixture_fails(gr_dataset_restore(other, "9 1 2 x"), GR_ERR_CHECKPOINT, 0, "are damaged");
  gr_dataset_close(other);
  gr_dataset_close(d);
}

static void chosen_tickers(void) {
  int n = 0;
  const golden *all = read_golden(&n);
  market m = market_of(golden_folder(all, n, false));
  const char *two[] = {"T2", "T0"};
  gr_metadata data[GR_MAX_METADATA];
  gr_dataset *d;
  m.spec.tickers = (gr_names){two, 2}, m.spec.features.n = 5;
  MUST(open_market(&m, &d));
  CHECK(((const float *)table_of(d, "close")->data)[0] ==
            (float)golden_find(all, n, "prices", "T2")->values[3 * DAYS],
        "in that order");
  CHECK(gr_dataset_metadata(d, data) == 4 && data[0].value == 2 && data[1].value == 5 &&
            data[2].value == DAYS && data[3].value == TRAIN,
        "sizes for the model");
  gr_dataset_close(d);
}

// On days of one price the true range is the step from the close of the day before.
static void ranges_from_yesterday(void) {
  for (int sign = -1; sign < 2; sign += 2) {
    double price[4], out[4];
    for (int d = 0; d < 4; d++) price[d] = 10 + sign * d;
    const gr_ticker t = {.column = {price, price, price, price, price}};
    CHECK(gr_market_indicator(arena, &t, "adx", 4, 2, out), "adx");
    for (int d = 0; d < 4; d++)  // half of the way to 100 each day
      CHECK(fabs(out[d] - 100 * (1 - pow(0.5, d))) < 1e-9, "adx of day %d is %g", d, out[d]);
  }
}

// Of one ticker: the square of a change's distance, in deviations of those before, by n - 1.
static void turbulence_of_one(void) {
  static const double change[] = {0, 0.01, -0.02, 0.03, 0.005};
  double price[5] = {20}, out[5];
  for (int d = 1; d < 5; d++) price[d] = price[d - 1] * exp(change[d]);
  const gr_ticker t = {.column = {price, price, price, price, price}};
  gr_market_turbulence(arena, &t, 1, 5, 3, out);
  double mean = 0.02 / 3, square = pow(0.01 - mean, 2) + pow(-0.02 - mean, 2) + pow(0.03 - mean, 2);
  double want = pow(0.005 - mean, 2) / (square / 2);
  for (int d = 0; d < 4; d++) CHECK(out[d] == 0, "day %d has too few before it", d);
  CHECK(fabs(out[4] - want) < 1e-5 * want, "the turbulence is %.9g, not %.9g", out[4], want);
}

#define HEAD "timestamp,open,high,low,close,volume\n"
static void refused(void) {
  static const struct {
    const char *a, *b;  // two tickers; NULL: there is none
    int line;
    const char *says;
  } cases[] = {
      {NULL, NULL, 0, "there is no CSV file in"},
      {HEAD "1,2,2,2,2,5\n2,2,2,2,2,5\n", "timestamp,open,high,low,Close,volume\n1,2,2,2,2,5\n", 1,
       "there is no column 'close'"},
      {"date,open,high,low,close,volume\n1,2,2,2,2,5\n", NULL, 1, "no column 'timestamp'"},
      {HEAD "1,2,2,2,2,5\n2,2,2,2\n", NULL, 3, "4"},
      {HEAD "2024-01-02,2,2,2,2,5\n2024-01-01,2,2,2,2,5\n", NULL, 3,
       "2024-01-01 does not come after 2024-01-02"},
      {HEAD "9,2,2,2,2,5\n10,2,2,2,2,5\n10,2,2,2,2,5\n", NULL, 4, "does not come after"},
      {HEAD "1,2,2,2,2,5\n2,2,nan,2,2,5\n", NULL, 3, "the high of 2 is missing"},
      {HEAD "1,2,2,2,2,5\n2,2,2,2,inf,5\n", NULL, 3, "the close of 2 is inf"},
      {HEAD "1,2,2,2,2,5\n2,2,2,0,2,5\n", NULL, 3, "the low of 2 is 0"},
      {HEAD "1,2,2,2,2,-1\n2,2,2,2,2,5\n", NULL, 2, "the volume of 1 is -1"},
      {HEAD "1,2,2,2,2,5\n2,2,high,2,2,5\n", NULL, 2, "is not a number"},
      {HEAD "1,2,2,2,2,5\n,2,2,2,2,5\n", NULL, 3, "no timestamp"},
      {HEAD "1,2,2,2,2,5\n2,2,2,2,2,5\n", HEAD "3,2,2,2,2,5\n4,2,2,2,2,5\n", 0, "the 2 tickers of"},
      {HEAD "1,2,2,2,2,5\n2,2,2,2,2,5\n", HEAD "2,2,2,2,2,5\n4,2,2,2,2,5\n", 0,
       "have 1 day in common"},
      {HEAD, NULL, 0, ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    market m = market_of(folder_of(gr_arena_printf(arena, "case%zu", i)));
    gr_dataset *d = NULL;
    if (cases[i].a) write_file(m.spec.path, "A", cases[i].a);
    if (cases[i].b) write_file(m.spec.path, "B", cases[i].b);
    fixture_fails(open_market(&m, &d), GR_ERR_DATA, cases[i].line, cases[i].says);
  }
}

static void refused_keys(void) {
  static const char *unknown[] = {"rsy"}, *absent[] = {"T0", "NOPE"};
  int n = 0;
  const golden *all = read_golden(&n);
  market m = market_of(NULL);
  gr_dataset *d = NULL;
  fixture_fails(open_market(&m, &d), GR_ERR_CONFIG, 0, "data.market.path is not given");
  m = market_of("/nowhere/at/all");
  fixture_fails(open_market(&m, &d), GR_ERR_DATA, 0, "cannot read the folder");
  m = market_of(golden_folder(all, n, false));
  m.spec.tickers = (gr_names){absent, 2};
  fixture_fails(open_market(&m, &d), GR_ERR_DATA, 0, "NOPE.csv");
  m.spec.tickers.n = 0, m.spec.features = (gr_names){unknown, 1};
  fixture_fails(open_market(&m, &d), GR_ERR_CONFIG, 0, "there is no feature 'rsy'");
}

// Prices that never change have indicators, too.
static void still(void) {
  market m = market_of(folder_of("still"));
  gr_text t = gr_text_make(arena);
  gr_dataset *d;
  gr_text_put(&t, HEAD);
  for (int i = 0; i < 40; i++) gr_text_printf(&t, "%d,2,2,2,2,0\n", i);
  write_file(m.spec.path, "A", t.chars);
  MUST(open_market(&m, &d));
  const gr_data_table *f = table_of(d, "features"), *w = table_of(d, "turbulence");
  for (int64_t i = 0; i < gr_type_count(&f->type); i++)
    CHECK(((const float *)f->data)[i] == 0, "feature %lld", (long long)i);
  for (int64_t i = 0; i < gr_type_count(&w->type); i++)
    CHECK(((const float *)w->data)[i] == 0, "turbulence %lld", (long long)i);
  gr_dataset_close(d);
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int failed = RUN(argc, argv, {"numpy_agrees", numpy_agrees}, {"restores", restores},
                   {"ranges_from_yesterday", ranges_from_yesterday},
                   {"turbulence_of_one", turbulence_of_one}, {"chosen_tickers", chosen_tickers},
                   {"refused", refused}, {"refused_keys", refused_keys}, {"still", still});
  gr_arena_destroy(arena);
  return failed;
}
