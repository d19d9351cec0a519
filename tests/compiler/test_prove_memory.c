// test_prove_memory.c - the proof of memory refuses every plan in which a value would be
// overwritten before its last read. Graphs are given as text and planned, and then their plans are
// changed.
#include <string.h>
#include "compiler/compile.h"
#include "compiler/plan/prove.h"
#include "ops/ops.h"
#include "tests/check.h"
#include "tests/ir/parse.h"

static gr_arena *arena;
static gr_plan *plan;
static gr_plan_frame *frame;  // of its only program

static void open_plan_for(const char *text, bool gpu) {
  gr_graph *g;
  arena = gr_arena_create();
  MUST(graph_parse(arena, gr_op_find, "text", text, &g));
  gr_compiled c = {.kind = "eval", .bucket = "", .g = g, .gpu = gpu};
  MUST(gr_plan_link(arena, &c, 1, &plan));
  frame = &plan->programs[0].frame;
}

static void open_plan(const char *text) { open_plan_for(text, false); }

static void refuses(const char *wanted, const char *what, uint32_t a, uint32_t b) {
  gr_status s = gr_plan_prove(plan);
  CHECK(s && strstr(gr_status_text(s), wanted), "%s, %%%u and %%%u: %s", what, a, b,
        s ? gr_status_text(s) : "proved");
  if (s) gr_status_drop(s);
}

// Nothing reads %2, %3 and %5 of the graph, but they are needed when it has run: two as results,
// one as a state's next value, which is not made where the state is, since %6 reads that later.
static void what_outlives_the_graph(void) {
  open_plan(
      "%1 = input x : f32[4]\n%2 = relu %1 : f32[4]\n%3 = tanh %1 : f32[4]\n"
      "%4 = buffer s : f32[4] next=%5\n%5 = relu %4 : f32[4]\n%6 = tanh %4 : f32[4]\n"
      "%7 = square %1 : f32[4]\nresult a %2\nresult b %3\nresult c %6\nresult d %7\n");
  static const uint32_t made[] = {2, 3, 5, 6, 7};  // in order
  CHECK(!frame->in_states[5], "the next value is made in the state, which is read later");
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < i; j++) {
      size_t original = frame->offset[made[i]];
      frame->offset[made[i]] = frame->offset[made[j]];
      refuses("which is still read", "a value on an earlier one", made[i], made[j]);
      frame->offset[made[i]] = original;
    }
  MUST(gr_plan_prove(plan));
  gr_arena_destroy(arena);
}

// A copy of a state is of what it was before the step: a fetch that comes after the state's next
// value is made keeps that from being made in its place.
static void copies_come_before_updates(void) {
  open_plan(
      "%1 = input g : f32[64]\n%2 = input i : i32[]\n%3 = buffer s : f32[64] next=%4\n"
      "%4 = accumulate %3 %1 %2 : f32[64]\n%5 = fetch %3 {nth=1} : f32[64]\n"
      "%6 = tanh %5 : f32[64]\nresult a %6\n");
  CHECK(!frame->in_states[4], "the next value is made in the state, which is copied later");
  size_t original = frame->offset[4];
  frame->offset[4] = frame->offset[3], frame->in_states[4] = true;
  refuses("which is still read", "the next value on a state that is copied later", 4, 3);
  frame->offset[4] = original, frame->in_states[4] = false;
  MUST(gr_plan_prove(plan));
  gr_arena_destroy(arena);
}

// A state keeps its value where nothing becomes it, though nothing reads it any more; and only what
// becomes a state may be made in it.
static void states_keep_their_values(void) {
  open_plan(
      "%1 = buffer s : f32[4]\n%2 = buffer u : f32[4] next=%4\n%3 = relu %1 : f32[4]\n"
      "%4 = relu %2 : f32[4]\n%5 = tanh %3 : f32[4]\n%6 = tanh %5 : f32[4]\nresult y %6\n");
  CHECK(frame->in_states[4] && frame->offset[4] == frame->offset[2], "%%4 is made where u is");
  for (uint32_t v = 3; v <= 6; v++)
    for (uint32_t s = 1; s <= 2; s++) {
      if (v == 4 && s == 2) continue;
      size_t original = frame->offset[v];
      bool in_states = frame->in_states[v];
      frame->offset[v] = frame->offset[s], frame->in_states[v] = true;
      // %4 becomes u: on s it is no state's next value in place.
      refuses("overwrites a state of which it is not the next value", "a value on a state", v, s);
      frame->offset[v] = original, frame->in_states[v] = in_states;
    }
  MUST(gr_plan_prove(plan));
  gr_arena_destroy(arena);
}

// What an op works in lies on nothing that is read at the time or later, its own result included,
// and within the arena.
static void working_memory_lies_apart(void) {
  open_plan(
      "%1 = input x : f32[64]\n%2 = relu %1 : f32[64]\n%3 = sum_squares %2 : f32[]\n"
      "%4 = tanh %2 : f32[64]\nresult a %3\nresult b %4\n");
  size_t original = frame->scratch[1];
  for (uint32_t v = 2; v <= 3; v++) {
    frame->scratch[1] = frame->offset[v];
    refuses("the working memory of 'sum_squares'", "working memory on a value", 3, v);
  }
  frame->scratch[1] = frame->bytes;
  refuses("is outside its block", "working memory behind the arena", 3, 0);
  frame->scratch[1] = original;
  MUST(gr_plan_prove(plan));
  gr_arena_destroy(arena);
}

// The same for the piece of memory in which the steps of a loop run, and for what is in it.
static void bodies_lie_apart(void) {
  open_plan(
      "%1 = input x : f32[5,64]\n%2 = relu %1 : f32[5,64]\n"
      "%3 = scan %2 {steps=5, reverse=false, n_seq=1, n_carry=0, n_init=0} : f32[5,64]\n"
      "body {\n  %1 = input x : f32[64]\n  %2 = relu %1 : f32[64]\n  %3 = tanh %1 : f32[64]\n"
      "  %4 = mul %2 %3 : f32[64]\n  result %4\n}\n"
      "%4 = tanh %2 : f32[5,64]\nresult a %3\nresult b %4\n");
  gr_plan_frame *body = frame->body[1];
  size_t original = frame->body_at[1];
  for (uint32_t v = 2; v <= 3; v++) {
    frame->body_at[1] = frame->offset[v];
    refuses("the body of 'scan'", "a body on a value", 3, v);
  }
  frame->body_at[1] = plan->arena_bytes;
  refuses("is outside its block", "a body behind the arena", 3, 0);
  frame->body_at[1] = original;
  original = body->offset[3], body->offset[3] = body->offset[2];
  refuses("which is still read", "values of a body", 3, 2);
  body->offset[3] = original;
  MUST(gr_plan_prove(plan));
  gr_arena_destroy(arena);
}

// A fused node reads vectors and integers for every row, until it has written its last: a result of
// as many bytes is not made there, only in an operand of its own type, element by element.
static void fused_nodes_in_place(void) {
  open_plan(
      "%1 = input x : bf16[2,8]\n%2 = input v : f32[8]\n%3 = input s : i32[8]\n"
      "%4 = tanh %1 : bf16[2,8]\n%5 = tanh %2 : f32[8]\n%6 = add %3 %3 : i32[8]\n"
      "%7 %8 = fused %4 %5 : bf16[2,8], bf16[2,8]\n"
      "body {\n  %1 = input : bf16[2,8]\n  %2 = input : f32[8]\n  %3 = relu %1 : bf16[2,8]\n"
      "  %4 = cast %3 {to=f32} : f32[2,8]\n  %5 = bias_add %4 %2 : f32[2,8]\n"
      "  %6 = cast %5 {to=bf16} : bf16[2,8]\n  result %3\n  result %6\n}\n"
      "%9 = reshape %8 {shape=[8,1,2]} : bf16[8,1,2]\n"
      "%10 %11 = fused %9 %6 : bf16[8,1,2], bf16[8,1,2]\n"
      "body {\n  %1 = input : bf16[8,1,2]\n  %2 = input : i32[8]\n"
      "  %3 = cast %1 {to=f32} : f32[8,1,2]\n  %4 = softmax %3 %2 {causal=false} : f32[8,1,2]\n"
      "  %5 = cast %4 {to=bf16} : bf16[8,1,2]\n  %6 = relu %1 : bf16[8,1,2]\n"
      "  result %6\n  result %5\n}\n"
      "result a %7\nresult b %10\nresult c %11\n");
  CHECK(frame->offset[7] == frame->offset[4], "a result is not made in an operand of its type");
  static const uint32_t pairs[][2] = {{8, 5}, {11, 6}};  // of 32 bytes each
  for (int i = 0; i < 2; i++) {
    uint32_t made = pairs[i][0], read = pairs[i][1];
    CHECK(frame->offset[made] != frame->offset[read], "%%%u is made in %%%u", made, read);
    size_t original = frame->offset[made];
    frame->offset[made] = frame->offset[read];
    refuses("which is still read", "a result on what is read for each row", made, read);
    frame->offset[made] = original;
  }
  MUST(gr_plan_prove(plan));
  gr_arena_destroy(arena);
}

// ---- Nodes that are launched together ----------------------------------------------------------

// %5 to %7 are sums of other values. %8 reads what they make, and %9 what %8 makes.
static const char sums[] =
    "%1 = input x : f32[64]\n%2 = input y : f32[20000]\n%3 = relu %1 : f32[64]\n"
    "%4 = tanh %1 : f32[64]\n%5 = sum_squares %3 : f32[]\n%6 = sum_squares %2 : f32[]\n"
    "%7 = sum_squares %4 : f32[]\n%8 = sum_squares %7 : f32[]\n%9 = sum_squares %8 : f32[]\n"
    "result a %5\nresult b %6\nresult c %9\n";

static void groups(void) {
  static const uint32_t wanted[] = {1, 1, 3, 0, 0, 1, 1};
  open_plan(sums);
  for (uint32_t i = 0; i < 7; i++) CHECK(frame->group_size[i] == 1, "node %u on a CPU", i);
  gr_arena_destroy(arena);
  open_plan_for(sums, true);
  for (uint32_t i = 0; i < 7; i++)
    CHECK(frame->group_size[i] == wanted[i], "node %u: %u", i, frame->group_size[i]);
  CHECK(frame->scratch[2] != frame->scratch[3] && frame->scratch[3] != frame->scratch[4],
        "nodes of a group share working memory");
  gr_arena_destroy(arena);
}

// A group that a plan has besides: two nodes of which one reads what the other makes; and one that
// overlaps another group, or goes beyond the graph.
static void groups_are_apart(void) {
  open_plan_for(sums, true);
  frame->group_size[2] = 4, frame->group_size[5] = 0;
  refuses("launched together, but one writes what the other accesses", "the result of %7", 7, 8);
  frame->group_size[2] = 3, frame->group_size[5] = 1;
  frame->group_size[3] = 1;
  refuses("cannot be launched with others", "a group in a group", 6, 7);
  frame->group_size[3] = 0;
  frame->group_size[6] = 2;
  refuses("no group for", "a group without nodes", 9, 0);
  frame->group_size[6] = 1;
  size_t original = frame->scratch[4];
  frame->scratch[4] = frame->scratch[3];
  refuses("launched together, but one writes what the other accesses", "working memory", 6, 7);
  frame->scratch[4] = original;
  MUST(gr_plan_prove(plan));
  gr_arena_destroy(arena);
}

// A state that is updated in place, and that another node of the group would read as it was: each
// is launched by itself.
static void groups_that_share(void) {
  open_plan_for(
      "%1 = input g : f32[64]\n%2 = input i : i32[]\n%3 = buffer s : f32[64] next=%5\n"
      "%4 = accumulate %1 %3 %2 : f32[64]\n%5 = accumulate %3 %1 %2 : f32[64]\n"
      "%6 = accumulate %1 %1 %2 : f32[64]\nresult a %4\nresult b %6\n",
      true);
  CHECK(frame->in_states[5], "%%5 is made in the state");
  CHECK(frame->group_size[0] == 1 && frame->group_size[1] == 2, "groups of %u and %u",
        frame->group_size[0], frame->group_size[1]);
  gr_arena_destroy(arena);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"what_outlives_the_graph", what_outlives_the_graph},
             {"copies_come_before_updates", copies_come_before_updates},
             {"states_keep_their_values", states_keep_their_values},
             {"working_memory_lies_apart", working_memory_lies_apart},
             {"bodies_lie_apart", bodies_lie_apart}, {"fused_nodes_in_place", fused_nodes_in_place},
             {"groups", groups}, {"groups_are_apart", groups_are_apart},
             {"groups_that_share", groups_that_share});
}
