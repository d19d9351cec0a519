// phases.c - see phases.h.
#include "runtime/train/phases.h"

int gr_phase_at(const gr_phase *p, int64_t place) {
  while (p->program < 0) {
    place %= p->runs / p->times;
    const gr_phase *next = p->list;
    while (place >= next->runs) place -= next++->runs;
    p = next;
  }
  return p->program;
}

int gr_phase_of_step(const gr_phase *p, int64_t step) {
  while (p->program < 0) {
    step %= p->steps / p->times;
    const gr_phase *next = p->list;
    while (step >= next->steps) step -= next++->steps;
    p = next;
  }
  return p->program;
}
