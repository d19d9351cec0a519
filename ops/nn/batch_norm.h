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
// c]; k, [groups, 1]. The strings below have a letter for each.
//
// Checks operand 0, that the groups divide its samples, and the shapes of the other operands.
GR_MUST_USE gr_status gr_channels_operands(const gr_op_call *, int64_t groups, const char *shapes);
void gr_channels_results(gr_op_call *, int64_t groups, const char *shapes);
// The rules of an op with such operands and results, of which statistics and k are sums over rows.
gr_status gr_channels_rules(const gr_op_call *, const char *in, const char *out, gr_sharding_rule *,
                            int *n);
// Converts `groups` to that of a rank: result 0 has the layout `out`.
void gr_channels_localize(int64_t *groups, const gr_layout *out, const gr_mesh *);

// Adds up to `sums` terms for each channel of row `row` of x to at[0..sums c).
typedef void (*gr_channel_terms)(const gr_launch *, const gr_channels *, int64_t row, float *at);
// result k [groups, c] = the sum over the rows of each group of term k. The order of additions
// depends on the shape alone.
void gr_channels_sum(const gr_launch *, const gr_channels *, int sums, gr_channel_terms);
size_t gr_channels_scratch(const gr_channels *, int sums);
// The same on a GPU, by the kernels of channel_sums.cu; `term` is the name that it tests by #ifdef.
void gr_channels_sum_gpu(gr_gpu_call *, const gr_channels *, int sums, const char *term,
                         double eps);
