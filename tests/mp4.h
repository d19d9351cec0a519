// mp4.h - writes small MP4 files with FFmpeg's libraries, for tests of what reads them.
#pragma once
#include <stdbool.h>

// Paints the luma of frame t, [height, width] with rows `stride` bytes apart.
typedef void (*mp4_paint)(const void *scene, int t, unsigned char *luma, int stride);

typedef struct mp4_scene {
  int height, width;  // even
  int frames;         // 0: a video stream without any
  int b_frames;       // at most so many in a row that are decoded after a later frame
  mp4_paint paint;
  const void *scene;
} mp4_scene;

// Whether the build has those libraries, and they an encoder of MPEG-4 videos. The functions below
// need both.
bool mp4_has_encoder(void);
// Writes a gray video of 25 frames a second. False: some call of FFmpeg failed.
bool mp4_write(const char *path, const mp4_scene *);
// Writes a file with one stream of sound, and no video. False as above.
bool mp4_write_sound(const char *path);
