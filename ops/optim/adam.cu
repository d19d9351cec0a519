// adam.cu - see adam.c: adam, and adamw where `decoupled` is not 0. The factors that all elements
// share are computed in double by one thread of each block.
extern "C" __global__ void adam(const IN0 *w, const IN1 *g, const IN2 *m, const IN3 *v,
                                const IN4 *lr, const IN5 *step, const IN6 *scale, const IN7 *ok,
#ifdef IN8
                                const IN8 *set_beta1, const IN9 *set_beta2, const IN10 *set_eps,
                                const IN11 *set_decay,
#endif
                                OUT0 *to_w, OUT1 *to_m, OUT2 *to_v, long long n,
                                long long decoupled, double beta1, double beta2, double eps,
                                double decay) {
  typedef gr_wide<IN0> W;
#ifdef IN8
  beta1 = *set_beta1, beta2 = *set_beta2, eps = *set_eps, decay = *set_decay;
#endif
  __shared__ W rate, root, keep;
  if (threadIdx.x == 0) {
    double t = (double)gr_get(step, 0) + 1, per_step = gr_get(lr, 0);
    rate = (W)(per_step / (1 - pow(beta1, t)));
    root = (W)(1 / sqrt(1 - pow(beta2, t)));
    keep = decoupled ? (W)(1 - per_step * decay) : (W)1;
  }
  __syncthreads();
  W times = gr_get(scale, 0), l2 = decoupled ? (W)0 : (W)decay;
  W b1 = (W)beta1, c1 = (W)(1 - beta1), b2 = (W)beta2, c2 = (W)(1 - beta2);
  bool good = gr_get(ok, 0) != 0;
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    W x = gr_get(w, i), mean = gr_get(m, i), square = gr_get(v, i);
    if (good) {
      W d = gr_get(g, i) * times + l2 * x;
      mean = b1 * mean + c1 * d;
      square = b2 * square + c2 * d * d;
      x = x * keep - rate * mean / (sqrt(square) * root + (W)eps);
    }
    gr_put(to_w, i, x), gr_put(to_m, i, mean), gr_put(to_v, i, square);
  }
}
