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

// ---- Named programs ---------------------------------------------------------------------------

static const char many[] =
    "inputs: {x: {shape: [n, 5]}, y: {shape: [n], dtype: i32}}\n"
    "buffers: {far: {shape: []}}\n"
    "nodes:\n"
    "  - h: {linear: x, out: 6, bias: false, name: body}\n"
    "  - logits: {linear: h, out: 4, bias: false, name: head}\n"
    "  - loss: {cross_entropy: [logits, y]}\n"
    "programs:\n"
    "  lower: {loss: loss, trains: [\"bo*\"]}\n"
    "  upper: {loss: loss, trains: [\"head.weight\"]}\n"
    "  both: {loss: loss}\n"
    "  watch: {loss: loss, training: false}\n"
    "  norm:\n"
    "    nodes:\n"
    "      - w: {param: [6, 5], share: body.weight}\n"
    "      - z: {sample_normal: w}\n"
    "      - s: {mul: [w, z]}\n"
    "      - s: {sum: s, axes: [0, 1]}\n"
    "    next: {far: s}\n";

static gr_status plan_many(const char *text, gr_plan **out) {
  return steps_plan_programs(arena, text, NULL, (gr_options){.optimizer.name = "adam"}, out);
}

// The text with `now` in place of its first `old`.
static const char *swapped(const char *text, const char *old, const char *now) {
  const char *cursor = strstr(text, old);
  return gr_arena_printf(arena, "%.*s%s%s", (int)(cursor - text), text, now, cursor + strlen(old));
}

static bool has_gradient(const gr_graph *g, const char *weight) {
  gr_val v = gr_graph_leaf(g, GR_STATE, weight);
  return gr_is(v) && gr_is(gr_at(g, v)->grad) && gr_is(gr_at(g, v)->next);
}

// Each program trains the weights that it names, and the others are constants there.
static void trains(void) {
  static const struct {
    const char *program;
    bool body, head;
    int products;  // of the forward pass 2, and one for each gradient
  } cases[] = {{"lower", true, false, 4},
               {"upper", false, true, 3},
               {"both", true, true, 5},
               {"watch", false, false, 2}};
  gr_plan *p;
  MUST(plan_many(many, &p));
  for (int i = 0; i < 4; i++) {
    const gr_program *q = gr_plan_find(p, cases[i].program, "all");
    const gr_graph *g = q->frame.g;
    CHECK(has_gradient(g, "body.weight") == cases[i].body, "%s: body", cases[i].program);
    CHECK(has_gradient(g, "head.weight") == cases[i].head, "%s: head", cases[i].program);
    CHECK(count(g, &gr_op_matmul) == cases[i].products, "%s: %d products", cases[i].program,
          count(g, &gr_op_matmul));
    CHECK(q->trains == (cases[i].body || cases[i].head), "%s trains", cases[i].program);
    CHECK(gr_is(gr_graph_result(g, "metric.loss.sum")), "%s has the loss", cases[i].program);
  }
  int moments = 0, counters = 0;
  for (uint32_t i = 0; i < p->n_states; i++) {
    moments += p->states[i].kind == GR_KIND_MOMENT;
    counters += p->states[i].kind == GR_KIND_COUNTER;
  }
  CHECK(moments == 4, "%d states of the optimizer for two weights", moments);
  CHECK(counters == 4, "%d counters: steps of three programs, runs of one", counters);
}

// A program that reads no input takes no batch: it is compiled once, and has no inputs.
static void without_batch(void) {
  gr_plan *p;
  MUST(plan_many(many, &p));
  const gr_program *q = gr_plan_find(p, "norm", "");
  CHECK(q && !q->trains && !gr_plan_find(p, "norm", "all"), "it has no bucket");
  const gr_graph *g = q->frame.g;
  for (uint32_t i = 1; i < g->n_values; i++)
    CHECK(g->values[i].role != GR_INPUT, "the input %s", g->values[i].name);
  gr_val runs = gr_graph_leaf(g, GR_STATE, "runs.norm");
  CHECK(gr_is(runs) && gr_is(gr_at(g, runs)->next), "it counts its runs");
}

// Also beside a pattern that matches, before it and behind it.
static void bad_pattern(void) {
  static const char *const lists[] = {"\"bx*\"", "\"bo*\", \"bx*\"", "\"bx*\", \"bo*\""};
  for (int i = 0; i < 3; i++) {
    gr_plan *p;
    gr_status s = plan_many(swapped(many, "\"bo*\"", lists[i]), &p);
    CHECK(gr_status_code(s) == GR_ERR_CONFIG && gr_status_loc(s).line == 8, "%s: %s", lists[i],
          gr_status_text(s));
    gr_status_drop(s);
  }
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int failed = RUN(argc, argv, {"each_has_its_own", each_has_its_own},
                   {"share_states", share_states}, {"short_form", short_form}, {"trains", trains},
                   {"without_batch", without_batch}, {"bad_pattern", bad_pattern});
  gr_arena_destroy(arena);
  return failed;
}
