// module.h - parts of the program that stand on large foreign libraries: shared objects of their
// own beside the program, loaded at the first use. Loading all libraries at each start would take
// longer than most commands.
//
// Module NAME is the file graphrun_NAME.so (CMake: gr_module). It defines one constant, gr_module,
// of a type that a header of its user declares: a table of functions. What it needs of the rest of
// the program it finds in the program.
#pragma once
#include "base/status.h"

// out_table: the address of a pointer to a constant table of the module's type; it is set for good.
// From any thread, at any time. Fails with GR_ERR_LAUNCH where the file, or a library that it
// needs, is missing.
GR_MUST_USE gr_status gr_module_open(const char *name, void *out_table);
// The path of such a file, whether it is a module or only lies beside the program; false: there is
// none, or it is longer than `size`.
bool gr_module_path(const char *name, char *out, size_t size);
