// gather.cu - elements of the last axis by their index, and the gradient: `many` indices for each row
// of `size` elements. An index that is not in the row gives NaN (-1 of integers), because a kernel
// cannot fail: in its place, or in all of the row that is added to.

__device__ OUT0 none() {
  OUT0 all;
  for (unsigned b = 0; b < sizeof all; b++) ((unsigned char *)&all)[b] = 0xff;
  return all;
}

extern "C" __global__ void gather(const IN0 *x, const IN1 *id, OUT0 *y, long long n,
                                  long long size, long long many) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    const long long at = gr_get(id, i);
    y[i] = at >= 0 && at < size ? x[gr_div(i, many) * size + at] : none();
  }
}

// Each element looks for its own index, so that nothing is added by two threads: rows have few
// indices.
extern "C" __global__ void gather_grad(const IN0 *dy, const IN1 *id, OUT0 *dx, long long n,
                                       long long size, long long many) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    const long long row = gr_div(i, size), v = i - row * size;
    gr_wide<IN0> sum = 0;
    bool all = true;
    for (long long j = row * many; j < (row + 1) * many; j++) {
      const long long at = gr_get(id, j);
      if (at == v) sum += gr_get(dy, j);
      all &= at >= 0 && at < size;
    }
    gr_put(dx, i, sum);
    if (!all) dx[i] = none();
  }
}
