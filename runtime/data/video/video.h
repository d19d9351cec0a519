// video.h - clips of videos, arrays in NumPy's files or compressed: the source `video` of data
// (source.h).
//
// Field: x u8 [frames, height, width, channels]. A clip has the class of its video, or of its row.
#pragma once
#include "runtime/data/listing.h"
#include "runtime/data/mapping.h"

// The keys of the source, and what a request's `spec` is without a configuration.
typedef struct gr_video_spec {
  const char *path;  // of the list, or of a folder with a folder for each class
  int32_t frames, stride;
  int64_t height, width;  // of compressed videos; 0: as they are
  bool gray;              // they are converted to gray, else to RGB
} gr_video_spec;

typedef struct gr_video_file {
  const char *name, *path;  // as the list has it, and where it is
  gr_mapping map;
  int64_t frames;
  const unsigned char *pixels;  // [frames, height, width, channels]; NULL: it cannot be used
  unsigned char *decoded;       // malloc: the same, of a compressed video; else NULL
  uint64_t key;                 // a hash of the name
  gr_loc loc;                   // of the first row that names it; no place: no list does
  bool opened;                  // or tried
} gr_video_file;

typedef struct gr_video_clip {
  uint32_t row;    // of the listing: its label, split and weight
  uint32_t video;  // the number of its file
  uint32_t start;  // the first frame
} gr_video_clip;

typedef enum gr_video_skip {
  GR_VIDEO_BEYOND,
  GR_VIDEO_BETWEEN,
  GR_VIDEO_REST,  // frames of no clip
  GR_VIDEO_ROWS,  // of the list, that the limit leaves out
  GR_VIDEO_OTHER  // files of folders
} gr_video_skip;  // of gr_source_ops.skips

typedef struct gr_video {
  gr_listing list;  // rows or folders that name videos, or the videos to predict
  gr_video_spec spec;
  gr_video_file *file;  // each video once
  uint32_t n_files;
  int64_t height, width, channels;  // of every video; 0: none is open yet
  gr_video_clip *clip;
  uint32_t count, room;
} gr_video;

// Maps a video and checks that it is one of the size of the others, with room for a clip. Fails
// with GR_ERR_DATA; the file is then without values.
GR_MUST_USE gr_status gr_video_open_file(gr_video *, gr_video_file *);
// What is wrong with a video by its head, of which few bytes are read.
GR_MUST_USE gr_status gr_video_probe(const char *path);
// Lists the clips of the list's or the folder's videos, or those of the files to predict.
GR_MUST_USE gr_status gr_video_list(gr_video *, const gr_source_request *);
