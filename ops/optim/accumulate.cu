// accumulate.cu - see accumulate.c.
extern "C" __global__ void accumulate(const IN0 *total, const IN1 *term, const IN2 *micro_batch,
                                      OUT0 *out, long long n) {
  bool first = gr_get(micro_batch, 0) == 0;
  for (long long i = GR_FIRST; i < n; i += GR_ALL)
    gr_put(out, i, first ? gr_get(term, i) : gr_get(total, i) + gr_get(term, i));
}
