// channel_moments.c - sums and squares of each channel in one reading of x, for GPUs (the pass
// `moments`): channel_sums, and what channel_squares needs of x once the mean of all ranks is
// known.
//
//   channel_moments   x [n, ..., c], w [n] -> sum and count, as channel_sums, and the squares
//                     [groups, c], the sum of w (x - m)^2 about the mean m = sum / count of these
//                     rows
//   channel_shift     sums and squares [groups, c], counts [groups, 1], mean [1, c] -> [1, c], the
//   sum
//                     over groups of squares + count (sum / count - mean)^2: that of w (x - mean)^2
#include <string.h>
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/operands.h"
#include "ops/nn/batch_norm.h"
#include "ops/ops.h"

typedef struct channel_moments {
  int64_t groups;
} channel_moments;

GR_CU(channel_moments);

static int64_t groups_of(const void *attr) { return ((const channel_moments *)attr)->groups; }

static gr_status infer(gr_op_call *s) {
  GR_TRY(gr_channels_operands(s, groups_of(s->attr), "xn"));
  s->n_out = 3;
  gr_channels_results(s, groups_of(s->attr), "sks");
  return GR_OK;
}

// Squares about the means of parts of the rows do not add up: samples may be split where each rank
// has whole groups.
static gr_status rules(const gr_op_call *s, gr_sharding_rule *rule, int *n) {
  bool several = s->out[0].dim[0] > 1;
  memset(rule, GR_REPLICATE, 3 * sizeof *rule);
  rule[1].in[0] = (gr_axis_placement)(s->in[0].rank - 1), rule[1].out[0] = rule[1].out[2] = 1;
  if (several) rule[2].in[0] = rule[2].in[1] = rule[2].out[0] = rule[2].out[1] = rule[2].out[2] = 0;
  *n = 2 + several;
  return GR_OK;
}

static void localize(void *attr, const gr_layout *out, const gr_mesh *m) {
  gr_channels_localize(&((channel_moments *)attr)->groups, out, m);
}

static gr_status channel_moments_cpu(const gr_launch *l) {
  gr_channels g = gr_channels_of(l->in_type, groups_of(l->attr));
  int64_t rows = g.samples * g.rows;
  for (int64_t i = 0; i < g.groups * g.c; i++) {
    double sum = 0, count = 0, squares = 0;
    for (int64_t r = i / g.c * rows; r < (i / g.c + 1) * rows; r++)
      sum += IN(1, r / g.rows) * IN(0, r * g.c + i % g.c), count += IN(1, r / g.rows);
    double mean = count > 0 ? sum / count : 0;
    for (int64_t r = i / g.c * rows; r < (i / g.c + 1) * rows; r++) {
      double d = IN(0, r * g.c + i % g.c) - mean;
      squares += IN(1, r / g.rows) * d * d;
    }
    OUT(0, i, sum), OUT(1, i / g.c, count), OUT(2, i, squares);
  }
  return GR_OK;
}

static gr_status gpu(gr_gpu_call *g) {
  enum { PIECES = 256, LEAST_ROWS = 32 };
  gr_channels of = gr_channels_of(g->call->in, groups_of(g->call->attr));
  int64_t rows = of.samples * of.rows, tiles = (of.c + 31) / 32;
  int64_t piece = gr_max_i64(LEAST_ROWS, (rows + PIECES - 1) / PIECES);
  int64_t pieces = (rows + piece - 1) / piece, columns = of.groups * of.c;
  gr_gpu_take_scratch(g, (size_t)(3 * columns * pieces) * gr_gpu_wide(g->call->in[0].dtype));
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_channel_moments, "moment_pieces",
                                       of.groups * pieces * tiles * 256, 256);
  gr_gpu_int(k, rows), gr_gpu_int(k, of.c), gr_gpu_int(k, of.rows), gr_gpu_int(k, piece);
  gr_gpu_int(k, pieces);
  const char *source = k->source, *defines = k->defines;
  k = gr_gpu_kernel_add(g, source, "moment_totals", gr_gpu_items(columns), GR_GPU_BLOCK);
  k->defines = defines;
  gr_gpu_int(k, of.groups), gr_gpu_int(k, of.c), gr_gpu_int(k, pieces);
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_ATTR(channel_moments, groups, GR_ATTR_INT, "1", "number of equal parts of the batch"), {0}};
static const channel_moments one = {1}, two = {2};
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4]"}, .attr = &one, .fill = "cp"},
    {{"f32[6,5,3,7]", "f32[6]"}, .attr = &one, .fill = "cm"},
    {{"f32[12,2,6]", "f32[12]"}, .attr = &two, .fill = "cp"},
    {{"f32[2,3,130]", "f32[2]"}, .attr = &one, .fill = "cz"},
    {{"f32[4,6]", "f32[6]"}, .attr = &one, .fails = "is f32[6], not f32[4]"},
    {{0}}};

const gr_op gr_op_channel_moments = {
    .name = "channel_moments",
    .doc =
        "For each of `groups` parts of the batch: the sums of w x over the rows of x [n, ..., c] "
        "and of w, and that of w (x - m)^2 about the mean m of these rows.",
    .effort = GR_EFFORT_CHANNEL,
    .n_in = 2,
    .n_out = 3,
    .attr_size = sizeof(channel_moments),
    .attrs = attrs,
    .infer = infer,
    .sharding_rules = rules,
    .localize = localize,
    .cpu = channel_moments_cpu,
    .gpu = gpu,
    .amp = GR_AMP_FIRST,
    .cases = cases,
};

// ---- Squares about another mean -----------------------------------------------------------------

static gr_status shift_infer(gr_op_call *s) {
  const gr_type *t = s->in;
  gr_type count = {t->dtype, 2, {t->dim[0], 1}}, mean = {t->dtype, 2, {1, t->dim[1]}};
  if (t->rank != 2 || !gr_type_same(&s->in[1], &count) || !gr_type_same(t, &s->in[2]) ||
      !gr_type_same(&s->in[3], &mean))
    return gr_fail(
        GR_ERR_TYPE, s->loc,
        "'channel_shift' takes sums [g, c], counts [g, 1], squares [g, c], a mean [1, c]");
  GR_TRY(gr_require_float(s, 0, "sum"));
  s->out[0] = mean;
  return GR_OK;
}

static void add_rule(gr_sharding_rule *rule, int *n, int sums, int count, int mean, int out) {
  gr_sharding_rule *r = &rule[(*n)++];
  r->in[0] = r->in[2] = (gr_axis_placement)sums, r->out[0] = (gr_axis_placement)out;
  r->in[1] = (gr_axis_placement)count, r->in[3] = (gr_axis_placement)mean;
}

// Whole, by groups, or by channels.
static gr_status shift_rules(const gr_op_call *s, gr_sharding_rule *rule, int *n) {
  (void)s;
  *n = 0;
  add_rule(rule, n, GR_REPLICATE, GR_REPLICATE, GR_REPLICATE, GR_REPLICATE);
  add_rule(rule, n, 0, 0, GR_REPLICATE, GR_PARTIAL);
  add_rule(rule, n, 1, GR_REPLICATE, 1, 1);
  return GR_OK;
}

static gr_status channel_shift_cpu(const gr_launch *l) {
  int64_t c = gr_last(l->in_type), groups = l->in_type->dim[0];
  for (int64_t k = 0; k < c; k++) {
    double total = 0;
    for (int64_t g = 0; g < groups; g++) {
      double count = IN(1, g), d = count > 0 ? IN(0, g * c + k) / count - IN(3, k) : 0;
      total += IN(2, g * c + k) + count * d * d;
    }
    OUT(0, k, total);
  }
  return GR_OK;
}

static gr_status shift_gpu(gr_gpu_call *g) {
  gr_gpu_kernel *k = gr_gpu_elements(g, gr_cu_channel_moments, "channel_shift");
  gr_gpu_define(g, k, "SHIFT", "1");
  gr_gpu_int(k, g->call->in[0].dim[0]);
  return GR_OK;
}

static const gr_case shift_cases[] = {
    {{"f32[1,6]", "f32[1,1]", "f32[1,6]", "f32[1,6]"}, .fill = "npnn"},
    {{"f32[4,40]", "f32[4,1]", "f32[4,40]", "f32[1,40]"}, .fill = "nmnn"},
    {{"f32[3,40]", "f32[3,1]", "f32[3,40]", "f32[3,40]"}, .fails = "takes sums"},
    {{0}}};

const gr_op gr_op_channel_shift = {
    .name = "channel_shift",
    .doc =
        "The sum over groups of squares + count (sum / count - mean)^2: that of w (x - mean)^2, "
        "from "
        "what channel_moments gives.",
    .effort = GR_EFFORT_CHANNEL,
    .n_in = 4,
    .n_out = 1,
    .infer = shift_infer,
    .sharding_rules = shift_rules,
    .cpu = channel_shift_cpu,
    .gpu = shift_gpu,
    .amp = GR_AMP_WIDE,
    .cases = shift_cases,
};
