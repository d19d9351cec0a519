// fuse.c - elementwise nodes, and nodes over rows, that follow each other become one
// (ops/kernels/fused.h): a value that only the next of them reads stays in the cache, or in a GPU's
// registers, instead of memory.
//
// Every node has a level. An edge between two parts of one space may join nodes of one level; along
// any other edge the level rises. Groups are made of parts of one level that are joined by edges,
// so that a path that leaves a group ends on a higher level and cannot come back: groups may be
// emitted as single nodes in any order that follows the edges. Levels are as low as possible at
// first; a part then rises to the level of the parts that read it, where that costs no memory.
//
// A narrow value as f32 is no reason to keep f32: a group that reads one which another group made
// casts the narrow value again, as it loads it. So what the backward pass needs stays narrow.
//
// It runs after sharding, and within loops too, where no part is random. A GPU runs a loop whose
// parts are all elementwise as one kernel, a thread an element; others node by node.
#include "compiler/passes/fuse.h"
#include "compiler/passes/passes.h"
#include "ops/kernels/fused.h"
#include "ops/ops.h"

// ---- Groups -----------------------------------------------------------------------------------

// A value is placed as the space: leads as its first axes, vectors as its last. What is added up
// over rows, some of which a rank has, is a partial sum.
static bool is_beside(const gr_graph *g, gr_val v, gr_val space, bool sum) {
  const gr_value *in = gr_at(g, v), *all = gr_at(g, space);
  gr_fused_kind kind = gr_fused_kind_of(&in->type, &all->type);
  gr_layout want = all->layout;
  int last = all->type.rank - 1;
  for (int a = 0; kind != GR_FUSED_LIKE && a < g->mesh.n_axes; a++)
    if (sum)
      want.placement[a] = want.placement[a] == GR_REPLICATE ? GR_REPLICATE : GR_PARTIAL;
    else if (kind == GR_FUSED_VECTOR)
      want.placement[a] = want.placement[a] == last ? 0 : GR_REPLICATE;
    else if (want.placement[a] >= in->type.rank || want.placement[a] == last)
      want.placement[a] = GR_REPLICATE;
  return gr_layout_same(&in->layout, &want);
}

// Parts have one layout, and neither partial sums nor padding, which some would make numbers of.
// Rows that a part sees are whole, for no op over rows divides them, unless its results are partial
// sums, which lie beside no space (test_fuse.c looks at every op).
static bool fits(const gr_fuse *f, const gr_node *n) {
  const gr_graph *g = f->g;
  if (!gr_fused_takes(g, n) || (f->in_loop && n->op->random)) return false;
  gr_val space = gr_fused_space(g, n);
  const gr_value *all = gr_at(g, space);
  if (gr_layout_is_padded(&all->layout)) return false;
  for (int k = 0; k < n->n_out; k++)
    if (!is_beside(g, gr_out(n, k), space, gr_fused_is_sum(g, gr_out(n, k)))) return false;
  for (int k = 0; k < n->n_in; k++)
    if (!is_beside(g, n->in[k], space, false)) return false;
  return !gr_layout_is_partial(&all->layout, &g->mesh);
}

static const gr_type *space_of(const gr_fuse *f, uint32_t i) {
  return &gr_at(f->g, gr_fused_space(f->g, &f->g->nodes[i]))->type;
}

// Whether the node that makes operand k of node i may be in its group: they have one space, and the
// operand is of its sizes or its leads.
static bool may_join(const gr_fuse *f, uint32_t i, int k) {
  const gr_node *n = &f->g->nodes[i];
  const gr_value *v = gr_at(f->g, n->in[k]);
  if (v->role != GR_TEMP || !f->part[i] || !f->part[v->node]) return false;
  return gr_fused_is_like(space_of(f, v->node), space_of(f, i)) &&
         gr_fused_kind_of(&v->type, space_of(f, i)) != GR_FUSED_VECTOR;
}

static uint32_t least_level(const gr_fuse *f, uint32_t i) {
  const gr_node *n = &f->g->nodes[i];
  uint32_t level = 0;
  for (int k = 0; k < n->n_in; k++) {
    const gr_value *v = gr_at(f->g, n->in[k]);
    if (v->role != GR_TEMP) continue;
    uint32_t least = f->level[v->node] + !may_join(f, i, k);
    level = least > level ? least : level;
  }
  return level;
}

static void find_readers(gr_fuse *f) {
  for (uint32_t i = 0; i < f->g->n_nodes; i++)
    for (int k = 0; k < f->g->nodes[i].n_in; k++) {
      f->last[f->g->nodes[i].in[k].id] = i;
      f->readers[f->g->nodes[i].in[k].id]++;
    }
}

// Whether a part may be computed later: the parts that it would leave behind follow, since nothing
// else reads them or what else they make, and at most one operand that takes as much memory as the
// result lives longer. In loops memory is little.
static bool may_rise(const gr_fuse *f, uint32_t i) {
  const gr_node *n = &f->g->nodes[i];
  int longer = 0;
  for (int k = 0; k < n->n_in; k++) {
    const gr_value *v = gr_at(f->g, n->in[k]);
    bool level = v->role == GR_TEMP && may_join(f, i, k) && f->level[v->node] == f->level[i];
    if (level && (f->readers[n->in[k].id] > 1 || f->g->nodes[v->node].n_out > 1)) return false;
    bool like = gr_fused_is_like(&v->type, space_of(f, i));
    longer += !level && like && v->role == GR_TEMP && f->last[n->in[k].id] == i;
  }
  return f->in_loop || longer <= 1;
}

static void raise_levels(gr_fuse *f) {
  uint32_t *most = GR_NEW(f->arena, uint32_t, f->g->n_nodes + 1);  // by node: 1 + the level, or 0
  for (uint32_t i = f->g->n_nodes; i--;) {
    if (f->part[i] && most[i] > f->level[i] + 1 && may_rise(f, i)) f->level[i] = most[i] - 1;
    const gr_node *n = &f->g->nodes[i];
    for (int k = 0; k < n->n_in; k++) {
      const gr_value *v = gr_at(f->g, n->in[k]);
      if (v->role != GR_TEMP) continue;
      uint32_t bound = 1 + f->level[i] - !may_join(f, i, k);
      if (!most[v->node] || bound < most[v->node]) most[v->node] = bound;
    }
  }
}

// Appends group b to group a; both are 1 + a first node.
static void append(gr_fuse *f, uint32_t a, uint32_t b) {
  if (a == b) return;
  for (uint32_t i = b;; i = f->next[i - 1] + 1) {
    f->group[i - 1] = a;
    if (i - 1 == f->end[b - 1]) break;
  }
  f->next[f->end[a - 1]] = b - 1;
  f->end[a - 1] = f->end[b - 1];
  f->size[a - 1] += f->size[b - 1];
}

// Joins a part with the groups that make its operands, or begins a group on the next level if
// those are too many nodes.
static void join(gr_fuse *f, uint32_t i) {
  const gr_node *n = &f->g->nodes[i];
  uint32_t all = 1, with[3], n_with = 0;
  for (int k = 0; k < n->n_in; k++) {
    uint32_t maker = gr_at(f->g, n->in[k])->node, seen = 0;
    if (!may_join(f, i, k) || f->level[maker] != f->level[i]) continue;
    for (uint32_t w = 0; w < n_with; w++) seen |= with[w] == f->group[maker];
    if (seen) continue;
    with[n_with++] = f->group[maker];
    all += f->size[f->group[maker] - 1];
  }
  f->group[i] = i + 1, f->end[i] = i, f->size[i] = 1;
  if (all > GR_FUSED_PARTS) {
    f->level[i]++;
    return;
  }
  for (uint32_t w = 1; w < n_with; w++) append(f, with[0], with[w]);
  if (n_with) append(f, with[0], i + 1);
}

static void find_groups(gr_fuse *f) {
  for (uint32_t i = 0; i < f->g->n_nodes; i++) {
    f->part[i] = fits(f, &f->g->nodes[i]);
    f->level[i] = least_level(f, i);
  }
  raise_levels(f);
  for (uint32_t i = 0; i < f->g->n_nodes; i++) {
    uint32_t least = least_level(f, i);
    f->level[i] = least > f->level[i] ? least : f->level[i];
    if (f->part[i]) join(f, i);
  }
}

// ---- Widened operands -------------------------------------------------------------------------

// Whether operand k of a part is a narrow value as f32 that its group could cast itself.
static bool may_widen(const gr_fuse *f, uint32_t i, int k) {
  gr_val v = f->g->nodes[i].in[k];
  const gr_value *value = gr_at(f->g, v);
  if (f->in_loop || !f->group[i] || value->role != GR_TEMP) return false;
  const gr_node *maker = &f->g->nodes[value->node];
  return maker->op == &gr_op_cast && f->part[value->node] && f->group[value->node] != f->group[i] &&
         value->type.dtype == GR_F32 && gr_is_narrow(gr_at(f->g, maker->in[0])->type.dtype) &&
         gr_fused_kind_of(&value->type, space_of(f, i)) == GR_FUSED_LIKE;
}

// Whether a node of i's group, before operand k of i, casts the same value.
static bool widens_already(const gr_fuse *f, uint32_t i, int k) {
  const gr_node *n = &f->g->nodes[i];
  for (uint32_t j = f->group[i] - 1;; j = f->next[j]) {
    for (int m = 0; m < f->g->nodes[j].n_in; m++)
      if (gr_fuse_widens(f, j, m) && f->g->nodes[j].in[m].id == n->in[k].id) return true;
    if (j == f->end[f->group[i] - 1]) return false;
  }
}

// The f32 value is not kept for later parts; where some other node needs it later all the same, the
// narrow value is not either.
static void find_widened(gr_fuse *f) {
  uint32_t *held = GR_NEW(f->arena, uint32_t, f->g->n_values);  // by value: 1 + who needs it as f32
  for (uint32_t i = 0; i < f->g->n_nodes; i++)
    for (int k = 0; k < f->g->nodes[i].n_in; k++)
      if (!may_widen(f, i, k)) held[f->g->nodes[i].in[k].id] = i + 1;
  for (uint32_t i = 0; i < f->g->n_nodes; i++)
    for (int k = 0; k < f->g->nodes[i].n_in; k++) {
      if (!may_widen(f, i, k)) continue;
      gr_val v = f->g->nodes[i].in[k];
      uint32_t first = f->group[i] - 1;
      bool better =
          held[v.id] <= first || f->last[f->g->nodes[gr_at(f->g, v)->node].in[0].id] >= first;
      bool again = widens_already(f, i, k);
      if (!better || (!again && f->size[first] == GR_FUSED_PARTS)) continue;
      f->widens[i] |= (uint8_t)(1 << k);
      f->size[first] += !again;
    }
}

static bool is_alone(const gr_fuse *f, uint32_t i) {
  return !f->group[i] || f->size[f->group[i] - 1] == 1;
}

static void find_kept(gr_fuse *f) {
  const gr_graph *g = f->g;
  gr_mark_links(g, f->kept);
  gr_mark_gradients(g, f->kept);
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++) {
      gr_val v = gr_fuse_read(f, i, k);
      const gr_value *value = gr_at(g, v);
      if (value->role == GR_TEMP && (!f->group[i] || f->group[i] != f->group[value->node]))
        f->kept[v.id] = true;
    }
}

// ---- Emitting ---------------------------------------------------------------------------------

static void place(gr_fuse *f, uint32_t i);

static void place_operands(gr_fuse *f, const gr_val *in, int n) {
  for (int k = 0; k < n; k++)
    if (gr_at(f->g, in[k])->role == GR_TEMP) place(f, gr_at(f->g, in[k])->node);
}

// Emits a node, or its group, after what it reads.
static void place(gr_fuse *f, uint32_t i) {
  const gr_node *n = &f->g->nodes[i];
  if (f->done[i]) return;
  if (is_alone(f, i)) {
    f->done[i] = true;
    if (n->op == &gr_op_cast && !f->kept[n->out.id]) return;  // its readers cast again
    place_operands(f, n->in, n->n_in);
    f->copy(f->context, n);
    return;
  }
  gr_fuse_members m;
  gr_fuse_find_members(f, i, &m);
  for (int k = 0; k < m.n; k++) f->done[m.node[k]] = true;
  if (!m.n_out) return;  // nothing reads it
  place_operands(f, m.in, m.n_in);
  gr_fuse_emit(f, &m);
}

// A group stands where its last part stood, if nothing needs it earlier.
static bool waits(const gr_fuse *f, uint32_t i) {
  if (is_alone(f, i)) return false;
  uint32_t latest = i;
  for (uint32_t k = f->group[i] - 1;; k = f->next[k]) {
    latest = k > latest ? k : latest;
    if (k == f->end[f->group[i] - 1]) break;
  }
  return latest != i;
}

static void fuse_nodes(gr_fuse *f) {
  uint32_t nodes = f->g->n_nodes + 1, values = f->g->n_values;
  f->level = GR_NEW(f->arena, uint32_t, nodes), f->group = GR_NEW(f->arena, uint32_t, nodes);
  f->next = GR_NEW(f->arena, uint32_t, nodes), f->end = GR_NEW(f->arena, uint32_t, nodes);
  f->size = GR_NEW(f->arena, uint32_t, nodes), f->done = GR_NEW(f->arena, bool, nodes);
  f->part = GR_NEW(f->arena, bool, nodes), f->readers = GR_NEW(f->arena, uint32_t, values);
  f->widens = GR_NEW(f->arena, uint8_t, nodes);
  f->kept = GR_NEW(f->arena, bool, values), f->last = GR_NEW(f->arena, uint32_t, values);
  f->inside = GR_NEW(f->arena, gr_val, values);
  find_readers(f);
  find_groups(f);
  find_widened(f);
  find_kept(f);
  for (uint32_t i = 0; i < f->g->n_nodes && !f->b->err; i++)
    if (!waits(f, i)) place(f, i);
}

// ---- Loops --------------------------------------------------------------------------------------

static void write_body(gr_loop *, const gr_scan *, const gr_val *operands, gr_val *map);

static void copy_in_body(void *context, const gr_node *n) {
  gr_fuse *f = context;
  if (n->op == &gr_op_scan)
    gr_emit_loop(f->b, f->g, n, write_body, f->map);
  else
    gr_emit_placed(f->b, f->g, n, f->map);
}

static void write_body(gr_loop *l, const gr_scan *s, const gr_val *operands, gr_val *map) {
  (void)operands;
  gr_fuse f = {.g = s->body,
               .b = &l->b,
               .map = map,
               .arena = l->b.g->tables,
               .in_loop = true,
               .copy = copy_in_body};
  f.context = &f;
  fuse_nodes(&f);
}

static void copy_or_enter(void *context, const gr_node *n) {
  gr_rewrite *rw = context;
  if (n->op == &gr_op_scan)
    gr_rewrite_loop(rw, n, write_body);
  else
    gr_copy_node(rw, n);
}

gr_status gr_pass_fuse(gr_rewrite *rw) {
  gr_arena *arena = gr_arena_create();
  gr_fuse f = {.g = rw->old, .b = &rw->b, .map = rw->map, .arena = arena, .copy = copy_or_enter};
  f.context = rw;
  gr_copy_leaves(rw);
  rw->b.distinct = true;  // what differs stays different: each value is still made once
  fuse_nodes(&f);
  gr_copy_links(rw);
  gr_arena_destroy(arena);
  return GR_OK;
}
