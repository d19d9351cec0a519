// read.c - reads the tickers' files and keeps the days that all of them have; see market.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/sort.h"
#include "runtime/data/file_list.h"
#include "runtime/data/files.h"
#include "runtime/data/market/market.h"

static const char *const columns[GR_MARKET_COLUMNS] = {"open", "high", "low", "close", "volume"};

// ---- The folder ---------------------------------------------------------------------------------

// The names of the CSV files in the folder, without ".csv".
static gr_status list_tickers(gr_market *m, gr_names *out) {
  gr_names files;
  GR_TRY(gr_hint(gr_file_list_folder(m->arena, m->spec.path, &files),
                 "data.market.path is a folder of CSV files, one for each ticker"));
  *out = (gr_names){GR_NEW(m->arena, const char *, files.n + 1), 0};
  for (int i = 0; i < files.n; i++) {
    size_t n = strlen(files.items[i]);
    if (n > 4 && !strcmp(files.items[i] + n - 4, ".csv"))
      out->items[out->n++] = gr_arena_strndup(m->arena, files.items[i], n - 4);
    else
      gr_omitted_add(m->arena, &m->skipped[GR_MARKET_FILES], 1, GR_NOWHERE, files.items[i]);
  }
  if (out->n) qsort(out->items, (size_t)out->n, sizeof *out->items, gr_order_texts);
  if (out->n) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "there is no CSV file in '%s'", m->spec.path),
                 "one for each ticker, such as AAPL.csv; `tools/market-data` makes some");
}

// ---- A file -------------------------------------------------------------------------------------

static gr_status find_column(const gr_csv *t, const char *name, int *column) {
  *column = gr_csv_find(t, name);
  if (*column >= 0) return GR_OK;
  const char **names = malloc(sizeof *names * (size_t)(t->n_columns + 1));
  for (int i = 0; names && i < t->n_columns; i++) names[i] = t->columns[i].name;
  const char *near = names ? gr_text_nearest(name, names, t->n_columns) : NULL;
  free(names);
  gr_status s = gr_fail(GR_ERR_DATA, (gr_loc){t->path, 1, 1}, "there is no column '%s'", name);
  if (near) s = gr_hint(s, "there is '%s'", near);
  return gr_hint(s, "the first line names timestamp, open, high, low, close and volume");
}

// Dates that are numbers get leading zeros, so that the order of texts is that of time.
static const char *date_text(gr_arena *a, const gr_csv *t, int column, uint32_t row) {
  const gr_column *c = &t->columns[column];
  if (c->type == GR_COLUMN_INT) return gr_arena_printf(a, "%020lld", (long long)c->ints[row]);
  gr_array dates = gr_csv_array(t, column);
  return gr_arena_strdup(a, gr_array_text(a, &dates, row));
}

// As the file has it, but for leading zeros.
static const char *printable(const char *date) {
  while (date[0] == '0' && date[1] >= '0' && date[1] <= '9') date++;
  return date;
}

static gr_status check_order(const gr_ticker *k, int row) {
  if (!row || strcmp(k->dates[row - 1], k->dates[row]) < 0) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){k->path, k->lines[row], 1},
                         "the day %s does not come after %s, the day before it",
                         printable(k->dates[row]), printable(k->dates[row - 1])),
                 "days ascend, and each is there once: 2024-01-31, or numbers");
}

static gr_status read_dates(gr_market *m, const gr_csv *t, gr_ticker *k) {
  int column;
  GR_TRY(find_column(t, "timestamp", &column));
  k->dates = GR_NEW(m->arena, const char *, t->rows + 1);
  k->lines = GR_NEW(m->arena, int, t->rows + 1);
  k->rows = (int)t->rows;
  for (uint32_t row = 0; row < t->rows; row++) {
    k->lines[row] = t->lines[row];
    if (gr_csv_missing(t, row, column))
      return gr_hint(
          gr_fail(GR_ERR_DATA, (gr_loc){t->path, t->lines[row], 1}, "this line has no timestamp"),
          "remove the line, or fill it in");
    k->dates[row] = date_text(m->arena, t, column, row);
    GR_TRY(check_order(k, (int)row));
  }
  return GR_OK;
}

static gr_status read_column(gr_market *m, const gr_csv *t, gr_ticker *k, int which) {
  int column;
  GR_TRY(find_column(t, columns[which], &column));
  gr_array values = gr_csv_array(t, column);
  double *out = k->column[which] = GR_NEW(m->arena, double, t->rows + 1);
  for (uint32_t row = 0; row < t->rows; row++) {
    bool there = !gr_csv_missing(t, row, column) && !gr_array_is_text(&values);
    out[row] = there ? gr_array_number(&values, row) : (double)NAN;
    if (isfinite(out[row]) && (out[row] > 0 || (which == GR_VOLUME && out[row] == 0))) continue;
    return gr_hint(
        gr_fail(GR_ERR_DATA, (gr_loc){t->path, t->lines[row], 1}, "the %s of %s is %s",
                columns[which], printable(k->dates[row]),
                there ? gr_array_text(m->arena, &values, row)
                      : (gr_csv_missing(t, row, column) ? "missing" : "not a number")),
        "prices are numbers above 0, volumes numbers of at least 0: remove the line or fill it in");
  }
  return GR_OK;
}

static gr_status read_ticker(gr_market *m, gr_ticker *k) {
  gr_csv t;
  GR_TRY(gr_csv_read(m->arena, k->path, &gr_csv_fixed, &t));
  GR_TRY(read_dates(m, &t, k));
  for (int i = 0; i < GR_MARKET_COLUMNS; i++) GR_TRY(read_column(m, &t, k, i));
  return GR_OK;
}

// ---- The days that all have ---------------------------------------------------------------------

static bool has_date(const gr_ticker *k, const char *date) {
  return k->rows && bsearch(&date, k->dates, (size_t)k->rows, sizeof *k->dates, gr_order_texts);
}

static void keep_common(const gr_market *m, gr_ticker *k) {
  int to = 0;
  for (int row = 0; row < k->rows; row++) {
    bool common = to < m->days && !strcmp(k->dates[row], m->dates[to]);
    gr_omitted_add(m->arena, &m->skipped[GR_MARKET_DAYS], !common,
                   (gr_loc){k->path, k->lines[row], 1}, NULL);
    if (!common) continue;
    for (int i = 0; i < GR_MARKET_COLUMNS; i++) k->column[i][to] = k->column[i][row];
    to++;
  }
}

static gr_status align(gr_market *m) {
  const gr_ticker *first = &m->ticker[0];
  m->dates = GR_NEW(m->arena, const char *, first->rows + 1);
  for (int row = 0; row < first->rows; row++) {
    int have = 1;
    while (have < m->n_tickers && has_date(&m->ticker[have], first->dates[row])) have++;
    if (have == m->n_tickers) m->dates[m->days++] = first->dates[row];
  }
  for (int k = 0; k < m->n_tickers; k++) keep_common(m, &m->ticker[k]);
  if (m->days >= 2) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "the %d tickers of '%s' have %d day%s in common",
                         m->n_tickers, m->spec.path, m->days, m->days == 1 ? "" : "s"),
                 "days are compared as they are written: '%s' has %d, the first %s", first->path,
                 first->rows, first->rows ? printable(first->dates[0]) : "none");
}

gr_status gr_market_read(gr_market *m) {
  gr_names names = m->spec.tickers;
  if (!names.n) GR_TRY(list_tickers(m, &names));
  m->n_tickers = names.n;
  m->ticker = GR_NEW(m->arena, gr_ticker, names.n);
  const char **paths = GR_NEW(m->arena, const char *, names.n);
  for (int k = 0; k < names.n; k++) {
    paths[k] = gr_arena_printf(m->arena, "%s/%s.csv", m->spec.path, names.items[k]);
    m->ticker[k] = (gr_ticker){.name = names.items[k], .path = paths[k]};
  }
  GR_TRY(gr_files_there(paths, names.n));
  for (int k = 0; k < names.n; k++) GR_TRY(read_ticker(m, &m->ticker[k]));
  return align(m);
}
