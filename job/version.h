// version.h - which program this is: its version, its commit, its compiler and its libraries.
#pragma once
#include <stdbool.h>
#include "base/text.h"

extern const char *const gr_version_number;  // "0.9.0"
// The first digits of the commit's hash, or NULL where the program was not built in a clone; and
// whether files of that commit had been changed. In a file that the build writes.
extern const char *const gr_version_commit;
extern const bool gr_version_modified;

// Appends the libraries that this build has: "MPI, Lua, zstd".
void gr_version_libraries(gr_text *);
// Appends members of a JSON object: version, commit (null: not known), modified, compiler.
void gr_version_json_members(gr_text *);
// Appends what `graphrun --version` prints: the above, and a line for each library, with the
// version that is found on this machine, or why it is not. Loads every library that is there.
void gr_version(gr_text *);
void gr_version_json(gr_text *);  // the same as one JSON object
