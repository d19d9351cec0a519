// test_nested.c - loops in loops: the same on any number of ranks, and with sizes of the batch in
// the attributes of ops of a body.
#include <math.h>
#include "tests/check.h"
#include "tests/compiler/steps.h"

// Each step of the outer loop runs an LSTM over what it has so far, as an agent that acts day by
// day on a window of what it has seen.
static const char model[] =
    "inputs: {x: {shape: [n, 5]}, y: {shape: [n], dtype: i32}}\n"
    "nodes:\n"
    "  - seq: {reshape: x, shape: [n, 5, 1]}\n"
    "  - h:\n"
    "      scan:\n"
    "        over: {seq: t}\n"
    "        carry: {past: [n, 3]}\n"
    "        nodes:\n"
    "          - old: {slice: past, axis: 1, from: 1, size: 2}\n"
    "          - past: {concat: [old, seq], axis: 1}\n"
    "          - w: {reshape: past, shape: [n, 3, 1]}\n"
    "          - w: {lstm: w, hidden: 4, name: body}\n"
    "          - w: {slice: w, axis: 1, from: 2, size: 1}\n"
    "          - w: {reshape: w, shape: [n, 4]}\n"
    "          - v: {mean: w, axes: [1]}\n"
    "          - v: {broadcast: v, axis: 1, size: 1}\n"
    "          - z: {mul: [v, past]}\n"
    "          - past: {add: [z, past]}\n"
    "        yields: w\n"
    "  - h: {mean: h, axes: [1]}\n"
    "  - logits: {linear: h, out: 4, name: head}\n"
    "  - loss: {cross_entropy: [logits, y]}\n"
    "  - acc: {accuracy: [logits, y]}\n"
    "train: loss\n"
    "metrics: {accuracy: acc}\n";
static const char *const names[] = {"body.weight_hh_l0", "head.weight", NULL};

static ran run(int batch, int ranks, int k) {
  setup s = {.way = &steps_ways[k],
             .batch = batch,
             .ranks = ranks,
             .parts = 1,
             .rate = 0.3f,
             .steps = 3,
             .model = model,
             .names = names};
  ran r;
  MUST(steps_run(&s, &r));
  CHECK(r.n == 64 + 16, "%d numbers", r.n);
  return r;
}

static void ranks(void) {
  for (int batch = 11; batch <= 12; batch++) {  // 11: with padding
    ran want = run(batch, 1, 0);
    for (int k = 0; k < STEPS_WAYS * 2; k++) {
      ran got = run(batch, 2 + k / STEPS_WAYS, k % STEPS_WAYS);
      for (int i = 0; i < want.n; i++)
        CHECK(fabsf(got.weights[i] - want.weights[i]) < 2e-5f,
              "%d ranks, %s: number %d is %g, not %g", 2 + k / STEPS_WAYS,
              steps_ways[k % STEPS_WAYS].name, i, (double)got.weights[i], (double)want.weights[i]);
      CHECK(fabs(got.loss - want.loss) < 1e-5, "the loss is %g, not %g", got.loss, want.loss);
    }
  }
}

int main(int argc, char **argv) { return RUN(argc, argv, {"ranks", ranks}); }
