// unreadable.h - samples that cannot be used: an error, or counted and listed.
#pragma once
#include <pthread.h>
#include "base/status.h"

typedef struct gr_unreadable {
  bool skip;            // data.skip_unreadable: they are left out
  const char *samples;  // what they are called: "utterances"
  const char *finds;    // what lists them all, for hints; NULL: nothing does
  uint64_t n;
  char **lines;  // of n: place and reason; NULL: there was no memory for it
  size_t room;
  pthread_mutex_t lock;
} gr_unreadable;

// An empty list, and its end; it may be added to by several threads between.
void gr_unreadable_open(gr_unreadable *);
void gr_unreadable_close(gr_unreadable *);
// What becomes of a sample that cannot be used, for the reason s: with `skip` it is counted and
// listed and, with `log`, warned of; else s comes back, with the place and a hint. Takes s over;
// passes GR_OK through. Any thread may call it.
GR_MUST_USE gr_status gr_unreadable_add(gr_unreadable *, gr_loc, bool log, gr_status s);
uint64_t gr_unreadable_count(gr_unreadable *);
// "file:line:col: reason", in the order in which they were found; NULL beyond the last.
const char *gr_unreadable_line(gr_unreadable *, uint64_t i);
