// layout.h - where the parts of a picture are: its rows, the frames around them, and the lines
// between rows. All lengths are in pixels of SVG.
#pragma once
#include "compiler/picture/parts.h"

enum {
  GR_PICTURE_ROW = 34,     // height of a box
  GR_PICTURE_GAP = 8,      // between rows
  GR_PICTURE_PILL = 17,    // from one collective of a row to the next
  GR_PICTURE_LABEL = 16,   // height of a frame's label
  GR_PICTURE_INDENT = 10,  // of a frame within a frame
  GR_PICTURE_LANES = 6,    // lines side by side, at most, in each phase
  GR_PICTURE_LANE = 9,     // width of a lane
};

typedef struct gr_picture_frame {
  const char *label;  // path relative to the frame around it
  uint32_t block;
  int depth, top, bottom;
} gr_picture_frame;

// A line between rows that are not neighbours.
typedef struct gr_picture_line {
  uint32_t source, target;  // rows, source < target
  double bytes;
  int lane;  // -1: there is no room for it
} gr_picture_line;

typedef struct gr_picture_layout {
  int *top;  // by row
  int bottom;
  int depth;  // most frames within each other
  gr_picture_frame *frame;
  uint32_t n_frames;
  struct {
    gr_picture_line *line;
    uint32_t n, hidden;  // hidden: those without a lane
    bool *next;          // by row: something passes between it and the row after it
    int lanes;           // that are used
  } flow[2];             // GR_PICTURE_FORWARD, GR_PICTURE_BACKWARD
} gr_picture_layout;

// A block's path without that of the frame around it.
const char *gr_picture_label(const gr_picture *, uint32_t block, const char *around);
// Lays the rows out from y = `top` on, in the picture's arena.
gr_picture_layout gr_picture_lay_out(const gr_picture *, int top);
