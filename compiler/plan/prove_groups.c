// prove_groups.c - proves that nodes that are launched together (gr_plan_frame.group_size) may run
// in any order, or at once: none reads or overwrites what another of them writes.
#include "base/arena.h"
#include "compiler/plan/prove.h"
#include "ops/kernels/gpu.h"

// What a node accesses: its results and working memory first, which it writes, then its operands.
typedef struct accesses {
  gr_span span[2 * GR_MAX_ARGS + 1];
  int written, n;
} accesses;

static gr_span span_of(const gr_plan *p, const gr_plan_frame *f, gr_val v) {
  size_t begin = f->in_states[v.id] ? f->offset[v.id] : gr_plan_states_end(p) + f->offset[v.id];
  return (gr_span){begin, begin + gr_type_bytes(&gr_at(f->g, v)->type)};
}

static void find_accesses(const gr_plan *p, const gr_plan_frame *f, uint32_t i, accesses *a) {
  const gr_node *n = &f->g->nodes[i];
  gr_op_call call;
  gr_op_call_of(f->g, n, &call);
  size_t scratch = gr_plan_states_end(p) + f->scratch[i], bytes = gr_call_scratch(&call, f->gpu);
  a->n = 0;
  for (int k = 0; k < n->n_out; k++) a->span[a->n++] = span_of(p, f, gr_out(n, k));
  if (bytes) a->span[a->n++] = (gr_span){scratch, scratch + bytes};
  a->written = a->n;
  for (int k = 0; k < n->n_in; k++) a->span[a->n++] = span_of(p, f, n->in[k]);
}

// Whether a writes what b accesses.
static bool disturbs(const accesses *a, const accesses *b) {
  for (int i = 0; i < a->written; i++)
    for (int k = 0; k < b->n; k++)
      if (a->span[i].begin < b->span[k].end && b->span[k].begin < a->span[i].end) return true;
  return false;
}

static gr_status prove_group(const gr_plan *p, const gr_plan_frame *f, uint32_t first, uint32_t n,
                             accesses *a) {
  for (uint32_t i = 0; i < n; i++) {
    const gr_node *node = &f->g->nodes[first + i];
    find_accesses(p, f, first + i, &a[i]);
    if (f->body[first + i] || node->op->collective || (i && f->group_size[first + i]))
      return gr_fail(GR_ERR_BUG, node->loc, "'%s' (%%%u) cannot be launched with others",
                     node->op->name, node->out.id);
    for (uint32_t k = 0; k < i; k++)
      if (disturbs(&a[k], &a[i]) || disturbs(&a[i], &a[k]))
        return gr_fail(GR_ERR_BUG, node->loc,
                       "'%s' (%%%u) and '%s' (%%%u) are launched together, but one writes what the "
                       "other accesses",
                       f->g->nodes[first + k].op->name, f->g->nodes[first + k].out.id,
                       node->op->name, node->out.id);
  }
  return GR_OK;
}

gr_status gr_prove_groups(gr_arena *arena, const gr_plan *p, const gr_program *program) {
  const gr_plan_frame *f = &program->frame;
  accesses *a = NULL;
  uint32_t most = 0;
  for (uint32_t i = 0, n; i < f->g->n_nodes; i += n) {
    n = f->group_size[i];
    if (!n || n > f->g->n_nodes - i)
      return gr_fail(GR_ERR_BUG, f->g->nodes[i].loc, "the plan has no group for '%s' (%%%u)",
                     f->g->nodes[i].op->name, f->g->nodes[i].out.id);
    if (n > most) most = n, a = GR_NEW(arena, accesses, n);
    if (n > 1) GR_TRY(prove_group(p, f, i, n, a));
  }
  return GR_OK;
}
