// library.c - see library.h.
#include "runtime/device/cuda/library.h"
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#define TEXT(x) #x
#define SONAME(name, major) name ".so." TEXT(major)
#define GR_CUDA(name) TEXT(name),
static const char *const driver_names[] = {
#include "runtime/device/cuda/driver.def"
};
#define GR_CUDA(name) TEXT(name),
static const char *const nvrtc_names[] = {
#include "runtime/device/cuda/nvrtc.def"
};
#define GR_CUDA(name) TEXT(name),
static const char *const cublaslt_names[] = {
#include "runtime/device/cuda/cublaslt.def"
};

#if GR_HAVE_CUDNN
#define GR_CUDA(name) TEXT(name),
static const char *const cudnn_names[] = {
#include "runtime/device/cuda/cudnn.def"
};
gr_cudnn gr_dnn;
#endif
#if GR_HAVE_CUPTI
#define GR_CUDA(name) TEXT(name),
static const char *const cupti_names[] = {
#include "runtime/device/cuda/cupti.def"
};
gr_cupti gr_cp;
#endif

gr_driver gr_cu;
gr_nvrtc gr_rtc;
gr_cublaslt gr_lt;

typedef struct library {
  const char *soname, *what, *cure;
  const char *const *names;
  int n;
  void *table;  // n pointers to functions
  bool open, optional;
} library;
#define TABLE(names, table) names, sizeof names / sizeof *names, &(table)

// NVRTC's soname has the toolkit's version, of which cuda.h gives the value but not the digits.
#if CUDA_VERSION / 1000 == 12
#define GR_CUDA_MAJOR 12
#elif CUDA_VERSION / 1000 == 13
#define GR_CUDA_MAJOR 13
#else
#error "a toolkit of CUDA 12 or 13 is needed"
#endif
// The first driver that runs what the toolkit compiles (the notes of release of CUDA).
enum { TOOLKIT = CUDA_VERSION / 1000, DRIVER = TOOLKIT == 12 ? 525 : 580 };
static library driver = {
    "libcuda.so.1", "the NVIDIA driver",
    "install the driver, or in a container start it with --gpus=all; device=cpu needs none",
    TABLE(driver_names, gr_cu)};
static library nvrtc = {SONAME("libnvrtc", GR_CUDA_MAJOR), "NVRTC (it compiles kernels)",
                        "install the CUDA toolkit's package cuda-nvrtc, or name its folder in "
                        "LD_LIBRARY_PATH; device=cpu needs none",
                        TABLE(nvrtc_names, gr_rtc)};
static library cublaslt = {SONAME("libcublasLt", CUBLAS_VER_MAJOR),
                           "cuBLASLt (it multiplies matrices)",
                           "install the CUDA toolkit's package libcublas, or name its folder in "
                           "LD_LIBRARY_PATH; device=cpu needs none",
                           TABLE(cublaslt_names, gr_lt)};
#if GR_HAVE_CUDNN
static library cudnn = {SONAME("libcudnn", CUDNN_MAJOR), "cuDNN",
                        "install cuDNN 9, or name its folder in LD_LIBRARY_PATH",
                        TABLE(cudnn_names, gr_dnn), .optional = true};
#endif
#if GR_HAVE_CUPTI
static library cupti = {SONAME("libcupti", GR_CUDA_MAJOR), "CUPTI (it measures kernels)",
                        "install the CUDA toolkit's package cuda-cupti, or name its folder, often "
                        "extras/CUPTI/lib64 of the toolkit's, in LD_LIBRARY_PATH",
                        TABLE(cupti_names, gr_cp), .optional = true};
#endif
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static gr_status load(library *l) {
  void *so = dlopen(l->soname, RTLD_NOW | RTLD_LOCAL);
  if (!so)
    return gr_hint(
        gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "%s%s%s %s", l->optional ? "" : "device=cuda needs ",
                l->what, l->optional ? " is not there:" : ", but", dlerror()),
        "%s", l->cure);
  for (int i = 0; i < l->n; i++) {
    void *function = dlsym(so, l->names[i]);
    if (!function)
      return gr_hint(
          gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "%s has no %s: it is too old", l->soname, l->names[i]),
          "graphrun was built for CUDA %d", TOOLKIT);
    memcpy((char *)l->table + (size_t)i * sizeof function, &function, sizeof function);
  }
  return GR_OK;
}

// `begin` is called once, after the library was loaded.
static gr_status open(library *l, gr_status (*begin)(void)) {
  pthread_mutex_lock(&lock);
  gr_status s = l->open ? GR_OK : load(l);
  if (!s && !l->open && begin) s = begin();
  l->open |= !s;
  pthread_mutex_unlock(&lock);
  return s;
}

// A driver runs what toolkits of its own version and of older ones compiled.
static gr_status begin_driver(void) {
  int version = 0;
  CUresult r = gr_cu.cuInit(0);
  gr_cu.cuDriverGetVersion(&version);
  if (r == CUDA_ERROR_NO_DEVICE)
    return gr_hint(
        gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "there is no GPU that this process may use"),
        "`nvidia-smi` lists them, CUDA_VISIBLE_DEVICES hides some; device=cpu needs none");
  if (version < TOOLKIT * 1000)
    return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                           "the NVIDIA driver is for CUDA %d.%d, and this graphrun was built for "
                           "CUDA %d",
                           version / 1000, version % 1000 / 10, TOOLKIT),
                   "install driver %d or newer; device=cpu needs none", DRIVER);
  return r ? gr_driver_failed(r, "cuInit") : GR_OK;
}

gr_status gr_driver_open(void) { return open(&driver, begin_driver); }
gr_status gr_nvrtc_open(void) { return open(&nvrtc, NULL); }
gr_status gr_cublaslt_open(void) { return open(&cublaslt, NULL); }
#if GR_HAVE_CUDNN
gr_status gr_cudnn_open(void) { return open(&cudnn, NULL); }

gr_status gr_cudnn_failed(cudnnStatus_t r, const char *call) {
  return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "cuDNN fails: %.*s returns %s", (int)strcspn(call, "("),
                 call, gr_dnn.cudnnGetErrorString(r));
}
#endif

#if GR_HAVE_CUPTI
gr_status gr_cupti_open(gr_status (*begin)(void)) { return open(&cupti, begin); }

gr_status gr_cupti_failed(CUptiResult r, const char *call) {
  const char *text = NULL;
  gr_cp.cuptiGetResultString(r, &text);
  gr_status s = gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "CUPTI fails: %.*s returns %s",
                        (int)strcspn(call, "("), call, text ? text : "an unknown error");
  if (r == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
    return gr_hint(s,
                   "this machine lets administrators alone measure GPUs: the option "
                   "NVreg_RestrictProfilingToAdminUsers=0 of the kernel's module nvidia lets all, "
                   "and a container needs --cap-add=SYS_ADMIN");
  if (r == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    return gr_hint(s, "another profiler, such as Nsight Systems, has this process: run without it");
  return s;
}
#endif

// ---- Errors ---------------------------------------------------------------------------------

static int name_length(const char *call) { return (int)strcspn(call, "("); }

// After these the context accepts no call any more.
static bool is_sticky(CUresult r) {
  static const CUresult sticky[] = {CUDA_ERROR_ILLEGAL_ADDRESS,
                                    CUDA_ERROR_LAUNCH_TIMEOUT,
                                    CUDA_ERROR_ASSERT,
                                    CUDA_ERROR_HARDWARE_STACK_ERROR,
                                    CUDA_ERROR_ILLEGAL_INSTRUCTION,
                                    CUDA_ERROR_MISALIGNED_ADDRESS,
                                    CUDA_ERROR_INVALID_ADDRESS_SPACE,
                                    CUDA_ERROR_INVALID_PC,
                                    CUDA_ERROR_LAUNCH_FAILED,
                                    CUDA_ERROR_ECC_UNCORRECTABLE};
  for (size_t i = 0; i < sizeof sticky / sizeof *sticky; i++)
    if (sticky[i] == r) return true;
  return false;
}

static const char *hint_of(CUresult r) {
  static const struct {
    CUresult code;
    const char *text;
  } hints[] = {
      {CUDA_ERROR_OUT_OF_MEMORY,
       "`nvidia-smi` says who uses its memory; use a smaller batch, or more ranks"},
      {CUDA_ERROR_DEVICE_UNAVAILABLE,
       "another process may have it to itself: `nvidia-smi` lists them, and the compute mode"},
      {CUDA_ERROR_SYSTEM_NOT_READY,
       "GPUs behind NVSwitch need the service nvidia-fabricmanager, of the driver's version: is it "
       "running?"},
      {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
       "libcuda.so.1 and the kernel's module are of two drivers: after an update restart the "
       "machine, or the container"},
      {CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
       "libcuda.so.1 is that of the package cuda-compat, which this GPU does not support: take its "
       "folder out of LD_LIBRARY_PATH"}};
  for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
    if (hints[i].code == r) return hints[i].text;
  return NULL;
}

gr_status gr_driver_failed(CUresult r, const char *call) {
  const char *name = NULL, *text = NULL;
  gr_cu.cuGetErrorName(r, &name);
  gr_cu.cuGetErrorString(r, &text);
  gr_status s =
      gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "the GPU fails: %.*s returns %s (%s)", name_length(call),
              call, name ? name : "an unknown error", text ? text : "?");
  if (hint_of(r)) return gr_hint(s, "%s", hint_of(r));
  if (!is_sticky(r)) return s;
  return gr_hint(
      s,
      "what this rank had on the GPU is lost: resume from the newest checkpoint. `dmesg | "
      "grep Xid` shows failures of the hardware; otherwise run it with "
      "GRAPHRUN_CUDA_GRAPH=0 under compute-sanitizer, which names the kernel, and "
      "report it");
}

gr_status gr_nvrtc_failed(nvrtcResult r, const char *call) {
  return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "NVRTC fails: %.*s returns %s", name_length(call), call,
                 gr_rtc.nvrtcGetErrorString(r));
}

gr_status gr_cublaslt_failed(cublasStatus_t r, const char *call) {
  return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "cuBLASLt fails: %.*s returns %s", name_length(call),
                 call, gr_lt.cublasLtGetStatusString(r));
}
