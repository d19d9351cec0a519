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
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

// ---- Writing MP4 --------------------------------------------------------------------------------

typedef struct writer {
  AVFormatContext *file;
  AVCodecContext *codec;
  AVStream *stream;
} writer;

static void write_packets(writer *w, AVFrame *frame) {
  AVPacket *p = av_packet_alloc();
  CHECK(avcodec_send_frame(w->codec, frame) >= 0, "a frame");
  while (avcodec_receive_packet(w->codec, p) >= 0) {
    p->duration = 1;  // else the last frame is beyond the end that the file declares
    av_packet_rescale_ts(p, w->codec->time_base, w->stream->time_base);
    p->stream_index = 0;
    CHECK(av_interleaved_write_frame(w->file, p) >= 0, "a packet");
  }
  av_packet_free(&p);
}

// Gray noise-free frames: a bright square whose left edge is at column 4 t.
static void paint(AVFrame *f, int t) {
  f->pts = t;
  for (int i = 0; i < H; i++)
    for (int k = 0; k < W; k++)
      f->data[0][i * f->linesize[0] + k] =
          i >= 16 && i < 32 && k >= 4 * t && k < 4 * t + 16 ? 220 : 40;
  for (int c = 1; c < 3; c++)
    for (int i = 0; i < H / 2; i++) memset(f->data[c] + i * f->linesize[c], 128, W / 2);
}

static void open_writer(writer *w, const char *path) {
  const AVCodec *codec = avcodec_find_encoder(AV_CODEC_ID_MPEG4);
  CHECK(avformat_alloc_output_context2(&w->file, NULL, "mp4", path) >= 0, "a file");
  w->stream = avformat_new_stream(w->file, NULL);
  w->codec = avcodec_alloc_context3(codec);
  w->codec->width = W, w->codec->height = H, w->codec->pix_fmt = AV_PIX_FMT_YUV420P;
  w->codec->time_base = (AVRational){1, 25};
  w->codec->bit_rate = 4000000;
  w->codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  CHECK(avcodec_open2(w->codec, codec, NULL) >= 0, "the codec");
  avcodec_parameters_from_context(w->stream->codecpar, w->codec);
  w->stream->time_base = w->codec->time_base;
  CHECK(avio_open(&w->file->pb, path, AVIO_FLAG_WRITE) >= 0, "the path");
  CHECK(avformat_write_header(w->file, NULL) >= 0, "the head");
}

static void write_video(const char *name, int frames) {
  writer w = {0};
  av_log_set_level(AV_LOG_QUIET);
  open_writer(&w, fixture_path("%s", name));
  AVFrame *f = av_frame_alloc();
  f->width = W, f->height = H, f->format = AV_PIX_FMT_YUV420P;
  CHECK(av_frame_get_buffer(f, 0) >= 0, "a frame");
  for (int t = 0; t < frames; t++) {
    CHECK(av_frame_make_writable(f) >= 0, "a frame");
    paint(f, t);
    write_packets(&w, f);
  }
  if (frames) write_packets(&w, NULL);
  CHECK(av_write_trailer(w.file) >= 0, "the end");
  av_frame_free(&f);
  avcodec_free_context(&w.codec);
  avio_closep(&w.file->pb);
  avformat_free_context(w.file);
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
    double at = square_at(x + f * h * w * c, h, w, c), want = 4 * f + 8;
    CHECK(at > want - 1.5 && at < want + 1.5, "the square of frame %d is at %g, not %g", f, at,
          want);
  }
  gr_loader_close(l);
  gr_dataset_close(d);
}

static void reads_mp4(void) {
  write_video("a.mp4", FRAMES);
  check_clips(0, 0, false);
  check_clips(24, 32, true);
  check_clips(40, 16, false);
}

static void bad_mp4(void) {
  write_video("none.mp4", 0);
  refuses("none.mp4", "none.mp4' cannot be read");
  write_video("a.mp4", FRAMES);
  CHECK(!truncate(fixture_path("a.mp4"), 900), "truncate");
  refuses("a.mp4", "a.mp4' cannot be read");
  fixture_text(fixture_path("b.mp4"), "hello");
  refuses("b.mp4", "it is no .npy file, and no MP4");
  fixture_text(fixture_path("c.m3u8"), "#EXTM3U\n#EXTINF:1,\n/etc/passwd\n");
  refuses("c.m3u8", "it is no .npy file, and no MP4");
  fixture_text(fixture_path("empty.mp4"), "");
  refuses("empty.mp4", "empty.mp4");
  refuses("absent.mp4", "absent.mp4");
  write_video("short.mp4", 3);
  refuses("short.mp4", "short.mp4' has 3 frames, a clip has 4");
}
#else
static void reads_mp4(void) {
  fixture_text(fixture_path("b.mp4"), "hello");
  refuses("b.mp4", "is no .npy file, the one kind that this build reads");
}
static void bad_mp4(void) { SKIP("built without FFmpeg's libraries"); }
#endif

int main(int argc, char **argv) {
  return RUN(argc, argv, {"reads_mp4", reads_mp4}, {"bad_mp4", bad_mp4});
}
