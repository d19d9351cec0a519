// make_tones.c - writes a data set that trains in a second: words in which each letter sounds as
// two tones. `make_tones DIR [COUNT [LENGTH]]` leaves DIR/tones.jsonl and DIR/wavs/*.wav (PCM16, 8
// kHz): COUNT words of 2 to 7 letters, or of LENGTH. A letter is 0.09 s.
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { RATE = 8000, LETTERS = 6, TONE = 560, GAP = 160, MAX_LETTERS = 1000 };

static FILE *create(const char *path) {
  FILE *f = fopen(path, "wb");
  if (f) return f;
  fprintf(stderr, "make_tones: cannot write '%s': %s\n", path, strerror(errno));
  exit(1);
}

static void finish(FILE *f, const char *path) {
  if (!ferror(f) && !fclose(f)) return;
  fprintf(stderr, "make_tones: cannot write '%s'\n", path);
  exit(1);
}

// Where digits of a number in base LETTERS become the letters of a word.
static void spell(int number, int length, char *out) {
  unsigned mixed = (unsigned)number * 2654435761u;
  if (!length) length = 2 + (int)((mixed >> 8) % 6);
  for (int i = 0; i < length; i++, mixed = mixed * 1664525u + 1013904223u)
    out[i] = (char)('A' + (mixed >> 16) % LETTERS);
  out[length] = 0;
}

static void put(FILE *f, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; i++) fputc((int)(value >> 8 * i & 255), f);
}

static void put_head(FILE *f, uint32_t samples) {
  fwrite("RIFF", 1, 4, f), put(f, 36 + 2 * samples, 4), fwrite("WAVEfmt ", 1, 8, f);
  put(f, 16, 4), put(f, 1, 2), put(f, 1, 2), put(f, RATE, 4), put(f, 2 * RATE, 4);
  put(f, 2, 2), put(f, 16, 2), fwrite("data", 1, 4, f), put(f, 2 * samples, 4);
}

static void put_letter(FILE *f, char letter) {
  const double pi = 3.14159265358979323846;
  double low = 350 + 230 * (letter - 'A'), high = 3600 - 290 * (letter - 'A');
  for (int i = 0; i < TONE + GAP; i++) {
    double t = (double)i / RATE, sum = sin(2 * pi * low * t) + sin(2 * pi * high * t);
    put(f, (uint32_t)(int32_t)(i < TONE ? 8000 * sum : 0), 2);
  }
}

static void write_word(const char *dir, int number, int length, FILE *manifest) {
  char word[MAX_LETTERS + 1], path[4096];
  spell(number, length, word);
  uint32_t samples = (uint32_t)strlen(word) * (TONE + GAP);
  snprintf(path, sizeof path, "%s/wavs/%03d.wav", dir, number);
  FILE *f = create(path);
  put_head(f, samples);
  for (int i = 0; word[i]; i++) put_letter(f, word[i]);
  finish(f, path);
  fprintf(manifest, "{\"audio_path\": \"wavs/%03d.wav\", \"text\": \"%s\", \"duration\": %.3f}\n",
          number, word, (double)samples / RATE);
}

int main(int argc, char **argv) {
  int count = argc > 2 ? atoi(argv[2]) : 40, length = argc > 3 ? atoi(argv[3]) : 0;
  char path[4096];
  if (argc < 2 || length < 0 || length > MAX_LETTERS)
    return fprintf(stderr, "usage: make_tones DIR [COUNT [LENGTH]]\n"), 2;
  mkdir(argv[1], 0777);
  snprintf(path, sizeof path, "%s/wavs", argv[1]);
  mkdir(path, 0777);
  snprintf(path, sizeof path, "%s/tones.jsonl", argv[1]);
  FILE *manifest = create(path);
  for (int i = 0; i < count; i++) write_word(argv[1], i, length, manifest);
  finish(manifest, path);
  return 0;
}
