// version.h - which program this is: its version, its commit, its compiler and its libraries.
#pragma once
#include <stdbool.h>
#include "base/text.h"

extern const char *const gr_version_number;  // "0.9.0"
// The first digits of the commit's hash, or NULL where the program was not built in a clone; and
// whether files of that commit had been changed. In a file that the build writes.
extern const char *const gr_version_commit;
extern const bool gr_version_modified;

// A third-party library as it is found on this machine, which loads it as a run would.
typedef struct gr_found_library {
  const char *name, *what;             // "NCCL", "several GPUs"
  bool built;                          // this build can use it
  bool late;                           // it is a GPU's, loaded when a run is the first to use one
  const char *version, *error, *file;  // of which the first or the second is NULL
} gr_found_library;
// Library `i`, from 0; false: there are no more. Texts are the arena's, or live on.
bool gr_version_library(gr_arena *, int i, gr_found_library *out);
// Appends the libraries that this build has: "MPI, Lua, zstd".
void gr_version_libraries(gr_text *);
// Appends members of a JSON object: version, commit (null: not known), modified, compiler.
void gr_version_json_members(gr_text *);
// Appends what `graphrun --version` prints: the above, and a line for each library, with the
// version that is found on this machine, or why it is not. Loads every library that is there.
void gr_version(gr_text *);
void gr_version_json(gr_text *);  // the same as one JSON object
