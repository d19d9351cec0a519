// mixed_rows.c - see mixed_rows.h.
//
// Each value has an axis of the batch's rows, or none. A sharding rule of its op that splits all
// operands along those axes names the axis of the results: ranks could compute the node with parts
// of the rows. Where there is no such rule, or a result would be a partial sum, the node mixes
// rows. Weights across the rows of another operand, as in a matrix of all pairs, mask what was
// mixed there.
#include "compiler/mixed_rows.h"
#include <string.h>
#include "ir/op.h"

enum { NO_ROWS = GR_REPLICATE };
// What a node does with rows. SUMS: it mixes rows of which those that pad are masked. MASKS: those
// of one operand make up for those of another.
typedef enum effect { KEEPS, MIXES, SUMS, MASKS } effect;

typedef struct rows {
  const gr_graph *g;
  int64_t n;
  gr_axis_placement *axis;  // by value
  bool *masked;             // by value: its rows depend on the weights of the same rows
} rows;

static gr_val find_weight(const gr_graph *g) {
  for (uint32_t i = 1; i < g->n_values; i++)
    if (g->values[i].role == GR_INPUT && !strcmp(g->values[i].name, "weight")) return (gr_val){i};
  return GR_NONE;
}

static bool is_of_batch(const gr_value *v, const gr_value *weight) {
  return v->role == GR_INPUT && v->type.rank && v->type.dim[0] == weight->type.dim[0];
}

// Whether a rule splits the operands, or the one alone if it is not negative, along their rows.
// What all rows have may be split as the rule likes.
static bool fits(const rows *r, const gr_node *n, const gr_sharding_rule *rule, int one) {
  for (int k = 0; k < n->n_in; k++) {
    gr_axis_placement has = r->axis[n->in[k].id];
    if (rule->in[k] == GR_PARTIAL) return false;
    if (has != NO_ROWS && (one < 0 || one == k) && rule->in[k] != has) return false;
  }
  for (int k = 0; k < n->n_out; k++) {  // a rule may be of an axis that is too short for all rows
    gr_axis_placement p = rule->out[k];
    if (p == GR_PARTIAL || (p >= 0 && gr_at(r->g, gr_out(n, k))->type.dim[p] % r->n)) return false;
  }
  return true;
}

static const gr_sharding_rule *find_rule(const rows *r, const gr_node *n, int one,
                                         const gr_sharding_rule *rules, int count) {
  for (int i = 0; i < count; i++)
    if (fits(r, n, &rules[i], one)) return &rules[i];
  return NULL;
}

// Of the operands with rows: the first, how many, and whether one is masked.
typedef struct operands {
  int first, n;
  bool masked;
} operands;

static operands find_rows(const rows *r, const gr_node *n) {
  operands o = {0};
  for (int k = n->n_in; k-- > 0;) {
    if (r->axis[n->in[k].id] == NO_ROWS) continue;
    o.first = k, o.n++;
    o.masked |= r->masked[n->in[k].id];
  }
  return o;
}

static void set_rows(rows *r, const gr_node *n, const gr_sharding_rule *rule, bool masked) {
  for (int k = 0; rule && k < n->n_out; k++) {
    r->axis[gr_out(n, k).id] = rule->out[k];
    r->masked[gr_out(n, k).id] = masked;
  }
}

// Sets the rows of the results. A loop of which a part is still to be moved out of it (loop_hoist)
// may have no rule, and mixes none.
static effect follow(rows *r, const gr_node *n) {
  gr_sharding_rule rules[GR_MAX_SHARDING_RULES];
  gr_op_call call;
  int count = 0;
  operands o = find_rows(r, n);
  if (!o.n) return KEEPS;
  gr_op_call_of(r->g, n, &call);
  gr_status failed = gr_op_sharding_rules(&call, rules, &count);
  gr_status_drop(failed);  // the pass that shards reports it
  if (failed) count = 0;
  const gr_sharding_rule *all = find_rule(r, n, -1, rules, count);
  set_rows(r, n, all ? all : find_rule(r, n, o.first, rules, count), all && o.masked);
  if (all || gr_op_has_body(n->op)) return KEEPS;
  return !o.masked ? MIXES : o.n > 1 ? MASKS : SUMS;
}

// What is asked for and depends on it otherwise than through a node in which others mask it.
static bool *find_exposed(const rows *r, const effect *effects) {
  const gr_graph *g = r->g;
  bool *exposed = GR_NEW(g->tables, bool, g->n_values);
  gr_mark_links(g, exposed);
  for (uint32_t i = g->n_nodes; i--;)
    for (int k = 0; gr_any_out(&g->nodes[i], exposed) && k < g->nodes[i].n_in; k++) {
      uint32_t in = g->nodes[i].in[k].id;
      exposed[in] |= effects[i] != MASKS || r->masked[in];
    }
  return exposed;
}

void gr_note_mixed_rows(const gr_graph *g, gr_notes *notes) {
  gr_val weight = find_weight(g);
  if (!gr_is(weight)) return;
  rows r = {.g = g,
            .n = gr_at(g, weight)->type.dim[0],
            .axis = GR_NEW(g->tables, gr_axis_placement, g->n_values),
            .masked = GR_NEW(g->tables, bool, g->n_values)};
  effect *effects = GR_NEW(g->tables, effect, g->n_nodes + 1);
  r.masked[weight.id] = true;
  for (uint32_t i = 0; i < g->n_values; i++)
    r.axis[i] = i && is_of_batch(&g->values[i], gr_at(g, weight)) ? 0 : NO_ROWS;
  for (uint32_t i = 0; i < g->n_nodes; i++) effects[i] = follow(&r, &g->nodes[i]);
  const bool *exposed = find_exposed(&r, effects);
  notes->mixed = GR_NEW(g->arena, const gr_node *, g->n_nodes + 1);
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (effects[i] == MIXES && gr_any_out(&g->nodes[i], exposed))
      notes->mixed[notes->n_mixed++] = &g->nodes[i];
}
