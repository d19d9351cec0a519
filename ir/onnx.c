// onnx.c - see onnx.h.
#include "ir/onnx.h"
#include <string.h>
#include "base/hash.h"

int gr_onnx_dtype(gr_dtype d) {
  static const int of[GR_DTYPE_COUNT] = {[GR_F32] = 1,  [GR_U8] = 2,   [GR_I32] = 6,  [GR_I64] = 7,
                                         [GR_F16] = 10, [GR_F64] = 11, [GR_BF16] = 16};
  return of[d];
}

// ---- Graphs -------------------------------------------------------------------------------------

gr_onnx_graph *gr_onnx_graph_create(gr_arena *a, gr_onnx_graph *outer, const char *name) {
  gr_onnx_graph *g = GR_NEW(a, gr_onnx_graph, 1);
  *g = (gr_onnx_graph){.arena = a, .outer = outer, .name = name};
  if (outer) {
    g->names = outer->names, g->taken = outer->taken, g->counter = outer->counter;
    return g;
  }
  g->names = GR_NEW(a, gr_map, 1);
  g->taken = GR_NEW(a, gr_map, 1);
  *g->names = gr_map_make(a), *g->taken = gr_map_make(a);
  g->counter = GR_NEW(a, int, 1);
  return g;
}

static gr_onnx_value *append(gr_onnx_graph *g, const char *name, const gr_type *t,
                             gr_onnx_value **first, gr_onnx_value **last) {
  gr_onnx_value *v = GR_NEW(g->arena, gr_onnx_value, 1);
  v->name = name, v->type = *t;
  gr_map_put(g->taken, name, 1);
  *(*first ? &(*last)->next : first) = v;
  return *last = v;
}

gr_onnx_value *gr_onnx_input(gr_onnx_graph *g, const char *name, const gr_type *t) {
  g->n_inputs++;
  return append(g, name, t, &g->inputs, &g->last_input);
}

gr_onnx_value *gr_onnx_output(gr_onnx_graph *g, const char *name, const gr_type *t) {
  g->n_outputs++;
  return append(g, name, t, &g->outputs, &g->last_output);
}

void gr_onnx_tensor_add(gr_onnx_graph *g, const char *name, const gr_type *t, const void *data) {
  while (g->outer) g = g->outer;
  gr_onnx_tensor *x = GR_NEW(g->arena, gr_onnx_tensor, 1);
  *x = (gr_onnx_tensor){.name = name, .type = *t, .data = data};
  gr_map_put(g->taken, name, 1);
  *(g->tensors ? &g->last_tensor->next : &g->tensors) = x;
  g->last_tensor = x;
  g->n_tensors++;
}

// ---- Nodes --------------------------------------------------------------------------------------

const char *gr_onnx_name(gr_onnx_call *c, const char *word) {
  const char *scope = c->scope ? c->scope : "", *name;
  do
    name = gr_arena_printf(c->graph->arena, "%s%s%s_%d", scope, *scope ? "/" : "", word,
                           ++*c->graph->counter);
  while (gr_map_find(c->graph->taken, name, NULL));
  return name;
}

void gr_onnx_results(gr_onnx_call *c, const char *op, int n_in, const char *const *in, int n_out,
                     const char **out) {
  gr_onnx_graph *g = c->graph;
  for (int k = 0; k < n_out; k++) out[k] = NULL;
  if (c->err) return;
  gr_onnx_node *n = GR_NEW(g->arena, gr_onnx_node, 1);
  *n = (gr_onnx_node){.op = op, .name = gr_onnx_name(c, op), .n_in = n_in, .n_out = n_out};
  n->in = GR_NEW(g->arena, const char *, n_in + 1);
  n->out = GR_NEW(g->arena, const char *, n_out + 1);
  for (int k = 0; k < n_in; k++) n->in[k] = in[k];
  for (int k = 0; k < n_out; k++)
    out[k] = n->out[k] = k ? gr_arena_printf(g->arena, "%s.%d", n->name, k) : n->name;
  *(g->nodes ? &g->last_node->next : &g->nodes) = n;
  g->last_node = n;
  g->n_nodes++;
}

const char *gr_onnx_emit(gr_onnx_call *c, const char *op, int n_in, const char *const *in) {
  const char *out;
  gr_onnx_results(c, op, n_in, in, 1, &out);
  return out;
}

static gr_onnx_attr *attr(gr_onnx_call *c, const char *name, gr_onnx_kind kind) {
  static _Thread_local gr_onnx_attr none;
  gr_onnx_node *n = c->graph->last_node;
  if (c->err || !n || n->n_attrs == GR_ONNX_ATTRS) return &none;
  gr_onnx_attr *a = &n->attr[n->n_attrs++];
  a->name = name, a->kind = kind;
  return a;
}

void gr_onnx_int(gr_onnx_call *c, const char *name, int64_t v) {
  attr(c, name, GR_ONNX_INT)->i = v;
}

void gr_onnx_float(gr_onnx_call *c, const char *name, double v) {
  attr(c, name, GR_ONNX_FLOAT)->f = v;
}

void gr_onnx_text(gr_onnx_call *c, const char *name, const char *text) {
  attr(c, name, GR_ONNX_TEXT)->text = gr_arena_strdup(c->graph->arena, text);
}

void gr_onnx_ints(gr_onnx_call *c, const char *name, int n, const int64_t *items) {
  gr_onnx_attr *a = attr(c, name, GR_ONNX_INTS);
  int64_t *copy = GR_NEW(c->graph->arena, int64_t, n + 1);
  for (int k = 0; k < n; k++) copy[k] = items[k];
  a->i = n, a->ints = copy;
}

void gr_onnx_body(gr_onnx_call *c, const char *name, gr_onnx_graph *g) {
  attr(c, name, GR_ONNX_GRAPH)->graph = g;
}

// ---- Constants ----------------------------------------------------------------------------------

// A constant of those bytes, which is there once: `key` says what it holds.
static const char *constant(gr_onnx_call *c, const char *key, const gr_type *t, const void *data) {
  gr_map *known = c->graph->names;
  gr_arena *a = c->graph->arena;
  uint32_t i;
  if (!gr_map_find(known, key, &i)) {
    char *copy = gr_arena_alloc(a, gr_type_bytes(t) + 1);
    memcpy(copy, data, gr_type_bytes(t));
    i = known->n;
    gr_map_put(known, gr_arena_strdup(a, key), i);
    gr_onnx_tensor_add(c->graph, gr_arena_printf(a, "constant_%u", i + 1), t, copy);
  }
  return gr_arena_printf(a, "constant_%u", i + 1);
}

const char *gr_onnx_number(gr_onnx_call *c, gr_dtype d, double v) {
  const gr_type t = {.dtype = d};
  union {
    float f;
    double d;
    int32_t i;
    int64_t l;
    uint8_t u;
    uint16_t narrow;
  } bytes = {.l = 0};
  char key[64];
  if (c->err) return NULL;
  if (gr_is_narrow(d))  // has no literal here: it is rounded by a node
    return gr_onnx_cast(c, gr_onnx_number(c, GR_F32, v), gr_onnx_dtype(d));
  if (d == GR_F32) bytes.f = (float)v;
  if (d == GR_F64) bytes.d = v;
  if (d == GR_I32) bytes.i = (int32_t)v;
  if (d == GR_I64) bytes.l = (int64_t)v;
  if (d == GR_U8) bytes.u = (uint8_t)v;
  snprintf(key, sizeof key, "%s %a", gr_dtypes[d].name, v);
  return constant(c, key, &t, &bytes);
}

const char *gr_onnx_vector(gr_onnx_call *c, int n, const int64_t *items) {
  gr_type t = {.dtype = GR_I64, .rank = 1, .dim = {n}};
  gr_text key = gr_text_make(c->graph->arena);
  for (int k = 0; k < n; k++) gr_text_printf(&key, " %lld", (long long)items[k]);
  return c->err ? NULL : constant(c, gr_arena_printf(key.arena, "[%s]", key.chars), &t, items);
}

const char *gr_onnx_array(gr_onnx_call *c, const gr_type *t, const void *data) {
  char type[96];
  uint64_t hash = gr_hash_data(data, gr_type_bytes(t));
  return constant(c,
                  gr_arena_printf(c->graph->arena, "%s %016llx", gr_type_text(t, type),
                                  (unsigned long long)hash),
                  t, data);
}

const char *gr_onnx_cast(gr_onnx_call *c, const char *x, int dtype) {
  const char *y = GR_ONNX(c, "Cast", x);
  gr_onnx_int(c, "to", dtype);
  return y;
}

const char *gr_onnx_transpose(gr_onnx_call *c, const char *x, int rank, const int64_t *perm) {
  const char *y = GR_ONNX(c, "Transpose", x);
  gr_onnx_ints(c, "perm", rank, perm);
  return y;
}

// ---- Sizes --------------------------------------------------------------------------------------

bool gr_onnx_is_fixed(const gr_onnx_call *c, gr_onnx_number_of number, int which) {
  for (int i = 1; i < c->n_calls; i++)
    if (number(c->call[i], which) != number(c->call[0], which)) return false;
  return true;
}

// The vector, or NULL.
static const char *find_size(gr_onnx_call *c, gr_onnx_number_of number, int which) {
  int64_t *sizes = GR_NEW(c->graph->arena, int64_t, c->n_calls);
  for (int i = 0; i < c->n_calls; i++) sizes[i] = number(c->call[i], which);
  if (gr_onnx_is_fixed(c, number, which)) return gr_onnx_vector(c, 1, sizes);
  return c->err ? NULL : c->writer->size(c->writer, c, sizes);
}

static void refuse_size(gr_onnx_call *c) {
  gr_onnx_refuse(c, "it depends on a size that may change and that no value has");
}

const char *gr_onnx_size(gr_onnx_call *c, gr_onnx_number_of number, int which) {
  const char *size = find_size(c, number, which);
  if (!size) refuse_size(c);
  return size;
}

int64_t gr_onnx_in_number(const gr_op_call *c, int size) {
  return c->in[size / GR_MAX_RANK].dim[size % GR_MAX_RANK];
}

static int64_t out_number(const gr_op_call *c, int size) {
  return c->out[size / GR_MAX_RANK].dim[size % GR_MAX_RANK];
}

const char *gr_onnx_in_size(gr_onnx_call *c, int k, int d) {
  return gr_onnx_size(c, gr_onnx_in_number, GR_ONNX_SIZE(k, d));
}

const char *gr_onnx_out_size(gr_onnx_call *c, int k, int d) {
  return gr_onnx_size(c, out_number, GR_ONNX_SIZE(k, d));
}

static bool is_fixed_size(const gr_onnx_call *c, int k, int d) {
  return gr_onnx_is_fixed(c, out_number, GR_ONNX_SIZE(k, d));
}

// The vectors of sizes that change. Where one may be inferred, the only one is, or the first that
// nothing gives.
static void find_sizes(gr_onnx_call *c, int k, bool any, const char *size[GR_MAX_RANK]) {
  int rank = c->call[0]->out[k].rank, changing = 0;
  bool inferred = false;
  for (int d = 0; d < rank; d++) changing += !is_fixed_size(c, k, d);
  for (int d = 0; d < rank; d++) {
    bool alone = any && changing == 1;
    size[d] = NULL;
    if (is_fixed_size(c, k, d) || alone) continue;
    size[d] = find_size(c, out_number, GR_ONNX_SIZE(k, d));
    if (!size[d] && any && !inferred)
      inferred = true;
    else if (!size[d])
      refuse_size(c);
  }
}

const char *gr_onnx_out_shape(gr_onnx_call *c, int k, bool any) {
  const gr_type *t = &c->call[0]->out[k];
  const char *size[GR_MAX_RANK];
  int64_t fixed[GR_MAX_RANK];
  bool computed = false;
  find_sizes(c, k, any, size);
  for (int d = 0; d < t->rank; d++) {
    fixed[d] = is_fixed_size(c, k, d) ? t->dim[d] : -1;
    computed |= size[d] != NULL;
  }
  if (!computed) return gr_onnx_vector(c, t->rank, fixed);
  for (int d = 0; d < t->rank; d++)
    if (!size[d]) size[d] = gr_onnx_vector(c, 1, &fixed[d]);
  const char *shape = gr_onnx_emit(c, "Concat", t->rank, size);
  gr_onnx_int(c, "axis", 0);
  return shape;
}

// ---- Calls --------------------------------------------------------------------------------------

void gr_onnx_refuse(gr_onnx_call *c, const char *why) {
  const gr_op_call *call = c->call[0];
  if (c->err) return;
  c->err = gr_hint(gr_fail(GR_ERR_UNSUPPORTED, call->loc, "'%s' cannot be written to ONNX: %s",
                           call->op->name, why),
                   "exported is what `predict:` of the model names: leave out what comes from it; "
                   "a file that ends in .safetensors has the weights alone");
}

bool gr_onnx_has(const gr_op *op) { return op->onnx || op->to_onnx || op->formula; }
