// ctc_loss_grad.cu - see ctc_loss.c: a sample that does not count may have an infinite gradient.
extern "C" __global__ void ctc_loss_grad(const IN0 *x, const IN1 *dy, OUT0 *dx, long long n,
                                         long long size) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    gr_wide<IN0> by = gr_get(dy, gr_div(i, size));
    gr_put(dx, i, by == 0 ? (gr_wide<IN0>)0 : gr_get(x, i) * by);
  }
}
