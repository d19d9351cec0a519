// param.c - {param: [out, in], init: ..., train: ...}: a tensor that persists from step to step.
// Checkpoints, freeze: and share: refer to it by its path ("encoder.0.weight").
#include <string.h>
#include "base/grow.h"
#include "compiler/model/parts.h"

static const char *const keys[] = {"init", "train", "layout", "dtype", "gain", "a",
                                   "std",  "mean",  "value",  "low",   "high", "theta"};

// "batch": along the first axis, over the mesh axes that shard the batch.
static gr_status shard_as_batch(gr_build_context *a, const gr_conf *c, gr_model_param *p) {
  int64_t ranks = 1;
  for (int k = 0; k < a->request->mesh.n_axes && k < GR_MAX_MESH; k++) {
    if (!gr_model_splits_batch(a, k)) continue;
    p->layout.placement[k] = 0, ranks *= a->request->mesh.axis[k].size;
  }
  char type[96];
  if (p->type.rank && p->type.dim[0] % ranks == 0) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc,
                         "the buffer '%s' is %s: its first axis cannot be split over %lld ranks",
                         p->path, gr_type_text(&p->type, type), (long long)ranks),
                 "layout: batch needs a first axis that the number of ranks divides");
}

static gr_status read_layout(gr_build_context *a, gr_conf *use, gr_model_param *p) {
  gr_conf *map = gr_conf_member(use, "layout");
  p->layout = gr_layout_replicated;
  if (!map) return GR_OK;
  bool batch = gr_conf_says(map, "batch");
  if (p->kind == GR_KIND_BUFFER && batch) return shard_as_batch(a, map, p);
  GR_TRY(gr_hint(gr_model_expect(map, GR_CONF_MAP, "layout:"),
                 "layout: {tp: S0} splits axis 0 over the mesh axis tp%s",
                 p->kind == GR_KIND_BUFFER ? "; layout: batch splits it as the batch is" : ""));
  for (int i = 0; i < map->n; i++) {
    const gr_conf *c = map->items[i];
    gr_arg x;
    GR_TRY(gr_model_arg(a, c, true, &x));
    const char *text = x.kind == GR_ARG_TEXT ? x.text : "";
    bool split = text[0] == 'S' && text[1] >= '0' && text[1] <= '9' && !text[2];
    if ((strcmp(text, "R") && !split) || (split && text[1] - '0' >= p->type.rank))
      return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "'%s' is not a layout of these %d axes", text,
                             p->type.rank),
                     "R: replicated on every rank; S0, S1: sharded along that axis");
    int axis = gr_mesh_axis(&a->request->mesh, map->keys[i]);  // one that the mesh lacks has size 1
    if (axis >= 0)
      p->layout.placement[axis] = split ? (gr_axis_placement)(text[1] - '0') : GR_REPLICATE;
  }
  return GR_OK;
}

static gr_status read_dtype(gr_build_context *a, gr_conf *use, gr_model_param *p) {
  gr_conf *c = gr_conf_member(use, "dtype");
  p->type.dtype = GR_F32;
  if (!c) return GR_OK;
  gr_arg x;
  GR_TRY(gr_model_arg(a, c, true, &x));
  for (int d = 0; d < GR_DTYPE_COUNT; d++)
    if (x.kind == GR_ARG_TEXT && !strcmp(x.text, gr_dtypes[d].name)) {
      p->type.dtype = (gr_dtype)d;
      return GR_OK;
    }
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "'%s' is not a dtype", gr_arg_text(a->arena, &x)),
                 "f32, i32, ...");
}

// What a node reads of a parameter, in the innermost graph. Of a weight that is not trained there
// it is the result of an op that is a constant for the backward pass, once in the program.
static gr_val value_of(gr_build_context *a, const gr_model_param *p) {
  gr_val v = p->now;
  if (a->weights && p->kind == GR_KIND_WEIGHT) {
    gr_loc loc = a->root.loc;
    a->root.loc = a->weights_loc, a->otherwise++;
    v = gr_emit(&a->root, a->weights == GR_WEIGHTS_FROZEN ? &gr_op_stop_gradient : &gr_op_averaged,
                NULL, 1, &v);
    a->root.loc = loc;
  }
  return gr_model_capture(a, v, 0);
}

static gr_status use_shared(gr_build_context *a, const gr_model_param *p, gr_binding *out) {
  uint32_t i;
  char want[96], have[96];
  if (!gr_map_find(&a->by_path, p->path, &i)) {
    gr_status s = gr_fail(GR_ERR_CONFIG, p->loc, "share: there is no parameter '%s' yet", p->path);
    s = gr_model_suggest(s, p->path, a->by_path.keys, (int)a->by_path.n);
    return gr_hint(
        s, "the node that defines it must come first; use bias: false for a layer without one");
  }
  const gr_model_param *known = &a->params[i];
  if (!gr_type_same(&known->type, &p->type))
    return gr_note(gr_fail(GR_ERR_TYPE, p->loc, "'%s' is %s here, but %s where it is defined",
                           p->path, gr_type_text(&p->type, want), gr_type_text(&known->type, have)),
                   known->loc, "made here");
  *out = (gr_binding){.depth = a->depth, .param = i + 1, .n = 1, .v = {value_of(a, known)}};
  return gr_model_take_error(a);
}

// Inputs and parameters share one namespace: a layer without `name:` has a parameter "weight".
static gr_status check_name(const gr_build_context *a, const gr_model_param *p) {
  const gr_conf *inputs = gr_conf_member(a->request->graph, "inputs");
  int i = inputs ? gr_conf_index(inputs, p->path) : -1;
  if (i < 0 && !gr_model_is_reserved_input(p->path)) return GR_OK;
  bool buffer = p->kind == GR_KIND_BUFFER;
  gr_status s = gr_fail(GR_ERR_CONFIG, p->loc, "a %s cannot be called '%s': %s",
                        buffer ? "buffer" : "parameter", p->path,
                        i < 0 ? "graphrun has an input or state of that name" : "an input is");
  if (i >= 0) s = gr_note(s, inputs->items[i]->key_loc, "the input");
  if (buffer) return gr_hint(s, "choose another name, or give the block's use a 'name:'");
  return gr_hint(s, "give the layer a 'name:'; its parameters are then NAME.%s", p->path);
}

gr_status gr_model_add_param(gr_build_context *a, gr_model_param *p, gr_binding *out) {
  uint32_t i = a->by_path.n;
  if (gr_map_find(&a->by_path, p->path, &i))
    return gr_hint(
        gr_note(gr_fail(GR_ERR_CONFIG, p->loc, "two parameters are called '%s'", p->path),
                a->params[i].loc, "the other one"),
        "give one of the layers a 'name:', or 'share:' to use the same weights twice");
  GR_TRY(check_name(a, p));
  GR_GROW(a->arena, a->params, i, a->cap_params);
  gr_loc loc = a->root.loc;
  a->root.loc = p->loc;
  p->v = p->now = gr_leaf(&a->root, GR_STATE, p->kind, p->path, p->type, p->layout);
  a->root.loc = loc;
  a->params[i] = *p;
  gr_map_put(&a->by_path, p->path, i);
  *out = (gr_binding){.depth = a->depth, .param = i + 1, .n = 1, .v = {value_of(a, p)}};
  return gr_model_take_error(a);
}

gr_status gr_model_declare(gr_build_context *a, gr_conf *settings, gr_conf *shape,
                           gr_model_param *p, gr_binding *out) {
  GR_TRY(gr_model_shape(a, shape, &p->type));
  GR_TRY(read_dtype(a, settings, p));
  GR_TRY(read_layout(a, settings, p));
  GR_TRY(gr_model_init_rule(a, settings, p));
  return a->share ? use_shared(a, p, out) : gr_model_add_param(a, p, out);
}

gr_status gr_model_make_param(gr_build_context *a, gr_conf *use, gr_binding *out) {
  gr_model_param p = {.loc = gr_model_builder(a)->loc};
  gr_conf rest = *use, *train = gr_conf_member(use, "train");
  rest.keys++, rest.items++, rest.n--;
  GR_TRY(gr_model_keys_of_node(a, &rest, "param", keys, sizeof keys / sizeof *keys));
  bool trained = true, named = gr_conf_member(use, "name") || gr_conf_member(use, "share");
  if (train) GR_TRY(gr_model_bool(a, train, &trained));
  p.kind = trained ? GR_KIND_WEIGHT : GR_KIND_BUFFER;
  const char *name = named ? "" : a->name;
  p.path = gr_model_join(a, a->share ? a->share : a->path, name);
  return gr_model_declare(a, use, use->items[0], &p, out);
}
