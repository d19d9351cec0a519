// pickle_calls.h - the calls of Python that arrays of NumPy are pickled as. Private to pickle.c.
#pragma once
#include "runtime/data/table/pickle_value.h"

typedef struct gr_pickle_calls {
  gr_arena *arena;
  const char *file;
  size_t left;  // bytes that may still be copied: a file cannot ask for more than some of its size
} gr_pickle_calls;

// The result of a function of that name; *out stays NULL where it is not one of those that are
// known. Returns what is wrong with its arguments, or NULL.
const char *gr_pickle_call(gr_pickle_calls *, const char *name, const gr_pickle *args,
                           gr_pickle **out);
// Gives a new array or dtype its state, a tuple. Returns what is wrong with it, or NULL.
const char *gr_pickle_build(gr_pickle_calls *, gr_pickle *, const gr_pickle *state);
