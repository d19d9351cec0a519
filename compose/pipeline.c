// pipeline.c - the steps of composition: arguments, search path, defaults list, merging, overrides.
// See compose.h and composer.h.
#include <string.h>
#include "compose/compose.h"
#include "compose/composer.h"
#include "compose/hydra/hydra.h"
#include "compose/schema/schema.h"

enum { MAX_VALUES = 200000 };  // of all files together

// Splits "configs/run.yaml" into folder "configs" and config "run". "configs/run" means the same,
// even if a folder of that name exists.
static gr_status split_path(gr_composer *c, const char *path) {
  const char *slash = strrchr(path, '/');
  const char *dir = !slash          ? "."
                    : slash == path ? "/"
                                    : gr_arena_strndup(c->arena, path, (size_t)(slash - path));
  const char *name = slash ? slash + 1 : path;
  bool is_dir = gr_is_dir(path) && !gr_is_file(gr_arena_printf(c->arena, "%s.yaml", path));
  if (!*name || is_dir)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is a folder, not a configuration", path),
                   "give the path of one of its .yaml files");
  c->primary = gr_arena_strndup(c->arena, name, strlen(name) - (gr_ends_in(name, ".yaml") ? 5 : 0));
  if (!*c->primary) c->primary = name;
  gr_sources_add(&c->sources, dir);
  if (gr_is_dir(dir)) return GR_OK;
  c->primary = NULL;
  return gr_hint(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "there is no folder '%s'", dir),
                 "the configuration is given by its path, as in configs/run.yaml");
}

// Overrides with errors are left out of the composition.
static gr_status parse_overrides(gr_composer *c, const gr_compose_request *q) {
  gr_status all = GR_OK;
  c->overrides = GR_NEW(c->arena, gr_override, q->n_overrides + 1);
  for (int i = 0; i < q->n_overrides; i++) {
    gr_override *o = &c->overrides[c->n_overrides];
    gr_status s = gr_override_parse(c->arena, q->overrides[i], i + 1, o);
    if (!s) c->n_overrides++;
    all = gr_also(all, s);
  }
  return all;
}

gr_status gr_composer_single(const gr_composer *c) {
  gr_status all = GR_OK;
  for (int i = 0; i < c->n_overrides; i++) {
    const gr_override *o = &c->overrides[i];
    if (!o->value.many) continue;
    gr_status s = gr_fail(GR_ERR_USAGE, o->value_loc,
                          "'%s' is a sweep, but this command makes a single run", o->key);
    if (o->value.many->kind == GR_SWEEP_SIMPLE)
      s = gr_hint(s, "for a list write %s=[%s]; for a string with commas quote it: \"%s='%s'\"",
                  o->key, strchr(o->line, '=') + 1, o->key, strchr(o->line, '=') + 1);
    all = gr_also(all, gr_hint(s, "to run each value, add -m"));
  }
  return all;
}

// ---- Search path -----------------------------------------------------------------

// root: of the primary config alone, which interpolations refer to; there is no other one yet.
static gr_status add_search_dir(gr_composer *c, gr_conf *root, gr_conf *item, gr_loc loc) {
  gr_resolver r = {.arena = c->arena, .root = root};
  if (item->kind == GR_CONF_INTERP) GR_TRY(gr_interp_value(&r, item, &item));
  if (item->kind != GR_CONF_TEXT)
    return gr_fail(GR_ERR_CONFIG, loc, "hydra.searchpath must be a list of strings, but has %s",
                   gr_conf_a_kind(item->kind));
  const char *dir = item->text;
  if (!strncmp(dir, "file://", 7)) dir += 7;
  if (strstr(dir, "://") || !gr_is_dir(dir))
    gr_log(GR_WARN, "hydra.searchpath: there is no folder '%s'", item->text);
  else
    gr_sources_add(&c->sources, dir);
  return GR_OK;
}

static gr_status load_primary(gr_composer *c, gr_config **out) {
  gr_status all = gr_sources_load(&c->sources, c->primary, out);
  if (!*out || (*out)->body->kind == GR_CONF_MAP) return all;
  gr_conf *body = (*out)->body;
  (*out)->body = gr_conf_make(c->arena, GR_CONF_MAP, body->loc);
  return gr_also(all, gr_hint(gr_fail(GR_ERR_CONFIG, body->loc,
                                      "primary config '%s' must be a mapping, but is %s",
                                      c->primary, gr_conf_a_kind(body->kind)),
                              "write 'key: value', one on a line"));
}

static gr_status add_search_path(gr_composer *c) {
  gr_config *primary = NULL;
  GR_TRY(load_primary(c, &primary));
  gr_conf *root = primary ? primary->body : gr_conf_make(c->arena, GR_CONF_MAP, GR_NOWHERE);
  gr_conf *path = gr_conf_find(root, "hydra.searchpath");
  for (int i = c->n_overrides - 1; i >= 0; i--)
    if (!strcmp(c->overrides[i].element, "hydra.searchpath")) path = c->overrides[i].value.one;
  if (!path || path->kind == GR_CONF_NULL) return GR_OK;
  if (path->kind != GR_CONF_LIST)
    return gr_fail(GR_ERR_CONFIG, path->loc,
                   "hydra.searchpath must be a list of strings, but is %s",
                   gr_conf_a_kind(path->kind));
  gr_status all = GR_OK;
  for (int i = 0; i < path->n; i++)
    all = gr_also(all, add_search_dir(c, root, path->items[i], path->items[i]->loc));
  return all;
}

// ---- Merging ---------------------------------------------------------------------

static gr_status merge_part(gr_composer *c, const gr_default_part *p) {
  c->values += gr_conf_size(p->config->body);
  if (c->values > MAX_VALUES)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, p->item->loc, "the files have more than %d values", MAX_VALUES),
        "data of that size belongs in a file of its own: give its path here");
  gr_conf *body = p->config->body;
  if (--p->config->uses) body = gr_conf_copy(c->arena, body);
  gr_status all = gr_expr_check(c->arena, body);
  gr_conf *wrapped = gr_merge_wrap(c->arena, p->package, body);
  if (!p->primary && strcmp(p->config->path, "hydra/config") && wrapped->kind == GR_CONF_MAP) {
    const gr_conf *path = gr_conf_find(wrapped, "hydra.searchpath");
    if (path && path->kind != GR_CONF_NULL)
      all = gr_also(all, gr_fail(GR_ERR_CONFIG, path->key_loc,
                                 "in '%s': overriding hydra.searchpath is only supported from the "
                                 "primary config",
                                 p->config->path));
  }
  all = gr_also(all, gr_merge(&c->resolver, c->root, wrapped));
  if (c->known) all = gr_also(all, gr_schema_share(c->arena, c->root, c->aliases));
  return p->primary ? all
                    : gr_note(all, p->item->loc, "included from here as '%s'", p->config->path);
}

static void unread(gr_conf *c) {
  c->read = false;
  for (int i = 0; i < c->n && c->items; i++) unread(c->items[i]);
}

static gr_status merge_parts(gr_composer *c) {
  gr_status all = GR_OK;
  c->root = gr_conf_make(c->arena, GR_CONF_MAP, (gr_loc){c->path, 1, 1});
  c->aliases = gr_schema_aliases(c->arena);
  c->resolver = (gr_resolver){.arena = c->arena, .root = c->root, .known = c->known};
  for (int i = 0; i < c->defaults.n_parts; i++) c->defaults.parts[i].config->uses++;
  for (int i = 0; i < c->defaults.n_parts && c->values <= MAX_VALUES; i++)
    all = gr_also(all, merge_part(c, &c->defaults.parts[i]));
  return all;
}

// ---- The hydra node --------------------------------------------------------------

static void split_hydra(gr_composer *c, gr_composed *out) {
  int index = gr_conf_index(c->root, "hydra");
  *out = (gr_composed){.job = c->root};
  if (index >= 0) {
    out->hydra = c->root->items[index];
    gr_conf_remove(c->root, index);
    c->root->aside = out->hydra;
    gr_hydra_fill(c, out->hydra);
    unread(out->hydra);
  }
  unread(c->root);
}

gr_status gr_composer_open(gr_composer *c, gr_arena *a, const gr_compose_request *q) {
  *c = (gr_composer){.arena = a, .sources = gr_sources_make(a), .whole = true};
  c->path = gr_arena_strdup(a, q->path);
  c->known = q->known;
  gr_status s = split_path(c, c->path);
  s = gr_also(s, parse_overrides(c, q));
  c->whole = !s;
  for (int i = 0; i < q->n_config_dirs; i++) {
    gr_sources_add(&c->sources, q->config_dirs[i]);
    if (gr_is_dir(q->config_dirs[i])) continue;
    s = gr_also(s, gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--config-dir: there is no folder '%s'",
                           q->config_dirs[i]));
    c->primary = NULL;
  }
  return s;
}

gr_status gr_composer_list(gr_composer *c, bool with_hydra) {
  gr_status all = add_search_path(c);
  all = gr_also(all, gr_defaults_make(&c->defaults, &c->sources, c->primary, c->overrides,
                                      c->n_overrides, with_hydra));
  c->whole &= !all;
  return all;
}

// After earlier errors a missing key may be one that was left out, so only keys that the schema
// does not have are errors.
static gr_status apply(gr_composer *c, const gr_override *o) {
  gr_status s = gr_merge_override(&c->resolver, c->root, o);
  if (!s && c->known) s = gr_schema_share(c->arena, c->root, c->aliases);
  if (!s || c->whole || (c->known && !c->known(o->key))) return s;
  gr_status_drop(s);
  return GR_OK;
}

gr_status gr_composer_merge(gr_composer *c, gr_composed *out) {
  gr_status all = merge_parts(c);
  c->whole &= !all;
  c->root->fixed = true;
  for (int i = 0; i < c->defaults.n_values; i++)
    all = gr_also(all, apply(c, c->defaults.values[i]));
  c->whole &= !all;
  split_hydra(c, out);
  return all;
}

gr_status gr_compose(gr_arena *a, const gr_compose_request *q, gr_composed *out) {
  gr_composer c;
  *out = (gr_composed){0};
  gr_status all = gr_composer_open(&c, a, q);
  if (!c.primary) return all;
  all = gr_also(all, gr_composer_single(&c));
  c.whole = !all;
  all = gr_also(all, gr_composer_list(&c, true));
  return gr_also(all, gr_composer_merge(&c, out));
}

gr_status gr_compose_checked(gr_arena *a, const gr_compose_request *q, gr_composed *out,
                             gr_conf **conf) {
  gr_status all = gr_compose(a, q, out);
  *conf = NULL;
  if (!out->job) return all;
  *conf = gr_conf_copy(a, out->job);
  bool whole = !all;
  all = gr_also(all, gr_conf_resolve(a, *conf, whole));
  out->compat = GR_NEW(a, const char *, GR_MAX_COMPAT);
  all = gr_also(all, gr_schema_translate(a, *conf, out->compat, &out->n_compat));
  return gr_also(all, gr_schema_check(a, *conf, whole));
}
