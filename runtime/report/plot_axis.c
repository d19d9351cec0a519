// plot_axis.c - axes and their ticks at round numbers. See plot.h.
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include "runtime/report/plot.h"

// As many decimals as the step between ticks needs; powers of ten for very large and small values.
static void put_label(char out[24], double value, double step) {
  double large = fabs(value) > step ? fabs(value) : step;
  int decimals = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);
  if (fabs(value) < step * 1e-6) value = 0;
  if (large >= 1e7 || step < 1e-5)
    snprintf(out, 24, "%g", value);
  else
    snprintf(out, 24, "%.*f", decimals, value);
}

static double round_step(double range, int wanted) {
  double raw = range / wanted, power = pow(10, floor(log10(raw))), part = raw / power;
  return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static void linear_ticks(gr_axis *a, int wanted) {
  double step = round_step(a->high - a->low, wanted);
  double first = ceil(a->low / step - 1e-9);
  for (int i = 0; i < GR_TICKS && (first + i) * step <= a->high + 1e-9 * step; i++) {
    a->tick[a->n] = (first + i) * step;
    put_label(a->label[a->n++], (first + i) * step, step);
  }
}

// Powers of ten, and multiples of them where powers alone are few.
static void log_ticks(gr_axis *a, int wanted, int n_multiples) {
  static const int multiples[] = {1, 2, 5, 3, 4, 6, 7, 8, 9};
  int first = (int)floor(log10(a->low)), last = (int)ceil(log10(a->high));
  int every = (last - first - 1) / wanted + 1;
  a->n = 0;
  for (int e = first; e <= last; e += every)
    for (int k = 1; k < 10; k++) {
      bool used = false;
      for (int i = 0; i < n_multiples; i++) used |= multiples[i] == k;
      double v = pow(10, e) * k;
      if (!used || v < a->low * (1 - 1e-9) || v > a->high * (1 + 1e-9) || a->n == GR_TICKS)
        continue;
      a->tick[a->n] = v;
      snprintf(a->label[a->n++], sizeof a->label[0], "%g", v);
    }
}

gr_axis gr_axis_make(double low, double high, bool log, int wanted) {
  assert(low <= high && wanted > 0 && (!log || low > 0));
  gr_axis a = {.low = low, .high = high, .log = log};
  if (log && !(high > low * 1.001)) a.low = low / 2, a.high = high * 2;
  double room = fabs(low) > 0 ? fabs(low) * 0.1 : 1;
  if (!log && !(high - low > 1e-9 * fabs(high))) a.low = low - room, a.high = high + room;
  for (int multiples = 1; log && a.n < 4 && multiples <= 9; multiples = multiples * 3)
    log_ticks(&a, wanted, multiples);
  if (a.n < 2) a.n = 0, linear_ticks(&a, wanted);
  return a;
}

double gr_axis_place(const gr_axis *a, double v) {
  if (a->log) return (log(v) - log(a->low)) / (log(a->high) - log(a->low));
  return (v - a->low) / (a->high - a->low);
}

bool gr_axis_shows(const gr_panel *p, double y) { return isfinite(y) && (!p->log || y > 0); }

// Ticks at the points of a curve, which are numbers of ranks, but for those too close to be read.
static void tick_points(gr_axis *a, const gr_curve *c) {
  double last = -1;
  a->n = 0;
  for (int i = 0; i < c->n && a->n < GR_TICKS; i++) {
    double place = gr_axis_place(a, c->x[i]);
    if (place < 0 || place > 1 || place < last + 0.04) continue;
    last = place;
    a->tick[a->n] = c->x[i];
    snprintf(a->label[a->n++], sizeof a->label[0], "%g", c->x[i]);
  }
}

bool gr_axis_fit(const gr_panel *p, int x_ticks, int y_ticks, gr_axis *x, gr_axis *y) {
  double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
  for (int c = 0; c < p->n; c++)
    for (int i = 0; i < p->curves[c].n; i++) {
      double point[2] = {p->curves[c].x[i], p->curves[c].y[i]};
      for (int k = 0; k < 2 && gr_axis_shows(p, point[1]); k++) {
        low[k] = point[k] < low[k] ? point[k] : low[k];
        high[k] = point[k] > high[k] ? point[k] : high[k];
      }
    }
  if (!(low[0] <= high[0])) return false;
  double margin = p->log ? pow(high[1] / low[1], 0.04) : 0.04 * (high[1] - low[1]);
  // steps are counted from 0, so that panels can be compared
  if (low[0] > 0 && !p->log_x) low[0] = 0;
  *x = gr_axis_make(low[0], high[0], p->log_x, x_ticks);
  if (p->log_x && p->curves[0].n > 1) tick_points(x, &p->curves[0]);
  *y = p->log ? gr_axis_make(low[1] / margin, high[1] * margin, true, y_ticks)
              : gr_axis_make(low[1] - margin, high[1] + margin, false, y_ticks);
  return true;
}
