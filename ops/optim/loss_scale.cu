// loss_scale.cu - see loss_scale.c: one thread.
extern "C" __global__ void loss_scale(const IN0 *scale, const IN1 *good, const IN2 *ok,
                                      OUT0 *to_scale, OUT1 *to_good, long long growth_interval,
                                      double growth_factor, double backoff_factor, double min) {
  if (GR_FIRST) return;
  const double now = gr_get(scale, 0), steps = (double)gr_get(good, 0) + 1;
  const bool fine = gr_get(ok, 0) > 0, grows = fine && steps >= (double)growth_interval;
  const double next = !fine ? fmax(now * backoff_factor, min) : grows ? now * growth_factor : now;
  gr_put(to_scale, 0, isfinite((float)next) ? next : now);
  gr_put(to_good, 0, fine && !grows ? steps : 0);
}
