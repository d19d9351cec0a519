// sample.cu - random numbers of each step (sample.h), with the arithmetic of base/rng.h, in double.

extern "C" __global__ void sample_uniform(const IN0 *, const IN1 *step, OUT0 *y, long long n,
                                          long long key, GR_GLOBAL) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL)
    gr_put(y, i, gr_uniform(key, GR_GLOBAL_OF(i), gr_get(step, 0)));
}

extern "C" __global__ void sample_normal(const IN0 *, const IN1 *step, OUT0 *y, long long n,
                                         long long key, GR_GLOBAL) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL)
    gr_put(y, i, gr_normal(key, GR_GLOBAL_OF(i), gr_get(step, 0)));
}

// A thread for each row of `classes` logits; see sample_categorical.c.
extern "C" __global__ void sample_categorical(const IN0 *x, const IN1 *step, OUT0 *y, long long n,
                                              long long key, GR_GLOBAL, long long classes) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    const IN0 *row = x + i * classes;
    const double u = gr_uniform(key, GR_GLOBAL_OF(i), gr_get(step, 0));
    double top = -GR_INFINITY, sum = 0, so_far = 0;
    for (long long c = 0; c < classes; c++) top = fmax(top, (double)gr_get(row, c));
    for (long long c = 0; c < classes; c++) sum += exp((double)gr_get(row, c) - top);
    long long last = 0, c = 0;
    for (; c < classes && !(so_far > u * sum); c++) {
      const double p = exp((double)gr_get(row, c) - top);
      so_far += p;
      if (p > 0) last = c;
    }
    gr_put(y, i, so_far > u * sum ? c - 1 : last);
  }
}
