// init_sinusoids.cu - sines and cosines of positions (init_sinusoids.c), in double.

extern "C" __global__ void init_sinusoids(OUT0 *y, long long n, long long channels, double slowest,
                                          GR_GLOBAL) {
  long long half = channels / 2;
  for (long long i = GR_FIRST; i < n; i += GR_ALL) {
    long long index = (long long)GR_GLOBAL_OF(i), channel = index % channels;
    double turn = pow(slowest, -(double)(channel % half) / (double)(half - 1));
    double angle = (double)(index / channels) * turn;
    gr_put(y, i, channel < half ? sin(angle) : cos(angle));
  }
}
