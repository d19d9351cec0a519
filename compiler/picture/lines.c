// lines.c - writes the lines between the rows of a picture.
#include "compiler/picture/draw.h"
#include "compiler/report/parts.h"

void gr_picture_put_arrow(gr_text *t, int x, int source, int target, const char *class) {
  gr_text_printf(t, "<path d=\"M%d %dV%d\" class=\"l %s\" marker-end=\"url(#gp-%s)\"/>\n", x,
                 source, target, class, class);
}

// A line beside the boxes; `side` is -1 at the left of x, 1 at its right.
static void put_line(gr_picture_page *g, const gr_picture_line *l, int x, int side, bool up) {
  int start = g->lay.top[l->source] + GR_PICTURE_ROW - 8, end = g->lay.top[l->target] + 8;
  int out = x + side * (l->lane + 1) * GR_PICTURE_LANE;
  if (l->lane < 0) return;
  if (up) {
    int lower = end;
    end = start, start = lower;
  }
  const char *class = up ? "lk" : "lf";
  char bytes[32];
  gr_text_printf(g->t,
                 "<path d=\"M%d %dH%dV%dH%d\" class=\"l %s\" marker-end=\"url(#gp-%s)\" "
                 "stroke-linejoin=\"round\"><title>%s</title></path>\n",
                 x, start, out, end, x - side * -2, class, class, gr_bytes_text(l->bytes, bytes));
}

void gr_picture_put_lines(gr_picture_page *g) {
  int right = g->backward + BACKWARD_WIDTH, middle = g->forward + FORWARD_WIDTH / 2;
  for (int phase = 0; phase < (g->trains ? 2 : 1); phase++) {
    bool up = phase == GR_PICTURE_BACKWARD;
    for (uint32_t i = 0; i < g->lay.flow[phase].n; i++)
      put_line(g, &g->lay.flow[phase].line[i], up ? right : g->forward, up ? 1 : -1, up);
    for (uint32_t r = 0; r + 1 < g->p->n_rows; r++) {
      if (!g->lay.flow[phase].next[r]) continue;
      int above = g->lay.top[r] + GR_PICTURE_ROW, below = g->lay.top[r + 1];
      if (up)
        gr_picture_put_arrow(g->t, g->backward + BACKWARD_WIDTH / 2, below, above + 3, "lk");
      else
        gr_picture_put_arrow(g->t, middle, above, below - 3, "lf");
    }
  }
}
