// reduce_max_grad.cu - dx = dy / (number of equal maxima) where x is the maximum y, else 0. `lanes`
// threads share a result: a warp where the last axis is reduced, and else one, so that neighbours
// read neighbours. Results lie along the kept axes of x, terms along the reduced ones.

extern "C" __global__ void reduce_max_grad(const IN0 *x, const IN1 *y, const IN2 *dy, OUT0 *dx,
                                           long long results, long long terms, long long lanes,
                                           long long kept0, long long kept1, long long kept2,
                                           long long kept3, long long by0, long long by1,
                                           long long by2, long long by3, long long reduced0,
                                           long long reduced1, long long reduced2, long long to0,
                                           long long to1, long long to2) {
  typedef gr_wide<IN0> W;
  const gr_axes<4> kept = {{kept0, kept1, kept2, kept3}, {by0, by1, by2, by3}};
  const gr_axes<3> reduced = {{reduced0, reduced1, reduced2}, {to0, to1, to2}};
  const long long result = gr_div(GR_FIRST, lanes);
  if (result >= results) return;
  const long long first = gr_place(kept, result);
  const W most = gr_get(y, result);
  int equal = 0;
  for (long long k = GR_FIRST - result * lanes; k < terms; k += lanes)
    equal += (W)gr_get(x, first + gr_place(reduced, k)) == most;
  if (lanes == 32) equal = (int)gr_warp_sum((double)equal);
  const W part = (W)gr_get(dy, result) / equal;
  for (long long k = GR_FIRST - result * lanes; k < terms; k += lanes) {
    const long long i = first + gr_place(reduced, k);
    gr_put(dx, i, (W)gr_get(x, i) == most ? part : 0);
  }
}
