// recurrent.c - see recurrent.h.
#include "tests/compiler/recurrent.h"
#include <stdlib.h>
#include <string.h>
#include "ops/loop/scan.h"

const char *const kind_name[] = {"elman", "lmu", "two elmans"};

static void must(gr_status s) {
  if (!s) return;
  gr_status_print(stderr, s);
  exit(1);
}

// ---- Models ---------------------------------------------------------------------

gr_val recurrent_leaf(gr_builder *b, gr_role role, const char *name, const char *type, int split) {
  gr_type t;
  must(gr_type_parse(type, &t));
  gr_layout l = gr_layout_replicated;
  if (b->g->mesh.n_axes) l.placement[0] = (gr_axis_placement)split;
  return gr_leaf(b, role, GR_KIND_WEIGHT, name, t, l);
}

static gr_val weight(gr_builder *b, const char *prefix, const char *name, int rows, int cols) {
  char type[32];
  snprintf(type, sizeof type, rows ? "f32[%d,%d]" : "f32[%d]", rows ? rows : cols, cols);
  name = gr_arena_printf(b->g->arena, "%s%s", prefix, name);
  return recurrent_leaf(b, GR_STATE, name, type, GR_REPLICATE);
}

static gr_val mm(gr_builder *b, gr_val x, gr_val y) { return gr_matmul(b, x, y, false, false); }

typedef struct cell {
  kind kind;
  gr_val w[8];  // constants
  int n;
} cell;

static cell make_cell(gr_builder *b, kind k, const char *p) {
  if (k != LMU)
    return (cell){
        k, {weight(b, p, "W", C, H), weight(b, p, "U", H, H), weight(b, p, "b", 0, H)}, 3};
  gr_val A = recurrent_leaf(b, GR_INPUT, "A", "f32[4,4]", GR_REPLICATE);
  gr_val B = recurrent_leaf(b, GR_INPUT, "B", "f32[4,1]", GR_REPLICATE);
  return (cell){LMU,
                {weight(b, p, "ex", C, 1), weight(b, p, "eh", H, 1), weight(b, p, "em", D, 1), A, B,
                 weight(b, p, "Wx", C, H), weight(b, p, "Wh", H, H), weight(b, p, "Wm", D, H)},
                8};
}

// One step: h, and for the LMU m, from x and the h and m before; w as in make_cell.
static void step(gr_builder *b, kind k, const gr_val *w, gr_val x, gr_val *h, gr_val *m) {
  if (k != LMU) {
    *h = gr_tanh(b, gr_bias_add(b, gr_add(b, mm(b, x, w[0]), mm(b, *h, w[1])), w[2]));
    return;
  }
  gr_val u = gr_add(b, gr_add(b, mm(b, x, w[0]), mm(b, *h, w[1])), mm(b, *m, w[2]));
  *m = gr_add(b, gr_matmul(b, *m, w[3], false, true), gr_matmul(b, u, w[4], false, true));
  *h = gr_tanh(b, gr_add(b, gr_add(b, mm(b, x, w[5]), mm(b, *h, w[6])), mm(b, *m, w[7])));
}

// All steps as a scan: the stacked h; *last is the last one.
static gr_val scanned(gr_builder *b, const cell *c, gr_val x, int t, gr_val h0, gr_val *last) {
  gr_loop l;
  gr_loop_open(&l, b, t, false);
  gr_val xt = gr_loop_seq(&l, x), h = gr_loop_carry(&l, h0, "h"), m = GR_NONE, w[8];
  if (c->kind == LMU) m = gr_loop_zero(&l, (gr_type){GR_F32, 2, {N, D}}, "m");
  for (int i = 0; i < c->n; i++) w[i] = gr_loop_const(&l, c->w[i]);
  gr_val h1 = h, m1 = m;
  step(&l.b, c->kind, w, xt, &h1, &m1);
  gr_loop_next(&l, h, h1);
  if (c->kind == LMU) gr_loop_next(&l, m, m1);
  gr_loop_yield(&l, h1);
  gr_loop_close(&l);
  *last = gr_loop_last(&l, h);
  return gr_loop_stack(&l, 0);
}

static gr_val total(gr_builder *b, gr_val v) {
  while (!b->err && gr_at(b->g, v)->type.rank) v = gr_sum(b, v, 0);
  return v;
}

static gr_val token_loss(gr_builder *b, gr_val h, gr_val out, gr_val y) {
  gr_val p = GR_EMIT(b, &gr_op_log_softmax, (char[256]){0}, mm(b, h, out));
  return gr_neg(b, total(b, gr_mul(b, p, y)));
}

static gr_val unrolled(gr_builder *b, const cell *c, int n_cells, gr_val x, int t, gr_val h0,
                       gr_val m0, gr_val out, gr_val y, gr_val *last) {
  gr_val loss = GR_NONE, h[2] = {h0, h0}, m = m0;
  for (int i = 0; i < t; i++) {
    gr_val v = gr_select(b, x, i);
    for (int k = 0; k < n_cells; k++) {
      step(b, c[k].kind, c[k].w, v, &h[k], &m);
      v = k + 1 < n_cells ? mm(b, h[k], c[n_cells].w[0]) : h[k];
    }
    gr_val one = token_loss(b, v, out, gr_select(b, y, i));
    loss = i ? gr_add(b, loss, one) : one;
  }
  *last = h[n_cells - 1];
  return loss;
}

// x W0 -> cell(s) -> out: the loss of all steps, and of the last h, so that gradients flow
// into yields, last carries and sequences.
static void model(gr_builder *b, const setup *s) {
  char xt[32], yt[32];
  snprintf(xt, sizeof xt, "f32[%d,%d,%d]", s->t, N, C);
  snprintf(yt, sizeof yt, "f32[%d,%d,%d]", s->t, N, V);
  gr_val x = recurrent_leaf(b, GR_INPUT, "x", xt, 1), y = recurrent_leaf(b, GR_INPUT, "y", yt, 1);
  gr_val h0 = recurrent_leaf(b, GR_INPUT, "h0", "f32[4,5]", 0), last = GR_NONE, loss;
  cell c[3] = {make_cell(b, s->kind, "0.")};
  int n_cells = s->kind == STACK ? 2 : 1;
  if (n_cells == 2) c[1] = make_cell(b, ELMAN, "1."), c[2].w[0] = weight(b, "", "between", H, C);
  gr_val in = weight(b, "", "in", C, C), out = weight(b, "", "out", H, V);
  x = mm(b, x, in);
  if (s->unrolled) {
    gr_val m0 = s->kind == LMU ? recurrent_leaf(b, GR_INPUT, "m0", "f32[4,4]", 0) : GR_NONE;
    loss = unrolled(b, c, n_cells, x, s->t, h0, m0, out, y, &last);
  } else {
    gr_val h = scanned(b, &c[0], x, s->t, h0, &last);
    if (n_cells == 2) h = scanned(b, &c[1], mm(b, h, c[2].w[0]), s->t, h0, &last);
    loss = token_loss(b, h, out, y);
  }
  gr_val both = gr_add(b, loss, total(b, gr_mul(b, last, last)));
  b->g->loss = gr_scale(b, both, 1.0 / (N * s->t));
}

gr_graph *recurrent_model(gr_arena *arena, const setup *s) {
  gr_mesh mesh = {s->ranks > 1, {{"dp", s->ranks}}};
  gr_builder b = {.g = gr_graph_create(arena, &mesh), .created_by = "model"};
  model(&b, s);
  must(b.err);
  return b.g;
}

gr_graph *recurrent_compile(gr_arena *arena, const setup *s, const char *dump) {
  const char *without[] = {"loop_hoist"};
  gr_options o = {.optimizer.name = "sgd", .debug.dump = dump, .debug.dump_to = stdout};
  gr_graph *g = NULL;
  o.debug.without = without, o.debug.n_without = s->no_hoist;
  must(gr_compile(arena, recurrent_model(arena, s), GR_TRAIN, &o, &g));
  return g;
}

// ---- Running ----------------------------------------------------------------------

static void fill(const gr_value *v, const gr_type *t, float *data) {
  uint32_t seed = 17;
  for (const char *p = v->name; *p; p++) seed = seed * 31 + (unsigned char)*p;
  for (int64_t i = 0, n = gr_type_count(t); i < n; i++) {
    data[i] = random_float(&seed) * 0.6f;
    if (!strcmp(v->name, "y")) data[i] = i / V * 7 % V == i % V;
    if (!strcmp(v->name, "m0") || !strcmp(v->name, "step")) data[i] = 0;
    if (!strcmp(v->name, "lr")) data[i] = 0.5f;
  }
}

void recurrent_put(world *w, const gr_value *moved, int64_t index, float by) {
  static float data[MANY];
  for (uint32_t i = 1; i < w->g->n_values; i++) {
    const gr_value *v = &w->g->values[i];
    if (v->role == GR_TEMP) continue;
    gr_type t = gr_type_global(&v->type, &v->layout, &w->g->mesh);
    fill(v, &t, data);
    if (v == moved) data[index] += by;
    world_put(w, v->name, &t, data);
  }
}

// Yields that nothing reads: sweep must leave none.
static int count_unread(const gr_graph *g) {
  int unread = 0;
  const bool *live = gr_graph_live(g);
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    const gr_scan *s = n->op == &gr_op_scan ? n->attr : NULL;
    for (int k = s ? (int)s->n_carry : n->n_out; k < n->n_out; k++)
      unread += !live[gr_out(n, k).id];
  }
  return unread;
}

static void read_grads(world *w, result *r) {
  static float before[MANY], after[MANY];
  r->n_states = 0;
  for (uint32_t i = 1; i < w->g->n_values; i++) {
    const gr_value *v = &w->g->values[i];
    if (v->role != GR_STATE || v->kind != GR_KIND_WEIGHT) continue;
    fill(v, &v->type, before);
    world_get(w, (gr_val){i}, &v->type, after);
    for (int64_t k = 0; k < gr_type_count(&v->type); k++)
      r->grad[r->n_states][k] = (before[k] - after[k]) / 0.5f;
    r->n_states++;
  }
}

void recurrent_train(const setup *s, result *r) {
  gr_arena *arena = gr_arena_create();
  gr_graph *g = recurrent_compile(arena, s, NULL);
  world w;
  world_open(&w, arena, g);
  recurrent_put(&w, NULL, 0, 0);
  for (int i = 0; i < STEPS; i++) {
    world_step(&w);
    world_get(&w, g->loss, &(gr_type){0}, &r->loss[i]);
    if (!i) read_grads(&w, r);
  }
  r->loop_nodes = count_in_loops(g, NULL);
  r->nodes = (int)g->n_nodes + r->loop_nodes;
  r->loop_matmuls = count_in_loops(g, "matmul");
  r->matmuls = count_ops(g, "matmul");
  r->unread = count_unread(g);
  r->all_reduces = count_results(g, "all_reduce");
  r->all_gathers = count_results(g, "all_gather");
  r->peak = w.plan->arena_bytes;
  r->body = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_plan_frame *body = w.plan->programs[0].frame.body[i];
    r->body += body ? body->bytes : 0;
  }
  world_close(&w);
  gr_arena_destroy(arena);
}
