// test_canonical.c - canonical numerics: after some steps the weights are the same bits on 1, 2, 4
// and 8 ranks, by every strategy and however many collectives are joined, and they are those of the
// binary tree; what would depend on the number of ranks is refused.
#include "ops/ops.h"
#include "runtime/comm/comm.h"
#include "tests/check.h"
#include "tests/compiler/steps.h"

static const setup usual = {.batch = 19,
                            .params = "{p: 0.3}",
                            .optimizer = "adam",
                            .rate = 0.05f,
                            .clip = 0.5f,
                            .steps = 5,
                            .shards = 8};

static setup on(const way *w, int ranks) {
  setup s = usual;
  s.way = w, s.ranks = ranks, s.parts = s.shards / ranks;
  return s;
}

static void same_on_all(void) {
  static ran one, other;
  setup s = on(&steps_ways[0], 1);
  MUST(steps_run(&s, &one));
  for (int w = 0; w < STEPS_WAYS; w++)
    for (int ranks = 1; ranks <= 8; ranks *= 2)
      for (size_t joined = 0; joined <= 1; joined++) {
        s = on(&steps_ways[w], ranks);
        s.joined = joined;  // every collective by itself
        MUST(steps_run(&s, &other));
        CHECK(one.n == other.n && !memcmp(one.weights, other.weights, sizeof one.weights),
              "%s on %d ranks has other weights", s.way->name, ranks);
        CHECK(one.loss == other.loss && one.norm == other.norm && one.accuracy == other.accuracy,
              "%s on %d ranks has other results", s.way->name, ranks);
      }
  // The comparison is not empty: other shards are other sums.
  s = on(&steps_ways[0], 1);
  s.shards = s.parts = 4;
  MUST(steps_run(&s, &other));
  CHECK(memcmp(one.weights, other.weights, sizeof one.weights) != 0, "4 shards are as 8");
}

static void refuses(const setup *s, const char *why) {
  gr_arena *a = gr_arena_create();
  gr_plan *plan;
  gr_status found = steps_plan(a, s, &plan);
  CHECK(gr_status_code(found) == GR_ERR_UNSUPPORTED && strstr(gr_status_text(found), why), "%s",
        found ? gr_status_text(found) : "it is planned");
  gr_status_drop(found);
  gr_arena_destroy(a);
}

// Batch norm of each shard, with running statistics that a step sets once.
static void batch_norms(void) {
  static const char model[] =
      "inputs: {x: {shape: [n, 5]}, y: {shape: [n], dtype: i32}}\n"
      "params: {p: 0.0}\n"
      "nodes:\n"
      "  - h: {linear: x, out: 6, name: body}\n"
      "  - h: {batch_norm: h, name: norm}\n"
      "  - logits: {linear: h, out: 4, name: head}\n"
      "  - loss: {cross_entropy: [logits, y]}\n"
      "  - acc: {accuracy: [logits, y]}\n"
      "train: loss\n"
      "metrics: {accuracy: acc}\n";
  static const char *const names[] = {"body.weight", "norm.running_mean", "norm.running_var", NULL};
  static ran one, other;
  for (int w = 0; w < STEPS_WAYS; w++)
    for (int ranks = 1; ranks <= 8; ranks *= 2) {
      setup s = on(&steps_ways[w], ranks);
      s.model = model, s.names = names, s.by_rank_norm = true, s.params = NULL;
      MUST(steps_run(&s, w || ranks > 1 ? &other : &one));
      if (w || ranks > 1)
        CHECK(!memcmp(one.weights, other.weights, sizeof one.weights),
              "%s on %d ranks has other weights", s.way->name, ranks);
      s.by_rank_norm = false;
      refuses(&s, "needs all samples of a batch");
    }
}

// An optimizer that adds up over the slices of ranks.
static void refused(void) {
  gr_arena *a = gr_arena_create();
  gr_plan *plan;
  setup s = on(&steps_ways[1], 2);
  s.optimizer = "adafactor";
  refuses(&s, "adds up over the ranks");
  s.way = &steps_ways[0];
  MUST(steps_plan(a, &s, &plan));
  gr_arena_destroy(a);
}

// ---- The order of the tree ---------------------------------------------------------------------

// One after the other these are 1, and as a tree 0.
static const float terms[] = {1e8f, 1, -1e8f, 1};
enum { TERMS = 4 };

static gr_status reduce(gr_comm *c, void *arg) {
  float each[TERMS], *out = arg;
  for (int i = 0; i < TERMS; i++) each[i] = terms[c->rank];
  c->tree = true;
  GR_TRY(gr_comm_run(c, GR_ALL_REDUCE, GR_F32, TERMS, each, out + 2 * c->rank * TERMS));
  return gr_comm_run(c, GR_REDUCE_SCATTER, GR_F32, 1, each, out + (2 * c->rank + 1) * TERMS);
}

static void tree_over_ranks(void) {
  static float out[2 * TERMS * TERMS];
  MUST(gr_loopback_run(TERMS, 60, reduce, out));
  for (int r = 0; r < TERMS; r++) {
    for (int i = 0; i < TERMS; i++)
      CHECK(out[2 * r * TERMS + i] == 0, "all_reduce gives %g", (double)out[2 * r * TERMS + i]);
    CHECK(out[(2 * r + 1) * TERMS] == 0, "reduce_scatter gives %g",
          (double)out[(2 * r + 1) * TERMS]);
  }
}

static void add_shards(bool fast) {
  float acc[2] = {7, 7}, term;
  int32_t micro;
  const gr_type number = {.dtype = GR_F32}, index = {.dtype = GR_I32};
  const gr_type in_type[] = {number, number, number, index};
  const void *in[] = {&acc[0], &acc[1], &term, &micro};
  void *out[] = {&acc[0], &acc[1]};
  gr_op_call call = {
      .op = &gr_op_accumulate_tree, .n_in = 4, .in = {number, number, number, index}};
  gr_launch l = {
      .n_in = 4, .n_out = 2, .in_type = in_type, .out_type = in_type, .in = in, .out = out};
  gr_kernel run = fast ? gr_op_fast(&call) : gr_op_accumulate_tree.cpu;
  for (micro = 0; micro < TERMS; micro++) {
    term = terms[micro];
    MUST(run(&l));
  }
  CHECK(acc[1] == 0, "the sum is %g", (double)acc[1]);
}

static void tree_over_shards(void) { add_shards(false), add_shards(true); }

// In any order, and where squares are so small or so large that f32 and f64 would round.
static void exact_squares(void) {
  static const float x[] = {1e-20f, 3e19f, -1.5f, 1e-42f, 7e5f, 0, 1e-20f, 2};
  enum { N = sizeof x / sizeof *x };
  static double sums[2][512];
  static char scratch[1 << 18];
  const gr_type in = {GR_F32, 1, {N}}, out = {GR_F64, 1, {512}}, one = {.dtype = GR_F32};
  for (int turn = 0; turn < 2; turn++) {
    float y[N], total;
    for (int i = 0; i < N; i++) y[i] = x[turn ? N - 1 - i : i];
    gr_launch l = {.n_in = 1,
                   .n_out = 1,
                   .in_type = &in,
                   .out_type = &out,
                   .scratch = scratch,
                   .in = (const void *[]){y},
                   .out = (void *[]){sums[turn]}};
    MUST(gr_op_sum_squares_exact.cpu(&l));
    l = (gr_launch){.n_in = 1,
                    .n_out = 1,
                    .in_type = &out,
                    .out_type = &one,
                    .in = (const void *[]){sums[turn]},
                    .out = (void *[]){&total}};
    MUST(gr_op_exact_sum.cpu(&l));
    double sum = 0;
    for (int i = 0; i < N; i++) sum += (double)x[i] * (double)x[i];
    CHECK(total == (float)sum, "%g, not %g", (double)total, sum);
  }
  CHECK(!memcmp(sums[0], sums[1], sizeof sums[0]), "the order matters");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"same_on_all", same_on_all}, {"batch_norms", batch_norms},
             {"refused", refused}, {"tree_over_ranks", tree_over_ranks},
             {"tree_over_shards", tree_over_shards}, {"exact_squares", exact_squares});
}
