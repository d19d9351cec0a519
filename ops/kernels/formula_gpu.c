// formula_gpu.c - the kernel for GPUs that is generated from statements. See formula.h.
//
//   extern "C" __global__ void lion(const IN0 *in0, ..., OUT0 *out0, ..., long long n, double
//                                   set_beta1, ...) {
//     typedef float T;
//     __shared__ T shared[1];            computed in double, by one thread of each block
//     if (threadIdx.x == 0) { const double lr = gr_get(in3, 0); ... shared[0] = keep; }
//     __syncthreads();
//     const T lr = gr_get(in3, 0), ..., keep = shared[0];
//     for (each i) { T w = gr_get(in0, i), ...; STATEMENTS gr_put(out0, i, w); }
//   }
//
// The loop is over packs of 16 bytes of the widest elements, as in pointwise.cu. A large call whose
// shared expressions take long has them computed once, by a launch before its own, NAME_shared,
// which writes them to working memory.
#include <string.h>
#include "base/arena.h"
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

// Whether shared expressions are computed before the kernel and not by each of its blocks: powers,
// in double, take a thread thousands of clocks where a GPU has few units for double. A small call
// has few blocks, of which one takes as long as all, so that a launch would cost more.
static bool is_apart(const formula *r) {
  enum { LARGE = 1 << 18 };  // elements
  static const char power[] = "pow(";
  if (gr_type_count(r->call->out) < LARGE) return false;
  for (int k = 0; k < r->n; k++)
    for (int i = 0; r->name[k].kind == GR_NAME_SHARED && i < r->name[k].n_expression; i++)
      if (!strncmp(r->name[k].expression + i, power, sizeof power - 1)) return true;
  return false;
}

size_t gr_gpu_statements_scratch(const gr_op_call *call) {
  const gr_formula *f = gr_formula_of(call->op, call->n_in);
  if (!f) return 0;
  const formula r = read_formula(call, f);
  return is_apart(&r) ? 256 : 0;
}

static void put_head(gr_text *t, const formula *r, const char *suffix) {
  PUT("extern \"C\" __global__ void %s%s(", r->call->op->name, suffix);
  for (int k = 0; k < r->call->n_in; k++) PUT("const IN%d *in%d, ", k, k);
  for (int k = 0; k < r->call->n_out; k++) PUT("OUT%d *out%d, ", k, k);
  PUT("%slong long n", is_apart(r) ? "void *scratch, " : "");
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

static void put_shared(gr_text *t, const formula *r) {
  PUT("  if (threadIdx.x == 0) {\n");
  for (int k = 0; k < r->n; k++) put_scalar(t, r, k, "    ", "double");
  for (int k = 0, index = 0; k < r->n; k++) {
    const gr_formula_name *name = &r->name[k];
    if (name->kind != GR_NAME_SHARED) continue;
    PUT("    const double %.*s = %.*s;\n    shared[%d] = (T)%.*s;\n", name->n_name, name->name,
        name->n_expression, name->expression, index, name->n_name, name->name);
    index++;
  }
  PUT("  }\n");
}

static void put_scalars(gr_text *t, const formula *r) {
  int shared = 0, index = 0;
  for (int k = 0; k < r->n; k++) shared += r->name[k].kind == GR_NAME_SHARED;
  if (is_apart(r)) {
    PUT("  const T *shared = (const T *)scratch;\n");
  } else if (shared) {
    PUT("  __shared__ T shared[%d];\n", shared);
    put_shared(t, r);
    PUT("  __syncthreads();\n");
  }
  for (int k = 0; k < r->n; k++) {
    put_scalar(t, r, k, "  ", "T");
    if (r->name[k].kind == GR_NAME_SHARED)
      PUT("  const T %.*s = shared[%d];\n", r->name[k].n_name, r->name[k].name, index++);
  }
}

// ---- Elements -----------------------------------------------------------------------------------

static bool is_each(const formula *r, int k) { return r->name[k].kind == GR_NAME_EACH; }

// Elements of a pack: 16 bytes of the widest type.
static int pack_of(const formula *r) {
  int widest = 1;
  for (int k = 0; k < r->call->n_in; k++)
    if (is_each(r, k) && gr_dtypes[r->call->in[k].dtype].size > widest)
      widest = gr_dtypes[r->call->in[k].dtype].size;
  for (int k = 0; k < r->call->n_out; k++)
    if (gr_dtypes[r->call->out[k].dtype].size > widest)
      widest = gr_dtypes[r->call->out[k].dtype].size;
  return 16 / widest;
}

// The statements on element i in memory, or element gr_e of packs.
static void put_element(gr_text *t, const formula *r, bool packs) {
  for (int k = 0; k < r->n; k++) {
    const gr_formula_name *name = &r->name[k];
    if (!is_each(r, k)) continue;
    PUT(packs ? "    T %.*s = gr_get(gr_x%d.at, gr_e);\n" : "    T %.*s = gr_get(in%d, i);\n",
        name->n_name, name->name, k);
    if (r->f->if_ok)
      PUT("    const T was_%.*s = %.*s;\n", name->n_name, name->name, name->n_name, name->name);
  }
  PUT("    %s\n", r->f->statements);
  for (int k = 0; k < r->n_results; k++) {
    const gr_formula_name *name = &r->result[k];
    PUT(packs ? "    gr_put(gr_y%d.at, gr_e, " : "    gr_put(out%d, i, ", k);
    if (r->f->if_ok)
      PUT("ok != 0 ? %.*s : was_%.*s);\n", name->n_name, name->name, name->n_name, name->name);
    else
      PUT("%.*s);\n", name->n_name, name->name);
  }
}

static void put_packs(gr_text *t, const formula *r) {
  PUT("  constexpr int gr_pack_size = %d;\n  const bool gr_packs = true", pack_of(r));
  for (int k = 0; k < r->n; k++)
    if (is_each(r, k)) PUT(" && gr_aligned(in%d)", k);
  for (int k = 0; k < r->n_results; k++) PUT(" && gr_aligned(out%d)", k);
  PUT(";\n  const long long gr_whole = gr_packs ? n / gr_pack_size * gr_pack_size : 0;\n"
      "  for (long long i = GR_FIRST * gr_pack_size; i < gr_whole; i += GR_ALL * gr_pack_size) "
      "{\n");
  for (int k = 0; k < r->n; k++)
    if (is_each(r, k)) PUT("    const auto gr_x%d = gr_load<gr_pack_size>(in%d, i);\n", k, k);
  for (int k = 0; k < r->n_results; k++) PUT("    gr_pack<OUT%d, gr_pack_size> gr_y%d;\n", k, k);
  PUT("#pragma unroll\n    for (int gr_e = 0; gr_e < gr_pack_size; gr_e++) {\n");
  put_element(t, r, true);
  PUT("    }\n");
  for (int k = 0; k < r->n_results; k++) PUT("    gr_store(out%d, i, gr_y%d);\n", k, k);
  PUT("  }\n");
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

static void put_numbers(gr_gpu_kernel *k, const formula *r, int64_t n) {
  gr_gpu_int(k, n);
  for (int i = 0; i < r->n; i++)
    if (is_number(r, i)) gr_gpu_real(k, value_of(r->call, &r->name[i]));
}

static void add_shared(gr_gpu_call *g, const formula *r) {
  gr_text text = gr_text_make(g->arena), *t = &text;
  put_head(t, r, "_shared");
  PUT("  T *shared = (T *)scratch;\n");
  put_shared(t, r);
  PUT("}\n");
  g->scratch = gr_gpu_statements_scratch(g->call);
  const char *entry = gr_arena_printf(g->arena, "%s_shared", g->call->op->name);
  put_numbers(gr_gpu_kernel_add(g, t->chars, entry, 1, 32), r, gr_type_count(g->call->out));
}

gr_status gr_gpu_statements(gr_gpu_call *g) {
  const gr_formula *f = gr_formula_of(g->call->op, g->call->n_in);
  if (!f) return gr_gpu_refuse(g->call);
  formula r = read_formula(g->call, f);
  gr_text text = gr_text_make(g->arena), *t = &text;
  int64_t n = gr_type_count(g->call->out), pack = r.each ? pack_of(&r) : 1;
  if (is_apart(&r)) add_shared(g, &r);
  put_head(t, &r, "");
  put_scalars(t, &r);
  if (r.each) put_packs(t, &r);
  PUT("  for (long long i = %sGR_FIRST; i < n; i += GR_ALL) {\n", r.each ? "gr_whole + " : "");
  put_element(t, &r, false);
  PUT("  }\n}\n");
  int64_t threads = gr_gpu_items((n + pack - 1) / pack);
  put_numbers(
      gr_gpu_kernel_add(g, t->chars, g->call->op->name, threads, r.each ? GR_GPU_BLOCK : 32), &r,
      n);
  return GR_OK;
}
