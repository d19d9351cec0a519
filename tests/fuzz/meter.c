// meter.c - see meter.h. The C library's allocator is wrapped; a sanitizer's calls a hook.
#include "meter.h"
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

static _Atomic int64_t used, peak;

static void grow(size_t bytes) {
  int64_t now = atomic_fetch_add(&used, (int64_t)bytes) + (int64_t)bytes;
  int64_t most = atomic_load(&peak);
  while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) {
  }
}
static void shrink(size_t bytes) { atomic_fetch_sub(&used, (int64_t)bytes); }

void fuzz_meter_begin(void) { atomic_store(&used, 0), atomic_store(&peak, 0); }
size_t fuzz_meter_peak(void) { return (size_t)atomic_load(&peak); }

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
size_t __sanitizer_get_allocated_size(const volatile void *p);
void __sanitizer_malloc_hook(const volatile void *p, size_t bytes);
void __sanitizer_free_hook(const volatile void *p);

bool fuzz_meter_counts(void) { return true; }
void __sanitizer_malloc_hook(const volatile void *p, size_t bytes) { (void)p, grow(bytes); }
void __sanitizer_free_hook(const volatile void *p) {
  if (p) shrink(__sanitizer_get_allocated_size(p));
}
#elif defined(__GLIBC__)
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *p);

bool fuzz_meter_counts(void) { return true; }

static void *counted(void *p) {
  if (p) grow(malloc_usable_size(p));
  return p;
}
void *malloc(size_t bytes) { return counted(__libc_malloc(bytes)); }
void *calloc(size_t n, size_t bytes) { return counted(__libc_calloc(n, bytes)); }
void *memalign(size_t align, size_t bytes) { return counted(__libc_memalign(align, bytes)); }
void *aligned_alloc(size_t align, size_t bytes) { return memalign(align, bytes); }
int posix_memalign(void **out, size_t align, size_t bytes) {
  *out = memalign(align, bytes);
  return *out ? 0 : ENOMEM;
}
void *realloc(void *p, size_t bytes) {
  size_t before = p ? malloc_usable_size(p) : 0;
  void *q = __libc_realloc(p, bytes);
  if (q || !bytes) shrink(before);
  return counted(q);
}
void free(void *p) {
  if (p) shrink(malloc_usable_size(p));
  __libc_free(p);
}
#else
bool fuzz_meter_counts(void) { return (void)grow, (void)shrink, false; }
#endif
