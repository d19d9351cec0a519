// test_kernels.c - a program with a node that its device has no kernel for is refused when it is
// compiled: at the node's place, with the op and the device; in loops, too. And all ops of the
// table have kernels for both.
#include <string.h>
#include "base/arena.h"
#include "compiler/kernels.h"
#include "ops/kernels/cpu.h"
#include "ops/kernels/gpu.h"
#include "ops/ops.h"
#include "tests/check.h"
#include "tests/ir/parse.h"

static gr_status copy(const gr_launch *l) {
  memcpy(l->out[0], l->in[0], gr_type_bytes(l->out_type));
  return GR_OK;
}

static const gr_op on_cpus = {
    .name = "on_cpus", .n_in = 1, .n_out = 1, .index_spec = "...->...", .cpu = copy};
static const gr_op nowhere = {.name = "nowhere", .n_in = 1, .n_out = 1, .index_spec = "...->..."};

static const gr_op *find(const char *name) {
  if (!strcmp(name, "on_cpus")) return &on_cpus;
  return strcmp(name, "nowhere") ? gr_op_find(name) : &nowhere;
}

// $ stands for an op. A loop of products and elementwise nodes is one kernel; with a sum in
// it, it is one no more, and its nodes run one by one.
static const char plain[] =
    "%1 = input x : f32[4,3]\n"
    "%2 = $ %1 : f32[4,3]\n"
    "result y %2\n";
static const char loop[] =
    "%1 = input x : f32[6,4,3]\n"
    "%2 %3 = scan %1 {steps=6, reverse=false, n_seq=1, n_carry=1, n_init=0} : f32[4,3], "
    "f32[6,4,3]\n"
    "body {\n"
    "  %1 = input slice : f32[4,3]\n"
    "  %2 = buffer h : f32[4,3] next=%4\n"
    "  %3 = add %1 %2 : f32[4,3]\n"
    "  %4 = $ %3 : f32[4,3]\n"
    "  result %4\n"
    "}\n"
    "result y %3\n";
static const char repeated[] =
    "%1 = input x : f32[6,4,3]\n"
    "%2 %3 = scan %1 {steps=6, reverse=false, n_seq=1, n_carry=1, n_init=0} : f32[4,3], "
    "f32[6,4,3]\n"
    "body {\n"
    "  %1 = input slice : f32[4,3]\n"
    "  %2 = buffer h : f32[4,3] next=%5\n"
    "  %3 = cumsum %1 {axis=0} : f32[4,3]\n"
    "  %4 = $ %3 : f32[4,3]\n"
    "  %5 = add %2 %4 : f32[4,3]\n"
    "  result %5\n"
    "}\n"
    "result y %3\n";

// The graph with another op in place of $, on line 7 of a model.
static gr_graph *graph_of(gr_arena *arena, const char *text, const char *op) {
  gr_graph *g;
  const char *cursor = strchr(text, '$');
  MUST(graph_parse(arena, find, "text",
                   gr_arena_printf(arena, "%.*s%s%s", (int)(cursor - text), text, op, cursor + 1),
                   &g));
  return g;
}

static void set_places(const gr_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++) g->nodes[i].loc = (gr_loc){"model.yaml", 7, 3};
}

static void expect(const char *text, const char *op, bool gpu, const char *device) {
  gr_arena *arena = gr_arena_create();
  gr_graph *g = graph_of(arena, text, op);
  set_places(g);
  gr_status s = gr_kernels_check(g, gpu);
  const char *says = s ? gr_status_text(s) : "nothing";
  CHECK(!s == !device, "%s, gpu %d: %s", op, gpu, says);
  if (s && device) {
    CHECK(gr_status_code(s) == GR_ERR_UNSUPPORTED, "%s", says);
    CHECK(strstr(says, op) && strstr(says, device), "%s", says);
    CHECK(text != plain || gr_status_loc(s).line == 7, "line %d", gr_status_loc(s).line);
  }
  gr_status_drop(s);
  gr_arena_destroy(arena);
}

static void nodes(void) {
  expect(plain, "tanh", true, NULL), expect(plain, "tanh", false, NULL);
  expect(plain, "on_cpus", true, "'cuda'"), expect(plain, "on_cpus", false, NULL);
  expect(plain, "nowhere", true, "'cuda'"), expect(plain, "nowhere", false, "'cpu'");
}

static void loops(void) {
  expect(loop, "tanh", true, NULL), expect(loop, "tanh", false, NULL);
  expect(loop, "on_cpus", true, "'cuda'"), expect(loop, "on_cpus", false, NULL);
  expect(loop, "nowhere", false, "'cpu'");
  expect(repeated, "tanh", true, NULL);
  expect(repeated, "on_cpus", true, "'cuda'"), expect(repeated, "on_cpus", false, NULL);
}

// ---- The table ----------------------------------------------------------------------------------

static bool call_of(const gr_op *op, const gr_case *c, gr_op_call *out) {
  *out = (gr_op_call){.op = op, .attr = c->attr};
  for (; out->n_in < GR_CASE_ARGS && c->in[out->n_in]; out->n_in++)
    MUST(gr_type_parse(c->in[out->n_in], &out->in[out->n_in]));
  gr_status s = gr_op_infer(out);
  gr_status_drop(s);
  return !s;
}

// Each op that is not of CPUs alone runs on GPUs as its cases are; collectives and loops have no
// case.
static void every_op(void) {
  int n = 0;
  for (const gr_op *const *o = gr_ops; *o; o++) {
    if ((*o)->collective || gr_op_has_body(*o) || (*o)->cpu_only) continue;
    for (const gr_case *c = (*o)->cases; c && (c->in[0] || c->attr); c++) {
      gr_op_call call;
      if (c->fails || !call_of(*o, c, &call)) continue;
      gr_status s = gr_gpu_check(&call);
      CHECK(!s, "%s, case %d: %s", (*o)->name, (int)(c - (*o)->cases), gr_status_text(s));
      gr_status_drop(s), n++;
    }
  }
  CHECK(n > 300, "only %d cases", n);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"nodes", nodes}, {"loops", loops}, {"every_op", every_op});
}
