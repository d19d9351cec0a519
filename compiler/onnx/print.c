// print.c - see print.h.
#include "compiler/onnx/print.h"
#include <string.h>

static gr_status put_line(gr_onnx_printing *p, const gr_read_line *l) {
  gr_arena *a = p->r->arena;
  int n = l->n_in;
  for (const gr_read_line *b = l; l->scan && b-- > &p->r->lines[l->scan->first];) n += b->n_in;
  gr_onnx_use u = {gr_text_make(a), GR_NEW(a, int, n + 1), .names = gr_map_make(a)};
  u.path = l->scan ? gr_onnx_scan_path(p->r, l) : NULL;
  GR_TRY(l->scan ? gr_onnx_put_scan(p, l, 0, &u) : gr_onnx_put_use(p, l, &u));
  gr_onnx_item *x = gr_onnx_add_item(p, u.text.chars, gr_onnx_word_of(p, l));
  x->in = u.in, x->n_in = u.n_in, x->out = l->out, x->n_out = l->n_out;
  x->n_inside = l->scan ? l->scan->n_last : 0;
  x->path = l->scan ? u.path : l->path, x->comment = l->node->name;
  return GR_OK;
}

// A known value that no constant can have, as it changes with sizes, is computed in the model.
static void mark_var(gr_onnx_reading *r, gr_read_var *v) {
  if (v->data[0] && !v->line && v->made && !v->weight && !gr_onnx_is_constant(r, v))
    v->line = v->made;
  if (v->line > 0) r->lines[v->line - 1].live = true;
}

static void mark(gr_onnx_reading *r, const gr_onnx_end *outputs, int n) {
  for (int i = 0; i < n; i++) mark_var(r, &r->vars[outputs[i].var]);
  for (int i = r->n_lines; i-- > 0;)
    for (int k = 0; r->lines[i].live && k < r->lines[i].n_in; k++)
      mark_var(r, &r->vars[r->lines[i].in[k]]);
}

static void put_inputs(gr_onnx_printing *p, const gr_onnx_end *inputs, int n, gr_text *t) {
  gr_text_put(t, "inputs:\n");
  for (int i = 0; i < n; i++) {
    const gr_read_var *v = &p->r->vars[inputs[i].var];
    gr_text_printf(t, "  %s: {shape: %s%s}\n", inputs[i].name, gr_onnx_shape_text(p->r, v),
                   v->type[0].dtype == GR_I32 ? ", dtype: i32" : "");
  }
}

// An output that has a name of its own already, as an input or another output, gets a second one.
static void put_outputs(gr_onnx_printing *p, const gr_onnx_end *outputs, int n, gr_text *t) {
  gr_text_put(t, "predict: {");
  for (int i = 0; i < n; i++) {
    gr_read_var *v = &p->r->vars[outputs[i].var];
    if (strcmp(v->name, outputs[i].name) != 0)
      gr_text_printf(&p->nodes, "  - %s: %s\n", outputs[i].name, v->name);
    gr_text_printf(t, "%s%s: %s", i ? ", " : "", outputs[i].name, outputs[i].name);
  }
  gr_text_put(t, "}\n");
}

static gr_status name_ends(gr_onnx_printing *p, const gr_onnx_end *inputs, int n_inputs,
                           const gr_onnx_end *outputs, int n_outputs) {
  static const char *const words[] = {"n",  "weight", "sample_weight", "step",
                                      "lr", "micro",  "loss"};
  // Tensors of the data, which a loss and metrics read: no value or weight takes their names.
  static const char *const data[] = {
      "x", "y", "lengths", "labels", "targets", "target_lengths", "class_weight", "decoder_inputs"};
  gr_onnx_reading *r = p->r;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) gr_map_put(&p->words, words[i], 1);
  for (size_t i = 0; i < sizeof data / sizeof *data; i++)
    gr_map_put(&p->words, data[i], 1), gr_map_put(&r->paths, data[i], 1);
  for (int i = 0; i < r->n_choices - 1; i++) gr_map_put(&p->words, r->letter[i], 1);
  for (int i = 0; i < n_inputs; i++)
    gr_map_put(&p->words, inputs[i].name, 1), gr_map_put(&r->paths, inputs[i].name, 1);
  for (int i = 0; i < n_outputs; i++) {
    gr_read_var *v = &r->vars[outputs[i].var];
    if (v->data[0] && !v->line)
      return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                     "'%s': the output '%s' does not depend on the inputs", r->file,
                     outputs[i].name);
    gr_map_put(&p->words, outputs[i].name, 1);
    if (!v->name) v->name = outputs[i].name;
  }
  return GR_OK;
}

static int *last_uses(const gr_onnx_printing *p, const gr_onnx_end *outputs, int n) {
  int *last = GR_NEW(p->r->arena, int, p->r->n_vars + 1);
  for (int v = 0; v <= p->r->n_vars; v++) last[v] = -1;
  for (int i = 0; i < p->all.n; i++)
    for (int k = 0; k < p->all.items[i].n_in; k++) last[p->all.items[i].in[k]] = i;
  for (int i = 0; i < n; i++) last[outputs[i].var] = p->all.n;
  return last;
}

gr_status gr_onnx_print(gr_onnx_reading *r, const gr_onnx_end *inputs, int n_inputs,
                        const gr_onnx_end *outputs, int n_outputs, bool flat,
                        gr_onnx_imported *out) {
  gr_arena *a = r->arena;
  gr_onnx_printing p = {r, .words = gr_map_make(a), .kinds = gr_map_make(a),
                        .nodes = gr_text_make(a)};
  p.inside = gr_map_make(a);
  gr_text text = gr_text_make(a), end = gr_text_make(a);
  gr_onnx_run *runs = NULL;
  p.constants = gr_text_make(a), p.known = GR_NEW(a, int, r->n_vars + 1);
  p.same = GR_NEW(a, int, r->n_vars + 1);
  GR_TRY(name_ends(&p, inputs, n_inputs, outputs, n_outputs));
  mark(r, outputs, n_outputs);
  gr_onnx_split(r, outputs, n_outputs);
  gr_text_printf(&text, "doc: \"made from a file of ONNX\"\n");
  put_inputs(&p, inputs, n_inputs, &text);
  GR_TRY(gr_onnx_put_checks(r, &text));
  for (int i = 0; i < r->n_lines; i++)
    if (r->lines[i].live && !r->vars[r->lines[i].out].depth) GR_TRY(put_line(&p, &r->lines[i]));
  const int *last = last_uses(&p, outputs, n_outputs);
  int n = flat ? 0 : gr_onnx_fold(r, &p.all, last, &runs);
  gr_onnx_lines(r, &p.all, n, runs, last, &p.words, &p.nodes);
  put_outputs(&p, outputs, n_outputs, &end);
  gr_text_printf(&text, "nodes:\n%s%s%s", p.constants.chars, p.nodes.chars, end.chars);
  out->text = text.chars, out->weights = p.weights, out->n_weights = p.n_weights;
  return GR_OK;
}
