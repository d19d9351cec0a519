// fused.c - what nodes can be parts of a fused node, and what their operands are. See fused.h.
#include "ops/kernels/fused.h"
#include <string.h>
#include "ops/kernels/operands.h"

static bool is_tiled(gr_dtype d) { return d == GR_F32 || gr_is_narrow(d); }

bool gr_fused_is_like(const gr_type *t, const gr_type *out) {
  return t->rank == out->rank && !memcmp(t->dim, out->dim, sizeof *t->dim * (size_t)t->rank);
}

static bool begins(const gr_type *t, int rank, const gr_type *space) {
  return rank < space->rank && !memcmp(t->dim, space->dim, sizeof *t->dim * (size_t)rank);
}

static bool is_lead(const gr_type *t, const gr_type *space) {
  if (t->dtype == GR_I32) return begins(t, t->rank, space) || (!t->rank && !space->rank);
  bool kept = t->rank == space->rank && t->rank && t->dim[t->rank - 1] == 1;  // sum with keepdim
  int rank = t->rank - kept;
  return rank == space->rank - 1 && begins(t, rank, space);
}

gr_fused_kind gr_fused_kind_of(const gr_type *t, const gr_type *space) {
  bool vector = t->rank == 1 && space->rank > 1 && t->dim[0] == space->dim[space->rank - 1];
  if (!gr_dtypes[t->dtype].is_float)
    return t->dtype == GR_I32 && is_lead(t, space) ? GR_FUSED_LEAD : GR_FUSED_NOTHING;
  if (gr_fused_is_like(t, space)) return GR_FUSED_LIKE;
  if (vector) return GR_FUSED_VECTOR;
  return is_lead(t, space) ? GR_FUSED_LEAD : GR_FUSED_NOTHING;
}

bool gr_fused_is_row(const gr_type *t, const gr_type *out) {
  return gr_fused_kind_of(t, out) == GR_FUSED_VECTOR;
}

gr_val gr_fused_space(const gr_graph *g, const gr_node *n) {
  const gr_type *x = n->n_in ? &gr_at(g, n->in[0])->type : NULL;
  return x && gr_type_count(x) > gr_type_count(&gr_at(g, n->out)->type) ? n->in[0] : n->out;
}

bool gr_fused_sees_rows(const gr_node *part) { return !part->op->tile && !part->op->random; }

bool gr_fused_has_rows(const gr_graph *body) {
  for (uint32_t i = 0; i < body->n_nodes; i++)
    if (gr_fused_sees_rows(&body->nodes[i])) return true;
  return false;
}

int gr_fused_sums(const gr_op *op) {
  int n = op->column_sums != NULL;
  for (const char *letter = op->column_sums; n && *letter; letter++) n += *letter == ';';
  return n;
}

bool gr_fused_is_sum(const gr_graph *g, gr_val v) {
  if (gr_at(g, v)->role != GR_TEMP) return false;
  const gr_node *n = &g->nodes[gr_at(g, v)->node];
  return (int)(v.id - n->out.id) >= n->n_out - gr_fused_sums(n->op);
}

int64_t gr_fused_sum_elements(const gr_graph *body) {
  int64_t n = 0;
  for (uint32_t v = 1; v < body->n_values; v++)
    if (gr_fused_is_sum(body, (gr_val){v})) n += gr_type_count(&body->values[v].type);
  return n;
}

gr_type gr_fused_tile(const gr_type *t, const gr_type *space, int64_t n, bool rows) {
  gr_fused_kind kind = gr_fused_kind_of(t, space);
  gr_type tile = *t;
  if (kind == GR_FUSED_VECTOR || kind == GR_FUSED_NOTHING || t->dtype == GR_I32) return tile;
  int row = rows ? space->rank - 1 : space->rank;  // the axis of a row's elements
  for (int d = 0; d < row && d < t->rank; d++) tile.dim[d] = 1;
  if (row && row - 1 < t->rank) tile.dim[row - 1] = rows ? n / space->dim[row] : n;
  return tile;
}

// ---- Which nodes are parts ----------------------------------------------------------------------

static bool takes_tile(const gr_graph *g, const gr_node *n) {
  if (!n->op->tile || n->n_out != 1 || n->n_in < 1 || n->n_in > GR_FUSED_ARGS) return false;
  const gr_type *out = &gr_at(g, n->out)->type;
  for (int k = 0; k < n->n_in; k++) {
    const gr_type *in = &gr_at(g, n->in[k])->type;
    gr_fused_kind kind = gr_fused_kind_of(in, out);
    if (!is_tiled(in->dtype) || (kind != GR_FUSED_LIKE && kind != GR_FUSED_VECTOR)) return false;
  }
  return is_tiled(out->dtype);
}

// Integers are leads that come from outside; vectors and leads are f32, and elements are what the
// op's fast kernel takes. What could be a vector or leads is neither.
static bool takes_vector(const gr_type *t, const gr_type *space) {
  bool square = is_lead(t, space);
  return gr_fused_kind_of(t, space) == GR_FUSED_VECTOR && t->dtype == GR_F32 && !square;
}

static bool takes_operand(const gr_type *t, const gr_type *space) {
  gr_fused_kind kind = gr_fused_kind_of(t, space);
  if (t->dtype == GR_I32) return kind == GR_FUSED_LEAD;
  return (kind == GR_FUSED_LIKE && is_tiled(t->dtype)) || takes_vector(t, space) ||
         (kind == GR_FUSED_LEAD && t->dtype == GR_F32);
}

// A row, or its lead, and then sums.
static bool takes_results(const gr_op_call *s, const gr_type *space) {
  if (s->n_out - gr_fused_sums(s->op) != 1) return false;
  for (int k = 1; k < s->n_out; k++)
    if (!takes_vector(&s->out[k], space)) return false;
  return s->out[0].dtype != GR_I32 && takes_operand(&s->out[0], space);
}

static bool has_formula(const gr_op_call *s) {
  char text[GR_ROW_TEXT] = "";
  if (s->op->row_of) s->op->row_of(s, text);
  return s->op->row || text[0];
}

// Whether the op's fast kernel runs on a tile of f32, in the scratch memory that there is.
static bool runs_on_tiles(const gr_op_call *s, const gr_type *space, bool rows) {
  gr_op_call tile;  // has several kilobytes, which are not cleared
  tile.op = s->op, tile.attr = s->attr, tile.n_in = s->n_in, tile.n_out = s->n_out;
  tile.names = NULL, tile.loc = s->loc;
  gr_op_call_clear_missing(&tile);
  int64_t n = gr_fused_tile_size(space, rows);
  for (int k = 0; k < s->n_in + s->n_out; k++) {
    bool in = k < s->n_in;
    gr_type *t = in ? &tile.in[k] : &tile.out[k - s->n_in];
    *t = gr_fused_tile(in ? &s->in[k] : &s->out[k - s->n_in], space, n, rows);
    if (is_tiled(t->dtype)) t->dtype = GR_F32;
  }
  bool fits = !s->op->scratch || s->op->column_sums || s->op->scratch(&tile) <= GR_FUSED_SCRATCH;
  return fits && gr_op_fast(s) && gr_op_fast(&tile);
}

static bool takes_row(const gr_graph *g, const gr_node *n) {
  gr_op_call s;
  bool rows = gr_fused_sees_rows(n);
  if (!n->op->row && !n->op->row_of) return false;
  if (n->n_out > GR_FUSED_ARGS || n->n_in < 1 || n->n_in > GR_FUSED_ARGS) return false;
  gr_op_call_of(g, n, &s);
  const gr_type *space = &gr_at(g, gr_fused_space(g, n))->type;
  if (rows && (!space->rank || space->dim[space->rank - 1] > GR_FUSED_ROW)) return false;
  for (int k = 0; k < n->n_in; k++)
    if (!takes_operand(&s.in[k], space)) return false;
  return takes_results(&s, space) && has_formula(&s) && runs_on_tiles(&s, space, rows);
}

bool gr_fused_takes(const gr_graph *g, const gr_node *n) {
  return n->op->tile ? takes_tile(g, n) : takes_row(g, n);
}
