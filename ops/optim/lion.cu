// lion.cu - see lion.c.
extern "C" __global__ void lion(const IN0 *w, const IN1 *g, const IN2 *m, const IN3 *lr,
                                const IN4 *scale, const IN5 *ok,
#ifdef IN6
                                const IN6 *set_beta1, const IN7 *set_beta2, const IN8 *set_decay,
#endif
                                OUT0 *to_w, OUT1 *to_m, long long n, double beta1, double beta2,
                                double decay) {
#ifdef IN6
  beta1 = *set_beta1, beta2 = *set_beta2, decay = *set_decay;
#endif
  typedef gr_wide<IN0> W;
  W rate = gr_get(lr, 0), times = gr_get(scale, 0), keep = (W)(1 - (double)gr_get(lr, 0) * decay);
  W b1 = (W)beta1, c1 = (W)(1 - beta1), b2 = (W)beta2, c2 = (W)(1 - beta2);
  bool good = gr_get(ok, 0) != 0;
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    W x = gr_get(w, i), last = gr_get(m, i), d = gr_get(g, i) * times;
    W mean = b1 * last + c1 * d, sign = (W)((mean > 0) - (mean < 0));
    gr_put(to_w, i, good ? x * keep - rate * sign : x);
    gr_put(to_m, i, good ? b2 * last + c2 * d : last);
  }
}
