// formula.c - what the kernels of formulas share. See formula.h.
#include "ops/kernels/formula.h"

gr_kernel gr_formula_fast(const gr_op_call *c) {
  gr_formula_name name[GR_FORMULA_NAMES];
  const gr_formula *f = gr_formula_of(c->op, c->n_in);
  int n = f ? gr_formula_list(f, name) : 0;
  for (int k = 0; k < n && k < c->n_in; k++)
    if (name[k].kind == GR_NAME_EACH && c->in[k].dtype != GR_F32) return NULL;
  for (int k = 0; k < c->n_out; k++)
    if (c->out[k].dtype != GR_F32) return NULL;
  return f ? f->f32 : NULL;
}

gr_status gr_formula_run(const gr_launch *l, void (*scalars)(const gr_launch *, double *),
                         gr_part part) {
  enum { GRAIN = 16384 };
  gr_formula_work work = {.l = l};
  scalars(l, work.scalar);
  gr_parallel(l, gr_type_count(l->out_type), GRAIN, part, &work);
  return GR_OK;
}
