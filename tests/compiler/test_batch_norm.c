// test_batch_norm.c - the block batch_norm: running statistics against their definition, with
// padding left out; the same training on any number of ranks and under every strategy; statistics
// of each rank; evaluation. The op itself is compared with PyTorch (ops.golden).
#include <math.h>
#include <string.h>
#include "ops/ops.h"
#include "tests/check.h"
#include "tests/compiler/steps.h"

static gr_arena *arena;
enum { C = 5, MEAN = 0, VAR = C };  // of the block `in`, in ran.weights

static const char model[] =
    "inputs: {x: {shape: [n, 5]}, y: {shape: [n], dtype: i32}}\n"
    "nodes:\n"
    "  - x: {batch_norm: x, name: in, momentum: 0.25}\n"
    "  - h: {linear: x, out: 6, name: body}\n"
    "  - h: {reshape: h, shape: [n, 3, 2]}\n"
    "  - h: {batch_norm: h, name: mid, eps: 1e-3}\n"
    "  - h: {reshape: h, shape: [n, 6]}\n"
    "  - h: {tanh: h}\n"
    "  - logits: {linear: h, out: 4, name: head}\n"
    "  - loss: {cross_entropy: [logits, y]}\n"
    "  - acc: {accuracy: [logits, y]}\n"
    "train: loss\n"
    "metrics: {accuracy: acc}\n";
static const char *const names[] = {"in.running_mean", "in.running_var", "mid.running_mean",
                                    "mid.running_var", "mid.weight",     "mid.bias",
                                    "body.bias",       "body.weight",    NULL};
// mid has 2 channels: 8 numbers, then 6 and 30.

static double x_at(int step, int sample, int c) {  // as steps.c makes it
  return sin(1.0 + 7 * step + C * sample + c) + (c == sample % C);
}

static setup first(void) {
  return (setup){.way = &steps_ways[0],
                 .batch = 12,
                 .ranks = 1,
                 .parts = 1,
                 .rate = 0.1f,
                 .steps = 3,
                 .model = model,
                 .names = names};
}

static ran run(const setup *s) {
  ran r;
  MUST(steps_run(s, &r));
  CHECK(r.n == 2 * C + 8 + 6 + 30, "%d numbers", r.n);
  return r;
}

// Whether a sample is in a micro-batch: that has some rows of each rank.
static bool is_in(const setup *s, int sample, int part) {
  return sample < s->batch && sample / steps_rows(s) % s->parts == part;
}

static void follow(const setup *s, int step, int part, int c, double *mean, double *var) {
  double now = 0, squares = 0, n = 0;
  for (int i = 0; i < 12; i++)
    if (is_in(s, i, part)) now += x_at(step, i, c), n++;
  now /= n;
  for (int i = 0; i < 12; i++)
    if (is_in(s, i, part)) squares += pow(x_at(step, i, c) - now, 2);
  *mean += 0.25 * (now - *mean);
  *var += 0.25 * (squares / (n - 1) - *var);
}

// Each micro-batch is normalised by itself, on one rank or several.
static void running_statistics(void) {
  for (int k = 0; k < 12; k++) {
    setup s = first();
    s.batch = 11 + k % 2, s.ranks = 1 + k / 2 % 3, s.parts = 1 + k / 6;
    ran r = run(&s);
    for (int c = 0; c < C; c++) {
      double mean = 0, var = 1;
      for (int i = 0; i < s.steps * s.parts; i++)
        follow(&s, i / s.parts, i % s.parts, c, &mean, &var);
      CHECK(fabs((double)r.weights[MEAN + c] - mean) < 1e-6, "%d ranks: mean %d: %g, not %g",
            s.ranks, c, (double)r.weights[MEAN + c], mean);
      CHECK(fabs((double)r.weights[VAR + c] - var) < 2e-6, "%d ranks: variance %d: %g, not %g",
            s.ranks, c, (double)r.weights[VAR + c], var);
    }
  }
}

static void compare(const setup *s, const ran *want) {
  ran got = run(s);
  for (int i = 0; i < want->n; i++)
    CHECK(fabsf(got.weights[i] - want->weights[i]) < 2e-5f * (1 + fabsf(want->weights[i])),
          "%s, %d ranks, %d micro-steps: number %d is %g, not %g", s->way->name, s->ranks, s->parts,
          i, (double)got.weights[i], (double)want->weights[i]);
}

static void ranks(void) {
  static const int batches[] = {12, 11, 7};
  for (int b = 0; b < 3; b++) {
    setup one = first();
    one.batch = batches[b];
    ran want = run(&one);
    for (int k = 0; k < STEPS_WAYS * 3; k++) {
      setup s = one;
      s.way = &steps_ways[k % STEPS_WAYS], s.ranks = 1 + k / STEPS_WAYS;
      compare(&s, &want);
    }
  }
}

static int collectives(const setup *s) {
  gr_plan *p;
  MUST(steps_plan(arena, s, &p));
  const gr_graph *g = gr_plan_find(p, "train", "")->frame.g;
  int n = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) n += g->nodes[i].op->collective;
  return n;
}

// Means of ranks of equal size have the mean of all; their variances are smaller than that of all.
static void of_each_rank(void) {
  setup s = first();
  s.steps = 1, s.ranks = 3;
  ran all = run(&s);
  s.by_rank_norm = true;
  ran each = run(&s);
  double smaller = 0;
  for (int c = 0; c < C; c++) {
    CHECK(fabsf(all.weights[MEAN + c] - each.weights[MEAN + c]) < 1e-6f, "mean %d", c);
    double among = 0;
    for (int r = 0; r < 3; r++) {
      double mean = 0, squares = 0;
      for (int i = 4 * r; i < 4 * r + 4; i++) mean += x_at(0, i, c) / 4;
      for (int i = 4 * r; i < 4 * r + 4; i++) squares += pow(x_at(0, i, c) - mean, 2);
      among += squares / 3 / 3;
    }
    CHECK(fabs((double)each.weights[VAR + c] - (0.75 + 0.25 * among)) < 2e-6, "variance %d", c);
    smaller += (double)(all.weights[VAR + c] - each.weights[VAR + c]);
  }
  CHECK(fabs(smaller) > 1e-3, "the variances are the same");
  setup whole = first();
  whole.ranks = 3;
  int fewer = collectives(&s), more = collectives(&whole);
  CHECK(more - fewer >= 3, "%d collectives, and %d with statistics of all ranks", fewer, more);
  // A rank without samples has no statistics.
  s = first();
  s.batch = 4, s.ranks = 3, s.by_rank_norm = true;
  ran few = run(&s);
  for (int i = 0; i < few.n; i++) CHECK(isfinite(few.weights[i]), "number %d", i);
  // One rank has one group.
  s.ranks = 1, whole = s, whole.by_rank_norm = false;
  ran want = run(&whole);
  compare(&s, &want);
}

static void programs(void) {
  setup s = first();
  gr_plan *p;
  MUST(steps_plan(arena, &s, &p));
  const gr_graph *g = gr_plan_find(p, "eval", "")->frame.g;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    CHECK(g->nodes[i].op != &gr_op_channel_sums, "evaluation uses the running statistics");
  s.model =
      "inputs: {x: {shape: [n, 5]}, y: {shape: [n], dtype: i32}}\n"
      "nodes:\n"
      "  - x: {linear: x, out: 4, name: body}\n"
      "  - x: {batch_norm: x, name: in, frozen: true}\n"
      "  - loss: {cross_entropy: [x, y]}\n"
      "train: loss\n";
  MUST(steps_plan(arena, &s, &p));
  g = gr_plan_find(p, "train", "")->frame.g;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    CHECK(g->nodes[i].op != &gr_op_channel_sums, "and so does a frozen block");
  CHECK(!gr_is(gr_at(g, gr_graph_leaf(g, GR_STATE, "in.running_var"))->next), "which keeps them");
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int failed = RUN(argc, argv, {"running_statistics", running_statistics}, {"ranks", ranks},
                   {"of_each_rank", of_each_rank}, {"programs", programs});
  gr_arena_destroy(arena);
  return failed;
}
