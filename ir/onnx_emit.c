// onnx_emit.c - emits nodes of the graph language while a graph of ONNX is read, or computes them.
// See onnx_read.h.
#include <string.h>
#include "base/grow.h"
#include "ir/onnx_read.h"

enum { MAX_KNOWN = 1 << 20 };  // elements of a value that is computed while reading

// ---- Types ------------------------------------------------------------------------------------

// Pointwise ops broadcast in the graph language: operands take the shape of all together.
static bool is_pointwise(const gr_op *op) {
  return op->index_spec && !strncmp(op->index_spec, "...,...", 7);
}

static bool join_shape(gr_type *all, const gr_type *t) {
  gr_type wide = all->rank >= t->rank ? *all : *t;
  const gr_type *other = all->rank >= t->rank ? t : all;
  for (int d = 0; d < other->rank; d++) {
    int64_t *size = &wide.dim[wide.rank - other->rank + d];
    if (*size != other->dim[d] && *size != 1 && other->dim[d] != 1) return false;
    if (*size == 1) *size = other->dim[d];
  }
  wide.dtype = all->dtype, *all = wide;
  return true;
}

// What integers that are not known here are in the model.
static gr_dtype dtype_of(const gr_type *t, bool folds) {
  return t->dtype == GR_I64 && !folds ? GR_I32 : t->dtype;
}

static gr_status misfit(gr_onnx_reading *r, const gr_op_call *call, int choice, const int *in) {
  gr_text t = gr_text_make(r->arena);
  char buf[96];
  for (int k = 0; k < call->n_in; k++)
    gr_text_printf(&t, "%s%s", k ? " and " : "", gr_type_text(&r->vars[in[k]].type[choice], buf));
  return gr_fail(GR_ERR_TYPE, GR_NOWHERE, "the shapes of its operands do not fit: %s", t.chars);
}

static gr_status infer(gr_onnx_reading *r, gr_op_call *call, int choice, const int *in,
                       bool folds) {
  gr_type all = {.rank = 0};
  for (int k = 0; k < call->n_in; k++) {
    call->in[k] = r->vars[in[k]].type[choice];
    if (is_pointwise(call->op) && !join_shape(&all, &call->in[k]))
      return misfit(r, call, choice, in);
  }
  for (int k = 0; k < call->n_in; k++) {
    gr_dtype dtype = dtype_of(&call->in[k], folds);
    if (is_pointwise(call->op)) call->in[k] = all;
    call->in[k].dtype = dtype;
  }
  return gr_op_infer(call);
}

// ---- Attributes -------------------------------------------------------------------------------

static const char *setting_text(gr_onnx_reading *r, const gr_read_setting *s, int choice) {
  if (s->text) return s->text;
  int64_t numbers[GR_MAX_ARGS];
  for (int i = 0; i < s->n; i++) numbers[i] = s->sizes[i][choice];
  return s->list ? gr_read_list(r, s->n, numbers)
                 : gr_arena_printf(r->arena, "%lld", (long long)numbers[0]);
}

// Room for one node in all choices: a call is large, and files have thousands of nodes.
static gr_op_call *room_for_calls(gr_onnx_reading *r) {
  if (!r->calls) r->calls = GR_NEW(r->arena, gr_op_call, GR_READ_CHOICES);
  return r->calls;
}

static gr_status attributes(gr_onnx_reading *r, const gr_op *op, int n,
                            const gr_read_setting *setting, int choice, void *attr) {
  gr_attr_defaults(op, attr);
  for (int i = 0; i < n; i++)
    for (const gr_attr *a = op->attrs; a && a->name; a++)
      if ((setting[i].text || setting[i].sizes) && !strcmp(a->name, setting[i].name))
        GR_TRY(gr_attr_parse(op, a, setting_text(r, &setting[i], choice), GR_NOWHERE, attr));
  return GR_OK;
}

// ---- Computing --------------------------------------------------------------------------------

// Ops that move elements: what they make of a weight is a weight.
static bool moves(const gr_op *op) {
  static const char *const names[] = {"transpose", "reshape", "slice", "concat", NULL};
  for (int i = 0; names[i]; i++)
    if (!strcmp(names[i], op->name)) return true;
  return false;
}

static bool folds(const gr_onnx_reading *r, const gr_op *op, int n, const int *in) {
  bool all = op->cpu != NULL && !op->random;
  for (int k = 0; k < n; k++) {
    const gr_read_var *v = &r->vars[in[k]];
    bool alone = v->uses <= 1 || (v->uses == v->slices && !strcmp(op->name, "slice"));
    all &= v->data[0] && (!v->weight || (moves(op) && alone && !v->line));
  }
  return all;
}

// The elements of x in the shape of y, repeated along axes of size 1.
static const void *repeated(gr_arena *a, const gr_type *x, const void *data, const gr_type *y) {
  if (gr_type_count(x) == gr_type_count(y)) return data;
  size_t size = (size_t)gr_dtypes[x->dtype].size;
  int64_t n = gr_type_count(y);
  char *out = gr_arena_alloc(a, size * (size_t)n + 1);
  for (int64_t i = 0; i < n; i++) {
    int64_t rest = i, index = 0, step = 1;
    for (int d = y->rank - 1; d >= 0; d--) {
      int64_t here = rest % y->dim[d], k = d - (y->rank - x->rank);
      rest /= y->dim[d];
      if (k < 0) continue;
      index += x->dim[k] == 1 ? 0 : here * step;
      step *= x->dim[k];
    }
    memcpy(out + size * (size_t)i, (const char *)data + size * (size_t)index, size);
  }
  return out;
}

static gr_status compute(gr_onnx_reading *r, gr_op_call *call, int choice, const int *in, int out) {
  const void *x[GR_MAX_ARGS];
  void *y[GR_MAX_ARGS];
  for (int k = 0; k < call->n_in; k++)
    x[k] =
        repeated(r->arena, &r->vars[in[k]].type[choice], r->vars[in[k]].data[choice], &call->in[k]);
  for (int k = 0; k < call->n_out; k++)
    r->vars[out + k].data[choice] = y[k] =
        gr_arena_alloc(r->arena, gr_type_bytes(&call->out[k]) + 8);
  const gr_mesh mesh = {0};
  gr_layout layout[GR_MAX_ARGS];
  for (int k = 0; k < call->n_out; k++) layout[k] = gr_layout_replicated;
  gr_launch l = {.attr = call->attr,
                 .n_in = call->n_in,
                 .n_out = call->n_out,
                 .in_type = call->in,
                 .out_type = call->out,
                 .out_layout = layout,
                 .mesh = &mesh,
                 .in = x,
                 .out = y};
  if (call->op->scratch) l.scratch = gr_arena_alloc(r->arena, call->op->scratch(call) + 64);
  return call->op->cpu(&l);
}

static bool is_small(const gr_op_call *call) {
  for (int k = 0; k < call->n_out; k++)
    if (!gr_type_possible(&call->out[k]) || gr_type_count(&call->out[k]) > MAX_KNOWN) return false;
  return true;
}

// ---- Lines ------------------------------------------------------------------------------------

static gr_read_line *add_line(gr_onnx_reading *r) {
  GR_GROW(r->arena, r->lines, r->n_lines, r->cap_lines);
  r->lines[r->n_lines] = (gr_read_line){.node = r->node};
  return &r->lines[r->n_lines++];
}

static void copy_settings(gr_onnx_reading *r, int n, const gr_read_setting *source,
                          gr_read_line *to) {
  for (int i = 0; i < n && i < GR_READ_SETTINGS; i++) {
    gr_read_setting s = source[i];
    int64_t(*sizes)[GR_READ_CHOICES] = NULL;
    if (s.sizes) {
      sizes = gr_arena_alloc(r->arena, sizeof *sizes * (size_t)(s.n + 1));
      memcpy(sizes, s.sizes, sizeof *sizes * (size_t)s.n);
    }
    s.sizes = sizes;
    to->setting[to->n_settings++] = s;
  }
}

static void put_line(gr_onnx_reading *r, const char *op, int n, const int *in, int out, int n_out,
                     int n_settings, const gr_read_setting *setting) {
  gr_read_line *l = add_line(r);
  int *copy = GR_NEW(r->arena, int, n + 1);
  for (int k = 0; k < n; k++) copy[k] = in[k];
  l->op = op, l->n_in = n, l->in = copy, l->out = out, l->n_out = n_out;
  copy_settings(r, n_settings, setting, l);
  for (int k = 0; k < n_out; k++) {
    gr_read_var *v = &r->vars[out + k];
    v->result = k, *(v->data[0] ? &v->made : &v->line) = r->n_lines;
  }
}

// ---- Ops --------------------------------------------------------------------------------------

// Infers the node for every choice; false: it has an error, which is set.
static bool infer_all(gr_onnx_reading *r, gr_op_call *call, const gr_op *op, int n, const int *in,
                      int n_settings, const gr_read_setting *setting, bool fold) {
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    void *attr = gr_arena_alloc(r->arena, op->attr_size + 8);
    call[c] = (gr_op_call){.op = op, .attr = attr, .n_in = n, .loc = GR_NOWHERE};
    r->err = attributes(r, op, n_settings, setting, c, attr);
    if (!r->err) r->err = infer(r, &call[c], c, in, fold);
  }
  if (r->err)
    r->err = gr_note(r->err, GR_NOWHERE, "in '%s', at the node '%s' (%s)", r->file, r->node->name,
                     r->node->op);
  return !r->err;
}

void gr_read_types(gr_onnx_reading *r, const gr_op *op, int n, const int *in, int n_settings,
                   const gr_read_setting *setting, gr_type out[GR_READ_CHOICES]) {
  gr_op_call *call = room_for_calls(r);
  memset(out, 0, sizeof *out * GR_READ_CHOICES);
  for (int k = 0; k < n; k++)
    if (!in[k]) return;
  if (r->err || !infer_all(r, call, op, n, in, n_settings, setting, false)) return;
  for (int c = 0; c < GR_READ_CHOICES; c++) out[c] = call[c].out[0];
}

// A weight keeps its name, which is that of its parts too. What is made of a constant is another
// one: a file that has the first must not fill it.
static const char *folded_name(gr_onnx_reading *r, const gr_op *op, const gr_read_var *of) {
  return of->weight || !of->name ? of->name
                                 : gr_arena_printf(r->arena, "%s_%s", of->name, op->name);
}

static int emit(gr_onnx_reading *r, const gr_op *op, int n, const int *in, int n_settings,
                const gr_read_setting *setting) {
  bool fold = folds(r, op, n, in), weight = false;
  gr_op_call *call = room_for_calls(r);
  gr_type type[GR_READ_CHOICES];
  int out = 0;
  for (int k = 0; k < n; k++) weight |= r->vars[in[k]].weight;
  if (!infer_all(r, call, op, n, in, n_settings, setting, fold)) return 0;
  for (int k = 0; k < call[0].n_out; k++) {
    for (int c = 0; c < GR_READ_CHOICES; c++) type[c] = call[c].out[k];
    int v = gr_read_var_add(r, type);
    if (!k) out = v;
    r->vars[v].weight = fold && weight;
    if (fold && (weight || n == 1) && n) r->vars[v].name = folded_name(r, op, &r->vars[in[0]]);
  }
  fold &= weight || is_small(&call[0]);
  for (int c = 0; c < GR_READ_CHOICES && fold && !r->err; c++)
    r->err = compute(r, &call[c], c, in, out);
  if (!fold || !weight) put_line(r, op->name, n, in, out, call[0].n_out, n_settings, setting);
  return out;
}

int gr_read_emit(gr_onnx_reading *r, const gr_op *op, int n, const int *in, int n_settings,
                 const gr_read_setting *setting) {
  if (r->err) return 0;
  for (int k = 0; k < n; k++)
    if (!in[k]) return 0;
  return emit(r, op, n, in, n_settings, setting);
}

// ---- Scans ------------------------------------------------------------------------------------

void gr_read_scan_emit(gr_onnx_reading *r, const gr_read_scan *scan, int n, const int *in, int out,
                       int n_out) {
  put_line(r, "scan", n, in, out, n_out, 0, NULL);
  r->lines[r->n_lines - 1].scan = scan;
}

// The greatest depth of what a line reads that is less than `below`.
static int depth_of(const gr_onnx_reading *r, const gr_read_line *l, int below) {
  int depth = 0;
  for (int k = 0; k < l->n_in; k++) {
    int d = r->vars[l->in[k]].depth;
    if (d < below && d > depth) depth = d;
  }
  return depth;
}

void gr_read_find_depths(gr_onnx_reading *r, int first) {
  for (int i = first; i < r->n_lines; i++) {
    const gr_read_line *l = &r->lines[i];
    const int below = l->scan ? l->scan->depth : INT32_MAX;
    int depth = depth_of(r, l, below);
    for (int j = l->scan ? l->scan->first : i; j < i; j++) {  // what its body reads from outside
      int d = depth_of(r, &r->lines[j], below);
      if (r->vars[r->lines[j].out].depth >= below && d > depth) depth = d;
    }
    for (int k = 0; k < l->n_out; k++) r->vars[l->out + k].depth = depth;
  }
}

// ---- Blocks -----------------------------------------------------------------------------------

// "layers.0.fc" of "/layers.0/fc/MatMul", "linear_3" of a name without folders.
const char *gr_read_node_path(gr_onnx_reading *r, const char *block) {
  const char *name = r->node->name, *end = strrchr(name, '/');
  gr_text t = gr_text_make(r->arena);
  for (const char *p = name; end && p < end; p++) {
    bool word = (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z');
    if (t.len || word) gr_text_putn(&t, word || *p == '.' ? p : *p == '/' ? "." : "_", 1);
  }
  return t.len ? t.chars : block;
}

// The path, or one like it, that no weight has yet.
const char *gr_read_free_path(gr_onnx_reading *r, const char *path) {
  const char *name = path;
  for (int i = 2; gr_map_find(&r->paths, name, NULL); i++)
    name = gr_arena_printf(r->arena, "%s_%d", path, i);
  gr_map_put(&r->paths, name, 1);
  return name;
}

const char *gr_read_path(gr_onnx_reading *r, int weight, const char *suffix) {
  const char *name = weight ? r->vars[weight].name : NULL;
  size_t n = name ? strlen(name) : 0, m = strlen(suffix);
  return n > m + 1 && strchr("._", name[n - m - 1]) && !strcmp(name + n - m, suffix)
             ? gr_arena_strndup(r->arena, name, n - m - 1)
             : NULL;
}

int gr_read_block(gr_onnx_reading *r, const char *block, const char *path, int in,
                  const gr_type type[GR_READ_CHOICES], int n_settings,
                  const gr_read_setting *setting, int n_parts, const gr_read_part *part) {
  if (r->err || !in) return 0;
  int out = gr_read_var_add(r, type);
  put_line(r, block, 1, &in, out, 1, n_settings, setting);
  gr_read_line *l = &r->lines[r->n_lines - 1];
  if (n_parts) l->path = gr_read_free_path(r, path ? path : gr_read_node_path(r, block));
  for (int i = 0; i < n_parts && i < GR_READ_PARTS; i++)
    if (part[i].var) l->part[l->n_parts++] = part[i];
  return out;
}
