// test_onnx.c - files of ONNX, read back by protobuf-c: what is in them, sizes that may change,
// loops, and what is refused. That they compute the same is what onnxruntime says (e2e.onnx).
#include <onnx.pb-c.h>
#include "compiler/onnx/onnx.h"
#include "ops/ops.h"
#include "tests/check.h"

typedef struct exported {
  gr_arena *arena;
  char *bytes, *beside;
  size_t n, n_beside;
  gr_status status;
  Onnx__ModelProto *model;
  Onnx__GraphProto *graph;
} exported;

// A state's elements are 1, 2, 3, ...
static gr_status fill(void *ctx, const gr_value *v, void *to) {
  (void)ctx;
  for (int64_t i = 0; i < gr_type_count(&v->type); i++) ((float *)to)[i] = (float)(i + 1);
  return GR_OK;
}

// Exports a model for batches of x [4, 6, 3], lengths [4] and y [4]; name: of a file of weights.
static exported export_beside(const char *yaml, const char *name) {
  static const gr_batch_tensor batch[] = {
      {"x", {GR_F32, 3, {4, 6, 3}}}, {"lengths", {GR_I32, 1, {4}}}, {"y", {GR_I32, 1, {4}}}};
  static const gr_onnx_property properties[] = {{"graphrun.version", "1"}, {"classes", "a b"}};
  exported e = {.arena = gr_arena_create()};
  gr_onnx_graph *g = NULL;
  gr_model_program eval;
  gr_model_request r = {.batch = batch, .n_batch = 3, .norm_groups = 1};
  MUST(gr_conf_parse(e.arena, "model.yaml", yaml, &r.graph));
  MUST(gr_model_program_read(e.arena, r.graph, gr_model_eval, &eval));
  r.program = &eval;
  e.status = gr_onnx_trace(e.arena, &r, &g);
  if (e.status) return e;
  FILE *to = open_memstream(&e.bytes, &e.n);
  FILE *beside = name ? open_memstream(&e.beside, &e.n_beside) : NULL;
  MUST(gr_onnx_file(&(gr_onnx_model){g, "1", properties, 2, fill, NULL, beside, name}, to));
  fclose(to);
  if (beside) fclose(beside);
  e.model = onnx__model_proto__unpack(NULL, e.n, (const uint8_t *)e.bytes);
  CHECK(e.model, "protobuf-c does not read the file");
  if (!e.model) longjmp(check_out, 1);
  e.graph = e.model->graph;
  return e;
}

static exported export_model(const char *yaml) { return export_beside(yaml, NULL); }

static void release(exported *e) {
  gr_status_drop(e->status);
  if (e->model) onnx__model_proto__free_unpacked(e->model, NULL);
  free(e->bytes), free(e->beside);
  gr_arena_destroy(e->arena);
}

// "f32[n,t,3]" of a value, with ? for a size without a name.
static const char *type_of(gr_arena *a, const Onnx__ValueInfoProto *v) {
  gr_text t = gr_text_make(a);
  const Onnx__TypeProto__Tensor *type = v->type->tensor_type;
  gr_text_printf(&t, "%s:%d[", v->name, type->elem_type);
  for (size_t d = 0; d < type->shape->n_dim; d++) {
    const Onnx__TensorShapeProto__Dimension *dim = type->shape->dim[d];
    gr_text_put(&t, d ? "," : "");
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
      gr_text_put_int(&t, dim->dim_value);
    else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
      gr_text_put(&t, dim->dim_param);
    else
      gr_text_put(&t, "?");
  }
  gr_text_put(&t, "]");
  return t.chars;
}

static const Onnx__NodeProto *find(const Onnx__GraphProto *g, const char *op) {
  for (size_t i = 0; i < g->n_node; i++)
    if (!strcmp(g->node[i]->op_type, op)) return g->node[i];
  return NULL;
}

static const Onnx__AttributeProto *attribute(const Onnx__NodeProto *n, const char *name) {
  for (size_t i = 0; n && i < n->n_attribute; i++)
    if (!strcmp(n->attribute[i]->name, name)) return n->attribute[i];
  return NULL;
}

static const char dense[] =
    "inputs:\n"
    "  x: {shape: [n, t, c]}\n"
    "  lengths: {shape: [n], dtype: i32}\n"
    "  y: {shape: [n], dtype: i32}\n"
    "nodes:\n"
    "  - h: {linear: x, out: 5, name: body}\n"
    "  - h: {relu: h}\n"
    "  - h: {dropout: h, p: 0.5}\n"
    "  - h: {mean: h, axes: [1]}\n"
    "  - logits: {linear: h, out: 2, name: head}\n"
    "  - loss: {cross_entropy: [logits, y]}\n"
    "train: loss\n"
    "predict: {logits: logits}\n";

// ---- What is in a file --------------------------------------------------------------------------

static void head(void) {
  exported e = export_model(dense);
  MUST(e.status);
  CHECK(e.model->ir_version == GR_ONNX_IR, "ir_version %lld", (long long)e.model->ir_version);
  CHECK(e.model->n_opset_import == 1 && e.model->opset_import[0]->version == GR_ONNX_OPSET,
        "operator sets");
  CHECK(e.model->n_metadata_props == 2 && !strcmp(e.model->metadata_props[1]->value, "a b"),
        "metadata_props");
  release(&e);
}

// Labels are no inputs, and dropout is no node; t is one size of x like n.
static void values(void) {
  exported e = export_model(dense);
  MUST(e.status);
  CHECK(e.graph->n_input == 1, "%zu inputs", e.graph->n_input);
  CHECK(!strcmp(type_of(e.arena, e.graph->input[0]), "x:1[n,t,3]"), "%s",
        type_of(e.arena, e.graph->input[0]));
  CHECK(e.graph->n_output == 1, "%zu outputs", e.graph->n_output);
  CHECK(!strcmp(type_of(e.arena, e.graph->output[0]), "logits:1[n,2]"), "%s",
        type_of(e.arena, e.graph->output[0]));
  static const char *const ops[] = {"Transpose", "MatMul", "Add", "Relu",    "ReduceMean",
                                    "Transpose", "MatMul", "Add", "Identity"};
  CHECK(e.graph->n_node == sizeof ops / sizeof *ops, "%zu nodes", e.graph->n_node);
  for (size_t i = 0; i < e.graph->n_node && i < sizeof ops / sizeof *ops; i++)
    CHECK(!strcmp(e.graph->node[i]->op_type, ops[i]), "node %zu is %s, not %s", i,
          e.graph->node[i]->op_type, ops[i]);
  release(&e);
}

static void weights(void) {
  static const struct {
    const char *name;
    int64_t n;
  } expected[] = {{"body.weight", 15}, {"body.bias", 5}, {"head.weight", 10}, {"head.bias", 2}};
  exported e = export_model(dense);
  MUST(e.status);
  for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
    const Onnx__TensorProto *x = e.graph->initializer[k];
    const float *numbers = (const float *)(const void *)x->raw_data.data;
    CHECK(!strcmp(x->name, expected[k].name), "%s, not %s", x->name, expected[k].name);
    CHECK(x->raw_data.len == 4 * (size_t)expected[k].n, "%s has %zu bytes", x->name,
          x->raw_data.len);
    for (int64_t i = 0; i < expected[k].n && x->raw_data.len == 4 * (size_t)expected[k].n; i++)
      CHECK(numbers[i] == (float)(i + 1), "%s[%lld] is %g", x->name, (long long)i,
            (double)numbers[i]);
  }
  release(&e);
}

// The text of a weight's place.
static const char *place(const Onnx__TensorProto *x, const char *key) {
  for (size_t i = 0; i < x->n_external_data; i++)
    if (!strcmp(x->external_data[i]->key, key)) return x->external_data[i]->value;
  return "";
}

// Weights go to the other file, one after the other, each at the begin of a page.
// Names that weights and outputs have, as those of an imported model, are no node's.
static void names(void) {
  exported e = export_model(
      "inputs:\n  x: {shape: [n, t, c]}\nnodes:\n  - h: {mul: [x, x]}\n"
      "  - repeat: 8\n    nodes:\n      - w: {param: [c], name: Mul_$i}\n      - h: {mul: [h, w]}\n"
      "  - Mul_9: {mul: [h, h]}\n  - y: {mul: [Mul_9, h]}\npredict: {Mul_9: Mul_9, y: y}\n");
  MUST(e.status);
  for (size_t i = 0; i < e.graph->n_node; i++) {
    const char *name = e.graph->node[i]->output[0];
    for (size_t k = 0; k < i; k++)
      CHECK(strcmp(name, e.graph->node[k]->output[0]) != 0, "two nodes give '%s'", name);
    for (size_t k = 0; k < e.graph->n_initializer; k++)
      CHECK(strcmp(name, e.graph->initializer[k]->name) != 0, "'%s' is a weight, too", name);
  }
  CHECK(e.graph->n_initializer >= 8, "%zu weights", e.graph->n_initializer);
  release(&e);
}

// Of all axes: with those of some, onnxruntime refuses what is padded between convolutions.
static void widths(void) {
  exported e = export_model(
      "inputs:\n  x: {shape: [n, t, c]}\nnodes:\n  - y: {pad: x, axis: 1, from: 2, size: t + 3}\n"
      "predict: {y: y}\n");
  MUST(e.status);
  const Onnx__NodeProto *pad = find(e.graph, "Pad");
  CHECK(pad && pad->n_input == 2, "a Pad has %d operands", pad ? (int)pad->n_input : 0);
  release(&e);
}

static void weights_beside(void) {
  static const int64_t count[] = {3000, 1000, 2000, 2}, offset[] = {0, 12288, 16384, 24576};
  exported e = export_beside(
      "inputs:\n  x: {shape: [n, t, c]}\nnodes:\n"
      "  - h: {linear: x, out: 1000, name: body}\n  - y: {linear: h, out: 2, name: head}\n"
      "predict: {y: y}\n",
      "m.onnx.data");
  MUST(e.status);
  CHECK(e.graph->n_initializer >= 4, "%zu initializers", e.graph->n_initializer);
  for (size_t k = 0; k < 4 && k < e.graph->n_initializer; k++) {
    const Onnx__TensorProto *x = e.graph->initializer[k];
    CHECK(x->data_location == 1 && !x->has_raw_data, "%s is inside", x->name);
    CHECK(!strcmp(place(x, "location"), "m.onnx.data"), "'%s'", place(x, "location"));
    CHECK(atoll(place(x, "offset")) == offset[k], "%s is at %s", x->name, place(x, "offset"));
    CHECK(atoll(place(x, "length")) == 4 * count[k], "of %s bytes", place(x, "length"));
    CHECK((int64_t)e.n_beside >= offset[k] + 4 * count[k], "%zu bytes", e.n_beside);
    for (int64_t i = 0; i < count[k] && (int64_t)e.n_beside >= offset[k] + 4 * count[k]; i++)
      CHECK(((float *)(void *)(e.beside + offset[k]))[i] == (float)(i + 1), "%s", x->name);
  }
  CHECK(e.n_beside == 24576 + 8 && e.n < 2000, "%zu and %zu bytes", e.n_beside, e.n);
  release(&e);
}

// One file has room for as much as protocol buffers have.
static void room(void) {
  gr_onnx_tensor half = {.type = {GR_F32, 2, {1 << 16, (1 << 12) - (1 << 8)}}}, whole = half;
  gr_onnx_graph g = {.tensors = &half};
  CHECK(gr_onnx_fits(&g), "1 GiB");
  half.next = &whole;
  CHECK(gr_onnx_fits(&g), "less than 2 GiB");
  half.type.dim[1] = whole.type.dim[1] = 1 << 12;
  CHECK(!gr_onnx_fits(&g), "2 GiB");
}

static void same_bytes(void) {
  exported a = export_model(dense), b = export_model(dense);
  MUST(a.status);
  MUST(b.status);
  CHECK(a.n == b.n && !memcmp(a.bytes, b.bytes, a.n), "two files of one model differ");
  release(&a), release(&b);
}

// ---- Sizes --------------------------------------------------------------------------------------

#define MODEL(nodes, out)              \
  "inputs:\n  x: {shape: [n, t, c]}\n" \
  "  lengths: {shape: [n], dtype: i32}\nnodes:\n" nodes "predict: {out: " out "}\n"

// A weight that has a size of the data keeps it; and the letter is then no name.
static void fixed_size(void) {
  exported e =
      export_model(MODEL("  - w: {param: [t, c], init: zeros}\n  - y: {add: [x, w]}\n", "y"));
  MUST(e.status);
  CHECK(!strcmp(type_of(e.arena, e.graph->input[0]), "x:1[n,6,3]"), "%s",
        type_of(e.arena, e.graph->input[0]));
  release(&e);
}

// Nodes compute what depends on sizes that may change, from the inputs.
static void changing_sizes(void) {
  exported e = export_model(
      MODEL("  - y: {reshape: x, shape: [n * t, c]}\n  - y: {slice: y, axis: 0, from: 1, size: n * "
            "t - 1}\n"
            "  - m: {length_mask: lengths, size: t}\n  - m: {reshape: m, shape: [n * t, 1]}\n"
            "  - y: {pad: y, axis: 0, from: 1, size: n * t}\n  - y: {mul: [y, m]}\n",
            "y"));
  MUST(e.status);
  CHECK(find(e.graph, "Shape"), "no node reads a size");
  CHECK(find(e.graph, "Slice"), "no slice");
  CHECK(!strcmp(type_of(e.arena, e.graph->output[0]), "out:1[?,c]"), "%s",
        type_of(e.arena, e.graph->output[0]));
  release(&e);
}

// ---- Loops --------------------------------------------------------------------------------------

static void loops(void) {
  exported e =
      export_model(MODEL("  - y:\n"
                         "      scan:\n"
                         "        over: {x: t}\n"
                         "        carry: {h: [n, c]}\n"
                         "        nodes:\n"
                         "          - h: {add: [h, x]}\n"
                         "          - h: {tanh: h}\n"
                         "        yields: h\n"
                         "        reverse: true\n",
                         "y"));
  MUST(e.status);
  const Onnx__NodeProto *scan = find(e.graph, "Scan");
  const Onnx__AttributeProto *body = attribute(scan, "body"),
                             *n = attribute(scan, "num_scan_inputs"),
                             *back = attribute(scan, "scan_input_directions");
  CHECK(scan && scan->n_input == 2 && scan->n_output == 2, "Scan has other operands");
  CHECK(n && n->i == 1, "num_scan_inputs");
  CHECK(back && back->n_ints == 1 && back->ints[0] == 1, "scan_input_directions");
  CHECK(body && body->g->n_input == 2 && body->g->n_output == 2, "another body");
  CHECK(body && !body->g->n_initializer && find(body->g, "Tanh"), "the body's nodes");
  CHECK(find(e.graph, "Expand"), "the carry does not begin as zeros of the batch");
  release(&e);
}

// ---- Errors -------------------------------------------------------------------------------------

static void fails(const char *yaml, gr_code code, int line, const char *text) {
  exported e = export_model(yaml);
  CHECK(gr_status_code(e.status) == code, "code %d of '%s'", (int)gr_status_code(e.status),
        gr_status_text(e.status));
  CHECK(strstr(gr_status_text(e.status), text), "'%s' is not in '%s'", text,
        gr_status_text(e.status));
  CHECK(gr_status_loc(e.status).line == line, "line %d", gr_status_loc(e.status).line);
  release(&e);
}

static void errors(void) {
  fails(MODEL("  - y: {sample_normal: x}\n", "y"), GR_ERR_UNSUPPORTED, 5,
        "'sample_normal' cannot be written to ONNX: its random numbers");
  fails(MODEL("  - y: {scan: {over: {x: t}, nodes: [{u: {sample_uniform: x}}], yields: u}}\n", "y"),
        GR_ERR_UNSUPPORTED, 5, "'sample_uniform' cannot be written to ONNX");
  fails(MODEL("  - a, b: {channel_sums: [x, sample_weight]}\n", "a"), GR_ERR_UNSUPPORTED, 5,
        "'channel_sums' cannot be written to ONNX: it has no equivalent there");
  fails(
      "inputs:\n  x: {shape: [n, t, c]}\nnodes:\n  - y, k: {sample_sum: x}\nmetrics: {m: [y, k]}\n",
      GR_ERR_CONFIG, 1, "nothing to predict");
}

// Every op that models may use says how it is written, but for random numbers, losses and metrics.
static void all_ops(void) {
  static const char *const none[] = {"channel_sums",   "channel_squares", "dropout",
                                     "sample_uniform", "sample_normal",   "sample_categorical",
                                     "cross_entropy",  "accuracy",        "mse",
                                     "sample_sum",     "ctc_loss",        "edit_distance"};
  for (const gr_op *const *op = gr_ops; *op; op++) {
    bool expected = true;
    for (size_t k = 0; k < sizeof none / sizeof *none; k++)
      expected &= strcmp(none[k], (*op)->name) != 0;
    if (gr_op_is_internal(*op)) continue;
    CHECK(gr_onnx_has(*op) == expected, "%s is%s written to ONNX", (*op)->name,
          expected ? " not" : "");
  }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"head", head}, {"values", values}, {"weights", weights}, {"names", names},
             {"widths", widths}, {"weights_beside", weights_beside}, {"room", room},
             {"same_bytes", same_bytes}, {"fixed_size", fixed_size},
             {"changing_sizes", changing_sizes}, {"loops", loops}, {"errors", errors},
             {"all_ops", all_ops});
}
