// file.c - a graph of ONNX as protocol buffers, by protobuf-c and onnx.proto. Module "onnx".
#include <onnx.pb-c.h>
#include <string.h>
#include "compiler/onnx/onnx.h"
#include "compiler/onnx/unpack.h"

// Messages are made in an arena and only read: names and data are those of the graph.
#define MESSAGE(a, type, init) memcpy(GR_NEW(a, type, 1), &(type)init, sizeof(type))

static char *text(const char *s) { return (char *)(uintptr_t)s; }

static Onnx__GraphProto *graph(gr_arena *a, const gr_onnx_graph *g);

// ---- Nodes --------------------------------------------------------------------------------------

static Onnx__AttributeProto *attribute(gr_arena *a, const gr_onnx_attr *source) {
  static const Onnx__AttributeProto__AttributeType types[] = {
      [GR_ONNX_INT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT,
      [GR_ONNX_FLOAT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT,
      [GR_ONNX_TEXT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING,
      [GR_ONNX_INTS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS,
      [GR_ONNX_GRAPH] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH};
  Onnx__AttributeProto *to = MESSAGE(a, Onnx__AttributeProto, ONNX__ATTRIBUTE_PROTO__INIT);
  to->name = text(source->name);
  to->has_type = 1, to->type = types[source->kind];
  if (source->kind == GR_ONNX_INT) to->has_i = 1, to->i = source->i;
  if (source->kind == GR_ONNX_FLOAT) to->has_f = 1, to->f = (float)source->f;
  if (source->kind == GR_ONNX_INTS)
    to->n_ints = (size_t)source->i, to->ints = (int64_t *)source->ints;
  if (source->kind == GR_ONNX_GRAPH) to->g = graph(a, source->graph);
  if (source->kind != GR_ONNX_TEXT) return to;
  to->has_s = 1;
  to->s = (ProtobufCBinaryData){strlen(source->text), (uint8_t *)text(source->text)};
  return to;
}

static Onnx__NodeProto *node(gr_arena *a, const gr_onnx_node *source) {
  Onnx__NodeProto *to = MESSAGE(a, Onnx__NodeProto, ONNX__NODE_PROTO__INIT);
  to->name = text(source->name), to->op_type = text(source->op);
  to->n_input = (size_t)source->n_in, to->input = (char **)(uintptr_t)source->in;
  to->n_output = (size_t)source->n_out, to->output = (char **)(uintptr_t)source->out;
  to->n_attribute = (size_t)source->n_attrs;
  to->attribute = GR_NEW(a, Onnx__AttributeProto *, source->n_attrs + 1);
  for (int k = 0; k < source->n_attrs; k++) to->attribute[k] = attribute(a, &source->attr[k]);
  return to;
}

// ---- Values -------------------------------------------------------------------------------------

static Onnx__TensorShapeProto *shape(gr_arena *a, const gr_onnx_value *v) {
  Onnx__TensorShapeProto *to = MESSAGE(a, Onnx__TensorShapeProto, ONNX__TENSOR_SHAPE_PROTO__INIT);
  to->n_dim = (size_t)v->type.rank;
  to->dim = GR_NEW(a, Onnx__TensorShapeProto__Dimension *, v->type.rank + 1);
  for (int d = 0; d < v->type.rank; d++) {
    Onnx__TensorShapeProto__Dimension *dim =
        MESSAGE(a, Onnx__TensorShapeProto__Dimension, ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT);
    to->dim[d] = dim;
    if (v->type.dim[d] >= 0) {
      dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
      dim->dim_value = v->type.dim[d];
    } else if (v->letter[d]) {
      dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
      dim->dim_param = text(v->letter[d]);
    }
  }
  return to;
}

static Onnx__ValueInfoProto *value(gr_arena *a, const gr_onnx_value *v) {
  Onnx__ValueInfoProto *to = MESSAGE(a, Onnx__ValueInfoProto, ONNX__VALUE_INFO_PROTO__INIT);
  Onnx__TypeProto__Tensor *t = MESSAGE(a, Onnx__TypeProto__Tensor, ONNX__TYPE_PROTO__TENSOR__INIT);
  to->name = text(v->name);
  to->type = MESSAGE(a, Onnx__TypeProto, ONNX__TYPE_PROTO__INIT);
  to->type->tensor_type = t;
  t->has_elem_type = 1, t->elem_type = gr_onnx_dtype(v->type.dtype);
  if (v->type.rank >= 0) t->shape = shape(a, v);
  return to;
}

static Onnx__ValueInfoProto **values(gr_arena *a, const gr_onnx_value *v, int n) {
  Onnx__ValueInfoProto **to = GR_NEW(a, Onnx__ValueInfoProto *, n + 1);
  for (int i = 0; v; v = v->next) to[i++] = value(a, v);
  return to;
}

// ---- Graphs -------------------------------------------------------------------------------------

static Onnx__GraphProto *graph(gr_arena *a, const gr_onnx_graph *g) {
  Onnx__GraphProto *to = MESSAGE(a, Onnx__GraphProto, ONNX__GRAPH_PROTO__INIT);
  to->name = text(g->name);
  to->node = GR_NEW(a, Onnx__NodeProto *, g->n_nodes + 1);
  for (const gr_onnx_node *n = g->nodes; n; n = n->next) to->node[to->n_node++] = node(a, n);
  to->n_input = (size_t)g->n_inputs, to->input = values(a, g->inputs, g->n_inputs);
  to->n_output = (size_t)g->n_outputs, to->output = values(a, g->outputs, g->n_outputs);
  return to;
}

// ---- Constants ----------------------------------------------------------------------------------

static Onnx__StringStringEntryProto **texts(gr_arena *a, const gr_onnx_property *p, int n) {
  Onnx__StringStringEntryProto **to = GR_NEW(a, Onnx__StringStringEntryProto *, n + 1);
  for (int i = 0; i < n; i++) {
    to[i] = MESSAGE(a, Onnx__StringStringEntryProto, ONNX__STRING_STRING_ENTRY_PROTO__INIT);
    to[i]->key = text(p[i].key), to[i]->value = text(p[i].value);
  }
  return to;
}

// Data are in the machine's byte order, which is ONNX's on all that graphrun runs on.
static gr_status inside(gr_arena *a, const gr_onnx_model *m, const gr_onnx_tensor *x,
                        Onnx__TensorProto *to) {
  size_t bytes = gr_type_bytes(&x->type);
  void *data = x->state ? gr_arena_alloc(a, bytes + 1) : (void *)(uintptr_t)x->data;
  to->has_raw_data = 1, to->raw_data = (ProtobufCBinaryData){bytes, data};
  return x->state ? m->read(m->ctx, x->state, data) : GR_OK;
}

// Writes a weight to the file beside, where the last one ends at *end, so that it can be mapped.
static gr_status outside(gr_arena *a, const gr_onnx_model *m, const gr_onnx_tensor *x, size_t *end,
                         Onnx__TensorProto *to) {
  enum { PAGE = 4096 };
  static const char zeros[PAGE];
  size_t bytes = gr_type_bytes(&x->type), gap = (PAGE - *end % PAGE) % PAGE;
  const gr_onnx_property place[] = {{"location", m->beside_name},
                                    {"offset", gr_arena_printf(a, "%zu", *end + gap)},
                                    {"length", gr_arena_printf(a, "%zu", bytes)}};
  gr_arena *work = gr_arena_create();  // of this weight alone: no two are in memory at a time
  void *data = gr_arena_alloc(work, bytes);
  gr_status s = m->read(m->ctx, x->state, data);
  if (!s) fwrite(zeros, 1, gap, m->beside), fwrite(data, 1, bytes, m->beside);
  gr_arena_destroy(work);
  *end += gap + bytes;
  to->n_external_data = 3, to->external_data = texts(a, place, 3);
  to->has_data_location = 1, to->data_location = GR_ONNX_EXTERNAL;
  return s;
}

// Says which states are no weights, so that who reads the model does not train them.
static void mark_buffers(gr_arena *a, const gr_onnx_model *m, Onnx__GraphProto *g) {
  static const gr_onnx_property buffer = {GR_ONNX_SPEC_KIND, "BUFFER"};
  g->value_info = GR_NEW(a, Onnx__ValueInfoProto *, m->graph->n_tensors + 1);
  for (const gr_onnx_tensor *x = m->graph->tensors; x; x = x->next) {
    if (!x->state || x->state->kind == GR_KIND_WEIGHT) continue;
    Onnx__ValueInfoProto *to = value(a, &(gr_onnx_value){.name = x->name, .type = x->type});
    to->n_metadata_props = 1, to->metadata_props = texts(a, &buffer, 1);
    g->value_info[g->n_value_info++] = to;
  }
}

// Only weights are outside: readers infer shapes from other constants.
static gr_status tensors(gr_arena *a, const gr_onnx_model *m, Onnx__GraphProto *g) {
  size_t end = 0;
  g->initializer = GR_NEW(a, Onnx__TensorProto *, m->graph->n_tensors + 1);
  for (const gr_onnx_tensor *x = m->graph->tensors; x; x = x->next) {
    Onnx__TensorProto *to = MESSAGE(a, Onnx__TensorProto, ONNX__TENSOR_PROTO__INIT);
    to->name = text(x->name);
    to->n_dims = (size_t)x->type.rank, to->dims = (int64_t *)x->type.dim;
    to->has_data_type = 1, to->data_type = gr_onnx_dtype(x->type.dtype);
    GR_TRY(m->beside && x->state ? outside(a, m, x, &end, to) : inside(a, m, x, to));
    g->initializer[g->n_initializer++] = to;
  }
  mark_buffers(a, m, g);
  return GR_OK;
}

// ---- Files --------------------------------------------------------------------------------------

// A buffer of protobuf-c that is a stream.
typedef struct stream {
  ProtobufCBuffer base;
  FILE *to;
} stream;

static void append(ProtobufCBuffer *b, size_t n, const uint8_t *data) {
  fwrite(data, 1, n, ((stream *)b)->to);
}

static gr_status write(gr_arena *a, const gr_onnx_model *m, FILE *to) {
  Onnx__ModelProto *model = MESSAGE(a, Onnx__ModelProto, ONNX__MODEL_PROTO__INIT);
  Onnx__OperatorSetIdProto *ops =
      MESSAGE(a, Onnx__OperatorSetIdProto, ONNX__OPERATOR_SET_ID_PROTO__INIT);
  stream out = {{append}, to};
  model->has_ir_version = 1, model->ir_version = GR_ONNX_IR;
  model->producer_name = text("graphrun"), model->producer_version = text(m->version);
  ops->domain = text(""), ops->has_version = 1, ops->version = GR_ONNX_OPSET;
  model->n_opset_import = 1, model->opset_import = &ops;
  model->n_metadata_props = (size_t)m->n_properties;
  model->metadata_props = texts(a, m->properties, m->n_properties);
  model->graph = graph(a, m->graph);
  GR_TRY(tensors(a, m, model->graph));
  onnx__model_proto__pack_to_buffer(model, &out.base);
  return GR_OK;
}

const gr_onnx_module gr_module = {write, gr_onnx_unpack};
