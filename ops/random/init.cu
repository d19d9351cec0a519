// init.cu - initial values: from random numbers (init_uniform.c, init_normal.c,
// init_trunc_normal.c), with the arithmetic of base/rng.c, and sines of positions
// (init_sinusoids.c); in double.

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

extern "C" __global__ void init_sinusoids(OUT0 *y, long long n, long long key, double width,
                                          double slowest, GR_GLOBAL) {
  long long channels = (long long)width, half = channels / 2;
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    long long index = (long long)GR_GLOBAL_OF(i), channel = index % channels;
    double turn = pow(slowest, -(double)(channel % half) / (double)(half - 1));
    double angle = (double)(index / channels) * turn;
    gr_put(y, i, channel < half ? sin(angle) : cos(angle));
  }
}
