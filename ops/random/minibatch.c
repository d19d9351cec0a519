// minibatch.c - a minibatch of the rows of a value, other ones in each run.
//
// The N rows of x are `of` blocks of M = N / of consecutive rows. Row b of a minibatch is one of
// block b, so that a rank that has some blocks selects from its own rows, and a pass of M runs has
// every row once. The order in which a pass takes the rows of a block is a permutation that depends
// only on (seed, stream, pass, block): a Feistel network over the smallest even number of bits that
// holds M, whose results beyond M are mapped again until one is below it (cycle walking: Black and
// Rogaway, "Ciphers with arbitrary finite domains", 2002). It gives one row at a time, without the
// others.
//
// With `parts` a run gives one part of a minibatch of parts * of rows, and takes as many runs: part
// k has the rows of blocks k, k + parts, k + 2 parts, ..., so that a rank still selects from its
// own.
#include "base/rng.h"
#include "ops/kernels/gpu.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

enum { ROUNDS = 6, MAX_BITS = 15 };  // of each half: at most 2^30 rows in a block

struct minibatch {
  int64_t of, seed;
  uint64_t stream;
  int64_t parts;
};

static int64_t blocks(const struct minibatch *a) { return a->of * a->parts; }

static gr_status infer(gr_op_call *s) {
  const struct minibatch *a = s->attr;
  GR_TRY(gr_require_ints(s, 1, "runs"));
  if (a->parts < 1) return gr_fail(GR_ERR_TYPE, s->loc, "a minibatch has at least one part");
  if (!s->in[0].rank || a->of < 1 || s->in[0].dim[0] % blocks(a))
    return gr_hint(gr_fail(GR_ERR_TYPE, s->loc,
                           "%lld rows are no whole number of minibatches of "
                           "%lld",
                           s->in[0].rank ? (long long)s->in[0].dim[0] : 0, (long long)blocks(a)),
                   "a number of rows that divides them");
  if (s->in[0].dim[0] / blocks(a) > INT64_C(1) << (2 * MAX_BITS))
    return gr_fail(GR_ERR_UNSUPPORTED, s->loc, "more than 2^%d minibatches", 2 * MAX_BITS);
  s->out[0] = s->in[0];
  s->out[0].dim[0] = a->of;
  return GR_OK;
}

// Rows are split over ranks by blocks.
static gr_status rules(const gr_op_call *s, gr_sharding_rule *rule, int *out_n) {
  (void)s;
  for (int i = 0; i < 2; i++) memset(&rule[i], GR_REPLICATE, sizeof *rule);
  rule[1].in[0] = rule[1].out[0] = 0;
  *out_n = 2;
  return GR_OK;
}

static void localize(void *attr, const gr_layout *out, const gr_mesh *m) {
  for (int a = 0; a < m->n_axes; a++)
    if (out->placement[a] == 0) ((struct minibatch *)attr)->of /= m->axis[a].size;
}

gr_val gr_minibatch(gr_builder *b, gr_val x, gr_val runs, int64_t of, int64_t seed, uint64_t stream,
                    int64_t parts) {
  const struct minibatch a = {of, seed, stream, parts};
  return GR_EMIT(b, &gr_op_minibatch, &a, x, runs);
}

// Bits of half an index of a block.
static int half_bits(int64_t rows) {
  int bits = 0;
  while (INT64_C(1) << (2 * bits) < rows) bits++;
  return bits;
}

// The position in block b of its row number `row` of a pass. `key` is that of seed and stream.
static int64_t permuted(uint64_t key, int64_t pass, int64_t b, int64_t rows, int bits,
                        int64_t row) {
  uint32_t word[4], mask = (UINT32_C(1) << bits) - 1;
  do {
    uint32_t left = (uint32_t)(row >> bits), right = (uint32_t)row & mask;
    for (int r = 0; r < ROUNDS; r++) {
      gr_philox(key, (uint64_t)(b * ROUNDS + r) << MAX_BITS | right, (uint64_t)pass, word);
      uint32_t next = left ^ (word[0] & mask);
      left = right, right = next;
    }
    row = (int64_t)left << bits | right;
  } while (row >= rows);
  return row;
}

static uint64_t key_of(const struct minibatch *a) {
  return gr_rng_key(&(gr_rng){.seed = (uint64_t)a->seed, .stream = a->stream});
}

static void select(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  const struct minibatch *a = l->attr;
  int64_t rows = l->in_type[0].dim[0] / blocks(a), width = gr_type_count(l->out_type) / a->of;
  int64_t number = (uint32_t)(int32_t)gr_get(l->in[1], l->in_type[1].dtype, 0);
  int64_t part = number % a->parts, run = number / a->parts, pass = run / rows;
  size_t bytes = gr_type_bytes(l->out_type) / (size_t)a->of;
  int bits = half_bits(rows);
  uint64_t key = key_of(a);
  for (int64_t i = begin; i < end; i++) {
    int64_t block = gr_global_index(l, 0, i * width) / width * a->parts + part;
    int64_t row =
        (i * a->parts + part) * rows + permuted(key, pass, block, rows, bits, run - pass * rows);
    memcpy((char *)l->out[0] + (size_t)i * bytes, (const char *)l->in[0] + (size_t)row * bytes,
           bytes);
  }
}

static gr_status minibatch_cpu(const gr_launch *l) {
  const struct minibatch *a = l->attr;
  gr_parallel(l, a->of, 16, select, (void *)l);
  return GR_OK;
}

GR_CU(minibatch);

static gr_status gpu(gr_gpu_call *g) {
  const struct minibatch *a = g->call->attr;
  int64_t rows = g->call->in[0].dim[0] / blocks(a), width = gr_type_count(g->call->out) / a->of;
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_minibatch, "minibatch",
                                       gr_gpu_items(a->of * GR_GPU_BLOCK), GR_GPU_BLOCK);
  gr_gpu_int(k, a->of), gr_gpu_int(k, rows), gr_gpu_int(k, width);
  gr_gpu_int(k, half_bits(rows)), gr_gpu_int(k, (int64_t)key_of(a)), gr_gpu_int(k, a->parts);
  gr_gpu_global_of(g, k, &(gr_type){GR_I32, 1, {a->of}});
  gr_gpu_define(g, k, "ROUNDS", "%d", ROUNDS);
  gr_gpu_define(g, k, "MAX_BITS", "%d", MAX_BITS);
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_ATTR(struct minibatch, of, GR_ATTR_INT, NULL, "rows of a minibatch"),
    GR_ATTR(struct minibatch, seed, GR_ATTR_INT, "0", "seed of the random numbers"),
    GR_ATTR(struct minibatch, stream, GR_ATTR_STREAM, "minibatch", "name of the random stream"),
    GR_ATTR(struct minibatch, parts, GR_ATTR_INT, "1",
            "number of runs that a minibatch takes, each of which gives a part of it"),
    {0}};
static const gr_case cases[] = {
    {{"f32[24,3]", "i32[]"}, .attr = &(struct minibatch){6, 1, 2, 1}, .fill = "ni"},
    {{"f32[24,3]", "i32[]"}, .attr = &(struct minibatch){4, 1, 2, 3}, .fill = "ni"},
    {{"i32[30]", "i32[]"}, .attr = &(struct minibatch){6, 1, 2, 1}, .fill = "ii"},
    {{"f32[12,2,5]", "i32[]"}, .attr = &(struct minibatch){12, 1, 2, 1}, .fill = "ni"},
    {{"f32[24,3]", "i32[]"}, .attr = &(struct minibatch){5, 1, 2, 1}, .fails = "no whole number"},
    {{"f32[24,3]", "f32[]"}, .attr = &(struct minibatch){6, 1, 2, 1}, .fails = "runs"},
    {{0}},
};

const gr_op gr_op_minibatch = {
    .name = "minibatch",
    .doc =
        "A minibatch of `of` rows of x: row b is one of block b of x's rows, another one in "
        "each run, until all were taken.",
    .efforts = gr_moves_result,
    .n_in = 2,
    .n_out = 1,
    .attr_size = sizeof(struct minibatch),
    .attrs = attrs,
    .infer = infer,
    .sharding_rules = rules,
    .localize = localize,
    .random = true,
    .cpu = minibatch_cpu,
    .gpu = gpu,
    .cases = cases,
};
