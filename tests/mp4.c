// mp4.c - see mp4.h.
#include "tests/mp4.h"
#ifdef GR_HAVE_LIBAV
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <string.h>

typedef struct writer {
  AVFormatContext *file;
  AVCodecContext *codec;
  AVStream *stream;
  AVFrame *frame;
} writer;

bool mp4_has_encoder(void) { return avcodec_find_encoder(AV_CODEC_ID_MPEG4) != NULL; }

static bool open_stream(writer *w, const char *path) {
  av_log_set_level(AV_LOG_QUIET);
  if (avformat_alloc_output_context2(&w->file, NULL, "mp4", path) < 0) return false;
  w->file->flags |= AVFMT_FLAG_BITEXACT;  // no version of the library, so the same bytes
  w->stream = avformat_new_stream(w->file, NULL);
  return w->stream != NULL;
}

static bool open_codec(writer *w, const mp4_scene *s) {
  const AVCodec *codec = avcodec_find_encoder(AV_CODEC_ID_MPEG4);
  w->codec = codec ? avcodec_alloc_context3(codec) : NULL;
  if (!w->codec) return false;
  w->codec->width = s->width, w->codec->height = s->height;
  w->codec->pix_fmt = AV_PIX_FMT_YUV420P;
  w->codec->time_base = (AVRational){1, 25};
  w->codec->bit_rate = 4000000;
  w->codec->max_b_frames = s->b_frames;
  w->codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER | AV_CODEC_FLAG_BITEXACT;
  if (avcodec_open2(w->codec, codec, NULL) < 0) return false;
  w->stream->time_base = w->codec->time_base;
  return avcodec_parameters_from_context(w->stream->codecpar, w->codec) >= 0;
}

static bool open_frame(writer *w) {
  w->frame = av_frame_alloc();
  if (!w->frame) return false;
  w->frame->width = w->codec->width, w->frame->height = w->codec->height;
  w->frame->format = AV_PIX_FMT_YUV420P;
  return av_frame_get_buffer(w->frame, 0) >= 0;
}

static bool begin(writer *w, const char *path) {
  return avio_open(&w->file->pb, path, AVIO_FLAG_WRITE) >= 0 &&
         avformat_write_header(w->file, NULL) >= 0;
}

static bool end(writer *w) { return av_write_trailer(w->file) >= 0; }

// Encodes a frame, or with NULL what the codec still holds.
static bool write_packets(writer *w, const AVFrame *frame) {
  AVPacket *p = av_packet_alloc();
  bool good = p && avcodec_send_frame(w->codec, frame) >= 0;
  while (good && avcodec_receive_packet(w->codec, p) >= 0) {
    p->duration = 1;  // else the last frame is beyond the end that the file declares
    av_packet_rescale_ts(p, w->codec->time_base, w->stream->time_base);
    p->stream_index = 0;
    good = av_interleaved_write_frame(w->file, p) >= 0;
  }
  av_packet_free(&p);
  return good;
}

static bool write_frame(writer *w, const mp4_scene *s, int t) {
  AVFrame *f = w->frame;
  if (av_frame_make_writable(f) < 0) return false;
  f->pts = t;
  s->paint(s->scene, t, f->data[0], f->linesize[0]);
  for (int c = 1; c < 3; c++)
    for (int i = 0; i < s->height / 2; i++)
      memset(f->data[c] + i * f->linesize[c], 128, (size_t)s->width / 2);
  return write_packets(w, f);
}

static bool write_video(writer *w, const char *path, const mp4_scene *s) {
  bool good = open_stream(w, path) && open_codec(w, s) && open_frame(w) && begin(w, path);
  for (int t = 0; good && t < s->frames; t++) good = write_frame(w, s, t);
  return good && (!s->frames || write_packets(w, NULL)) && end(w);
}

static void close_writer(writer *w) {
  av_frame_free(&w->frame);
  avcodec_free_context(&w->codec);
  if (w->file) avio_closep(&w->file->pb);
  avformat_free_context(w->file);
}

bool mp4_write(const char *path, const mp4_scene *s) {
  writer w = {0};
  bool good = write_video(&w, path, s);
  close_writer(&w);
  return good;
}

// ---- Sound --------------------------------------------------------------------------------------

// AAC of 44.1 kHz and one channel. Its packets are nonsense: no test decodes them.
static bool describe_sound(AVStream *stream) {
  static const unsigned char config[] = {0x12, 0x08};
  AVCodecParameters *c = stream->codecpar;
  c->codec_type = AVMEDIA_TYPE_AUDIO, c->codec_id = AV_CODEC_ID_AAC;
  c->sample_rate = 44100, c->frame_size = 1024;
  av_channel_layout_default(&c->ch_layout, 1);
  c->extradata = av_mallocz(sizeof config + AV_INPUT_BUFFER_PADDING_SIZE);
  if (!c->extradata) return false;
  memcpy(c->extradata, config, sizeof config);
  c->extradata_size = sizeof config;
  stream->time_base = (AVRational){1, 44100};
  return true;
}

static bool write_silence(writer *w) {
  AVPacket *p = av_packet_alloc();
  bool good = p != NULL;
  for (int i = 0; good && i < 8; i++) {
    good = av_new_packet(p, 16) >= 0;
    if (!good) break;
    memset(p->data, 0, 16);
    p->pts = p->dts = 1024 * i, p->duration = 1024;
    good = av_interleaved_write_frame(w->file, p) >= 0;
  }
  av_packet_free(&p);
  return good;
}

bool mp4_write_sound(const char *path) {
  writer w = {0};
  bool good = open_stream(&w, path) && describe_sound(w.stream) && begin(&w, path) &&
              write_silence(&w) && end(&w);
  close_writer(&w);
  return good;
}
#else
bool mp4_has_encoder(void) { return false; }
bool mp4_write(const char *path, const mp4_scene *s) { return (void)path, (void)s, false; }
bool mp4_write_sound(const char *path) { return (void)path, false; }
#endif
