// cross_entropy_grad.cu - with p = softmax(x) of a row of n logits, one team (rows.cu) a row:
//   dx[i] = dy ((1 - e) w[label] (p[i] - (i == label)) + e / n (p[i] sum(w) - w[i]))
// 0 where the row is ignored or dy is 0; NaN with a label that is no class.

#ifdef IN3
#define CLASS_WEIGHT(i) (W) gr_get(weight, i)
#else
#define CLASS_WEIGHT(i) (W)1
#endif

template <int N, class C>
__device__ void cross_entropy_grad_row(const IN0 *x, OUT0 *dx, long long n, long long label, W dy,
                                       W e, C weight_of) {
  const row<N, IN0> v(x, n);
  W top;
  const W scale = 1 / row_exp_sum<N>(v, n, &top);
  const W hit = dy * (1 - e) * weight_of(label), part = dy * e / n;
  const W all = e > 0 ? row_sum<N>(n, [&](int k, long long i) { return weight_of(i); }) : 0;
  row_put<N>(dx, n, [&](int k, long long i) {
    const W p = exp(v(k, i) - top) * scale;
    return p * (hit + part * all) - part * weight_of(i) - (i == label ? hit : 0);
  });
}

template <int N>
__device__ void fill_row(OUT0 *dx, long long n, W value) {
  row_put<N>(dx, n, [&](int k, long long i) { return value; });
}

// dy are those of samples of so many rows.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    cross_entropy_grad(const IN0 *x, const IN1 *labels, const IN2 *dys,
#ifdef IN3
                       const IN3 *weight,
#endif
                       OUT0 *dx, long long rows, long long n, long long sample, long long ignored,
                       double smoothing) {
  const long long r = ROW;
  if (r >= rows) return;
  const auto weight_of = [&](long long i) { return CLASS_WEIGHT(i); };
  const long long label = labels[r];
  const W dy = label == ignored ? 0 : gr_get(dys, gr_div(r, sample)), e = (W)smoothing;
  const bool a_class = label >= 0 && label < n;
  x += r * n, dx += r * n;
  if (dy == 0 || !a_class)
    fill_row<1>(dx, n, dy == 0 ? 0 : GR_NAN);
  else if (gr_aligned(x) && gr_aligned(dx))
    cross_entropy_grad_row<PACK>(x, dx, n, label, dy, e, weight_of);
  else
    cross_entropy_grad_row<1>(x, dx, n, label, dy, e, weight_of);
}
