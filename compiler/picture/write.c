// write.c - writes a picture as SVG: columns from left to right are the collectives and lines of
// the forward pass, its boxes, what is kept, the boxes of the backward pass, its lines and
// collectives, weights, and memory.
#include "compiler/picture/draw.h"
#include "compiler/report/parts.h"

static const char style[] =
    "<style>\n"
    ".gp text{font:11px system-ui,Helvetica,Arial,sans-serif;fill:#1f2933}\n"
    ".gp .t{font-size:16px;font-weight:600}.gp .b{font-weight:600}.gp "
    ".s{font-size:10px;fill:#5f6c7b}\n"
    ".gp .bg{fill:#fff}.gp .f{fill:#e8f1fc;stroke:#3b7dd8}.gp .k{fill:#fdf0e3;stroke:#d9822b}\n"
    ".gp .u{fill:#e6f5ea;stroke:#3a9d5d}.gp .i{fill:#f3f4f6;stroke:#9aa5b1}\n"
    ".gp .g{fill:#7b8794;fill-opacity:.07;stroke:#9aa5b1;stroke-dasharray:4 3}\n"
    ".gp .lf{stroke:#3b7dd8}.gp .lk{stroke:#d9822b}.gp .ll{stroke:#7b8794;stroke-dasharray:3 3}\n"
    ".gp .l{fill:none;stroke-width:1.4}.gp .mf{fill:#3b7dd8}.gp .mk{fill:#d9822b}.gp "
    ".ml{fill:#7b8794}\n"
    ".gp .c0{fill:#8e5cc2}.gp .c1{fill:#c2417c}.gp .c2{fill:#0f8b8d}.gp .c3{fill:#8a6d1a}.gp "
    ".w{fill:#fff}\n"
    ".gp .h{paint-order:stroke;stroke:#fff;stroke-width:3px}\n"
    ".gp .x{fill:#0f8b8d}.gp .a0{fill:#3b7dd8}.gp .a1{fill:#7b8794}.gp .a2{fill:#3a9d5d}.gp "
    ".a3{fill:#8e5cc2}\n"
    ".gp .a4{fill:#0f8b8d}.gp .a5{fill:#8a6d1a}.gp .a6{fill:#c2417c}.gp .a7{fill:#d9822b}.gp "
    ".p{stroke:#c81e1e}\n"
    "@media (prefers-color-scheme:dark){.gp text{fill:#e4e7eb}.gp .s{fill:#9aa5b1}.gp "
    ".bg{fill:#14181d}.gp .h{stroke:#14181d}\n"
    ".gp .f{fill:#1b2b40}.gp .k{fill:#3a2a19}.gp .u{fill:#1a3324}.gp .i{fill:#22282f}.gp "
    ".w{fill:#fff}}\n"
    "</style>\n";

// ---- Columns ------------------------------------------------------------------------

static bool any_moves(const gr_picture *p, gr_picture_phase phase) {
  for (uint32_t i = 0; i < p->n_moves; i++)
    if (p->move[i].phase == phase) return true;
  return false;
}

static void set_columns(gr_picture_page *g) {
  int indent = g->lay.depth * GR_PICTURE_INDENT, x = MARGIN;
  g->moves_forward = x;
  if (any_moves(g->p, GR_PICTURE_FORWARD)) x += MOVES_WIDTH;
  x += (g->lay.flow[GR_PICTURE_FORWARD].lanes + 1) * GR_PICTURE_LANE + indent;
  g->forward = x, x += FORWARD_WIDTH;
  g->backward = x + KEPT_WIDTH;
  if (g->trains) x = g->backward + BACKWARD_WIDTH;
  x += (g->lay.flow[GR_PICTURE_BACKWARD].lanes + 1) * GR_PICTURE_LANE + indent;
  g->moves_backward = x;
  if (any_moves(g->p, GR_PICTURE_BACKWARD) || any_moves(g->p, GR_PICTURE_UPDATE)) x += MOVES_WIDTH;
  g->weights = x + MARGIN, x += MARGIN + WEIGHTS_WIDTH;
  g->live = x, g->width = x + LIVE_WIDTH + MARGIN;
}

static void put_frames(gr_picture_page *g) {
  for (uint32_t i = 0; i < g->lay.n_frames; i++) {
    const gr_picture_frame *f = &g->lay.frame[i];
    int inset = (g->lay.depth - f->depth) * GR_PICTURE_INDENT;
    int right = (g->trains ? g->backward + BACKWARD_WIDTH : g->forward + FORWARD_WIDTH) + inset;
    gr_picture_put_box(g->t, g->forward - inset, f->top, right - g->forward + inset,
                       f->bottom - f->top, "g");
  }
}

// Over the lines that pass beside the frames' boxes.
static void put_labels(gr_picture_page *g) {
  char numbers[32];
  for (uint32_t i = 0; i < g->lay.n_frames; i++) {
    const gr_picture_frame *f = &g->lay.frame[i];
    const gr_picture_block *b = &g->p->block[f->block];
    int inset = (g->lay.depth - f->depth) * GR_PICTURE_INDENT;
    gr_text label = gr_text_make(g->p->arena);
    gr_picture_put_label(&label, f->label, b);
    if (b->weights > 0)
      gr_text_printf(&label, "   %s",
                     gr_picture_count_text(b->weights * gr_picture_times(g->p, f->block), numbers));
    gr_picture_put_text(g->t, g->forward - inset + 6, f->top + 12, "class=\"s h\"", label.chars);
  }
}

static void put_ends(gr_picture_page *g) {
  const gr_graph *graph = g->p->program->frame.g;
  gr_text inputs = gr_text_make(g->p->arena), update = gr_text_make(g->p->arena);
  int y = TOP - 46;
  uint32_t n = 0, updates = 0;
  char type[96];
  bool cut = false;
  for (uint32_t i = 1; i < graph->n_values; i++)
    if (graph->values[i].role == GR_INPUT && inputs.len < LETTERS - INPUT_LETTERS)
      gr_text_printf(&inputs, "%s%s %s", n++ ? ", " : "", graph->values[i].name,
                     gr_type_text(&graph->values[i].type, type));
    else if (graph->values[i].role == GR_INPUT && !cut)
      gr_text_put(&inputs, ", \u2026"), cut = true;
  gr_picture_put_box(g->t, g->forward, y, FORWARD_WIDTH, 26, "i");
  gr_picture_put_text(g->t, g->forward + 8, y + 17, "", inputs.len ? inputs.chars : "no inputs");
  gr_picture_put_arrow(g->t, g->forward + FORWARD_WIDTH / 2, y + 26, g->lay.top[0] - 3, "lf");
  for (uint32_t i = 0; i < g->p->ops.n; i++) updates += g->p->ops.op[i].phase == GR_PICTURE_UPDATE;
  if (!g->trains || !updates) return;
  gr_picture_summary(&update, g->p, 0, GR_PICTURE_UPDATE, BACKWARD_LETTERS - 8);
  gr_picture_put_box(g->t, g->backward, y, BACKWARD_WIDTH, 26, "u");
  gr_picture_put_textf(g->t, g->backward + 8, y + 17, "", "update: %s", update.chars);
  gr_picture_put_arrow(g->t, g->backward + BACKWARD_WIDTH / 2, g->lay.top[0], y + 29, "lk");
  gr_picture_put_moves(g, 0, GR_PICTURE_UPDATE, g->moves_backward, y);
}

// From the last box of the forward pass to that of the backward pass.
static void put_turn(gr_picture_page *g) {
  uint32_t last = g->p->n_rows - 1;
  int y = g->lay.top[last] + GR_PICTURE_ROW, turn = y + 22;
  int source = g->forward + FORWARD_WIDTH / 2, target = g->backward + BACKWARD_WIDTH / 2;
  if (!g->trains || !g->p->row[last].n_ops[GR_PICTURE_BACKWARD]) return;
  gr_text_printf(g->t, "<path d=\"M%d %dV%dH%dV%d\" class=\"l lk\" marker-end=\"url(#gp-lk)\"/>\n",
                 source, y, turn, target, y + 3);
  gr_picture_put_text(g->t, (source + target) / 2, turn - 5, "class=\"s\" text-anchor=\"middle\"",
                      "gradient of the loss");
}

// One bar: states by kind, then the arena, with inputs' second places.
static void put_memory(gr_picture_page *g) {
  static const char *const names[GR_KIND_COUNT + 1] = {
      "weights", "buffers", "optimizer", "ema", "counters", "tables", "accumulators", "arena"};
  const gr_plan *plan = g->p->plan;
  double bytes[GR_KIND_COUNT + 1] = {0}, all = (double)(gr_plan_bytes(plan) + plan->host_bytes);
  int width = g->width - 2 * MARGIN, x = MARGIN, label = MARGIN;
  char text[32];
  bytes[GR_KIND_COUNT] = (double)(plan->arena_bytes + plan->upload_bytes);
  for (uint32_t i = 0; i < plan->n_states; i++)
    bytes[plan->states[i].kind] += (double)plan->states[i].bytes;
  gr_picture_put_textf(g->t, MARGIN, 66, "class=\"b\"", "memory of a rank: %s",
                       gr_bytes_text(all, text));
  label += 190;
  for (int k = 0; k <= GR_KIND_COUNT && all > 0; k++) {
    int part = (int)(width * bytes[k] / all);
    if (bytes[k] <= 0) continue;
    gr_text_printf(g->t, "<rect x=\"%d\" y=\"74\" width=\"%d\" height=\"12\" class=\"a%d\"/>\n", x,
                   part ? part : 1, k);
    x += part ? part : 1;
    gr_text_printf(g->t, "<rect x=\"%d\" y=\"58\" width=\"9\" height=\"9\" class=\"a%d\"/>\n",
                   label, k);
    gr_picture_put_textf(g->t, label + 13, 66, "class=\"s\"", "%s %s", names[k],
                         gr_bytes_text(bytes[k], text));
    label += 130;
  }
}

static void put_head(gr_picture_page *g) {
  const gr_picture *p = g->p;
  gr_text line = gr_text_make(p->arena);
  char flops[32], numbers[32];
  int64_t trained, all = gr_plan_parameters(p->plan, &trained);
  gr_picture_put_text(g->t, MARGIN, 28, "class=\"t\"",
                      p->request->title ? p->request->title : p->program->name);
  gr_text_printf(&line, "program %s: %u nodes, %s on each of %d rank%s", p->program->name,
                 p->program->frame.g->n_nodes,
                 gr_flops_text((double)gr_graph_flops(p->program->frame.g), flops),
                 gr_mesh_ranks(&p->plan->mesh), gr_text_s(gr_mesh_ranks(&p->plan->mesh)));
  for (int a = 0; a < p->plan->mesh.n_axes; a++)
    gr_text_printf(&line, "%s%s=%d", a ? " x " : " (", p->plan->mesh.axis[a].name,
                   p->plan->mesh.axis[a].size);
  gr_text_printf(&line, "%s; %s parameters", p->plan->mesh.n_axes ? ")" : "",
                 gr_picture_count_text((double)all, numbers));
  if (trained != all)
    gr_text_printf(&line, ", %s trained", gr_picture_count_text((double)trained, numbers));
  gr_picture_put_text(g->t, MARGIN, 46, "class=\"s\"", line.chars);
}

static void put_headings(gr_picture_page *g) {
  int y = TOP - 54;
  gr_picture_put_text(g->t, g->forward, y, "class=\"b\"", "forward \u2193");
  if (g->trains) {
    gr_picture_put_text(g->t, (g->forward + FORWARD_WIDTH + g->backward) / 2, y,
                        "class=\"s\" text-anchor=\"middle\"", "kept");
    gr_picture_put_text(g->t, g->backward, y, "class=\"b\"", "backward \u2191");
  }
  gr_picture_put_text(g->t, g->weights, y, "class=\"b\"", "weights");
  gr_picture_put_text(g->t, g->live, y, "class=\"b\"", "live in the arena");
}

static void put_foot(gr_picture_page *g) {
  uint32_t hidden = g->lay.flow[0].hidden + g->lay.flow[1].hidden;
  gr_text line = gr_text_make(g->p->arena);
  gr_text_put(&line, "Numbers of a repeated block are of all its repetitions.");
  if (hidden) gr_text_printf(&line, " %u more lines have no room.", hidden);
  gr_picture_put_text(g->t, MARGIN, g->lay.bottom + BOTTOM - 20, "class=\"s\"", line.chars);
}

static void put_begin(gr_picture_page *g) {
  int height = g->lay.bottom + BOTTOM;
  gr_text_printf(g->t,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                 "viewBox=\"0 0 %d %d\" role=\"img\" class=\"gp\">\n<title>",
                 g->width, height, g->width, height);
  gr_picture_put_escaped(g->t, g->p->request->title ? g->p->request->title : g->p->program->name);
  gr_text_printf(g->t, "</title>\n%s<defs>", style);
  static const char *const arrows[][2] = {{"lf", "mf"}, {"lk", "mk"}, {"ll", "ml"}};
  for (int i = 0; i < 3; i++)
    gr_text_printf(
        g->t,
        "<marker id=\"gp-%s\" viewBox=\"0 0 6 6\" refX=\"4\" refY=\"3\" markerWidth=\"5\" "
        "markerHeight=\"5\" orient=\"auto\"><path d=\"M0 0L6 3L0 6z\" class=\"%s\"/></marker>",
        arrows[i][0], arrows[i][1]);
  gr_text_printf(g->t, "</defs>\n<rect width=\"%d\" height=\"%d\" class=\"bg\"/>\n", g->width,
                 height);
}

void gr_picture_write(gr_text *t, const gr_picture *p) {
  gr_picture_page g = {
      .t = t, .p = p, .lay = gr_picture_lay_out(p, TOP), .trains = p->program->trains};
  g.most_live = (double)p->program->frame.bytes + 1;
  set_columns(&g);
  put_begin(&g);
  put_head(&g);
  put_memory(&g);
  put_headings(&g);
  put_frames(&g);
  gr_picture_put_lines(&g);
  put_ends(&g);
  for (uint32_t r = 0; r < p->n_rows; r++) gr_picture_put_row(&g, r);
  put_labels(&g);
  put_turn(&g);
  put_foot(&g);
  gr_text_put(t, "</svg>\n");
}
