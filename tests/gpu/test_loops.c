// test_loops.c - loops as one kernel on the device cuda (ops/loop/scan_gpu.c), against the CPU
// running their nodes step by step: random bodies of products and elementwise nodes, fused or not,
// in all dtypes, alone and in training steps with their gradients.
//
//   test_gpu_loops [SEED]    one body of each kind
//   test_gpu_loops I/N       every N-th body, from the I-th, and what a GPU has room for: for other
//                            sizes of GPUs, whose kernels of loops are other kernels, and for other
//                            orders of the work
#include <stdlib.h>
#include "compiler/compile.h"
#include "ops/kernels/gpu.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"
#include "tests/check.h"
#include "tests/gpu/loops.h"
#include "tests/gpu/loops_run.h"
#include "tests/nodes.h"

static const gr_device_ops *device;
static uint32_t first = 1, last = 0;  // seeds, if they are given
static uint32_t share, shares = 1, bodies;
// Whether the next body is one of those that are asked for.
static bool is_in_share(void) { return bodies++ % shares == share; }

// ---- Bodies ------------------------------------------------------------------------------------

typedef struct kind {
  const char *name;
  gr_status (*make)(gr_arena *, const loops_body *, gr_graph **);
  uint32_t bodies;
  gr_dtype dtype;
  double tolerance;
} kind;
static const kind kinds[] = {
    {"square", loops_square, 12, GR_F32, 2e-4}, {"square", loops_square, 4, GR_F64, 1e-10},
    {"square", loops_square, 4, GR_BF16, 0.1},  {"square", loops_square, 4, GR_F16, 0.02},
    {"batch", loops_batch, 14, GR_F32, 2e-4},   {"batch", loops_batch, 4, GR_F64, 1e-10},
    {"batch", loops_batch, 10, GR_BF16, 0.1},   {"batch", loops_batch, 4, GR_F16, 0.02},
    {"train", loops_train, 8, GR_F32, 2e-4},    {"train", loops_train, 8, GR_BF16, 0.1},
    {"train", loops_train, 4, GR_F16, 0.02},
};

static void one(const kind *k, uint32_t seed, loops_seen *out) {
  static loops_numbers want, got;
  bool square = k->make == loops_square;
  loops_body o = {97 * seed + k->dtype, 4 + seed % 3, seed % 4 ? 3 + seed % 15 : 37, k->dtype};
  if (!square) o.rows = 1 + seed * 5 % 23;
  gr_arena *arena = gr_arena_create();
  gr_graph *g;
  MUST(k->make(arena, &o, &g));
  if (k->make != loops_train && seed % 2)
    MUST(gr_pass_run(arena, "fuse", g, &(gr_options){.optimizer.name = "sgd"}, &g));
  loops_look(arena, g, false, out);
  loops_run(g, arena, &gr_device_cpu, 1, &want);
  loops_run(g, arena, device, 1, &got);
  double off = loops_worst(&got, &want);
  CHECK(off <= k->tolerance, "%s of %s, seed %u: off by %g", k->name, gr_dtypes[k->dtype].name,
        seed, off);
  gr_arena_destroy(arena);
}

static void random_bodies(void) {
  loops_seen all = {0};
  MUST(gr_device_find("cuda", GR_NOWHERE, &device));
  if (!gr_device_count(device)) SKIP("there is no GPU, and no stand-in");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (uint32_t seed = first; seed <= (last ? last : kinds[i].bodies); seed++)
      if (is_in_share()) one(&kinds[i], seed, &all);
  printf("  %d loops, %d of them one kernel, in %d of which blocks wait for each other in a step\n",
         all.loops, all.kernels, all.waits);
  CHECK(all.kernels == all.loops, "%d loops run node by node", all.loops - all.kernels);
  CHECK(last || all.waits > all.loops / 3, "the bodies are too tame");
}

// ---- Columns that steps take apart, and put together in gradients: split_columns ---------------

static void check_gates(const loops_body *o, bool nested) {
  bool narrow = o->dtype == GR_BF16;
  static loops_numbers want, got;
  gr_arena *arena = gr_arena_create();
  gr_graph *whole, *split;
  loops_seen all = {0};
  MUST(loops_gates(arena, o, nested, false, &whole));
  MUST(loops_gates(arena, o, nested, true, &split));
  loops_look(arena, split, true, &all);
  CHECK(all.kernels == 2 && all.loops == (nested ? 4 : 2), "%d kernels of %d loops", all.kernels,
        all.loops);
  CHECK(all.most <= 1 + narrow, "seed %u: blocks wait %lld times a step", o->seed,
        (long long)all.most);
  loops_run(whole, arena, &gr_device_cpu, 1, &want);
  loops_run(split, arena, device, nested ? 2 : 1, &got);
  double off = loops_worst(&got, &want);
  CHECK(off <= (narrow ? 0.02 : 2e-5), "%s, seed %u%s: off by %g", gr_dtypes[o->dtype].name,
        o->seed, nested ? ", nested" : "", off);
  gr_arena_destroy(arena);
}

static void gates(void) {
  MUST(gr_device_find("cuda", GR_NOWHERE, &device));
  if (!gr_device_count(device)) SKIP("there is no GPU, and no stand-in");
  for (uint32_t seed = first; seed <= (last ? last : 6); seed++)
    for (int nested = 0; nested < 2; nested++) {
      if (is_in_share())
        check_gates(&(loops_body){seed, 4 + seed % 4, 1 + 3 * (seed % 7), GR_F32}, nested);
      if (seed < 3 && is_in_share()) check_gates(&(loops_body){seed, 4, 5, GR_BF16}, nested);
    }
}

// Matrices for which a kernel has to ask for more shared memory than any may have, on 4 processors.
static void much_shared_memory(void) {
  enum { USUAL = 48 << 10 };
  static loops_numbers want, got;
  MUST(gr_device_find("cuda", GR_NOWHERE, &device));
  if (!gr_device_count(device)) SKIP("there is no GPU, and no stand-in");
  gr_arena *arena = gr_arena_create();
  gr_graph *g;
  loops_seen all = {0};
  MUST(loops_square(arena, &(loops_body){3, 4, 140, GR_F32}, &g));
  loops_look(arena, g, false, &all);
  CHECK(all.shared > USUAL, "%zu bytes of shared memory are too few", all.shared);
  loops_run(g, arena, &gr_device_cpu, 1, &want);
  loops_run(g, arena, device, 1, &got);
  double off = loops_worst(&got, &want);
  CHECK(off <= 2e-4, "off by %g", off);
  gr_arena_destroy(arena);
}

static gr_val leaf(gr_builder *b, const char *name, gr_type t) {
  return gr_leaf(b, GR_INPUT, GR_KIND_BUFFER, name, t, gr_layout_replicated);
}

// A loop of one product, whose matrix takes more than a block's shared memory, and no more than
// that of a processor, where four blocks divide it: h' = tanh(h + x w).
static gr_status last_kilobyte(gr_arena *arena, gr_graph **out) {
  enum { STEPS = 4, K = 481, N = 480 };
  gr_builder builder = {.g = gr_graph_create(arena, NULL), .created_by = "test"}, *b = &builder;
  gr_type stack = {GR_F32, 3, {STEPS, 1, K}}, matrix = {GR_F32, 2, {K, N}},
          row = {GR_F32, 2, {1, N}};
  gr_loop l;
  gr_loop_open(&l, b, STEPS, false);
  gr_val x = gr_loop_seq(&l, leaf(b, "x0", stack)), w = gr_loop_const(&l, leaf(b, "w0", matrix));
  gr_val h = gr_loop_zero(&l, row, "h");
  gr_val sum = gr_add(&l.b, gr_scale(&l.b, gr_matmul(&l.b, x, w, false, false), 0.1), h);
  gr_loop_next(&l, h, gr_tanh(&l.b, sum));
  gr_loop_close(&l);
  gr_result(b, "last", gr_loop_last(&l, h));
  *out = b->g;
  return b->err;
}

// What a block cannot have is left where it is, although the processor has it.
static void memory_of_a_block(void) {
  enum { BLOCK = 227 << 10, PROCESSOR = 228 << 10, BLOCKS = 4 };
  static loops_numbers want, got;
  gr_arena *arena = gr_arena_create();
  gr_graph *g;
  gr_op_call call;
  gr_gpu_launch launch[GR_GPU_LAUNCHES];
  gr_gpu_call d = {.call = &call, .arena = arena, .launch = launch, .processors = BLOCKS};
  MUST(gr_device_find("cuda", GR_NOWHERE, &device));
  if (!gr_device_count(device)) SKIP("there is no GPU, and no stand-in");
  MUST(last_kilobyte(arena, &g));
  gr_op_call_of(g, &g->nodes[0], &call);
  d.shared = PROCESSOR;
  MUST(gr_gpu_describe(&d));
  size_t bytes = launch[d.n - 1].kernel.shared;
  CHECK(bytes > BLOCK && bytes <= PROCESSOR, "%zu bytes are not those of the last kB", bytes);
  loops_run(g, arena, &gr_device_cpu, 1, &want);
  loops_run(g, arena, device, 1, &got);
  double off = loops_worst(&got, &want);
  CHECK(off <= 2e-5, "off by %g", off);
  gr_arena_destroy(arena);
}

// What other blocks have written is read at the end of a step: no block waits for another after
// that, and the threads of each do before they take the product's elements apart in another way.
static gr_status ends_without_wait(gr_arena *arena, gr_graph **out) {
  enum { STEPS = 5, N = 40 };
  gr_builder builder = {.g = gr_graph_create(arena, NULL), .created_by = "test"}, *b = &builder;
  gr_type stack = {GR_F32, 3, {STEPS, N, N}}, square = {GR_F32, 2, {N, N}};
  gr_loop l;
  gr_loop_open(&l, b, STEPS, false);
  gr_val x = gr_loop_seq(&l, leaf(b, "x0", stack)), w = gr_loop_const(&l, leaf(b, "w0", square));
  gr_val a = gr_tanh(&l.b, gr_matmul(&l.b, x, w, false, false));
  gr_val p = gr_scale(&l.b, gr_matmul(&l.b, x, a, false, false), 0.1);
  int of_a = gr_loop_yield(&l, a), of_p = gr_loop_yield(&l, gr_tanh(&l.b, p));
  gr_loop_close(&l);
  gr_result(b, "a", gr_loop_stack(&l, of_a)), gr_result(b, "p", gr_loop_stack(&l, of_p));
  *out = b->g;
  return b->err;
}

static void threads_wait_where_blocks_do_not(void) {
  static loops_numbers want, got;
  gr_arena *arena = gr_arena_create();
  gr_graph *g;
  loops_seen all = {0};
  MUST(gr_device_find("cuda", GR_NOWHERE, &device));
  if (!gr_device_count(device)) SKIP("there is no GPU, and no stand-in");
  MUST(ends_without_wait(arena, &g));
  loops_look(arena, g, false, &all);
  CHECK(all.kernels == 1 && all.most == 1, "%d kernels, which wait %lld times a step", all.kernels,
        (long long)all.most);
  loops_run(g, arena, &gr_device_cpu, 1, &want);
  loops_run(g, arena, device, 1, &got);
  double off = loops_worst(&got, &want);
  CHECK(off <= 2e-5, "off by %g", off);
  gr_arena_destroy(arena);
}

// ---- Bodies that are captured ------------------------------------------------------------------

// Bodies that are no kernel: the first run of a program enqueues each step, the second captures the
// body once, the third replays that. The second seed's slices, of 5 kB, are copied by two blocks.
static void repeat(gr_status (*make)(gr_arena *, const loops_body *, gr_graph **),
                   const loops_body *o, int runs) {
  static loops_numbers want, got;
  gr_arena *arena = gr_arena_create();
  gr_graph *g;
  MUST(make(arena, o, &g));
  loops_run(g, arena, &gr_device_cpu, 1, &want);
  int nodes = loops_run(g, arena, device, runs, &got);
  double off = loops_worst(&got, &want);
  CHECK(off <= 2e-5, "seed %u, %d runs: off by %g", o->seed, runs, off);
  CHECK(runs == 1 || (nodes > 0 && nodes < 20), "%d nodes are captured", nodes);
  gr_arena_destroy(arena);
}

static void repeated_bodies(void) {
  MUST(gr_device_find("cuda", GR_NOWHERE, &device));
  if (!gr_device_count(device)) SKIP("there is no GPU, and no stand-in");
  for (uint32_t seed = first; seed <= (last ? last : 3); seed++)
    for (int runs = 1; runs <= 3; runs += 2)
      repeat(loops_long, &(loops_body){seed, 300, seed == 2 ? 37 : 5, GR_F32}, runs);
  repeat(loops_layers, &(loops_body){first, 520, 1, GR_F32}, 3);
}

// The device counts steps in memory that something else has had, here a program that was captured:
// the loop is not a part of it. A slice lies between packs.
static gr_status no_body(void *unused) { return (void)unused, GR_OK; }
typedef struct filled {
  gr_device *d;
  void *memory;
} filled;
static gr_status fill(void *arg) {
  const filled *f = arg;
  return f->d->ops->fill(f->d, f->memory, 0xff, 512);
}
static void counters_are_cleared(void) {
  enum { STEPS = 3, BYTES = 4096, FIRST = 516 };
  static char got[BYTES];
  gr_device *d;
  gr_device_block b;
  MUST(gr_device_find("cuda", GR_NOWHERE, &device));
  if (!gr_device_count(device)) SKIP("there is no GPU, and no stand-in");
  MUST(device->open(&(gr_device_options){.threads = 1, .ranks = 1}, &d));
  if (!d->ops->loop) SKIP("the device repeats no loops");
  MUST(d->ops->allocate(d, BYTES, NULL, &b));
  char *memory = b.address;
  gr_device_slice slice = {memory + FIRST, memory + 256, 16, 16, 0};
  gr_device_loop l = {.steps = STEPS, .counter = memory, .body = no_body};
  l.slice[GR_LOOP_AFTER] = &slice, l.n[GR_LOOP_AFTER] = 1;
  filled f = {d, memory};
  MUST(d->ops->loop_open(d, &(gr_op_call){.op = &gr_op_scan}));
  MUST(d->ops->ready(d));
  for (int i = 0; i < 2; i++) MUST(d->ops->run(d, (const gr_graph *)(const void *)&f, fill, &f));
  MUST(d->ops->loop(d, &l));
  MUST(d->ops->synchronise(d, GR_QUEUE_COMPUTE));
  MUST(d->ops->download(d, got, memory, BYTES));
  MUST(d->ops->synchronise(d, GR_QUEUE_TRANSFER));
  for (int i = 512; i < BYTES; i++)
    CHECK((got[i] != 0) == (i >= FIRST && i < FIRST + 16 * STEPS), "byte %d is %d", i, got[i]);
  d->ops->free(d, &b);
  d->ops->close(d);
}

// ---- Bodies of other nodes: a kernel of one block
// ------------------------------------------------------

static void check_steps(const loops_body *o, double tolerance) {
  static loops_numbers want, got, apart;
  gr_arena *arena = gr_arena_create();
  gr_graph *whole, *parts;
  loops_seen all = {0}, none = {0};
  MUST(loops_steps(arena, o, 1, &whole));
  MUST(loops_steps(arena, o, 2, &parts));  // of so few steps that they are launched node by node
  loops_look(arena, whole, false, &all), loops_look(arena, parts, false, &none);
  CHECK(all.kernels == 1 && !none.kernels, "%d kernels, and %d of parts", all.kernels,
        none.kernels);
  loops_run(whole, arena, &gr_device_cpu, 1, &want);
  loops_run(whole, arena, device, 2, &got);
  loops_run(parts, arena, device, 1, &apart);
  double off = loops_worst(&got, &want);
  CHECK(off <= tolerance, "seed %u: off by %g", o->seed, off);
  CHECK(loops_same(&got, &apart), "seed %u: launches make other bits: %g", o->seed,
        loops_worst(&got, &apart));
  gr_arena_destroy(arena);
}

static void steps_of_environments(void) {
  MUST(gr_device_find("cuda", GR_NOWHERE, &device));
  if (!gr_device_count(device)) SKIP("there is no GPU, and no stand-in");
  for (uint32_t seed = first; seed <= (last ? last : 4); seed++) {
    if (!is_in_share()) continue;
    check_steps(&(loops_body){seed, 6, 3 + 17 * (seed % 3), GR_F32}, 2e-5);
    check_steps(&(loops_body){seed, 4, 5, GR_F64}, 1e-10);
  }
  check_steps(&(loops_body){2, 6, 300, GR_F32}, 2e-5);  // kernels of several blocks
}

static int run(int argc, char **argv) {
  if (shares == 1)
    return RUN(argc, argv, {"random_bodies", random_bodies}, {"gates", gates},
               {"much_shared_memory", much_shared_memory}, {"memory_of_a_block", memory_of_a_block},
               {"threads_wait_where_blocks_do_not", threads_wait_where_blocks_do_not},
               {"repeated_bodies", repeated_bodies}, {"counters_are_cleared", counters_are_cleared},
               {"steps_of_environments", steps_of_environments});
  return RUN(argc, argv, {"random_bodies", random_bodies}, {"gates", gates},
             {"much_shared_memory", much_shared_memory}, {"memory_of_a_block", memory_of_a_block},
             {"steps_of_environments", steps_of_environments});
}

int main(int argc, char **argv) {
  int number = argc > 1 ? atoi(argv[1]) : 0;
  const char *slash = argc > 1 ? strchr(argv[1], '/') : NULL;
  if (slash && atoi(slash + 1) > number)
    share = (uint32_t)number, shares = (uint32_t)atoi(slash + 1);
  else if (number > 0)
    first = last = (uint32_t)number;
  if (shares > 1 || last) argc--, argv++;
  return run(argc, argv);
}
