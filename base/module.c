// module.c - finds and loads modules (module.h).
#define _GNU_SOURCE
#include "base/module.h"
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "base/port.h"

// The folder of the executable. /proc/self/exe resolves links, so the command may be a symbolic
// link. False: it is not known.
static bool find_own_folder(char out[PATH_MAX]) {
  ssize_t len = readlink("/proc/self/exe", out, PATH_MAX - 1);
  out[len < 0 ? 0 : len] = 0;
  char *end = strrchr(out, '/');
  if (end) *end = 0;
  return end != NULL;
}

// Searches beside the executable, one folder above, where the test programs of a build find
// modules, and where they are installed.
static gr_status module_find(const char *name, char out[PATH_MAX + 64]) {
  static const char *const places[] = {"", "/..", "/../lib/graphrun"};
  char self[PATH_MAX];
  if (!find_own_folder(self))
    return gr_fail_errno(GR_ERR_LAUNCH, errno, "cannot find the path of the executable");
  for (int i = 0; i < 3; i++) {
    snprintf(out, PATH_MAX + 64, "%s%s/graphrun_%s.so", self, places[i], name);
    if (gr_is_file(out)) return GR_OK;
  }
  return gr_hint(
      gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
              "a part of graphrun is missing: there is no graphrun_%s.so beside the executable",
              name),
      "a build has it in one folder with graphrun: keep them together, or install them by `cmake "
      "--install`. The wheel and the tarball leave out graphrun_mpi.so and graphrun_libav.so; the "
      "Debian package has them");
}

bool gr_installed_path(const char *relative, char *out, size_t size) {
  char self[PATH_MAX];
  if (!find_own_folder(self)) return false;
  int n = snprintf(out, size, "%s/CMakeCache.txt", self);
  bool built = n > 0 && (size_t)n < size && gr_is_file(out);
  n = snprintf(out, size, "%s/../%s%s", self, built ? "" : "share/graphrun/", relative);
  return n > 0 && (size_t)n < size && gr_is_file(out);
}

extern const char gr_module_stamp[];  // generated; every module has one of its own

// The table of functions of a module of another build may have other members.
static gr_status check_stamp(void *module, const char *path) {
  const char *stamp = dlsym(module, "gr_module_stamp");
  if (stamp && !strcmp(stamp, gr_module_stamp)) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "'%s' belongs to another build of graphrun", path),
      "copy or install the program together with the graphrun_*.so of its own build; in a "
      "build folder, build again");
}

gr_status gr_module_open(const char *name, void *out_table) {
  char path[PATH_MAX + 64];
  GR_TRY(module_find(name, path));
  void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!module)
    return gr_hint(
        gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "cannot load a part of graphrun: %s", dlerror()),
        "either a library is missing (the Debian package recommends or suggests its package; for "
        "a build tools/setup installs it), or the file belongs to another build of graphrun");
  GR_TRY(check_stamp(module, path));
  void *table = dlsym(module, "gr_module");
  memcpy(out_table, &table, sizeof table);
  if (table) return GR_OK;
  return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "'%s' is not a part of this graphrun: %s", path,
                 dlerror());
}

// The handle of the library, of the module, or of the program; NULL: it is not there.
static void *open_any(const char *module, const char *soname) {
  char path[PATH_MAX + 64];
  if (soname) return dlopen(soname, RTLD_LAZY | RTLD_LOCAL);
  if (!module) return dlopen(NULL, RTLD_LAZY);
  return gr_module_path(module, path, sizeof path) ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
}

void *gr_library_function(const char *module, const char *soname, const char *function,
                          const char **out_file) {
  Dl_info info = {0};
  void *library = open_any(module, soname), *found = library ? dlsym(library, function) : NULL;
  if (out_file) *out_file = found && dladdr(found, &info) ? info.dli_fname : NULL;
  return found;
}

bool gr_module_path(const char *name, char *out, size_t size) {
  char path[PATH_MAX + 64];
  gr_status s = module_find(name, path);
  bool found = !s && strlen(path) < size;
  if (found) memcpy(out, path, strlen(path) + 1);
  gr_status_drop(s);
  return found;
}
