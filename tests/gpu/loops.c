// loops.c - see loops.h.
#include "tests/gpu/loops.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

enum { SEQS = 2, CARRIES = 3, CONSTS = 2, YIELDS = 3 };

static uint32_t below(uint32_t *seed, uint32_t n) {
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 16) % n;
}

static gr_val input(gr_builder *b, const char *letter, int i, gr_type t) {
  return gr_leaf(b, GR_INPUT, GR_KIND_BUFFER, gr_arena_printf(b->g->arena, "%s%d", letter, i), t,
                 gr_layout_replicated);
}

static gr_val random_node(gr_builder *b, uint32_t *seed, gr_val row, const gr_val *v, uint32_t n) {
  gr_val x = v[below(seed, n)], y = v[below(seed, n)];
  switch (below(seed, 10)) {
    case 0:
      return gr_add(b, x, y);
    case 1:
      return gr_mul(b, x, y);
    case 2:
      return gr_tanh(b, x);
    case 3:
      return gr_scale(b, x, 0.5);
    case 4:
      return gr_bias_add(b, x, row);
    case 5:
      return gr_sigmoid(b, y);
    default:
      return gr_matmul(b, x, y, below(seed, 2), below(seed, 2));
  }
}

// All matrices are [side, side], so that any node takes any of them.
gr_status loops_random(gr_arena *arena, uint32_t seed, int64_t steps, int64_t side,
                       gr_graph **out) {
  gr_builder builder = {.g = gr_graph_create(arena, NULL), .created_by = "test"}, *b = &builder;
  gr_type square = {GR_F32, 2, {side, side}}, stack = {GR_F32, 3, {steps, side, side}};
  gr_type vector = {GR_F32, 1, {side}};
  gr_loop l;
  gr_val v[40], carry[CARRIES];
  uint32_t n = 0;
  gr_loop_open(&l, b, steps, below(&seed, 2));
  for (int i = 0; i < SEQS; i++) v[n++] = gr_loop_seq(&l, input(b, "x", i, stack));
  for (int i = 0; i < CONSTS; i++) v[n++] = gr_loop_const(&l, input(b, "w", i, square));
  gr_val row = gr_loop_const(&l, input(b, "r", 0, vector));
  for (int i = 0; i < CARRIES; i++)
    v[n++] = carry[i] =
        i == 1 ? gr_loop_zero(&l, square, "z") : gr_loop_carry(&l, input(b, "c", i, square), "c");
  for (uint32_t made = 3 + below(&seed, 9); made--; n++) v[n] = random_node(&l.b, &seed, row, v, n);
  // The next value of a carry is anything: what a node makes, another carry, a slice of the data.
  for (int i = 0; i < CARRIES; i++) {
    gr_val next = v[below(&seed, n)];
    gr_loop_next(&l, carry[i], below(&seed, 2) ? gr_tanh(&l.b, next) : next);
  }
  for (int i = 0; i < YIELDS; i++) gr_loop_yield(&l, v[below(&seed, n)]);
  gr_loop_close(&l);
  const gr_node *made = b->err || !gr_is(l.made) ? NULL : &b->g->nodes[gr_at(b->g, l.made)->node];
  for (int k = 0; made && k < made->n_out; k++)
    gr_result(b, gr_arena_printf(b->g->arena, "out%d", k), gr_out(made, k));
  *out = b->g;
  return b->err;
}
