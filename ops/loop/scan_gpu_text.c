// scan_gpu_text.c - the text of nodes in the kernel of a loop: see scan_gpu.h.
#include "ops/loop/scan_gpu.h"

#define PUT(...) gr_text_printf(&w->text, __VA_ARGS__)

// ---- Values ------------------------------------------------------------------------------------

const char *gr_scan_element(gr_scan_writer *w, gr_val v, const char *index) {
  const gr_scan_value *x = &w->value[v.id];
  if (!is_written(w, v)) return gr_arena_printf(w->arena, "gr_get(v%u, %s)", v.id, index);
  if (x->replicated)
    return gr_arena_printf(w->arena, "gr_get(v%u, %s - first * %d)", v.id, index, x->columns);
  return gr_arena_printf(w->arena, "loop_get(v%u, %s)", v.id, index);
}

static void put_store(gr_scan_writer *w, gr_val v, const char *to, const char *indent) {
  if (w->value[v.id].replicated)
    PUT("%sgr_put(%s, at - first * %d, r%u);\n", indent, to, w->value[v.id].columns, v.id);
  else
    PUT("%sgr_put(%s, at, r%u);\n", indent, to, v.id);
}

void gr_scan_put_stores(gr_scan_writer *w, gr_val v, const char *indent) {
  const gr_scan_value *x = &w->value[v.id];
  bool made = gr_at(w->g, v)->role == GR_TEMP;
  if (made && x->stored) put_store(w, v, gr_arena_printf(w->arena, "v%u", v.id), indent);
  for (int c = 0; c < w->s->n_carry; c++)
    if (gr_at(w->g, gr_scan_carry(w->s, c))->next.id == v.id)
      put_store(w, v, gr_arena_printf(w->arena, "next%d", c), indent);
  for (uint32_t j = 0; j < w->g->n_results; j++)
    if (w->g->results[j].id == v.id && x->stack != (int)j + 1)
      PUT("%s%sgr_put(out%d, t * %d + at, r%u);\n", indent, x->replicated ? "if (block == 0) " : "",
          (int)w->s->n_carry + (int)j, x->rows * x->columns, v.id);
}

void gr_scan_put_elements(gr_scan_writer *w, gr_val v) {
  int rows = gr_scan_rows(w, v), per = gr_scan_columns(w, v), columns = w->value[v.id].columns;
  bool whole = w->value[v.id].replicated;
  PUT("    for (int i = threadIdx.x; i < %d; i += %d) {\n"
      "      const int row = first + i / %d, column = %s + i %% %d, at = row * %d + column;\n",
      rows * per, GR_SCAN_THREADS, per, whole ? "0" : gr_arena_printf(w->arena, "block * %d", per),
      per, columns);
  PUT("      if (row >= %s || column >= %d) continue;\n",
      w->rowwise ? "last" : gr_arena_printf(w->arena, "%d", w->value[v.id].rows), columns);
}

// ---- Elementwise nodes -------------------------------------------------------------------------

void gr_scan_put_functions(gr_scan_writer *w) {
  for (uint32_t i = 0; i < w->g->n_nodes; i++) {
    const gr_node *n = &w->g->nodes[i];
    const char *name = gr_arena_printf(w->arena, "node%u", n->out.id);
    if (n->op == &gr_op_fused)
      gr_fused_put_functions(&w->text, ((const gr_fused *)n->attr)->body, name);
    else if (!product_of(w, n) && n->op != &gr_op_broadcast)
      gr_gpu_function(&w->text, name, w->g, n);
  }
}

static bool is_here(const gr_scan_writer *w, const gr_node *n, gr_val v) {
  if (gr_at(w->g, v)->role != GR_TEMP) return false;
  const gr_scan_when *a = &w->when[gr_at(w->g, v)->node], *b = when_of(w, n);
  return a->level == b->level && a->late == b->late && a->sub == b->sub;
}

// An operand of an elementwise node, at the element that this thread computes.
static void put_operand(gr_scan_writer *w, const gr_node *n, int k) {
  gr_val v = n->in[k];
  if (is_here(w, n, v))
    PUT("r%u", v.id);
  else
    gr_text_put(&w->text, gr_scan_element(w, v,
                                          reads_in_place(w, n, k) ? "at"
                                          : reads_row(w, n, k)    ? "row"
                                                                  : "column"));
}

static void put_operands(gr_scan_writer *w, const gr_node *n) {
  for (int k = 0; k < n->n_in; k++) {
    if (k) PUT(", ");
    put_operand(w, n, k);
  }
}

static const char *type_text(const gr_graph *g, gr_val v) {
  return gr_gpu_type(gr_at(g, v)->type.dtype);
}

static void put_fused(gr_scan_writer *w, const gr_node *n) {
  const gr_graph *body = ((const gr_fused *)n->attr)->body;
  for (int k = 0; k < n->n_in; k++) {
    PUT("        const W p%u_%d = ", n->out.id, k + 1);
    put_operand(w, n, k);
    PUT(";\n");
  }
  for (uint32_t i = 0; i < body->n_nodes; i++) {
    const gr_node *part = &body->nodes[i];
    if (part->op == &gr_op_broadcast) {
      PUT("        const W p%u_%u = p%u_%u;\n", n->out.id, part->out.id, n->out.id, part->in[0].id);
      continue;
    }
    PUT("        const W p%u_%u = loop_round<%s>(node%u_%u(", n->out.id, part->out.id,
        type_text(body, part->out), n->out.id, part->out.id);
    for (int k = 0; k < part->n_in; k++) PUT("%sp%u_%u", k ? ", " : "", n->out.id, part->in[k].id);
    PUT("));\n");
  }
  for (int k = 0; k < n->n_out; k++)
    PUT("        const W r%u = p%u_%u;\n", gr_out(n, k).id, n->out.id, body->results[k].id);
}

void gr_scan_put_elementwise(gr_scan_writer *w, const gr_node *n) {
  if (n->op == &gr_op_fused) {
    put_fused(w, n);
    return;
  }
  bool repeats = n->op == &gr_op_broadcast;
  PUT("        const W r%u = loop_round<%s>(", n->out.id, type_text(w->g, n->out));
  if (!repeats) PUT("node%u(", n->out.id);
  put_operands(w, n);
  PUT(repeats ? ");\n" : "));\n");
}

// ---- Products ----------------------------------------------------------------------------------

// One side of a product, as a loop_side (scan_gpu.cu).
typedef struct side {
  const char *value, *first, *last;
  int stride, step;
  bool fresh;   // other blocks have written it
  bool packed;  // it is in shared memory, and its lines are contiguous
} side;

static side left_of(gr_scan_writer *w, const gr_node *n) {
  const gr_gpu_gemm *p = product_of(w, n);
  gr_val v = n->in[0];
  const gr_scan_value *x = &w->value[v.id];
  side s = {.stride = (int)p->k, .step = 1, .packed = true};
  s.first = "top - first";
  s.last = w->rowwise ? "last - 1 - first" : gr_arena_printf(w->arena, "%d", (int)p->m - 1);
  if (x->staged && !p->ta) {
    s.value =
        gr_arena_printf(w->arena, "(const %s *)(shared + %zu)", type_text(w->g, v), x->staged - 1);
    return s;
  }
  s.value = gr_arena_printf(w->arena, "v%u", v.id);
  if (is_written(w, v) && x->replicated) {
    if (p->ta) s.stride = 1, s.step = (int)p->m, s.packed = false;
    return s;
  }
  s.first = "top", s.packed = false, s.fresh = is_written(w, v);
  if (w->rowwise) s.last = "last - 1";
  if (p->ta) s.stride = 1, s.step = (int)p->m;
  return s;
}

static side right_of(gr_scan_writer *w, const gr_node *n) {
  const gr_gpu_gemm *p = product_of(w, n);
  gr_val v = n->in[1];
  size_t held = w->held[n - w->g->nodes];
  int per = gr_scan_columns(w, n->out);
  bool whole = w->value[n->out.id].replicated,
       copied = is_written(w, v) && w->value[v.id].replicated;
  side s = {.value = gr_arena_printf(w->arena, "v%u", v.id),
            .first = "left",
            .stride = (int)p->k,
            .step = 1};
  s.last = gr_arena_printf(w->arena, "%d", (int)p->n - 1);
  if (!p->tb) s.stride = 1, s.step = (int)p->n;
  if (held) {
    s.value = gr_arena_printf(w->arena, "(const %s *)(shared + %zu)", type_text(w->g, v), held - 1);
    if (!whole) s.first = gr_arena_printf(w->arena, "left - block * %d", per);
    s.last = gr_arena_printf(w->arena, "%d", per - 1);
    s.stride = (int)p->k, s.step = 1;
  }
  s.packed = (held || copied) && s.step == 1;
  s.fresh = is_written(w, v) && !copied;
  return s;
}

static void put_side(gr_scan_writer *w, const char *name, gr_val v, side s) {
  PUT("        const loop_side<%s, %s> %s = {%s, %s, %s, %d, %d};\n", s.fresh ? "true" : "false",
      type_text(w->g, v), name, s.value, s.first, s.last, s.stride, s.step);
}

void gr_scan_put_product(gr_scan_writer *w, const gr_node *n, int tile_rows, int tile_columns) {
  enum { SHORT = 8 };
  const gr_gpu_gemm *p = product_of(w, n);
  side a = left_of(w, n), b = right_of(w, n);
  size_t wide = gr_scan_size(w, n->in[0]) > gr_scan_size(w, n->in[1]) ? gr_scan_size(w, n->in[0])
                                                                      : gr_scan_size(w, n->in[1]);
  int pack = a.packed && b.packed ? 16 / (int)wide : 1;
  while (p->k % pack) pack /= 2;
  PUT("        W r%u;\n        {\n", n->out.id);
  put_side(w, "a", n->in[0], a);
  put_side(w, "b", n->in[1], b);
  PUT("        r%u = loop_round<%s>(", n->out.id, type_text(w->g, n->out));
  if (p->k <= SHORT)
    PUT("loop_short_product<%d, %d, %d>(a, b));\n        }\n", tile_rows, tile_columns, (int)p->k);
  else
    PUT("loop_product<%d, %d, %d, %d>(a, b));\n        }\n", tile_rows, tile_columns, (int)p->k,
        pack);
}
