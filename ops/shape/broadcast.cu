// broadcast.cu - y [outer, size, inner] = x [outer, inner].

template <int N>
__device__ void broadcast_of(const IN0 *x, OUT0 *y, long long n, long long size, long long inner) {
  for (long long i = GR_FIRST * N; i < n; i += GR_ALL * N) {
    const long long row = gr_div(i, inner), outer = gr_div(row, size);
    gr_store(y, i, gr_load<N>(x, outer * inner + i - row * inner));
  }
}

extern "C" __global__ void broadcast(const IN0 *x, OUT0 *y, long long n, long long size,
                                     long long inner) {
  constexpr int PACK = 16 / sizeof(OUT0);
  if (inner % PACK == 0 && gr_aligned(x) && gr_aligned(y))
    broadcast_of<PACK>(x, y, n, size, inner);
  else
    broadcast_of<1>(x, y, n, size, inner);
}
