// input.c - binds each input of a model to the batch tensor of the same name, dtype and shape.
// Letters in shapes take the sizes of that tensor.
#include <string.h>
#include "compiler/model/parts.h"

static const char *const input_keys[] = {"shape", "dtype", "doc"};
static const char *const own_names[] = {"weight", "lr", "micro", "step"};  // added by graphrun

// ---- Batch tensors ----------------------------------------------------------

static const gr_batch_tensor *find_tensor(const gr_build_context *a, const char *name) {
  for (int i = 0; i < a->request->n_batch; i++)
    if (!strcmp(a->request->batch[i].name, name)) return &a->request->batch[i];
  return NULL;
}

bool gr_model_is_reserved_input(const char *name) {
  for (size_t i = 0; i < sizeof own_names / sizeof *own_names; i++)
    if (!strcmp(name, own_names[i])) return true;
  return false;
}

// "x f32[16,56,8], lengths i32[16]"; leaves out the samples' weights, which graphrun binds itself.
static const char *list_batch(const gr_build_context *a) {
  gr_text t = gr_text_make(a->arena);
  char buf[96];
  for (int i = 0; i < a->request->n_batch; i++) {
    const gr_batch_tensor *b = &a->request->batch[i];
    if (!gr_model_is_reserved_input(b->name))
      gr_text_printf(&t, "%s%s %s", t.len ? ", " : "", b->name, gr_type_text(&b->type, buf));
  }
  return t.chars;
}

// ---- Letters ----------------------------------------------------------------------

static bool is_letter(const gr_conf *c) {
  return c->kind == GR_CONF_TEXT && gr_model_is_word(c->text) && *c->text != '$';
}

// A letter has the size of the first axis that it names. Names of parameters are not letters.
static void bind_letters(gr_build_context *a, const gr_conf *params, const gr_conf *shape,
                         const gr_type *t) {
  for (int d = 0; d < shape->n && d < t->rank; d++) {
    const gr_conf *c = shape->items[d];
    bool known = !is_letter(c) || gr_model_get(a, c->text) ||
                 (params && params->kind == GR_CONF_MAP && gr_conf_index(params, c->text) >= 0);
    if (!known) gr_model_set(a, c->text, (gr_arg){.kind = GR_ARG_INT, .i = t->dim[d]});
  }
}

void gr_model_letters(gr_build_context *a, gr_conf *file) {
  const gr_conf *inputs = gr_conf_member(file, "inputs"), *params = gr_conf_member(file, "params");
  for (int i = 0; i < a->request->n_dims; i++)
    gr_model_set(a, a->request->dims[i].name,
                 (gr_arg){.kind = GR_ARG_INT, .i = a->request->dims[i].size});
  if (a->request->n_batch)
    gr_model_set(a, "n", (gr_arg){.kind = GR_ARG_INT, .i = a->request->batch[0].type.dim[0]});
  for (int i = 0; inputs && inputs->kind == GR_CONF_MAP && i < inputs->n; i++) {
    gr_conf *input = inputs->items[i];
    const gr_batch_tensor *b = find_tensor(a, inputs->keys[i]);
    const gr_conf *shape = input->kind == GR_CONF_MAP && b ? gr_conf_member(input, "shape") : NULL;
    if (shape && shape->kind == GR_CONF_LIST) bind_letters(a, params, shape, &b->type);
  }
}

// ---- Declarations ---------------------------------------------------------------------

static gr_status unknown_letter(gr_build_context *a, const gr_conf *c) {
  const gr_map *known = &a->frame->args;
  const char *list = known->n ? gr_text_names(a->arena, known->keys, (int)known->n) : "no sizes";
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "the size of axis '%s' is unknown", c->text),
                 "known here: %s; declare other sizes under params:", list);
}

static gr_status read_shape(gr_build_context *a, const gr_conf *shape, gr_type *t) {
  for (int i = 0; i < shape->n; i++) {
    const gr_conf *c = shape->items[i];
    if (is_letter(c) && !gr_model_get(a, c->text)) return unknown_letter(a, c);
    if (c->kind == GR_CONF_TEXT && !strpbrk(c->text, "+-*/%()") && strchr(c->text, ' '))
      return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "'%s' is not one axis", c->text),
                     "put ',' between axes: [n, c]");
  }
  return gr_model_shape(a, shape, t);
}

static gr_status read_dtype(const gr_conf *dtype, gr_type *t) {
  if (!dtype) return GR_OK;
  for (int d = 0; d < GR_DTYPE_COUNT; d++)
    if (gr_conf_says(dtype, gr_dtypes[d].name)) {
      t->dtype = (gr_dtype)d;
      return GR_OK;
    }
  return gr_hint(gr_fail(GR_ERR_CONFIG, dtype->loc, "'%s' is not a dtype",
                         dtype->kind == GR_CONF_TEXT ? dtype->text : gr_model_kind(dtype->kind)),
                 "f32, i32, i64 or u8");
}

static gr_layout batch_layout(const gr_build_context *a) {
  gr_layout l = gr_layout_replicated;
  for (int k = 0; k < a->request->mesh.n_axes && k < GR_MAX_MESH; k++)
    if (gr_model_splits_batch(a, k)) l.placement[k] = 0;
  return l;
}

static bool is_batch(const gr_conf *shape) {
  return shape->n && gr_conf_says(shape->items[0], "n");
}

// ---- Binding ----------------------------------------------------------------------

static gr_status not_given(gr_build_context *a, const char *name, const gr_conf *c) {
  const char **names = GR_NEW(a->arena, const char *, a->request->n_batch + 1);
  for (int i = 0; i < a->request->n_batch; i++) names[i] = a->request->batch[i].name;
  gr_status s = gr_fail(GR_ERR_CONFIG, c->key_loc, "the data gives no '%s' for this input", name);
  s = gr_model_suggest(gr_about(s, name), name, names, a->request->n_batch);
  return gr_hint(s, "it gives %s", list_batch(a));
}

// Checks the parts of the declaration that need no sizes.
static gr_status check_axes(const char *name, const gr_conf *shape, const gr_batch_tensor *b) {
  char have[96];
  if (shape->n != b->type.rank)
    return gr_hint(
        gr_fail(GR_ERR_TYPE, shape->loc, "the input '%s' has %d %s, the data gives %s", name,
                shape->n, shape->n == 1 ? "axis" : "axes", gr_type_text(&b->type, have)),
        "name as many axes, [n, ...]; a new letter takes the size of its axis");
  if (!is_batch(shape))
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, shape->n ? shape->items[0]->loc : shape->loc,
                "the first axis of the input '%s' must be 'n', the samples of the batch", name),
        "write [n, ...]: that axis is divided over the ranks");
  return GR_OK;
}

static gr_status check_type(const char *name, gr_conf *c, const gr_type *t,
                            const gr_batch_tensor *b) {
  const gr_conf *shape = gr_conf_member(c, "shape"), *dtype = gr_conf_member(c, "dtype");
  char have[96];
  gr_type_text(&b->type, have);
  if (t->dtype != b->type.dtype)
    return gr_hint(gr_about(gr_fail(GR_ERR_TYPE, dtype ? dtype->loc : c->key_loc,
                                    "the input '%s' is %s%s, the data gives %s", name,
                                    gr_dtypes[t->dtype].name, dtype ? "" : " (the default)", have),
                            name),
                   "dtype: %s; the op 'cast' converts it to another dtype",
                   gr_dtypes[b->type.dtype].name);
  for (int d = 0; d < t->rank; d++)
    if (t->dim[d] != b->type.dim[d])
      return gr_hint(gr_fail(GR_ERR_TYPE, shape->items[d]->loc,
                             "axis %d of the input '%s' is %lld, the data gives %s", d, name,
                             (long long)t->dim[d], have),
                     "a letter that has no other size takes the size of the data");
  return GR_OK;
}

// A leaf for an input; a teacher reads that of the model which has the name.
static gr_val leaf(gr_build_context *a, const char *name, gr_type t, gr_layout layout) {
  const gr_graph *g = a->root.g;
  for (uint32_t i = 1; a->student && i < g->n_values; i++)
    if (g->values[i].role == GR_INPUT && !strcmp(g->values[i].name, name)) return (gr_val){i};
  return gr_leaf(&a->root, GR_INPUT, GR_KIND_BUFFER, name, t, layout);
}

static gr_status declared_type(gr_build_context *a, const char *name, gr_conf *c,
                               const gr_batch_tensor *b, gr_type *t) {
  gr_conf *shape = gr_conf_member(c, "shape");
  if (!shape)
    return gr_fail(GR_ERR_CONFIG, c->key_loc, "the input '%s' needs 'shape: [n, ...]'", name);
  GR_TRY(gr_model_expect(shape, GR_CONF_LIST, "a shape"));
  if (b) GR_TRY(check_axes(name, shape, b));
  GR_TRY(read_shape(a, shape, t));
  GR_TRY(read_dtype(gr_conf_member(c, "dtype"), t));
  return b ? check_type(name, c, t, b) : GR_OK;
}

// `{}` is an input of the type that the data have.
static gr_status input(gr_build_context *a, const char *name, gr_conf *c) {
  gr_type t = {.dtype = GR_F32};
  char want[96], have[96];
  GR_TRY(gr_model_expect(c, GR_CONF_MAP, "an input"));
  GR_TRY(gr_model_keys(c, "an input", input_keys, 3));
  gr_conf *shape = gr_conf_member(c, "shape");
  gr_conf *buffers = gr_conf_member(a->request->graph, "buffers");
  if (buffers && buffers->kind == GR_CONF_MAP && gr_conf_member(buffers, name))
    return gr_note(gr_fail(GR_ERR_CONFIG, c->key_loc,
                           "the input '%s' has the name of a buffer: choose another name", name),
                   gr_conf_member(buffers, name)->key_loc, "the buffer");
  if (gr_model_is_reserved_input(name))
    return gr_fail(GR_ERR_CONFIG, c->key_loc,
                   "the name '%s' is reserved for an input of graphrun: choose another name", name);
  const gr_batch_tensor *b = a->own_inputs ? NULL : find_tensor(a, name);
  if (a->request->batch && !a->own_inputs && !b) return not_given(a, name, c);
  if (shape || !b || c->n) GR_TRY(declared_type(a, name, c, b, &t));
  if (!shape) t = b->type;
  a->root.loc = c->key_loc;
  gr_binding bound = {.n = 1};
  bound.v[0] = leaf(a, name, t, !shape || is_batch(shape) ? batch_layout(a) : gr_layout_replicated);
  if (!gr_type_same(gr_model_type(a, bound.v[0]), &t))
    return gr_fail(GR_ERR_TYPE, c->key_loc,
                   "the input '%s' of the teacher is %s, that of the model %s", name,
                   gr_type_text(&t, want), gr_type_text(gr_model_type(a, bound.v[0]), have));
  gr_model_bind(a, name, c->key_loc, &bound);
  return gr_model_take_error(a);
}

gr_status gr_model_inputs(gr_build_context *a, gr_conf *file) {
  gr_conf *map = a->own_inputs ? a->own_inputs : gr_conf_member(file, "inputs");
  const gr_arg *n = gr_model_get(a, "n");
  gr_status s = GR_OK;
  if (!map && gr_conf_member(file, "programs")) return GR_OK;  // they take no data
  if (!map) return gr_fail(GR_ERR_CONFIG, file->loc, "the graph has no 'inputs:'");
  GR_TRY(gr_model_expect(map, GR_CONF_MAP, "inputs:"));
  if (!n) return gr_fail(GR_ERR_CONFIG, map->key_loc, "the size of the batch, 'n', is unknown");
  for (int i = 0; i < map->n; i++) s = gr_also(s, input(a, map->keys[i], map->items[i]));
  if (s) return s;
  a->root.loc = map->key_loc;
  gr_type t = {.dtype = GR_F32, .rank = 1, .dim = {n->i}};
  a->weight = leaf(a, "weight", t, batch_layout(a));
  a->sample_weight = (gr_binding){.n = 1, .v = {a->weight}};
  return gr_model_take_error(a);
}

bool gr_model_splits_batch(const gr_build_context *a, int axis) {
  for (int i = 0; i < GR_MAX_MESH; i++) {
    const char *name = a->request->batch_axis[i];
    if (name && !strcmp(a->request->mesh.axis[axis].name, name)) return true;
  }
  return false;
}
