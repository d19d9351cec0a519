// library_version.h - the version of a library, asked of the library itself.
#pragma once
#include "base/text.h"

// What the function that a library has for its version looks like.
typedef enum gr_version_form {
  GR_VERSION_TEXT,     // const char *f(void)
  GR_VERSION_TEXT_OF,  // const char *f(const void *), of NULL
  GR_VERSION_FILE,     // there is none: the name of the file in which the function was found
  GR_VERSION_MPI,      // int MPI_Get_library_version(char *, int *)
  GR_VERSION_CUDA,     // int cuDriverGetVersion(int *): 1000 major + 10 minor
  GR_VERSION_CUDNN,    // size_t cudnnGetVersion(void): 10000 major + 100 minor + patch
  GR_VERSION_NCCL,     // int ncclGetVersion(int *): 10000 major + 100 minor + patch
  GR_VERSION_ONEDNN,   // dnnl_version(void), a pointer to three ints
  GR_VERSION_LUA,      // double lua_version(lua_State *): 100 major + minor
} gr_version_form;

// Appends the version that `function`, found in the file `file`, gives: "1.2.13", "Open MPI
// v4.1.4".
void gr_library_version(gr_text *, gr_version_form, void *function, const char *file);
