// node.c - builds one node: its names, its path, and the op or block that builds it.
#include <string.h>
#include "compiler/model/parts.h"

// A name has parts between dots, none of them empty.
static gr_status check_name(const gr_conf *name, const char *text) {
  size_t n = strlen(text);
  if (!n || (*text != '.' && text[n - 1] != '.' && !strstr(text, ".."))) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, name->loc, "'%s' is no name: a part of it is empty", text),
                 "without 'name:' a node adds nothing to the path");
}

static const char *const ways_to_read[] = {"trained", "frozen", "averaged"};  // gr_weights

// How the weights inside are read: what a node around it says of its weights holds for all of them.
static gr_status read_weights(gr_build_context *a, gr_conf *use) {
  gr_conf *c = gr_conf_member(use, "weights");
  gr_arg x;
  if (!c) return GR_OK;
  GR_TRY(gr_model_arg(a, c, true, &x));
  for (int i = 0; i < 3; i++) {
    if (x.kind != GR_ARG_TEXT || strcmp(x.text, ways_to_read[i]) != 0) continue;
    if (!a->weights) a->weights = (gr_weights)i, a->weights_loc = c->key_loc;
    return GR_OK;
  }
  gr_status s = gr_fail(GR_ERR_CONFIG, c->loc, "weights: is trained, frozen or averaged, found %s",
                        gr_arg_text(a->arena, &x));
  return gr_hint(x.kind == GR_ARG_TEXT ? gr_model_suggest(s, x.text, ways_to_read, 3) : s,
                 "frozen: constants here; averaged: the averages of training.ema_decay, which are "
                 "constants, too");
}

// The node's path among the parameters: `name:` appends to it, `share:` replaces it, in a block
// that is itself shared by a path among the parameters it uses. `share: .` is that of what is
// around it.
static gr_status enter(gr_build_context *a, gr_conf *use) {
  gr_conf *name = gr_conf_member(use, "name"), *share = gr_conf_member(use, "share");
  const char *text = "", *shared;
  GR_TRY(read_weights(a, use));
  if (name) GR_TRY(gr_model_interpolate(a, name, &text));
  if (name) GR_TRY(check_name(name, text));
  const char *outside = a->share ? a->share : a->path;
  a->path = gr_model_join(a, a->path, text);
  if (a->share) a->share = gr_model_join(a, a->share, text);
  if (!share) return GR_OK;
  GR_TRY(gr_model_interpolate(a, share, &shared));
  a->share = gr_model_join(a, outside, strcmp(shared, ".") ? shared : "");
  return GR_OK;
}

// What a node changes for the nodes inside of it.
typedef struct place {
  const char *path, *share;
  bool unnamed;
  gr_weights weights;
  gr_loc weights_loc;
} place;

static place place_of(const gr_build_context *a) {
  return (place){a->path, a->share, a->unnamed, a->weights, a->weights_loc};
}

static void leave_to(gr_build_context *a, const place *p) {
  a->path = p->path, a->share = p->share, a->unnamed = p->unnamed;
  a->weights = p->weights, a->weights_loc = p->weights_loc;
}

static gr_status dispatch(gr_build_context *a, gr_conf *use, gr_binding *out) {
  const char *what = use->keys[0];
  if (!strcmp(what, "scan")) return gr_model_scan(a, use, out);
  if (!strcmp(what, "param")) return gr_model_make_param(a, use, out);
  if (!strcmp(what, "gradient")) return gr_model_gradient(a, use, out);
  if (!strcmp(what, "einsum")) return gr_model_einsum(a, use, out);
  const gr_block *block;
  GR_TRY(gr_model_find_block(a, what, &block));
  if (block && !gr_model_means_op(block, use)) return gr_model_block(a, block, use, out);
  const gr_op *op = gr_op_find(what);
  if (op && !gr_op_is_internal(op) && !gr_op_has_body(op)) {
    GR_TRY(gr_model_op(a, op, use, out));
    return gr_model_adapt(a, op, use, out);
  }
  return gr_model_unknown_use(a, what, use->items[0]->key_loc);
}

// GR_ERR_CONFIG: what the node says of the weights inside of it is about none.
static gr_status check_weights(const gr_build_context *a, gr_conf *use, const place *outside,
                               uint32_t before) {
  if (outside->weights || !a->weights || a->otherwise > before) return GR_OK;
  const gr_conf *c = gr_conf_member(use, "weights");
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "weights: %s has no effect: '%s' has no weights",
                         ways_to_read[a->weights], use->keys[0]),
                 "remove it, or write it at the layer or the block that has the weights");
}

// Builds {op: operands, attributes...} under the node's path. (After an error nothing is restored:
// the whole list is abandoned, and the file's own list restores its state.)
static gr_status run(gr_build_context *a, gr_conf *use, gr_binding *out) {
  const place outside = place_of(a);
  gr_builder *b = gr_model_builder(a);
  gr_loc loc = b->loc;
  const char *scope = b->scope;
  uint32_t before = a->otherwise;
  GR_TRY(enter(a, use));
  if (outside.unnamed && a->path != outside.path) gr_model_scope(a, NULL), a->unnamed = false;
  if (!gr_model_is_builtin(a))
    b->loc = use->items[0]->key_loc;  // else the location where the block is used
  b->scope = *a->path ? a->path : NULL;
  GR_TRY(dispatch(a, use, out));
  GR_TRY(check_weights(a, use, &outside, before));
  b->loc = loc, b->scope = scope;
  leave_to(a, &outside);
  return GR_OK;
}

// Nested repeats multiply: the count is limited, so that a mistake is an error message instead of
// exhausted memory.
enum { MAX_NODES = 1000000 };
static gr_status count_node(gr_build_context *a, const gr_conf *item) {
  if (a->nodes++ < MAX_NODES) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, item->loc, "the model has more than %d nodes", MAX_NODES),
                 "nested repeats multiply");
}

// ---- repeat: N ------------------------------------------------------------------

static const char *const repeat_keys[] = {"repeat", "from", "as", "nodes"};
enum { MAX_REPEATS = 10000 };

static gr_status repeat_range(gr_build_context *a, gr_conf *use, int64_t *n, int64_t *first) {
  gr_conf *start = gr_conf_member(use, "from");
  GR_TRY(gr_model_keys_of_node(a, use, "repeat:", repeat_keys, 4));
  GR_TRY(gr_model_int(a, use->items[0], n));
  *first = 0;
  if (start) GR_TRY(gr_model_int(a, start, first));
  if (*n < 0 || *n > MAX_REPEATS)
    return gr_fail(GR_ERR_CONFIG, use->items[0]->loc, "repeat: takes 0 to %d, found %lld",
                   MAX_REPEATS, (long long)*n);
  if (!gr_conf_member(use, "nodes"))
    return gr_fail(GR_ERR_CONFIG, use->items[0]->key_loc, "repeat: needs 'nodes:'");
  return GR_OK;
}

static gr_status repeat(gr_build_context *a, gr_conf *use, gr_binding *out) {
  int64_t n, first;
  const place outside = place_of(a);
  const char *as = "i";
  gr_conf *given = gr_conf_member(use, "as");
  if (given) GR_TRY(gr_model_interpolate(a, given, &as));
  const char *count = gr_arena_printf(a->arena, "$%s", as);
  const gr_arg *outer = gr_model_get(a, count);
  gr_arg before = outer ? *outer : (gr_arg){.kind = GR_ARG_UNSET};
  GR_TRY(repeat_range(a, use, &n, &first));
  for (int64_t i = first; i < first + n; i++) {
    gr_model_set(a, count, (gr_arg){.kind = GR_ARG_INT, .i = i});
    GR_TRY(count_node(a, use->items[0]));
    GR_TRY(enter(a, use));
    a->unnamed = !strcmp(a->path, outside.path);
    if (!a->unnamed) gr_model_scope(a, NULL);
    GR_TRY(gr_model_nodes(a, gr_conf_member(use, "nodes"), out));
    leave_to(a, &outside);
  }
  gr_model_set(a, count, before);
  return GR_OK;
}

// ---- Nodes ---------------------------------------------------------------------

static gr_status bind(gr_build_context *a, const char *key, gr_loc loc, const gr_binding *got) {
  const char *names[GR_MODEL_RESULTS];
  int n;
  GR_TRY(gr_model_names(a, key, loc, names, &n));
  if (n == 1) gr_model_bind(a, names[0], loc, got);
  if (n == 1) return GR_OK;
  if (n != got->n)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, loc, "%d names for %d result%s", n, got->n, got->n == 1 ? "" : "s"),
        "one name for each result, or one for all of them");
  for (int i = 0; i < n; i++)
    gr_model_bind(a, names[i], loc, &(gr_binding){.depth = got->depth, .n = 1, .v = {got->v[i]}});
  return GR_OK;
}

static gr_status alias(gr_build_context *a, gr_conf *c, gr_binding *out) {
  const gr_binding *b;
  GR_TRY(gr_model_resolve(a, c->text, c->loc, &b));
  *out = *b;
  return GR_OK;
}

static gr_status shape_of_node(const gr_conf *item) {
  GR_TRY(gr_model_expect(item, GR_CONF_MAP, "a node"));
  if (!item->n) return gr_fail(GR_ERR_CONFIG, item->loc, "this node is empty");
  if (!strcmp(item->keys[0], "repeat")) return GR_OK;
  if (item->n > 1)
    return gr_hint(gr_fail(GR_ERR_CONFIG, item->items[1]->key_loc,
                           "a node has one name, and '%s' is a second one", item->keys[1]),
                   "attributes go into the braces: '- %s: {op: operands, %s: ...}'", item->keys[0],
                   item->keys[1]);
  const gr_conf *use = item->items[0];
  if (use->kind == GR_CONF_TEXT) return GR_OK;
  if (use->kind != GR_CONF_MAP || !use->n)
    return gr_hint(gr_fail(GR_ERR_CONFIG, use->loc, "expected the definition of '%s', found %s",
                           item->keys[0], gr_model_kind(use->kind)),
                   "a node is '- name: {op: operands, attribute: value}'");
  return GR_OK;
}

// Builds one node; *out binds its results.
static gr_status build_one(gr_build_context *a, gr_conf *item, gr_binding *out) {
  GR_TRY(shape_of_node(item));
  GR_TRY(count_node(a, item));
  bool repeats = !strcmp(item->keys[0], "repeat");
  gr_conf *use = repeats ? item : item->items[0];
  gr_conf *when = use->kind == GR_CONF_MAP ? gr_conf_member(use, "when") : NULL;
  bool on = true;
  if (when) GR_TRY(gr_model_bool(a, when, &on));
  if (!on) return GR_OK;
  gr_binding got = {.depth = a->depth};
  if (repeats) return repeat(a, use, out);
  const char *name = a->name;
  a->name = item->keys[0];
  GR_TRY(use->kind == GR_CONF_TEXT ? alias(a, use, &got) : run(a, use, &got));
  a->name = name;
  *out = got;
  return bind(a, item->keys[0], item->items[0]->key_loc, &got);
}

gr_status gr_model_nodes(gr_build_context *a, gr_conf *list, gr_binding *last) {
  GR_TRY(gr_model_expect(list, GR_CONF_LIST, "nodes:"));
  const gr_conf *outside = a->frame->nodes;
  a->frame->nodes = list;
  for (int i = 0; i < list->n; i++) GR_TRY(build_one(a, list->items[i], last));
  a->frame->nodes = outside;
  return GR_OK;
}

// Binds the names of an invalid node, so that its users are not reported as errors too.
static void give_up(gr_build_context *a, gr_conf *item) {
  const char *names[GR_MODEL_RESULTS];
  int n = 0;
  if (item->kind != GR_CONF_MAP || !item->n || !strcmp(item->keys[0], "repeat")) return;
  gr_status s = gr_model_names(a, item->keys[0], item->loc, names, &n);
  if (s) gr_status_drop(s);
  for (int i = 0; i < n; i++) gr_model_bind(a, names[i], item->loc, &(gr_binding){.broken = true});
}

gr_status gr_model_run_nodes(gr_build_context *a, gr_conf *list) {
  gr_frame *top = a->frame;
  gr_status all = GR_OK;
  gr_binding last;
  GR_TRY(gr_model_expect(list, GR_CONF_LIST, "nodes:"));
  top->nodes = list;
  for (int i = 0; i < list->n; i++) {
    gr_status s = build_one(a, list->items[i], &last);
    if (!s) continue;
    a->depth = a->nest = 0, a->frame = top, top->nodes = list;
    a->path = a->prefix, a->share = NULL, a->weights = GR_WEIGHTS_TRAINED;
    a->root.scope = NULL;
    gr_status stuck = gr_model_take_error(a);
    if (stuck) gr_status_drop(stuck);
    give_up(a, list->items[i]);
    // If a list of nodes was abandoned, errors below it may only be its consequences: stop here.
    bool list_node = list->items[i]->kind != GR_CONF_MAP || !list->items[i]->n ||
                     !strcmp(list->items[i]->keys[0], "repeat");
    if (a->echo)
      gr_status_drop(s);
    else
      all = gr_also(all, s);
    a->echo = false;
    if (list_node && all) return all;
  }
  return all;
}
