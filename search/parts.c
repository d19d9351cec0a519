// parts.c - see parts.h.
#include "search/parts.h"
#include <math.h>

// ---- Draws -----------------------------------------------------------------------

gr_draws gr_draws_of(const gr_search *s, int parameter, int64_t number) {
  return (gr_draws){
      gr_rng_make((uint64_t)s->options.seed, s->parameters[parameter].name, (uint64_t)number), 0};
}

double gr_draw_uniform(gr_draws *d) { return gr_rng_uniform(&d->rng, d->next++); }
double gr_draw_normal(gr_draws *d) { return gr_rng_normal(&d->rng, d->next++); }

// ---- Parameters as intervals -----------------------------------------------------

gr_extent gr_extent_of(const gr_parameter *p) {
  double half = p->kind == GR_PARAMETER_STEPS ? p->step / 2 : 0;
  gr_extent e = {p->low - half, p->high + half};
  return p->log ? (gr_extent){log(e.low), log(e.high)} : e;
}

double gr_extent_place(const gr_parameter *p, double x) { return p->log ? log(x) : x; }

double gr_extent_value(const gr_parameter *p, double place) {
  double x = p->log ? exp(place) : place;
  if (p->kind == GR_PARAMETER_STEPS) x = p->low + p->step * floor((x - p->low) / p->step + 0.5);
  return fmin(fmax(x, p->low), p->high);
}

int gr_parameter_choices(const gr_parameter *p) { return (int)p->high + 1; }

double gr_draw_parameter(const gr_parameter *p, gr_draws *d) {
  double u = gr_draw_uniform(d);
  if (p->kind == GR_PARAMETER_CHOICE) return floor(u * gr_parameter_choices(p));
  gr_extent e = gr_extent_of(p);
  return gr_extent_value(p, e.low + u * (e.high - e.low));
}
