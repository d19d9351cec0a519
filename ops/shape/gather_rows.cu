// gather_rows.cu - rows of each matrix by their index, and the gradient: `many` indices for each
// matrix of `rows` rows of c elements. An index that is no row gives NaN (-1 of integers), because a
// kernel cannot fail: in its place, or in all of the matrix that is added to.

__device__ OUT0 none() {
  OUT0 all;
  for (unsigned b = 0; b < sizeof all; b++) ((unsigned char *)&all)[b] = 0xff;
  return all;
}

extern "C" __global__ void gather_rows(const IN0 *x, const IN1 *id, OUT0 *y, long long n,
                                       long long rows, long long many, long long c) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    const long long j = gr_div(i, c), row = gr_get(id, j);
    y[i] = row >= 0 && row < rows ? x[(gr_div(j, many) * rows + row) * c + i - j * c] : none();
  }
}

// Each element looks for the index of its row, so that nothing is added by two threads.
extern "C" __global__ void add_rows(const IN0 *x, const IN1 *id, OUT0 *y, long long n,
                                    long long rows, long long many, long long c) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    const long long row = gr_div(i, c), of = gr_div(row, rows);
    gr_wide<IN0> sum = 0;
    bool all = true;
    for (long long j = of * many; j < (of + 1) * many; j++) {
      const long long at = gr_get(id, j);
      if (at == row - of * rows) sum += gr_get(x, j * c + i - row * c);
      all &= at >= 0 && at < rows;
    }
    gr_put(y, i, sum);
    if (!all) y[i] = none();
  }
}
