// test_sources.c - drawn numbers: ranges, moments, and that each is a function of its index.
#include <math.h>
#include "tests/check.h"
#include "tests/ops/bench.h"

enum { MANY = 100000 };

// Runs a source op with attributes given as text, "low=-1 high=3 ...": on a rank that has one of
// three parts along a dimension (-1: all of it).
static value run(const char *name, int dim, int coord, const char *const *attrs) {
  static double attr[32];
  const gr_op *op = gr_op_find(name);
  gr_attr_defaults(op, attr);
  for (; *attrs; attrs += 2)
    for (const gr_attr *a = op->attrs; a->name; a++)
      if (!strcmp(a->name, attrs[0])) MUST(gr_attr_parse(op, a, attrs[1], GR_NOWHERE, attr));
  use u = {.call = {.op = op, .attr = attr}, .mesh = {1, {{"dp", 3}}}, .coord = coord};
  for (int k = 0; k < GR_MAX_ARGS; k++) u.layout[k] = gr_layout_replicated;
  MUST(gr_op_infer(&u.call));
  if (dim >= 0) u.layout[0].placement[0] = (gr_axis_placement)dim, u.call.out[0].dim[dim] /= 3;
  MUST(use_run(&u, op->cpu, NULL));
  return u.out[0];
}
#define RUN_OP(name, ...) run(name, -1, 0, (const char *const[]){__VA_ARGS__, NULL})
#define RUN_PART(name, dim, coord, ...) \
  run(name, dim, coord, (const char *const[]){__VA_ARGS__, NULL})

static void moments(const value *v, double *mean, double *std, double *least, double *most) {
  double sum = 0, squares = 0;
  *least = INFINITY, *most = -INFINITY;
  for (int64_t i = 0; i < value_count(v); i++) {
    double x = value_get(v, i);
    sum += x, squares += x * x;
    *least = fmin(*least, x), *most = fmax(*most, x);
  }
  *mean = sum / (double)value_count(v);
  *std = sqrt(squares / (double)value_count(v) - *mean * *mean);
}

static void check_moments(const char *what, value *v, double mean, double std, double low,
                          double high) {
  double is_mean, is_std, least, most;
  moments(v, &is_mean, &is_std, &least, &most);
  CHECK(fabs(is_mean - mean) < 5 * std / sqrt(MANY), "%s: mean %g, not %g", what, is_mean, mean);
  CHECK(fabs(is_std / std - 1) < 0.02, "%s: deviation %g, not %g", what, is_std, std);
  CHECK(least >= low && most <= high, "%s: from %g to %g", what, least, most);
  CHECK(least < low + 0.2 * std || isinf(low), "%s: never below %g", what, least);
  value_free(v);
}

static void distributions(void) {
  value v = RUN_OP("init_uniform", "shape", "[1000,100]", "low", "-1", "high", "3", "stream", "a");
  check_moments("uniform", &v, 1, 4 / sqrt(12), -1, 3);
  v = RUN_OP("init_normal", "shape", "[1000,100]", "mean", "2", "std", "0.5", "stream", "a");
  check_moments("normal", &v, 2, 0.5, -INFINITY, INFINITY);
  // Cut at 2: the variance is 1 - 2 * 2 phi(2) / (2 Phi(2) - 1).
  v = RUN_OP("init_trunc_normal", "shape", "[1000,100]", "mean", "-1", "std", "2", "stream", "a");
  check_moments("truncated normal", &v, -1, 2 * 0.8796256610342397, -5, 3);
}

static bool same(value a, value b) {
  int64_t worst_at;
  bool equal = value_count(&a) == value_count(&b) && !(worst(&a, &b, &worst_at) > 0);
  value_free(&a), value_free(&b);
  return equal;
}

static void streams(void) {
  CHECK(same(RUN_OP("init_normal", "shape", "[50]", "stream", "init:a"),
             RUN_OP("init_normal", "shape", "[50]", "stream", "init:a")),
        "the same stream gives the same numbers");
  CHECK(!same(RUN_OP("init_normal", "shape", "[50]", "stream", "init:a"),
              RUN_OP("init_normal", "shape", "[50]", "stream", "init:b")),
        "another stream gives others");
  CHECK(!same(RUN_OP("init_normal", "shape", "[50]", "stream", "init:a", "seed", "1"),
              RUN_OP("init_normal", "shape", "[50]", "stream", "init:a", "seed", "2")),
        "another seed gives others");
}

static void fills(void) {
  value v = RUN_OP("fill", "shape", "[3,2]", "value", "-2.5");
  for (int i = 0; i < 6; i++) CHECK(value_get(&v, i) == -2.5, "number %d", i);
  value_free(&v);
}

// A rank draws its part of the whole, along whichever dimension that is cut.
static void ranks(void) {
  static const char *const names[] = {"init_uniform", "init_normal", "init_trunc_normal"};
  for (int i = 0; i < 9; i++) {
    const char *name = names[i / 3], *shape = "[6,1026,3]";
    value whole = RUN_OP(name, "shape", shape, "stream", "a");
    for (int p = 0; p < 3; p++)
      CHECK(same(RUN_PART(name, i % 3, p, "shape", shape, "stream", "a"),
                 value_slice(&whole, i % 3, p, 3)),
            "%s: part %d along dimension %d", name, p, i % 3);
    value_free(&whole);
  }
}

// The place of a rank's numbers in the whole: two mesh axes on two dimensions, and on one.
static void global_index(void) {
  gr_mesh mesh = {2, {{"dp", 2}, {"tp", 3}}};
  int coord[] = {1, 2};
  gr_type t = {GR_F32, 2, {4, 5}};
  gr_layout apart = {{0, 1, GR_REPLICATE}}, nested = {{0, 0, GR_REPLICATE}};
  gr_launch l = {.out_type = &t, .out_layout = &apart, .mesh = &mesh, .coord = coord};
  CHECK(gr_global_index(&l, 0, 7) == (4 + 1) * 15 + 2 * 5 + 2, "rows by dp, columns by tp");
  l.out_layout = &nested;
  CHECK(gr_global_index(&l, 0, 7) == ((1 * 3 + 2) * 4 + 1) * 5 + 2, "rows by dp, then by tp");
  l.out_layout = NULL;
  CHECK(gr_global_index(&l, 0, 7) == 7, "whole");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"distributions", distributions}, {"streams", streams}, {"fills", fills},
             {"ranks", ranks}, {"global_index", global_index});
}
