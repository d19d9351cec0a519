// test_tails.c - formulas where their results are small, by relative errors: one that cancels loses
// all digits there, which bounds on absolute errors cannot see; and which kernels there are.
#include <math.h>
#include <string.h>
#include "runtime/device/threads.h"
#include "tests/check.h"
#include "tests/ops/bench.h"

// How far the fast kernel of a formula may be from the reference in double, relative to what that
// gives, where the result is a normal f32.
static double may_be_off(const char *op) {
  static const struct {
    const char *op;
    double by;
  } known[] = {
      {"gelu", INFINITY},       // as PyTorch's, 1 + erf(x) for negative x: exact to 6e-8 |x|
      {"gelu_grad", INFINITY},  // likewise
      {"silu_grad", 1e-4},      // its root at -1.278
      {"tanh_grad", 1e-3},      // 1 - y^2 at y near 1, from y, which is rounded as much
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(op, known[i].op)) return known[i].by;
  return 3e-6;
}

enum { TAIL = 400 };

// From 1e-7 to 80, of both signs.
static double tail_at(int i) {
  double x = 1e-7 * pow(8e8, (double)(i / 2) / (TAIL / 2 - 1));
  return i % 2 ? -x : x;
}

static void tail_of(const gr_op *op, const void *attr) {
  use u = {.call = {.op = op, .attr = attr, .n_in = gr_op_operands(op)}}, v;
  for (int k = 0; k < u.call.n_in; k++) {
    u.call.in[k] = (gr_type){GR_F32, 1, {TAIL}};
    u.in[k] = value_make(u.call.in[k]);
    for (int i = 0; i < TAIL; i++) value_put(&u.in[k], i, k ? 1.25 : tail_at(i));
  }
  MUST(gr_op_infer(&u.call));
  v = u;
  gr_kernel fast = gr_op_fast(&u.call);
  MUST(use_run(&u, op->cpu, NULL));
  MUST(use_run(&v, fast, NULL));
  for (int i = 0; i < TAIL; i++) {
    double want = value_get(&u.out[0], i), y = value_get(&v.out[0], i);
    bool same = y == want || (isnan(y) && isnan(want)) || fabs(want) < 1.2e-38;
    CHECK(same || fabs(y - want) <= may_be_off(op->name) * fabs(want), "%s(%g) is %g, not %g",
          op->name, tail_at(i), y, want);
  }
  value_free(&v.out[0]);
  use_free(&u);
}

// Every op that is a formula of f32, with the attributes that it has by default or, where it has
// none, 0.
static void tails(void) {
  int n = 0;
  for (const gr_op *const *o = gr_ops; *o; o++) {
    int64_t attr[32] = {0};
    gr_op_call call = {.op = *o, .attr = attr, .n_in = gr_op_operands(*o)};
    if (!(*o)->formula || !(*o)->tile || call.n_in < 1 || call.n_in > 3) continue;
    gr_attr_defaults(*o, attr);
    for (int k = 0; k < call.n_in; k++) call.in[k] = (gr_type){GR_F32, 1, {TAIL}};
    gr_status s = gr_op_infer(&call);
    bool takes = !s && gr_op_fast(&call);
    gr_status_drop(s);
    if (takes) tail_of(*o, attr), n++;
  }
  CHECK(n > 25, "only %d formulas", n);
}

// From where 1 + exp(x) rounds to 1 on, and the ends.
static void softplus(void) {
  static const float x[] = {-17, -30, -80, 30, -INFINITY, INFINITY};
  static const double want[] = {4.1399377e-08, 9.3576230e-14, 1.8048514e-35, 30, 0, INFINITY};
  const gr_op *op = gr_op_find("softplus");
  float y[6];
  op->tile((const float *[]){x}, y, 6, NULL);
  for (int i = 0; i < 6; i++)
    CHECK((double)y[i] == want[i] || fabs((double)y[i] - want[i]) <= 1e-6 * want[i],
          "softplus(%g) is %g, not %g", (double)x[i], (double)y[i], want[i]);
}

// A row that is sorted has the order of the reference: equal elements, both zeros among them, as
// they come, and NaN as the least.
static void sorted(void) {
  enum { N = 300 };
  static const double some[] = {3, -1, NAN, 0, -0.0, 2, -INFINITY, -1, INFINITY, 3, -2};
  for (int64_t k = 10; k <= N; k += 290) {
    gr_case c = {{"f32[2,300]"}, .attr = &k};
    use u, v;
    MUST(use_of_case(&u, gr_op_find("top_k"), &c, 1));
    for (int i = 0; i < 2 * N; i++) value_put(&u.in[0], i, some[(i * i + i / 7) % 11]);
    size_t room = u.call.op->scratch(&u.call);
    CHECK(room == (k == N ? 2 * 2 * N * sizeof(int64_t) : 0), "%zu bytes to sort two rows", room);
    v = u;
    MUST(use_run(&u, u.call.op->cpu, NULL));
    MUST(use_run(&v, gr_op_fast(&v.call), NULL));
    for (int i = 0; i < 2 * (int)k; i++)
      CHECK(value_get(&u.out[1], i) == value_get(&v.out[1], i), "%d of %d: %g, not %g", i, (int)k,
            value_get(&v.out[1], i), value_get(&u.out[1], i));
    value_free(&v.out[0]), value_free(&v.out[1]);
    use_free(&u);
  }
}

// Threads that sort rows at the same time, each in working memory of its own.
static void sorted_at_once(void) {
  enum { ROUNDS = 5 };
  const int64_t k = 2000;
  gr_case c = {{"f32[64,2000]"}, .attr = &k};
  gr_cpu *cpu;
  use u, v;
  MUST(gr_cpu_create(4, true, &cpu));
  MUST(use_of_case(&u, gr_op_find("top_k"), &c, 1));
  v = u;
  MUST(use_run(&u, gr_op_fast(&u.call), NULL));
  for (int i = 0; i < ROUNDS; i++) {
    MUST(use_run(&v, gr_op_fast(&v.call), cpu));
    for (int o = 0; o < 2; o++)
      CHECK(!memcmp(u.out[o].data, v.out[o].data, gr_type_bytes(&u.call.out[o])), "round %d", i);
  }
  value_free(&v.out[0]), value_free(&v.out[1]);
  use_free(&u);
  gr_cpu_destroy(cpu);
}

// Ops that have a faster kernel in f32 alone: in mixed precision they are given f32 (gr_op.amp), or
// are made for what is, as weights are. cast: to whole numbers.
static bool is_given_f32(const gr_op *op) {
  static const char *const made[] = {"accumulate",
                                     "accumulate_tree",
                                     "adafactor_norm",
                                     "adafactor_squares",
                                     "cast",
                                     "clip_values",
                                     "ctc_loss_grad",
                                     "ctc_loss_with_residuals",
                                     "ema",
                                     "layer_norm_grad",
                                     "mse_grad",
                                     "log_softmax_grad",
                                     "lamb_direction",
                                     "muon_momentum",
                                     "muon_unit",
                                     "nadam_product",
                                     "softmax_grad"};
  for (size_t i = 0; i < sizeof made / sizeof *made; i++)
    if (!strcmp(op->name, made[i])) return true;
  return op->amp == GR_AMP_WIDE || op->optimizer;
}

// A narrow operand does not leave an op with its reference kernel, which has one thread and takes
// up to hundreds of times as long.
static void fast_in_both(void) {
  int n = 0;
  for (const gr_op *const *o = gr_ops; *o; o++) {
    for (const gr_case *c = (*o)->cases; c && (c->in[0] || c->attr); c++) {
      use wide, narrow;
      if (c->fails || !c->in[0] || gr_op_has_body(*o)) continue;
      MUST(use_of_case(&wide, *o, c, 1));
      gr_status s = use_of_case_as(&narrow, *o, c, GR_BF16, 1);
      bool both = !s && gr_op_fast(&wide.call) && gr_is_narrow(narrow.call.in[0].dtype);
      gr_status_drop(s);
      CHECK(!both || is_given_f32(*o) || gr_op_fast(&narrow.call), "%s of bf16 is slow",
            (*o)->name);
      n += both;
      use_free(&wide), use_free(&narrow);
    }
  }
  CHECK(n > 100, "only %d cases", n);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"tails", tails}, {"softplus", softplus}, {"sorted", sorted},
             {"sorted_at_once", sorted_at_once}, {"fast_in_both", fast_in_both});
}
