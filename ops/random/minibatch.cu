// minibatch.cu - see minibatch.c. A thread block copies a row.
__device__ inline long long permuted(unsigned long long key, long long pass, long long block,
                                     long long rows, int bits, long long at) {
  const unsigned mask = (1u << bits) - 1;
  unsigned word[4];
  do {
    unsigned left = (unsigned)(at >> bits), right = (unsigned)at & mask;
    for (int r = 0; r < ROUNDS; r++) {
      gr_philox(key, (unsigned long long)(block * ROUNDS + r) << MAX_BITS | right, pass, word);
      const unsigned next = left ^ (word[0] & mask);
      left = right, right = next;
    }
    at = (long long)left << bits | right;
  } while (at >= rows);
  return at;
}

extern "C" __global__ void minibatch(const IN0 *x, const IN1 *runs, OUT0 *y, long long of,
                                     long long rows, long long width, long long bits,
                                     long long key, long long parts, GR_GLOBAL) {
  const long long runs_of_all = (unsigned)(int)gr_get(runs, 0), number = gr_div(runs_of_all, parts);
  const long long part = runs_of_all - number * parts, pass = gr_div(number, rows);
  for (long long i = blockIdx.x; i < of; i += gridDim.x) {
    const long long at =
        permuted(key, pass, GR_GLOBAL_OF(i) * parts + part, rows, (int)bits, number - pass * rows);
    const IN0 *from = x + ((i * parts + part) * rows + at) * width;
    for (long long c = threadIdx.x; c < width; c += blockDim.x) y[i * width + c] = from[c];
  }
}
