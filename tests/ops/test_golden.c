// test_golden.c - ops against PyTorch: the cases of tests/golden/ops.txt, results and gradients,
// by reference kernels and by fast ones.   test_golden FILE [OP]
#include <math.h>
#include "tests/ops/golden.h"

// How far numbers may be from PyTorch's, |a - b| / (1 + |b|), in f32.
static const struct tolerance {
  const char *op;
  double result, gradient;
} tolerances[] = {
    {NULL, 2e-6, 4e-6},  // all that are not below
    {"matmul", 1e-5, 1e-5},      {"conv1d", 1e-5, 1e-5},     {"conv2d", 1e-5, 1e-5},
    {"conv3d", 1e-5, 1e-5},      {"layer_norm", 4e-6, 1e-5}, {"ctc_loss", 4e-6, 1e-5},
    {"sum_squares", 1e-5, 1e-5}, {"lmu_memory", 2e-7, 0},
};

// What PyTorch has no counterpart of, and where it is tested instead.
static const char *const elsewhere[][2] = {
    {"dropout", "own random numbers: test_ops"},
    {"init_uniform", "own random numbers: test_ops"},
    {"init_normal", "own random numbers: test_ops"},
    {"init_trunc_normal", "own random numbers: test_ops"},
    {"sample_uniform", "own random numbers: test_sample"},
    {"sample_normal", "own random numbers: test_sample"},
    {"sample_categorical", "own random numbers: test_sample"},
    {"minibatch", "own random numbers: test_sample"},
    {"scan", "test_scan, test_scan_random"},
    {"fused", "test_fuse"},
    {"optimization_barrier", "its operand: test_ops, e2e.recompute"},
    {"finite_check", "test_train"},
    {"increment", "test_train"},
    {"loss_scale", "e2e.precision"},
    {"accumulate", "test_accumulate"},
    {"accumulate_tree", "test_canonical"},
    {"sum_squares_exact", "test_canonical"},
    {"exact_sum", "test_canonical"},
    {"lamb", "test_optim"},
    {"lamb_direction", "test_optim"},
    {"lars", "test_optim"},
    {"muon", "test_optim"},
    {"muon_momentum", "test_optim"},
    {"muon_unit", "test_optim"},
    {"nadam", "test_optim"},
    {"nadam_product", "test_optim"},
    {"lion", "test_optim"},
    {"adafactor", "test_optim"},
    {"adafactor_norm", "test_optim"},
    {"adafactor_moment", "test_optim"},
    {"adafactor_squares", "test_optim"},
    {"select_grad", "by the gradient of select, where a pass makes it"},
    {"max_pool_pick", "by the gradient of a gradient: test_gradients"},
    {"pack", "its order is the processor's own: test_gemm, by_packed"},
    {"matmul_packed", "by_packed likewise, and every model with a loop"},
    {"dot_columns", "sums of a gradient that it returns: test_ops, gpu.norms"},
    {"channel_moments", "channel_sums and channel_squares at once: test_ops, gpu.norms"},
    {"channel_shift", "with channel_moments: test_ops, gpu.norms"},
    {"fetch", "a copy: test_ops"},
    {"averaged", "the identity: test_ops"},
    {"shard_slice", "collectives: test_ops, test_loopback"},
    {"all_reduce", "collectives: test_loopback"},
    {"all_gather", "collectives: test_loopback"},
    {"reduce_scatter", "collectives: test_loopback"},
};

enum { MANY = 8, OPS = 512 };
static const char *file, *only;
static bool seen[OPS];  // by place in gr_ops
static int replayed;

typedef struct golden {
  golden_head head;
  int n_x, n_y, n_w, n_dx;
  value x[MANY], y[MANY], w[MANY], dx[MANY];
  bool wanted[MANY];
} golden;

// ---- Reading ------------------------------------------------------------------------------------

static void read_line(void *golden_case, char *text, int line) {
  golden *g = golden_case;
  const golden_head *h = &g->head;
  if (!strncmp(text, "x ", 2)) g->x[g->n_x++] = golden_value(text + 2, h, line);
  if (!strncmp(text, "y ", 2)) g->y[g->n_y++] = golden_value(text + 2, h, line);
  if (!strncmp(text, "w ", 2)) g->w[g->n_y - 1] = golden_value(text + 2, h, line), g->n_w++;
  if (strncmp(text, "dx ", 3)) return;
  g->wanted[g->n_dx] = text[3] != '-';
  if (text[3] != '-' && strncmp(text + 3, "none", 4))
    g->dx[g->n_dx] = golden_value(text + 3, h, line);
  g->n_dx++;
}

// ---- Replaying ----------------------------------------------------------------------------------

static struct tolerance tolerance_of(const gr_op *op) {
  for (size_t i = 1; i < sizeof tolerances / sizeof *tolerances; i++)
    if (!strcmp(tolerances[i].op, op->name)) return tolerances[i];
  return tolerances[0];
}

static void compare(const golden *g, const value *got, const value *want, double most,
                    const char *what, int k, bool fast) {
  int64_t worst_at;
  double far = worst(got, want, &worst_at);
  CHECK(far <= most, "%s:%d: %s (%s): %s %d, number %lld is %.9g, not %.9g", file, g->head.line,
        g->head.op->name, fast ? "fast" : "plain", what, k, (long long)worst_at,
        value_get(got, worst_at), value_get(want, worst_at));
}

static void run(const gr_graph *g, value *v, bool fast) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; gr_ops[k] && k < OPS; k++) seen[k] |= gr_ops[k] == g->nodes[i].op;
  MUST((fast ? graph_run_fast : graph_run)(g, v));
}

static gr_val leaf(gr_builder *b, const value *v, value *into) {
  gr_val state = gr_leaf(b, GR_STATE, GR_KIND_WEIGHT, "x", v->type, gr_layout_replicated);
  if (!b->err) into[state.id] = value_copy(v);
  return state;
}

static gr_val emit(gr_builder *b, const golden *g, value *into) {
  gr_val x[MANY];
  for (int k = 0; k < g->n_x; k++) x[k] = leaf(b, &g->x[k], into);
  return gr_emit(b, g->head.op, g->head.attr, g->n_x, x);
}

// The graph of results and gradients, as the autodiff pass makes it. Sets grads by operand.
static void write_backward(const golden *g, gr_arena *arena, gr_builder *b, value *into, gr_val *y,
                           gr_val *grads) {
  value unused[1 + MANY] = {0};
  gr_builder f = {.g = gr_graph_create(arena, NULL), .created_by = "test"};
  gr_val first = emit(&f, g, unused), flow[1 + 2 * MANY] = {0}, here[1 + 2 * MANY] = {0};
  MUST(f.err);
  values_free(unused, 1 + MANY);
  bool want[1 + 2 * MANY] = {0};
  for (int k = 0; k < g->n_x; k++) {
    here[k + 1] = leaf(b, &g->x[k], into);
    want[k + 1] = g->wanted[k];
  }
  for (int k = 0; k < g->n_y; k++)
    if (g->w[k].data) flow[first.id + (uint32_t)k] = leaf(b, &g->w[k], into);
  gr_mark_differentiable(f.g, want);
  gr_emit_with_residuals(b, f.g, &f.g->nodes[0], here, want);
  MUST(b->err);
  MUST(gr_backward(b, &gr_op_add, f.g, here, want, flow));
  for (int k = 0; k < g->n_y; k++) y[k] = here[first.id + (uint32_t)k];
  memcpy(grads, flow + 1, sizeof *grads * (size_t)g->n_x);
}

static void check_gradient(const golden *g, const value *v, gr_val gradient, int k, bool fast) {
  value zero = value_make(g->x[k].type);
  memset(zero.data, 0, gr_type_bytes(&zero.type));
  compare(g, gr_is(gradient) ? &v[gradient.id] : &zero, g->dx[k].data ? &g->dx[k] : &zero,
          tolerance_of(g->head.op).gradient, "gradient of operand", k, fast);
  value_free(&zero);
}

static void replay(const golden *g, bool fast) {
  enum { VALUES = 256 };
  value v[VALUES] = {0};
  gr_arena *arena = gr_arena_create();
  gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "test"};
  gr_val y[MANY], grads[MANY] = {0};
  if (g->n_dx) {
    write_backward(g, arena, &b, v, y, grads);
  } else {
    gr_val first = emit(&b, g, v);
    for (int k = 0; k < g->n_y; k++) y[k] = (gr_val){first.id + (uint32_t)k};
  }
  MUST(b.err);
  CHECK(b.g->n_values <= VALUES, "%u values", b.g->n_values);
  run(b.g, v, fast);
  for (int k = 0; k < g->n_y; k++) {
    CHECK(gr_type_same(&v[y[k].id].type, &g->y[k].type), "%s:%d: %s: the type of result %d", file,
          g->head.line, g->head.op->name, k);
    compare(g, &v[y[k].id], &g->y[k], tolerance_of(g->head.op).result, "result", k, fast);
  }
  for (int k = 0; k < g->n_dx; k++)
    if (g->wanted[k]) check_gradient(g, v, grads[k], k, fast);
  values_free(v, VALUES);
  gr_arena_destroy(arena);
}

// ---- Tests --------------------------------------------------------------------------------------

// By reference kernels and by fast ones.
static void finish(void *golden_case) {
  golden *g = golden_case;
  for (int fast = 0; fast < 2 && (!only || !strcmp(only, g->head.op->name)); fast++)
    replay(g, fast), replayed++;
  values_free(g->x, MANY), values_free(g->y, MANY);
  values_free(g->w, MANY), values_free(g->dx, MANY);
}

static void torch_agrees(void) {
  golden g = {0};
  golden_read(file, &g, sizeof g, read_line, finish);
  CHECK(replayed, "%s has no cases", file);
}

static void covers_every_op(void) {
  if (only) SKIP("one op alone");
  for (int k = 0; gr_ops[k]; k++) {
    bool known = seen[k];
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
      known |= !strcmp(elsewhere[i][0], gr_ops[k]->name);
    CHECK(known, "op '%s' has no case in %s", gr_ops[k]->name, file);
  }
}

int main(int argc, char **argv) {
  if (argc < 2) return fprintf(stderr, "usage: test_golden FILE [OP]\n"), 2;
  file = argv[1], only = argc > 2 ? argv[2] : NULL;
  return RUN(1, argv, {"torch_agrees", torch_agrees}, {"covers_every_op", covers_every_op});
}
