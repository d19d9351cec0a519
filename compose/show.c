// show.c - prints the defaults tree, origins, differences and saved files. See show.h.
#include "compose/show.h"
#include <string.h>
#include "compose/schema/schema.h"

static bool belongs_to_project(const gr_default_part *p) {
  return strncmp(p->config->path, "hydra/", 6) != 0;
}

void gr_show_defaults(gr_text *t, const gr_composer *c) {
  int wide = 6, pack = 7;
  for (int i = 0; i < c->defaults.n_parts; i++) {
    const gr_default_part *p = &c->defaults.parts[i];
    if (!belongs_to_project(p)) continue;
    int n = (int)strlen(p->config->path), m = (int)strlen(p->package);
    wide = n > wide ? n : wide, pack = m > pack ? m : pack;
  }
  gr_text_printf(t, "%-*s  %-*s  %-6s %s\n", wide, "config", pack, "package", "_self_", "parent");
  for (int i = 0; i < c->defaults.n_parts; i++) {
    const gr_default_part *p = &c->defaults.parts[i];
    if (!belongs_to_project(p)) continue;
    const char *parent = p->parent && strcmp(p->parent, "<root>") ? p->parent : "-";
    gr_text_printf(t, "%-*s  %-*s  %-6s %s\n", wide, p->config->path, pack, p->package,
                   p->is_self ? "yes" : "", parent);
  }
}

static void tree(gr_text *t, const gr_default_node *n, int depth) {
  gr_arena *a = t->arena;
  const gr_default *e = n->item;
  gr_text_printf(t, "%*s", depth * 2, "");
  if (e->is_self)
    gr_text_put(t, "_self_");
  else if (e->is_group)
    gr_text_printf(t, "%s: %s", gr_entry_key(a, e), e->value ? e->value : "null");
  else
    gr_text_put(t, gr_entry_path(a, e));
  if (e->deleted) gr_text_put(t, e->optional ? "  (optional, not found)" : "  (deleted)");
  gr_text_put(t, "\n");
  for (int i = 0; i < n->n; i++) tree(t, n->kids[i], depth + 1);
}

void gr_show_tree(gr_text *t, const gr_composer *c) {
  const gr_default_node *root = c->defaults.root;
  if (root) tree(t, root->item ? root : root->kids[root->n - 1], 0);
}

// ---- Origins ---------------------------------------------------------------------

static bool begins_inside(const char *text) { return ((unsigned char)*text & 0xc0) == 0x80; }

// A text, of a long one the part around its byte `seen`: whole characters.
static void put_part(gr_text *t, const char *text, size_t len, size_t seen) {
  enum { MOST = 72, BEFORE = 24, DOTS = 3 };
  size_t begin = len > MOST && seen > MOST - BEFORE ? seen - BEFORE : 0;
  size_t end = len > MOST ? begin + MOST - DOTS : len;
  while (begin && begins_inside(text + begin)) begin--;
  if (end > len) end = len;
  while (end < len && begins_inside(text + end)) end--;
  gr_text_put(t, begin ? "..." : "");
  gr_text_putn(t, text + begin, end - begin);
  gr_text_put(t, end < len ? "..." : "");
}

static void put_value(gr_text *t, const gr_conf *c) {
  gr_text v = gr_text_make(t->arena);
  gr_conf_json(&v, c, 0);
  put_part(t, v.chars, v.len, 0);
}

static void put_place(gr_text *t, const gr_conf *c) {
  gr_loc loc = c->loc.file ? c->loc : c->key_loc;
  if (loc.file)
    gr_text_printf(t, "%s:%d:%d", loc.file, loc.line, loc.col);
  else
    gr_text_put(t, c->is_default ? "default" : "graphrun itself");
}

static void put_history(gr_text *t, const gr_conf *c) {
  for (int i = 0; c && i < 1000; c = c->replaced, i++) {
    gr_text_put(t, "  ");
    put_value(t, c);
    gr_text_put(t, "  ");
    put_place(t, c);
    gr_text_put(t, i ? "  (replaced)\n" : "\n");
  }
}

static void put_item(gr_text *t, const gr_conf *item) {
  gr_text_printf(t, "  %s: ", gr_conf_path(t->arena, item));
  put_value(t, item);
  gr_text_put(t, "  ");
  put_place(t, item);
  gr_text_put(t, "\n");
}

// Prints the elements of a list that were set individually after the list.
static void put_elements(gr_text *t, const gr_conf *c) {
  for (int i = 0; i < c->n && c->items; i++)
    if (c->items[i]->replaced) put_item(t, c->items[i]);
}

static void put_leaves(gr_text *t, const gr_conf *c) {
  for (int i = 0; i < c->n && c->items; i++)
    if (c->items[i]->n && c->items[i]->items)
      put_leaves(t, c->items[i]);
    else
      put_item(t, c->items[i]);
}

static void all_paths(gr_arena *a, const gr_conf *c, const char **names, int *n, int most) {
  for (int i = 0; i < c->n && c->items && *n < most; i++) {
    names[(*n)++] = gr_conf_path(a, c->items[i]);
    all_paths(a, c->items[i], names, n, most);
  }
}

gr_status gr_show_find(gr_arena *a, gr_conf *job, const char *key, gr_conf **out) {
  enum { MOST = 1024 };
  *out = gr_conf_find(job, key);
  if (*out) return GR_OK;
  if (job->up) key = gr_arena_printf(a, "%s.%s", gr_conf_path(a, job), key);
  const char **names = GR_NEW(a, const char *, MOST);
  int n = 0;
  all_paths(a, job, names, &n, MOST);
  const char *like = gr_text_nearest(key, names, n);
  gr_status s = gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there is no key '%s' in the configuration", key);
  if (gr_schema_find(key)) return gr_hint(s, "it is not set: --resolve shows its default");
  if (like) return gr_hint(s, "did you mean '%s'?", like);
  like = gr_schema_nearest(a, key);
  if (like)
    return gr_hint(s, "did you mean '%s'? It is not set: --resolve shows its default", like);
  return gr_hint(s, "it has: %s", gr_text_names(a, job->keys, job->n < 12 ? job->n : 12));
}

gr_status gr_show_origin(gr_text *t, gr_conf *job, const char *key) {
  gr_conf *c = NULL;
  GR_TRY(gr_show_find(t->arena, job, key, &c));
  gr_text_printf(t, "%s\n", key);
  if (c->kind == GR_CONF_MAP) {
    put_leaves(t, c);
    return GR_OK;
  }
  put_elements(t, c);
  put_history(t, c);
  return GR_OK;
}

// ---- Differences -----------------------------------------------------------------

static void put_difference(gr_text *t, char mark, const gr_conf *c, const gr_text *v, size_t seen) {
  gr_text_printf(t, "%c %s: ", mark, gr_conf_path(t->arena, c));
  put_part(t, v->chars, v->len, seen);
  gr_text_put(t, "  (");
  put_place(t, c);
  gr_text_put(t, ")\n");
}

// Two values, of which one may be missing, unless they are the same. Of long ones the part is
// printed where they begin to differ.
static void compare(gr_text *t, const gr_conf *x, const gr_conf *y) {
  gr_text v[2] = {gr_text_make(t->arena), gr_text_make(t->arena)};
  size_t seen = 0;
  if (x) gr_conf_json(&v[0], x, 0);
  if (y) gr_conf_json(&v[1], y, 0);
  if (x && y && !strcmp(v[0].chars, v[1].chars)) return;
  while (x && y && v[0].chars[seen] == v[1].chars[seen]) seen++;
  if (x) put_difference(t, '-', x, &v[0], seen);
  if (y) put_difference(t, '+', y, &v[1], seen);
}

bool gr_show_diff(gr_text *t, const gr_conf *a, const gr_conf *b) {
  size_t before = t->len;
  for (int i = 0; i < a->n; i++) {
    int index = gr_conf_index(b, a->keys[i]);
    const gr_conf *x = a->items[i], *y = index < 0 ? NULL : b->items[index];
    if (y && x->kind == GR_CONF_MAP && y->kind == GR_CONF_MAP)
      gr_show_diff(t, x, y);
    else
      compare(t, x, y);
  }
  for (int i = 0; i < b->n; i++)
    if (gr_conf_index(a, b->keys[i]) < 0) compare(t, NULL, b->items[i]);
  return t->len > before;
}

// ---- Saved files -----------------------------------------------------------------

gr_saved gr_show_saved(gr_arena *a, const gr_composed *c) {
  gr_text config = gr_text_make(a), hydra = gr_text_make(a), lines = gr_text_make(a);
  gr_conf_yaml(&config, c->job);
  gr_conf *root = gr_conf_make(a, GR_CONF_MAP, GR_NOWHERE);
  gr_conf *list = c->hydra ? gr_conf_find(c->hydra, "overrides.task") : NULL;
  if (c->hydra) gr_conf_put(a, root, "hydra", gr_conf_copy(a, c->hydra));
  gr_conf_yaml(&hydra, root);
  if (!list) list = gr_conf_make(a, GR_CONF_LIST, GR_NOWHERE);
  gr_conf_yaml(&lines, list);
  return (gr_saved){config.chars, hydra.chars, lines.chars};
}
