// test_model.c - the graph language: what the graphs in graphs/ come to, and what blocks, repeat,
// share, scan, broadcasting, expressions and initial values make.
#include <math.h>
#include "compiler/model.h"
#include "ops/ops.h"
#include "ops/scan.h"
#include "tests/check.h"

static gr_arena *arena;
static const gr_dim dims[] = {{"n", 4}, {"t", 20}, {"u", 5}, {"c", 3}};

static gr_graph *build_conf(gr_conf *file, const char *params, gr_purpose purpose) {
  gr_conf *given = NULL;
  gr_graph *g = NULL;
  if (params) MUST(gr_conf_parse(arena, "params.yaml", params, &given));
  gr_model_request r = {.graph = file,
                        .params = given,
                        .dims = dims,
                        .n_dims = 4,
                        .purpose = purpose,
                        .seed = 7,
                        .mesh = {.n_axes = 1, .axis = {{"dp", 2}}},
                        .batch_axis = "dp"};
  MUST(gr_model_build(arena, &r, &g));
  return g;
}

static gr_graph *build(const char *text, const char *params, gr_purpose purpose) {
  gr_conf *file;
  MUST(gr_conf_parse(arena, "test.yaml", text, &file));
  return build_conf(file, params, purpose);
}

static gr_graph *build_file(const char *name, const char *params, gr_purpose purpose) {
  gr_conf *file;
  MUST(gr_conf_read(arena, gr_arena_printf(arena, "%s/graphs/%s", GR_SOURCE_DIR, name), &file));
  return build_conf(file, params, purpose);
}

#define INPUTS "inputs: {x: {shape: [n, c]}, s: {shape: [n, t, c]}}\n"
#define TRAIN "train: loss\n"

static int64_t parameters(const gr_graph *g, gr_kind kind) {
  int64_t n = 0;
  for (uint32_t i = 1; i < g->n_values; i++)
    if (g->values[i].role == GR_STATE && g->values[i].kind == kind)
      n += gr_type_count(&g->values[i].type);
  return n;
}

static int count(const gr_graph *g, const char *op) {
  int n = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) n += !strcmp(g->nodes[i].op->name, op);
  return n;
}

static bool has_state(const gr_graph *g, const char *name) {
  return gr_is(gr_graph_leaf(g, GR_STATE, name));
}

static const char *type_of(const gr_graph *g, gr_val v) {
  char buf[96];
  return gr_is(v) ? gr_arena_strdup(arena, gr_type_text(&gr_at(g, v)->type, buf)) : "nothing";
}

static const char *result(const gr_graph *g, const char *name) {
  return type_of(g, gr_graph_result(g, name));
}

static const gr_graph *body_of(const gr_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == &gr_op_scan) return ((const gr_scan *)g->nodes[i].attr)->body;
  return NULL;
}

// ---- The graphs of graphs/ ------------------------------------------------------

static void mlp(void) {
  gr_graph *g = build_file("mlp.yaml", "{dim: 8, layers: 2}", GR_TRAIN);
  int64_t n = parameters(g, GR_KIND_WEIGHT);
  CHECK(n == 3 * 8 + 8 + 8 * 8 + 8 + 8 * 6 + 6, "%lld", (long long)n);
  CHECK(has_state(g, "body.1.weight") && has_state(g, "head.bias"), "paths");
  CHECK(has_state(g, "step"), "dropout needs the step");
  CHECK(gr_is(g->loss) && gr_is(g->norm), "loss and norm");
  CHECK(!strcmp(result(g, "metric.accuracy.weight"), "f32[]"), "a metric is two scalars");
  CHECK(!gr_is(gr_graph_result(g, "predict.logits")), "predictions are made in evaluation");
}

static void lmu_asr(void) {
  gr_graph *g = build_file("lmu_asr.yaml", NULL, GR_TRAIN);
  int64_t n = parameters(g, GR_KIND_WEIGHT), fixed = parameters(g, GR_KIND_BUFFER);
  CHECK(n == 7157792, "%lld", (long long)n);
  CHECK(fixed == 4 * (256 * 256 + 256), "%lld", (long long)fixed);
  CHECK(has_state(g, "layers.3.attention.o.bias") && has_state(g, "layers.0.lmu.W_m"), "paths");
  g = build_file("lmu_asr.yaml", "{vocab: 29}", GR_INIT);
  CHECK(parameters(g, GR_KIND_WEIGHT) == 7156253, "29 symbols");
}

static void lmu_asr_small(void) {
  const char *small = "{subsample: 4, hidden: 64, memory: 32, layers: 2, lmu_residual: true}";
  gr_graph *g = build_file("lmu_asr.yaml", small, GR_EVAL);
  CHECK(!strcmp(result(g, "predict.tokens"), "i32[4,5]"), "20 frames become 5: %s",
        result(g, "predict.tokens"));
  CHECK(!has_state(g, "step"), "nothing is random in evaluation");
  g = build_file("lmu_asr.yaml", "{use_lmu: false, layers: 1}", GR_TRAIN);
  CHECK(!body_of(g) && !has_state(g, "layers.0.lmu.W_x"), "without memory units");
  g = build_file("lmu_asr.yaml", "{use_attention: false, layers: 1}", GR_TRAIN);
  CHECK(!has_state(g, "layers.0.attention.q.weight"), "without attention");
}

// ---- Broadcasting ---------------------------------------------------------------

static gr_graph *one_node(const char *node, gr_purpose purpose) {
  return build(gr_arena_printf(arena,
                               INPUTS "nodes:\n"
                                      "  - v: {param: [c]}\n"
                                      "  - col: {sum: s, axes: [1, 2], keep: true}\n"
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
      {"add: [x, v]", "bias", 1, "f32[4,3]"},        {"add: [v, s]", "bias", 1, "f32[4,20,3]"},
      {"mul: [x, 0.5]", "scale", 1, "f32[4,3]"},     {"mul: [1 / c, x]", "scale", 1, "f32[4,3]"},
      {"div: [x, 2]", "scale", 1, "f32[4,3]"},       {"add: [x, 1]", "shift", 1, "f32[4,3]"},
      {"sub: [x, 1]", "shift", 1, "f32[4,3]"},       {"sub: [1, x]", "scale", 1, "f32[4,3]"},
      {"mul: [x, v]", "spread", 1, "f32[4,3]"},      {"sub: [v, s]", "spread", 2, "f32[4,20,3]"},
      {"mul: [s, col]", "spread", 2, "f32[4,20,3]"}, {"div: [1, x]", "less", 1, "f32[4,3]"},
      {"max: [x, 0]", "shift", 1, "f32[4,3]"},       {"where: [x, 1, v]", "where", 1, "f32[4,3]"},
      {"mul: [x, x]", "spread", 0, "f32[4,3]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_graph *g = one_node(cases[i].node, GR_EVAL);
    CHECK(count(g, cases[i].op) == cases[i].times, "%s: %d of %s", cases[i].node,
          count(g, cases[i].op), cases[i].op);
    CHECK(!strcmp(result(g, "predict.y"), cases[i].type), "%s: %s", cases[i].node,
          result(g, "predict.y"));
  }
}

// ---- Expressions ----------------------------------------------------------------

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
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_graph *g = build(gr_arena_printf(arena,
                                        "params: {dim: 5, act: relu}\n" INPUTS
                                        "nodes:\n  - y: {scale: x, by: \"(%s) + 0\"}\npredict: {y: y}\n",
                                        cases[i].text),
                        NULL, GR_EVAL);
    double by = g->n_nodes ? *(const double *)g->nodes[0].attr : NAN;
    CHECK(by == cases[i].worth, "%s is %g", cases[i].text, by);
  }
}

// ---- Paths, blocks, repeat ------------------------------------------------------

static void paths(void) {
  gr_graph *g = build(INPUTS
                      "blocks:\n"
                      "  pair:\n"
                      "    in: x\n"
                      "    params: {out: 4}\n"
                      "    nodes:\n"
                      "      - x: {linear: x, out: out, name: first}\n"
                      "      - x: {linear: x, out: out, bias: false, name: second}\n"
                      "nodes:\n"
                      "  - repeat: 2\n"
                      "    from: 1\n"
                      "    name: layers.$i\n"
                      "    nodes:\n"
                      "      - x: {pair: x, out: 4 + $i, name: pair}\n"
                      "      - repeat: $i\n"
                      "        as: j\n"
                      "        nodes:\n"
                      "          - x: {layer_norm: x, name: norm.$j}\n"
                      "predict: {x: x}\n",
                      NULL, GR_EVAL);
  CHECK(has_state(g, "layers.1.pair.first.weight") && has_state(g, "layers.2.pair.second.weight"),
        "layers");
  CHECK(!has_state(g, "layers.1.pair.second.bias"), "bias: false");
  CHECK(has_state(g, "layers.1.norm.0.bias") && has_state(g, "layers.2.norm.1.bias"), "norms");
  CHECK(!has_state(g, "layers.1.norm.1.bias"), "as many as $i");
  CHECK(!strcmp(result(g, "predict.x"), "f32[4,6]"), "%s", result(g, "predict.x"));
}

static void sharing(void) {
  gr_graph *g = build(
      "inputs: {ids: {shape: [n, t], dtype: i32}}\n"
      "nodes:\n"
      "  - x: {embedding: ids, vocab: 9, dim: 4, name: embed}\n"
      "  - y: {linear: x, out: 9, bias: false, share: embed}\n"
      "  - z: {layer_norm: x, name: a}\n"
      "  - z: {layer_norm: z, share: a}\n"
      "predict: {y: y, z: z}\n",
      NULL, GR_EVAL);
  CHECK(parameters(g, GR_KIND_WEIGHT) == 9 * 4 + 4 + 4, "%lld",
        (long long)parameters(g, GR_KIND_WEIGHT));
}

static void block_of_an_ops_name(void) {
  gr_graph *g = build(
      "blocks:\n"
      "  relu:\n"
      "    in: x\n"
      "    nodes:\n"
      "      - x: {relu: x}\n"
      "      - x: {relu: x}\n"
      "      - x: {mul: [x, x]}\n" INPUTS
      "nodes:\n"
      "  - y: {relu: x}\n"
      "  - z: {linear: y}\n"
      "predict: {z: z}\n",
      NULL, GR_EVAL);
  CHECK(count(g, "relu") == 2 && count(g, "mul") == 1, "in the block, relu is the op");
}

static void results_of_blocks(void) {
  gr_graph *g = build(
      "blocks:\n"
      "  two:\n"
      "    in: {x: [..., k], \"w?\": [k]}\n"
      "    nodes:\n"
      "      - a: {relu: x}\n"
      "      - b: {mul: [a, w], when: given(w)}\n"
      "      - b: {tanh: a, when: not given(w)}\n"
      "    out: [a, b]\n" INPUTS
      "nodes:\n"
      "  - w: {param: [c], train: false}\n"
      "  - p, q: {two: s}\n"
      "  - r, t0: {two: [x, w]}\n"
      "predict: {q: q, t: t0}\n",
      NULL, GR_EVAL);
  CHECK(count(g, "tanh") == 1 && count(g, "mul") == 1, "w? was given once");
  CHECK(!strcmp(result(g, "predict.q"), "f32[4,20,3]"), "%s", result(g, "predict.q"));
  CHECK(parameters(g, GR_KIND_WEIGHT) == 0 && parameters(g, GR_KIND_BUFFER) == 3, "train: false");
}

// ---- Scans ----------------------------------------------------------------------

static gr_graph *scan(gr_purpose purpose) {
  return build(INPUTS
               "nodes:\n"
               "  - h, g:\n"
               "      scan:\n"
               "        over: {s: t}\n"
               "        carry: {h: x, m: [n, 2]}\n"
               "        nodes:\n"
               "          - w: {param: [2, c], init: xavier_normal, name: w}\n"
               "          - v: {param: [c], init: ones}\n"
               "          - g: {add: [s, h]}\n"
               "          - g: {mul: [g, v]}\n"
               "          - g: {max: [g, 0]}\n"
               "          - d: {dropout: g, p: 0.5}\n"
               "          - m: {matmul: [d, w], tb: true}\n"
               "          - h2: {add: [g, v]}\n"
               "        next: {h: h2}\n"
               "        yields: [h, m]\n"
               "        last: {end: h}\n"
               "        reverse: true\n"
               "  - loss: {sum: end, axes: [1]}\n"
               "predict: {h: h, g: g, end: end}\n" TRAIN,
               NULL, purpose);
}

static void scans(void) {
  gr_graph *g = scan(GR_TRAIN);
  const gr_graph *body = body_of(g);
  CHECK(body && count(body, "spread") == 0, "no batch size in a body");
  CHECK(body && count(body, "dropout") == 1 && count(g, "dropout") == 0, "dropout in the body");
  CHECK(has_state(g, "w") && has_state(g, "v"), "parameters of bodies are the graph's");
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == &gr_op_scan) {
      const gr_scan *s = g->nodes[i].attr;
      CHECK(s->steps == 20 && s->reverse && s->n_seq == 1 && s->n_carry == 2 && s->n_init == 1,
            "%d sequences, %d carries", (int)s->n_seq, (int)s->n_carry);
      CHECK(g->nodes[i].n_in == 1 + 1 + 3, "s, x, w, v and the step: %d", g->nodes[i].n_in);
    }
  g = scan(GR_EVAL);
  CHECK(!strcmp(result(g, "predict.h"), "f32[4,20,3]"), "%s", result(g, "predict.h"));
  CHECK(!strcmp(result(g, "predict.g"), "f32[4,20,2]"), "%s", result(g, "predict.g"));
  CHECK(!strcmp(result(g, "predict.end"), "f32[4,3]"), "%s", result(g, "predict.end"));
  CHECK(body_of(g) && count(body_of(g), "dropout") == 0, "no dropout in evaluation");
}

static void scan_in_scan(void) {
  gr_graph *g = build(
      "inputs: {x: {shape: [n, t, u, c]}}\n"
      "nodes:\n"
      "  - y:\n"
      "      scan:\n"
      "        over: {x: t}\n"
      "        nodes:\n"
      "          - w: {param: [c, c]}\n"
      "          - z:\n"
      "              scan:\n"
      "                over: {x: 1}\n"
      "                carry:\n"
      "                  h: zeros[n, c]\n"
      "                nodes:\n"
      "                  - h: {add: [h, x]}\n"
      "                  - h: {matmul: [h, w]}\n"
      "                yields: h\n"
      "        yields: z\n"
      "  - y: {lstm: {}, when: false}\n"
      "predict: {y: y}\n",
      NULL, GR_EVAL);
  CHECK(body_of(g) && body_of(body_of(g)), "a scan in a scan");
  CHECK(!strcmp(result(g, "predict.y"), "f32[4,20,5,3]"), "%s", result(g, "predict.y"));
}

static void lstm(void) {
  gr_graph *g = build(INPUTS "nodes:\n  - y: {lstm: s, hidden: 6, name: rnn}\npredict: {y: y}\n",
                      NULL, GR_EVAL);
  CHECK(parameters(g, GR_KIND_WEIGHT) == 4 * 6 * (3 + 6 + 2), "torch.nn.LSTM(3, 6)");
  CHECK(has_state(g, "rnn.weight_hh_l0"), "torch's names");
  CHECK(!strcmp(result(g, "predict.y"), "f32[4,20,6]"), "%s", result(g, "predict.y"));
}

// ---- Batches, randomness, initial values ----------------------------------------

static void batches(void) {
  gr_graph *g = build(
      "inputs: {x: {shape: [n, c]}, k: {shape: [c]}}\n"
      "nodes:\n"
      "  - loss: {sum: x, axes: [1]}\n"
      "  - count: {ceil_div: k, by: 2}\n"
      "  - one: {sum: k, axes: [0]}\n" TRAIN "metrics: {one: one, pair: [loss, loss]}\n",
      NULL, GR_TRAIN);
  CHECK(gr_at(g, gr_graph_leaf(g, GR_INPUT, "x"))->layout.at[0] == 0, "x is split over ranks");
  CHECK(gr_at(g, gr_graph_leaf(g, GR_INPUT, "weight"))->layout.at[0] == 0, "and so is weight");
  CHECK(gr_at(g, gr_graph_leaf(g, GR_INPUT, "k"))->layout.at[0] == GR_R, "k is not");
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
      return t.at;
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
               {"h", "std", 0.02},
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

int main(int argc, char **argv) {
  arena = gr_arena_create();
  return RUN(argc, argv, {"mlp", mlp}, {"lmu_asr", lmu_asr}, {"lmu_asr_small", lmu_asr_small},
             {"broadcasting", broadcasting}, {"expressions", expressions}, {"paths", paths},
             {"sharing", sharing}, {"block_of_an_ops_name", block_of_an_ops_name},
             {"results_of_blocks", results_of_blocks}, {"scans", scans},
             {"scan_in_scan", scan_in_scan}, {"lstm", lstm}, {"batches", batches},
             {"dropouts", dropouts}, {"initial_values", initial_values});
}
