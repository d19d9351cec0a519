// fused_gpu.c - fused nodes on a GPU: one kernel that is generated from the parts, in which a value
// is a variable. Parts that see whole rows make it a kernel of rows (gpu_row.c); else a thread
// computes packs of 16 bytes of the space. See fused.h.
#include "ops/kernels/gpu_row.h"
#include "ops/kernels/operands.h"

#define PUT(...) gr_text_printf(t, __VA_ARGS__)

void gr_fused_put_functions(gr_text *t, const gr_graph *body, const char *prefix) {
  char name[80];
  for (uint32_t i = 0; i < body->n_nodes; i++) {
    snprintf(name, sizeof name, "%s_%u", prefix, body->nodes[i].out.id);
    if (body->nodes[i].op->tile) gr_gpu_function(t, name, body, &body->nodes[i]);
  }
}

static gr_gpu_parts_of parts_of(gr_gpu_call *g, const gr_graph *body) {
  gr_gpu_parts_of p = {.g = g, .n = (int)body->n_nodes};
  gr_op_call *calls = GR_NEW(g->arena, gr_op_call, body->n_nodes);
  p.space = &gr_at(body, gr_fused_space(body, &body->nodes[0]))->type;
  for (uint32_t i = 0; i < body->n_nodes; i++) {
    gr_op_call_of(body, &body->nodes[i], &calls[i]);
    p.part[i].call = &calls[i], p.part[i].out = body->nodes[i].out.id;
    for (int k = 0; k < body->nodes[i].n_in; k++) p.part[i].in[k] = body->nodes[i].in[k].id;
  }
  for (uint32_t k = 0; k < body->n_results; k++) p.result[k] = body->results[k].id;
  return p;
}

// ---- Elements ---------------------------------------------------------------------------------

static uint32_t n_in(const gr_gpu_parts_of *p) { return (uint32_t)p->g->call->n_in; }

static bool is_like(const gr_gpu_parts_of *p, uint32_t v) {
  return gr_gpu_value_kind(p, v) == GR_FUSED_LIKE;
}

static void put_part(gr_text *t, const gr_gpu_parts_of *p, int k) {
  const gr_gpu_part *part = &p->part[k];
  uint32_t v = part->out;
  gr_dtype dtype = part->call->out[0].dtype;
  PUT("  float v%u;\n  {\n", v);
  for (int j = 0; j < part->call->n_in; j++) PUT("    const auto x%d = v%u;\n", j, part->in[j]);
  if (part->call->op->tile) {
    PUT("    v%u = part_%u(", v, v);
    for (int j = 0; j < part->call->n_in; j++) PUT("%sx%d", j ? ", " : "", j);
    PUT(");\n");
  } else {
    gr_gpu_constants(t, part->call);
    PUT("    gr_draw &draw = draws[%d];\n    v%u = %s;\n", k, v,
        gr_gpu_row_formula(p->g->arena, part->call));
  }
  if (gr_is_narrow(dtype)) PUT("    v%u = gr_rounded<%s>(v%u);\n", v, gr_dtypes[dtype].name, v);
  PUT("  }\n");
}

// The function of one element: its operands' and results' values, and its place.
static void put_element(gr_text *t, const gr_gpu_parts_of *p) {
  const gr_op_call *s = p->g->call;
  PUT("__device__ inline void element(");
  for (uint32_t v = 1; v <= n_in(p); v++)
    PUT("%s v%u, ", gr_gpu_value(p, v)->dtype == GR_I32 ? "long long" : "float", v);
  for (int k = 0; k < s->n_out; k++) PUT("float &y%d, ", k);
  PUT("long long at, gr_draw *draws) {\n");
  for (int k = 0; k < p->n; k++) put_part(t, p, k);
  for (int k = 0; k < s->n_out; k++) PUT("  y%d = v%u;\n", k, p->result[k]);
  PUT("}\n\n");
}

// Calls the function for element i, whose operands are in packs (element e of them) or in memory.
static void put_call(gr_text *t, const gr_gpu_parts_of *p, bool packs, const char *indent) {
  const gr_op_call *s = p->g->call;
  for (int k = 0; k < s->n_out; k++) PUT("%sfloat y%d;\n", indent, k);
  PUT("%selement(", indent);
  for (int k = 0; k < s->n_in; k++) {
    gr_fused_kind kind = gr_gpu_value_kind(p, (uint32_t)k + 1);
    if (kind == GR_FUSED_LIKE)
      PUT(packs ? "gr_get(p%d.at, e), " : "gr_get(in%d, i), ", k);
    else if (kind == GR_FUSED_VECTOR)
      PUT("gr_get(in%d, column), ", k);
    else
      PUT("gr_get(in%d, gr_div(%s, each%d)), ", k, packs ? "i + e" : "i", k);
  }
  for (int k = 0; k < s->n_out; k++) PUT("y%d, ", k);
  if (gr_gpu_has_places(p))
    PUT("GR_GLOBAL_OF(i%s), draws);\n", packs ? " + e" : "");
  else
    PUT("0, draws);\n");
}

static void put_results(gr_text *t, const gr_gpu_parts_of *p, bool packs, const char *indent) {
  for (int k = 0; k < p->g->call->n_out; k++)
    PUT(packs ? "%sgr_put(q%d.at, e, y%d);\n" : "%sgr_put(out%d, i, y%d);\n", indent, k, k);
}

static void put_packs(gr_text *t, const gr_gpu_parts_of *p) {
  const gr_op_call *s = p->g->call;
  PUT("  for (long long i = GR_FIRST * PACK; i < whole; i += GR_ALL * PACK) {\n");
  for (int k = 0; k < s->n_in; k++)
    if (is_like(p, (uint32_t)k + 1)) PUT("    const auto p%d = gr_load<PACK>(in%d, i);\n", k, k);
  for (int k = 0; k < s->n_out; k++) PUT("    gr_pack<OUT%d, PACK> q%d;\n", k, k);
  PUT("    long long column = gr_mod(i, columns);\n#pragma unroll\n"
      "    for (int e = 0; e < PACK; e++) {\n");
  put_call(t, p, true, "      ");
  put_results(t, p, true, "      ");
  PUT("      if (++column == columns) column = 0;\n    }\n");
  for (int k = 0; k < s->n_out; k++) PUT("    gr_store(out%d, i, q%d);\n", k, k);
  PUT("  }\n");
}

static void put_kernel(gr_text *t, const gr_gpu_parts_of *p) {
  const gr_op_call *s = p->g->call;
  int size = gr_dtypes[gr_gpu_widest(p)].size;
  PUT("constexpr int PACK = %d;\n\nextern \"C\" __global__ void fused(", 16 / size);
  gr_gpu_put_pointers(t, s, true);
  PUT("long long n, long long columns");
  for (int k = 0; k < s->n_in; k++)
    if (s->in[k].dtype == GR_I32) PUT(", long long each%d", k);
  PUT("%s) {\n  bool packs = true;\n", gr_gpu_has_places(p) ? ", GR_GLOBAL" : "");
  if (gr_gpu_has_places(p))
    PUT("  gr_draw draws[%d];\n", p->n);
  else
    PUT("  gr_draw *draws = nullptr;\n");
  for (int k = 0; k < s->n_in; k++)
    if (is_like(p, (uint32_t)k + 1)) PUT("  packs &= gr_aligned(in%d);\n", k);
  for (int k = 0; k < s->n_out; k++) PUT("  packs &= gr_aligned(out%d);\n", k);
  PUT("  const long long whole = packs ? n / PACK * PACK : 0;\n");
  put_packs(t, p);
  PUT("  for (long long i = whole + GR_FIRST; i < n; i += GR_ALL) {\n"
      "    const long long column = gr_mod(i, columns);\n    (void)column;\n");
  put_call(t, p, false, "    ");
  put_results(t, p, false, "    ");
  PUT("  }\n}\n");
}

static void describe_elements(gr_text *t, const gr_gpu_parts_of *p) {
  const gr_op_call *s = p->g->call;
  int64_t n = gr_type_count(p->space), pack = 16 / gr_dtypes[gr_gpu_widest(p)].size;
  put_element(t, p);
  put_kernel(t, p);
  gr_gpu_kernel *k = gr_gpu_kernel_add(p->g, t->chars, "fused", (n + pack - 1) / pack, 256);
  gr_gpu_int(k, n), gr_gpu_int(k, gr_last(p->space));
  for (int j = 0; j < s->n_in; j++)
    if (s->in[j].dtype == GR_I32) gr_gpu_int(k, n / gr_type_count(&s->in[j]));
  if (gr_gpu_has_places(p)) gr_gpu_global_of(p->g, k, p->space);
}

gr_status gr_fused_gpu(gr_gpu_call *g) {
  const gr_graph *body = ((const gr_fused *)g->call->attr)->body;
  gr_text t = gr_text_make(g->arena);
  gr_gpu_parts_of p = parts_of(g, body);
  bool rows = gr_fused_has_rows(body);
  if (!rows) gr_text_put(&t, "typedef float W;\n\n");
  gr_fused_put_functions(&t, body, "part");
  if (rows)
    gr_gpu_rows_of_parts(&p, &t);
  else
    describe_elements(&t, &p);
  return GR_OK;
}
