// ctc_greedy.cu - see ctc_greedy.c. scratch [n, t]: the most likely class of every frame.

// A warp per frame; of equal classes the first.
extern "C" __global__ void ctc_greedy_classes(const IN0 *x, const IN1 *lengths, OUT0 *tokens,
                                              OUT1 *counts, void *scratch, long long frames,
                                              long long v) {
  typedef gr_wide<IN0> W;
  long long frame = GR_FIRST / 32;
  if (frame >= frames) return;
  W most = -GR_INFINITY;
  int best = 0x7fffffff, lane = threadIdx.x % 32;
  for (long long k = lane; k < v; k += 32) {
    W a = gr_get(x, frame * v + k);
    if (a > most || best == 0x7fffffff) most = a, best = (int)k;
  }
  for (int d = 16; d; d /= 2) {
    W other = __shfl_xor_sync(0xffffffffu, most, d);
    int at = __shfl_xor_sync(0xffffffffu, best, d);
    if (other > most || (other == most && at < best)) most = other, best = at;
  }
  if (lane == 0) ((int *)scratch)[frame] = best;
}

// A warp per sample writes the classes that differ from the one before and are not blank.
extern "C" __global__ void ctc_greedy(const IN0 *x, const IN1 *lengths, OUT0 *tokens, OUT1 *counts,
                                      void *scratch, long long n, long long t, long long blank) {
  long long i = GR_FIRST / 32;
  if (i >= n) return;
  const int *best = (const int *)scratch + i * t;
  int lane = threadIdx.x % 32, count = 0;
  long long frames = lengths[i] < 0 ? 0 : lengths[i] > t ? t : lengths[i];
  for (long long first = 0; first < frames; first += 32) {
    long long f = first + lane, before = f && f < frames ? best[f - 1] : blank;
    bool is = f < frames && best[f] != before && best[f] != blank;
    unsigned mask = __ballot_sync(0xffffffffu, is);
    if (is) gr_put(tokens, i * t + count + __popc(mask & ((1u << lane) - 1)), best[f]);
    count += __popc(mask);
  }
  for (long long f = count + lane; f < t; f += 32) gr_put(tokens, i * t + f, 0);
  if (lane == 0) gr_put(counts, i, count);
}
