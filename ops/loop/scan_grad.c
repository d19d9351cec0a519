// scan_grad.c - differentiation of a scan: another scan in the opposite direction.
//
// Its carries are the adjoints of the forward carries and the accumulated gradients of the
// constants, which start at zero. Its sequences are the gradients of the yields and the values that
// the gradient rules of the body's ops use: forward sequences, and forward values, which the
// forward scan must yield. A dry run finds those values: the backward scan is built twice, first
// with placeholders for all forward values, and the ones that it takes as operands are saved.
// Carries are not saved: they are the stack of their next values, delayed by one step.
#include <string.h>
#include "ops/loop/scan.h"
#include "ops/ops.h"

typedef struct back {
  gr_loop loop;
  const gr_scan *s;
  bool *want;     // by body value
  gr_val *stack;  // by body value: outside the scan, its stack over all steps; a constant itself
  gr_val *grads;  // by body value, in the backward body
  gr_val carry[GR_MAX_ARGS], sum[GR_MAX_ARGS];  // by forward carry; by leaf
  int yield[GR_MAX_ARGS];                       // by leaf: 1 + the index of the yield, or 0
} back;

// A carry needs a gradient if its initial value or its next value does; iterated to a fixed point.
static bool *wanted(gr_arena *arena, const gr_scan *s, const bool *want) {
  const gr_graph *g = s->body;
  bool *w = GR_NEW(arena, bool, g->n_values), more = true;
  for (uint32_t i = 1; i <= gr_graph_leaves(g); i++) {
    int k = gr_scan_operand(s, i);
    w[i] = k >= 0 && want[k] && gr_is_differentiable(&g->values[i]);
  }
  while (more) {
    more = false;
    gr_mark_differentiable(g, w);
    for (int k = 0; k < s->n_carry; k++) {
      gr_val c = gr_scan_carry(s, k);
      if (w[c.id] || !w[gr_at(g, c)->next.id]) continue;
      w[c.id] = more = true;
    }
  }
  return w;
}

// Maps forward values into the backward body. Values that depend only on constants are recomputed.
static gr_val *map_forward_values(back *k) {
  const gr_graph *g = k->s->body;
  gr_val *here = GR_NEW(k->loop.b.g->tables, gr_val, g->n_values);
  const bool *varies = gr_scan_varies(k->loop.b.g->tables, k->s);
  for (uint32_t i = 1; i < g->n_values; i++) {
    const gr_value *v = &g->values[i];
    if (!varies[i] && v->role == GR_TEMP) {
      if (g->nodes[v->node].out.id == i) gr_emit_copy(&k->loop.b, g, &g->nodes[v->node], here);
    } else {
      here[i] = !gr_is(k->stack[i]) ? gr_loop_placeholder(&k->loop, v->type)
                : varies[i]         ? gr_loop_seq(&k->loop, k->stack[i])
                                    : gr_loop_const(&k->loop, k->stack[i]);
    }
  }
  return here;
}

static void write_inputs(back *k, const gr_val *dy) {
  const gr_graph *g = k->s->body;
  gr_loop *l = &k->loop;
  for (int c = 0; c < k->s->n_carry; c++) {
    gr_val leaf = gr_scan_carry(k->s, c);
    if (!k->want[leaf.id]) continue;
    k->carry[c] = gr_is(dy[c]) ? gr_loop_carry(l, dy[c], "adjoint")
                               : gr_loop_zero(l, gr_at(g, leaf)->type, "adjoint");
    gr_accumulate_grad(&l->b, &gr_op_add, &k->grads[gr_at(g, leaf)->next.id], k->carry[c]);
  }
  for (uint32_t j = 0; j < g->n_results; j++) {
    gr_val d = dy[k->s->n_carry + j];
    if (gr_is(d) && k->want[g->results[j].id])
      gr_accumulate_grad(&l->b, &gr_op_add, &k->grads[g->results[j].id], gr_loop_seq(l, d));
  }
}

static void write_outputs(back *k) {
  const gr_graph *g = k->s->body;
  gr_loop *l = &k->loop;
  for (uint32_t i = 1; i <= gr_graph_leaves(g); i++) {
    gr_val d = k->grads[i];
    if (!k->want[i]) continue;
    if (gr_scan_is_carry(k->s, i)) {
      gr_val c = k->carry[gr_scan_carry_of(k->s, i)];
      gr_loop_next(l, c, gr_is(d) ? d : gr_scale(&l->b, c, 0));
    } else if (gr_is(d) && gr_scan_is_seq(k->s, i)) {
      k->yield[i] = 1 + gr_loop_yield(l, d);
    } else if (gr_is(d)) {
      k->sum[i] = gr_loop_zero(l, gr_at(g, (gr_val){i})->type, "sum");
      gr_loop_next(l, k->sum[i], gr_add(&l->b, k->sum[i], d));
    }
  }
}

static void build_backward(back *k, gr_builder *b, const gr_val *dy) {
  k->grads = GR_NEW(b->g->tables, gr_val, k->s->body->n_values);
  gr_loop_open(&k->loop, b, k->s->steps, !k->s->reverse);
  const gr_val *here = map_forward_values(k);
  write_inputs(k, dy);
  gr_status s = gr_backward(&k->loop.b, &gr_op_add, k->s->body, here, k->want, k->grads);
  if (!k->loop.b.err) k->loop.b.err = s;
  write_outputs(k);
  gr_loop_close(&k->loop);
}

// Builds the backward scan in a scratch graph with placeholders for all forward values. Sets
// kept[v] if it uses body value v.
static void dry_run(gr_builder *b, const gr_scan *s, bool *want, bool *kept) {
  const gr_graph *g = s->body;
  gr_arena *work = gr_arena_create();
  gr_builder t = {.g = gr_graph_create(work, NULL),
                  .loc = b->loc,
                  .scope = b->scope,
                  .created_by = b->created_by};
  back *k = GR_NEW(b->g->tables, back, 1);
  *k = (back){.s = s, .want = want, .stack = GR_NEW(b->g->tables, gr_val, g->n_values)};
  const bool *varies = gr_scan_varies(b->g->tables, s);
  for (uint32_t i = 1; i < g->n_values; i++) {
    gr_type type = g->values[i].type;
    if (varies[i]) type = gr_type_stack(&type, s->steps);
    k->stack[i] = gr_leaf(&t, GR_INPUT, 0, "placeholder", type, gr_layout_replicated);
  }
  gr_val dy[GR_MAX_ARGS] = {{0}};
  for (uint32_t j = 0; j < g->n_results; j++) {
    gr_type type = gr_type_stack(&gr_at(g, g->results[j])->type, s->steps);
    if (gr_is_differentiable(gr_at(g, g->results[j])))
      dy[s->n_carry + j] = gr_leaf(&t, GR_INPUT, 0, "dy", type, gr_layout_replicated);
  }
  build_backward(k, &t, dy);
  b->err = t.err;
  const gr_node *made = b->err ? NULL : &t.g->nodes[gr_at(t.g, k->loop.made)->node];
  for (int i = 0; made && i < made->n_in; i++)
    if (made->in[i].id < g->n_values) kept[made->in[i].id] = true;
  gr_arena_destroy(work);
}

// Rebuilds the scan so that the scans nested in its body save values for their own backward pass.
// The new scan may take fewer operands, because equal operands are merged; in and want are updated.
static const gr_scan *save_in_nested(gr_builder *b, const gr_scan *s, gr_val *in, bool *want,
                                     int n_in) {
  gr_val *map = GR_NEW(b->g->tables, gr_val, s->body->n_values);
  gr_loop l;
  gr_loop_clone(&l, b, s, in, wanted(b->g->tables, s, want), map);
  for (uint32_t j = 0; j < s->body->n_results; j++) gr_loop_yield(&l, map[s->body->results[j].id]);
  gr_loop_close(&l);
  if (b->err) return s;
  const gr_node *made = &b->g->nodes[gr_at(b->g, l.made)->node];
  bool wants[GR_MAX_ARGS] = {0};
  for (int k = 0; k < made->n_in; k++)
    for (int i = 0; i < n_in; i++) wants[k] |= want[i] && in[i].id == made->in[k].id;
  memcpy(want, wants, sizeof wants);
  memcpy(in, made->in, sizeof *in * (size_t)made->n_in);
  return made->attr;
}

static bool has_nested_scan(const gr_scan *s) {
  for (uint32_t i = 0; i < s->body->n_nodes; i++)
    if (s->body->nodes[i].op->save_for_backward) return true;
  return false;
}

// Whether the stack of carry k can be derived from the stack of its next values.
static bool is_delayed_next(const gr_scan *s, const bool *varies, int k) {
  gr_val c = gr_scan_carry(s, k), next = gr_at(s->body, c)->next;
  return !gr_scan_is_carry(s, next.id) && varies[next.id];
}

// Saves the next value of a carry instead of the carry.
static void save_nexts(const gr_scan *s, const bool *varies, bool *kept) {
  for (int k = 0; k < s->n_carry; k++) {
    gr_val c = gr_scan_carry(s, k);
    if (!kept[c.id] || !is_delayed_next(s, varies, k)) continue;
    kept[c.id] = false;
    kept[gr_at(s->body, c)->next.id] = true;
  }
}

// Derives the stacks of carries from the stacks of their next values.
static void delay_nexts(gr_builder *b, const gr_scan *s, const gr_val *operands, gr_val *stack) {
  const bool *varies = gr_scan_varies(b->g->tables, s);
  for (int k = 0; k < s->n_carry; k++) {
    gr_val c = gr_scan_carry(s, k), in[2] = {stack[gr_at(s->body, c)->next.id]};
    int init = gr_scan_operand(s, c.id);
    if (gr_is(stack[c.id]) || !gr_is(in[0]) || !is_delayed_next(s, varies, k)) continue;
    if (init >= 0) in[1] = operands[init];
    stack[c.id] = gr_emit(b, &gr_op_delay, &s->reverse, init >= 0 ? 2 : 1, in);
  }
}

gr_val gr_scan_save_for_backward(gr_builder *b, const gr_node *n, const gr_val *operands,
                                 const bool *wants) {
  gr_val in[GR_MAX_ARGS];
  bool want[GR_MAX_ARGS] = {0};
  if (((const gr_scan *)n->attr)->until && !b->err) {
    b->err = gr_hint(
        gr_fail(GR_ERR_UNSUPPORTED, n->loc, "no gradient flows through a scan that may end early"),
        "{stop_gradient: x} ends it before the scan; or leave 'until:' out");
    return GR_NONE;
  }
  memcpy(in, operands, sizeof *in * (size_t)n->n_in);
  memcpy(want, wants, sizeof *want * (size_t)n->n_in);
  const gr_scan *s =
      has_nested_scan(n->attr) ? save_in_nested(b, n->attr, in, want, n->n_in) : n->attr;
  const gr_graph *g = s->body;
  const bool *varies = gr_scan_varies(b->g->tables, s);
  bool *kept = GR_NEW(b->g->tables, bool, g->n_values);
  gr_val *map = GR_NEW(b->g->tables, gr_val, g->n_values);
  dry_run(b, s, wanted(b->g->tables, s, want), kept);
  save_nexts(s, varies, kept);
  gr_loop l;
  gr_loop_clone(&l, b, s, in, NULL, map);
  for (uint32_t j = 0; j < g->n_results; j++) {
    kept[g->results[j].id] = false;  // a result is always yielded
    gr_loop_yield(&l, map[g->results[j].id]);
  }
  for (uint32_t i = 1; i < g->n_values; i++)
    if (kept[i] && varies[i] && !gr_scan_is_seq(s, i)) gr_loop_yield(&l, map[i]);
  gr_loop_close(&l);
  return l.made;
}

void gr_scan_grad(const gr_grad *r) {
  const gr_scan *s = r->attr;
  const gr_graph *g = s->body;
  gr_arena *scratch = r->b->g->tables;
  back *k = GR_NEW(scratch, back, 1);
  *k = (back){
      .s = s, .want = wanted(scratch, s, r->want), .stack = GR_NEW(scratch, gr_val, g->n_values)};
  uint32_t leaves = gr_graph_leaves(g);
  for (uint32_t j = 0; j < g->n_results; j++) k->stack[g->results[j].id] = r->y[s->n_carry + j];
  for (uint32_t i = 1; i <= leaves; i++)
    if (!gr_scan_is_carry(s, i)) k->stack[i] = r->x[gr_scan_operand(s, i)];
  delay_nexts(r->b, s, r->x, k->stack);
  build_backward(k, r->b, r->dy);
  for (uint32_t i = 1; i <= leaves && !r->b->err; i++) {
    int o = gr_scan_operand(s, i);
    if (o < 0 || !k->want[i]) continue;
    if (gr_scan_is_carry(s, i))
      r->dx[o] = gr_loop_last(&k->loop, k->carry[gr_scan_carry_of(s, i)]);
    else if (gr_scan_is_seq(s, i))
      r->dx[o] = k->yield[i] ? gr_loop_stack(&k->loop, k->yield[i] - 1) : GR_NONE;
    else if (gr_is(k->sum[i]))
      r->dx[o] = gr_loop_last(&k->loop, k->sum[i]);
  }
}
