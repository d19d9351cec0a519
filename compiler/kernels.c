// kernels.c - see kernels.h.
#include "compiler/kernels.h"
#include "compiler/plan/calls.h"
#include "ops/kernels/gpu.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

static gr_status check_cpu(const gr_op_call *call) {
  const gr_op *op = call->op;
  if (op->cpu || gr_op_fast(call) || gr_op_has_body(op)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_UNSUPPORTED, call->loc,
                         "op '%s' has no kernel for the device 'cpu'", op->name),
                 "its descriptor has no reference kernel: docs/add-an-op.md");
}

static gr_status check_node(const gr_graph *g, const gr_node *n, bool gpu) {
  gr_op_call call;
  if (n->op->collective) return GR_OK;                           // the communicator's
  if (!gpu && n->op->cpu && n->op != &gr_op_scan) return GR_OK;  // the reference, for any call
  gr_op_call_of(g, n, &call);
  gr_status s = gpu ? gr_gpu_check(&call) : check_cpu(&call);
  bool repeated = n->op == &gr_op_scan && (!gpu || gr_status_code(s) == GR_ERR_UNSUPPORTED);
  if (!repeated) return s;
  gr_status_drop(s);
  return gr_kernels_check(((const gr_scan *)n->attr)->body, gpu);
}

// Kernels of GPUs are written to be checked: each call's once.
gr_status gr_kernels_check(const gr_graph *g, bool gpu) {
  gr_arena *work = gr_arena_create();
  gr_calls known = gr_calls_make(work);
  gr_status s = GR_OK;
  for (const gr_node *n = g->nodes; n < g->nodes + g->n_nodes && !s; n++) {
    uint32_t before = known.n;
    if (!gpu || gr_calls_index(&known, g, n) == before) s = check_node(g, n, gpu);
  }
  return gr_arena_end(work, s);
}
