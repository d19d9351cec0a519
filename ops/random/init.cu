// init.cu - initial values from random numbers (init_uniform.c, init_normal.c,
// init_trunc_normal.c), with the arithmetic of base/rng.c, in double.

__device__ double normal(unsigned long long key, unsigned long long index) {
  unsigned word[4];
  gr_philox(key, index / 2, 0, word);
  double u = (word[0] + 0.5) / 4294967296.0, v = word[1] / 4294967296.0;
  return sqrt(-2.0 * log(u)) * (index % 2 ? sinpi(2 * v) : cospi(2 * v));
}

extern "C" __global__ void init_uniform(OUT0 *y, long long n, long long key, double low,
                                        double high, GR_GLOBAL) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    unsigned word[4];
    unsigned long long at = GR_GLOBAL_OF(i);
    gr_philox(key, at / 4, 0, word);
    gr_put(y, i, low + (high - low) * (gr_word(word, at % 4) * (1.0 / 4294967296.0)));
  }
}

extern "C" __global__ void init_normal(OUT0 *y, long long n, long long key, double mean,
                                       double std, GR_GLOBAL) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL)
    gr_put(y, i, mean + std * normal(key, GR_GLOBAL_OF(i)));
}

extern "C" __global__ void init_trunc_normal(OUT0 *y, long long n, long long key, double mean,
                                             double std, GR_GLOBAL) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    unsigned long long at = GR_GLOBAL_OF(i);
    double x = normal(key, at);
    for (unsigned long long k = 1; fabs(x) > 2; k++) x = normal(key, at + (k << 44));
    gr_put(y, i, mean + std * x);
  }
}
