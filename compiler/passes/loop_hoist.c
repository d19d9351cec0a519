// loop_hoist.c - loop-invariant code motion, extended to work that all steps can do at once, as one
// matmul with more rows.
//
// The body's nodes are divided into three places. BEFORE the loop: matmuls of sequences and
// constants with their operands, and whatever is the same in every step. AFTER the loop: matmuls
// that no carry depends on, with their users. The rest stays in the loop.
// A carry that is only added to, such as the gradient of a weight, becomes a sum after the
// loop:  dU = sum over t of h_t' dz_t  is one matmul of the stacked h and dz.
//
// Whether a node can move follows from its index notation (gr_op_lead); no op is named except add.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "ops/loop/scan.h"

typedef enum place { LOOP, BEFORE, AFTER } place;

typedef struct hoist {
  gr_rewrite *rw;
  const gr_node *node;
  const gr_scan *s;
  const gr_graph *g;  // the body
  bool *varies;       // by value: from step to step
  bool *live;         // by value: the new loop, or what comes after it, needs it
  bool *stays;        // by value: a node in the loop, or a carry, needs it
  bool *gone;         // by carry: it becomes a sum
  uint32_t *uses;     // by value
  place *place;       // by node
  bool moved;         // anything at all
  gr_loop loop;
  gr_val *whole;  // by value: outside; all steps of it, where it varies
  gr_val *in;     // by value: in the new body
  int *yield;     // by value: 1 + which yield of the new loop
} hoist;

static gr_lead lead(const hoist *h, const gr_node *n) {
  bool differs[GR_MAX_ARGS];
  for (int k = 0; k < n->n_in; k++) differs[k] = h->varies[n->in[k].id];
  gr_op_call s;
  gr_op_call_of(h->g, n, &s);
  return gr_op_lead(&s, differs);
}

static bool contracts(const hoist *h, const gr_node *n) {
  gr_op_call s;
  gr_op_call_of(h->g, n, &s);
  return gr_op_contracts(&s);
}

static const gr_node *maker(const hoist *h, gr_val v) {
  const gr_value *value = gr_at(h->g, v);
  return value->role == GR_TEMP ? &h->g->nodes[value->node] : NULL;
}

static place *place_of(const hoist *h, gr_val v) {
  const gr_node *n = maker(h, v);
  return n ? &h->place[n - h->g->nodes] : NULL;
}

// ---- Deciding -------------------------------------------------------------------

static void choose_before(hoist *h) {
  const gr_graph *g = h->g;
  bool *can = GR_NEW(g->arena, bool, g->n_values);  // all steps of it can be made before the loop
  for (uint32_t i = 1; i <= gr_graph_leaves(g); i++) can[i] = !gr_scan_is_carry(h->s, i);
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    bool ok = !h->varies[n->out.id] || lead(h, n) == GR_LEAD_LIFT;
    for (int k = 0; k < n->n_in; k++) ok &= can[n->in[k].id];
    for (int k = 0; k < n->n_out; k++) can[gr_out(n, k).id] = ok;
    if (ok && (!h->varies[n->out.id] || contracts(h, n))) h->place[i] = BEFORE, h->moved = true;
  }
  for (uint32_t i = g->n_nodes; i--;)
    for (int k = 0; h->place[i] == BEFORE && k < g->nodes[i].n_in; k++)
      if (maker(h, g->nodes[i].in[k])) *place_of(h, g->nodes[i].in[k]) = BEFORE;
}

// Whether the sum of v over all steps is a sum of matmuls of stacked values.
static bool sums(const hoist *h, gr_val v) {
  const gr_node *n = maker(h, v);
  if (!n) return false;
  if (n->op == &gr_op_add) return sums(h, n->in[0]) && sums(h, n->in[1]);
  return h->varies[v.id] && n->n_out == 1 && lead(h, n) == GR_LEAD_SUM;
}

// The value added to carry k in each step, if the carry has no other use; else GR_NONE.
static gr_val added(const hoist *h, int k) {
  gr_val c = gr_scan_carry(h->s, k), next = gr_at(h->g, c)->next;
  const gr_node *n = maker(h, next);
  if (!n || n->op != &gr_op_add || h->uses[c.id] != 1 || h->uses[next.id] != 1) return GR_NONE;
  return n->in[0].id == c.id ? n->in[1] : n->in[1].id == c.id ? n->in[0] : GR_NONE;
}

// Marks the operands of the matmuls that compute the sum of v after the loop.
static void mark_live(hoist *h, gr_val v) {
  const gr_node *n = maker(h, v);
  for (int k = 0; k < n->n_in; k++)
    if (n->op == &gr_op_add)
      mark_live(h, n->in[k]);
    else
      h->live[n->in[k].id] = true;
}

static void choose_sums(hoist *h) {
  const gr_graph *g = h->g;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++) h->uses[g->nodes[i].in[k].id]++;
  for (uint32_t i = 0; i < g->n_results; i++) h->uses[g->results[i].id]++;
  for (uint32_t i = 1; i < g->n_values; i++) h->uses[g->values[i].next.id]++;
  for (int k = 0; k < h->s->n_carry; k++) {
    gr_val c = gr_scan_carry(h->s, k), what = added(h, k);
    h->gone[k] = gr_is(what) && sums(h, what);
    h->moved |= h->gone[k];
    if (h->gone[k])
      mark_live(h, what);
    else
      h->stays[gr_at(g, c)->next.id] = h->live[gr_at(g, c)->next.id] = true;
  }
}

static void choose_after(hoist *h) {
  const gr_graph *g = h->g;
  for (uint32_t j = 0; j < g->n_results; j++) h->live[g->results[j].id] = true;
  gr_mark_live(g, h->live, NULL);
  for (uint32_t i = g->n_nodes; i--;) {
    const gr_node *n = &g->nodes[i];
    bool stay = lead(h, n) != GR_LEAD_LIFT;
    for (int k = 0; k < n->n_out; k++) stay |= h->stays[gr_out(n, k).id];
    if (h->place[i] == BEFORE || !gr_any_out(n, h->live)) continue;
    for (int k = 0; stay && k < n->n_in; k++) h->stays[n->in[k].id] = true;
    if (!stay) h->place[i] = AFTER;
  }
  for (uint32_t i = 0; i < g->n_nodes; i++) {  // of those that can, products and what follows
    const gr_node *n = &g->nodes[i];
    if (h->place[i] != AFTER) continue;
    bool worth = contracts(h, n);
    for (int k = 0; k < n->n_in; k++)
      worth |= maker(h, n->in[k]) && *place_of(h, n->in[k]) == AFTER;
    h->place[i] = worth ? AFTER : LOOP;
    h->moved |= worth;
  }
}

// ---- Emitting -------------------------------------------------------------------

static void emit_whole(hoist *h, place where) {
  for (uint32_t i = 0; i < h->g->n_nodes; i++)
    if (h->place[i] == where) gr_emit_copy(&h->rw->b, &h->g->nodes[i], h->whole);
}

static void write_leaves(hoist *h) {
  const gr_graph *g = h->g;
  for (uint32_t i = 1; i <= gr_graph_leaves(g); i++) {
    const gr_value *v = &g->values[i];
    int k = gr_scan_operand(h->s, i);
    gr_val operand = k < 0 ? GR_NONE : h->rw->map[h->node->in[k].id];
    if (!gr_scan_is_carry(h->s, i))
      h->whole[i] = operand;
    else if (!h->gone[gr_scan_carry_of(h->s, i)])
      h->in[i] = k < 0 ? gr_loop_zero(&h->loop, v->type, v->name)
                       : gr_loop_carry(&h->loop, operand, v->name);
    else if (h->uses[i] > 1)
      h->rw->b.err = gr_fail(GR_ERR_BUG, h->node->loc, "a carry in use was taken out");
  }
}

// A value computed outside enters the body as a sequence or as a constant.
static void write_body(hoist *h) {
  const gr_graph *g = h->g;
  for (uint32_t i = 1; i < g->n_values; i++) {
    const gr_node *n = maker(h, (gr_val){i});
    if (gr_is(h->whole[i]))
      h->in[i] =
          h->varies[i] ? gr_loop_seq(&h->loop, h->whole[i]) : gr_loop_const(&h->loop, h->whole[i]);
    else if (n && n->out.id == i && gr_any_out(n, h->live) && h->place[n - g->nodes] == LOOP)
      gr_emit_copy(&h->loop.b, n, h->in);
  }
  for (int k = 0; k < h->s->n_carry; k++) {
    gr_val c = gr_scan_carry(h->s, k);
    if (!h->gone[k]) gr_loop_next(&h->loop, h->in[c.id], h->in[gr_at(g, c)->next.id]);
  }
}

// All steps of v are needed outside.
static void need(hoist *h, gr_val v) {
  const place *p = place_of(h, v);
  if (gr_is(h->whole[v.id]) || h->yield[v.id] || (p && *p == AFTER)) return;
  h->yield[v.id] = 1 + gr_loop_yield(&h->loop, h->in[v.id]);
}

static void need_inputs(hoist *h, const gr_node *n) {
  for (int k = 0; k < n->n_in; k++) need(h, n->in[k]);
}

static void need_sum(hoist *h, gr_val v) {
  const gr_node *n = maker(h, v);
  if (n->op != &gr_op_add) {
    need_inputs(h, n);
    return;
  }
  need_sum(h, n->in[0]);
  need_sum(h, n->in[1]);
}

static void write_yields(hoist *h) {
  const gr_graph *g = h->g;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (h->place[i] == AFTER) need_inputs(h, &g->nodes[i]);
  for (int k = 0; k < h->s->n_carry; k++)
    if (h->gone[k]) need_sum(h, added(h, k));
  for (uint32_t j = 0; j < g->n_results; j++) {
    gr_val v = g->results[j];
    if (h->varies[v.id])
      need(h, v);
    else if (!h->yield[v.id])
      h->yield[v.id] = 1 + gr_loop_yield(&h->loop, h->in[v.id]);
  }
}

static gr_val total(hoist *h, gr_val v) {
  const gr_node *n = maker(h, v);
  gr_builder *b = &h->rw->b;
  if (n->op == &gr_op_add) return gr_add(b, total(h, n->in[0]), total(h, n->in[1]));
  gr_val in[GR_MAX_ARGS];
  for (int k = 0; k < n->n_in; k++) in[k] = h->whole[n->in[k].id];
  return gr_emit(b, n->op, n->attr, n->n_in, in);
}

static void map_results(hoist *h) {
  gr_val *map = h->rw->map;
  for (int k = 0; k < h->s->n_carry; k++) {
    gr_val c = gr_scan_carry(h->s, k), *to = &map[gr_out(h->node, k).id];
    int given = gr_scan_operand(h->s, c.id);
    if (h->gone[k]) {
      *to = total(h, added(h, k));
      if (given >= 0) *to = gr_add(&h->rw->b, map[h->node->in[given].id], *to);
    } else {
      *to = gr_loop_last(&h->loop, h->in[c.id]);
    }
  }
  for (uint32_t j = 0; j < h->g->n_results; j++) {
    gr_val v = h->g->results[j];
    map[gr_out(h->node, (int)h->s->n_carry + (int)j).id] =
        h->varies[v.id] ? h->whole[v.id] : gr_loop_stack(&h->loop, h->yield[v.id] - 1);
  }
}

static void emit(hoist *h) {
  gr_loop_open(&h->loop, &h->rw->b, h->s->steps, h->s->reverse);
  write_leaves(h);
  emit_whole(h, BEFORE);
  write_body(h);
  write_yields(h);
  if (h->loop.b.g->n_results || h->s->n_carry) gr_loop_close(&h->loop);
  for (uint32_t i = 1; i < h->g->n_values; i++)
    if (h->yield[i] && h->varies[i]) h->whole[i] = gr_loop_stack(&h->loop, h->yield[i] - 1);
  emit_whole(h, AFTER);
  map_results(h);
}

static void split(gr_rewrite *rw, const gr_node *n) {
  const gr_scan *s = n->attr;
  gr_arena *arena = rw->b.g->arena;
  uint32_t values = s->body->n_values;
  hoist h = {.rw = rw,
             .node = n,
             .s = s,
             .g = s->body,
             .varies = gr_scan_varies(arena, s),
             .live = GR_NEW(arena, bool, values),
             .stays = GR_NEW(arena, bool, values),
             .gone = GR_NEW(arena, bool, s->n_carry + 1),
             .uses = GR_NEW(arena, uint32_t, values),
             .place = GR_NEW(arena, place, s->body->n_nodes + 1),
             .whole = GR_NEW(arena, gr_val, values),
             .in = GR_NEW(arena, gr_val, values),
             .yield = GR_NEW(arena, int, values)};
  rw->b.loc = n->loc, rw->b.scope = n->scope;
  choose_before(&h);
  choose_sums(&h);
  choose_after(&h);
  if (h.moved)
    emit(&h);
  else
    gr_copy_node(rw, n);
}

gr_status gr_pass_loop_hoist(gr_rewrite *rw) {
  gr_copy_leaves(rw);
  for (uint32_t i = 0; i < rw->old->n_nodes && !rw->b.err; i++)
    if (rw->old->nodes[i].op == &gr_op_scan)
      split(rw, &rw->old->nodes[i]);
    else
      gr_copy_node(rw, &rw->old->nodes[i]);
  gr_copy_links(rw);
  return GR_OK;
}
