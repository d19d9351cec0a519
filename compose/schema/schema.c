// schema.c - checking a configuration against the table of keys. See schema.h.
#include "compose/schema/schema.h"
#include <string.h>
#include "compose/override/override.h"
#include "compose/tree/scalar.h"

gr_schema_key gr_schema_keys[] = {
#define GR_KEY(path, type, default_value, unit, doc) {path, type, default_value, unit, doc},
#define GR_SETTING(part, kind, field, ...) GR_KEY(__VA_ARGS__)
#define GR_WORDS(part, field, path, default_value, unit, doc, ...) \
  GR_KEY(path, GR_WORDS_TEXT(__VA_ARGS__), default_value, unit, doc)
#define GR_WORDS_OR(part, field, path, type, default_value, unit, doc, ...) \
  GR_KEY(path, GR_WORDS_TEXT(__VA_ARGS__) " | " type, default_value, unit, doc)
#define GR_ALIAS(path, of, type) \
  {path, type " | null", "null", "", "another name of " of ", which it overrides", .alias_of = of},
#define GR_SHORT(path, of, type, doc) \
  {path, type, "", "", doc " (short for " of ")", .alias_of = of},
#include "compose/schema/schema.def"
};
enum { N_KEYS = sizeof gr_schema_keys / sizeof *gr_schema_keys, MAX_ERRORS = 20 };
const int gr_schema_count = N_KEYS;

static const char *const neutral[] = {
#define GR_NEUTRAL(...) __VA_ARGS__,
#include "compose/schema/schema.def"
};
static const char *const for_training[] = {
#define GR_FOR_TRAINING(...) __VA_ARGS__,
#include "compose/schema/schema.def"
};

// Every entry is a key, which may have keys of its own below it, or ends in a point and is a
// section.
static bool is_listed(const char *const *list, size_t entries, const char *path) {
  for (size_t i = 0; i < entries; i++) {
    size_t n = strlen(list[i]);
    bool section = list[i][n - 1] == '.';
    if (strncmp(path, list[i], n)) continue;
    if (section || !path[n] || path[n] == '.') return true;
  }
  return false;
}

#define IS_LISTED(list, path) is_listed(list, sizeof list / sizeof *list, path)
bool gr_schema_is_neutral(const char *path) { return IS_LISTED(neutral, path); }
bool gr_schema_is_for_training(const char *path) { return IS_LISTED(for_training, path); }

static gr_schema_key *find_key(const char *path) {
  for (int i = 0; i < N_KEYS; i++)
    if (!strcmp(gr_schema_keys[i].path, path)) return &gr_schema_keys[i];
  return NULL;
}

const gr_schema_key *gr_schema_find(const char *path) { return find_key(path); }

void gr_schema_set_words(const char *path, const char *const *words) {
  enum { KEYS = 4, ROOM = 1024 };
  static char texts[KEYS][ROOM];
  int index = 0;
  while (index < KEYS - 1 && *texts[index] && find_key(path)->type != texts[index]) index++;
  size_t n = 0;
  for (int i = 0; words[i] && n < ROOM; i++) {
    const char *quote = strcmp(words[i], "null") ? "" : "'";
    n += (size_t)snprintf(texts[index] + n, ROOM - n, "%s%s%s%s", i ? " | " : "", quote, words[i],
                          quote);
  }
  find_key(path)->type = texts[index];
}

const char *gr_schema_doc(const char *path) {
  const gr_schema_key *k = gr_schema_find(path);
  return k ? k->doc : NULL;
}

static bool below(const char *key, const char *section) {
  size_t n = strlen(section);
  return !n || (!strncmp(key, section, n) && key[n] == '.');
}

bool gr_schema_takes(const char *path) {
  for (int i = 0; i < N_KEYS; i++)
    if (!strcmp(gr_schema_keys[i].path, path) || below(gr_schema_keys[i].path, path) ||
        (!strcmp(gr_schema_keys[i].type, "any") && below(path, gr_schema_keys[i].path)))
      return true;
  return false;
}

bool gr_schema_section(const char *path) {
  for (int i = 0; i < N_KEYS; i++)
    if (below(gr_schema_keys[i].path, path)) return true;
  return false;
}

// ---- Errors ----------------------------------------------------------------------

// The names right below a section, each once, in the table's order.
static int names_in(gr_arena *a, const char *section, const char **out) {
  int n = 0;
  size_t skip = strlen(section) + (*section != 0);
  for (int i = 0; i < N_KEYS; i++) {
    if (!below(gr_schema_keys[i].path, section)) continue;
    const char *rest = gr_schema_keys[i].path + skip;
    const char *name = gr_arena_strndup(a, rest, strcspn(rest, "."));
    if (!n || strcmp(out[n - 1], name)) out[n++] = name;
  }
  return n;
}

// The key that has this name in other programs, or one of another section that ends in it.
static const char *elsewhere(const char *name) {
  const gr_foreign *f = gr_schema_foreign(name);
  if (f && *f->key) return f->key;
  for (int i = 0; i < N_KEYS; i++) {
    const char *last = strrchr(gr_schema_keys[i].path, '.');
    if (last && !strcmp(last + 1, name)) return gr_schema_keys[i].path;
  }
  return NULL;
}

static const char *last_part(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot ? dot + 1 : path;
}

// The key of a setting of other programs that has another name here; NULL: it is none.
static const char *renamed(const char *name) {
  const gr_foreign *f = gr_schema_foreign(name);
  return f && *f->key && strcmp(last_part(f->key), name) ? f->key : NULL;
}

const char *gr_schema_nearest(gr_arena *a, const char *path) {
  const char *names[2 * N_KEYS], *last = last_part(path);
  if (renamed(last)) return renamed(last);
  int n = names_in(a, "", names);
  for (int i = 0; i < N_KEYS; i++) names[n++] = gr_schema_keys[i].path;
  const char *like = gr_text_nearest(path, names, n);
  if (like && below(path, like)) like = NULL;  // its own section
  return like ? like : elsewhere(last);
}

static gr_status with_source(gr_status s, const gr_conf *c) {
  bool copied = c->key_loc.file && c->loc.file &&
                (strcmp(c->key_loc.file, c->loc.file) || c->key_loc.line != c->loc.line);
  return copied ? gr_note(s, c->loc, "the value comes from here") : s;
}

// A key that no file has written: the name of a group, where its file's values go.
static bool is_package(const gr_conf *c) {
  return c->kind == GR_CONF_MAP && c->loc.file && c->key_loc.file == c->loc.file &&
         c->key_loc.line == c->loc.line && c->key_loc.col == c->loc.col;
}

static gr_status unknown_key(gr_arena *a, const gr_conf *c, const char *section, const char *name) {
  const char *names[N_KEYS], *where = *section ? section : "the configuration";
  int n = names_in(a, section, names);
  gr_status s = gr_fail(GR_ERR_CONFIG, gr_conf_place(c), "unknown key '%s' in %s", name, where);
  const char *like = gr_text_nearest(name, names, n), *other = elsewhere(name);
  if (is_package(c))
    return gr_hint(
        s,
        "this file's values go to '%s%s%s', the name of its group: '# @package KEY' as its "
        "first line puts them elsewhere, '_global_' at the root",
        section, *section ? "." : "", name);
  if (c->key_kind == GR_CONF_INT)
    return gr_hint(
        s,
        "inside {...} a ',' ends a value: numbers are written without it, strings with it "
        "quoted");
  if (renamed(name) || (other && !below(other, section))) like = NULL;
  if (gr_schema_replacement(name)) return gr_hint(s, "%s", gr_schema_replacement(name));
  if (like) return gr_hint(s, "did you mean '%s%s%s'?", section, *section ? "." : "", like);
  if (other) return gr_hint(s, "did you mean '%s'?", other);
  return gr_hint(s, "`graphrun config --help` lists the keys; values of your own go under 'vars'");
}

static const char *nearest_word(const gr_schema_type *t, const char *text) {
  const char *words[32];
  int n = 0;
  for (; t && n < 32; t = t->next)
    if (t->kind == GR_SCHEMA_WORD) words[n++] = t->word;
  return gr_text_nearest(text, words, n);
}

// A value from the environment may be a secret: what refers to it is written instead.
static void write_found(gr_text *t, const gr_conf *c) {
  if (c->kind == GR_CONF_MAP || c->kind == GR_CONF_LIST) {
    gr_text_printf(t, "%s of %d", gr_conf_a_kind(c->kind), c->n);
    return;
  }
  bool hidden = c->from_env && c->raw;
  if (hidden)
    gr_text_printf(t, "the value of '%s'", c->raw);
  else
    gr_conf_json(t, c, 0);
  bool plain = c->kind == GR_CONF_TEXT || c->kind == GR_CONF_BOOL;
  if (plain || hidden) gr_text_printf(t, ", %s", gr_conf_a_kind(c->kind));
}

static bool has_blank(const gr_conf *list) {
  for (int i = 0; i < list->n; i++)
    if (list->items[i]->kind == GR_CONF_TEXT && strchr(list->items[i]->text, ' ')) return true;
  return false;
}

// An integer where integers may stand is only of another size.
static bool takes_kind(const gr_schema_type *t, const gr_conf *c) {
  for (; t; t = t->next)
    if (t->kind == GR_SCHEMA_INT && c->kind == GR_CONF_INT) return true;
  return false;
}

// A text in a file that reads as a number has some; on the command line .inf and 0x14 are texts.
static bool has_quotes(const gr_conf *c) { return c->quote || !gr_override_is_place(c->loc); }

// What to write instead.
static gr_status advise_value(gr_arena *a, gr_status s, const gr_schema_key *k,
                              const gr_schema_type *type, gr_conf *c) {
  const char *text = gr_conf_text_of(c, NULL);
  const char *like = text ? nearest_word(type, text) : NULL;
  gr_conf list = {.kind = GR_CONF_LIST, .n = 1, .items = (gr_conf *[]){c}};
  gr_conf whole = {.kind = GR_CONF_INT};
  if (c->raw && c->from_env) return gr_hint(s, "change what that refers to");
  if (c->raw) return gr_hint(s, "it is the value of '%s': change what that refers to", c->raw);
  if (like) return gr_hint(s, "did you mean '%s'?", like);
  if (text && gr_scalar_resolve(text, true) > GR_SCALAR_BOOL)
    return has_quotes(c) ? gr_hint(s, "take the quotes away")
                         : gr_hint(s, "numbers are written as 20, 1e-3 or inf on the command line");
  if (text && text[0] == '$')
    return gr_hint(s, "an environment variable is ${oc.env:NAME}, another key is ${key}");
  if (c->kind == GR_CONF_FLOAT && c->number >= -1e15 && c->number <= 1e15)
    whole.integer = (int64_t)c->number;
  if (c->kind == GR_CONF_FLOAT && (double)whole.integer == c->number &&
      gr_schema_type_fits(type, &whole))
    return gr_hint(s, "write %lld", (long long)whole.integer);
  bool of_list = c->up && c->up->kind == GR_CONF_LIST;
  if ((of_list && text && strchr(text, ' ')) || (c->kind == GR_CONF_LIST && has_blank(c)))
    return gr_hint(s, "put ',' between the elements: [a, b]");
  if (c->kind != GR_CONF_LIST && !takes_kind(type, c) && gr_schema_type_fits(type, &list)) {
    gr_text one = gr_text_make(a);
    gr_value_write(&one, c);
    return gr_hint(s, "put it in brackets: [%s]", one.chars);
  }
  return gr_hint(s, "%s: %s", k->path, k->doc);
}

// The first item of a list that has the wrong type; NULL: the list itself is wrong, as by its
// length.
static gr_conf *wrong_item(const gr_schema_type **type, gr_conf *list, int *index) {
  const gr_schema_type *t = *type;
  while (t && t->kind != GR_SCHEMA_LIST) t = t->next;
  if (!t || list->kind != GR_CONF_LIST || (t->length && t->length != list->n)) return NULL;
  for (*index = 0; *index < list->n; ++*index)
    if (!gr_schema_type_fits(t->item, list->items[*index])) {
      *type = t->item;
      return list->items[*index];
    }
  return NULL;
}

static gr_status wrong_value(gr_arena *a, const gr_schema_key *k, const gr_schema_type *type,
                             gr_conf *c) {
  int i;
  gr_conf *item = wrong_item(&type, c, &i);
  const char *path = item ? gr_arena_printf(a, "%s[%d]", k->path, i) : k->path;
  if (item) c = item;
  gr_text wanted = gr_text_make(a), found = gr_text_make(a);
  gr_schema_type_write(&wanted, type);
  write_found(&found, c);
  gr_loc loc = c->loc.file ? c->loc : c->key_loc;
  gr_status s =
      gr_fail(GR_ERR_CONFIG, loc, "'%s' must be %s, but is %s", path, wanted.chars, found.chars);
  return advise_value(a, s, k, type, c);
}

// Reports every ??? that is left below a node, unless an interpolation of it has been reported
// already.
static gr_status check_set(gr_arena *a, const gr_conf *c) {
  gr_status all = GR_OK;
  if (c->kind == GR_CONF_MISSING && c->read) return GR_OK;
  if (c->kind == GR_CONF_MISSING) {
    const char *path = gr_conf_path(a, c);
    const gr_schema_key *k = gr_schema_find(path);
    gr_status s = gr_fail(GR_ERR_CONFIG, c->loc, "'%s' must be set: it is '??\?'", path);
    return gr_hint(s, "set it here or with %s=VALUE%s%s", path, k ? "; " : "", k ? k->doc : "");
  }
  for (int i = 0; i < c->n && c->items; i++) all = gr_also(all, check_set(a, c->items[i]));
  return all;
}

// ---- Checking --------------------------------------------------------------------

// Whether an alias has the value of the key that it names, which is checked under that name.
static bool is_copy(gr_arena *a, const gr_schema_key *k, gr_conf *c) {
  gr_conf *root = c;
  while (root->up) root = root->up;
  gr_conf *other = k->alias_of ? gr_conf_find(root, k->alias_of) : NULL;
  return other && gr_conf_same(a, other, c);
}

gr_status gr_schema_check_value(gr_arena *a, const gr_schema_key *k, gr_conf *c) {
  if (c->kind == GR_CONF_INTERP || c->kind == GR_CONF_MISSING || is_copy(a, k, c)) return GR_OK;
  const gr_schema_type *type = gr_schema_type_read(a, k->type);
  return gr_schema_type_fits(type, c) ? GR_OK : with_source(wrong_value(a, k, type, c), c);
}

static gr_status check_map(gr_arena *a, gr_conf *map, const char *section);

static gr_status no_section(const gr_conf *c, const char *path) {
  if (!*path)  // an argument of "=" alone
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "there is no key before '='"),
                   "write KEY=VALUE, without spaces around '='");
  gr_status s = gr_fail(GR_ERR_CONFIG, c->loc, "'%s' must be a mapping, but is %s", path,
                        gr_conf_a_kind(c->kind));
  const char *text = gr_conf_text_of(c, "");
  if (c->kind == GR_CONF_NULL) return gr_hint(s, "indent its keys, on the lines below it");
  if (strchr(text, ':')) return gr_hint(s, "write 'key: value', with a blank after ':'");
  if (strchr(text, '=')) return gr_hint(s, "write 'key: value', with ':' and not '='");
  s = gr_hint(s, "its keys are listed by `graphrun config --help %s`", path);
  if (!*text || strpbrk(text, " ./\\") || strchr(path, '.')) return s;
  return gr_hint(s, "'defaults: [{%s: %s}]' takes %s/%s.yaml", path, text, path, text);
}

static gr_status check_member(gr_arena *a, gr_conf *map, int i, const char *section) {
  gr_conf *c = map->items[i];
  const char *path = gr_arena_printf(a, "%s%s%s", section, *section ? "." : "", map->keys[i]);
  const gr_schema_key *k = gr_schema_find(path);
  if (k) return gr_schema_check_value(a, k, c);
  if (!gr_schema_section(path)) return unknown_key(a, c, section, map->keys[i]);
  if (c->kind == GR_CONF_MAP) return check_map(a, c, path);
  return c->kind == GR_CONF_INTERP || c->kind == GR_CONF_MISSING ? GR_OK : no_section(c, path);
}

static gr_status check_map(gr_arena *a, gr_conf *map, const char *section) {
  gr_status all = GR_OK;
  for (int i = 0; i < map->n && gr_status_count(all) < MAX_ERRORS; i++)
    all = gr_also(all, check_member(a, map, i, section));
  return all;
}

gr_status gr_schema_default(gr_arena *a, const gr_schema_key *k, gr_conf **out) {
  static const char file[] = "the default";
  *out = NULL;
  if (!*k->default_value || !strcmp(k->default_value, "???")) return GR_OK;
  *out = gr_conf_make(a, GR_CONF_NULL, (gr_loc){file, 0, 0});
  if (strchr("[{\"'", *k->default_value))
    GR_TRY(gr_conf_parse(a, file, k->default_value, out));
  else
    GR_TRY(gr_scalar_set(a, *out, gr_scalar_resolve(k->default_value, true), k->default_value));
  (*out)->loc = (gr_loc){0};
  return GR_OK;
}

static void mark_preset(gr_conf *c) {
  c->is_default = true, c->loc = c->key_loc = GR_NOWHERE;
  for (int i = 0; i < c->n && c->items; i++) mark_preset(c->items[i]);
}

static gr_status not_given(const gr_conf *job, const gr_schema_key *k) {
  return gr_hint(gr_fail(GR_ERR_CONFIG, job->loc, "'%s' is not given", k->path),
                 "%s; set it in the file or with %s=VALUE", k->doc, k->path);
}

// Adds a key that is not there, and the maps on its way.
static gr_status fill(gr_arena *a, gr_conf *job, const gr_schema_key *k) {
  gr_conf *map = job;
  const char *s = k->path;
  for (size_t n = strcspn(s, "."); s[n]; s += n + 1, n = strcspn(s, ".")) {
    const char *name = gr_arena_strndup(a, s, n);
    int index = gr_conf_index(map, name);
    if (index < 0) {
      if (!*k->default_value) return GR_OK;
      gr_conf *inner = gr_conf_make(a, GR_CONF_MAP, GR_NOWHERE);
      inner->is_default = true;
      gr_conf_add(a, map, name, inner);
      index = map->n - 1;
    }
    map = map->items[index];
    if (map->kind != GR_CONF_MAP) return GR_OK;
  }
  if (gr_conf_index(map, s) >= 0 || !*k->default_value) return GR_OK;
  if (!strcmp(k->default_value, "???")) return not_given(job, k);
  gr_conf *value = NULL;
  GR_TRY(gr_schema_default(a, k, &value));
  mark_preset(value);
  gr_conf_add(a, map, s, value);
  return GR_OK;
}

gr_status gr_schema_check(gr_arena *a, gr_conf *job, bool whole) {
  if (job->kind != GR_CONF_MAP)
    return gr_fail(GR_ERR_CONFIG, job->loc, "a configuration is a mapping, but this is %s",
                   gr_conf_a_kind(job->kind));
  gr_status all = check_map(a, job, "");
  if (!whole) return all;
  all = gr_also(all, check_set(a, job));
  for (int i = 0; i < N_KEYS; i++) all = gr_also(all, fill(a, job, &gr_schema_keys[i]));
  gr_schema_rename(job);
  return all;
}
