// test_exec.c - running plans: what a step leaves in its states and results, which kernels run, and
// errors, with their place and on all ranks.
#include <pthread.h>
#include "runtime/comm/comm.h"
#include "tests/runtime/exec/program.h"

// ---- Programs -----------------------------------------------------------------------------------

static void inputs_states_results(void) {
  bench t = begin();
  gr_val x = input(&t, "x", row), w = state(&t, "w", row);
  gr_val sum = gr_add(&t.b, x, w);
  next(&t.b, w, sum);
  gr_result(&t.b, "twice", gr_scale(&t.b, sum, 2));
  open_bench(&t);
  gr_type type;
  CHECK(input_on_host(t.exec, t.plan->programs, "x", &type) && type.rank == 1 && type.dim[0] == E,
        "the type of x");
  CHECK(!in(&t, "y") && !result(&t, "y"), "there is a y");
  CHECK(gr_exec_bytes(t.exec) == t.plan->state_bytes + t.plan->arena_bytes, "bytes");
  for (int i = 1; i <= 3; i++) {
    memcpy(in(&t, "x"), (float[E]){1, 2, 3}, sizeof(float[E]));
    step(&t);
    expect("w", held(&t, "w"), E, (float[E]){(float)i, 2 * (float)i, 3 * (float)i});
    expect("twice", result(&t, "twice"), E, (float[E]){2 * (float)i, 4 * (float)i, 6 * (float)i});
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
  expect("b", held(&t, "b"), E, (float[E]){4, 4, 4});
  expect("d", held(&t, "d"), E, (float[E]){4, 4, 4});
  expect("a", held(&t, "a"), E, (float[E]){3, 3, 3});
  expect("c", held(&t, "c"), E, (float[E]){2, 2, 2});
  end(&t);
}

// ---- Ops made for the tests ---------------------------------------------------------------------

static gr_status same(gr_op_call *s) {
  s->out[0] = s->in[0];
  return GR_OK;
}
static const gr_attr none[] = {{0}};

static gr_status run_failing(const gr_launch *l) {
  if (((const float *)l->in[0])[0] < 3) return GR_OK;
  return gr_fail(GR_ERR_DATA, GR_NOWHERE, "three is too much");
}
static gr_status makes_terms(const gr_op_call *call, gr_sharding_rule *rule, int *out_n) {
  (void)call;
  *rule = (gr_sharding_rule){{GR_REPLICATE}, {GR_PARTIAL}};
  *out_n = 1;
  return GR_OK;
}
static const gr_op failing = {.sharding_rules = makes_terms,
                              .name = "failing",
                              .n_in = 1,
                              .n_out = 1,
                              .attrs = none,
                              .index_spec = "...->...",
                              .infer = same,
                              .cpu = run_failing};

static void square_part(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  for (int64_t i = begin; i < end; i++)
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
static gr_kernel choose_fast(const gr_op_call *s) { return s->in[0].dim[0] > 1 ? run_fast : NULL; }
static const gr_op quick = {.name = "quick",
                            .n_in = 1,
                            .n_out = 1,
                            .attrs = none,
                            .index_spec = "...->...",
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
    MUST(gr_exec_profile(f, t.exec));
    fclose(f);
    CHECK(strstr(text, "quick"), "the profile says:\n%s", text);
    double seconds, percent, each, rate;
    unsigned long long runs;
    int n = sscanf(strchr(text, '\n'), "%lf %lf %llu %lf %lf", &seconds, &percent, &runs, &each,
                   &rate);  // of 1001 elements, one operation each
    CHECK(n == 5 && (seconds < 1e-3 || fabs(rate - 1001 / seconds / 1e9) < 0.006), "%s", text);
    free(text);
    end(&t);
  }
}

static void no_kernel_is_said(void) {
  static const gr_op nothing = {.name = "nothing",
                                .n_in = 1,
                                .n_out = 1,
                                .attrs = none,
                                .index_spec = "...->...",
                                .infer = same};
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

// ---- Errors on one rank -------------------------------------------------------------------------

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
    float *x = input_on_host(e, r->plan->programs, "x", NULL);
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
  gr_val x = gr_leaf(&b, GR_INPUT, GR_KIND_WEIGHT, "x", row, gr_layout_replicated);
  gr_val y = GR_EMIT(&b, &failing, NULL, x);
  gr_layout terms = gr_layout_replicated;
  terms.placement[0] = GR_PARTIAL;
  gr_at(b.g, y)->layout = terms;
  gr_result(&b, "sum", gr_relayout(&b, y, gr_layout_replicated));
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
             {"states_move_on", states_move_on}, {"kernels_are_chosen", kernels_are_chosen},
             {"no_kernel_is_said", no_kernel_is_said},
             {"an_error_ends_all_ranks", an_error_ends_all_ranks});
}
