// scan_layouts.c - how the values of a loop's body are placed if the batch is divided (scan.h).
//
// A body has no collectives, so each node needs a sharding rule that matches the layouts of its
// inputs. Carries and constants take the layout that their uses require: weights are Replicate,
// carries of activations Shard(0), sums of weight gradients Partial. Sequences are split along the
// batch, or, if that does not fit, those that are not of a batch, such as positions, replicated.
//
// A replicated value that is repeated along a new first axis, such as a position for all rows, can
// be made in either layout (EITHER): its first use decides, and splits it if it may, with a
// constant that is used beside it, such as the lengths of rows. What is computed of a constant
// alone, such as its dropout, does not say whether it has a batch's rows: if it does not fit as
// whole, constants are split that may be.
#include "ops/loop/scan.h"
#include "ops/ops.h"

enum { UNKNOWN = -3, EITHER = -4, ROWS = -5, NO_FIT = 1000 };  // ROWS: unknown, rather split

// Whether the first axis may be the batch's: one of a single element, such as the position of the
// step, is not divided among ranks.
static bool has_rows(const gr_type *t) { return t->rank && t->dim[0] != 1; }

// The cost of using v with placement `wants`; NO_FIT if its known placement differs or a leaf
// cannot have it. Replicate is preferred, except for carries and ROWS, which prefer the batch axis.
static int cost_of(const gr_scan *s, gr_val v, gr_axis_placement known, gr_axis_placement wants) {
  const gr_graph *g = s->body;
  if (known == UNKNOWN && wants == 0 && !has_rows(&gr_at(g, v)->type)) return NO_FIT;
  if (known == EITHER) return wants == 0 ? 0 : wants == GR_REPLICATE ? 2 : NO_FIT;
  if (known == ROWS) return wants == 0 ? 0 : wants == GR_REPLICATE ? 1 : NO_FIT;
  if (known != UNKNOWN) return known == wants ? 0 : NO_FIT;
  if (wants > 0) return NO_FIT;
  if (gr_scan_is_seq(s, v.id)) return wants == 0 ? 0 : wants == GR_REPLICATE ? 2 : NO_FIT;
  if (gr_at(g, v)->role == GR_STATE) return wants == 0 ? 0 : wants == GR_PARTIAL ? 1 : 2;
  return wants == GR_REPLICATE ? 0 : wants == 0 ? 1 : NO_FIT;
}

// Whether a rule splits the first axis of the only result of a node whose operands are whole.
static bool may_split(const gr_sharding_rule *rules, int count, const gr_node *n) {
  for (int s = 0; s < count; s++) {
    bool whole = n->n_out == 1 && rules[s].out[0] == 0;
    for (int k = 0; k < n->n_in; k++) whole &= rules[s].in[k] == GR_REPLICATE;
    if (whole) return true;
  }
  return false;
}

// Whether a rule asks for one value in two layouts, which an operand read twice cannot have.
static bool contradicts(const gr_node *n, const gr_sharding_rule *rule) {
  for (int k = 0; k < n->n_in; k++)
    for (int j = 0; j < k; j++)
      if (n->in[j].id == n->in[k].id && rule->in[j] != rule->in[k]) return true;
  return false;
}

// Chooses the cheapest sharding rule of a node and applies it to its inputs and outputs.
static bool choose_rule(const gr_scan *scan, const gr_node *n, gr_axis_placement *lay) {
  const gr_graph *g = scan->body;
  gr_op_call call;
  gr_op_call_of(g, n, &call);
  gr_sharding_rule rules[GR_MAX_SHARDING_RULES];
  int count = 0, best = -1, least = NO_FIT;
  gr_status failed = gr_op_sharding_rules(&call, rules, &count);
  if (failed) gr_status_drop(failed);
  for (int s = 0; s < count; s++) {
    int total = contradicts(n, &rules[s]) ? NO_FIT : 0;
    for (int k = 0; k < n->n_in; k++)
      total += cost_of(scan, n->in[k], lay[n->in[k].id], rules[s].in[k]);
    if (total < least) least = total, best = s;
  }
  bool either = n->n_in && best == 0 && has_rows(&gr_at(g, n->out)->type);
  for (int k = 0; k < n->n_in; k++) either &= lay[n->in[k].id] == GR_REPLICATE;
  if (either && may_split(rules, count, n)) {
    lay[n->out.id] = EITHER;
    return true;
  }
  for (int k = 0; best >= 0 && k < n->n_in; k++) lay[n->in[k].id] = rules[best].in[k];
  for (int k = 0; best >= 0 && k < n->n_out; k++) lay[gr_out(n, k).id] = rules[best].out[k];
  return best >= 0;
}

// Whether every node has a rule, with all sequences split or not, and constants that are `rows` or
// UNKNOWN.
static bool try_layouts(const gr_scan *s, bool all_split, gr_axis_placement rows,
                        gr_axis_placement *lay) {
  const gr_graph *g = s->body;
  uint32_t leaves = gr_graph_leaves(g);
  for (uint32_t i = 1; i <= leaves; i++) {
    const gr_value *v = &g->values[i];
    bool seq = gr_scan_is_seq(s, i), constant = !seq && v->role != GR_STATE;
    lay[i] = seq && !v->type.rank             ? GR_REPLICATE
             : seq && all_split               ? 0
             : constant && has_rows(&v->type) ? rows
                                              : UNKNOWN;
  }
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (!choose_rule(s, &g->nodes[i], lay)) return false;
  for (uint32_t i = 1; i < g->n_values; i++)
    if (lay[i] <= UNKNOWN) lay[i] = GR_REPLICATE;
  for (int k = 0; k < s->n_carry; k++) {
    gr_val c = gr_scan_carry(s, k);
    if (lay[c.id] != lay[gr_at(g, c)->next.id]) return false;
  }
  for (uint32_t j = 0; j < g->n_results; j++)
    if (lay[g->results[j].id] > 0) return false;
  return true;
}

bool gr_scan_layouts(const gr_scan *s, gr_axis_placement *lay) {
  return try_layouts(s, true, UNKNOWN, lay) || try_layouts(s, true, ROWS, lay) ||
         try_layouts(s, false, UNKNOWN, lay);
}
