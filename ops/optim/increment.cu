// increment.cu - see increment.c.
extern "C" __global__ void increment(const IN0 *step, const IN1 *ok, OUT0 *out) {
  if (GR_FIRST == 0) gr_put(out, 0, gr_get(step, 0) + (gr_get(ok, 0) > 0 ? 1 : 0));
}
