// test_video_compressed.c - clips of MP4: their frames, scaled; and files that are damaged, empty
// or something else.
#include <stdlib.h>
#include <unistd.h>
#include "runtime/data/loader.h"
#include "runtime/data/video/video.h"
#include "tests/runtime/data/fixture.h"

enum { H = 48, W = 64, FRAMES = 12 };

static gr_status open_list(const char *name, int64_t height, int64_t width, bool gray,
                           gr_dataset **out) {
  gr_video_spec spec = {fixture_path("list.csv"), 4, 4, height, width, gray};
  gr_dataset_options o = {.n_buckets = 1};
  char text[128];
  snprintf(text, sizeof text, "path,label\n%s,a\n", name);
  fixture_text(spec.path, text);
  return gr_dataset_create(&gr_source_video, &spec, &o, out);
}

static void refuses(const char *name, const char *part) {
  gr_dataset *d = NULL;
  fixture_fails(open_list(name, 0, 0, true, &d), GR_ERR_DATA, 2, part);
}

#ifdef GR_HAVE_LIBAV
#include "tests/mp4.h"

// A bright square whose left edge is at column 4 t.
static void paint(const void *scene, int t, unsigned char *luma, int stride) {
  (void)scene;
  for (int i = 0; i < H; i++)
    for (int k = 0; k < W; k++)
      luma[i * stride + k] = i >= 16 && i < 32 && k >= 4 * t && k < 4 * t + 16 ? 220 : 40;
}

static void write_video(const char *name, int frames, int b_frames) {
  mp4_scene s = {.height = H, .width = W, .frames = frames, .b_frames = b_frames, .paint = paint};
  CHECK(mp4_write(fixture_path("%s", name), &s), "%s is written", name);
}

// ---- Reading ------------------------------------------------------------------------------------

// The mean column of bright pixels of frame t of the clip in a row, in units of the source's.
static double square_at(const unsigned char *x, int height, int width, int channels) {
  double sum = 0, n = 0;
  for (int i = 0; i < height * width; i++)
    if (x[i * channels] > 128) sum += i % width + 0.5, n++;
  CHECK(n > 0, "there is a square");
  return sum / n * W / width;
}

static void check_clips(int64_t height, int64_t width, bool gray) {
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  gr_loader_spec spec = {.batch = 3, .ranks = 1, .epochs = 1, .prefetch = 1};
  MUST(open_list("a.mp4", height, width, gray, &d));
  CHECK(d->count == FRAMES / 4, "%u clips", d->count);
  MUST(gr_loader_open(d, &spec, &l));
  MUST(gr_loader_next(l, &b));
  const unsigned char *x = fixture_field(b, "x", &t);
  int h = height ? (int)height : H, w = width ? (int)width : W, c = gray ? 1 : 3;
  CHECK(t.dtype == GR_U8 && t.dim[1] == 4 && t.dim[2] == h && t.dim[3] == w && t.dim[4] == c, "x");
  for (int f = 0; f < FRAMES; f++) {
    double square = square_at(x + f * h * w * c, h, w, c), want = 4 * f + 8;
    CHECK(square > want - 1.5 && square < want + 1.5, "the square of frame %d is at %g, not %g", f,
          square, want);
  }
  gr_loader_close(l);
  gr_dataset_close(d);
}

static void reads_mp4(void) {
  write_video("a.mp4", FRAMES, 0);
  check_clips(0, 0, false);
  check_clips(24, 32, true);
  check_clips(40, 16, false);
}

// A codec that decodes frames in another order than it shows them holds the last one back.
static void reads_reordered_frames(void) {
  write_video("a.mp4", FRAMES, 2);
  check_clips(0, 0, false);
}

static void bad_mp4(void) {
  write_video("none.mp4", 0, 0);
  refuses("none.mp4", "none.mp4' cannot be read");
  write_video("a.mp4", FRAMES, 0);
  CHECK(!truncate(fixture_path("a.mp4"), 900), "truncate");
  refuses("a.mp4", "a.mp4' cannot be read");
  fixture_text(fixture_path("b.mp4"), "hello");
  refuses("b.mp4", "it is no .npy file, and no MP4");
  fixture_text(fixture_path("c.m3u8"), "#EXTM3U\n#EXTINF:1,\n/etc/passwd\n");
  refuses("c.m3u8", "it is no .npy file, and no MP4");
  fixture_text(fixture_path("empty.mp4"), "");
  refuses("empty.mp4", "empty.mp4");
  refuses("absent.mp4", "absent.mp4");
  CHECK(mp4_write_sound(fixture_path("sound.mp4")), "sound");
  refuses("sound.mp4", "it has no video that this FFmpeg decodes");
  write_video("short.mp4", 3, 0);
  refuses("short.mp4", "short.mp4' has 3 frames, a clip has 4");
}
#else
static void reads_mp4(void) {
  fixture_text(fixture_path("b.mp4"), "hello");
  refuses("b.mp4", "is no .npy file, the one kind that this build reads");
}
static void reads_reordered_frames(void) { SKIP("built without FFmpeg's libraries"); }
static void bad_mp4(void) { SKIP("built without FFmpeg's libraries"); }
#endif

int main(int argc, char **argv) {
  return RUN(argc, argv, {"reads_mp4", reads_mp4},
             {"reads_reordered_frames", reads_reordered_frames}, {"bad_mp4", bad_mp4});
}
