// yaml.c - builds a tree from libyaml's events (YAML 1.1).
//
// Files are not trusted: size, nesting, aliases and the nodes that aliases expand to are limited,
// because libyaml 0.2.5 is quadratic in flow nesting and aliases can expand exponentially.
//
// All errors are reported at once: an invalid value is left out, and after a syntax error reading
// continues at the next key at the beginning of a line.
#include <string.h>
#include <yaml.h>
#include "compose/tree/conf.h"
#include "compose/tree/scalar.h"
#include "compose/tree/yaml_advice.h"

enum { MAX_BYTES = 1 << 20, MAX_DEPTH = 64, MAX_NODES = 100000, MAX_ALIASES = 256, MAX_PARTS = 20 };

typedef struct anchor {
  const char *name;
  gr_conf *value;
  bool open;  // its value is still being read
  struct anchor *next;
} anchor;

typedef struct reader {
  gr_arena *arena;
  const char *file, *text;
  size_t line;  // line at which this part of the file begins, from 0
  yaml_parser_t parser;
  yaml_event_t event;
  anchor *anchors;  // newest first
  int depth, nodes, aliases;
  gr_status errors;  // errors so far after which reading could continue
} reader;

static gr_loc place(const reader *r, yaml_mark_t mark) {
  return (gr_loc){r->file, (int)(r->line + mark.line) + 1, (int)mark.column + 1};
}

static gr_loc here(const reader *r) { return place(r, r->event.start_mark); }

// Records an error, and marks the value as missing.
static void record_error(reader *r, gr_conf *c, gr_status s) {
  r->errors = gr_also(r->errors, s);
  if (s) gr_conf_set_text(c, "??\?");
}

// ---- Syntax errors ---------------------------------------------------------------

static const char *line_at(const reader *r, yaml_mark_t mark) {
  const char *s = gr_yaml_skip(r->text, r->line + mark.line);
  return gr_arena_strndup(r->arena, s, strcspn(s, "\r\n"));
}

static gr_status syntax_error(const reader *r) {
  const yaml_parser_t *p = &r->parser;
  const char *problem = p->problem ? p->problem : "this is not YAML";
  const char *context = p->context ? p->context : "";
  if (p->error == YAML_READER_ERROR)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, gr_yaml_place(r->file, r->text, r->line, p->problem_offset), "%s",
                problem),
        "write the file in UTF-8, without control characters");
  bool at_end = !*gr_yaml_skip(r->text, r->line + p->problem_mark.line);
  const char *begun = gr_yaml_unfinished(problem, context, at_end);
  gr_status s = begun ? gr_fail(GR_ERR_CONFIG, place(r, p->context_mark), "%s", begun)
                      : gr_fail(GR_ERR_CONFIG, place(r, p->problem_mark), "%s", problem);
  if (*context && !begun) s = gr_note(s, place(r, p->context_mark), "%s", context);
  const char *advice =
      gr_yaml_advice(problem, context, line_at(r, p->problem_mark), line_at(r, p->context_mark));
  return advice ? gr_hint(s, "%s", advice) : s;
}

static gr_status next(reader *r) {
  yaml_event_delete(&r->event);
  if (!yaml_parser_parse(&r->parser, &r->event)) return syntax_error(r);
  return GR_OK;
}

static gr_status count_nodes(reader *r, int more, gr_loc loc) {
  r->nodes += more;
  if (r->nodes <= MAX_NODES) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, loc,
              "the file has more than %d values (aliases counted where they are used)", MAX_NODES),
      "data of that size belongs in a file of its own: give its path here");
}

static const anchor *find_anchor(const reader *r, const char *name) {
  const anchor *n = r->anchors;
  while (n && strcmp(n->name, name)) n = n->next;
  return n;
}

// An anchor that is defined twice is an error; YAML would let the later one hide the first.
static anchor *add_anchor(reader *r, const yaml_char_t *name) {
  if (!name) return NULL;
  anchor *n = GR_NEW(r->arena, anchor, 1);
  *n = (anchor){gr_arena_strdup(r->arena, (const char *)name), NULL, true, r->anchors};
  if (find_anchor(r, n->name))
    r->errors = gr_also(r->errors, gr_hint(gr_fail(GR_ERR_CONFIG, here(r),
                                                   "the anchor '&%s' is defined twice", n->name),
                                           "rename one of them"));
  return r->anchors = n;
}

// After a syntax error the anchor may have been in the part that was skipped.
static gr_status bad_alias(const reader *r, const char *name, bool open, gr_loc loc) {
  if (open)
    return gr_hint(gr_fail(GR_ERR_CONFIG, loc,
                           "the alias '*%s' is inside its own anchor, which is endless", name),
                   "put the anchor '&%s' on a value that does not contain this alias", name);
  if (r->line) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "there is no anchor '&%s' before this", name),
                 "write '&%s' before a value, or quote a string that starts with '*'", name);
}

static gr_status read_alias(reader *r, gr_conf **out) {
  const char *name = (const char *)r->event.data.alias.anchor;
  gr_loc loc = here(r);
  const anchor *n = find_anchor(r, name);
  if (!n || n->open) {
    *out = gr_conf_make(r->arena, GR_CONF_NULL, loc);
    record_error(r, *out, bad_alias(r, name, n != NULL, loc));
    return GR_OK;
  }
  if (n->value->items && ++r->aliases > MAX_ALIASES)
    return gr_fail(GR_ERR_CONFIG, loc, "more than %d aliases of mappings and lists", MAX_ALIASES);
  GR_TRY(count_nodes(r, gr_conf_size(n->value), loc));
  *out = gr_conf_copy(r->arena, n->value);
  return GR_OK;
}

// Types a scalar: by its tag; if it is plain, by its text; otherwise it is a string.
static gr_status type_scalar(const reader *r, gr_conf *c) {
  const char *text = gr_arena_strndup(r->arena, (const char *)r->event.data.scalar.value,
                                      r->event.data.scalar.length);
  const char *tag = (const char *)r->event.data.scalar.tag;
  if (strlen(text) != r->event.data.scalar.length)
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "a string cannot contain the character NUL"),
                   "remove the \\0");
  if (tag) return gr_scalar_tagged(r->arena, c, tag, text);
  bool plain = r->event.data.scalar.plain_implicit;
  gr_scalar_kind type = plain ? gr_scalar_resolve(text, true) : GR_SCALAR_TEXT;
  return gr_scalar_set(r->arena, c, type, text);
}

static gr_status read_node(reader *r, gr_conf **out);

// ---- Mappings ---------------------------------------------------------------------

typedef struct key {
  gr_conf value;
  bool merge;  // <<
  bool bad;    // an error was recorded; its value is read and left out
} key;

static gr_status read_plain_key(reader *r, key *k) {
  const char *raw = (const char *)r->event.data.scalar.value;
  bool plain = r->event.data.scalar.plain_implicit && !r->event.data.scalar.tag;
  k->merge = plain && !strcmp(raw, "<<");
  if (k->merge) return GR_OK;
  if (plain && !strcmp(raw, "=")) {
    k->value.kind = GR_CONF_TEXT, k->value.text = "=";
    return GR_OK;
  }
  return type_scalar(r, &k->value);
}

static gr_status check_key(const key *k, bool word) {
  if (!word)
    return gr_hint(gr_fail(GR_ERR_CONFIG, k->value.loc, "a key must be one word or number"),
                   "lists and mappings go after 'key:'; quote a string with brackets");
  if (!k->merge && k->value.kind == GR_CONF_NULL)
    return gr_hint(gr_fail(GR_ERR_CONFIG, k->value.loc, "a key cannot be null"),
                   "quote it: \"null\"");
  return GR_OK;
}

static gr_status read_key(reader *r, key *k) {
  *k = (key){.value = {.loc = here(r)}};
  gr_loc loc = here(r);
  gr_status s = GR_OK;
  bool word = r->event.type == YAML_SCALAR_EVENT;
  if (word) {
    s = read_plain_key(r, k);
  } else {
    gr_conf *other = NULL;
    bool alias = r->event.type == YAML_ALIAS_EVENT;
    GR_TRY(read_node(r, &other));
    word = alias && !other->items;
    k->value = *other, k->value.loc = loc;
  }
  if (!s) s = check_key(k, word);
  k->bad = s != NULL;
  r->errors = gr_also(r->errors, s);
  return GR_OK;
}

// Merges "<<": a mapping, or a list of mappings, of which the first has precedence.
static gr_status merge_in(reader *r, gr_conf *target, const gr_conf *source) {
  GR_TRY(count_nodes(r, gr_conf_size(source), source->loc));
  if (source->kind == GR_CONF_MAP) {
    gr_conf_put_all(r->arena, target, source);
    return GR_OK;
  }
  bool good = source->kind == GR_CONF_LIST;
  for (int i = source->n - 1; i >= 0 && good; i--) {
    good = source->items[i]->kind == GR_CONF_MAP;
    if (good) gr_conf_put_all(r->arena, target, source->items[i]);
  }
  bool left_out = source->kind == GR_CONF_MISSING && r->errors;
  if (good || left_out) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, source->loc,
                         "'<<' must be a mapping or a list of mappings, but this is %s",
                         gr_conf_a_kind(source->kind)),
                 "write '<<: *NAME', and '&NAME' before the mapping to merge");
}

static gr_status check_twice(const reader *r, const gr_conf *members, const key *k) {
  bool number = k->value.kind == GR_CONF_BOOL || k->value.kind == GR_CONF_INT ||
                k->value.kind == GR_CONF_FLOAT;
  int index = number || k->merge ? -1 : gr_conf_key_index(r->arena, members, &k->value);
  if (index < 0) return GR_OK;
  gr_status s =
      gr_fail(GR_ERR_CONFIG, k->value.loc, "the key '%s' is given twice", members->keys[index]);
  return gr_hint(gr_note(s, members->items[index]->key_loc, "it was first given here"),
                 "remove one of them");
}

// Merged members come first, in order, followed by the mapping's own, which have precedence.
static gr_status read_member(reader *r, gr_conf *members, gr_conf *map, bool *merged) {
  key k;
  gr_conf *value = NULL;
  GR_TRY(read_key(r, &k));
  gr_status twice = k.bad ? GR_OK : check_twice(r, members, &k);
  k.bad |= twice != NULL;
  r->errors = gr_also(r->errors, twice);
  GR_TRY(next(r));
  GR_TRY(read_node(r, &value));
  if (k.bad) return GR_OK;
  *merged |= k.merge;
  if (!k.merge)
    gr_conf_put_key(r->arena, members, &k.value, value);
  else
    r->errors = gr_also(r->errors, merge_in(r, map, value));
  return GR_OK;
}

static gr_status read_members(reader *r, gr_conf *members, gr_conf *map, bool *merged) {
  for (;;) {
    gr_status s = next(r);
    if (s && members->n)
      gr_conf_remove(members, members->n - 1);  // the member before a syntax error is suspect
    if (s) return s;
    if (r->event.type == YAML_MAPPING_END_EVENT) return GR_OK;
    GR_TRY(read_member(r, members, map, merged));
  }
}

// On an error, the members read so far are kept.
static gr_status read_map(reader *r, gr_conf *map) {
  gr_conf *members = gr_conf_make(r->arena, GR_CONF_MAP, map->loc);
  bool merged = false;
  gr_status s = read_members(r, members, map, &merged);
  if (merged)
    gr_conf_put_all(r->arena, map, members);
  else
    gr_conf_take(map, members);
  return s;
}

static gr_status read_list(reader *r, gr_conf *list) {
  for (;;) {
    gr_conf *value = NULL;
    GR_TRY(next(r));
    if (r->event.type == YAML_SEQUENCE_END_EVENT) return GR_OK;
    GR_TRY(read_node(r, &value));
    gr_conf_append(r->arena, list, value);
  }
}

static gr_status check_collection_tag(const gr_conf *c, const yaml_char_t *tag,
                                      const char *expected) {
  const char *text = (const char *)tag;
  bool good = !text || !strcmp(text, "!") || !strcmp(text, expected);
  return good ? GR_OK : gr_scalar_bad_tag(c, text);
}

static gr_status read_collection(reader *r, gr_conf_kind kind, gr_conf **out) {
  gr_conf *c = *out = gr_conf_make(r->arena, kind, here(r));
  if (++r->depth > MAX_DEPTH)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, c->loc, "mappings and lists are nested deeper than %d", MAX_DEPTH),
        "move inner parts to keys of their own");
  bool map = kind == GR_CONF_MAP;
  const yaml_char_t *tag = map ? r->event.data.mapping_start.tag : r->event.data.sequence_start.tag;
  gr_status bad = check_collection_tag(c, tag, map ? YAML_MAP_TAG : YAML_SEQ_TAG);
  r->errors = gr_also(r->errors, bad);
  GR_TRY(map ? read_map(r, c) : read_list(r, c));
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
  if (scalar) {
    *out = gr_conf_make(r->arena, GR_CONF_NULL, here(r));
    record_error(r, *out, type_scalar(r, *out));
  } else {
    GR_TRY(read_collection(r, map ? GR_CONF_MAP : GR_CONF_LIST, out));
  }
  if (n) n->value = *out, n->open = false;
  return GR_OK;
}

static gr_status read_stream(reader *r, gr_conf **out) {
  *out = gr_conf_make(r->arena, GR_CONF_NULL, (gr_loc){r->file, (int)r->line + 1, 1});
  GR_TRY(next(r));  // start of the stream
  GR_TRY(next(r));
  if (r->event.type == YAML_STREAM_END_EVENT) return GR_OK;
  GR_TRY(next(r));
  GR_TRY(read_node(r, out));
  GR_TRY(next(r));  // end of the document
  GR_TRY(next(r));
  if (r->event.type == YAML_STREAM_END_EVENT) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, here(r), "a second document starts here"),
                 "a file must be one document: remove the '---' between");
}

// Reads the text from line r->line on. *stopped: the line of a syntax error; -1: none.
static gr_status read_part(reader *r, const char *text, size_t len, gr_conf **out, long *stopped) {
  *stopped = -1;
  *out = gr_conf_make(r->arena, GR_CONF_NULL, (gr_loc){r->file, 1, 1});
  if (!yaml_parser_initialize(&r->parser))
    return gr_fail(GR_ERR_IO, GR_NOWHERE, "out of memory while reading '%s'", r->file);
  yaml_parser_set_input_string(&r->parser, (const unsigned char *)text, len);
  gr_status s = read_stream(r, out);
  const yaml_parser_t *p = &r->parser;
  bool at_end = s && !*gr_yaml_skip(text, p->problem_mark.line);
  if (s && p->error != YAML_NO_ERROR && p->error != YAML_READER_ERROR)
    *stopped = (long)(r->line + (at_end ? p->context_mark.line + 1 : p->problem_mark.line));
  yaml_event_delete(&r->event);
  yaml_parser_delete(&r->parser);
  r->depth = 0;
  return s;
}

// After a syntax error: continues at keys that begin a line, to collect their errors and values.
static void read_rest(reader *r, gr_conf *root, long line, gr_loc error) {
  for (int i = 0; i < MAX_PARTS && line >= 0; i++) {
    gr_conf *part;
    const char *s = gr_yaml_skip(r->text, (size_t)line);
    for (; *s && !gr_yaml_starts_key(s); line++) s = gr_yaml_skip(s, 1);
    if (!*s) return;
    long before = line;
    r->line = (size_t)line;
    gr_status more = read_part(r, s, strlen(s), &part, &line);
    gr_loc loc = gr_status_loc(more);
    bool again = more && loc.line == error.line && loc.col == error.col;
    if (!again) r->errors = gr_also(r->errors, more);
    if (again) gr_status_drop(more);
    if (line == before) line++;
    error = loc;
    for (int k = 0; part->kind == GR_CONF_MAP && k < part->n; k++)
      if (gr_conf_index(root, part->keys[k]) < 0)
        gr_conf_put(r->arena, root, part->keys[k], part->items[k]);
  }
}

static gr_status parse(gr_arena *a, const char *file, const char *text, size_t len, gr_conf **out) {
  reader r = {.arena = a, .file = file, .text = text};
  long stopped;
  gr_status s = read_part(&r, text, len, out, &stopped);
  gr_loc loc = gr_status_loc(s);
  r.errors = gr_also(r.errors, s);
  if (stopped >= 0 && (*out)->kind == GR_CONF_MAP) read_rest(&r, *out, stopped, loc);
  return r.errors;
}

gr_status gr_conf_parse(gr_arena *a, const char *file, const char *text, gr_conf **out) {
  size_t len = strlen(text);
  *out = gr_conf_make(a, GR_CONF_MAP, (gr_loc){file, 1, 1});
  if (len > MAX_BYTES)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "'%s' is larger than %d bytes", file, MAX_BYTES);
  return parse(a, file, text, len, out);
}

gr_status gr_conf_read(gr_arena *a, const char *path, gr_conf **out) {
  char *text;
  size_t len;
  GR_TRY(gr_conf_load(a, path, MAX_BYTES, &text, &len));
  return parse(a, gr_arena_strdup(a, path), text, len, out);
}
