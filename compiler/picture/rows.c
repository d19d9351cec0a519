// rows.c - chooses which blocks are drawn as rows, so that the whole is readable on one screen, and
// sums up what each row does.
#include <string.h>
#include "compiler/picture/parts.h"
#include "ops/comm/collective.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

enum { USUAL_ROWS = 22 };  // about the height of a screen
static const uint32_t no_row = UINT32_MAX;

// ---- Which blocks are rows ----------------------------------------------------------

static bool is_elementwise(const gr_picture_op *op) {
  return op->op != &gr_op_scan && op->flops <= 16 * (double)gr_type_count(&op->type);
}

// By block: whether it is a run of the forward pass that only rearranges, or works element by
// element. Such a run is drawn in the row before it, which it finishes.
static bool *find_slight(const gr_picture *p) {
  bool *slight = GR_NEW(p->arena, bool, p->n_blocks);
  for (uint32_t b = 0; b < p->n_blocks; b++) slight[b] = p->block[b].is_run && !p->block[b].asked;
  for (uint32_t i = 0; i < p->ops.n; i++)
    if (p->ops.op[i].phase == GR_PICTURE_FORWARD && !is_elementwise(&p->ops.op[i]))
      slight[p->ops.op[i].block] = false;
  return slight;
}

typedef struct choice {
  gr_picture *p;
  const bool *slight;
  uint32_t n;
} choice;

static void list_rows(choice *c, uint32_t block) {
  gr_picture_block *b = &c->p->block[block];
  if (!b->expanded) {
    b->row = c->n++;
    return;
  }
  b->row = no_row;
  uint32_t first = c->n;
  for (uint32_t i = 0; i < b->n_child; i++) {
    if (!gr_picture_is_drawn(c->p, b->child[i])) continue;
    if (c->slight[b->child[i]] && c->n > first)
      c->p->block[b->child[i]].row = c->n - 1;
    else
      list_rows(c, b->child[i]);
  }
}

static uint32_t count_rows(choice *c) {
  c->n = 0;
  list_rows(c, 0);
  return c->n;
}

static bool has_parts(const choice *c, uint32_t block) {
  const gr_picture_block *b = &c->p->block[block];
  for (uint32_t i = 0; i < b->n_child; i++)
    if (!c->p->block[b->child[i]].is_run) return true;
  return b->n_child > 1;
}

// The block to expand next: of those that may be, the one that computes most; 0: there is none.
static uint32_t largest_closed(const choice *c, const bool *refused) {
  uint32_t found = 0;
  for (uint32_t i = 1; i < c->p->n_blocks; i++) {
    const gr_picture_block *b = &c->p->block[i];
    bool may = gr_picture_is_drawn(c->p, i) && !b->expanded && !b->is_run &&
               c->p->block[b->parent].expanded && !refused[i] && has_parts(c, i);
    double flops = b->flops * b->repetitions;
    if (may && (!found || flops > c->p->block[found].flops * c->p->block[found].repetitions))
      found = i;
  }
  return found;
}

static void expand_blocks(choice *c) {
  bool *refused = GR_NEW(c->p->arena, bool, c->p->n_blocks);
  c->p->block[0].expanded = true;
  for (uint32_t i = 1; i < c->p->n_blocks; i++)
    if (c->p->block[i].holds_asked) c->p->block[i].expanded = true;
  for (uint32_t next; (next = largest_closed(c, refused));) {
    c->p->block[next].expanded = true;
    if (count_rows(c) <= USUAL_ROWS) continue;
    c->p->block[next].expanded = false, refused[next] = true;
  }
}

uint32_t gr_picture_row_of(const gr_picture *p, uint32_t block) {
  block = p->block[block].shown_as;
  while (block && !p->block[p->block[block].parent].expanded) block = p->block[block].parent;
  uint32_t row = p->block[block].row;
  return row < p->n_rows ? row : 0;
}

double gr_picture_times(const gr_picture *p, uint32_t block) {
  double times = 1;
  for (; block; block = p->block[block].parent) times *= p->block[block].repetitions;
  return times;
}

// ---- What a row does ----------------------------------------------------------------

static void name_rows(gr_picture *p) {
  p->row = GR_NEW(p->arena, gr_picture_row, p->n_rows);
  for (uint32_t i = p->n_blocks; i--;)  // of blocks that share a row, the first
    if (gr_picture_is_drawn(p, i) && p->block[i].row < p->n_rows &&
        (!i || p->block[p->block[i].parent].expanded))
      p->row[p->block[i].row].block = i;
}

static void sum_rows(gr_picture *p) {
  const double *live = gr_picture_live(p->arena, &p->program->frame);
  for (uint32_t i = 0; i < p->ops.n; i++) {
    const gr_picture_op *op = &p->ops.op[i];
    if (op->phase == GR_PICTURE_UPDATE) continue;
    gr_picture_row *r = &p->row[gr_picture_row_of(p, op->block)];
    r->n_ops[op->phase]++;
    if (live[op->node] > r->live[op->phase]) r->live[op->phase] = live[op->node];
    if (op->node == p->program->frame.peak_node) r->peak[op->phase] = true;
  }
}

// Sums the values that a row's forward pass makes and a backward pass reads, each once: at that
// row, or where it has no backward pass, at the first that reads them.
static void sum_kept(gr_picture *p) {
  const gr_graph *g = p->program->frame.g;
  gr_picture_phase *phase = GR_NEW(p->arena, gr_picture_phase, g->n_nodes + 1);
  uint32_t *row = GR_NEW(p->arena, uint32_t, g->n_nodes + 1);
  bool *counted = GR_NEW(p->arena, bool, g->n_values);
  for (uint32_t i = 0; i < p->ops.n; i++) {
    phase[p->ops.op[i].node] = p->ops.op[i].phase;
    row[p->ops.op[i].node] = gr_picture_row_of(p, p->ops.op[i].block);
  }
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in && phase[i] == GR_PICTURE_BACKWARD; k++) {
      const gr_value *v = gr_at(g, g->nodes[i].in[k]);
      if (v->role != GR_TEMP || phase[v->node] != GR_PICTURE_FORWARD) continue;
      if (counted[g->nodes[i].in[k].id]) continue;
      counted[g->nodes[i].in[k].id] = true;
      bool has = p->row[row[v->node]].n_ops[GR_PICTURE_BACKWARD];
      p->row[row[has ? v->node : i]].kept += (double)gr_type_bytes(&v->type);
    }
}

static gr_picture_move *find_move(gr_picture *p, const gr_picture_move *like) {
  for (uint32_t i = 0; i < p->n_moves; i++) {
    gr_picture_move *m = &p->move[i];
    if (m->row == like->row && m->phase == like->phase && m->op == like->op &&
        m->axis == like->axis)
      return m;
  }
  p->move[p->n_moves] = *like;
  return &p->move[p->n_moves++];
}

static void sum_moves(gr_picture *p) {
  const gr_graph *g = p->program->frame.g;
  uint32_t all = 0;
  for (uint32_t i = 0; i < p->ops.n; i++) all += p->ops.op[i].op->collective;
  p->move = GR_NEW(p->arena, gr_picture_move, all + 1);
  for (uint32_t i = 0; i < p->ops.n; i++) {
    const gr_picture_op *op = &p->ops.op[i];
    if (!op->op->collective) continue;
    gr_picture_move like = {
        .row = gr_picture_row_of(p, op->block), .phase = op->phase, .op = op->op};
    like.axis = (int)((const struct gr_coll *)op->attr)->mesh_axis;
    gr_picture_move *m = find_move(p, &like);
    m->count++, m->bytes += (double)gr_node_bytes(g, &g->nodes[op->node], false);
  }
}

void gr_picture_choose_rows(gr_picture *p) {
  choice c = {.p = p, .slight = find_slight(p)};
  for (uint32_t i = 0; i < p->n_blocks; i++) p->block[i].row = no_row;
  expand_blocks(&c);
  for (uint32_t i = 0; i < p->n_blocks; i++) p->block[i].row = no_row;
  p->n_rows = count_rows(&c);
  name_rows(p);
  sum_rows(p);
  sum_kept(p);
  sum_moves(p);
}

// ---- Text -----------------------------------------------------------------------

static bool rearranges(const gr_picture_op *op) {
  return op->op == &gr_op_reshape || op->op == &gr_op_transpose || op->op == &gr_op_cast ||
         op->op == &gr_op_shard_slice || op->op == &gr_op_slice || op->op == &gr_op_broadcast;
}

typedef struct tally {
  const char *name;
  int64_t steps;
  uint32_t n;
} tally;
enum { TALLIES = 32 };

// Updates belong to no row; they are all drawn in one box.
static bool is_of_row(const gr_picture *p, const gr_picture_op *op, uint32_t row) {
  return op->phase == GR_PICTURE_UPDATE ||
         (gr_picture_is_drawn(p, op->block) && gr_picture_row_of(p, op->block) == row);
}

// Counts the ops of a row by name, in their order; those of one repetition.
static int tally_ops(const gr_picture *p, uint32_t row, gr_picture_phase phase, bool all,
                     tally *out) {
  int n = 0;
  for (uint32_t i = 0; i < p->ops.n; i++) {
    const gr_picture_op *op = &p->ops.op[i];
    bool there = op->phase == phase && !op->op->collective && is_of_row(p, op, row) &&
                 (all || !rearranges(op));
    int k = 0;
    while (there && k < n && strcmp(out[k].name, op->op->name)) k++;
    if (!there || k == TALLIES) continue;
    if (k == n) out[n++] = (tally){.name = op->op->name};
    out[k].n++;
    if (op->op == &gr_op_scan) out[k].steps = ((const gr_scan *)op->attr)->steps;
  }
  return n;
}

void gr_picture_summary(gr_text *t, const gr_picture *p, uint32_t row, gr_picture_phase phase,
                        size_t most) {
  tally tallies[TALLIES];
  int n = tally_ops(p, row, phase, false, tallies);
  if (!n) n = tally_ops(p, row, phase, true, tallies);
  size_t start = t->len;
  for (int i = 0; i < n; i++) {
    char name[64];
    int len = snprintf(name, sizeof name, "%s%s", i ? ", " : "", tallies[i].name);
    if (tallies[i].steps)
      len += snprintf(name + len, sizeof name - (size_t)len, " of %lld step%s",
                      (long long)tallies[i].steps, gr_text_s(tallies[i].steps));
    if (tallies[i].n > 1)
      snprintf(name + len, sizeof name - (size_t)len, " \u00d7%u", tallies[i].n);
    if (t->len - start + strlen(name) > most) {
      gr_text_put(t, ", \u2026");
      return;
    }
    gr_text_put(t, name);
  }
}
