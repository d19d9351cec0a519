// parzen.c - see parzen.h.
#include "search/parzen.h"
#include <math.h>

enum { RECENT = 25, MAX_CLIPPED = 100 };  // of Optuna's weights and of its "magic clip"
static const double ROOT_2 = 1.4142135623730951, ROOT_2_PI = 2.5066282746310002;

// The normal distribution's probability from a to b. Of two large numbers of one sign, the tails
// are subtracted, which are exact.
static double between(double a, double b) {
  if (a > 0) return 0.5 * (erfc(a / ROOT_2) - erfc(b / ROOT_2));
  return 0.5 * (erfc(-b / ROOT_2) - erfc(-a / ROOT_2));
}

// ---- Weights ---------------------------------------------------------------------

// The 25 newest weigh 1, older ones from 1/n on.
static void set_weights(gr_parzen *p, int n, double prior) {
  int older = n - RECENT;
  double sum = prior;
  for (int i = 0; i < n; i++) {
    double share = older > 1 ? (double)i / (older - 1) : 0;
    p->weight[i] = i < older ? (1 - share) / n + share : 1;
    sum += p->weight[i];
  }
  p->weight[n] = prior;
  for (int i = 0; i <= n; i++) p->weight[i] /= sum;
}

// ---- Choices ---------------------------------------------------------------------

// Each kernel has the prior's weight, divided by the kernels, on every choice, and 1 on its own.
static void make_choices(gr_arena *a, gr_parzen *p, const double *x, int n) {
  int choices = gr_parameter_choices(p->parameter);
  double everywhere = p->options->prior_weight / p->n;
  p->choice = GR_NEW(a, double, choices);
  for (int k = 0; k < p->n; k++) {
    double sum = everywhere * choices + (k < n);
    for (int c = 0; c < choices; c++)
      p->choice[c] += p->weight[k] * (everywhere + (k < n && (int)x[k] == c)) / sum;
  }
}

// ---- Kernels over the extent -----------------------------------------------------

// Indices of n means in their order.
static int *order_means(gr_arena *a, const double *mean, int n) {
  int *order = GR_NEW(a, int, n + 1);
  for (int i = 0; i < n; i++) {
    int k = i;
    for (; k && mean[order[k - 1]] > mean[i]; k--) order[k] = order[k - 1];
    order[k] = i;
  }
  return order;
}

// A kernel's deviation is the larger distance to its neighbours, of which the prior's kernel is
// none. The ends of the extent are neighbours of a single kernel, and of the outermost ones if
// consider_endpoints is set.
static void set_deviations(gr_arena *a, gr_parzen *p, int n) {
  const int *order = order_means(a, p->mean, n);
  double room = p->extent.high - p->extent.low;
  double least = p->options->consider_magic_clip ? room / fmin(MAX_CLIPPED, 1 + p->n) : 1e-12;
  bool inner = !p->options->consider_endpoints && n > 1;
  for (int k = 0; k < n; k++) {
    double mean = p->mean[order[k]];
    double left = mean - (k ? p->mean[order[k - 1]] : p->extent.low);
    double right = (k + 1 < n ? p->mean[order[k + 1]] : p->extent.high) - mean;
    double widest = inner && !k ? right : inner && k + 1 == n ? left : fmax(left, right);
    p->deviation[order[k]] = fmin(fmax(widest, least), room);
  }
  p->deviation[n] = room;
}

static void make_kernels(gr_arena *a, gr_parzen *p, const double *x, int n) {
  p->extent = gr_extent_of(p->parameter);
  p->mean = GR_NEW(a, double, p->n);
  p->deviation = GR_NEW(a, double, p->n);
  p->inside = GR_NEW(a, double, p->n);
  for (int i = 0; i < n; i++) p->mean[i] = gr_extent_place(p->parameter, x[i]);
  p->mean[n] = (p->extent.low + p->extent.high) / 2;
  set_deviations(a, p, n);
  for (int k = 0; k < p->n; k++)
    p->inside[k] = between((p->extent.low - p->mean[k]) / p->deviation[k],
                           (p->extent.high - p->mean[k]) / p->deviation[k]);
}

gr_parzen gr_parzen_make(gr_arena *a, const gr_parameter *of, const gr_sampler_options *options,
                         const double *x, int n) {
  gr_parzen p = {.parameter = of, .options = options, .n = n + 1};
  p.weight = GR_NEW(a, double, p.n);
  set_weights(&p, n, options->prior_weight);
  if (of->kind == GR_PARAMETER_CHOICE)
    make_choices(a, &p, x, n);
  else if (of->low < of->high)
    make_kernels(a, &p, x, n);
  return p;
}

// ---- Draws and densities ---------------------------------------------------------

// The index that a number from 0 to 1 falls on, of n shares whose sum is 1.
static int pick(const double *shares, int n, double u) {
  int i = 0;
  for (; i + 1 < n && u >= shares[i]; i++) u -= shares[i];
  return i;
}

// Draws again until the kernel gives a place in the extent: its mean is one, so at least a third of
// them are.
double gr_parzen_draw(const gr_parzen *p, gr_draws *d) {
  double u = gr_draw_uniform(d), place;
  if (p->parameter->kind == GR_PARAMETER_CHOICE)
    return pick(p->choice, gr_parameter_choices(p->parameter), u);
  if (!p->mean) return p->parameter->low;
  int k = pick(p->weight, p->n, u);
  do place = p->mean[k] + p->deviation[k] * gr_draw_normal(d);
  while (place < p->extent.low || place > p->extent.high);
  return gr_extent_value(p->parameter, place);
}

// A kernel's probability of the step around x.
static double on_step(const gr_parzen *p, int k, double x) {
  double half = p->parameter->step / 2;
  double low = gr_extent_place(p->parameter, x - half);
  double high = gr_extent_place(p->parameter, x + half);
  return between((low - p->mean[k]) / p->deviation[k], (high - p->mean[k]) / p->deviation[k]);
}

double gr_parzen_density(const gr_parzen *p, double x) {
  double sum = 0;
  if (p->parameter->kind == GR_PARAMETER_CHOICE) return p->choice[(int)x];
  if (!p->mean) return 1;
  for (int k = 0; k < p->n; k++) {
    double z = (gr_extent_place(p->parameter, x) - p->mean[k]) / p->deviation[k];
    double kernel = p->parameter->kind == GR_PARAMETER_STEPS
                        ? on_step(p, k, x)
                        : exp(-0.5 * z * z) / (p->deviation[k] * ROOT_2_PI);
    sum += p->weight[k] * kernel / p->inside[k];
  }
  return sum;
}
