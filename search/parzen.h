// parzen.h - the density of a parameter's values, estimated from some of them: a kernel for each,
// and one for the prior, which covers the whole parameter.
#pragma once
#include "search/parts.h"

// Kernels are truncated normal distributions over the parameter's extent, or for a CHOICE
// distributions over its choices.
typedef struct gr_parzen {
  const gr_parameter *parameter;
  const gr_sampler_options *options;
  gr_extent extent;
  int n;                     // kernels, the prior's last
  double *weight;            // sum 1
  double *mean, *deviation;  // in the extent; not of a CHOICE
  double *inside;            // the share of a kernel within the extent
  double *choice;            // of a CHOICE: the chance of each
} gr_parzen;

// x: n values, in the order of their trials; older ones weigh less when there are 25 or more.
gr_parzen gr_parzen_make(gr_arena *, const gr_parameter *, const gr_sampler_options *,
                         const double *x, int n);
double gr_parzen_draw(const gr_parzen *, gr_draws *);  // a value that the kernels make likely
// Of a STEPS or CHOICE parameter the probability; of a REAL one the density in its extent.
double gr_parzen_density(const gr_parzen *, double x);
