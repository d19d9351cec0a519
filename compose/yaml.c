// yaml.c - YAML text to a tree, on libyaml's events (YAML 1.1).
//
// A file is not trusted: nesting, size, aliases and the nodes that aliases make are limited,
// because libyaml 0.2.5 is quadratic in flow nesting and aliases can grow without bound.
#include <string.h>
#include <yaml.h>
#include "compose/conf.h"
#include "compose/scalar.h"

enum { MAX_BYTES = 1 << 20, MAX_DEPTH = 64, MAX_NODES = 100000, MAX_ALIASES = 256 };

typedef struct anchor {
  const char *name;
  gr_conf *value;
  bool open;  // its value is still being read
  struct anchor *next;
} anchor;

typedef struct reader {
  gr_arena *arena;
  const char *file, *text;
  yaml_parser_t parser;
  yaml_event_t event;
  anchor *anchors;  // newest first: a name can be given again
  int depth, nodes, aliases;
} reader;

static gr_loc place(const reader *r, yaml_mark_t at) {
  return (gr_loc){r->file, (int)at.line + 1, (int)at.column + 1};
}

static gr_loc here(const reader *r) { return place(r, r->event.start_mark); }

// The commonest reasons, by what libyaml says.
static const char *line_at(const reader *r, size_t number) {
  const char *s = r->text;
  for (size_t i = 0; i < number && strchr(s, '\n'); i++) s = strchr(s, '\n') + 1;
  return gr_arena_strndup(r->arena, s, strcspn(s, "\r\n"));
}

// Something in [...] or {...}: what is on the line says what to quote.
static gr_status advise_flow(gr_status s, const reader *r) {
  const char *line = line_at(r, r->parser.problem_mark.line);
  const char *first = line_at(r, r->parser.context_mark.line);
  if (strstr(line, "${") || strstr(first, "${"))
    return gr_hint(s, "inside [...] and {...} an interpolation must be quoted: \"${...}\"");
  if (strstr(line, "???") || strstr(first, "???"))
    return gr_hint(s, "inside [...] and {...} it must be quoted: \"??\?\"");
  return gr_hint(
      s,
      "close the list or mapping that starts there; a text with ':', ',' or brackets in it "
      "must be quoted");
}

static gr_status advise(gr_status s, const reader *r) {
  const char *problem = r->parser.problem ? r->parser.problem : "";
  const char *context = r->parser.context ? r->parser.context : "";
  if (strstr(context, "flow")) return advise_flow(s, r);
  if (strstr(problem, "cannot start any token")) {
    const char *line = line_at(r, r->parser.problem_mark.line);
    bool tab = line[strspn(line, " ")] == '	';
    return gr_hint(s, tab ? "indent with spaces: this line starts with a tab"
                          : "quote a text that starts with '@', '`' or '%%'");
  }
  if (strstr(problem, "mapping values are not allowed"))
    return gr_hint(s, "quote a text that contains ': ', and check the indentation");
  if (strstr(problem, "could not find expected ':'") ||
      strstr(problem, "did not find expected key"))
    return gr_hint(s, "check the indentation, and that every key is followed by ': '");
  return s;
}

static gr_status syntax_error(const reader *r) {
  const yaml_parser_t *p = &r->parser;
  if (p->error == YAML_READER_ERROR)
    return gr_hint(gr_fail(GR_ERR_CONFIG, (gr_loc){r->file, 1, 1}, "%s at byte %zu", p->problem,
                           p->problem_offset),
                   "write the file in UTF-8, without control characters");
  gr_status s = gr_fail(GR_ERR_CONFIG, place(r, p->problem_mark), "%s",
                        p->problem ? p->problem : "this is not YAML");
  if (p->context) s = gr_note(s, place(r, p->context_mark), "%s", p->context);
  return advise(s, r);
}

static gr_status next(reader *r) {
  yaml_event_delete(&r->event);
  if (!yaml_parser_parse(&r->parser, &r->event)) return syntax_error(r);
  return GR_OK;
}

// The next event; false at the one that ends a collection.
static gr_status next_until(reader *r, yaml_event_type_t end, bool *more) {
  GR_TRY(next(r));
  *more = r->event.type != end;
  return GR_OK;
}

static gr_status count_nodes(reader *r, int more, gr_loc at) {
  r->nodes += more;
  if (r->nodes <= MAX_NODES) return GR_OK;
  return gr_fail(GR_ERR_CONFIG, at,
                 "the file has more than %d values (aliases counted where "
                 "they are used)",
                 MAX_NODES);
}

static int size_of(const gr_conf *c) {
  int n = 1;
  for (int i = 0; i < c->n && c->items; i++) n += size_of(c->items[i]);
  return n;
}

static anchor *add_anchor(reader *r, const yaml_char_t *name) {
  if (!name) return NULL;
  anchor *n = GR_NEW(r->arena, anchor, 1);
  *n = (anchor){gr_arena_strdup(r->arena, (const char *)name), NULL, true, r->anchors};
  return r->anchors = n;
}

static gr_status read_alias(reader *r, gr_conf **out) {
  const char *name = (const char *)r->event.data.alias.anchor;
  gr_loc at = here(r);
  const anchor *n = r->anchors;
  while (n && strcmp(n->name, name)) n = n->next;
  if (!n)
    return gr_hint(gr_fail(GR_ERR_CONFIG, at, "there is no anchor '&%s' before this", name),
                   "quote a text that starts with '*'");
  if (n->open)
    return gr_fail(GR_ERR_CONFIG, at,
                   "the alias '*%s' is inside its own anchor: it would never end", name);
  if (n->value->items && ++r->aliases > MAX_ALIASES)
    return gr_fail(GR_ERR_CONFIG, at, "more than %d aliases of mappings and lists", MAX_ALIASES);
  GR_TRY(count_nodes(r, size_of(n->value), at));
  *out = gr_conf_copy(r->arena, n->value);
  return GR_OK;
}

static gr_status bad_tag(const gr_conf *c, const char *tag) {
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, c->loc, "the tag '%s' means nothing here", tag),
      "known are !!str !!int !!float !!bool !!null !!map !!seq; quote a text that starts "
      "with '!'");
}

static gr_status tagged_number(reader *r, gr_conf *c, const char *kind, const char *text) {
  gr_scalar_kind found = gr_scalar_resolve(text, true);
  if (!strcmp(kind, "int") && found == GR_SCALAR_INT)
    return gr_scalar_set(r->arena, c, found, text);
  if (!strcmp(kind, "float") && (found == GR_SCALAR_INT || found == GR_SCALAR_FLOAT)) {
    GR_TRY(gr_scalar_set(r->arena, c, GR_SCALAR_FLOAT, text));
    return GR_OK;
  }
  if (!strcmp(kind, "bool") && found == GR_SCALAR_BOOL)
    return gr_scalar_set(r->arena, c, found, text);
  return gr_fail(GR_ERR_CONFIG, c->loc, "'%s' is tagged !!%s but is not one", text, kind);
}

static gr_status tagged_scalar(reader *r, gr_conf *c, const char *tag, const char *text) {
  static const char prefix[] = "tag:yaml.org,2002:";
  if (!strcmp(tag, "!")) return gr_scalar_set(r->arena, c, gr_scalar_resolve(text, true), text);
  const char *kind = tag + strlen(prefix);
  if (strncmp(tag, prefix, strlen(prefix))) return bad_tag(c, tag);
  if (!strcmp(kind, "str")) return gr_scalar_set(r->arena, c, GR_SCALAR_TEXT, text);
  if (!strcmp(kind, "null")) return gr_scalar_set(r->arena, c, GR_SCALAR_NULL, text);
  if (!strcmp(kind, "int") || !strcmp(kind, "float") || !strcmp(kind, "bool"))
    return tagged_number(r, c, kind, text);
  return bad_tag(c, tag);
}

// A scalar's type: by its tag, by its text when it is plain, or a text.
static gr_status type_scalar(reader *r, gr_conf *c, gr_scalar_kind *type) {
  const char *text = gr_arena_strndup(r->arena, (const char *)r->event.data.scalar.value,
                                      r->event.data.scalar.length);
  const char *tag = (const char *)r->event.data.scalar.tag;
  *type = GR_SCALAR_TEXT;
  if (strlen(text) != r->event.data.scalar.length)
    return gr_fail(GR_ERR_CONFIG, c->loc, "a text cannot hold the character NUL");
  if (tag) return tagged_scalar(r, c, tag, text);
  if (r->event.data.scalar.plain_implicit) *type = gr_scalar_resolve(text, true);
  return gr_scalar_set(r->arena, c, *type, text);
}

static gr_status read_node(reader *r, gr_conf **out);

static gr_status read_scalar(reader *r, gr_conf **out) {
  gr_scalar_kind type;
  *out = gr_conf_make(r->arena, GR_CONF_NULL, here(r));
  return type_scalar(r, *out, &type);
}

// ---- Mappings ---------------------------------------------------------------------

typedef struct key {
  gr_conf value;
  bool merge;  // <<
} key;

static gr_status read_plain_key(reader *r, key *k) {
  gr_scalar_kind type = GR_SCALAR_TEXT;
  const char *raw = (const char *)r->event.data.scalar.value;
  bool plain = r->event.data.scalar.plain_implicit && !r->event.data.scalar.tag;
  k->merge = plain && !strcmp(raw, "<<");
  if (k->merge) return GR_OK;
  if (plain && !strcmp(raw, "=")) {
    k->value.kind = GR_CONF_TEXT, k->value.text = "=";
    return GR_OK;
  }
  return type_scalar(r, &k->value, &type);
}

static gr_status read_key(reader *r, key *k) {
  *k = (key){.value = {.loc = here(r)}};
  gr_conf *other = NULL;
  if (r->event.type == YAML_SCALAR_EVENT)
    GR_TRY(read_plain_key(r, k));
  else if (r->event.type == YAML_ALIAS_EVENT)
    GR_TRY(read_alias(r, &other));
  if (other) k->value = *other, k->value.loc = here(r);
  if (r->event.type != YAML_SCALAR_EVENT && (!other || other->items))
    return gr_fail(GR_ERR_CONFIG, k->value.loc, "a key must be one word or number");
  if (!k->merge && k->value.kind == GR_CONF_NULL)
    return gr_hint(gr_fail(GR_ERR_CONFIG, k->value.loc, "a key cannot be null"),
                   "quote it: \"null\"");
  return GR_OK;
}

static void put_all(reader *r, gr_conf *to, const gr_conf *from) {
  for (int i = 0; i < from->n; i++) {
    gr_conf k = gr_conf_key(from, i);
    gr_conf_put_key(r->arena, to, &k, gr_conf_copy(r->arena, from->items[i]));
  }
}

// << : a mapping, or a list of mappings of which the first wins.
static gr_status merge_in(reader *r, gr_conf *to, const gr_conf *from) {
  GR_TRY(count_nodes(r, size_of(from), from->loc));
  if (from->kind == GR_CONF_MAP) {
    put_all(r, to, from);
    return GR_OK;
  }
  bool good = from->kind == GR_CONF_LIST;
  for (int i = from->n - 1; i >= 0 && good; i--) {
    good = from->items[i]->kind == GR_CONF_MAP;
    if (good) put_all(r, to, from->items[i]);
  }
  if (good) return GR_OK;
  return gr_fail(GR_ERR_CONFIG, from->loc,
                 "'<<' takes a mapping or a list of mappings, but this is %s",
                 gr_conf_a_kind(from->kind));
}

static gr_status check_twice(const reader *r, const gr_conf *own, const key *k) {
  bool number = k->value.kind == GR_CONF_BOOL || k->value.kind == GR_CONF_INT ||
                k->value.kind == GR_CONF_FLOAT;
  int at = number || k->merge ? -1 : gr_conf_key_index(r->arena, own, &k->value);
  if (at < 0) return GR_OK;
  gr_status s = gr_fail(GR_ERR_CONFIG, k->value.loc, "the key '%s' is here twice", own->keys[at]);
  return gr_hint(gr_note(s, own->items[at]->key_loc, "it was first given here"),
                 "keep one of the two");
}

// Merged members come first, in order; then the mapping's own, which win.
static gr_status read_member(reader *r, gr_conf *own, gr_conf *map, bool *merged) {
  key k;
  gr_conf *value = NULL;
  GR_TRY(read_key(r, &k));
  GR_TRY(check_twice(r, own, &k));
  GR_TRY(next(r));
  GR_TRY(read_node(r, &value));
  *merged |= k.merge;
  if (k.merge) return merge_in(r, map, value);
  gr_conf_put_key(r->arena, own, &k.value, value);
  return GR_OK;
}

static gr_status read_map(reader *r, gr_conf *map) {
  gr_conf *own = gr_conf_make(r->arena, GR_CONF_MAP, map->loc);
  bool merged = false, more;
  GR_TRY(next_until(r, YAML_MAPPING_END_EVENT, &more));
  while (more) {
    GR_TRY(read_member(r, own, map, &merged));
    GR_TRY(next_until(r, YAML_MAPPING_END_EVENT, &more));
  }
  if (merged)
    put_all(r, map, own);
  else
    gr_conf_take(map, own);
  return GR_OK;
}

static gr_status read_list(reader *r, gr_conf *list) {
  bool more;
  GR_TRY(next_until(r, YAML_SEQUENCE_END_EVENT, &more));
  while (more) {
    gr_conf *value = NULL;
    GR_TRY(read_node(r, &value));
    gr_conf_append(r->arena, list, value);
    GR_TRY(next_until(r, YAML_SEQUENCE_END_EVENT, &more));
  }
  return GR_OK;
}

static gr_status check_collection_tag(const reader *r, const gr_conf *c) {
  bool map = c->kind == GR_CONF_MAP;
  const char *tag =
      (const char *)(map ? r->event.data.mapping_start.tag : r->event.data.sequence_start.tag);
  if (!tag || !strcmp(tag, "!") || !strcmp(tag, map ? YAML_MAP_TAG : YAML_SEQ_TAG)) return GR_OK;
  return bad_tag(c, tag);
}

static gr_status read_collection(reader *r, gr_conf_kind kind, gr_conf **out) {
  gr_conf *c = *out = gr_conf_make(r->arena, kind, here(r));
  if (++r->depth > MAX_DEPTH)
    return gr_fail(GR_ERR_CONFIG, c->loc, "mappings and lists are nested deeper than %d",
                   MAX_DEPTH);
  GR_TRY(check_collection_tag(r, c));
  GR_TRY(kind == GR_CONF_MAP ? read_map(r, c) : read_list(r, c));
  r->depth--;
  return GR_OK;
}

// Reads the node that the current event starts.
static gr_status read_node(reader *r, gr_conf **out) {
  GR_TRY(count_nodes(r, 1, here(r)));
  yaml_event_type_t type = r->event.type;
  if (type == YAML_ALIAS_EVENT) return read_alias(r, out);
  bool scalar = type == YAML_SCALAR_EVENT, map = type == YAML_MAPPING_START_EVENT;
  anchor *n = add_anchor(r, scalar ? r->event.data.scalar.anchor
                            : map  ? r->event.data.mapping_start.anchor
                                   : r->event.data.sequence_start.anchor);
  if (scalar)
    GR_TRY(read_scalar(r, out));
  else
    GR_TRY(read_collection(r, map ? GR_CONF_MAP : GR_CONF_LIST, out));
  if (n) n->value = *out, n->open = false;
  return GR_OK;
}

static gr_status read_stream(reader *r, gr_conf **out) {
  *out = gr_conf_make(r->arena, GR_CONF_NULL, (gr_loc){r->file, 1, 1});
  GR_TRY(next(r));  // the stream's start
  GR_TRY(next(r));
  if (r->event.type == YAML_STREAM_END_EVENT) return GR_OK;
  GR_TRY(next(r));
  GR_TRY(read_node(r, out));
  GR_TRY(next(r));  // the document's end
  GR_TRY(next(r));
  if (r->event.type == YAML_STREAM_END_EVENT) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, here(r), "a second document starts here"),
                 "keep one document in a file, without '---' between");
}

static gr_status parse(gr_arena *a, const char *file, const char *text, size_t len, gr_conf **out) {
  reader r = {.arena = a, .file = file, .text = text};
  if (!yaml_parser_initialize(&r.parser))
    return gr_fail(GR_ERR_IO, GR_NOWHERE, "out of memory while reading '%s'", file);
  yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
  gr_status s = read_stream(&r, out);
  yaml_event_delete(&r.event);
  yaml_parser_delete(&r.parser);
  return s;
}

gr_status gr_conf_parse(gr_arena *a, const char *file, const char *text, gr_conf **out) {
  size_t len = strlen(text);
  if (len > MAX_BYTES)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "'%s' is larger than %d bytes", file, MAX_BYTES);
  return parse(a, file, text, len, out);
}

gr_status gr_conf_read(gr_arena *a, const char *path, gr_conf **out) {
  char *text;
  size_t len;
  gr_status s = gr_file_read(a, path, MAX_BYTES, &text, &len);
  if (s) {
    gr_status config = gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "%s", gr_status_text(s));
    gr_status_drop(s);
    return config;
  }
  return parse(a, gr_arena_strdup(a, path), text, len, out);
}
