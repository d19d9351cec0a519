// boxes.c - writes the rows of a picture: the boxes of both phases, collectives, weights, and bars
// of memory.
#include <string.h>
#include "compiler/picture/draw.h"
#include "compiler/report/parts.h"

static const char *row_label(const gr_picture *p, uint32_t row) {
  const gr_picture_block *b = &p->block[p->row[row].block];
  return b->is_run ? "" : gr_picture_label(p, p->row[row].block, p->block[b->parent].path);
}

// The last op of a row's forward pass, in the order of the program; NULL: it has none.
static const gr_picture_op *last_op(const gr_picture *p, uint32_t row) {
  const gr_picture_op *found = NULL;
  for (uint32_t i = 0; i < p->ops.n; i++)
    if (p->ops.op[i].phase == GR_PICTURE_FORWARD && !p->ops.op[i].op->collective &&
        gr_picture_is_drawn(p, p->ops.op[i].block) &&
        gr_picture_row_of(p, p->ops.op[i].block) == row)
      found = &p->ops.op[i];
  return found;
}

static void put_tooltip(gr_picture_page *g, uint32_t row, gr_picture_phase phase,
                        const gr_picture_op *op) {
  const gr_picture_block *b = &g->p->block[g->p->row[row].block];
  gr_text all = gr_text_make(g->p->arena);
  char flops[32];
  gr_picture_summary(&all, g->p, row, phase, 600);
  gr_text_put(g->t, "<title>");
  gr_picture_put_escaped(g->t, *b->path ? b->path : "the model");
  if (op && op->loc.file) {
    gr_text_put(g->t, ", ");
    gr_picture_put_escaped(g->t, op->loc.file);
    gr_text_printf(g->t, ":%d", op->loc.line);
  }
  gr_text_put(g->t, "\n");
  gr_picture_put_escaped(g->t, all.chars);
  if (phase == GR_PICTURE_FORWARD && b->flops > 0)
    gr_text_printf(g->t, "\n%s", gr_flops_text(b->flops, flops));
  gr_text_put(g->t, "</title>");
}

static void put_forward(gr_picture_page *g, uint32_t row) {
  int y = g->lay.top[row];
  char type[96];
  const gr_picture_op *last = last_op(g->p, row);
  const gr_picture_block *b = &g->p->block[g->p->row[row].block];
  gr_text ops = gr_text_make(g->p->arena), label = gr_text_make(g->p->arena);
  const char *name = row_label(g->p, row);
  gr_picture_summary(&ops, g->p, row, GR_PICTURE_FORWARD, *name ? LETTERS : RUN_LETTERS);
  gr_picture_put_label(&label, *name ? name : ops.chars, b);
  gr_text_put(g->t, "<g>");
  put_tooltip(g, row, GR_PICTURE_FORWARD, last);
  gr_picture_put_box(g->t, g->forward, y, FORWARD_WIDTH, GR_PICTURE_ROW, "f");
  gr_picture_put_text(g->t, g->forward + 8, y + 14, "class=\"b\"", label.chars);
  if (*name) gr_picture_put_text(g->t, g->forward + 8, y + 27, "class=\"s\"", ops.chars);
  if (last)
    gr_picture_put_text(g->t, g->forward + FORWARD_WIDTH - 8, y + (*name ? 14 : 27),
                        "class=\"s\" text-anchor=\"end\"", gr_type_text(&last->type, type));
  gr_text_put(g->t, "</g>\n");
}

static void put_backward(gr_picture_page *g, uint32_t row) {
  const gr_picture_row *r = &g->p->row[row];
  int y = g->lay.top[row], middle = y + GR_PICTURE_ROW / 2;
  char bytes[32];
  gr_text ops = gr_text_make(g->p->arena);
  if (r->kept > 0)
    gr_text_printf(g->t, "<path d=\"M%d %dH%d\" class=\"l ll\" marker-end=\"url(#gp-ll)\"/>\n",
                   g->forward + FORWARD_WIDTH, middle, g->backward - 3);
  if (r->kept >= SLIGHT)
    gr_picture_put_text(g->t, (g->forward + FORWARD_WIDTH + g->backward) / 2, middle - 4,
                        "class=\"s\" text-anchor=\"middle\"", gr_bytes_text(r->kept, bytes));
  gr_picture_summary(&ops, g->p, row, GR_PICTURE_BACKWARD, BACKWARD_LETTERS);
  if (!ops.len) return;
  gr_text_put(g->t, "<g>");
  put_tooltip(g, row, GR_PICTURE_BACKWARD, NULL);
  gr_picture_put_box(g->t, g->backward, y, BACKWARD_WIDTH, GR_PICTURE_ROW, "k");
  gr_picture_put_textf(g->t, g->backward + 8, y + 14, "", "%u op%s", r->n_ops[GR_PICTURE_BACKWARD],
                       gr_text_s(r->n_ops[GR_PICTURE_BACKWARD]));
  gr_picture_put_text(g->t, g->backward + 8, y + 27, "class=\"s\"", ops.chars);
  gr_text_put(g->t, "</g>\n");
}

// The class of a collective's colour.
static int colour_of(const gr_op *op) {
  static const char *const names[] = {"all_gather", "all_reduce", "reduce_scatter"};
  for (int i = 0; i < 3; i++)
    if (!strcmp(op->name, names[i])) return i;
  return 3;
}

static void put_pill(gr_picture_page *g, const gr_picture_move *m, int x, int y, int height) {
  char bytes[32], text[96];
  snprintf(text, sizeof text, m->count > 1 ? "%s \u00d7%u  %s" : "%s%.0u  %s", m->op->name,
           m->count > 1 ? m->count : 0, gr_bytes_text(m->bytes, bytes));
  gr_text_printf(g->t, "<g><title>%s over %s</title>", m->op->name,
                 g->p->program->frame.g->mesh.axis[m->axis].name);
  gr_text_printf(g->t,
                 "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\" class=\"c%d\"/>\n",
                 x, y, MOVES_WIDTH - 8, height, height / 2, colour_of(m->op));
  gr_picture_put_text(g->t, x + 8, y + height - 4, "class=\"w s\" style=\"fill:#fff\"", text);
  gr_text_put(g->t, "</g>\n");
}

// The collectives of a phase at a row, one above the other; those of updates are at the top.
void gr_picture_put_moves(gr_picture_page *g, uint32_t row, gr_picture_phase phase, int x, int y) {
  int n = 0;
  for (uint32_t i = 0; i < g->p->n_moves; i++) {
    const gr_picture_move *m = &g->p->move[i];
    if (m->phase != phase || (phase != GR_PICTURE_UPDATE && m->row != row)) continue;
    put_pill(g, m, x, y + n++ * GR_PICTURE_PILL, GR_PICTURE_PILL - 2);
  }
}

static void put_weights(gr_picture_page *g, uint32_t row) {
  const gr_picture_block *b = &g->p->block[g->p->row[row].block];
  int y = g->lay.top[row];
  char numbers[32], layout[64] = "";
  if (b->weights <= 0) return;
  const gr_mesh *mesh = &g->p->plan->mesh;
  bool split = false;
  for (int a = 0; a < mesh->n_axes; a++) {
    int place = b->largest->layout.placement[a];
    size_t n = strlen(layout);
    if (place < 0) continue;
    split = true;
    snprintf(layout + n, sizeof layout - n, "%s%s:S%d", n ? " " : "", mesh->axis[a].name, place);
  }
  gr_picture_put_text(
      g->t, g->weights, y + 14, "",
      gr_picture_count_text(b->weights * gr_picture_times(g->p, g->p->row[row].block), numbers));
  if (split)
    gr_picture_put_text(g->t, g->weights, y + 27, "class=\"s x\" style=\"fill:#0f8b8d\"", layout);
}

static void put_live(gr_picture_page *g, uint32_t row) {
  const gr_picture_row *r = &g->p->row[row];
  int y = g->lay.top[row] + 5;
  char bytes[32];
  for (int phase = 0; phase < 2; phase++) {
    if (r->live[phase] <= 0) continue;
    int width = 1 + (int)((LIVE_WIDTH - 60) * r->live[phase] / g->most_live);
    gr_text_printf(g->t, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"10\" class=\"%s%s\"/>\n",
                   g->live, y + 13 * phase, width, phase ? "mk" : "mf",
                   r->peak[phase] ? "\" stroke-width=\"2\" stroke=\"#c81e1e" : "");
    gr_picture_put_text(g->t, g->live + width + 4, y + 13 * phase + 9, "class=\"s\"",
                        gr_bytes_text(r->live[phase], bytes));
  }
}

void gr_picture_put_row(gr_picture_page *g, uint32_t row) {
  int y = g->lay.top[row];
  gr_picture_put_moves(g, row, GR_PICTURE_FORWARD, g->moves_forward, y);
  put_forward(g, row);
  if (g->trains) put_backward(g, row);
  gr_picture_put_moves(g, row, GR_PICTURE_BACKWARD, g->moves_backward, y);
  put_weights(g, row);
  put_live(g, row);
}
