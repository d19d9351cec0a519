// test_accumulate.c - a step in micro-steps is the step: the same loss, metrics and gradients on
// any number of ranks, for every strategy, also where the batch does not divide; in less memory.
// And the other way to norm a loss, the mean of ranks' means, against its formula.
#include <math.h>
#include <string.h>
#include "tests/check.h"
#include "tests/compiler/steps.h"
#include "tests/world.h"

static gr_arena *arena;

static gr_plan *plan_of(const setup *s) {
  gr_plan *p;
  MUST(steps_plan(arena, s, &p));
  return p;
}

static ran run(const setup *s) {
  ran r;
  MUST(steps_run(s, &r));
  return r;
}

static void near(const setup *s, const char *what, double want, double got, double most) {
  CHECK(fabs(want - got) <= most * fmax(fabs(want), 1e-3),
        "%s, batch %d, %d ranks, %d micro-steps: %s is %.9g, not %.9g", s->way->name, s->batch,
        s->ranks, s->parts, what, got, want);
}

static void compare(const setup *s, const ran *want, double most) {
  ran got = run(s);
  double largest = 0, worst = 0;
  CHECK(got.n == want->n && got.n == 30 + 6 + 24 + 4, "%d numbers", got.n);
  for (int i = 0; i < got.n; i++) {
    largest = fmax(largest, fabs((double)want->weights[i]));
    worst = check_worse(worst, fabs((double)want->weights[i] - (double)got.weights[i]));
  }
  near(s, "loss", want->loss, got.loss, most);
  near(s, "grad_norm", want->norm, got.norm, most);
  CHECK(worst <= most * largest, "%s, batch %d, %d ranks, %d micro-steps: a weight is off by %g",
        s->way->name, s->batch, s->ranks, s->parts, worst);
  if (!s->by_rank) near(s, "accuracy", want->accuracy, got.accuracy, 1e-7);
}

// ---- Micro-steps --------------------------------------------------------------------------

static void same(setup one, double most) {
  static const int batches[] = {12, 11, 7}, ranks[] = {1, 2, 3, 5, 7};  // some divide nothing
  enum { RANKS = sizeof ranks / sizeof *ranks };
  for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
    one.way = &steps_ways[0], one.batch = batches[b], one.ranks = one.parts = 1;
    ran want = run(&one);
    for (int k = 0; k < STEPS_WAYS * RANKS * 4; k++) {
      setup s = one;
      s.way = &steps_ways[k % STEPS_WAYS];
      s.ranks = ranks[k / STEPS_WAYS % RANKS], s.parts = 1 + k / STEPS_WAYS / RANKS;
      compare(&s, &want, most);
    }
  }
}

// After a step of so large a rate a weight is its gradient, but for the last digits.
static void gradients(void) { same((setup){.rate = 4096, .steps = 1}, 1e-6); }
static void three_steps(void) {
  same((setup){.rate = 1, .tuning = "momentum=0.9", .steps = 3}, 1e-5);
}

// Dimensions that ranks do not divide are padded with zeros, which no optimizer may disturb:
// neither by decay nor by clipping, which is as on one rank (steps.c looks at the zeros).
static void optimizers(void) {
  static const struct {
    const char *name, *tuning;
    float clip_value;
  } all[] = {{"sgd", "weight_decay=0.1"},
             {"sgd", "weight_decay=0.1", 0.02f},
             {"sgd", "weight_decay=0.1 momentum=0.9"},
             {"sgd", "weight_decay=0.1 momentum=0.9 nesterov=true"},
             {"rmsprop", "weight_decay=0.1 alpha=0.9"},
             {"rmsprop", "weight_decay=0.1 momentum=0.9", 0.02f},
             {"adam", "weight_decay=0.1 beta2=0.98"},
             {"adamw", "weight_decay=0.1 beta2=0.98"},
             {"lion", "weight_decay=0.1"},
             {"adagrad", "weight_decay=0.1 lr_decay=0.1 initial_accumulator_value=0.1"},
             {"adadelta", "weight_decay=0.1 rho=0.8"},
             {"adamax", "weight_decay=0.1 beta2=0.98"},
             {"nadam", "weight_decay=0.1 momentum_decay=0.1 decoupled_weight_decay=true"},
             {"radam", "weight_decay=0.1 beta2=0.5 decoupled_weight_decay=true"},
             {"lamb", "weight_decay=0.1 beta2=0.98"},
             {"lars", "weight_decay=0.1 trust_coefficient=0.1"},
             {"adafactor", "weight_decay=0.1"},
             {"muon", "weight_decay=0.3 split=true"},
             {"muon", "weight_decay=0.1 match_rms=0.2 adamw_lr_factor=0.5"}};
  for (size_t o = 0; o < sizeof all / sizeof *all; o++) {
    setup one = {.optimizer = all[o].name, .tuning = all[o].tuning, .rate = 0.05f};
    one.batch = 11, one.ranks = one.parts = 1, one.steps = 4, one.clip = 0.2f;
    one.clip_value = all[o].clip_value;
    one.way = &steps_ways[0];
    ran want = run(&one);
    CHECK(want.norm > 0.25, "%s: nothing is clipped, the gradient is %g", all[o].name, want.norm);
    for (int k = 0; k < STEPS_WAYS * 4 * 2; k++) {
      setup s = one;
      s.way = &steps_ways[k % STEPS_WAYS];
      s.ranks = (const int[]){2, 3, 5, 7}[k / STEPS_WAYS % 4], s.parts = 1 + k / STEPS_WAYS / 4;
      compare(&s, &want, 2e-5);
    }
  }
}

// Of a few short rows a gradient is had for less by bringing the rows together, of long ones it is
// not; the totals must lie alike in both. Where terms wait, the short ones wait too.
static void buckets_alike(void) {
  static const char text[] =
      "inputs: {x: {shape: [n, t, 64]}}\n"
      "nodes: [{h: {linear: x, out: 128, name: a}}, {s: {square: h}},"
      " {l: {mean: s, axes: [1, 2]}}]\n"
      "train: l\n";
  static const gr_dim lengths[] = {{"t", 1}, {"t", 400}};
  static const gr_bucket buckets[] = {{"t1", &lengths[0], 1}, {"t400", &lengths[1], 1}};
  static const int want[4][2] = {{0, 0}, {0, 0}, {0, 1}, {0, 1}};  // reduce_scatter, by bucket
  arena = gr_arena_create();
  for (int w = 0; w < 4; w++) {
    gr_plan *p;
    setup s = {.way = &steps_ways[w], .batch = 4, .ranks = 2, .parts = 2};
    MUST(steps_plan_of(arena, &s, text, buckets, 2, &p));
    for (int b = 0; b < 2; b++) {
      const gr_graph *g = gr_plan_find(p, "train.micro", buckets[b].name)->frame.g;
      int scatters = count_ops(g, "reduce_scatter"), gathers = count_ops(g, "all_gather");
      CHECK(scatters == want[w][b], "%s, %s: %d reduce_scatter", steps_ways[w].name,
            buckets[b].name, scatters);
      CHECK(steps_ways[w].scatter || !gathers, "%s, %s: %d all_gather", steps_ways[w].name,
            buckets[b].name, gathers);
    }
  }
  gr_arena_destroy(arena);
}

static int collectives(const gr_plan *p, const char *kind, const char *op) {
  return count_results(gr_plan_find(p, kind, "")->frame.g, op);
}

// Terms are moved once a step; where the totals are split, once a micro-step.
static void moves(void) {
  arena = gr_arena_create();
  static const int want[4][5] = {// micro: reduce, scatter, gather; update: reduce, scatter
                                 {0, 0, 0, 8, 0},
                                 {0, 0, 0, 5, 4},
                                 {0, 4, 0, 5, 0},
                                 {0, 4, 4, 5, 0}};
  for (int w = 0; w < 4; w++) {
    gr_plan *p = plan_of(&(setup){.way = &steps_ways[w], .batch = 12, .ranks = 2, .parts = 3});
    const int got[5] = {collectives(p, "train.micro", "all_reduce"),
                        collectives(p, "train.micro", "reduce_scatter"),
                        collectives(p, "train.micro", "all_gather"),
                        collectives(p, "train.update", "all_reduce"),
                        collectives(p, "train.update", "reduce_scatter")};
    for (int k = 0; k < 5; k++)
      CHECK(got[k] == want[w][k], "%s: count %d is %d, not %d", steps_ways[w].name, k, got[k],
            want[w][k]);
  }
  gr_arena_destroy(arena);
}

static void memory(void) {
  arena = gr_arena_create();
  for (size_t w = 0; w < 4; w++) {
    size_t before = SIZE_MAX;
    for (int parts = 1; parts <= 4; parts *= 2) {
      gr_plan *p =
          plan_of(&(setup){.way = &steps_ways[w], .batch = 1200, .ranks = 2, .parts = parts});
      CHECK(p->arena_bytes + p->state_bytes < before * 3 / 4, "%s, %d micro-steps: %zu after %zu",
            steps_ways[w].name, parts, p->arena_bytes + p->state_bytes, before);
      before = p->arena_bytes + p->state_bytes;
    }
  }
  gr_arena_destroy(arena);
}

// One micro-step that is not finite leaves out the whole step, and nothing of it stays behind.
static void skips(void) {
  setup one = {.way = &steps_ways[0], .batch = 12, .ranks = 2, .parts = 3, .rate = 1, .steps = 1};
  setup two = one, three = one;
  two.steps = 2, three.steps = 3, two.bad = three.bad = INFINITY;
  ran before = run(&one), after = run(&two), later = run(&three);
  CHECK(after.ok == 0 && before.ok == 1, "ok is %g", after.ok);
  CHECK(!memcmp(before.weights, after.weights, sizeof before.weights), "the weights changed");
  CHECK(isfinite(later.loss) && isfinite(later.norm) && later.norm > 0, "loss %g, norm %g",
        later.loss, later.norm);
}

// Micro-steps drop other elements each: with the same ones, equal samples would have equal losses.
static void draws(void) {
  setup one = {.way = &steps_ways[0], .batch = 1, .ranks = 1, .parts = 1, .rate = 1, .steps = 1};
  one.alike = true, one.params = "{p: 0.5}";
  setup four = one;
  four.batch = four.parts = 4;
  ran a = run(&one), b = run(&four), again = run(&four);
  CHECK(!memcmp(&b, &again, sizeof b), "the same run differs");
  CHECK(fabs(a.loss - b.loss) > 1e-3, "four micro-steps' loss is that of one, %g", a.loss);
  one.params = four.params = NULL;
  a = run(&one), b = run(&four);
  CHECK(fabs(a.loss - b.loss) < 1e-6, "without dropout it is not: %g and %g", a.loss, b.loss);
}

// ---- The mean of ranks' means -------------------------------------------------------------

// From the loss and the gradient of each rank's rows alone, by the formula.
static ran mean_of_ranks(const setup *s) {
  int rows = steps_rows(s), pieces = 0;
  ran mean = {0};
  double squares = 0, sums[STEPS_NUMBERS] = {0};
  setup still = {.way = &steps_ways[0], .batch = 1, .ranks = 1, .parts = 1};
  ran start = run(&still);
  for (int p = 0; p < s->ranks * s->parts && p * rows < s->batch; p++, pieces++) {
    int left = s->batch - p * rows;
    setup alone = {.way = &steps_ways[0], .batch = left < rows ? left : rows, .ranks = 1};
    alone.parts = alone.steps = 1, alone.rate = s->rate, alone.first = p * rows;
    ran r = run(&alone);
    mean.loss += r.loss, mean.n = r.n;
    for (int i = 0; i < r.n; i++) sums[i] += (double)start.weights[i] - (double)r.weights[i];
  }
  mean.loss /= pieces;
  for (int i = 0; i < mean.n; i++) {
    double step = sums[i] / pieces;
    squares += step * step;
    mean.weights[i] = (float)((double)start.weights[i] - step);
  }
  mean.norm = sqrt(squares) / (double)s->rate;
  return mean;
}

// With 7 samples the last rank of 3 has one; with 4 it has none, and does not count.
static void ranks_means(void) {
  static const int batches[] = {12, 7, 4};
  for (size_t b = 0; b < sizeof batches / sizeof *batches; b++)
    for (int k = 0; k < STEPS_WAYS * STEPS_RANKS * 2; k++) {
      setup s = {.way = &steps_ways[k % STEPS_WAYS], .batch = batches[b], .steps = 1};
      s.ranks = 1 + k / STEPS_WAYS % STEPS_RANKS, s.parts = 1 + k / STEPS_WAYS / STEPS_RANKS;
      s.rate = 4096, s.by_rank = true;
      ran want = mean_of_ranks(&s);
      compare(&s, &want, 2e-6);
    }
}

// The weights of the classes make it another mean than that of all samples.
static void means_differ(void) {
  setup s = {.way = &steps_ways[0], .batch = 7, .ranks = 3, .parts = 1, .rate = 1, .steps = 1};
  ran all = run(&s);
  s.by_rank = true;
  ran by_rank = run(&s);
  CHECK(fabs(all.loss - by_rank.loss) > 1e-3, "both losses are %g", all.loss);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"gradients", gradients}, {"three_steps", three_steps},
             {"optimizers", optimizers}, {"moves", moves}, {"buckets_alike", buckets_alike},
             {"memory", memory}, {"skips", skips}, {"draws", draws}, {"ranks_means", ranks_means},
             {"means_differ", means_differ});
}
