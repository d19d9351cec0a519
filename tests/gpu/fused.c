// fused.c - see fused.h.
#include "tests/gpu/fused.h"
#include "ops/ops.h"
#include "tests/check.h"
#include "tests/compiler/elementwise.h"
#include "tests/gpu/trials.h"
#include "tests/ir/parse.h"

// The fused nodes of random graphs, whole or as the second of two ranks, which divide the first
// axis.
static void add_fused(const gr_node *n, const gr_graph *g, int seed, bool part) {
  gr_case c = {.attr = n->attr};
  char *fill = GR_NEW(arena, char, GR_CASE_ARGS + 1);
  if (n->n_in > GR_CASE_ARGS) return;
  for (int k = 0; k < n->n_in; k++) {
    const gr_type *t = &gr_at(g, n->in[k])->type;
    c.in[k] = gr_type_text(t, GR_NEW(arena, char, 96));
    fill[k] = t->dtype == GR_I32 ? 'i' : 'n';
  }
  c.fill = fill;
  use *u = &add(&gr_op_fused, &c, seed)->u;
  if (!part) return;
  u->mesh = (gr_mesh){1, {{"ranks", 2}}}, u->coord = 1;
  for (int k = 0; k < n->n_out; k++) u->layout[k].placement[0] = 0;
}

static void try_fused(way w, bool part) {
  enum { SEEDS = 10 };
  open_device();
  tried = w;
  for (uint32_t seed = 1; seed <= SEEDS; seed++) {
    gr_graph *g, *f;
    MUST(elementwise_random(arena, seed, &g));
    MUST(elementwise_fused(arena, g, &f));
    for (uint32_t i = 0; i < f->n_nodes; i++)
      if (f->nodes[i].op == &gr_op_fused) add_fused(&f->nodes[i], f, (int)seed, part);
  }
  tried = APART;
  run_all();
}
void fused_nodes(void) { try_fused(APART, false), try_fused(APART, true); }
void fused_placed(void) {
  try_fused(IN_PLACE, false), try_fused(SLICED, false), try_fused(YIELDED, false);
}

// What is stored as bf16 in between is rounded there: x + 256 - 256 is a whole number.
void fused_rounds(void) {
  static const char text[] =
      "%1 = input x : bf16[4,100]\n"
      "%2 = add_scalar %1 {by=256.0} : bf16[4,100]\n"
      "%3 = add_scalar %2 {by=-256.0} : bf16[4,100]\n"
      "result y %3\n";
  gr_graph *g, *f;
  open_device();
  MUST(graph_parse(arena, gr_op_find, "text", text, &g));
  MUST(elementwise_fused(arena, g, &f));
  CHECK(f->n_nodes == 1 && f->nodes[0].op == &gr_op_fused, "%u nodes", f->n_nodes);
  add_fused(&f->nodes[0], f, 1, false);
  run_all();
}

// A row's sum in the place of a number that all threads of the row have read. Sums are shuffled
// between threads, which does not order what they read and write.
void fused_leads(void) {
  static const char text[] =
      "%1 = input s : f32[50]\n"
      "%2 = input x : f32[50,70]\n"
      "%3 = broadcast %1 {axis=1, size=70} : f32[50,70]\n"
      "%4 = add %3 %2 : f32[50,70]\n"
      "%5 = sum %4 {axes=[1], keepdim=false} : f32[50]\n"
      "result t %5\n";
  gr_graph *g, *f;
  open_device();
  MUST(graph_parse(arena, gr_op_find, "text", text, &g));
  MUST(elementwise_fused(arena, g, &f));
  CHECK(f->n_nodes == 1 && f->nodes[0].op == &gr_op_fused, "%u nodes", f->n_nodes);
  CHECK(gr_op_inplace(&gr_op_fused, 0) == 0, "results are not written in operands");
  tried = IN_PLACE;
  add_fused(&f->nodes[0], f, 1, false);
  tried = APART;
  run_all();
}
