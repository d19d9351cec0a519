// test_corners.c - what generic tests of ops cannot know: ties, NaN and infinities, indices out
// of range, how many ways there are to split, and what gradients look like when split.
#include <math.h>
#include "tests/check.h"
#include "tests/ops/bench.h"

// One element through a pointwise op, by the reference and by the fast kernel.
static void element(const char *name, const void *attr, int n, const double *x, double want) {
  const gr_op *op = gr_op_find(name);
  use u = {.site = {.op = op, .attr = attr, .n_in = n}};
  for (int k = 0; k < n; k++) {
    u.site.in[k] = (gr_type){GR_F32, 1, {33}};  // more than a vector, and a rest
    u.in[k] = value_make(u.site.in[k]);
    for (int i = 0; i < 33; i++) value_put(&u.in[k], i, x[k]);
  }
  MUST(gr_op_infer(&u.site));
  gr_kernel kernels[] = {op->cpu, op->fast ? op->fast(&u.site) : op->cpu};
  for (int which = 0; which < 2; which++) {
    MUST(use_run(&u, kernels[which], NULL));
    for (int i = 0; i < 33; i += 32) {
      double y = value_get(&u.out[0], i);
      CHECK(y == want || (isnan(y) && isnan(want)), "%s(%g, %g, %g) is %g, not %g (kernel %d)",
            name, x[0], x[1], x[2], y, want, which);
    }
  }
  use_free(&u);
}

static void numbers(void) {
  static const struct {
    const char *op;
    int n;
    double x[3], y;
  } rows[] = {
      {"relu", 1, {NAN}, NAN},        {"relu", 1, {-1e30}, 0},
      {"relu_grad", 2, {0, 5}, 0},    {"max", 2, {NAN, 1}, NAN},
      {"max", 2, {1, NAN}, NAN},      {"min", 2, {NAN, 1}, NAN},
      {"min", 2, {1, NAN}, NAN},      {"max_grad", 3, {2, 2, 3}, 1.5},
      {"max_grad", 3, {1, 2, 3}, 0},  {"abs_grad", 2, {0, 3}, 0},
      {"less", 2, {2, 2}, 0},         {"where", 3, {0, NAN, 4}, 4},
      {"where", 3, {-1, 4, NAN}, 4},  {"exp", 1, {200}, INFINITY},
      {"exp", 1, {-200}, 0},          {"exp", 1, {NAN}, NAN},
      {"tanh", 1, {-60}, -1},         {"sigmoid", 1, {-200}, 0},
      {"sigmoid", 1, {200}, 1},       {"silu", 1, {-1e4}, 0},
      {"silu_grad", 2, {-100, 1}, 0}, {"silu_grad", 2, {100, 1}, 1},
      {"gelu", 1, {50}, 50},          {"gelu", 1, {-50}, 0},
      {"gelu_grad", 2, {50, 1}, 1},   {"log", 1, {0}, -INFINITY},
      {"log", 1, {-1}, NAN},          {"sqrt", 1, {-1}, NAN},
      {"div", 2, {1, 0}, INFINITY},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    element(rows[i].op, NULL, rows[i].n, rows[i].x, rows[i].y);
  double bounds[] = {-1, 1}, by = 4;
  element("clamp", bounds, 1, (double[3]){NAN}, NAN);
  element("clamp", bounds, 1, (double[3]){-3}, -1);
  element("clamp_grad", bounds, 2, (double[3]){1, 7}, 7);
  element("ceil_div", &by, 1, (double[3]){8}, 2);
  element("ceil_div", &by, 1, (double[3]){9}, 3);
  element("ceil_div", &by, 1, (double[3]){-9}, -2);
}

// Ids beyond the table are refused by name, not read.
static void ids(void) {
  for (int bad = 0; bad < 2; bad++)
    for (int backward = 0; backward < 2; backward++) {
      const gr_op *op = gr_op_find(backward ? "embedding_grad" : "embedding");
      int64_t rows = 5;
      use u;
      gr_case c = {{backward ? "f32[3,2]" : "f32[5,2]", "i32[3]"}, .attr = &rows, .fill = "nz"};
      MUST(use_of_case(&u, op, &c, 1));
      value_put(&u.in[1], 1, bad ? 5 : -1);
      gr_status s = use_run(&u, op->fast ? op->fast(&u.site) : op->cpu, NULL);
      CHECK(s && strstr(gr_status_text(s), "(number 1) is not in a table of 5 rows"), "%s: %s",
            op->name, s ? gr_status_text(s) : "no error");
      if (s) gr_status_drop(s);
      use_free(&u);
    }
}

// Maxima see NaN wherever it is.
static void maxima(void) {
  struct {
    gr_ints axes;
    int64_t keep;
  } rows = {{1, {1}}, 0};
  for (int at = 0; at < 40; at += 13) {
    use u;
    gr_case c = {{"f32[2,40]"}, .attr = &rows};
    MUST(use_of_case(&u, gr_op_find("max_over"), &c, 1));
    value_put(&u.in[0], at, NAN);
    MUST(use_run(&u, u.site.op->fast(&u.site), NULL));
    CHECK(isnan(value_get(&u.out[0], 0)), "NaN at %d is lost", at);
    CHECK(!isnan(value_get(&u.out[0], 1)), "NaN at %d reaches the next row", at);
    use_free(&u);
  }
}

// How many lines of shardings the first case has: fewer would be right, but slower.
static void lines(void) {
  static const struct {
    const char *op;
    int n;
  } rows[] = {
      {"add", 4},         {"mul", 3},       {"sum", 4},     {"mean", 3},           {"bias", 4},
      {"bias_grad", 4},   {"spread", 3},    {"reshape", 4}, {"transpose", 4},      {"concat", 3},
      {"slice_axis", 3},  {"embedding", 3}, {"mask", 2},    {"matmul", 4},         {"max_over", 2},
      {"sum_squares", 3}, {"fill", 1},      {"cast", 4},    {"embedding_grad", 3},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const gr_op *op = gr_op_find(rows[i].op);
    use u;
    gr_sig sigs[GR_MAX_SIGS];
    int n;
    MUST(use_of_case(&u, op, op->cases, 1));
    MUST(gr_op_sigs(&u.site, sigs, &n));
    CHECK(n == rows[i].n, "%s has %d lines, not %d", rows[i].op, n, rows[i].n);
    use_free(&u);
  }
}

// The gradient of a reshape that can be split along an axis can be split along the same, which
// comes first; after it come those that its attribute holds the sizes of.
static void reshape_back(void) {
  gr_arena *arena = gr_arena_create();
  gr_builder b = {.g = gr_graph_create(arena, NULL), .by = "test"};
  gr_type t;
  MUST(gr_type_parse("f32[5,12,4]", &t));
  gr_val x = gr_leaf(&b, GR_STATE, GR_KIND_WEIGHT, "x", t, gr_layout_whole), dx = GR_NONE;
  gr_val y = gr_reshape(&b, x, (gr_ints){4, {5, -1, 2, 2}});
  bool want = true;
  gr_op_reshape.grad(&(gr_grad){.b = &b,
                                .attr = b.g->nodes[0].attr,
                                .n_in = 1,
                                .n_out = 1,
                                .x = &x,
                                .y = &y,
                                .dy = &y,
                                .want = &want,
                                .dx = &dx});
  gr_site s = gr_site_of(b.g, &b.g->nodes[gr_at(b.g, dx)->node]);
  gr_sig sigs[GR_MAX_SIGS];
  int n;
  MUST(gr_op_sigs(&s, sigs, &n));
  CHECK(n == 5 && sigs[1].in[0] == 1 && sigs[1].out[0] == 1, "%d lines, %d to %d", n, sigs[1].in[0],
        sigs[1].out[0]);
  gr_arena_destroy(arena);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"numbers", numbers}, {"ids", ids}, {"maxima", maxima}, {"lines", lines},
             {"reshape_back", reshape_back});
}
