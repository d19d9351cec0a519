// matmul_bias.cu - z = z + v for each row of z, and relu, in place: what follows a product where the
// library does not do it.
extern "C" __global__ void matmul_bias(const IN0 *x, const IN1 *y, const IN2 *v, OUT0 *z,
                                       long long n, long long columns, long long add,
                                       long long relu) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    gr_wide<OUT0> a = gr_get(z, i);
    if (add) a += gr_get(v, gr_mod(i, columns));
    gr_put(z, i, relu && a < 0 ? (gr_wide<OUT0>)0 : a);
  }
}
