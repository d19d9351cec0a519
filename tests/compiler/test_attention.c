// test_attention.c - self-attention as one op against the same by matmuls, softmax and dropout: the
// losses of training, with lengths, causality and the same weights dropped; and what a plan says.
#include <math.h>
#include "base/base.h"
#include "compiler/compile.h"
#include "ops/kernels/operands.h"
#include "runtime/exec/exec.h"
#include "tests/check.h"
#include "tests/on_host.h"

enum { SAMPLES = 3, FRAMES = 300, WIDTH = 8, STEPS = 20 };  // more rows and keys than a tile has

static const char model[] =
    "params: {fused: true, causal: false, dropout: 0.0}\n"
    "inputs: {x: {shape: [n, t, c]}, lengths: {shape: [n], dtype: i32}}\n"
    "nodes:\n"
    "  - y: {self_attention: [x, lengths], heads: 2, causal: causal, dropout: dropout, "
    "fused_attention: fused, name: attention}\n"
    "  - loss: {mse: [y, x]}\n"
    "train: loss\n";

static gr_plan *plan_of(gr_arena *a, const char *params) {
  gr_conf *graph, *given;
  MUST(gr_conf_parse(a, "model.yaml", model, &graph));
  MUST(gr_conf_parse(a, "<params>", params, &given));
  static const gr_dim dims[] = {{"n", SAMPLES}, {"t", FRAMES}, {"c", WIDTH}};
  static const gr_bucket bucket = {.name = ""};
  gr_plan_request r = {.model = {.graph = graph,
                                 .params = given,
                                 .dims = dims,
                                 .n_dims = 3,
                                 .seed = 1,
                                 .mesh = {.n_axes = 1, .axis = {{"dp", 1}}},
                                 .batch_axis = {"dp"}},
                       .options = {.optimizer.name = "adam"},
                       .buckets = &bucket,
                       .n_buckets = 1,
                       .train = true,
                       .eval = true};
  gr_plan *p;
  MUST(gr_plan_build(a, &r, &p));
  return p;
}

static void fill(gr_exec *e, const gr_program *p, int step) {
  static const int32_t lengths[SAMPLES] = {FRAMES, 0, 269};  // all keys, none, and part of a tile
  gr_type t;
  gr_rng r = gr_rng_make(1, "test", (uint64_t)step);
  float *x = input_on_host(e, p, "x", &t), *weight = input_on_host(e, p, "weight", &t);
  int32_t *length = input_on_host(e, p, "lengths", &t);
  for (uint64_t i = 0; i < SAMPLES * FRAMES * WIDTH; i++) x[i] = (float)gr_rng_normal(&r, i);
  for (int i = 0; i < SAMPLES; i++) length[i] = lengths[i], weight[i] = 1;
  *(float *)input_on_host(e, p, "lr", &t) = 1e-2F;
}

static void train(const gr_plan *p, double losses[STEPS]) {
  gr_exec *e;
  gr_type t;
  MUST(gr_exec_open(p, &(gr_exec_options){.threads = 2}, &e));
  MUST(gr_exec_run(e, gr_plan_find(p, "init", "")));
  const gr_program *step = gr_plan_find(p, "train", "");
  for (int i = 0; i < STEPS; i++) {
    fill(e, step, i);
    MUST(gr_exec_run(e, step));
    losses[i] = (double)*(const float *)result_on_host(e, step, "metric.loss.sum", &t);
  }
  gr_exec_close(e);
}

static bool has_op(const gr_program *p, const gr_op *op) {
  bool any = false;
  for (uint32_t i = 0; i < p->frame.g->n_nodes; i++) any |= p->frame.g->nodes[i].op == op;
  return any;
}

static void same_states(const gr_plan *a, const gr_plan *b) {
  CHECK(a->n_states == b->n_states, "%d and %d states", (int)a->n_states, (int)b->n_states);
  for (uint32_t i = 0; i < a->n_states && i < b->n_states; i++)
    CHECK(!strcmp(a->states[i].name, b->states[i].name) &&
              gr_type_same(&a->states[i].type, &b->states[i].type),
          "state %d is %s and %s", (int)i, a->states[i].name, b->states[i].name);
}

static void both_ways(const char *options) {
  char params[128];
  gr_plan *p[2];
  double losses[2][STEPS];
  gr_arena *a = gr_arena_create();
  for (int fused = 0; fused < 2; fused++) {
    snprintf(params, sizeof params, "{fused: %s, %s}", fused ? "true" : "false", options);
    p[fused] = plan_of(a, params);
    const gr_program *step = gr_plan_find(p[fused], "train", "");
    CHECK(has_op(step, &gr_op_attention_grad) == fused, "%s", params);
    train(p[fused], losses[fused]);
  }
  same_states(p[0], p[1]);
  CHECK(p[1]->arena_bytes * 2 < p[0]->arena_bytes, "%zu and %zu bytes", p[1]->arena_bytes,
        p[0]->arena_bytes);
  for (int i = 0; i < STEPS; i++)
    CHECK(fabs(losses[1][i] / losses[0][i] - 1) < 1e-5, "%s: the loss of step %d is %.9g, not %.9g",
          options, i, losses[1][i], losses[0][i]);
  CHECK(losses[0][STEPS - 1] < losses[0][0], "it learns");
  gr_arena_destroy(a);
}

static void plain(void) { both_ways("causal: false"); }
static void dropped(void) { both_ways("causal: false, dropout: 0.3"); }
static void causal(void) { both_ways("causal: true, dropout: 0.1"); }

// In evaluation nothing is dropped, and no sums are kept.
static void evaluation(void) {
  gr_arena *a = gr_arena_create();
  gr_plan *p = plan_of(a, "{dropout: 0.3}");
  const gr_program *eval = gr_plan_find(p, "eval", "");
  CHECK(eval && has_op(eval, &gr_op_attention), "attention");
  for (uint32_t i = 0; eval && i < eval->frame.g->n_nodes; i++) {
    const gr_node *n = &eval->frame.g->nodes[i];
    if (n->op == &gr_op_attention) CHECK(n->n_in == 4, "%d operands", n->n_in);
  }
  gr_arena_destroy(a);
}

// Products count twice: two of every row and key that it may see forward, five backward.
static void flops(void) {
  double attr[8] = {0};
  gr_op_call s = {.op = &gr_op_attention_with_residuals, .attr = attr, .n_in = 3};
  MUST(gr_type_parse("f32[2,7,3,4]", &s.in[0]));
  MUST(gr_type_parse("f32[2,5,3,4]", &s.in[1]));
  MUST(gr_type_parse("f32[2,5,3,6]", &s.in[2]));
  MUST(gr_op_infer(&s));
  CHECK(gr_op_flops(&s) == 2 * 2 * 3 * 7 * 5 * (4 + 6), "%lld", (long long)gr_op_flops(&s));
  ((int64_t *)(void *)attr)[1] = 1;  // causal: rows see 1, 2, 3, 4, 5, 5 and 5 keys
  CHECK(gr_op_flops(&s) == 2 * 2 * 3 * 25 * (4 + 6), "%lld", (long long)gr_op_flops(&s));
  s.op = &gr_op_attention_grad;
  CHECK(gr_op_flops(&s) == 2 * 2 * 3 * 25 * (3 * 4 + 2 * 6), "%lld", (long long)gr_op_flops(&s));
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"plain", plain}, {"dropped", dropped}, {"causal", causal},
             {"evaluation", evaluation}, {"flops", flops});
}
