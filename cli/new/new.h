// new.h - starting folders: their kinds, files and generated data.
#pragma once
#include "base/base.h"

enum { GR_NEW_FILES = 4 };
typedef struct gr_new_kind {
  const char *name, *doc;
  const char *const *texts;  // of config.yaml, graph.yaml, hook.lua and README.md
  gr_status (*generate)(gr_arena *, const char *dir);  // writes the data into the project's folder
} gr_new_kind;

extern const gr_new_kind gr_new_kinds[];              // ends with an entry whose name is NULL
extern const char *const gr_new_names[GR_NEW_FILES];  // of the files

extern const char gr_new_text_own[];  // README.md of a project for the user's own data

// The data of each kind, in the project's folder. The same bytes on every machine. GR_ERR_IO.
#define GR_NEW_KIND(name, doc) GR_MUST_USE gr_status gr_new_##name(gr_arena *, const char *dir);
#include "cli/new/kinds.def"
#undef GR_NEW_KIND

enum { GR_NEW_SHAPES = 3, GR_NEW_SIDE = 24 };
extern const char *const gr_new_shapes[];  // their names: "circle", ...
// A shape in an image of GR_NEW_SIDE pixels each way.
typedef struct gr_new_shape {
  int kind;
  double x, y, radius;  // in pixels
  double color[3], behind[3];
} gr_new_shape;
// Writes its image as DIR/NAME.ppm, with noise of the random numbers from 100 on, and where `masks`
// is a folder, as masks/NAME.pgm the values 0 behind it and 1 + kind in it. GR_ERR_IO.
GR_MUST_USE gr_status gr_new_put_shape(gr_arena *, const gr_new_shape *, const gr_rng *,
                                       const char *dir, const char *masks, const char *name);
// Draws the place, size and colours of a shape of that kind.
gr_new_shape gr_new_draw_shape(const gr_rng *, int kind);
// Of how many pixels of its image the middle is within it.
int gr_new_count_pixels(const gr_new_shape *);
// Writes, as gr_new_put_shape does, a shape of that kind that is drawn by its number.
GR_MUST_USE gr_status gr_new_write_shape(gr_arena *, const char *dir, const char *masks,
                                         const char *name, int kind, uint32_t number);

enum { GR_NEW_RATE = 8000 };
// Appends the head of a WAV file of 16-bit samples of one channel, at GR_NEW_RATE.
void gr_new_put_wav(gr_text *, uint32_t samples);
// Appends a sample, from -32768 to 32767.
void gr_new_put_sample(gr_text *, double value);

// Data in rows: in data and test, with that ending, n and n_test of them below `head`; `put`
// appends one, by its number, with the random numbers of `stream`.
typedef struct gr_new_rows {
  const char *ending, *stream, *head;
  void (*put)(gr_text *, const gr_rng *, uint64_t row);
  uint64_t n, n_test;
} gr_new_rows;
// Writes both files. GR_ERR_IO.
GR_MUST_USE gr_status gr_new_write_rows(gr_arena *, const char *dir, const gr_new_rows *);

// Images in a list: images/NAME.ppm, and data.csv and test.csv with a line below `head` for each of
// n and n_test of them; `put` writes the image of a row into a folder and appends its line.
typedef struct gr_new_images {
  const char *head;
  gr_status (*put)(gr_arena *, const char *images, uint64_t row, gr_text *list);
  uint64_t n, n_test;
} gr_new_images;
// Writes all of them. GR_ERR_IO.
GR_MUST_USE gr_status gr_new_write_images(gr_arena *, const char *dir, const gr_new_images *);
