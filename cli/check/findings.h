// findings.h - what `graphrun check` finds of this machine.
#pragma once
#include "base/text.h"

typedef enum gr_finding_state {
  GR_FINDING_OK,
  GR_FINDING_LIMITS,  // training starts, with less than the machine could give, or not everywhere
  GR_FINDING_FAILS,   // a run that leaves device and ranks to graphrun cannot start, or write
} gr_finding_state;

typedef struct gr_finding {
  const char *section, *name, *value;
  double number;     // the value, where it is one; NaN: it is none
  const char *unit;  // of the number: "B/s"; "": a count
  gr_finding_state state;
  const char *hint;  // in one line what to do; NULL where it is fine
} gr_finding;

enum { GR_MAX_FINDINGS = 256 };  // further ones are left out
typedef struct gr_findings {
  gr_arena *arena;
  const char *section;  // of those that are added next
  gr_finding list[GR_MAX_FINDINGS];
  int n;
} gr_findings;

// Adds a finding, its value as printf formats it. Names and hints are kept, not copied.
void gr_found(gr_findings *, const char *name, gr_finding_state, const char *hint, const char *fmt,
              ...) GR_PRINTF(5, 6);
// Adds a number ("12.3 GB", "64"; infinite: "unlimited"), and what follows it.
void gr_found_number(gr_findings *, const char *name, gr_finding_state, const char *hint,
                     double number, const char *unit, const char *more);
// Adds an error, with its own hint if it has one, and drops it.
void gr_found_error(gr_findings *, const char *name, const char *hint, gr_status);
// What a finding is that limits if a condition holds.
static inline gr_finding_state gr_limits_if(bool so) {
  return so ? GR_FINDING_LIMITS : GR_FINDING_OK;
}

// What the machine has, and allows this process (machine.c).
void gr_check_machine(gr_findings *);
// How fast it is (rates.c), in less than two seconds. argv: that of this command, with which two
// ranks are started.
void gr_check_rates(gr_findings *, char *const argv[]);
void gr_check_as_rank(void);  // in one of these: measures and ends the process; else does nothing
