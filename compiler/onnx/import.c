// import.c - reads a graph of ONNX: its inputs, weights and nodes, in order. See onnx.h.
#include <math.h>
#include <string.h>
#include "base/log.h"
#include "compiler/onnx/print.h"
#include "ops/kernels/onnx_read.h"

// What an open size is in the first choice; it is twice that in its own. A model is read with the
// first of these that it can be: tables of positions limit sizes, and windows need some.
static const int64_t tried[] = {64, 16, 4, 1024};
enum { N_TRIED = sizeof tried / sizeof *tried };

// ---- Open sizes -------------------------------------------------------------------------------

static void set_sizes(gr_onnx_reading *r, int letter, int64_t size) {
  for (int c = 0; c < GR_READ_CHOICES; c++)
    r->letter_size[letter][c] = c == letter + 1 ? 2 * size : size;
}

// The index of an open size: that of the batch is the first one.
static int find_letter(gr_onnx_reading *r, const gr_onnx_value *v, int axis) {
  const char *name =
      axis ? gr_onnx_word(r->arena, v->letter[axis] ? v->letter[axis] : "", "_", "") : "n";
  if (!*name || !strcmp(name, "n")) name = axis ? gr_arena_printf(r->arena, "size_%d", axis) : "n";
  for (int i = 0; i < r->n_choices - 1; i++)
    if (!strcmp(r->letter[i], name)) return i;
  if (r->n_choices == GR_READ_CHOICES) return -1;
  r->letter[r->n_choices - 1] = name;
  return r->n_choices++ - 1;
}

static gr_status input_type(gr_onnx_reading *r, const gr_onnx_value *v,
                            gr_type type[GR_READ_CHOICES]) {
  if (!v->type.rank || v->type.dim[0] >= 0)
    return gr_hint(gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                           "'%s': the input '%s' is of one batch size alone", r->file, v->name),
                   "export it with an open first axis: torch.onnx.export(..., "
                   "dynamic_shapes=({0: torch.export.Dim(\"batch\")},))");
  for (int c = 0; c < GR_READ_CHOICES; c++) type[c] = v->type;
  for (int d = 0; d < v->type.rank; d++) {
    int letter = v->type.dim[d] >= 0 ? 0 : find_letter(r, v, d);
    if (letter < 0)
      return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                     "'%s': more than %d sizes of its inputs are open", r->file, GR_READ_LETTERS);
    for (int c = 0; c < GR_READ_CHOICES && v->type.dim[d] < 0; c++)
      type[c].dim[d] = r->letter_size[letter][c];
  }
  return GR_OK;
}

static gr_status read_input(gr_onnx_reading *r, const gr_onnx_value *v, gr_onnx_end *to) {
  gr_type type[GR_READ_CHOICES];
  GR_TRY(input_type(r, v, type));
  for (int c = 0; c < GR_READ_CHOICES; c++)
    if (type[c].dtype == GR_I64) type[c].dtype = GR_I32;
  to->var = gr_read_var_add(r, type);
  to->name = gr_onnx_word(r->arena, v->name, "_", "x");
  r->vars[to->var].name = to->name;
  gr_read_bind(r, v->name, to->var, false);
  bool is_float = v->type.dtype == GR_F32;  // images and video, or series if they are read so
  if (is_float && v->type.rank > 3) gr_read_become_last(r, gr_read_find(r, v->name));
  gr_read_find(r, v->name)->open = is_float && v->type.rank == 3;
  return GR_OK;
}

// ---- Weights ----------------------------------------------------------------------------------

// Whether a name is a parameter's, and none that exporters give to constants.
static bool is_named(const char *name) {
  const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
  return *name != '/' && !strchr(name, ':') && strncmp(last, "val_", 4) != 0 &&
         strncmp(last, "lifted_tensor", 13) != 0;
}

// Numbers that a run can train: one alone if it is a parameter, as the bias of one output. A mask
// has infinities.
static bool is_trained(const gr_onnx_tensor *t) {
  if (t->type.dtype != GR_F32 || !gr_type_count(&t->type)) return false;
  if (gr_type_count(&t->type) == 1 && (!t->type.rank || !is_named(t->name))) return false;
  for (int64_t i = 0, n = gr_type_count(&t->type); i < n; i++)
    if (!isfinite(((const float *)t->data)[i]) || fabsf(((const float *)t->data)[i]) > 1e9f)
      return false;
  return true;
}

static void read_weight(gr_onnx_reading *r, const gr_onnx_tensor *t, const gr_map *slices) {
  uint32_t uses = 0, parts = 0;
  int v = gr_read_known(r, &t->type, t->data);
  const char *name = strncmp(t->name, "onnx::", 6) ? t->name : t->name + 6;
  gr_map_find(&r->uses, t->name, &uses);
  gr_map_find(slices, t->name, &parts);
  gr_read_var *var = &r->vars[v];
  var->name = gr_onnx_word(r->arena, name, "_.-", "weight");
  var->weight = is_trained(t) && !t->constant, var->uses = (int)uses, var->slices = (int)parts;
  var->named = is_named(t->name);
  gr_read_bind(r, t->name, v, false);
}

// ---- The graph --------------------------------------------------------------------------------

static void count(gr_map *map, const char *name) {
  uint32_t n = 0;
  gr_map_find(map, name, &n);
  gr_map_put(map, name, n + 1);
}

static void count_uses(gr_onnx_reading *r, const gr_onnx_graph *g, gr_map *slices) {
  for (const gr_onnx_node *n = g->nodes; n; n = n->next) {
    for (int k = 0; k < n->n_in; k++) {
      count(&r->uses, n->in[k]);
      if (!k && (!strcmp(n->op, "Slice") || !strcmp(n->op, "Split"))) count(slices, n->in[k]);
    }
    for (int k = 0; k < n->n_attrs; k++)
      if (n->attr[k].kind == GR_ONNX_GRAPH) count_uses(r, n->attr[k].graph, slices);
  }
  for (const gr_onnx_value *v = g->outputs; v; v = v->next) count(&r->uses, v->name);
}

// Exporters write weights that are equal once: the zeros and ones that biases and norms start with.
static void warn_of_merged(gr_onnx_reading *r, const gr_onnx_graph *g) {
  const char *name = NULL;
  uint32_t nodes = 0;
  for (const gr_onnx_tensor *t = g->tensors; t; t = t->next) {
    int64_t n = gr_type_count(&t->type), i = 1;
    uint32_t uses = 0;
    if (t->type.dtype != GR_F32 || t->type.rank != 1 || n < 2) continue;
    const float *x = t->data;
    while (i < n && x[i] == x[0]) i++;
    bool merged = i == n && gr_map_find(&r->uses, t->name, &uses) && uses > 1;
    if (merged && uses > nodes) name = t->name, nodes = uses;
  }
  if (name && !gr_log_rank())
    gr_log(GR_WARN,
           "'%s': the weight '%s' is all one number, and %u nodes read it, so that they train one "
           "weight: exporters write equal weights once, as those that a new model starts with; "
           "export a model with other numbers, or by torch.onnx.export(..., dynamo=True, "
           "optimize=False)",
           r->file, name, nodes);
}

static gr_status read_outputs(gr_onnx_reading *r, const gr_onnx_graph *g, gr_onnx_end *out,
                              int *n) {
  for (const gr_onnx_value *v = g->outputs; v; v = v->next) {
    const gr_read_binding *b = gr_read_find(r, v->name);
    if (!b)
      return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "'%s': no node gives the output '%s'", r->file,
                     v->name);
    out[*n].name = gr_onnx_word(r->arena, v->name, "_", "y");
    out[(*n)++].var = b->turned ? b->first : b->var;
  }
  return GR_OK;
}

static gr_status read_graph(gr_onnx_reading *r, const gr_onnx_graph *g, bool flat,
                            gr_onnx_imported *out) {
  gr_onnx_end *inputs = GR_NEW(r->arena, gr_onnx_end, g->n_inputs + 1);
  gr_onnx_end *outputs = GR_NEW(r->arena, gr_onnx_end, g->n_outputs + 1);
  gr_map slices = gr_map_make(r->arena);
  int n = 0, n_outputs = 0;
  count_uses(r, g, &slices);
  for (const gr_onnx_tensor *t = g->tensors; t; t = t->next) read_weight(r, t, &slices);
  for (const gr_onnx_value *v = g->inputs; v; v = v->next) GR_TRY(read_input(r, v, &inputs[n++]));
  for (const gr_onnx_node *node = g->nodes; node; node = node->next) GR_TRY(gr_read_node(r, node));
  GR_TRY(read_outputs(r, g, outputs, &n_outputs));
  out->n_nodes = g->n_nodes;
  return gr_onnx_print(r, inputs, n, outputs, n_outputs, flat, out);
}

static gr_status read_with(gr_arena *a, const char *path, const gr_onnx_graph *g, int64_t size,
                           bool flat, int *n_open, gr_onnx_imported *out) {
  gr_onnx_reading r = {.arena = a, .file = path, .n_choices = 2, .letter = {"n"}};
  for (int i = 0; i < GR_READ_LETTERS; i++) set_sizes(&r, i, i ? size : *tried);
  r.vars = GR_NEW(a, gr_read_var, 1), r.n_vars = r.cap_vars = 1;  // the one that is none
  r.names = gr_map_make(a), r.paths = gr_map_make(a), r.uses = gr_map_make(a);
  gr_read_list_readers(&r);
  gr_status s = read_graph(&r, g, flat, out);
  *n_open = r.n_choices - 2;
  if (!s) warn_of_merged(&r, g);
  return s;
}

// What helps where the reader knows nothing better.
static gr_status with_cure(gr_status s) {
  gr_code code = gr_status_code(s);
  if (!s || gr_status_hint(s)) return s;
  if (code == GR_ERR_UNSUPPORTED)
    return gr_hint(s,
                   "docs/onnx.md says what is read; write this part of the model otherwise, or "
                   "export it with another opset_version or by the other exporter (dynamo=)");
  if (code == GR_ERR_TYPE)
    return gr_hint(s,
                   "a file that onnx.checker.check_model(FILE, full_check=True) of Python's onnx "
                   "takes has what the graph language has not: write this part of the model "
                   "otherwise; export another one again");
  if (code != GR_ERR_CONFIG) return s;
  return gr_hint(s,
                 "the file contradicts itself: onnx.checker.check_model(FILE, full_check=True) of "
                 "Python's onnx says more; export it again");
}

// The error is that of the sizes that are tried first, as those are like the data's.
static gr_status import(gr_arena *a, const char *path, bool flat, gr_onnx_imported *out) {
  gr_onnx_graph *g = NULL;
  int n_open = 0;
  GR_TRY(gr_onnx_load(a, path, &g));
  gr_status first = read_with(a, path, g, tried[0], flat, &n_open, out);
  bool differ = false;
  for (int i = 1; first && n_open && i < N_TRIED; i++) {
    gr_status s = read_with(a, path, g, tried[i], flat, &n_open, out);
    differ |= s && strcmp(gr_status_text(s), gr_status_text(first)) != 0;
    gr_status_drop(s ? s : first);
    if (!s) return GR_OK;
  }
  if (!differ) return first;
  first =
      gr_note(first, GR_NOWHERE,
              "with 64 or 128 in place of each open size; other sizes from 4 to 2048 fail, too");
  return gr_status_hint(first) ? first
                               : gr_hint(first, "export it with the batch's size open alone");
}

gr_status gr_onnx_import(gr_arena *a, const char *path, bool flat, gr_onnx_imported *out) {
  return with_cure(import(a, path, flat, out));
}
