// parse.h - reads graphs in the IR's text format (ir/text.h), in which tests write them.
#pragma once
#include "ir/op.h"

typedef const gr_op *(*op_finder)(const char *name);  // gr_op_find, or a test's own
// Parses text into a new graph in the arena. Fails with GR_ERR_TYPE at file:line:col if the text is
// malformed or the types that it states are not those of inference. `file` is borrowed.
GR_MUST_USE gr_status graph_parse(gr_arena *, op_finder, const char *file, const char *text,
                                  gr_graph **out);
