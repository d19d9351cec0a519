// test_fuse.c - the pass `fuse` on random graphs: the same bits as without it, by fast kernels and
// by reference kernels, whatever groups it finds, and in place.
#include "compiler/pass.h"
#include "ops/kernels/fused.h"
#include "tests/check.h"
#include "tests/compiler/elementwise.h"
#include "tests/ops/bench.h"

enum { SEEDS = 300 };

static value *fill_leaves(const gr_graph *g, uint64_t seed) {
  value *v = calloc(g->n_values, sizeof *v);
  gr_rng rng = gr_rng_make(seed, "test", 0);
  for (uint32_t i = 1; i <= gr_graph_leaves(g); i++) {
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
  free(x), free(y);
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
    gr_graph *g, *f;
    MUST(elementwise_random(arena, seed, &g));
    MUST(elementwise_fused(arena, g, &f));
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
    gr_graph *g, *f;
    MUST(elementwise_random(arena, seed, &g));
    MUST(elementwise_fused(arena, g, &f));
    for (uint32_t i = 0; i < f->n_nodes; i++)
      if (f->nodes[i].op == &gr_op_fused) run_in_place(f, &f->nodes[i], seed);
    gr_arena_destroy(arena);
  }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"same_bits", same_bits}, {"in_place", in_place});
}
