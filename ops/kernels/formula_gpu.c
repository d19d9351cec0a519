// formula_gpu.c - the kernel for GPUs that is generated from statements. See formula.h.
//
//   extern "C" __global__ void lion(const IN0 *in0, ..., OUT0 *out0, ..., long long n, double
//                                   beta1_set, ...) {
//     typedef float T;
//     __shared__ T gr_shared[1];            computed in double, by one thread of each block
//     if (threadIdx.x == 0) { const double lr = gr_get(in3, 0); ... gr_shared[0] = keep; }
//     __syncthreads();
//     const T lr = gr_get(in3, 0), ..., keep = gr_shared[0];
//     for (each i) { T w = gr_get(in0, i), ...; STATEMENTS gr_put(out0, i, w); }
//   }
#include <string.h>
#include "ops/kernels/formula.h"
#include "ops/kernels/gpu.h"

#define PUT(...) gr_text_printf(t, __VA_ARGS__)

typedef struct formula {
  const gr_formula *f;
  const gr_op_call *call;
  gr_formula_name name[GR_FORMULA_NAMES], result[GR_FORMULA_NAMES];
  int n, n_results;
  bool each;  // whether an operand is one
} formula;

static formula read_formula(const gr_op_call *call, const gr_formula *f) {
  formula r = {.f = f, .call = call};
  r.n = gr_formula_list(f, r.name), r.n_results = gr_formula_results(f, r.result);
  for (int k = 0; k < r.n; k++) r.each |= r.name[k].kind == GR_NAME_EACH;
  return r;
}

// Whether name k is an operand of the call; other attributes are numbers of the launch.
static bool is_operand(const formula *r, int k) {
  return k < r->call->n_in && r->name[k].kind != GR_NAME_SHARED;
}

static bool is_number(const formula *r, int k) {
  return r->name[k].kind == GR_NAME_PARAM && !is_operand(r, k);
}

// Whether T is double.
static bool is_wide(const formula *r) {
  const gr_op_call *c = r->call;
  bool wide = !r->each;
  for (int k = 0; k < c->n_in; k++)
    wide |= r->name[k].kind == GR_NAME_EACH && gr_gpu_wide(c->in[k].dtype) == sizeof(double);
  for (int k = 0; k < c->n_out; k++) wide |= gr_gpu_wide(c->out[k].dtype) == sizeof(double);
  return wide;
}

static void put_head(gr_text *t, const formula *r) {
  PUT("extern \"C\" __global__ void %s(", r->call->op->name);
  for (int k = 0; k < r->call->n_in; k++) PUT("const IN%d *in%d, ", k, k);
  for (int k = 0; k < r->call->n_out; k++) PUT("OUT%d *out%d, ", k, k);
  PUT("long long n");
  for (int k = 0; k < r->n; k++)
    if (is_number(r, k)) PUT(", double set_%.*s", r->name[k].n_name, r->name[k].name);
  PUT(") {\n  typedef %s T;\n", is_wide(r) ? "double" : "float");
}

// Scalar k as a constant of that type.
static void put_scalar(gr_text *t, const formula *r, int k, const char *indent, const char *type) {
  const gr_formula_name *name = &r->name[k];
  if (name->kind != GR_NAME_ONE && name->kind != GR_NAME_PARAM) return;
  PUT("%sconst %s %.*s = (%s)", indent, type, name->n_name, name->name, type);
  if (is_operand(r, k))
    PUT("gr_get(in%d, 0);\n", k);
  else
    PUT("set_%.*s;\n", name->n_name, name->name);
}

static void put_shared(gr_text *t, const formula *r, int n) {
  PUT("  __shared__ T shared[%d];\n  if (threadIdx.x == 0) {\n", n);
  for (int k = 0; k < r->n; k++) put_scalar(t, r, k, "    ", "double");
  for (int k = 0, index = 0; k < r->n; k++) {
    const gr_formula_name *name = &r->name[k];
    if (name->kind != GR_NAME_SHARED) continue;
    PUT("    const double %.*s = %.*s;\n    shared[%d] = (T)%.*s;\n", name->n_name, name->name,
        name->n_expression, name->expression, index, name->n_name, name->name);
    index++;
  }
  PUT("  }\n  __syncthreads();\n");
}

static void put_scalars(gr_text *t, const formula *r) {
  int shared = 0, index = 0;
  for (int k = 0; k < r->n; k++) shared += r->name[k].kind == GR_NAME_SHARED;
  if (shared) put_shared(t, r, shared);
  for (int k = 0; k < r->n; k++) {
    put_scalar(t, r, k, "  ", "T");
    if (r->name[k].kind == GR_NAME_SHARED)
      PUT("  const T %.*s = shared[%d];\n", r->name[k].n_name, r->name[k].name, index++);
  }
}

static void put_element(gr_text *t, const formula *r) {
  for (int k = 0; k < r->n; k++) {
    const gr_formula_name *name = &r->name[k];
    if (name->kind != GR_NAME_EACH) continue;
    PUT("    T %.*s = gr_get(in%d, i);\n", name->n_name, name->name, k);
    if (r->f->if_ok)
      PUT("    const T was_%.*s = %.*s;\n", name->n_name, name->name, name->n_name, name->name);
  }
  PUT("    %s\n", r->f->statements);
  for (int k = 0; k < r->n_results; k++) {
    const gr_formula_name *name = &r->result[k];
    PUT("    gr_put(out%d, i, ", k);
    if (r->f->if_ok)
      PUT("ok != 0 ? %.*s : was_%.*s);\n", name->n_name, name->name, name->n_name, name->name);
    else
      PUT("%.*s);\n", name->n_name, name->name);
  }
}

static double value_of(const gr_op_call *c, const gr_formula_name *name) {
  for (const gr_attr *a = c->op->attrs; a && a->name; a++) {
    if (strlen(a->name) != (size_t)name->n_name || memcmp(a->name, name->name, strlen(a->name)))
      continue;
    const void *value = (const char *)c->attr + a->offset;
    return a->kind == GR_ATTR_FLOAT ? *(const double *)value : (double)*(const int64_t *)value;
  }
  return 0;
}

gr_status gr_gpu_statements(gr_gpu_call *g) {
  const gr_formula *f = gr_formula_of(g->call->op, g->call->n_in);
  if (!f) return gr_gpu_refuse(g->call);
  formula r = read_formula(g->call, f);
  gr_text text = gr_text_make(g->arena), *t = &text;
  int64_t n = gr_type_count(g->call->out);
  put_head(t, &r);
  put_scalars(t, &r);
  PUT("  for (long long i = GR_FIRST; i < n; i += GR_ALL) {\n");
  put_element(t, &r);
  PUT("  }\n}\n");
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, t->chars, g->call->op->name, gr_gpu_items(n),
                                       r.each ? GR_GPU_BLOCK : 32);
  gr_gpu_int(k, n);
  for (int i = 0; i < r.n; i++)
    if (is_number(&r, i)) gr_gpu_real(k, value_of(g->call, &r.name[i]));
  return GR_OK;
}
