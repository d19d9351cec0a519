// rows.h - reductions of rows of n floats. Each keeps sixteen running sums: compilers vectorise
// them, and the order of additions is the same on every processor.
#pragma once
#include "ops/kernels/fastmath.h"

enum { GR_LANES = 16 };

// The sum of the sixteen running sums, as a tree.
static inline float gr_lanes_sum(const float s[GR_LANES]) {
  float t[GR_LANES / 2];
  for (int e = 0; e < 8; e++) t[e] = s[e] + s[e + 8];
  return ((t[0] + t[4]) + (t[2] + t[6])) + ((t[1] + t[5]) + (t[3] + t[7]));
}

// sum(x)
static inline float gr_sum_f32(const float *x, int64_t n) {
  float s[GR_LANES] = {0};
  int64_t i = 0;
  for (; i + GR_LANES <= n; i += GR_LANES)
    for (int e = 0; e < GR_LANES; e++) s[e] += x[i + e];
  for (int e = 0; i < n; i++, e++) s[e] += x[i];
  return gr_lanes_sum(s);
}

// sum(x y)
static inline float gr_dot_f32(const float *x, const float *y, int64_t n) {
  float s[GR_LANES] = {0};
  int64_t i = 0;
  for (; i + GR_LANES <= n; i += GR_LANES)
    for (int e = 0; e < GR_LANES; e++) s[e] += x[i + e] * y[i + e];
  for (int e = 0; i < n; i++, e++) s[e] += x[i] * y[i];
  return gr_lanes_sum(s);
}

// sum((x - mean)^2)
static inline float gr_spread_f32(const float *x, float mean, int64_t n) {
  float s[GR_LANES] = {0};
  int64_t i = 0;
  for (; i + GR_LANES <= n; i += GR_LANES)
    for (int e = 0; e < GR_LANES; e++) s[e] += (x[i + e] - mean) * (x[i + e] - mean);
  for (int e = 0; i < n; i++, e++) s[e] += (x[i] - mean) * (x[i] - mean);
  return gr_lanes_sum(s);
}

// sum((x - y)^2)
static inline float gr_apart_f32(const float *x, const float *y, int64_t n) {
  float s[GR_LANES] = {0};
  int64_t i = 0;
  for (; i + GR_LANES <= n; i += GR_LANES)
    for (int e = 0; e < GR_LANES; e++) s[e] += (x[i + e] - y[i + e]) * (x[i + e] - y[i + e]);
  for (int e = 0; i < n; i++, e++) s[e] += (x[i] - y[i]) * (x[i] - y[i]);
  return gr_lanes_sum(s);
}

// The largest of the sixteen, as a tree; none is NaN.
static inline float gr_lanes_top(const float s[GR_LANES]) {
  float t[GR_LANES / 2];
  for (int e = 0; e < 8; e++) t[e] = s[e + 8] > s[e] ? s[e + 8] : s[e];
  for (int e = 0; e < 4; e++) t[e] = t[e + 4] > t[e] ? t[e + 4] : t[e];
  for (int e = 0; e < 2; e++) t[e] = t[e + 2] > t[e] ? t[e + 2] : t[e];
  return t[1] > t[0] ? t[1] : t[0];
}

// max(x); NaN elements are ignored.
static inline float gr_top_f32(const float *x, int64_t n) {
  float s[GR_LANES];
  for (int e = 0; e < GR_LANES; e++) s[e] = -INFINITY;
  int64_t i = 0;
  for (; i + GR_LANES <= n; i += GR_LANES)
    for (int e = 0; e < GR_LANES; e++) s[e] = x[i + e] > s[e] ? x[i + e] : s[e];
  for (int e = 0; i < n; i++, e++) s[e] = x[i] > s[e] ? x[i] : s[e];
  return gr_lanes_top(s);
}

// The index of the first of the largest of n > 0 numbers; NaN is larger than none, and none is
// larger than a NaN that is the first.
static inline int64_t gr_first_top_f32(const float *x, int64_t n) {
  float top = gr_top_f32(x, n);
  int64_t i = 0;
  if (isnan(x[0])) return 0;
  for (int found = 0; i + GR_LANES <= n; i += GR_LANES) {
    for (int e = 0; e < GR_LANES; e++) found |= x[i + e] == top;
    if (found) break;
  }
  while (x[i] < top || isnan(x[i])) i++;
  return i;
}

// Writes y = exp(x - max(x)) and returns 1 / sum(y). A row of only -inf gives NaN.
static inline float gr_exp_row(const float *x, float *y, int64_t n) {
  float top = gr_top_f32(x, n);
  GR_VECTOR for (int64_t i = 0; i < n; i++) y[i] = gr_exp_f32(x[i] - top);
  return 1 / gr_sum_f32(y, n);
}

// log(sum(exp(x)))
static inline float gr_log_sum_exp_f32(const float *x, int64_t n) {
  float top = gr_top_f32(x, n), s[GR_LANES] = {0};
  int64_t i = 0;
  for (; i + GR_LANES <= n; i += GR_LANES)
    for (int e = 0; e < GR_LANES; e++) s[e] += gr_exp_f32(x[i + e] - top);
  for (int e = 0; i < n; i++, e++) s[e] += gr_exp_f32(x[i] - top);
  return top + logf(gr_lanes_sum(s));
}

// Sums over all rows are computed in chunks of rows, whose number and size follow from the rows
// alone, and then added in order: the result does not depend on the number of threads.
enum { GR_MOST_ROW_CHUNKS = 64, GR_LEAST_CHUNK_ROWS = 16 };
// Rows of a chunk; the last chunk may have fewer.
static inline int64_t gr_chunk_rows(int64_t rows) {
  int64_t n = (rows + GR_MOST_ROW_CHUNKS - 1) / GR_MOST_ROW_CHUNKS;
  return n > GR_LEAST_CHUNK_ROWS ? n : GR_LEAST_CHUNK_ROWS;
}
// The number of chunks.
static inline int64_t gr_row_chunks(int64_t rows) {
  return (rows + gr_chunk_rows(rows) - 1) / gr_chunk_rows(rows);
}
// Adds the sums of all chunks, n of each, to those of the first.
static inline void gr_add_chunks(float *restrict sums, int64_t chunks, int64_t n) {
  for (int64_t k = 1; k < chunks; k++)
    for (int64_t i = 0; i < n; i++) sums[i] += sums[k * n + i];
}

// Rows per chunk of parallel work, for a few tens of microseconds each.
static inline int64_t gr_row_grain(int64_t row) { return 1 + 16384 / (row + 1); }
