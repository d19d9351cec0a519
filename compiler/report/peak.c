// peak.c - reports the values that are live where a program's memory peaks.
#include <stdlib.h>
#include "compiler/plan/memory.h"
#include "compiler/report/parts.h"

enum { SHOWN = 5 };

typedef struct held {
  uint32_t value;
  size_t bytes, offset;
  const char *by;  // the pass that created it, or "inputs"
} held;

static int by_bytes(const void *a, const void *b) {
  const held *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->value < y->value ? -1 : 1;
}

// Among values at one address, the most recent one comes first.
static int by_offset(const void *a, const void *b) {
  const held *x = a, *y = b;
  if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
  return x->value > y->value ? -1 : 1;
}

// The values that are live in the arena at a node; memory that several share counts once.
static uint32_t list_held(gr_arena *arena, const gr_plan_frame *f, uint32_t node, held *out) {
  const gr_graph *g = f->g;
  const uint32_t *last = gr_memory_last_use(arena, g);
  uint32_t n = 0, kept = 0;
  for (uint32_t i = 1; i < g->n_values; i++) {
    const gr_value *v = &g->values[i];
    uint32_t first = v->role == GR_TEMP ? v->node : 0;
    if (f->in_states[i] || first > node || last[i] < node) continue;
    const char *by = v->role == GR_TEMP ? g->nodes[v->node].created_by : "inputs";
    out[n++] = (held){i, gr_type_bytes(&v->type), f->offset[i], by};
  }
  qsort(out, n, sizeof *out, by_offset);
  for (uint32_t i = 0; i < n; i++)
    if (!kept || out[kept - 1].offset != out[i].offset) out[kept++] = out[i];
  return kept;
}

static uint32_t peak_of(const gr_plan_frame *f) {
  return f->peak_node < f->g->n_nodes ? f->peak_node : f->g->n_nodes - 1;
}

// The values at the peak, the largest first.
static uint32_t list_peak(gr_arena *arena, const gr_plan_frame *f, held **out) {
  *out = GR_NEW(arena, held, f->g->n_values);
  uint32_t n = f->g->n_nodes ? list_held(arena, f, peak_of(f), *out) : 0;
  qsort(*out, n, sizeof **out, by_bytes);
  return n;
}

int gr_peak_makers(gr_arena *arena, const gr_program *p, const gr_bytes_of **out) {
  gr_arena *work = gr_arena_create();
  held *h;
  uint32_t n = list_peak(work, &p->frame, &h);
  gr_map makers = gr_map_make(work);
  gr_bytes_of *sums = GR_NEW(arena, gr_bytes_of, n + 1);
  double rest = (double)p->frame.bytes;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t k = makers.n;
    if (!gr_map_find(&makers, h[i].by, &k)) gr_map_put(&makers, h[i].by, k);
    sums[k].name = h[i].by, sums[k].bytes += (double)h[i].bytes;
    rest -= (double)h[i].bytes;
  }
  uint32_t all = makers.n;
  if (rest > 0) sums[all++] = (gr_bytes_of){"scratch", rest};
  gr_arena_destroy(work);
  *out = sums;
  return (int)all;
}

static void show(FILE *f, const gr_graph *g, const held *h) {
  const gr_value *v = &g->values[h->value];
  char type[96], b[32];
  fprintf(f, "    %10s  %s ", gr_bytes_text((double)h->bytes, b), gr_type_text(&v->type, type));
  if (v->role != GR_TEMP) {
    fprintf(f, "input %s\n", v->name);
    return;
  }
  const gr_node *n = &g->nodes[v->node];
  fprintf(f, "%s", n->op->name);
  gr_put_place(f, n);
  fputc('\n', f);
}

void gr_explain_peak(FILE *f, gr_arena *arena, const gr_program_figures *p) {
  const gr_plan_frame *frame = &p->program->frame;
  const gr_graph *g = frame->g;
  char b[32];
  if (!g->n_nodes) return;
  const gr_node *n = &g->nodes[peak_of(frame)];
  fprintf(f, "  most memory at '%s' of pass %s", n->op->name, n->created_by);
  gr_put_place(f, n);
  fprintf(f, ", by maker and then the largest\n");
  held *h;
  uint32_t held_there = list_peak(arena, frame, &h);
  for (int i = 0; i < p->n_makers; i++)
    fprintf(f, "    %-10s %10s\n", p->makers[i].name, gr_bytes_text(p->makers[i].bytes, b));
  for (uint32_t i = 0; i < held_there && i < SHOWN; i++) show(f, g, &h[i]);
}
