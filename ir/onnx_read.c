// onnx_read.c - see onnx_read.h: the file's values and attributes.
#include "ir/onnx_read.h"
#include <stdarg.h>
#include <string.h>
#include "base/grow.h"

// ---- Values -----------------------------------------------------------------------------------

int gr_read_var_add(gr_onnx_reading *r, const gr_type type[GR_READ_CHOICES]) {
  GR_GROW(r->arena, r->vars, r->n_vars, r->cap_vars);
  gr_read_var *v = &r->vars[r->n_vars];
  *v = (gr_read_var){.name = NULL};
  memcpy(v->type, type, sizeof v->type);
  return r->n_vars++;
}

int gr_read_known(gr_onnx_reading *r, const gr_type *type, const void *data) {
  gr_type all[GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES; c++) all[c] = *type;
  int v = gr_read_var_add(r, all);
  for (int c = 0; c < GR_READ_CHOICES; c++) r->vars[v].data[c] = data;
  return v;
}

int gr_read_integers(gr_onnx_reading *r, const gr_type *type, const int64_t *items) {
  size_t n = (size_t)gr_type_count(type);
  int64_t *copy = GR_NEW(r->arena, int64_t, n + 1);
  for (size_t i = 0; i < n; i++) copy[i] = items[i];
  return gr_read_known(r, type, copy);
}

int gr_read_vector(gr_onnx_reading *r, int n, int64_t (*items)[GR_READ_CHOICES]) {
  int v = gr_read_known(r, &(gr_type){.dtype = GR_I64, .rank = 1, .dim = {n}}, "");
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    int64_t *copy = GR_NEW(r->arena, int64_t, n + 1);
    for (int i = 0; i < n; i++) copy[i] = items[i][c];
    r->vars[v].data[c] = copy;
  }
  return v;
}

void gr_read_bind(gr_onnx_reading *r, const char *name, int var, bool last) {
  uint32_t i = r->names.n;
  if (!gr_map_find(&r->names, name, &i)) gr_map_put(&r->names, name, i);
  GR_GROW(r->arena, r->bound, (int)i, r->cap_bound);
  r->bound[i] = (gr_read_binding){.var = var, .last = last};
  uint32_t uses;
  gr_read_var *v = &r->vars[var];
  if (v->weight && gr_map_find(&r->uses, name, &uses) && (int)uses > v->uses) v->uses = (int)uses;
}

gr_read_binding *gr_read_find(const gr_onnx_reading *r, const char *name) {
  uint32_t i;
  return gr_map_find(&r->names, name, &i) && r->bound[i].var >= 0 ? &r->bound[i] : NULL;
}

void gr_read_unbind(gr_onnx_reading *r, const char *name) {
  uint32_t i;
  if (gr_map_find(&r->names, name, &i)) r->bound[i].var = -1;
}

const gr_type *gr_read_type(const gr_onnx_reading *r, int var) { return &r->vars[var].type[0]; }
bool gr_read_is_vector(const gr_onnx_reading *r, int var, int64_t n) {
  const gr_type *t = gr_read_type(r, var);
  return t->rank == 1 && t->dim[0] == n;
}
bool gr_read_is_known(const gr_onnx_reading *r, int var) { return r->vars[var].data[0] != NULL; }

bool gr_read_is_own(const gr_onnx_reading *r, int var) {
  const gr_read_var *v = &r->vars[var];
  return var && v->data[0] && v->weight && v->uses <= 1 && !v->line;
}

void gr_read_keep(gr_onnx_reading *r, int var) {
  if (r->vars[var].weight) r->vars[var].uses += 2;
}

bool gr_read_needs(gr_onnx_reading *r, int k) {
  uint32_t n;
  const char *name = r->node && k < r->node->n_out ? r->node->out[k] : "";
  return *name && gr_map_find(&r->uses, name, &n) && n;
}

int gr_read_numbers(gr_onnx_reading *r, int var, int most, int64_t (*out)[GR_READ_CHOICES]) {
  const gr_read_var *v = &r->vars[var];
  if (r->err || !var || !v->data[0] || v->weight || v->type[0].dtype != GR_I64) return -1;
  int64_t n = gr_type_count(&v->type[0]);
  for (int c = 0; c < r->n_choices; c++)
    if (v->type[c].rank > 1 || gr_type_count(&v->type[c]) != n || n > most) return -1;
  for (int c = 0; c < GR_READ_CHOICES; c++)
    for (int64_t i = 0; i < n; i++) out[i][c] = ((const int64_t *)v->data[c])[i];
  return (int)n;
}

bool gr_read_scalar(const gr_onnx_reading *r, int var, double *out) {
  const gr_read_var *v = &r->vars[var];
  if (r->err || !var || !v->data[0] || v->weight) return false;
  for (int c = 0; c < r->n_choices; c++) {
    gr_dtype d = v->type[c].dtype;
    if (gr_type_count(&v->type[c]) != 1 || (d != GR_I64 && d != GR_F32)) return false;
    double x = v->type[c].dtype == GR_I64 ? (double)*(const int64_t *)v->data[c]
                                          : (double)*(const float *)v->data[c];
    if (c && x != *out) return false;
    *out = x;
  }
  return true;
}

int gr_read_number(gr_onnx_reading *r, double x) {
  float *data = GR_NEW(r->arena, float, 1);
  *data = (float)x;
  return gr_read_known(r, &(gr_type){.dtype = GR_F32}, data);
}

const char *gr_read_list(gr_onnx_reading *r, int n, const int64_t *items) {
  gr_text t = gr_text_make(r->arena);
  gr_text_put(&t, "[");
  for (int i = 0; i < n; i++) gr_text_printf(&t, "%s%lld", i ? ", " : "", (long long)items[i]);
  gr_text_put(&t, "]");
  return t.chars;
}

// ---- Errors -----------------------------------------------------------------------------------

void gr_read_refuse(gr_onnx_reading *r, const char *why, ...) {
  char text[512];
  va_list args;
  if (r->err) return;
  va_start(args, why);
  vsnprintf(text, sizeof text, why, args);
  va_end(args);
  r->err = gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "'%s': the node '%s' (%s) %s", r->file,
                   r->node->name, r->node->op, text);
}

// ---- Attributes -------------------------------------------------------------------------------

static const gr_onnx_attr *find_attr(gr_onnx_reading *r, const char *name, gr_onnx_kind kind,
                                     const char *what) {
  for (int i = 0; i < r->node->n_attrs; i++) {
    const gr_onnx_attr *a = &r->node->attr[i];
    if (strcmp(a->name, name) != 0) continue;
    r->asked |= 1ull << i;
    if (a->kind == kind) return a;
    gr_read_refuse(r, "has an attribute '%s' that is not %s", name, what);
  }
  return NULL;
}

const gr_onnx_tensor *gr_read_tensor(gr_onnx_reading *r, const char *name) {
  const gr_onnx_attr *a = find_attr(r, name, GR_ONNX_TENSOR, "a tensor");
  return a ? a->tensor : NULL;
}

int64_t gr_read_int(gr_onnx_reading *r, const char *name, int64_t otherwise) {
  const gr_onnx_attr *a = find_attr(r, name, GR_ONNX_INT, "an integer");
  return a ? a->i : otherwise;
}

const gr_onnx_graph *gr_read_graph(gr_onnx_reading *r, const char *name) {
  const gr_onnx_attr *a = find_attr(r, name, GR_ONNX_GRAPH, "a graph");
  if (!a) gr_read_refuse(r, "has no attribute '%s'", name);
  return a ? a->graph : NULL;
}

double gr_read_float(gr_onnx_reading *r, const char *name, double otherwise) {
  const gr_onnx_attr *a = find_attr(r, name, GR_ONNX_FLOAT, "a number");
  return a ? a->f : otherwise;
}

const char *gr_read_text(gr_onnx_reading *r, const char *name, const char *otherwise) {
  const gr_onnx_attr *a = find_attr(r, name, GR_ONNX_TEXT, "a string");
  return a ? a->text : otherwise;
}

int gr_read_ints(gr_onnx_reading *r, const char *name, int most, int64_t *out, int otherwise) {
  const gr_onnx_attr *a = find_attr(r, name, GR_ONNX_INTS, "a list of integers");
  if (!a && otherwise < 0) gr_read_refuse(r, "has no attribute '%s'", name);
  if (!a) return otherwise < 0 ? 0 : otherwise;
  if (a->i > most) gr_read_refuse(r, "has %lld numbers in '%s'", (long long)a->i, name);
  for (int i = 0; i < a->i && i < most; i++) out[i] = a->ints[i];
  return a->i > most ? 0 : (int)a->i;
}

void gr_read_only(gr_onnx_reading *r, const char *name, int64_t value) {
  int64_t v = gr_read_int(r, name, value);
  if (v != value)
    gr_read_refuse(r, "has %s=%lld; only %lld is read", name, (long long)v, (long long)value);
}
