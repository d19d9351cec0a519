// Lets CUDA C source be compiled as C++ for the stand-in GPU. Included before the source.
#pragma once
#define STANDIN_IN_KERNEL 1
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#ifdef STANDIN_ARCH  // only for a source that has the word
#define __CUDA_ARCH__ (STANDIN_ARCH * 10)
#endif
typedef __SIZE_TYPE__ size_t;
#define NULL nullptr
#include "abi.h"

// Rewritten by the compiler stand-in once macros are expanded: see standin_nvrtc.c.
#define __global__ __si_global__
#define __shared__ __si_shared__
#define __launch_bounds__(...) __si_bounds__(__VA_ARGS__)
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))

extern "C" {
const standin_thread *__si_self;
const standin_engine *__si_engine;
__attribute__((aligned(1024))) char __si_dynamic[232448];
extern char __start_si_shared[] __attribute__((visibility("hidden")));
extern char __stop_si_shared[] __attribute__((visibility("hidden")));
}
__attribute__((section("si_shared"), used, aligned(16))) static char __si_first[16];

// ---- vector types, thread indices ----
#define SI_VEC(T, N, A2, A4)                                                      \
  struct N##1 { T x; };                                                           \
  struct __align__(A2) N##2 { T x, y; };                                          \
  struct N##3 { T x, y, z; };                                                     \
  struct __align__(A4) N##4 { T x, y, z, w; };                                    \
  static inline N##2 make_##N##2(T x, T y) { return {x, y}; }                     \
  static inline N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; }             \
  static inline N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
SI_VEC(float, float, 8, 16) SI_VEC(int, int, 8, 16) SI_VEC(unsigned, uint, 8, 16)
SI_VEC(short, short, 4, 8) SI_VEC(unsigned short, ushort, 4, 8) SI_VEC(unsigned char, uchar, 2, 4)
SI_VEC(double, double, 16, 16)
struct dim3 { unsigned x = 1, y = 1, z = 1; };
#define threadIdx (*(const uint3 *)__si_self->tid)
#define blockIdx (*(const uint3 *)__si_self->bid)
#define blockDim (*(const uint3 *)__si_self->bdim)
#define gridDim (*(const uint3 *)__si_self->gdim)
#define warpSize 32
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

// ---- barriers, warp operations; macros, so that messages can name the line ----
#define __syncthreads() ((void)__si_engine->block_sync(__LINE__, 0))
#define __syncthreads_count(p) __si_engine->block_sync(__LINE__, !!(p))
#define __syncthreads_or(p) (__si_engine->block_sync(__LINE__, !!(p)) != 0)
#define __syncthreads_and(p) (__si_engine->block_sync(__LINE__, !(p)) == 0)
#define __syncwarp(...) ((void)__si_engine->warp_sync(__LINE__, __si_mask(__VA_ARGS__), 0))
#define __shfl_sync(m, v, l, ...) __si_shfl(__LINE__, 'i', m, v, l, ##__VA_ARGS__)
#define __shfl_xor_sync(m, v, l, ...) __si_shfl(__LINE__, 'x', m, v, l, ##__VA_ARGS__)
#define __shfl_up_sync(m, v, l, ...) __si_shfl(__LINE__, 'u', m, v, l, ##__VA_ARGS__)
#define __shfl_down_sync(m, v, l, ...) __si_shfl(__LINE__, 'd', m, v, l, ##__VA_ARGS__)
#define __ballot_sync(m, p) __si_ballot(__LINE__, m, p)
#define __any_sync(m, p) (__si_ballot(__LINE__, m, p) != 0)
#define __all_sync(m, p) (__si_ballot(__LINE__, m, !(p)) == 0)
#define __reduce_add_sync(m, v) __si_reduce(__LINE__, m, v, [](auto a, auto b) { return a + b; })
#define __reduce_min_sync(m, v) __si_reduce(__LINE__, m, v, [](auto a, auto b) { return a < b ? a : b; })
#define __reduce_max_sync(m, v) __si_reduce(__LINE__, m, v, [](auto a, auto b) { return a > b ? a : b; })
static inline unsigned __si_mask(unsigned m = 0xffffffffu) { return m; }
static inline unsigned __activemask() { __si_engine->trap("__activemask has no fixed meaning"); return 0; }
static inline int __si_lane() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31;
}
template <class T>
static inline T __si_shfl(int line, char how, unsigned mask, T v, int by, int width = 32) {
  static_assert(sizeof(T) <= 8);
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &v, sizeof v);
  const uint64_t *all = __si_engine->warp_sync(line, mask, bits);
  int lane = __si_lane(), first = lane & ~(width - 1);
  int from = how == 'i' ? first + (by & (width - 1)) : how == 'x' ? lane ^ by : how == 'u' ? lane - by : lane + by;
  if (from < first || from >= first + width) from = how == 'x' && from < first ? from : lane;
  if (!(mask >> from & 1)) __si_engine->trap("a shuffle reads a lane outside its mask");
  __builtin_memcpy(&v, &all[from], sizeof v);
  return v;
}
static inline unsigned __si_ballot(int line, unsigned mask, int p) {
  const uint64_t *all = __si_engine->warp_sync(line, mask, p != 0);
  unsigned r = 0;
  for (int i = 0; i < 32; i++) r |= (mask >> i & 1 && all[i]) ? 1u << i : 0;
  return r;
}
template <class T, class F>
static inline T __si_reduce(int line, unsigned mask, T v, F f) {
  const uint64_t *all = __si_engine->warp_sync(line, mask, (uint64_t)v);
  T r = v;
  for (int i = 0, any = 0; i < 32; i++)
    if (mask >> i & 1) r = any++ ? f(r, (T)all[i]) : (T)all[i];
  return r;
}

// ---- weak memory: the compiler puts a call before each load and store ----
#define SI_UNSEEN __attribute__((no_sanitize("thread")))
SI_UNSEEN static inline bool __si_is_weak(const void *p) {
  return (size_t)((const char *)p - __si_engine->memory) < __si_engine->bytes;
}
#ifdef STANDIN_WEAK
#define SI_SEEN(name, size, what)                                                             \
  SI_UNSEEN __attribute__((visibility("hidden"), used)) void name(void *p) {                  \
    if (__si_is_weak(p)) __si_engine->what(p, size);                                          \
  }
#define SI_SEEN_OF(size)                                                                      \
  SI_SEEN(__tsan_read##size, size, reads) SI_SEEN(__tsan_write##size, size, writes)           \
  SI_SEEN(__tsan_unaligned_read##size, size, reads)                                           \
  SI_SEEN(__tsan_unaligned_write##size, size, writes)
extern "C" {
SI_SEEN_OF(1) SI_SEEN_OF(2) SI_SEEN_OF(4) SI_SEEN_OF(8) SI_SEEN_OF(16)
SI_UNSEEN __attribute__((visibility("hidden"), used)) void __tsan_read_range(void *p, size_t n) {
  if (__si_is_weak(p)) __si_engine->reads(p, n);
}
SI_UNSEEN __attribute__((visibility("hidden"), used)) void __tsan_write_range(void *p, size_t n) {
  if (__si_is_weak(p)) __si_engine->writes(p, n);
}
SI_UNSEEN __attribute__((visibility("hidden"), used)) void __tsan_init() {}
}
constexpr int si_weak = 1;
#else
constexpr int si_weak = 0;
#endif
SI_UNSEEN static inline void __si_order(int releases, int acquires) {
  if (__si_engine->bytes) __si_engine->order(releases, acquires);
}

// ---- atomics (each lets other threads run, so that a loop on one ends), fences, time ----
template <class T, class F>
SI_UNSEEN static inline T __si_atomic(T *p, F f) {
  __si_engine->yield();
  if (__si_is_weak(p)) __si_engine->coherent(p, sizeof *p);
  T old = *p;
  *p = f(old);
  return old;
}
template <class T> struct si_same { typedef T type; };
#define SI_ATOMIC(name, expr) \
  template <class T> static inline T name(T *p, typename si_same<T>::type v) { return __si_atomic(p, [=](T o) -> T { return expr; }); }
SI_ATOMIC(atomicAdd, o + v) SI_ATOMIC(atomicSub, o - v) SI_ATOMIC(atomicExch, v) SI_ATOMIC(atomicMax, o > v ? o : v)
SI_ATOMIC(atomicMin, o < v ? o : v) SI_ATOMIC(atomicAnd, o & v) SI_ATOMIC(atomicOr, o | v) SI_ATOMIC(atomicXor, o ^ v)
SI_ATOMIC(atomicInc, o >= v ? 0 : o + 1)
template <class T> static inline T atomicCAS(T *p, typename si_same<T>::type a, typename si_same<T>::type b) {
  return __si_atomic(p, [=](T o) -> T { return o == a ? b : o; });
}
// PTX in asm statements, which nvrtc_rewrite.c makes calls of: those that kernels have, and weaker
// ones in their place.
#define SI_RED(order, releases)                                                   \
  SI_UNSEEN static inline void __si_red_##order##_add_u32(unsigned *p, unsigned v) { \
    __si_order(releases, 0);                                                      \
    atomicAdd(p, v);                                                              \
  }
#define SI_LD(order, acquires)                                                          \
  SI_UNSEEN static inline void __si_ld_##order##_u32(unsigned &v, const unsigned *p) {  \
    v = atomicAdd((unsigned *)p, 0u);                                                   \
    __si_order(0, acquires);                                                            \
  }
SI_RED(release_gpu, 1) SI_RED(release_cta, 0) SI_RED(relaxed_gpu, 0)
SI_LD(acquire_gpu, 1) SI_LD(acquire_cta, 0) SI_LD(relaxed_gpu, 0)
static inline void __threadfence() { __si_order(1, 1); }
static inline void __threadfence_block() {}
static inline void __threadfence_system() { __si_order(1, 1); }
static inline void __nanosleep(unsigned) { __si_engine->yield(); }
static inline long long clock64() { return 0; }
static inline int clock() { return 0; }
extern "C" inline void cudaGraphSetConditional(unsigned long long loop, unsigned value) {
  __si_engine->condition(loop, value);
}
#define __trap() __si_engine->trap("__trap()")
template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> SI_UNSEEN static inline T __ldcg(const T *p) {
  if (!__si_is_weak(p)) return *p;
  T v;
  __si_engine->past(&v, p, sizeof v);
  return v;
}
template <class T> static inline T __ldcs(const T *p) { return *p; }
template <class T> static inline void __stcg(T *p, T v) { *p = v; }
template <class T> static inline void __stcs(T *p, T v) { *p = v; }

// ---- mathematics ----
#define SI_F1(n) extern "C" float n##f(float) noexcept; extern "C" double n(double) noexcept; static inline float n(float x) { return n##f(x); }
#define SI_F2(n) extern "C" float n##f(float, float) noexcept; extern "C" double n(double, double) noexcept; static inline float n(float x, float y) { return n##f(x, y); }
SI_F1(exp) SI_F1(exp2) SI_F1(expm1) SI_F1(log) SI_F1(log2) SI_F1(log10) SI_F1(log1p) SI_F1(sqrt) SI_F1(cbrt) SI_F1(sin)
SI_F1(cos) SI_F1(tan) SI_F1(asin) SI_F1(acos) SI_F1(atan) SI_F1(sinh) SI_F1(cosh) SI_F1(tanh) SI_F1(erf) SI_F1(erfc)
SI_F1(floor) SI_F1(ceil) SI_F1(trunc) SI_F1(rint) SI_F1(round) SI_F1(fabs) SI_F1(lgamma)
SI_F2(pow) SI_F2(fmod) SI_F2(fmin) SI_F2(fmax) SI_F2(atan2) SI_F2(hypot) SI_F2(copysign)
extern "C" float fmaf(float, float, float) noexcept;
extern "C" double fma(double, double, double) noexcept;
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
static inline double sinpi(double x) { return sin(x * 3.14159265358979323846); }
static inline double cospi(double x) { return cos(x * 3.14159265358979323846); }
static inline float __expf(float x) { return expf(x); }
static inline float __logf(float x) { return logf(x); }
static inline float __powf(float x, float y) { return powf(x, y); }
static inline float __fdividef(float x, float y) { return x / y; }
static inline float __frcp_rn(float x) { return 1 / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
static inline bool isnan(float x) { return __builtin_isnan(x); }
static inline bool isinf(float x) { return __builtin_isinf(x); }
static inline bool isfinite(float x) { return __builtin_isfinite(x); }
#define SI_MINMAX(T) static inline T min(T a, T b) { return a < b ? a : b; } static inline T max(T a, T b) { return a > b ? a : b; }
SI_MINMAX(int) SI_MINMAX(unsigned) SI_MINMAX(long) SI_MINMAX(unsigned long) SI_MINMAX(long long) SI_MINMAX(unsigned long long)
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline int abs(int x) { return x < 0 ? -x : x; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
template <class To, class From> static inline To __si_bits(From f) { To t; __builtin_memcpy(&t, &f, sizeof t); return t; }
static inline int __float_as_int(float f) { return __si_bits<int>(f); }
static inline unsigned __float_as_uint(float f) { return __si_bits<unsigned>(f); }
static inline float __int_as_float(int i) { return __si_bits<float>(i); }
static inline double __longlong_as_double(long long i) { return __si_bits<double>(i); }
static inline float __uint_as_float(unsigned i) { return __si_bits<float>(i); }

// ---- one kernel of the table at the end of the source ----
template <class T> struct si_pointer { static constexpr int is = 0; static constexpr size_t align = 0; };
template <> struct si_pointer<void *> { static constexpr int is = 1; static constexpr size_t align = 1; };
template <> struct si_pointer<const void *> { static constexpr int is = 1; static constexpr size_t align = 1; };
template <class T> struct si_pointer<T *> { static constexpr int is = 1; static constexpr size_t align = alignof(T); };
template <int...> struct si_list {};
template <class F> struct si_sig;
template <class... A> struct si_sig<void (*)(A...)> {
  static constexpr int n = sizeof...(A);
  static constexpr standin_param param[] = {{sizeof(A), si_pointer<A>::align, si_pointer<A>::is}..., {0, 0, 0}};
  template <void (*f)(A...), int... I> static void go(void **p, si_list<I...>) { f(*(A *)p[I]...); }
  template <void (*f)(A...)> static void call(void **p) { go<f>(p, si_list<__integer_pack(sizeof...(A))...>()); }
};
template <auto f>
constexpr standin_kernel si_entry(const char *name, int bounds = 0, int = 0, int = 0) {
  typedef si_sig<decltype(f)> S;
  return {name, S::template call<f>, S::param, S::n, bounds};
}
