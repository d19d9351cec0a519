// cuda.c - NVIDIA GPUs: finds out whether there are any, and loads the module that has the rest.
#include "runtime/device/cuda.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/module.h"

#if GR_HAVE_CUDA
// The driver alone is asked, once: it also heeds CUDA_VISIBLE_DEVICES.
enum { NO_DEVICE = 100 };  // cuInit's code, also where CUDA_VISIBLE_DEVICES hides all of them
static int found;
static bool failed;
static void find(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  int (*init)(unsigned), (*count)(int *);
  if (!driver) return;
  void *a = dlsym(driver, "cuInit"), *b = dlsym(driver, "cuDeviceGetCount");
  memcpy(&init, &a, sizeof a), memcpy(&count, &b, sizeof b);
  int code = init ? init(0) : 0;
  failed = code && code != NO_DEVICE;
  if (!init || !count || code || count(&found)) found = 0;
}
static bool fails(void) { return failed; }
static int count(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find);
  return found;
}

// Files of the driver's kernel module, of Linux and of Windows' subsystem for it.
static bool seems_there(void) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  return (!visible || *visible) && (!access("/dev/nvidia0", F_OK) || !access("/dev/dxg", F_OK));
}

gr_status gr_cuda_module_open(const gr_cuda_module **out) { return gr_module_open("cuda", out); }
#else
static int count(void) { return 0; }
static bool fails(void) { return false; }
static bool seems_there(void) { return false; }

gr_status gr_cuda_module_open(const gr_cuda_module **out) {
  *out = NULL;
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "this graphrun was built without CUDA"),
                 "install the headers of NVIDIA's CUDA toolkit (cuda.h, nvrtc.h, cublasLt.h) and "
                 "build again; device=cpu needs none");
}
#endif

static gr_status open(const gr_device_options *o, gr_device **out) {
  const gr_cuda_module *module;
  *out = NULL;
  GR_TRY(gr_cuda_module_open(&module));
  return module->open(o, out);
}

// The device that `open` returns has the module's table, which is whole.
const gr_device_ops gr_device_cuda = {
    GR_CUDA_FIELDS, .seems_there = seems_there, .count = count, .fails = fails, .open = open,
};
