// scan_gpu.cu - what the kernels of loops share: their text, which scan_gpu_kernel.c generates,
// comes after this one. W is the type that they compute in.

__device__ inline float loop_get(const float *p, int i) { return __ldcg(p + i); }
__device__ inline double loop_get(const double *p, int i) { return __ldcg(p + i); }
__device__ inline float loop_get(const bf16 *p, int i) {
  const bf16 x = {__ldcg(&p[i].bits)};
  return gr_get(&x, 0);
}
__device__ inline float loop_get(const f16 *p, int i) {
  const f16 x = {__ldcg(&p[i].bits)};
  return gr_get(&x, 0);
}

// A number as if it had been stored.
template <class T>
__device__ inline W loop_round(W x) {
  T stored;
  gr_put(&stored, 0, x);
  return gr_get(&stored, 0);
}

// A block's threads copy elements to shared memory. FRESH: other blocks have written them.
template <bool FRESH, class T>
__device__ inline void loop_stage(T *to, const T *from, int n) {
  enum { V = 16 / sizeof(T) };
  const int whole = gr_aligned(from) ? n / V : 0;
  for (int i = threadIdx.x; i < whole; i += blockDim.x)
    ((uint4 *)to)[i] = FRESH ? __ldcg((const uint4 *)from + i) : ((const uint4 *)from)[i];
  for (int i = whole * V + threadIdx.x; i < n; i += blockDim.x)
    gr_put(to, i, FRESH ? loop_get(from, i) : gr_get(from, i));
}

// Lines of an operand of a product, the rows of the left one or the columns of the right one, from
// line `first`; those after `last` are read as that one.
template <bool FRESH, class T>
struct loop_side {
  const T *at;
  int first, last, stride, step;  // elements from line to line, and along it
  template <int V>
  __device__ inline void load(int line, int k, W (&to)[V]) const {
    line = first + line < last ? first + line : last;
    if constexpr (V > 1) {  // in shared memory, where lines are aligned
      const gr_pack<T, V> some = gr_load<V>(at, line * stride + k);
#pragma unroll
      for (int v = 0; v < V; v++) to[v] = gr_get(some.at, v);
    } else {
      const int i = line * stride + k * step;
      to[0] = FRESH ? loop_get(at, i) : gr_get(at, i);
    }
  }
};

// The sums of N numbers over the lanes of a warp: lane i gets that of number i / (32 / N). Halves
// of lanes and of numbers are template parameters, because the compiler does not always unroll a
// loop over them, and then it keeps the numbers in local memory.
template <int HALF, int DISTANCE, int N>
__device__ inline void loop_halve(W (&x)[N]) {
  if constexpr (HALF > 0) {
    const bool upper = threadIdx.x & DISTANCE;
#pragma unroll
    for (int i = 0; i < HALF; i++) {
      const W sent = upper ? x[i] : x[i + HALF], kept = upper ? x[i + HALF] : x[i];
      x[i] = kept + __shfl_xor_sync(0xffffffffu, sent, DISTANCE);
    }
    loop_halve<HALF / 2, DISTANCE / 2>(x);
  } else if constexpr (DISTANCE > 0) {
    x[0] += __shfl_xor_sync(0xffffffffu, x[0], DISTANCE);
    loop_halve<0, DISTANCE / 2>(x);
  }
}
template <int N>
__device__ inline W loop_sums(W (&x)[N]) {
  loop_halve<N / 2, 16>(x);
  return x[0];
}

// A tile of a product by a warp: its lanes share the sums, of K terms, V at a time.
template <int ROWS, int COLUMNS, int K, int V, class A, class B>
__device__ inline W loop_product(const A &a, const B &b) {
  W sum[ROWS * COLUMNS] = {};
#pragma unroll 2
  for (int k = threadIdx.x % 32 * V; k < K; k += 32 * V) {
    W x[ROWS][V], y[V];
#pragma unroll
    for (int r = 0; r < ROWS; r++) a.load(r, k, x[r]);
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      b.load(c, k, y);
#pragma unroll
      for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int v = 0; v < V; v++) sum[c * ROWS + r] += x[r][v] * y[v];
    }
  }
  return loop_sums(sum);
}

// The same of few terms: each lane its own.
template <int ROWS, int COLUMNS, int K, class A, class B>
__device__ inline W loop_short_product(const A &a, const B &b) {
  const int mine = threadIdx.x % 32 / (32 / (ROWS * COLUMNS));
  W sum = 0, x[1], y[1];
#pragma unroll
  for (int k = 0; k < K; k++) {
    a.load(mine % ROWS, k, x), b.load(mine / ROWS, k, y);
    sum += x[0] * y[0];
  }
  return sum;
}
