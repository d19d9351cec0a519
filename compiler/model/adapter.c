// adapter.c - low-rank adapters (model.lora): the block `lora` of graphs/blocks.yaml, added to
// every linear layer whose path matches.
//
// A linear layer is a product with a weight [out, in] that is read transposed, whatever block it is
// in; its path is the weight's name without ".weight". Layers that share a weight share its
// adapters, so that these can be merged into it: a weight that is also read in another way, as the
// table of an embedding, cannot have any. Adapters are split over the mesh as the weight is: A
// along its inputs, B along its outputs.
#include <string.h>
#include "compiler/model/parts.h"
#include "ops/nn/matmul.h"

static const char layer_output[] = "$y";  // a name that no file can have
static const char weight_end[] = ".weight";

gr_adapting *gr_model_adapting(gr_arena *arena, const gr_model_request *ask) {
  gr_adapting *out = GR_NEW(arena, gr_adapting, 1);
  out->layers = gr_map_make(arena);
  for (int i = 0; i < ask->n_adapters; i++)
    out->matched[i] = GR_NEW(arena, bool, ask->adapters[i].match.n + 1);
  return out;
}

// ---- Which layers -------------------------------------------------------------------------------

// The weight of a linear layer, of which `out` is the result; NULL: it is none.
static const gr_model_param *find_weight(gr_build_context *a, const gr_op *op, const gr_conf *use,
                                         const gr_binding *out) {
  const gr_conf *operands = use->items[0];
  if (op != &gr_op_matmul || operands->kind != GR_CONF_LIST || operands->n != 2) return NULL;
  const gr_graph *g = gr_model_builder(a)->g;
  const struct matmul *attr = g->nodes[gr_at(g, out->v[0])->node].attr;
  const gr_conf *second = operands->items[1];
  const gr_binding *b = second->kind == GR_CONF_TEXT ? gr_model_find(a, second->text) : NULL;
  if (!b || !b->param || attr->ta || !attr->tb) return NULL;
  const gr_model_param *p = &a->params[b->param - 1];
  return p->kind == GR_KIND_WEIGHT && p->type.rank == 2 ? p : NULL;
}

static const char *path_of_layer(gr_arena *arena, const char *weight) {
  size_t n = strlen(weight), end = sizeof weight_end - 1;
  if (!strcmp(weight, weight_end + 1)) return "";
  return n > end && !strcmp(weight + n - end, weight_end) ? gr_arena_strndup(arena, weight, n - end)
                                                          : weight;
}

static bool is_matched(gr_adapting *found, int adapter, const gr_adapter *p, const char *layer) {
  bool any = false;
  for (int i = 0; i < p->match.n; i++)
    if (gr_name_matches(layer, &p->match.text[i], 1)) any = found->matched[adapter][i] = true;
  return any;
}

// ---- Adding an adapter --------------------------------------------------------------------------

static void put_number(gr_build_context *a, gr_conf *use, const char *key, double x) {
  gr_conf *c = gr_conf_make(a->arena, GR_CONF_FLOAT, use->loc);
  c->number = x;
  gr_conf_add(a->arena, use, key, c);
}

static void append_name(gr_build_context *a, gr_conf *list, const char *name) {
  gr_conf *c = gr_conf_make(a->arena, GR_CONF_TEXT, list->loc);
  c->text = name;
  gr_conf_append(a->arena, list, c);
}

// {lora: [x, y], rank: ..., alpha: ..., dropout: ...}
static gr_conf *use_of_block(gr_build_context *a, const gr_adapter *p, const char *x) {
  gr_conf *use = gr_conf_make(a->arena, GR_CONF_MAP, p->loc);
  gr_conf *operands = gr_conf_make(a->arena, GR_CONF_LIST, p->loc);
  append_name(a, operands, x);
  append_name(a, operands, layer_output);
  gr_conf_add(a->arena, use, "lora", operands);
  use->items[0]->key_loc = p->loc;
  put_number(a, use, "rank", (double)p->rank);
  put_number(a, use, "alpha", p->alpha);
  put_number(a, use, "dropout", p->dropout);
  return use;
}

// Splits one of the adapter's weights along `axis` where the layer's is split along `dim`.
static void split(gr_build_context *a, const gr_layout *layer, int dim, const char *name,
                  int axis) {
  uint32_t i;
  if (!gr_map_find(&a->by_path, name, &i)) return;
  gr_model_param *p = &a->params[i];
  for (int k = 0; k < GR_MAX_MESH; k++)
    if (layer->placement[k] == dim) p->layout.placement[k] = (gr_axis_placement)axis;
  gr_at(a->root.g, p->v)->layout = p->layout;
}

static gr_status add(gr_build_context *a, const gr_adapter *p, const gr_model_param *weight,
                     const char *layer, const char *x, gr_binding *out) {
  const char *path = a->path, *share = a->share;
  gr_builder *b = gr_model_builder(a);
  const char *scope = b->scope;
  gr_layout layout = weight->layout;
  a->path = gr_model_join(a, layer, p->name);
  const char *first = gr_model_join(a, a->path, "lora_A.weight");
  const char *second = gr_model_join(a, a->path, "lora_B.weight");
  a->share = gr_map_find(&a->by_path, first, NULL) ? a->path : NULL;
  b->scope = *a->path ? a->path : NULL;
  gr_model_bind(a, layer_output, p->loc, out);
  const gr_block *lora;
  GR_TRY(gr_model_builtin(a, "lora", &lora));
  GR_TRY(gr_note(gr_model_block(a, lora, use_of_block(a, p, x), out), p->loc, "an adapter of '%s'",
                 layer));
  split(a, &layout, 1, first, 1);
  split(a, &layout, 0, second, 0);
  a->path = path, a->share = share, b->scope = scope;
  return GR_OK;
}

gr_status gr_model_adapt(gr_build_context *a, const gr_op *op, gr_conf *use, gr_binding *out) {
  gr_adapting *found = a->adapting;
  const gr_model_param *w = a->request->n_adapters ? find_weight(a, op, use, out) : NULL;
  if (!w || !found) return GR_OK;
  const char *layer = path_of_layer(a->arena, w->path), *x = use->items[0]->items[0]->text;
  gr_map_put(&found->layers, layer, 1);
  a->adapting = NULL;  // adapters have no adapters
  for (int i = 0; i < a->request->n_adapters; i++) {
    const gr_adapter *p = &a->request->adapters[i];
    gr_model_param weight = a->params[w - a->params];
    if (is_matched(found, i, p, layer)) GR_TRY(add(a, p, &weight, layer, x, out));
  }
  a->adapting = found;
  return GR_OK;
}

// ---- Checks -------------------------------------------------------------------------------------

static bool is_adapted(const gr_build_context *a, const char *layer) {
  for (int i = 0; i < a->request->n_adapters; i++)
    if (gr_name_matches(layer, a->request->adapters[i].match.text, a->request->adapters[i].match.n))
      return gr_map_find(&a->adapting->layers, layer, NULL);
  return false;
}

// Whether node n reads v other than as the weight of a linear layer, or in the gradient of one that
// the model asks for, which is then also of its adapter; loops are not looked into.
static bool reads_otherwise(const gr_node *n, gr_val v) {
  const struct matmul *attr = n->op == &gr_op_matmul ? n->attr : NULL;
  if (n->created_by == gr_model_gradient_maker) return false;
  for (int k = 0; k < n->n_in; k++)
    if (n->in[k].id == v.id && !gr_op_has_body(n->op) && !(attr && k == 1 && attr->tb && !attr->ta))
      return true;
  return false;
}

gr_status gr_model_check_adapted(gr_build_context *a) {
  const gr_graph *g = a->root.g;
  for (uint32_t i = 0; a->request->n_adapters && i < a->by_path.n; i++) {
    const gr_model_param *p = &a->params[i];
    if (!is_adapted(a, path_of_layer(a->arena, p->path))) continue;
    for (uint32_t k = 0; k < g->n_nodes; k++)
      if (reads_otherwise(&g->nodes[k], p->v))
        return gr_hint(gr_note(gr_fail(GR_ERR_CONFIG, a->request->adapters[0].loc,
                                       "model.lora matches '%s', which op '%s' reads, too", p->path,
                                       g->nodes[k].op->name),
                               g->nodes[k].loc, "here"),
                       "an adapter of a layer whose weight has another use could not be merged: "
                       "choose a narrower pattern");
  }
  return GR_OK;
}

// A layer's path, or a pattern of all layers with its last name, that resembles the pattern; NULL:
// none does.
static const char *near_layer(gr_arena *arena, const char *pattern, const gr_map *layers) {
  const char **like = GR_NEW(arena, const char *, 2 * layers->n + 1);
  int n = 0;
  for (uint32_t i = 0; i < layers->n; i++) {
    const char *dot = strrchr(layers->keys[i], '.');
    like[n++] = layers->keys[i];
    if (dot) like[n++] = gr_arena_printf(arena, "*%s", dot);
  }
  return gr_text_nearest(pattern, like, n);
}

static gr_status no_layer(gr_arena *arena, const char *pattern, gr_loc loc,
                          const gr_adapting *found) {
  gr_status s = gr_fail(GR_ERR_CONFIG, loc, "'%s' of model.lora matches no linear layer", pattern);
  const char *near = near_layer(arena, pattern, &found->layers);
  if (near) s = gr_hint(s, "did you mean '%s'?", near);
  if (!found->layers.n) return gr_hint(s, "the model has none");
  return gr_hint(s, "the path of a layer is, for example, '%s' or '%s'; * matches anything",
                 found->layers.keys[0], found->layers.keys[found->layers.n - 1]);
}

gr_status gr_model_check_adapters(gr_arena *arena, const gr_model_request *ask,
                                  const gr_adapting *found) {
  gr_status all = GR_OK;
  for (int i = 0; i < ask->n_adapters; i++)
    for (int k = 0; k < ask->adapters[i].match.n; k++)
      if (!found->matched[i][k])
        all = gr_also(all, no_layer(arena, ask->adapters[i].match.text[k],
                                    ask->adapters[i].match.loc[k], found));
  return all;
}
