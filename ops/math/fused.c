// fused.c - nodes that follow each other as one node: the op and its reference kernel. See fused.h.
#include "ops/kernels/fused.h"
#include "ops/kernels/gpu.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"

static const gr_graph *body_of(const void *attr) { return ((const gr_fused *)attr)->body; }

static const gr_type *space_of(const gr_graph *body) {
  return &gr_at(body, gr_fused_space(body, &body->nodes[0]))->type;
}

// ---- Inference ----------------------------------------------------------------------------------

static gr_status check_parts(const gr_op_call *s, const gr_graph *body) {
  const gr_type *space = space_of(body);
  for (uint32_t i = 0; i < body->n_nodes; i++) {
    const gr_node *n = &body->nodes[i];
    bool reads_sum = false;
    for (int k = 0; k < n->n_in; k++) reads_sum |= gr_fused_is_sum(body, n->in[k]);
    if (!gr_fused_takes(body, n) || reads_sum ||
        !gr_fused_is_like(&gr_at(body, gr_fused_space(body, n))->type, space))
      return gr_fail(GR_ERR_TYPE, s->loc, "'%s' cannot be part of a fused node", n->op->name);
  }
  return GR_OK;
}

static gr_status check_body(const gr_op_call *s, const gr_graph *body) {
  uint32_t leaves = gr_graph_leaves(body), made = 0;
  for (uint32_t i = 0; i < body->n_nodes; i++) made += (uint32_t)body->nodes[i].n_out;
  if (!body->n_nodes || body->n_nodes > GR_FUSED_PARTS || !body->n_results ||
      body->n_values != 1 + leaves + made || body->n_values > GR_FUSED_VALUES ||
      (uint32_t)s->n_in != leaves)
    return gr_fail(GR_ERR_TYPE, s->loc, "the body has %u inputs and %u nodes, for %d operands",
                   leaves, body->n_nodes, s->n_in);
  for (int k = 0; k < s->n_in; k++)
    if (!gr_type_same(&s->in[k], &body->values[k + 1].type))
      return gr_fail(GR_ERR_TYPE, s->loc, "operand %d is not of the type of the body's input", k);
  return check_parts(s, body);
}

static gr_status infer(gr_op_call *s) {
  const gr_graph *body = body_of(s->attr);
  GR_TRY(check_body(s, body));
  s->n_out = (int)body->n_results;
  for (int k = 0; k < s->n_out; k++) s->out[k] = gr_at(body, body->results[k])->type;
  return GR_OK;
}

// The placement of a value where the space is sharded along dimension d.
static gr_axis_placement beside(const gr_type *t, const gr_type *space, int d) {
  gr_fused_kind kind = gr_fused_kind_of(t, space);
  if (kind == GR_FUSED_VECTOR) return d == space->rank - 1 ? 0 : GR_REPLICATE;
  int rank = kind == GR_FUSED_LIKE || t->rank < space->rank ? t->rank : t->rank - 1;
  return (gr_axis_placement)(d < rank ? d : GR_REPLICATE);
}

// Everything replicated, or everything sharded along the same dimension, so that sums over rows are
// partial: not that of rows which a part sees whole. Types are the body's, those of one rank, for
// the call may be a global one.
static gr_status rules(const gr_op_call *s, gr_sharding_rule *rule, int *out_n) {
  const gr_graph *body = body_of(s->attr);
  const gr_type *space = space_of(body);
  int n = space->rank - gr_fused_has_rows(body);
  for (int d = -1; d < n; d++) {
    for (int k = 0; k < s->n_in; k++)
      rule[d + 1].in[k] = beside(&body->values[k + 1].type, space, d);
    for (int k = 0; k < s->n_out; k++)
      rule[d + 1].out[k] = d >= 0 && gr_fused_is_sum(body, body->results[k])
                               ? GR_PARTIAL
                               : beside(&gr_at(body, body->results[k])->type, space, d);
  }
  *out_n = 1 + n;
  return GR_OK;
}

static int64_t flops(const gr_op_call *s) { return gr_graph_flops(body_of(s->attr)); }

// ---- The reference kernel -----------------------------------------------------------------------

enum { WIDEST = 4 };  // bytes of an element

typedef struct chunk {
  const gr_launch *l;
  const gr_type *space;
  int64_t first, n;  // elements of the space
  bool rows;
  const void *values[GR_FUSED_VALUES];  // by value of the body
  char *sums;                           // working memory of the next part that has sums
  char made[GR_FUSED_VALUES][GR_FUSED_ROW * WIDEST];
} chunk;

// The elements of a vector that stand beside those of the chunk.
static void spread(chunk *c, int k) {
  size_t size = gr_dtypes[c->l->in_type[k].dtype].size;
  int64_t columns = c->l->in_type[k].dim[0];
  for (int64_t i = 0; i < c->n; i++)
    memcpy(c->made[k + 1] + (size_t)i * size,
           (const char *)c->l->in[k] + (size_t)((c->first + i) % columns) * size, size);
}

// The chunk's first byte in a value.
static size_t place(const chunk *c, const gr_type *t) {
  gr_fused_kind kind = gr_fused_kind_of(t, c->space);
  int64_t index = kind == GR_FUSED_LIKE                         ? c->first
                  : kind == GR_FUSED_LEAD && t->dtype != GR_I32 ? c->first / gr_last(c->space)
                                                                : 0;
  return (size_t)index * gr_dtypes[t->dtype].size;
}

// A part with sums keeps them, as doubles, in its piece of the working memory from tile to tile.
static void *next_sums(chunk *c, const gr_graph *g, const gr_node *part) {
  void *sums = c->sums;
  for (int k = 0; k < part->n_out; k++)
    if (gr_fused_is_sum(g, gr_out(part, k)))
      c->sums += (size_t)gr_type_count(&gr_at(g, gr_out(part, k))->type) * sizeof(double);
  return sums;
}

static gr_status run_part(chunk *c, const gr_graph *g, const gr_node *part) {
  gr_type in_type[GR_FUSED_ARGS], out_type[GR_FUSED_ARGS];
  const void *in[GR_FUSED_ARGS];
  void *out[GR_FUSED_ARGS];
  for (int k = 0; k < part->n_in; k++) {
    const gr_type *t = &gr_at(g, part->in[k])->type;
    bool spread_here = part->op->tile && gr_fused_kind_of(t, c->space) == GR_FUSED_VECTOR;
    in_type[k] = gr_fused_tile(spread_here ? c->space : t, c->space, c->n, c->rows);
    in_type[k].dtype = t->dtype;
    in[k] = spread_here ? c->made[part->in[k].id] : c->values[part->in[k].id];
  }
  for (int k = 0; k < part->n_out; k++) {
    uint32_t v = gr_out(part, k).id;
    out_type[k] = gr_fused_tile(&g->values[v].type, c->space, c->n, c->rows);
    c->values[v] = out[k] = c->made[v];
  }
  gr_launch l = *c->l;
  l.attr = part->attr, l.n_in = part->n_in, l.n_out = part->n_out;
  l.in_type = in_type, l.out_type = out_type, l.in = in, l.out = out;
  l.whole = c->space, l.first = c->first, l.context = NULL, l.scratch = next_sums(c, g, part);
  GR_TRY(part->op->cpu(&l));
  if (l.observer) l.observer->seen(l.observer->self, part, &l);
  return GR_OK;
}

static void store(const chunk *c, const gr_graph *g) {
  for (int k = 0; k < c->l->n_out; k++) {
    const gr_type *t = &c->l->out_type[k];
    gr_type tile = gr_fused_tile(t, c->space, c->n, c->rows);
    bool later = gr_fused_is_sum(g, g->results[k]) && c->first + c->n < gr_type_count(c->space);
    if (!later)  // an operand may be there
      memmove((char *)c->l->out[k] + place(c, t), c->values[g->results[k].id],
              gr_type_bytes(&tile));
  }
}

// Runs each part's reference kernel on a few elements, or whole rows, at a time.
static gr_status fused_cpu(const gr_launch *l) {
  const gr_graph *g = body_of(l->attr);
  chunk c;
  c.l = l, c.space = space_of(g), c.first = 0, c.rows = gr_fused_has_rows(g);
  int64_t all = gr_type_count(c.space), size = gr_fused_tile_size(c.space, c.rows);
  for (; c.first < all; c.first += c.n) {
    c.n = gr_min_i64(size, all - c.first), c.sums = l->scratch;
    for (int k = 0; k < l->n_in; k++) {
      c.values[k + 1] = (const char *)l->in[k] + place(&c, &l->in_type[k]);
      if (gr_fused_kind_of(&l->in_type[k], c.space) == GR_FUSED_VECTOR) spread(&c, k);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) GR_TRY(run_part(&c, g, &g->nodes[i]));
    store(&c, g);
  }
  return GR_OK;
}

// Of sums over rows: of each chunk of rows in f32, and for the reference one in f64.
static size_t scratch(const gr_op_call *s) {
  const gr_graph *body = body_of(s->attr);
  int64_t chunks = gr_row_chunks(gr_rows(space_of(body)));
  return (size_t)(gr_fused_sum_elements(body) * gr_max_i64(2, chunks)) * sizeof(float);
}

static gr_kernel fast(const gr_op_call *s) {
  (void)s;
  return gr_fused_run;
}

static const gr_attr attrs[] = {
    GR_ATTR(gr_fused, body, GR_ATTR_GRAPH, NULL, "the parts, as a graph"), {0}};
static const gr_case none[] = {{{0}}};

const gr_op gr_op_fused = {
    .name = "fused",
    .doc =
        "Elementwise ops and ops over rows as one: what they compute in between is not written to "
        "memory.",
    .n_in = GR_ANY,
    .n_out = GR_ANY,
    .attr_size = sizeof(gr_fused),
    .attrs = attrs,
    .infer = infer,
    .sharding_rules = rules,
    .flops = flops,
    .inplace_each = true,
    .cpu = fused_cpu,
    .fast = fast,
    .scratch = scratch,
    .gpu = gr_fused_gpu,
    .cases = none,
};
