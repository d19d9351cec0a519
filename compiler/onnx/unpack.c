// unpack.c - see unpack.h. A file is not trusted: sizes are checked before memory is taken.
#include "compiler/onnx/unpack.h"
#include <onnx.pb-c.h>
#include <string.h>
#include "base/proto.h"
#include "compiler/onnx/external.h"
#include "ops/kernels/cpu.h"

enum { OLDEST = 13 };  // opset, since when axes are operands and Softmax is over one axis
// TensorProto.DataType of onnx.proto.
enum { FLOAT = 1, UINT8 = 2, INT8 = 3, INT32 = 6, INT64 = 7, BOOL = 9, FLOAT16 = 10, DOUBLE = 11 };
enum { BFLOAT16 = 16 };

typedef struct unpacking {
  gr_arena *arena;
  const char *file;
  gr_onnx_files *files;  // of tensors outside of it
} unpacking;

static const char *copy(const unpacking *u, const char *s) {
  return gr_arena_strdup(u->arena, s ? s : "");
}

// ---- Tensors ----------------------------------------------------------------------------------

static const struct dtype {
  int number, bytes;
  bool is_float;
} dtypes[] = {{FLOAT, 4, true},   {UINT8, 1, false}, {INT8, 1, false},
              {INT32, 4, false},  {INT64, 8, false}, {BOOL, 1, false},
              {FLOAT16, 2, true}, {DOUBLE, 8, true}, {BFLOAT16, 2, true}};

static const struct dtype *find_dtype(int number) {
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (dtypes[i].number == number) return &dtypes[i];
  return NULL;
}

static double raw_float(const struct dtype *d, const uint8_t *p) {
  uint16_t half;
  float f;
  double wide;
  if (d->bytes == 2) {
    memcpy(&half, p, sizeof half);
    return (double)(d->number == FLOAT16 ? gr_float_of_f16(half) : gr_float_of_bf16(half));
  }
  if (d->bytes == 4) return memcpy(&f, p, sizeof f), (double)f;
  return memcpy(&wide, p, sizeof wide), wide;
}

static int64_t raw_int(const struct dtype *d, const uint8_t *p) {
  int32_t i;
  int64_t l;
  if (d->bytes == 4) return memcpy(&i, p, sizeof i), i;
  if (d->bytes == 8) return memcpy(&l, p, sizeof l), l;
  return d->number == INT8 ? (int8_t)*p : *p;
}

// Elements that are not raw are in a list of their own kind.
static size_t listed(const Onnx__TensorProto *t, const struct dtype *d) {
  if (d->number == FLOAT) return t->n_float_data;
  if (d->number == DOUBLE) return t->n_double_data;
  return d->number == INT64 ? t->n_int64_data : t->n_int32_data;
}

static double listed_float(const Onnx__TensorProto *t, const struct dtype *d, size_t i) {
  if (d->number == FLOAT) return (double)t->float_data[i];
  if (d->number == DOUBLE) return t->double_data[i];
  uint16_t half = (uint16_t)t->int32_data[i];
  return (double)(d->number == FLOAT16 ? gr_float_of_f16(half) : gr_float_of_bf16(half));
}

// raw: the elements; NULL: they are in a list.
static void elements(const Onnx__TensorProto *t, const struct dtype *d, const uint8_t *raw,
                     size_t n, void *to) {
  for (size_t i = 0; i < n; i++) {
    const uint8_t *p = raw ? raw + i * (size_t)d->bytes : NULL;
    if (d->is_float)
      ((float *)to)[i] = (float)(p ? raw_float(d, p) : listed_float(t, d, i));
    else
      ((int64_t *)to)[i] = p                    ? raw_int(d, p)
                           : d->number == INT64 ? t->int64_data[i]
                                                : t->int32_data[i];
  }
}

// The tensor's type, if it may have one.
static bool find_type(const Onnx__TensorProto *t, const struct dtype *d, gr_type *out) {
  *out = (gr_type){.dtype = d->is_float ? GR_F32 : GR_I64, .rank = (int)t->n_dims};
  if (t->n_dims > GR_MAX_RANK) return false;
  for (size_t i = 0; i < t->n_dims; i++) {
    if (t->dims[i] < 0 || t->dims[i] > INT32_MAX) return false;
    out->dim[i] = t->dims[i];
  }
  return gr_type_possible(out);
}

static gr_status damaged(const unpacking *u, const char *name, size_t has) {
  return gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                 "'%s': the tensor '%s' is damaged: it has %zu elements, and its shape another "
                 "number, or more than %d axes",
                 u->file, name, has, GR_MAX_RANK);
}

static gr_status read_elements(const unpacking *u, const Onnx__TensorProto *t,
                               const struct dtype *d, const gr_type *type, const char *name,
                               void **out) {
  size_t n = (size_t)gr_type_count(type), size = (size_t)d->bytes;
  bool outside = t->data_location == GR_ONNX_EXTERNAL;
  size_t has = outside ? n : t->has_raw_data ? t->raw_data.len / size : listed(t, d);
  if (has != n || (!outside && t->has_raw_data && t->raw_data.len % size))
    return damaged(u, name, has);
  const uint8_t *raw = t->has_raw_data ? t->raw_data.data : NULL;
  gr_arena *work = gr_arena_create();
  gr_status s = outside ? gr_onnx_external(u->files, t, n * size, work, &raw) : GR_OK;
  if (!s) {
    *out = gr_arena_alloc(u->arena, n * (d->is_float ? sizeof(float) : sizeof(int64_t)) + 8);
    elements(t, d, raw, n, *out);
  }
  return gr_arena_end(work, s);
}

static gr_status tensor(const unpacking *u, const Onnx__TensorProto *t, gr_onnx_tensor **out) {
  const char *name = copy(u, t->name);
  const struct dtype *d = find_dtype(t->data_type);
  gr_type type;
  void *data = NULL;
  if (!d)
    return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                   "'%s': the tensor '%s' has the dtype %d, which is not read", u->file, name,
                   (int)t->data_type);
  if (!find_type(t, d, &type)) return damaged(u, name, t->has_raw_data ? t->raw_data.len : 0);
  GR_TRY(read_elements(u, t, d, &type, name, &data));
  gr_onnx_tensor *x = GR_NEW(u->arena, gr_onnx_tensor, 1);
  *x = (gr_onnx_tensor){.name = name, .type = type, .data = data};
  *out = x;
  return GR_OK;
}

// ---- Nodes ------------------------------------------------------------------------------------

static gr_status graph(const unpacking *u, const Onnx__GraphProto *g, bool is_main,
                       gr_onnx_graph *to);

// A graph in a node: the branch of an If, or the body of a loop.
static gr_status inner(const unpacking *u, const Onnx__GraphProto *g, gr_onnx_attr *to) {
  to->kind = GR_ONNX_GRAPH, to->graph = gr_onnx_graph_create(u->arena, NULL, copy(u, g->name));
  return graph(u, g, false, to->graph);
}

static gr_status attribute(const unpacking *u, const Onnx__AttributeProto *a, gr_onnx_attr *to) {
  *to = (gr_onnx_attr){.name = copy(u, a->name), .kind = GR_ONNX_OTHER};
  if (a->g) return inner(u, a->g, to);
  if (a->t) {
    gr_onnx_tensor *t = NULL;
    GR_TRY(tensor(u, a->t, &t));
    to->kind = GR_ONNX_TENSOR, to->tensor = t;
  } else if (a->has_f) {
    to->kind = GR_ONNX_FLOAT, to->f = (double)a->f;
  } else if (a->has_i) {
    to->kind = GR_ONNX_INT, to->i = a->i;
  } else if (a->has_s) {
    to->kind = GR_ONNX_TEXT;
    to->text = gr_arena_strndup(u->arena, (const char *)a->s.data, a->s.len);
  } else if (a->n_ints || (a->has_type && a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS)) {
    int64_t *ints = GR_NEW(u->arena, int64_t, a->n_ints + 1);
    for (size_t i = 0; i < a->n_ints; i++) ints[i] = a->ints[i];
    to->kind = GR_ONNX_INTS, to->i = (int64_t)a->n_ints, to->ints = ints;
  } else if (a->n_strings) {  // one text, of words
    gr_text t = gr_text_make(u->arena);
    for (size_t i = 0; i < a->n_strings; i++)
      gr_text_printf(&t, "%s%.*s", i ? " " : "", (int)a->strings[i].len,
                     (const char *)a->strings[i].data);
    to->kind = GR_ONNX_TEXT, to->text = t.chars;
  } else if (a->n_floats) {
    float *floats = GR_NEW(u->arena, float, a->n_floats);
    for (size_t i = 0; i < a->n_floats; i++) floats[i] = a->floats[i];
    gr_onnx_tensor *t = GR_NEW(u->arena, gr_onnx_tensor, 1);
    *t = (gr_onnx_tensor){.name = to->name,
                          .type = {.dtype = GR_F32, .rank = 1, .dim = {(int64_t)a->n_floats}},
                          .data = floats};
    to->kind = GR_ONNX_TENSOR, to->tensor = t;
  }
  return GR_OK;
}

static const char **names(const unpacking *u, char *const *list, size_t n) {
  const char **out = GR_NEW(u->arena, const char *, n + 1);
  for (size_t i = 0; i < n; i++) out[i] = copy(u, list[i]);
  return out;
}

static gr_status node(const unpacking *u, const Onnx__NodeProto *n, gr_onnx_node *to) {
  enum { MAX_VALUES = 100000 };
  *to = (gr_onnx_node){.op = copy(u, n->op_type), .name = copy(u, n->name)};
  if (!*to->name && n->n_output) to->name = copy(u, n->output[0]);
  if (n->domain && *n->domain && strcmp(n->domain, "ai.onnx") != 0)
    to->op = gr_arena_printf(u->arena, "%s.%s", n->domain, to->op);
  if (n->n_attribute > GR_ONNX_ATTRS || n->n_input > MAX_VALUES || n->n_output > MAX_VALUES)
    return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                   "'%s': the node '%s' has %zu attributes, %zu inputs and %zu outputs; at most %d "
                   "attributes and %d of each other are read",
                   u->file, to->name, n->n_attribute, n->n_input, n->n_output, GR_ONNX_ATTRS,
                   MAX_VALUES);
  to->n_in = (int)n->n_input, to->in = names(u, n->input, n->n_input);
  to->n_out = (int)n->n_output, to->out = names(u, n->output, n->n_output);
  for (size_t i = 0; i < n->n_attribute; i++)
    GR_TRY(attribute(u, n->attribute[i], &to->attr[to->n_attrs++]));
  return GR_OK;
}

// ---- Values -----------------------------------------------------------------------------------

// typed: it must have a type, as inputs of the model; those of a body have that of operands.
static gr_status value(const unpacking *u, const Onnx__ValueInfoProto *v, gr_onnx_graph *g,
                       bool input, bool typed) {
  const Onnx__TypeProto__Tensor *t = v->type ? v->type->tensor_type : NULL;
  const char *name = copy(u, v->name);
  gr_type type = {.rank = 0};
  const Onnx__TensorShapeProto *s = t ? t->shape : NULL;
  const struct dtype *d = t ? find_dtype(t->elem_type) : NULL;
  if (typed && (!d || !s || s->n_dim > GR_MAX_RANK))
    return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                   "'%s': the input '%s' is no tensor of numbers with a known shape of at most %d "
                   "axes",
                   u->file, name, GR_MAX_RANK);
  type.dtype = d && d->is_float ? GR_F32 : GR_I64;
  type.rank = s && s->n_dim <= GR_MAX_RANK ? (int)s->n_dim : 0;
  gr_onnx_value *to = (input ? gr_onnx_input : gr_onnx_output)(g, name, &type);
  for (int i = 0; i < type.rank; i++) {
    const Onnx__TensorShapeProto__Dimension *dim = s->dim[i];
    bool known = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    bool named = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    to->type.dim[i] = known && dim->dim_value > 0 ? dim->dim_value : -1;
    to->letter[i] = named ? copy(u, dim->dim_param) : NULL;
    if (known && dim->dim_value > INT32_MAX)
      return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "'%s': the input '%s' has an axis of %lld", u->file,
                     name, (long long)dim->dim_value);
  }
  return GR_OK;
}

// Files of before version 4 list weights among the inputs, too.
static bool is_weight(const Onnx__GraphProto *g, const char *name) {
  for (size_t i = 0; i < g->n_initializer; i++)
    if (name && g->initializer[i]->name && !strcmp(g->initializer[i]->name, name)) return true;
  return false;
}

// Only one may give a value: of two, nodes would read whichever came last.
static gr_status give(const unpacking *u, gr_map *given, const char *name) {
  if (*name && gr_map_find(given, name, NULL))
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                   "'%s': two of its inputs, initializers and nodes give the value '%s'", u->file,
                   name);
  gr_map_put(given, name, 1);
  return GR_OK;
}

static gr_status check_names(const unpacking *u, const gr_onnx_graph *g) {
  gr_map given = gr_map_make(u->arena);
  for (const gr_onnx_tensor *t = g->tensors; t; t = t->next) GR_TRY(give(u, &given, t->name));
  for (const gr_onnx_value *v = g->inputs; v; v = v->next) GR_TRY(give(u, &given, v->name));
  for (const gr_onnx_node *n = g->nodes; n; n = n->next)
    for (int k = 0; k < n->n_out; k++) GR_TRY(give(u, &given, n->out[k]));
  return GR_OK;
}

static bool is_parameter(const Onnx__ValueInfoProto *v) {
  for (size_t i = 0; i < v->n_metadata_props; i++) {
    const Onnx__StringStringEntryProto *p = v->metadata_props[i];
    if (p->key && !strcmp(p->key, GR_ONNX_SPEC_KIND))
      return !p->value || !strcmp(p->value, "PARAMETER");
  }
  return true;
}

static gr_status tensors(const unpacking *u, const Onnx__GraphProto *g, gr_onnx_graph *to) {
  gr_map constant = gr_map_make(u->arena);
  for (size_t i = 0; i < g->n_value_info; i++)
    if (!is_parameter(g->value_info[i])) gr_map_put(&constant, copy(u, g->value_info[i]->name), 1);
  for (size_t i = 0; i < g->n_initializer; i++) {
    gr_onnx_tensor *t = NULL;
    GR_TRY(tensor(u, g->initializer[i], &t));
    gr_onnx_tensor_add(to, t->name, &t->type, t->data);
    to->last_tensor->constant = gr_map_find(&constant, t->name, NULL);
  }
  return GR_OK;
}

static gr_status graph(const unpacking *u, const Onnx__GraphProto *g, bool is_main,
                       gr_onnx_graph *to) {
  GR_TRY(tensors(u, g, to));
  for (size_t i = 0; i < g->n_input; i++)
    if (!is_weight(g, g->input[i]->name)) GR_TRY(value(u, g->input[i], to, true, is_main));
  for (size_t i = 0; i < g->n_output; i++) GR_TRY(value(u, g->output[i], to, false, false));
  for (size_t i = 0; i < g->n_node; i++) {
    gr_onnx_node *n = GR_NEW(u->arena, gr_onnx_node, 1);
    GR_TRY(node(u, g->node[i], n));
    *(to->nodes ? &to->last_node->next : &to->nodes) = n;
    to->last_node = n, to->n_nodes++;
  }
  return check_names(u, to);
}

static gr_status model(const unpacking *u, const Onnx__ModelProto *m, gr_onnx_graph **out) {
  int64_t opset = 0;
  for (size_t i = 0; i < m->n_opset_import; i++) {
    const char *domain = m->opset_import[i]->domain;
    if (!domain || !*domain || !strcmp(domain, "ai.onnx")) opset = m->opset_import[i]->version;
  }
  if (!m->graph || !m->graph->n_node)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "'%s' has no graph of ONNX", u->file);
  if (opset < OLDEST)
    return gr_hint(
        gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "'%s' is of opset %lld; %d and newer are read",
                u->file, (long long)opset, OLDEST),
        "torch.onnx.export(..., opset_version=%d)", GR_ONNX_OPSET);
  *out = gr_onnx_graph_create(u->arena, NULL, copy(u, m->graph->name));
  return graph(u, m->graph, true, *out);
}

// ---- Nesting ----------------------------------------------------------------------------------

// Whether graphs in attributes of nodes of graphs are nested so deep that a parser that calls
// itself for each would exhaust its stack. What is no message is the parser's to find.
static bool is_deep(const uint8_t *p, const uint8_t *end, int level) {
  enum { MOST = 64 };
  static const uint64_t inner[] = {1, 5, 6};  // node of a graph, its attribute, the graph in that
  uint64_t key, n = 0, next = level ? inner[(level - 1) % 3] : 7;
  if (level > MOST) return true;
  while (p < end && gr_proto_read_varint(&p, end, &key)) {
    uint64_t wire = key & 7, left;
    if (wire > 2 && wire != 5) return false;
    if (wire != 1 && wire != 5 && !gr_proto_read_varint(&p, end, &n)) return false;
    left = (uint64_t)(end - p);
    uint64_t skip = wire == 0 ? 0 : wire == 1 ? 8 : wire == 5 ? 4 : n;
    if (skip > left) return false;
    if (wire == 2 && key >> 3 == next && is_deep(p, p + skip, level + 1)) return true;
    p += skip;
  }
  return false;
}

gr_status gr_onnx_unpack(gr_arena *a, const char *file, const void *bytes, size_t n,
                         gr_onnx_graph **out) {
  gr_onnx_files files = {a, file, gr_map_make(a)};
  const unpacking u = {a, file, &files};
  const uint8_t *start = bytes;
  if (is_deep(start, start + n, 0))
    return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "'%s' has graphs in graphs, too deep to be read",
                   file);
  Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, n, bytes);
  if (!m)
    return gr_hint(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "'%s' is no file of ONNX, or damaged", file),
                   "files of ONNX are protocol buffers, as torch.onnx.export writes them");
  gr_status s = model(&u, m, out);
  gr_onnx_files_close(&files);
  onnx__model_proto__free_unpacked(m, NULL);
  return s;
}
