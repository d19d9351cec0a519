// cuda.h - the CUDA device, for what works on its queues: communicators. The device itself is in
// the module graphrun_cuda.so, which is loaded when it is opened first.
#pragma once
#include "ops/kernels/gpu.h"
#include "runtime/device/device.h"

// All memory of a GPU that the device takes for itself: the working memory of each library, in
// bytes. What cuBLASLt's fastest algorithms ask for; cuDNN's calls use the same memory, between
// its.
enum { GR_CUDA_WORKSPACE = GR_GPU_LIBRARY_BYTES, GR_CUDA_RESERVED = GR_CUDA_WORKSPACE };

// What the table of gr_device_cuda and that of an opened device have in common.
#define GR_CUDA_FIELDS                                                                  \
  .name = "cuda", .alias = "gpu", .doc = "NVIDIA GPUs, one for each rank", .gpu = true, \
  .collectives = "nccl", .reserved = GR_CUDA_RESERVED

// The table of module "cuda" (base/module.h): cuda/open.c. All but `open` take a device that it
// opened.
typedef struct gr_cuda_module {
  gr_status (*open)(const gr_device_options *, gr_device **out);
  void *(*stream)(gr_device *, gr_queue);  // a CUstream
  int (*index)(gr_device *);               // as CUDA counts, among the visible devices
  gr_status (*use)(gr_device *);
  // While the host waits for a queue, `check` is called again and again with the seconds that it
  // has waited; an error ends the wait. NULL: nothing is called. `watched` is the last `arg`.
  void (*watch)(gr_device *, gr_status (*check)(void *, double waited), void *arg);
  void *(*watched)(gr_device *);
  // On a queue: copies `rows` rows of `width` bytes within the device, and sets bytes to zero.
  gr_status (*copy_rows)(gr_device *, gr_queue, void *to, size_t to_stride, const void *source,
                         size_t from_stride, size_t width, size_t rows);
  gr_status (*clear)(gr_device *, gr_queue, void *address, size_t bytes);
} gr_cuda_module;
// The module's table; GR_ERR_LAUNCH if it is not there.
GR_MUST_USE gr_status gr_cuda_module_open(const gr_cuda_module **out);

extern const gr_device_ops gr_device_cuda;
