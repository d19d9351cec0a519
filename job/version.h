// version.h - which program this is.
#pragma once
#include "base/text.h"

extern const char *const gr_version_number;  // "0.9.0"
void gr_version_libraries(gr_text *);        // appends those that this build has: "MPI, Lua, zstd"
// Appends both, and a line for each library that a build may lack: whether it is in this build, and
// found on this machine.
void gr_version(gr_text *);
