// print.c - see print.h.
#include "compiler/onnx/print.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "ops/ops.h"

typedef struct printing {
  gr_onnx_reading *r;
  gr_text nodes;
  gr_map words;  // names of values
  gr_onnx_weight *weights;
  int n_weights, cap_weights;
} printing;

// ---- Words and numbers ------------------------------------------------------------------------

const char *gr_onnx_word(gr_arena *a, const char *name, const char *more, const char *otherwise) {
  gr_text t = gr_text_make(a);
  for (const char *p = name; *p && t.len < 200; p++) {
    bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z');
    bool digit = *p >= '0' && *p <= '9', other = *p && strchr(more, *p);
    if (letter || (t.len && (digit || other)))
      gr_text_putn(&t, p, 1);
    else if (t.len && t.chars[t.len - 1] != '_')
      gr_text_put(&t, "_");
    else if (digit)
      gr_text_printf(&t, "_%c", *p);
  }
  while (t.len && t.chars[t.len - 1] == '_') t.chars[--t.len] = 0;
  return t.len && *t.chars != '_' ? t.chars
         : t.len                  ? gr_arena_printf(a, "v%s", t.chars)
                                  : otherwise;
}

// c + sum of slopes times letters.
static const char *affine(gr_onnx_reading *r, const int64_t v[GR_READ_CHOICES]) {
  int64_t rest = v[0];
  gr_text t = gr_text_make(r->arena);
  for (int i = 0; i < r->n_choices - 1; i++) {
    int64_t size = r->letter_size[i][0], step = r->letter_size[i][i + 1] - size;
    int64_t slope = (v[i + 1] - v[0]) / step;
    if (slope * step != v[i + 1] - v[0]) return NULL;
    if (!slope) continue;
    gr_text_put(&t, t.len ? " + " : "");
    if (slope != 1) gr_text_printf(&t, "%lld * ", (long long)slope);
    gr_text_put(&t, r->letter[i]);
    rest -= slope * size;
  }
  if (rest || !t.len)
    gr_text_printf(&t, "%s%lld", t.len ? rest < 0 ? " - " : " + " : "",
                   (long long)(t.len && rest < 0 ? -rest : rest));
  return t.chars;
}

// A number times some letters.
static const char *product(gr_onnx_reading *r, const int64_t v[GR_READ_CHOICES]) {
  int64_t rest = v[0];
  gr_text t = gr_text_make(r->arena);
  for (int i = 0; i < r->n_choices - 1; i++) {
    if (v[i + 1] == v[0]) continue;
    if (v[i + 1] != 2 * v[0] || rest % r->letter_size[i][0]) return NULL;
    rest /= r->letter_size[i][0];
    gr_text_printf(&t, "%s%s", t.len ? " * " : "", r->letter[i]);
  }
  return rest == 1 ? t.chars : gr_arena_printf(r->arena, "%lld * %s", (long long)rest, t.chars);
}

const char *gr_onnx_expression(gr_onnx_reading *r, const int64_t v[GR_READ_CHOICES]) {
  int open = 0;
  for (int i = 1; i < r->n_choices; i++) open += v[i] != v[0];
  return open > 1 ? product(r, v) : affine(r, v);
}

static gr_status no_expression(const gr_onnx_reading *r, const gr_read_line *l) {
  return gr_hint(gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                         "'%s': the node '%s' (%s) has a size that is no product and no sum of "
                         "those of the inputs",
                         r->file, l->node->name, l->node->op),
                 "export the model with fewer open sizes: that of the batch alone");
}

// ---- Weights ----------------------------------------------------------------------------------

static void put_weight(printing *p, const char *name, const gr_read_var *v) {
  if (p->n_weights == p->cap_weights) {
    p->cap_weights = 2 * p->cap_weights + 64;
    gr_onnx_weight *more = GR_NEW(p->r->arena, gr_onnx_weight, p->cap_weights);
    if (p->n_weights) memcpy(more, p->weights, sizeof *more * (size_t)p->n_weights);
    p->weights = more;
  }
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

// ---- Names of values --------------------------------------------------------------------------

static const char *free_word(printing *p, const char *word) {
  const char *name = word;
  for (int i = 2; gr_map_find(&p->words, name, NULL); i++)
    name = gr_arena_printf(p->r->arena, "%s_%d", word, i);
  gr_map_put(&p->words, name, 1);
  return name;
}

// A known value that is the same for all sizes.
static bool is_fixed(const gr_onnx_reading *r, const gr_read_var *v) {
  for (int c = 1; c < r->n_choices; c++)
    if (!gr_type_same(&v->type[c], &v->type[0]) ||
        memcmp(v->data[c], v->data[0], gr_type_bytes(&v->type[0])) != 0)
      return false;
  return true;
}

static const char *shape_text(gr_onnx_reading *r, const gr_type *t) {
  return gr_read_list(r, t->rank, t->dim);
}

// 0, 1, 2, ... up to an open size, and zeros or ones of an open shape.
static bool put_open(printing *p, const gr_read_var *v, const char *name) {
  int64_t n[GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    n[c] = gr_type_count(&v->type[c]);
    for (int64_t i = 0; i < n[c]; i++)
      if (v->type[0].dtype != GR_I64 || ((const int64_t *)v->data[c])[i] != i) return false;
  }
  const char *size = gr_onnx_expression(p->r, n);
  if (!size) return false;
  gr_text_printf(&p->nodes, "  - %s: {arange: [], size: %s, dtype: i32}\n", name, size);
  if (v->type[0].rank == 1) return true;
  gr_text_printf(&p->nodes, "  - %s: {reshape: %s, shape: [", name, name);
  for (int d = 0; d < v->type[0].rank; d++) {
    for (int c = 0; c < GR_READ_CHOICES; c++) n[c] = v->type[c].dim[d];
    const char *each = gr_onnx_expression(p->r, n);
    gr_text_printf(&p->nodes, "%s%s", d ? ", " : "", each ? each : "-1");
  }
  gr_text_put(&p->nodes, "]}\n");
  return true;
}

// Weights start as they would in a model without them: the file's values come beside it.
static const char *init_of(const gr_read_var *v) {
  if (!v->weight)
    return v->type[0].dtype == GR_I64 ? ", dtype: i32, train: false" : ", train: false";
  return v->type[0].rank < 2    ? ""
         : v->type[0].rank == 2 ? ", init: xavier_uniform"
                                : ", init: normal, std: 0.02";
}

static bool put_equal(printing *p, const gr_read_var *v, const char *name) {
  int64_t n = gr_type_count(&v->type[0]);
  if (v->weight || v->type[0].dtype != GR_F32) return false;
  const float *x = v->data[0];
  for (int64_t i = 0; i < n; i++)
    if (x[i] != x[0]) return false;
  gr_text_printf(&p->nodes, "  - %s: {fill: [], shape: %s, value: %.9g}\n", name,
                 shape_text(p->r, &v->type[0]), (double)x[0]);
  return true;
}

static gr_status put_known(printing *p, gr_read_var *v, const gr_read_line *user) {
  const char *name = v->name ? v->name : user->node->name;
  const char *path = gr_read_free_path(p->r, gr_onnx_word(p->r->arena, name, "_.", "constant"));
  const char *dot = strrchr(path, '.');
  v->name = free_word(p, gr_onnx_word(p->r->arena, dot ? dot + 1 : path, "_", "constant"));
  if (!is_fixed(p->r, v)) return put_open(p, v, v->name) ? GR_OK : no_expression(p->r, user);
  if (put_equal(p, v, v->name)) return GR_OK;
  gr_text_printf(&p->nodes, "  - %s: {param: %s, name: \"%s\"%s}\n", v->name,
                 shape_text(p->r, &v->type[0]), path, init_of(v));
  put_weight(p, path, v);
  return GR_OK;
}

// ---- Lines ------------------------------------------------------------------------------------

static bool takes_numbers(const gr_read_line *l) {
  const gr_op *op = l->path ? NULL : gr_op_find(l->op);
  return op && l->n_in > 1 && op->index_spec && !strncmp(op->index_spec, "...,...", 7);
}

static gr_status put_operand(printing *p, const gr_read_line *l, int k, const char **out) {
  gr_read_var *v = &p->r->vars[l->in[k]];
  double x;
  if (v->data[0] && !v->line && takes_numbers(l) && gr_read_scalar(p->r, l->in[k], &x) &&
      gr_type_count(&v->type[0]) == 1 && v->type[0].rank <= 1 && isfinite(x)) {
    *out = gr_arena_printf(p->r->arena, "%.9g", x);
    return GR_OK;
  }
  if (v->data[0] && !v->line) {
    GR_TRY(put_known(p, v, l));
    v->line = -1;
  }
  *out = v->name;
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

static void put_comment(printing *p, const gr_onnx_node *n) {
  gr_text_put(&p->nodes, "  # ");
  for (const char *c = n->name; *c; c++)
    gr_text_putn(&p->nodes, *c >= ' ' && *c < 127 ? c : "?", 1);
  gr_text_put(&p->nodes, "\n");
}

static gr_status put_line(printing *p, gr_read_line *l) {
  gr_text t = gr_text_make(p->r->arena);
  gr_text_put(&t, l->n_in == 1 ? "" : "[");
  for (int k = 0; k < l->n_in; k++) {
    const char *name = NULL;
    GR_TRY(put_operand(p, l, k, &name));
    gr_text_printf(&t, "%s%s", k ? ", " : "", name);
  }
  gr_text_put(&t, l->n_in == 1 ? "" : "]");
  for (int i = 0; i < l->n_settings; i++) GR_TRY(put_setting(p, l, &l->setting[i], &t));
  if (l->path) gr_text_printf(&t, ", name: \"%s\"", l->path);
  gr_text_put(&p->nodes, "  - ");
  for (int k = 0; k < l->n_out; k++) {
    gr_read_var *v = &p->r->vars[l->out + k];
    if (!v->name) v->name = free_word(p, word_of(p, l));
    gr_text_printf(&p->nodes, "%s%s", k ? ", " : "", v->name);
  }
  gr_text_printf(&p->nodes, ": {%s: %s}", l->op, t.chars);
  put_comment(p, l->node);
  put_parts(p, l);
  return GR_OK;
}

// ---- The whole --------------------------------------------------------------------------------

static void mark(gr_onnx_reading *r, const gr_onnx_end *outputs, int n) {
  for (int i = 0; i < n; i++)
    if (r->vars[outputs[i].var].line > 0) r->lines[r->vars[outputs[i].var].line - 1].live = true;
  for (int i = r->n_lines; i-- > 0;)
    for (int k = 0; r->lines[i].live && k < r->lines[i].n_in; k++) {
      int line = r->vars[r->lines[i].in[k]].line;
      if (line > 0) r->lines[line - 1].live = true;
    }
}

static gr_status put_inputs(printing *p, const gr_onnx_end *inputs, int n, gr_text *t) {
  gr_text_put(t, "inputs:\n");
  for (int i = 0; i < n; i++) {
    const gr_read_var *v = &p->r->vars[inputs[i].var];
    gr_text_printf(t, "  %s: {shape: [", inputs[i].name);
    for (int d = 0; d < v->type[0].rank; d++) {
      int64_t sizes[GR_READ_CHOICES];
      for (int c = 0; c < GR_READ_CHOICES; c++) sizes[c] = v->type[c].dim[d];
      gr_text_printf(t, "%s%s", d ? ", " : "", gr_onnx_expression(p->r, sizes));
    }
    gr_text_printf(t, "]%s}\n", v->type[0].dtype == GR_I32 ? ", dtype: i32" : "");
  }
  return GR_OK;
}

// An output that has a name of its own already, as an input or another output, gets a second one.
static gr_status put_outputs(printing *p, const gr_onnx_end *outputs, int n, gr_text *t) {
  gr_text_put(t, "predict: {");
  for (int i = 0; i < n; i++) {
    gr_read_var *v = &p->r->vars[outputs[i].var];
    if (v->data[0] && !v->line)
      return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                     "'%s': the output '%s' does not depend on the inputs", p->r->file,
                     outputs[i].name);
    if (strcmp(v->name, outputs[i].name) != 0)
      gr_text_printf(&p->nodes, "  - %s: %s\n", outputs[i].name, v->name);
    gr_text_printf(t, "%s%s: %s", i ? ", " : "", outputs[i].name, outputs[i].name);
  }
  gr_text_put(t, "}\n");
  return GR_OK;
}

gr_status gr_onnx_print(gr_onnx_reading *r, const gr_onnx_end *inputs, int n_inputs,
                        const gr_onnx_end *outputs, int n_outputs, gr_onnx_imported *out) {
  static const char *const taken[] = {"n",  "weight", "sample_weight", "step",
                                      "lr", "micro",  "loss"};
  printing p = {r, .words = gr_map_make(r->arena), .nodes = gr_text_make(r->arena)};
  gr_text text = gr_text_make(r->arena), end = gr_text_make(r->arena);
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) gr_map_put(&p.words, taken[i], 1);
  for (int i = 0; i < r->n_choices - 1; i++) gr_map_put(&p.words, r->letter[i], 1);
  for (int i = 0; i < n_inputs; i++) gr_map_put(&p.words, inputs[i].name, 1);
  for (int i = 0; i < n_outputs; i++) {
    gr_map_put(&p.words, outputs[i].name, 1);
    if (!r->vars[outputs[i].var].name) r->vars[outputs[i].var].name = outputs[i].name;
  }
  mark(r, outputs, n_outputs);
  gr_text_printf(&text, "doc: \"made from a file of ONNX\"\n");
  GR_TRY(put_inputs(&p, inputs, n_inputs, &text));
  for (int i = 0; i < r->n_lines; i++)
    if (r->lines[i].live) GR_TRY(put_line(&p, &r->lines[i]));
  GR_TRY(put_outputs(&p, outputs, n_outputs, &end));
  gr_text_printf(&text, "nodes:\n%s%s", p.nodes.chars, end.chars);
  out->text = text.chars, out->weights = p.weights, out->n_weights = p.n_weights;
  return GR_OK;
}
