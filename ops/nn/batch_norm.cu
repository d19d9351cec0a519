// batch_norm.cu - for elements of x [n, ..., c], of which `span` are a group of samples and `sample`
// are one sample, with statistics [groups, c]:
//
//   batch_norm        y = (x - mean) / deviation scale + bias
//   batch_norm_grad   dx = (dy - w (sum_dy + z sum_dyz) / count) / deviation scale, where z is the
//                     normalised x; with constant statistics (not BATCH) dx = dy / deviation scale

typedef gr_wide<IN0> W;

#ifdef COUNTS
// A block for each group: the number of its rows, weighted. The first kernel's parameters.
extern "C" __global__ void __launch_bounds__(256, 1)
    channel_counts(const IN0 *, const IN1 *w, OUT0 *, OUT1 *count, W *, long long samples,
                   long long rows) {
  W a = 0;
  for (long long i = threadIdx.x; i < samples; i += 256) a += gr_get(w, blockIdx.x * samples + i);
  a = gr_block_sum(a);
  if (threadIdx.x == 0) gr_put(count, blockIdx.x, a * rows);
}
#endif

#ifdef FORWARD
#ifdef BATCH
#define MORE const IN5 *, const IN6 *,
#else
#define MORE
#endif
extern "C" __global__ void batch_norm(const IN0 *x, const IN1 *mean, const IN2 *var,
                                      const IN3 *scale, const IN4 *bias, MORE OUT0 *y,
                                      long long n, long long c, long long span, double eps) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    const long long j = gr_mod(i, c), at = gr_div(i, span) * c + j;
    const W z = ((W)gr_get(x, i) - (W)gr_get(mean, at)) / sqrt((W)gr_get(var, at) + (W)eps);
    gr_put(y, i, z * (W)gr_get(scale, j) + (W)gr_get(bias, j));
  }
}
#endif

#ifdef BACKWARD
#ifdef BATCH
#define MORE const IN5 *w, const IN6 *count, const IN7 *sum_dy, const IN8 *sum_dyz,
#else
#define MORE
#endif
extern "C" __global__ void batch_norm_grad(const IN0 *x, const IN1 *dy, const IN2 *mean,
                                           const IN3 *var, const IN4 *scale, MORE OUT0 *dx,
                                           long long n, long long c, long long span,
                                           long long sample, double eps) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    const long long j = gr_mod(i, c), group = gr_div(i, span), at = group * c + j;
    const W s = 1 / sqrt((W)gr_get(var, at) + (W)eps);
    W d = gr_get(dy, i);
#ifdef BATCH
    const W z = ((W)gr_get(x, i) - (W)gr_get(mean, at)) * s, all = gr_get(count, group);
    if (all > 0)
      d -= (W)gr_get(w, gr_div(i, sample)) *
           ((W)gr_get(sum_dy, at) + z * (W)gr_get(sum_dyz, at)) / all;
#endif
    gr_put(dx, i, d * s * (W)gr_get(scale, j));
  }
}
#endif
