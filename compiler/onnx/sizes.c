// sizes.c - see sizes.h.
#include "compiler/onnx/sizes.h"
#include <string.h>
#include "ops/loop/scan.h"
#include "ops/ops.h"

// Sizes of the batch: primes, because two equal sizes may give one node in place of two. Other
// letters begin with the size of the data, and take sizes of either parity.
enum { BATCH = 251, STEP_1 = 1, STEP_2 = 6 };

// ---- Letters ------------------------------------------------------------------------------------

static const gr_conf *inputs_of(const gr_model_request *r) {
  const gr_conf *of_program =
      r->program ? gr_model_program_inputs(r->graph, r->program->name) : NULL;
  return of_program ? of_program : gr_conf_member(r->graph, "inputs");
}

static gr_batch_tensor *find_tensor(gr_model_request *r, const char *name) {
  for (int i = 0; i < r->n_batch; i++)
    if (!strcmp(r->batch[i].name, name)) return (gr_batch_tensor *)&r->batch[i];
  return NULL;
}

static const gr_conf *shape_of(const gr_conf *inputs, int i) {
  gr_conf *c = inputs->items[i];
  const gr_conf *shape = c->kind == GR_CONF_MAP ? gr_conf_member(c, "shape") : NULL;
  return shape && shape->kind == GR_CONF_LIST ? shape : NULL;
}

// A request of its own, whose batch tensors and sizes may be changed.
static gr_model_request copy_request(gr_arena *a, const gr_model_request *r) {
  gr_model_request out = *r;
  gr_batch_tensor *batch = GR_NEW(a, gr_batch_tensor, r->n_batch + 1);
  gr_dim *dims = GR_NEW(a, gr_dim, r->n_dims + 1);
  for (int i = 0; i < r->n_batch; i++) batch[i] = r->batch[i];
  for (int i = 0; i < r->n_dims; i++) dims[i] = r->dims[i];
  out.batch = r->n_batch ? batch : NULL, out.dims = dims;
  if (!r->n_batch) dims[out.n_dims++] = (gr_dim){"n", BATCH};
  return out;
}

// Sets the size of a letter wherever an input has it.
static void set_size(gr_model_request *r, const char *letter, int64_t size) {
  const gr_conf *inputs = inputs_of(r);
  for (int i = 0; i < r->n_dims; i++)
    if (!strcmp(r->dims[i].name, letter)) ((gr_dim *)&r->dims[i])->size = size;
  for (int i = 0; !strcmp(letter, "n") && i < r->n_batch; i++)
    ((gr_batch_tensor *)&r->batch[i])->type.dim[0] = size;
  for (int i = 0; inputs && i < inputs->n; i++) {
    const gr_conf *shape = shape_of(inputs, i);
    gr_batch_tensor *b = find_tensor(r, inputs->keys[i]);
    for (int d = 1; b && shape && d < shape->n && d < b->type.rank; d++)
      if (gr_conf_says(shape->items[d], letter)) b->type.dim[d] = size;
  }
}

// The letters of the inputs, "n" first, with their sizes. Words that are parameters, and sizes of
// axes beyond a tensor's, are none.
static int list_letters(gr_model_request *r, const char *name[GR_ONNX_LETTERS],
                        int64_t size[GR_ONNX_LETTERS]) {
  const gr_conf *inputs = inputs_of(r), *params = gr_conf_member(r->graph, "params");
  int n = 1;
  name[0] = "n", size[0] = BATCH;
  for (int i = 0; inputs && i < inputs->n; i++) {
    const gr_conf *shape = shape_of(inputs, i);
    const gr_batch_tensor *b = find_tensor(r, inputs->keys[i]);
    for (int d = 1; b && shape && d < shape->n && d < b->type.rank; d++) {
      const gr_conf *c = shape->items[d];
      bool known = c->kind != GR_CONF_TEXT ||
                   (params && params->kind == GR_CONF_MAP && gr_conf_index(params, c->text) >= 0);
      for (int k = 0; k < n && !known; k++) known = !strcmp(name[k], c->text);
      if (!known && n < GR_ONNX_LETTERS) name[n] = c->text, size[n++] = b->type.dim[d];
    }
  }
  return n;
}

// ---- Comparison ---------------------------------------------------------------------------------

static bool same_nodes(const gr_graph *a, const gr_graph *b);

static bool same_node(const gr_node *a, const gr_node *b) {
  if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out || a->out.id != b->out.id)
    return false;
  for (int k = 0; k < a->n_in; k++)
    if (a->in[k].id != b->in[k].id) return false;
  return a->op != &gr_op_scan ||
         same_nodes(((const gr_scan *)a->attr)->body, ((const gr_scan *)b->attr)->body);
}

// But for sizes; states must have the same.
static bool same_nodes(const gr_graph *a, const gr_graph *b) {
  if (a->n_nodes != b->n_nodes || a->n_values != b->n_values || a->n_results != b->n_results)
    return false;
  for (uint32_t v = 1; v < a->n_values; v++) {
    const gr_value *x = &a->values[v], *y = &b->values[v];
    bool weight = x->role == GR_STATE && a->result_names;
    if (x->role != y->role || x->type.rank != y->type.rank || x->next.id != y->next.id ||
        (weight && !gr_type_same(&x->type, &y->type)))
      return false;
  }
  for (uint32_t i = 0; i < a->n_nodes; i++)
    if (!same_node(&a->nodes[i], &b->nodes[i])) return false;
  return true;
}

// ---- Choices ------------------------------------------------------------------------------------

// Adds the graphs of two other sizes of a letter, if they are the same graph.
static bool add_letter(gr_arena *arena, const gr_model_request *base, const char *name,
                       int64_t size, gr_onnx_choices *c) {
  static const int step[] = {STEP_1, STEP_2};
  gr_onnx_letter *letter = &c->letter[c->n_letters];
  bool same = true;
  for (int i = 0; i < 2 && same; i++) {
    gr_model_request r = copy_request(arena, base);
    gr_graph *g = NULL;
    r.n_dims = base->n_dims;
    set_size(&r, name, size + step[i]);
    gr_status s = gr_inference_graph(arena, &r, &g);
    same = !s && same_nodes(c->graph[0], g);
    gr_status_drop(s);
    c->graph[c->n + i] = g;
  }
  if (!same) return false;
  letter->name = name, c->n_letters++;
  for (int i = 0; i < GR_ONNX_CHOICES; i++) letter->size[i] = size;
  for (int i = 0; i < 2; i++) letter->size[c->n++] += step[i];
  return true;
}

gr_status gr_onnx_choose(gr_arena *arena, const gr_model_request *request, gr_onnx_choices *out) {
  const char *name[GR_ONNX_LETTERS];
  int64_t size[GR_ONNX_LETTERS];
  gr_model_request base = copy_request(arena, request);
  gr_graph *g = NULL;
  *out = (gr_onnx_choices){.n = 1};
  set_size(&base, "n", BATCH);
  GR_TRY(gr_inference_graph(arena, &base, &g));
  out->graph[0] = g;
  int n = list_letters(&base, name, size);
  bool batch = false;
  for (uint32_t v = 1; v < g->n_values; v++) batch |= g->values[v].role == GR_INPUT;
  for (int k = batch ? 0 : n; k < n; k++)
    if (!add_letter(arena, &base, name[k], size[k], out) && !k)
      return gr_fail(GR_ERR_UNSUPPORTED, request->graph->loc,
                     "the model is another graph for other sizes of the batch, and ONNX has one");
  return GR_OK;
}
