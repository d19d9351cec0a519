// batch_norm_read.c - reads a BatchNormalization of ONNX as the block batch_norm, which keeps
// running statistics as it trains.
#include "ops/kernels/onnx_read.h"
#include "ops/nn/batch_norm.h"

void gr_batch_norm_read(gr_onnx_reading *r) {
  static const char *const suffix[] = {"weight", "bias", "running_mean", "running_var"};
  gr_read_part parts[4];
  bool alone = true;
  for (int k = 0; k < 4; k++) {
    parts[k] = (gr_read_part){suffix[k], gr_read_in(r, k + 1, true)};
    alone &= gr_read_is_own(r, parts[k].var);
  }
  // Matrices [n, c] have their channels last.
  const gr_read_binding *b = r->err ? NULL : gr_read_find(r, r->node->in[0]);
  bool flat = b && gr_read_type(r, b->var)->rank == 2;
  int x = flat ? gr_read_in(r, 0, true) : gr_read_in_last(r, 0);
  if (!alone) gr_read_refuse(r, "shares its weights, or they are computed");
  double eps = gr_read_float(r, "epsilon", 1e-5), momentum = gr_read_float(r, "momentum", 0.9);
  gr_read_int(r, "training_mode", 0);
  if (r->err) return;
  const gr_read_setting s[] = {{"eps", gr_arena_printf(r->arena, "%.7g", eps)},
                               {"momentum", gr_arena_printf(r->arena, "%.6g", 1 - momentum)}};
  const char *path = gr_read_path(r, parts[0].var, "weight");
  gr_read_out(r, 0, gr_read_block(r, "batch_norm", path, x, r->vars[x].type, 2, s, 4, parts),
              !flat);
}
