// build.c - building graphs (graph.h) with hash-consing: the same op with the same attributes on
// the same inputs is the same node. The hash table is open-addressed; a slot holds 1 + a node
// index, and above it 32 bits of the hash: nodes of other hashes are not looked at.
#include <assert.h>
#include <string.h>
#include "base/grow.h"
#include "base/work.h"
#include "ir/op.h"

enum { LARGE = 1 << 12 };  // values or nodes

gr_graph *gr_graph_create(gr_arena *a, const gr_mesh *mesh) {
  return gr_graph_create_in(a, a, mesh);
}

gr_graph *gr_graph_create_in(gr_arena *tables, gr_arena *a, const gr_mesh *mesh) {
  assert(tables && a && (!mesh || mesh->n_axes <= GR_MAX_MESH));
  gr_graph *g = GR_NEW(tables, gr_graph, 1);
  g->tables = tables, g->arena = a;
  if (mesh) g->mesh = *mesh;
  g->cap_values = g->cap_nodes = 16;  // loop bodies are many and small
  g->values = GR_TAKE(tables, gr_value, g->cap_values);
  g->nodes = GR_TAKE(tables, gr_node, g->cap_nodes);
  g->values[0] = (gr_value){0};
  g->n_values = g->leaves_end = 1;
  return g;
}

static void grow_values(gr_graph *g, uint32_t cap) {
  gr_value *more = GR_TAKE(g->tables, gr_value, g->cap_values = cap);
  g->values = memcpy(more, g->values, sizeof(gr_value) * g->n_values);
}

static void grow_nodes(gr_graph *g, uint32_t cap) {
  gr_node *more = GR_TAKE(g->tables, gr_node, g->cap_nodes = cap);
  g->nodes = memcpy(more, g->nodes, sizeof(gr_node) * g->n_nodes);
}

// The tables before stay where they are: of large graphs that is most of the memory.
static uint32_t more_than(uint32_t cap) { return cap < LARGE ? 2 * cap : cap + cap / 2; }

// Its fields are the caller's to set, each once and in place: a value is as large as two cache
// lines, and every pass makes one for each of its graph.
static gr_value *new_value(gr_graph *g) {
  if (g->n_values == g->cap_values) grow_values(g, more_than(g->cap_values));
  return &g->values[g->n_values++];
}

gr_val gr_leaf(gr_builder *b, gr_role role, gr_kind kind, const char *name, gr_type type,
               gr_layout layout) {
  assert(role != GR_TEMP);
  if (b->err) return GR_NONE;
  gr_value *v = new_value(b->g);
  *v = (gr_value){.role = role, .kind = kind, .name = name, .loc = b->loc};
  v->type = type, v->layout = layout;
  b->g->leaves_end = b->g->n_values;
  return (gr_val){b->g->n_values - 1};
}

// ---- Hash-consing ---------------------------------------------------------------------

// Of the nodes of a body their ops and attributes; gr_attr_same compares bodies of equal hash.
static uint64_t hash_body(uint64_t h, const gr_graph *body) {
  uint32_t sizes[] = {body->n_nodes, body->n_values, body->n_results};
  h = gr_hash_quick(h, sizes, sizeof sizes);
  for (uint32_t i = 0; i < body->n_nodes; i++)
    h = gr_hash_mixed((h ^ (uintptr_t)body->nodes[i].op) + body->nodes[i].attr_hash);
  return h;
}

uint32_t gr_attr_hash(const gr_op *op, const void *attr) {
  uint64_t h = GR_HASH_START;
  const char *p = attr;
  size_t offset = 0;
  for (const gr_attr *f = op->attrs; f && f->name; f++) {
    if (f->kind != GR_ATTR_GRAPH) continue;
    h = hash_body(h, gr_attr_graph(attr, f));
    h = gr_hash_quick(h, p + offset, f->offset - offset);
    offset = f->offset + sizeof(gr_graph *);
  }
  if (op->attr_size > offset) h = gr_hash_quick(h, p + offset, op->attr_size - offset);
  return (uint32_t)h;
}

// Of a call whose attributes have that hash. Slots decide no order.
static uint32_t hash_call(const gr_op *op, uint32_t attr_hash, int n_in, const gr_val *in) {
  uint64_t h = gr_hash_quick(GR_HASH_START ^ attr_hash, &op, sizeof op);
  return (uint32_t)gr_hash_quick(h, in, sizeof(gr_val) * (size_t)n_in);
}

enum { MIN_SLOTS = 32 };

// The node in a slot.
static uint32_t node_of(uint64_t slot) { return (uint32_t)slot - 1; }

static bool is_call(const gr_node *n, const gr_op_call *call, const gr_val *in) {
  return n->op == call->op && n->n_in == call->n_in &&
         (!n->n_in || !memcmp(n->in, in, sizeof(gr_val) * (size_t)n->n_in)) &&
         (n->attr == call->attr || gr_attr_same(n->op, n->attr, call->attr));
}

static uint64_t *find_slot(const gr_graph *g, const gr_op_call *call, const gr_val *in,
                           uint32_t hash) {
  for (uint32_t i = hash;; i++) {
    uint64_t *slot = &g->hash_slots[i & (g->n_hash_slots - 1)];
    if (!*slot || (*slot >> 32 == hash && is_call(&g->nodes[node_of(*slot)], call, in)))
      return slot;
  }
}

static void put_slot(gr_graph *g, uint64_t slot) {
  uint32_t mask = g->n_hash_slots - 1, k = (uint32_t)(slot >> 32) & mask;
  while (g->hash_slots[k]) k = (k + 1) & mask;
  g->hash_slots[k] = slot;
}

// A graph that is complete, such as a body, has none, until more is emitted into it.
static void grow_slots(gr_graph *g, uint32_t slots) {
  const uint64_t *old = g->hash_slots;
  uint32_t n_old = g->n_hash_slots;
  g->n_hash_slots = slots;
  g->hash_slots = GR_NEW(g->tables, uint64_t, slots);
  for (uint32_t i = 0; i < n_old; i++)
    if (old[i]) put_slot(g, old[i]);
  for (uint32_t i = 0; !n_old && i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    put_slot(g, (uint64_t)hash_call(n->op, n->attr_hash, n->n_in, n->in) << 32 | (i + 1));
  }
}

static void reserve_slots(gr_graph *g, uint32_t nodes) {
  uint32_t slots = MIN_SLOTS;
  while (slots / 2 < nodes) slots *= 2;
  grow_slots(g, slots);
}

void gr_graph_reserve(gr_graph *g, uint32_t values, uint32_t nodes) {
  if (values > g->cap_values) grow_values(g, values);
  if (nodes > g->cap_nodes) grow_nodes(g, nodes);
}

// ---- Emitting ---------------------------------------------------------------------------

// Fills *s with the call and its inferred results.
static gr_status infer_call(const gr_builder *b, const gr_op *op, const void *attr, int n_in,
                            const gr_val *in, gr_op_call *s) {
  s->op = op, s->attr = attr, s->n_in = n_in, s->names = b->names, s->loc = b->loc;
  if (n_in > GR_MAX_ARGS)
    return gr_fail(GR_ERR_UNSUPPORTED, b->loc, "%d operands, at most %d are supported", n_in,
                   GR_MAX_ARGS);
  for (int i = 0; i < n_in; i++) {
    if (!gr_is(in[i]) || in[i].id >= b->g->n_values)
      return gr_fail(GR_ERR_BUG, b->loc, "operand %d is missing", i);
    s->in[i] = gr_at(b->g, in[i])->type;
  }
  gr_op_call_clear_missing(s);
  return gr_op_infer(s);
}

static const void *copy_attr(const gr_graph *g, const gr_op *op, const void *attr) {
  char *copy = memcpy(gr_arena_take(g->arena, op->attr_size), attr, op->attr_size);
  for (const gr_attr *f = op->attrs; f && f->name; f++) {
    if (f->kind != GR_ATTR_GRAPH) continue;
    const gr_graph *body = gr_graph_settled(gr_attr_graph(attr, f));
    memcpy(copy + f->offset, &body, sizeof(const gr_graph *));
  }
  return copy;
}

// A new node; `borrows`: the attributes live as long as the graph.
static gr_val append(gr_builder *b, const gr_op_call *s, const gr_val *in, uint32_t attr_hash,
                     bool borrows) {
  gr_graph *g = b->g;
  if (g->n_nodes == g->cap_nodes) grow_nodes(g, more_than(g->cap_nodes));
  gr_node *n = &g->nodes[g->n_nodes];
  *n = (gr_node){.op = s->op, .n_in = s->n_in, .n_out = s->n_out, .attr_hash = attr_hash};
  n->loc = b->loc, n->scope = b->scope, n->created_by = b->created_by;
  if (s->op->attr_size) n->attr = borrows ? s->attr : copy_attr(g, s->op, s->attr);
  gr_val *args = GR_TAKE(g->tables, gr_val, s->n_in);
  for (int i = 0; i < s->n_in; i++) args[i] = in[i];
  n->in = args;
  if (s->n_out) n->out = (gr_val){g->n_values};
  for (int i = 0; i < s->n_out; i++) {
    gr_value *v = new_value(g);
    *v = (gr_value){.node = g->n_nodes};
    v->type = s->out[i], v->layout = gr_layout_replicated;
  }
  g->n_nodes++;
  return n->out;
}

static void take_down(gr_builder *b, uint32_t node) {
  gr_emit_log *l = b->log;
  GR_GROW(l->arena, l->call, l->n, l->cap);
  l->call[l->n++] = (gr_emit_call){node, b->loc, b->scope};
}

// The node of this call: an equal one, or a new one.
static gr_val find_or_append(gr_builder *b, const gr_op_call *call, const gr_val *in,
                             uint32_t attr_hash, bool borrows) {
  gr_graph *g = b->g;
  if (b->distinct) return append(b, call, in, attr_hash, borrows);
  uint32_t hash = hash_call(call->op, attr_hash, call->n_in, in);
  if (g->n_nodes >= g->n_hash_slots / 2)
    reserve_slots(g, g->n_hash_slots ? 2 * g->n_nodes : g->cap_nodes);
  uint64_t *slot = find_slot(g, call, in, hash);
  if (b->log) take_down(b, *slot ? node_of(*slot) : g->n_nodes);
  if (*slot) return g->nodes[node_of(*slot)].out;
  *slot = (uint64_t)hash << 32 | (g->n_nodes + 1);
  return append(b, call, in, attr_hash, borrows);
}

// Compiling is long work as well (base/stop.h).
static bool is_over(gr_builder *b) {
  if (!b->err) b->err = gr_work_step(0);
  return b->err != GR_OK;
}

gr_val gr_emit(gr_builder *b, const gr_op *op, const void *attr, int n_in, const gr_val *in) {
  assert(b->g && op && n_in >= 0);
  if (is_over(b)) return GR_NONE;
  gr_op_call call;
  b->err = infer_call(b, op, attr, n_in, in, &call);
  b->err = gr_note(b->err, b->loc, "in op '%s' made by %s", op->name, b->created_by);
  if (b->err && !gr_status_hint(b->err))
    b->err = gr_hint(b->err, "`graphrun ops %s` says what it takes", op->name);
  return b->err ? GR_NONE : find_or_append(b, &call, in, gr_attr_hash(op, attr), false);
}

// Whether the values `in` have the types of the inputs of a node of another graph.
static bool same_inputs(const gr_graph *g, const gr_val *in, const gr_graph *of, const gr_node *n) {
  for (int i = 0; i < n->n_in; i++)
    if (!gr_is(in[i]) || in[i].id >= g->n_values ||
        !gr_type_same(&gr_at(g, in[i])->type, &gr_at(of, n->in[i])->type))
      return false;
  return true;
}

// gr_emit of a node that has been inferred on inputs of the same types. Graphs in one arena share
// attributes.
static gr_val emit_again(gr_builder *b, const gr_graph *of, const gr_node *n, const gr_val *in) {
  gr_op_call call;
  call.op = n->op, call.attr = n->attr, call.n_in = n->n_in, call.n_out = n->n_out;
  for (int k = 0; k < n->n_out; k++) call.out[k] = gr_at(of, gr_out(n, k))->type;
  return find_or_append(b, &call, in, n->attr_hash, of->arena == b->g->arena);
}

gr_val gr_emit_same(gr_builder *b, const gr_graph *of, const gr_node *n, const gr_val *in) {
  if (is_over(b)) return GR_NONE;
  return same_inputs(b->g, in, of, n) ? emit_again(b, of, n, in)
                                      : gr_emit(b, n->op, n->attr, n->n_in, in);
}

gr_val gr_emit_copy(gr_builder *b, const gr_graph *of, const gr_node *n, gr_val *map) {
  assert(of && n && map);
  if (is_over(b)) return GR_NONE;
  gr_val in[GR_MAX_ARGS];
  for (int i = 0; i < n->n_in; i++) in[i] = map[n->in[i].id];
  gr_builder saved = *b;
  b->loc = n->loc, b->scope = n->scope, b->created_by = n->created_by;
  gr_val out = gr_emit_same(b, of, n, in);
  b->loc = saved.loc, b->scope = saved.scope, b->created_by = saved.created_by;
  for (int i = 0; gr_is(out) && i < n->n_out; i++)
    map[gr_out(n, i).id] = (gr_val){out.id + (uint32_t)i};
  return out;
}

// The arrays have no stored capacity: they double whenever the count is a power of two.
void gr_result(gr_builder *b, const char *name, gr_val v) {
  assert(b->g);
  gr_graph *g = b->g;
  if (b->err) return;
  if (!gr_is(v)) {
    b->err = gr_fail(GR_ERR_BUG, b->loc, "result '%s' is missing", name ? name : "");
    return;
  }
  uint32_t n = g->n_results;
  if (!(n & (n - 1))) {
    gr_val *more = GR_NEW(g->tables, gr_val, 2 * n + 1);
    const char **names = GR_NEW(g->tables, const char *, 2 * n + 1);
    if (n) memcpy(more, g->results, sizeof *more * n);
    if (n && g->result_names) memcpy(names, g->result_names, sizeof *names * n);
    g->results = more;
    if (name || g->result_names) g->result_names = names;
  }
  g->results[n] = v;
  if (g->result_names) g->result_names[n] = name;
  g->n_results++;
}
