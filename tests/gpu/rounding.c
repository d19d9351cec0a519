// rounding.c - see rounding.h.
//
// dv is the sum of w m dy over rows, dq and dk are sums of ds k and ds q, where ds is w (m dw -
// delta) scale. The CPU rounds each sum once. A library multiplies matrices on tensor cores, whose
// operands w m and ds are rounded to 16 bits first: each term of a sum may be off by its share u,
// whatever the sum is. Weights of random cases do not add up to 1 and may be hundreds, with terms
// that cancel, so that no bound on the size of the sum would do.
#include "tests/gpu/rounding.h"
#include <math.h>
#include "ops/kernels/operands.h"
#include "ops/nn/attention.h"

typedef struct format {
  double u;      // the share that rounding to nearest may change
  double least;  // half of the distance of the numbers next to 0
} format;
static format format_of(gr_dtype d) {
  return d == GR_BF16 ? (format){0x1p-8, 0} : (format){0x1p-11, 0x1p-25};
}

// The share by which f32 may change w, and each of the two terms of ds: exp of a score of some
// tens, and sums of some hundred products.
static const double single = 3e-5;

bool has_gradient_errors(const use *u) {
  return u->call.op == &gr_op_attention_grad && gr_is_narrow(u->call.out[0].dtype);
}

static void add_to(value *v, int64_t i, double x) { ((double *)v->data)[i] += fabs(x); }

// What rounding changes of weight w m and of ds, of row r and key j.
static void errors_of_pair(const gr_attention_row *r, int64_t j, format f, double *of_w,
                           double *of_ds) {
  const gr_launch *l = r->l;
  const gr_attention *a = &r->a;
  double lse = IN(ATTENTION_LSE, (r->sample * a->heads + r->head) * a->t + r->i);
  double w = exp(gr_attention_score(r, j) - lse), m = gr_attention_kept(r, j), dw = 0, delta = 0;
  double apart = 0;  // the sizes of the terms
  for (int64_t c = 0; c < a->e; c++) {
    double dy = IN(ATTENTION_DY, gr_attention_at_row(r) * a->e + c);
    double by_v = m * dy * IN(ATTENTION_V, gr_attention_at_key(r, j) * a->e + c);
    double by_y = dy * IN(ATTENTION_Y, gr_attention_at_row(r) * a->e + c);
    dw += by_v, delta += by_y, apart += fabs(by_v) + fabs(by_y);
  }
  double scale = gr_attention_is_uniform(a, r->sample) ? 0 : fabs(a->scale);
  *of_w = (f.u + single) * w * m + f.least;
  *of_ds = (f.u * fabs(dw - delta) + single * apart) * w * scale + f.least;
}

static void add_row(const gr_attention_row *r, format f, value error[3]) {
  const gr_launch *l = r->l;
  const gr_attention *a = &r->a;
  int64_t row = gr_attention_at_row(r);
  for (int64_t j = 0, n = gr_attention_seen(a, r->sample, r->i); j < n; j++) {
    double of_w, of_ds;
    int64_t key = gr_attention_at_key(r, j);
    errors_of_pair(r, j, f, &of_w, &of_ds);
    for (int64_t c = 0; c < a->d; c++) {
      add_to(&error[0], row * a->d + c, of_ds * IN(ATTENTION_K, key * a->d + c));
      add_to(&error[1], key * a->d + c, of_ds * IN(ATTENTION_Q, row * a->d + c));
    }
    for (int64_t c = 0; c < a->e; c++)
      add_to(&error[2], key * a->e + c, of_w * IN(ATTENTION_DY, row * a->e + c));
  }
}

void gradient_errors(const use *u, value error[3]) {
  const void *in[GR_MAX_ARGS] = {0};
  for (int k = 0; k < u->call.n_in; k++) in[k] = u->in[k].data;
  gr_launch l = {.attr = u->call.attr, .n_in = u->call.n_in, .n_out = u->call.n_out, .in = in};
  l.in_type = u->call.in, l.out_type = u->call.out, l.out_layout = u->layout;
  l.mesh = &u->mesh, l.coord = &u->coord;
  format f = format_of(u->call.out[0].dtype);
  for (int k = 0; k < 3; k++) {
    gr_type wide = u->call.out[k];
    wide.dtype = GR_F64;
    error[k] = value_make(wide);
    // Both results are rounded, the other one from what may be as much larger.
    for (int64_t i = 0; i < value_count(&error[k]); i++)
      value_put(&error[k], i, 2 * (f.u * fabs(value_get(&u->out[k], i)) + f.least));
  }
  gr_attention_row r = {.l = &l, .a = gr_attention_of(&l)};
  for (r.sample = 0; r.sample < r.a.n; r.sample++)
    for (r.head = 0; r.head < r.a.heads; r.head++)
      for (r.i = 0; r.i < r.a.t; r.i++) add_row(&r, f, error);
}
