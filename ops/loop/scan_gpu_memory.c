// scan_gpu_memory.c - how the kernel of a loop divides values over blocks, and what is kept where:
// see scan_gpu.c.
#include "ops/loop/scan_gpu.h"

// Columns of values that all blocks of a group compute, and elements: a barrier costs more.
enum { NARROW = 4, FEW = 64 };

static size_t aligned(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

// Whether something reads a leaf by rows: it is a matrix of one column.
static bool is_column(const gr_scan_writer *w, uint32_t v) {
  bool column = false;
  for (uint32_t i = 0; i < w->g->n_nodes; i++)
    for (int k = 0; k < w->g->nodes[i].n_in; k++)
      column |= w->g->nodes[i].in[k].id == v && reads_row(w, &w->g->nodes[i], k);
  return column;
}

static void find_sizes(gr_scan_writer *w) {
  for (uint32_t v = 1; v < w->g->n_values; v++) {
    const gr_type *t = &w->g->values[v].type;
    w->value[v].columns = t->rank && !is_column(w, v) ? (int)t->dim[t->rank - 1] : 1;
    w->value[v].rows = (int)gr_type_count(t) / w->value[v].columns;
  }
}

// Whether all values but constants are matrices of equally many rows, and each row of a node's
// result depends on that row of its operands alone.
static bool is_rowwise(const gr_scan_writer *w) {
  int rows = 0;
  for (uint32_t v = 1; v < w->g->n_values; v++) {
    const gr_value *x = &w->g->values[v];
    if (is_constant(w, (gr_val){v})) continue;
    bool matrix = x->type.rank == 2 || (x->type.rank == 1 && is_column(w, v));
    if (!matrix || (rows && w->value[v].rows != rows)) return false;
    rows = w->value[v].rows;
  }
  for (uint32_t i = 0; i < w->g->n_nodes; i++) {
    const gr_node *n = &w->g->nodes[i];
    const gr_gpu_gemm *p = w->product[i];
    if (p && (p->ta || is_constant(w, n->in[0]) || !is_constant(w, n->in[1]))) return false;
  }
  return rows > 0;
}

// ---- Groups ------------------------------------------------------------------------------------

// What a step costs a block, in elements read from its shared memory, if the rows are divided into
// so many groups. Without: bytes that would not fit there are read from the L2 cache each step.
static double cost_of(const gr_scan_writer *w, int64_t rows, int groups) {
  int64_t blocks = w->processors / groups, own_rows = (rows + groups - 1) / groups;
  double cost = 0, bytes = 0;
  for (uint32_t i = 0; i < w->g->n_nodes; i++) {
    const gr_node *n = &w->g->nodes[i];
    const gr_gpu_gemm *p = w->product[i];
    if (!p) continue;
    int64_t columns = (p->n + blocks - 1) / blocks;
    cost += (double)((own_rows + 3) / 4 * columns * p->k) + 2 * (double)(own_rows * p->k);
    bytes += (double)(columns * p->k) * (double)gr_scan_size(w, n->in[1]) +
             (double)(own_rows * p->k) * (double)gr_scan_size(w, n->in[0]);
  }
  double over = bytes - (double)w->most_shared;
  return cost + (over > 0 ? 8 * over : 0);
}

static void find_groups(gr_scan_writer *w) {
  gr_val carry = w->s->n_carry ? gr_scan_carry(w->s, 0) : w->g->nodes[0].out;
  int rows = w->value[carry.id].rows;
  w->rowwise = is_rowwise(w);
  w->groups = 1;
  for (int g = 2; w->rowwise && g <= GR_SCAN_GROUPS && g <= rows && g <= w->processors; g *= 2)
    if (cost_of(w, rows, g) < cost_of(w, rows, w->groups)) w->groups = g;
  w->rows = (rows + w->groups - 1) / w->groups;
  w->groups = (rows + w->rows - 1) / w->rows;  // none without rows
  int widest = 1, most = w->processors / w->groups;
  for (uint32_t i = 0; i < w->g->n_nodes; i++) {
    int columns = w->value[w->g->nodes[i].out.id].columns;
    if (columns > widest) widest = columns;
  }
  // Fewer blocks where that leaves none with less work: 512 columns are 16 for each of 33 or of 32.
  int per = (widest + most - 1) / most;
  w->blocks = (widest + per - 1) / per;
}

// ---- Places ------------------------------------------------------------------------------------

static size_t place_bytes(const gr_scan_writer *w, gr_val v, int times) {
  return aligned((size_t)times * gr_type_bytes(type_of(w, v)), 256);
}

static size_t reserve(gr_scan_writer *w, gr_val v, int times) {
  size_t offset = w->scratch;
  w->scratch += place_bytes(w, v, times);
  return offset;
}

static size_t reserve_shared(gr_scan_writer *w, size_t bytes) {
  size_t offset = w->shared;
  w->shared += aligned(bytes, 16);
  return offset;
}

// A yield's memory is that of its value, unless every block has a copy of that.
static void find_places(gr_scan_writer *w) {
  const gr_graph *g = w->g;
  for (uint32_t j = 0; j < g->n_results; j++) {
    gr_scan_value *v = &w->value[g->results[j].id];
    if (gr_at(g, g->results[j])->role == GR_TEMP && !v->stack && !v->replicated)
      v->stack = (int)j + 1;
  }
  for (uint32_t id = 1; id < g->n_values; id++) {
    gr_val v = {id};
    gr_scan_value *x = &w->value[id];
    bool carry = gr_scan_is_carry(w->s, id);
    if (!is_written(w, v)) continue;
    if (x->replicated)
      x->place = reserve_shared(
          w, (size_t)((carry ? 2 : 1) * gr_scan_rows(w, v) * x->columns) * gr_scan_size(w, v));
    else if (carry || !x->stack)
      x->place = reserve(w, v, carry ? 2 : 1);
  }
}

// The rows of products' left operands, while they take at most half of the shared memory.
static void find_staged(gr_scan_writer *w) {
  for (uint32_t i = 0; i < w->g->n_nodes; i++) {
    const gr_gpu_gemm *p = w->product[i];
    gr_val a = w->g->nodes[i].in[0];
    gr_scan_value *v = &w->value[a.id];
    if (!p || p->ta || v->staged || is_constant(w, a) || (v->replicated && is_written(w, a)))
      continue;
    size_t bytes = (size_t)gr_scan_rows(w, a) * (size_t)v->columns * gr_scan_size(w, a);
    if (w->shared + bytes <= w->most_shared / 2) v->staged = 1 + reserve_shared(w, bytes);
  }
}

// The block's columns of constant matrices; those that do not fit stay in the L2 cache.
static void find_held(gr_scan_writer *w) {
  for (uint32_t i = 0; i < w->g->n_nodes; i++) {
    const gr_node *n = &w->g->nodes[i];
    if (!w->product[i] || !is_constant(w, n->in[1])) continue;
    size_t bytes =
        (size_t)gr_scan_columns(w, n->out) * (size_t)w->product[i]->k * gr_scan_size(w, n->in[1]);
    if (w->shared + bytes <= w->most_shared) w->held[i] = 1 + reserve_shared(w, bytes);
  }
}

static void find_exchanged(gr_scan_writer *w) {
  for (uint32_t i = 0; i < w->g->n_nodes; i++)
    for (int k = 0; k < w->g->nodes[i].n_in; k++)
      if (is_exchange(w, &w->g->nodes[i], k)) w->value[w->g->nodes[i].in[k].id].exchanged = true;
}

size_t gr_scan_most_scratch(const gr_scan_writer *w) {
  size_t bytes = GR_SCAN_COUNTERS;
  bool *kept = GR_NEW(w->arena, bool, w->g->n_values);  // in the memory of a result
  for (uint32_t j = 0; j < w->g->n_results; j++) {
    gr_val v = w->g->results[j];
    kept[v.id] = gr_at(w->g, v)->role == GR_TEMP && !gr_scan_is_carry(w->s, v.id);
  }
  for (uint32_t id = 1; id < w->g->n_values; id++)
    if (is_written(w, (gr_val){id}) && !kept[id])
      bytes += place_bytes(w, (gr_val){id}, gr_scan_is_carry(w->s, id) ? 2 : 1);
  return bytes;
}

void gr_scan_divide(gr_scan_writer *w) {
  w->value = GR_NEW(w->arena, gr_scan_value, w->g->n_values);
  w->held = GR_NEW(w->arena, size_t, w->g->n_nodes + 1);
  w->scratch = GR_SCAN_COUNTERS;
  find_sizes(w);
  find_groups(w);
  for (uint32_t v = 1; v < w->g->n_values; v++)
    w->value[v].replicated =
        w->value[v].columns <= NARROW && gr_scan_rows(w, (gr_val){v}) * w->value[v].columns <= FEW;
  find_places(w);
  find_staged(w);
  find_held(w);
  find_exchanged(w);
}
