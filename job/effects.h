// effects.h - keys that are accepted without effect in a run: which they are, and why. The table of
// them is effects.def.
#pragma once
#include "job/settings.h"

// What decides whether a key has an effect.
typedef struct gr_effects {
  gr_conf *conf;  // checked, with defaults
  const gr_settings *set;
  bool gpu;
  int ranks;
} gr_effects;

enum { GR_MAX_EFFECTS = 48 };
// Lists the keys whose values differ from their defaults and have no effect, one line for each
// reason, in the arena; returns the number of lines.
int gr_effects_list(gr_arena *, const gr_effects *, const char *out[GR_MAX_EFFECTS]);

enum { GR_MAX_DIFFERENCES = 5 };
// Lists what such a run does otherwise than asked, one line each, which are constants or the
// settings'; returns their number.
int gr_effects_differences(const gr_effects *, const char *out[GR_MAX_DIFFERENCES]);

// GR_ERR_CONFIG at each value that asks for what such a run cannot do. Only conf, set and gpu are
// read.
GR_MUST_USE gr_status gr_effects_check(gr_arena *, const gr_effects *);

// Whether more of a metric of this name is better, as of accuracy.
bool gr_effects_rises(const char *metric);
