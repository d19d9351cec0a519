// test_fuse.c - the pass `fuse` on random graphs: the same bits as without it, by fast kernels and
// by reference kernels, whatever groups it finds, and in place.
#include "compiler/pass.h"
#include "ops/math/fused.h"
#include "tests/check.h"
#include "tests/ops/bench.h"

enum { E = 20, LEAVES = 6, NODES = 60, SEEDS = 300 };

static uint32_t below(uint32_t *seed, uint32_t n) {
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 16) % n;
}

// An operand of the wanted dtype: through a cast, if it has another one.
static gr_val operand(gr_builder *b, uint32_t *seed, const gr_val *v, uint32_t n, gr_dtype dtype) {
  return gr_cast(b, v[below(seed, n)], dtype);
}

static gr_val random_node(gr_builder *b, uint32_t *seed, gr_val row, const gr_val *v, uint32_t n) {
  gr_dtype dtype = below(seed, 3) ? GR_F32 : GR_BF16;
  gr_val x = operand(b, seed, v, n, dtype), y = operand(b, seed, v, n, dtype);
  switch (below(seed, 14)) {
    case 12:
    case 13:
      return gr_bias_add(b, x, gr_cast(b, row, dtype));
    case 0:
    case 1:
      return gr_add(b, x, y);
    case 2:
      return gr_mul(b, x, y);
    case 3:
      return gr_where(b, x, y, operand(b, seed, v, n, dtype));
    case 4:
      return gr_matmul(b, x, y, false, true);  // no part
    case 5:
      return gr_sigmoid(b, x);
    case 6:
      return gr_scale(b, x, 0.25);
    case 7:
      return gr_max(b, x, y);
    case 8:
      return gr_transpose(b, x, (gr_ints){2, {1, 0}});  // no part
    case 9:
      return gr_gelu(b, x);
    default:
      return gr_tanh(b, x);
  }
}

static gr_graph *random_graph(gr_arena *arena, uint32_t seed) {
  gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "test"};
  gr_val v[LEAVES + NODES];
  uint32_t n = 0, side = 1 + below(&seed, E);
  for (; n < LEAVES; n++) {
    gr_type type = {n % 3 ? GR_F32 : GR_BF16, 2, {side, side}};
    v[n] = gr_leaf(&b, n % 2 ? GR_STATE : GR_INPUT, GR_KIND_BUFFER,
                   gr_arena_printf(arena, "v%u", n), type, gr_layout_replicated);
  }
  gr_val row = gr_leaf(&b, GR_INPUT, GR_KIND_BUFFER, "row", (gr_type){GR_F32, 1, {side}},
                       gr_layout_replicated);
  for (uint32_t made = 2 + below(&seed, NODES - 2); n < LEAVES + made; n++)
    v[n] = random_node(&b, &seed, row, v, n);
  for (uint32_t k = 0; k < 4; k++) {
    gr_val r = v[LEAVES + below(&seed, n - LEAVES)];
    gr_result(&b, gr_arena_printf(arena, "r%u", k), gr_cast(&b, r, GR_F32));
  }
  MUST(b.err);
  return b.g;
}

static value *fill_leaves(const gr_graph *g, uint64_t seed) {
  value *v = calloc(g->n_values, sizeof *v);
  gr_rng rng = gr_rng_make(seed, "test", 0);
  for (uint32_t i = 1; i <= LEAVES + 1; i++) {
    v[i] = value_make(g->values[i].type);
    for (int64_t k = 0; k < value_count(&v[i]); k++)
      value_put(&v[i], k, gr_rng_normal(&rng, (uint64_t)(i * 1000 + k)));
  }
  return v;
}

static void compare(const gr_graph *a, const gr_graph *b, uint32_t seed, bool fast) {
  value *x = fill_leaves(a, seed), *y = fill_leaves(b, seed);
  MUST(fast ? graph_run_fast(a, x) : graph_run(a, x));
  MUST(fast ? graph_run_fast(b, y) : graph_run(b, y));
  for (uint32_t k = 0; k < a->n_results; k++) {
    const value *r = &x[a->results[k].id], *s = &y[b->results[k].id];
    CHECK(!memcmp(r->data, s->data, gr_type_bytes(&r->type)), "seed %u, result %u, %s kernels",
          seed, k, fast ? "fast" : "reference");
  }
  values_free(x, a->n_values), values_free(y, b->n_values);
}

static gr_graph *fused(gr_arena *arena, const gr_graph *g) {
  gr_graph *out;
  MUST(gr_pass_run(arena, "fuse", g, &(gr_options){.optimizer = "sgd"}, &out));
  return out;
}

static uint32_t parts(const gr_graph *g) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == &gr_op_fused) n += ((const gr_fused *)g->nodes[i].attr)->body->n_nodes;
  return n;
}

static void same_bits(void) {
  uint32_t all = 0;
  for (uint32_t seed = 1; seed <= SEEDS; seed++) {
    gr_arena *arena = gr_arena_create();
    gr_graph *g = random_graph(arena, seed), *f = fused(arena, g);
    compare(g, f, seed, true);
    compare(g, f, seed, false);
    all += parts(f);
    gr_arena_destroy(arena);
  }
  CHECK(all > 10 * SEEDS, "only %u parts in %d graphs", all, SEEDS);
}

// Every result k in the memory of operand k, where both have the same size.
static void run_in_place(const gr_graph *g, const gr_node *n, uint32_t seed) {
  gr_op_call call;
  void *in[GR_MAX_ARGS], *out[GR_MAX_ARGS], *apart[GR_MAX_ARGS];
  gr_op_call_of(g, n, &call);
  gr_rng rng = gr_rng_make(seed, "in place", 0);
  for (int k = 0; k < n->n_in; k++) {
    value v = value_make(call.in[k]);
    for (int64_t i = 0; i < value_count(&v); i++)
      value_put(&v, i, gr_rng_normal(&rng, (uint64_t)(k * 10000 + i)));
    in[k] = v.data;
  }
  for (int k = 0; k < n->n_out; k++) {
    bool fits = k < n->n_in && gr_type_same(&call.in[k], &call.out[k]);
    apart[k] = value_make(call.out[k]).data;
    out[k] = fits ? in[k] : value_make(call.out[k]).data;
  }
  gr_launch l = {.attr = n->attr,
                 .n_in = n->n_in,
                 .n_out = n->n_out,
                 .in_type = call.in,
                 .out_type = call.out,
                 .in = (const void *const *)in,
                 .out = apart};
  MUST(n->op->fast(&call)(&l));
  l.out = out;
  MUST(n->op->fast(&call)(&l));
  for (int k = 0; k < n->n_out; k++)
    CHECK(!memcmp(out[k], apart[k], gr_type_bytes(&call.out[k])), "seed %u, result %d", seed, k);
  for (int k = 0; k < n->n_out; k++) {
    if (k >= n->n_in || out[k] != in[k]) free(out[k]);
    free(apart[k]);
  }
  for (int k = 0; k < n->n_in; k++) free(in[k]);
}

static void in_place(void) {
  for (uint32_t seed = 1; seed <= SEEDS; seed++) {
    gr_arena *arena = gr_arena_create();
    const gr_graph *f = fused(arena, random_graph(arena, seed));
    for (uint32_t i = 0; i < f->n_nodes; i++)
      if (f->nodes[i].op == &gr_op_fused) run_in_place(f, &f->nodes[i], seed);
    gr_arena_destroy(arena);
  }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"same_bits", same_bits}, {"in_place", in_place});
}
