// carry.c - chooses how each carry of a scan is updated between steps, avoiding copies if possible.
//
// A next value that is also yielded is written to its stack, where the next step reads it.
// Otherwise the next value is written in place if all reads of the carry come before, by the same
// rule as for the next value of a state. Otherwise the carry is double-buffered: the planner
// reserves the memory of the next value for the whole step. All others are copied when the step
// ends: values that are the next value of several carries, and leaves of the body.
#include "compiler/plan/memory.h"

static bool is_shared(const gr_scan *s, gr_val next) {
  int carries = 0;
  for (int k = 0; k < s->n_carry; k++)
    carries += gr_at(s->body, gr_scan_carry(s, k))->next.id == next.id;
  return carries > 1;
}

static gr_carry_update choose(const gr_scan *s, const gr_plan_frame *body, const uint32_t *last,
                              gr_val carry) {
  gr_val next = gr_at(s->body, carry)->next;
  if (next.id == carry.id) return GR_CARRY_UNCHANGED;
  if (gr_at(s->body, next)->role != GR_TEMP) return GR_CARRY_COPIED;
  if (body->stacked[next.id]) return GR_CARRY_IN_STACK;
  if (is_shared(s, next)) return GR_CARRY_COPIED;
  return gr_memory_may_become(s->body, last, carry.id) ? GR_CARRY_IN_PLACE
                                                       : GR_CARRY_DOUBLE_BUFFERED;
}

void gr_memory_choose_carries(gr_arena *arena, const gr_scan *s, gr_plan_frame *body) {
  const uint32_t *last = gr_memory_last_use(arena, s->body);
  body->n_carry = (int)s->n_carry;
  body->carry = GR_NEW(arena, gr_carry_update, s->n_carry + 1);
  for (int k = 0; k < s->n_carry; k++) body->carry[k] = choose(s, body, last, gr_scan_carry(s, k));
}
