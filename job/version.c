// version.c - see version.h.
#include "job/version.h"
#include "base/module.h"
#include "base/status.h"

#ifndef GR_VERSION
#define GR_VERSION "unknown"
#endif

const char *const gr_version_number = GR_VERSION;

#ifndef GR_HAVE_MPI
#define GR_HAVE_MPI 0
#endif
#ifndef GR_HAVE_CUDA
#define GR_HAVE_CUDA 0
#endif
#ifndef GR_HAVE_CUDNN
#define GR_HAVE_CUDNN 0
#endif
#ifndef GR_HAVE_NCCL
#define GR_HAVE_NCCL 0
#endif
#ifndef GR_HAVE_ONEDNN
#define GR_HAVE_ONEDNN 0
#endif
#ifndef GR_HAVE_SNDFILE
#define GR_HAVE_SNDFILE 0
#endif
#ifndef GR_HAVE_SOXR
#define GR_HAVE_SOXR 0
#endif
#ifndef GR_HAVE_PNG
#define GR_HAVE_PNG 0
#endif
#ifndef GR_HAVE_JPEG
#define GR_HAVE_JPEG 0
#endif
#ifndef GR_HAVE_LIBAV
#define GR_HAVE_LIBAV 0
#endif
#ifndef GR_HAVE_ZLIB
#define GR_HAVE_ZLIB 0
#endif

static const struct library {
  const char *name;
  bool built;
  const char *module, *soname, *what;
} libraries[] = {
#define GR_LIBRARY(name, have, module, soname, what) {name, GR_HAVE_##have, module, soname, what},
#include "job/libraries.def"
};
enum { N_LIBRARIES = sizeof libraries / sizeof *libraries };

void gr_version_libraries(gr_text *t) {
  for (int i = 0; i < N_LIBRARIES; i++)
    if (libraries[i].built) gr_text_printf(t, "%s, ", libraries[i].name);
  gr_text_put(t, "Lua, zstd");
}

// What is used of a library is loaded here as a run would load it.
static void put_state(gr_text *t, const struct library *l) {
  const void *table;
  if (!l->built) {
    gr_text_put(t, "not in this build");
    return;
  }
  gr_status s = l->module ? gr_module_open(l->module, &table) : GR_OK;
  if (s)
    gr_text_printf(t, "not found: %s", gr_status_text(s));
  else if (l->soname && !gr_library_found(l->soname))
    gr_text_printf(t, "not found: %s", l->soname);
  else
    gr_text_put(t, "found");
  gr_status_drop(s);
}

void gr_version(gr_text *t) {
  gr_text_put(t, "graphrun " GR_VERSION "\nbuilt with ");
  gr_version_libraries(t);
  gr_text_put(t, "\n");
  for (int i = 0; i < N_LIBRARIES; i++) {
    gr_text_printf(t, "    %-10s  %-38s  ", libraries[i].name, libraries[i].what);
    put_state(t, &libraries[i]);
    gr_text_put(t, "\n");
  }
}
