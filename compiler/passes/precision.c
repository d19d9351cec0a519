// precision.c - mixed precision: casts operands by each op's class (gr_op.amp), as torch.autocast
// does, and by the user's rules.
//
// Weights, optimizer states and gradients stay f32: a weight is cast where it is read, once for all
// reads (hash-consing), and the gradient of that cast is a cast back. In a loop only the operands
// of narrow ops are cast, and the results are f32, so that what carries accumulate is never
// rounded; casts of constants and sequences leave the loop (loop_hoist).
#include <fnmatch.h>
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "ops/loop/scan.h"

// A graph that is rewritten: the whole one, or a loop's body.
typedef struct level {
  const gr_options *o;
  const gr_graph *g;
  gr_builder *b;
  gr_val *map;          // by old value
  const char **weight;  // by old value: its name if it is a weight, "" if it is computed from
                        // weights alone, else NULL
  bool in_loop;
} level;

static gr_dtype dtype_of(const level *l, gr_val v) {
  return gr_at(l->b->g, l->map[v.id])->type.dtype;
}
static bool casts(gr_dtype d) { return d == GR_F32 || gr_is_narrow(d); }

// ---- Choosing -----------------------------------------------------------------------------------

static bool matches(const level *l, const gr_node *n, const char *pattern) {
  char path[512];
  const char *scope = n->scope ? n->scope : "";
  snprintf(path, sizeof path, "%s%s%s", scope, *scope ? "." : "", n->op->name);
  bool any = !fnmatch(pattern, scope, 0) || !fnmatch(pattern, path, 0);
  for (int k = 0; k < n->n_in && !any; k++) {
    const char *weight = l->weight[n->in[k].id];
    any = weight && *weight && !fnmatch(pattern, weight, 0);
  }
  return any;
}

// The last rule that matches decides. False: none does.
static bool find_rule(const level *l, const gr_node *n, gr_dtype *out) {
  bool any = false;
  for (int i = 0; i < l->o->precision.n_rules; i++) {
    const gr_precision_rule *r = &l->o->precision.rules[i];
    if (!matches(l, n, r->pattern)) continue;
    if (l->o->notes) l->o->notes->precision_rules |= UINT64_C(1) << i;
    *out = r->dtype, any = true;
  }
  return any;
}

// The dtype of the first operands if they agree, else f32. Weights follow the other operands.
static gr_dtype widest(const level *l, const gr_node *n, int first) {
  gr_dtype found = GR_DTYPE_COUNT;
  for (int k = 0; k < first; k++) {
    gr_dtype d = dtype_of(l, n->in[k]);
    if (!casts(d) || l->weight[n->in[k].id]) continue;
    found = found == GR_DTYPE_COUNT || found == d ? d : GR_F32;
  }
  return found == GR_DTYPE_COUNT ? GR_F32 : found;
}

// What the node's operands of f32, bf16 or f16 are cast to. Casts are left as the user wrote them.
static gr_dtype choose(const level *l, const gr_node *n) {
  gr_dtype ruled;
  if (find_rule(l, n, &ruled)) return ruled;
  if (n->op->amp == GR_AMP_NARROW)
    return (n->scope && gr_is_of_teacher(n->scope)) ? l->o->precision.teacher_dtype
                                                    : l->o->precision.dtype;
  return n->op->amp == GR_AMP_WIDE ? GR_F32
                                   : widest(l, n, n->op->amp == GR_AMP_FIRST ? 1 : n->n_in);
}

// ---- Emitting -----------------------------------------------------------------------------------

static void mark_weight(level *l, const gr_node *n) {
  bool all = n->n_in > 0;
  for (int k = 0; k < n->n_in; k++) all &= l->weight[n->in[k].id] != NULL;
  for (int k = 0; all && k < n->n_out; k++) l->weight[gr_out(n, k).id] = "";
}

static void emit_node(level *l, const gr_node *n) {
  gr_builder *b = l->b;
  gr_val in[GR_MAX_ARGS];
  gr_dtype to = choose(l, n);
  const char *self = b->created_by;
  b->loc = n->loc, b->scope = n->scope;
  for (int k = 0; k < n->n_in; k++) {
    in[k] = l->map[n->in[k].id];
    bool beside = k && n->op->amp == GR_AMP_FIRST;
    if (!b->err && casts(dtype_of(l, n->in[k]))) in[k] = gr_cast(b, in[k], beside ? GR_F32 : to);
  }
  b->created_by = n->created_by;
  gr_val out = gr_emit(b, n->op, n->attr, n->n_in, in);
  b->created_by = self;
  for (int k = 0; gr_is(out) && k < n->n_out; k++) {
    gr_val v = {out.id + (uint32_t)k};
    gr_at(b->g, v)->layout = gr_at(l->g, gr_out(n, k))->layout;
    bool narrow = gr_is_narrow(gr_at(b->g, v)->type.dtype);
    l->map[gr_out(n, k).id] = l->in_loop && narrow ? gr_cast_product(b, v, GR_F32) : v;
  }
}

static void emit_nodes(level *l);

// A value with the dtype that it had in the old graph. A product is computed in it: sums of counts
// are exact.
static gr_val restored(level *l, gr_val v) {
  gr_dtype original = gr_at(l->g, v)->type.dtype;
  return l->b->err || !casts(original) ? l->map[v.id]
                                       : gr_cast_product(l->b, l->map[v.id], original);
}

// The rewritten body of a scan. Sequences and constants have the dtype of the operands; carries,
// and so their initial and next values, keep theirs.
static void emit_body(level *outer, const gr_scan *s, const gr_node *n, gr_loop *loop,
                      level *body) {
  gr_val in[GR_MAX_ARGS];
  for (int k = 0; k < n->n_in; k++)
    in[k] = k >= s->n_seq && k < s->n_seq + s->n_init ? restored(outer, n->in[k])
                                                      : outer->map[n->in[k].id];
  gr_loop_leaves(loop, outer->b, s, in, body->map);
  for (uint32_t i = 1; i <= gr_graph_leaves(s->body); i++)
    if (!gr_scan_is_seq(s, i) && !gr_scan_is_carry(s, i))
      body->weight[i] = outer->weight[n->in[gr_scan_operand(s, i)].id];
  emit_nodes(body);
  for (int k = 0; k < s->n_carry; k++) {
    gr_val c = gr_scan_carry(s, k);
    gr_loop_next(loop, body->map[c.id], restored(body, gr_at(s->body, c)->next));
  }
  for (uint32_t j = 0; j < s->body->n_results; j++)
    gr_loop_yield(loop, body->map[s->body->results[j].id]);
  gr_loop_close(loop);
}

static void emit_scan(level *l, const gr_node *n) {
  const gr_scan *s = n->attr;
  gr_arena *arena = l->b->g->tables;
  gr_loop loop;
  level body = {.o = l->o,
                .g = s->body,
                .b = &loop.b,
                .map = GR_NEW(arena, gr_val, s->body->n_values),
                .weight = GR_NEW(arena, const char *, s->body->n_values),
                .in_loop = true};
  l->b->loc = n->loc, l->b->scope = n->scope;
  emit_body(l, s, n, &loop, &body);
  gr_map_loop(&loop, l->g, n, body.map, l->map);
}

static void emit_nodes(level *l) {
  for (uint32_t i = 0; i < l->g->n_nodes && !l->b->err; i++) {
    const gr_node *n = &l->g->nodes[i];
    mark_weight(l, n);
    if (n->op == &gr_op_scan)
      emit_scan(l, n);
    else if (n->op == &gr_op_cast)
      gr_emit_copy(l->b, l->g, n, l->map);
    else
      emit_node(l, n);
  }
}

// The loss, the results and the next values of states keep their dtypes.
static void restore_links(level *l) {
  const gr_graph *g = l->g;
  if (gr_is(g->loss)) l->map[g->loss.id] = restored(l, g->loss);
  if (gr_is(g->loss_denominator)) l->map[g->loss_denominator.id] = restored(l, g->loss_denominator);
  for (uint32_t i = 0; i < g->n_results; i++) l->map[g->results[i].id] = restored(l, g->results[i]);
  for (uint32_t i = 1; i < g->n_values; i++)
    if (gr_is(g->values[i].next)) l->map[g->values[i].next.id] = restored(l, g->values[i].next);
}

gr_status gr_pass_precision(gr_rewrite *rw) {
  const gr_precision_settings *p = &rw->opt->precision;
  if (p->dtype == GR_F32 && p->teacher_dtype == GR_F32 && !p->n_rules) return gr_keep(rw);
  gr_copy_leaves(rw);
  const gr_graph *g = rw->old;
  level l = {.o = rw->opt,
             .g = g,
             .b = &rw->b,
             .map = rw->map,
             .weight = GR_NEW(rw->b.g->tables, const char *, g->n_values)};
  for (uint32_t i = 1; i < g->n_values; i++)
    if (g->values[i].role == GR_STATE) l.weight[i] = g->values[i].name;
  emit_nodes(&l);
  restore_links(&l);
  gr_copy_links(rw);
  return GR_OK;
}
