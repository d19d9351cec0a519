// json_read.h - JSON (RFC 8259, with Python's NaN and Infinity) into a tree, for the tests that
// compare with recorded results.
#pragma once
#include "compose/tree/conf.h"

// Reads one value and moves *s past it; NULL if the text is not JSON.
gr_conf *json_read(gr_arena *, const char **s);
