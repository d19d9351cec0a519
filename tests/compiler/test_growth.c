// test_growth.c - what grows with a graph grows in proportion, and the structures that see to it
// agree with the plain algorithms they replace.
#include <string.h>
#include "compiler/compile.h"
#include "compiler/plan/memory_fit.h"
#include "compiler/plan/span_set.h"
#include "ir/text.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"
#include "tests/check.h"
#include "tests/compiler/work.h"
#include "tests/ir/parse.h"

static uint64_t seed = 1;
static uint32_t draw(uint32_t below) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(seed >> 33) % below;
}

// ---- Compiling ----------------------------------------------------------------------------

// Every block adds weights, nodes and names, and has values that live until the backward pass.
static const char deep[] =
    "params: {depth: 10}\n"
    "inputs: {x: {shape: [n, c]}, y: {shape: [n], dtype: i32}}\n"
    "nodes:\n"
    "  - repeat: depth\n"
    "    name: body.$i\n"
    "    nodes:\n"
    "      - h: {layer_norm: x, name: norm}\n"
    "      - h: {linear: h, out: 8, name: up}\n"
    "      - h: {gelu: h}\n"
    "      - h: {dropout: h, p: 0.1}\n"
    "      - h: {linear: h, out: 4, name: down}\n"
    "      - x: {add: [x, h]}\n"
    "  - loss: {cross_entropy: [x, y]}\n"
    "train: loss\n";

// What planning the model `depth` blocks deep takes.
static double plan_work(int depth, int ranks, const gr_options *o) {
  gr_arena *arena = gr_arena_create();
  static const gr_bucket only[] = {{"", NULL, 0}};
  static const gr_dim dims[] = {{"n", 4}, {"c", 4}};
  char text[32];
  gr_conf *file, *params;
  gr_plan *p;
  snprintf(text, sizeof text, "{depth: %d}", depth);
  MUST(gr_conf_parse(arena, "deep.yaml", deep, &file));
  MUST(gr_conf_parse(arena, "params.yaml", text, &params));
  gr_plan_request r = {.model = {.graph = file,
                                 .params = params,
                                 .dims = dims,
                                 .n_dims = 2,
                                 .mesh = {.n_axes = 1, .axis = {{"dp", ranks}}},
                                 .batch_axis = {"dp"}},
                       .options = *o,
                       .buckets = only,
                       .n_buckets = 1,
                       .train = true,
                       .eval = true};
  double before = (double)work_done;
  MUST(gr_plan_build(arena, &r, &p));
  double done = (double)work_done - before;
  gr_arena_destroy(arena);
  return done;
}

// Eight times the depth takes eight times the work, and somewhat more for sorting and for values
// that live at the same time; what grows with its square takes 64 times.
enum { FEW = 50, MANY = 400, MOST = 9 };

static void check_growth(int ranks, const gr_options *o) {
  plan_work(FEW, ranks, o);  // what is made once
  double few = plan_work(FEW, ranks, o), many = plan_work(MANY, ranks, o);
  printf("     %.0f basic blocks for a block, %.2f times for %d times as many\n", few / FEW,
         many / few, MANY / FEW);
  CHECK(few > 0 && many < MOST * few, "%d blocks take %.0f, %d %.0f: %.1f times", FEW, few, MANY,
        many, many / few);
}

static void one_rank(void) {
  check_growth(1, &(gr_options){.optimizer.name = "adam", .optimizer.grad_clip = 1});
}
static void shards(void) {
  static const gr_layout_rule fsdp[] = {{"*", "dp", 0}};
  check_growth(4, &(gr_options){.optimizer.name = "adam",
                                .optimizer.grad_clip = 1,
                                .sharding.rules = fsdp,
                                .sharding.n_rules = 1});
}
// As commands ask for it: hooks may set what each weight reads.
static void adjustable(void) {
  check_growth(1, &(gr_options){.optimizer.name = "adamw",
                                .optimizer.grad_clip = 1,
                                .program.ema = GR_EMA_UPDATE,
                                .optimizer.ema_decay.value = 0.99,
                                .optimizer.adjustable = true});
}

// ---- Spans -------------------------------------------------------------------------------

static bool overlap(gr_span a, gr_span b) {
  return a.begin < b.end && b.begin < a.end && a.begin < a.end && b.begin < b.end;
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
      list[i].begin = draw(100);
      list[i].end = list[i].begin + draw(20);
    }
    gr_span_set s = gr_span_set_make(arena, list, n);
    for (int step = 0; step < 200; step++) {
      uint32_t i = draw(n);
      in[i] = draw(2);
      if (in[i])
        gr_span_set_add(&s, i);
      else
        gr_span_set_remove(&s, i);
      size_t first = draw(120);
      check_query(&s, in, n, (gr_span){first, first + draw(30)});
    }
  }
  gr_arena_destroy(arena);
}

// ---- Lives -------------------------------------------------------------------------------

static void check_fit(const gr_live_range *l, uint32_t n, size_t bytes) {
  for (uint32_t i = 0; i < n; i++) {
    CHECK(l[i].offset + l[i].bytes <= bytes, "life %u ends behind all", i);
    for (uint32_t k = 0; k < i; k++) {
      bool together = l[i].first <= l[k].last && l[k].first <= l[i].last;
      gr_span a = {l[i].offset, l[i].offset + l[i].bytes},
              b = {l[k].offset, l[k].offset + l[k].bytes};
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
      l[i].first = draw(nodes);
      l[i].last = l[i].first + draw(draw(20) ? 8 : nodes - l[i].first);
      if (l[i].last >= nodes) l[i].last = nodes - 1;
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
  MUST(graph_parse(first, gr_op_find, "copies", text, &g));
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

// The graph of a pass takes the nodes of the one before it, whose tables then end: attributes, and
// the bodies in them, stay.
static void taken_nodes(void) {
  gr_arena *arena = gr_arena_create(), *first = gr_arena_create(), *second = gr_arena_create();
  gr_graph *old = gr_graph_create_in(first, arena, NULL);
  gr_graph *g = gr_graph_create_in(second, arena, NULL);
  gr_builder b = {.g = old, .created_by = "test"}, to = {.g = g, .created_by = "test"};
  gr_type t = {GR_F32, 2, {5, 3}};
  gr_val x = gr_leaf(&b, GR_INPUT, 0, "x", t, gr_layout_replicated);
  gr_loop l;
  gr_loop_open(&l, &b, 5, false);
  gr_loop_yield(&l, gr_relu(&l.b, gr_loop_seq(&l, x)));
  gr_loop_close(&l);
  gr_relu(&b, gr_loop_stack(&l, 0));
  MUST(b.err);
  CHECK(!gr_graph_take_nodes(g, old), "not without the leaves");
  gr_leaf(&to, GR_INPUT, 0, "x", t, gr_layout_replicated);
  CHECK(gr_graph_take_nodes(g, old), "with them");
  CHECK(gr_graph_same(g, old) && gr_graph_hash(g) == gr_graph_hash(old), "all is the same");
  uint64_t hash = gr_graph_hash(old);
  gr_arena_destroy(first);
  CHECK(gr_graph_hash(g) == hash && gr_graph_leaf(g, GR_INPUT, "x").id == 1, "and stays");
  gr_relu(&to, (gr_val){2});
  CHECK(!to.err && g->n_nodes == 2, "what it has is found: %u", g->n_nodes);
  gr_arena_destroy(second);
  gr_arena_destroy(arena);
}

// ---- What is found by its hash ------------------------------------------------------------

static gr_arena *hash_arena;
static uint32_t hash_of_loop(const char *body_op) {
  gr_graph *g;
  const char *text = gr_arena_printf(
      hash_arena,
      "%%1 = input x : f32[4,2]\n%%2 %%3 = scan %%1 {steps=4, reverse=false, n_seq=1, n_carry=1, "
      "n_init=0} : f32[2], f32[4,2]\nbody {\n  %%1 = input slice : f32[2]\n"
      "  %%2 = buffer h : f32[2] next=%%3\n  %%3 = add %%1 %%2 : f32[2]\n"
      "  %%4 = %s : f32[2]\n  result %%4\n}\nresult y %%3\n",
      body_op);
  MUST(graph_parse(hash_arena, gr_op_find, "hashes", text, &g));
  CHECK(g->nodes[0].attr_hash == gr_attr_hash(g->nodes[0].op, g->nodes[0].attr), "of its node");
  return g->nodes[0].attr_hash;
}

// Loops that differ in an op of their bodies, or in a number there, differ by hash: layers have
// random streams of their own in theirs.
static void bodies(void) {
  hash_arena = gr_arena_create();
  uint32_t hash = hash_of_loop("scale %3 {by=2}");
  CHECK(hash == hash_of_loop("scale %3 {by=2}"), "one body");
  CHECK(hash != hash_of_loop("scale %3 {by=3}"), "a number differs");
  CHECK(hash != hash_of_loop("relu %3"), "an op differs");
  gr_arena_destroy(hash_arena);
}

// ---- Dead code ----------------------------------------------------------------------------

// The last value of a carry cannot be left out, so that nothing is to be done where only that is
// not read; a yield can.
static void unread_results(void) {
  static const char *const ends[] = {"result y %3\n", "result y %2\n"};
  for (int i = 0; i < 2; i++) {
    gr_arena *arena = gr_arena_create();
    gr_options o = {0};
    gr_graph *g, *out;
    const char *text = gr_arena_printf(
        arena,
        "%%1 = input x : f32[4,2]\n%%2 %%3 = scan %%1 {steps=4, reverse=false, n_seq=1, n_carry=1, "
        "n_init=0} : f32[2], f32[4,2]\nbody {\n  %%1 = input slice : f32[2]\n"
        "  %%2 = buffer h : f32[2] next=%%3\n  %%3 = add %%1 %%2 : f32[2]\n  result %%3\n}\n%s",
        ends[i]);
    MUST(graph_parse(arena, gr_op_find, "unread", text, &g));
    MUST(gr_pass_run(arena, "dce", g, &o, &out));
    CHECK((out == g) == !i, "%s", ends[i]);
    CHECK(out->nodes[0].n_out == (i ? 1 : 2), "%d results", out->nodes[0].n_out);
    gr_arena_destroy(arena);
  }
}

// ---- Leaves -------------------------------------------------------------------------------

// A graph with many leaves finds them in a map that is made later; one with few has none.
static void names(void) {
  for (int n = 1; n <= 100; n += 33) {
    gr_arena *arena = gr_arena_create();
    gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "test"};
    for (int i = 0; i < n; i++) {
      gr_leaf(&b, i % 2 ? GR_STATE : GR_INPUT, 0, gr_arena_printf(arena, "v%d", i / 2),
              (gr_type){GR_F32}, gr_layout_replicated);
      for (int k = 0; k <= i; k += 7)
        CHECK((int)gr_graph_leaf(b.g, k % 2 ? GR_STATE : GR_INPUT,
                                 gr_arena_printf(arena, "v%d", k / 2))
                      .id == k + 1,
              "leaf %d of %d", k, i);
    }
    CHECK(!gr_is(gr_graph_leaf(b.g, GR_STATE, "v50")), "there is no other");
    gr_arena_destroy(arena);
  }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"one_rank", one_rank}, {"shards", shards}, {"adjustable", adjustable},
             {"spans", spans}, {"lives", lives}, {"copies", copies}, {"taken_nodes", taken_nodes},
             {"bodies", bodies}, {"unread_results", unread_results}, {"names", names});
}
