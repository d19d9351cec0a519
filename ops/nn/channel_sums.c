// channel_sums.c - sums over the batch for each channel: what mean and variance of batch norm are
// computed from. `w` is 1 for a sample and 0 for padding (sample_weight in the graph language).
//
//   x [n, ..., c], w [n] -> sum [groups, c] of w x, count [groups, 1] of w
//   x [n, ..., c], w [n], mean [groups, c] -> [groups, c], the sum of w (x - mean)^2
//
// The squares are those of x - mean, in a second pass: mean(x^2) - mean(x)^2 cancels if the mean is
// large. batch_norm's gradient takes it into account that its statistics are of x, so that none
// flows here from it; one flows from that gradient, where it is differentiated.
#include "ops/kernels/rows.h"
#include "ops/nn/batch_norm.h"
#include "ops/ops.h"

typedef struct channel_sums {
  int64_t groups;
} channel_sums;

static int64_t groups_of(const void *attr) { return ((const channel_sums *)attr)->groups; }

static gr_status infer(gr_op_call *s) {
  GR_TRY(gr_channels_operands(s, groups_of(s->attr), "xn"));
  s->n_out = 2;
  gr_channels_results(s, groups_of(s->attr), "sk");
  return GR_OK;
}

static gr_status rules(const gr_op_call *s, gr_sharding_rule *rule, int *n) {
  return gr_channels_rules(s, "xn", "sk", rule, n);
}

static void localize(void *attr, const gr_layout *out, const gr_mesh *m) {
  gr_channels_localize(&((channel_sums *)attr)->groups, out, m);
}

static void put_counts(const gr_launch *l, const gr_channels *g) {
  for (int64_t group = 0; group < g->groups; group++) {
    double count = 0;
    for (int64_t i = 0; i < g->samples; i++) count += IN(1, group * g->samples + i);
    OUT(1, group, count * (double)g->rows);
  }
}

static gr_status channel_sums_cpu(const gr_launch *l) {
  gr_channels g = gr_channels_of(l->in_type, groups_of(l->attr));
  int64_t rows = g.samples * g.rows;
  for (int64_t group = 0; group < g.groups; group++)
    for (int64_t i = 0; i < g.c; i++) {
      double sum = 0;
      for (int64_t r = group * rows; r < (group + 1) * rows; r++)
        sum += IN(1, r / g.rows) * IN(0, r * g.c + i);
      OUT(0, group * g.c + i, sum);
    }
  put_counts(l, &g);
  return GR_OK;
}

static void weighted(const gr_launch *l, const gr_channel_tile *t, const gr_channel_sum *to) {
  float room[GR_CHANNELS_TILE], w = ((const float *)l->in[1])[t->sample], *sums = to->sums;
  const float *x = gr_channels_read(l->in_type, l->in[0], t, room);
  GR_VECTOR for (int64_t i = 0; i < t->n; i++) sums[i] += w * x[i];
}

static gr_status run_fast(const gr_launch *l) {
  gr_channels g = gr_channels_of(l->in_type, groups_of(l->attr));
  gr_channels_sum(l, &g, 1, NULL, weighted);
  put_counts(l, &g);
  return GR_OK;
}

static size_t scratch(const gr_op_call *s) {
  gr_channels g = gr_channels_of(s->in, groups_of(s->attr));
  return gr_is_up_to_f32(s) ? gr_channels_scratch(&g, 1) : 0;
}

GR_CU(batch_norm);

static gr_status gpu(gr_gpu_call *g) {
  gr_channels of = gr_channels_of(g->call->in, groups_of(g->call->attr));
  gr_channels_sum_gpu(g, &of, 1, "WEIGHTED", 0);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_batch_norm, "channel_counts", of.groups * 256, 256);
  gr_gpu_define(g, k, "COUNTS", "1");
  gr_gpu_int(k, of.samples), gr_gpu_int(k, of.rows);
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_ATTR(channel_sums, groups, GR_ATTR_INT, "1", "number of equal parts of the batch"), {0}};
static const channel_sums one = {1}, two = {2};
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4]"}, .attr = &one, .fill = "np"},
    {{"f32[6,5,3,7]", "f32[6]"}, .attr = &one, .fill = "cm"},
    {{"f32[12,2,6]", "f32[12]"}, .attr = &two, .fill = "np"},
    {{"f32[4,300,3]", "f32[4]"}, .attr = &two, .fill = "cm"},
    {{"f32[2,3,130]", "f32[2]"}, .attr = &one, .fill = "cm"},
    {{"f32[5,6]", "f32[5]"}, .attr = &two, .fails = "5 samples cannot be divided into 2 groups"},
    {{"f32[4,6]", "f32[6]"},
     .attr = &one,
     .fails = "operand 2 of 'channel_sums' is f32[6], not f32[4]"},
    {{"f32[4]", "f32[4]"}, .attr = &one, .fails = "of at least 2 axes"},
    {{0}}};

const gr_op gr_op_channel_sums = {
    .name = "channel_sums",
    .doc =
        "For each of `groups` parts of the batch: the sums of w x over the rows of x [n, ..., c], "
        "[groups, c], and of w, [groups, 1].",
    .effort = GR_EFFORT_CHANNEL,
    .n_in = 2,
    .n_out = 2,
    .attr_size = sizeof(channel_sums),
    .attrs = attrs,
    .infer = infer,
    .sharding_rules = rules,
    .localize = localize,
    .grad = gr_channel_sums_grad,
    .cpu = channel_sums_cpu,
    .fast_f32 = run_fast,
    .fast_narrow = run_fast,
    .scratch = scratch,
    .gpu = gpu,
    .amp = GR_AMP_FIRST,
    .cases = cases,
};

// ---- Squares ------------------------------------------------------------------------------------

static gr_status squares_infer(gr_op_call *s) {
  GR_TRY(gr_channels_operands(s, groups_of(s->attr), "xns"));
  s->n_out = 1;
  gr_channels_results(s, groups_of(s->attr), "s");
  return GR_OK;
}

static gr_status squares_rules(const gr_op_call *s, gr_sharding_rule *rule, int *n) {
  return gr_channels_rules(s, "xns", "s", rule, n);
}

static gr_status squares_cpu(const gr_launch *l) {
  gr_channels g = gr_channels_of(l->in_type, groups_of(l->attr));
  int64_t rows = g.samples * g.rows;
  for (int64_t group = 0; group < g.groups; group++)
    for (int64_t i = 0; i < g.c; i++) {
      double sum = 0, mean = IN(2, group * g.c + i);
      for (int64_t r = group * rows; r < (group + 1) * rows; r++)
        sum += IN(1, r / g.rows) * (IN(0, r * g.c + i) - mean) * (IN(0, r * g.c + i) - mean);
      OUT(0, group * g.c + i, sum);
    }
  return GR_OK;
}

static void spread(const gr_launch *l, const gr_channel_tile *t, const gr_channel_sum *to) {
  float room[GR_CHANNELS_TILE], w = ((const float *)l->in[1])[t->sample], *sums = to->sums;
  const float *x = gr_channels_read(l->in_type, l->in[0], t, room), *mean = to->mean;
  GR_VECTOR for (int64_t i = 0; i < t->n; i++) sums[i] += w * (x[i] - mean[i]) * (x[i] - mean[i]);
}

static gr_status squares_run(const gr_launch *l) {
  gr_channels g = gr_channels_of(l->in_type, groups_of(l->attr));
  gr_channels_sum(l, &g, 1, l->in[2], spread);
  return GR_OK;
}

static gr_status squares_gpu(gr_gpu_call *g) {
  gr_channels of = gr_channels_of(g->call->in, groups_of(g->call->attr));
  gr_channels_sum_gpu(g, &of, 1, "SPREAD", 0);
  return GR_OK;
}

static const gr_case squares_cases[] = {
    {{"f32[4,6]", "f32[4]", "f32[1,6]"}, .attr = &one, .fill = "npn"},
    {{"f32[6,5,3,7]", "f32[6]", "f32[1,7]"}, .attr = &one, .fill = "cmc"},
    {{"f32[12,2,6]", "f32[12]", "f32[2,6]"}, .attr = &two, .fill = "npn"},
    {{"f32[2,3,130]", "f32[2]", "f32[1,130]"}, .attr = &one, .fill = "cmc"},
    {{"f32[4,6]", "f32[4]", "f32[6]"}, .attr = &one, .fails = "is f32[6], not f32[1,6]"},
    {{0}}};

const gr_op gr_op_channel_squares = {
    .name = "channel_squares",
    .doc =
        "For each of `groups` parts of the batch: the sum of w (x - mean)^2 over the rows of x [n, "
        "..., c], [groups, c].",
    .effort = GR_EFFORT_CHANNEL,
    .n_in = 3,
    .n_out = 1,
    .attr_size = sizeof(channel_sums),
    .attrs = attrs,
    .infer = squares_infer,
    .sharding_rules = squares_rules,
    .localize = localize,
    .grad = gr_channel_squares_grad,
    .cpu = squares_cpu,
    .fast_f32 = squares_run,
    .fast_narrow = squares_run,
    .scratch = scratch,
    .gpu = squares_gpu,
    .amp = GR_AMP_FIRST,
    .cases = squares_cases,
};
