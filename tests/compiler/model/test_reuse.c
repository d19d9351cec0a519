// test_reuse.c - a further use of a block that is built as an earlier one (compiler/model/reuse.c)
// comes to the graph that its nodes come to: the graphs of graphs/, and what a use may depend on.
#include <stdlib.h>
#include "ir/text.h"
#include "tests/compiler/model/build.h"

static const gr_dim sizes[] = {{"n", 4}, {"t", 20}, {"u", 5}, {"w", 32},
                               {"c", 3}, {"d", 9},  {"h", 32}};

// An error with its notes.
static const char *error_text(gr_status s) {
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  gr_status_print(f, s);
  fclose(f);
  gr_status_drop(s);
  const char *copy = gr_arena_strdup(arena, text);
  free(text);
  return copy;
}

// The text of a program's graph, with places, paths and passes, and the parts of the model.
static const char *text_of(gr_conf *file, const char *params, const char *program, bool each,
                           int *again) {
  gr_conf *given = NULL;
  gr_graph *g = NULL;
  gr_scopes scopes = {0};
  gr_text t = gr_text_make(arena);
  gr_model_program *p = GR_NEW(arena, gr_model_program, 1);
  bool init = !strcmp(program, "init");
  if (params) MUST(gr_conf_parse(arena, "params.yaml", params, &given));
  if (!init) MUST(gr_model_program_read(arena, file, program, p));
  gr_model_request r = {.graph = file,
                        .params = given,
                        .dims = sizes,
                        .n_dims = sizeof sizes / sizeof *sizes,
                        .purpose = init        ? GR_INIT
                                   : p->trains ? GR_TRAIN
                                               : GR_EVAL,
                        .program = init ? NULL : p,
                        .seed = 7,
                        .scopes = &scopes,
                        .builds_each = each,
                        .built_again = again,
                        .mesh = {.n_axes = 1, .axis = {{"dp", 2}}},
                        .batch_axis = {"dp"}};
  gr_status s = gr_model_build(arena, &r, &g);
  if (s) return error_text(s);
  gr_graph_text(&t, g, true);
  for (uint32_t i = 0; i < scopes.n; i++)
    gr_text_printf(&t, "part %s %s\n", scopes.items[i].path,
                   scopes.items[i].block ? scopes.items[i].block : "");
  return t.chars;
}

// Compares the programs of a file, built both ways; fails: it is one that cannot be built. Returns
// how many uses were built again.
static int compare(gr_conf *file, const char *params, const char *what, bool fails) {
  const char **names;
  int again = 0, n = gr_model_program_names(arena, file, &names);
  const char **programs = GR_NEW(arena, const char *, n + 1);
  memcpy(programs, names, sizeof *names * (size_t)n);
  bool usual = n == 2 && !strcmp(names[0], "train") && !strcmp(names[1], "eval");
  if (usual) programs[n++] = "init";
  for (int i = 0; i < n; i++) {
    const char *fast = text_of(file, params, programs[i], false, &again);
    const char *slow = text_of(file, params, programs[i], true, &again);
    CHECK((strstr(slow, " error: ") != NULL) == fails, "%s: %s", what, slow);
    CHECK(!strcmp(fast, slow), "%s: the program %s differs:\n%s\nand node by node:\n%s", what,
          programs[i], fast, slow);
  }
  return again;
}

static void files(void) {
  static const struct {
    const char *file, *params;
    int again;  // at least
  } cases[] = {
      {"mlp.yaml", "{dim: 8, layers: 4}", 6},
      {"lmu_asr.yaml", "{hidden: 16, memory: 8, heads: 4, layers: 4, vocab: 12}", 30},
      {"lmu_asr.yaml",
       "{hidden: 16, memory: 8, heads: 4, layers: 3, subsample: 4, vocab: 12, "
       "fused_attention: false, lmu_residual: true, norm_first: true}",
       30},
      {"gpt.yaml", "{dim: 16, heads: 4, layers: 4}", 20},
      {"vit.yaml", "{patch: 8, dim: 16, layers: 4, heads: 4, mlp: 32, head: 12, classes: 6}", 20},
      {"whisper.yaml",
       "{dim: 16, heads: 4, layers: 3, vocab: 30, dropout: 0.1, mels: 3, audio_context: 10, "
       "text_context: 32}",
       20},
      {"encoder.yaml", NULL, 20},
      {"series.yaml", NULL, 0},
      {"texts.yaml", NULL, 3},
      {"cnn3d.yaml", NULL, 0},
      {"clstm_ppo.yaml",
       "{network: clstm, hidden: 64, layers: 2, heads: 4, tickers: 10, traded: 10, features: 4, "
       "days: 400, train_days: 300, window: 10, episode: 100, envs: 4, steps: 8, minibatch: 8}",
       0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_conf *file;
    const char *path = gr_arena_printf(arena, "%s/graphs/%s", GR_SOURCE_DIR, cases[i].file);
    MUST(gr_conf_read(arena, path, &file));
    int again = compare(file, cases[i].params, cases[i].file, false);
    CHECK(again >= cases[i].again, "%s: %d uses were built again", cases[i].file, again);
  }
}

// A model of blocks and four layers, which `layer` is the nodes of, from x [4, 4] on.
#define FOUR(blocks, layer)                                       \
  INPUTS "blocks:\n" blocks                                       \
         "nodes:\n  - x: {linear: x, out: 4, name: first}\n"      \
         "  - repeat: 4\n    name: layers.$i\n    nodes:\n" layer \
         "  - loss: {mean: x, axes: [1]}\n" TRAIN

// What a use depends on. A use is noted, at the latest, in the second layer: the operand of the
// first was made by another op. The initial values build train and eval again.
static const struct use {
  const char *what;
  int again;  // in all three programs
  const char *text;
  bool fails;
} use_cases[] = {
    {"weights, and a part of the model", 12,
     FOUR("  f: {in: x, nodes: [{z: {tanh: x}}, {y: {linear: z, out: 4, name: a}}]}\n",
          "      - x: {f: x, name: f}\n")},
    {"the batch's weights, which each block sees", 0,
     FOUR("  f: {in: x, nodes: [{w: {mean: sample_weight, axes: [0]}}, {y: {add: [x, w]}}]}\n",
          "      - x: {f: x, name: f}\n")},
    {"random numbers, where there are any", 2 * 2 + 2 * 3,
     FOUR("  f: {in: x, nodes: [{y: {dropout: x, p: 0.5}}, {y: {dropout: y, p: 0.5, name: b}}]}\n",
          "      - x: {f: x}\n")},
    {"random numbers in a loop", 8,
     INPUTS "blocks:\n  f:\n    in: {x: [n, t, c]}\n    nodes:\n"
            "      - y: {scan: {over: {x: t}, carry: {h: [n, c]}, nodes: [{h: {add: [h, x]}}, "
            "{h: {dropout: h, p: 0.5, name: inner}}], yields: h}}\n"
            "nodes:\n  - repeat: 4\n    name: layers.$i\n    nodes:\n      - s: {f: s}\n"
            "  - loss: {mean: s, axes: [1, 2]}\n" TRAIN},
    {"two random streams of one path, which are counted", 2 * 3,
     FOUR("  f: {in: x, nodes: [{y: {dropout: x, p: 0.5}}, {y: {dropout: y, p: 0.4}}]}\n",
          "      - x: {f: x}\n")},
    {"a parameter, equal in two layers", 4,
     FOUR("  f: {in: x, params: {by: 1.0}, nodes: [{y: {mul: [x, by]}}, {y: {tanh: y}}]}\n",
          "      - x: {f: x, by: $i // 2}\n")},
    {"an operand's type, of which the first differs", 12,
     INPUTS "blocks:\n  f: {in: x, nodes: [{y: {linear: x, out: 4}}]}\n"
            "nodes:\n  - repeat: 4\n    name: layers.$i\n    nodes:\n      - x: {f: x}\n"
            "  - loss: {mean: x, axes: [1]}\n" TRAIN},
    {"one tensor as both operands, then two", 4,
     FOUR("  f: {in: [x, z], nodes: [{a: {relu: x}}, {b: {relu: z}}, {y: {add: [a, b]}}]}\n",
          "      - z: x\n      - z: {add: [x, x], when: $i > 1}\n      - x: {f: [x, z]}\n")},
    {"an operand's type, whatever made it", 0,
     INPUTS "blocks:\n  f: {in: x, nodes: [{y: {linear: x, out: 4}}]}\n"
            "nodes:\n  - repeat: 2\n    name: layers.$i\n    nodes:\n"
            "      - x: {linear: x, out: 5 + $i, name: a}\n      - x: {f: x, name: b}\n"
            "  - loss: {mean: x, axes: [1]}\n" TRAIN},
    {"a loop around it", 0,
     INPUTS "blocks:\n  h: {in: x, nodes: [{y: {tanh: x}}]}\n  f: {in: x, nodes: [{y: {h: x}}]}\n"
            "nodes:\n  - a: {f: x, name: k}\n"
            "  - z: {scan: {over: {s: t}, carry: {h: [n, c]}, nodes: [{q: {f: s, name: m}}, "
            "{h: {add: [h, q]}}], yields: q}}\n"
            "  - b: {mean: z, axes: [1, 2]}\n  - a: {mean: a, axes: [1]}\n"
            "  - loss: {add: [a, b]}\n" TRAIN},
    {"a layer without a path around it", 0,
     INPUTS "blocks:\n  h: {in: x, nodes: [{y: {tanh: x, name: a}}]}\n"
            "  f: {in: x, nodes: [{y: {h: x}}]}\n"
            "  g: {in: x, nodes: [{repeat: 1, nodes: [{x: {f: x}}]}], out: x}\n"
            "nodes:\n  - x: {tanh: x}\n  - x: {g: x, name: g}\n  - x: {f: x, name: k}\n"
            "  - loss: {mean: x, axes: [1]}\n" TRAIN},
    {"a node that there is before each use", 8,
     FOUR("  f: {in: x, nodes: [{a: {relu: x}}, {b: {tanh: x}}, {y: {add: [a, b]}}]}\n",
          "      - z: {relu: x}\n      - w: {f: x}\n      - x: {add: [w, z]}\n")},
    {"a node that there is before one use", 8,
     FOUR("  f: {in: x, nodes: [{a: {relu: x}}, {b: {tanh: x}}, {y: {add: [a, b]}}]}\n",
          "      - z: {relu: x, when: $i == 1}\n      - x: {f: x}\n")},
    {"weights of another use", 0,
     INPUTS "blocks:\n  f: {in: x, nodes: [{y: {linear: x, out: 3, name: a}}]}\n"
            "nodes:\n  - x: {f: x, name: g}\n  - repeat: 4\n    nodes:\n"
            "      - x: {f: x, share: g}\n  - loss: {mean: x, axes: [1]}\n" TRAIN},
    {"a buffer, which training sets and evaluation does not", 10,
     FOUR("  f:\n    in: x\n    buffers: {seen: {shape: []}}\n    nodes:\n"
          "      - m: {mean: x, axes: [0, 1]}\n      - y: {add: [x, seen]}\n"
          "      - more: {add: [seen, m]}\n    next: {seen: more}\n    out: y\n",
          "      - x: {f: x, name: f}\n      - x: {batch_norm: x, name: norm}\n")},
    {"blocks in blocks, and an operand that is not given", 20,
     FOUR("  f: {in: [x, \"z?\"], nodes: [{y: {linear: x, out: 4, name: a}}, "
          "{y: {add: [y, z], when: given(z)}}]}\n"
          "  g: {in: x, nodes: [{y: {f: x, name: f}}, {y: {f: [y, x], name: h}}]}\n",
          "      - x: {g: x, name: g}\n")},
    {"layers without a path of their own", 12,
     INPUTS "blocks:\n  f: {in: x, nodes: [{y: {tanh: x}}, {y: {relu: y}}]}\n"
            "nodes:\n  - repeat: 4\n    nodes:\n      - x: {f: x}\n      - x: {f: x, name: k$i}\n"
            "  - loss: {mean: x, axes: [1]}\n" TRAIN},
    {"one path twice, an error in the blocks that it is in", 0,
     FOUR("  f: {in: x, nodes: [{y: {linear: x, out: 4, name: a}}]}\n"
          "  g: {in: x, nodes: [{y: {f: x}}]}\n",
          "      - repeat: 2\n        name: k\n        nodes: [{x: {g: x}}]\n"),
     true},
    {"a result that is an operand", 12,
     FOUR("  f: {in: x, nodes: [{y: {linear: x, out: 4, name: a}}], out: [x, y]}\n",
          "      - z, x: {f: x, name: f}\n")},
};

static void uses(void) {
  for (size_t i = 0; i < sizeof use_cases / sizeof *use_cases; i++) {
    gr_conf *file;
    MUST(gr_conf_parse(arena, "test.yaml", use_cases[i].text, &file));
    int again = compare(file, NULL, use_cases[i].what, use_cases[i].fails);
    CHECK(again == use_cases[i].again, "%s: %d uses were built again", use_cases[i].what, again);
  }
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  return RUN(argc, argv, {"files", files}, {"uses", uses});
}
