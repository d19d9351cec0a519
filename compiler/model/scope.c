// scope.c - scopes, the names in them, and the errors about unknown names.
#include <ctype.h>
#include <string.h>
#include "base/grow.h"
#include "compiler/model/parts.h"

gr_builder *gr_model_builder(gr_build_context *a) {
  return a->depth ? &a->loops[a->depth - 1]->b : &a->root;
}

gr_status gr_model_take_error(gr_build_context *a) {
  gr_builder *b = gr_model_builder(a);
  gr_status s = b->err;
  b->err = GR_OK;
  return s;
}

const gr_type *gr_model_type(gr_build_context *a, gr_val v) {
  return &gr_at(gr_model_builder(a)->g, v)->type;
}

gr_frame *gr_model_frame(gr_build_context *a, gr_frame *up, gr_frame *caller,
                         const gr_block *block) {
  gr_frame *f = GR_NEW(a->scratch, gr_frame, 1);
  *f = (gr_frame){.up = up,
                  .caller = caller,
                  .block = block,
                  .names = gr_map_make(a->scratch),
                  .args = gr_map_make(a->scratch)};
  return f;
}

const gr_block *gr_model_current_block(const gr_build_context *a) {
  const gr_frame *f = a->frame;
  while (!f->block && f->up) f = f->up;
  return f->block;
}

bool gr_model_is_builtin(const gr_build_context *a) {
  const gr_block *b = gr_model_current_block(a);
  return b && b->builtin;
}

void gr_model_bind(gr_build_context *a, const char *name, gr_loc loc, const gr_binding *what) {
  gr_frame *f = a->frame;
  uint32_t i = f->names.n;
  if (!gr_map_find(&f->names, name, &i)) {
    GR_GROW(a->scratch, f->bound, i, f->cap_bound);
    gr_map_put(&f->names, name, i);
  }
  f->bound[i] = *what;
  f->bound[i].name = name, f->bound[i].loc = loc;
}

static const char sample_weight_name[] = "sample_weight";

const gr_binding *gr_model_find(const gr_build_context *a, const char *name) {
  uint32_t i;
  for (const gr_frame *f = a->frame; f; f = f->up)
    if (gr_map_find(&f->names, name, &i)) return &f->bound[i];
  bool weight = a->sample_weight.n && !strcmp(name, sample_weight_name);
  return weight ? &a->sample_weight : NULL;
}

void gr_model_set(gr_build_context *a, const char *name, gr_arg arg) {
  gr_frame *f = a->frame;
  uint32_t i = f->args.n;
  if (!gr_map_find(&f->args, name, &i)) {
    GR_GROW(a->scratch, f->arg, i, f->cap_arg);
    gr_map_put(&f->args, name, i);
  }
  f->arg[i] = arg;
}

const char gr_model_training[] = "training", gr_model_others[] = "...";

bool gr_model_is_others(const gr_conf *c) { return gr_conf_says(c, gr_model_others); }

// Constants that every frame sees, unless a parameter has the name.
static const gr_arg *find_constant(const gr_build_context *a, const char *name) {
  if (!strcmp(name, gr_model_training)) return &a->training;
  return strcmp(name, "batch_norm_groups") ? NULL : &a->batch_norm_groups;
}

const gr_arg *gr_model_get(const gr_build_context *a, const char *name) {
  uint32_t i;
  for (const gr_frame *f = a->frame; f; f = f->up)
    if (gr_map_find(&f->args, name, &i)) return f->arg[i].kind == GR_ARG_UNSET ? NULL : &f->arg[i];
  return find_constant(a, name);
}

// ---- Unknown names ---------------------------------------------------

gr_status gr_model_suggest(gr_status s, const char *word, const char *const *known, int n) {
  if (strchr(word, ')') && !strchr(word, '('))
    return gr_hint(s, "in { } and [ ] YAML ends a value at a comma: put the expression in quotes");
  const char *near = gr_model_nearest(word, known, n);
  if (!near && strlen(word) > 1) near = gr_text_nearest(word, known, n);
  return near ? gr_hint(s, "did you mean '%s'?", near) : s;
}

enum { MAX_NAMES = 256 };
static int list_names(const gr_build_context *a, bool args, const char **names) {
  int n = 0;
  for (const gr_frame *f = a->frame; f; f = f->up) {
    const gr_map *m = args ? &f->args : &f->names;
    for (uint32_t i = 0; i < m->n && n < MAX_NAMES; i++) names[n++] = m->keys[i];
  }
  return n;
}

static bool binds(gr_build_context *a, const gr_conf *item, const char *name) {
  const char *names[GR_MODEL_RESULTS];
  int n = 0;
  if (item->kind != GR_CONF_MAP || !item->n) return false;
  gr_status s = gr_model_names(a, item->keys[0], item->loc, names, &n);
  if (s) gr_status_drop(s);
  for (int i = 0; i < n; i++)
    if (!strcmp(names[i], name)) return true;
  return false;
}

static bool is_made_later(gr_build_context *a, const char *name) {
  for (const gr_frame *f = a->frame; f; f = f->up)
    for (int i = 0; f->nodes && i < f->nodes->n; i++)
      if (binds(a, f->nodes->items[i], name)) return true;
  return false;
}

// The name that is meant, or else those that there are, the innermost first.
static gr_status suggest_or_list(gr_status s, const char *word, const char *const *known, int n) {
  enum { MOST = 12 };
  const char *list[MOST];
  s = gr_model_suggest(s, word, known, n);
  if (!n || gr_status_hint(s)) return s;
  int shown = 0;
  for (int i = 0, k; i < n && shown < MOST; i++) {
    for (k = 0; strcmp(known[k], known[i]) != 0; k++) continue;
    if (k == i) list[shown++] = known[i];  // none of an outer frame, which it hides
  }
  return gr_hint_names(s, "there are: ", list, shown, shown == MOST ? ", ..." : "");
}

gr_status gr_model_unknown_arg(gr_build_context *a, const char *name, gr_loc loc) {
  const char *names[MAX_NAMES];
  if (*name == '$')
    return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "'%s' is not defined here", name),
                   "$i is the iteration of the repeat: around a node");
  if (gr_model_find(a, name))
    return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "'%s' is a tensor, not a number", name),
                   "expressions use parameters and dimensions, which are known at compile time");
  gr_status s = gr_fail(GR_ERR_CONFIG, loc, "there is no parameter or dimension '%s' here", name);
  if (!strcmp(name, "same"))
    return gr_hint(s,
                   "a pad is a number: that of an odd kernel and stride 1 which keeps the size is "
                   "dilation * (kernel - 1) / 2, 1 for a kernel of 3");
  return suggest_or_list(s, name, names, list_names(a, true, names));
}

gr_status gr_model_resolve(gr_build_context *a, const char *name, gr_loc loc,
                           const gr_binding **out) {
  const gr_binding *b = *out = gr_model_find(a, name);
  if (b && b->broken) a->echo = true;
  if (b && !b->broken) return GR_OK;
  if (is_made_later(a, name) || b)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, loc, "'%s' is used before it is defined", name),
        "nodes run in order: move the node that defines it up; a value that a loop updates is "
        "a carry of a scan");
  const char *names[MAX_NAMES];
  gr_status s = gr_fail(GR_ERR_CONFIG, loc, "'%s' is not defined here", name);
  if (strchr(name, '(')) return gr_hint(s, "a node is a mapping of its op: {relu: x}, not relu(x)");
  if (strpbrk(name, "<>=+*/&|"))
    return gr_hint(s,
                   "tensors are combined by ops: {greater: [a, b]} for a > b, {add: [a, b]} for "
                   "a + b; `graphrun ops` lists all");
  return suggest_or_list(s, name, names, list_names(a, false, names));
}

gr_status gr_model_value(gr_build_context *a, const char *name, gr_loc loc, gr_val *out) {
  const gr_binding *b;
  GR_TRY(gr_model_resolve(a, name, loc, &b));
  if (b->absent)
    return gr_fail(GR_ERR_CONFIG, loc, "the optional operand '%s' is not given here", name);
  if (!b->n)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, loc, "'%s' is a scan that yields nothing", name),
        "'yields: h' gives what h is in each step, 'last: {end: h}' the carry h after the "
        "last one, by the name end");
  if (b->n != 1)
    return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "'%s' is %d tensors, expected one", name, b->n),
                   "name each result where it is defined: '- a, b: {...}'");
  *out = gr_model_capture(a, b->v[0], b->depth);
  return gr_model_take_error(a);
}

gr_val gr_model_capture(gr_build_context *a, gr_val v, int depth) {
  for (int d = depth; d < a->depth; d++) v = gr_loop_const(a->loops[d], v);
  return v;
}

// ---- Strings ----------------------------------------------------------------------

// A string with "$i" replaced by the current iteration.
gr_status gr_model_interpolate(gr_build_context *a, const gr_conf *c, const char **out) {
  if (c->kind == GR_CONF_INT) {
    *out = gr_arg_text(a->arena, &(gr_arg){.kind = GR_ARG_INT, .i = c->integer});
    return GR_OK;
  }
  if (c->kind != GR_CONF_TEXT || !*c->text)
    return gr_fail(GR_ERR_CONFIG, c->loc, "expected a name, found %s", gr_model_kind(c->kind));
  gr_text t = gr_text_make(a->arena);
  for (const char *p = c->text; *p;) {
    size_t n = *p == '$';
    while (n && (isalnum((unsigned char)p[n]) || p[n] == '_')) n++;
    const char *name = gr_arena_strndup(a->arena, p, n);
    const gr_arg *i = n > 1 ? gr_model_get(a, name) : NULL;
    if (n > 1 && !i) i = gr_model_get(a, name + 1);  // a parameter
    if (n && !i) return gr_model_unknown_arg(a, n > 1 ? name : "$", c->loc);
    if (n)
      gr_text_put(&t, gr_arg_text(a->arena, i));
    else
      gr_text_putn(&t, p, n = strcspn(p, "$"));
    p += n;
  }
  *out = t.chars;
  return GR_OK;
}

const char *gr_model_join(gr_build_context *a, const char *path, const char *name) {
  if (!*path) return name;
  if (!*name) return path;
  size_t n = strlen(path), m = strlen(name);
  char *joined = gr_arena_take(a->arena, n + m + 2);
  memcpy(joined, path, n), joined[n] = '.';
  return memcpy(joined + n + 1, name, m + 1), joined;
}

void gr_model_scope(gr_build_context *a, const char *block) {
  gr_scopes *s = a->request->scopes;
  if (!s || !*a->path) return;
  GR_GROW(a->arena, s->items, s->n, s->cap);
  s->items[s->n++] = (gr_scope){a->path, block};
}

gr_status gr_model_names(gr_build_context *a, const char *key, gr_loc loc,
                         const char *out[GR_MODEL_RESULTS], int *out_n) {
  *out_n = 0;
  for (const char *p = key; *p;) {
    p += strspn(p, " ,[]");
    size_t n = strcspn(p, " ,[]");
    if (!n) break;
    const char *name = gr_arena_strndup(a->arena, p, n);
    if (!gr_model_is_word(name) || *name == '$')
      return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "'%s' is not a name", name),
                     "names are letters, digits and _, and do not start with a digit");
    if (*out_n == GR_MODEL_RESULTS)
      return gr_fail(GR_ERR_CONFIG, loc, "more than %d names", GR_MODEL_RESULTS);
    out[(*out_n)++] = name;
    p += n;
  }
  if (!*out_n) return gr_fail(GR_ERR_CONFIG, loc, "a node needs a name for its result");
  return GR_OK;
}

// ---- YAML structure ------------------------------------------------------

const char *gr_model_kind(gr_conf_kind kind) {
  return kind == GR_CONF_NULL      ? "nothing"
         : kind == GR_CONF_MISSING ? "???"
         : kind == GR_CONF_INTERP  ? "${...}"
                                   : gr_conf_a_kind(kind);
}

bool gr_model_is_bound(const gr_build_context *a, const gr_conf *c) {
  bool bound =
      c->kind == GR_CONF_TEXT ? gr_model_find(a, c->text) != NULL : c->kind == GR_CONF_LIST;
  for (int i = 0; bound && c->kind == GR_CONF_LIST && i < c->n; i++)
    bound = c->items[i]->kind == GR_CONF_TEXT && gr_model_find(a, c->items[i]->text);
  return bound;
}

const char *gr_model_result_name(gr_build_context *a, const gr_conf *map, int i) {
  const char *key = map->keys[i];
  size_t n = strlen(key);
  if (!n || key[n - 1] != '?') return key;
  return gr_model_is_bound(a, map->items[i]) ? gr_arena_strndup(a->arena, key, n - 1) : NULL;
}

gr_status gr_model_expect(const gr_conf *c, gr_conf_kind kind, const char *what) {
  if (c->kind == kind) return GR_OK;
  return gr_fail(GR_ERR_CONFIG, c->loc, "%s is %s, found %s", what, gr_model_kind(kind),
                 gr_model_kind(c->kind));
}

gr_status gr_model_one_value(gr_conf *block, const gr_conf *given, const char *of,
                             const char *name) {
  const gr_conf *params = gr_conf_member(block, "params");
  const char *list[MAX_NAMES];
  size_t n = strlen(name);
  int axes = 0;
  if (given->kind != GR_CONF_LIST) return GR_OK;
  for (int i = 0; i < params->n && axes < MAX_NAMES; i++)
    if (!strncmp(params->keys[i], name, n) && params->keys[i][n] == '_' &&
        strlen(params->keys[i]) == n + 2)
      list[axes++] = params->keys[i];
  gr_status s =
      gr_fail(GR_ERR_CONFIG, given->loc, "'%s' of block '%s' is one value, found a list", name, of);
  return axes ? gr_hint_names(s, "for each axis: ", list, axes, "") : s;
}

gr_status gr_model_keys(const gr_conf *map, const char *what, const char *const *known, int n) {
  gr_status all = GR_OK;
  for (int i = 0; i < map->n; i++) {
    bool found = false;
    for (int k = 0; k < n && !found; k++) found = !strcmp(map->keys[i], known[k]);
    if (found) continue;
    gr_status s =
        gr_fail(GR_ERR_CONFIG, map->items[i]->key_loc, "%s has no '%s'", what, map->keys[i]);
    s = n ? gr_hint_names(gr_model_suggest(s, map->keys[i], known, n), "allowed keys: ", known, n,
                          "")
          : gr_hint(s, "remove it: nothing is allowed here");
    all = gr_also(all, s);
  }
  return all;
}

static const char *const node_keys[GR_MODEL_NODE_KEYS] = {"name", "share", "weights", "when"};

bool gr_model_reserved(const char *key) {
  for (int i = 0; i < GR_MODEL_NODE_KEYS; i++)
    if (!strcmp(key, node_keys[i])) return true;
  return false;
}

void gr_model_add_node_keys(const char **known, int *n) {
  for (int i = 0; i < GR_MODEL_NODE_KEYS; i++) known[(*n)++] = node_keys[i];
}

gr_status gr_model_keys_of_node(gr_build_context *a, const gr_conf *map, const char *what,
                                const char *const *known, int n) {
  const char **all = GR_NEW(a->arena, const char *, n + GR_MODEL_NODE_KEYS);
  for (int i = 0; i < n; i++) all[i] = known[i];
  gr_model_add_node_keys(all, &n);
  return gr_model_keys(map, what, all, n);
}
