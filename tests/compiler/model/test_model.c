// test_model.c - the graph language: what the graphs in graphs/ come to, and what blocks, repeat,
// share and scan make.
#include "compiler/model/parts.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"
#include "tests/compiler/model/build.h"

static const gr_graph *body_of(const gr_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == &gr_op_scan) return ((const gr_scan *)g->nodes[i].attr)->body;
  return NULL;
}

// ---- The graphs of graphs/ ----------------------------------------------------

static void mlp(void) {
  gr_graph *g = build_file("mlp.yaml", "{dim: 8, layers: 2}", GR_TRAIN);
  int64_t n = parameters(g, GR_KIND_WEIGHT);
  CHECK(n == 3 * 8 + 8 + 8 * 8 + 8 + 8 * 6 + 6, "%lld", (long long)n);
  CHECK(has_state(g, "body.1.weight") && has_state(g, "head.bias"), "paths");
  CHECK(has_state(g, "step"), "dropout needs the step");
  CHECK(gr_is(g->loss) && gr_is(g->loss_denominator), "loss and norm");
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

// ---- Paths, blocks, repeat ----------------------------------------------------

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

// A use that shares a buffer has the value that the use before it has set.
static void sharing_buffers(void) {
  static const char text[] =
      "blocks:\n"
      "  count:\n"
      "    in: v\n"
      "    buffers: {seen: {shape: [2], init: 3, dtype: i32}}\n"
      "    nodes: [{s: {add: [seen, 1]}}]\n"
      "    next: {seen: s}\n"
      "    out: s\n" INPUTS
      "nodes:\n"
      "  - a: {count: x, name: first}\n"
      "  - b: {count: x, share: first, when: training}\n"
      "  - x: {sum: x, axes: [1]}\n"
      "train: x\n"
      "predict: {a: a}\n";
  gr_graph *g = build(text, NULL, GR_TRAIN);
  const gr_value *seen = gr_at(g, gr_graph_leaf(g, GR_STATE, "first.seen"));
  CHECK(count(g, "add_scalar") == 2 && gr_is(seen->next), "added twice");
  const gr_node *second = &g->nodes[gr_at(g, seen->next)->node];
  CHECK(gr_at(g, second->in[0])->role == GR_TEMP, "the second use reads what the first has set");
  g = build(text, NULL, GR_EVAL);
  seen = gr_at(g, gr_graph_leaf(g, GR_STATE, "first.seen"));
  CHECK(count(g, "add_scalar") == 1 && !gr_is(seen->next), "evaluation changes nothing");
  g = build(text, NULL, GR_INIT);
  CHECK(parameters(g, GR_KIND_BUFFER) == 2 && g->n_results == 0, "its initial value");
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
      "  - z: {linear: y, name: z}\n"
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
  CHECK(count(g, "tanh") == 1 && count(g, "scale_columns") == 1, "w? was given once");
  CHECK(!strcmp(result(g, "predict.q"), "f32[4,20,3]"), "%s", result(g, "predict.q"));
  CHECK(parameters(g, GR_KIND_WEIGHT) == 0 && parameters(g, GR_KIND_BUFFER) == 3, "train: false");
}

// ---- Scans --------------------------------------------------------------------

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
  CHECK(body && count(body, "broadcast") == 0, "no batch size in a body");
  CHECK(body && count(body, "dropout") == 1 && count(g, "dropout") == 0, "dropout in the body");
  CHECK(has_state(g, "w") && has_state(g, "v"), "parameters of bodies are the graph's");
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == &gr_op_scan) {
      const gr_scan *s = g->nodes[i].attr;
      CHECK(s->steps == 20 && s->reverse && s->n_seq == 2 && s->n_carry == 2 && s->n_init == 1,
            "%d sequences, %d carries", (int)s->n_seq, (int)s->n_carry);
      CHECK(g->nodes[i].n_in == 2 + 1 + 2, "s, numbers of steps, x, w, v: %d", g->nodes[i].n_in);
    }
  g = scan(GR_EVAL);
  CHECK(!strcmp(result(g, "predict.h"), "f32[4,20,3]"), "%s", result(g, "predict.h"));
  CHECK(!strcmp(result(g, "predict.g"), "f32[4,20,2]"), "%s", result(g, "predict.g"));
  CHECK(!strcmp(result(g, "predict.end"), "f32[4,3]"), "%s", result(g, "predict.end"));
  CHECK(body_of(g) && count(body_of(g), "dropout") == 0, "no dropout in evaluation");
}

// Dropout alone changes the carry in training, and leaves it as it is in evaluation.
static void scan_of_dropout(void) {
  for (int eval = 0; eval < 2; eval++) {
    gr_graph *g = build(INPUTS
                        "nodes:\n"
                        "  - w: {linear: x, out: 3, name: l}\n"
                        "  - loop:\n"
                        "      scan:\n"
                        "        over: {s: t}\n"
                        "        carry: {h: w}\n"
                        "        nodes: [h: {dropout: h, p: 0.5}]\n"
                        "        last: {end: h}\n"
                        "  - loss: {sum: end, axes: [1]}\n"
                        "predict: {end: end}\n" TRAIN,
                        NULL, eval ? GR_EVAL : GR_TRAIN);
    CHECK(body_of(g) && count(body_of(g), "dropout") == !eval, "in evaluation: %d", eval);
    CHECK(body_of(g)->n_nodes, "a node, by which it is sharded as the carry is");
  }
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

// ---- Built-in blocks ------------------------------------------------------------

static bool same_places(const gr_conf *a, const gr_conf *b) {
  bool same = a->n == b->n && a->loc.line == b->loc.line && a->loc.col == b->loc.col &&
              a->key_loc.line == b->key_loc.line && a->key_loc.col == b->key_loc.col;
  for (int i = 0; same && i < a->n && a->items; i++) same = same_places(a->items[i], b->items[i]);
  return same;
}

// A block that is parsed alone is what it is in the file, at the same places.
static void built_in_blocks(void) {
  gr_conf *whole, *none = gr_conf_make(arena, GR_CONF_MAP, GR_NOWHERE), *blocks;
  MUST(gr_conf_parse(arena, "graphs/blocks.yaml", gr_model_blocks_yaml, &whole));
  MUST(gr_model_blocks(arena, none, NULL, &blocks));
  CHECK(blocks->n == whole->n && blocks->n > 50, "%d blocks, and not %d", blocks->n, whole->n);
  for (int i = 0; i < blocks->n; i++) {
    gr_conf *block = blocks->items[i];
    CHECK(block->kind == GR_CONF_TEXT, "'%s' is parsed, and nothing uses it", blocks->keys[i]);
    MUST(gr_model_read_block(arena, block, &block));
    CHECK(!strcmp(blocks->keys[i], whole->keys[i]) && gr_conf_same(arena, block, whole->items[i]),
          "'%s'", blocks->keys[i]);
    CHECK(same_places(block, whole->items[i]), "places in '%s'", blocks->keys[i]);
  }
}

// Those that a file uses are parsed, and those that these use, and no others.
static void blocks_in_use(void) {
  gr_conf *file, *blocks;
  MUST(gr_conf_parse(arena, "f.yaml", "nodes: [y: {linear: x, out: 4}]", &file));
  MUST(gr_model_blocks(arena, file, NULL, &blocks));
  int parsed = 0;
  for (int i = 0; i < blocks->n; i++) parsed += blocks->items[i]->kind == GR_CONF_MAP;
  CHECK(parsed == 2 && gr_conf_member(blocks, "linear")->kind == GR_CONF_MAP &&
            gr_conf_member(blocks, "add_bias")->kind == GR_CONF_MAP,
        "%d blocks are parsed", parsed);
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  return RUN(argc, argv, {"mlp", mlp}, {"lmu_asr", lmu_asr}, {"lmu_asr_small", lmu_asr_small},
             {"paths", paths}, {"sharing", sharing}, {"sharing_buffers", sharing_buffers},
             {"block_of_an_ops_name", block_of_an_ops_name},
             {"results_of_blocks", results_of_blocks}, {"scans", scans},
             {"scan_of_dropout", scan_of_dropout}, {"scan_in_scan", scan_in_scan}, {"lstm", lstm},
             {"built_in_blocks", built_in_blocks}, {"blocks_in_use", blocks_in_use});
}
