// index.h - what a checkpoint's manifest holds, as data and as text.
//
// While it is written, each rank leaves an index of what it wrote; rank 0 joins them into the
// manifest. Both have one form.
#pragma once
#include "base/map.h"
#include "runtime/checkpoint/checkpoint.h"

#define GR_FRAME_BYTES ((int64_t)4 << 20)  // of data in a frame, at most
enum { GR_CHECKPOINT_VERSION = 1, GR_MAX_PACKED = (4 << 20) + (4 << 12) + 64 };

typedef struct gr_frame {
  int64_t packed;  // bytes of the compressed frame
  uint64_t hash;   // of them: gr_hash_bytes
} gr_frame;

typedef struct gr_stored {  // a piece in a file; its slice is not empty
  gr_tensor_slice piece;
  int file;
  uint64_t hash;  // of the data
  int64_t at;     // where its first frame begins in the file
  gr_frame *frames;
  int n_frames;
} gr_stored;

typedef struct gr_rank_file {
  const char *name;
  int64_t bytes, header_bytes;
  gr_frame *header;  // the frames of the safetensors header
  int n_header;
  gr_stored **pieces;  // in the order of the file
  int n_pieces;
} gr_rank_file;

typedef struct gr_index {
  int64_t step;
  int ranks;
  gr_scalar *scalars;
  int n_scalars;
  gr_rank_file *files;
  int n_files;
  gr_tensor_slice *tensors;  // whole; in order of first appearance
  int n_tensors;
  gr_map by_name;     // of tensors
  gr_stored *pieces;  // by tensor
  int *first;         // tensor i has pieces [first[i], first[i + 1])
  int n_pieces;
} gr_index;

// "f32" -> 4, with its name in safetensors; 0: no such type.
int gr_dtype_bytes(const char *dtype, const char **safetensors);
int gr_frames(int64_t bytes);  // that so much data takes

// Sets tensors, by_name, pieces and first. An empty slice makes its tensor known, no more.
// Fails when pieces of a tensor disagree on shape or dtype.
GR_MUST_USE gr_status gr_index_group(gr_arena *, gr_index *, const gr_stored *, int n);
// Every element of every tensor is in exactly one piece.
GR_MUST_USE gr_status gr_index_covers(const gr_index *);
// Sets the files' lists, and checks that the pieces lie in them one after the other.
GR_MUST_USE gr_status gr_index_place(gr_arena *, gr_index *);
// Of the ranks' indices in order of rank; scalars are left out.
GR_MUST_USE gr_status gr_index_join(gr_arena *, const gr_index *parts, int n, gr_index *out);

char *gr_index_print(gr_arena *, const gr_index *, size_t *len);
// `path` is for messages only. Checks all that can be checked without the files.
GR_MUST_USE gr_status gr_index_parse(gr_arena *, const char *path, const char *text, size_t len,
                                     gr_index *out);
GR_MUST_USE gr_status gr_index_read(gr_arena *, const char *path, gr_index *out);
// gr_index_print's text, if it has at most so many bytes and gr_index_parse takes it: what cannot
// be read is not written.
GR_MUST_USE gr_status gr_index_print_readable(gr_arena *, const char *path, const gr_index *,
                                              int64_t most, char **text, size_t *len);

// The head of a safetensors file with these pieces in this order: the length and the JSON.
char *gr_safetensors_head(gr_arena *, gr_stored *const *pieces, int n, size_t *len);
