// walk.c - expands the defaults lists from a primary config to the list of all files. See
// defaults.h. The order is Hydra's: entries are visited last to first, so that a choice applies to
// earlier entries; interpolated entries are visited after all others.
#include <string.h>
#include "base/grow.h"
#include "compose/hydra/choices.h"
#include "compose/hydra/defaults.h"
#include "compose/interp/interp.h"

enum { MAX_DEPTH = 64, MAX_FILES = 4096, MAX_AGAIN = 8 };

typedef struct entries {
  gr_default **items;
  int n;
  bool self_added;
} entries;

// ---- One list --------------------------------------------------------------------

static gr_status check_self(const gr_config *c, const entries *l, bool *need) {
  bool self = false, other = false;
  for (int i = 0; i < l->n; i++) {
    other |= !l->items[i]->override;
    if (l->items[i]->is_self && self)
      return gr_hint(
          gr_fail(GR_ERR_CONFIG, l->items[i]->loc, "duplicate _self_ defined in '%s'", c->path),
          "keep one: it is where this file's own values go");
    self |= l->items[i]->is_self;
  }
  *need = (!self && other) || !l->n;
  return GR_OK;
}

static gr_status read_list(gr_defaults *d, const gr_config *c, bool root, entries *out) {
  int n = c->defaults ? c->defaults->n : 0, appends = root ? d->n_appends : 0;
  gr_default *all = GR_NEW(d->arena, gr_default, n + 1);
  gr_status errors = GR_OK;
  *out = (entries){.items = GR_NEW(d->arena, gr_default *, n + 1 + appends)};
  for (int i = 0; i < n; i++) {
    gr_status s = gr_entry_read(d->arena, c, c->defaults->items[i], &all[i]);
    if (!s) out->items[out->n++] = &all[i];
    errors = gr_also(errors, s);
  }
  if (!n && !appends) return GR_OK;
  errors = gr_also(errors, check_self(c, out, &out->self_added));
  if (out->self_added) {
    all[n] = (gr_default){.path = "_self_", .is_self = true, .loc = c->body->loc};
    out->items[out->n++] = &all[n];
  }
  for (int i = 0; i < appends; i++) out->items[out->n++] = &d->appends[i];
  return errors;
}

static gr_status late_entry(gr_defaults *d, const gr_default *item, const gr_default *override) {
  gr_status s = gr_fail(GR_ERR_CONFIG, item->loc, "'%s' comes after the override of '%s'",
                        item->is_group ? gr_entry_key(d->arena, item) : item->path,
                        gr_entry_key(d->arena, override));
  return gr_hint(gr_note(s, override->loc, "the override is here"),
                 "overrides must be at the end of the defaults list");
}

static gr_status chosen_by_interpolation(gr_defaults *d, const gr_default *parent,
                                         const gr_default *e) {
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, e->loc,
              "'%s' was chosen by an interpolation and cannot override groups",
              gr_entry_path(d->arena, parent)),
      "choose it without an interpolation, or move the override to the file that includes "
      "it");
}

// Registers the list's overrides before any of its entries is visited.
static gr_status register_overrides(gr_defaults *d, const gr_default *parent, entries *l,
                                    bool deferred) {
  const gr_default *seen = NULL;
  gr_status all = GR_OK;
  const char *base = gr_entry_group(d->arena, parent);
  const char *package = gr_entry_package(d->arena, parent, true);
  for (int i = 0; i < l->n; i++) {
    gr_default *e = l->items[i];
    if (e->is_self) continue;
    gr_entry_place(d->arena, e, base, package);
    if (seen && !e->override && !e->append) all = gr_also(all, late_entry(d, e, seen));
    if (!e->override) continue;
    seen = e;
    if (deferred)
      all = gr_also(all, chosen_by_interpolation(d, parent, e));
    else
      gr_choices_override(d, gr_entry_path(d->arena, parent), e);
  }
  return all;
}

// ---- The tree --------------------------------------------------------------------

static gr_status visit(gr_defaults *d, gr_default_node *node, bool deferred);

static gr_default_node *new_node(gr_defaults *d, gr_default *item, gr_default_node *up) {
  gr_default_node *n = GR_NEW(d->arena, gr_default_node, 1);
  n->item = item, n->up = up;
  return n;
}

static void add_kid(gr_defaults *d, gr_default_node *node, gr_default_node *kid) {
  if ((node->n & (node->n - 1)) == 0) {
    gr_default_node **more = GR_NEW(d->arena, gr_default_node *, node->n ? node->n * 2 : 1);
    if (node->n) memcpy(more, node->kids, sizeof *more * (size_t)node->n);
    node->kids = more;
  }
  node->kids[node->n++] = kid;
}

static gr_status visit_options(gr_defaults *d, gr_default_node *node, const gr_default *e,
                               bool deferred) {
  gr_status all = GR_OK;
  for (int i = e->n_options - 1; i >= 0; i--) {
    if (strstr(e->options[i], "${"))
      return gr_hint(gr_fail(GR_ERR_CONFIG, e->loc,
                             "in '%s': a list of options cannot hold an "
                             "interpolation",
                             gr_entry_path(d->arena, node->item)),
                     "write each option as an entry of its own");
    gr_default *one = GR_NEW(d->arena, gr_default, 1);
    *one = (gr_default){.path = gr_arena_printf(d->arena, "%s/%s", e->path, e->options[i]),
                        .package = e->package,
                        .optional = e->optional,
                        .value_loc = e->value_loc,
                        .loc = e->loc};
    gr_entry_place(d->arena, one, e->base, e->parent_package);
    gr_default_node *kid = new_node(d, one, node);
    all = gr_also(all, visit(d, kid, deferred));
    add_kid(d, node, kid);
  }
  return all;
}

static gr_status visit_entry(gr_defaults *d, gr_default_node *node, gr_default *e, bool deferred) {
  if (e->override) return GR_OK;
  if (e->is_self) {
    gr_entry_place(d->arena, e, node->item->base, "");
    add_kid(d, node, new_node(d, e, node));
    return GR_OK;
  }
  gr_choices_apply(d, e);
  if (e->options) return visit_options(d, node, e, deferred);
  gr_default_node *kid = new_node(d, e, node);
  add_kid(d, node, kid);
  return gr_entry_interpolated(d->arena, e) ? GR_OK : visit(d, kid, deferred);
}

static gr_status visit_deferred(gr_defaults *d, gr_default_node *node, const entries *l) {
  gr_conf *known = NULL;
  gr_status all = GR_OK;
  for (int i = 0; i < node->n; i++) {
    gr_default *e = node->kids[i]->item;
    if (e->is_self || node->kids[i]->n || !gr_entry_interpolated(d->arena, e)) continue;
    if (!known) known = gr_choices_known(d, l->items, l->n, l->self_added);
    gr_status s = gr_choices_resolve(d, e, known);
    e->deleted = s != NULL;
    all = gr_also(all, s ? s : visit(d, node->kids[i], true));
  }
  for (int i = 0; i < node->n / 2; i++) {
    gr_default_node *swap = node->kids[i];
    node->kids[i] = node->kids[node->n - 1 - i];
    node->kids[node->n - 1 - i] = swap;
  }
  return all;
}

static const char *absolute_header(gr_arena *a, const char *package) {
  if (!package || !strcmp(package, "_global_") || !strncmp(package, "_global_.", 9)) return package;
  return gr_arena_printf(a, "_global_.%s", package);
}

// The error for an endless or too deep chain of includes, with the chain as notes.
static gr_status too_deep(gr_defaults *d, const gr_default_node *node, bool cycle) {
  const char *path = gr_entry_path(d->arena, node->item);
  gr_status s = cycle ? gr_fail(GR_ERR_CONFIG, node->item->loc, "'%s' includes itself", path)
                      : gr_fail(GR_ERR_CONFIG, node->item->loc,
                                "'%s' is included through more than %d files", path, MAX_DEPTH);
  const gr_default_node *up = node->up;
  for (int i = 0; up && up->item && i < 8; up = up->up, i++) {
    s = gr_note(s, up->item->loc, "included from '%s'", gr_entry_path(d->arena, up->item));
    if (!strcmp(gr_entry_path(d->arena, up->item), path)) break;
  }
  return gr_hint(s, "remove one of these entries from its defaults list");
}

// A config that includes itself is an error. An option of a group may, as long as an override for
// an inner package chooses another option.
static gr_status check_ends(gr_defaults *d, const gr_default_node *node) {
  const char *path = gr_entry_path(d->arena, node->item);
  int depth = 0, times = 0, most = node->item->is_group ? MAX_AGAIN : 1;
  for (const gr_default_node *up = node->up; up && up->item; up = up->up) {
    if (++depth > MAX_DEPTH) return too_deep(d, node, false);
    if (strcmp(gr_entry_path(d->arena, up->item), path)) continue;
    if (++times >= most) return too_deep(d, node, true);
  }
  return GR_OK;
}

static gr_status load_list(gr_defaults *d, gr_default_node *node, const gr_config *c,
                           bool deferred) {
  entries l;
  gr_status all = read_list(d, c, node->item->primary, &l);
  all = gr_also(all, register_overrides(d, node->item, &l, deferred));
  const char *base = gr_entry_group(d->arena, node->item);
  const char *package = gr_entry_package(d->arena, node->item, true);
  for (int i = l.n - 1; i >= 0; i--) {
    if (!l.items[i]->is_self) gr_entry_place(d->arena, l.items[i], base, package);
    all = gr_also(all, visit_entry(d, node, l.items[i], deferred));
  }
  return gr_also(all, visit_deferred(d, node, &l));
}

// Checks an entry before its own defaults list is expanded.
static gr_status check_entry(gr_defaults *d, gr_default_node *node, const gr_config *c) {
  gr_default *item = node->item;
  bool missing = gr_entry_missing(d->arena, item), null = item->is_group && !item->value;
  GR_TRY(gr_choices_record(d, item, c || missing || null || item->optional));
  if (null) return GR_OK;
  if (missing) return d->skip_missing ? GR_OK : gr_choices_missing(d, node);
  if (!c) return item->optional ? GR_OK : gr_choices_not_found(d, node);
  GR_TRY(check_ends(d, node));
  if (++d->depth > MAX_FILES)
    return gr_fail(GR_ERR_CONFIG, item->loc, "the configuration has more than %d files", MAX_FILES);
  return GR_OK;
}

// Visits all entries, also after an error, to collect all errors.
static gr_status visit(gr_defaults *d, gr_default_node *node, bool deferred) {
  gr_default *item = node->item;
  gr_config *c = NULL;
  gr_status all = GR_OK;
  bool missing = gr_entry_missing(d->arena, item), none = item->is_group && !item->value;
  item->deleted = d->depth > MAX_FILES;  // reported once
  if (item->deleted) return GR_OK;
  if (!missing && !none) all = gr_sources_load(d->sources, gr_entry_path(d->arena, item), &c);
  if (c) item->header = absolute_header(d->arena, c->package);
  item->deleted = gr_choices_deleted(d, item);
  if (item->deleted) return all;
  gr_status s = check_entry(d, node, c);
  item->deleted = s || (!c && item->optional && !missing && !none);
  return c && !s ? gr_also(all, load_list(d, node, c, deferred)) : gr_also(all, s);
}

// ---- The list --------------------------------------------------------------------

static gr_status add_part(gr_defaults *d, const gr_default_node *leaf) {
  const gr_default *e = leaf->item, *owner = e->is_self ? leaf->up->item : e;
  const gr_default_node *up = e->is_self ? leaf->up->up : leaf->up;
  bool missing = gr_entry_missing(d->arena, owner), none = owner->is_group && !owner->value;
  if (e->deleted || missing || none) return GR_OK;
  GR_GROW(d->arena, d->parts, d->n_parts, d->cap_parts);
  gr_default_part *p = &d->parts[d->n_parts++];
  *p = (gr_default_part){.package = gr_entry_package(d->arena, owner, true),
                         .is_self = e->is_self,
                         .primary = owner->primary,
                         .item = owner};
  p->parent = !up ? NULL : up->item ? gr_entry_path(d->arena, up->item) : "<root>";
  if (!e->is_self && e->is_group) p->override_key = gr_entry_key(d->arena, e);
  gr_status s = gr_sources_load(d->sources, gr_entry_path(d->arena, owner), &p->config);
  d->n_parts -= !p->config;
  return s;
}

static gr_status flatten(gr_defaults *d, const gr_default_node *node) {
  if (!node->n) return node->item ? add_part(d, node) : GR_OK;
  for (int i = 0; i < node->n; i++) GR_TRY(flatten(d, node->kids[i]));
  return GR_OK;
}

static gr_status check_twice(const gr_defaults *d) {
  gr_map seen = gr_map_make(d->arena);
  for (int i = 0; i < d->n_parts; i++) {
    const char *key = d->parts[i].override_key;
    if (!key) continue;
    if (gr_map_find(&seen, key, NULL))
      return gr_hint(gr_fail(GR_ERR_CONFIG, d->parts[i].item->loc,
                             "%s appears more than once in the final defaults list", key),
                     "to choose another option, override it: 'override %s: OPTION' in a file, or "
                     "%s=OPTION without '+'",
                     key, key);
    gr_map_put(&seen, key, 1);
  }
  return GR_OK;
}

static gr_default_node *add_root(gr_defaults *d, gr_default_node *up, const char *path,
                                 bool primary) {
  gr_default *item = GR_NEW(d->arena, gr_default, 1);
  *item = (gr_default){.path = path, .primary = primary, .base = "", .parent_package = ""};
  return new_node(d, item, up);
}

gr_status gr_defaults_make(gr_defaults *d, gr_sources *sources, const char *primary,
                           const gr_override *overrides, int n, bool with_hydra) {
  d->arena = sources->arena, d->sources = sources;
  gr_status all = gr_choices_from_arguments(d, overrides, n);
  gr_default_node *virtual = with_hydra ? GR_NEW(d->arena, gr_default_node, 1) : NULL;
  gr_default_node *main = add_root(d, virtual, primary, true);
  all = gr_also(all, visit(d, main, false));
  d->root = main;
  if (with_hydra) {
    gr_default_node *hydra = add_root(d, virtual, "hydra/config", false);
    all = gr_also(all, visit(d, hydra, false));
    add_kid(d, virtual, hydra);
    add_kid(d, virtual, main);
    d->root = virtual;
  }
  all = gr_also(all, flatten(d, d->root));
  if (all) return all;
  GR_TRY(check_twice(d));
  return gr_choices_all_used(d);
}
