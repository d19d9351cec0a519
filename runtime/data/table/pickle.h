// pickle.h - reads values that Python has pickled (protocols 2 to 4).
//
// A pickle is a program that may call any function of Python. This reader calls nothing: it knows
// the few calls that NumPy's arrays are made of, and refuses all others.
#pragma once
#include "runtime/data/table/pickle_value.h"

// Reads the pickle in bytes[0 .. n). The values are in the arena, and may view the bytes; `file` is
// borrowed for messages. Fails with GR_ERR_DATA, which names the file, the byte and what is there.
GR_MUST_USE gr_status gr_pickle_read(gr_arena *, const char *file, const unsigned char *bytes,
                                     size_t n, gr_pickle **out);
// The value of a text key of a dictionary, or NULL.
const gr_pickle *gr_pickle_member(const gr_pickle *dict, const char *key);
