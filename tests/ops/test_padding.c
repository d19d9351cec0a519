// test_padding.c - ops that say they keep padding (gr_op.padding), from their own cases: zeros
// beyond the end of the operands disturb no result, and make zeros beyond the end of each.
#include "tests/check.h"
#include "tests/ops/bench.h"

// A value with a row of zeros after its last: what is beyond the end of a short slice. Of an op
// that works row by row, what has no such dimension is not split.
static value padded(const use *u, const value *v) {
  gr_type t = v->type;
  bool rows = u->call.op->padding == GR_PADDING_ROWS;
  if (t.rank && (!rows || t.dim[0] == u->in[0].type.dim[0])) t.dim[0]++;
  value p = value_make(t);
  for (int64_t i = 0, n = value_count(&p), given = value_count(v); i < n; i++)
    value_put(&p, i, i < given ? value_get(v, i) : 0);
  return p;
}

static void compare(use *u, gr_kernel kernel, const char *which) {
  const char *name = u->call.op->name;
  use wide = {.call = u->call};
  for (int k = 0; k < u->call.n_in; k++) {
    wide.in[k] = padded(u, &u->in[k]);
    wide.call.in[k] = wide.in[k].type;
  }
  MUST(gr_op_infer(&wide.call));
  MUST(use_run(u, kernel, NULL));
  MUST(use_run(&wide, kernel, NULL));
  for (int k = 0; k < u->call.n_out; k++) {
    value want = padded(u, &u->out[k]);
    int64_t worst_at;
    bool sums = !gr_type_same(&want.type, &u->in[0].type) && u->call.op->optimizer == NULL;
    double far = worst(&wide.out[k], &want, &worst_at), most = sums ? 1e-6 : 0;
    CHECK(far <= most, "%s, %s kernel: number %lld of result %d is off by %g", name, which,
          (long long)worst_at, k, far);
    value_free(&want);
  }
  use_free(&wide);
}

static void kept(void) {
  int n = 0;
  for (const gr_op *const *o = gr_ops; *o; o++) {
    bool keeps = (*o)->padding == GR_PADDING_PRESERVED || (*o)->padding == GR_PADDING_ROWS;
    if (!keeps || (*o)->collective) continue;
    n++;
    for (const gr_case *c = (*o)->cases; c && (c->in[0] || c->attr); c++) {
      use u;
      if (c->fails) continue;
      MUST(use_of_case(&u, *o, c, (uint64_t)(c - (*o)->cases)));
      gr_kernel fast = gr_op_fast(&u.call);
      compare(&u, (*o)->cpu, "plain");
      if (fast) compare(&u, fast, "fast");
      use_free(&u);
    }
  }
  CHECK(n >= 5, "%d ops keep padding", n);
}

int main(int argc, char **argv) { return RUN(argc, argv, {"kept", kept}); }
