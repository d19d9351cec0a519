// test_exec.c - running plans: what a step leaves in its states and results, loops with carries of
// every kind against the same numbers written out, threads, errors, and no allocation.
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include "compiler/compile.h"
#include "ops/cpu.h"
#include "ops/ops.h"
#include "ops/scan.h"
#include "runtime/comm.h"
#include "runtime/exec.h"
#include "tests/check.h"

// ---- Counting allocations: the linker sends them here -----------------------------------------

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__real_aligned_alloc(size_t, size_t);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
void *__wrap_aligned_alloc(size_t, size_t);
static int allocations;
void *__wrap_malloc(size_t n) { return allocations++, __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t m) { return allocations++, __real_calloc(n, m); }
void *__wrap_realloc(void *p, size_t n) { return allocations++, __real_realloc(p, n); }
void *__wrap_aligned_alloc(size_t a, size_t n) { return allocations++, __real_aligned_alloc(a, n); }

// ---- A graph, and what runs it ----------------------------------------------------------------

enum { E = 3, T = 5 };
static const gr_type row = {GR_F32, 1, {E}}, rows = {GR_F32, 2, {T, E}};

typedef struct bench {
  gr_arena *arena;
  gr_builder b;
  gr_plan *plan;
  gr_exec *exec;
  gr_exec_options opt;
} bench;

static bench begin(void) {
  static const gr_mesh alone;
  gr_arena *a = gr_arena_create();
  return (bench){
      .arena = a, .b = {.g = gr_graph_create(a, &alone), .by = "test"}, .opt = {.threads = 1}};
}

static void open_bench(bench *t) {
  MUST(t->b.err);
  gr_compiled c = {.kind = "train", .bucket = "", .g = t->b.g};
  MUST(gr_plan_link(t->arena, &c, 1, &t->plan));
  MUST(gr_exec_open(t->plan, &t->opt, &t->exec));
}

static void end(bench *t) {
  gr_exec_close(t->exec);
  gr_arena_destroy(t->arena);
}

static gr_val input(bench *t, const char *name, gr_type type) {
  return gr_leaf(&t->b, GR_INPUT, GR_KIND_WEIGHT, name, type, gr_layout_whole);
}
static gr_val state(bench *t, const char *name, gr_type type) {
  return gr_leaf(&t->b, GR_STATE, GR_KIND_WEIGHT, name, type, gr_layout_whole);
}
static void next(gr_builder *b, gr_val s, gr_val v) { gr_at(b->g, s)->next = v; }

static float *in(bench *t, const char *name) {
  return gr_exec_input(t->exec, t->plan->programs, name, NULL);
}
static const float *result(bench *t, const char *name) {
  return gr_exec_result(t->exec, t->plan->programs, name, NULL);
}
static float *held(bench *t, const char *name) {
  for (uint32_t i = 0; i < t->plan->n_states; i++)
    if (!strcmp(t->plan->states[i].name, name)) return gr_exec_state(t->exec, &t->plan->states[i]);
  return NULL;
}
static void step(bench *t) { MUST(gr_exec_run(t->exec, t->plan->programs)); }

static void is(const char *what, const float *got, int64_t n, const float *want) {
  for (int64_t i = 0; i < n; i++)
    CHECK(fabsf(got[i] - want[i]) < 1e-5f, "%s[%lld] is %g, not %g", what, (long long)i,
          (double)got[i], (double)want[i]);
}

static float value(int i) { return (float)((i * 37 + 11) % 17) / 8 - 1; }
static void fill(float *to, int64_t n, int seed) {
  for (int64_t i = 0; i < n; i++) to[i] = value((int)i + seed);
}

// ---- Programs -----------------------------------------------------------------------------------

static void inputs_states_results(void) {
  bench t = begin();
  gr_val x = input(&t, "x", row), w = state(&t, "w", row);
  gr_val sum = gr_add(&t.b, x, w);
  next(&t.b, w, sum);
  gr_result(&t.b, "twice", gr_scale(&t.b, sum, 2));
  open_bench(&t);
  gr_type type;
  CHECK(gr_exec_input(t.exec, t.plan->programs, "x", &type) && type.rank == 1 && type.dim[0] == E,
        "the type of x");
  CHECK(!in(&t, "y") && !result(&t, "y"), "there is a y");
  CHECK(gr_exec_bytes(t.exec) == t.plan->state_bytes + t.plan->arena_bytes, "bytes");
  for (int i = 1; i <= 3; i++) {
    memcpy(in(&t, "x"), (float[E]){1, 2, 3}, sizeof(float[E]));
    step(&t);
    is("w", held(&t, "w"), E, (float[E]){(float)i, 2 * (float)i, 3 * (float)i});
    is("twice", result(&t, "twice"), E, (float[E]){2 * (float)i, 4 * (float)i, 6 * (float)i});
  }
  end(&t);
}

// a takes b's old value and c a's, and d what b takes: copies must not run into each other.
static void states_move_on(void) {
  bench t = begin();
  gr_val x = input(&t, "x", row), a = state(&t, "a", row), b = state(&t, "b", row);
  gr_val c = state(&t, "c", row), d = state(&t, "d", row), now = gr_scale(&t.b, x, 1);
  next(&t.b, a, gr_scale(&t.b, b, 1)), next(&t.b, c, gr_scale(&t.b, a, 1));
  next(&t.b, b, now), next(&t.b, d, now);
  open_bench(&t);
  for (int i = 1; i <= 4; i++) {
    for (int k = 0; k < E; k++) in(&t, "x")[k] = (float)i;
    step(&t);
  }
  is("b", held(&t, "b"), E, (float[E]){4, 4, 4});
  is("d", held(&t, "d"), E, (float[E]){4, 4, 4});
  is("a", held(&t, "a"), E, (float[E]){3, 3, 3});
  is("c", held(&t, "c"), E, (float[E]){2, 2, 2});
  end(&t);
}

// ---- Loops --------------------------------------------------------------------------------------

// h is yielded (the next step reads it in the stack), s is added to (in place), d is used by later
// nodes and has a place of its own, e is a plain copy of what another carry takes over too.
static void write_loop(bench *t, bool reverse, bool with_init) {
  gr_val x = input(t, "x", rows), h0 = input(t, "h0", row), w = input(t, "w", row);
  gr_loop l;
  gr_loop_open(&l, &t->b, T, reverse);
  gr_val xt = gr_loop_seq(&l, x), wt = gr_loop_const(&l, w);
  gr_val h = with_init ? gr_loop_carry(&l, h0, "h") : gr_loop_zero(&l, row, "h");
  gr_val s = gr_loop_zero(&l, row, "s"), d = gr_loop_zero(&l, row, "d");
  gr_val e = gr_loop_zero(&l, row, "e"), f = gr_loop_zero(&l, row, "f");
  gr_val h2 = gr_tanh(&l.b, gr_add(&l.b, gr_mul(&l.b, h, wt), xt));
  gr_val d2 = gr_sub(&l.b, gr_mul(&l.b, xt, wt), gr_scale(&l.b, d, 0.5));
  gr_val both = gr_mul(&l.b, gr_add(&l.b, e, f), gr_shift(&l.b, xt, 0.25));
  gr_val e2 = gr_add(&l.b, both, d2);
  gr_loop_next(&l, h, h2), gr_loop_next(&l, s, gr_add(&l.b, s, h2)), gr_loop_next(&l, d, d2);
  gr_loop_next(&l, e, e2), gr_loop_next(&l, f, e2);
  int yields[] = {gr_loop_yield(&l, h2), gr_loop_yield(&l, gr_mul(&l.b, d2, h2)),
                  gr_loop_yield(&l, h2), gr_loop_yield(&l, d), gr_loop_yield(&l, xt)};
  gr_loop_close(&l);
  static const char *const last[] = {"h", "s", "d", "e", "f"};
  static const char *const stacks[] = {"hs", "dh", "hs again", "ds", "xs"};
  gr_val carries[] = {h, s, d, e, f};
  for (int i = 0; i < 5; i++) {
    gr_result(&t->b, last[i], gr_scale(&t->b, gr_loop_last(&l, carries[i]), 1));
    gr_result(&t->b, stacks[i], gr_scale(&t->b, gr_loop_stack(&l, yields[i]), 1));
  }
}

static void check_loop(bench *t, bool reverse, bool with_init) {
  float h[E] = {0}, s[E] = {0}, d[E] = {0}, e[E] = {0}, stack[4][T][E];
  const float *x = in(t, "x"), *w = in(t, "w");
  float xs[T][E];
  memcpy(xs, x, sizeof xs);
  if (with_init) memcpy(h, in(t, "h0"), sizeof h);
  for (int i = 0; i < T; i++) {
    int at = reverse ? T - 1 - i : i;
    for (int k = 0; k < E; k++) {
      stack[2][at][k] = d[k], stack[3][at][k] = xs[at][k];
      h[k] = tanhf(h[k] * w[k] + xs[at][k]);
      d[k] = xs[at][k] * w[k] - d[k] * 0.5f;
      e[k] = 2 * e[k] * (xs[at][k] + 0.25f) + d[k];
      s[k] += h[k];
      stack[0][at][k] = h[k], stack[1][at][k] = d[k] * h[k];
    }
  }
  step(t);
  is("h", result(t, "h"), E, h), is("s", result(t, "s"), E, s), is("d", result(t, "d"), E, d);
  is("e", result(t, "e"), E, e), is("f", result(t, "f"), E, e);
  is("hs", result(t, "hs"), T * E, stack[0][0]), is("dh", result(t, "dh"), T * E, stack[1][0]);
  is("hs again", result(t, "hs again"), T * E, stack[0][0]);
  is("ds", result(t, "ds"), T * E, stack[2][0]), is("xs", result(t, "xs"), T * E, stack[3][0]);
}

static void loops(void) {
  for (int kind = 0; kind < 4; kind++) {
    bench t = begin();
    write_loop(&t, kind & 1, kind & 2);
    open_bench(&t);
    for (int i = 0; i < 3; i++) {  // nothing is left of the run before
      fill(in(&t, "x"), T * E, i), fill(in(&t, "h0"), E, 5 + i), fill(in(&t, "w"), E, 9 + i);
      check_loop(&t, kind & 1, kind & 2);
    }
    end(&t);
  }
}

// A loop in a loop: for each row of x, h = h * 0.5 + sum over rows z of y of (row * z + h).
static void loops_in_loops(void) {
  bench t = begin();
  gr_val x = input(&t, "x", rows), y = input(&t, "y", rows);
  gr_loop outer, inner;
  gr_loop_open(&outer, &t.b, T, true);
  gr_val xt = gr_loop_seq(&outer, x), ys = gr_loop_const(&outer, y);
  gr_val h = gr_loop_zero(&outer, row, "h");
  gr_loop_open(&inner, &outer.b, T, false);
  gr_val z = gr_loop_seq(&inner, ys), a = gr_loop_zero(&inner, row, "a");
  gr_val more =
      gr_add(&inner.b, gr_mul(&inner.b, gr_loop_const(&inner, xt), z), gr_loop_const(&inner, h));
  gr_loop_next(&inner, a, gr_add(&inner.b, a, more));
  gr_loop_close(&inner);
  gr_val h2 = gr_add(&outer.b, gr_scale(&outer.b, h, 0.5), gr_loop_last(&inner, a));
  gr_loop_next(&outer, h, h2);
  gr_loop_yield(&outer, h2);
  gr_loop_close(&outer);
  gr_result(&t.b, "hs", gr_scale(&t.b, gr_loop_stack(&outer, 0), 1));
  open_bench(&t);
  float xs[T][E], ysum[E] = {0}, want[T][E], hk[E] = {0};
  fill(in(&t, "x"), T * E, 1), fill(in(&t, "y"), T * E, 2);
  memcpy(xs, in(&t, "x"), sizeof xs);
  for (int i = 0; i < T * E; i++) ysum[i % E] += in(&t, "y")[i];
  for (int i = T; i--;)
    for (int k = 0; k < E; k++) want[i][k] = hk[k] = hk[k] * 0.5f + xs[i][k] * ysum[k] + T * hk[k];
  step(&t);
  for (int i = 0; i < T * E; i++) {
    float got = result(&t, "hs")[i], must = want[i / E][i % E];
    CHECK(fabsf(got - must) < 1e-3f * (1 + fabsf(must)), "%d: %g, not %g", i, (double)got,
          (double)must);
  }
  end(&t);
}

static void a_step_allocates_nothing(void) {
  bench t = begin();
  write_loop(&t, false, true);
  open_bench(&t);
  int before = allocations;
  CHECK(before > 0, "allocations are not counted");
  for (int i = 0; i < 10; i++) step(&t);
  CHECK(allocations == before, "%d allocations in 10 steps", allocations - before);
  end(&t);
}

// ---- Ops made for the tests ---------------------------------------------------------------------

static gr_status same(gr_site *s) {
  s->out[0] = s->in[0];
  return GR_OK;
}
static const gr_attr none[] = {{0}};

static gr_status run_failing(const gr_launch *l) {
  if (((const float *)l->in[0])[0] < 3) return GR_OK;
  return gr_fail(GR_ERR_DATA, GR_NOWHERE, "three is too much");
}
static const gr_op failing = {.name = "failing",
                              .n_in = 1,
                              .n_out = 1,
                              .attrs = none,
                              .axes = "...->...",
                              .infer = same,
                              .cpu = run_failing};

static void square_part(void *arg, int64_t from, int64_t to) {
  const gr_launch *l = arg;
  for (int64_t i = from; i < to; i++)
    ((float *)l->out[0])[i] = ((const float *)l->in[0])[i] * ((const float *)l->in[0])[i];
}
static gr_status run_plain(const gr_launch *l) {
  for (int64_t i = 0; i < gr_type_count(l->out_type); i++) OUT(0, i, 7);
  return GR_OK;
}
static gr_status run_fast(const gr_launch *l) {
  gr_parallel(l, gr_type_count(l->out_type), 16, square_part, (void *)(uintptr_t)l);
  return GR_OK;
}
static gr_kernel choose_fast(const gr_site *s) { return s->in[0].dim[0] > 1 ? run_fast : NULL; }
static const gr_op quick = {.name = "quick",
                            .n_in = 1,
                            .n_out = 1,
                            .attrs = none,
                            .axes = "...->...",
                            .infer = same,
                            .cpu = run_plain,
                            .fast = choose_fast};

static void kernels_are_chosen(void) {
  for (int plain = 0; plain < 2; plain++) {
    enum { N = 1000 };
    bench t = begin();
    gr_val x = input(&t, "x", (gr_type){GR_F32, 1, {N}}),
           one = input(&t, "one", (gr_type){GR_F32, 1, {1}});
    gr_result(&t.b, "x", GR_EMIT(&t.b, &quick, NULL, x));
    gr_result(&t.b, "one", GR_EMIT(&t.b, &quick, NULL, one));
    t.opt = (gr_exec_options){.threads = 3, .plain = plain, .profile = true};
    open_bench(&t);
    fill(in(&t, "x"), N, 0);
    step(&t);
    for (int i = 0; i < N; i++)
      CHECK(result(&t, "x")[i] == (plain ? 7 : value(i) * value(i)), "%d: %g", i,
            (double)result(&t, "x")[i]);
    CHECK(result(&t, "one")[0] == 7, "the plain kernel is the last resort");
    char *text;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    gr_exec_profile(f, t.exec);
    fclose(f);
    CHECK(strstr(text, "quick"), "the profile says:\n%s", text);
    free(text);
    end(&t);
  }
}

static void no_kernel_is_said(void) {
  static const gr_op nothing = {
      .name = "nothing", .n_in = 1, .n_out = 1, .attrs = none, .axes = "...->...", .infer = same};
  bench t = begin();
  t.b.loc = (gr_loc){"model.yaml", 7, 3};
  gr_result(&t.b, "y", GR_EMIT(&t.b, &nothing, NULL, input(&t, "x", row)));
  gr_compiled c = {.kind = "train", .bucket = "", .g = t.b.g};
  MUST(gr_plan_link(t.arena, &c, 1, &t.plan));
  gr_status s = gr_exec_open(t.plan, &t.opt, &t.exec);
  CHECK(gr_status_code(s) == GR_ERR_UNSUPPORTED && gr_status_loc(s).line == 7, "%s",
        gr_status_text(s));
  gr_status_drop(s);
  end(&t);
}

// ---- Errors on one rank
// ---------------------------------------------------------------------------

typedef struct rank {
  pthread_t thread;
  gr_comm *world;
  gr_plan *plan;
  gr_status status;
  int rank;
} rank;

static void *run_rank(void *arg) {
  rank *r = arg;
  gr_comm *axes[GR_MAX_MESH];
  gr_exec *e = NULL;
  r->status = gr_comm_mesh(r->world, &r->plan->mesh, axes);
  gr_exec_options o = {.threads = 1, .comm = axes, .rank = r->rank};
  if (!r->status) r->status = gr_exec_open(r->plan, &o, &e);
  for (int i = 0; !r->status && i < 5; i++) {
    float *x = gr_exec_input(e, r->plan->programs, "x", NULL);
    for (int k = 0; k < E; k++) x[k] = (float)(r->rank * i);
    r->status = gr_exec_run(e, r->plan->programs);
  }
  gr_exec_close(e);
  return NULL;
}

static char *printed(gr_status s) {
  char *text;
  size_t len;
  FILE *f = open_memstream(&text, &len);
  gr_status_print(f, s);
  fclose(f);
  return text;
}

// Rank 1 fails in its fourth step; rank 0 waits for it in an all_reduce.
static void an_error_ends_all_ranks(void) {
  gr_arena *a = gr_arena_create();
  gr_mesh two = {1, {{"data", 2}}};
  gr_builder b = {
      .g = gr_graph_create(a, &two), .loc = {"model.yaml", 12, 9}, .scope = "encoder.0"};
  gr_val x = gr_leaf(&b, GR_INPUT, GR_KIND_WEIGHT, "x", row, gr_layout_whole);
  gr_val y = GR_EMIT(&b, &failing, NULL, x);
  gr_layout terms = gr_layout_whole;
  terms.at[0] = GR_P;
  gr_at(b.g, y)->layout = terms;
  gr_result(&b, "sum", gr_relayout(&b, y, gr_layout_whole));
  MUST(b.err);
  gr_plan *plan;
  gr_compiled c = {.kind = "train", .bucket = "", .g = b.g};
  MUST(gr_plan_link(a, &c, 1, &plan));
  gr_loopback *world;
  MUST(gr_loopback_create(2, 30, &world));
  rank r[2];
  for (int i = 0; i < 2; i++) {
    r[i] = (rank){.world = gr_loopback_comm(world, i), .plan = plan, .rank = i};
    if (pthread_create(&r[i].thread, NULL, run_rank, &r[i])) abort();
  }
  for (int i = 0; i < 2; i++) pthread_join(r[i].thread, NULL);
  CHECK(gr_status_code(r[0].status) == GR_ERR_RANK, "rank 0: %s", gr_status_text(r[0].status));
  CHECK(gr_status_code(r[1].status) == GR_ERR_DATA, "rank 1: %s", gr_status_text(r[1].status));
  char *echo = printed(r[0].status), *cause = printed(r[1].status);
  CHECK(strstr(echo, "rank 1") && strstr(echo, "three is too much"), "%s", echo);
  CHECK(strstr(cause, "model.yaml:12:9") && strstr(cause, "failing") &&
            strstr(cause, "encoder.0") && strstr(cause, "on rank 1"),
        "%s", cause);
  free(echo), free(cause);
  for (int i = 0; i < 2; i++) gr_status_drop(r[i].status);
  gr_loopback_destroy(world);
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"inputs_states_results", inputs_states_results},
             {"states_move_on", states_move_on}, {"loops", loops},
             {"loops_in_loops", loops_in_loops},
             {"a_step_allocates_nothing", a_step_allocates_nothing},
             {"kernels_are_chosen", kernels_are_chosen}, {"no_kernel_is_said", no_kernel_is_said},
             {"an_error_ends_all_ranks", an_error_ends_all_ranks});
}
