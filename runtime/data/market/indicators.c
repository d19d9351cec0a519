// indicators.c - indicators of a ticker, and the turbulence of all; see market.h for the formulas.
#include <math.h>
#include <string.h>
#include "runtime/data/market/market.h"

const char *const gr_market_indicators[] = {"price",  "macd",   "rsi",        "cci", "adx",
                                            "change", "volume", "volatility", NULL};

typedef struct series {
  gr_arena *arena;
  const gr_ticker *ticker;
  int days, period;
} series;

static double *numbers(const series *s) { return GR_NEW(s->arena, double, s->days + 1); }

// y += factor (x - y), from the first x on; may be done in place.
static void smooth(const double *x, int n, double factor, double *y) {
  double average = x[0];
  for (int d = 0; d < n; d++) y[d] = average += factor * (x[d] - average);
}

// The days of a window that ends with day d.
static int first_of(const series *s, int d) { return d + 1 > s->period ? d + 1 - s->period : 0; }

static double mean_of(const double *x, int first, int end) {
  double sum = 0;
  for (int d = first; d <= end; d++) sum += x[d];
  return sum / (end - first + 1);
}

static void relative(const series *s, int column, double *out) {
  const double *x = s->ticker->column[column];
  for (int d = 0; d < s->days; d++) {
    double mean = mean_of(x, first_of(s, d), d);
    out[d] = mean > 0 && x[d] > 0 ? log(x[d] / mean) : 0;
  }
}

static void price(const series *s, double *out) { relative(s, GR_CLOSE, out); }
static void volume(const series *s, double *out) { relative(s, GR_VOLUME, out); }

static void macd(const series *s, double *out) {
  const double *x = s->ticker->column[GR_CLOSE];
  double *slow = numbers(s);
  smooth(x, s->days, 2.0 / 13, out);
  smooth(x, s->days, 2.0 / 27, slow);
  for (int d = 0; d < s->days; d++) out[d] = (out[d] - slow[d]) / x[d];
}

static void rsi(const series *s, double *out) {
  const double *x = s->ticker->column[GR_CLOSE];
  double *gain = numbers(s), *loss = numbers(s);
  for (int d = 1; d < s->days; d++)
    gain[d] = fmax(x[d] - x[d - 1], 0), loss[d] = fmax(x[d - 1] - x[d], 0);
  smooth(gain, s->days, 1.0 / s->period, gain);
  smooth(loss, s->days, 1.0 / s->period, loss);
  for (int d = 0; d < s->days; d++)
    out[d] = gain[d] + loss[d] > 0 ? 100 * gain[d] / (gain[d] + loss[d]) : 50;
}

static void cci(const series *s, double *out) {
  double *const *c = s->ticker->column, *p = numbers(s);
  for (int d = 0; d < s->days; d++) p[d] = (c[GR_HIGH][d] + c[GR_LOW][d] + c[GR_CLOSE][d]) / 3;
  for (int d = 0; d < s->days; d++) {
    int first = first_of(s, d);
    double mean = mean_of(p, first, d), spread = 0;
    for (int k = first; k <= d; k++) spread += fabs(p[k] - mean);
    spread /= d - first + 1;
    out[d] = spread > 1e-12 * mean ? (p[d] - mean) / (0.015 * spread) : 0;
  }
}

static void adx(const series *s, double *out) {
  double *const *c = s->ticker->column, *up = numbers(s), *down = numbers(s), *range = numbers(s);
  const double *high = c[GR_HIGH], *low = c[GR_LOW], *close = c[GR_CLOSE];
  range[0] = high[0] - low[0];
  for (int d = 1; d < s->days; d++) {
    double u = high[d] - high[d - 1], v = low[d - 1] - low[d];
    up[d] = u > v && u > 0 ? u : 0, down[d] = v > u && v > 0 ? v : 0;
    range[d] = fmax(high[d], close[d - 1]) - fmin(low[d], close[d - 1]);
  }
  smooth(up, s->days, 1.0 / s->period, up);
  smooth(down, s->days, 1.0 / s->period, down);
  smooth(range, s->days, 1.0 / s->period, range);
  for (int d = 0; d < s->days; d++) {
    double a = range[d] > 0 ? up[d] / range[d] : 0, b = range[d] > 0 ? down[d] / range[d] : 0;
    out[d] = a + b > 0 ? 100 * fabs(a - b) / (a + b) : 0;
  }
  smooth(out, s->days, 1.0 / s->period, out);
}

static void change(const series *s, double *out) {
  const double *x = s->ticker->column[GR_CLOSE];
  out[0] = 0;
  for (int d = 1; d < s->days; d++) out[d] = log(x[d] / x[d - 1]);
}

static void volatility(const series *s, double *out) {
  double *x = numbers(s);
  change(s, x);
  for (int d = 0; d < s->days; d++) {
    int first = first_of(s, d);
    double mean = mean_of(x, first, d), sum = 0;
    for (int k = first; k <= d; k++) sum += (x[k] - mean) * (x[k] - mean);
    out[d] = sqrt(sum / (d - first + 1));
  }
}

bool gr_market_indicator(gr_arena *arena, const gr_ticker *t, const char *name, int days,
                         int period, double *out) {
  static void (*const compute[])(const series *, double *) = {price, macd,   rsi,    cci,
                                                              adx,   change, volume, volatility};
  const series s = {arena, t, days, period};
  for (int i = 0; gr_market_indicators[i]; i++)
    if (!strcmp(gr_market_indicators[i], name)) {
      compute[i](&s, out);
      return true;
    }
  return false;
}

// ---- Turbulence ---------------------------------------------------------------------------------

// The Cholesky factor of a [n, n] in its lower half; a is positive definite.
static void factorize(double *a, int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double sum = a[i * n + j];
      for (int k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
    }
}

// |L^-1 y|^2 = y' (L L')^-1 y; y is overwritten.
static double distance(const double *l, int n, double *y) {
  double sum = 0;
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < i; k++) y[i] -= l[i * n + k] * y[k];
    y[i] /= l[i * n + i];
    sum += y[i] * y[i];
  }
  return sum;
}

// The covariance of rows [begin, end) of x [days, n], divided by their number less one.
static void covariance(const double *x, int n, int begin, int end, double *mean, double *out) {
  memset(mean, 0, sizeof *mean * (size_t)n), memset(out, 0, sizeof *out * (size_t)(n * n));
  for (int d = begin; d < end; d++)
    for (int i = 0; i < n; i++) mean[i] += x[d * n + i] / (end - begin);
  for (int d = begin; d < end; d++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j <= i; j++)
        out[i * n + j] += (x[d * n + i] - mean[i]) * (x[d * n + j] - mean[j]) / (end - begin - 1);
}

void gr_market_turbulence(gr_arena *arena, const gr_ticker *t, int n, int days, int window,
                          double *out) {
  double *x = GR_NEW(arena, double, days *n), *mean = GR_NEW(arena, double, n),
         *s = GR_NEW(arena, double, n *n), *y = GR_NEW(arena, double, n);
  for (int d = 1; d < days; d++)
    for (int i = 0; i < n; i++)
      x[d * n + i] = log(t[i].column[GR_CLOSE][d] / t[i].column[GR_CLOSE][d - 1]);
  for (int d = 0; d < days; d++) {
    double trace = 0;
    out[d] = 0;
    if (d <= window) continue;
    covariance(x, n, d - window, d, mean, s);
    for (int i = 0; i < n; i++) trace += s[i * n + i];
    for (int i = 0; i < n; i++) s[i * n + i] += 1e-6 * trace / n + 1e-18;
    factorize(s, n);
    for (int i = 0; i < n; i++) y[i] = x[d * n + i] - mean[i];
    out[d] = distance(s, n, y);
  }
}
