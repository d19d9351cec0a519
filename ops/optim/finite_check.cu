// finite_check.cu - see finite_check.c: one thread.
extern "C" __global__ void finite_check(const IN0 *total, const IN1 *loss, const IN2 *norm,
#ifdef IN3
                                        const IN3 *set_clip,
#endif
                                        OUT0 *factor, OUT1 *ok, OUT2 *length, double clip) {
  if (GR_FIRST) return;
#ifdef IN3
  clip = *set_clip;
#endif
  double squares = gr_get(total, 0), weight = gr_get(norm, 0);
  bool good = isfinite(squares) && isfinite((double)gr_get(loss, 0)) && isfinite(weight) &&
              weight > 0;
  double is = good ? sqrt(squares) / weight : squares;
  double shorten = clip > 0 ? fmin(1.0, clip / (is + 1e-6)) : 1;
  gr_put(factor, 0, good ? shorten / weight : 0);
  gr_put(ok, 0, good);
  gr_put(length, 0, is);
}
