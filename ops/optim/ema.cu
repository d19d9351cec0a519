// ema.cu - see ema.c.
extern "C" __global__ void ema(const IN0 *e, const IN1 *w, const IN2 *decay, const IN3 *ok,
                               OUT0 *to, long long n) {
  typedef gr_wide<IN0> W;
  double keep = gr_get(decay, 0);
  W part = (W)(1 - keep), rest = 1 - part;
  bool good = gr_get(ok, 0) != 0, copies = keep == 0;
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    W last = gr_get(e, i), x = gr_get(w, i);
    W next = part < (W)0.5 ? last + part * (x - last) : x - (x - last) * rest;
    gr_put(to, i, !good ? last : copies ? x : next);
  }
}
