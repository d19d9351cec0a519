// gpu_source.c - the launches of a call, the text that is compiled for a kernel, and the kernel
// that is generated from the formula of a pointwise op. See gpu.h.
#include "ops/kernels/formula.h"
#include "ops/kernels/gpu.h"
#include "ops/kernels/gpu_row.h"

GR_CU(prelude);
GR_CU(pointwise);

gr_status gr_gpu_describe(gr_gpu_call *g) {
  const gr_op *op = g->call->op;
  if (op->formula && !op->gpu) return gr_gpu_formula(g, op->formula);
  if (op->formulas && !op->gpu) return gr_gpu_statements(g);
  GR_TRY(op->gpu ? op->gpu(g) : gr_gpu_row(g));
  g->scratch = (g->scratch + 255) / 256 * 256;
  return GR_OK;
}

// Describes a call for what that says of it: its error, and its working memory.
static gr_status inspect(const gr_op_call *call, bool layers, size_t *scratch) {
  bool formula = call->op->formula || gr_formula_of(call->op, call->n_in);
  *scratch = formula && !call->op->gpu ? gr_gpu_statements_scratch(call) : 0;
  if (formula && !call->op->gpu) return GR_OK;  // the text need not be written to know
  gr_arena *work = gr_arena_create();
  gr_gpu_call g = {.call = call, .layers = layers, .arena = work};
  g.launch = GR_NEW(work, gr_gpu_launch, GR_GPU_LAUNCHES);
  gr_status s = gr_gpu_describe(&g);
  *scratch = g.scratch;  // of a loop that runs node by node too
  return gr_arena_end(work, s);
}

size_t gr_call_scratch(const gr_op_call *call, bool gpu) {
  size_t bytes;
  if (!gpu || call->op->collective) return call->op->scratch ? call->op->scratch(call) : 0;
  gr_status_drop(inspect(call, false, &bytes));
  return bytes;
}

gr_status gr_gpu_check(const gr_op_call *call) {
  size_t bytes;
  gr_status generated = inspect(call, false, &bytes);
  if (gr_status_code(generated) != GR_ERR_UNSUPPORTED) return generated;
  gr_status library = inspect(call, true, &bytes);
  gr_status_drop(library ? library : generated);
  return library ? generated : GR_OK;
}

void gr_gpu_own_source(const gr_gpu_call *g, const gr_gpu_kernel *k, gr_text *out) {
  const gr_op_call *call = g->call;
  for (int i = 0; i < call->n_in; i++)
    gr_text_printf(out, "#define IN%d %s\n", i, gr_gpu_type(call->in[i].dtype));
  for (int i = 0; i < call->n_out; i++)
    gr_text_printf(out, "#define OUT%d %s\n", i, gr_gpu_type(call->out[i].dtype));
  if (k->defines) gr_text_put(out, k->defines);
  gr_text_put(out, k->source);
}

void gr_gpu_source(const gr_gpu_call *g, const gr_gpu_kernel *k, gr_text *out) {
  gr_text_put(out, gr_cu_prelude);
  gr_gpu_own_source(g, k, out);
}

// ---- Formulas -------------------------------------------------------------------------------

void gr_gpu_function(gr_text *t, const char *name, const gr_graph *g, const gr_node *n) {
  gr_op_call call;
  gr_op_call_of(g, n, &call);
  gr_text_printf(t, "__device__ inline W %s(", name);
  for (int k = 0; k < n->n_in; k++) gr_text_printf(t, "%sW x%d", k ? ", " : "", k);
  gr_text_put(t, ") {\n");
  gr_gpu_constants(t, &call);
  gr_text_printf(t, "  return %s;\n}\n\n",
                 n->op->tile_formula ? n->op->tile_formula : n->op->formula);
}

// The text before that of pointwise.cu: types and sizes, and the function f.
static void put_formula(gr_text *out, const gr_op_call *call, const char *formula, int pack) {
  bool wide = gr_gpu_wide(call->out[0].dtype) == 8;
  for (int k = 0; k < call->n_in; k++) wide |= gr_gpu_wide(call->in[k].dtype) == 8;
  gr_text_printf(out, "typedef %s W;\n#define PACK %d\n#define OPERANDS(F)",
                 wide ? "double" : "float", pack);
  for (int k = 0; k < call->n_in; k++) gr_text_printf(out, " F(%d)", k);
  gr_text_put(out, "\n\n__device__ inline W f(");
  for (int k = 0; k < call->n_in; k++) gr_text_printf(out, "W x%d, ", k);
  gr_text_put(out, "long long i) {\n");
  gr_gpu_constants(out, call);
  gr_text_printf(out, "  return %s;\n}\n\n", formula);
}

gr_status gr_gpu_formula(gr_gpu_call *g, const char *formula) {
  const gr_op_call *call = g->call;
  gr_text source = gr_text_make(g->arena);
  int64_t n = gr_type_count(&call->out[0]);
  int most = gr_dtypes[call->out[0].dtype].size;
  for (int k = 0; k < call->n_in; k++)
    if (gr_dtypes[call->in[k].dtype].size > most) most = gr_dtypes[call->in[k].dtype].size;
  int pack = 16 / most;
  put_formula(&source, call, formula, pack);
  gr_text_put(&source, gr_cu_pointwise);
  gr_gpu_int(gr_gpu_kernel_add(g, source.chars, "pointwise", (n + pack - 1) / pack, 256), n);
  return GR_OK;
}
