// arange.cu - y[i] = start + step i, where i is the index in the global value.
extern "C" __global__ void arange(OUT0 *y, long long n, double start, double step, GR_GLOBAL) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL)
    gr_put(y, i, start + step * (double)GR_GLOBAL_OF(i));
}
