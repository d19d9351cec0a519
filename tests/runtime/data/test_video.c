// test_video.c - clips of videos: which there are, their values, labels and split; and what is
// wrong with a list or a file.
#include <stdlib.h>
#include <unistd.h>
#include "runtime/data/loader.h"
#include "runtime/data/video/video.h"
#include "tests/runtime/data/fixture.h"

enum { H = 2, W = 3, FRAME = H * W };

typedef struct video {
  gr_video_spec spec;
  gr_dataset_options options;
} video;

// A file of NumPy's format, version 1.0.
static const char *save(const char *name, const char *descr, const char *shape, const void *values,
                        size_t n) {
  unsigned char all[4096] = "\x93NUMPY\x01";
  char head[128];
  const char *path = fixture_path("%s", name);
  int length = snprintf(head, sizeof head,
                        "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape);
  all[8] = (unsigned char)length;
  memcpy(all + 10, head, (size_t)length);
  memcpy(all + 10 + length, values, n);
  fixture_bytes(path, all, 10 + (size_t)length + n);
  return path;
}

// Frames of 2 x 3 bytes: byte i of the video is `first` + i.
static void save_video(const char *name, int frames, int first) {
  unsigned char values[512];
  char shape[64];
  for (int i = 0; i < frames * FRAME; i++) values[i] = (unsigned char)(first + i);
  snprintf(shape, sizeof shape, "(%d, %d, %d)", frames, H, W);
  save(name, "|u1", shape, values, (size_t)frames * FRAME);
}

static video of_list(const char *text, int32_t frames, int32_t stride) {
  video v = {.spec = {fixture_path("list.csv"), frames, stride}, .options = {.n_buckets = 1}};
  fixture_text(v.spec.path, text);
  return v;
}

static gr_status open_video(const video *v, gr_dataset **out) {
  return gr_dataset_create(&gr_source_video, &v->spec, &v->options, out);
}

static const gr_video *of_set(const gr_dataset *d) { return d->self; }

static void first_batch(gr_dataset *d, gr_split split, gr_loader **l, const gr_batch **b) {
  gr_loader_spec spec = {.split = split, .batch = 8, .ranks = 1, .epochs = 1, .prefetch = 1};
  MUST(gr_loader_open(d, &spec, l));
  MUST(gr_loader_next(*l, b));
}

// Checks that x of a sample is its clip's bytes, and returns the first.
static int clip_of(const gr_batch *b, int row, int frames) {
  gr_type t;
  const unsigned char *x = fixture_field(b, "x", &t);
  CHECK(t.dtype == GR_U8 && t.rank == 5 && t.dim[1] == frames && t.dim[2] == H && t.dim[3] == W &&
            t.dim[4] == 1,
        "x is of rank %d", t.rank);
  x += row * frames * FRAME;
  for (int i = 0; i < frames * FRAME; i++)
    CHECK(x[i] == (unsigned char)(x[0] + i), "byte %d is %d, the first %d", i, x[i], x[0]);
  return x[0];
}

static void whole_videos(void) {
  video v = of_list("path,label,split\na.npy,walk,train\nb.npy,rest,val\n", 3, 2);
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_metadata m[GR_MAX_METADATA];
  save_video("a.npy", 8, 0), save_video("b.npy", 3, 100);
  MUST(open_video(&v, &d));
  CHECK(gr_dataset_count(d, GR_SPLIT_TRAIN) == 3, "clips start at 0, 2 and 4 of 8 frames");
  CHECK(gr_dataset_count(d, GR_SPLIT_VALIDATION) == 1, "a video of 3 frames is one clip");
  CHECK(gr_dataset_metadata(d, m) == 5, "metadata");
  const int64_t want[] = {2, 3, H, W, 1};
  for (int i = 0; i < 5; i++)
    CHECK(m[i].value == want[i], "%s is %lld", m[i].name, (long long)m[i].value);
  first_batch(d, GR_SPLIT_TRAIN, &l, &b);
  unsigned starts = 0;
  gr_type t;
  const int32_t *y = fixture_field(b, "y", &t);
  const float *weight = fixture_field(b, "class_weight", &t);
  for (int i = 0; i < 3; i++) {
    starts |= 1u << clip_of(b, i, 3) / FRAME;
    CHECK(y[i] == 1, "walk comes after rest");
    CHECK(weight[i] == 0.5f, "weight %g of 3 samples of 2 classes", (double)weight[i]);
  }
  CHECK(starts == (1 | 1 << 2 | 1 << 4), "clips start at frames %x", starts);
  gr_loader_close(l);
  first_batch(d, GR_SPLIT_VALIDATION, &l, &b);
  CHECK(clip_of(b, 0, 3) == 100, "the other video");
  y = fixture_field(b, "y", &t);
  weight = fixture_field(b, "class_weight", &t);
  CHECK(y[0] == 0 && weight[0] == 1, "rest, of which there is none in training: %g",
        (double)weight[0]);
  gr_loader_close(l);
  gr_dataset_close(d);
}

// A line with a frame is the clip around it; a clip that is not all there is counted.
static void centres(void) {
  video v =
      of_list("label,frame,path\n7,0,a.npy\n7,1,a.npy\n3,2,a.npy\n7,3,a.npy\n7,4,a.npy\n", 3, 1);
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  save_video("a.npy", 5, 0);
  MUST(open_video(&v, &d));
  CHECK(d->skipped[GR_VIDEO_BEYOND].n == 2, "those of the first and the last frame");
  first_batch(d, GR_SPLIT_TRAIN, &l, &b);
  const int32_t *y = fixture_field(b, "y", &t);
  const float *weight = fixture_field(b, "class_weight", &t);
  unsigned starts = 0;
  for (int i = 0; i < 3; i++) {
    int start = clip_of(b, i, 3) / FRAME;
    starts |= 1u << start;
    // Three samples of two classes: 3 / (2 * 1), and 3 / (2 * 2)
    CHECK(y[i] == (start == 1 ? 0 : 1), "class %d of the clip from frame %d", y[i], start);
    CHECK(weight[i] == (start == 1 ? 1.5f : 0.75f), "weight %g", (double)weight[i]);
  }
  CHECK(starts == 7, "clips start at frames %x", starts);
  gr_loader_close(l);
  gr_dataset_close(d);
  v.spec.stride = 2;
  MUST(open_video(&v, &d));
  CHECK(gr_dataset_count(d, GR_SPLIT_TRAIN) == 2, "clips from frames 0 and 2");
  CHECK(d->skipped[GR_VIDEO_BETWEEN].n == 1 && d->listed == 5, "that of frame 1 is counted");
  gr_dataset_close(d);
}

// Without a split column all lines of a video are in the split of its name.
static void split_by_video(void) {
  char text[4096] = "path,label,frame\n";
  gr_dataset *d;
  for (int i = 0; i < 40; i++) {
    char name[24];
    snprintf(name, sizeof name, "v%02d.npy", i);
    save_video(name, 6, i);
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s,%d,1\n%s,%d,3\n", name, i % 2,
             name, i % 2);
  }
  video v = of_list(text, 3, 1);
  v.options.validation_fraction = 0.4;
  MUST(open_video(&v, &d));
  int seen[40] = {0};
  for (uint32_t i = 0; i < d->count; i++)
    seen[of_set(d)->clip[d->samples[i].index].video] |= 1 << d->samples[i].split;
  int of[4] = {0};
  for (int i = 0; i < 40; i++) of[seen[i]]++;
  CHECK(of[1] > 10 && of[2] > 5 && of[1] + of[2] == 40, "%d, %d and %d videos", of[1], of[2],
        of[3]);
  CHECK(fixture_notes(d, NULL), "no video is in both splits");
  gr_dataset_close(d);
  v = of_list("path,label,frame,split\nv00.npy,1,1,0\nv01.npy,2,1,0\nv00.npy,2,3,1\n", 3, 1);
  MUST(open_video(&v, &d));
  CHECK(fixture_notes(d, "1 validation sample is of files that are trained on, too"), "a line");
  CHECK(fixture_notes(d, "/list.csv:4"), "its place");
  gr_dataset_close(d);
}

static void colours(void) {
  video v = of_list("path,label\nrgb.npy,a\n", 2, 1);
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  save("rgb.npy", "|u1", "(2, 1, 2, 3)", "0123456789ab", 12);
  MUST(open_video(&v, &d));
  first_batch(d, GR_SPLIT_TRAIN, &l, &b);
  const void *x = fixture_field(b, "x", &t);
  CHECK(t.dim[4] == 3 && !memcmp(x, "0123456789ab", 12), "values");
  gr_loader_close(l);
  gr_dataset_close(d);
}

static void refuses(const char *list, int32_t frames, int line, const char *part) {
  gr_dataset *d = NULL;
  video v = of_list(list, frames, 1);
  fixture_fails(open_video(&v, &d), GR_ERR_DATA, line, part);
}

static void bad_lists(void) {
  save_video("a.npy", 5, 0);
  refuses("path,kind\na.npy,1\n", 2, 1, "no column 'label'");
  refuses("label\n1\n", 2, 1, "no column 'path'");
  refuses("path,label\na.npy,walk\na.npy,walk,3\n", 2, 3, "this line has 3 fields");
  refuses("path,label\na.npy,walk\na.npy,\n", 2, 3, "there is no label in this line");
  refuses("path,label\na.npy,1.5\n", 2, 1, "numbers with fractions");
  refuses("path,label,split\na.npy,1,train\na.npy,1,test\n", 2, 3,
          "the split in this line is 'test'");
  refuses("path,label,frame\na.npy,1,4\na.npy,1,5\n", 2, 3,
          "frame 5 is not in 'a.npy', which has 5");
  refuses("path,label,frame\na.npy,1,-1\n", 2, 2, "frame -1 is not in");
  refuses("path,label,frame\na.npy,1,x\n", 2, 1,
          "the column 'frame' of the list of videos is text");
  refuses("path,label\na.npy,1\na.npy,2\n", 2, 3, "a.npy' has the label '2' here, and '1' in ");
  refuses("path,label,frame\na.npy,1,1\na.npy,2,2\na.npy,2,1\n", 2, 4, "has the label '2' here");
  refuses("path,label\n", 2, 0, "");
  gr_dataset *d;
  video v = {.spec = {NULL, 2, 1}, .options = {.n_buckets = 1}};
  fixture_fails(open_video(&v, &d), GR_ERR_CONFIG, 0, "data.video.path is not given");
}

static void bad_files(void) {
  static const unsigned char zeros[64];
  save_video("a.npy", 5, 0);
  refuses("path,label\na.npy,1\nabsent.npy,1\n", 2, 3, "absent.npy");
  refuses("path,label\na.npy,1\n", 6, 2, "a.npy' has 5 frames, a clip has 6");
  save("f.npy", "<f4", "(2, 2, 3)", zeros, 48);
  refuses("path,label\na.npy,1\nf.npy,1\n", 2, 3, "is of f32, not u8");
  save("flat.npy", "|u1", "(12, 3)", zeros, 36);
  refuses("path,label\nflat.npy,1\n", 2, 2, "has 2 dimensions");
  save("wide.npy", "|u1", "(2, 2, 4)", zeros, 16);
  refuses("path,label\na.npy,1\nwide.npy,1\n", 2, 3, "are [2, 4, 1], those of others [2, 3, 1]");
  save("cut.npy", "|u1", "(9, 2, 3)", zeros, 50);
  refuses("path,label\na.npy,1\ncut.npy,1\n", 2, 3, "is cut short");
  fixture_text(fixture_path("text.npy"), "hello");
  refuses("path,label\ntext.npy,1\n", 2, 2, "is no array of NumPy");
  save("none.npy", "|u1", "(4, 0, 3)", zeros, 0);
  refuses("path,label\nnone.npy,1\n", 2, 2, "has no values");
}

// With data.skip_unreadable a video that cannot be read is left out, with all of its clips.
static void skips_files(void) {
  gr_dataset *d;
  video v = of_list("path,label\ngone.npy,1\na.npy,2\ngone.npy,1\n", 2, 1);
  save_video("a.npy", 3, 0);
  v.options.skip_unreadable = true;
  MUST(open_video(&v, &d));
  CHECK(d->count == 2, "%u clips", d->count);
  CHECK(gr_unreadable_count(&d->unreadable) == 1, "one video is reported once");
  gr_dataset_close(d);
}

// A file that is cut while it is read is an error, not a crash.
static void cut_file(void) {
  gr_dataset *d;
  video v = of_list("path,label\na.npy,1\n", 2, 1);
  gr_loader_spec spec = {
      .split = GR_SPLIT_TRAIN, .batch = 2, .ranks = 1, .epochs = 1, .prefetch = 1};
  gr_loader *l;
  const gr_batch *b;
  save_video("a.npy", 5, 0);
  MUST(open_video(&v, &d));
  CHECK(!truncate(fixture_path("a.npy"), 20), "truncate");
  gr_status s = gr_loader_open(d, &spec, &l);
  if (!s) {
    s = gr_loader_next(l, &b);
    gr_loader_close(l);
  }
  fixture_fails(s, GR_ERR_DATA, 0, "was cut short while it was read");
  gr_dataset_close(d);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"whole_videos", whole_videos}, {"centres", centres},
             {"split_by_video", split_by_video}, {"colours", colours}, {"bad_lists", bad_lists},
             {"bad_files", bad_files}, {"skips_files", skips_files}, {"cut_file", cut_file});
}
