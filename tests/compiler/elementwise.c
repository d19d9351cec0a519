// elementwise.c - see elementwise.h.
#include "tests/compiler/elementwise.h"
#include "compiler/pass.h"
#include "tests/nodes.h"

enum { E = 20, LEAVES = 6, NODES = 60 };

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

gr_status elementwise_random(gr_arena *arena, uint32_t seed, gr_graph **out) {
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
  *out = b.g;
  return b.err;
}

gr_status elementwise_fused(gr_arena *arena, const gr_graph *g, gr_graph **out) {
  return gr_pass_run(arena, "fuse", g, &(gr_options){.optimizer = "sgd"}, out);
}
