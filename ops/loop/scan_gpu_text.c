// scan_gpu_text.c - the text of the kernel that scan_gpu.c describes. In it
//
//   vN       the memory of the body's value N in this step
//   rN       the element of value N that this thread computes
//   nextC    where the next value of carry C is made
//   held     columns of constant matrices, in shared memory
//   step, t  the number of the step, and its index in sequences and yields
#include "ops/loop/scan_gpu.h"

// ---- Values ------------------------------------------------------------------------------------

#define PUT(...) gr_text_printf(&w->text, __VA_ARGS__)

// The element of a value at an index, which is C text too.
static const char *element(gr_scan_writer *w, gr_val v, const char *index) {
  bool fresh = gr_at(w->g, v)->role != GR_INPUT;  // another block may have written it
  return gr_arena_printf(w->arena, fresh ? "__ldcg(&v%u[%s])" : "v%u[%s]", v.id, index);
}

static long long count_of(const gr_scan_writer *w, gr_val v) {
  return (long long)gr_type_count(type_of(w, v));
}

// Pointers to the values of this step.
static void put_pointers(gr_scan_writer *w) {
  for (uint32_t v = 1; v <= gr_graph_leaves(w->g); v++) {
    int k = gr_scan_operand(w->s, v);
    if (gr_scan_is_carry(w->s, v))
      PUT("    const float *v%u = (const float *)(memory + %zu) + (step & 1) * %lld;\n", v,
          w->place[v], count_of(w, (gr_val){v}));
    else if (gr_scan_is_seq(w->s, v))
      PUT("    const float *v%u = in%d + t * %lld;\n", v, k, count_of(w, (gr_val){v}));
    else
      PUT("    const float *v%u = in%d;\n", v, k);
  }
  for (uint32_t v = gr_graph_leaves(w->g) + 1; v < w->g->n_values; v++) {
    if (!w->crosses[v]) continue;
    if (w->stack[v])
      PUT("    float *v%u = out%d + t * %lld;\n", v, (int)w->s->n_carry + w->stack[v] - 1,
          count_of(w, (gr_val){v}));
    else
      PUT("    float *v%u = (float *)(memory + %zu);\n", v, w->place[v]);
  }
  for (int c = 0; c < w->s->n_carry; c++) {
    gr_val leaf = gr_scan_carry(w->s, c);
    PUT("    float *next%d = (float *)(memory + %zu) + (~step & 1) * %lld;\n", c, w->place[leaf.id],
        count_of(w, leaf));
  }
}

// Stores element `at` of a value where it is needed: later levels, yields, the carries' next
// values.
static void put_stores(gr_scan_writer *w, gr_val v, const char *indent) {
  if (w->crosses[v.id]) PUT("%sv%u[at] = r%u;\n", indent, v.id, v.id);
  for (int c = 0; c < w->s->n_carry; c++)
    if (gr_at(w->g, gr_at(w->g, gr_scan_carry(w->s, c))->next)->role == GR_TEMP &&
        gr_at(w->g, gr_scan_carry(w->s, c))->next.id == v.id)
      PUT("%snext%d[at] = r%u;\n", indent, c, v.id);
  for (uint32_t j = 0; j < w->g->n_results; j++)
    if (w->g->results[j].id == v.id && w->stack[v.id] != (int)j + 1)
      PUT("%sout%d[t * %lld + at] = r%u;\n", indent, (int)w->s->n_carry + (int)j, count_of(w, v),
          v.id);
}

// ---- Nodes -------------------------------------------------------------------------------------

static void put_functions(gr_scan_writer *w) {
  for (uint32_t i = 0; i < w->g->n_nodes; i++) {
    const gr_node *n = &w->g->nodes[i];
    if (n->op == &gr_op_fused)
      gr_fused_put_functions(&w->text, ((const gr_fused *)n->attr)->body,
                             gr_arena_printf(w->arena, "f%u", n->out.id));
    else if (!product_of(w, n))
      gr_gpu_function(&w->text, gr_arena_printf(w->arena, "f%u", n->out.id), w->g, n);
  }
}

// An operand of an elementwise node at element `at`, which is in column `column`.
static void put_operand(gr_scan_writer *w, const gr_node *n, int k) {
  const gr_value *v = gr_at(w->g, n->in[k]);
  bool here = v->role == GR_TEMP && w->level[v->node] == w->level[n - w->g->nodes];
  if (here)
    PUT("r%u", n->in[k].id);
  else
    PUT("%s", element(w, n->in[k], reads_in_place(w, n, k) ? "at" : "column"));
}

static void put_fused(gr_scan_writer *w, const gr_node *n) {
  const gr_graph *body = ((const gr_fused *)n->attr)->body;
  for (int k = 0; k < n->n_in; k++) {
    PUT("        const float p%u_%d = ", n->out.id, k + 1);
    put_operand(w, n, k);
    PUT(";\n");
  }
  for (uint32_t i = 0; i < body->n_nodes; i++) {
    const gr_node *part = &body->nodes[i];
    PUT("        const float p%u_%u = f%u_%u(", n->out.id, part->out.id, n->out.id, part->out.id);
    for (int k = 0; k < part->n_in; k++) PUT("%sp%u_%u", k ? ", " : "", n->out.id, part->in[k].id);
    PUT(");\n");
  }
  for (int k = 0; k < n->n_out; k++)
    PUT("        const float r%u = p%u_%u;\n", gr_out(n, k).id, n->out.id, body->results[k].id);
}

static void put_elementwise(gr_scan_writer *w, const gr_node *n) {
  if (n->op == &gr_op_fused) {
    put_fused(w, n);
    return;
  }
  PUT("        const float r%u = f%u(", n->out.id, n->out.id);
  for (int k = 0; k < n->n_in; k++) {
    if (k) PUT(", ");
    put_operand(w, n, k);
  }
  PUT(");\n");
}

// The sum of a product's element in row `row` and column `column`, by the lanes of a warp.
static void put_product(gr_scan_writer *w, const gr_node *n) {
  const gr_gpu_gemm *p = product_of(w, n);
  size_t held = w->held[n - w->g->nodes];
  long long rows = (long long)p->m, columns = (long long)p->n, k = (long long)p->k;
  const char *a = p->ta ? gr_arena_printf(w->arena, "(long long)k * %lld + row", rows)
                        : gr_arena_printf(w->arena, "row * %lld + k", k);
  const char *b = p->tb ? gr_arena_printf(w->arena, "column * %lld + k", k)
                        : gr_arena_printf(w->arena, "(long long)k * %lld + column", columns);
  const char *right = held ? gr_arena_printf(w->arena, "held[%zu + turn * %lld + k]", held - 1, k)
                           : element(w, n->in[1], b);
  PUT("        float r%u = 0;\n        for (int k = lane; k < %lld; k += 32) r%u += %s * %s;\n"
      "        r%u = gr_warp_sum(r%u);\n",
      n->out.id, k, n->out.id, element(w, n->in[0], a), right, n->out.id, n->out.id);
}

// ---- Levels ------------------------------------------------------------------------------------

// The nodes of a level whose results have the sizes of node `first`: those that are not done.
static void put_group(gr_scan_writer *w, uint32_t first, bool *done) {
  const gr_type *sizes = type_of(w, w->g->nodes[first].out);
  bool products = false;
  for (uint32_t i = first; i < w->g->n_nodes; i++)
    products |= w->level[i] == w->level[first] && product_of(w, &w->g->nodes[i]) &&
                gr_fused_is_like(type_of(w, w->g->nodes[i].out), sizes);
  long long n = (long long)gr_type_count(sizes),
            columns = sizes->rank ? (long long)sizes->dim[sizes->rank - 1] : 1;
  if (products)
    PUT("    for (long long column = blockIdx.x, turn = 0; column < %lld; column += gridDim.x, "
        "turn++)\n      for (long long row = warp; row < %lld; row += %d) {\n"
        "        const long long at = row * %lld + column;\n",
        columns, n / columns, GR_SCAN_THREADS / 32, columns);
  else
    PUT("    {\n      for (long long at = GR_FIRST; at < %lld; at += GR_ALL) {\n"
        "        const long long column = at %% %lld;\n        (void)column;\n",
        n, columns);
  for (uint32_t i = first; i < w->g->n_nodes; i++) {
    const gr_node *node = &w->g->nodes[i];
    if (w->level[i] != w->level[first] || !gr_fused_is_like(type_of(w, node->out), sizes)) continue;
    done[i] = true;
    if (product_of(w, node))
      put_product(w, node);
    else
      put_elementwise(w, node);
    if (products) PUT("        if (lane == 0) {\n");
    for (int k = 0; k < node->n_out; k++)
      put_stores(w, gr_out(node, k), products ? "          " : "        ");
    if (products) PUT("        }\n");
  }
  PUT(products ? "      }\n" : "      }\n    }\n");
}

static void put_levels(gr_scan_writer *w) {
  bool *done = GR_NEW(w->arena, bool, w->g->n_nodes + 1);
  for (int level = 0; level < w->levels; level++) {
    for (uint32_t i = 0; i < w->g->n_nodes; i++)
      if (w->level[i] == level && !done[i]) put_group(w, i, done);
    PUT("    gr_grid_barrier(count, goal += gridDim.x);\n");
  }
}

// Elements of one value copied to another place, by all threads.
static void put_copy(gr_scan_writer *w, gr_val like, const char *to, const char *from) {
  PUT("    for (long long at = GR_FIRST; at < %lld; at += GR_ALL) %s[at] = %s;\n",
      count_of(w, like), to, from);
}

// Next values that no node makes, and yields that are leaves.
static void put_leaf_copies(gr_scan_writer *w) {
  for (int c = 0; c < w->s->n_carry; c++) {
    gr_val next = gr_at(w->g, gr_scan_carry(w->s, c))->next;
    if (gr_at(w->g, next)->role == GR_TEMP) continue;
    put_copy(w, next, gr_arena_printf(w->arena, "next%d", c), element(w, next, "at"));
  }
  for (uint32_t j = 0; j < w->g->n_results; j++) {
    gr_val v = w->g->results[j];
    if (gr_at(w->g, v)->role == GR_TEMP) continue;
    put_copy(w, v,
             gr_arena_printf(w->arena, "(out%d + t * %lld)", (int)w->s->n_carry + (int)j,
                             count_of(w, v)),
             element(w, v, "at"));
  }
}

// Initial carries, and the block's columns of constant matrices.
static void put_beginning(gr_scan_writer *w) {
  PUT("  char *memory = (char *)scratch;\n  unsigned *count = (unsigned *)scratch, goal = 0;\n"
      "  const int lane = threadIdx.x %% 32, warp = threadIdx.x / 32;\n  (void)lane, "
      "(void)warp;\n");
  for (int c = 0; c < w->s->n_carry; c++) {
    gr_val leaf = gr_scan_carry(w->s, c);
    int k = gr_scan_operand(w->s, leaf.id);
    put_copy(w, leaf, gr_arena_printf(w->arena, "((float *)(memory + %zu))", w->place[leaf.id]),
             k < 0 ? "0" : gr_arena_printf(w->arena, "in%d[at]", k));
  }
  for (uint32_t i = 0; i < w->g->n_nodes; i++) {
    const gr_node *n = &w->g->nodes[i];
    if (!w->held[i]) continue;
    const gr_gpu_gemm *p = product_of(w, n);
    long long k = (long long)p->k, columns = (long long)p->n;
    PUT("  for (long long column = blockIdx.x, turn = 0; column < %lld; column += gridDim.x, "
        "turn++)\n    for (long long k = threadIdx.x; k < %lld; k += %d)\n"
        "      held[%zu + turn * %lld + k] = in%d[",
        columns, k, GR_SCAN_THREADS, w->held[i] - 1, k, gr_scan_operand(w->s, n->in[1].id));
    if (p->tb)
      PUT("column * %lld + k];\n", k);
    else
      PUT("k * %lld + column];\n", columns);
  }
  PUT("  gr_grid_barrier(count, goal += gridDim.x);\n");
}

static void put_end(gr_scan_writer *w) {
  for (int c = 0; c < w->s->n_carry; c++) {
    gr_val leaf = gr_scan_carry(w->s, c);
    PUT("  for (long long at = GR_FIRST; at < %lld; at += GR_ALL)\n    out%d[at] = __ldcg((const "
        "float *)(memory + %zu) + (steps & 1) * %lld + at);\n",
        count_of(w, leaf), c, w->place[leaf.id], count_of(w, leaf));
  }
  PUT("}\n");
}

void gr_scan_write_kernel(gr_scan_writer *w) {
  PUT("typedef float W;\n\n");
  put_functions(w);
  if (w->floats) PUT("extern __shared__ float held[];\n\n");
  PUT("extern \"C\" __global__ void __launch_bounds__(%d) loop(", GR_SCAN_THREADS);
  for (int k = 0; k < w->call->n_in; k++) PUT("const float *in%d, ", k);
  for (int k = 0; k < w->call->n_out; k++) PUT("float *out%d, ", k);
  PUT("void *scratch, long long steps) {\n");
  put_beginning(w);
  PUT("  for (long long step = 0; step < steps; step++) {\n    const long long t = %s;\n",
      w->s->reverse ? "steps - 1 - step" : "step");
  put_pointers(w);
  put_leaf_copies(w);
  put_levels(w);
  PUT("  }\n");
  put_end(w);
}
