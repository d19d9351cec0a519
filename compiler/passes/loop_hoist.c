// loop_hoist.c - loop-invariant code motion, extended to work that all steps can do at once, as one
// matmul with more rows.
//
//   before                                     after
//   for t:  a_t = x_t W                        a = x W                 (all t in one matmul)
//           h_t = tanh(a_t + h_{t-1} U)        for t:  h_t = tanh(a_t + h_{t-1} U)
//           y_t = h_t V                        y = h V
//   backward, for t:  dU += h_{t-1}' dz_t      dU = h' dz              (the sum over t is inside)
//
// The body's nodes are divided into three places. BEFORE the loop: matmuls of sequences and
// constants with their operands, and whatever is the same in every step. AFTER the loop: matmuls
// that no carry depends on, with their users. The rest stays in the LOOP. Cheap ops move only along
// with a matmul: alone they would cost memory for all steps and save nothing. A carry that is only
// added to, such as the gradient of a weight, becomes a sum after the loop.
//
// Whether a node can run for all steps at once follows from its index notation (gr_op_lead); no op
// is named except add, and reshape and sum, of sequences. The result equals that of the loop up to
// the rounding of sums over steps.
#include <string.h>
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

typedef enum place { LOOP, BEFORE, AFTER } place;

typedef struct hoist {
  gr_builder *b;        // of the graph around the new loop
  gr_val *map;          // from values of the graph around the old one to those of that
  const gr_node *node;  // the scan, and its attributes and body
  const gr_scan *s;
  const gr_graph *g;
  bool *varies;          // by value of the body: it differs from step to step
  bool *needed;          // by value: the new loop, or a node after it, reads it
  bool *needed_in_loop;  // by value: a node that stays in the loop, or a carry, reads it
  bool *becomes_sum;     // by carry: it is replaced by a sum after the loop
  uint32_t *uses;        // by value: the number of reads
  place *place;          // by node
  bool changed;          // a node has moved or a carry has become a sum
  gr_loop loop;          // the new loop
  gr_val *outside;  // by value: in the graph around the loop; a stack of all steps if it varies
  gr_val *inside;   // by value: in the new body
  int *yield;       // by value: 1 + the index of its yield of the new loop, or 0
  bool casts;       // narrow copies are asked for, after all others
} hoist;

static gr_lead lead_of(const hoist *h, const gr_node *n) {
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

static place *place_of(const hoist *h, gr_val v) {
  const gr_node *n = gr_maker(h->g, v);
  return n ? &h->place[n - h->g->nodes] : NULL;
}

// ---- Deciding -------------------------------------------------------------------

// Whether a node gives the elements of a leaf other axes: it reshapes them, or adds up axes of one
// element. Of a sequence it is then a reshape of all steps, which takes no memory.
static bool reshapes_leaf(const hoist *h, const gr_node *n) {
  if (n->op != &gr_op_reshape && n->op != &gr_op_sum) return false;
  const gr_value *x = gr_at(h->g, n->in[0]), *y = gr_at(h->g, n->out);
  return x->role == GR_INPUT && y->type.rank < GR_MAX_RANK &&
         gr_type_count(&x->type) == gr_type_count(&y->type);
}

// Places nodes BEFORE the loop: those that can run for all steps at once and are invariant or a
// matmul, and then what these read; and other axes of sequences.
static void choose_before(hoist *h) {
  const gr_graph *g = h->g;
  bool *can_move = GR_NEW(g->tables, bool, g->n_values);  // by value: depends on no carry
  for (uint32_t i = 1; i <= gr_graph_leaves(g); i++) can_move[i] = !gr_scan_is_carry(h->s, i);
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    bool reshapes = reshapes_leaf(h, n);
    bool ok = !h->varies[n->out.id] || reshapes || lead_of(h, n) == GR_LEAD_LIFT;
    for (int k = 0; k < n->n_in; k++) ok &= can_move[n->in[k].id];
    for (int k = 0; k < n->n_out; k++) can_move[gr_out(n, k).id] = ok;
    if (ok && (!h->varies[n->out.id] || reshapes || contracts(h, n)))
      h->place[i] = BEFORE, h->changed = true;
  }
  for (uint32_t i = g->n_nodes; i--;)
    for (int k = 0; h->place[i] == BEFORE && k < g->nodes[i].n_in; k++)
      if (gr_maker(h->g, g->nodes[i].in[k])) *place_of(h, g->nodes[i].in[k]) = BEFORE;
}

// Whether the sum of v over all steps is a sum of matmuls of stacked values.
static bool is_sum_of_matmuls(const hoist *h, gr_val v) {
  const gr_node *n = gr_maker(h->g, v);
  if (!n) return false;
  if (n->op == &gr_op_add) return is_sum_of_matmuls(h, n->in[0]) && is_sum_of_matmuls(h, n->in[1]);
  return h->varies[v.id] && n->n_out == 1 && lead_of(h, n) == GR_LEAD_SUM;
}

// The value added to carry k in each step, if the carry has no other use; else GR_NONE.
static gr_val added_each_step(const hoist *h, int k) {
  gr_val c = gr_scan_carry(h->s, k), next = gr_at(h->g, c)->next;
  const gr_node *n = gr_maker(h->g, next);
  if (!n || n->op != &gr_op_add || h->uses[c.id] != 1 || h->uses[next.id] != 1) return GR_NONE;
  return n->in[0].id == c.id ? n->in[1] : n->in[1].id == c.id ? n->in[0] : GR_NONE;
}

// Marks the operands of the matmuls that compute the sum of v after the loop.
static void mark_sum_operands(hoist *h, gr_val v) {
  const gr_node *n = gr_maker(h->g, v);
  for (int k = 0; k < n->n_in; k++)
    if (n->op == &gr_op_add)
      mark_sum_operands(h, n->in[k]);
    else
      h->needed[n->in[k].id] = true;
}

// Decides which carries become sums, and marks what the other carries need.
static void choose_sums(hoist *h) {
  const gr_graph *g = h->g;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++) h->uses[g->nodes[i].in[k].id]++;
  for (uint32_t i = 0; i < g->n_results; i++) h->uses[g->results[i].id]++;
  for (uint32_t i = 1; i < g->n_values; i++) h->uses[g->values[i].next.id]++;
  for (int k = 0; k < h->s->n_carry; k++) {
    gr_val c = gr_scan_carry(h->s, k), what = added_each_step(h, k);
    h->becomes_sum[k] = gr_is(what) && is_sum_of_matmuls(h, what);
    h->changed |= h->becomes_sum[k];
    if (h->becomes_sum[k])
      mark_sum_operands(h, what);
    else
      h->needed_in_loop[gr_at(g, c)->next.id] = h->needed[gr_at(g, c)->next.id] = true;
  }
}

// Places nodes AFTER the loop: from last to first, those that can run for all steps at once and
// that nothing in the loop reads; of these, from first to last, matmuls and what depends on them.
static void choose_after(hoist *h) {
  const gr_graph *g = h->g;
  for (uint32_t j = 0; j < g->n_results; j++) h->needed[g->results[j].id] = true;
  gr_mark_live(g, h->needed, NULL);
  for (uint32_t i = g->n_nodes; i--;) {
    const gr_node *n = &g->nodes[i];
    bool stay = lead_of(h, n) != GR_LEAD_LIFT;
    for (int k = 0; k < n->n_out; k++) stay |= h->needed_in_loop[gr_out(n, k).id];
    if (h->place[i] == BEFORE || !gr_any_out(n, h->needed)) continue;
    for (int k = 0; stay && k < n->n_in; k++) h->needed_in_loop[n->in[k].id] = true;
    if (!stay) h->place[i] = AFTER;
  }
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    if (h->place[i] != AFTER) continue;
    bool pays = contracts(h, n);
    for (int k = 0; k < n->n_in; k++)
      pays |= gr_maker(h->g, n->in[k]) && *place_of(h, n->in[k]) == AFTER;
    h->place[i] = pays ? AFTER : LOOP;
    h->changed |= pays;
  }
}

// ---- Emitting -------------------------------------------------------------------

static void write_reshape(hoist *h, const gr_node *n) {
  gr_type all = gr_type_stack(&gr_at(h->g, n->out)->type, h->s->steps);
  gr_ints shape = {.n = all.rank};
  memcpy(shape.items, all.dim, sizeof *all.dim * (size_t)all.rank);
  h->outside[n->out.id] = gr_reshape(h->b, h->outside[n->in[0].id], shape);
}

static void emit_outside(hoist *h, place where) {
  for (uint32_t i = 0; i < h->g->n_nodes; i++) {
    const gr_node *n = &h->g->nodes[i];
    if (h->place[i] != where) continue;
    if (where == BEFORE && h->varies[n->out.id] && reshapes_leaf(h, n))
      write_reshape(h, n);
    else
      gr_emit_copy(h->b, h->g, n, h->outside);
  }
}

static void write_leaves(hoist *h) {
  const gr_graph *g = h->g;
  for (uint32_t i = 1; i <= gr_graph_leaves(g); i++) {
    const gr_value *v = &g->values[i];
    int k = gr_scan_operand(h->s, i);
    gr_val operand = k < 0 ? GR_NONE : h->map[h->node->in[k].id];
    if (!gr_scan_is_carry(h->s, i))
      h->outside[i] = operand;
    else if (!h->becomes_sum[gr_scan_carry_of(h->s, i)])
      h->inside[i] = k < 0 ? gr_loop_zero(&h->loop, v->type, v->name)
                           : gr_loop_carry(&h->loop, operand, v->name);
    else if (h->uses[i] > 1)
      h->b->err = gr_fail(GR_ERR_BUG, h->node->loc, "a carry in use was taken out");
  }
}

// A value computed outside enters the body as a sequence or as a constant.
static void write_body(hoist *h) {
  const gr_graph *g = h->g;
  for (uint32_t i = 1; i < g->n_values; i++) {
    const gr_node *n = gr_maker(h->g, (gr_val){i});
    if (gr_is(h->outside[i]))
      h->inside[i] = h->varies[i] ? gr_loop_seq(&h->loop, h->outside[i])
                                  : gr_loop_const(&h->loop, h->outside[i]);
    else if (n && n->out.id == i && gr_any_out(n, h->needed) && h->place[n - g->nodes] == LOOP)
      gr_emit_copy(&h->loop.b, g, n, h->inside);
  }
  for (int k = 0; k < h->s->n_carry; k++) {
    gr_val c = gr_scan_carry(h->s, k);
    if (!h->becomes_sum[k])
      gr_loop_next(&h->loop, h->inside[c.id], h->inside[gr_at(g, c)->next.id]);
  }
}

// What v is a narrow copy of, if all steps of that leave the loop: it is cast outside then, so that
// there are not both while the loop runs. Else GR_NONE.
static gr_val wide_of(const hoist *h, gr_val v) {
  const gr_node *n = gr_maker(h->g, v);
  bool copy = n && n->op == &gr_op_cast && gr_is_narrow(gr_at(h->g, v)->type.dtype);
  return copy && h->varies[v.id] && h->yield[n->in[0].id] ? n->in[0] : GR_NONE;
}

// Makes all steps of v available outside the loop, as a yield.
static void yield_value(hoist *h, gr_val v) {
  const place *p = place_of(h, v);
  const gr_node *n = gr_maker(h->g, v);
  if (gr_is(h->outside[v.id]) || h->yield[v.id] || (p && *p == AFTER)) return;
  if (h->casts ? gr_is(wide_of(h, v)) : n && n->op == &gr_op_cast) return;
  h->yield[v.id] = 1 + gr_loop_yield(&h->loop, h->inside[v.id]);
}

static void yield_inputs(hoist *h, const gr_node *n) {
  for (int k = 0; k < n->n_in; k++) yield_value(h, n->in[k]);
}

static void yield_sum_operands(hoist *h, gr_val v) {
  const gr_node *n = gr_maker(h->g, v);
  if (n->op != &gr_op_add) {
    yield_inputs(h, n);
    return;
  }
  yield_sum_operands(h, n->in[0]);
  yield_sum_operands(h, n->in[1]);
}

static void write_yields(hoist *h) {
  const gr_graph *g = h->g;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (h->place[i] == AFTER) yield_inputs(h, &g->nodes[i]);
  for (int k = 0; k < h->s->n_carry; k++)
    if (h->becomes_sum[k]) yield_sum_operands(h, added_each_step(h, k));
  for (uint32_t j = 0; j < g->n_results; j++) {
    gr_val v = g->results[j];
    if (h->varies[v.id])
      yield_value(h, v);
    else if (!h->yield[v.id])
      h->yield[v.id] = 1 + gr_loop_yield(&h->loop, h->inside[v.id]);
  }
}

// The sum of v over all steps: the same matmuls, on the stacks of their operands.
static gr_val emit_sum(hoist *h, gr_val v) {
  const gr_node *n = gr_maker(h->g, v);
  gr_builder *b = h->b;
  if (n->op == &gr_op_add) return gr_add(b, emit_sum(h, n->in[0]), emit_sum(h, n->in[1]));
  gr_val in[GR_MAX_ARGS];
  for (int k = 0; k < n->n_in; k++) in[k] = h->outside[n->in[k].id];
  return gr_emit(b, n->op, n->attr, n->n_in, in);
}

static void map_results(hoist *h) {
  gr_val *map = h->map;
  for (int k = 0; k < h->s->n_carry; k++) {
    gr_val c = gr_scan_carry(h->s, k), *to = &map[gr_out(h->node, k).id];
    int given = gr_scan_operand(h->s, c.id);
    if (h->becomes_sum[k]) {
      *to = emit_sum(h, added_each_step(h, k));
      if (given >= 0) *to = gr_add(h->b, map[h->node->in[given].id], *to);
    } else {
      *to = gr_loop_last(&h->loop, h->inside[c.id]);
    }
  }
  for (uint32_t j = 0; j < h->g->n_results; j++) {
    gr_val v = h->g->results[j];
    map[gr_out(h->node, (int)h->s->n_carry + (int)j).id] =
        h->varies[v.id] ? h->outside[v.id] : gr_loop_stack(&h->loop, h->yield[v.id] - 1);
  }
}

static void emit(hoist *h) {
  gr_loop_open(&h->loop, h->b, h->s->steps, h->s->reverse);
  write_leaves(h);
  if (h->s->until) h->loop.until = h->inside[gr_scan_carry(h->s, (int)h->s->until - 1).id];
  emit_outside(h, BEFORE);
  write_body(h);
  write_yields(h);
  h->casts = true;
  write_yields(h);
  if (h->loop.b.g->n_results || h->s->n_carry) gr_loop_close(&h->loop);
  for (uint32_t i = 1; i < h->g->n_values; i++)
    if (h->yield[i] && h->varies[i]) h->outside[i] = gr_loop_stack(&h->loop, h->yield[i] - 1);
  for (uint32_t i = 1; i < h->g->n_values; i++) {
    gr_val wide = gr_is(h->outside[i]) ? GR_NONE : wide_of(h, (gr_val){i});
    if (gr_is(wide)) h->outside[i] = gr_cast(h->b, h->outside[wide.id], h->g->values[i].type.dtype);
  }
  emit_outside(h, AFTER);
  map_results(h);
}

static void write_body_again(gr_loop *l, const gr_scan *s, const gr_val *operands, gr_val *map) {
  (void)operands;
  for (uint32_t i = 0; i < s->body->n_nodes; i++)
    gr_emit_copy(&l->b, s->body, &s->body->nodes[i], map);
}

// The body after work has left the loops in it: what is the same in every step of both leaves this
// one, too.
static const gr_graph *body_of(gr_builder *b, const gr_graph *body) {
  gr_graph *g = gr_graph_create_in(b->g->tables, b->g->arena, &b->g->mesh);
  gr_rewrite inside = {.old = body, .b = {.g = g, .created_by = b->created_by}};
  inside.map = GR_NEW(b->g->tables, gr_val, body->n_values);
  gr_status s = gr_pass_loop_hoist(&inside);
  if (!b->err) b->err = s ? s : inside.b.err;
  return inside.kept ? body : g;
}

static void hoist_scan(gr_builder *b, const gr_graph *of, const gr_node *old, gr_val *map) {
  gr_scan scan = *(const gr_scan *)old->attr, *s = &scan;
  gr_arena *arena = b->g->tables;
  gr_node again = *old, *n = &again;
  s->body = body_of(b, s->body), n->attr = s;
  uint32_t values = s->body->n_values;
  hoist h = {.b = b,
             .map = map,
             .node = n,
             .s = s,
             .g = s->body,
             .varies = gr_scan_varies(arena, s),
             .needed = GR_NEW(arena, bool, values),
             .needed_in_loop = GR_NEW(arena, bool, values),
             .becomes_sum = GR_NEW(arena, bool, s->n_carry + 1),
             .uses = GR_NEW(arena, uint32_t, values),
             .place = GR_NEW(arena, place, s->body->n_nodes + 1),
             .outside = GR_NEW(arena, gr_val, values),
             .inside = GR_NEW(arena, gr_val, values),
             .yield = GR_NEW(arena, int, values)};
  b->loc = n->loc, b->scope = n->scope;
  if (b->err) return;
  choose_before(&h);
  choose_sums(&h);
  choose_after(&h);
  if (h.changed)
    emit(&h);
  else
    gr_emit_loop(b, of, n, write_body_again, map);
}

gr_status gr_pass_loop_hoist(gr_rewrite *rw) {
  if (!gr_has_scan(rw->old)) return gr_keep(rw);
  gr_copy_leaves(rw);
  for (uint32_t i = 0; i < rw->old->n_nodes && !rw->b.err; i++)
    if (rw->old->nodes[i].op == &gr_op_scan)
      hoist_scan(&rw->b, rw->old, &rw->old->nodes[i], rw->map);
    else
      gr_copy_node(rw, &rw->old->nodes[i]);
  gr_copy_links(rw);
  return GR_OK;
}
