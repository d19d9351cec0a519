// test_ops.c - every op, from its own cases: inference and error texts, the fast kernel against
// the reference, any number of threads, in place, each legal sharding against the whole,
// gradients against finite differences. There is no test to write for a new op; there are
// cases to give.   test_ops [TEST [OP]]
#include <math.h>
#include <pthread.h>
#include "ops/kernels/gemm.h"
#include "tests/check.h"
#include "tests/ops/bench.h"

static const char *only;  // one op, or NULL

// One line for a failing (op, case, check).
static void verdict(const use *u, int at_case, const char *what, double far, double most,
                    const char *detail) {
  check_checks++;
  if (far <= most) return;
  check_failed++;
  fprintf(stderr, "FAIL %s case %d: %s: off by %.3g (may be %.3g) %s\n", u->call.op->name, at_case,
          what, far, most, detail);
}

static bool judge(gr_status s, const gr_op *op, int at_case, const char *what) {
  check_checks++;
  if (!s) return true;
  check_failed++;
  fprintf(stderr, "FAIL %s case %d: %s: %s\n", op->name, at_case, what, gr_status_text(s));
  gr_status_drop(s);
  return false;
}

static bool compare_one(const use *got, const use *want, int k, int at_case, const char *what,
                        double most) {
  int64_t worst_at;
  char detail[64];
  double far = worst(&got->out[k], &want->out[k], &worst_at);
  snprintf(detail, sizeof detail, "in result %d, number %lld", k, (long long)worst_at);
  verdict(want, at_case, what, far, most, detail);
  return far <= most;
}

static bool compare(const use *got, const use *want, int at_case, const char *what, double most) {
  bool good = true;
  for (int k = 0; good && k < want->call.n_out; k++)
    good = compare_one(got, want, k, at_case, what, most);
  return good;
}

// Calls f for every good case that can run by itself: bodies and collectives have other tests.
static void each_case(void (*f)(use *, const gr_case *, int)) {
  int narrow = 0;
  for (const gr_op *const *o = gr_ops; *o; o++) {
    if ((only && strcmp(only, (*o)->name)) || (*o)->collective || gr_op_has_body(*o)) continue;
    int i = 0;
    for (const gr_case *c = (*o)->cases; c && (c->in[0] || c->attr); c++, i++) {
      use u;
      if (c->fails) continue;
      if (judge(use_of_case(&u, *o, c, (uint64_t)i), *o, i, "inference")) f(&u, c, i);
      use_free(&u);
    }
    narrow += use_narrow_cases(*o, f);
  }
  printf("  %d uses with bf16 and f16\n", narrow);
  CHECK(only || narrow > 200, "only %d cases ran with bf16 and f16", narrow);
}

// ---- Cases and errors -----------------------------------------------------------------------

static void cases(void) {
  for (const gr_op *const *o = gr_ops; *o; o++) {
    int good = 0, i = 0;
    for (const gr_case *c = (*o)->cases; c && (c->in[0] || c->attr); c++, i++) {
      use u;
      gr_status s = use_of_case(&u, *o, c, 1);
      const char *text = s ? gr_status_text(s) : "nothing";
      CHECK(!s == !c->fails, "%s case %d says '%s'", (*o)->name, i, text);
      if (s && c->fails)
        CHECK(strstr(text, c->fails), "%s case %d: '%s' in '%s'", (*o)->name, i, c->fails, text);
      if (s) gr_status_drop(s);
      use_free(&u);
      good += !c->fails;
    }
    // Loops and moves between ranks have tests of their own.
    bool elsewhere = (*o)->collective || gr_op_has_body(*o) || !strcmp((*o)->name, "shard_slice");
    CHECK(good || elsewhere, "%s has no case", (*o)->name);
    CHECK((*o)->doc && (*o)->doc[0], "%s has no doc", (*o)->name);
    CHECK((*o)->cpu || gr_op_has_body(*o), "%s has no reference kernel", (*o)->name);
    CHECK(gr_op_find((*o)->name) == *o, "%s is twice in the table", (*o)->name);
  }
}

// Ops that work element by element have a formula, which names each operand; but for changes of
// dtype, random bits, the move that picks a rank's part, and what must not be fused.
static void formulas(void) {
  static const char *const without[] = {"cast", "shard_slice", "optimization_barrier"};
  for (const gr_op *const *o = gr_ops; *o; o++) {
    bool pointwise = (*o)->index_spec && !(*o)->collective && !(*o)->random &&
                     !strcmp(strstr((*o)->index_spec, "->"), "->...");
    for (const char *p = (*o)->index_spec; pointwise && *p != '-';) pointwise = strchr(".,", *p++);
    for (size_t k = 0; k < sizeof without / sizeof *without; k++)
      pointwise &= strcmp(without[k], (*o)->name) != 0;
    if (pointwise) CHECK((*o)->formula || (*o)->formulas, "%s has no formula", (*o)->name);
    for (int k = 0; (*o)->formula && k < gr_op_operands(*o); k++) {
      char x[] = {'x', (char)('0' + k), 0};
      CHECK(strstr((*o)->formula, x), "the formula of %s has no %s", (*o)->name, x);
    }
  }
}

// ---- Kernels --------------------------------------------------------------------------------

// Sizes of axes that may be split are free: takes other ones, large ones in turn along every second
// axis.
static bool other_sizes(use *u, const gr_case *c, int round) {
  gr_sharding_rule rules[GR_MAX_SHARDING_RULES];
  int n = 0;
  gr_rng r = gr_rng_make(5, u->call.op->name, (uint64_t)round);
  gr_status s = gr_op_sharding_rules(&u->call, rules, &n);
  for (int i = 1; i < n && !s; i++) {
    int64_t size =
        1 + (int64_t)gr_rng_below(&r, (uint64_t)i, i % 2 == round % 2 && round < 3 ? 90 : 12);
    use_resize(u, &rules[i], size);
  }
  if (!s) s = gr_op_infer(&u->call);
  if (!judge(s, u->call.op, round, "inference with other sizes")) return false;
  values_free(u->in, GR_MAX_ARGS);
  use_fill(u, c->fill, (uint64_t)round);
  return true;
}

static use shadow(const use *u) {  // the same operands, results of its own
  use v = *u;
  memset(v.out, 0, sizeof v.out);
  return v;
}

static void fast_case(use *u, const gr_case *c, int i) {
  for (int round = 0; round < 4; round++) {
    if (round && !other_sizes(u, c, round)) return;
    gr_kernel fast = gr_op_fast(&u->call);
    if (round && !fast) continue;
    use v = shadow(u);
    if (judge(use_run(u, u->call.op->cpu, NULL), u->call.op, i, "reference") && fast &&
        judge(use_run(&v, fast, NULL), u->call.op, i, "fast kernel"))
      compare(&v, u, i, round ? "fast kernel, other sizes" : "fast kernel", use_near(u));
    values_free(v.out, GR_MAX_ARGS);
  }
}
static void fast_kernels(void) {
  MUST(gr_gemm_open());
  each_case(fast_case);
}

// A pool that runs pieces last to first, and so finds those that are not independent.
static void backwards(gr_cpu *cpu, int64_t n, int64_t grain, gr_part part, void *arg) {
  int64_t step = grain * cpu->threads;
  for (int64_t first = (n - 1) / step * step; first >= 0; first -= step)
    part(arg, first, first + step < n ? first + step : n);
}

// Real threads, each with every so many pieces: for the thread sanitizer.
typedef struct hand {
  pthread_t thread;
  int64_t first, step, grain, n;
  gr_part part;
  void *arg;
} hand;

static void *work(void *arg) {
  const hand *h = arg;
  for (int64_t begin = h->first; begin < h->n; begin += h->step)
    h->part(h->arg, begin, begin + h->grain < h->n ? begin + h->grain : h->n);
  return NULL;
}

static void at_once(gr_cpu *cpu, int64_t n, int64_t grain, gr_part part, void *arg) {
  hand hands[4];
  for (int k = 0; k < cpu->threads; k++) {
    hands[k] = (hand){0, k * grain, cpu->threads * grain, grain, n, part, arg};
    if (pthread_create(&hands[k].thread, NULL, work, &hands[k])) abort();
  }
  for (int k = 0; k < cpu->threads; k++) pthread_join(hands[k].thread, NULL);
}

static void threads_case(use *u, const gr_case *c, int i) {
  for (int round = 0; round < 2; round++) {
    if (round && !other_sizes(u, c, round)) return;
    gr_kernel fast = gr_op_fast(&u->call);
    use v = shadow(u);
    if (!fast) fast = u->call.op->cpu;
    if (!judge(use_run(u, fast, NULL), u->call.op, i, "one thread")) return;
    for (int threads = 2; threads < 4; threads++) {
      gr_cpu cpu = {threads, threads == 2 ? backwards : at_once};
      if (judge(use_run(&v, fast, &cpu), u->call.op, i, "some threads"))
        compare(&v, u, i, "some threads, same bytes", 0);
    }
    values_free(v.out, GR_MAX_ARGS);
  }
}
static void threads(void) {
  MUST(gr_gemm_open());
  each_case(threads_case);
}

// Runs a kernel with results where op->inplace says they may be.
static void in_place(use *u, gr_kernel kernel, int i, const char *what) {
  const void *in[GR_MAX_ARGS] = {0};
  void *out[GR_MAX_ARGS] = {0};
  use v = shadow(u);
  for (int k = 0; k < u->call.n_in; k++) v.in[k] = value_copy(&u->in[k]), in[k] = v.in[k].data;
  for (int k = 0; k < u->call.n_out; k++) {
    int place = gr_op_inplace(u->call.op, k);
    bool fits = place >= 0 && place < u->call.n_in &&
                gr_type_bytes(&u->call.in[place]) == gr_type_bytes(&u->call.out[k]);
    v.out[k] = fits ? v.in[place] : value_make(u->call.out[k]);
    v.out[k].type = u->call.out[k];
    out[k] = v.out[k].data;
    if (fits) v.in[place].data = NULL;  // freed as a result
    if (place >= 0) verdict(u, i, "the place that a result may take fits", !fits, 0, "");
  }
  size_t bytes = u->call.op->scratch ? u->call.op->scratch(&u->call) : 0;
  void *scratch = aligned_alloc(64, (bytes + 127) / 64 * 64);
  gr_launch l = {.attr = u->call.attr, .n_in = u->call.n_in, .n_out = u->call.n_out};
  l.in_type = u->call.in, l.out_type = u->call.out, l.out_layout = u->layout;
  l.mesh = &u->mesh, l.coord = &u->coord, l.in = in, l.out = out, l.scratch = scratch;
  if (judge(kernel(&l), u->call.op, i, what)) compare(&v, u, i, what, use_near(u));
  free(scratch);
  use_free(&v);
}

static void place_case(use *u, const gr_case *c, int i) {
  (void)c;
  gr_kernel fast = gr_op_fast(&u->call);
  bool any = false;
  for (int k = 0; k < u->call.n_out; k++) any |= gr_op_inplace(u->call.op, k) >= 0;
  if (!any) return;
  if (!judge(use_run(u, u->call.op->cpu, NULL), u->call.op, i, "reference")) return;
  in_place(u, u->call.op->cpu, i, "reference in place");
  if (fast) in_place(u, fast, i, "fast kernel in place");
}
static void places(void) { each_case(place_case); }

// ---- Shardings ------------------------------------------------------------------------------

// Rank `part`'s share of operand k under lay; terms of a sum are drawn, but for the last.
static value share(const value *whole, gr_axis_placement lay, int part, int parts, uint64_t seed) {
  if (lay >= 0) return value_slice(whole, lay, part, parts);
  value v = value_copy(whole);
  for (int64_t i = 0; lay == GR_PARTIAL && i < value_count(whole); i++) {
    double rest = value_get(whole, i), term = 0;
    for (int p = 0; p <= part; p++) {
      gr_rng r = gr_rng_make(seed, "terms", (uint64_t)p);
      term = p == parts - 1 ? rest : gr_rng_normal(&r, (uint64_t)i);
      rest -= term;
    }
    value_put(&v, i, term);
  }
  return v;
}

static void gather(value *whole, const value *made, gr_axis_placement lay, int part, int parts) {
  if (lay >= 0) value_paste(whole, made, lay, part, parts);
  for (int64_t i = 0; lay == GR_PARTIAL && i < value_count(whole); i++)
    value_put(whole, i, (part ? value_get(whole, i) : 0) + value_get(made, i));
  for (int64_t i = 0; lay == GR_REPLICATE && i < value_count(whole); i++)
    value_put(whole, i, value_get(made, i));
}

static bool divides(const use *u, const gr_sharding_rule *rule, int parts) {
  bool good = true;
  for (int k = 0; k < u->call.n_in; k++)
    if (rule->in[k] >= 0) good &= u->call.in[k].dim[rule->in[k]] % parts == 0;
  for (int k = 0; k < u->call.n_out; k++)
    if (rule->out[k] >= 0) good &= u->call.out[k].dim[rule->out[k]] % parts == 0;
  return good;
}

// What one rank makes, and whether its shape is its share's.
static bool run_part(const use *u, use *r, const gr_sharding_rule *rule, int part, int parts,
                     int i) {
  *r = (use){.call = u->call, .mesh = {1, {{"part", parts}}}, .coord = part};
  for (int k = 0; k < u->call.n_in; k++) {
    r->in[k] = share(&u->in[k], rule->in[k], part, parts, (uint64_t)(i + k));
    r->call.in[k] = r->in[k].type;
  }
  for (int k = 0; k < GR_MAX_ARGS; k++) r->layout[k] = gr_layout_replicated;
  for (int k = 0; k < u->call.n_out; k++) r->layout[k].placement[0] = rule->out[k];
  char attr[256];
  use_localize(r, attr);
  if (!judge(gr_op_infer(&r->call), u->call.op, i, "inference of one rank's part")) return false;
  for (int k = 0; k < u->call.n_out; k++) {
    gr_type t = u->call.out[k];
    if (rule->out[k] >= 0) t.dim[rule->out[k]] /= parts;
    verdict(u, i, "shape of one rank's part", !gr_type_same(&t, &r->call.out[k]), 0, "");
    if (!gr_type_same(&t, &r->call.out[k])) return false;
  }
  gr_kernel fast = gr_op_fast(&r->call);
  return judge(use_run(r, fast ? fast : u->call.op->cpu, NULL), u->call.op, i, "one rank's part");
}

static void shard(const use *u, const gr_sharding_rule *rule, int line, int parts, int i) {
  use all = shadow(u);
  char what[64];
  snprintf(what, sizeof what, "sharding line %d on %d ranks", line, parts);
  for (int k = 0; k < u->call.n_out; k++) all.out[k] = value_make(u->call.out[k]);
  bool good = true;
  for (int part = 0; part < parts && good; part++) {
    use r;
    good = run_part(u, &r, rule, part, parts, i);
    for (int k = 0; good && k < u->call.n_out; k++) {
      gather(&all.out[k], &r.out[k], rule->out[k], part, parts);
      if (rule->out[k] == GR_REPLICATE) good = compare_one(&r, u, k, i, what, use_near_parts(u));
    }
    use_free(&r);
  }
  if (good) compare(&all, u, i, what, use_near_parts(u));
  values_free(all.out, GR_MAX_ARGS);
}

static void shard_case(use *u, const gr_case *c, int i) {
  (void)c;
  gr_sharding_rule rules[GR_MAX_SHARDING_RULES];
  int n = 0;
  if (!judge(gr_op_sharding_rules(&u->call, rules, &n), u->call.op, i, "shardings")) return;
  if (!judge(use_run(u, u->call.op->cpu, NULL), u->call.op, i, "reference")) return;
  for (int line = 0; line < n; line++) {
    int ran = 0;
    for (int parts = 2; parts < 8; parts++)
      if (divides(u, &rules[line], parts) && (parts < 4 || !ran))
        shard(u, &rules[line], line, parts, i), ran++;
  }
}
static void shardings(void) { each_case(shard_case); }

// ---- Docs -----------------------------------------------------------------------------------

static char *explain(const gr_op *op, char *buf, size_t bytes) {
  FILE *f = fmemopen(buf, bytes, "w");
  if (op)
    gr_op_explain(f, op);
  else
    gr_op_list(f, true);
  fclose(f);
  return buf;
}

static void docs(void) {
  static char buf[1 << 16];
  static const char clamp[] =
      "clamp: min(max(x, low), high). The gradient is dy where low < x < high, else 0.\n"
      "  operands   1\n"
      "  notation   ...->...\n"
      "  attributes low (number, default -inf): lower bound\n"
      "             high (number, default inf): upper bound\n"
      "  formula    (x0 < low) ? low : (x0 > high) ? high : x0\n"
      "  gradient   yes\n"
      "  ONNX       by its formula\n"
      "  sharding   R -> R   (R: replicated, S0: sharded along axis 0, P: a partial sum)\n"
      "             S0 -> S0\n"
      "             S1 -> S1\n"
      "  examples   f32[4,6] {low=-0.5, high=0.7} -> f32[4,6]\n"
      "             f32[5] {low=-inf, high=0.0} -> f32[5]\n";
  explain(gr_op_find("clamp"), buf, sizeof buf);
  CHECK(!strcmp(buf, clamp), "clamp is explained as\n%s", buf);
  for (const gr_op *const *o = gr_ops; *o; o++) {
    explain(*o, buf, sizeof buf);
    for (const gr_attr *a = (*o)->attrs; a && a->name; a++)
      CHECK(strstr(buf, a->name) && strstr(buf, a->doc), "%s does not describe %s", (*o)->name,
            a->name);
  }
  CHECK(strstr(explain(NULL, buf, sizeof buf), "\nsub                  x - y."), "the list");
  CHECK(strstr(buf, "\nmax_grad ") && gr_op_is_internal(&gr_op_max_grad),
        "a gradient is of passes");
  CHECK(!gr_op_is_internal(&gr_op_sub), "sub is written in models");
}

int main(int argc, char **argv) {
  only = argc > 2 ? argv[2] : NULL;
  if (only && !gr_op_find(only)) return fprintf(stderr, "there is no op '%s'\n", only), 1;
  return RUN(argc, argv, {"cases", cases}, {"formulas", formulas}, {"fast", fast_kernels},
             {"threads", threads}, {"in_place", places}, {"shardings", shardings}, {"docs", docs});
}
