// bench.c - see bench.h.
#include "tests/ops/bench.h"
#include <math.h>
#include <stdlib.h>
#include "ops/kernels/gemm.h"

// ---- Values ---------------------------------------------------------------------------------

value value_make(gr_type t) {
  size_t bytes = (gr_type_bytes(&t) + 127) / 64 * 64;
  value v = {.type = t, .data = aligned_alloc(64, bytes)};
  if (!v.data) abort();
  memset(v.data, 0xff, bytes);  // NaN: what a kernel forgets to write shows
  return v;
}

value value_copy(const value *v) {
  value w = value_make(v->type);
  memcpy(w.data, v->data, gr_type_bytes(&v->type));
  return w;
}

value value_as(const value *v, gr_dtype dtype) {
  gr_type t = v->type;
  t.dtype = dtype;
  value w = value_make(t);
  for (int64_t i = 0; i < value_count(v); i++) value_put(&w, i, value_get(v, i));
  return w;
}

void value_free(value *v) {
  free(v->data);
  *v = (value){0};
}

int64_t value_count(const value *v) { return gr_type_count(&v->type); }
double value_get(const value *v, int64_t i) { return gr_get(v->data, v->type.dtype, i); }
void value_put(value *v, int64_t i, double x) { gr_put(v->data, v->type.dtype, i, x); }

// Copies between a whole value and slice `part` of `parts` along dim.
static void move(const value *whole, const value *slice, int dim, int part, bool to_slice) {
  int64_t inner = gr_dtypes[whole->type.dtype].size, outer = 1;
  for (int d = dim + 1; d < whole->type.rank; d++) inner *= whole->type.dim[d];
  for (int d = 0; d < dim; d++) outer *= whole->type.dim[d];
  int64_t row = inner * slice->type.dim[dim], step = inner * whole->type.dim[dim];
  for (int64_t o = 0; o < outer; o++) {
    char *w = (char *)whole->data + o * step + part * row, *s = (char *)slice->data + o * row;
    memcpy(to_slice ? s : w, to_slice ? w : s, (size_t)row);
  }
}

value value_slice(const value *v, int dim, int part, int parts) {
  gr_type t = v->type;
  t.dim[dim] /= parts;
  value s = value_make(t);
  move(v, &s, dim, part, true);
  return s;
}

void value_paste(value *whole, const value *slice, int dim, int part, int parts) {
  (void)parts;
  move(whole, slice, dim, part, false);
}

double worst(const value *a, const value *b, int64_t *index) {
  double most = 0;
  *index = 0;
  for (int64_t i = 0; i < value_count(b); i++) {
    double x = value_get(a, i), y = value_get(b, i);
    double d = x == y || (isnan(x) && isnan(y)) ? 0 : fabs(x - y) / (1 + fabs(y));
    if (isnan(d)) d = INFINITY;
    if (d > most) most = d, *index = i;
  }
  return most;
}

// ---- Uses -----------------------------------------------------------------------------------

// Lengths measure an axis of the j-th operand that is a batch of something.
static int64_t measured(const gr_op_call *s, const char *letters, int j) {
  for (int k = 0; k < s->n_in; k++) {
    const gr_type *t = &s->in[k];
    if (letters[k] == 'l' || t->rank < 2 || j--) continue;
    int64_t least = t->dim[1];
    for (int d = 2; d < t->rank; d++) least = t->dim[d] < least ? t->dim[d] : least;
    return least;
  }
  return 4;
}

// What becomes of a number that is drawn: uniform, or normal for the letters that are none of
// these. v: as lengths, none of which is wrong, so that they may be ids.
static const char uniform[] = "pcislvm1z";
static double shaped(char letter, double x, int64_t most) {
  switch (letter) {
    case 'p':
    case 'c':
      return 0.3 + x;
    case 'i':
      return floor(4 * x);
    case 's':
      return 0.05 + 0.9 * x;
    case '1':
      return 1;
    case 'z':
      return 0;
    case 'l':
    case 'v':
      return 1 + floor((double)most * x);
    case 'm':
      return floor(2 * x);
    default:
      return x;
  }
}

static void fill_one(value *v, char letter, const gr_rng *r, int64_t most) {
  enum { DRAWN = 512 };
  double x[DRAWN];
  for (int64_t i = 0, n; i < value_count(v); i += n) {
    n = value_count(v) - i < DRAWN ? value_count(v) - i : DRAWN;
    (strchr(uniform, letter) ? gr_rng_uniforms : gr_rng_normals)(r, (uint64_t)i, n, x);
    for (int64_t k = 0; k < n; k++) value_put(v, i + k, shaped(letter, x[k], most));
  }
  if (letter != 'l' || value_count(v) < 5) return;
  value_put(v, 1, -2), value_put(v, 4, (double)most + 1000);  // wrong ones are clamped
}

void use_fill(use *u, const char *fill, uint64_t seed) {
  char letters[GR_MAX_ARGS + 1] = {0};
  int lengths = 0;
  for (int k = 0; k < u->call.n_in; k++)
    letters[k] = fill && strlen(fill) > (size_t)k          ? fill[k]
                 : gr_dtypes[u->call.in[k].dtype].is_float ? 'n'
                                                           : 'i';
  for (int k = 0; k < u->call.n_in; k++) {
    gr_rng r = gr_rng_make(seed, "ops", (uint64_t)k);
    int64_t most = strchr("lv", letters[k]) ? measured(&u->call, letters, lengths++) : 0;
    u->in[k] = value_make(u->call.in[k]);
    fill_one(&u->in[k], letters[k], &r, most);
  }
}

gr_status use_of_case(use *u, const gr_op *op, const gr_case *c, uint64_t seed) {
  return use_of_case_as(u, op, c, GR_F32, seed);
}

gr_status use_of_case_as(use *u, const gr_op *op, const gr_case *c, gr_dtype dtype, uint64_t seed) {
  memset(u, 0, sizeof *u);
  u->call.op = op, u->call.attr = c->attr;
  for (int k = 0; k < GR_MAX_ARGS; k++) u->layout[k] = gr_layout_replicated;
  for (; u->call.n_in < GR_CASE_ARGS && c->in[u->call.n_in]; u->call.n_in++) {
    gr_type *t = &u->call.in[u->call.n_in];
    GR_TRY(gr_type_parse(c->in[u->call.n_in], t));
    if (t->dtype == GR_F32) t->dtype = dtype;
  }
  gr_status s = gr_op_infer(&u->call);
  if (s && gr_is_narrow(dtype)) {  // ops that read a narrow x beside f32
    gr_status_drop(s);
    for (int k = 1; k < u->call.n_in; k++) {
      gr_type *t = &u->call.in[k], like = u->call.in[0];
      if (t->dtype == dtype && !gr_type_same(t, &like)) t->dtype = GR_F32;
    }
    s = gr_op_infer(&u->call);
  }
  GR_TRY(s);
  use_fill(u, c->fill, seed);
  return GR_OK;
}

int use_narrow_cases(const gr_op *op, void (*f)(use *, const gr_case *, int)) {
  int i = 0, ran = 0;
  for (const gr_case *c = op->cases; c && (c->in[0] || c->attr); c++, i++)
    for (gr_dtype d = GR_BF16; d <= GR_F16 && !c->fails && c->in[0]; d++) {
      use u;
      gr_status s = use_of_case_as(&u, op, c, d, (uint64_t)i);
      bool any = false;
      for (int k = 0; k < u.call.n_in; k++) any |= u.call.in[k].dtype == d;
      if (!s && any) f(&u, c, i), ran++;
      gr_status_drop(s);
      use_free(&u);
    }
  return ran;
}

// How far results may be apart, |a - b| / (1 + |b|), fast from plain and split from whole.
static const struct tolerance {
  const char *op;
  double near;
} tolerances[] = {
    {NULL, 1e-5},      // all that are not below
    {"matmul", 1e-4},  // sums of thousands of products, in f32
    {"conv3d", 1e-4},
    {"conv_grad_w", 1e-4},
    {"attention_grad", 5e-4},  // the weights of its cases do not add up to 1
};

static struct tolerance tolerance_of(const gr_op *op) {
  for (size_t i = 1; i < sizeof tolerances / sizeof *tolerances; i++)
    if (!strcmp(tolerances[i].op, op->name)) return tolerances[i];
  return tolerances[0];
}

double use_near(const use *u) {
  double near = tolerance_of(u->call.op).near;
  for (int k = 0; k < u->call.n_out + u->call.n_in; k++) {
    gr_dtype d = (k < u->call.n_out ? u->call.out[k] : u->call.in[k - u->call.n_out]).dtype;
    near = fmax(near, d == GR_BF16 ? 4e-2 : d == GR_F16 ? 5e-3 : 0);
  }
  return near;
}

double use_near_parts(const use *u) {
  bool narrow = u->call.n_out && gr_is_narrow(u->call.out[0].dtype);
  return use_near(u) * (narrow ? 4 : 1);
}

gr_status use_run(use *u, gr_kernel kernel, gr_cpu *cpu) {
  const void *in[GR_MAX_ARGS] = {0};
  void *out[GR_MAX_ARGS] = {0};
  for (int k = 0; k < u->call.n_in; k++) in[k] = u->in[k].data;
  for (int k = 0; k < u->call.n_out; k++) {
    value_free(&u->out[k]);
    u->out[k] = value_make(u->call.out[k]);
    memset(u->out[k].data, 0xff, gr_type_bytes(&u->call.out[k]));  // NaN: what is not written shows
    out[k] = u->out[k].data;
  }
  size_t bytes = u->call.op->scratch ? u->call.op->scratch(&u->call) : 0;
  void *scratch = aligned_alloc(64, (bytes + 127) / 64 * 64);
  memset(scratch, 0xff, bytes);
  gr_launch l = {.attr = u->call.attr, .n_in = u->call.n_in, .n_out = u->call.n_out};
  l.in_type = u->call.in, l.out_type = u->call.out, l.out_layout = u->layout;
  l.mesh = &u->mesh, l.coord = &u->coord;
  l.in = in, l.out = out, l.scratch = scratch, l.context = cpu;
  gr_status s = kernel(&l);
  free(scratch);
  return s;
}

void use_resize(use *u, const gr_sharding_rule *rule, int64_t size) {
  gr_op_call whole = u->call;
  for (int k = 0; k < u->call.n_in; k++)
    if (rule->in[k] >= 0) u->call.in[k].dim[rule->in[k]] = size;
  gr_status s = u->call.op->localize ? gr_op_infer(&u->call) : GR_OK;
  if (!s) return;
  u->call = whole;
  gr_status_drop(s);
}

void use_localize(use *u, char attr[256]) {
  const gr_op *op = u->call.op;
  if (!op->localize) return;
  u->call.attr = memcpy(attr, u->call.attr, op->attr_size);
  op->localize(attr, &u->layout[0], &u->mesh);
}

void use_free(use *u) {
  values_free(u->in, GR_MAX_ARGS);
  values_free(u->out, GR_MAX_ARGS);
}

// ---- Graphs ---------------------------------------------------------------------------------

void values_free(value *v, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) value_free(&v[i]);
}

static gr_status run_node(const gr_graph *g, const gr_node *n, value *v, bool fast) {
  use u = {0};
  gr_op_call_of(g, n, &u.call);
  for (int k = 0; k < GR_MAX_ARGS; k++) u.layout[k] = gr_layout_replicated;
  for (int k = 0; k < n->n_in; k++) u.in[k] = v[n->in[k].id];
  gr_kernel quick = fast ? gr_op_fast(&u.call) : NULL;
  gr_status s = use_run(&u, quick ? quick : n->op->cpu, NULL);
  for (int k = 0; k < n->n_out; k++) {
    value_free(&v[gr_out(n, k).id]);
    v[gr_out(n, k).id] = u.out[k];
  }
  return s;
}

gr_status graph_run(const gr_graph *g, value *v) {
  for (uint32_t i = 0; i < g->n_nodes; i++) GR_TRY(run_node(g, &g->nodes[i], v, false));
  return GR_OK;
}

gr_status graph_run_fast(const gr_graph *g, value *v) {
  GR_TRY(gr_gemm_open());
  for (uint32_t i = 0; i < g->n_nodes; i++) GR_TRY(run_node(g, &g->nodes[i], v, true));
  return GR_OK;
}
