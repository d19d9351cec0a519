// fused_cpu.c - the fast kernel of fused nodes. It runs the body over tiles that stay in the L1
// cache: each part is a loop over one tile (gr_op.tile), or its own fast kernel on one tile, the
// same code that runs the part alone, so that results are the same bits. A result whose memory is
// that of an operand is stored after all parts have read the tile. Sums over rows are added up in
// the chunks of rows that their op has by itself (gr_row_chunks). See fused.h.
#include <string.h>
#include "ops/kernels/fused.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/kernels/widen.h"

// Where the tile of each value of the body is, found once for a launch.
typedef struct program {
  const gr_launch *l;
  const gr_graph *g;
  const gr_type *space;
  bool rows;                            // tiles are whole rows
  int64_t size, columns;                // elements of a tile, and of a row of the space
  gr_fused_kind kind[GR_FUSED_VALUES];  // by value
  int buffer[GR_FUSED_VALUES];          // a buffer, or -1: it is read in memory
  char *memory[GR_FUSED_VALUES];        // where its elements begin
  int64_t sum_at[GR_FUSED_VALUES];      // of a sum: its first element among those of a chunk
  bool is_sum[GR_FUSED_VALUES];
  int64_t sums;                    // elements of all sums
  uint32_t last[GR_FUSED_VALUES];  // the last node that reads it; n_nodes: it is stored at the end
  bool stored[GR_FUSED_VALUES];    // by result: at the end of a tile
  gr_kernel kernel[GR_FUSED_PARTS];  // of parts without `tile`
  int n_buffers;
} program;

// Whether the tiles of operand k are copied or converted before they are read.
static bool is_loaded(const program *p, int k) {
  return gr_is_narrow(p->l->in_type[k].dtype) || p->kind[k + 1] == GR_FUSED_VECTOR;
}

static bool is_operand(const gr_launch *l, const void *memory) {
  for (int k = 0; k < l->n_in; k++)
    if (l->in[k] == memory) return true;
  return false;
}

static void find_results(program *p) {
  for (int k = 0; k < p->l->n_out; k++) {
    uint32_t v = p->g->results[k].id;
    if (p->is_sum[v]) continue;
    bool direct = !p->memory[v] && gr_at(p->g, p->g->results[k])->type.dtype == GR_F32 &&
                  !is_operand(p->l, p->l->out[k]);
    if (direct) p->memory[v] = p->l->out[k];
    p->stored[k] = !direct;
    if (!direct) p->last[v] = p->g->n_nodes;
  }
}

static int take(program *p, bool *taken) {
  int b = 0;
  while (b < p->n_buffers && taken[b]) b++;
  if (b == p->n_buffers) p->n_buffers++;
  taken[b] = true;
  return b;
}

static void find_buffers(program *p) {
  const gr_graph *g = p->g;
  bool taken[GR_FUSED_VALUES] = {0};
  for (int k = 0; k < p->l->n_in; k++) p->buffer[k + 1] = is_loaded(p, k) ? take(p, taken) : -1;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    for (int k = 0; k < n->n_out; k++) {
      uint32_t v = gr_out(n, k).id;
      p->buffer[v] = p->memory[v] || p->is_sum[v] ? -1 : take(p, taken);
    }
    for (int k = 0; k < n->n_in; k++)
      if (p->last[n->in[k].id] == i && p->buffer[n->in[k].id] >= 0)
        taken[p->buffer[n->in[k].id]] = false;
  }
}

// The types of a part's call on a tile of n elements; values are f32 there.
static void tile_types(const program *p, const gr_node *n, int64_t count, gr_type *in,
                       gr_type *out) {
  for (int k = 0; k < n->n_in + n->n_out; k++) {
    const gr_type *t = &gr_at(p->g, k < n->n_in ? n->in[k] : gr_out(n, k - n->n_in))->type;
    gr_type *to = k < n->n_in ? &in[k] : &out[k - n->n_in];
    *to = gr_fused_tile(t, p->space, count, p->rows);
    if (gr_is_narrow(to->dtype)) to->dtype = GR_F32;
  }
}

static void find_kernels(program *p) {
  for (uint32_t i = 0; i < p->g->n_nodes; i++) {
    const gr_node *n = &p->g->nodes[i];
    if (n->op->tile) continue;
    gr_op_call tile;
    tile.op = n->op, tile.attr = n->attr, tile.n_in = n->n_in, tile.n_out = n->n_out;
    gr_op_call_clear_missing(&tile);
    tile_types(p, n, p->size, tile.in, tile.out);
    p->kernel[i] = gr_op_fast(&tile);
  }
}

static void find_sums(program *p) {
  for (uint32_t v = 1; v < p->g->n_values; v++) {
    p->is_sum[v] = gr_fused_is_sum(p->g, (gr_val){v});
    p->sum_at[v] = p->sums;
    if (p->is_sum[v]) p->sums += gr_type_count(&p->g->values[v].type);
  }
}

static void prepare(program *p, const gr_launch *l) {
  const gr_graph *g = ((const gr_fused *)l->attr)->body;
  *p = (program){.l = l, .g = g, .rows = gr_fused_has_rows(g)};
  p->space = &gr_at(g, gr_fused_space(g, &g->nodes[0]))->type;
  p->size = gr_fused_tile_size(p->space, p->rows), p->columns = gr_last(p->space);
  for (uint32_t v = 1; v < g->n_values; v++)
    p->kind[v] = gr_fused_kind_of(&g->values[v].type, p->space);
  for (int k = 0; k < l->n_in; k++)
    if (!is_loaded(p, k)) p->memory[k + 1] = (char *)l->in[k];
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++) p->last[g->nodes[i].in[k].id] = i;
  find_sums(p);
  find_results(p);
  find_buffers(p);
  find_kernels(p);
}

// ---- A tile -------------------------------------------------------------------------------------

// The elements of value v that n elements of the space correspond to.
static int64_t count_in(const program *p, uint32_t v, int64_t n) {
  return p->kind[v] == GR_FUSED_LEAD ? n / p->columns : n;
}

static void run_tile_function(const gr_node *n, float *const *values, int64_t count) {
  const float *x[3] = {0};
  for (int k = 0; k < n->n_in; k++) x[k] = values[n->in[k].id];
  n->op->tile(x, values[n->out.id], count, n->attr);
}

// Where an operand of a kernel is: vectors and integers are read whole.
static const void *operand(const program *p, gr_val v, float *const *values) {
  bool whole = p->kind[v.id] == GR_FUSED_VECTOR || gr_at(p->g, v)->type.dtype == GR_I32;
  return whole ? p->l->in[v.id - 1] : values[v.id];
}

static void run_kernel(const program *p, uint32_t i, float *const *values, int64_t first,
                       int64_t n) {
  const gr_node *part = &p->g->nodes[i];
  gr_type in_type[GR_FUSED_ARGS], out_type[GR_FUSED_ARGS];
  const void *in[GR_FUSED_ARGS];
  void *out[GR_FUSED_ARGS];
  char scratch[GR_FUSED_SCRATCH] __attribute__((aligned(64)));
  tile_types(p, part, n, in_type, out_type);
  for (int k = 0; k < part->n_in; k++) in[k] = operand(p, part->in[k], values);
  for (int k = 0; k < part->n_out; k++) out[k] = values[gr_out(part, k).id];
  gr_launch l = {.attr = part->attr,
                 .n_in = part->n_in,
                 .n_out = part->n_out,
                 .in_type = in_type,
                 .out_type = out_type,
                 .out_layout = p->l->out_layout,
                 .mesh = p->l->mesh,
                 .coord = p->l->coord,
                 .in = in,
                 .out = out,
                 .scratch = scratch,
                 .whole = p->space,
                 .first = first};
  gr_status_drop(p->kernel[i](&l));  // kernels of one rank's arithmetic cannot fail
}

static void run_part(const program *p, uint32_t i, float *const *values, int64_t first, int64_t n) {
  const gr_node *part = &p->g->nodes[i];
  gr_dtype dtype = gr_at(p->g, part->out)->type.dtype;
  if (p->kernel[i])
    run_kernel(p, i, values, first, n);
  else
    run_tile_function(part, values, n);
  if (!gr_is_narrow(dtype)) return;
  float *y = values[part->out.id];
  uint16_t rounded[GR_FUSED_TILE];
  for (int64_t k = 0, now; k < n; k += now) {
    now = gr_min_i64(GR_FUSED_TILE, n - k);
    gr_narrow(dtype, y + k, rounded, now);
    gr_widen(dtype, rounded, y + k, now);
  }
}

static void store(const program *p, int k, const float *tile, int64_t first, int64_t n) {
  const gr_launch *l = p->l;
  uint32_t v = p->g->results[k].id;
  gr_dtype dtype = l->out_type[k].dtype;
  int64_t offset = count_in(p, v, first), count = count_in(p, v, n);
  if (gr_is_narrow(dtype))
    gr_narrow(dtype, tile, (uint16_t *)l->out[k] + offset, count);
  else
    memmove((float *)l->out[k] + offset, tile, (size_t)count * sizeof *tile);
}

static void load_some(const gr_launch *l, int k, int64_t first, int64_t n, float *out) {
  if (gr_is_narrow(l->in_type[k].dtype))
    gr_widen(l->in_type[k].dtype, (const uint16_t *)l->in[k] + first, out, n);
  else
    memcpy(out, (const float *)l->in[k] + first, (size_t)n * sizeof *out);
}

// A vector is repeated as often as the tile goes round.
static void load(const program *p, int k, int64_t first, int64_t n, float *out) {
  if (p->kind[k + 1] != GR_FUSED_VECTOR) {
    load_some(p->l, k, first, n, out);
    return;
  }
  int64_t columns = p->columns, column = first % columns;
  for (int64_t i = 0, now; i < n; i += now, column = 0) {
    now = columns - column < n - i ? columns - column : n - i;
    load_some(p->l, k, column, now, out + i);
  }
}

// sums: those of the chunk that the tile is in.
static void run_tile(const program *p, float *buffers, float *sums, int64_t first, int64_t n) {
  float *values[GR_FUSED_VALUES];
  int64_t step = (p->size + 15) / 16 * 16;
  for (uint32_t v = 1; v < p->g->n_values; v++)
    values[v] = p->buffer[v] >= 0 ? buffers + p->buffer[v] * step
                : p->is_sum[v]    ? sums + p->sum_at[v]
                                  : (float *)p->memory[v] + count_in(p, v, first);
  for (int k = 0; k < p->l->n_in; k++)
    if (p->buffer[k + 1] >= 0) load(p, k, first, n, values[k + 1]);
  for (uint32_t i = 0; i < p->g->n_nodes; i++) run_part(p, i, values, first, n);
  for (int k = 0; k < p->l->n_out; k++)
    if (p->stored[k]) store(p, k, values[p->g->results[k].id], first, n);
}

static void run_tiles_of(const program *p, float *sums, int64_t begin, int64_t end) {
  float buffers[GR_FUSED_TILES * GR_FUSED_ROW] __attribute__((aligned(64)));
  for (; begin < end; begin += p->size)
    run_tile(p, buffers, sums, begin, gr_min_i64(p->size, end - begin));
}

static void run_tiles(void *arg, int64_t begin, int64_t end) {
  const program *p = arg;
  int64_t row = p->rows ? p->columns : 1;
  run_tiles_of(p, NULL, begin * row, end * row);
}

static void run_chunks(void *arg, int64_t begin, int64_t end) {
  const program *p = arg;
  int64_t rows = gr_rows(p->space), size = gr_chunk_rows(rows);
  for (int64_t k = begin; k < end; k++) {
    float *sums = (float *)p->l->scratch + k * p->sums;
    memset(sums, 0, sizeof *sums * (size_t)p->sums);
    run_tiles_of(p, sums, k * size * p->columns, gr_min_i64(rows, (k + 1) * size) * p->columns);
  }
}

static void store_sums(const program *p) {
  for (int k = 0; k < p->l->n_out; k++) {
    uint32_t v = p->g->results[k].id;
    if (p->is_sum[v])
      memcpy(p->l->out[k], (float *)p->l->scratch + p->sum_at[v],
             gr_type_bytes(&p->l->out_type[k]));
  }
}

gr_status gr_fused_run(const gr_launch *l) {
  program p;
  prepare(&p, l);
  int64_t row = p.rows ? p.columns : 1, chunks = gr_row_chunks(gr_rows(p.space));
  if (!p.sums) {
    gr_parallel(l, gr_type_count(p.space) / row, p.rows ? 1 + 4096 / row : 4096, run_tiles, &p);
    return GR_OK;
  }
  gr_parallel(l, chunks, 1, run_chunks, &p);
  gr_add_chunks(l->scratch, chunks, p.sums);
  store_sums(&p);
  return GR_OK;
}
