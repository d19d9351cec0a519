// test_small.c - runs of small nodes as one kernel on the device cuda (the pass join_small), in the
// bodies of loops that are no kernel and in programs, against launches of each node.
//
//   test_gpu_small [SEED]    one body of each kind
#include <stdlib.h>
#include <string.h>
#include "compiler/pass.h"
#include "ops/ops.h"
#include "tests/check.h"
#include "tests/gpu/loops.h"
#include "tests/gpu/loops_run.h"

static const gr_device_ops *device;
static uint32_t first = 1, last = 0;  // seeds, if they are given

static gr_graph *join_small(gr_arena *arena, const gr_graph *g) {
  gr_graph *out;
  MUST(gr_pass_run(arena, "join_small", g, &(gr_options){.optimizer.name = "sgd", .gpu = true},
                   &out));
  return out;
}

static void check_small(const loops_body *o, int fewer) {
  static loops_numbers apart, joined;
  gr_arena *arena = gr_arena_create();
  gr_graph *g;
  loops_seen all = {0};
  MUST(loops_steps(arena, o, 2, &g));
  const gr_graph *less = join_small(arena, g);
  loops_look(arena, less, true, &all);
  CHECK(all.small >= 4, "only %d kernels", all.small);
  int before = loops_run(g, arena, device, 2, &apart),
      after = loops_run(less, arena, device, 2, &joined);
  CHECK(after < before / fewer, "%d captured nodes, of %d", after, before);
  CHECK(loops_same(&apart, &joined), "seed %u: launches make other bits: %g", o->seed,
        loops_worst(&joined, &apart));
  gr_arena_destroy(arena);
}

static void small_nodes(void) {
  MUST(gr_device_find("cuda", GR_NOWHERE, &device));
  if (!gr_device_count(device)) SKIP("there is no GPU, and no stand-in");
  for (uint32_t seed = first; seed <= (last ? last : 4); seed++) {
    check_small(&(loops_body){seed, 6, 3 + 17 * (seed % 3), GR_F32}, 4);
    check_small(&(loops_body){seed, 4, 5, GR_F64}, 4);
  }
  check_small(&(loops_body){2, 6, 300, GR_F32}, 1);  // kernels of several blocks; some are large
}

// A loop of one step that has more than such a run: carries that are yields, stay as they are, or
// are read, and a loop in its body.
static void loops_of_one_step(void) {
  static loops_numbers want, got;
  MUST(gr_device_find("cuda", GR_NOWHERE, &device));
  if (!gr_device_count(device)) SKIP("there is no GPU, and no stand-in");
  for (uint32_t seed = first; seed <= (last ? last : 4); seed++) {
    gr_arena *arena = gr_arena_create();
    gr_graph *apart, *steps;
    loops_seen none = {0}, all = {0};
    MUST(loops_steps(arena, &(loops_body){seed, 2, 5, GR_F32}, 1, &apart));
    MUST(loops_steps(arena, &(loops_body){seed, 2, 5, GR_F32}, 2, &steps));
    loops_look(arena, apart, false, &none), loops_look(arena, steps, false, &all);
    CHECK(!none.kernels && all.small == 2, "%d kernels, and %d", none.kernels, all.small);
    loops_run(apart, arena, device, 2, &want), loops_run(steps, arena, device, 2, &got);
    CHECK(loops_same(&want, &got), "seed %u: launches make other bits: %g", seed,
          loops_worst(&got, &want));
    gr_arena_destroy(arena);
  }
}

// What a small node reads of a state is not overwritten because the node was put off, and the
// state's next value is written in its place none the less.
static void small_nodes_and_states(void) {
  enum { N = 6, LARGE = 1 << 14 };
  MUST(gr_device_find("cuda", GR_NOWHERE, &device));
  if (!gr_device_count(device)) SKIP("there is no GPU, and no stand-in");
  static loops_numbers apart, joined;
  gr_arena *arena = gr_arena_create();
  gr_builder builder = {.g = gr_graph_create(arena, NULL), .created_by = "test"}, *b = &builder;
  gr_type small = {GR_F32, 1, {N}}, large = {GR_F32, 1, {LARGE}};
  gr_val w = gr_leaf(b, GR_STATE, GR_KIND_WEIGHT, "w0", small, gr_layout_replicated);
  gr_val v = gr_leaf(b, GR_STATE, GR_KIND_WEIGHT, "w1", large, gr_layout_replicated);
  gr_val x = gr_leaf(b, GR_INPUT, GR_KIND_BUFFER, "x0", small, gr_layout_replicated);
  gr_val twice = gr_scale(b, w, 2), rest = gr_tanh(b, gr_mul(b, twice, x));
  gr_val sum = gr_sum(b, v, 0), next = gr_add(b, w, x);  // of the sum nothing is read
  gr_val more = gr_mul(b, gr_scale(b, v, 0.5), gr_broadcast(b, gr_sum(b, rest, 0), 0, LARGE));
  gr_at(b->g, w)->next = next, gr_at(b->g, v)->next = more;
  gr_result(b, "rest", rest), gr_result(b, "sum", sum), gr_result(b, "twice", twice);
  MUST(b->err);
  const gr_graph *less = join_small(arena, b->g);
  CHECK(less->n_nodes < b->g->n_nodes, "%u nodes are as many as before", less->n_nodes);
  gr_plan *plan;
  MUST(gr_plan_link(arena, &(gr_compiled){.kind = "train", .bucket = "", .g = less, .gpu = true}, 1,
                    &plan));
  const gr_plan_frame *f = &plan->programs->frame;
  for (uint32_t i = 1; i <= 2; i++)
    CHECK(f->in_states[less->values[i].next.id], "state %u is copied", i);
  loops_run(b->g, arena, device, 3, &apart), loops_run(less, arena, device, 3, &joined);
  CHECK(loops_same(&apart, &joined), "off by %g", loops_worst(&joined, &apart));
  gr_arena_destroy(arena);
}

int main(int argc, char **argv) {
  if (argc > 1 && atoi(argv[1]) > 0) {
    first = last = (uint32_t)atoi(argv[1]);
    argc--, argv++;
  }
  return RUN(argc, argv, {"small_nodes", small_nodes}, {"loops_of_one_step", loops_of_one_step},
             {"small_nodes_and_states", small_nodes_and_states});
}
