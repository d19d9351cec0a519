// memory.c - the stand-in driver: memory and copies.
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include "tests/gpu/standin/driver.h"

static void record(char *p, char *page, size_t n, size_t mapped, struct device *d) {
  blocks = realloc(blocks, (size_t)(nblocks + 1) * sizeof *blocks);
  struct device *owner = d ? d : si_current() ? si_current()->dev : NULL;
  blocks[nblocks] = (block){p, page, n, mapped, d, owner, 1, nblocks};
  nblocks++;
}
CUresult cuMemAlloc(CUdeviceptr *out_p, size_t n) {  // ends at a guard page, rounded to 256
  API;
  NEED_CTX(d);
  NOT_IN_CAPTURE;
  if (!n) return CUDA_ERROR_INVALID_VALUE;
  if (d->used + n > d->total || si_fails("cuMemAlloc")) return CUDA_ERROR_OUT_OF_MEMORY;
  if (n + 3 * PAGE > (size_t)(d->end - d->next))
    FAIL(CUDA_ERROR_OUT_OF_MEMORY, "all addresses of device %d are used up", d->ordinal);
  size_t mapped = (n + PAGE - 1) / PAGE * PAGE;
  char *page = d->next + PAGE, *p = page + mapped - (n + 255) / 256 * 256;
  d->next = page + mapped, d->used += n;  // addresses are never used again
  if (si_map(d, page, mapped))
    FAIL(CUDA_ERROR_OUT_OF_MEMORY, "no memory for device %d: %s", d->ordinal, strerror(errno));
  memset(page, 0xc5, mapped), memset(p, 0xff, n);
  si_mapped(d, page, mapped);
  record(p, page, n, mapped, d);
  return *out_p = (CUdeviceptr)p, CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr p) {
  API;
  NEED_CURRENT(d);
  NOT_IN_CAPTURE;
  if (!p) return CUDA_SUCCESS;
  block *b = si_find((void *)p);
  if (!b || !b->dev || b->p != (char *)p || !b->live)
    FAIL(CUDA_ERROR_INVALID_VALUE, "cuMemFree of %s",
         b && !b->live ? "memory freed before" : "what is no allocation");
  CUresult e = si_drain(b->dev, NULL);
  si_map(b->dev, b->page, b->mapped);
  if (!si_canary(b))
    standin_say("device allocation %d of %zu bytes was written out of bounds", b->id, b->n),
        e = CUDA_ERROR_ILLEGAL_ADDRESS;
  si_unmap(b->page, b->mapped);
  b->live = 0, b->dev->used -= b->n;
  return e;
}
int standin_take(int device, long n) {
  API;
  struct device *d = &devices[device];
  if (n > 0 && (size_t)n > d->total - d->used) return 0;
  return d->used += (size_t)n, 1;
}
CUresult cuMemGetInfo(size_t *avail, size_t *total) {
  NEED_CTX(d);
  return *avail = d->total - d->used, *total = d->total, CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void **p, size_t n, unsigned flags) {
  API;
  NEED_CTX(d);
  NOT_IN_CAPTURE;
  size_t mapped = (n + PAGE - 1) / PAGE * PAGE;
  *p = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(*p, 0xff, mapped);
  return (void)flags, (void)d, record(*p, *p, n, mapped, NULL), CUDA_SUCCESS;
}
CUresult cuMemAllocHost(void **p, size_t n) { return cuMemHostAlloc(p, n, 0); }
CUresult cuMemFreeHost(void *p) {
  API;
  NOT_IN_CAPTURE;
  block *b = si_find(p);
  if (!b || b->dev || b->p != p || !b->live)
    FAIL(CUDA_ERROR_INVALID_VALUE, "cuMemFreeHost of what is no pinned allocation");
  for (int i = 0; i < ndevices; i++) si_drain(&devices[i], NULL);
  b->live = 0, munmap(b->page, b->mapped), b->page = b->p = NULL, b->mapped = 0;
  return CUDA_SUCCESS;
}
CUresult cuMemHostRegister(void *p, size_t n, unsigned flags) {
  API;
  return (void)flags, record(p, p, n, n, NULL), CUDA_SUCCESS;
}
CUresult cuMemHostUnregister(void *p) {
  API;
  block *b = si_find(p);
  if (!b || b->dev || b->p != p) return CUDA_ERROR_INVALID_VALUE;
  for (int i = 0; i < ndevices; i++) si_drain(&devices[i], NULL);
  return b->live = 0, b->page = b->p = NULL, b->mapped = 0, CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void *v, CUpointer_attribute a, CUdeviceptr p) {
  API;
  block *b = si_find((void *)p);
  if (!b || !b->live) return CUDA_ERROR_INVALID_VALUE;
  if (a == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    *(unsigned *)v = b->dev ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  else if (a == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
    *(int *)v = b->dev ? b->dev->ordinal : 0;
  else
    return CUDA_ERROR_NOT_SUPPORTED;
  return CUDA_SUCCESS;
}

int si_range(const void *p, size_t n, int device, const char *what) {
  block *b = si_find(p);
  char text[200];
  if (b && b->live && (char *)p >= b->p && (char *)p + n <= b->p + b->n &&
      (!b->dev || device < 0 || b->dev->ordinal == device ||
       (devices[device].peers >> b->dev->ordinal & 1)))
    return 0;
  standin_say("%s: %zu bytes at %s%s", what, n, si_describe(p, text, sizeof text),
              b && b->dev && device >= 0 && b->dev->ordinal != device ? " of another device" : "");
  return CUDA_ERROR_INVALID_VALUE;
}
int standin_range(const void *p, size_t n, int device, const char *what) {
  API;
  return si_range(p, n, device, what);
}

// Rows of n bytes each, which begin so many bytes after each other: one piece of work.
struct rows {
  size_t n, rows, dst_pitch, src_pitch;
};
// side: 'd' device, 'h' host, '?' told by the address
static CUresult copy_rows(const char *fn, void *dst, char dst_kind, const void *src, char src_kind,
                          struct rows r, CUstream h, int sync) {
  NEED_CTX(d);
  if (sync) {
    CUresult bad = si_illegal(fn);
    if (bad) return bad;
  }
  STREAM_OF(h, s);
  if (!r.n || !r.rows) return CUDA_SUCCESS;
  block *bd = si_find(dst), *bs = si_find(src);
  int stage = 0, wait = sync;
  if (dst_kind == '?') dst_kind = bd && bd->dev ? 'd' : 'h';
  if (src_kind == '?') src_kind = bs && bs->dev ? 'd' : 'h';
  char text[100];
  for (int side = 0; side < 2; side++) {
    block *b = side ? bs : bd;
    const void *p = side ? src : dst;
    size_t n = (r.rows - 1) * (side ? r.src_pitch : r.dst_pitch) + r.n;  // all in one allocation
    snprintf(text, sizeof text, "%s: %s", fn, side ? "source" : "destination");
    if ((side ? src_kind : dst_kind) == 'd' || (b && !b->dev)) {
      if (si_range(p, n, -1, text)) return CUDA_ERROR_INVALID_VALUE;
      if ((side ? src_kind : dst_kind) == 'd' && !b->dev)
        FAIL(CUDA_ERROR_INVALID_VALUE, "%s is host memory", text);
    } else if (b)
      FAIL(CUDA_ERROR_INVALID_VALUE, "%s is device memory", text);
    else if (s->capture)
      FAIL(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "%s is not pinned, in a capture", text);
    else if (!sync)
      FAIL(CUDA_ERROR_NOT_SUPPORTED, "%s is not pinned: the host would wait for the copy", text);
    else if (side)
      stage = 1;  // the driver copies pageable memory before it returns
    else
      wait = 1;
  }
  op *o = si_new_op(COPY, d, fn);
  o->dst = dst, o->src = (char *)src;
  o->n = r.n, o->rows = r.rows, o->dst_pitch = r.dst_pitch, o->src_pitch = r.src_pitch;
  if (stage) o->data = memcpy(malloc(r.n), src, r.n), o->bytes = r.n;
  si_hold(o);
  CUresult e = si_enqueue(s, o);
  if (!e && wait) e = si_drain(d, o);
  si_drop(o);
  return e;
}
static CUresult copy(const char *fn, void *dst, char dst_kind, const void *src, char src_kind,
                     size_t n, CUstream h, int sync) {
  return copy_rows(fn, dst, dst_kind, src, src_kind, (struct rows){n, 1, n, n}, h, sync);
}
#define COPY_FN(name, D, dk, S, sk)                                            \
  CUresult name(D dst, S src, size_t n) {                                      \
    API;                                                                       \
    return copy(__func__, (void *)dst, dk, (const void *)src, sk, n, NULL, 1); \
  }
#define COPY_ASYNC_FN(name, D, dk, S, sk)                                   \
  CUresult name(D dst, S src, size_t n, CUstream s) {                       \
    API;                                                                    \
    return copy(__func__, (void *)dst, dk, (const void *)src, sk, n, s, 0); \
  }
COPY_FN(cuMemcpyHtoD, CUdeviceptr, 'd', const void *, 'h')
COPY_FN(cuMemcpyDtoH, void *, 'h', CUdeviceptr, 'd')
COPY_FN(cuMemcpyDtoD, CUdeviceptr, 'd', CUdeviceptr, 'd')
COPY_FN(cuMemcpy, CUdeviceptr, '?', CUdeviceptr, '?')
COPY_ASYNC_FN(cuMemcpyHtoDAsync, CUdeviceptr, 'd', const void *, 'h')
COPY_ASYNC_FN(cuMemcpyDtoHAsync, void *, 'h', CUdeviceptr, 'd')
COPY_ASYNC_FN(cuMemcpyDtoDAsync, CUdeviceptr, 'd', CUdeviceptr, 'd')
COPY_ASYNC_FN(cuMemcpyAsync, CUdeviceptr, '?', CUdeviceptr, '?')

// Rows within devices alone.
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *c, CUstream s) {
  API;
  if (c->srcMemoryType != CU_MEMORYTYPE_DEVICE || c->dstMemoryType != CU_MEMORYTYPE_DEVICE ||
      c->srcXInBytes || c->srcY || c->dstXInBytes || c->dstY)
    FAIL(CUDA_ERROR_NOT_SUPPORTED, "cuMemcpy2DAsync: only rows within devices");
  if (c->Height > 1 && (c->srcPitch < c->WidthInBytes || c->dstPitch < c->WidthInBytes))
    FAIL(CUDA_ERROR_INVALID_VALUE, "cuMemcpy2DAsync: rows of %zu bytes overlap", c->WidthInBytes);
  struct rows r = {c->WidthInBytes, c->Height, c->dstPitch, c->srcPitch};
  return copy_rows(__func__, (void *)c->dstDevice, 'd', (const void *)c->srcDevice, 'd', r, s, 0);
}

static CUresult set(CUdeviceptr dst, unsigned value, unsigned width, size_t n, CUstream h,
                    int sync) {
  NEED_CTX(d);
  if (sync) NOT_IN_CAPTURE;
  STREAM_OF(h, s);
  if (dst % width || si_range((void *)dst, n * width, d->ordinal, "cuMemset"))
    return CUDA_ERROR_INVALID_VALUE;
  op *o = si_new_op(SET, d, "cuMemset");
  o->dst = (char *)dst, o->value = value, o->width = width, o->n = n;
  si_hold(o);
  CUresult e = si_enqueue(s, o);
  if (!e && sync) e = si_drain(d, o);
  si_drop(o);
  return e;
}
CUresult cuMemsetD8(CUdeviceptr p, unsigned char v, size_t n) {
  API;
  return set(p, v, 1, n, NULL, 1);
}
CUresult cuMemsetD16(CUdeviceptr p, unsigned short v, size_t n) {
  API;
  return set(p, v, 2, n, NULL, 1);
}
CUresult cuMemsetD32(CUdeviceptr p, unsigned v, size_t n) {
  API;
  return set(p, v, 4, n, NULL, 1);
}
CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char v, size_t n, CUstream s) {
  API;
  return set(p, v, 1, n, s, 0);
}
CUresult cuMemsetD16Async(CUdeviceptr p, unsigned short v, size_t n, CUstream s) {
  API;
  return set(p, v, 2, n, s, 0);
}
CUresult cuMemsetD32Async(CUdeviceptr p, unsigned v, size_t n, CUstream s) {
  API;
  return set(p, v, 4, n, s, 0);
}
