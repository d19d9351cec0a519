// findings.h - what `graphrun check` finds of this machine.
#pragma once
#include "base/output.h"
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
  const char *hint;   // in one line what to do; NULL where it is fine
  const char *ranks;  // that have it, as "0-3,7"; NULL: it is of this process, or of all together
} gr_finding;

// Two ranks that exchanged messages: seconds of a small one, bytes a second of a large one.
typedef struct gr_found_pair {
  int a, b;
  double latency, bandwidth;
} gr_found_pair;
enum { GR_HOST = 64 };  // bytes of a host's name
typedef struct gr_found_ranks {
  int ranks, machines, n_pairs;
  char (*host)[GR_HOST];  // by rank
  gr_found_pair *pairs;
  double bytes, sum,
      small;  // of an all-reduce over all: its bytes and seconds, and those of a small one
} gr_found_ranks;

typedef struct gr_findings {
  gr_arena *arena;
  const char *section;  // of those that are added next
  gr_finding *list;
  int n, most;
  double copies;          // bytes a second that memory copies
  double timeout_s;       // for ranks to begin, and for each to answer
  gr_found_ranks *ranks;  // NULL: none could be measured
  struct gr_comm *world;  // of a launcher, which this process is in; NULL: it is in none
  bool joined;            // this process is or was in one,
  int rank;               // of this number,
  bool follows;           // and another rank of its machine measures what that does
  gr_status failed;       // what they have failed with
} gr_findings;

void gr_findings_set(gr_findings *, const gr_finding *list, int n);  // in place of what it has
// Adds a finding, its value as printf formats it. Names and hints are kept, not copied.
void gr_found(gr_findings *, const char *name, gr_finding_state, const char *hint, const char *fmt,
              ...) GR_PRINTF(5, 6);
// Adds a number ("12.3 GB", "64"; infinite: "unlimited"), and what follows it.
void gr_found_number(gr_findings *, const char *name, gr_finding_state, const char *hint,
                     double number, const char *unit, const char *more);
// Adds one of three digits.
void gr_found_constant(gr_findings *, const char *name, double number, const char *unit);
// Adds an error, with its own hint if it has one, and drops it.
void gr_found_error(gr_findings *, const char *name, const char *hint, gr_status);
// What a finding is that limits if a condition holds.
static inline gr_finding_state gr_limits_if(bool so) {
  return so ? GR_FINDING_LIMITS : GR_FINDING_OK;
}

// What the machine has, and allows this process (machine.c).
void gr_check_machine(gr_findings *);
// Adds how fast something is, in a state that tells whether it is far below the ceiling; 0: it has
// none.
void gr_found_rate(gr_findings *, const char *name, double rate, const char *unit, double ceiling);
void gr_check_rates(gr_findings *);  // how fast it is (rates.c), in less than two seconds
// In a rank of a launcher: measures all ranks and every pair of them. Returns in ranks of another
// launcher than graphrun's, unless they failed and this is not the first of its machine, and where
// there is no launcher.
void gr_check_as_rank(gr_findings *, int wanted);
// Collective: the findings become those of all ranks, those that are equal as one (gather.c).
GR_MUST_USE gr_status gr_check_gather(struct gr_comm *world, gr_findings *);
// The same in the ranks of gr_check_as_rank, which then leave. Returns on rank 0; where they fail,
// on the first of each machine.
void gr_check_gather_ranks(gr_findings *);
// Reports that, or starts so many ranks (0: two) for it. argv: this command's (ranks.c).
void gr_check_ranks(gr_findings *, char *const argv[], int wanted);
// What a step takes beside its calls, by short runs of a new project; 0: they failed (step.c).
double gr_check_step(gr_arena *);
// What one thread does in a second, and what ranks do, as a description of this machine for
// `graphrun plan --cluster`; written to a file, which is closed in any case (calibrate.c).
GR_MUST_USE gr_status gr_check_calibrate(gr_findings *, gr_output *);
