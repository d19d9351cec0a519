// gemm_amx.c - products of few rows of bf16 on AMX: whether this processor and its kernel allow it,
// and the instructions. See gemm_amx_tiles.inc.
//
// Linux gives tiles only to processes that ask for them (arch_prctl), since they make a thread's
// saved state 8 KiB larger.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define _GNU_SOURCE
#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TILE_FUNCTION __attribute__((target("amx-tile,amx-bf16")))
// The compiler knows of 8 of the 64 bytes that ldtilecfg reads, and of none that tileloadd does.
#define TILE_CONFIG(c)                        \
  do {                                        \
    __asm__ volatile("" ::"r"(c) : "memory"); \
    _tile_loadconfig(c);                      \
  } while (0)
#define TILE_ZERO(t) _tile_zero(t)
#define TILE_LOAD(t, base, step) _tile_loadd(t, base, step)
#define TILE_STORE(t, to, step) _tile_stored(t, to, step)
#define TILE_DOT(c, a, b) _tile_dpbf16ps(c, a, b)
#define TILE_RELEASE() _tile_release()
#include "ops/kernels/gemm_amx_tiles.inc"

enum { ASK_PERMISSION = 0x1023, TILE_DATA = 18 };  // ARCH_REQ_XCOMP_PERM; a part of the state

// Whether bits `first` and on of a register, as many as `mask` has, are all set.
static bool has(unsigned value, unsigned mask) { return (value & mask) == mask; }

// The instructions, and that the system saves tiles: OSXSAVE, then bits 17 and 18 of XCR0.
static bool has_instructions(void) {
  unsigned a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, 1u << 27)) return false;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if (!has(low, 3u << 17)) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && has(d, 1u << 24 | 1u << 22);
}

// Palette 1 has eight tiles of 16 rows of 64 bytes, and the unit multiplies tiles of that size.
static bool has_sizes(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(0x1d, 1, &a, &b, &c, &d)) return false;
  if (b >> 16 < 8 || (b & 0xffff) < GR_AMX_BYTES || (c & 0xffff) < GR_AMX_ROWS) return false;
  if (!__get_cpuid_count(0x1e, 0, &a, &b, &c, &d)) return false;
  return (b & 0xff) >= GR_AMX_ROWS && (b >> 8 & 0xffff) >= GR_AMX_BYTES;
}

static bool available;
static void gemm_amx_find(void) {
  available =
      has_instructions() && has_sizes() && !syscall(SYS_arch_prctl, ASK_PERMISSION, TILE_DATA);
}

bool gr_gemm_amx(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, gemm_amx_find);
  return available;
}

TILE_FUNCTION void gr_gemm_amx_panels(const gr_gemm *g, const uint16_t *a, const uint16_t *packed,
                                      float *c, int64_t begin, int64_t end) {
  gr_amx_panels(g, a, packed, c, begin, end);
}
#else
#include "ops/kernels/gemm.h"

bool gr_gemm_amx(void) { return false; }

void gr_gemm_amx_panels(const gr_gemm *g, const uint16_t *a, const uint16_t *packed, float *c,
                        int64_t begin, int64_t end) {
  (void)g, (void)a, (void)packed, (void)c, (void)begin, (void)end;
}
#endif
