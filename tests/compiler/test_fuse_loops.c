// test_fuse_loops.c - rows in the bodies of loops as parts of fused nodes: training has the same
// bits as without the pass, and two ranks have what one has.
#include <math.h>
#include <string.h>
#include "ops/kernels/fused.h"
#include "ops/kernels/gpu.h"
#include "ops/loop/scan.h"
#include "tests/check.h"
#include "tests/world.h"

enum { T = 5, B = 6, C = 20, STEPS = 3, ROOM = T * B * C };

static gr_val leaf(gr_builder *b, gr_role role, const char *name, const char *type, int split) {
  gr_type t;
  gr_layout l = gr_layout_replicated;
  MUST(gr_type_parse(type, &t));
  if (b->g->mesh.n_axes) l.placement[0] = (gr_axis_placement)split;
  return gr_leaf(b, role, GR_KIND_WEIGHT, name, t, l);
}

static gr_val emit(gr_builder *b, const gr_op *op, gr_val x, gr_val y, gr_val z) {
  uint64_t attr[16] = {0};
  gr_attr_defaults(op, attr);
  return gr_emit(b, op, attr, gr_is(z) ? 3 : 1, (gr_val[]){x, y, z});
}

// A recurrent layer with a norm and a softmax: h = norm(tanh(x + h w)), y = softmax(h) h. Without
// rows they are the identity.
static gr_graph *model(gr_arena *arena, const gr_mesh *mesh, bool rows) {
  gr_builder b = {.g = gr_graph_create(arena, mesh), .created_by = "model"};
  gr_val x = leaf(&b, GR_INPUT, "x", "f32[5,6,20]", 1);
  gr_val w = leaf(&b, GR_STATE, "w", "f32[20,20]", GR_REPLICATE);
  gr_val gain = leaf(&b, GR_STATE, "gain", "f32[20]", GR_REPLICATE);
  gr_val bias = leaf(&b, GR_STATE, "bias", "f32[20]", GR_REPLICATE);
  gr_val first = leaf(&b, GR_INPUT, "first", "f32[6,20]", 0);
  gr_loop l;
  gr_loop_open(&l, &b, T, false);
  gr_val now = gr_loop_seq(&l, x), h = gr_loop_carry(&l, first, "h"), in = gr_loop_const(&l, w);
  gr_val g = gr_loop_const(&l, gain), a = gr_loop_const(&l, bias);
  gr_val z = gr_tanh(&l.b, gr_add(&l.b, now, gr_matmul(&l.b, h, in, false, false)));
  gr_val next = rows ? emit(&l.b, gr_op_find("layer_norm"), z, g, a) : z;
  gr_val y = rows ? emit(&l.b, gr_op_find("softmax"), next, h, GR_NONE) : z;
  gr_loop_next(&l, h, next);
  gr_loop_yield(&l, gr_mul(&l.b, next, y));
  gr_loop_close(&l);
  gr_val all = b.err ? GR_NONE : gr_out(&b.g->nodes[gr_at(b.g, l.made)->node], 1);
  b.g->loss = gr_sum_squares(&b, gr_add_scalar(&b, all, 0.3));
  MUST(b.err);
  return b.g;
}

static void fill(world *w) {
  static float data[ROOM];
  for (uint32_t i = 1; i < w->g->n_values; i++) {
    const gr_value *v = &w->g->values[i];
    if (v->role == GR_TEMP) continue;
    uint32_t seed = (uint32_t)v->name[0] * 31 + (uint32_t)v->name[1];
    for (int k = 0; k < ROOM; k++) data[k] = random_float(&seed);
    if (!strcmp(v->name, "lr")) data[0] = 0.1f;
    if (!strcmp(v->name, "step")) data[0] = 0;
    gr_type whole = gr_type_global(&v->type, &v->layout, &w->g->mesh);
    world_put(w, v->name, &whole, data);
  }
}

typedef struct result {
  float loss[STEPS], w[C * C], gain[C], bias[C];
  int rows, sums;  // parts of fused nodes in loops that see rows, and that have sums over all
} result;

static void count_parts(const gr_graph *g, bool in_loop, result *r) {
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    if (n->op == &gr_op_scan) count_parts(((const gr_scan *)n->attr)->body, true, r);
    if (!in_loop || n->op != &gr_op_fused) continue;
    const gr_graph *body = ((const gr_fused *)n->attr)->body;
    for (uint32_t k = 0; k < body->n_nodes; k++) {
      r->rows += gr_fused_sees_rows(&body->nodes[k]);
      r->sums += gr_fused_sums(body->nodes[k].op) > 0;
    }
  }
}

static void run(int ranks, bool fused, result *r) {
  static const char *const without[] = {"fuse"};
  gr_arena *arena = gr_arena_create();
  gr_mesh mesh = {ranks > 1, {{"dp", ranks}}};
  gr_graph *g;
  gr_options o = {
      .optimizer.name = "sgd", .debug.without = (const char **)without, .debug.n_without = !fused};
  *r = (result){0};
  MUST(gr_compile(arena, model(arena, &mesh, true), GR_TRAIN, &o, &g));
  count_parts(g, false, r);
  world w;
  world_open(&w, arena, g);
  fill(&w);
  for (int i = 0; i < STEPS; i++) {
    world_step(&w);
    world_get(&w, g->loss, &(gr_type){0}, &r->loss[i]);
  }
  float *to[] = {r->w, r->gain, r->bias};
  const char *name[] = {"w", "gain", "bias"};
  for (int k = 0; k < 3; k++) {
    gr_val v = gr_graph_leaf(g, GR_STATE, name[k]);
    world_get(&w, v, &gr_at(g, v)->type, to[k]);
  }
  world_close(&w);
  gr_arena_destroy(arena);
}

static double apart(const float *a, const float *b, int n) {
  double worst = 0;
  for (int i = 0; i < n; i++) worst = check_worse(worst, fabs((double)a[i] - (double)b[i]));
  return isnan(worst) ? INFINITY : worst;
}

static void rows_in_loops(void) {
  static result plain, fused, two;
  run(1, false, &plain);
  run(1, true, &fused);
  run(2, true, &two);
  CHECK(fused.rows >= 4 && fused.sums >= 1 && two.sums >= 1, "%d parts see rows, %d have sums",
        fused.rows, fused.sums);
  CHECK(plain.loss[0] > 1 && plain.loss[STEPS - 1] < plain.loss[0], "%g to %g",
        (double)plain.loss[0], (double)plain.loss[STEPS - 1]);
  CHECK(!memcmp(plain.loss, fused.loss, sizeof plain.loss), "losses %g and %g",
        (double)plain.loss[STEPS - 1], (double)fused.loss[STEPS - 1]);
  CHECK(!memcmp(plain.w, fused.w, sizeof plain.w) &&
            !memcmp(plain.gain, fused.gain, sizeof plain.gain) &&
            !memcmp(plain.bias, fused.bias, sizeof plain.bias),
        "weights differ by %g", apart(plain.w, fused.w, C * C));
  CHECK(apart(two.w, fused.w, C * C) < 1e-4 && apart(two.gain, fused.gain, C) < 1e-4 &&
            apart(two.bias, fused.bias, C) < 1e-4,
        "two ranks are off by %g, %g and %g", apart(two.w, fused.w, C * C),
        apart(two.gain, fused.gain, C), apart(two.bias, fused.bias, C));
}

// On a GPU the loop of elementwise parts is a kernel of many blocks, in which a thread has an
// element of a row; the one with rows is none of these.
static void one_kernel(void) {
  for (int rows = 0; rows < 2; rows++) {
    gr_arena *arena = gr_arena_create();
    gr_graph *g;
    gr_options o = {.optimizer.name = "sgd", .gpu = true};
    int loops = 0;
    MUST(gr_compile(arena, model(arena, NULL, rows), GR_TRAIN, &o, &g));
    for (uint32_t i = 0; i < g->n_nodes; i++) {
      gr_op_call call;
      if (g->nodes[i].op != &gr_op_scan) continue;
      if (((const gr_scan *)g->nodes[i].attr)->steps == 1) continue;  // of join_small
      gr_op_call_of(g, &g->nodes[i], &call);
      gr_gpu_call c = {.call = &call, .arena = arena};
      c.launch = GR_NEW(arena, gr_gpu_launch, GR_GPU_LAUNCHES);
      gr_status s = gr_gpu_describe(&c);
      bool all_blocks = !s && c.launch[c.n - 1].kernel.cooperative;
      CHECK(all_blocks == !rows, "a loop %s rows: %s", rows ? "with" : "without",
            s ? gr_status_text(s) : "another kernel");
      if (s) gr_status_drop(s);
      loops++;
    }
    CHECK(loops == 2, "%d loops", loops);
    gr_arena_destroy(arena);
  }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"rows_in_loops", rows_in_loops}, {"one_kernel", one_kernel});
}
