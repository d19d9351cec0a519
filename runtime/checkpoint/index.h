// index.h - the index of a checkpoint: its tensors, slices, files and hashes, in memory and as
// JSON.
//
// Each rank writes an index of its own file; rank 0 joins them into the manifest. Both have the
// same format (docs/checkpoints.md). All memory is in the caller's arena.
#pragma once
#include "base/map.h"
#include "runtime/checkpoint/checkpoint.h"

#define GR_FRAME_BYTES ((int64_t)4 << 20)  // bytes of data in a zstd frame, at most
// Version 1 has FNV-1a where version 2 has XXH64, and is read, not written.
enum { GR_CHECKPOINT_VERSION = 2, GR_MAX_PACKED = (4 << 20) + (4 << 12) + 64 };

typedef struct gr_frame {
  int64_t packed;  // bytes of the compressed frame
  uint64_t hash;   // of the compressed frame (gr_frame_hash)
} gr_frame;

typedef struct gr_stored {  // a slice that a file holds; not empty
  gr_tensor_slice piece;
  int file;        // index into gr_index.files
  uint64_t hash;   // of the hashes of its frames' data (gr_slice_hash); version 1: of its data
  int64_t offset;  // byte offset of its first frame in the file
  gr_frame *frames;
  int n_frames;
} gr_stored;

typedef struct gr_rank_file {
  const char *name;
  int64_t bytes, header_bytes;
  gr_frame *header;  // the frames of the safetensors header
  int n_header;
  gr_stored **pieces;  // in file order
  int n_pieces;
} gr_rank_file;

typedef struct gr_index {
  int version;  // of its format; set by gr_index_parse
  int64_t step;
  int ranks;
  gr_scalar *scalars;
  int n_scalars;
  gr_rank_file *files;
  int n_files;
  gr_tensor_slice *tensors;  // as whole slices, in order of first appearance
  int n_tensors;
  gr_map by_name;     // name -> index into tensors
  gr_stored *pieces;  // grouped by tensor
  int *first;         // tensor i has pieces [first[i], first[i + 1])
  int n_pieces;
} gr_index;

// Bytes of an element ("f32": 4), and the dtype's name in safetensors ("F32"); 0: unknown dtype.
int gr_dtype_bytes(const char *dtype, const char **safetensors);
int gr_frames(int64_t bytes);  // number of frames for so much data
// The hash of a frame's bytes in a checkpoint of that version.
uint64_t gr_frame_hash(int version, const void *, size_t bytes);
// The hash of a slice from those of the data of its n frames, so that frames can be hashed in any
// order: XXH64 of them, 8 bytes each, the lowest first.
uint64_t gr_slice_hash(gr_arena *, const uint64_t *frames, int n);

// Groups n slices by tensor: sets tensors, by_name, pieces and first. An empty slice declares its
// tensor and adds no piece. Fails when slices of a tensor disagree on shape or dtype.
GR_MUST_USE gr_status gr_index_group(gr_arena *, gr_index *, const gr_stored *, int n);
// Checks that every element of every tensor is in exactly one piece.
GR_MUST_USE gr_status gr_index_covers(const gr_index *);
// Sets the files' lists of pieces, and checks that these fill each file without gaps or overlaps.
GR_MUST_USE gr_status gr_index_place(gr_arena *, gr_index *);
// Joins the ranks' indices, in rank order, without their scalars.
GR_MUST_USE gr_status gr_index_join(gr_arena *, const gr_index *parts, int n, gr_index *out);

// The index as JSON, with a hash of the text as its last member.
char *gr_index_print(gr_arena *, const gr_index *, size_t *len);
// Parses gr_index_print's text and checks everything that can be checked without the files. `path`
// is for messages only. GR_ERR_CHECKPOINT when the text is damaged or of another version.
GR_MUST_USE gr_status gr_index_parse(gr_arena *, const char *path, const char *text, size_t len,
                                     gr_index *out);
// Reads and parses a file.
GR_MUST_USE gr_status gr_index_read(gr_arena *, const char *path, gr_index *out);
// gr_index_print, followed by a check that the text has at most `most` bytes and that
// gr_index_parse accepts it, so that nothing is written that could not be read.
GR_MUST_USE gr_status gr_index_print_readable(gr_arena *, const char *path, const gr_index *,
                                              int64_t most, char **text, size_t *len);

// The header of a safetensors file with these slices in this order: 8 bytes of length and the JSON.
// metadata: members of the object of it, as JSON.
gr_text gr_safetensors_header(gr_arena *, const char *metadata, const gr_tensor_slice *, int n);
gr_text gr_safetensors_head(gr_arena *, const gr_tensor_slice *, int n);  // graphrun's own
gr_text gr_stored_head(gr_arena *, gr_stored *const *pieces, int n);      // of a checkpoint's file
