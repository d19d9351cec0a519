// module.h - parts of the program that depend on large third-party libraries: shared objects beside
// the executable, loaded at first use. Loading all libraries at every start would take longer than
// most commands.
//
// Modules of an installed program are in ../lib/graphrun.
//
// Module NAME is the file graphrun_NAME.so (CMake: gr_module). It defines one constant, gr_module:
// a table of functions whose type is declared in a header of the module's user. Symbols that the
// module needs from the rest of the program are resolved in the executable. The build adds
// gr_module_stamp, a hash of the headers that both were compiled with: a module of another build is
// refused.
#pragma once
#include "base/status.h"

// Loads a module; it is never unloaded. out_table is the address of a pointer to the module's table
// type. Safe from any thread. Fails with GR_ERR_LAUNCH if the file or a library that it needs is
// missing, or if it is of another build.
GR_MUST_USE gr_status gr_module_open(const char *name, void *out_table);
// Writes the path of graphrun_NAME.so to `out` without loading it; false: the file does not exist,
// or its path does not fit `size` bytes.
bool gr_module_path(const char *name, char *out, size_t size);
// The address of a function of a library, or NULL: of the one called `soname` where that is not
// NULL, else of those that module `module` is linked with, else of those that the program is linked
// with. Loads the library or the module; it is never unloaded. out_file, if it is not NULL, gets
// the path of the library that has the function, or NULL; the string is the dynamic linker's.
void *gr_library_function(const char *module, const char *soname, const char *function,
                          const char **out_file);
// Files that are installed with the program (graphs/, configs/, hooks/) are in ../share/graphrun;
// of one in a build folder, in the sources around that.
// Writes the path of one to `out`; false: there is no such file.
bool gr_installed_path(const char *relative, char *out, size_t size);
