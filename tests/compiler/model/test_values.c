// test_values.c - the graph language: broadcasting, expressions, batches, randomness and initial
// values.
#include <math.h>
#include "tests/compiler/model/build.h"

// ---- Broadcasting -------------------------------------------------------------

static gr_graph *one_node(const char *node, gr_purpose purpose) {
  return build(gr_arena_printf(arena,
                               INPUTS "nodes:\n"
                                      "  - v: {param: [c]}\n"
                                      "  - col: {sum: s, axes: [1, 2], keepdim: true}\n"
                                      "  - ids: {argmax: s}\n"
                                      "  - y: {%s}\n"
                                      "predict: {y: y}\n",
                               node),
               NULL, purpose);
}

static void broadcasting(void) {
  static const struct {
    const char *node, *op;
    int times;
    const char *type;
  } cases[] = {
      {"add: [x, v]", "bias_add", 1, "f32[4,3]"},
      {"add: [v, s]", "bias_add", 1, "f32[4,20,3]"},
      {"mul: [x, 0.5]", "scale", 1, "f32[4,3]"},
      {"mul: [1 / c, x]", "scale", 1, "f32[4,3]"},
      {"div: [x, 2]", "scale", 1, "f32[4,3]"},
      {"add: [x, 1]", "add_scalar", 1, "f32[4,3]"},
      {"sub: [x, 1]", "add_scalar", 1, "f32[4,3]"},
      {"sub: [1, x]", "scale", 1, "f32[4,3]"},
      {"mul: [x, v]", "scale_columns", 1, "f32[4,3]"},
      {"mul: [v, s]", "broadcast", 0, "f32[4,20,3]"},
      {"sub: [v, s]", "broadcast", 2, "f32[4,20,3]"},
      {"mul: [s, col]", "broadcast", 2, "f32[4,20,3]"},
      {"div: [1, x]", "less", 1, "f32[4,3]"},
      {"max: [x, 0]", "add_scalar", 1, "f32[4,3]"},
      {"where: [x, 1, v]", "where", 1, "f32[4,3]"},
      {"mul: [x, x]", "broadcast", 0, "f32[4,3]"},
      {"mul: [2, ids]", "scale", 1, "i32[4,20]"},
      {"sub: [1, ids]", "scale", 1, "i32[4,20]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_graph *g = one_node(cases[i].node, GR_EVAL);
    CHECK(count(g, cases[i].op) == cases[i].times, "%s: %d of %s", cases[i].node,
          count(g, cases[i].op), cases[i].op);
    CHECK(!strcmp(result(g, "predict.y"), cases[i].type), "%s: %s", cases[i].node,
          result(g, "predict.y"));
  }
}

// ---- Expressions --------------------------------------------------------------

static void expressions(void) {
  static const struct {
    const char *text;
    double worth;
  } cases[] = {
      {"1 + 2 * 3", 7},
      {"(1 + 2) * 3", 9},
      {"7 // 2", 3},
      {"-7 // 2", -4},
      {"-7 % 3", 2},
      {"7 / 2", 3.5},
      {"2 - 3 - 4", -5},
      {"-2 * -3", 6},
      {"4 * dim", 20},
      {"dim == 5 and c < 4", 1},
      {"not dim > 5 or 1 > 2", 1},
      {"max(1, dim, 3)", 5},
      {"min(4, 2.5)", 2.5},
      {"sqrt(16) / 2", 2},
      {"floor(2.7) + ceil(2.1)", 5},
      {"1e-3 * 1000", 1},
      {"act == 'relu'", 1},
      {"act != 'tanh'", 1},
      {"true + 1", 2},
      {"abs(-3)", 3},
      {"n // 2 * t", 40},
      {"3 != 3", 0},
      {"2 >= 2", 1},
      {"given(x)", 1},
      {"2 ** 3 ** 2", 512},
      {"-2 ** 2", -4},
      {"3 * 2 ** -1", 1.5},
      {"7 // 2 ** 1", 3},
      {"(-2) ** 3 * 4 ** 0.5", -16},
      {"min(inf, 2)", 2},
      {"-inf < 0", 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_graph *g =
        build(gr_arena_printf(arena,
                              "params: {dim: 5, act: relu}\n" INPUTS
                              "nodes:\n  - y: {scale: x, by: \"(%s) + 0\"}\npredict: {y: y}\n",
                              cases[i].text),
              NULL, GR_EVAL);
    double by = g->n_nodes ? *(const double *)g->nodes[0].attr : NAN;
    CHECK(by == cases[i].worth, "%s is %g", cases[i].text, by);
  }
}

// ---- Batches, randomness, initial values --------------------------------------

static void batches(void) {
  gr_graph *g = build(
      "inputs: {x: {shape: [n, c]}, k: {shape: [c]}}\n"
      "nodes:\n"
      "  - loss: {sum: x, axes: [1]}\n"
      "  - count: {ceil_div: k, by: 2}\n"
      "  - one: {sum: k, axes: [0]}\n" TRAIN "metrics: {one: one, pair: [loss, loss]}\n",
      NULL, GR_TRAIN);
  CHECK(gr_at(g, gr_graph_leaf(g, GR_INPUT, "x"))->layout.placement[0] == 0,
        "x is split over ranks");
  CHECK(gr_at(g, gr_graph_leaf(g, GR_INPUT, "weight"))->layout.placement[0] == 0,
        "and so is weight");
  CHECK(gr_at(g, gr_graph_leaf(g, GR_INPUT, "k"))->layout.placement[0] == GR_REPLICATE, "k is not");
  CHECK(gr_graph_result(g, "metric.loss.sum").id == g->loss.id, "the loss is a metric");
  CHECK(gr_graph_result(g, "metric.pair.sum").id == gr_graph_result(g, "metric.pair.weight").id,
        "a pair of names");
  CHECK(!strcmp(result(g, "metric.one.sum"), "f32[]"), "a scalar counts as it is");
}

static void dropouts(void) {
  const char *text = INPUTS
      "params: {p: 0.5}\n"
      "nodes:\n"
      "  - a: {dropout: x, p: p, name: one}\n"
      "  - b: {dropout: x, p: p, name: one}\n"
      "  - d: {dropout: x, p: p, name: two}\n"
      "  - e: {add: [a, b]}\n"
      "  - f: {add: [e, d]}\n"
      "  - loss: {sum: f, axes: [1]}\n" TRAIN;
  gr_graph *g = build(text, NULL, GR_TRAIN);
  CHECK(count(g, "dropout") == 3, "each has a stream of its own: %d", count(g, "dropout"));
  CHECK(gr_at(g, gr_graph_leaf(g, GR_STATE, "step"))->kind == GR_KIND_COUNTER, "the step");
  CHECK(count(build(text, NULL, GR_EVAL), "dropout") == 0, "none in evaluation");
  CHECK(count(build(text, "{p: 0.0}", GR_TRAIN), "dropout") == 0, "none where p is 0");
}

static const char *attr_of(const gr_graph *g, const char *state, const char *attr) {
  gr_val leaf = gr_graph_leaf(g, GR_STATE, state);
  if (!gr_is(leaf) || !gr_is(gr_at(g, leaf)->next)) return "nothing";
  const gr_node *n = &g->nodes[gr_at(g, gr_at(g, leaf)->next)->node];
  for (const gr_attr *f = n->op->attrs; f && f->name; f++)
    if (!strcmp(f->name, attr)) {
      gr_text t = gr_text_make(arena);
      gr_attr_text(&t, f, n->attr);
      return t.chars;
    }
  return "nothing";
}

// Limits and deviations as torch.nn.init has them.
static void initial_values(void) {
  gr_graph *g = build(INPUTS
                      "nodes:\n"
                      "  - a: {param: [4, 6], init: xavier_uniform, gain: 2}\n"
                      "  - b: {param: [4, 6, 2], init: kaiming_normal}\n"
                      "  - d: {param: [4, 6], init: kaiming_uniform, a: sqrt(5)}\n"
                      "  - e: {param: [4, 6], init: xavier_normal}\n"
                      "  - f: {param: [4, 6], init: lecun_uniform}\n"
                      "  - g: {param: [5], init: 0.25}\n"
                      "  - h: {param: [5], init: trunc_normal, std: 0.02}\n"
                      "  - i: {param: [5], init: uniform, low: -1}\n"
                      "  - j: {param: [5], init: ones, dtype: f64}\n",
                      NULL, GR_INIT);
  static const struct {
    const char *state, *attr;
    double worth;
  } cases[] = {{"a", "high", 1.5491933384829668},
               {"a", "low", -1.5491933384829668},
               {"b", "std", 0.40824829046386302},
               {"d", "high", 0.40824829046386302},
               {"e", "std", 0.44721359549995793},
               {"f", "high", 0.70710678118654752},
               {"g", "value", 0.25},
               {"h", "std", 0.02 / 0.87962566103423978},
               {"i", "low", -1},
               {"i", "high", 1},
               {"j", "value", 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double got = strtod(attr_of(g, cases[i].state, cases[i].attr), NULL);
    CHECK(fabs(got - cases[i].worth) < 1e-12, "%s of %s is %.17g", cases[i].attr, cases[i].state,
          got);
  }
  CHECK(strcmp(attr_of(g, "d", "stream"), attr_of(g, "f", "stream")), "a stream for each path");
  CHECK(!strcmp(attr_of(g, "d", "seed"), "7"), "the seed of the request");
  CHECK(g->n_results == 0 && !gr_is(gr_graph_leaf(g, GR_INPUT, "x")), "only initial values");
}

// ---- How weights are read -------------------------------------------------------

// What is around a node holds for all of it; buffers stay as they are where averages are read.
static void weights_as_constants(void) {
  gr_graph *g = build(INPUTS
                      "nodes:\n"
                      "  - a: {linear: x, out: 2, name: net}\n"
                      "  - b: {linear: x, out: 2, share: net, weights: frozen}\n"
                      "  - repeat: 2\n"
                      "    weights: averaged\n"
                      "    nodes:\n"
                      "      - d: {linear: x, out: 2, share: net, weights: trained}\n"
                      "  - e: {linear: x, out: 2, share: net}\n"
                      "  - m: {batch_norm: s, name: norm}\n"
                      "  - m: {batch_norm: m, share: norm, weights: averaged}\n"
                      "  - loss: {mse: [a, b]}\n"
                      "train: loss\n",
                      NULL, GR_TRAIN);
  CHECK(count(g, "stop_gradient") == 2, "%d of frozen weights", count(g, "stop_gradient"));
  CHECK(count(g, "averaged") == 4, "%d of averages", count(g, "averaged"));
  CHECK(count(g, "matmul") == 3, "%d products: two uses are equal to others", count(g, "matmul"));
  gr_val mean = gr_graph_leaf(g, GR_STATE, "norm.running_mean");
  CHECK(gr_is(mean) && gr_is(gr_at(g, mean)->next), "the first use sets the mean");
  gr_graph *one = build(INPUTS
                        "nodes:\n"
                        "  - m: {batch_norm: s, name: norm, weights: averaged}\n"
                        "  - loss: {mse: [m, s]}\n"
                        "train: loss\n",
                        NULL, GR_TRAIN);
  mean = gr_graph_leaf(one, GR_STATE, "norm.running_mean");
  CHECK(gr_is(mean), "there is a mean");
  CHECK(!gr_is(gr_at(one, mean)->next), "the mean stays");
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  return RUN(argc, argv, {"broadcasting", broadcasting}, {"expressions", expressions},
             {"batches", batches}, {"dropouts", dropouts}, {"initial_values", initial_values},
             {"weights_as_constants", weights_as_constants});
}
