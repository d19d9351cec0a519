// test_audio.c - recordings: reading, downmixing, resampling, and what is no recording.
#include <math.h>
#include "runtime/data/speech/audio.h"
#include "runtime/data/speech/audio_module.h"
#include "tests/runtime/data/fixture.h"

static void reads_16_bit_wav(void) {
  const char *path = fixture_path("mono.wav");
  static const short samples[] = {0, 16384, -16384, 32767, -32768};
  unsigned char wav[54] =
      "RIFF.\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\xa\0\0";
  memcpy(wav + 44, samples, sizeof samples);
  fixture_bytes(path, wav, sizeof wav);
  float *x;
  uint64_t n;
  MUST(gr_audio_read(path, 0, 1000, &x, &n));
  CHECK(n == 5, "%d samples", (int)n);
  for (int i = 0; i < 5 && n == 5; i++)
    CHECK(x[i] == (float)samples[i] / 32768, "sample %d is %g", i, x[i]);
  free(x);
}

// Who writes to a pipe does not know the size of the data: samples are those up to the end.
static void reads_what_was_piped(void) {
  static const char *const sizes[] = {"\0\0\0\0", "\xff\xff\xff\xff", "\x00\xf0\xff\x7f",
                                      "\xff\xff\xff\x7f"};
  const char *path = fixture_path("piped.wav");
  unsigned char wav[54] =
      "RIFF.\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data";
  gr_audio_info info;
  for (int i = 0; i < 4; i++) {
    memcpy(wav + 40, sizes[i], 4);
    fixture_bytes(path, wav, sizeof wav);
    MUST(gr_audio_probe(path, &info));
    CHECK(info.samples == 5, "%d samples of size %d", (int)info.samples, i);
  }
  memcpy(wav + 40, "\xff\xef\xff\x7f", 4);
  fixture_bytes(path, wav, sizeof wav);
  fixture_fails(gr_audio_probe(path, &info), GR_ERR_DATA, 0, "is cut short");
}

static void averages_channels(void) {
  const char *path = fixture_path("stereo.wav");
  float *both, *left;
  uint64_t n, m;
  fixture_wav(path, 8000, 2, 500, 3);
  MUST(gr_audio_read(path, 8000, 1000, &both, &n));
  fixture_wav(path, 8000, 1, 500, 3);
  MUST(gr_audio_read(path, 8000, 1000, &left, &m));
  CHECK(n == 500 && m == 500, "%d, %d", (int)n, (int)m);
  for (uint64_t i = 0; i < n && i < m; i++)  // the right channel has half the loudness, rounded
    CHECK(fabsf(both[i] - 0.75F * left[i]) < 1e-4F, "sample %d", (int)i);
  free(both);
  free(left);
}

static void tells_the_head(void) {
  const char *path = fixture_path("head.wav");
  gr_audio_info info;
  fixture_wav(path, 22050, 3, 77, 3);
  MUST(gr_audio_probe(path, &info));
  CHECK(info.rate == 22050 && info.channels == 3 && info.samples == 77, "%d %d %d", info.rate,
        info.channels, (int)info.samples);
  CHECK(gr_audio_samples_at(&info, 44100) == 154, "doubled");
  CHECK(gr_audio_samples_at(&info, 0) == 77, "as it is");
}

static void resamples(void) {
  const char *path = fixture_path("tone.wav");
  unsigned char wav[44 + 4000] =
      "RIFF.\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\xa0\xf\0";
  for (int i = 0; i < 2000; i++) {
    short v = (short)lrint(20000 * sin(6.283185307 * 440 * i / 8000));
    memcpy(wav + 44 + 2 * i, &v, 2);
  }
  fixture_bytes(path, wav, sizeof wav);
  float *x;
  uint64_t n;
#ifdef GR_HAVE_SOXR
  MUST(gr_audio_read(path, 16000, 10000, &x, &n));
  CHECK(n == 4000, "%d samples", (int)n);
  for (uint64_t i = 400; i < 3600; i++) {
    double want = 20000.0 / 32768 * sin(6.283185307 * 440 * (double)i / 16000);
    CHECK(fabs(x[i] - want) < 1e-3, "sample %d is %g, not %g", (int)i, x[i], want);
  }
  free(x);
#else
  fixture_fails(gr_audio_read(path, 16000, 10000, &x, &n), GR_ERR_DATA, 0, "not the 16000");
  SKIP("built without soxr");
#endif
}

// An AU file: a format that only libsndfile reads.
static void reads_other_formats(void) {
  const char *path = fixture_path("other.au");
  static const unsigned char au[] =
      ".snd\0\0\0\x18\0\0\0\4\0\0\0\3\0\0\x1f\x40\0\0\0\1\x40\0\xc0\0";
  fixture_bytes(path, au, 28);
  float *x;
  uint64_t n;
#ifdef GR_HAVE_SNDFILE
  MUST(gr_audio_read(path, 0, 1000, &x, &n));
  CHECK(n == 2 && x[0] == 0.5F && x[1] == -0.5F, "%d samples", (int)n);
  free(x);
#else
  fixture_fails(gr_audio_read(path, 0, 1000, &x, &n), GR_ERR_DATA, 0, "this build reads");
  SKIP("built without libsndfile");
#endif
}

static void refuses_what_is_no_recording(void) {
  const char *path = fixture_path("bad.wav");
  float *x;
  uint64_t n;
  fixture_fails(gr_audio_read(fixture_path("nowhere.wav"), 0, 9, &x, &n), GR_ERR_DATA, 0,
                "nowhere.wav': No such file");
  fixture_fails(gr_audio_read(fixture_path("."), 0, 9, &x, &n), GR_ERR_DATA, 0, "cannot read");
  fixture_text(path, "");
  fixture_fails(gr_audio_read(path, 0, 9, &x, &n), GR_ERR_DATA, 0, "is an empty file");
  fixture_text(path, "This is a letter, not a recording, however it is called.");
  fixture_fails(gr_audio_read(path, 0, 9, &x, &n), GR_ERR_DATA, 0, "bad.wav' is not a");
  fixture_wav(path, 8000, 1, 0, 1);
  fixture_fails(gr_audio_read(path, 0, 9, &x, &n), GR_ERR_DATA, 0, "has no samples");
  fixture_wav(path, 8000, 1, 10, 1);
  fixture_fails(gr_audio_read(path, 0, 9, &x, &n), GR_ERR_DATA, 0, "more than 9");
  CHECK(!x, "nothing is left allocated");
}

// A damaged header costs no memory: its numbers are refused before anything is allocated.
static void refuses_heads_that_cannot_be(void) {
  static const int rates[] = {1, 999, 1000001, 0x7fffffff};
  const char *path = fixture_path("head.wav");
  float *x;
  uint64_t n;
  gr_audio_info info;
  for (int i = 0; i < 4; i++) {
    fixture_wav(path, rates[i], 1, 50, 1);
    fixture_fails(gr_audio_probe(path, &info), GR_ERR_DATA, 0,
                  "samples a second, which is not from");
    fixture_fails(gr_audio_read(path, 8000, 1 << 20, &x, &n), GR_ERR_DATA, 0, "head.wav' declares");
    CHECK(!x, "nothing is left allocated");
  }
  fixture_wav(path, 1000, 1, 50, 1);
  MUST(gr_audio_probe(path, &info));
  static const gr_audio_info much[] = {{8000, 1, GR_AUDIO_MAX_VALUES + 1},
                                       {8000, 2, GR_AUDIO_MAX_VALUES / 2 + 1},
                                       {8000, 1024, UINT64_MAX},
                                       {8000, 0, 5}};
  for (int i = 0; i < 4; i++)
    fixture_fails(gr_audio_check("x", &much[i]), GR_ERR_DATA, 0, "values are the most");
  MUST(gr_audio_check("x", &(gr_audio_info){8000, 2, GR_AUDIO_MAX_VALUES / 2}));
#ifdef GR_HAVE_SNDFILE
  // FLAC whose header declares 2^36 - 1 samples, without any.
  unsigned char flac[106] = "fLaC\x80\0\0\x22\x10\0\x10\0";
  memcpy(flac + 18, "\x03\xe8\x00\xff\xff\xff\xff\xff", 8);
  fixture_bytes(path, flac, sizeof flac);
  fixture_fails(gr_audio_probe(path, &info), GR_ERR_DATA, 0, "declares 68719476735 samples");
#endif
}

static char *slurp(const char *path, size_t *n) {
  static char all[1 << 12];
  FILE *f = fopen(path, "rb");
  *n = f ? fread(all, 1, sizeof all, f) : 0;
  if (f) fclose(f);
  return all;
}

static void tells_cut_short_from_short(void) {
  const char *path = fixture_path("cut.wav");
  size_t n;
  float *x;
  uint64_t samples;
  gr_audio_info info;
  fixture_wav(path, 8000, 1, 100, 1);
  char *all = slurp(path, &n);
  for (size_t keep = 12; keep < n; keep++) {
    fixture_bytes(path, all, keep);
    fixture_fails(gr_audio_read(path, 0, 1000, &x, &samples), GR_ERR_DATA, 0, "cut short");
    fixture_fails(gr_audio_probe(path, &info), GR_ERR_DATA, 0, "cut short");
  }
}

// No damage crashes, and what is read has the size that the header declares.
static void survives_damage(void) {
  const char *path = fixture_path("damaged.wav");
  size_t n;
  float *x;
  uint64_t samples;
  int refused = 0;
  fixture_wav(path, 8000, 2, 20, 1);
  char *all = slurp(path, &n);
  for (size_t i = 0; i < 44 * 3; i++) {
    static const char change[] = {0x01, (char)0x80, (char)0xff};
    char *cursor = all + i / 3, original = *cursor;
    *cursor = (char)(*cursor ^ change[i % 3]);
    fixture_bytes(path, all, n);
    gr_status s = gr_audio_read(path, 0, 1 << 20, &x, &samples);
    CHECK(!s || gr_status_code(s) == GR_ERR_DATA, "byte %d: %s", (int)i / 3, gr_status_text(s));
    CHECK(s || samples > 0, "byte %d: nothing read", (int)i / 3);
    refused += s != GR_OK;
    gr_status_drop(s);
    free(x);
    *cursor = original;
  }
  CHECK(refused > 30, "only %d refused", refused);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"reads_16_bit_wav", reads_16_bit_wav},
             {"reads_what_was_piped", reads_what_was_piped},
             {"averages_channels", averages_channels}, {"tells_the_head", tells_the_head},
             {"resamples", resamples}, {"reads_other_formats", reads_other_formats},
             {"refuses_what_is_no_recording", refuses_what_is_no_recording},
             {"refuses_heads_that_cannot_be", refuses_heads_that_cannot_be},
             {"tells_cut_short_from_short", tells_cut_short_from_short},
             {"survives_damage", survives_damage});
}
