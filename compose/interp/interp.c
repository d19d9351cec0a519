// interp.c - evaluates interpolations and resolves a whole tree. See interp.h.
#include "compose/interp/interp.h"
#include <stdlib.h>
#include <string.h>
#include "compose/tree/scalar.h"

enum { MAX_DEPTH = 64, MAX_BYTES = 1 << 20, MAX_COPIED = 100000, MAX_KEYS = 512, NOTES = 3 };

static bool collection(const gr_conf *c) {
  return c->kind == GR_CONF_MAP || c->kind == GR_CONF_LIST;
}

static gr_conf *root_of(gr_conf *c) {
  while (c->up) c = c->up;
  return c;
}

// ---- Lookup ----------------------------------------------------------------------

// Returns the next part of "a.b[c]" and advances *path. *more: whether another part follows ("a."
// is followed by an empty one).
static const char *next_part(gr_arena *a, const char **path, bool *more) {
  const char *s = *path;
  bool bracket = *s == '[';
  if (bracket) s++;
  size_t n = bracket ? strcspn(s, "]") : strcspn(s, ".[");
  const char *part = gr_arena_strndup(a, s, n);
  s += n + (bracket && s[n] == ']');
  *more = *s == '.' || *s == '[';
  *path = *s == '.' ? s + 1 : s;
  return part;
}

// Finds an element by its index, which is anything that Python's int() accepts.
static gr_status in_list(const gr_conf *list, const char *part, const gr_conf *holder,
                         gr_conf **out) {
  int64_t i;
  *out = NULL;
  if (!gr_scalar_py_int(part, &i) || i < 0)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, holder->loc, "'%s' is not an element of the list at %s:%d", part,
                list->loc.file ? list->loc.file : "?", list->loc.line),
        "elements are counted from 0: ${list[0]}");
  if (i < list->n) *out = list->items[i];
  return GR_OK;
}

static gr_status step(gr_resolver *r, gr_conf *parent, const char *part, const gr_conf *holder,
                      gr_conf **out) {
  *out = NULL;
  if (parent->kind == GR_CONF_LIST) return in_list(parent, part, holder, out);
  int i = gr_conf_index(parent, part);
  if (i >= 0 && parent->items[i]->key_kind) {
    gr_conf key = {.kind = GR_CONF_TEXT, .text = part};
    i = gr_conf_key_index(r->arena, parent, &key);
  }
  if (i >= 0) *out = parent->items[i];
  return GR_OK;
}

// Follows an interpolation along a path.
static gr_status follow(gr_resolver *r, gr_conf **c) {
  if (!*c || (*c)->kind != GR_CONF_INTERP) return GR_OK;
  return gr_interp_value(r, *c, c);
}

static gr_conf *up_by_dots(gr_conf *base, const char **path) {
  if (**path != '.') return root_of(base);
  ++*path;
  for (; **path == '.' && base; ++*path) base = base->up;
  return base;
}

gr_status gr_interp_select(gr_resolver *r, gr_conf *base, const char *path, const gr_conf *holder,
                           gr_conf **out) {
  gr_conf *c = up_by_dots(base, &path);
  *out = NULL;
  if (!c) return gr_fail(GR_ERR_CONFIG, holder->loc, "'%s' goes up beyond the root", path);
  for (bool more = *path; more && c;) {
    const char *part = next_part(r->arena, &path, &more);
    if (!collection(c)) return GR_OK;
    GR_TRY(step(r, c, part, holder, &c));
    GR_TRY(follow(r, &c));
    r->env |= c && c->from_env, r->secret |= c && c->from_env;
  }
  *out = c;
  return GR_OK;
}

// ---- Errors ----------------------------------------------------------------------

static void collect_keys(const gr_conf *c, const char *prefix, gr_arena *a, const char **names,
                         int *n) {
  if (c->kind != GR_CONF_MAP) return;
  for (int i = 0; i < c->n && *n < MAX_KEYS; i++) {
    const char *path = *prefix ? gr_arena_printf(a, "%s.%s", prefix, c->keys[i]) : c->keys[i];
    names[(*n)++] = path;
    collect_keys(c->items[i], path, a, names, n);
  }
}

static gr_status not_found(gr_resolver *r, const char *path, gr_conf *holder) {
  const char *names[MAX_KEYS];
  int n = 0;
  const char *path_of_holder = gr_conf_path(r->arena, holder);
  r->absent = true;
  gr_status s = gr_fail(GR_ERR_CONFIG, holder->loc, "'%s' refers to '%s', which does not exist",
                        path_of_holder, path);
  collect_keys(root_of(holder), "", r->arena, names, &n);
  const char *like = *path == '.' ? NULL : gr_text_nearest(path, names, n);
  if (!like && getenv(path))
    return gr_hint(s, "the environment variable of that name is ${oc.env:%s}", path);
  return like ? gr_hint(s, "did you mean '${%s}'?", like)
              : gr_hint(s, "paths start at the root; '${.x}' is a sibling, '${..x}' one level up");
}

static bool is_ancestor(const gr_conf *up, const gr_conf *of) {
  for (const gr_conf *c = of->up; c; c = c->up)
    if (c == up) return true;
  return false;
}

// ---- Evaluation ------------------------------------------------------------------

static gr_status grown(gr_resolver *r, size_t bytes, const gr_conf *holder) {
  r->bytes += bytes;
  if (r->bytes <= MAX_BYTES) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, holder->loc,
                         "interpolations make more than %d bytes of text", MAX_BYTES),
                 "each reference repeats the whole value: refer to a smaller one");
}

static gr_status eval_join(gr_resolver *r, const gr_expr *e, gr_conf *holder, gr_conf **out) {
  if (e->n == 1 && (!e->quoted || e->kids[0]->kind == GR_EXPR_VALUE))
    return gr_interp_eval(r, e->kids[0], holder, out);
  gr_text t = gr_text_make(r->arena);
  for (int i = 0; i < e->n; i++) {
    gr_conf *part = NULL;
    GR_TRY(gr_interp_eval(r, e->kids[i], holder, &part));
    gr_conf_py_str(&t, part);
    GR_TRY(grown(r, t.len, holder));
  }
  *out = gr_conf_make(r->arena, GR_CONF_TEXT, holder->loc);
  if (e->quoted)
    gr_conf_set_text(*out, t.chars);  // a string, which may itself be ??? or an interpolation
  else
    (*out)->text = t.chars;
  return GR_OK;
}

// Evaluates the pieces of a path or name, each of which must be a string.
static gr_status eval_name(gr_resolver *r, const gr_expr *join, gr_conf *holder, const char **out) {
  gr_text t = gr_text_make(r->arena);
  for (int i = 0; i < join->n; i++) {
    gr_conf *part = NULL;
    GR_TRY(gr_interp_eval(r, join->kids[i], holder, &part));
    if (part->kind != GR_CONF_TEXT)
      return gr_fail(GR_ERR_CONFIG, holder->loc,
                     "in '%s': an interpolation inside a path must be a string, but is %s",
                     holder->text, gr_conf_a_kind(part->kind));
    gr_text_put(&t, part->text);
  }
  *out = t.chars;
  return GR_OK;
}

static gr_status inside_of(gr_resolver *r, const char *path, const gr_conf *holder) {
  return gr_hint(gr_fail(GR_ERR_CONFIG, holder->loc, "'%s' refers to '%s', which contains it",
                         gr_conf_path(r->arena, holder), path),
                 "refer to a value beside it, as in ${%s.KEY}", path);
}

static gr_status eval_node(gr_resolver *r, const gr_expr *e, gr_conf *holder, gr_conf **out) {
  const char *path = NULL;
  GR_TRY(eval_name(r, e->name, holder, &path));
  gr_conf *base = holder->up ? holder->up : holder;
  GR_TRY(gr_interp_select(r, base, path, holder, out));
  if (!*out) return not_found(r, path, holder);
  r->absent = (*out)->kind == GR_CONF_MISSING;
  (*out)->read |= r->absent;
  if (r->absent)
    return gr_note(gr_hint(gr_fail(GR_ERR_CONFIG, holder->loc,
                                   "'%s' refers to '%s', which is '??\?': it must be set first",
                                   gr_conf_path(r->arena, holder), path),
                           "set it with %s=VALUE", path),
                   (*out)->loc, "it is defined here");
  return is_ancestor(*out, holder) ? inside_of(r, path, holder) : GR_OK;
}

static gr_status eval_call(gr_resolver *r, const gr_expr *e, gr_conf *holder, gr_conf **out) {
  const char *name = NULL;
  gr_conf **args = GR_NEW(r->arena, gr_conf *, e->n + 1);
  GR_TRY(eval_name(r, e->name, holder, &name));
  for (int i = 0; i < e->n; i++) GR_TRY(gr_interp_eval(r, e->kids[i], holder, &args[i]));
  GR_TRY(gr_interp_call(r, name, args, e->n, holder, out));
  if (is_ancestor(*out, holder)) return inside_of(r, gr_conf_path(r->arena, *out), holder);
  if (!(*out)->up) (*out)->up = holder->up;
  return GR_OK;
}

static gr_status eval_collection(gr_resolver *r, const gr_expr *e, gr_conf *holder, gr_conf **out) {
  bool map = e->kind == GR_EXPR_MAP;
  *out = gr_conf_make(r->arena, map ? GR_CONF_MAP : GR_CONF_LIST, holder->loc);
  (*out)->literal = true;
  for (int i = 0; i < e->n; i++) {
    gr_conf *item = NULL;
    GR_TRY(gr_interp_eval(r, e->kids[i], holder, &item));
    item = gr_conf_copy(r->arena, item);
    if (map)
      gr_conf_put_key(r->arena, *out, e->keys[i], item);
    else
      gr_conf_append(r->arena, *out, item);
  }
  return GR_OK;
}

gr_status gr_interp_eval(gr_resolver *r, const gr_expr *e, gr_conf *holder, gr_conf **out) {
  switch (e->kind) {
    case GR_EXPR_VALUE:
      *out = e->value;
      return GR_OK;
    case GR_EXPR_JOIN:
      return eval_join(r, e, holder, out);
    case GR_EXPR_NODE:
      return eval_node(r, e, holder, out);
    case GR_EXPR_CALL:
      return eval_call(r, e, holder, out);
    default:
      return eval_collection(r, e, holder, out);
  }
}

static gr_status cycle(gr_resolver *r, gr_conf *holder) {
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, holder->loc, "'%s' refers to itself, directly or through others",
              gr_conf_path(r->arena, holder)),
      "give one of them a value that does not refer to the others");
}

static gr_status too_deep(const gr_conf *holder) {
  return gr_hint(gr_fail(GR_ERR_CONFIG, holder->loc,
                         "more than %d interpolations refer to each other in a chain", MAX_DEPTH),
                 "refer to the value itself instead of to a reference");
}

gr_status gr_interp_value(gr_resolver *r, gr_conf *holder, gr_conf **out) {
  gr_expr *e = NULL;
  if (holder->busy) return cycle(r, holder);
  if (r->depth >= MAX_DEPTH) return too_deep(holder);
  gr_status bad = gr_expr_parse(r->arena, holder->text, holder->loc, &e);
  r->absent = bad != NULL;  // the error that left something out has been reported
  if (bad) return bad;
  holder->busy = true;
  r->depth++;
  gr_status s = gr_interp_eval(r, e, holder, out);
  r->depth--;
  holder->busy = false;

  bool near_end = r->depth < NOTES || r->depth > MAX_DEPTH - NOTES;  // of a long chain
  if (!r->depth || !near_end) return s;
  return gr_note(s, holder->loc, "needed by '%s'", gr_conf_path(r->arena, holder));
}

// ---- A whole tree ----------------------------------------------------------------

static gr_status resolve(gr_resolver *r, gr_conf *c);

// Replaces `c` by its value. A collection is resolved in its own position and then copied.
static gr_status replace(gr_resolver *r, gr_conf *c, gr_conf *value) {
  if (value->busy) return cycle(r, c);
  if (r->depth >= MAX_DEPTH) return too_deep(c);
  r->depth++;
  gr_status s = resolve(r, value);
  r->depth--;
  GR_TRY(s);
  r->copied += gr_conf_size(value);
  if (r->copied > MAX_COPIED)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, c->loc, "interpolations copy more than %d values", MAX_COPIED),
        "each reference repeats the whole value: refer to a smaller one");
  GR_TRY(gr_conf_check_keys(value));
  const gr_conf *copy = gr_conf_copy(r->arena, value);
  gr_conf kept = *c;
  *c = *copy;
  c->raw = kept.text;
  c->loc = kept.loc, c->key_loc = kept.key_loc, c->key_kind = kept.key_kind;
  c->up = kept.up, c->replaced = kept.replaced, c->aside = NULL, c->busy = false;
  for (int i = 0; i < c->n && c->items; i++) c->items[i]->up = c;
  return GR_OK;
}

static gr_status resolve_items(gr_resolver *r, gr_conf *c) {
  gr_status all = GR_OK;
  for (int i = 0; i < c->n && gr_status_count(all) < 20; i++) {
    if (r->bytes > MAX_BYTES || r->copied > MAX_COPIED) return all;  // reported already
    all = gr_also(all, resolve(r, c->items[i]));
  }
  return all;
}

// An error of a value that comes from the environment, without that value, which may be a secret.
static gr_status without_secret(gr_resolver *r, const gr_conf *c, gr_status s) {
  if (!r->secret) return s;
  gr_status other = gr_fail(gr_status_code(s), c->loc,
                            "'%s' has no value: what the environment gives does not fit into '%s'",
                            gr_conf_path(r->arena, c), c->text);
  gr_status_drop(s);
  return gr_hint(other, "values of environment variables are not printed, as they may be secrets");
}

static gr_status resolve(gr_resolver *r, gr_conf *c) {
  if (collection(c)) {
    if (c->busy) return GR_OK;
    if (!c->n) return GR_OK;
    c->busy = true;
    gr_status s = resolve_items(r, c);
    c->busy = false;
    return s;
  }
  if (c->kind != GR_CONF_INTERP) return GR_OK;
  gr_conf *value = NULL;
  r->absent = r->env = r->secret = false;
  gr_status s = gr_interp_value(r, c, &value);
  bool env = r->env;
  if (!s) s = replace(r, c, value);
  c->from_env |= env;
  if (!s) return GR_OK;
  if (!r->partial || !r->absent) return without_secret(r, c, s);
  gr_status_drop(s);
  return GR_OK;
}

gr_status gr_conf_resolve(gr_arena *a, gr_conf *root, bool whole) {
  gr_resolver r = {.arena = a, .root = root, .hydra = root->aside, .partial = !whole};
  return resolve(&r, root);
}
