// prove_carry.c - derives the addresses of the values of a scan's body during a step from the
// plan's carry updates (gr_carry_update), and checks that each value has one address.
//
// Values outside the body's block are in the memory of the node's operands and results. These are
// disjoint from the block and from each other (which is proved for the enclosing frame), so each
// gets its own addresses after the block. The walk of prove_memory.c then applies as for any other
// frame: a next value that is written in place must come after the last read of the carry. The two
// buffers of a double-buffered carry swap each step, so both belong to it for the whole step.
#include "compiler/plan/prove.h"
#include "ops/loop/scan.h"

typedef struct places {
  const gr_node *node;
  const gr_scan *s;
  const gr_plan_frame *f;
  gr_span *spans;  // by value
  bool *held;      // by value: for the whole step
  size_t end;      // end of the addresses that are in use so far
} places;

static gr_status refuse(const places *p, int k, const char *why) {
  const gr_value *c = gr_at(p->s->body, gr_scan_carry(p->s, k));
  return gr_fail(GR_ERR_BUG, p->node->loc, "carry %d (%s) of '%s' is to be %s, but %s", k,
                 c->name ? c->name : "", p->node->op->name, gr_carry_updates[p->f->carry[k]], why);
}

// Memory outside the body's block.
static gr_span outside(places *p, size_t bytes) {
  gr_span s = {p->end, p->end + bytes};
  p->end = s.end;
  return s;
}

static size_t bytes_of(const places *p, uint32_t v) {
  return gr_type_bytes(&p->s->body->values[v].type);
}

// A value that is written in a stack must be the yield of that stack. Other yields are copied when
// the step ends, so that every yield is written.
static gr_status place_stacked(places *p) {
  const gr_graph *g = p->s->body;
  for (uint32_t v = 1; v < g->n_values; v++) {
    uint32_t yield = (uint32_t)p->f->stacked[v];
    if (!yield) continue;
    if (g->values[v].role != GR_TEMP || yield > g->n_results || g->results[yield - 1].id != v)
      return gr_fail(GR_ERR_BUG, p->node->loc,
                     "%%%u of the body of '%s' is written in the stack of another yield", v,
                     p->node->op->name);
    p->spans[v] = outside(p, bytes_of(p, v));
  }
  return GR_OK;
}

static int carries_with_next(const places *p, gr_val next) {
  int n = 0;
  for (int k = 0; k < p->s->n_carry; k++)
    n += gr_at(p->s->body, gr_scan_carry(p->s, k))->next.id == next.id;
  return n;
}

static gr_status check_update(const places *p, int k) {
  gr_val carry = gr_scan_carry(p->s, k), next = gr_at(p->s->body, carry)->next;
  gr_carry_update how = p->f->carry[k];
  bool moves = how == GR_CARRY_IN_PLACE || how == GR_CARRY_DOUBLE_BUFFERED;
  if ((unsigned)how >= GR_CARRY_COUNT)
    return gr_fail(GR_ERR_BUG, p->node->loc, "nothing says how carry %d of '%s' is updated", k,
                   p->node->op->name);
  if ((how == GR_CARRY_UNCHANGED) != (next.id == carry.id))
    return refuse(p, k, how == GR_CARRY_UNCHANGED ? "it has another next value" : "is its own");
  if (how == GR_CARRY_IN_STACK && !p->f->stacked[next.id])
    return refuse(p, k, "its next value is not made in a stack");
  if (moves && (gr_at(p->s->body, next)->role != GR_TEMP || p->f->stacked[next.id]))
    return refuse(p, k, "its next value is made elsewhere");
  if (moves && carries_with_next(p, next) > 1)
    return refuse(p, k, "its next value is that of another carry too");
  return GR_OK;
}

static gr_status place_carry(places *p, int k) {
  gr_val carry = gr_scan_carry(p->s, k), next = gr_at(p->s->body, carry)->next;
  GR_TRY(check_update(p, k));
  p->spans[carry.id] = outside(p, bytes_of(p, carry.id));
  if (p->f->carry[k] == GR_CARRY_IN_PLACE) p->spans[next.id] = p->spans[carry.id];
  if (p->f->carry[k] == GR_CARRY_DOUBLE_BUFFERED) p->held[next.id] = true;
  return GR_OK;
}

gr_status gr_prove_carries(const gr_node *scan, const gr_plan_frame *f, size_t begin,
                           gr_span *spans, bool *held) {
  places p = {.node = scan, .s = scan->attr, .f = f, .spans = spans, .held = held, .end = begin};
  if (f->g != p.s->body || f->n_carry != p.s->n_carry)
    return gr_fail(GR_ERR_BUG, scan->loc, "the plan of the body of '%s' is another's",
                   scan->op->name);
  for (uint32_t i = 1; i <= gr_graph_leaves(f->g); i++)
    if (!gr_scan_is_carry(p.s, i)) spans[i] = outside(&p, bytes_of(&p, i));
  GR_TRY(place_stacked(&p));
  for (int k = 0; k < p.s->n_carry; k++) GR_TRY(place_carry(&p, k));
  return GR_OK;
}
