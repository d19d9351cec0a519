// batch_norm_read.c - reads a BatchNormalization of ONNX as the block batch_norm, which keeps
// running statistics as it trains; and writes the op to ONNX.
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/nn/batch_norm.h"

void gr_batch_norm_read(gr_onnx_reading *r) {
  static const char *const suffix[] = {"weight", "bias", "running_mean", "running_var"};
  gr_read_part parts[4];
  bool alone = true;
  for (int k = 0; k < 4; k++) {
    parts[k] = (gr_read_part){suffix[k], gr_read_in(r, k + 1, true)};
    alone &= k < 2 ? gr_read_is_own(r, parts[k].var) : gr_read_is_known(r, parts[k].var);
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
  const gr_type *t = gr_read_type(r, x);
  for (int k = 0; k < 4; k++)
    if (!gr_read_is_vector(r, parts[k].var, t->dim[t->rank - 1]))
      gr_read_refuse(r, "has a %s that is no vector of %lld channels", suffix[k],
                     (long long)t->dim[t->rank - 1]);
  gr_read_out(r, 0, gr_read_block(r, "batch_norm", path, x, r->vars[x].type, 2, s, 4, parts),
              !flat);
}

void gr_batch_norm_onnx(gr_onnx_call *c) {
  const gr_op_call *call = c->call[0];
  if (((const gr_batch_norm *)call->attr)->groups != 1)
    gr_onnx_refuse(c, "it normalises parts of a batch");
  const char *eps = gr_onnx_number(c, call->in[2].dtype, ((const gr_batch_norm *)call->attr)->eps);
  const char *deviation = GR_ONNX(c, "Sqrt", GR_ONNX(c, "Add", c->in[2], eps));
  bool narrow = gr_is_narrow(call->in[0].dtype);
  const char *x = narrow ? gr_onnx_cast(c, c->in[0], gr_onnx_dtype(GR_F32)) : c->in[0];
  const char *z = GR_ONNX(c, "Div", GR_ONNX(c, "Sub", x, c->in[1]), deviation);
  const char *y = GR_ONNX(c, "Add", GR_ONNX(c, "Mul", z, c->in[3]), c->in[4]);
  c->out[0] = narrow ? gr_onnx_cast(c, y, gr_onnx_dtype(call->in[0].dtype)) : y;
}
