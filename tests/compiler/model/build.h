// build.h - for the tests of the graph language: models from text, and looking at their graphs.
#pragma once
#include "compiler/model/model.h"
#include "tests/check.h"

#ifndef GR_SOURCE_DIR  // the repository's root; set by CMake
#define GR_SOURCE_DIR "."
#endif

static gr_arena *arena;
static const gr_dim dims[] = {{"n", 4}, {"t", 20}, {"u", 5}, {"c", 3}};

// The graph of a model's file, in `arena`, with the dimensions `dims`, on two ranks of an axis dp.
// params: YAML of its parameters, or NULL. The test fails where it cannot be built.
static inline gr_graph *build_conf(gr_conf *file, const char *params, gr_purpose purpose) {
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
                        .batch_axis = {"dp"}};
  MUST(gr_model_build(arena, &r, &g));
  return g;
}

// The same of a model's text.
static inline gr_graph *build(const char *text, const char *params, gr_purpose purpose) {
  gr_conf *file;
  MUST(gr_conf_parse(arena, "test.yaml", text, &file));
  return build_conf(file, params, purpose);
}

// The same of a file of graphs/.
static inline gr_graph *build_file(const char *name, const char *params, gr_purpose purpose) {
  gr_conf *file;
  MUST(gr_conf_read(arena, gr_arena_printf(arena, "%s/graphs/%s", GR_SOURCE_DIR, name), &file));
  return build_conf(file, params, purpose);
}

#define INPUTS "inputs: {x: {shape: [n, c]}, s: {shape: [n, t, c]}}\n"
#define TRAIN "train: loss\n"

// The number of elements of all states of that kind.
static inline int64_t parameters(const gr_graph *g, gr_kind kind) {
  int64_t n = 0;
  for (uint32_t i = 1; i < g->n_values; i++)
    if (g->values[i].role == GR_STATE && g->values[i].kind == kind)
      n += gr_type_count(&g->values[i].type);
  return n;
}

// The number of nodes of that op.
static inline int count(const gr_graph *g, const char *op) {
  int n = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) n += !strcmp(g->nodes[i].op->name, op);
  return n;
}

// Whether the graph has a state of that name.
static inline bool has_state(const gr_graph *g, const char *name) {
  return gr_is(gr_graph_leaf(g, GR_STATE, name));
}

// A value's type as text, in `arena`; "nothing" for no value.
static inline const char *type_of(const gr_graph *g, gr_val v) {
  char buf[96];
  return gr_is(v) ? gr_arena_strdup(arena, gr_type_text(&gr_at(g, v)->type, buf)) : "nothing";
}

// The type of a result, by its name, likewise.
static inline const char *result(const gr_graph *g, const char *name) {
  return type_of(g, gr_graph_result(g, name));
}
