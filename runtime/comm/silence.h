// silence.h - how long another process has shown no sign of life.
#pragma once
#include <stdint.h>

// How a message names a rank, its argument, that has shown none for so many seconds.
#define GR_RANK_SILENT "rank %d has shown no sign of life for %g s: "
// Why, for one on another machine.
#define GR_RANK_OUT_OF_REACH                                                              \
  "its process is stopped, or its machine or the network between is down; if that comes " \
  "back by itself, raise distributed.heartbeat"
// What one process knows of another; zeros at first.
typedef struct gr_silence {
  uint32_t heard;
  double looked, seconds;
} gr_silence;
// The seconds since a number last changed that the other process counts up while it runs. To be
// called several times a second: a pause in which this process did not run itself (suspended, or
// stopped with the other one) counts at most half a second.
double gr_silence_of(gr_silence *, uint32_t beats);
