// test_rows.c - loops of rows that depend on no other rows, on the device cuda against the CPU:
// kernels whose blocks have some of the rows each (gr_scan_part), with carries that add up
// something of all rows, and kernels of all blocks whose rows end at different steps.
#include "compiler/pass.h"
#include "ops/kernels/gpu.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"
#include "tests/check.h"
#include "tests/gpu/loops_run.h"

enum { STEPS = 5, WIDTH = 6, STATE = 3 };
static const gr_device_ops *device;

static gr_val leaf(gr_builder *b, const char *name, gr_type t) {
  return gr_leaf(b, GR_INPUT, GR_KIND_BUFFER, name, t, gr_layout_replicated);
}

// The kernels of the loop that is the graph's only node of its kind; how many it has.
static int describe(gr_arena *arena, const gr_graph *g, gr_gpu_launch *launch) {
  static gr_op_call call;
  gr_gpu_call d = {.call = &call, .arena = arena, .launch = launch, .processors = 4};
  const gr_node *n = g->nodes;
  while (n->op != &gr_op_scan) n++;
  gr_op_call_of(g, n, &call);
  d.shared = 160 << 10;
  MUST(gr_gpu_describe(&d));
  return d.n;
}

static void compare(gr_arena *arena, const gr_graph *g, const char *what) {
  static loops_numbers want, got;
  loops_run(g, arena, &gr_device_cpu, 1, &want);
  for (int runs = 1; runs < 4; runs += 2) {
    loops_run(g, arena, device, runs, &got);
    double off = loops_worst(&got, &want);
    CHECK(off <= 2e-5, "%s, %d runs: off by %g", what, runs, off);
  }
}

// h [rows, WIDTH, STATE] decays by a constant matrix at the rate of d and takes x; y is its sum
// over the state. Carries beside it: the sum over rows of all steps, and a number that is no row's.
static gr_status selective(gr_arena *arena, int64_t rows, bool reverse, bool sums, gr_graph **out) {
  gr_builder builder = {.g = gr_graph_create(arena, NULL), .created_by = "test"}, *b = &builder;
  gr_type stack = {GR_F32, 3, {STEPS, rows, WIDTH}}, matrix = {GR_F32, 2, {WIDTH, STATE}},
          state = {GR_F32, 3, {rows, WIDTH, STATE}};
  gr_loop l;
  gr_loop_open(&l, b, STEPS, reverse);
  gr_builder *in = &l.b;
  gr_val d = gr_loop_seq(&l, leaf(b, "d", stack)), x = gr_loop_seq(&l, leaf(b, "x", stack));
  gr_val a = gr_loop_const(&l, gr_broadcast(b, leaf(b, "w", matrix), 0, rows));
  gr_val h = gr_loop_carry(&l, leaf(b, "h", state), "h"), s = GR_NONE;
  gr_val place = gr_loop_carry(&l, leaf(b, "p", (gr_type){GR_F32, 0, {0}}), "p");
  gr_val decay = gr_exp(in, gr_mul(in, gr_broadcast(in, d, 2, STATE), a));
  gr_val next = gr_add(in, gr_mul(in, decay, gr_scale(in, h, 0.3)), gr_broadcast(in, x, 2, STATE));
  gr_loop_next(&l, h, gr_tanh(in, next));
  if (sums) s = gr_loop_zero(&l, matrix, "s");
  if (sums) gr_loop_next(&l, s, gr_add(in, s, gr_sum(in, next, 0)));
  gr_loop_next(&l, place, gr_add_scalar(in, place, 1));
  int y = gr_loop_yield(&l, gr_sum(in, next, 2)), z = gr_loop_yield(&l, gr_at(in->g, h)->next);
  gr_loop_close(&l);
  gr_result(b, "y", gr_loop_stack(&l, y)), gr_result(b, "z", gr_loop_stack(&l, z));
  gr_result(b, "h", gr_loop_last(&l, h));
  gr_result(b, "p", gr_loop_last(&l, place));
  if (sums) gr_result(b, "s", gr_loop_last(&l, s));
  *out = b->g;
  return b->err;
}

static void check_parts(int64_t rows, int64_t blocks, bool reverse, bool sums) {
  gr_gpu_launch launch[GR_GPU_LAUNCHES];
  gr_arena *arena = gr_arena_create();
  gr_graph *g;
  MUST(selective(arena, rows, reverse, sums, &g));
  if (rows % 2) MUST(gr_pass_run(arena, "fuse", g, &(gr_options){0}, &g));
  int n = describe(arena, g, launch);
  CHECK(launch[0].kernel.blocks == blocks, "%lld rows are those of %lld blocks", (long long)rows,
        (long long)launch[0].kernel.blocks);
  CHECK(n == (blocks > 1 && sums ? 2 : 1), "%d kernels", n);
  compare(arena, g, "parts of rows");
  gr_arena_destroy(arena);
}

static void blocks_have_rows(void) {
  MUST(gr_device_find("cuda", GR_NOWHERE, &device));
  if (!gr_device_count(device)) SKIP("there is no GPU, and no stand-in");
  check_parts(1, 1, false, true);
  check_parts(7, 7, false, true);
  check_parts(12, 12, true, true);
  check_parts(218, 2, true, true);  // 109 rows each
  check_parts(216, 108, false, false);
}

// A mean over the batch makes rows depend on each other.
static void rows_that_mix(void) {
  gr_arena *arena = gr_arena_create();
  gr_builder builder = {.g = gr_graph_create(arena, NULL), .created_by = "test"}, *b = &builder;
  gr_gpu_launch launch[GR_GPU_LAUNCHES];
  gr_type stack = {GR_F32, 3, {STEPS, 4, WIDTH}}, row = {GR_F32, 2, {4, WIDTH}};
  gr_loop l;
  MUST(gr_device_find("cuda", GR_NOWHERE, &device));
  if (!gr_device_count(device)) SKIP("there is no GPU, and no stand-in");
  gr_loop_open(&l, b, STEPS, false);
  gr_val x = gr_loop_seq(&l, leaf(b, "x", stack)), h = gr_loop_zero(&l, row, "h");
  gr_val sorted = gr_transpose(&l.b, h, (gr_ints){2, {1, 0}});
  gr_val all = gr_broadcast(&l.b, gr_sum(&l.b, sorted, 1), 0, 4);
  gr_loop_next(&l, h, gr_tanh(&l.b, gr_add(&l.b, x, gr_scale(&l.b, all, 0.1))));
  gr_loop_close(&l);
  gr_result(b, "h", gr_loop_last(&l, h));
  MUST(b->err);
  describe(arena, b->g, launch);
  CHECK(launch[0].kernel.blocks == 1, "%lld blocks", (long long)launch[0].kernel.blocks);
  compare(arena, b->g, "rows that depend on others");
  gr_arena_destroy(arena);
}

// h' = tanh(h w + x) in the rows that go on: those of which m, a column, is not 0.
static gr_status ended(gr_arena *arena, int64_t rows, int64_t width, gr_graph **out) {
  gr_builder builder = {.g = gr_graph_create(arena, NULL), .created_by = "test"}, *b = &builder;
  gr_type column = {GR_F32, 3, {STEPS, rows, 1}}, stack = {GR_F32, 3, {STEPS, rows, width}};
  gr_type matrix = {GR_F32, 2, {width, width}}, state = {GR_F32, 2, {rows, width}};
  gr_loop l;
  gr_val m = gr_relu(b, leaf(b, "m", column));  // half of them are 0
  gr_loop_open(&l, b, STEPS, false);
  gr_val x = gr_loop_seq(&l, leaf(b, "x", stack)), w = gr_loop_const(&l, leaf(b, "w", matrix));
  gr_val h = gr_loop_carry(&l, leaf(b, "h", state), "h");
  gr_val on = gr_broadcast(&l.b, gr_sum(&l.b, gr_loop_seq(&l, m), 1), 1, width);
  gr_val z = gr_tanh(&l.b, gr_add(&l.b, gr_matmul(&l.b, h, w, false, false), x));
  gr_loop_next(&l, h, gr_where(&l.b, on, z, h));
  int y = gr_loop_yield(&l, gr_at(l.b.g, h)->next), seen = gr_loop_yield(&l, gr_mul(&l.b, on, z));
  gr_loop_close(&l);
  gr_result(b, "y", gr_loop_stack(&l, y)), gr_result(b, "seen", gr_loop_stack(&l, seen));
  *out = b->g;
  return b->err;
}

static void rows_end(void) {
  static const int64_t sizes[][2] = {{5, 9}, {24, 40}, {9, 9}};
  gr_gpu_launch launch[GR_GPU_LAUNCHES];
  MUST(gr_device_find("cuda", GR_NOWHERE, &device));
  if (!gr_device_count(device)) SKIP("there is no GPU, and no stand-in");
  for (int i = 0; i < 6; i++) {
    gr_arena *arena = gr_arena_create();
    gr_graph *g;
    MUST(ended(arena, sizes[i / 2][0], sizes[i / 2][1], &g));
    MUST(gr_pass_run(arena, "loop_hoist", g, &(gr_options){0}, &g));
    if (i % 2) MUST(gr_pass_run(arena, "fuse", g, &(gr_options){0}, &g));
    int n = describe(arena, g, launch);
    CHECK(launch[n - 1].kernel.cooperative, "%d: it is no kernel of all blocks", i);
    compare(arena, g, "rows that end");
    gr_arena_destroy(arena);
  }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"blocks_have_rows", blocks_have_rows}, {"rows_that_mix", rows_that_mix},
             {"rows_end", rows_end});
}
