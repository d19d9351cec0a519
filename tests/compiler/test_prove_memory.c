// test_prove_memory.c - the proof of memory refuses every plan in which a value would be overwritten
// before its last read. Graphs are given as text and planned, and then their plans are changed.
#include <string.h>
#include "compiler/compile.h"
#include "compiler/plan/prove.h"
#include "ir/text.h"
#include "ops/ops.h"
#include "tests/check.h"

static gr_arena *arena;
static gr_plan *plan;
static gr_plan_frame *frame;  // of its only program

static void open_plan(const char *text) {
  gr_graph *g;
  arena = gr_arena_create();
  MUST(gr_graph_parse(arena, gr_op_find, "text", text, &g));
  MUST(gr_plan_link(arena, &(gr_compiled){.kind = "eval", .bucket = "", .g = g}, 1, &plan));
  frame = &plan->programs[0].frame;
}

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
      size_t was = frame->offset[made[i]];
      frame->offset[made[i]] = frame->offset[made[j]];
      refuses("which is still read", "a value on an earlier one", made[i], made[j]);
      frame->offset[made[i]] = was;
    }
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
      size_t was = frame->offset[v];
      bool in_states = frame->in_states[v];
      frame->offset[v] = frame->offset[s], frame->in_states[v] = true;
      // %4 becomes u: on s it is no state's next value in place.
      refuses("overwrites a state of which it is not the next value", "a value on a state", v, s);
      frame->offset[v] = was, frame->in_states[v] = in_states;
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
  size_t was = frame->scratch[1];
  for (uint32_t v = 2; v <= 3; v++) {
    frame->scratch[1] = frame->offset[v];
    refuses("the working memory of 'sum_squares'", "working memory on a value", 3, v);
  }
  frame->scratch[1] = frame->bytes;
  refuses("is outside its block", "working memory behind the arena", 3, 0);
  frame->scratch[1] = was;
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
  size_t was = frame->body_at[1];
  for (uint32_t v = 2; v <= 3; v++) {
    frame->body_at[1] = frame->offset[v];
    refuses("the body of 'scan'", "a body on a value", 3, v);
  }
  frame->body_at[1] = plan->arena_bytes;
  refuses("is outside its block", "a body behind the arena", 3, 0);
  frame->body_at[1] = was;
  was = body->offset[3], body->offset[3] = body->offset[2];
  refuses("which is still read", "values of a body", 3, 2);
  body->offset[3] = was;
  MUST(gr_plan_prove(plan));
  gr_arena_destroy(arena);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"what_outlives_the_graph", what_outlives_the_graph},
             {"states_keep_their_values", states_keep_their_values},
             {"working_memory_lies_apart", working_memory_lies_apart},
             {"bodies_lie_apart", bodies_lie_apart});
}
