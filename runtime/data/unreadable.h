// unreadable.h - collects the samples that cannot be read, or makes the first one an error.
#pragma once
#include <pthread.h>
#include "base/status.h"

typedef struct gr_unreadable {
  bool skip;            // data.skip_unreadable: count and list them
  bool said;            // those that are added are logged at once, as those before have been
  const char *samples;  // the plural of a sample in messages: "utterances"
  const char *finds;    // for hints, a command that lists them all; or NULL
  uint64_t n;
  char **lines;  // [n]: location and reason; NULL: there was no memory for it
  size_t room;
  pthread_mutex_t lock;
} gr_unreadable;

// Makes an empty list, to which any thread may add.
void gr_unreadable_open(gr_unreadable *);
// Frees it, when no thread adds to it any more.
void gr_unreadable_close(gr_unreadable *);
// Handles a sample that cannot be read for the reason s. With `skip` it is counted, listed and,
// with `said`, logged as a warning, and the result is GR_OK. Otherwise returns s with the location
// and a hint. Takes ownership of s, which may be GR_OK. An error other than GR_ERR_DATA, such as a
// library that is missing, is not the sample's: it is returned as it is.
GR_MUST_USE gr_status gr_unreadable_add(gr_unreadable *, gr_loc, gr_status s);
// Logs the first of those so far as warnings, once, and sets `said`.
void gr_unreadable_say(gr_unreadable *);
uint64_t gr_unreadable_count(gr_unreadable *);  // samples so far
// "file:line:col: reason", in the order in which they were found; NULL beyond the last.
const char *gr_unreadable_line(gr_unreadable *, uint64_t i);
