// version.h - which program this is.
#pragma once
#include "base/text.h"

extern const char *const gr_version_number;  // "0.9.0"
void gr_version_libraries(gr_text *);        // appends those that this build has: "MPI, Lua, zstd"
void gr_version(gr_text *);                  // appends both, as lines
