// live.c - how much of a program's arena is live while each of its nodes runs.
#include <stdlib.h>
#include "compiler/picture/parts.h"
#include "compiler/plan/memory.h"

// Values at one offset that are live at the same time share their memory, which counts once.
typedef struct shared {
  size_t *offset;  // sorted, each once
  uint32_t n;
  size_t *bytes;   // by place in `offset`: of the largest of the values that are live there
  uint32_t *last;  // the last node that reads one of them
  double sum;
} shared;

static int by_value(const void *a, const void *b) {
  size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return (x > y) - (x < y);
}

static bool is_in_arena(const gr_plan_frame *f, uint32_t value) {
  return !f->in_states[value] && f->g->values[value].role != GR_STATE;
}

static shared collect_offsets(gr_arena *arena, const gr_plan_frame *f) {
  shared s = {.offset = GR_NEW(arena, size_t, f->g->n_values)};
  uint32_t all = 0;
  for (uint32_t i = 1; i < f->g->n_values; i++)
    if (is_in_arena(f, i)) s.offset[all++] = f->offset[i];
  qsort(s.offset, all, sizeof *s.offset, by_value);
  for (uint32_t i = 0; i < all; i++)
    if (!s.n || s.offset[s.n - 1] != s.offset[i]) s.offset[s.n++] = s.offset[i];
  s.bytes = GR_NEW(arena, size_t, s.n + 1), s.last = GR_NEW(arena, uint32_t, s.n + 1);
  return s;
}

static uint32_t place_of(const shared *s, size_t offset) {
  const size_t *found = bsearch(&offset, s->offset, s->n, sizeof offset, by_value);
  return (uint32_t)(found - s->offset);
}

static void begin_value(shared *s, const gr_plan_frame *f, uint32_t value, uint32_t last) {
  if (!is_in_arena(f, value)) return;
  uint32_t place = place_of(s, f->offset[value]);
  size_t bytes = gr_type_bytes(&f->g->values[value].type);
  if (bytes > s->bytes[place]) s->sum += (double)(bytes - s->bytes[place]), s->bytes[place] = bytes;
  if (last > s->last[place]) s->last[place] = last;
}

static void end_value(shared *s, const gr_plan_frame *f, uint32_t value, uint32_t node) {
  if (!is_in_arena(f, value)) return;
  uint32_t place = place_of(s, f->offset[value]);
  if (s->last[place] != node) return;
  s->sum -= (double)s->bytes[place], s->bytes[place] = 0;
}

double *gr_picture_live(gr_arena *arena, const gr_plan_frame *f) {
  const gr_graph *g = f->g;
  const uint32_t *last = gr_memory_last_use(arena, g);
  double *live = GR_NEW(arena, double, g->n_nodes + 1);
  shared s = collect_offsets(arena, f);
  for (uint32_t i = 1; i < g->n_values; i++)
    if (g->values[i].role == GR_INPUT) begin_value(&s, f, i, last[i]);
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    for (int k = 0; k < n->n_out; k++) begin_value(&s, f, gr_out(n, k).id, last[gr_out(n, k).id]);
    live[i] = s.sum + (f->body[i] ? (double)f->body[i]->bytes : 0);
    for (int k = 0; k < n->n_in; k++) end_value(&s, f, n->in[k].id, i);
    for (int k = 0; k < n->n_out; k++) end_value(&s, f, gr_out(n, k).id, i);
  }
  return live;
}
