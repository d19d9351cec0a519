// silence.c - see silence.h.
#include "runtime/comm/silence.h"
#include "base/port.h"

static const double longest_s = 0.5;

double gr_silence_of(gr_silence *s, uint32_t beats) {
  double now = gr_seconds(), passed = now - s->looked;
  bool same = s->looked > 0 && beats == s->heard;
  s->seconds = same ? s->seconds + (passed < longest_s ? passed : longest_s) : 0;
  s->heard = beats, s->looked = now;
  return s->seconds;
}
