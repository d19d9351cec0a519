// feature_fft.h - the discrete Fourier transform of any length, for spectra of frames. Several
// signals are transformed at once, side by side in the lanes of vectors.
#pragma once

enum { GR_FFT_LANES = 8 };  // signals
typedef double gr_lanes __attribute__((vector_size(GR_FFT_LANES * sizeof(double))));

typedef struct gr_complex {
  double re, im;
} gr_complex;
typedef struct gr_complex_lanes {
  gr_lanes re, im;
} gr_complex_lanes;

enum { GR_FFT_FACTORS = 32 };
typedef struct gr_fft {
  int n, n_factors, largest;
  int factors[GR_FFT_FACTORS];  // fours first, then primes, rising
  const gr_complex *roots;      // [n]: exp(-2 pi i k / n)
} gr_fft;

// `roots` has room for n and is the caller's.
gr_fft gr_fft_make(int n, gr_complex *roots);
// out[k] = sum over j of in[j] exp(-2 pi i j k / n), unscaled, for each lane; in and out are apart.
// `scratch` holds `largest` numbers. (Cooley and Tukey 1965, decimation in time, mixed radix.)
void gr_fft_run(const gr_fft *, const gr_complex_lanes *in, gr_complex_lanes *out,
                gr_complex_lanes *scratch);
