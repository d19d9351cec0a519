// dot_columns.c - the two sums over rows of the gradient of batch norm, beside the gradient itself:
// an op over rows, which can be a part of the fused node that makes it
// (compiler/passes/spread_norm.c).
#include <string.h>
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/ops.h"

static gr_status dot_columns_cpu(const gr_launch *l) {
  int64_t c = gr_last(l->in_type), n = gr_type_count(l->in_type);
  double *sum = l->scratch, *dot = sum + c;
  if (!l->first) memset(sum, 0, sizeof *sum * 2 * (size_t)c);
  for (int64_t i = 0; i < n; i++) {
    double x = IN(0, i), y = IN(1, i);
    sum[i % c] += y, dot[i % c] += x * y;
    OUT(0, i, y);
  }
  for (int64_t i = 0; i < c; i++) OUT(1, i, sum[i]), OUT(2, i, dot[i]);
  return GR_OK;
}

// Adds rows [begin, end) to the sums; the result may be where y is.
static void add_rows(const gr_launch *l, int64_t begin, int64_t end, float *restrict sum,
                     float *restrict dot) {
  int64_t c = gr_last(l->in_type);
  for (int64_t r = begin; r < end; r++) {
    const float *x = (const float *)l->in[0] + r * c, *y = (const float *)l->in[1] + r * c;
    float *to = (float *)l->out[0] + r * c;
    GR_VECTOR for (int64_t i = 0; i < c; i++) sum[i] += y[i], dot[i] += x[i] * y[i];
    if (to != y) memcpy(to, y, sizeof *to * (size_t)c);
  }
}

static gr_status run_f32(const gr_launch *l) { return gr_run_two_sums(l, add_rows); }

static const gr_case cases[] = {{{"f32[4,6]", "f32[4,6]"}},
                                {{"f32[2,36,37]", "f32[2,36,37]"}},
                                {{"f32[4,6]", "f32[4,5]"}, .fails = "sizes 6 and 5 differ"},
                                {{0}}};

const gr_op gr_op_dot_columns = {
    .name = "dot_columns",
    .doc = "y as it is, and the sums over all rows of y and of x y.",
    .index_spec = "...C,...C->...C,C,C",
    .effort = GR_EFFORT_CHANNEL,
    .cpu = dot_columns_cpu,
    .fast_f32 = run_f32,
    .scratch = gr_two_sums_scratch,
    .row = "x1",
    .column_sums = "x1; x0 * x1",
    .inplace = {2},
    .amp = GR_AMP_WIDE,
    .cases = cases,
};
