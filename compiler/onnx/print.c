// print.c - see print.h.
#include "compiler/onnx/print.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/grow.h"
#include "ops/kernels/cpu.h"
#include "ops/ops.h"

typedef struct printing {
  gr_onnx_reading *r;
  gr_onnx_items all;
  gr_text constants, nodes;
  gr_map words, kinds;  // names of values; texts of items
  int *known, n_known;  // vars of constants that are there
  int *same;            // by var of a constant: the one that is there in its place, or 0
  gr_onnx_weight *weights;
  int n_weights, cap_weights;
} printing;

static gr_status no_expression(const gr_onnx_reading *r, const gr_read_line *l) {
  return gr_hint(gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                         "'%s': the node '%s' (%s) has a size that is no product and no sum of "
                         "those of the inputs",
                         r->file, l->node->name, l->node->op),
                 "export the model with fewer open sizes: that of the batch alone");
}

// ---- Weights ----------------------------------------------------------------------------------

static void put_weight(printing *p, const char *name, const gr_read_var *v) {
  GR_GROW(p->r->arena, p->weights, p->n_weights, p->cap_weights);
  gr_type t = v->type[0];
  const void *data = v->data[0];
  if (t.dtype == GR_I64) {
    int64_t n = gr_type_count(&t);
    int32_t *narrow = GR_NEW(p->r->arena, int32_t, (size_t)n + 1);
    for (int64_t i = 0; i < n; i++) narrow[i] = (int32_t)((const int64_t *)data)[i];
    t.dtype = GR_I32, data = narrow;
  }
  p->weights[p->n_weights++] = (gr_onnx_weight){name, t, data};
}

static void put_parts(printing *p, const gr_read_line *l) {
  for (int i = 0; i < l->n_parts; i++)
    put_weight(p, gr_arena_printf(p->r->arena, "%s.%s", l->path, l->part[i].suffix),
               &p->r->vars[l->part[i].var]);
}

// ---- Constants ----------------------------------------------------------------------------------

static const char *shape_text(gr_onnx_reading *r, const gr_read_var *v) {
  gr_text t = gr_text_make(r->arena);
  for (int d = 0; d < v->type[0].rank; d++) {
    int64_t n[GR_READ_CHOICES];
    for (int c = 0; c < GR_READ_CHOICES; c++) n[c] = v->type[c].dim[d];
    const char *each = gr_onnx_expression(r, n);
    gr_text_printf(&t, "%s%s", d ? ", " : "[", each ? each : "-1");
  }
  gr_text_put(&t, v->type[0].rank ? "]" : "[]");
  return t.chars;
}

static bool put_pattern(printing *p, const gr_read_var *v, const char *name) {
  const gr_dtype dtype = v->type[0].dtype;
  bool equal;
  int64_t n[GR_READ_CHOICES];
  if (!gr_onnx_has_pattern(p->r, v, &equal, n)) return false;
  double x = gr_get(v->data[0], dtype, 0);
  const char *i32 = dtype == GR_I64 ? ", dtype: i32" : "", *shape = shape_text(p->r, v);
  const char *size = equal ? NULL : gr_onnx_expression(p->r, n);
  const char *inf = !isinf(x) ? NULL : x < 0 ? "-.inf" : ".inf";
  const int digits = dtype == GR_I64 ? 10 : 9;
  if (equal)
    gr_text_printf(&p->constants, "  - %s: {fill: [], shape: %s, value: %s%s}\n", name, shape,
                   inf ? inf : gr_arena_printf(p->r->arena, "%.*g", digits, x), i32);
  else
    gr_text_printf(&p->constants, "  - %s: {arange: [], size: %s%s}\n", name, size ? size : "-1",
                   i32);
  if (!equal && v->type[0].rank != 1)
    gr_text_printf(&p->constants, "  - %s: {reshape: %s, shape: %s}\n", name, name, shape);
  return true;
}

// Weights start as they would in a model without them: the file's values come beside it.
static const char *init_of(const gr_read_var *v) {
  return v->type[0].rank < 2    ? ""
         : v->type[0].rank == 2 ? ", init: xavier_uniform"
                                : ", init: normal, std: 0.02";
}

// A constant that is there already.
static int known_before(const printing *p, const gr_read_var *v) {
  for (int i = 0; i < p->n_known; i++) {
    const gr_read_var *other = &p->r->vars[p->known[i]];
    if (gr_type_same(&v->type[0], &other->type[0]) && gr_onnx_is_settled(p->r, other) &&
        !memcmp(v->data[0], other->data[0], gr_type_bytes(&v->type[0])))
      return p->known[i];
  }
  return 0;
}

static gr_status put_values(printing *p, const gr_read_var *v, const char *name, const char *path,
                            const gr_read_line *user) {
  if (put_pattern(p, v, name)) return GR_OK;
  if (gr_onnx_is_settled(p->r, v)) {
    path = gr_read_free_path(p->r, path);
    gr_text_printf(&p->constants, "  - %s: {param: %s, name: \"%s\"%s, train: false}\n", name,
                   shape_text(p->r, v), path, v->type[0].dtype == GR_I64 ? ", dtype: i32" : "");
    put_weight(p, path, v);
    return GR_OK;
  }
  int axis = gr_onnx_repeated_axis(p->r, v);
  int64_t size[GR_READ_CHOICES] = {0};
  for (int c = 0; axis >= 0 && c < GR_READ_CHOICES; c++) size[c] = v->type[c].dim[axis];
  const char *text = axis < 0 ? NULL : gr_onnx_expression(p->r, size);
  if (!text) return no_expression(p->r, user);
  GR_TRY(put_values(p, gr_onnx_without_axis(p->r, v, axis), name, path, user));
  gr_text_printf(&p->constants, "  - %s: {broadcast: %s, axis: %d, size: %s}\n", name, name, axis,
                 text);
  return GR_OK;
}

static gr_status put_constant(printing *p, gr_read_var *v, const char *path, const char *word,
                              const gr_read_line *user) {
  int var = (int)(v - p->r->vars);
  GR_TRY(gr_onnx_check_range(p->r, v, user));
  bool fixed = gr_onnx_is_settled(p->r, v);
  if (fixed && (p->same[var] = known_before(p, v))) return GR_OK;
  v->name = gr_onnx_free_word(p->r->arena, &p->words, word);
  p->known[p->n_known++] = var;
  return put_values(p, v, v->name, path, user);
}

static gr_onnx_item *add_item(printing *p, const char *text, const char *word) {
  uint32_t kind = p->kinds.n;
  GR_GROW(p->r->arena, p->all.items, p->all.n, p->all.cap);
  if (!gr_map_find(&p->kinds, text, &kind)) gr_map_put(&p->kinds, text, kind);
  gr_onnx_item *x = &p->all.items[p->all.n++];
  *x = (gr_onnx_item){.text = text, .word = word, .kind = (int)kind};
  return x;
}

// Constants are before all nodes, and weights before the node that reads them.
static gr_status put_known(printing *p, gr_read_var *v, const gr_read_line *user) {
  gr_arena *a = p->r->arena;
  const char *name = v->name ? v->name : user->node->name;
  const char *path = gr_onnx_word(a, name, "_.-", "constant"), *dot = strrchr(path, '.');
  const char *word = gr_onnx_word(a, dot ? dot + 1 : path, "_", "constant");
  if (!v->weight) return put_constant(p, v, path, word, user);
  gr_onnx_item *x =
      add_item(p, gr_arena_printf(a, "{param: %s%s", shape_text(p->r, v), init_of(v)), word);
  x->path = gr_read_free_path(p->r, path), x->out = (int)(v - p->r->vars), x->n_out = 1;
  put_weight(p, x->path, v);
  v->name = NULL;
  return GR_OK;
}

// ---- Lines ------------------------------------------------------------------------------------

static bool takes_numbers(const gr_read_line *l) {
  const gr_op *op = l->path ? NULL : gr_op_find(l->op);
  return op && l->n_in > 1 && op->index_spec && !strncmp(op->index_spec, "...,...", 7);
}

// The operand is written into the text, or listed.
static gr_status put_operand(printing *p, const gr_read_line *l, int k, gr_text *t, int *in,
                             int *n) {
  gr_read_var *v = &p->r->vars[l->in[k]];
  bool there = !v->data[0] || v->line;
  double x;
  // Not of whole numbers: dividing by one in the text is multiplying by a fraction.
  if (!there && takes_numbers(l) && v->type[0].dtype != GR_I64 &&
      gr_read_scalar(p->r, l->in[k], &x) && gr_type_count(&v->type[0]) == 1 &&
      v->type[0].rank <= 1 && isfinite(x)) {
    gr_text_printf(t, "%.9g", x);
    return GR_OK;
  }
  if (!there) GR_TRY(put_known(p, v, l));
  if (!there) v->line = -1;
  gr_text_printf(t, "%c", GR_ONNX_OPERAND);
  in[(*n)++] = p->same[l->in[k]] ? p->same[l->in[k]] : l->in[k];
  return GR_OK;
}

static gr_status put_setting(printing *p, const gr_read_line *l, const gr_read_setting *s,
                             gr_text *t) {
  if (!s->text && !s->sizes) return GR_OK;
  gr_text_printf(t, ", %s: ", s->name);
  if (s->text) gr_text_put(t, !strcmp(s->text, "i64") ? "i32" : s->text);
  if (s->text) return GR_OK;
  gr_text_put(t, s->list ? "[" : "");
  for (int i = 0; i < s->n; i++) {
    const char *each = gr_onnx_expression(p->r, s->sizes[i]);
    if (!each) return no_expression(p->r, l);
    gr_text_printf(t, "%s%s", i ? ", " : "", each);
  }
  gr_text_put(t, s->list ? "]" : "");
  return GR_OK;
}

static const char *word_of(printing *p, const gr_read_line *l) {
  const char *dot = l->path ? strrchr(l->path, '.') : NULL;
  const char *last = l->path ? dot ? dot + 1 : l->path : l->op;
  return *last >= '0' && *last <= '9' ? l->op : gr_onnx_word(p->r->arena, last, "_", l->op);
}

static gr_status put_line(printing *p, const gr_read_line *l) {
  gr_text t = gr_text_make(p->r->arena);
  int *in = GR_NEW(p->r->arena, int, l->n_in + 1), n = 0;
  gr_text_printf(&t, "{%s: %s", l->op, l->n_in == 1 ? "" : "[");
  for (int k = 0; k < l->n_in; k++) {
    gr_text_put(&t, k ? ", " : "");
    GR_TRY(put_operand(p, l, k, &t, in, &n));
  }
  gr_text_put(&t, l->n_in == 1 ? "" : "]");
  for (int i = 0; i < l->n_settings; i++) GR_TRY(put_setting(p, l, &l->setting[i], &t));
  gr_onnx_item *x = add_item(p, t.chars, word_of(p, l));
  x->in = in, x->n_in = n, x->out = l->out, x->n_out = l->n_out;
  x->path = l->path, x->comment = l->node->name;
  put_parts(p, l);
  return GR_OK;
}

// ---- The whole --------------------------------------------------------------------------------

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

static void put_inputs(printing *p, const gr_onnx_end *inputs, int n, gr_text *t) {
  gr_text_put(t, "inputs:\n");
  for (int i = 0; i < n; i++) {
    const gr_read_var *v = &p->r->vars[inputs[i].var];
    gr_text_printf(t, "  %s: {shape: %s%s}\n", inputs[i].name, shape_text(p->r, v),
                   v->type[0].dtype == GR_I32 ? ", dtype: i32" : "");
  }
}

// An output that has a name of its own already, as an input or another output, gets a second one.
static void put_outputs(printing *p, const gr_onnx_end *outputs, int n, gr_text *t) {
  gr_text_put(t, "predict: {");
  for (int i = 0; i < n; i++) {
    gr_read_var *v = &p->r->vars[outputs[i].var];
    if (strcmp(v->name, outputs[i].name) != 0)
      gr_text_printf(&p->nodes, "  - %s: %s\n", outputs[i].name, v->name);
    gr_text_printf(t, "%s%s: %s", i ? ", " : "", outputs[i].name, outputs[i].name);
  }
  gr_text_put(t, "}\n");
}

static gr_status name_ends(printing *p, const gr_onnx_end *inputs, int n_inputs,
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

static int *last_uses(const printing *p, const gr_onnx_end *outputs, int n) {
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
  printing p = {r, .words = gr_map_make(a), .kinds = gr_map_make(a), .nodes = gr_text_make(a)};
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
    if (r->lines[i].live) GR_TRY(put_line(&p, &r->lines[i]));
  const int *last = last_uses(&p, outputs, n_outputs);
  int n = flat ? 0 : gr_onnx_fold(r, &p.all, last, &runs);
  gr_onnx_lines(r, &p.all, n, runs, last, &p.words, &p.nodes);
  put_outputs(&p, outputs, n_outputs, &end);
  gr_text_printf(&text, "nodes:\n%s%s%s", p.constants.chars, p.nodes.chars, end.chars);
  out->text = text.chars, out->weights = p.weights, out->n_weights = p.n_weights;
  return GR_OK;
}
