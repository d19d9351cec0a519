// version.c - see version.h.
#include "cli/job/version.h"

#ifndef GR_VERSION
#define GR_VERSION "unknown"
#endif

const char *const gr_version_number = GR_VERSION;

void gr_version_libraries(gr_text *t) {
  static const char *const parts[] = {
#ifdef GR_HAVE_MPI
      "MPI",
#endif
#ifdef GR_HAVE_CUDA
      "CUDA",
#endif
#ifdef GR_HAVE_NCCL
      "NCCL",
#endif
#ifdef GR_HAVE_ONEDNN
      "oneDNN",
#endif
#ifdef GR_HAVE_SNDFILE
      "libsndfile",
#endif
#ifdef GR_HAVE_SOXR
      "soxr",
#endif
#ifdef GR_HAVE_ZLIB
      "zlib",
#endif
      "Lua",        "zstd"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    gr_text_printf(t, "%s%s", i ? ", " : "", parts[i]);
}

void gr_version(gr_text *t) {
  gr_text_put(t, "graphrun " GR_VERSION "\nbuilt with ");
  gr_version_libraries(t);
  gr_text_put(t, "\n");
}
