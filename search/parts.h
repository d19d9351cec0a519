// parts.h - what samplers share: parameters as intervals of numbers, and draws from them.
#pragma once
#include "base/rng.h"
#include "search/search.h"

// Random numbers of one parameter of one trial, one after another.
typedef struct gr_draws {
  gr_rng rng;
  uint64_t next;
} gr_draws;
// Those of the trial of that number, from the search's seed.
gr_draws gr_draws_of(const gr_search *, int parameter, int64_t number);
double gr_draw_uniform(gr_draws *);  // [0, 1)
double gr_draw_normal(gr_draws *);   // mean 0, deviation 1

// The interval in which REAL and STEPS parameters are searched: of numbers, or of their logarithms.
// Steps have half a step on both sides, so that each has as much room.
typedef struct gr_extent {
  double low, high;
} gr_extent;
gr_extent gr_extent_of(const gr_parameter *);            // of a parameter that is no CHOICE
double gr_extent_place(const gr_parameter *, double x);  // of a parameter's value
double gr_extent_value(const gr_parameter *,
                       double place);            // the value of a place; the nearest step
int gr_parameter_choices(const gr_parameter *);  // of a CHOICE

// A value with equal chances for all places, or choices.
double gr_draw_parameter(const gr_parameter *, gr_draws *);
