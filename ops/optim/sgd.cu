// sgd.cu - see sgd.c. MOMENTUM: there is an operand m; SET: the attributes are operands.
typedef gr_wide<IN0> W;

#ifdef MOMENTUM
extern "C" __global__ void sgd_momentum(const IN0 *w, const IN1 *g, const IN2 *lr,
                                        const IN3 *scale, const IN4 *ok, const IN5 *m,
#ifdef SET
                                        const IN6 *set_momentum, const IN7 *set_decay,
#endif
                                        OUT0 *to_w, OUT1 *to_m, long long n, double momentum,
                                        double decay) {
#ifdef SET
  momentum = *set_momentum, decay = *set_decay;
#endif
  W rate = gr_get(lr, 0), times = gr_get(scale, 0);
  bool good = gr_get(ok, 0) != 0;
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    W x = gr_get(w, i), last = gr_get(m, i);
    W next = good ? (W)momentum * last + (gr_get(g, i) * times + (W)decay * x) : last;
    gr_put(to_w, i, good ? x - rate * next : x);
    gr_put(to_m, i, next);
  }
}
#else
extern "C" __global__ void sgd(const IN0 *w, const IN1 *g, const IN2 *lr, const IN3 *scale,
                               const IN4 *ok,
#ifdef SET
                               const IN5 *set_momentum, const IN6 *set_decay,
#endif
                               OUT0 *to_w, long long n, double momentum, double decay) {
#ifdef SET
  momentum = *set_momentum, decay = *set_decay;
#endif
  W rate = gr_get(lr, 0), times = gr_get(scale, 0);
  bool good = gr_get(ok, 0) != 0;
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    W x = gr_get(w, i), d = gr_get(g, i) * times + (W)decay * x;
    gr_put(to_w, i, good ? x - rate * d : x);
  }
}
#endif
