// test_buffers.c - values that persist and are no weights: the same on any number of ranks, in
// micro-steps, under every strategy, whole or split like the batch; and what the plan refuses.
#include <math.h>
#include <string.h>
#include "tests/check.h"
#include "tests/compiler/steps.h"

static gr_arena *arena;

// A running mean over the samples of the global batch, padding left out; a count of forward passes;
// a value per environment, split over the ranks; and what a block keeps for each of its uses.
static const char model[] =
    "inputs: {x: {shape: [n, 5]}, y: {shape: [n], dtype: i32}}\n"
    "buffers:\n"
    "  mean: {shape: [6], init: 0.5}\n"
    "  passes: {shape: []}\n"
    "  cells: {shape: [12, 2], init: normal, layout: batch}\n"
    "  before: {shape: [12, 2], layout: batch}\n"
    "blocks:\n"
    "  keep:\n"
    "    in: {v: [n, c]}\n"
    "    buffers: {largest: {shape: [c], init: constant, value: 0}}\n"
    "    nodes:\n"
    "      - s: {square: v}\n"
    "      - s: {sum: s, axes: [0]}\n"
    "      - s: {max: [s, largest]}\n"
    "    next: {largest: s}\n"
    "    out: v\n"
    "nodes:\n"
    "  - h: {linear: x, out: 6, name: body}\n"
    "  - h: {tanh: h}\n"
    "  - w: {reshape: sample_weight, shape: [n, 1]}\n"
    "  - m: {mul: [h, w]}\n"
    "  - repeat: 2\n"
    "    name: layers.$i\n"
    "    nodes: [{m: {keep: m, name: keep}}]\n"
    "  - m: {sum: m, axes: [0]}\n"
    "  - count: {sum: sample_weight, axes: [0]}\n"
    "  - m: {div: [m, count]}\n"
    "  - m: {scale: m, by: 0.1}\n"
    "  - old: {scale: mean, by: 0.9}\n"
    "  - m: {add: [m, old]}\n"
    "  - p: {add: [passes, 1]}\n"
    "  - e: {tanh: cells}\n"
    "  - e: {add: [e, 0.25]}\n"
    "  - logits: {linear: h, out: 4, name: head}\n"
    "  - loss: {cross_entropy: [logits, y]}\n"
    "  - acc: {accuracy: [logits, y]}\n"
    "  - level: {sum: h, axes: [1]}\n"  // divided by the count that the mean is divided by
    "next: {mean: m, passes: p, cells: e, before: cells}\n"
    "train: loss\n"
    "metrics: {accuracy: acc, level: level}\n";
static const char *const names[] = {"mean",
                                    "passes",
                                    "cells",
                                    "before",
                                    "head.weight",
                                    "layers.0.keep.largest",
                                    "layers.1.keep.largest",
                                    NULL};
enum { MEAN = 0, PASSES = 6, CELLS = 7, BEFORE = 31, LARGEST = 55 + 24 };

static ran run(const setup *s) {
  ran r;
  MUST(steps_run(s, &r));
  CHECK(r.n == LARGEST + 12, "%d numbers", r.n);
  return r;
}

static void compare(const setup *s, const ran *want) {
  ran got = run(s);
  for (int i = 0; i < want->n; i++)
    CHECK(fabsf(got.weights[i] - want->weights[i]) < 2e-5f * (1 + fabsf(want->weights[i])),
          "%s, %d ranks, %d micro-steps: number %d is %g, not %g", s->way->name, s->ranks, s->parts,
          i, (double)got.weights[i], (double)want->weights[i]);
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

static void ranks(void) {
  for (int batch = 11; batch <= 12; batch++) {  // 11: with padding
    setup one = first();
    one.batch = batch;
    ran want = run(&one);
    for (int k = 0; k < STEPS_WAYS * 3; k++) {
      setup s = one;
      s.way = &steps_ways[k % STEPS_WAYS], s.ranks = 1 + k / STEPS_WAYS;
      compare(&s, &want);
    }
  }
}

// Every micro-step is a forward pass. Samples are all the same, since ranks divide a batch into
// other micro-batches than one rank does.
static void micro_steps(void) {
  for (int parts = 2; parts <= 3; parts++) {
    setup one = first();
    one.alike = true, one.parts = parts;
    ran want = run(&one);
    CHECK(want.weights[PASSES] == (float)(3 * parts), "%g passes", (double)want.weights[PASSES]);
    for (int k = 0; k < STEPS_WAYS * 2; k++) {
      setup s = one;
      s.way = &steps_ways[k % STEPS_WAYS], s.ranks = 1 + k / STEPS_WAYS;
      compare(&s, &want);
    }
  }
}

static void values(void) {
  setup s = first(), longer = s;
  longer.steps = 4;
  ran three = run(&s), four = run(&longer);
  CHECK(three.weights[PASSES] == 3 && four.weights[PASSES] == 4, "a pass a step");
  for (int i = 0; i < 24; i++) {
    float e = three.weights[CELLS + i];
    CHECK(four.weights[BEFORE + i] == e, "the value before the step, %d", i);
    CHECK(fabsf(four.weights[CELLS + i] - tanhf(e) - 0.25f) < 1e-5f, "the next value, %d", i);
  }
  for (int i = 0; i < 6; i++)
    CHECK(three.weights[LARGEST + i] > 0 &&
              three.weights[LARGEST + i] == three.weights[LARGEST + 6 + i],
          "each use of the block has its own, %d", i);
}

// A buffer whose next value is an input, or another buffer, has a copy: that of what is computed
// from them without changing it.
static void copies(void) {
  static const char of_inputs[] =
      "inputs: {x: {shape: [n, 5]}, y: {shape: [n], dtype: i32}}\n"
      "buffers:\n"
      "  labels: {shape: [12], dtype: i32, layout: batch}\n"
      "  last: {shape: [12, 5], layout: batch}\n"
      "  same: {shape: [12, 5], layout: batch}\n"
      "  older: {shape: [12, 5], layout: batch}\n"
      "nodes:\n"
      "  - z: {mul: [x, 1]}\n"
      "  - logits: {linear: x, out: 4, name: head}\n"
      "  - loss: {cross_entropy: [logits, y]}\n"
      "next: {last: x, same: z, older: last, labels: y}\n"
      "train: loss\n";
  static const char *const of[] = {"last", "same", "older", NULL};
  enum { N = 60 };
  for (int n = 1; n <= 3; n++) {
    setup s = first();
    s.ranks = n, s.model = of_inputs, s.names = of;
    ran two, three;
    MUST(steps_run(&s, &three));
    s.steps = 2;
    MUST(steps_run(&s, &two));
    CHECK(three.n == 3 * N, "%d numbers", three.n);
    CHECK(!memcmp(three.weights, three.weights + N, N * sizeof(float)), "not the input");
    CHECK(memcmp(three.weights, two.weights, N * sizeof(float)) != 0, "not that of the last step");
    CHECK(!memcmp(three.weights + 2 * N, two.weights, N * sizeof(float)), "not the step before");
  }
}

// Buffers that start as weights, whole and split, and in each use of a block as that of the use.
static void weights(void) {
  static const char of_weights[] =
      "inputs: {x: {shape: [n, 5]}, y: {shape: [n], dtype: i32}}\n"
      "buffers:\n"
      "  whole: {shape: [12, 5], init: {weight: body.weight}}\n"
      "  parts: {shape: [12, 5], init: {weight: body.weight}, layout: batch}\n"
      "blocks:\n"
      "  pair:\n"
      "    in: {x: [n, c]}\n"
      "    buffers: {target: {shape: [1, c], init: {weight: q.weight}}}\n"
      "    nodes:\n"
      "      - y: {linear: x, out: 1, bias: false, name: q}\n"
      "      - t: {matmul: [x, target], tb: true}\n"
      "      - y: {sub: [t, y]}\n"
      "      - x: {add: [x, y]}\n"
      "nodes:\n"
      "  - h: {linear: x, out: 12, name: body}\n"
      "  - repeat: 2\n"
      "    name: layers.$i\n"
      "    nodes: [{h: {pair: h, name: pair}}]\n"
      "  - both: {add: [whole, parts]}\n"
      "  - t: {matmul: [x, both], tb: true}\n"
      "  - h: {add: [h, t]}\n"
      "  - loss: {cross_entropy: [h, y]}\n"
      "train: loss\n";
  static const char *const of[] = {"body.weight",
                                   "whole",
                                   "parts",
                                   "layers.0.pair.q.weight",
                                   "layers.0.pair.target",
                                   "layers.1.pair.q.weight",
                                   "layers.1.pair.target",
                                   NULL};
  enum { N = 60, Q = 3 * N, C = 12 };
  for (int k = 0; k < STEPS_WAYS * 3; k++) {
    setup s = first();
    s.model = of_weights, s.names = of, s.rate = 0, s.steps = 1;
    s.way = &steps_ways[k % STEPS_WAYS], s.ranks = 1 + k / STEPS_WAYS;
    ran r;
    MUST(steps_run(&s, &r));
    const float *w = r.weights, *q = w + Q;
    CHECK(r.n == Q + 4 * C && w[0] != w[1], "%d numbers", r.n);
    CHECK(!memcmp(w, w + N, N * sizeof *w), "whole is the weight, %s", s.way->name);
    CHECK(!memcmp(w, w + 2 * N, N * sizeof *w), "so are the parts, %s", s.way->name);
    CHECK(!memcmp(q, q + C, C * sizeof *w), "the first use has its weight");
    CHECK(!memcmp(q + 2 * C, q + 3 * C, C * sizeof *w), "the second use has its weight");
    CHECK(memcmp(q, q + 2 * C, C * sizeof *w) != 0, "which is another");
  }
}

// Where the batch is split, a buffer with its layout takes a slice of each rank's memory and no
// collective; what is whole on every rank is reduced.
static void layouts(void) {
  setup s = first();
  gr_plan *p;
  s.ranks = 3;
  MUST(steps_plan(arena, &s, &p));
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *st = &p->states[i];
    bool split = !strcmp(st->name, "cells") || !strcmp(st->name, "before");
    if (st->kind == GR_KIND_BUFFER)
      CHECK(gr_type_same(&st->type, &st->global) != split, "%s", st->name);
    if (split) CHECK(st->type.dim[0] == 4, "%s", st->name);
    CHECK(st->kind != GR_KIND_BUFFER || !st->trained, "%s is not trained", st->name);
  }
  const gr_graph *g = gr_plan_find(p, "train", "")->frame.g,
                 *e = gr_plan_find(p, "eval", "")->frame.g;
  for (uint32_t i = 1; i < g->n_values; i++) {
    const gr_value *v = &g->values[i];
    if (v->role == GR_STATE && v->kind == GR_KIND_BUFFER)
      CHECK(gr_is(v->next) && !gr_is(v->grad), "%s has a next value and no gradient", v->name);
  }
  for (uint32_t i = 1; i < e->n_values; i++)
    CHECK(!gr_is(e->values[i].next), "evaluation changes nothing");
}

#define COPY(buffer)                                     \
  "inputs: {x: {shape: [n, 5]}}\nbuffers:\n  b: " buffer \
  "\nnodes: [{l: {linear: x, out: 3, name: l}}, {l: {sum: l, axes: [1]}}]\ntrain: l\n"

static void refused(void) {
  static const struct {
    const char *model, *says;
  } cases[] = {
      {"inputs: {x: {shape: [n, 5]}}\nbuffers: {b: {shape: [5, 2], layout: batch}}\n"
       "nodes: [{l: {linear: x, out: 2, name: l}}, {l: {sum: l, axes: [1]}}]\ntrain: l\n",
       "cannot be split over 3 ranks"},
      {COPY("{shape: [3, 5], init: {weight: l.wieght}}"), "there is no weight 'l.wieght'"},
      {COPY("{shape: [5, 3], init: {weight: l.weight}}"),
       "'b' is f32[5,3], but 'l.weight', which it starts as, is f32[3,5]"},
      {COPY("{shape: [3, 5], dtype: i32, init: {weight: l.weight}}"),
       "'b' is i32[3,5], but 'l.weight', which it starts as, is f32[3,5]"},
      {COPY("{shape: [3, 5], init: {weight: b}}"), "'b' is no weight, but starts as another"},
      {COPY("{shape: [3], init: {weight: t}}\n  t: {shape: [3], init: data}"),
       "'t' is no weight, but a table of the data"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    setup s = first();
    gr_plan *p;
    s.ranks = 3, s.model = cases[i].model;
    gr_status st = steps_plan(arena, &s, &p);
    int code = (int)gr_status_code(st);
    CHECK(
        (code == GR_ERR_CONFIG || code == GR_ERR_TYPE) && strstr(gr_status_text(st), cases[i].says),
        "%s", gr_status_text(st));
    gr_status_drop(st);
  }
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int failed =
      RUN(argc, argv, {"ranks", ranks}, {"micro_steps", micro_steps}, {"values", values},
          {"copies", copies}, {"weights", weights}, {"layouts", layouts}, {"refused", refused});
  gr_arena_destroy(arena);
  return failed;
}
