// libav.c - reads videos of MP4 and similar files with FFmpeg's libraries. Module "libav".
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
#include <stdlib.h>
#include "runtime/data/video/module.h"

// What a file may take, by its bytes: a codec packs a picture that repeats into a few of them.
enum { ALLOCATION = 1 << 28 };                                  // of any file, in one piece
#define PICTURE(bytes) ((INT64_C(1) << 22) + 4096 * (bytes))    // pixels of a frame
#define PICTURES(bytes) ((INT64_C(1) << 28) + ((bytes) << 19))  // pixels of all frames

typedef struct job {
  const char *path;
  int64_t bytes, pixels;  // of the file; decoded so far
  AVFormatContext *file;
  AVCodecContext *codec;
  struct SwsContext *scaler;
  AVPacket *packet;
  AVFrame *frame;
  int stream;
  int64_t room;  // frames that out->at has room for
  gr_video_frames *out;
} job;

static gr_status broken(const job *j, const char *what, int error) {
  char why[AV_ERROR_MAX_STRING_SIZE] = "";
  if (error) av_strerror(error, why, sizeof why);
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "the video '%s' cannot be read: %s%s%s", j->path,
                         what, error ? ": " : "", why),
                 "copy or encode it again");
}

// Only files that contain a video themselves: a playlist could name others, also in the network.
static gr_status open_file(job *j) {
  AVDictionary *options = NULL;
  char url[4200];
  snprintf(url, sizeof url, "file:%s", j->path);
  av_dict_set(&options, "protocol_whitelist", "file", 0);
  av_dict_set(&options, "format_whitelist", "mov,matroska,avi,mpegts,mpeg,ogg,flv", 0);
  int error = avformat_open_input(&j->file, url, NULL, &options);
  av_dict_free(&options);
  if (error < 0)
    return broken(j, "it is no .npy file, and no MP4, MOV, MKV, WebM, AVI, OGG or FLV", error);
  return GR_OK;
}

static gr_status find_streams(job *j) {
  int error = avformat_find_stream_info(j->file, NULL);
  if (error < 0) return broken(j, "its streams are not known", error);
  j->bytes = avio_size(j->file->pb);
  return j->bytes < 0 ? broken(j, "its size is not known", (int)j->bytes) : GR_OK;
}

static gr_status open_codec(job *j) {
  const AVCodec *codec = NULL;
  j->stream = av_find_best_stream(j->file, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
  if (j->stream < 0) return broken(j, "it has no video that this FFmpeg decodes", j->stream);
  j->codec = avcodec_alloc_context3(codec);
  if (!j->codec) return broken(j, "no memory", 0);
  int error = avcodec_parameters_to_context(j->codec, j->file->streams[j->stream]->codecpar);
  j->codec->err_recognition = AV_EF_EXPLODE;  // damage is an error, not a guess
  j->codec->flags |= AV_CODEC_FLAG_BITEXACT;
  j->codec->thread_count = 1;
  j->codec->max_pixels = PICTURE(j->bytes);
  if (error >= 0) error = avcodec_open2(j->codec, codec, NULL);
  return error < 0 ? broken(j, "its codec", error) : GR_OK;
}

static gr_status make_room(job *j) {
  gr_video_frames *o = j->out;
  int64_t frame = o->height * o->width * o->channels;
  if (o->frames < j->room) return GR_OK;
  j->room = 2 * j->room + 64;
  if (frame > GR_VIDEO_BYTES / j->room)
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "the video '%s' has over 2^32 bytes of frames", j->path),
        "a smaller data.video.size, or shorter videos");
  unsigned char *more = realloc(o->pixels, (size_t)(j->room * frame));
  if (!more) return broken(j, "no memory for its frames", 0);
  o->pixels = more;
  return GR_OK;
}

// Frames may change their size within a video.
static gr_status add_frame(job *j) {
  gr_video_frames *o = j->out;
  const AVFrame *f = j->frame;
  j->pixels += (int64_t)f->height * f->width;
  if (j->pixels > PICTURES(j->bytes))
    return broken(j, "it has more pixels than a file of its size may", 0);
  if (!o->height) o->height = f->height, o->width = f->width;
  GR_TRY(make_room(j));
  j->scaler =
      sws_getCachedContext(j->scaler, f->width, f->height, f->format, (int)o->width, (int)o->height,
                           o->channels == 1 ? AV_PIX_FMT_GRAY8 : AV_PIX_FMT_RGB24,
                           SWS_BILINEAR | SWS_ACCURATE_RND | SWS_BITEXACT, NULL, NULL, NULL);
  if (!j->scaler) return broken(j, "its frames cannot be scaled", 0);
  int row = (int)o->width * o->channels;
  uint8_t *to[] = {o->pixels + o->frames * o->height * row};
  int done =
      sws_scale(j->scaler, (const uint8_t *const *)f->data, f->linesize, 0, f->height, to, &row);
  if (done < 0) return broken(j, "its frames cannot be scaled", done);
  o->frames++;
  return GR_OK;
}

// Decodes a packet, or with NULL what the codec still holds.
static gr_status decode_packet(job *j, const AVPacket *packet) {
  int error = avcodec_send_packet(j->codec, packet);
  if (error < 0) return broken(j, "a packet is damaged", error);
  for (;;) {
    error = avcodec_receive_frame(j->codec, j->frame);
    if (error == AVERROR(EAGAIN) || error == AVERROR_EOF) return GR_OK;
    if (error < 0) return broken(j, "a frame is damaged", error);
    gr_status s = add_frame(j);
    av_frame_unref(j->frame);
    if (s) return s;
  }
}

static gr_status decode_all(job *j) {
  int error;
  while ((error = av_read_frame(j->file, j->packet)) >= 0) {
    gr_status s = j->packet->stream_index == j->stream ? decode_packet(j, j->packet) : GR_OK;
    av_packet_unref(j->packet);
    if (s) return s;
  }
  if (error != AVERROR_EOF || (j->file->pb && j->file->pb->error))
    return broken(j, "it is cut short", error != AVERROR_EOF ? error : 0);
  GR_TRY(decode_packet(j, NULL));
  if (!j->out->frames) return broken(j, "it has no frames", 0);
  int64_t declared = j->file->streams[j->stream]->nb_frames;
  return j->out->frames >= declared / 2 ? GR_OK : broken(j, "most of its frames are missing", 0);
}

static gr_status run(job *j) {
  GR_TRY(open_file(j));
  GR_TRY(find_streams(j));
  GR_TRY(open_codec(j));
  j->packet = av_packet_alloc();
  j->frame = av_frame_alloc();
  return j->packet && j->frame ? decode_all(j) : broken(j, "no memory", 0);
}

static void limit(void) {
  av_log_set_level(AV_LOG_QUIET);
  av_max_alloc(ALLOCATION);
}

static gr_status probe(const char *path) {
  job j = {.path = path};
  limit();
  gr_status s = open_file(&j);
  avformat_close_input(&j.file);
  return s;
}

static gr_status decode(const char *path, int64_t height, int64_t width, int channels,
                        gr_video_frames *out) {
  job j = {.path = path, .out = out};
  *out = (gr_video_frames){.height = height, .width = width, .channels = channels};
  limit();
  gr_status s = run(&j);
  sws_freeContext(j.scaler);
  av_frame_free(&j.frame);
  av_packet_free(&j.packet);
  avcodec_free_context(&j.codec);
  avformat_close_input(&j.file);
  if (!s) return GR_OK;
  free(out->pixels);
  *out = (gr_video_frames){0};
  return s;
}

const gr_video_module gr_module = {probe, decode};
