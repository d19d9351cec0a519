// loops.c - see loops.h.
#include "tests/gpu/loops.h"
#include "compiler/compile.h"
#include "ops/loop/scan.h"
#include "ops/nn/conv.h"
#include "ops/nn/matmul.h"
#include "tests/nodes.h"

enum { SEQS = 2, CARRIES = 3, CONSTS = 2, YIELDS = 3, MOST = 60 };

static gr_val leaf(gr_builder *b, gr_role role, const char *letter, int i, gr_type t) {
  return gr_leaf(b, role, role == GR_STATE ? GR_KIND_WEIGHT : GR_KIND_BUFFER,
                 gr_arena_printf(b->g->arena, "%s%d", letter, i), t, gr_layout_replicated);
}

static gr_status results(gr_builder *b, const gr_loop *l, gr_graph **out) {
  const gr_node *made = b->err || !gr_is(l->made) ? NULL : &b->g->nodes[gr_at(b->g, l->made)->node];
  for (int k = 0; made && k < made->n_out; k++)
    gr_result(b, gr_arena_printf(b->g->arena, "out%d", k), gr_out(made, k));
  *out = b->g;
  return b->err;
}

// ---- Squares -----------------------------------------------------------------------------------

static gr_val square_node(gr_builder *b, uint32_t *seed, gr_val row, const gr_val *v, uint32_t n) {
  gr_val x = v[below(seed, n)], y = v[below(seed, n)];
  uint32_t kind = below(seed, 10);
  if (kind < NODES_SIMPLE) return nodes_simple(b, kind, x, y);
  if (kind == 4) return gr_bias_add(b, x, row);
  if (kind == 5) return gr_sigmoid(b, y);
  return gr_matmul(b, x, y, below(seed, 2), below(seed, 2));
}

// The next value of a carry is anything: what a node makes, another carry, a slice of the data.
static void carry_on(gr_loop *l, uint32_t *seed, gr_val carry, gr_val next) {
  gr_loop_next(l, carry, below(seed, 2) ? gr_tanh(&l->b, next) : next);
}

gr_status loops_square(gr_arena *arena, const loops_body *o, gr_graph **out) {
  gr_builder builder = {.g = gr_graph_create(arena, NULL), .created_by = "test"}, *b = &builder;
  int64_t side = o->rows;
  gr_type square = {o->dtype, 2, {side, side}}, stack = {o->dtype, 3, {o->steps, side, side}};
  gr_type vector = {o->dtype, 1, {side}};
  gr_loop l;
  gr_val v[MOST], carry[CARRIES];
  uint32_t n = 0, seed = o->seed;
  gr_loop_open(&l, b, o->steps, below(&seed, 2));
  for (int i = 0; i < SEQS; i++) v[n++] = gr_loop_seq(&l, leaf(b, GR_INPUT, "x", i, stack));
  for (int i = 0; i < CONSTS; i++) v[n++] = gr_loop_const(&l, leaf(b, GR_INPUT, "w", i, square));
  gr_val row = gr_loop_const(&l, leaf(b, GR_INPUT, "r", 0, vector));
  for (int i = 0; i < CARRIES; i++)
    v[n++] = carry[i] = i == 1 ? gr_loop_zero(&l, square, "z")
                               : gr_loop_carry(&l, leaf(b, GR_INPUT, "c", i, square), "c");
  for (uint32_t made = 3 + below(&seed, 9); made--; n++) v[n] = square_node(&l.b, &seed, row, v, n);
  for (int i = 0; i < CARRIES; i++) carry_on(&l, &seed, carry[i], v[below(&seed, n)]);
  for (int i = 0; i < YIELDS; i++) gr_loop_yield(&l, v[below(&seed, n)]);
  gr_loop_close(&l);
  return results(b, &l, out);
}

// Small factors, so that differences in rounding do not grow from step to step.
gr_status loops_long(gr_arena *arena, const loops_body *o, gr_graph **out) {
  gr_builder builder = {.g = gr_graph_create(arena, NULL), .created_by = "test"}, *b = &builder;
  gr_type square = {GR_F32, 2, {o->rows, o->rows}},
          stack = {GR_F32, 3, {o->steps, o->rows, o->rows}};
  gr_loop l;
  uint32_t seed = o->seed;
  gr_loop_open(&l, b, o->steps, below(&seed, 2));
  gr_val x = gr_loop_seq(&l, leaf(b, GR_INPUT, "x", 0, stack));
  gr_val w = gr_loop_const(&l, leaf(b, GR_INPUT, "w", 0, square));
  gr_val c0 = gr_loop_carry(&l, leaf(b, GR_INPUT, "c", 0, square), "c");
  gr_val c1 = gr_loop_zero(&l, square, "z");
  gr_val c2 = gr_loop_carry(&l, leaf(b, GR_INPUT, "c", 1, square), "c");
  gr_val turned = gr_transpose(&l.b, c0, (gr_ints){2, {1, 0}});
  gr_val twice[] = {gr_broadcast(&l.b, turned, 0, 2), gr_broadcast(&l.b, w, 0, 2)};
  struct matmul summed = {.tb = true, .sum = true};  // has shared memory of its own
  gr_val product = gr_scale(&l.b, gr_emit(&l.b, &gr_op_matmul, &summed, 2, twice), 0.15);
  gr_val next = gr_tanh(&l.b, gr_add(&l.b, product, x));
  gr_val sum = gr_add(&l.b, gr_scale(&l.b, c1, 0.5), below(&seed, 2) ? c0 : next);
  gr_val mixed = gr_mul(&l.b, gr_add(&l.b, c2, sum), x);
  gr_loop_next(&l, c0, next);
  gr_loop_next(&l, c1, sum);
  gr_loop_next(&l, c2, below(&seed, 2) ? x : below(&seed, 2) ? next : turned);
  const gr_val yields[] = {mixed, next, sum, c0, c1, c2, turned, product};
  gr_loop_yield(&l, mixed);
  for (int i = 0; i < YIELDS; i++) gr_loop_yield(&l, yields[below(&seed, 8)]);
  gr_loop_close(&l);
  gr_result(b, "after", gr_relu(b, gr_scale(b, gr_loop_last(&l, c0), 2)));  // work behind the loop
  return results(b, &l, out);
}

gr_status loops_layers(gr_arena *arena, const loops_body *o, gr_graph **out) {
  enum { TIME = 5, CHANNELS = 4, TAPS = 3 };
  gr_builder builder = {.g = gr_graph_create(arena, NULL), .created_by = "test"}, *b = &builder;
  gr_type batch = {GR_F32, 3, {o->rows, TIME, CHANNELS}},
          stack = {GR_F32, 4, {o->steps, o->rows, TIME, CHANNELS}},
          taps = {GR_F32, 3, {CHANNELS, CHANNELS, TAPS}};
  struct gr_conv_attr attr = {{1, {1}}, {1, {TAPS / 2}}, {1, {1}}, 1};
  gr_loop l;
  gr_loop_open(&l, b, o->steps, o->seed % 2);
  gr_val x = gr_loop_seq(&l, leaf(b, GR_INPUT, "x", 0, stack));
  gr_val w = gr_loop_const(&l, leaf(b, GR_INPUT, "w", 0, taps));
  gr_val h = gr_loop_carry(&l, leaf(b, GR_INPUT, "c", 0, batch), "h");
  gr_val y = gr_scale(&l.b, GR_EMIT(&l.b, &gr_op_conv1d, &attr, h, w), 0.3);
  gr_loop_next(&l, h, gr_tanh(&l.b, gr_add(&l.b, y, x)));
  gr_loop_yield(&l, y);
  gr_loop_close(&l);
  return results(b, &l, out);
}

// ---- Rows of a batch ---------------------------------------------------------------------------

// Columns: values of a few are computed by all blocks, and the others are not multiples of them
// all.
static const int64_t widths[] = {1, 3, 9, 24, 40};
enum { WIDTHS = sizeof widths / sizeof *widths };

typedef struct batch {
  const loops_body *o;
  gr_loop l;
  gr_role role;  // of what is constant outside
  uint32_t seed;
  int leaves;
  gr_val v[MOST], matrix[WIDTHS][WIDTHS][2], row[WIDTHS];
  uint32_t n;
} batch;

static gr_type type_of(const batch *a, gr_val v) { return gr_at(a->l.b.g, v)->type; }

static uint32_t width_of(const batch *a, gr_val v) {
  uint32_t i = 0;
  while (widths[i] != type_of(a, v).dim[1]) i++;
  return i;
}

static gr_val constant(batch *a, const char *letter, gr_type t) {
  gr_builder *b = a->l.outside;
  gr_val outside = leaf(b, a->role, letter, a->leaves++, t);
  if (a->role == GR_STATE) return gr_loop_const(&a->l, outside);
  return gr_loop_const(&a->l, gr_cast(b, outside, a->o->dtype));
}

// A product with a constant matrix, of which there is one for each pair of sizes.
static gr_val product(batch *a, gr_val x) {
  uint32_t in_width = width_of(a, x), out_width = below(&a->seed, WIDTHS);
  struct matmul attr = {.tb = below(&a->seed, 2), .wide = below(&a->seed, 2)};
  gr_val *w = &a->matrix[in_width][out_width][attr.tb];
  gr_type t = {
      GR_F32, 2, {widths[attr.tb ? out_width : in_width], widths[attr.tb ? in_width : out_width]}};
  if (!gr_is(*w)) *w = constant(a, "w", t);
  gr_dtype dtype = type_of(a, *w).dtype;
  attr.wide &= gr_dtypes[dtype].size == 2;
  return GR_EMIT(&a->l.b, &gr_op_matmul, &attr, gr_cast(&a->l.b, x, dtype), *w);
}

// A value of the sizes of x, of its type: x itself, if there is no other.
static gr_val partner(batch *a, gr_val x) {
  uint32_t first = below(&a->seed, a->n), i = 0;
  while (i < a->n && type_of(a, a->v[(first + i) % a->n]).dim[1] != type_of(a, x).dim[1]) i++;
  return gr_cast(&a->l.b, a->v[(first + i) % a->n], type_of(a, x).dtype);
}

static gr_val batch_node(batch *a) {
  gr_val x = a->v[below(&a->seed, a->n)];
  uint32_t kind = below(&a->seed, 9);
  if (kind < NODES_SIMPLE) return nodes_simple(&a->l.b, kind, x, partner(a, x));
  if (kind > 4) return gr_scale(&a->l.b, product(a, x), 0.5);
  gr_val *row = &a->row[width_of(a, x)];
  if (!gr_is(*row)) *row = constant(a, "r", (gr_type){GR_F32, 1, {type_of(a, x).dim[1]}});
  return gr_bias_add(&a->l.b, x, gr_cast(&a->l.b, *row, type_of(a, x).dtype));
}

static gr_val carry_of(batch *a, int i) {
  int64_t rows = a->o->rows, width = widths[below(&a->seed, WIDTHS)];
  gr_type t = {a->role == GR_STATE || below(&a->seed, 2) ? GR_F32 : a->o->dtype, 2, {rows, width}};
  if (a->o->dtype == GR_F64) t.dtype = GR_F64;
  return i == 1 ? gr_loop_zero(&a->l, t, "z")
                : gr_loop_carry(&a->l, leaf(a->l.outside, GR_INPUT, "c", i, t), "c");
}

static void put_batch(batch *a, gr_builder *b, const loops_body *o, gr_role role) {
  gr_val carry[CARRIES];
  *a = (batch){.o = o, .seed = o->seed, .role = role};
  gr_loop_open(&a->l, b, o->steps, below(&a->seed, 2));
  for (int i = 0; i < SEQS; i++) {
    gr_type stack = {role == GR_STATE ? GR_F32 : o->dtype,
                     3,
                     {o->steps, o->rows, widths[below(&a->seed, WIDTHS)]}};
    a->v[a->n++] = gr_loop_seq(&a->l, leaf(b, GR_INPUT, "x", i, stack));
  }
  for (int i = 0; i < CARRIES; i++) a->v[a->n++] = carry[i] = carry_of(a, i);
  for (uint32_t made = 4 + below(&a->seed, 12); made--; a->n++) a->v[a->n] = batch_node(a);
  for (int i = 0; i < CARRIES; i++) {
    gr_val next = product(a, a->v[below(&a->seed, a->n)]);
    next = below(&a->seed, 2) ? a->v[a->n - 1 - below(&a->seed, 4)] : next;
    if (type_of(a, next).dim[1] != type_of(a, carry[i]).dim[1]) next = partner(a, carry[i]);
    carry_on(&a->l, &a->seed, carry[i], gr_cast(&a->l.b, next, type_of(a, carry[i]).dtype));
  }
  for (int i = 0; i < YIELDS; i++) gr_loop_yield(&a->l, a->v[below(&a->seed, a->n)]);
  gr_loop_close(&a->l);
}

gr_status loops_batch(gr_arena *arena, const loops_body *o, gr_graph **out) {
  gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "test"};
  batch a;
  put_batch(&a, &b, o, GR_INPUT);
  return results(&b, &a.l, out);
}

static gr_val mean(gr_builder *b, gr_val v) {
  for (gr_type t; !b->err && (t = gr_at(b->g, v)->type).rank;)
    v = gr_scale(b, gr_sum(b, v, 0), 1 / (double)t.dim[0]);
  return v;
}

gr_status loops_train(gr_arena *arena, const loops_body *o, gr_graph **out) {
  gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "model"};
  gr_options options = {.optimizer.name = "sgd", .gpu = true, .precision.dtype = o->dtype};
  batch a;
  put_batch(&a, &b, o, GR_STATE);
  const gr_node *n = b.err ? NULL : &b.g->nodes[gr_at(b.g, a.l.made)->node];
  gr_val sum = mean(&b, leaf(&b, GR_STATE, "w", 99, (gr_type){GR_F32, 1, {4}}));
  for (int k = 0, count = n ? n->n_out : 0; k < count; k++) {
    gr_val t = gr_tanh(&b, mean(&b, gr_out(n, k)));
    n = &b.g->nodes[gr_at(b.g, a.l.made)->node];  // nodes move as they become more
    sum = gr_add(&b, sum, t);
  }
  b.g->loss = sum;
  if (b.err) return b.err;
  return gr_compile(arena, b.g, GR_TRAIN, &options, out);
}

// ---- Gates -------------------------------------------------------------------------------------

enum { GATES = 3, HIDDEN = 64, COLUMNS = GATES * HIDDEN };

// A value's columns, in any order of the gates.
static gr_val gate(gr_builder *b, gr_val all, uint32_t turn, int i) {
  return gr_slice(b, all, 1, (int64_t)((turn + (uint32_t)i) % GATES) * HIDDEN, HIDDEN);
}

// h and s of all steps, from x [steps, rows, HIDDEN] and the weights w.
static gr_val gates_loop(gr_builder *b, const loops_body *o, gr_val x, const gr_val *w,
                         gr_val init) {
  gr_loop l;
  uint32_t seed = o->seed, turn = below(&seed, GATES), tb = below(&seed, 2),
           twice = below(&seed, 2);
  gr_loop_open(&l, b, o->steps, below(&seed, 2));
  gr_val h = gr_loop_carry(&l, init, "h"), s = gr_loop_zero(&l, gr_at(b->g, init)->type, "s");
  gr_val gx = gr_matmul(&l.b, gr_loop_seq(&l, x), gr_loop_const(&l, w[0]), false, true);
  gr_val gh = gr_matmul(&l.b, h, gr_loop_const(&l, w[1 + tb]), false, tb);
  gr_val all = gr_bias_add(&l.b, gr_add(&l.b, gx, gh), gr_loop_const(&l, w[3])), g[GATES];
  for (int i = 0; i < GATES; i++) g[i] = gate(&l.b, all, turn, i);
  // As in a GRU, a gate may be of one product alone.
  if (twice) g[2] = gr_mul(&l.b, g[2], gate(&l.b, gh, turn, 2));
  gr_val kept = gr_mul(&l.b, gr_sigmoid(&l.b, g[0]), s);
  gr_val next = gr_add(&l.b, kept, gr_mul(&l.b, gr_sigmoid(&l.b, g[1]), gr_tanh(&l.b, g[2])));
  gr_loop_next(&l, s, next);
  gr_loop_next(&l, h, gr_tanh(&l.b, next));
  int yield = gr_loop_yield(&l, gr_at(l.b.g, h)->next);
  gr_loop_close(&l);
  return gr_loop_stack(&l, yield);
}

static gr_val gates_nested(gr_builder *b, const loops_body *o, gr_val x, const gr_val *w,
                           gr_val init) {
  gr_loop l;
  gr_val inside[4];
  gr_loop_open(&l, b, 2, false);
  gr_val more = gr_loop_seq(&l, x), h = gr_loop_carry(&l, init, "outer");
  for (int i = 0; i < 4; i++) inside[i] = gr_loop_const(&l, w[i]);
  gr_val all = gates_loop(&l.b, o, more, inside, h);
  gr_loop_next(&l, h, gr_select(&l.b, all, o->steps - 1));
  int yield = gr_loop_yield(&l, all);
  gr_loop_close(&l);
  return gr_loop_stack(&l, yield);
}

gr_status loops_gates(gr_arena *arena, const loops_body *o, bool nested, bool gpu, gr_graph **out) {
  gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "model"};
  gr_options options = {.optimizer.name = "sgd", .gpu = gpu, .precision.dtype = o->dtype};
  const gr_type weight[] = {{GR_F32, 2, {COLUMNS, HIDDEN}},
                            {GR_F32, 2, {HIDDEN, COLUMNS}},
                            {GR_F32, 2, {COLUMNS, HIDDEN}},
                            {GR_F32, 1, {COLUMNS}}};
  gr_type x = {GR_F32, 3, {o->steps, o->rows, HIDDEN}},
          xs = {GR_F32, 4, {2, o->steps, o->rows, HIDDEN}};
  gr_val w[4], data = leaf(&b, GR_INPUT, "x", 0, nested ? xs : x);
  gr_val init = leaf(&b, GR_INPUT, "c", 0, (gr_type){GR_F32, 2, {o->rows, HIDDEN}});
  for (int i = 0; i < 4; i++) w[i] = leaf(&b, GR_STATE, "w", i, weight[i]);
  gr_val all = (nested ? gates_nested : gates_loop)(&b, o, data, w, init);
  b.g->loss = mean(&b, gr_mul(&b, all, all));
  if (b.err) return b.err;
  return gr_compile(arena, b.g, GR_TRAIN, &options, out);
}
