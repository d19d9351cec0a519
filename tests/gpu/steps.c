// steps.c - the steps of an environment: see loops.h.
#include "ops/kernels/sample.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"
#include "tests/gpu/loops.h"
#include "tests/nodes.h"

enum { WIDTH = 8, WINDOW = 4, PLACES = 20, CARRIES = 4, YIELDS = 7, LEAVES = 7 };

// What the parts of the loop share: constants, and by carry the value so far.
typedef struct steps {
  gr_builder *b;
  const loops_body *o;
  bool reverse;
  gr_val x, chance, leaf[LEAVES], carry[CARRIES];
} steps;
enum { TABLE, WEIGHT, SECOND, GAMMA, BETA, ROW, STEP };

static gr_val input(gr_builder *b, const char *name, gr_type t) {
  return gr_leaf(b, GR_INPUT, GR_KIND_BUFFER, name, t, gr_layout_replicated);
}

static gr_ints ints(int64_t n, int64_t x, int64_t y, int64_t z) { return (gr_ints){n, {x, y, z}}; }

// A recurrent layer over the window, backwards for an odd seed: the sum of its steps and the last.
static gr_val put_window(gr_builder *b, const steps *a, gr_val past, gr_val weight) {
  gr_loop l;
  gr_type state = {a->o->dtype, 2, {a->o->rows, WIDTH}};
  gr_loop_open(&l, b, WINDOW, a->o->seed % 2);
  gr_val x = gr_loop_seq(&l, gr_transpose(b, past, ints(3, 1, 0, 2)));
  gr_val h = gr_loop_zero(&l, state, "h"), w = gr_loop_const(&l, weight);
  gr_val next = gr_tanh(&l.b, gr_add(&l.b, gr_matmul(&l.b, h, w, false, true), x));
  gr_loop_next(&l, h, next);
  int all = gr_loop_yield(&l, next);
  gr_loop_close(&l);
  gr_val stack = gr_transpose(b, gr_loop_stack(&l, all), ints(3, 1, 0, 2));
  return gr_add(b, gr_sum(b, stack, 1), gr_loop_last(&l, h));
}

// One step; carries are the state, the place in a table, the window, and one that stays as it is.
static void put_step(gr_loop *l, const steps *a, const gr_val *c, gr_val x, gr_val chance,
                     const gr_val *k) {
  gr_builder *b = &l->b;
  gr_val found = gr_embedding(b, k[TABLE], gr_cast(b, c[1], GR_I32));
  gr_val z = gr_tanh(b, gr_add(b, gr_add(b, x, found), gr_matmul(b, c[0], k[WEIGHT], false, true)));
  gr_val normal = GR_EMIT(b, &gr_op_layer_norm, &(double){1e-5}, z, k[GAMMA], k[BETA]);
  gr_val p = GR_EMIT(b, &gr_op_softmax, &(int64_t){0}, normal);
  gr_val drawn = GR_EMIT(b, &gr_op_sample_categorical, (&(gr_sample){1, 2}), normal, k[STEP]);
  gr_val best = GR_EMIT(b, &gr_op_argmax, NULL, normal);
  gr_val both[] = {gr_reshape(b, drawn, ints(2, -1, 1, 0)), gr_reshape(b, best, ints(2, -1, 1, 0))};
  gr_val picked = gr_sum(b, GR_EMIT(b, &gr_op_gather, NULL, p, gr_concat(b, 2, both, 1)), 1);
  gr_val further = gr_add_scalar(b, c[1], 1), start = gr_scale(b, c[1], 0);
  gr_val moved = gr_where(b, gr_less(b, chance, picked), further, start);
  gr_val place = gr_min(b, moved, gr_add_scalar(b, start, PLACES - 1));
  gr_val shift[] = {gr_slice(b, c[2], 1, 1, WINDOW - 1),
                    gr_reshape(b, normal, ints(3, -1, 1, WIDTH))};
  gr_val past = gr_concat(b, 2, shift, 1), seen = put_window(b, a, past, k[SECOND]);
  gr_val rest = gr_bias_add(b, gr_mul(b, p, gr_broadcast(b, picked, 1, WIDTH)), k[ROW]);
  gr_val state = gr_add(b, gr_scale(b, c[0], 0.5), gr_scale(b, gr_add(b, seen, rest), 0.1));
  gr_loop_next(l, c[0], state), gr_loop_next(l, c[1], place);
  gr_loop_next(l, c[2], past), gr_loop_next(l, c[3], c[3]);
  gr_val yields[YIELDS] = {p, place, past, x, picked, place, gr_mul(b, state, c[3])};
  for (int i = 0; i < YIELDS; i++) gr_loop_yield(l, yields[i]);
}

// The steps from `first` on, as a loop of their own; sets the carries, and the stacks of yields.
static void put_part(steps *a, int64_t first, int64_t count, gr_val *stack) {
  gr_loop l;
  gr_val c[CARRIES], k[LEAVES];
  gr_loop_open(&l, a->b, count, a->reverse);
  gr_val x = gr_loop_seq(&l, gr_slice(a->b, a->x, 0, first, count));
  gr_val chance = gr_loop_seq(&l, gr_slice(a->b, a->chance, 0, first, count));
  for (int i = 0; i < LEAVES; i++) k[i] = gr_loop_const(&l, a->leaf[i]);
  for (int i = 0; i < CARRIES; i++) c[i] = gr_loop_carry(&l, a->carry[i], "c");
  put_step(&l, a, c, x, chance, k);
  gr_loop_close(&l);
  for (int i = 0; i < CARRIES; i++) a->carry[i] = gr_loop_last(&l, c[i]);
  for (int i = 0; i < YIELDS; i++) stack[i] = gr_loop_stack(&l, i);
}

gr_status loops_steps(gr_arena *arena, const loops_body *o, int parts, gr_graph **out) {
  gr_builder builder = {.g = gr_graph_create(arena, NULL), .created_by = "test"}, *b = &builder;
  steps a = {.b = b, .o = o, .reverse = o->seed / 2 % 2};
  int64_t n = o->rows, each = o->steps / parts;
  gr_dtype d = o->dtype;
  gr_val stack[2][YIELDS];
  a.x = input(b, "x0", (gr_type){d, 3, {o->steps, n, WIDTH}});
  a.chance = gr_square(b, input(b, "u0", (gr_type){d, 2, {o->steps, n}}));
  const gr_type leaves[LEAVES] = {
      {d, 2, {PLACES, WIDTH}}, {d, 2, {WIDTH, WIDTH}}, {d, 2, {WIDTH, WIDTH}}, {d, 1, {WIDTH}},
      {d, 1, {WIDTH}},         {d, 1, {WIDTH}},        {GR_I32, 0, {0}}};
  static const char *const names[LEAVES] = {"t0", "w0", "w1", "r0", "r1", "r2", "step"};
  for (int i = 0; i < LEAVES; i++) a.leaf[i] = input(b, names[i], leaves[i]);
  a.carry[0] = input(b, "c0", (gr_type){d, 2, {n, WIDTH}});
  a.carry[1] = gr_scale(b, gr_square(b, input(b, "c1", (gr_type){d, 1, {n}})), 0);
  a.carry[2] = input(b, "c2", (gr_type){d, 3, {n, WINDOW, WIDTH}});
  a.carry[3] = input(b, "c3", (gr_type){d, 2, {n, WIDTH}});
  for (int p = 0; p < parts; p++) {
    int part = a.reverse ? parts - 1 - p : p;
    put_part(&a, part * each, each, stack[part]);
  }
  for (int i = 0; i < CARRIES; i++) gr_result(b, gr_arena_printf(arena, "c%d", i), a.carry[i]);
  for (int i = 0; i < YIELDS; i++) {
    gr_val halves[] = {stack[0][i], stack[1][i]};
    gr_result(b, gr_arena_printf(arena, "y%d", i),
              parts > 1 ? gr_concat(b, 2, halves, 0) : stack[0][i]);
  }
  *out = b->g;
  return b->err;
}
