// module.c - the stand-in driver: modules and launches.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tests/gpu/standin/driver.h"

CUresult cuModuleLoadData(CUmodule *out_m, const void *image) {
  API;
  NEED_CTX(d);
  NOT_IN_CAPTURE;
  const Elf64_Ehdr *e = image;
  if (memcmp(e->e_ident, ELFMAG, SELFMAG))
    FAIL(CUDA_ERROR_INVALID_IMAGE, "cuModuleLoadData: not from the stand-in's compiler");
  size_t n = e->e_shoff + (size_t)e->e_shnum * e->e_shentsize;
  int arch;  // stands behind the shared object (nvrtc.c)
  memcpy(&arch, (const char *)image + n, sizeof arch);
  CUmodule m = calloc(1, sizeof *m);
  m->magic = MODULE, m->dev = d, m->fd = memfd_create("standin-module", MFD_CLOEXEC);
  char path[64];  // one descriptor for each load: each gets its own variables
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), m->fd);
  if (write(m->fd, image, n) != (ssize_t)n || !(m->so = dlopen(path, RTLD_NOW | RTLD_LOCAL)) ||
      !(m->m = dlsym(m->so, "standin_module")))
    FAIL(CUDA_ERROR_INVALID_IMAGE, "cuModuleLoadData: %s", dlerror());
  if (getenv("STANDIN_MEMORY") && !m->m->weak)
    FAIL(CUDA_ERROR_INVALID_IMAGE, "STANDIN_MEMORY is set, but was not when this was compiled");
  if (arch / 10 != sizes.sm / 10 || arch > sizes.sm)
    FAIL(CUDA_ERROR_NO_BINARY_FOR_GPU, "the module is for sm_%d, the device is sm_%d", arch,
         sizes.sm);
  if (d->used + MODULE_BYTES > d->total) return CUDA_ERROR_OUT_OF_MEMORY;
  d->nmodules++, d->used += MODULE_BYTES;
  return *out_m = m, CUDA_SUCCESS;
}
CUresult cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned n, CUjit_option *o, void **v) {
  return (void)n, (void)o, (void)v, cuModuleLoadData(m, image);
}
// Bytes without those that device.hpp has in each module.
static int statics(CUfunction f) {
  return (int)(f->module->m->shared_end - f->module->m->shared_begin - 16) / 16 * 16;
}
CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) {
  API;
  MAY_FAIL;
  NEED(m, MODULE);
  for (int i = 0; i < m->m->nkernel; i++)
    if (!strcmp(m->m->kernel[i].name, name)) {
      *f = calloc(1, sizeof **f);
      **f = (struct CUfunc_st){FUNC, 0, m, &m->m->kernel[i]};
      (*f)->max_dynamic = (48 << 10) - statics(*f);  // more has to be asked for
      m->func = realloc(m->func, (size_t)(m->nfunc + 1) * sizeof *m->func);
      return m->func[m->nfunc++] = *f, CUDA_SUCCESS;
    }
  return CUDA_ERROR_NOT_FOUND;
}
CUresult cuModuleUnload(CUmodule m) {
  API;
  NEED(m, MODULE);
  NOT_IN_CAPTURE;
  si_drain(m->dev, NULL);
  for (int i = 0; i < m->nfunc; i++) m->func[i]->magic = DEAD;
  m->dev->nmodules--, m->dev->used -= MODULE_BYTES;
  return dlclose(m->so), close(m->fd), m->magic = DEAD, CUDA_SUCCESS;
}
static int max_threads(CUfunction f) { return f->k->max_threads ? f->k->max_threads : 1024; }
CUresult cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction f) {
  NEED(f, FUNC);
  switch (a) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return *v = max_threads(f), CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return *v = statics(f), CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return *v = f->max_dynamic, CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return *v = 32, CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      return *v = sizes.sm, CUDA_SUCCESS;
    default:
      return *v = 0, CUDA_SUCCESS;
  }
}
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) {
  MAY_FAIL;
  NEED(f, FUNC);
  if (a != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_SUCCESS;
  if (v < 0 || v + statics(f) > sizes.block_smem)
    FAIL(CUDA_ERROR_INVALID_VALUE, "%d bytes of shared memory for %s", v, f->k->name);
  return f->max_dynamic = v, CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction f, int threads,
                                                     size_t dynamic) {
  NEED(f, FUNC);
  int warps = (threads + 31) / 32,
      by_smem = (int)((size_t)sizes.sm_smem / ((size_t)statics(f) + dynamic + 1024));
  *n = threads < 1 || threads > max_threads(f) ? 0 : sizes.sm_threads / 32 / warps;
  if (*n > sizes.sm_blocks) *n = sizes.sm_blocks;
  if (*n > by_smem) *n = by_smem;
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, CUfunction f, int threads,
                                                              size_t dynamic, unsigned flags) {
  return (void)flags, cuOccupancyMaxActiveBlocksPerMultiprocessor(n, f, threads, dynamic);
}

static CUresult launch(CUfunction f, const unsigned *grid, const unsigned *b, unsigned dynamic,
                       CUstream h, int coop, void **args) {
  NEED_CTX(d);
  NEED(f, FUNC);
  STREAM_OF(h, s);
  const char *name = f->k->name;
  if (si_fails("cuLaunchKernel")) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (f->module->dev != d)
    FAIL(CUDA_ERROR_INVALID_CONTEXT, "kernel %s was loaded on device %d, launched on %d", name,
         f->module->dev->ordinal, d->ordinal);
  uint64_t threads = (uint64_t)b[0] * b[1] * b[2];
  if (!threads || !grid[0] || !grid[1] || !grid[2] || b[2] > 64 || grid[0] > 2147483647u ||
      grid[1] > 65535 || grid[2] > 65535 || threads > 1024)
    FAIL(CUDA_ERROR_INVALID_VALUE, "kernel %s: grid (%u,%u,%u) of blocks (%u,%u,%u)", name, grid[0],
         grid[1], grid[2], b[0], b[1], b[2]);
  if (threads > (uint64_t)max_threads(f))
    FAIL(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "kernel %s: more threads than its launch bounds",
         name);
  if (dynamic > (unsigned)f->max_dynamic)
    FAIL(CUDA_ERROR_INVALID_VALUE, "kernel %s: %u bytes of dynamic shared memory, %d allowed", name,
         dynamic, f->max_dynamic);
  int fit = 0;
  cuOccupancyMaxActiveBlocksPerMultiprocessor(&fit, f, (int)threads, dynamic);
  if (coop && (uint64_t)grid[0] * grid[1] * grid[2] > (uint64_t)fit * (unsigned)sizes.processors)
    FAIL(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "kernel %s: %u blocks, at most %d fit", name,
         grid[0] * grid[1] * grid[2], fit * sizes.processors);
  size_t bytes = 0;
  for (int i = 0; i < f->k->nparam; i++) {
    const standin_param *p = &f->k->param[i];
    bytes += (p->size + 15) & ~(size_t)15;
    if (!args || !args[i])
      FAIL(CUDA_ERROR_INVALID_VALUE, "kernel %s: no parameter %d", name, i + 1);
    char *v = NULL, text[160];
    if (p->pointer) memcpy(&v, args[i], sizeof v);
    snprintf(text, sizeof text, "kernel %s: parameter %d", name, i + 1);
    if (v && (uintptr_t)v % p->align)
      FAIL(CUDA_ERROR_MISALIGNED_ADDRESS, "%s is not aligned to %zu", text, p->align);
    if (v && si_range(v, 1, d->ordinal, text)) return CUDA_ERROR_INVALID_VALUE;
  }
  op *o = si_new_op(KERNEL, d, name);
  o->launch = (standin_launch){.module = f->module->m,
                               .kernel = f->k,
                               .dynamic = dynamic,
                               .cooperative = coop,
                               .memory = d->end - ADDRESSES,
                               .bytes = ADDRESSES,
                               .watched = si_races()};
  memcpy(o->launch.grid, grid, sizeof o->launch.grid),
      memcpy(o->launch.block, b, sizeof o->launch.block);
  o->data = malloc(bytes + 16), o->bytes = bytes;
  si_bind_args(o);
  for (int i = 0; i < f->k->nparam; i++) memcpy(o->launch.args[i], args[i], f->k->param[i].size);
  return si_enqueue(s, o);
}
CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned dynamic, CUstream s, void **args,
                        void **extra) {
  API;
  if (extra) FAIL(CUDA_ERROR_NOT_SUPPORTED, "cuLaunchKernel: `extra` is not stood in for");
  return launch(f, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, dynamic, s, 0, args);
}
CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                   unsigned by, unsigned bz, unsigned dynamic, CUstream s,
                                   void **args) {
  API;
  return launch(f, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, dynamic, s, 1, args);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **args, void **extra) {
  API;
  int coop = 0;
  for (unsigned i = 0; i < c->numAttrs; i++)
    if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      coop = c->attrs[i].value.cooperative;
    else if (c->attrs[i].id != CU_LAUNCH_ATTRIBUTE_PRIORITY &&
             c->attrs[i].id != CU_LAUNCH_ATTRIBUTE_IGNORE)
      FAIL(CUDA_ERROR_NOT_SUPPORTED, "launch attribute %d is not stood in for", c->attrs[i].id);
  if (extra) FAIL(CUDA_ERROR_NOT_SUPPORTED, "cuLaunchKernelEx: `extra` is not stood in for");
  return launch(f, &c->gridDimX, &c->blockDimX, c->sharedMemBytes, c->hStream, coop, args);
}
