// model_file.c - see model_file.h.
#include "job/model_file.h"
#include <string.h>
#include "runtime/checkpoint/checkpoint.h"

bool gr_is_onnx_path(const char *path) { return gr_ends_in(path, ".onnx"); }

// ---- ONNX ---------------------------------------------------------------------------------------

gr_tensor_slice *gr_onnx_slices(gr_arena *a, const gr_onnx_imported *m) {
  gr_tensor_slice *t = GR_NEW(a, gr_tensor_slice, m->n_weights + 1);
  for (int i = 0; i < m->n_weights; i++) {
    const gr_onnx_weight *w = &m->weights[i];
    t[i] = gr_tensor_slice_whole(w->name, gr_dtypes[w->type.dtype].name, w->type.rank, w->type.dim,
                                 (void *)(uintptr_t)w->data);
  }
  return t;
}

static gr_status read_onnx(gr_arena *a, const char *path, gr_model_file *out) {
  gr_onnx_imported m;
  GR_TRY(gr_onnx_import(a, path, false, &m));
  out->weights = gr_onnx_slices(a, &m), out->n_weights = m.n_weights;
  const char *name = gr_arena_printf(a, "%s, as `graphrun import` writes it", path);
  return gr_conf_parse(a, name, gr_arena_strdup(a, m.text), &out->graph);
}

// ---- Additions ----------------------------------------------------------------------------------

typedef struct adding {
  gr_arena *arena;
  gr_conf *graph, *inputs, *nodes;
  bool changes;
} adding;

static gr_conf *section(adding *x, const char *name, gr_conf_kind kind, gr_loc loc) {
  gr_conf *c = gr_conf_member(x->graph, name);
  if (c && c->kind == kind) return c;
  c = gr_conf_make(x->arena, kind, loc);
  c->key_loc = loc;
  gr_conf_put(x->arena, x->graph, name, c);
  return c;
}

static void add_node(adding *x, const char *name, gr_conf *use, bool first) {
  gr_conf *node = gr_conf_make(x->arena, GR_CONF_MAP, use->loc);
  gr_conf_put(x->arena, node, name, use);
  gr_conf_append(x->arena, x->nodes, node);
  for (int i = x->nodes->n - 1; first && i > 0; i--) {
    gr_conf *swap = x->nodes->items[i];
    x->nodes->items[i] = x->nodes->items[i - 1], x->nodes->items[i - 1] = swap;
  }
  x->changes = true;
}

static gr_conf *text_node(adding *x, const char *text, gr_loc loc) {
  gr_conf *c = gr_conf_make(x->arena, GR_CONF_TEXT, loc);
  c->text = text, c->key_loc = loc;
  return c;
}

// The data's name for an input takes the place of the file's, which is a second name for it.
static gr_status rename_input(adding *x, const char *name, gr_conf *to) {
  int i = gr_conf_index(x->inputs, name);
  if (i < 0) {
    gr_status s = gr_fail(GR_ERR_CONFIG, to->key_loc, "the model's file has no input '%s'", name);
    return gr_hint_near(s, name, x->inputs->keys, x->inputs->n);
  }
  if (gr_conf_index(x->inputs, to->text) >= 0)
    return gr_fail(GR_ERR_CONFIG, to->loc, "the model's file has an input '%s' already", to->text);
  gr_conf *declared = x->inputs->items[i];
  gr_conf_remove(x->inputs, i);
  gr_conf_put(x->arena, x->inputs, to->text, declared);
  add_node(x, name, text_node(x, to->text, to->loc), true);
  return GR_OK;
}

static gr_status add_inputs(adding *x, gr_conf *given) {
  gr_status all = GR_OK;
  if (given->kind != GR_CONF_MAP)
    return gr_hint(gr_fail(GR_ERR_CONFIG, given->loc, "model.inputs must be a mapping, found %s",
                           gr_conf_a_kind(given->kind)),
                   "as in {image: x, y: {shape: [n], dtype: i32}}");
  gr_conf_mark(given);
  for (int i = 0; i < given->n; i++) {
    gr_conf *c = given->items[i];
    if (c->kind == GR_CONF_TEXT) {
      all = gr_also(all, rename_input(x, given->keys[i], c));
    } else if (c->kind == GR_CONF_MAP) {
      gr_conf *copy = gr_conf_copy(x->arena, c);
      gr_conf_put(x->arena, x->inputs, given->keys[i], copy);
      x->changes = true;
    } else {
      all = gr_also(all, gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "'%s' of model.inputs is %s",
                                         given->keys[i], gr_conf_a_kind(c->kind)),
                                 "the name that the data have for it, or {shape: [n, ...]}"));
    }
  }
  return all;
}

// Whether a node of a list, or one that it repeats, has that name.
static bool names(const gr_conf *nodes, const char *name) {
  size_t n = strlen(name);
  for (int i = 0; nodes && nodes->kind == GR_CONF_LIST && i < nodes->n; i++) {
    const gr_conf *node = nodes->items[i];
    const char *keys = node->kind == GR_CONF_MAP && node->n ? node->keys[0] : "";
    for (const char *p = keys; *p; p += strcspn(p, ", "), p += strspn(p, ", "))
      if (strcspn(p, ", ") == n && !strncmp(p, name, n)) return true;
    if (!strcmp(keys, "repeat") && names(gr_conf_member((gr_conf *)(uintptr_t)node, "nodes"), name))
      return true;
  }
  return false;
}

static bool is_named(const adding *x, const char *name) {
  return gr_conf_index(x->inputs, name) >= 0 || names(x->nodes, name);
}

// An operand of the loss that the file does not know is a tensor of the data.
static void add_operand(adding *x, const gr_conf *c) {
  if (c->kind != GR_CONF_TEXT || is_named(x, c->text) || !strcmp(c->text, "sample_weight")) return;
  gr_conf *any = gr_conf_make(x->arena, GR_CONF_MAP, c->loc);
  any->key_loc = c->loc;
  gr_conf_put(x->arena, x->inputs, c->text, any);
}

static gr_status add_score(adding *x, const char *key, const char *name, gr_conf *given) {
  if (given->kind != GR_CONF_MAP || !given->n)
    return gr_hint(gr_fail(GR_ERR_CONFIG, given->loc, "%s must be a node, found %s", key,
                           gr_conf_a_kind(given->kind)),
                   "an op and its operands, as in {cross_entropy: [logits, y]}");
  gr_conf *use = gr_conf_copy(x->arena, given), *in = use->items[0];
  for (int i = 0; in->kind == GR_CONF_LIST && i < in->n; i++) add_operand(x, in->items[i]);
  add_operand(x, in);
  add_node(x, name, use, false);
  return GR_OK;
}

static gr_status add_metrics(adding *x, gr_conf *given) {
  if (given->kind != GR_CONF_MAP)
    return gr_hint(gr_fail(GR_ERR_CONFIG, given->loc, "model.metrics must be a mapping, found %s",
                           gr_conf_a_kind(given->kind)),
                   "as in {accuracy: {accuracy: [logits, y]}}");
  gr_conf *metrics = section(x, "metrics", GR_CONF_MAP, given->loc);
  for (int i = 0; i < given->n; i++) {
    const char *name = gr_arena_printf(x->arena, "metric_%s", given->keys[i]);
    GR_TRY(add_score(x, "a metric of model.metrics", name, given->items[i]));
    gr_conf_put(x->arena, metrics, given->keys[i], text_node(x, name, given->items[i]->loc));
  }
  return GR_OK;
}

static gr_conf *given_at(gr_conf *conf, const char *path) {
  gr_conf *c = gr_conf_find(conf, path);
  bool none = !c || c->kind == GR_CONF_NULL || (c->kind == GR_CONF_MAP && !c->n);
  if (c) gr_conf_mark(c);
  return none ? NULL : c;
}

static gr_status complete(gr_arena *a, gr_conf *conf, gr_model_file *out) {
  adding x = {.arena = a, .graph = out->graph};
  gr_conf *inputs = given_at(conf, "model.inputs"), *loss = given_at(conf, "model.loss");
  gr_conf *metrics = given_at(conf, "model.metrics"), *any = loss ? loss : metrics;
  if (out->graph->kind != GR_CONF_MAP || (!inputs && !any)) return GR_OK;
  const gr_conf *train = any ? gr_conf_member(out->graph, "train") : NULL;
  if (train)
    return gr_note(gr_fail(GR_ERR_CONFIG, any->key_loc,
                           "the model's file states its loss itself, and what %s says would not "
                           "count",
                           loss ? "model.loss" : "model.metrics"),
                   train->key_loc, "the loss");
  x.inputs = section(&x, "inputs", GR_CONF_MAP, out->graph->loc);
  x.nodes = section(&x, "nodes", GR_CONF_LIST, out->graph->loc);
  if (inputs) GR_TRY(add_inputs(&x, inputs));
  if (loss) {
    GR_TRY(add_score(&x, "model.loss", "loss", loss));
    gr_conf_put(a, out->graph, "train", text_node(&x, "loss", loss->loc));
  }
  if (metrics) GR_TRY(add_metrics(&x, metrics));
  return GR_OK;
}

bool gr_model_file_is_one(const gr_conf *c) {
  static const char *const sections[] = {"nodes", "inputs", "blocks", "programs"};
  bool found = false;
  for (size_t i = 0; c->kind == GR_CONF_MAP && i < sizeof sections / sizeof *sections; i++)
    found |= gr_conf_index(c, sections[i]) >= 0;
  return found;
}

static gr_status no_model(const gr_conf *key, const gr_conf *found) {
  const char *text = key->text;
  bool config = found->kind == GR_CONF_MAP && gr_conf_index(found, "model") >= 0;
  return gr_hint(gr_fail(GR_ERR_CONFIG, key->loc, "'%s' is no model: it %s", text,
                         config ? "is a configuration" : "has neither inputs nor nodes"),
                 "a model is a file in the graph language, such as graphs/mlp.yaml "
                 "(docs/graph-language.md), or of ONNX");
}

gr_status gr_model_file_given(gr_arena *a, gr_status s, const char *path) {
  gr_conf *root = NULL;
  if (gr_is_onnx_path(path) && gr_is_file(path)) {
    gr_status_drop(s);
    return gr_hint(
        gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is a model of ONNX, not a configuration", path),
        "a configuration names it: model: {graph: %s, loss: ...}; `graphrun import %s` "
        "prints it in the graph language",
        path, path);
  }
  gr_status unread = gr_conf_read(a, path, &root);
  bool model = !unread && gr_model_file_is_one(root) && gr_conf_index(root, "model") < 0;
  gr_status_drop(unread);
  if (!model) return s;
  gr_status_drop(s);
  return gr_hint(gr_fail(GR_ERR_CONFIG, (gr_loc){path, 1, 1},
                         "'%s' is the file of a model, not a configuration", path),
                 "a configuration names it: model: {graph: %s}; `graphrun new NAME` makes one",
                 path);
}

// ---- The file -----------------------------------------------------------------------------------

gr_status gr_model_file_read(gr_arena *a, gr_conf *conf, gr_model_file *out) {
  gr_conf *key = gr_conf_find(conf, "model.graph");
  *out = (gr_model_file){.graph = NULL};
  bool onnx = gr_is_onnx_path(key->text);
  gr_status s = onnx ? read_onnx(a, key->text, out) : gr_conf_read(a, key->text, &out->graph);
  GR_TRY(gr_note(s, key->loc, "asked for by model.graph"));
  if (!gr_model_file_is_one(out->graph)) return no_model(key, out->graph);
  GR_TRY(complete(a, conf, out));
  bool changes = given_at(conf, "model.inputs") || given_at(conf, "model.loss") ||
                 given_at(conf, "model.metrics");
  if (!onnx && !changes) return GR_OK;
  gr_text text = gr_text_make(a);
  gr_conf_yaml(&text, out->graph);
  out->text = text.chars;
  if (onnx && !gr_conf_member(out->graph, "train"))
    return gr_hint(gr_fail(GR_ERR_CONFIG, key->loc,
                           "a file of ONNX says what the model predicts, but not its loss"),
                   "model.loss={cross_entropy: [logits, y]}, for example: an op of the file's "
                   "outputs and the data's tensors");
  return GR_OK;
}

void gr_model_file_weights(gr_arena *a, const gr_model_file *f, gr_conf *conf,
                           gr_model_settings *s) {
  if (!f->n_weights) return;
  const gr_conf *key = gr_conf_find(conf, "model.graph");
  gr_init_entry *all = GR_NEW(a, gr_init_entry, s->n_init_from + 1);
  all[0] = (gr_init_entry){.path = key->text,
                           .loc = key->loc,
                           .ignores_unused = true,
                           .given = f->weights,
                           .n_given = f->n_weights};
  for (int i = 0; i < s->n_init_from; i++) all[i + 1] = s->init_from[i];
  s->init_from = all, s->n_init_from++;
}
