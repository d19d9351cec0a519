// test_schedule.c - the order of nodes: what GPUs launch together follows each other.
#include "compiler/compile.h"
#include "compiler/pass.h"
#include "ops/ops.h"
#include "tests/check.h"
#include "tests/ir/parse.h"

static gr_arena *arena;

// The nodes by their lines in the text, in the order that the pass gives them.
static void check_order(const char *text, const gr_options *o, const char *want) {
  gr_graph *g, *out;
  char got[512] = "";
  MUST(graph_parse(arena, gr_op_find, "text", text, &g));
  MUST(gr_pass_run(arena, "schedule", g, o, &out));
  for (uint32_t i = 0; i < out->n_nodes; i++) {
    size_t used = strlen(got);
    snprintf(got + used, sizeof got - used, "%s%d", i ? " " : "", out->nodes[i].loc.line);
  }
  CHECK(!strcmp(got, want), "not '%s' but '%s'", want, got);
}

static const gr_options on_cpu, on_gpu = {.gpu = true};

// Casts of states that the backward pass reads come first; where values are computed again all stay
// where they are read.
static void casts(void) {
  static const char text[] =
      "%1 = input x : f32[4,8]\n"
      "%2 = weight w : f32[8]\n"
      "%3 = weight v : f32[8]\n"
      "%4 = cast %1 {to=bf16} : bf16[4,8]\n"
      "%5 = cast %2 {to=bf16} : bf16[8]\n"
      "%6 = bias_add %4 %5 : bf16[4,8]\n"
      "%7 = cast %3 {to=bf16} : bf16[8]\n"
      "%8 = bias_add %6 %7 : bf16[4,8]\n"
      "%9 = sum %8 {axes=[0,1]} : bf16[]\n"
      "%10 = mul %5 %7 : bf16[8]\n"
      "result y %10\n";
  gr_options again = on_gpu;
  again.memory.recomputed = (const gr_map *)(const void *)&again;
  check_order(text, &on_cpu, "4 5 6 7 8 9 10");
  check_order(text, &on_gpu, "5 7 4 6 8 9 10");
  check_order(text, &again, "4 5 6 7 8 9 10");
}

// Where as many bytes of them are read once as are read again, each is made where it is read.
static void forward_casts(void) {
  static const char text[] =
      "%1 = input x : bf16[200000]\n"
      "%2 = weight w : f32[200000]\n"
      "%3 = weight v : f32[200000]\n"
      "%4 = relu %1 : bf16[200000]\n"
      "%5 = cast %2 {to=bf16} : bf16[200000]\n"
      "%6 = mul %4 %5 : bf16[200000]\n"
      "%7 = cast %3 {to=bf16} : bf16[200000]\n"
      "%8 = mul %6 %7 : bf16[200000]\n"
      "%9 = sum %8 {axes=[0]} : bf16[]\n"
      "%10 = relu %7 : bf16[200000]\n"
      "result y %10\n";
  check_order(text, &on_cpu, "4 5 6 7 8 9 10");
  check_order(text, &on_gpu, "4 5 6 7 8 9 10");
}

// Small updates that nothing reads come last, so that they follow each other. The total of 300 kB
// does not keep its term for so long.
static void small_updates(void) {
  static const char text[] =
      "%1 = input x : f32[8]\n"
      "%2 = input z : f32[75000]\n"
      "%3 = input micro : i32[]\n"
      "%4 = grad_accumulator a : f32[8] next=%8\n"
      "%5 = grad_accumulator b : f32[75000] next=%10\n"
      "%6 = grad_accumulator c : f32[8] next=%12\n"
      "%7 = relu %1 : f32[8]\n"
      "%8 = accumulate %4 %7 %3 : f32[8]\n"
      "%9 = relu %2 : f32[75000]\n"
      "%10 = accumulate %5 %9 %3 : f32[75000]\n"
      "%11 = tanh %7 : f32[8]\n"
      "%12 = accumulate %6 %11 %3 : f32[8]\n"
      "%13 = tanh %9 : f32[75000]\n"
      "result y %13\n";
  check_order(text, &on_cpu, "7 8 9 10 11 12 13");
  check_order(text, &on_gpu, "7 9 10 11 13 8 12");
}

// Updates of slices, which are gathered: slices, then updates, then gathers; and the gradient that
// is not there yet makes another launch.
static void sliced_updates(void) {
  static const char text[] =
      "mesh dp=2\n"
      "%1 = input lr : f32[]\n"
      "%2 = input g : f32[4] dp:S0\n"
      "%3 = weight w : f32[8] next=%9\n"
      "%4 = weight v : f32[8] next=%12\n"
      "%5 = weight u : f32[8] next=%16\n"
      "%6 = input one : f32[]\n"
      "%7 = shard_slice %3 {mesh_axis=0, ranks=2, group=0, dim=[0], size=[]} : f32[4] dp:S0\n"
      "%8 = sgd %7 %2 %1 %6 %6 : f32[4] dp:S0\n"
      "%9 = all_gather %8 {mesh_axis=0, ranks=2, group=0, dim=[0], size=[8]} : f32[8]\n"
      "%10 = shard_slice %4 {mesh_axis=0, ranks=2, group=0, dim=[0], size=[]} : f32[4] dp:S0\n"
      "%11 = sgd %10 %2 %1 %6 %6 : f32[4] dp:S0\n"
      "%12 = all_gather %11 {mesh_axis=0, ranks=2, group=0, dim=[0], size=[8]} : f32[8]\n"
      "%13 = shard_slice %5 {mesh_axis=0, ranks=2, group=0, dim=[0], size=[]} : f32[4] dp:S0\n"
      "%14 = tanh %8 : f32[4] dp:S0\n"
      "%15 = sgd %13 %14 %1 %6 %6 : f32[4] dp:S0\n"
      "%16 = all_gather %15 {mesh_axis=0, ranks=2, group=0, dim=[0], size=[8]} : f32[8]\n";
  check_order(text, &on_cpu, "8 9 10 11 12 13 14 15 16 17");
  check_order(text, &on_gpu, "8 11 9 12 10 13 14 15 16 17");
}

// What a program without updates gives states: the whole of one is not kept while others are made.
static void initial_slices(void) {
  static const char text[] =
      "mesh dp=2\n"
      "%1 = weight w : f32[100000] dp:S0 next=%4\n"
      "%2 = weight v : f32[100000] dp:S0 next=%6\n"
      "%3 = fill {shape=[200000], value=1.0, dtype=f32} : f32[200000]\n"
      "%4 = shard_slice %3 {mesh_axis=0, ranks=2, group=0, dim=[0], size=[]} : f32[100000] dp:S0\n"
      "%5 = fill {shape=[200000], value=2.0, dtype=f32} : f32[200000]\n"
      "%6 = shard_slice %5 {mesh_axis=0, ranks=2, group=0, dim=[0], size=[]} : f32[100000] dp:S0\n";
  check_order(text, &on_gpu, "4 5 6 7");
}

static void orders(void) {
  arena = gr_arena_create();
  casts();
  forward_casts();
  small_updates();
  sliced_updates();
  initial_slices();
  gr_arena_destroy(arena);
}

int main(int argc, char **argv) { return RUN(argc, argv, {"orders", orders}); }
