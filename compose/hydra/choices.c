// choices.c - choices of groups and their errors. See choices.h.
#include "compose/hydra/choices.h"
#include <string.h>
#include "base/grow.h"
#include "compose/interp/interp.h"

enum { MAX_NAMES = 512 };

static gr_choice *choices_find(gr_choices *c, const char *key) {
  for (int i = 0; i < c->n; i++)
    if (!strcmp(c->items[i].key, key)) return &c->items[i];
  return NULL;
}

static gr_choice *add(gr_arena *a, gr_choices *c, const char *key) {
  gr_choice *old = choices_find(c, key);
  if (old) return old;
  GR_GROW(a, c->items, c->n, c->cap);
  c->items[c->n].key = key;
  return &c->items[c->n++];
}

// ---- Arguments -------------------------------------------------------------------

static gr_status bad_option(const gr_override *o, const char *what) {
  return gr_hint(gr_fail(GR_ERR_CONFIG, o->value_loc, "'%s' is a group: %s", o->key, what),
                 "write %s=OPTION, or %s=[OPTION,OPTION]", o->key, o->key);
}

static gr_status delete_group(gr_defaults *d, const gr_override *o) {
  const gr_conf *v = o->value.one;
  if (v && v->kind != GR_CONF_NULL && !gr_conf_has_text(v))
    return bad_option(o, "an option is a string");
  gr_choice *c = add(d->arena, &d->deletions, o->element + 1);
  c->value = v && v->kind != GR_CONF_NULL ? o->value.one : NULL;
  c->line = o, c->loc = o->loc, c->used = false;
  return GR_OK;
}

// Reads a list of options, which must be strings because they are file names.
static gr_status set_options(gr_arena *a, const gr_override *o, gr_default *e) {
  const gr_conf *v = o->value.one;
  e->value = NULL, e->options = NULL, e->n_options = 0;
  if (gr_conf_has_text(v)) {
    e->value = v->text;
    return GR_OK;
  }
  e->options = GR_NEW(a, const char *, v->n + 1);
  for (int i = 0; i < v->n; i++) {
    if (!gr_conf_has_text(v->items[i])) return bad_option(o, "options are strings");
    e->options[e->n_options++] = v->items[i]->text;
  }
  return GR_OK;
}

static gr_status take_group(gr_defaults *d, const gr_override *o) {
  const gr_conf *v = o->value.one;
  if (o->kind == GR_OVERRIDE_FORCE)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, o->loc, "'++' is not for groups, and '%s' is one", o->key),
        "write +%s=OPTION to add it, or %s=OPTION to choose another option", o->key, o->key);
  if (o->kind == GR_OVERRIDE_DELETE) return delete_group(d, o);
  if (!gr_conf_has_text(v) && v->kind != GR_CONF_LIST)
    return bad_option(o, "an option is a string or a list");
  if (o->kind == GR_OVERRIDE_ADD) {
    gr_default *e = &d->appends[d->n_appends++];
    const char *package = o->package && !strcmp(o->package, "_here_") ? "" : o->package;
    *e = (gr_default){.is_group = true,
                      .append = true,
                      .path = o->key,
                      .package = package,
                      .value_loc = o->value_loc,
                      .loc = o->loc};
    GR_TRY(set_options(d->arena, o, e));
    return GR_OK;
  }
  gr_choice *c = add(d->arena, &d->overrides, o->element);
  c->value = o->value.one, c->line = o, c->loc = o->loc;
  return GR_OK;
}

gr_status gr_choices_from_arguments(gr_defaults *d, const gr_override *o, int n) {
  gr_status all = GR_OK;
  d->appends = GR_NEW(d->arena, gr_default, n + 1);
  d->values = GR_NEW(d->arena, const gr_override *, n + 1);
  for (int i = 0; i < n; i++) {
    if (o[i].value.many) continue;
    bool map = o[i].value.one && o[i].value.one->kind == GR_CONF_MAP;
    if (map || !*o[i].key || !gr_sources_group(d->sources, o[i].key))
      d->values[d->n_values++] = &o[i];
    else
      all = gr_also(all, take_group(d, &o[i]));
  }
  return all;
}

// ---- Lists -----------------------------------------------------------------------

static gr_conf *value_of(gr_arena *a, const gr_default *e) {
  gr_conf *v = gr_conf_make(a, e->options ? GR_CONF_LIST : GR_CONF_NULL, e->loc);
  if (e->value) gr_conf_set_text(v, e->value);
  for (int i = 0; i < e->n_options; i++) {
    gr_conf *item = gr_conf_make(a, GR_CONF_TEXT, e->loc);
    gr_conf_set_text(item, e->options[i]);
    gr_conf_append(a, v, item);
  }
  return v;
}

void gr_choices_override(gr_defaults *d, const char *config, const gr_default *e) {
  const char *key = gr_entry_key(d->arena, e);
  if (choices_find(&d->overrides, key)) return;
  gr_choice *c = add(d->arena, &d->overrides, key);
  c->value = value_of(d->arena, e), c->parent = config, c->loc = e->loc;
}

void gr_choices_apply(gr_defaults *d, gr_default *e) {
  if (!e->is_group) return;
  gr_choice *c = choices_find(&d->overrides, gr_entry_key(d->arena, e));
  if (!c) return;
  c->used = true;
  e->value_loc = c->line ? c->line->value_loc : c->loc;
  e->value = gr_conf_has_text(c->value) ? c->value->text : NULL;
  e->options = NULL, e->n_options = 0;
  if (c->value->kind != GR_CONF_LIST) return;
  e->options = GR_NEW(d->arena, const char *, c->value->n + 1);
  for (int i = 0; i < c->value->n; i++)
    e->options[e->n_options++] =
        gr_conf_has_text(c->value->items[i]) ? c->value->items[i]->text : "";
}

bool gr_choices_deleted(gr_defaults *d, const gr_default *e) {
  if (!e->is_group) return false;
  gr_choice *c = choices_find(&d->deletions, gr_entry_key(d->arena, e));
  if (!c || (c->value && (!e->value || strcmp(c->value->text, e->value)))) return false;
  return c->used = true;
}

gr_status gr_choices_record(gr_defaults *d, const gr_default *e, bool there) {
  if (!e->is_group) return GR_OK;
  const char *key = gr_entry_key(d->arena, e);
  const gr_choice *old = choices_find(&d->known, key);
  if (!old) {
    gr_choice *c = add(d->arena, &d->known, key);
    c->group = gr_entry_group(d->arena, e), c->value = value_of(d->arena, e), c->loc = e->loc;
    c->append = e->append, c->absent = !there;
    return GR_OK;
  }
  const char *now = e->value ? e->value : "null";
  const char *before = gr_conf_has_text(old->value) ? old->value->text : "null";
  if (!strcmp(now, before) || old->absent || !there) return GR_OK;
  gr_status s = gr_note(
      gr_fail(GR_ERR_CONFIG, e->loc, "multiple values for %s: '%s' and '%s'", key, now, before),
      old->loc, "it is '%s' here", before);
  if (old->append)
    return gr_hint(s, "the defaults list already has it: write %s=%s, without '+'", key, before);
  return gr_hint(s, "to override a value use 'override %s: %s'", key, before);
}

// ---- Interpolations --------------------------------------------------------------

gr_conf *gr_choices_known(gr_defaults *d, gr_default *const *list, int n, bool self_added) {
  gr_arena *a = d->arena;
  gr_conf *known = gr_conf_make(a, GR_CONF_MAP, GR_NOWHERE);
  gr_conf *defaults = gr_conf_make(a, GR_CONF_LIST, GR_NOWHERE);
  for (int i = 0; i < d->known.n; i++)
    gr_conf_put(a, known, d->known.items[i].key, gr_conf_copy(a, d->known.items[i].value));
  for (int i = 0; i < n; i++) {
    if (self_added && list[i]->is_self) continue;
    gr_conf *item = gr_conf_make(a, list[i]->is_group ? GR_CONF_MAP : GR_CONF_TEXT, list[i]->loc);
    if (!list[i]->is_self) {
      if (list[i]->is_group)
        gr_conf_put(a, item, gr_entry_key(a, list[i]), value_of(a, list[i]));
      else
        gr_conf_set_text(item, gr_entry_path(a, list[i]));
    }
    gr_conf_append(a, defaults, item);
  }
  gr_conf_put(a, known, "defaults", defaults);
  return known;
}

static gr_status cannot_resolve(const gr_default *e, const char *text, const gr_conf *known) {
  gr_status s = gr_fail(GR_ERR_CONFIG, e->loc, "error resolving interpolation '%s'", text);
  if (known->n > 1)
    s = gr_hint_names(s, "possible interpolation keys: ", known->keys, known->n - 1, "");
  return gr_hint(s, "a defaults list can refer only to choices of groups, not to values");
}

gr_status gr_choices_resolve(gr_defaults *d, gr_default *e, gr_conf *known) {
  const char *text = e->is_group ? e->value : gr_entry_path(d->arena, e);
  gr_conf *holder = gr_conf_make(d->arena, GR_CONF_INTERP, e->loc), *value = NULL;
  holder->text = text, holder->up = known;
  if (e->is_group && !strncmp(text, "${defaults.", 11) && text[11] >= '0' && text[11] <= '9' &&
      text[12] == '.')
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, e->loc, "'%s' is an outdated form of interpolation", text),
        "write the name of the group: ${GROUP}");
  gr_resolver r = {.arena = d->arena, .root = known};
  gr_status s = gr_interp_value(&r, holder, &value);
  if (s || value->kind != GR_CONF_TEXT) {
    gr_status_drop(s);
    return cannot_resolve(e, text, known);
  }
  if (e->is_group)
    e->value = value->text;
  else
    e->path = value->text;
  return GR_OK;
}

// ---- Errors ----------------------------------------------------------------------

static gr_status chain(gr_defaults *d, gr_status s, const gr_default_node *node) {
  const gr_default_node *up = node->up;
  for (int i = 0; up && up->item && !up->item->primary && i < 8; up = up->up, i++)
    s = gr_note(s, up->item->loc, "included from '%s'", gr_entry_path(d->arena, up->item));
  return s;
}

// "a, b, c", cut after about 300 characters.
static const char *names_of(gr_arena *a, const char *const *names, int n) {
  gr_text t = gr_text_make(a);
  for (int i = 0; i < n && t.len < 300; i++) gr_text_printf(&t, "%s%s", i ? ", " : "", names[i]);
  return t.chars;
}

static gr_status list_options(gr_arena *a, gr_status s, const char *group,
                              const char *const *options, int n) {
  if (!n) return gr_hint(s, "the group '%s' has no options", group);
  return gr_hint(s, "the options of '%s' are: %s", group, names_of(a, options, n));
}

gr_status gr_choices_missing(gr_defaults *d, const gr_default_node *node) {
  const gr_default *e = node->item;
  if (!e->is_group)
    return gr_fail(GR_ERR_CONFIG, e->loc, "'%s' cannot be '??\?': name a file",
                   gr_entry_path(d->arena, e));
  const char **options, *group = gr_entry_group(d->arena, e), *key = gr_entry_key(d->arena, e);
  int n = gr_sources_options(d->sources, group, false, &options);
  gr_status s = gr_fail(GR_ERR_CONFIG, e->loc, "you must specify '%s', e.g. %s=%s", key, key,
                        n ? options[0] : "OPTION");
  return list_options(d->arena, chain(d, s, node), group, options, n);
}

// A file of that name with another extension; NULL: none.
static const char *other_ending(const gr_defaults *d, const char *path) {
  static const char *const ends[] = {"", ".yml", ".json"};
  for (int i = 0; i < d->sources->n_dirs; i++)
    for (size_t k = 0; *d->sources->dirs[i] && k < sizeof ends / sizeof *ends; k++) {
      const char *file = gr_arena_printf(d->arena, "%s/%s%s", d->sources->dirs[i], path, ends[k]);
      if (gr_is_file(file)) return file;
    }
  return NULL;
}

static gr_status no_primary(gr_defaults *d, const gr_default *e) {
  const char **options, *other = other_ending(d, e->path);
  gr_status s = gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "cannot find primary config '%s' in '%s'",
                        e->path, d->sources->n_dirs > 1 ? d->sources->dirs[1] : ".");
  if (other) return gr_hint(s, "rename '%s': only .yaml files are read", other);
  int n = gr_sources_options(d->sources, "", false, &options);
  const char *like = gr_text_nearest(e->path, options, n);
  if (like) return gr_hint(s, "did you mean '%s'?", like);
  return n ? gr_hint(s, "it has: %s", names_of(d->arena, options, n))
           : gr_hint(s, "it has no .yaml files");
}

// Adds a hint with the folders that were searched and how to add others.
static gr_status hint_folders(const gr_defaults *d, gr_status s) {
  gr_text t = gr_text_make(d->arena);
  for (int i = 0; i < d->sources->n_dirs; i++)
    if (*d->sources->dirs[i])
      gr_text_printf(&t, "%s'%s'", t.len ? " and " : "", d->sources->dirs[i]);
  return gr_hint(s,
                 "searched: %s; add other folders with 'hydra: {searchpath: [file://FOLDER]}' or "
                 "--config-dir=FOLDER",
                 t.len ? t.chars : "no folder");
}

gr_status gr_choices_not_found(gr_defaults *d, const gr_default_node *node) {
  const gr_default *e = node->item;
  const char **options, *path = gr_entry_path(d->arena, e), *slash = strrchr(path, '/');
  if (e->primary) return no_primary(d, e);
  const char *group = slash ? gr_arena_strndup(d->arena, path, (size_t)(slash - path)) : "";
  const char *other = other_ending(d, path);
  int n = gr_sources_options(d->sources, group, false, &options);
  gr_status s = gr_fail(GR_ERR_CONFIG, e->value_loc, "there is no configuration '%s'", path);
  const char *like = gr_text_nearest(slash ? slash + 1 : path, options, n);
  if (other) s = gr_hint(s, "rename '%s': only .yaml files are read", other);
  if (like) s = gr_hint(s, "did you mean '%s'?", like);
  if (!n && *group && !gr_sources_group(d->sources, group)) {
    const char **groups;
    int n_groups = gr_sources_groups(d->sources, &groups);
    like = gr_text_nearest(group, groups, n_groups);
    if (like) s = gr_hint(s, "did you mean the group '%s'?", like);
  }
  if (!like && !other) s = hint_folders(d, s);
  s = chain(d, s, node);
  return *group ? list_options(d->arena, s, group, options, n) : s;
}

static const char *like_key(const gr_defaults *d, const char *key) {
  const char *names[MAX_NAMES];
  int n = 0;
  for (int i = 0; i < d->known.n && n < MAX_NAMES; i++) names[n++] = d->known.items[i].key;
  return gr_text_nearest(key, names, n);
}

// The absolute group of the same name, which is not below the file's own folder.
static const char *from_root(const gr_defaults *d, const char *key) {
  for (int i = 0; i < d->known.n; i++) {
    size_t n = strlen(d->known.items[i].group);
    for (const char *s = strchr(key, '/'); s; s = strchr(s + 1, '/'))
      if (!strncmp(s + 1, d->known.items[i].group, n) && (!s[1 + n] || s[1 + n] == '@'))
        return d->known.items[i].key;
  }
  return NULL;
}

static gr_status unused_override(const gr_defaults *d, const gr_choice *c) {
  gr_status s = c->parent ? gr_fail(GR_ERR_CONFIG, c->loc, "in '%s': could not override '%s'",
                                    c->parent, c->key)
                          : gr_fail(GR_ERR_CONFIG, c->loc, "could not override '%s'", c->key);
  size_t group = strcspn(c->key, "@");
  const char *like = NULL;
  for (int i = 0; i < d->known.n; i++) {
    const char *other = d->known.items[i].group;
    if (strlen(other) != group || strncmp(other, c->key, group)) continue;
    like = d->known.items[i].key;
    if (strcmp(like, c->key))
      s = gr_hint(s, "did you mean to override '%s'?", like);
    else
      s = gr_hint(s, "'%s' is chosen after the defaults list with this override: move one of them",
                  like);
  }
  if (!like && c->parent && (like = from_root(d, c->key)))
    return gr_hint(
        s,
        "did you mean 'override /%s: ...'? Without '/' a group is relative to the folder of the "
        "file",
        like);
  if (!like && (like = like_key(d, c->key))) s = gr_hint(s, "did you mean '%s'?", like);
  if (!like) s = gr_hint(s, "no defaults list has that group");
  if (c->parent)
    return gr_hint(s, "to override a group of another folder write 'override /GROUP: OPTION'");
  return gr_hint(s, "to add it to the defaults list write +%s", c->line->line);
}

gr_status gr_choices_all_used(const gr_defaults *d) {
  gr_status all = GR_OK;
  for (int i = 0; i < d->overrides.n; i++)
    if (!d->overrides.items[i].used) all = gr_also(all, unused_override(d, &d->overrides.items[i]));
  for (int i = 0; i < d->deletions.n; i++) {
    const gr_choice *c = &d->deletions.items[i];
    if (c->used) continue;
    gr_status s =
        gr_fail(GR_ERR_CONFIG, c->loc, "could not delete '%s'%s%s: no defaults list has it", c->key,
                c->value ? " with option " : "", c->value ? c->value->text : "");
    const char *like = like_key(d, c->key);
    all = gr_also(all, like && strcmp(like, c->key) ? gr_hint(s, "did you mean '%s'?", like) : s);
  }
  return all;
}
