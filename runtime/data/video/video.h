// video.h - clips of videos, arrays in NumPy's files or compressed: the source `video` of data
// (source.h).
//
// Fields: x u8 [frames, height, width, channels]; y i32, the class of the clip's label;
// class_weight f32 (labels.h).
#pragma once
#include "runtime/data/file_list.h"
#include "runtime/data/mapping.h"
#include "runtime/data/source.h"

typedef struct gr_video_spec {
  const char *path;  // of the list
  int32_t frames, stride;
  int64_t height, width;  // of compressed videos; 0: as they are
  bool gray;              // they are converted to gray, else to RGB
} gr_video_spec;

typedef struct gr_video_file {
  const char *name, *path;  // as the list has it, and where it is
  gr_mapping map;
  int64_t frames;
  const unsigned char *at;  // [frames, height, width, channels]; NULL: it cannot be used
  unsigned char *decoded;   // malloc: the same, of a compressed video; else NULL
  uint64_t key;             // a hash of the name
  int line;                 // of the list: the first that names it; 0: none does
  bool opened;              // or tried
} gr_video_file;

typedef struct gr_video_clip {
  uint32_t video, start;  // the first frame
  int32_t label;
  int line;       // of the list
  uint8_t split;  // gr_split
  bool has_weight;
  float weight;  // of the column weight
} gr_video_clip;

typedef enum gr_video_skip { GR_VIDEO_BEYOND, GR_VIDEO_SKIPS } gr_video_skip;

typedef struct gr_video {
  gr_arena *arena;
  gr_video_spec spec;
  gr_file_list list;
  gr_video_file *file;
  uint32_t n_files;
  int64_t height, width, channels;  // of every video; 0: none is open yet
  gr_classes classes;
  gr_video_clip *clip;
  uint32_t count, room;
  bool inputs;  // clips are of files to predict, without labels
  gr_skipped skipped[GR_VIDEO_SKIPS];
} gr_video;

// The functions of the source. Without a configuration, a request's `spec` is a gr_video_spec.
extern const gr_source_ops gr_source_video;

// Maps a video and checks that it is one of the size of the others, with room for a clip. Fails
// with GR_ERR_DATA; the file is then without values.
GR_MUST_USE gr_status gr_video_open_file(gr_video *, gr_video_file *);
// What is wrong with a video by its head, of which few bytes are read.
GR_MUST_USE gr_status gr_video_probe(const char *path);
// Lists the clips of the list's videos, or those of the files to predict.
GR_MUST_USE gr_status gr_video_list(gr_video *, const gr_source_request *);
