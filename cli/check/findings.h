// findings.h - what `graphrun check` finds of this machine, section by section.
#pragma once
#include "base/text.h"

typedef enum gr_finding_state {
  GR_FINDING_OK,
  GR_FINDING_LIMITS,  // training starts, with less than the machine could give, or not everywhere
  GR_FINDING_FAILS,   // training as configured by default cannot start, or would fail
} gr_finding_state;

typedef struct gr_finding {
  const char *section, *name, *value;
  double number;     // the value, where it is one; NaN: it is none
  const char *unit;  // of the number: "bytes"
  gr_finding_state state;
  const char *hint;  // in one line what to do; NULL: nothing
} gr_finding;

typedef struct gr_findings {
  gr_arena *arena;
  const char *section;  // of those that are added next
  gr_finding *list;
  int n, room;
} gr_findings;

// Adds a finding that is fine, its value as printf formats it. The result is valid until the next
// one is added.
gr_finding *gr_found(gr_findings *, const char *name, const char *fmt, ...) GR_PRINTF(3, 4);
// Adds a number of bytes, as "12.3 GB".
gr_finding *gr_found_bytes(gr_findings *, const char *name, double bytes);
// Makes it one with a state and a hint.
void gr_finding_judge(gr_findings *, gr_finding_state, const char *fmt, ...) GR_PRINTF(3, 4);
// Adds an error as a finding, with its hint, or `hint` where it has none, and drops it.
void gr_found_error(gr_findings *, const char *name, gr_finding_state, gr_status, const char *hint);

// ---- machine.c: what there is, section by section. Returns the number of GPUs.
int gr_check_machine(gr_findings *);
// ---- limits.c: what the system allows this process, and where runs write to.
void gr_check_limits(gr_findings *, int gpus);
// ---- rates.c: what is measured, in about two seconds.
void gr_check_rates(gr_findings *, char *const argv[]);
// This process is one of two that gr_check_rates has started: measures, and ends. False: it is not.
bool gr_check_is_rank(void);
void gr_check_as_rank(void);  // does not return
