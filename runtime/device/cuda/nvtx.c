// nvtx.c - names for profilers: ranges of NVTX, whose headers are all there is of it. A profiler
// names a library in NVTX_INJECTION64_PATH, which the headers load; without one nothing is marked.
#include <pthread.h>
#include <stdlib.h>
#include "runtime/device/cuda/parts.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

static nvtxDomainHandle_t domain;
static void create_domain(void) { domain = nvtxDomainCreateA("graphrun"); }

bool gr_nvtx_wanted(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const char *profiler = getenv("NVTX_INJECTION64_PATH");
  if (!profiler || !*profiler) return false;
  pthread_once(&once, create_domain);
  return true;
}

void gr_nvtx_mark(gr_device *d, const char *name) {
  nvtxEventAttributes_t a = {.version = NVTX_VERSION,
                             .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                             .messageType = NVTX_MESSAGE_TYPE_ASCII,
                             .message = {.ascii = name}};
  (void)d;
  if (name)
    nvtxDomainRangePushEx(domain, &a);
  else
    nvtxDomainRangePop(domain);
}
#else
bool gr_nvtx_wanted(void) { return false; }
void gr_nvtx_mark(gr_device *d, const char *name) { (void)d, (void)name; }
#endif
