// test_corners.c - what generic tests of ops cannot know: ties, NaN and infinities, indices out
// of range, how many ways there are to split, and what gradients look like when split.
#include <math.h>
#include <string.h>
#include "ops/loop/scan.h"
#include "tests/check.h"
#include "tests/ops/bench.h"

// One element through a pointwise op, by the reference and by the fast kernel.
static void element(const char *name, const void *attr, int n, const double *x, double want) {
  const gr_op *op = gr_op_find(name);
  use u = {.call = {.op = op, .attr = attr, .n_in = n}};
  for (int k = 0; k < n; k++) {
    u.call.in[k] = (gr_type){GR_F32, 1, {33}};  // more than a vector, and a rest
    u.in[k] = value_make(u.call.in[k]);
    for (int i = 0; i < 33; i++) value_put(&u.in[k], i, x[k]);
  }
  MUST(gr_op_infer(&u.call));
  gr_kernel fast = gr_op_fast(&u.call), kernels[] = {op->cpu, fast ? fast : op->cpu};
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
      {"silu_grad", 2, {-800, 1}, 0}, {"silu_grad", 2, {100, 1}, 1},
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
  element("clamp_grad", bounds, 2, (double[3]){1, 7}, 0);
  element("clamp_grad", bounds, 2, (double[3]){-1, 7}, 0);
  element("clamp_grad", bounds, 2, (double[3]){0.9, 7}, 7);
  element("ceil_div", &by, 1, (double[3]){8}, 2);
  element("ceil_div", &by, 1, (double[3]){9}, 3);
  element("ceil_div", &by, 1, (double[3]){-9}, -2);
}

// Ids beyond the table are refused by number, not read.
static void ids(void) {
  static const char *const ops[][2] = {{"embedding", "f32[5,2]"},   {"embedding_grad", "f32[3,2]"},
                                       {"gather", "f32[5]"},        {"scatter_add", "f32[3]"},
                                       {"gather_rows", "f32[5,2]"}, {"add_rows", "f32[3,2]"}};
  for (int64_t i = 0, rows = 5; i < 12; i++) {
    const gr_op *op = gr_op_find(ops[i / 2][0]);
    use u;
    MUST(
        use_of_case(&u, op, &(gr_case){{ops[i / 2][1], "i32[3]"}, .attr = &rows, .fill = "nz"}, 1));
    value_put(&u.in[1], 1, i % 2 ? 5 : -1);
    gr_kernel fast = gr_op_fast(&u.call);
    gr_status s = use_run(&u, fast ? fast : op->cpu, NULL);
    CHECK(s && strstr(gr_status_text(s), "(number 1) is not "), "%s: no error", op->name);
    gr_status_drop(s), use_free(&u);
  }
}

// Symbols beyond the model's classes, and its blank, are refused.
static void symbols(void) {
  static const double bad[] = {20, 19, -1};  // of 20 classes the blank is 19
  for (int i = 0; i < 3; i++)
    for (int fast = 0; fast < 2; fast++) {
      const gr_op *op = gr_op_find("ctc_loss");
      use u;
      MUST(use_of_case(&u, op, op->cases, 1));
      for (int64_t k = 0; k < 6; k++) value_put(&u.in[3], k, 4);
      value_put(&u.in[1], 2, bad[i]);
      gr_status s = use_run(&u, fast ? gr_op_fast(&u.call) : op->cpu, NULL);
      CHECK(s && strstr(gr_status_text(s), "not one of the model's 20 classes"), "%g: %s", bad[i],
            s ? gr_status_text(s) : "no error");
      gr_status_drop(s);
      use_free(&u);
    }
}

// A sample that weighs nothing hands on nothing, also where its own gradient is not a number.
static void weighs_nothing(void) {
  const gr_op *op = gr_op_find("ctc_loss_grad");
  for (int fast = 0; fast < 2; fast++) {
    use u;
    gr_case c = {{"f32[2,3,4]", "f32[2]"}};
    MUST(use_of_case(&u, op, &c, 1));
    for (int64_t i = 0; i < 12; i++) value_put(&u.in[0], i, i % 2 ? INFINITY : NAN);
    value_put(&u.in[1], 0, 0);
    MUST(use_run(&u, fast ? gr_op_fast(&u.call) : op->cpu, NULL));
    for (int64_t i = 0; i < 12; i++)
      CHECK(value_get(&u.out[0], i) == 0, "element %d is %g", (int)i, value_get(&u.out[0], i));
    use_free(&u);
  }
}

// The guard shortens what is longer than `clip` alone, and takes no step that is not finite.
static void guards(void) {
  static const double clip = 0.5;
  static const struct {
    double in[3], want[3];                  // sum of squares, loss, weights; scale, ok, length
  } rows[] = {{{16, 1, 2}, {0.125, 1, 2}},  // 0.5 / 2 of 1 / 2
              {{0.04, 1, 2}, {0.5, 1, 0.1}},
              {{0, 1, 2}, {0.5, 1, 0}},
              {{16, INFINITY, 2}, {0, 0, 16}},
              {{16, NAN, 2}, {0, 0, 16}},
              {{INFINITY, 1, 2}, {0, 0, INFINITY}},
              {{16, 1, 0}, {0, 0, 16}},
              {{16, 1, NAN}, {0, 0, 16}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const gr_op *op = gr_op_find("finite_check");
    use u;
    gr_case c = {{"f32[]", "f32[]", "f32[]"}, .attr = &clip};
    MUST(use_of_case(&u, op, &c, 1));
    for (int k = 0; k < 3; k++) value_put(&u.in[k], 0, rows[i].in[k]);
    MUST(use_run(&u, op->cpu, NULL));
    for (int k = 0; k < 3; k++) {
      double got = value_get(&u.out[k], 0), want = rows[i].want[k];
      CHECK(got == want || fabs(got - want) < 1e-5, "row %zu, result %d: %g for %g", i, k, got,
            want);
    }
    use_free(&u);
  }
}

// Maxima see NaN wherever it is.
// Of equal elements the first is taken, by every kernel, in f32 and in the narrow dtypes.
static void ties_of(const char *name, const void *attr, int64_t k, gr_dtype dtype) {
  static const double x[3][9] = {{1, 7, 7, 0, 7, 1, 0, 7, 7},
                                 {2, 2, 2, 2, 2, 2, 2, 2, 2},
                                 {-3, -INFINITY, -3, -1, -2, -1, -2, -3, -1}};
  static const int want[3][5] = {{1, 2, 4, 7, 8}, {0, 1, 2, 3, 4}, {3, 5, 8, 4, 6}};
  const gr_op *op = gr_op_find(name);
  gr_case c = {{"f32[3,9]"}, .attr = attr};
  use u;
  MUST(use_of_case_as(&u, op, &c, dtype, 1));
  for (int64_t i = 0; i < 27; i++) value_put(&u.in[0], i, x[i / 9][i % 9]);
  gr_kernel kernels[] = {op->cpu, gr_op_fast(&u.call)};
  for (int which = 0; which < 2; which++) {
    if (!kernels[which]) continue;
    MUST(use_run(&u, kernels[which], NULL));
    for (int64_t i = 0; i < 3 * k; i++) {
      int expected = want[i / k][i % k], got = (int)value_get(&u.out[u.call.n_out - 1], i);
      CHECK(got == expected, "%s of %s, kernel %d: number %d is at %d, not %d", name,
            gr_dtypes[dtype].name, which, (int)i, got, expected);
      CHECK(u.call.n_out == 1 || value_get(&u.out[0], i) == x[i / k][expected], "%s: value %d",
            name, (int)i);
    }
  }
  use_free(&u);
}

static void ties(void) {
  static const gr_dtype dtypes[] = {GR_F32, GR_BF16, GR_F16};
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
    ties_of("argmax", NULL, 1, dtypes[d]);
    for (int64_t k = 1; k <= 5; k++) ties_of("top_k", &k, k, dtypes[d]);
  }
}

static void maxima(void) {
  struct {
    gr_ints axes;
    int64_t keep;
  } rows = {{1, {1}}, 0};
  for (int place = 0; place < 40; place += 13) {
    use u;
    gr_case c = {{"f32[2,40]"}, .attr = &rows};
    MUST(use_of_case(&u, gr_op_find("reduce_max"), &c, 1));
    value_put(&u.in[0], place, NAN);
    MUST(use_run(&u, gr_op_fast(&u.call), NULL));
    CHECK(isnan(value_get(&u.out[0], 0)), "NaN at %d is lost", place);
    CHECK(!isnan(value_get(&u.out[0], 1)), "NaN at %d reaches the next row", place);
    use_free(&u);
  }
}

// None is larger than a NaN that is first; one further on is larger than none.
static void largest_beside_nan(void) {
  for (int place = 0; place < 40; place += 13)
    for (int fast = 0; fast < 2; fast++) {
      use u;
      MUST(use_of_case(&u, gr_op_find("argmax"), &(gr_case){{"f32[2,40]"}}, 1));
      for (int i = 0; i < 80; i++) value_put(&u.in[0], i, i % 40 == 30 ? 9 : 1);
      value_put(&u.in[0], place, NAN);
      MUST(use_run(&u, fast ? gr_op_fast(&u.call) : u.call.op->cpu, NULL));
      double first = value_get(&u.out[0], 0), next = value_get(&u.out[0], 1), want = place ? 30 : 0;
      CHECK(first == want && next == 30, "NaN at %d: %g, %g", place, first, next);
      use_free(&u);
    }
}

static void no_class(void) {  // of one_hot
  static const double ids[] = {-1, 3, 2, 1000, -1000, 0};
  for (int fast = 0; fast < 2; fast++) {
    use u;
    gr_case three = {{"i32[6]"}, .attr = (int64_t[2]){3, GR_F32}};
    MUST(use_of_case(&u, gr_op_find("one_hot"), &three, 1));
    for (int i = 0; i < 6; i++) value_put(&u.in[0], i, ids[i]);
    MUST(use_run(&u, fast ? gr_op_fast(&u.call) : u.call.op->cpu, NULL));
    for (int i = 0; i < 18; i++)
      CHECK(value_get(&u.out[0], i) == (ids[i / 3] == i % 3), "number %d is wrong", i);
    use_free(&u);
  }
}

// How many lines of shardings the first case has: fewer would be right, but slower.
static void lines(void) {
  static const struct {
    const char *op;
    int n;
  } rows[] = {
      {"add", 4},
      {"mul", 3},
      {"sum", 4},
      {"mean", 3},
      {"bias_add", 4},
      {"bias_add_grad", 4},
      {"broadcast", 4},
      {"reshape", 4},
      {"transpose", 4},
      {"concat", 3},
      {"slice", 3},
      {"embedding", 3},
      {"mask", 2},
      {"matmul", 4},
      {"reduce_max", 2},
      {"sum_squares", 3},
      {"fill", 1},
      {"cast", 4},
      {"embedding_grad", 3},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const gr_op *op = gr_op_find(rows[i].op);
    use u;
    gr_sharding_rule rules[GR_MAX_SHARDING_RULES];
    int n;
    MUST(use_of_case(&u, op, op->cases, 1));
    MUST(gr_op_sharding_rules(&u.call, rules, &n));
    CHECK(n == rows[i].n, "%s has %d lines, not %d", rows[i].op, n, rows[i].n);
    use_free(&u);
  }
}

// The gradient of a reshape that can be split along an axis can be split along the same, which
// comes first; after it come those that its attribute holds the sizes of.
static void reshape_back(void) {
  gr_arena *arena = gr_arena_create();
  gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "test"};
  gr_type t;
  MUST(gr_type_parse("f32[5,12,4]", &t));
  gr_val x = gr_leaf(&b, GR_STATE, GR_KIND_WEIGHT, "x", t, gr_layout_replicated), dx = GR_NONE;
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
  gr_op_call s;
  gr_op_call_of(b.g, &b.g->nodes[gr_at(b.g, dx)->node], &s);
  gr_sharding_rule rules[GR_MAX_SHARDING_RULES];
  int n;
  MUST(gr_op_sharding_rules(&s, rules, &n));
  CHECK(n == 5 && rules[1].in[0] == 1 && rules[1].out[0] == 1, "%d lines, %d to %d", n,
        rules[1].in[0], rules[1].out[0]);
  gr_arena_destroy(arena);
}

// What is done for a result, counted by hand: x2 where products are added up.
static void flops(void) {
  static const struct {
    const char *op, *attrs, *in[4];
    int64_t flops;
  } rows[] = {
      {"matmul", "tb=true", {"f32[5,3]", "f32[7,3]"}, 2 * 5 * 7 * 3},
      {"matmul", "ta=true", {"f32[2,5,3]", "f32[2,5,7]"}, 2 * 2 * 3 * 7 * 5},
      {"matmul_packed", "columns=7", {"f32[5,3]", "f32[96,3]"}, 2 * 5 * 7 * 3},
      {"pack", "", {"f32[5,7]"}, 0},
      {"add", "", {"f32[4,6]", "f32[4,6]"}, 24},
      {"embedding", "", {"f32[100,8]", "i32[5]"}, 0},
      // 10 frames, 3 taps, every second: 4 frames of 6 numbers, each of 2 x 3 products
      {"conv1d", "stride=2", {"f32[5,10,2]", "f32[6,2,3]"}, 2 * 5 * 4 * 6 * 2 * 3},
      {"conv2d", "stride=[2,1]", {"f32[5,7,3,4]", "f32[6,4,3,2]"}, 2 * 5 * 3 * 2 * 6 * 4 * 3 * 2},
      {"conv2d", "groups=2", {"f32[5,4,3,4]", "f32[6,2,3,2]"}, 2 * 5 * 2 * 2 * 6 * 2 * 3 * 2},
      {"ctc_loss", "", {"f32[2,9,20]", "i32[2,4]", "i32[2]", "i32[2]"}, 2 * 9 * (20 + 6 * 9)},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const gr_op *op = gr_op_find(rows[i].op);
    int64_t attr[32] = {0};
    gr_attr_defaults(op, attr);
    const char *equals = strchr(rows[i].attrs, '=');
    for (const gr_attr *a = op->attrs; equals && a->name; a++)
      if (!strncmp(a->name, rows[i].attrs, (size_t)(equals - rows[i].attrs)))
        MUST(gr_attr_parse(op, a, equals + 1, GR_NOWHERE, attr));
    gr_op_call s = {.op = op, .attr = attr};
    for (; s.n_in < 4 && rows[i].in[s.n_in]; s.n_in++)
      MUST(gr_type_parse(rows[i].in[s.n_in], &s.in[s.n_in]));
    MUST(gr_op_infer(&s));
    CHECK(gr_op_flops(&s) == rows[i].flops, "%s: %lld, not %lld", rows[i].op,
          (long long)gr_op_flops(&s), (long long)rows[i].flops);
  }
}

// A loop's are its body's, in each step.
static void flops_of_loops(void) {
  gr_arena *arena = gr_arena_create();
  gr_mesh none = {0};
  gr_type row = {GR_F32, 2, {4, 6}}, all = {GR_F32, 3, {9, 4, 6}};
  gr_builder body = {.g = gr_graph_create(arena, &none), .created_by = "test"};
  gr_val x = gr_leaf(&body, GR_INPUT, 0, "x", row, gr_layout_replicated);
  gr_result(&body, "", gr_add(&body, gr_square(&body, x), x));
  gr_builder b = {.g = gr_graph_create(arena, &none), .created_by = "test"};
  gr_val xs = gr_leaf(&b, GR_INPUT, 0, "x", all, gr_layout_replicated);
  gr_result(&b, "y",
            GR_EMIT(&b, &gr_op_scan, (&(gr_scan){.body = body.g, .steps = 9, .n_seq = 1}), xs));
  MUST(b.err);
  CHECK(gr_graph_flops(b.g) == 9 * 2 * 24, "%lld", (long long)gr_graph_flops(b.g));
  gr_arena_destroy(arena);
}

// ---- Attributes ---------------------------------------------------------------------------------

static size_t size_of(gr_attr_kind kind) {
  if (kind == GR_ATTR_INTS) return sizeof(gr_ints);
  return kind == GR_ATTR_LIST ? sizeof(gr_list) : sizeof(int64_t);
}

static bool begins_at(const gr_op *op, size_t offset, size_t *end) {
  for (const gr_attr *a = op->attrs; a && a->name; a++)
    if (a->offset == offset) return *end = offset + size_of(a->kind), true;
  return false;
}

// Attributes are compared and hashed as bytes: nothing may lie between two fields, and none may be
// missing in the table.
static void attributes_have_no_padding(void) {
  for (const gr_op *const *o = gr_ops; *o; o++) {
    size_t end = 0;
    while (begins_at(*o, end, &end)) continue;
    CHECK(end == (*o)->attr_size, "%s: attributes of %zu bytes; no field begins at %zu", (*o)->name,
          (*o)->attr_size, end);
  }
}

// What the stack held before: types read there have ranks far out of range.
static __attribute__((noinline)) void dirty_stack(void) {
  volatile unsigned char bytes[64 << 10];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = 0x7f;
}

// An op without operands is an error or a value, and reads no operand.
static void no_operands(void) {
  gr_mesh none = {.n_axes = 0};
  gr_arena *arena = gr_arena_create();
  for (const gr_op *const *o = gr_ops; *o; o++) {
    if (gr_op_has_body(*o)) continue;  // its attributes hold a graph
    gr_builder b = {.g = gr_graph_create(arena, &none), .created_by = "test"};
    void *attr = gr_arena_alloc(arena, (*o)->attr_size + 1);
    dirty_stack();
    gr_val v = gr_emit(&b, *o, attr, 0, NULL);
    CHECK(b.err || gr_is(v) || !(*o)->cpu, "%s is neither", (*o)->name);
    gr_status_drop(b.err);
  }
  gr_arena_destroy(arena);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"attributes_have_no_padding", attributes_have_no_padding},
             {"numbers", numbers}, {"ids", ids}, {"symbols", symbols},
             {"weighs_nothing", weighs_nothing}, {"guards", guards}, {"ties", ties},
             {"maxima", maxima}, {"largest_beside_nan", largest_beside_nan}, {"no_class", no_class},
             {"lines", lines}, {"reshape_back", reshape_back}, {"flops", flops},
             {"flops_of_loops", flops_of_loops}, {"no_operands", no_operands});
}
