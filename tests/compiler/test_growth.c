// test_growth.c - what grows with a graph grows in proportion, and the structures that see to it
// agree with the plain algorithms they replace.
#include <string.h>
#include <time.h>
#include "compiler/compile.h"
#include "compiler/plan/memory_fit.h"
#include "compiler/plan/span_set.h"
#include "ir/text.h"
#include "ops/ops.h"
#include "tests/check.h"

static uint64_t seed = 1;
static uint32_t draw(uint32_t below) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(seed >> 33) % below;
}

// ---- Compile time -------------------------------------------------------------------------

static const char deep[] =
    "params: {depth: 10}\n"
    "inputs: {x: {shape: [n, c]}, y: {shape: [n], dtype: i32}}\n"
    "nodes:\n"
    "  - repeat: depth\n"
    "    name: body.$i\n"
    "    nodes:\n"
    "      - x: {linear: x, out: 4}\n"
    "      - x: {relu: x}\n"
    "      - x: {dropout: x, p: 0.1}\n"
    "  - loss: {cross_entropy: [x, y]}\n"
    "train: loss\n";

// Processor time of planning the model `depth` blocks deep, in seconds.
static double plan_seconds(int depth, int ranks, const gr_layout_rule *rules, int n_rules) {
  gr_arena *arena = gr_arena_create();
  static const gr_bucket only[] = {{"", NULL, 0}};
  static const gr_dim dims[] = {{"n", 4}, {"c", 4}};
  char text[32];
  gr_conf *file, *params;
  gr_plan *p;
  snprintf(text, sizeof text, "{depth: %d}", depth);
  MUST(gr_conf_parse(arena, "deep.yaml", deep, &file));
  MUST(gr_conf_parse(arena, "params.yaml", text, &params));
  gr_plan_request r = {
      .model = {.graph = file,
                .params = params,
                .dims = dims,
                .n_dims = 2,
                .mesh = {.n_axes = 1, .axis = {{"dp", ranks}}},
                .batch_axis = {"dp"}},
      .options = {.optimizer = "adam", .clip = 1, .rules = rules, .n_rules = n_rules},
      .buckets = only,
      .n_buckets = 1,
      .train = true,
      .eval = true};
  clock_t began = clock();
  MUST(gr_plan_build(arena, &r, &p));
  double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
  gr_arena_destroy(arena);
  return seconds;
}

// Eight times the depth takes about eight times as long; what grows with its square would take 64
// times. The least of several runs: other programs use the processor too.
static void check_growth(int ranks, const gr_layout_rule *rules, int n_rules) {
  double small = 1e9, large = 1e9;
  for (int i = 0; i < 5; i++) {
    double s = plan_seconds(300, ranks, rules, n_rules);
    if (s < small) small = s;
  }
  for (int i = 0; i < 2; i++) {
    double s = plan_seconds(2400, ranks, rules, n_rules);
    if (s < large) large = s;
  }
  CHECK(large < 36 * small + 0.1, "300 blocks take %.3f s, 2400 %.3f s", small, large);
}

static void compile_time(void) { check_growth(1, NULL, 0); }
static void compile_time_of_shards(void) {
  static const gr_layout_rule fsdp[] = {{"*", "dp", 0}};
  check_growth(4, fsdp, 1);
}

// ---- Spans -------------------------------------------------------------------------------

static bool overlap(gr_span a, gr_span b) {
  return a.from < b.to && b.from < a.to && a.from < a.to && b.from < b.to;
}

static void check_query(const gr_span_set *s, const bool *in, uint32_t n, gr_span x) {
  uint32_t found = 0, expected = 0, cursor = 0, id;
  for (uint32_t i = 0; i < n; i++) expected += in[i] && overlap(s->spans[i], x);
  for (; gr_span_set_next(s, x, &cursor, &id); found++)
    CHECK(in[id] && overlap(s->spans[id], x), "span %u does not overlap", id);
  CHECK(found == expected, "%u spans of %u are found", found, expected);
}

static void spans(void) {
  gr_arena *arena = gr_arena_create();
  for (uint32_t n = 1; n <= 40; n++) {
    gr_span *list = GR_NEW(arena, gr_span, n);
    bool *in = GR_NEW(arena, bool, n);
    for (uint32_t i = 0; i < n; i++) {
      list[i].from = draw(100);
      list[i].to = list[i].from + draw(20);
    }
    gr_span_set s = gr_span_set_make(arena, list, n);
    for (int step = 0; step < 200; step++) {
      uint32_t i = draw(n);
      in[i] = draw(2);
      if (in[i])
        gr_span_set_add(&s, i);
      else
        gr_span_set_remove(&s, i);
      size_t from = draw(120);
      check_query(&s, in, n, (gr_span){from, from + draw(30)});
    }
  }
  gr_arena_destroy(arena);
}

// ---- Lives -------------------------------------------------------------------------------

static void check_fit(const gr_live_range *l, uint32_t n, size_t bytes) {
  for (uint32_t i = 0; i < n; i++) {
    CHECK(l[i].at + l[i].bytes <= bytes, "life %u ends behind all", i);
    for (uint32_t k = 0; k < i; k++) {
      bool together = l[i].from <= l[k].to && l[k].from <= l[i].to;
      gr_span a = {l[i].at, l[i].at + l[i].bytes}, b = {l[k].at, l[k].at + l[k].bytes};
      CHECK(!together || !overlap(a, b), "lives %u and %u overlap", i, k);
    }
  }
}

// 30,000 lives are placed in order of time only; in either way none overlap.
static void lives(void) {
  static const uint32_t counts[] = {1, 2, 50, 30000};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    gr_arena *arena = gr_arena_create();
    uint32_t n = counts[c], nodes = 2 * n, peak;
    size_t bound;
    gr_live_range *l = GR_NEW(arena, gr_live_range, n);
    for (uint32_t i = 0; i < n; i++) {
      l[i].from = draw(nodes);
      l[i].to = l[i].from + draw(draw(20) ? 8 : nodes - l[i].from);
      if (l[i].to >= nodes) l[i].to = nodes - 1;
      l[i].bytes = 64 * (size_t)draw(50);
    }
    size_t bytes = gr_live_range_pack(arena, l, n, nodes, &bound, &peak);
    CHECK(bytes >= bound && bytes <= bound + bound / 2, "%zu bytes for %zu", bytes, bound);
    check_fit(l, n < 3000 ? n : 3000, bytes);
    gr_arena_destroy(arena);
  }
}

// ---- Copies ------------------------------------------------------------------------------

static void copies(void) {
  static const char text[] =
      "%1 = input x : f32[4,2]\n%2 = weight w : f32[3,2] next=%2\n"
      "%3 = matmul %1 %2 {ta=false, tb=true, sum=false} : f32[4,3]\n"
      "%4 = relu %3 : f32[4,3]\nresult y %4\nresult z %3\n";
  gr_arena *first = gr_arena_create(), *second = gr_arena_create();
  gr_graph *g;
  MUST(gr_graph_parse(first, gr_op_find, "copies", text, &g));
  gr_graph *copy = gr_graph_copy(second, g);
  uint64_t hash = gr_graph_hash(g);
  CHECK(gr_graph_same(g, copy) && gr_graph_hash(copy) == hash, "a copy is the same");
  gr_arena_destroy(first);
  CHECK(gr_graph_hash(copy) == hash, "a copy stays when the original goes");
  gr_builder b = {.g = copy, .created_by = "test"};
  gr_relu(&b, gr_relu(&b, gr_graph_result(copy, "z")));
  CHECK(!b.err && copy->n_nodes == 3, "a copy grows, and finds what it has: %u", copy->n_nodes);
  gr_arena_destroy(second);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"compile_time", compile_time},
             {"compile_time_of_shards", compile_time_of_shards}, {"spans", spans}, {"lives", lives},
             {"copies", copies});
}
