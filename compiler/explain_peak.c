// explain_peak.c - what holds the memory where a program needs most.
#include <stdlib.h>
#include <string.h>
#include "compiler/explain.h"
#include "compiler/memory.h"

enum { SHOWN = 5 };

typedef struct held {
  uint32_t value;
  size_t bytes;
  const char *by;  // the pass that made it, or "inputs"
} held;

static int by_bytes(const void *a, const void *b) {
  const held *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->value < y->value ? -1 : 1;
}

// The values in the arena at a node, each piece of memory once.
static uint32_t list_held(gr_arena *arena, const gr_plan_frame *f, uint32_t node, held *out) {
  const gr_graph *g = f->g;
  const uint32_t *last = gr_memory_last(arena, g);
  uint32_t n = 0;
  for (uint32_t i = g->n_values; i-- > 1;) {
    const gr_value *v = &g->values[i];
    uint32_t from = v->role == GR_TEMP ? v->node : 0;
    bool again = false;
    if (f->in_states[i] || from > node || last[i] < node) continue;
    for (uint32_t k = 0; k < n; k++) again |= f->offset[out[k].value] == f->offset[i];
    if (!again)
      out[n++] =
          (held){i, gr_type_bytes(&v->type), v->role == GR_TEMP ? g->nodes[v->node].by : "inputs"};
  }
  return n;
}

static void sum_by_maker(FILE *f, const held *h, uint32_t n) {
  char b[32];
  for (uint32_t i = 0; i < n; i++) {
    double sum = 0;
    bool told = false;
    for (uint32_t k = 0; k < i; k++) told |= !strcmp(h[k].by, h[i].by);
    for (uint32_t k = i; k < n; k++)
      if (!strcmp(h[k].by, h[i].by)) sum += (double)h[k].bytes;
    if (!told) fprintf(f, "    %-10s %10s\n", h[i].by, gr_bytes_text(sum, b));
  }
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
  if (n->scope) fprintf(f, " in %s", n->scope);
  if (n->loc.file) fprintf(f, ", %s:%d:%d", n->loc.file, n->loc.line, n->loc.col);
  fputc('\n', f);
}

void gr_explain_peak(FILE *f, gr_arena *arena, const gr_program *program) {
  const gr_plan_frame *frame = &program->frame;
  const gr_graph *g = frame->g;
  if (!g->n_nodes) return;
  uint32_t at = frame->peak_node < g->n_nodes ? frame->peak_node : g->n_nodes - 1;
  const gr_node *n = &g->nodes[at];
  fprintf(f, "  most memory at '%s' of pass %s", n->op->name, n->by);
  if (n->scope) fprintf(f, " in %s", n->scope);
  if (n->loc.file) fprintf(f, ", %s:%d:%d", n->loc.file, n->loc.line, n->loc.col);
  fprintf(f, ", by maker and then the largest\n");
  held *h = GR_NEW(arena, held, g->n_values);
  uint32_t held_there = list_held(arena, frame, at, h);
  qsort(h, held_there, sizeof *h, by_bytes);
  sum_by_maker(f, h, held_there);
  for (uint32_t i = 0; i < held_there && i < SHOWN; i++) show(f, g, &h[i]);
}
