// feature_fft.h - the discrete Fourier transform of any length, for spectra of frames.
#pragma once

typedef struct gr_complex {
  double re, im;
} gr_complex;

enum { GR_FFT_FACTORS = 32 };
typedef struct gr_fft {
  int n, n_factors, largest;
  int factors[GR_FFT_FACTORS];  // fours first, then primes, rising
  const gr_complex *roots;      // [n]: exp(-2 pi i k / n)
} gr_fft;

// `roots` has room for n and is the caller's.
gr_fft gr_fft_make(int n, gr_complex *roots);
// out[k] = sum over j of in[j] exp(-2 pi i j k / n), unscaled; in and out are apart. `scratch`
// holds `largest` numbers. (Cooley and Tukey 1965, decimation in time, mixed radix.)
void gr_fft_run(const gr_fft *, const gr_complex *in, gr_complex *out, gr_complex *scratch);
