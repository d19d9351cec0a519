// test_model.c - the graph language: what the built-in graphs come to, and what blocks, repeat,
// share, scan and broadcasting make.
#include "compiler/model.h"
#include "tests/check.h"

static gr_arena *arena;

static const gr_dim dims[] = {{"n", 4}, {"t", 20}, {"u", 5}, {"c", 3}};

static gr_model_request request(gr_conf *file, gr_conf *params, gr_purpose purpose) {
  return (gr_model_request){.graph = file,
                            .params = params,
                            .dims = dims,
                            .n_dims = 4,
                            .purpose = purpose,
                            .seed = 7,
                            .mesh = {.n_axes = 1, .axis = {{"dp", 2}}},
                            .batch_axis = "dp"};
}

static gr_graph *build(const char *text, const char *params, gr_purpose purpose) {
  gr_conf *file, *given = NULL;
  gr_graph *g;
  MUST(gr_conf_parse(arena, "test.yaml", text, &file));
  if (params) MUST(gr_conf_parse(arena, "params.yaml", params, &given));
  gr_model_request r = request(file, given, purpose);
  MUST(gr_model_build(arena, &r, &g));
  return g;
}

static gr_graph *build_file(const char *name, const char *params, gr_purpose purpose) {
  char path[512];
  gr_conf *file, *given = NULL;
  gr_graph *g;
  snprintf(path, sizeof path, "%s/graphs/%s", GR_SOURCE_DIR, name);
  MUST(gr_conf_read(arena, path, &file));
  if (params) MUST(gr_conf_parse(arena, "params.yaml", params, &given));
  gr_model_request r = request(file, given, purpose);
  MUST(gr_model_build(arena, &r, &g));
  return g;
}

static int64_t parameters(const gr_graph *g) {
  int64_t n = 0;
  for (uint32_t i = 1; i < g->n_values; i++)
    if (g->values[i].role == GR_STATE && g->values[i].kind == GR_KIND_WEIGHT)
      n += gr_type_count(&g->values[i].type);
  return n;
}

static void mlp(void) {
  gr_graph *g = build_file("mlp.yaml", "{dim: 8, layers: 2}", GR_TRAIN);
  CHECK(parameters(g) == 3 * 8 + 8 + 8 * 8 + 8 + 8 * 6 + 6, "%lld", (long long)parameters(g));
  CHECK(gr_is(gr_graph_leaf(g, GR_STATE, "body.1.weight")), "path of the second layer");
  CHECK(gr_is(gr_graph_leaf(g, GR_STATE, "head.bias")), "path of the head");
  CHECK(gr_is(gr_graph_leaf(g, GR_STATE, "step")), "dropout needs the step");
  CHECK(gr_is(g->loss) && gr_is(g->norm), "loss and norm");
  CHECK(gr_is(gr_graph_result(g, "metric.accuracy.weight")), "metric");
  (void)build;
}

static void lmu_asr(void) {
  gr_graph *g = build_file("lmu_asr.yaml", NULL, GR_TRAIN);
  CHECK(parameters(g) == 7157792, "%lld", (long long)parameters(g));
  g = build_file("lmu_asr.yaml", "{subsample: 4, hidden: 64, memory: 32, layers: 2, lmu_residual: true}",
                 GR_EVAL);
  gr_val tokens = gr_graph_result(g, "predict.tokens");
  CHECK(gr_is(tokens) && gr_at(g, tokens)->type.dim[1] == 5, "20 frames become 5");
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  return RUN(argc, argv, {"mlp", mlp}, {"lmu_asr", lmu_asr});
}
