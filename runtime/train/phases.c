// phases.c - see phases.h.
#include "runtime/train/phases.h"

static int64_t runs_of(const gr_phase *p) { return p->runs; }
static int64_t steps_of(const gr_phase *p) { return p->steps; }

// The program of a run or of a step, whichever is counted.
static int find(const gr_phase *p, int64_t place, int64_t (*counted)(const gr_phase *)) {
  while (p->program < 0) {
    place %= counted(p) / p->times;
    for (p = p->list; place >= counted(p); p++) place -= counted(p);
  }
  return p->program;
}

int gr_phase_at(const gr_phase *p, int64_t place) { return find(p, place, runs_of); }
int gr_phase_of_step(const gr_phase *p, int64_t step) { return find(p, step, steps_of); }
