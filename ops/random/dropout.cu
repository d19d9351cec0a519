// dropout.cu - see dropout.c. Each thread draws for four elements, which share a block of random
// words unless a run of the global value ends between them.
extern "C" __global__ void dropout(const IN0 *x, const IN1 *step, OUT0 *y, long long n,
                                   long long key, long long least, double scale, GR_GLOBAL) {
  long long now = gr_get(step, 0);
  for (long long first = 4 * GR_FIRST; first < n; first += 4 * GR_ALL) {
    unsigned word[4];
    long long drawn = -1;
    for (int k = 0; k < 4 && first + k < n; k++) {
      long long at = GR_GLOBAL_OF(first + k);
      if (at / 4 != drawn) gr_philox(key, drawn = at / 4, now, word);
      bool keep = gr_word(word, at % 4) >= (unsigned)least;
      gr_put(y, first + k, keep ? gr_get(x, first + k) * (gr_wide<IN0>)scale : 0);
    }
  }
}
