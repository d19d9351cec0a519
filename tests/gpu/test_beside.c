// test_beside.c - random programs of two ranks with a GPU each, in which collectives run beside
// kernels and beside each other: the numbers of the CPU, where nothing runs beside anything, and,
// with STANDIN_MEMORY=races, no two pieces of work on the same memory without an order.
//
//   test_gpu_beside [SEED]    the programs of one seed
#include <math.h>
#include <stdlib.h>
#include "compiler/compile.h"
#include "compiler/pass.h"
#include "ops/comm/collective.h"
#include "ops/kernels/cpu.h"
#include "ops/ops.h"
#include "runtime/comm/comm.h"
#include "runtime/comm/nccl.h"
#include "runtime/exec/exec.h"
#include "tests/check.h"
#include "tests/nodes.h"

enum { RANKS = 2, PROGRAMS = 12, RUNS = 3, SEEDS = 2, RESULTS = 4, STATES = 4, MOST = 300 };
enum { NARROW = 6, LEAVES };  // inputs: the last one is bf16
static const gr_mesh two = {1, {{"data", RANKS}}};
static const int placements[LEAVES] = {GR_REPLICATE, GR_REPLICATE, GR_PARTIAL, GR_PARTIAL, 0, 1,
                                       GR_REPLICATE};

// ---- Programs ----------------------------------------------------------------------------------

typedef struct random_graph {
  gr_builder b;
  gr_val v[MOST], squares;  // all that was made; sums of squares, of which one is a result
  uint32_t n, seed;
} random_graph;

static gr_layout layout_of(int placement) {
  gr_layout l = gr_layout_replicated;
  l.placement[0] = (gr_axis_placement)placement;
  return l;
}
static int placed(const random_graph *r, gr_val v) { return gr_at(r->b.g, v)->layout.placement[0]; }

// Gives v the layout of x.
static gr_val as(random_graph *r, gr_val v, gr_val x) {
  if (!r->b.err) gr_at(r->b.g, v)->layout = gr_at(r->b.g, x)->layout;
  return v;
}

// A value of that placement; there is one, as leaves have all of them.
static gr_val draw(random_graph *r, int placement) {
  uint32_t i = below(&r->seed, r->n);
  while (placed(r, r->v[i]) != placement) i = (i + 1) % r->n;
  return r->v[i];
}

// Sums of squares, or casts and casts back, that a GPU launches together.
static void put_together(random_graph *r) {
  gr_val in[4], narrow[4];
  uint32_t n = 2 + below(&r->seed, 3), squares = below(&r->seed, 2);
  for (uint32_t i = 0; i < n; i++) in[i] = draw(r, GR_REPLICATE);
  for (uint32_t i = 0; i < n; i++)
    narrow[i] = squares ? gr_sum_squares(&r->b, in[i]) : gr_cast(&r->b, in[i], GR_BF16);
  for (uint32_t i = 0; i < n && !squares; i++) r->v[r->n++] = gr_cast(&r->b, narrow[i], GR_F32);
  for (uint32_t i = 0; i < n && squares; i++)
    r->squares = gr_is(r->squares) ? gr_add(&r->b, r->squares, narrow[i]) : narrow[i];
}

// Two sums as one collective, or the conversion of a value from one layout to another.
static void put_collective(random_graph *r) {
  static const int some[] = {GR_PARTIAL, GR_PARTIAL, GR_REPLICATE, 0, 1};
  gr_val v = draw(r, some[below(&r->seed, 5)]);
  if (placed(r, v) == GR_PARTIAL && below(&r->seed, 4) == 0) {
    gr_val in[] = {v, draw(r, GR_PARTIAL)};
    struct gr_coll attr = {.ranks = RANKS};
    gr_val sum = gr_emit(&r->b, &gr_op_all_reduce, &attr, 2, in);
    r->v[r->n++] = sum;
    if (!r->b.err) r->v[r->n++] = (gr_val){sum.id + 1};
    return;
  }
  int to = placed(r, v) >= 0 ? GR_REPLICATE : (int)below(&r->seed, 2);
  if (placed(r, v) == GR_PARTIAL && below(&r->seed, 2)) to = GR_REPLICATE;
  r->v[r->n++] = gr_relayout(&r->b, v, layout_of(to));
}

// Copies on a queue of their own, of both types.
static void put_fetch(random_graph *r) {
  gr_val in[] = {draw(r, GR_REPLICATE), gr_cast(&r->b, draw(r, GR_REPLICATE), GR_BF16)};
  gr_val copies = gr_fetch(&r->b, 2, in, 0);
  if (r->b.err) return;
  r->v[r->n++] = copies;
  r->v[r->n++] = gr_cast(&r->b, (gr_val){copies.id + 1}, GR_F32);
}

// The CPU and a GPU compute the same bits of these.
static void put_kernel(random_graph *r) {
  gr_val x = r->v[below(&r->seed, r->n)], y = draw(r, placed(r, x)), made;
  uint32_t kind = below(&r->seed, placed(r, x) == GR_PARTIAL ? 2 : 4);
  made = kind == 0   ? gr_scale(&r->b, x, 0.5)
         : kind == 1 ? gr_scale(&r->b, as(r, gr_add(&r->b, x, y), x), 0.5)
         : kind == 2 ? gr_max(&r->b, x, y)
                     : gr_relu(&r->b, x);
  r->v[r->n++] = as(r, made, x);
}

static gr_val leaf(random_graph *r, gr_role role, gr_kind kind, const char *prefix, int i,
                   gr_type t) {
  const char *name = gr_arena_printf(r->b.g->arena, "%s%d", prefix, i);
  int to = role == GR_INPUT ? placements[i] : GR_REPLICATE;
  if (to >= 0) t.dim[to] /= RANKS;
  return gr_leaf(&r->b, role, kind, name, t, layout_of(to));
}

// Inputs, and states: one that any value replaces, one that an input does, and a weight with its
// moment, which is in host memory.
static void put_leaves(random_graph *r, const char *prefix, gr_val state[STATES], gr_val *narrow) {
  int64_t rows = 2 + 2 * below(&r->seed, 3), columns = 4 * (1 + below(&r->seed, 20));
  gr_type wide = {GR_F32, 2, {rows, columns}}, half = {GR_BF16, 2, {rows, columns}};
  static const gr_kind kinds[STATES] = {GR_KIND_BUFFER, GR_KIND_BUFFER, GR_KIND_WEIGHT,
                                        GR_KIND_MOMENT};
  for (int i = 0; i < NARROW; i++)
    r->v[r->n++] = leaf(r, GR_INPUT, GR_KIND_BUFFER, prefix, i, wide);
  *narrow = leaf(r, GR_INPUT, GR_KIND_BUFFER, prefix, NARROW, half);
  for (int i = 0; i < STATES; i++)
    state[i] = leaf(r, GR_STATE, kinds[i], prefix, LEAVES + i, i == 1 ? half : wide);
  r->v[r->n++] = state[0];
  r->v[r->n++] = gr_cast(&r->b, state[1], GR_F32);
}

static void put_update(random_graph *r, gr_val w, gr_val m) {
  const double attr[] = {0.9, 0.01};  // momentum and weight_decay
  gr_type one = {.dtype = GR_F32};
  gr_val in[] = {w,
                 draw(r, GR_REPLICATE),
                 gr_fill(&r->b, &one, 0.1),
                 gr_fill(&r->b, &one, 0.5),
                 gr_fill(&r->b, &one, 1),
                 m};
  gr_val next = gr_emit(&r->b, &gr_op_sgd, (const void *)attr, 6, in);
  if (r->b.err) return;
  gr_at(r->b.g, w)->next = next, gr_at(r->b.g, m)->next = (gr_val){next.id + 1};
}

static gr_status make(gr_arena *arena, uint32_t seed, gr_graph **out) {
  random_graph r = {.b = {.g = gr_graph_create(arena, &two), .created_by = "test"}, .seed = seed};
  const gr_builder *b = &r.b;
  gr_val state[STATES], narrow;
  put_leaves(&r, gr_arena_printf(arena, "p%u.", seed), state, &narrow);
  for (uint32_t nodes = 10 + below(&r.seed, 50); nodes-- && !b->err;) {
    uint32_t kind = below(&r.seed, 9);
    if (kind < 3)
      put_collective(&r);
    else if (kind == 3)
      put_together(&r);
    else if (kind == 4)
      put_fetch(&r);
    else
      put_kernel(&r);
  }
  for (int k = 0; k < RESULTS && !b->err; k++) {
    gr_val v = r.v[NARROW + below(&r.seed, r.n - NARROW)];
    if (placed(&r, v) == GR_PARTIAL) v = draw(&r, GR_REPLICATE);
    gr_result(&r.b, gr_arena_printf(arena, "r%d", k), v);
  }
  if (!b->err && gr_is(r.squares)) gr_result(&r.b, "squares", r.squares);
  if (!b->err) put_update(&r, state[2], state[3]);
  if (!b->err) gr_at(b->g, state[0])->next = draw(&r, GR_REPLICATE);
  if (!b->err) gr_at(b->g, state[1])->next = narrow;
  *out = b->g;
  return b->err;
}

// ---- Running -----------------------------------------------------------------------------------

enum { NUMBERS = 6 * 80 };
typedef struct values {  // of a rank
  float in[RUNS][PROGRAMS][LEAVES][NUMBERS], out[RUNS][PROGRAMS][RESULTS + 1][NUMBERS];
  float states[STATES * PROGRAMS][NUMBERS];  // of both types, as their bytes
} values;
typedef struct job {
  const gr_device_ops *device;
  const gr_plan *plan;
  values *of[RANKS];
} job;

// Enqueues a run of a program; its results are there after the next gr_exec_wait.
static gr_status run_one(gr_exec *e, const gr_program *p, values *x, int run, int program) {
  const gr_graph *g = p->frame.g;
  int leaf = 0;
  for (uint32_t v = 1; v < g->n_values; v++) {
    if (g->values[v].role != GR_INPUT) continue;
    gr_exec_tensor t = gr_exec_input(e, p, g->values[v].name);
    if (t.address) GR_TRY(gr_exec_write(e, &t, x->in[run][program][leaf]));
    leaf++;
  }
  GR_TRY(gr_exec_run(e, p));
  for (uint32_t k = 0; k < g->n_results; k++) {
    gr_exec_tensor t = gr_exec_result(e, p, g->result_names[k]);
    GR_TRY(gr_exec_read(e, &t, x->out[run][program][k]));
  }
  return GR_OK;
}

static gr_status write_state(gr_exec *e, const gr_plan_state *state, const values *x, int run) {
  gr_exec_tensor t = gr_exec_state(e, state);
  return gr_exec_write(e, &t, x->in[run][0][state->type.dtype == GR_BF16 ? NARROW : 0]);
}

// All runs, between which the host waits for nothing but moments: these are written once more.
static gr_status run_all(gr_exec *e, const gr_plan *plan, values *x) {
  for (uint32_t i = 0; i < plan->n_states; i++) GR_TRY(write_state(e, &plan->states[i], x, 0));
  for (int run = 0; run < RUNS; run++) {
    for (int k = 0; k < PROGRAMS; k++) GR_TRY(run_one(e, &plan->programs[k], x, run, k));
    for (uint32_t i = 0; i < plan->n_states && run == 1; i++)
      if (plan->states[i].kind == GR_KIND_MOMENT) GR_TRY(write_state(e, &plan->states[i], x, run));
  }
  for (uint32_t i = 0; i < plan->n_states; i++) {
    gr_exec_tensor t = gr_exec_state(e, &plan->states[plan->n_states - 1 - i]);
    GR_TRY(gr_exec_read(e, &t, x->states[i]));
  }
  return gr_exec_wait(e);
}

static gr_status run_rank(gr_comm *world, void *arg) {
  const job *j = arg;
  gr_comm *axes[GR_MAX_MESH] = {0};
  gr_exec *e = NULL;
  GR_TRY(gr_comm_mesh(world, &j->plan->mesh, axes));
  gr_exec_options o = {.device = j->device, .threads = 1, .world = world, .comm = axes};
  o.open_comm = j->device->gpu ? gr_collectives_nccl.open : NULL;
  o.timeout_s = 60, o.rank = world->rank, o.local_rank = world->local_rank;
  gr_status s = gr_exec_open(j->plan, &o, &e);
  s = s ? s : run_all(e, j->plan, j->of[world->rank]);
  if (s) world->ops->abort(world, gr_status_text(s));
  gr_exec_close(e);
  gr_comm_mesh_close(axes, &j->plan->mesh);
  return s;
}

static void fill(values *x, int rank) {
  uint32_t seed = 7 + (uint32_t)rank;
  float *all = &x->in[0][0][0][0];
  for (size_t i = 0; i < sizeof x->in / sizeof *all; i++)
    all[i] = (float)below(&seed, 1 << 15) / (1 << 14) - 1;
  for (int i = 0; i < RUNS * PROGRAMS; i++)
    for (int k = 0; k < NUMBERS; k++)
      gr_put(x->in[i / PROGRAMS][i % PROGRAMS][NARROW], GR_BF16, k, (double)all[k]);
}

static void run_on(const gr_device_ops *device, const gr_plan *plan, values *const *of) {
  job j = {.device = device, .plan = plan};
  for (int rank = 0; rank < RANKS; rank++) {
    memset(of[rank], 0, sizeof *of[rank]);
    fill(of[rank], rank);
    for (int run = 0; run < RUNS; run++)
      for (int k = 0; k < PROGRAMS; k++)
        for (int leaf = 0; leaf < LEAVES; leaf++)
          if (placements[leaf] == GR_REPLICATE)
            memcpy(of[rank]->in[run][k][leaf], of[0]->in[run][k][leaf], sizeof of[0]->in[0][0][0]);
    j.of[rank] = of[rank];
  }
  MUST(gr_loopback_run(RANKS, 60, run_rank, &j));
}

static void compare(const char *what, const float *got, const float *want, size_t bytes, int rank,
                    uint32_t seed) {
  int64_t wrong = 0, first = 0, n = (int64_t)(bytes / sizeof *got);
  for (int64_t i = n; i-- > 0;) {
    bool same = !memcmp(&got[i], &want[i], sizeof *got);
    if (same || fabsf(got[i] - want[i]) <= 1e-5f * (1 + fabsf(want[i]))) continue;
    wrong++, first = i;
  }
  CHECK(!wrong,
        "seed %u, rank %d: %lld of %lld numbers of %s are wrong, first number %lld: %g, not %g",
        seed, rank, (long long)wrong, (long long)n, what, (long long)first, (double)got[first],
        (double)want[first]);
}

static uint32_t first_seed = 1, last_seed = SEEDS;

static gr_plan *plan_of(gr_arena *arena, uint32_t seed, bool gpu) {
  gr_compiled c[PROGRAMS];
  gr_plan *plan;
  for (uint32_t k = 0; k < PROGRAMS; k++) {
    gr_graph *g;
    MUST(make(arena, PROGRAMS * seed + k, &g));
    c[k] = (gr_compiled){.kind = gr_arena_printf(arena, "program%u", k),
                         .bucket = "",
                         .g = g,
                         .gpu = gpu,
                         .offload = gpu};
  }
  MUST(gr_plan_link(arena, c, PROGRAMS, &plan));
  return plan;
}

static void random_programs(void) {
  const gr_device_ops *cuda;
  gr_collectives_setting set[GR_COLLECTIVES_SETTINGS];
  MUST(gr_device_find("cuda", GR_NOWHERE, &cuda));
  if (gr_device_count(cuda) < RANKS) SKIP("there are fewer than two GPUs");
  gr_collectives_nccl.set_environment(false, true, set);
  values *x[2 * RANKS];
  for (int i = 0; i < 2 * RANKS; i++) x[i] = malloc(sizeof *x[i]);
  for (uint32_t seed = first_seed; seed <= last_seed; seed++) {
    gr_arena *arena = gr_arena_create();
    run_on(&gr_device_cpu, plan_of(arena, seed, false), x);
    run_on(cuda, plan_of(arena, seed, true), x + RANKS);
    for (int rank = 0; rank < RANKS; rank++) {
      const values *got = x[RANKS + rank], *want = x[rank];
      compare("results", got->out[0][0][0], want->out[0][0][0], sizeof got->out, rank, seed);
      compare("states", got->states[0], want->states[0], sizeof got->states, rank, seed);
    }
    gr_arena_destroy(arena);
  }
  for (int i = 0; i < 2 * RANKS; i++) free(x[i]);
}

int main(int argc, char **argv) {
  if (argc > 1 && atoi(argv[1]) > 0) {
    first_seed = last_seed = (uint32_t)atoi(argv[1]);
    argc--, argv++;
  }
  return RUN(argc, argv, {"random_programs", random_programs});
}
