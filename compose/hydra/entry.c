// entry.c - parses an entry of a defaults list, and computes its path and package. See defaults.h.
#include <string.h>
#include "compose/hydra/defaults.h"

// "group@package:rename": the package is between '@' and ':'.
static const char *split_package(gr_arena *a, const char *text, const char **package) {
  const char *sign = strchr(text, '@');
  *package = NULL;
  if (!sign) return text;
  *package = gr_arena_strndup(a, sign + 1, strcspn(sign + 1, ":"));
  if (!strcmp(*package, "_here_")) *package = "";
  return gr_arena_strndup(a, text, (size_t)(sign - text));
}

// Reads the keywords before the group. An unknown one ends them, as in Hydra, but with a warning.
static void read_keywords(gr_default *d, const char *words, gr_loc loc) {
  static const char *const known[] = {"optional", "override"};
  const char *last = strrchr(words, ' ');
  d->path = last ? last + 1 : words;
  while (words < d->path) {
    size_t n = strcspn(words, " ");
    char word[32];
    snprintf(word, sizeof word, "%.*s", (int)n, words);
    if (!strcmp(word, "optional"))
      d->optional = true;
    else if (!strcmp(word, "override"))
      d->override = true;
    else {
      const char *like = gr_text_nearest(word, known, 2);
      gr_log(GR_WARN, "%s:%d:%d: the word '%s' before the group is ignored%s%s%s", loc.file,
             loc.line, loc.col, word, like ? ": did you mean '" : "", like ? like : "",
             like ? "'?" : "");
      return;
    }
    words += n + 1;
  }
}

static gr_status read_options(gr_arena *a, const gr_conf *list, gr_default *d) {
  d->options = GR_NEW(a, const char *, list->n + 1);
  for (int i = 0; i < list->n; i++) {
    if (!gr_conf_has_text(list->items[i]))
      return gr_hint(gr_fail(GR_ERR_CONFIG, list->items[i]->loc,
                             "the options of a group must be strings, but this is %s",
                             gr_conf_a_kind(list->items[i]->kind)),
                     "quote it if it is a name");
    d->options[d->n_options++] = list->items[i]->text;
  }
  return GR_OK;
}

static gr_status read_group(gr_arena *a, const gr_config *c, const gr_conf *item, gr_default *d) {
  if (item->n != 1)
    return gr_hint(gr_fail(GR_ERR_CONFIG, item->loc, "in '%s': %s", c->path,
                           item->n ? "an entry of a defaults list has more than one key"
                                   : "an entry of a defaults list has no group name"),
                   "write each group as its own '- group: option'");
  const gr_conf *value = item->items[0];
  d->value_loc = value->loc;
  d->is_group = true, d->loc = value->key_loc;
  if (value->key_kind)
    return gr_fail(GR_ERR_CONFIG, value->key_loc, "the name of a group must be a string");
  read_keywords(d, split_package(a, item->keys[0], &d->package), value->key_loc);
  if (!*d->path) return gr_fail(GR_ERR_CONFIG, value->key_loc, "the name of the group is missing");
  if (value->kind == GR_CONF_NULL) return GR_OK;
  if (value->kind == GR_CONF_LIST) return read_options(a, value, d);
  if (!gr_conf_has_text(value))
    return gr_hint(gr_fail(GR_ERR_CONFIG, value->loc,
                           "the option of a group must be a string or a list, but this is %s",
                           gr_conf_a_kind(value->kind)),
                   "quote it if it is a name: '%s: \"...\"'", d->path);
  d->value = value->text;
  if (strcmp(d->value, "_self_")) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, value->loc, "_self_ is not an option of '%s'", d->path),
                 "write '- _self_' as an entry of its own: where this file's values go");
}

gr_status gr_entry_read(gr_arena *a, const gr_config *c, const gr_conf *item, gr_default *d) {
  *d = (gr_default){.loc = item->loc, .value_loc = item->loc};
  if (item->kind == GR_CONF_MAP) return read_group(a, c, item, d);
  if (!gr_conf_has_text(item))
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, item->loc,
                "an entry of a defaults list must be 'name' or 'group: option', but this is %s",
                gr_conf_a_kind(item->kind)),
        "quote it if it is a name");
  d->path = split_package(a, item->text, &d->package);
  d->is_self = !strcmp(d->path, "_self_");
  if (d->is_self && d->package)
    return gr_hint(gr_fail(GR_ERR_CONFIG, item->loc, "_self_ cannot have a package"),
                   "write '# @package %s' at the top of the file", d->package);
  return GR_OK;
}

// ---- Paths -----------------------------------------------------------------------

static const char *under(gr_arena *a, const char *base, const char *path) {
  if (*path == '/') return path + 1;
  if (!*base) return path;
  return *path ? gr_arena_printf(a, "%s/%s", base, path) : base;
}

// The part before the last '/', or "".
static const char *folder(gr_arena *a, const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? gr_arena_strndup(a, path, (size_t)(slash - path)) : "";
}

const char *gr_entry_group(gr_arena *a, const gr_default *d) {
  if (d->is_group) return under(a, d->base, d->path);
  if (*d->path == '/') return folder(a, d->path + 1);
  return under(a, d->base, folder(a, d->path));
}

const char *gr_entry_path(gr_arena *a, const gr_default *d) {
  if (!d->is_group) return under(a, d->base, d->path);
  return gr_arena_printf(a, "%s/%s", gr_entry_group(a, d), d->value ? d->value : "null");
}

static const char *dotted(gr_arena *a, const char *path) {
  char *s = gr_arena_strdup(a, path);
  for (char *c = s; *c; c++)
    if (*c == '/') *c = '.';
  return s;
}

static const char *relative_package(gr_arena *a, const gr_default *d) {
  const char *path = *d->path == '/' ? d->path + 1 : d->path;
  return dotted(a, d->is_group ? path : folder(a, path));
}

const char *gr_entry_package(gr_arena *a, const gr_default *d, bool with_header) {
  static const char global[] = "_global_";
  const char *package_name = d->package ? d->package : with_header ? d->header : NULL;
  if (!package_name) package_name = relative_package(a, d);
  const char *full = !*d->parent_package ? package_name
                     : !*package_name
                         ? d->parent_package
                         : gr_arena_printf(a, "%s.%s", d->parent_package, package_name);
  const char *last = NULL;
  for (const char *s = strstr(full, global); s; s = strstr(s + 1, global)) last = s;
  if (!last) return full;
  last += strlen(global);
  return *last ? last + 1 : last;
}

const char *gr_entry_key(gr_arena *a, const gr_default *d) {
  const char *group = gr_entry_group(a, d), *package = gr_entry_package(a, d, false);
  if (!strcmp(dotted(a, group), package)) return group;
  return gr_arena_printf(a, "%s@%s", group, *package ? package : "_global_");
}

// Replaces "_group_" in a package by the group's own package.
static const char *replace_group(gr_arena *a, const gr_default *d) {
  static const char word[] = "_group_";
  const char *group = dotted(a, gr_entry_group(a, d));
  gr_text t = gr_text_make(a);
  gr_text_put(&t, "_global_.");
  for (const char *s = d->package; *s;) {
    bool hit = !strncmp(s, word, strlen(word));
    if (hit)
      gr_text_put(&t, group);
    else
      gr_text_putn(&t, s, 1);
    s += hit ? strlen(word) : 1;
  }
  return t.chars;
}

void gr_entry_place(gr_arena *a, gr_default *d, const char *base, const char *parent_package) {
  d->base = base, d->parent_package = parent_package;
  if (d->package && strstr(d->package, "_group_")) d->package = replace_group(a, d);
}

bool gr_entry_missing(gr_arena *a, const gr_default *d) {
  if (d->is_group) return d->value && !strcmp(d->value, "???");
  const char *path = gr_entry_path(a, d), *slash = strrchr(path, '/');
  return !strcmp(slash ? slash + 1 : path, "???");
}

bool gr_entry_interpolated(gr_arena *a, const gr_default *d) {
  if (d->is_group) return d->value && strstr(d->value, "${");
  return strstr(gr_entry_path(a, d), "${") != NULL;
}
