// test_fuse.c - the pass `fuse` on random graphs: the same bits as without it, by fast kernels and
// by reference kernels, whatever groups it finds, and in place.
#include <math.h>
#include <string.h>
#include "compiler/pass.h"
#include "ops/kernels/fused.h"
#include "tests/check.h"
#include "tests/compiler/elementwise.h"
#include "tests/ir/parse.h"
#include "tests/ops/bench.h"

enum { SEEDS = 300 };

static value *fill_leaves(const gr_graph *g, uint64_t seed) {
  value *v = calloc(g->n_values, sizeof *v);
  gr_rng rng = gr_rng_make(seed, "test", 0);
  for (uint32_t i = 1; i <= gr_graph_leaves(g); i++) {
    v[i] = value_make(g->values[i].type);
    bool whole = v[i].type.dtype == GR_I32;  // lengths and steps
    for (int64_t k = 0; k < value_count(&v[i]); k++) {
      double x = gr_rng_normal(&rng, (uint64_t)(i * 1000 + k));
      value_put(&v[i], k, whole ? floor(fabs(5 * x)) : x);
    }
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
    bool whole = v.type.dtype == GR_I32;
    for (int64_t i = 0; i < value_count(&v); i++) {
      double x = gr_rng_normal(&rng, (uint64_t)(k * 10000 + i));
      value_put(&v, i, whole ? floor(fabs(5 * x)) : x);
    }
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
                 .out = apart,
                 .scratch = calloc(1, n->op->scratch(&call) + 1)};
  MUST(gr_op_fast(&call)(&l));
  l.out = out;
  MUST(gr_op_fast(&call)(&l));
  for (int k = 0; k < n->n_out; k++)
    CHECK(!memcmp(out[k], apart[k], gr_type_bytes(&call.out[k])), "seed %u, result %d", seed, k);
  free(l.scratch);
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

// ---- Random numbers -----------------------------------------------------------------------------

static gr_val dropout(gr_builder *b, gr_val x, gr_val step) {
  uint64_t attr[8] = {0};
  gr_attr_defaults(&gr_op_dropout, attr);
  MUST(gr_attr_parse(&gr_op_dropout, &gr_op_dropout.attrs[0], "0.4", GR_NOWHERE, attr));
  return GR_EMIT(b, &gr_op_dropout, attr, x, step);
}

// The fused node of a chain over [rows, columns], with rows' sums or without.
static const gr_node *chain(gr_arena *arena, int64_t rows, int64_t columns, bool sums,
                            gr_graph **out) {
  gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "test"};
  gr_type type = {GR_F32, 2, {rows, columns}};
  gr_val x = gr_leaf(&b, GR_INPUT, GR_KIND_BUFFER, "x", type, gr_layout_replicated);
  gr_val step = gr_leaf(&b, GR_INPUT, GR_KIND_BUFFER, "step", (gr_type){GR_I32, 0, {0}},
                        gr_layout_replicated);
  gr_val y = dropout(&b, gr_scale(&b, x, 3), step);
  if (sums) y = gr_add(&b, y, gr_broadcast(&b, gr_sum(&b, y, 1), 1, columns));
  gr_result(&b, "y", gr_tanh(&b, y));
  MUST(b.err);
  MUST(elementwise_fused(arena, b.g, out));
  CHECK((*out)->n_nodes == 1, "%u nodes", (*out)->n_nodes);
  return &(*out)->nodes[0];
}

// Runs the chain on a rank's part of x, which begins at `from` and whose rows are `stride` apart.
static void run_part_of(const float *x, int64_t stride, int64_t rows, int64_t columns, int axis,
                        int coord, bool sums, float *out) {
  gr_arena *arena = gr_arena_create();
  gr_graph *g;
  gr_op_call call;
  const gr_node *n = chain(arena, rows, columns, sums, &g);
  gr_op_call_of(g, n, &call);
  gr_mesh mesh = {1, {{"dp", axis < 0 ? 1 : 2}}};
  gr_layout layout = {.placement = {(gr_axis_placement)axis}};
  value v = value_make(call.in[0]);
  for (int64_t r = 0; r < rows; r++)
    memcpy((float *)v.data + r * columns, x + r * stride, (size_t)columns * sizeof *x);
  const void *in[2] = {v.data, &(int32_t){7}};
  void *to = out;
  CHECK(call.in[1].dtype == GR_I32, "the step is operand 1");
  MUST(gr_op_fast(&call)(&(gr_launch){.attr = n->attr,
                                      .n_in = 2,
                                      .n_out = 1,
                                      .in_type = call.in,
                                      .out_type = call.out,
                                      .out_layout = &layout,
                                      .mesh = &mesh,
                                      .coord = &coord,
                                      .in = in,
                                      .out = &to}));
  value_free(&v);
  gr_arena_destroy(arena);
}

// The parts of two ranks, which divide rows or columns, have the bits of the whole.
static void ranks(void) {
  enum { R = 6, C = 170 };
  static float x[R * C], whole[R * C], part[R * C / 2];
  gr_rng rng = gr_rng_make(1, "ranks", 0);
  for (int i = 0; i < R * C; i++) x[i] = (float)gr_rng_normal(&rng, (uint64_t)i);
  for (int way = 0; way < 3; way++) {  // rows; rows with sums; columns
    int axis = way == 2;
    int64_t rows = axis ? R : R / 2, columns = axis ? C / 2 : C;
    run_part_of(x, C, R, C, -1, 0, way == 1, whole);
    for (int coord = 0; coord < 2; coord++) {
      int64_t first = coord * (axis ? columns : rows * C);
      run_part_of(x + first, C, rows, columns, axis, coord, way == 1, part);
      for (int64_t r = 0; r < rows; r++)
        CHECK(!memcmp(part + r * columns, whole + first + r * C, (size_t)columns * sizeof *x),
              "rank %d, way %d, row %d", coord, way, (int)r);
    }
  }
}

// Where tiles begin and end follows from the rows: an element computed alone has the bits that it
// has among others.
static void alone(void) {
  enum { N = 1000 };
  static float x[3][N], y[N];
  gr_rng rng = gr_rng_make(1, "alone", 0);
  for (int i = 0; i < 3 * N; i++) x[i / N][i % N] = 2 * (float)gr_rng_normal(&rng, (uint64_t)i);
  for (const gr_op *const *op = gr_ops; *op; op++) {
    double attr[8] = {0.37, 0.77, 1.5};
    if (!(*op)->tile) continue;
    (*op)->tile((const float *const[]){x[0], x[1], x[2]}, y, N, attr);
    int other = 0;
    for (int i = 0; i < N; i++) {
      float one;
      (*op)->tile((const float *const[]){&x[0][i], &x[1][i], &x[2][i]}, &one, 1, attr);
      other += memcmp(&one, &y[i], sizeof one) && !(isnan(one) && isnan(y[i]));
    }
    CHECK(!other, "%s: %d of %d elements differ", (*op)->name, other, N);
  }
}

// A sum over all rows is known when the last row is: no part of the same node can read it.
static void sums_are_results(void) {
  for (int i = 0; i < 2; i++) {
    const char *reads = i ? "%5" : "%2";
    gr_arena *arena = gr_arena_create();
    gr_graph *g;
    const char *text = gr_arena_printf(
        arena,
        "%%1 = input x : f32[4,6]\n%%2 = input w : f32[6]\n%%3 = fused %%1 %%2 : f32[4,6]\nbody {\n"
        "  %%1 = input : f32[4,6]\n  %%2 = input : f32[6]\n"
        "  %%3 %%4 %%5 = layer_norm_grad %%1 %%2 %%1 {eps=1e-05} : f32[4,6], f32[6], f32[6]\n"
        "  %%6 = tanh %%3 : f32[4,6]\n  %%7 = bias_add %%6 %s : f32[4,6]\n  result %%7\n}\n",
        reads);
    gr_status s = graph_parse(arena, gr_op_find, "text", text, &g);
    CHECK(!s == !i, "%s: %s", reads, s ? gr_status_text(s) : "taken");
    if (s) CHECK(strstr(gr_status_text(s), "cannot be part"), "%s", gr_status_text(s));
    if (s) gr_status_drop(s);
    gr_arena_destroy(arena);
  }
}

// Whether the space of a part is divided along its rows by a sharding rule.
static bool divides_rows(const gr_graph *g, const gr_node *n, const gr_sharding_rule *rule) {
  gr_val space = gr_fused_space(g, n);
  gr_axis_placement axis = space.id == n->out.id ? rule->out[0] : rule->in[0];
  return axis == gr_at(g, space)->type.rank - 1;
}

static int check_rows_of(const gr_op *op, const gr_case *c) {
  gr_arena *arena = gr_arena_create();
  gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "test"};
  gr_val in[GR_CASE_ARGS];
  gr_op_call call;
  gr_sharding_rule rules[GR_MAX_SHARDING_RULES];
  int n_in = 0, n = 0;
  for (; c->in[n_in]; n_in++) {
    gr_type t;
    MUST(gr_type_parse(c->in[n_in], &t));
    in[n_in] = gr_leaf(&b, GR_INPUT, GR_KIND_BUFFER, c->in[n_in], t, gr_layout_replicated);
  }
  gr_emit(&b, op, c->attr, n_in, in);
  MUST(b.err);
  const gr_node *node = &b.g->nodes[0];
  bool part = gr_fused_takes(b.g, node) && gr_fused_sees_rows(node);
  gr_op_call_of(b.g, node, &call);
  if (part) MUST(gr_op_sharding_rules(&call, rules, &n));
  for (int r = 0; r < n; r++)
    CHECK(!divides_rows(b.g, node, &rules[r]) || rules[r].out[0] == GR_PARTIAL,
          "%s with %s, rule %d: a rank would see a part of a row", op->name, c->in[0], r);
  gr_arena_destroy(arena);
  return part;
}

// What sees whole rows is never on a rank that has a part of them, as the pass takes for granted.
static void whole_rows(void) {
  int parts = 0;
  for (const gr_op *const *op = gr_ops; *op; op++)
    for (const gr_case *c = (*op)->cases; c && (c->in[0] || c->attr); c++)
      if (!c->fails && ((*op)->row || (*op)->row_of)) parts += check_rows_of(*op, c);
  CHECK(parts > 15, "only %d cases are parts", parts);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"same_bits", same_bits}, {"in_place", in_place}, {"alone", alone},
             {"ranks", ranks}, {"whole_rows", whole_rows}, {"sums_are_results", sums_are_results});
}
