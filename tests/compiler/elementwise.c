// elementwise.c - see elementwise.h.
#include "tests/compiler/elementwise.h"
#include <string.h>
#include "compiler/pass.h"
#include "tests/nodes.h"

enum { E = 20, LONG = 290, LEAVES = 6, NODES = 60 };

// The vector, the step and the lengths that some nodes read.
typedef struct extras {
  gr_val row, step, lengths;
} extras;

// An operand of the wanted dtype: through a cast, if it has another one.
static gr_val operand(gr_builder *b, uint32_t *seed, const gr_val *v, uint32_t n, gr_dtype dtype) {
  return gr_cast(b, v[below(seed, n)], dtype);
}

// An op with its defaults, but for one attribute.
static gr_val emit(gr_builder *b, const char *name, const char *attribute, const char *text,
                   int n_in, const gr_val *in) {
  const gr_op *op = gr_op_find(name);
  uint64_t attr[64] = {0};
  gr_attr_defaults(op, attr);
  for (const gr_attr *a = op->attrs; attribute && a->name; a++)
    if (!strcmp(a->name, attribute) && !b->err)
      b->err = gr_attr_parse(op, a, text, GR_NOWHERE, attr);
  return gr_emit(b, op, attr, n_in, in);
}
#define EMIT(name, attribute, text, ...)                                                  \
  emit(b, name, attribute, text, (int)(sizeof((gr_val[]){__VA_ARGS__}) / sizeof(gr_val)), \
       (gr_val[]){__VA_ARGS__})

// Nodes over rows, and what spreads a row's value over the row again.
static gr_val random_row(gr_builder *b, uint32_t *seed, const extras *e, gr_val x, gr_val y) {
  int64_t columns = gr_at(b->g, x)->type.dim[2];
  switch (below(seed, 16)) {
    case 13:
      return EMIT("layer_norm_grad", NULL, NULL, x, e->row, y);
    case 14: {  // all of its results
      gr_val dx = EMIT("layer_norm_grad", "eps", "1e-3", x, e->row, y);
      gr_val z = gr_bias_add(b, x, (gr_val){dx.id + 1});
      return gr_add(b, gr_bias_add(b, y, (gr_val){dx.id + 2}), gr_mul(b, z, dx));
    }
    case 15: {
      gr_val same = EMIT("dot_columns", NULL, NULL, x, y);
      gr_val z = gr_bias_add(b, x, (gr_val){same.id + 1});
      return gr_add(b, gr_bias_add(b, y, (gr_val){same.id + 2}), gr_mul(b, z, same));
    }
    case 11:
      return gr_broadcast(b, EMIT("reduce_max", "axes", "[2]", x), 2, columns);
    case 12:
      return EMIT("reduce_max_grad", "axes", "[2]", x, EMIT("reduce_max", "axes", "[2]", x),
                  gr_sum(b, y, 2));
    case 0:
      return EMIT("softmax", "causal", "false", x);
    case 1:
      return EMIT("softmax", "causal", "true", x);
    case 2:
      return EMIT("softmax", "causal", below(seed, 2) ? "true" : "false", x, e->lengths);
    case 3:
      return EMIT("softmax_grad", NULL, NULL, x, y, e->lengths);
    case 4:
      return EMIT("softmax_grad", NULL, NULL, x, y);
    case 5:
      return EMIT("log_softmax", NULL, NULL, x);
    case 6:
      return EMIT("log_softmax_grad", NULL, NULL, x, y);
    case 7:
      return EMIT("layer_norm", "eps", "1e-3", x, e->row, e->row);
    case 8:
      return gr_broadcast(b, gr_sum(b, x, 2), 2, columns);
    case 9:
      return gr_broadcast(b, EMIT("mean", "axes", "[2]", x), 2, columns);
    default:
      return gr_broadcast(b, gr_sum(b, x, 1), 1, columns);  // no part
  }
}

static gr_val random_node(gr_builder *b, uint32_t *seed, const extras *e, const gr_val *v,
                          uint32_t n) {
  gr_dtype dtype = below(seed, 3) ? GR_F32 : GR_BF16;
  gr_val x = operand(b, seed, v, n, dtype), y = operand(b, seed, v, n, dtype);
  switch (below(seed, 18)) {
    case 16:
    case 17:
      return random_row(b, seed, e, gr_cast(b, x, GR_F32), gr_cast(b, y, GR_F32));
    case 14:
      return EMIT("dropout", "p", "0.3", x, e->step);
    case 15:
      return EMIT("dropout", "stream", "other", x, e->step);
    case 12:
    case 13:
      return gr_bias_add(b, x, gr_cast(b, e->row, dtype));
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
      return gr_transpose(b, x, (gr_ints){3, {0, 2, 1}});  // no part
    case 9:
      return gr_gelu(b, x);
    default:
      return gr_tanh(b, x);
  }
}

gr_status elementwise_random(gr_arena *arena, uint32_t seed, gr_graph **out) {
  gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "test"};
  gr_val v[LEAVES + NODES];
  uint32_t n = 0, side = seed % 100 ? 1 + below(&seed, E) : LONG;
  for (; n < LEAVES; n++) {
    gr_type type = {n % 3 ? GR_F32 : GR_BF16, 3, {2, side, side}};
    v[n] = gr_leaf(&b, n % 2 ? GR_STATE : GR_INPUT, GR_KIND_BUFFER,
                   gr_arena_printf(arena, "v%u", n), type, gr_layout_replicated);
  }
  extras e = {.row = gr_leaf(&b, GR_INPUT, GR_KIND_BUFFER, "row", (gr_type){GR_F32, 1, {side}},
                             gr_layout_replicated),
              .step = gr_leaf(&b, GR_INPUT, GR_KIND_BUFFER, "step", (gr_type){GR_I32, 0, {0}},
                              gr_layout_replicated),
              .lengths = gr_leaf(&b, GR_INPUT, GR_KIND_BUFFER, "lengths", (gr_type){GR_I32, 1, {2}},
                                 gr_layout_replicated)};
  for (uint32_t made = 2 + below(&seed, NODES - 2); n < LEAVES + made; n++)
    v[n] = random_node(&b, &seed, &e, v, n);
  for (uint32_t k = 0; k < 4; k++) {
    gr_val r = v[LEAVES + below(&seed, n - LEAVES)];
    gr_result(&b, gr_arena_printf(arena, "r%u", k), gr_cast(&b, r, GR_F32));
  }
  *out = b.g;
  return b.err;
}

gr_status elementwise_fused(gr_arena *arena, const gr_graph *g, gr_graph **out) {
  return gr_pass_run(arena, "fuse", g, &(gr_options){.optimizer.name = "sgd"}, out);
}
