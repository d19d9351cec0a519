// reader.h - internals of gr_checkpoint: read.c opens one and reads slices, frames.c reads frames,
// verify.c all of them.
#pragma once
#include "runtime/checkpoint/index.h"

struct gr_checkpoint {
  gr_arena *arena;
  const char *path;
  gr_index index;
  struct gr_frame_buffers *buffers;  // NULL until the first read
};

// What decompressing takes; each thread uses one that no other uses.
typedef struct gr_frame_buffers {
  struct ZSTD_DCtx_s *zstd;
  char *packed, *data;  // [GR_MAX_PACKED], [GR_FRAME_BYTES]
} gr_frame_buffers;
// Allocates them; the caller closes them. GR_ERR_IO without memory.
GR_MUST_USE gr_status gr_frame_buffers_open(const gr_checkpoint *, gr_frame_buffers **out);
void gr_frame_buffers_close(gr_frame_buffers *);  // NULL is fine

// Position in a file that is being read frame by frame.
typedef struct gr_frame_cursor {
  const gr_checkpoint *c;
  const gr_rank_file *file;
  gr_frame_buffers *buffers;  // borrowed
  int fd;
  int64_t offset;      // byte offset of the next frame
  const char *tensor;  // that is being read, for messages; NULL: the header
} gr_frame_cursor;
// Opens the file, at the header. The caller closes fd.
GR_MUST_USE gr_status gr_frame_open(const gr_checkpoint *, const gr_rank_file *, gr_frame_buffers *,
                                    gr_frame_cursor *out);
// Reads the next frame, which expands to `bytes` bytes, into buffers->data, and checks its hash.
GR_MUST_USE gr_status gr_frame_next(gr_frame_cursor *, const gr_frame *, int64_t bytes);
int64_t gr_frame_bytes(int64_t all, int i);  // of the data of frame i of so much data
// The error that a file is damaged where the cursor is: GR_ERR_CHECKPOINT with the file, the tensor
// and what is wrong.
GR_MUST_USE gr_status gr_frame_damaged(const gr_frame_cursor *, const char *what);
