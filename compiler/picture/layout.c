// layout.c - computes where rows, frames and lines are.
#include "compiler/picture/layout.h"
#include <stdlib.h>
#include <string.h>

// ---- Rows and frames --------------------------------------------------------------

typedef struct pen {
  const gr_picture *p;
  gr_picture_layout *out;
  int y;
} pen;

static uint32_t only_child(const gr_picture *p, uint32_t block) {
  uint32_t found = 0, n = 0;
  for (uint32_t i = 0; i < p->block[block].n_child; i++) {
    uint32_t child = p->block[block].child[i];
    if (gr_picture_is_drawn(p, child)) found = child, n++;
  }
  return n == 1 ? found : 0;
}

// Frames that hold nothing but another frame are drawn as one.
static uint32_t inner_frame(const gr_picture *p, uint32_t block) {
  for (uint32_t only; (only = only_child(p, block)) && p->block[only].expanded;) block = only;
  return block;
}

const char *gr_picture_label(const gr_picture *p, uint32_t block, const char *around) {
  const char *path = p->block[block].path;
  size_t n = strlen(around);
  return n && !strncmp(path, around, n) && path[n] == '.' ? path + n + 1 : path;
}

// A row is as high as its box, or as the collectives beside it.
static int row_height(const gr_picture *p, uint32_t row) {
  int n[GR_PICTURE_UPDATE + 1] = {0}, height = GR_PICTURE_ROW;
  for (uint32_t i = 0; i < p->n_moves; i++) {
    const gr_picture_move *m = &p->move[i];
    if (m->row != row || m->phase == GR_PICTURE_UPDATE) continue;
    int needed = GR_PICTURE_PILL * ++n[m->phase];
    height = needed > height ? needed : height;
  }
  return height;
}

static void lay_block(pen *n, uint32_t block, const char *around, int depth);

static void lay_children(pen *n, uint32_t block, int depth) {
  const gr_picture_block *b = &n->p->block[block];
  for (uint32_t i = 0; i < b->n_child; i++)
    if (gr_picture_is_drawn(n->p, b->child[i])) lay_block(n, b->child[i], b->path, depth);
}

static void lay_block(pen *n, uint32_t block, const char *around, int depth) {
  const gr_picture_block *b = &n->p->block[block];
  if (!b->expanded) {
    if (n->p->row[b->row].block != block) return;  // it is drawn in the row before it
    n->out->top[b->row] = n->y;
    n->y += row_height(n->p, b->row) + GR_PICTURE_GAP;
    return;
  }
  uint32_t inner = inner_frame(n->p, block), place = n->out->n_frames++;
  gr_picture_frame f = {gr_picture_label(n->p, inner, around), inner, depth, n->y, 0};
  if (depth + 1 > n->out->depth) n->out->depth = depth + 1;
  n->y += GR_PICTURE_LABEL;
  lay_children(n, inner, depth + 1);
  f.bottom = n->y - GR_PICTURE_GAP / 2;
  n->y += GR_PICTURE_GAP / 2;
  n->out->frame[place] = f;
}

// ---- Lines ------------------------------------------------------------------------

static int by_length(const void *a, const void *b) {
  const gr_picture_line *x = a, *y = b;
  uint32_t long_x = x->target - x->source, long_y = y->target - y->source;
  if (long_x != long_y) return long_x < long_y ? -1 : 1;
  return x->source < y->source ? -1 : x->source > y->source;
}

static bool crosses(const gr_picture_line *a, const gr_picture_line *b) {
  return a->lane == b->lane && a->source < b->target && b->source < a->target;
}

// Short lines are nearest to the rows.
static void choose_lanes(gr_picture_line *line, uint32_t n, int *lanes, uint32_t *hidden) {
  qsort(line, n, sizeof *line, by_length);
  for (uint32_t i = 0; i < n; i++) {
    bool free = false;
    for (int lane = 0; lane < GR_PICTURE_LANES && !free; lane++) {
      line[i].lane = lane, free = true;
      for (uint32_t k = 0; k < i && free; k++) free = !crosses(&line[k], &line[i]);
    }
    if (!free)
      line[i].lane = -1, ++*hidden;
    else if (line[i].lane >= *lanes)
      *lanes = line[i].lane + 1;
  }
}

static void add_line(gr_picture_line *line, uint32_t *n, uint32_t source, uint32_t target,
                     double bytes) {
  for (uint32_t i = 0; i < *n; i++)
    if (line[i].source == source && line[i].target == target) {
      if (bytes > line[i].bytes) line[i].bytes = bytes;
      return;
    }
  line[(*n)++] = (gr_picture_line){.source = source, .target = target, .bytes = bytes};
}

// Values from one repetition to the next would go upwards: the frame's number says that.
static void find_lines(const gr_picture *p, gr_picture_phase phase, gr_picture_layout *out) {
  uint32_t all = 0;
  out->flow[phase].line = GR_NEW(p->arena, gr_picture_line, p->n_rows * p->n_rows + 1);
  out->flow[phase].next = GR_NEW(p->arena, bool, p->n_rows + 1);
  for (uint32_t i = 0; i < p->ops.n_edges; i++) {
    const gr_picture_edge *e = &p->ops.edge[i];
    const gr_picture_op *source = &p->ops.op[e->source], *target = &p->ops.op[e->target];
    if (e->narrows || source->phase != phase || target->phase != phase) continue;
    uint32_t a = gr_picture_row_of(p, source->block), b = gr_picture_row_of(p, target->block);
    if (phase == GR_PICTURE_BACKWARD) {
      uint32_t lower = a;
      a = b, b = lower;
    }
    if (b == a + 1) out->flow[phase].next[a] = true;
    if (b > a + 1) add_line(out->flow[phase].line, &all, a, b, e->bytes);
  }
  out->flow[phase].n = all;
  choose_lanes(out->flow[phase].line, all, &out->flow[phase].lanes, &out->flow[phase].hidden);
}

gr_picture_layout gr_picture_lay_out(const gr_picture *p, int top) {
  gr_picture_layout out = {.top = GR_NEW(p->arena, int, p->n_rows + 1),
                           .frame = GR_NEW(p->arena, gr_picture_frame, p->n_blocks + 1)};
  pen n = {p, &out, top};
  lay_children(&n, 0, 0);
  out.bottom = n.y;
  find_lines(p, GR_PICTURE_FORWARD, &out);
  find_lines(p, GR_PICTURE_BACKWARD, &out);
  return out;
}
