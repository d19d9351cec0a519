// fused.c - elementwise nodes as one node. See fused.h.
//
// The fast kernel runs the body over tiles that stay in the L1 cache: each part is a loop over one
// tile (gr_op.tile), the same code that runs the part alone, so that results are the same bits. A
// result whose memory is that of an operand is stored after all parts have read the tile.
#include "ops/kernels/fused.h"
#include "ops/kernels/gpu.h"
#include "ops/kernels/pointwise.h"

enum { TILE = 256 };  // elements

static bool is_tiled(gr_dtype d) { return d == GR_F32 || gr_is_narrow(d); }

bool gr_fused_is_like(const gr_type *t, const gr_type *out) {
  return t->rank == out->rank && !memcmp(t->dim, out->dim, sizeof *t->dim * (size_t)t->rank);
}

bool gr_fused_is_row(const gr_type *t, const gr_type *out) {
  return t->rank == 1 && out->rank > 1 && t->dim[0] == out->dim[out->rank - 1];
}

bool gr_fused_takes(const gr_graph *g, const gr_node *n) {
  if (!n->op->tile || n->n_out != 1 || n->n_in < 1 || n->n_in > 3) return false;
  const gr_type *out = &gr_at(g, n->out)->type;
  for (int k = 0; k < n->n_in; k++) {
    const gr_type *in = &gr_at(g, n->in[k])->type;
    if (!is_tiled(in->dtype) || !(gr_fused_is_like(in, out) || gr_fused_is_row(in, out)))
      return false;
  }
  return is_tiled(out->dtype);
}

// ---- Inference ----------------------------------------------------------------------------------

static gr_status check_body(const gr_op_call *s, const gr_graph *body) {
  uint32_t leaves = gr_graph_leaves(body);
  const gr_type *sizes = &body->values[body->n_values - 1].type;
  if (!body->n_nodes || body->n_nodes > GR_FUSED_PARTS || !body->n_results ||
      body->n_values != 1 + leaves + body->n_nodes || (uint32_t)s->n_in != leaves)
    return gr_fail(GR_ERR_TYPE, s->loc, "the body has %u inputs and %u nodes, for %d operands",
                   leaves, body->n_nodes, s->n_in);
  for (int k = 0; k < s->n_in; k++)
    if (!gr_type_same(&s->in[k], &body->values[k + 1].type) ||
        !(gr_fused_is_like(&s->in[k], sizes) || gr_fused_is_row(&s->in[k], sizes)))
      return gr_fail(GR_ERR_TYPE, s->loc, "operand %d is not of the type of the body's input", k);
  for (uint32_t i = 0; i < body->n_nodes; i++)
    if (!gr_fused_takes(body, &body->nodes[i]) ||
        !gr_fused_is_like(&gr_at(body, body->nodes[i].out)->type, sizes))
      return gr_fail(GR_ERR_TYPE, s->loc, "'%s' cannot be part of a fused node",
                     body->nodes[i].op->name);
  return GR_OK;
}

static gr_status infer(gr_op_call *s) {
  const gr_graph *body = ((const gr_fused *)s->attr)->body;
  GR_TRY(check_body(s, body));
  s->n_out = (int)body->n_results;
  for (int k = 0; k < s->n_out; k++) s->out[k] = gr_at(body, body->results[k])->type;
  return GR_OK;
}

// Everything replicated, or everything sharded along the same dimension, which rows have only if it
// is the last.
static gr_status rules(const gr_op_call *s, gr_sharding_rule *rule, int *out_n) {
  const gr_type *out = &s->out[0];
  for (int d = -1; d < out->rank; d++) {
    memset(&rule[d + 1], d, sizeof *rule);
    for (int k = 0; k < s->n_in; k++)
      if (gr_fused_is_row(&s->in[k], out))
        rule[d + 1].in[k] = d == out->rank - 1 ? 0 : GR_REPLICATE;
  }
  *out_n = 1 + out->rank;
  return GR_OK;
}

static int64_t flops(const gr_op_call *s) {
  return gr_graph_flops(((const gr_fused *)s->attr)->body);
}

// ---- The reference kernel -----------------------------------------------------------------------

enum { CHUNK = 64, WIDEST = 8 };  // elements, and bytes of one

typedef struct chunk {
  const gr_launch *l;
  int64_t from, n;
  const void *at[GR_FUSED_VALUES];  // by value of the body
  char made[GR_FUSED_VALUES][CHUNK * WIDEST];
} chunk;

// The elements of a row that stand beside those of the chunk.
static void spread_row(chunk *c, int k) {
  size_t size = gr_dtypes[c->l->in_type[k].dtype].size;
  int64_t columns = c->l->in_type[k].dim[0];
  for (int64_t i = 0; i < c->n; i++)
    memcpy(c->made[k + 1] + (size_t)i * size,
           (const char *)c->l->in[k] + (size_t)((c->from + i) % columns) * size, size);
  c->at[k + 1] = c->made[k + 1];
}

static gr_status run_reference(chunk *c, const gr_graph *g, const gr_node *part) {
  gr_type in_type[3], out_type = {gr_at(g, part->out)->type.dtype, 1, {c->n}};
  const void *in[3];
  void *out = c->made[part->out.id];
  for (int k = 0; k < part->n_in; k++) {
    in_type[k] = (gr_type){gr_at(g, part->in[k])->type.dtype, 1, {c->n}};
    in[k] = c->at[part->in[k].id];
  }
  c->at[part->out.id] = out;
  return part->op->cpu(&(gr_launch){.attr = part->attr,
                                    .n_in = part->n_in,
                                    .n_out = 1,
                                    .in_type = in_type,
                                    .out_type = &out_type,
                                    .in = in,
                                    .out = &out});
}

// Runs each part's reference kernel on a few elements at a time.
static gr_status cpu(const gr_launch *l) {
  const gr_graph *g = ((const gr_fused *)l->attr)->body;
  chunk c = {.l = l};
  for (int64_t all = gr_type_count(l->out_type); c.from < all; c.from += CHUNK) {
    c.n = all - c.from < CHUNK ? all - c.from : CHUNK;
    for (int k = 0; k < l->n_in; k++) {
      c.at[k + 1] = (const char *)l->in[k] + (size_t)c.from * gr_dtypes[l->in_type[k].dtype].size;
      if (gr_fused_is_row(&l->in_type[k], l->out_type)) spread_row(&c, k);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) GR_TRY(run_reference(&c, g, &g->nodes[i]));
    for (int k = 0; k < l->n_out; k++) {
      size_t size = gr_dtypes[l->out_type[k].dtype].size;
      memmove((char *)l->out[k] + (size_t)c.from * size, c.at[g->results[k].id],
              (size_t)c.n * size);
    }
  }
  return GR_OK;
}

// ---- The fast kernel ----------------------------------------------------------------------------

// Where the tile of each value of the body is, found once for a launch.
typedef struct program {
  const gr_launch *l;
  const gr_graph *g;
  int buffer[GR_FUSED_VALUES];     // a buffer, or -1: it is f32 in memory
  char *memory[GR_FUSED_VALUES];   // where its elements begin
  uint32_t last[GR_FUSED_VALUES];  // the last node that reads it; n_nodes: it is stored at the end
  bool stored[GR_FUSED_PARTS];     // by result: at the end of a tile
  int n_buffers;
} program;

// Whether the tiles of operand k are copied or converted before they are read.
static bool is_loaded(const gr_launch *l, int k) {
  return gr_is_narrow(l->in_type[k].dtype) || gr_fused_is_row(&l->in_type[k], l->out_type);
}

static bool is_operand(const gr_launch *l, const void *at) {
  for (int k = 0; k < l->n_in; k++)
    if (l->in[k] == at) return true;
  return false;
}

static void find_results(program *p) {
  for (int k = 0; k < p->l->n_out; k++) {
    uint32_t v = p->g->results[k].id;
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
  for (int k = 0; k < p->l->n_in; k++) p->buffer[k + 1] = is_loaded(p->l, k) ? take(p, taken) : -1;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    p->buffer[n->out.id] = p->memory[n->out.id] ? -1 : take(p, taken);
    for (int k = 0; k < n->n_in; k++)
      if (p->last[n->in[k].id] == i && p->buffer[n->in[k].id] >= 0)
        taken[p->buffer[n->in[k].id]] = false;
  }
}

static void prepare(program *p, const gr_launch *l) {
  const gr_graph *g = ((const gr_fused *)l->attr)->body;
  *p = (program){.l = l, .g = g};
  for (int k = 0; k < l->n_in; k++)
    if (!is_loaded(l, k)) p->memory[k + 1] = (char *)l->in[k];
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++) p->last[g->nodes[i].in[k].id] = i;
  find_results(p);
  find_buffers(p);
}

static void run_part(const gr_graph *g, const gr_node *n, float *const *at, int64_t count) {
  const float *x[3] = {0};
  for (int k = 0; k < n->n_in; k++) x[k] = at[n->in[k].id];
  float *y = at[n->out.id];
  gr_dtype dtype = gr_at(g, n->out)->type.dtype;
  n->op->tile(x, y, count, n->attr);
  if (!gr_is_narrow(dtype)) return;
  uint16_t rounded[TILE];
  gr_tile_store(rounded, dtype, 0, count, y);
  gr_tile_load(rounded, dtype, 0, count, y);
}

static void store(const gr_launch *l, int k, const float *tile, int64_t from, int64_t n) {
  if (gr_is_narrow(l->out_type[k].dtype))
    gr_tile_store(l->out[k], l->out_type[k].dtype, from, n, tile);
  else
    memmove((float *)l->out[k] + from, tile, (size_t)n * sizeof *tile);
}

static void load_some(const gr_launch *l, int k, int64_t from, int64_t n, float *out) {
  if (gr_is_narrow(l->in_type[k].dtype))
    gr_tile_load(l->in[k], l->in_type[k].dtype, from, n, out);
  else
    memcpy(out, (const float *)l->in[k] + from, (size_t)n * sizeof *out);
}

// A row is repeated as often as the tile goes round.
static void load(const gr_launch *l, int k, int64_t from, int64_t n, float *out) {
  if (!gr_fused_is_row(&l->in_type[k], l->out_type)) {
    load_some(l, k, from, n, out);
    return;
  }
  int64_t columns = l->in_type[k].dim[0], at = from % columns;
  for (int64_t i = 0, now; i < n; i += now, at = 0) {
    now = columns - at < n - i ? columns - at : n - i;
    load_some(l, k, at, now, out + i);
  }
}

static void run_tile(const program *p, float (*buffer)[TILE], int64_t from, int64_t n) {
  float *at[GR_FUSED_VALUES];
  for (uint32_t v = 1; v < p->g->n_values; v++)
    at[v] = p->buffer[v] >= 0 ? buffer[p->buffer[v]] : (float *)p->memory[v] + from;
  for (int k = 0; k < p->l->n_in; k++)
    if (p->buffer[k + 1] >= 0) load(p->l, k, from, n, at[k + 1]);
  for (uint32_t i = 0; i < p->g->n_nodes; i++) run_part(p->g, &p->g->nodes[i], at, n);
  for (int k = 0; k < p->l->n_out; k++)
    if (p->stored[k]) store(p->l, k, at[p->g->results[k].id], from, n);
}

static void run_tiles(void *arg, int64_t from, int64_t to) {
  float buffer[GR_FUSED_VALUES][TILE] __attribute__((aligned(64)));
  for (; from < to; from += TILE) run_tile(arg, buffer, from, to - from < TILE ? to - from : TILE);
}

static gr_status run(const gr_launch *l) {
  program p;
  prepare(&p, l);
  gr_parallel(l, gr_type_count(l->out_type), 4096, run_tiles, &p);
  return GR_OK;
}

static gr_kernel fast(const gr_op_call *s) {
  (void)s;
  return run;
}

// ---- On a GPU: one generated kernel, in which a value is a variable ----------------------------

void gr_fused_put_functions(gr_text *t, const gr_graph *body, const char *prefix) {
  char name[80];
  for (uint32_t i = 0; i < body->n_nodes; i++) {
    snprintf(name, sizeof name, "%s_%u", prefix, body->nodes[i].out.id);
    gr_gpu_function(t, name, body, &body->nodes[i]);
  }
}

static void put_parameters(gr_text *t, const gr_op_call *s) {
  gr_text_put(t, "extern \"C\" __global__ void fused(");
  for (int k = 0; k < s->n_in; k++) gr_text_printf(t, "const IN%d *in%d, ", k, k);
  for (int k = 0; k < s->n_out; k++) gr_text_printf(t, "OUT%d *out%d, ", k, k);
  gr_text_put(t, "long long n, long long columns) {\n");
}

static void put_value(gr_text *t, const gr_graph *g, const gr_node *part) {
  gr_dtype dtype = gr_at(g, part->out)->type.dtype;
  gr_text_printf(t, "    float v%u = part_%u(", part->out.id, part->out.id);
  for (int k = 0; k < part->n_in; k++) gr_text_printf(t, "%sv%u", k ? ", " : "", part->in[k].id);
  gr_text_put(t, ");\n");
  if (gr_is_narrow(dtype))  // as if it had been stored
    gr_text_printf(t, "    %s r%u;\n    gr_put(&r%u, 0, v%u), v%u = gr_get(&r%u, 0);\n",
                   gr_dtypes[dtype].name, part->out.id, part->out.id, part->out.id, part->out.id,
                   part->out.id);
}

static gr_status gpu(gr_gpu_call *c) {
  const gr_op_call *s = c->call;
  const gr_graph *g = ((const gr_fused *)s->attr)->body;
  gr_text t = gr_text_make(c->arena);
  gr_text_put(&t, "typedef float W;\n\n");
  gr_fused_put_functions(&t, g, "part");
  put_parameters(&t, s);
  gr_text_put(&t, "  for (long long i = GR_FIRST; i < n; i += GR_ALL) {\n");
  for (int k = 0; k < s->n_in; k++)
    gr_text_printf(&t, "    float v%d = gr_get(in%d, i%s);\n", k + 1, k,
                   gr_fused_is_row(&s->in[k], &s->out[0]) ? " % columns" : "");
  for (uint32_t i = 0; i < g->n_nodes; i++) put_value(&t, g, &g->nodes[i]);
  for (int k = 0; k < s->n_out; k++)
    gr_text_printf(&t, "    gr_put(out%d, i, v%u);\n", k, g->results[k].id);
  gr_text_put(&t, "  }\n}\n");
  int64_t n = gr_type_count(&s->out[0]),
          columns = s->out[0].rank ? s->out[0].dim[s->out[0].rank - 1] : 1;
  gr_gpu_kernel *k = gr_gpu_kernel_add(c, t.at, "fused", n, 256);
  gr_gpu_int(k, n), gr_gpu_int(k, columns);
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_ATTR(gr_fused, body, GR_ATTR_GRAPH, NULL, "the parts, as a graph"), {0}};
static const gr_case none[] = {{{0}}};

const gr_op gr_op_fused = {
    .name = "fused",
    .doc = "Elementwise ops as one: what they compute in between is not written to memory.",
    .n_in = GR_ANY,
    .n_out = GR_ANY,
    .attr_size = sizeof(gr_fused),
    .attrs = attrs,
    .infer = infer,
    .sharding_rules = rules,
    .flops = flops,
    .inplace_each = true,
    .cpu = cpu,
    .fast = fast,
    .gpu = gpu,
    .cases = none,
};
