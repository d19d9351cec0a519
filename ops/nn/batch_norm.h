// batch_norm.h - what the ops of batch normalisation share: the view of x [n, ..., c] as groups of
// samples, of `rows` rows of c channels each, and sums over the rows of a group.
//
// Statistics are those of each of `groups` equal parts of the batch: [groups, c]. One group is the
// whole batch; if it is split over ranks, its sums are partial. With a group for each rank a rank's
// sums are complete.
#pragma once
#include "ops/kernels/gpu.h"
#include "ops/kernels/operands.h"

typedef struct gr_batch_norm {
  double eps;
  int64_t groups;
} gr_batch_norm;

typedef struct gr_channels {
  int64_t groups, samples, rows, c;  // samples of a group, rows of a sample
} gr_channels;
// The view of x, of which `groups` divide the samples.
static inline gr_channels gr_channels_of(const gr_type *x, int64_t groups) {
  gr_channels g = {groups, x->dim[0] / groups, 1, x->dim[x->rank - 1]};
  g.rows = gr_type_count(x) / (x->dim[0] * g.c);
  return g;
}

// Shapes of operands and results by letter: x, as operand 0; c, [c]; n, [n]; s, statistics [groups,
// c]; k, [groups, 1]. The strings below have a letter for each. What is like x has its dtype, which
// may be narrow; all others are then f32.
//
// Checks operand 0, that the groups divide its samples, and the shapes of the other operands.
GR_MUST_USE gr_status gr_channels_operands(const gr_op_call *, int64_t groups, const char *shapes);
// Sets the types of all results by their letters.
void gr_channels_results(gr_op_call *, int64_t groups, const char *shapes);
// The rules of an op with such operands and results, of which statistics and k are sums over rows.
gr_status gr_channels_rules(const gr_op_call *, const char *in, const char *out, gr_sharding_rule *,
                            int *n);
// Converts `groups` to that of a rank: result 0 has the layout `out`.
void gr_channels_localize(int64_t *groups, const gr_layout *out, const gr_mesh *);

// ---- The same by other ops, for gradients of gradients (batch_norm_second.c)

// Rules of gr_op.grad for batch_norm_grad, batch_norm_sums, channel_sums and channel_squares.
void gr_batch_norm_second(const gr_grad *);
void gr_batch_norm_sums_second(const gr_grad *);  // see above
void gr_channel_sums_grad(const gr_grad *);       // see above
void gr_channel_squares_grad(const gr_grad *);    // see above

// ---- A tile at once, on CPUs: loops over few channels are slow.

enum { GR_CHANNELS_TILE = 128 };  // numbers
// Whole rows of one sample that follow each other, as many as fill a tile; or, where a row is
// longer than a tile, a part of it, which begins at a channel.
typedef struct gr_channel_tile {
  int64_t first, n;  // elements
  int64_t channel, sample, group;
} gr_channel_tile;
// That which begins at element `first` and ends at or before element `end`.
gr_channel_tile gr_channels_tile(const gr_channels *, int64_t first, int64_t end);
// The c numbers `of` for each of a tile's rows: `tile` filled with them again and again, or `of`
// itself if a tile is at most one row.
const float *gr_channels_repeat(const gr_channels *, const float *of, float tile[GR_CHANNELS_TILE]);
// The elements of a value like x as f32: where they are, or converted in `room`.
const float *gr_channels_read(const gr_type *, const void *x, const gr_channel_tile *,
                              float room[GR_CHANNELS_TILE]);
// Where their f32 values are to be written: in y, or in `room`, from where gr_channels_store takes
// and rounds them.
float *gr_channels_place(const gr_type *, void *y, const gr_channel_tile *,
                         float room[GR_CHANNELS_TILE]);
// Stores what was written.
void gr_channels_store(const gr_type *, void *y, const gr_channel_tile *,
                       const float room[GR_CHANNELS_TILE]);

// Adds term k of a tile's n numbers to sums[k width], ..., sums[k width + n - 1]. mean: of each.
typedef struct gr_channel_sum {
  float *sums;
  int64_t width;
  const float *mean;
} gr_channel_sum;
typedef void (*gr_channel_terms)(const gr_launch *, const gr_channel_tile *,
                                 const gr_channel_sum *);
// result k [groups, c] = the sum over the rows of each group of term k. mean [groups, c], or NULL.
// The order of additions depends on the shape alone.
void gr_channels_sum(const gr_launch *, const gr_channels *, int sums, const float *mean,
                     gr_channel_terms);
// Bytes of scratch memory that gr_channels_sum needs for so many sums.
size_t gr_channels_scratch(const gr_channels *, int sums);
// The same on a GPU, by the kernels of channel_sums.cu; `term` is the name that it tests by #ifdef.
void gr_channels_sum_gpu(gr_gpu_call *, const gr_channels *, int sums, const char *term,
                         double eps);
// gr_op.from_onnx of batch_norm, and gr_op.to_onnx.
void gr_batch_norm_read(gr_onnx_reading *);
void gr_batch_norm_onnx(gr_onnx_call *);  // x, mean, var, scale, bias
