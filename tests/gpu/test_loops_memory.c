// test_loops_memory.c - the working memory that a plan has for a loop is enough for the loop's
// kernel on each GPU of gpus.def. It needs no GPU, and no stand-in.
#include "ops/kernels/gpu.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"
#include "tests/check.h"
#include "tests/gpu/loops.h"

typedef struct gpu {
  const char *name;
  int arch, processors;
  size_t all_shared, shared, cache;
} gpu;
static const gpu gpus[] = {
#define GPU(name, arch, processors, all_shared, shared, cache, threads, blocks) \
  {name, arch, processors, (all_shared) << 10, (shared) << 10, (size_t)(cache) << 20},
#include "tests/gpu/gpus.def"
    {"one processor", 70, 1, 96 << 10, 96 << 10, 6 << 20}};

// What the kernel of a loop needs on a GPU, or else its captured body.
static size_t need_on(gr_arena *arena, const gr_op_call *call, const gpu *on) {
  gr_gpu_launch launch[GR_GPU_LAUNCHES];
  gr_gpu_call d = {.call = call, .arena = arena, .launch = launch};
  d.processors = on->processors, d.shared = on->shared;
  gr_status s = gr_gpu_describe(&d);
  for (int k = 0; !s && k < d.n; k++)
    CHECK(launch[k].kind != GR_GPU_KERNEL || launch[k].kernel.shared <= on->shared,
          "%zu bytes of shared memory on %s", launch[k].kernel.shared, on->name);
  gr_status_drop(s);
  return d.scratch;
}

static void check_needs(gr_arena *arena, const gr_graph *g, int *differ) {
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    gr_op_call call;
    gr_op_call_of(g, &g->nodes[i], &call);
    if (call.op != &gr_op_scan) continue;
    size_t planned = gr_call_scratch(&call, true), before = need_on(arena, &call, &gpus[0]);
    for (size_t k = 0; k < sizeof gpus / sizeof *gpus; k++) {
      size_t bytes = need_on(arena, &call, &gpus[k]);
      *differ += bytes != before;
      CHECK(bytes <= planned, "%zu bytes on %s, %zu planned", bytes, gpus[k].name, planned);
    }
  }
}

// The plan's working memory is enough on each GPU.
static void planned_memory_is_enough(void) {
  static gr_status (*const make[])(gr_arena *, const loops_body *, gr_graph **) = {
      loops_square, loops_batch, loops_train};
  static const gr_dtype dtypes[] = {GR_F32, GR_BF16, GR_F16, GR_F64};
  int differ = 0;
  for (uint32_t i = 0; i < 11; i++)  // without training in f64
    for (uint32_t seed = 1; seed <= 40; seed++) {
      gr_arena *arena = gr_arena_create();
      gr_graph *g;
      loops_body o = {31 * seed, 4 + seed % 300, 2 + seed * 7 % 150, dtypes[i / 3]};
      MUST(make[i % 3](arena, &o, &g));
      check_needs(arena, g, &differ);
      gr_arena_destroy(arena);
    }
  for (uint32_t seed = 1; seed <= 40; seed++) {
    gr_arena *arena = gr_arena_create();
    gr_graph *g;
    MUST(loops_steps(arena, &(loops_body){seed, 4 + seed % 9, 1 + 37 * seed, GR_F32}, 1, &g));
    check_needs(arena, g, &differ);
    gr_arena_destroy(arena);
  }
  CHECK(differ > 20, "GPUs need other memory in %d cases only", differ);
}

// A chain of six softmaxes: of its values the last, which is the carry's next one, has two places
// for all steps, and of the others each takes that of the last but one.
static void values_share_places(void) {
  enum { STEPS = 5, CHAIN = 6, WIDTH = 256 };
  gr_arena *arena = gr_arena_create();
  gr_builder builder = {.g = gr_graph_create(arena, NULL), .created_by = "test"}, *b = &builder;
  gr_type row = {GR_F32, 2, {1, WIDTH}};
  gr_loop l;
  gr_loop_open(&l, b, STEPS, false);
  gr_val h = gr_loop_carry(
      &l, gr_leaf(b, GR_INPUT, GR_KIND_BUFFER, "h", row, gr_layout_replicated), "h");
  gr_val v = h;
  for (int i = 0; i < CHAIN; i++) v = GR_EMIT(&l.b, &gr_op_softmax, &(int64_t){0}, v);
  gr_loop_next(&l, h, v);
  gr_loop_close(&l);
  MUST(b->err);
  gr_op_call call;
  gr_op_call_of(b->g, &b->g->nodes[0], &call);
  size_t bytes = gr_call_scratch(&call, true), each = WIDTH * sizeof(float);
  CHECK(bytes == 4 * each, "%zu bytes, for values of %zu", bytes, each);
  gr_arena_destroy(arena);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"planned_memory_is_enough", planned_memory_is_enough},
             {"values_share_places", values_share_places});
}
