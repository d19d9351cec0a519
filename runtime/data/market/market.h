// market.h - daily prices of several tickers: the source `market` of data (source.h).
//
// A sample is a day, with the field day i32, its number. What happened on the days is in tables,
// which a model's buffers with `init: data` hold, all f32: close [days, tickers]; features
// [days, tickers * features], normalized; turbulence [days, 1], in units of its limit.
#pragma once
#include "runtime/data/labels.h"
#include "runtime/data/source.h"

// The keys of the source, and what a request's `spec` is without a configuration.
typedef struct gr_market_spec {
  const char *path;  // of the folder
  gr_names tickers, features;
  int period, turbulence_days;
  double turbulence_limit;
} gr_market_spec;

enum { GR_OPEN, GR_HIGH, GR_LOW, GR_CLOSE, GR_VOLUME, GR_MARKET_COLUMNS };

// A ticker's file. Prices of the days that all tickers have, in order: column[k][day].
typedef struct gr_ticker {
  const char *name, *path;
  int rows;            // of the file
  const char **dates;  // [rows], as text whose order is that of time
  int *lines;          // [rows]
  double *column[GR_MARKET_COLUMNS];
} gr_ticker;

typedef enum gr_market_skip {
  GR_MARKET_DAYS,   // that some tickers do not have
  GR_MARKET_FILES,  // that are no tickers
  GR_MARKET_FAR     // features that are cut off
} gr_market_skip;   // of gr_source_ops.skips

typedef struct gr_market {
  gr_arena *arena;
  gr_omitted *skipped;  // see gr_source_request
  gr_market_spec spec;
  gr_ticker *ticker;
  int n_tickers;
  const char **dates;  // [days]
  int days, train_days;
  double *raw;         // [days, n_tickers * features]: before they are normalized
  double *turbulence;  // [days]; 0: there are too few days before it
  // Statistics of the training days: of each column of `raw`, and the unit of turbulence.
  double *mean, *scale, unit;
  float *close, *features, *ratio;  // the tables
} gr_market;

// Reads the tickers' files and keeps the days that all have. Sets ticker, n_tickers, dates, days.
GR_MUST_USE gr_status gr_market_read(gr_market *);

// An indicator of a ticker on every day, by its name; false: there is none of that name.
//   price       log(close / mean of the last n closes), n = period
//   macd        (EMA_12 - EMA_26) of closes, divided by the close (Appel)
//   rsi         100 g / (g + l), the means of gains and losses smoothed by 1 / n; 50 without any
//   cci         (p - SMA_n(p)) / (0.015 mean |p - SMA_n(p)|), p = (high + low + close) / 3; or 0
//   adx         DX smoothed by 1 / n, DX = 100 |D+ - D-| / (D+ + D-) of smoothed movements; or 0
//   change      log(close / close of the day before)
//   volume      log(volume / mean of the last n volumes)
//   volatility  standard deviation of the last n changes
// EMA_s has the factor 2 / (s + 1); every smoothed value starts as that of the first day. Means
// over n days take those that there are.
bool gr_market_indicator(gr_arena *, const gr_ticker *, const char *name, int days, int period,
                         double *out);
extern const char *const gr_market_indicators[];  // their names, up to NULL

// (y - mu)' S^-1 (y - mu) of the day's changes y, with the mean mu and the covariance S of the
// changes of `window` days before (Kritzman, Li 2010); 1e-6 of S's mean diagonal is added to the
// diagonal. 0 on the first window + 1 days, which have too few before them. close: of each ticker.
void gr_market_turbulence(gr_arena *, const gr_ticker *, int n, int days, int window, double *out);
