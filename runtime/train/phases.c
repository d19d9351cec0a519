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
