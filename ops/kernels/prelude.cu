// prelude.cu - what all kernels share. It is put before the text of each (gpu.h), and includes
// nothing: machines with a driver but without a toolkit have no headers.
//
// Kernels read and write elements through gr_get and gr_put and compute in gr_wide<T>: float,
// double for double and for integers, which it holds exactly up to 2^53.

#define GR_INFINITY __int_as_float(0x7f800000)
#define GR_NAN __int_as_float(0x7fc00000)

struct bf16 {
  unsigned short bits;
};
struct f16 {
  unsigned short bits;
};

template <class T> struct gr_wide_of {
  typedef float type;
};
template <> struct gr_wide_of<double> {
  typedef double type;
};
template <> struct gr_wide_of<int> {
  typedef double type;
};
template <> struct gr_wide_of<long long> {
  typedef double type;
};
template <class T> using gr_wide = typename gr_wide_of<T>::type;

// ---- Storage ----------------------------------------------------------------------------------

__device__ inline float gr_get(const float *p, long long i) { return p[i]; }
__device__ inline double gr_get(const double *p, long long i) { return p[i]; }
__device__ inline int gr_get(const int *p, long long i) { return p[i]; }
__device__ inline long long gr_get(const long long *p, long long i) { return p[i]; }
__device__ inline int gr_get(const unsigned char *p, long long i) { return p[i]; }
__device__ inline float gr_get(const bf16 *p, long long i) {
  return __uint_as_float((unsigned)p[i].bits << 16);
}

// IEEE binary16, by bits. Subnormal numbers are exact.
__device__ inline float gr_get(const f16 *p, long long i) {
  unsigned h = p[i].bits, sign = (h & 0x8000u) << 16, e = h >> 10 & 31, m = h & 0x3ff;
  if (e == 31) return __uint_as_float(sign | 0x7f800000u | m << 13);
  if (e) return __uint_as_float(sign | (e + 112) << 23 | m << 13);
  float small = (float)m * 5.9604644775390625e-8f;  // 2^-24
  return sign ? -small : small;
}

__device__ inline unsigned short gr_bf16_bits(float f) {  // to nearest even; NaN stays NaN
  unsigned bits = __float_as_uint(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (unsigned short)(bits >> 16 | 0x40);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

__device__ inline unsigned short gr_f16_bits(float f) {  // to nearest even; NaN stays NaN
  unsigned bits = __float_as_uint(f), sign = bits >> 16 & 0x8000u;
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u) return (unsigned short)(sign | 0x7e00);
  if (bits >= 0x47800000u) return (unsigned short)(sign | 0x7c00);  // 2^16 and more
  if (bits < 0x38800000u) {  // below 2^-14: adding 1/2 leaves multiples of 2^-24 in the last bits
    float shifted = __uint_as_float(bits) + 0.5f;
    return (unsigned short)(sign | (__float_as_uint(shifted) - 0x3f000000u));
  }
  unsigned rounded = bits - 0x38000000u + 0xfff + (bits >> 13 & 1);
  return (unsigned short)(sign | rounded >> 13);
}

__device__ inline void gr_put(float *p, long long i, float v) { p[i] = v; }
__device__ inline void gr_put(double *p, long long i, double v) { p[i] = v; }
__device__ inline void gr_put(int *p, long long i, double v) { p[i] = (int)v; }
__device__ inline void gr_put(long long *p, long long i, double v) { p[i] = (long long)v; }
__device__ inline void gr_put(unsigned char *p, long long i, double v) {
  p[i] = (unsigned char)(long long)v;
}
__device__ inline void gr_put(bf16 *p, long long i, float v) { p[i].bits = gr_bf16_bits(v); }
__device__ inline void gr_put(f16 *p, long long i, float v) { p[i].bits = gr_f16_bits(v); }

// v as if it had been stored as a T.
template <class T> __device__ inline float gr_rounded(float v) {
  T stored;
  gr_put(&stored, 0, v);
  return gr_get(&stored, 0);
}

// N elements, which are read and written at once; 16 bytes are the most that a thread can.
template <class T, int N> struct alignas(N * sizeof(T)) gr_pack {
  T at[N];
};
__device__ inline bool gr_aligned(const void *p) { return (unsigned long long)p % 16 == 0; }
template <int N, class T> __device__ inline gr_pack<T, N> gr_load(const T *p, long long i) {
  return *(const gr_pack<T, N> *)(p + i);
}
template <int N, class T> __device__ inline void gr_store(T *p, long long i, gr_pack<T, N> v) {
  *(gr_pack<T, N> *)(p + i) = v;
}

// ---- Indices -----------------------------------------------------------------------------------

// a / b and a % b of indices: most are below 2^32, where division takes a quarter of the time.
__device__ inline long long gr_div(long long a, long long b) {
  return (a | b) >> 32 ? a / b : (long long)((unsigned)a / (unsigned)b);
}
__device__ inline long long gr_mod(long long a, long long b) { return a - gr_div(a, b) * b; }

// a, but 0 if it is less, and `most` if it is more.
__device__ inline long long gr_clamp(long long a, long long most) {
  return a < 0 ? 0 : a > most ? most : a;
}

// Axes of a value that is walked through in another order than that of its elements: element i of
// the walk is gr_place in memory.
template <int AXES> struct gr_axes {
  long long size[AXES], stride[AXES];
};
template <int AXES> __device__ inline long long gr_place(const gr_axes<AXES> &a, long long i) {
  long long at = 0;
#pragma unroll
  for (int d = AXES - 1; d > 0; d--) {
    const long long outer = gr_div(i, a.size[d]);
    at += (i - outer * a.size[d]) * a.stride[d];
    i = outer;
  }
  return at + i * a.stride[0];
}

// The index in the global value of element i of this rank's part. The parameters of a kernel that
// asks are GR_GLOBAL, which gr_gpu_global gives.
#define GR_GLOBAL                                                                             \
  long long base, long long run, long long size1, long long step1, long long size2, long long \
      step2, long long step3
#define GR_GLOBAL_OF(i) gr_global(i, base, run, size1, step1, size2, step2, step3)
__device__ inline long long gr_global(long long i, GR_GLOBAL) {
  if (i < run) return base + i;
  const long long row = gr_div(i, run), box = gr_div(row, size1), outer = gr_div(box, size2);
  return base + (i - row * run) + (row - box * size1) * step1 + (box - outer * size2) * step2 +
         outer * step3;
}

// ---- Threads -----------------------------------------------------------------------------------

// This thread's number in the grid, and the number of threads: for loops over elements.
#define GR_FIRST ((long long)blockIdx.x * blockDim.x + threadIdx.x)
#define GR_ALL ((long long)gridDim.x * blockDim.x)

// Sum and maximum (NaN if any is) over a warp, and over a block of at most 1,024 threads; all threads
// of it call, and all get the result. The order of additions depends on the block's size alone.
#define GR_REDUCTION(T, name, start, combined)                                       \
  __device__ inline T gr_warp_##name(T a) {                                          \
    for (int d = 16; d; d /= 2) {                                                    \
      T b = __shfl_xor_sync(0xffffffffu, a, d);                                      \
      a = combined;                                                                  \
    }                                                                                \
    return a;                                                                        \
  }                                                                                  \
  __device__ inline T gr_block_##name(T a) {                                         \
    __shared__ T part[32];                                                           \
    a = gr_warp_##name(a);                                                           \
    __syncthreads();                                                                 \
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = a;                           \
    __syncthreads();                                                                 \
    a = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : (T)(start);    \
    return gr_warp_##name(a);                                                        \
  }
GR_REDUCTION(float, sum, 0, a + b)
GR_REDUCTION(double, sum, 0, a + b)
GR_REDUCTION(float, max, -GR_INFINITY, a > b || a != a ? a : b)
GR_REDUCTION(double, max, -GR_INFINITY, a > b || a != a ? a : b)

// Adds 1. Who acquires the sum sees what this thread did before, and what others of its block had
// done when they met it (PTX ISA, "Memory Consistency Model": release and acquire patterns).
__device__ inline void gr_release_one(unsigned *p) {
  asm volatile("red.release.gpu.add.u32 [%0], %1;" ::"l"(p), "r"(1u) : "memory");
}
__device__ inline unsigned gr_acquire(const unsigned *p) {
  unsigned x;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
  return x;
}

// Blocks of a cooperative launch wait for each other, and then read, past the L1 cache, what the
// others wrote before. `count` is in global memory, and 0 when the launch begins. A block says that
// it has come, and then waits until `goal` blocks have.
__device__ inline void gr_grid_arrive(unsigned *count) {
  __syncthreads();
  if (threadIdx.x == 0) gr_release_one(count);
}
__device__ inline void gr_grid_wait(const unsigned *count, unsigned goal) {
  if (threadIdx.x == 0)
    while (gr_acquire(count) < goal) __nanosleep(20);
  __syncthreads();
}
// All blocks; `goal` is a variable of each thread that starts at 0.
__device__ inline void gr_grid_barrier(unsigned *count, unsigned *goal) {
  *goal += gridDim.x;
  gr_grid_arrive(count);
  gr_grid_wait(count, *goal);
}

// ---- Functions ----------------------------------------------------------------------------------

// Sine and cosine of floats as in ops/kernels/fastmath.h. The toolkit's keep an array in local memory
// for arguments beyond 10^5.
__device__ inline float gr_sine(float x, int quarters) {
  const double k = rint(x * 0.63661977236758134);
  const float r = (float)((x - k * 1.5707963267341256) - k * 6.077100506506192e-11), z = r * r;
  const long long quadrant = (long long)k + quarters;
  const float s = (((z * (1.0f / 362880) - 1.0f / 5040) * z + 1.0f / 120) * z - 1.0f / 6) * z * r + r;
  const float c = (((z * (1.0f / 40320) - 1.0f / 720) * z + 1.0f / 24) * z - 0.5f) * z + 1;
  const float y = quadrant & 1 ? c : s;
  return quadrant & 2 ? -y : y;
}
__device__ inline float gr_sin(float x) { return gr_sine(x, 0); }
__device__ inline float gr_cos(float x) { return gr_sine(x, 1); }
__device__ inline double gr_sin(double x) { return sin(x); }
__device__ inline double gr_cos(double x) { return cos(x); }
#define sin(x) gr_sin(x)
#define cos(x) gr_cos(x)

// ---- Random numbers -----------------------------------------------------------------------------

// Philox4x32-10 (base/rng.h): the same words as on the CPU. `key` is the hash of seed and stream.
__device__ inline void gr_philox(unsigned long long key, unsigned long long block,
                                 unsigned long long step, unsigned word[4]) {
  unsigned k0 = (unsigned)key, k1 = (unsigned)(key >> 32);
  unsigned c0 = (unsigned)block, c1 = (unsigned)(block >> 32);
  unsigned c2 = (unsigned)step, c3 = (unsigned)(step >> 32);
  for (int round = 0; round < 10; round++) {
    unsigned high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
    unsigned high1 = __umulhi(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
    c0 = high1 ^ c1 ^ k0, c1 = low1, c2 = high0 ^ c3 ^ k1, c3 = low0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  word[0] = c0, word[1] = c1, word[2] = c2, word[3] = c3;
}

// Word k of a block. Selections, because an array with a computed index is kept in local memory.
__device__ inline unsigned gr_word(const unsigned word[4], unsigned k) {
  unsigned low = k & 1 ? word[1] : word[0], high = k & 1 ? word[3] : word[2];
  return k & 2 ? high : low;
}

// The random word of element `at`, where a thread keeps the block that it has drawn last.
struct gr_draw {
  long long block = -1;
  unsigned word[4];
};
__device__ inline unsigned gr_drawn(gr_draw &d, unsigned long long key, long long at,
                                    long long step) {
  if (at / 4 != d.block) gr_philox(key, d.block = at / 4, step, d.word);
  return gr_word(d.word, at % 4);
}

// The numbers of gr_rng_uniform and gr_rng_normal.
__device__ inline double gr_uniform(unsigned long long key, unsigned long long index,
                                    unsigned long long step) {
  unsigned word[4];
  gr_philox(key, index / 4, step, word);
  return gr_word(word, index % 4) * (1.0 / 4294967296.0);
}
__device__ inline double gr_normal(unsigned long long key, unsigned long long index,
                                   unsigned long long step) {
  unsigned word[4];
  gr_philox(key, index / 2, step, word);
  double u = (word[0] + 0.5) / 4294967296.0, v = word[1] / 4294967296.0;
  return sqrt(-2.0 * log(u)) * (index % 2 ? sinpi(2 * v) : cospi(2 * v));
}
