// init.cu - initial values from random numbers (init_uniform.c, init_normal.c,
// init_trunc_normal.c), with the arithmetic of base/rng.c, in double.

extern "C" __global__ void init_uniform(OUT0 *y, long long n, long long key, double low,
                                        double high, GR_GLOBAL) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL)
    gr_put(y, i, low + (high - low) * gr_uniform(key, GR_GLOBAL_OF(i), 0));
}

extern "C" __global__ void init_normal(OUT0 *y, long long n, long long key, double mean,
                                       double std, GR_GLOBAL) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL)
    gr_put(y, i, mean + std * gr_normal(key, GR_GLOBAL_OF(i), 0));
}

extern "C" __global__ void init_trunc_normal(OUT0 *y, long long n, long long key, double mean,
                                             double std, GR_GLOBAL) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    unsigned long long at = GR_GLOBAL_OF(i);
    double x = gr_normal(key, at, 0);
    for (unsigned long long k = 1; fabs(x) > 2; k++) x = gr_normal(key, at + (k << 44), 0);
    gr_put(y, i, mean + std * x);
  }
}
