// scan_gpu_kernel.c - the text of the kernel of a loop around its nodes: pointers, levels, the
// beginning and the end. In it
//
//   memory, shared  working memory, and the block's shared memory
//   group, block    the block's group, and its number in that
//   first, last     rows of the group: from the first up to, but not including, the last
//   step, t         the number of the step, and its index in sequences and yields
#include "ops/loop/scan_gpu.h"

GR_CU(scan_gpu);

#define PUT(...) gr_text_printf(&w->text, __VA_ARGS__)

static int count_of(const gr_scan_writer *w, gr_val v) {
  return w->value[v.id].rows * w->value[v.id].columns;
}

static const char *type_text(const gr_scan_writer *w, gr_val v) {
  return gr_gpu_type(type_of(w, v)->dtype);
}

// ---- Pointers ----------------------------------------------------------------------------------

static const char *place_text(const gr_scan_writer *w, gr_val v) {
  const gr_scan_value *x = &w->value[v.id];
  return gr_arena_printf(w->arena, "(%s *)(%s + %zu)", type_text(w, v),
                         x->replicated ? "shared" : "memory", x->place);
}

// Elements from one of a carry's two places to the other.
static int carry_count(const gr_scan_writer *w, gr_val v) {
  return w->value[v.id].replicated ? gr_scan_rows(w, v) * w->value[v.id].columns : count_of(w, v);
}

static void put_leaf_pointer(gr_scan_writer *w, gr_val v) {
  const char *type = type_text(w, v);
  int k = gr_scan_operand(w->s, v.id);
  if (gr_scan_is_carry(w->s, v.id))
    PUT("    const %s *v%u = %s + (step & 1) * %d;\n", type, v.id, place_text(w, v),
        carry_count(w, v));
  else if (gr_scan_is_seq(w->s, v.id))
    PUT("    const %s *v%u = in%d + t * %d;\n", type, v.id, k, count_of(w, v));
  else
    PUT("    const %s *v%u = in%d;\n", type, v.id, k);
  PUT("    (void)v%u;\n", v.id);
}

static void put_pointers(gr_scan_writer *w) {
  uint32_t leaves = gr_graph_leaves(w->g);
  for (uint32_t v = 1; v <= leaves; v++) put_leaf_pointer(w, (gr_val){v});
  for (uint32_t id = leaves + 1; id < w->g->n_values; id++) {
    gr_val v = {id};
    const gr_scan_value *x = &w->value[id];
    if (!x->stored) continue;
    if (x->stack)
      PUT("    %s *v%u = out%d + t * %d;\n", type_text(w, v), id, (int)w->s->n_carry + x->stack - 1,
          count_of(w, v));
    else
      PUT("    %s *v%u = %s;\n", type_text(w, v), id, place_text(w, v));
  }
  for (int c = 0; c < w->s->n_carry; c++) {
    gr_val leaf = gr_scan_carry(w->s, c);
    PUT("    %s *next%d = %s + (~step & 1) * %d;\n", type_text(w, leaf), c, place_text(w, leaf),
        carry_count(w, leaf));
  }
}

// ---- Levels ------------------------------------------------------------------------------------

// The tile of a warp that leaves the warps the least to do, in elements of operands and terms.
static void find_tile(int rows, int columns, int *out_rows, int *out_columns) {
  enum { MOST = 4 };
  int64_t least = INT64_MAX;
  for (int r = 1; r <= MOST; r *= 2)
    for (int c = 1; c <= MOST; c *= 2) {
      int64_t tiles = (int64_t)((rows + r - 1) / r) * ((columns + c - 1) / c);
      int64_t cost = (tiles + GR_SCAN_WARPS - 1) / GR_SCAN_WARPS * (4 * r * c + 4 * (r + c) + 8);
      if (cost < least) least = cost, *out_rows = r, *out_columns = c;
    }
}

// Begins a loop of warps over tiles of a value's elements.
static void put_tiles(gr_scan_writer *w, gr_val v, int r, int c) {
  int rows = gr_scan_rows(w, v), per = gr_scan_columns(w, v), down = (rows + r - 1) / r;
  const char *first =
      w->value[v.id].replicated ? "0" : gr_arena_printf(w->arena, "block * %d", per);
  PUT("    for (int tile = warp; tile < %d; tile += %d) {\n"
      "      const int top = first + tile %% %d * %d, left = %s + tile / %d * %d, mine = lane / "
      "%d;\n"
      "      const int row = top + mine %% %d, column = left + mine / %d;\n"
      "      const int at = row * %d + column;\n",
      down * ((per + c - 1) / c), GR_SCAN_WARPS, down, r, first, down, c, 32 / (r * c), r, r,
      w->value[v.id].columns);
}

// Whether this lane has an element of the value that is the block's own.
static void put_guard(gr_scan_writer *w, gr_val v, int r, int c) {
  const gr_scan_value *x = &w->value[v.id];
  int per = gr_scan_columns(w, v);
  PUT("      if (lane %% %d == 0 && row < %s && column < %d", 32 / (r * c),
      w->rowwise ? "last" : gr_arena_printf(w->arena, "%d", x->rows), x->columns);
  if (!x->replicated && per % c) PUT(" && column < block * %d + %d", per, per);
  PUT(") {\n");
}

typedef struct group {  // nodes that run together: of one sub-level, with results of equal sizes
  uint32_t *node, n;
  bool products;
} group;

static void put_group(gr_scan_writer *w, const group *a) {
  gr_val like = w->g->nodes[a->node[0]].out;
  int r = 1, c = 1;
  if (a->products) {
    find_tile(gr_scan_rows(w, like), gr_scan_columns(w, like), &r, &c);
    put_tiles(w, like, r, c);
    for (uint32_t i = 0; i < a->n; i++)
      if (w->product[a->node[i]]) gr_scan_put_product(w, &w->g->nodes[a->node[i]], r, c);
    put_guard(w, like, r, c);
  } else {
    gr_scan_put_elements(w, like);
    PUT("      {\n");
  }
  for (uint32_t i = 0; i < a->n; i++) {
    const gr_node *n = &w->g->nodes[a->node[i]];
    if (!product_of(w, n)) gr_scan_put_elementwise(w, n);
    for (int k = 0; k < n->n_out; k++) gr_scan_put_stores(w, gr_out(n, k), "        ");
  }
  PUT("      }\n    }\n");
}

// The nodes of one sub-level; false: there are none.
static bool put_sub(gr_scan_writer *w, gr_scan_when when) {
  const gr_graph *g = w->g;
  bool any = false, *done = GR_NEW(w->arena, bool, g->n_nodes + 1);
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    group a = {.node = GR_NEW(w->arena, uint32_t, g->n_nodes)};
    for (uint32_t j = i; j < g->n_nodes; j++) {
      const gr_scan_when *b = &w->when[j];
      if (done[j] || b->level != when.level || b->late != when.late || b->sub != when.sub) continue;
      if (a.n &&
          !gr_fused_is_like(type_of(w, g->nodes[j].out), type_of(w, g->nodes[a.node[0]].out)))
        continue;
      a.node[a.n++] = j, a.products |= w->product[j] != NULL, done[j] = true;
    }
    if (a.n) put_group(w, &a), any = true;
  }
  return any;
}

static void put_subs(gr_scan_writer *w, int level, bool late) {
  int last = 0;
  for (uint32_t i = 0; i < w->g->n_nodes; i++)
    if (w->when[i].level == level && w->when[i].late == late && w->when[i].sub > last)
      last = w->when[i].sub;
  for (int sub = 0; sub <= last; sub++)
    if (put_sub(w, (gr_scan_when){level, late, sub}) && sub < last) PUT("    __syncthreads();\n");
}

static void put_staging(gr_scan_writer *w, int level) {
  bool any = false;
  for (uint32_t id = 1; id < w->g->n_values; id++) {
    gr_val v = {id};
    const gr_scan_value *x = &w->value[id];
    if (!x->staged || x->level != level) continue;
    PUT("    loop_stage<%s>((%s *)(shared + %zu), v%u + first * %d, ",
        is_written(w, v) ? "true" : "false", type_text(w, v), x->staged - 1, id, x->columns);
    if (w->rowwise)
      PUT("(last - first) * %d);\n", x->columns);
    else
      PUT("%d);\n", count_of(w, v));
    any = true;
  }
  if (any) PUT("    __syncthreads();\n");
}

static bool has_late(const gr_scan_writer *w, int level) {
  bool late = false;
  for (uint32_t i = 0; i < w->g->n_nodes; i++) late |= w->when[i].level == level && w->when[i].late;
  return late;
}

static void put_levels(gr_scan_writer *w) {
  for (int level = 0; level < w->levels; level++) {
    put_staging(w, level);
    put_subs(w, level, false);
    if (w->waits[level]) PUT("    gr_grid_arrive(count);\n");
    if (has_late(w, level)) {
      if (!w->waits[level]) PUT("    __syncthreads();\n");
      put_subs(w, level, true);
    }
    if (w->waits[level])
      PUT("    gr_grid_wait(count, goal += %d);\n", w->blocks);
    else
      PUT("    __syncthreads();\n");
  }
}

// Next values that no node makes, and yields that are leaves.
static void put_leaf_copies(gr_scan_writer *w) {
  for (uint32_t id = 1; id <= gr_graph_leaves(w->g); id++) {
    gr_val v = {id};
    bool copied = false;
    for (int c = 0; c < w->s->n_carry; c++)
      copied |= gr_at(w->g, gr_scan_carry(w->s, c))->next.id == id;
    for (uint32_t j = 0; j < w->g->n_results; j++) copied |= w->g->results[j].id == id;
    if (!copied) continue;
    gr_scan_put_elements(w, v);
    PUT("      const W r%u = %s;\n", id, gr_scan_element(w, v, "at"));
    gr_scan_put_stores(w, v, "      ");
    PUT("    }\n");
  }
}

// ---- The kernel --------------------------------------------------------------------------------

// Initial carries.
static void put_carries(gr_scan_writer *w) {
  for (int c = 0; c < w->s->n_carry; c++) {
    gr_val leaf = gr_scan_carry(w->s, c);
    const gr_scan_value *x = &w->value[leaf.id];
    int k = gr_scan_operand(w->s, leaf.id);
    gr_scan_put_elements(w, leaf);
    PUT("      gr_put(%s, at - %s * %d, %s);\n    }\n", place_text(w, leaf),
        x->replicated ? "first" : "0", x->columns,
        k < 0 ? "(W)0" : gr_arena_printf(w->arena, "gr_get(in%d, at)", k));
  }
}

// The block's columns of constant matrices: in shared memory a column is contiguous.
static void put_held(gr_scan_writer *w) {
  for (uint32_t i = 0; i < w->g->n_nodes; i++) {
    const gr_node *n = &w->g->nodes[i];
    if (!w->held[i]) continue;
    const gr_gpu_gemm *p = product_of(w, n);
    int k = (int)p->k, columns = (int)p->n, per = gr_scan_columns(w, n->out);
    PUT("    for (int i = threadIdx.x; i < %d; i += %d) {\n", k * per, GR_SCAN_THREADS);
    if (p->tb)
      PUT("      const int k = i %% %d, line = i / %d", k, k);
    else
      PUT("      const int k = i / %d, line = i %% %d", per, per);
    PUT(", column = %s + line;\n      if (column < %d) ((%s *)(shared + %zu))[line * %d + k] = "
        "in%d[",
        w->value[n->out.id].replicated ? "0" : gr_arena_printf(w->arena, "block * %d", per),
        columns, type_text(w, n->in[1]), w->held[i] - 1, k, gr_scan_operand(w->s, n->in[1].id));
    PUT(p->tb ? "column * %d + k];\n    }\n" : "k * %d + column];\n    }\n", p->tb ? k : columns);
  }
}

static void put_beginning(gr_scan_writer *w) {
  int rows = w->rowwise ? w->value[w->g->nodes[0].out.id].rows : 0;
  PUT("    extern __shared__ __align__(16) char shared[];\n"
      "    char *memory = (char *)scratch;\n"
      "    const int group = blockIdx.x / %d, block = blockIdx.x %% %d;\n"
      "    unsigned *count = (unsigned *)(memory + group * %d), goal = 0;\n"
      "    const int lane = threadIdx.x %% 32, warp = threadIdx.x / 32;\n"
      "    const int first = group * %d, last = first + %d < %d ? first + %d : %d;\n"
      "    (void)shared, (void)block, (void)lane, (void)warp, (void)first, (void)last;\n"
      "    (void)count, (void)goal;\n",
      w->blocks, w->blocks, GR_SCAN_COUNTER, w->rows, w->rows, rows, w->rows, rows);
  put_carries(w);
  put_held(w);
  if (gr_scan_waits(w))
    PUT("    gr_grid_arrive(count);\n    gr_grid_wait(count, goal += %d);\n", w->blocks);
  else
    PUT("    __syncthreads();\n");
}

// The last carries.
static void put_end(gr_scan_writer *w) {
  for (int c = 0; c < w->s->n_carry; c++) {
    gr_val leaf = gr_scan_carry(w->s, c);
    gr_scan_put_elements(w, leaf);
    if (w->value[leaf.id].replicated) PUT("      if (block == 0)\n  ");
    PUT("      gr_put(out%d, at, %s);\n    }\n", c, gr_scan_element(w, leaf, "at"));
  }
}

void gr_scan_write_kernel(gr_scan_writer *w) {
  bool doubles = false;
  for (uint32_t v = 1; v < w->g->n_values; v++) doubles |= w->g->values[v].type.dtype == GR_F64;
  PUT("typedef %s W;\n\n", doubles ? "double" : "float");
  gr_text_put(&w->text, gr_cu_scan_gpu);
  gr_scan_put_functions(w);
  PUT("extern \"C\" __global__ void __launch_bounds__(%d, 1) loop(", GR_SCAN_THREADS);
  for (int k = 0; k < w->call->n_in; k++) PUT("const IN%d *in%d, ", k, k);
  for (int k = 0; k < w->call->n_out; k++) PUT("OUT%d *out%d, ", k, k);
  PUT("void *scratch, long long steps) {\n");
  put_beginning(w);
  PUT("  for (long long step = 0; step < steps; step++) {\n    const long long t = %s;\n",
      w->s->reverse ? "steps - 1 - step" : "step");
  put_pointers(w);
  put_leaf_copies(w);
  put_levels(w);
  PUT("  }\n  {\n    const long long step = steps;\n");
  for (int c = 0; c < w->s->n_carry; c++) put_leaf_pointer(w, gr_scan_carry(w->s, c));
  put_end(w);
  PUT("  }\n}\n");
}
