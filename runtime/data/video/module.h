// module.h - the table of the module "libav" (base/module.h), which reads compressed videos.
#pragma once
#include "base/status.h"

#define GR_VIDEO_BYTES (INT64_C(1) << 32)  // of the frames of a compressed video, at most

typedef struct gr_video_frames {
  int64_t frames, height, width;
  int channels;
  unsigned char *pixels;  // malloc: [frames, height, width, channels]
} gr_video_frames;

typedef struct gr_video_module {
  // What is wrong with a file by its head: the error of decode.
  gr_status (*probe)(const char *path);
  // Decodes all frames of a file, each scaled (bilinear) to height x width, or with 0 as large as
  // they are, to channels: 3 of RGB, or 1 of gray. GR_ERR_DATA, which names the file. The caller
  // frees out->at.
  gr_status (*decode)(const char *path, int64_t height, int64_t width, int channels,
                      gr_video_frames *out);
} gr_video_module;
