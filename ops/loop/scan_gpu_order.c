// scan_gpu_order.c - when the nodes of a loop run in its kernel, and what waits for what: see
// scan_gpu.c.
#include "ops/loop/scan_gpu.h"

// ---- Levels ------------------------------------------------------------------------------------

static void find_levels(gr_scan_writer *w) {
  for (uint32_t i = 0; i < w->g->n_nodes; i++) {
    const gr_node *n = &w->g->nodes[i];
    for (int k = 0; k < n->n_in; k++) {
      const gr_node *source = gr_maker(w->g, n->in[k]);
      int least = source ? when_of(w, source)->level + is_exchange(w, n, k) : 0;
      if (least > w->when[i].level) w->when[i].level = least;
    }
    if (w->when[i].level >= w->levels) w->levels = w->when[i].level + 1;
  }
  for (uint32_t v = 1; v < w->g->n_values; v++) w->value[v].level = w->levels;
  for (uint32_t i = 0; i < w->g->n_nodes; i++) {  // operands are copied where they are first read
    gr_scan_value *v = &w->value[w->g->nodes[i].in[0].id];
    if (w->product[i] && v->staged && w->when[i].level < v->level) v->level = w->when[i].level;
  }
}

// Whether other blocks read a value in this step, or as a carry in the next.
static bool is_awaited(const gr_scan_writer *w, gr_val v) {
  bool awaited = w->value[v.id].exchanged;
  for (int c = 0; c < w->s->n_carry; c++) {
    gr_val leaf = gr_scan_carry(w->s, c);
    awaited |= gr_at(w->g, leaf)->next.id == v.id && w->value[leaf.id].exchanged;
  }
  return awaited;
}

// Whether other blocks may still be reading what a node reads of them when they have come to the
// end of its level, if it is late.
static bool reads_memory(const gr_scan_writer *w, const gr_node *n) {
  bool reads = false;
  for (int k = 0; k < n->n_in; k++)
    reads |= is_exchange(w, n, k) && !(product_of(w, n) && k == 0 && w->value[n->in[0].id].staged);
  return reads;
}

static void find_late(gr_scan_writer *w) {
  for (uint32_t i = 0; i < w->g->n_nodes; i++) w->when[i].late = true;
  for (uint32_t i = w->g->n_nodes; i--;) {
    const gr_node *n = &w->g->nodes[i];
    for (int k = 0; k < n->n_out; k++)
      if (is_awaited(w, gr_out(n, k))) w->when[i].late = false;
    if (reads_memory(w, n)) w->when[i].late = false;
    for (int k = 0; k < n->n_in && !w->when[i].late; k++) {
      const gr_node *source = gr_maker(w->g, n->in[k]);
      if (source && when_of(w, source)->level == w->when[i].level) when_of(w, source)->late = false;
    }
  }
}

static bool is_together(const gr_scan_when *a, const gr_scan_when *b) {
  return a->level == b->level && a->late == b->late;
}

// First as early as possible, then as late: what is computed for one element stays in registers.
static void find_subs(gr_scan_writer *w) {
  const gr_graph *g = w->g;
  int *most = GR_NEW(w->arena, int, g->n_nodes + 1);
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    gr_scan_when *when = &w->when[i];
    most[i] = -1;
    for (int k = 0; k < g->nodes[i].n_in; k++) {
      const gr_node *source = gr_maker(w->g, g->nodes[i].in[k]);
      if (!source || !is_together(when_of(w, source), when)) continue;
      int least = when_of(w, source)->sub + !reads_in_place(w, &g->nodes[i], k);
      if (least > when->sub) when->sub = least;
    }
  }
  for (uint32_t i = g->n_nodes; i--;) {
    if (most[i] > w->when[i].sub) w->when[i].sub = most[i];
    for (int k = 0; k < g->nodes[i].n_in; k++) {
      const gr_node *source = gr_maker(w->g, g->nodes[i].in[k]);
      if (!source || !is_together(when_of(w, source), &w->when[i])) continue;
      int *m = &most[source - g->nodes], sub = w->when[i].sub - !reads_in_place(w, &g->nodes[i], k);
      if (*m < 0 || sub < *m) *m = sub;
    }
  }
}

// ---- Barriers ----------------------------------------------------------------------------------
// Levels follow each other in a circle, the first after the last. Something must lie between the
// writing of a value and its reading by other blocks, and between that and the next writing to the
// same place: a barrier after one of the levels from the first of both up to the second.

static bool is_between(const gr_scan_writer *w, int first, int end) {
  for (int l = first; l < end; l++)
    if (w->waits[l % w->levels]) return true;
  return false;
}

// The level on which the next value of a carry is written: leaves are copied on the first.
static int writes_carry(const gr_scan_writer *w, gr_val leaf) {
  const gr_node *source = gr_maker(w->g, gr_at(w->g, leaf)->next);
  return source ? when_of(w, source)->level : 0;
}

static bool is_safe_read(const gr_scan_writer *w, const gr_node *n, int k) {
  gr_val v = n->in[k];
  const gr_scan_value *x = &w->value[v.id];
  const gr_node *source = gr_maker(w->g, v);
  int read = product_of(w, n) && k == 0 && x->staged ? x->level : when_of(w, n)->level;
  int written = source ? when_of(w, source)->level : writes_carry(w, v);
  if (!is_between(w, written, source ? read : read + w->levels)) return false;
  return (source && x->stack) || is_between(w, read, written + w->levels);
}

static bool is_safe(const gr_scan_writer *w) {
  for (uint32_t i = 0; i < w->g->n_nodes; i++)
    for (int k = 0; k < w->g->nodes[i].n_in; k++)
      if (is_exchange(w, &w->g->nodes[i], k) && !is_safe_read(w, &w->g->nodes[i], k)) return false;
  return true;
}

static void find_barriers(gr_scan_writer *w) {
  w->waits = GR_NEW(w->arena, bool, w->levels);
  for (int l = 0; l < w->levels; l++) w->waits[l] = true;
  for (int l = w->levels; l--;) {
    w->waits[l] = false;
    if (!is_safe(w)) w->waits[l] = true;
  }
}

int gr_scan_waits(const gr_scan_writer *w) {
  int n = 0;
  for (int l = 0; l < w->levels; l++) n += w->waits[l];
  return n;
}

// ---- What is stored ----------------------------------------------------------------------------

static void find_stored(gr_scan_writer *w) {
  const gr_graph *g = w->g;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++) {
      const gr_node *source = gr_maker(w->g, g->nodes[i].in[k]);
      const gr_scan_when *a = source ? when_of(w, source) : NULL, *b = &w->when[i];
      if (a && !(is_together(a, b) && a->sub == b->sub))
        w->value[g->nodes[i].in[k].id].stored = true;
    }
  for (uint32_t v = 1; v < g->n_values; v++) w->value[v].stored |= w->value[v].stack > 0;
}

void gr_scan_order(gr_scan_writer *w) {
  w->when = GR_NEW(w->arena, gr_scan_when, w->g->n_nodes + 1);
  find_levels(w);
  find_late(w);
  find_subs(w);
  find_barriers(w);
  find_stored(w);
}
