// adafactor.cu - see adafactor.c: the sum of the squares of the update, and the next weight, each of
// a MATRIX or a vector.

// max(sqrt(V), eps) of element i, where V is one number per element, ...
template <class V> struct whole {
  typedef gr_wide<V> W;
  const V *v;
  double eps;
  __device__ W operator()(long long i) const {
    W root = sqrt((W)gr_get(v, i));
    return root > (W)eps ? root : (W)eps;
  }
};

// ... or the product of a row's share, row / max(mean of row, eps), and a column's number.
template <class V, class S> struct factored {
  typedef gr_wide<V> W;
  const V *row, *column;
  const S *sum;  // of a matrix's rows; mean_of: their number in all parts of the weight
  double eps, mean_of;
  long long rows, columns;
  __device__ W operator()(long long i) const {
    long long r = gr_div(i, columns), matrix = gr_div(r, rows);
    W mean = gr_get(sum, matrix) / (W)mean_of;
    W share = gr_get(row, r) / (mean > (W)eps ? mean : (W)eps);
    W root = sqrt(share * gr_get(column, matrix * columns + i - r * columns));
    return root > (W)eps ? root : (W)eps;
  }
};

// scratch[b]: the sum of (g scale / root)^2 over the elements of block b.
template <class Root, class G, class S>
__device__ void squares(const Root &root, const G *g, const S *scale, void *scratch, long long n) {
  gr_wide<G> times = gr_get(scale, 0), sum = 0;
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    gr_wide<G> u = gr_get(g, i) * times / root(i);
    sum += u * u;
  }
  sum = gr_block_sum(sum);
  if (threadIdx.x == 0) ((gr_wide<G> *)scratch)[blockIdx.x] = sum;
}

// What all elements of the next weight share: w' = keep w - by g / root.
struct rates {
  double keep, by;
  bool ok;
};
template <class Lr, class Step, class Scale, class Ok, class W, class U>
__device__ rates rates_of(const Lr *lr, const Step *step, const Scale *scale, const Ok *ok,
                          const W *sum_w, const U *sum_u, double count, double eps2, double d,
                          double decay) {
  double rate = gr_get(lr, 0), rho = fmin(rate, 1 / sqrt((double)gr_get(step, 0) + 1));
  double alpha = fmax(eps2, sqrt((double)gr_get(sum_w, 0) / count)) * rho;
  double clip = fmax(1.0, sqrt((double)gr_get(sum_u, 0) / count) / d);
  return rates{1 - rate * decay, alpha / clip * gr_get(scale, 0), gr_get(ok, 0) != 0};
}

template <class Root, class X, class G>
__device__ void next(const Root &root, const rates &by, const X *w, const G *g, X *out,
                     long long n) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    gr_wide<X> x = gr_get(w, i);
    gr_put(out, i,
           by.ok ? x * (gr_wide<X>)by.keep - (gr_wide<X>)by.by * (gr_get(g, i) / root(i)) : x);
  }
}

#define NUMBERS double eps, double mean_of, long long rows, long long columns, long long n
#if defined(NORM) && defined(MATRIX)
extern "C" __global__ void adafactor_norm(const IN0 *g, const IN1 *row, const IN2 *column,
                                          const IN3 *sum, const IN4 *scale, OUT0 *norm,
                                          void *scratch, NUMBERS) {
  factored<IN1, IN3> root{row, column, sum, eps, mean_of, rows, columns};
  squares(root, g, scale, scratch, n);
}
#elif defined(NORM)
extern "C" __global__ void adafactor_norm(const IN0 *g, const IN1 *v, const IN2 *scale, OUT0 *norm,
                                          void *scratch, NUMBERS) {
  squares(whole<IN1>{v, eps}, g, scale, scratch, n);
}
#elif defined(MATRIX)
extern "C" __global__ void adafactor(const IN0 *w, const IN1 *g, const IN2 *row, const IN3 *column,
                                     const IN4 *sum, const IN5 *lr, const IN6 *step,
                                     const IN7 *scale, const IN8 *ok, const IN9 *sum_w,
                                     const IN10 *sum_u, OUT0 *out, NUMBERS, double count,
                                     double eps2, double d, double decay) {
  factored<IN2, IN4> root{row, column, sum, eps, mean_of, rows, columns};
  __shared__ rates by;
  if (threadIdx.x == 0)
    by = rates_of(lr, step, scale, ok, sum_w, sum_u, count, eps2, d, decay);
  __syncthreads();
  next(root, by, w, g, out, n);
}
#else
extern "C" __global__ void adafactor(const IN0 *w, const IN1 *g, const IN2 *v, const IN3 *lr,
                                     const IN4 *step, const IN5 *scale, const IN6 *ok,
                                     const IN7 *sum_w, const IN8 *sum_u, OUT0 *out, NUMBERS,
                                     double count, double eps2, double d, double decay) {
  __shared__ rates by;
  if (threadIdx.x == 0)
    by = rates_of(lr, step, scale, ok, sum_w, sum_u, count, eps2, d, decay);
  __syncthreads();
  next(whole<IN2>{v, eps}, by, w, g, out, n);
}
#endif

#ifdef NORM
// The sum of the blocks' sums, by one block.
#ifdef MATRIX
extern "C" __global__ void adafactor_norm_sum(const IN0 *g, const IN1 *row, const IN2 *column,
                                              const IN3 *all, const IN4 *scale, OUT0 *norm,
#else
extern "C" __global__ void adafactor_norm_sum(const IN0 *g, const IN1 *v, const IN2 *scale,
                                              OUT0 *norm,
#endif
                                              void *scratch, long long parts) {
  const gr_wide<IN0> *part = (const gr_wide<IN0> *)scratch;
  gr_wide<IN0> sum = 0;
  for (long long i = threadIdx.x; i < parts; i += blockDim.x) sum += part[i];
  sum = gr_block_sum(sum);
  if (threadIdx.x == 0) gr_put(norm, 0, sum);
}
#endif
