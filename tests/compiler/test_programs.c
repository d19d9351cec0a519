// test_programs.c - `programs:`: what training and evaluation compute beside the nodes that both
// have, over one set of states.
#include <math.h>
#include <string.h>
#include "ops/ops.h"
#include "tests/check.h"
#include "tests/compiler/steps.h"

static gr_arena *arena;

static const char model[] =
    "inputs: {x: {shape: [n, 5]}, y: {shape: [n], dtype: i32}}\n"
    "buffers: {seen: {shape: []}}\n"
    "nodes:\n"
    "  - h: {linear: x, out: 6, name: body}\n"
    "  - h: {tanh: h}\n"
    "programs:\n"
    "  train:\n"
    "    nodes:\n"
    "      - d: {dropout: h, p: 0.5}\n"
    "      - logits: {linear: d, out: 4, name: head}\n"
    "      - loss: {cross_entropy: [logits, y], smoothing: 0.1}\n"
    "      - s: {add: [seen, 1]}\n"
    "    loss: loss\n"
    "    next: {seen: s}\n"
    "  eval:\n"
    "    nodes:\n"
    "      - logits: {linear: h, out: 4, name: head}\n"
    "      - loss: {cross_entropy: [logits, y]}\n"
    "      - acc: {accuracy: [logits, y]}\n"
    "      - t: {param: [4], init: ones, name: temperature}\n"
    "      - p: {mul: [logits, t]}\n"
    "      - p: {softmax: p}\n"
    "    loss: loss\n"
    "    metrics: {accuracy: acc}\n"
    "    results: {p: p}\n";
static const char *const names[] = {"seen", "temperature", "head.weight", NULL};

static setup first(void) {
  return (setup){.way = &steps_ways[0],
                 .batch = 12,
                 .ranks = 2,
                 .parts = 1,
                 .rate = 0.1f,
                 .steps = 3,
                 .model = model,
                 .names = names};
}

static int count(const gr_graph *g, const gr_op *op) {
  int n = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) n += g->nodes[i].op == op;
  return n;
}

static void each_has_its_own(void) {
  setup s = first();
  gr_plan *p;
  MUST(steps_plan(arena, &s, &p));
  const gr_graph *train = gr_plan_find(p, "train", "")->frame.g;
  const gr_graph *eval = gr_plan_find(p, "eval", "")->frame.g;
  CHECK(count(train, &gr_op_accuracy) == 0 && count(eval, &gr_op_accuracy) == 1, "the metric");
  CHECK(!gr_is(gr_graph_leaf(train, GR_STATE, "temperature")) &&
            gr_is(gr_graph_leaf(eval, GR_STATE, "temperature")),
        "a weight that only evaluation reads");
  CHECK(gr_is(gr_graph_result(eval, "predict.p")) &&
            gr_is(gr_graph_result(eval, "metric.loss.sum")) &&
            gr_is(gr_graph_result(eval, "metric.accuracy.sum")),
        "results of evaluation");
  CHECK(gr_is(gr_graph_result(train, "metric.loss.sum")) &&
            !gr_is(gr_graph_result(train, "metric.accuracy.sum")),
        "results of training");
  for (uint32_t i = 0; i < p->n_states; i++)
    if (!strcmp(p->states[i].name, "temperature")) CHECK(!p->states[i].trained, "not trained");
}

// Weights of one path are one; what only evaluation has starts as its init says, and stays.
static void share_states(void) {
  for (int ranks = 1; ranks <= 3; ranks++)
    for (int parts = 1; parts <= 2; parts++) {
      setup s = first();
      ran r;
      s.ranks = ranks, s.parts = parts;
      MUST(steps_run(&s, &r));
      CHECK(r.n == 1 + 4 + 24, "%d numbers", r.n);
      CHECK(r.weights[0] == (float)(3 * parts), "%g passes", (double)r.weights[0]);
      for (int i = 1; i < 5; i++) CHECK(r.weights[i] == 1, "%g", (double)r.weights[i]);
    }
}

// train:, metrics: and predict: are short for the same.
static void short_form(void) {
  static const char common[] =
      "inputs: {x: {shape: [n, 5]}, y: {shape: [n], dtype: i32}}\n"
      "nodes:\n"
      "  - logits: {linear: x, out: 4, name: head}\n"
      "  - loss: {cross_entropy: [logits, y]}\n"
      "  - acc: {accuracy: [logits, y]}\n";
  static const char *const forms[] = {
      "train: loss\nmetrics: {accuracy: acc}\npredict: {logits: logits}\n",
      "programs:\n"
      "  train: {loss: loss, metrics: {accuracy: acc}}\n"
      "  eval: {metrics: {accuracy: acc}, results: {logits: logits}}\n"};
  uint64_t hash[2];
  for (int k = 0; k < 2; k++) {
    setup s = first();
    gr_plan *p;
    s.model = gr_arena_printf(arena, "%s%s", common, forms[k]);
    MUST(steps_plan(arena, &s, &p));
    hash[k] = p->hash;
  }
  CHECK(hash[0] == hash[1], "the plans differ");
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int failed = RUN(argc, argv, {"each_has_its_own", each_has_its_own},
                   {"share_states", share_states}, {"short_form", short_form});
  gr_arena_destroy(arena);
  return failed;
}
