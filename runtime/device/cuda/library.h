// library.h - NVIDIA's libraries. Each is loaded at run time by its soname, when it is needed
// first, and its functions are those of a list NAME.def: the program needs headers when it is
// built, and runs on machines that have none of the libraries.
#pragma once
#if GR_HAVE_CUDA
#include <cublasLt.h>
#include <cuda.h>
#if GR_HAVE_CUDNN
#include <cudnn.h>
#endif
#if GR_HAVE_CUPTI
#include <cupti.h>
#endif
#include <nvrtc.h>
#include "base/status.h"

#define GR_CUDA(name) __typeof__(name) *name;
typedef struct gr_driver {
#include "runtime/device/cuda/driver.def"
} gr_driver;
#define GR_CUDA(name) __typeof__(name) *name;
typedef struct gr_nvrtc {
#include "runtime/device/cuda/nvrtc.def"
} gr_nvrtc;
#define GR_CUDA(name) __typeof__(name) *name;
typedef struct gr_cublaslt {
#include "runtime/device/cuda/cublaslt.def"
} gr_cublaslt;
#if GR_HAVE_CUDNN
#define GR_CUDA(name) __typeof__(name) *name;
typedef struct gr_cudnn {
#include "runtime/device/cuda/cudnn.def"
} gr_cudnn;
extern gr_cudnn gr_dnn;
// As the functions below. A device does without the library.
GR_MUST_USE gr_status gr_cudnn_open(void);
// GR_ERR_LAUNCH with the library's text for a return code.
gr_status gr_cudnn_failed(cudnnStatus_t, const char *call);
#define DNN_TRY(call) GR_CALL_TRY(cudnnStatus_t, gr_dnn, gr_cudnn_failed, call)
#endif
#if GR_HAVE_CUPTI
#define GR_CUDA(name) __typeof__(name) *name;
typedef struct gr_cupti {
#include "runtime/device/cuda/cupti.def"
} gr_cupti;
extern gr_cupti gr_cp;
// As the functions below; `begin` is called once, when it was loaded. A device does without it.
GR_MUST_USE gr_status gr_cupti_open(gr_status (*begin)(void));
// GR_ERR_LAUNCH with the library's text for a return code, and what to do.
gr_status gr_cupti_failed(CUptiResult, const char *call);
#define CP_TRY(call) GR_CALL_TRY(CUptiResult, gr_cp, gr_cupti_failed, call)
#endif

// Valid once the function below has returned GR_OK. Of the process: libraries are never unloaded.
extern gr_driver gr_cu;
extern gr_nvrtc gr_rtc;
extern gr_cublaslt gr_lt;

// Loads and initialises the driver; GR_ERR_LAUNCH, with what to install, if it is missing or too
// old. Safe from any thread, as those below.
GR_MUST_USE gr_status gr_driver_open(void);
// Loads NVRTC, the compiler of kernels, with the same errors.
GR_MUST_USE gr_status gr_nvrtc_open(void);
// Loads cuBLASLt, with the same errors.
GR_MUST_USE gr_status gr_cublaslt_open(void);

// ---- Errors ---------------------------------------------------------------------------------
// GR_ERR_LAUNCH with the driver's text for a return code. call: the C text of the call that failed.
gr_status gr_driver_failed(CUresult, const char *call);
// The same with NVRTC's text.
gr_status gr_nvrtc_failed(nvrtcResult, const char *call);
// The same with cuBLASLt's text.
gr_status gr_cublaslt_failed(cublasStatus_t, const char *call);
#define GR_CALL_TRY(type, table, failed, call) \
  do {                                         \
    type code_ = table.call;                   \
    if (code_) return failed(code_, #call);    \
  } while (0)
#define CU_TRY(call) GR_CALL_TRY(CUresult, gr_cu, gr_driver_failed, call)
#define RTC_TRY(call) GR_CALL_TRY(nvrtcResult, gr_rtc, gr_nvrtc_failed, call)
#define LT_TRY(call) GR_CALL_TRY(cublasStatus_t, gr_lt, gr_cublaslt_failed, call)
#endif
