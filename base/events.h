// events.h - what a process did last, in memory that outlives it, for a report of why it hung.
#pragma once
#include <stdatomic.h>
#include <stdint.h>

enum { GR_EVENT_TEXT = 104, GR_EVENTS = 4 };
typedef struct gr_event_entry {
  double since;  // of gr_seconds, which is the same for all processes of a machine
  char what[GR_EVENT_TEXT];
} gr_event_entry;
typedef struct gr_events {
  _Atomic int64_t step;  // that runs; 0 before the first
  _Atomic uint32_t n;    // so many have begun; the last GR_EVENTS of them are kept
  gr_event_entry last[GR_EVENTS];
} gr_events;

// Events of this process are written there from now on; NULL, as at first: nowhere. Borrowed.
void gr_events_write_to(gr_events *);
// What this process does from now on: "reading weights"; cut off if it is long. By one thread.
void gr_event(const char *what);
void gr_event_step(int64_t step);  // the step that runs from now on
