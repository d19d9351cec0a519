// no_driver.c - a libcuda.so.1 for NVIDIA's own cuDNN on a machine without a GPU: it has no device,
// and takes compiled kernels without looking at them. cuDNN plans for a described device with it.
#define NAMES(F)                                                                                   \
  F(cuLaunchKernel)                                                                                \
  F(cuLaunchKernelEx)                                                                              \
  F(cuLaunchCooperativeKernel)                                                                     \
  F(cuStreamGetCtx)                                                                                \
  F(cuLinkCreate) F(cuLinkAddData) F(cuLinkComplete) F(cuLinkDestroy) F(cuLibraryLoadFromFile)     \
      F(cuOccupancyMaxPotentialClusterSize) F(cuDeviceGetCount) F(cuDeviceGet) F(cuCtxPushCurrent) \
          F(cuCtxPopCurrent) F(cuCtxGetLimit) F(cuCtxGetCurrent) F(cuGetErrorName)                 \
              F(cuGetErrorString)
enum { NO_DEVICE = 100, VERSION = 13000 };

#define NONE(name) \
  int name(void);  \
  int name(void) { return NO_DEVICE; }
NAMES(NONE)
#define DECLARE(name, ...) \
  int name(__VA_ARGS__);   \
  int name(__VA_ARGS__)
DECLARE(cuInit, unsigned flags) { return (void)flags, NO_DEVICE; }
DECLARE(cuDriverGetVersion, int *version) { return *version = VERSION, 0; }
DECLARE(cuLibraryLoadData, void **library) { return *library = &*"library", 0; }
DECLARE(cuLibraryGetKernel, void **kernel) { return *kernel = &*"kernel", 0; }
DECLARE(cuLibraryUnload, void *library) { return (void)library, 0; }
DECLARE(cuKernelSetAttribute, int attribute) { return (void)attribute, 0; }
DECLARE(cuKernelGetAttribute, int *value) { return *value = 0, 0; }
