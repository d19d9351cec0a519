// feature.h - samples to log-mel frames, and SpecAugment.
//
// Frames are those of torch.stft(center=True, pad_mode="reflect") with a periodic Hann window,
// power 2; mel filters on the HTK scale without area norm (the defaults of torchaudio's
// MelSpectrogram) or on Slaney's scale, with or without it (as librosa); 10 log10(max(x, 1e-10)),
// or without the factor 10. After that, each where the spec asks for it: values that are too far
// below the recording's largest are raised; (x + offset) * scale; (x - mean) / (deviation + 1e-5)
// over the frames of each bin, the deviation unbiased.
#pragma once
#include "base/arena.h"
#include "runtime/data/speech/feature_fft.h"

enum { GR_MAX_RATE = 1000000, GR_MAX_POINTS = 65536, GR_MAX_MELS = 4096 };

typedef enum gr_mel_scale { GR_MEL_HTK, GR_MEL_SLANEY } gr_mel_scale;

typedef struct gr_feature_spec {
  int rate;             // samples per second, at most GR_MAX_RATE
  int window, hop;      // in samples, at most GR_MAX_POINTS
  int fft;              // points, >= window, at most GR_MAX_POINTS; any size
  int mels;             // bands of a frame, each of which has a bin of the transform
  double f_min, f_max;  // of the filters, Hz; f_max 0: rate / 2
  bool normalise;       // mean and deviation of each bin over the utterance
  gr_mel_scale mel_scale;
  bool area_norm;  // filters are divided by half their width in Hz (Slaney)
  bool log10;      // log10 of the power; else decibels
  double range;    // what is more below the largest value is raised to that; 0: nothing is
  double offset;   // then added
  double scale;    // then multiplied by; 0: 1
  int64_t length;  // samples that a recording is cut or padded with silence to; 0: its own
  bool drop_last;  // without the last frame, whose centre is the end
} gr_feature_spec;

// Tables for one spec; read-only once made, so that threads may share them.
typedef struct gr_features {
  gr_feature_spec spec;
  gr_fft fft;
  int bins;                        // of the power spectrum: fft / 2 + 1
  const double *window;            // [fft], the window in the middle
  const float *const *filters;     // [mels]: weights of bins first_bin .. end_bin - 1
  const int *first_bin, *end_bin;  // [mels]: the bins where a filter is not 0
} gr_features;
// Fails with GR_ERR_CONFIG about a setting (gr_about): "sample_rate", "features.n_fft", ".window",
// ".hop", ".mels", ".fmin", ".fmax".
GR_MUST_USE gr_status gr_features_make(gr_arena *, const gr_feature_spec *, gr_features *out);

// Frames of a recording of that many samples as it is, neither cut nor padded: samples / hop + 1.
int64_t gr_feature_hops(const gr_feature_spec *, uint64_t samples);
// Frames that are made of a recording of that many samples.
int64_t gr_feature_frames(const gr_feature_spec *, uint64_t samples);
// Writes out[gr_feature_frames][mels] of n > 0 samples. Fails only without memory.
GR_MUST_USE gr_status gr_features_compute(const gr_features *, const float *samples, uint64_t n,
                                          float *out);

// SpecAugment (Park et al. 2019): a frame moved in time, and all between it and the ends with it;
// then masks of bins and of frames set to 0. A width is uniform in [0, most], then a place uniform
// where it fits.
typedef struct gr_augment {
  int freq_masks, freq_width;  // masks, and the most bins of each
  int time_masks, time_width;  // masks, and the most frames of each
  double time_share;           // a time mask covers at most this share of the utterance
  int time_warp;               // the most frames that the frame moves, either way
} gr_augment;
enum { GR_AUGMENT_MASKS = 16 };  // at most, of each kind

// Changes frames[t][mels] in place; drawn from (seed, epoch, utterance) alone.
void gr_augment_apply(const gr_augment *, uint64_t seed, uint64_t epoch, uint64_t utterance,
                      float *frames, int64_t t, int mels);
