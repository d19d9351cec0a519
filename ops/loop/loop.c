// loop.c - building scans. See scan.h.
#include <string.h>
#include "ops/loop/scan.h"
#include "ops/ops.h"

void gr_loop_open(gr_loop *l, gr_builder *outside, int64_t steps, bool reverse) {
  gr_arena *scratch = outside->g->tables;
  *l = (gr_loop){.outside = outside,
                 .b = {.g = gr_graph_create_in(scratch, outside->g->arena, &outside->g->mesh),
                       .loc = outside->loc,
                       .scope = outside->scope,
                       .created_by = outside->created_by,
                       .err = outside->err},
                 .scan = {.steps = steps, .reverse = reverse},
                 .leaves = GR_NEW(scratch, gr_loop_leaf, 16),
                 .cap_leaves = 16};
}

static gr_val leaf(gr_loop *l, int kind, gr_val operand, gr_type type, const char *name) {
  for (int i = 0; i < l->n_leaves && kind != GR_LOOP_CARRY && gr_is(operand); i++)
    if (l->leaves[i].operand.id == operand.id && (int)l->leaves[i].kind == kind)
      return l->leaves[i].leaf;
  if (l->n_leaves == l->cap_leaves) {
    gr_loop_leaf *more = GR_NEW(l->b.g->tables, gr_loop_leaf, l->cap_leaves *= 2);
    l->leaves = memcpy(more, l->leaves, sizeof *more * (size_t)l->n_leaves);
  }
  gr_role role = kind == GR_LOOP_CARRY ? GR_STATE : GR_INPUT;
  gr_val v = gr_leaf(&l->b, role, GR_KIND_BUFFER, name, type, gr_layout_replicated);
  l->leaves[l->n_leaves++] = (gr_loop_leaf){.leaf = v, .operand = operand, .kind = (unsigned)kind};
  return v;
}

static gr_type type_of(gr_loop *l, gr_val outer) {
  return l->outside->err ? (gr_type){0} : gr_at(l->outside->g, outer)->type;
}

gr_val gr_loop_seq(gr_loop *l, gr_val stacked) {
  gr_type t = type_of(l, stacked);
  if (!t.rank || t.dim[0] != l->scan.steps) {
    if (!l->b.err && !l->outside->err)
      l->b.err = gr_fail(GR_ERR_TYPE, l->b.loc,
                         "the first axis of a sequence must have the %lld steps of the scan",
                         (long long)l->scan.steps);
    return GR_NONE;
  }
  memmove(t.dim, t.dim + 1, sizeof *t.dim * (size_t)--t.rank);
  return leaf(l, GR_LOOP_SEQ, stacked, t, "slice");
}

gr_val gr_loop_const(gr_loop *l, gr_val v) {
  return leaf(l, GR_LOOP_CONST, v, type_of(l, v), "const");
}

gr_val gr_loop_carry(gr_loop *l, gr_val init, const char *name) {
  return leaf(l, GR_LOOP_CARRY, init, type_of(l, init), name);
}

gr_val gr_loop_zero(gr_loop *l, gr_type t, const char *name) {
  return leaf(l, GR_LOOP_CARRY, GR_NONE, t, name);
}

gr_val gr_loop_placeholder(gr_loop *l, gr_type t) {
  return leaf(l, GR_LOOP_SEQ, GR_NONE, t, "placeholder");
}

void gr_loop_next(gr_loop *l, gr_val carry, gr_val next) {
  if (!l->b.err) gr_at(l->b.g, carry)->next = next;
}

int gr_loop_yield(gr_loop *l, gr_val v) {
  gr_result(&l->b, NULL, v);
  return (int)l->b.g->n_results - 1;
}

// Copies the live leaves of one kind to the final body, which needs its leaves grouped by kind;
// counts them in the scan's attributes and appends their operands.
static void put_leaves(gr_loop *l, gr_builder *to, gr_val *map, const bool *live, int kind,
                       bool given, gr_val *operands, int *n_in) {
  for (int i = 0; i < l->n_leaves; i++) {
    gr_loop_leaf *f = &l->leaves[i];
    bool carry = kind == GR_LOOP_CARRY;
    if ((int)f->kind != kind || (!carry && !live[f->leaf.id])) continue;
    if (carry && gr_is(f->operand) != given) continue;
    const gr_value *v = gr_at(l->b.g, f->leaf);
    map[f->leaf.id] = gr_leaf(to, v->role, v->kind, v->name, v->type, v->layout);
    if (!carry && !gr_is(f->operand))
      l->b.err =
          gr_fail(GR_ERR_BUG, l->b.loc, "a forward value was not saved for the backward scan");
    if (carry) f->place = (int)l->scan.n_carry++, l->scan.n_init += given;
    if (carry && f->leaf.id == l->until.id) l->scan.until = 1 + f->place;
    l->scan.n_seq += kind == GR_LOOP_SEQ;
    if (gr_is(f->operand)) operands[(*n_in)++] = f->operand;
  }
}

static void put_nodes(const gr_graph *source, gr_builder *builder, gr_val *map, const bool *live) {
  for (uint32_t i = 0; i < source->n_nodes; i++) {
    const gr_node *n = &source->nodes[i];
    bool any = gr_any_out(n, live);
    if (any) gr_emit_copy(builder, source, n, map);
    for (int k = 0; any && k < n->n_out && !builder->err; k++)
      gr_at(builder->g, map[gr_out(n, k).id])->layout = gr_at(source, gr_out(n, k))->layout;
  }
  for (uint32_t i = 1; i < source->n_values; i++)
    if (gr_is(source->values[i].next) && !builder->err)
      gr_at(builder->g, map[i])->next = map[source->values[i].next.id];
}

// Carries are stored one after another at the end of a step, so a carry whose next value is another
// carry is copied first. Adjoints need this: the adjoint of x + y is also the adjoint of x.
static void copy_swapped_carries(gr_loop *l) {
  for (int i = 0; i < l->n_leaves && !l->b.err; i++) {
    gr_val c = l->leaves[i].leaf, next = gr_at(l->b.g, c)->next;
    if (gr_is(next) && next.id != c.id && gr_at(l->b.g, next)->role == GR_STATE)
      gr_loop_next(l, c, gr_scale(&l->b, next, 1));
  }
}

void gr_loop_close(gr_loop *l) {
  gr_builder *out = l->outside;
  copy_swapped_carries(l);
  if (out->err || l->b.err) {
    if (!out->err) out->err = l->b.err;
    return;
  }
  gr_graph *g = l->b.g;
  gr_arena *work = gr_arena_create();  // of the body, which is copied where the scan is new
  gr_builder to = {.g = gr_graph_create_in(work, g->arena, &g->mesh),
                   .loc = l->b.loc,
                   .scope = l->b.scope,
                   .created_by = l->b.created_by};
  gr_val *map = GR_NEW(work, gr_val, g->n_values), *in = GR_NEW(work, gr_val, l->n_leaves);
  gr_graph_reserve(to.g, g->n_values, g->n_nodes);
  bool *live = gr_graph_live(g);
  int n_in = 0;
  put_leaves(l, &to, map, live, GR_LOOP_SEQ, true, in, &n_in);
  put_leaves(l, &to, map, live, GR_LOOP_CARRY, true, in, &n_in);
  put_leaves(l, &to, map, live, GR_LOOP_CARRY, false, in, &n_in);
  put_leaves(l, &to, map, live, GR_LOOP_CONST, true, in, &n_in);
  put_nodes(g, &to, map, live);
  for (uint32_t i = 0; i < g->n_results; i++) gr_result(&to, NULL, map[g->results[i].id]);
  out->err = l->b.err ? l->b.err : to.err;
  l->scan.body = to.g;
  l->made = gr_emit(out, &gr_op_scan, &l->scan, n_in, in);
  const gr_node *made = gr_is(l->made) ? &out->g->nodes[gr_at(out->g, l->made)->node] : NULL;
  l->scan.body = made ? ((const gr_scan *)made->attr)->body : NULL;
  gr_arena_destroy(work);
}

gr_val gr_loop_last(const gr_loop *l, gr_val carry) {
  for (int i = 0; i < l->n_leaves && gr_is(l->made); i++)
    if (l->leaves[i].kind == GR_LOOP_CARRY && l->leaves[i].leaf.id == carry.id)
      return (gr_val){l->made.id + (uint32_t)l->leaves[i].place};
  return GR_NONE;
}

gr_val gr_loop_stack(const gr_loop *l, int yield) {
  return gr_is(l->made) ? (gr_val){l->made.id + (uint32_t)l->scan.n_carry + (uint32_t)yield}
                        : GR_NONE;
}

void gr_loop_leaves(gr_loop *l, gr_builder *outside, const gr_scan *s, const gr_val *operands,
                    gr_val *map) {
  const gr_graph *g = s->body;
  gr_loop_open(l, outside, s->steps, s->reverse);
  gr_graph_reserve(l->b.g, g->n_values + g->n_values / 4, g->n_nodes + g->n_nodes / 4);
  uint32_t leaves = gr_graph_leaves(g);
  for (uint32_t i = 1; i <= leaves; i++) {
    int k = gr_scan_operand(s, i);
    const gr_value *v = &g->values[i];
    map[i] = k < 0                  ? gr_loop_zero(l, v->type, v->name)
             : gr_scan_is_seq(s, i) ? gr_loop_seq(l, operands[k])
             : v->role == GR_STATE  ? gr_loop_carry(l, operands[k], v->name)
                                    : gr_loop_const(l, operands[k]);
    if (gr_is(map[i])) gr_at(l->b.g, map[i])->layout = v->layout;
  }
  if (s->until) l->until = map[gr_scan_carry(s, (int)s->until - 1).id];
}

void gr_loop_nexts(gr_loop *l, const gr_scan *s, const gr_val *map) {
  for (int k = 0; k < s->n_carry; k++) {
    gr_val c = gr_scan_carry(s, k);
    gr_loop_next(l, map[c.id], map[gr_at(s->body, c)->next.id]);
  }
}

void gr_loop_clone(gr_loop *l, gr_builder *outside, const gr_scan *s, const gr_val *operands,
                   const bool *want, gr_val *map) {
  const gr_graph *g = s->body;
  gr_loop_leaves(l, outside, s, operands, map);
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (want)
      gr_emit_with_residuals(&l->b, g, &g->nodes[i], map, want);
    else
      gr_emit_copy(&l->b, g, &g->nodes[i], map);
  gr_loop_nexts(l, s, map);
}
