// scan_body.c - what a scan's attributes say of its body. See scan.h.
#include <string.h>
#include "ops/loop/scan.h"
#include "ops/ops.h"

bool gr_has_scan(const gr_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == &gr_op_scan) return true;
  return false;
}

gr_type gr_type_stack(const gr_type *t, int64_t steps) {
  gr_type s = *t;
  memmove(s.dim + 1, t->dim, sizeof *s.dim * (size_t)t->rank);
  s.dim[0] = steps;
  s.rank++;
  return s;
}

int gr_scan_operand(const gr_scan *s, uint32_t leaf) {
  int64_t i = (int64_t)leaf - 1;
  if (i < s->n_seq + s->n_init) return (int)i;
  return i < s->n_seq + s->n_carry ? -1 : (int)(i - (s->n_carry - s->n_init));
}

size_t gr_scan_repeat_slice(const gr_scan *s, uint32_t value) {
  return (gr_type_bytes(&s->body->values[value].type) + 255) / 256 * 256;
}

// The graph of a program takes memory of the driver for each node; repeating takes copies.
size_t gr_scan_repeat_bytes(const gr_scan *s) {
  enum { MAX_NODES = 2048 };
  size_t bytes = GR_SCAN_REPEAT_COUNTER;
  if (s->steps * (int64_t)s->body->n_nodes < MAX_NODES) return 0;
  for (uint32_t v = 1; v <= (uint32_t)s->n_seq; v++) bytes += gr_scan_repeat_slice(s, v);
  for (uint32_t j = 0; j < s->body->n_results; j++)
    bytes += gr_scan_repeat_slice(s, s->body->results[j].id);
  return bytes;
}

bool *gr_scan_varies(gr_arena *arena, const gr_scan *s) {
  bool *varies = GR_NEW(arena, bool, s->body->n_values);
  for (int64_t i = 1; i <= s->n_seq + s->n_carry; i++) varies[i] = true;
  for (uint32_t i = 0; i < s->body->n_nodes; i++) {
    const gr_node *n = &s->body->nodes[i];
    for (int k = 0; k < n->n_in; k++)
      for (int o = 0; o < n->n_out; o++) varies[gr_out(n, o).id] |= varies[n->in[k].id];
  }
  return varies;
}
