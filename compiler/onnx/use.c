// use.c - the text of a node that is read: its op, operands and settings, and the weights and
// constants that it needs. See print.h.
#include <math.h>
#include <string.h>
#include "base/grow.h"
#include "compiler/onnx/print.h"
#include "ops/kernels/cpu.h"
#include "ops/ops.h"

static gr_status no_expression(const gr_onnx_reading *r, const gr_read_line *l) {
  return gr_hint(gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                         "'%s': the node '%s' (%s) has a size that is no product and no sum of "
                         "those of the inputs",
                         r->file, l->node->name, l->node->op),
                 "export the model with fewer open sizes: that of the batch alone");
}

// ---- Weights ----------------------------------------------------------------------------------

static void put_weight(gr_onnx_printing *p, const char *name, const gr_read_var *v) {
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

static void put_parts(gr_onnx_printing *p, const gr_read_line *l) {
  for (int i = 0; i < l->n_parts; i++)
    put_weight(p, gr_arena_printf(p->r->arena, "%s.%s", l->path, l->part[i].suffix),
               &p->r->vars[l->part[i].var]);
}

// ---- Constants ----------------------------------------------------------------------------------

const char *gr_onnx_shape_text(gr_onnx_reading *r, const gr_read_var *v) {
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

static bool put_pattern(gr_onnx_printing *p, const gr_read_var *v, const char *name) {
  const gr_dtype dtype = v->type[0].dtype;
  bool equal;
  int64_t n[GR_READ_CHOICES];
  if (!gr_onnx_has_pattern(p->r, v, &equal, n)) return false;
  double x = gr_get(v->data[0], dtype, 0);
  const char *i32 = dtype == GR_I64 ? ", dtype: i32" : "", *shape = gr_onnx_shape_text(p->r, v);
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
static int known_before(const gr_onnx_printing *p, const gr_read_var *v) {
  for (int i = 0; i < p->n_known; i++) {
    const gr_read_var *other = &p->r->vars[p->known[i]];
    bool same = true;
    for (int c = 0; c < p->r->n_choices && same; c++)
      same = gr_type_same(&v->type[c], &other->type[c]) &&
             !memcmp(v->data[c], other->data[c], gr_type_bytes(&v->type[c]));
    if (same) return p->known[i];
  }
  return 0;
}

static gr_status put_values(gr_onnx_printing *p, const gr_read_var *v, const char *name,
                            const char *path, const gr_read_line *user) {
  if (put_pattern(p, v, name)) return GR_OK;
  if (gr_onnx_is_settled(p->r, v)) {
    path = gr_read_free_path(p->r, path);
    gr_text_printf(&p->constants, "  - %s: {param: %s, name: \"%s\"%s, train: false}\n", name,
                   gr_onnx_shape_text(p->r, v), path,
                   v->type[0].dtype == GR_I64 ? ", dtype: i32" : "");
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

static gr_status put_constant(gr_onnx_printing *p, gr_read_var *v, const char *path,
                              const char *word, const gr_read_line *user) {
  int var = (int)(v - p->r->vars);
  GR_TRY(gr_onnx_check_range(p->r, v, user));
  if ((p->same[var] = known_before(p, v))) return GR_OK;
  v->name = gr_onnx_free_word(p->r->arena, &p->words, word);
  p->known[p->n_known++] = var;
  return put_values(p, v, v->name, path, user);
}

gr_onnx_item *gr_onnx_add_item(gr_onnx_printing *p, const char *text, const char *word) {
  uint32_t kind = p->kinds.n;
  GR_GROW(p->r->arena, p->all.items, p->all.n, p->all.cap);
  if (!gr_map_find(&p->kinds, text, &kind)) gr_map_put(&p->kinds, text, kind);
  gr_onnx_item *x = &p->all.items[p->all.n++];
  *x = (gr_onnx_item){.text = text, .word = word, .kind = (int)kind};
  return x;
}

// Constants are before all nodes, and weights before the node that reads them.
static gr_status put_known(gr_onnx_printing *p, gr_read_var *v, const gr_read_line *user) {
  gr_arena *a = p->r->arena;
  const char *name = v->name ? v->name : user->node->name;
  const char *path = gr_onnx_word(a, name, "_.-", "constant"), *dot = strrchr(path, '.');
  const char *word = gr_onnx_word(a, dot ? dot + 1 : path, "_", "constant");
  if (!v->weight) return put_constant(p, v, path, word, user);
  gr_onnx_item *x = gr_onnx_add_item(
      p, gr_arena_printf(a, "{param: %s%s", gr_onnx_shape_text(p->r, v), init_of(v)), word);
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

static void put_var(gr_onnx_printing *p, int var, gr_onnx_use *u) {
  var = p->same[var] ? p->same[var] : var;
  if (p->r->vars[var].depth) {
    gr_text_put(&u->text, p->r->vars[var].name);
    return;
  }
  gr_text_printf(&u->text, "%c", GR_ONNX_OPERAND);
  u->in[u->n_in++] = var;
}

// The operand is written into the text, or listed.
gr_status gr_onnx_put_operand(gr_onnx_printing *p, const gr_read_line *l, int k, gr_onnx_use *u) {
  gr_read_var *v = &p->r->vars[l->in[k]];
  bool there = !v->data[0] || v->line;
  double x;
  // Not of whole numbers: dividing by one in the text is multiplying by a fraction.
  if (!there && takes_numbers(l) && v->type[0].dtype != GR_I64 &&
      gr_read_scalar(p->r, l->in[k], &x) && gr_type_count(&v->type[0]) == 1 &&
      v->type[0].rank <= 1 && isfinite(x)) {
    gr_text_printf(&u->text, "%.9g", x);
    return GR_OK;
  }
  if (!there) GR_TRY(put_known(p, v, l));
  if (!there) p->r->vars[l->in[k]].line = -1;
  put_var(p, l->in[k], u);
  return GR_OK;
}

static gr_status put_setting(gr_onnx_printing *p, const gr_read_line *l, const gr_read_setting *s,
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

const char *gr_onnx_word_of(gr_onnx_printing *p, const gr_read_line *l) {
  const char *dot = l->path ? strrchr(l->path, '.') : NULL;
  const char *last = l->path ? dot ? dot + 1 : l->path : l->op;
  return *last >= '0' && *last <= '9' ? l->op : gr_onnx_word(p->r->arena, last, "_", l->op);
}

gr_status gr_onnx_put_use(gr_onnx_printing *p, const gr_read_line *l, gr_onnx_use *u) {
  gr_text_printf(&u->text, "{%s: %s", l->op, l->n_in == 1 ? "" : "[");
  for (int k = 0; k < l->n_in; k++) {
    gr_text_put(&u->text, k ? ", " : "");
    GR_TRY(gr_onnx_put_operand(p, l, k, u));
  }
  gr_text_put(&u->text, l->n_in == 1 ? "" : "]");
  for (int i = 0; i < l->n_settings; i++) GR_TRY(put_setting(p, l, &l->setting[i], &u->text));
  put_parts(p, l);
  return GR_OK;
}
