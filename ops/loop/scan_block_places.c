// scan_block_places.c - where the values of a loop in one block are: see scan_block.c.
//
// Times are the waits of the block's threads, in the order of the text: what is last read before a
// wait may give its place to what is first written after it. The steps of a loop end with a wait,
// so one step's times are as the next one's. A carry has its place while its loop runs.
//
// All places are chosen as if there were no shared memory, which a plan does not know, and those
// that find room there get another. So a kernel needs on no GPU more memory than the plan has.
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/grow.h"
#include "ops/loop/scan_block.h"

static size_t aligned(size_t bytes) { return (bytes + 15) / 16 * 16; }

int gr_block_yield_of(const gr_block_frame *f, gr_val v) {
  for (uint32_t j = 0; j < f->g->n_results; j++)
    if (f->g->results[j].id == v.id) return (int)j;
  return -1;
}

bool gr_block_is_next(const gr_block_frame *f, gr_val v) {
  bool next = false;
  for (int c = 0; c < f->s->n_carry; c++)
    next |= gr_at(f->g, gr_scan_carry(f->s, c))->next.id == v.id;
  return next;
}

int gr_block_written_at_once(const gr_block_frame *f, gr_val v) {
  bool made = f->s->steps == 1 && gr_at(f->g, v)->role == GR_TEMP;
  for (int c = 0; made && c < f->s->n_carry; c++)
    if (gr_at(f->g, gr_scan_carry(f->s, c))->next.id == v.id) return f->last_read[c] ? c : -1;
  return -1;
}

// ---- Times --------------------------------------------------------------------------------------

// Returns the time when the loop has ended.
static int find_times(gr_block_writer *w, gr_block_frame *f, int time) {
  f->first = GR_NEW(w->arena, int, f->levels + 1), f->last = GR_NEW(w->arena, int, f->levels + 1);
  f->begin = time;
  for (int level = 0; level < f->levels; level++) {
    if (level) time++;
    f->first[level] = time;
    for (uint32_t i = 0; i < f->g->n_nodes; i++)
      if (f->in[i] && f->level[i] == level) time = find_times(w, f->in[i], time);
    f->last[level] = time;
  }
  return f->end = time + 1;
}

// When the last launch of a node is over.
static int end_of(const gr_block_frame *f, uint32_t i) {
  return f->last[f->level[i] + (f->call[i].n > 1 ? f->call[i].n - 1 : 0)];
}

// ---- Places -------------------------------------------------------------------------------------

static int add(gr_block_writer *w, size_t bytes, int first, int last) {
  GR_GROW(w->arena, w->place, w->n_places, w->cap_places);
  w->place[w->n_places] =
      (gr_block_place){.bytes = aligned(bytes), .first = first, .last = last, .order = w->n_places};
  return ++w->n_places;
}

// When the value of a node is last read in a step.
static int last_read(const gr_block_frame *f, uint32_t maker, uint32_t id) {
  int last = end_of(f, maker);
  for (uint32_t i = maker + 1; i < f->g->n_nodes; i++)
    for (int k = 0; k < f->g->nodes[i].n_in; k++)
      if (f->g->nodes[i].in[k].id == id && end_of(f, i) > last) last = end_of(f, i);
  return last;
}

static void add_values(gr_block_writer *w, gr_block_frame *f) {
  f->home = GR_NEW(w->arena, int, f->g->n_values + 1);
  for (uint32_t id = gr_graph_leaves(f->g) + 1; id < f->g->n_values; id++) {
    gr_val v = {id};
    uint32_t maker = gr_at(f->g, v)->node;
    size_t bytes = aligned(gr_type_bytes(&gr_at(f->g, v)->type));
    if (gr_block_yield_of(f, v) >= 0 || gr_block_written_at_once(f, v) >= 0) continue;
    f->home[id] = gr_block_is_next(f, v)
                      ? add(w, 2 * bytes, f->begin, f->end)
                      : add(w, bytes, f->first[f->level[maker]], last_read(f, maker, id));
  }
}

// around: the frame that has the loop as node n; NULL: none.
static void add_frame(gr_block_writer *w, gr_block_frame *f, const gr_block_frame *around,
                      const gr_node *n) {
  f->last_read = GR_NEW(w->arena, bool, f->s->n_carry + 1);
  for (int c = 0; c < f->s->n_carry; c++)
    f->last_read[c] = !around || around->read[gr_out(n, c).id];
  add_values(w, f);
  f->work = GR_NEW(w->arena, int, f->g->n_nodes + 1);
  for (uint32_t i = 0; i < f->g->n_nodes; i++)
    if (f->call[i].scratch)
      f->work[i] = add(w, f->call[i].scratch, f->first[f->level[i]], end_of(f, i));
  for (uint32_t i = 0; i < f->g->n_nodes; i++)
    if (f->in[i]) add_frame(w, f->in[i], f, &f->g->nodes[i]);
}

// ---- Offsets ------------------------------------------------------------------------------------

// The lowest offset that a place can have beside those that have one and meet it in time.
static size_t lowest(const gr_block_place *p, gr_block_place *const *placed, int n,
                     size_t (*offset_of)(const gr_block_place *)) {
  size_t at_least = 0;
  for (int i = 0; i < n; i++) {
    const gr_block_place *q = placed[i];
    size_t offset = offset_of(q);
    bool meet = p->first <= q->last && q->first <= p->last;
    if (meet && offset < at_least + p->bytes && at_least < offset + q->bytes)
      at_least = offset + q->bytes, i = -1;
  }
  return at_least;
}

static size_t offset_in_memory(const gr_block_place *p) { return p->memory; }
static size_t offset_in_shared(const gr_block_place *p) { return p->shared - 1; }

static int compare_places(const void *a, const void *b) {
  const gr_block_place *x = *(gr_block_place *const *)a, *y = *(gr_block_place *const *)b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return (x->order > y->order) - (x->order < y->order);
}

// The largest first.
static void place_in_memory(gr_block_writer *w, gr_block_place **order) {
  for (int i = 0; i < w->n_places; i++) order[i] = &w->place[i];
  qsort(order, (size_t)w->n_places, sizeof *order, compare_places);
  for (int i = 0; i < w->n_places; i++) {
    gr_block_place *p = order[i];
    p->memory = lowest(p, order, i, offset_in_memory);
    if (p->memory + p->bytes > w->scratch) w->scratch = p->memory + p->bytes;
  }
}

// In the order of the text, while there is room.
static void place_in_shared(gr_block_writer *w, gr_block_place **order) {
  int n = 0;
  for (int i = 0; i < w->n_places; i++) {
    gr_block_place *p = &w->place[i];
    if (p->bytes > w->most_shared / 8) continue;
    size_t offset = lowest(p, order, n, offset_in_shared);
    if (offset + p->bytes > w->most_shared) continue;
    p->shared = 1 + offset;
    order[n++] = p;
    if (offset + p->bytes > w->shared) w->shared = offset + p->bytes;
  }
}

void gr_block_find_places(gr_block_writer *w) {
  if (w->zeros) add(w, w->zeros, 0, INT_MAX);
  find_times(w, w->frame, 0);
  add_frame(w, w->frame, NULL, NULL);
  gr_block_place **order = GR_NEW(w->arena, gr_block_place *, w->n_places + 1);
  place_in_memory(w, order);
  place_in_shared(w, order);
}
