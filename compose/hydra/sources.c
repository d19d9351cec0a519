// sources.c - see sources.h. The first folder of the search path that has a file wins.
#include "compose/hydra/sources.h"
#include <stdlib.h>
#include <string.h>
#include "base/grow.h"
#include "base/sort.h"
#include "compose/hydra/builtin.h"

enum { MAX_BYTES = 1 << 20, HEADER_BYTES = 512, MAX_GROUP_DEPTH = 16 };

gr_sources gr_sources_make(gr_arena *a) {
  gr_sources s = {.arena = a, .known = gr_map_make(a)};
  gr_sources_add(&s, "");
  return s;
}

void gr_sources_add(gr_sources *s, const char *dir) {
  const char **dirs = GR_NEW(s->arena, const char *, s->n_dirs + 1);
  if (s->n_dirs) memcpy(dirs, s->dirs, sizeof *dirs * (size_t)s->n_dirs);
  dirs[s->n_dirs++] = dir;
  s->dirs = dirs;
}

static const char *join(gr_arena *a, const char *dir, const char *path) {
  return !strcmp(dir, ".") ? path : gr_arena_printf(a, "%s/%s", dir, path);
}

static const char *file_of(const gr_sources *s, const char *dir, const char *path) {
  const char *end = gr_ends_in(path, ".yaml") ? "" : ".yaml";
  return join(s->arena, dir, gr_arena_printf(s->arena, "%s%s", path, end));
}

// ---- Header ----------------------------------------------------------------------

static gr_status read_header_line(gr_sources *s, gr_config *c, const char *line, size_t len,
                                  int number) {
  char *words = gr_arena_strndup(s->arena, line, len), *save = NULL;
  gr_loc loc = {c->file, number, 1};
  const char *key = strtok_r(words, " ", &save), *value = strtok_r(NULL, " ", &save);
  if (!key || !value)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, loc, "a header must be '# @KEY VALUE', but the value is missing"),
        "write '# @package NAME'");
  if (strtok_r(NULL, " ", &save))
    return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "a header has too many words"),
                   "write '# @package NAME' alone on the line");
  if (!strcmp(key, "@package"))
    c->package = value;
  else if (!strncmp(key, "@package", 8))
    gr_log(GR_WARN, "%s:%d: the header '# %s' is ignored: write '# @package %s'", c->file, number,
           key, value);
  return GR_OK;
}

static void warn_late_header(const gr_config *c, const char *line, size_t len, int number) {
  const char *s = line + 1;
  while (s < line + len && (*s == ' ' || *s == '#')) s++;
  if (line[0] == '#' && !strncmp(s, "@package", 8))
    gr_log(GR_WARN, "%s:%d: this header is ignored: it must come before other comments", c->file,
           number);
}

// Reads "# @package x" in the first lines, up to the first that is neither blank nor a header.
static gr_status read_header(gr_sources *s, gr_config *c, const char *text) {
  bool open = true;
  const char *end = text + strnlen(text, HEADER_BYTES);
  for (int number = 1; text < end; number++) {
    size_t n = strcspn(text, "\n"), indent = strspn(text, " \t\r\v\f");
    if (text + n > end) n = (size_t)(end - text);
    size_t len = n;
    while (len > indent && strchr(" \t\r\v\f", text[len - 1])) len--;
    const char *word = text + indent;
    bool blank = indent >= len, header = *word == '#' && word[strspn(word, "# \t")] == '@' &&
                                         word[1 + strspn(word + 1, " \t")] == '@';
    if (!open) warn_late_header(c, word, blank ? 0 : len - indent, number);
    if (open && header) {
      size_t skip = strspn(word, "# \t");
      GR_TRY(read_header_line(s, c, word + skip, len - indent - skip, number));
    }
    open = open && (blank || header);
    if (!open && *word != '#') return GR_OK;
    text += n + (text[n] == '\n');
  }
  return GR_OK;
}

// ---- Loading ---------------------------------------------------------------------

static gr_status shape(gr_sources *s, gr_config *c) {
  gr_conf_kind kind = c->body->kind;
  gr_status word = GR_OK;
  if (kind == GR_CONF_NULL) c->body->kind = GR_CONF_MAP;
  if (gr_conf_has_text(c->body)) {
    word = gr_conf_from_text(s->arena, c->file, c->body->text, c->body->loc, &c->body);
  } else if (kind != GR_CONF_NULL && kind < GR_CONF_MAP) {
    word =
        gr_hint(gr_fail(GR_ERR_CONFIG, c->body->loc,
                        "a configuration must be a mapping, but this is %s", gr_conf_a_kind(kind)),
                "write one 'key: value' per line");
    c->body = gr_conf_make(s->arena, GR_CONF_MAP, c->body->loc);
  }
  if (word) return word;
  int index = gr_conf_index(c->body, "defaults");
  if (index < 0) return GR_OK;
  c->defaults = c->body->items[index];
  gr_conf_remove(c->body, index);
  const gr_conf *list = c->defaults;
  if (list->kind == GR_CONF_LIST) return GR_OK;
  c->defaults = NULL;
  return gr_hint(gr_fail(GR_ERR_CONFIG, list->loc,
                         "invalid defaults list in '%s': it must be a list, but is %s", c->path,
                         gr_conf_a_kind(list->kind)),
                 "write one '- group: option' per line");
}

// Returns all errors of a file; *out is what could be read.
static gr_status parse_config(gr_sources *s, const char *path, const char *file, const char *text,
                              gr_config **out) {
  gr_config *c = *out = GR_NEW(s->arena, gr_config, 1);
  c->path = path, c->file = file;
  gr_status all = read_header(s, c, text);
  bool lost = all != NULL;  // the header is wrong, so the package is not known
  all = gr_also(all, gr_conf_parse(s->arena, file, text, &c->body));
  all = gr_also(all, shape(s, c));
  if (lost) c->body = gr_conf_make(s->arena, GR_CONF_MAP, c->body->loc);
  return all;
}

static gr_status load_new(gr_sources *s, const char *path, gr_config **out) {
  *out = NULL;
  for (int i = 0; i < s->n_dirs; i++) {
    if (!*s->dirs[i]) {
      const char *text = gr_builtin_text(path);
      if (text)
        return parse_config(s, path, gr_arena_printf(s->arena, "built-in %s", path), text, out);
      continue;
    }
    const char *file = file_of(s, s->dirs[i], path);
    char *text = NULL;
    size_t len;
    if (!gr_is_file(file)) continue;
    gr_status unread = gr_conf_load(s->arena, file, MAX_BYTES, &text, &len);
    return gr_also(unread, parse_config(s, path, file, unread ? "" : text, out));
  }
  return GR_OK;
}

gr_status gr_sources_load(gr_sources *s, const char *path, gr_config **out) {
  uint32_t index;
  if (gr_map_find(&s->known, path, &index)) {
    *out = s->configs[index];
    return GR_OK;
  }
  path = gr_arena_strdup(s->arena, path);
  gr_status errors = load_new(s, path, out);
  GR_GROW(s->arena, s->configs, s->n_configs, s->cap);
  gr_map_put(&s->known, path, (uint32_t)s->n_configs);
  s->configs[s->n_configs++] = *out;
  return errors;
}

// ---- Listing ---------------------------------------------------------------------

bool gr_sources_group(const gr_sources *s, const char *group) {
  for (int i = 0; i < s->n_dirs; i++) {
    if (!*s->dirs[i] ? gr_builtin_group(group) : gr_is_dir(join(s->arena, s->dirs[i], group)))
      return true;
  }
  return false;
}

typedef struct names {
  gr_arena *arena;
  const char **items;
  int n, cap;
} names;

static void add_name(names *l, const char *name) {
  for (int i = 0; i < l->n; i++)
    if (!strcmp(l->items[i], name)) return;
  GR_GROW(l->arena, l->items, l->n, l->cap);
  l->items[l->n++] = gr_arena_strdup(l->arena, name);
}

static void add_entry(names *l, const char *dir, const char *name, bool groups) {
  if (*name == '.' || !strcmp(name, "__pycache__")) return;
  bool is_group = gr_is_dir(join(l->arena, dir, name));
  if (groups && is_group) add_name(l, name);
  if (!groups && !is_group && gr_ends_in(name, ".yaml"))
    add_name(l, gr_arena_strndup(l->arena, name, strlen(name) - strlen(".yaml")));
}

static void list_dir(names *l, const char *dir, bool groups) {
  int n;
  const char **found = gr_list_dir(l->arena, dir, &n);
  for (int i = 0; i < n; i++) add_entry(l, dir, found[i], groups);
}

static void list_builtin(names *l, const char *group, bool groups) {
  size_t n = strlen(group);
  for (int i = 0; gr_builtin_path(i); i++) {
    const char *path = gr_builtin_path(i);
    if (n && (strncmp(path, group, n) || path[n] != '/')) continue;
    const char *rest = path + n + (n > 0), *slash = strchr(rest, '/');
    if (groups && slash) add_name(l, gr_arena_strndup(l->arena, rest, (size_t)(slash - rest)));
    if (!groups && !slash) add_name(l, rest);
  }
}

int gr_sources_options(const gr_sources *s, const char *group, bool groups, const char ***out) {
  names l = {.arena = s->arena};
  for (int i = 0; i < s->n_dirs; i++) {
    if (!*s->dirs[i])
      list_builtin(&l, group, groups);
    else
      list_dir(&l, *group ? join(s->arena, s->dirs[i], group) : s->dirs[i], groups);
  }
  if (l.n) qsort(l.items, (size_t)l.n, sizeof *l.items, gr_order_texts);
  *out = l.items;
  return l.n;
}

static void walk_groups(const gr_sources *s, const char *group, int depth, names *l) {
  const char **inner;
  int n = depth > MAX_GROUP_DEPTH ? 0 : gr_sources_options(s, group, true, &inner);
  for (int i = 0; i < n; i++) {
    const char *path = *group ? gr_arena_printf(s->arena, "%s/%s", group, inner[i]) : inner[i];
    add_name(l, path);
    walk_groups(s, path, depth + 1, l);
  }
}

int gr_sources_groups(const gr_sources *s, const char ***out) {
  names l = {.arena = s->arena};
  walk_groups(s, "", 0, &l);
  if (l.n) qsort(l.items, (size_t)l.n, sizeof *l.items, gr_order_texts);
  *out = l.items;
  return l.n;
}
