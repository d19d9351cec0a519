// cross_entropy.cu - the loss and the weight of each row of n logits, one team (rows.cu) a row:
//   loss = (1 - e) w[label] (lse - x[label]) + e / n sum_i w[i] (lse - x[i])
// where lse = log(sum(exp(x))). score.cu adds them up. A row that is ignored has none; with a label
// that is no class both are NaN.

#ifdef IN2
#define CLASS_WEIGHT(i) (W) gr_get(weight, i)
#else
#define CLASS_WEIGHT(i) (W)1
#endif

template <int N, class C>
__device__ W cross_entropy_row(const IN0 *x, long long n, long long label, W e, C weight_of) {
  const row<N, IN0> v(x, n);
  W top;
  const W sum = row_exp_sum<N>(v, n, &top), lse = top + log(sum);
  W loss = (1 - e) * weight_of(label) * (lse - (W)gr_get(x, label));
  if (e > 0)
    loss +=
        e / n * row_sum<N>(n, [&](int k, long long i) { return weight_of(i) * (lse - v(k, i)); });
  return loss;
}

// scratch is [rows, 2]: losses and weights.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    cross_entropy(const IN0 *x, const IN1 *labels,
#ifdef IN2
                  const IN2 *weight,
#endif
                  OUT0 *, OUT1 *, W *scratch, long long rows, long long n, long long ignored,
                  double smoothing) {
  const long long r = ROW;
  if (r >= rows) return;
  const auto weight_of = [&](long long i) { return CLASS_WEIGHT(i); };
  const long long label = labels[r];
  W loss = label == ignored ? 0 : GR_NAN, of_label = loss;
  x += r * n;
  if (label != ignored && label >= 0 && label < n) {
    loss = gr_aligned(x) ? cross_entropy_row<PACK>(x, n, label, (W)smoothing, weight_of)
                         : cross_entropy_row<1>(x, n, label, (W)smoothing, weight_of);
    of_label = weight_of(label);
  }
  if (LANE == 0) scratch[r * 2] = loss, scratch[r * 2 + 1] = of_label;
}
