// test_null.c - the null device runs plans that are right, and refuses every one that was tampered
// with: graphs are written out, planned, and run without anything being computed.
#include <pthread.h>
#include "compiler/compile.h"
#include "ops/comm/collective.h"
#include "ops/ops.h"
#include "runtime/comm/comm.h"
#include "runtime/exec/exec.h"
#include "tests/check.h"
#include "tests/ir/parse.h"

extern const gr_device_ops gr_device_null;

static gr_arena *arena;
static gr_plan *plan;
static gr_plan_frame *frame;  // of its only program

static gr_plan *plan_of(const char *text) {
  gr_graph *g;
  gr_plan *p;
  MUST(graph_parse(arena, gr_op_find, "text", text, &g));
  MUST(gr_plan_link(arena, &(gr_compiled){.kind = "eval", .bucket = "", .g = g}, 1, &p));
  return p;
}

static void open_plan(const char *text) {
  arena = gr_arena_create();
  plan = plan_of(text);
  frame = &plan->programs[0].frame;
}

static gr_status write(gr_exec *e, const gr_exec_tensor *t) {
  char *zeros = gr_arena_alloc(arena, t->bytes + 1);
  return gr_exec_write(e, t, zeros);
}

// States are written but for `missing`, all inputs, and then the program runs twice and its results
// are read.
static gr_status run(const char *missing) {
  gr_exec *e;
  const gr_graph *g = plan->programs[0].frame.g;
  gr_exec_options o = {.device = &gr_device_null};
  gr_status s = gr_exec_open(plan, &o, &e);
  if (s) return s;
  for (uint32_t i = 0; i < plan->n_states && !s; i++) {
    gr_exec_tensor t = gr_exec_state(e, &plan->states[i]);
    if (!missing || strcmp(plan->states[i].name, missing)) s = write(e, &t);
  }
  for (int k = 0; k < 2 && !s; k++) {
    for (uint32_t v = 1; v < g->n_values && !s; v++) {
      if (g->values[v].role != GR_INPUT) continue;
      gr_exec_tensor t = gr_exec_input(e, plan->programs, g->values[v].name);
      if (!missing || strcmp(g->values[v].name, missing)) s = write(e, &t);
    }
    s = s ? s : gr_exec_run(e, plan->programs);
    for (uint32_t i = 0; i < g->n_results && !s; i++) {
      gr_exec_tensor t = gr_exec_result(e, plan->programs, g->result_names[i]);
      s = gr_exec_read(e, &t, gr_arena_alloc(arena, t.bytes + 1));
    }
    s = s ? s : gr_exec_wait(e);
  }
  gr_exec_close(e);
  return s;
}

static void says(gr_status s, const char *wanted, const char *what) {
  char *text;
  size_t len;
  FILE *f = open_memstream(&text, &len);
  if (s) gr_status_print(f, s);
  fclose(f);
  CHECK(s && gr_status_code(s) == GR_ERR_BUG && strstr(text, wanted), "%s: %s", what,
        s ? text : "it ran");
  free(text);
  gr_status_drop(s);
}

static void refuses(const char *wanted, const char *what) { says(run(NULL), wanted, what); }

// ---- Memory -------------------------------------------------------------------------------------

static void addresses_within_the_blocks(void) {
  open_plan(
      "%1 = input x : f32[64]\n%2 = weight w : f32[64]\n%3 = add %1 %2 : f32[64]\n"
      "%4 = sum_squares %3 : f32[]\nresult a %4\n");
  MUST(run(NULL));
  for (uint32_t v = 1; v <= 4; v++) {
    size_t original = frame->offset[v];
    frame->offset[v] = (frame->in_states[v] ? plan->state_bytes : plan->arena_bytes) + 64;
    refuses("are not within one block", "a value behind the block");
    frame->offset[v] = original;
  }
  size_t original = frame->scratch[1];
  frame->scratch[1] = plan->arena_bytes;
  refuses("in the working memory", "working memory behind the block");
  frame->scratch[1] = original;
  MUST(run(NULL));
  gr_arena_destroy(arena);
}

static void nothing_is_read_unwritten(void) {
  open_plan(
      "%1 = input x : f32[64]\n%2 = input y : f32[64]\n%3 = weight w : f32[64]\n"
      "%4 = add %1 %2 : f32[64]\n%5 = mul %4 %3 : f32[64]\nresult a %5\n");
  MUST(run(NULL));
  says(run("y"), "nothing was ever written there", "an input without a value");
  says(run("y"), "operand 1, %2, y", "an input without a value");
  says(run("w"), "nothing was ever written there", "a state without a value");
  gr_arena_destroy(arena);
}

// %2 is read again after %3 and %4 are made, and what outlives the run is overwritten in it.
static void values_last(void) {
  open_plan(
      "%1 = input x : f32[64]\n%2 = relu %1 : f32[64]\n%3 = tanh %1 : f32[64]\n"
      "%4 = mul %2 %3 : f32[64]\n%5 = add %2 %4 : f32[64]\n%6 = weight w : f32[64] next=%5\n"
      "%7 = sub %6 %1 : f32[64]\nresult a %4\nresult b %7\n");
  MUST(run(NULL));
  CHECK(!frame->in_states[5], "the next value is made in the state, which is read later");
  static const struct {
    uint32_t moved, onto;
    const char *says;
  } bad[] = {{3, 2, "tanh has overwritten it"},     {4, 2, "mul has overwritten it"},
             {5, 4, "result 0 overlaps operand 1"}, {7, 4, "in the result %4"},
             {7, 5, "in a state's next value %5"},  {2, 1, "relu has overwritten it"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    size_t original = frame->offset[bad[i].moved];
    frame->offset[bad[i].moved] = frame->offset[bad[i].onto];
    char what[64];
    snprintf(what, sizeof what, "%%%u on %%%u", bad[i].moved, bad[i].onto);
    refuses(bad[i].says, what);
    frame->offset[bad[i].moved] = original;
  }
  MUST(run(NULL));
  gr_arena_destroy(arena);
}

// The working memory of sum_squares, on its operand and on its result.
static void working_memory_is_apart(void) {
  open_plan(
      "%1 = input x : f32[64]\n%2 = relu %1 : f32[64]\n%3 = sum_squares %2 : f32[]\n"
      "%4 = tanh %2 : f32[64]\nresult a %3\nresult b %4\n");
  MUST(run(NULL));
  size_t original = frame->scratch[1];
  frame->scratch[1] = frame->offset[2];
  refuses("operand 0 overlaps the working memory", "working memory on the operand");
  frame->scratch[1] = frame->offset[3];
  refuses("result 0 overlaps the working memory", "working memory on the result");
  frame->scratch[1] = original;
  MUST(run(NULL));
  gr_arena_destroy(arena);
}

// A loop of five steps whose body overlaps a constant, its sequence, and its own values.
static void loops(void) {
  open_plan(
      "%1 = input x : f32[5,64]\n%2 = input w : f32[64]\n%3 = relu %1 : f32[5,64]\n"
      "%4 = tanh %2 : f32[64]\n"
      "%5 %6 = scan %3 %4 {steps=5, reverse=false, n_seq=1, n_carry=1, n_init=0} : f32[64], "
      "f32[5,64]\n"
      "body {\n  %1 = input x : f32[64]\n  %2 = buffer h : f32[64] next=%6\n"
      "  %3 = input w : f32[64]\n  %4 = mul %1 %3 : f32[64]\n  %5 = tanh %1 : f32[64]\n"
      "  %6 = add %4 %2 : f32[64]\n  %7 = sub %5 %4 : f32[64]\n  result %7\n}\n"
      "result a %5\nresult b %6\n");
  MUST(run(NULL));
  gr_plan_frame *body = frame->body[2];
  CHECK(body && body->bytes, "the body has values of its own");
  size_t original = frame->body_at[2];
  frame->body_at[2] = frame->offset[4];
  refuses("result 0 overlaps operand 1", "a body on a constant");
  frame->body_at[2] = frame->offset[3];
  refuses("mul has overwritten it", "a body on its sequence");
  frame->body_at[2] = plan->arena_bytes;
  refuses("are not within one block", "a body behind the block");
  frame->body_at[2] = original;
  original = body->offset[5], body->offset[5] = body->offset[4];
  refuses("tanh has overwritten it", "values of a body");
  body->offset[5] = original;
  original = frame->offset[5], frame->offset[5] = frame->offset[6];
  refuses("has overwritten it", "the last carry on a stack");
  frame->offset[5] = original;
  MUST(run(NULL));
  gr_arena_destroy(arena);
}

// ---- Order --------------------------------------------------------------------------------------

static void transfers_wait(void) {
  gr_device *d;
  gr_device_block b;
  char host[128] = {0};
  MUST(gr_device_null.open(&(gr_device_options){.threads = 1, .ranks = 1}, &d));
  MUST(d->ops->allocate(d, 128, NULL, &b));
  MUST(d->ops->upload(d, b.address, host, 128));
  says(d->ops->copy(d, b.address, (char *)b.address + 64, 64),
       "does not wait for the transfer queue", "a copy of what is being uploaded");
  says(d->ops->wait(d, GR_QUEUE_COMPUTE, GR_EVENT_TRANSFERRED), "is not recorded", "an event");
  MUST(d->ops->record(d, GR_QUEUE_TRANSFER, GR_EVENT_TRANSFERRED));
  MUST(d->ops->wait(d, GR_QUEUE_COMPUTE, GR_EVENT_TRANSFERRED));
  MUST(d->ops->copy(d, b.address, (char *)b.address + 64, 64));
  says(d->ops->download(d, host, b.address, 64), "does not wait for the compute queue",
       "a download");
  says(d->ops->upload(d, (char *)b.address + 64, host, 64), "does not wait for the compute queue",
       "an upload over what is being read");
  MUST(d->ops->synchronise(d, GR_QUEUE_COMPUTE));
  MUST(d->ops->download(d, host, b.address, 128));
  says(d->ops->fill(d, b.address, 0, 8), "which reads these bytes", "a fill of what is being read");
  says(d->ops->download(d, host, (char *)b.address + 1, 128), "not within one block", "a download");
  says(d->ops->copy(d, b.address, (char *)b.address + 32, 64), "overlap", "a copy");
  d->ops->free(d, &b);
  d->ops->close(d);
}

// ---- Collectives --------------------------------------------------------------------------------

typedef struct rank {
  pthread_t thread;
  gr_comm *world;
  gr_plan *plan;
  gr_status status;
} rank;

static void *run_rank(void *arg) {
  rank *r = arg;
  gr_comm *axes[GR_MAX_MESH];
  gr_exec *e = NULL;
  char zeros[512] = {0};
  r->status = gr_comm_mesh(r->world, &r->plan->mesh, axes);
  gr_exec_options o = {.device = &gr_device_null, .comm = axes, .rank = r->world->rank};
  if (!r->status) r->status = gr_exec_open(r->plan, &o, &e);
  gr_exec_tensor x = {0};
  if (!r->status) x = gr_exec_input(e, r->plan->programs, "x");
  if (!r->status) r->status = gr_exec_write(e, &x, zeros);
  if (!r->status) r->status = gr_exec_run(e, r->plan->programs);
  gr_exec_close(e);
  return NULL;
}

// The text of rank 0's status for two ranks with these plans, which may differ.
static gr_status run_both(gr_plan *first, gr_plan *second) {
  gr_loopback *world;
  rank r[2];
  MUST(gr_loopback_create(2, 60, &world));
  for (int i = 0; i < 2; i++) {
    r[i] = (rank){.world = gr_loopback_comm(world, i), .plan = i ? second : first};
    if (pthread_create(&r[i].thread, NULL, run_rank, &r[i])) abort();
  }
  for (int i = 0; i < 2; i++) pthread_join(r[i].thread, NULL);
  gr_loopback_destroy(world);
  bool echo = gr_status_code(r[0].status) == GR_ERR_RANK;
  gr_status_drop(r[!echo].status);
  return r[echo].status;
}

static void collectives(void) {
  static const char before[] = "mesh dp=2\n%1 = input x : f32[64] dp:P\n";
  static const char sums[] =
      "%2 = all_reduce %1 {mesh_axis=0, ranks=2, group=0, dim=[], size=[]} : f32[64]\n"
      "%3 = reduce_scatter %1 {mesh_axis=0, ranks=2, group=0, dim=[0], size=[]} : f32[32] dp:S0\n"
      "result a %2\nresult b %3\n";
  static const char swapped[] =
      "%2 = reduce_scatter %1 {mesh_axis=0, ranks=2, group=0, dim=[0], size=[]} : f32[32] dp:S0\n"
      "%3 = all_reduce %1 {mesh_axis=0, ranks=2, group=0, dim=[], size=[]} : f32[64]\n"
      "result a %3\nresult b %2\n";
  arena = gr_arena_create();
  const char *text = gr_arena_printf(arena, "%s%s", before, sums);
  const char *other = gr_arena_printf(arena, "%s%s", before, swapped);
  MUST(run_both(plan_of(text), plan_of(text)));
  says(run_both(plan_of(text), plan_of(other)), "is at another collective: its number 1 (",
       "another order");
  gr_plan *p[2] = {plan_of(text), plan_of(text)};
  for (int i = 0; i < 2; i++) p[i]->programs[0].frame.g->values[3].type.dim[0] = 31;
  says(run_both(p[0], p[1]), "is f32[31], not f32[32]", "a result that is too small");
  p[0] = plan_of(text), p[1] = plan_of(text);  // the proof refuses it: broken after that
  for (int i = 0; i < 2; i++)
    ((struct gr_coll *)p[i]->programs[0].frame.g->nodes[0].attr)->ranks = 3;
  says(run_both(p[0], p[1]), "a collective of 3 ranks on a mesh axis of 2", "other ranks");
  gr_arena_destroy(arena);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"addresses_within_the_blocks", addresses_within_the_blocks},
             {"nothing_is_read_unwritten", nothing_is_read_unwritten}, {"values_last", values_last},
             {"working_memory_is_apart", working_memory_is_apart}, {"loops", loops},
             {"transfers_wait", transfers_wait}, {"collectives", collectives});
}
