// value.c - parses the value of an override: words, lists, mappings, functions, sweeps.
//
// The text is split into tokens, always the longest that matches, and parsed by recursive descent.
// Every token has its location, for error messages with a caret.
#include <string.h>
#include "base/grow.h"
#include "compose/override/override.h"
#include "compose/tree/lexis.h"

enum { MAX_NESTING = 64 };

typedef enum token_kind {
  T_END,
  T_BAD,
  T_QUOTED,
  T_WORD,    // a name, number, bool or null: typed when it stands alone
  T_CHAR,    // one of the characters that need no quotes
  T_ESCAPE,  // an escape such as "\,"
  T_SPACE,
  T_INTERP,  // ${...}
  T_COLON,
  T_EQUAL,
  T_COMMA,
  T_OPEN,  // (
  T_CLOSE,
  T_LIST,  // [
  T_LIST_END,
  T_MAP,  // {
  T_MAP_END,
} token_kind;

typedef struct token {
  token_kind kind;
  const char *start;
  size_t len;
} token;

typedef struct parser {
  gr_arena *arena;
  const char *text;
  gr_loc start;
  token now, next;
  int depth;
} parser;

// ---- Tokens ----------------------------------------------------------------------

// The length of a quoted string, which ends at the first quote after an even number of backslashes.
static size_t quoted(const char *s) {
  size_t slashes = 0;
  for (size_t i = 1; s[i]; i++) {
    if (s[i] == *s && slashes % 2 == 0) return i + 1;
    slashes = s[i] == '\\' ? slashes + 1 : 0;
  }
  return 0;
}

static size_t interpolation(const char *s) {
  if (s[0] != '$' || s[1] != '{' || s[2] == '}') return 0;
  const char *end = strchr(s, '}');
  return end ? (size_t)(end - s) + 1 : 0;
}

static token token_of(token_kind kind, const char *start, size_t len) {
  return (token){kind, start, len};
}

// Matches punctuation with the spaces around it.
static token punctuation(const char *s) {
  static const struct {
    char c;
    token_kind kind;
    bool before, after;
  } marks[] = {
      {'(', T_OPEN, true, true},     {')', T_CLOSE, true, false},    {',', T_COMMA, true, true},
      {'[', T_LIST, false, true},    {']', T_LIST_END, true, false}, {'{', T_MAP, false, true},
      {'}', T_MAP_END, true, false}, {':', T_COLON, true, true},     {'=', T_EQUAL, true, true}};
  size_t blanks = gr_lexis_space(s);
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    if (s[blanks] != marks[i].c || (blanks && !marks[i].before)) continue;
    size_t after = marks[i].after ? gr_lexis_space(s + blanks + 1) : 0;
    return token_of(marks[i].kind, s, blanks + 1 + after);
  }
  return token_of(blanks ? T_SPACE : T_BAD, s, blanks);
}

static size_t longest(size_t a, size_t b) { return a > b ? a : b; }

static token scan(const char *s) {
  if (!*s) return token_of(T_END, s, 0);
  token t = punctuation(s);
  if (t.kind != T_BAD) return t;
  size_t word = longest(gr_lexis_float(s), longest(gr_lexis_int(s), gr_lexis_name(s)));
  if (word) return token_of(T_WORD, s, word);
  size_t escape = gr_lexis_escape(s, "\\()[]{}:=, \t");
  if (escape) return token_of(T_ESCAPE, s, escape);
  if (*s == '\'' || *s == '"') return token_of(quoted(s) ? T_QUOTED : T_BAD, s, quoted(s));
  if (interpolation(s)) return token_of(T_INTERP, s, interpolation(s));
  return token_of(strchr("/-\\+.$%*@?|", *s) ? T_CHAR : T_BAD, s, 1);
}

static void advance(parser *p) {
  p->now = p->next;
  p->next = scan(p->now.start + p->now.len);
}

static gr_loc place(const parser *p, const char *position) {
  gr_loc loc = p->start;
  for (const char *s = p->text; s < position; s++) loc.col += (*s & 0xc0) != 0x80;  // characters
  return loc;
}

static gr_loc here(const parser *p) {
  return place(p, p->now.start + (p->now.kind == T_SPACE ? 0 : gr_lexis_space(p->now.start)));
}

static gr_status bad_character(const parser *p) {
  const char *start = p->now.start;
  if (*start == '\'' || *start == '"')
    return gr_hint(
        gr_fail(GR_ERR_USAGE, place(p, start), "this quote (%c) is never closed", *start),
        "close it, or put the whole value in quotes of the other kind; the shell removes one "
        "pair");
  gr_status s =
      *start & 0x80
          ? gr_fail(GR_ERR_USAGE, place(p, start), "characters beyond ASCII must be quoted")
          : gr_fail(GR_ERR_USAGE, place(p, start), "'%c' must be quoted", *start);
  if (*start == '~') s = gr_hint(s, "write $HOME for the home folder; the shell expands it");
  return gr_hint(s, "quote the value, and the whole argument for the shell: 'KEY=\"%s\"'", p->text);
}

static gr_status unexpected(const parser *p, const char *wanted) {
  if (p->now.kind == T_BAD) return bad_character(p);
  if (p->now.kind == T_END)
    return gr_hint(
        gr_fail(GR_ERR_USAGE, here(p), "the value ends here, but %s was expected", wanted),
        "the shell may have removed a part: put the argument in quotes: '%s'", "KEY=[a,b]");
  gr_status s = gr_fail(GR_ERR_USAGE, here(p), "unexpected '%.*s': %s was expected",
                        (int)p->now.len, p->now.start, wanted);
  if (p->now.kind == T_EQUAL) return gr_hint(s, "quote a value that contains '=', or write '\\='");
  if (p->now.kind == T_OPEN && p->now.start == p->text)
    return gr_hint(s, "write a list as [a,b]; quote a string that contains '('");
  if (p->now.kind == T_OPEN)
    return gr_hint(s, "quote a value that contains '(' and ')', or write '\\(' and '\\)'");
  if (p->now.kind == T_MAP && p->now.start > p->text && p->now.start[-1] == '}')
    return gr_hint(s, "quote a value with nested interpolations");
  return s;
}

// ---- Words -----------------------------------------------------------------------

static const char *unquote(gr_arena *a, const char *s, size_t len) {
  char quote = *s, *out = gr_arena_alloc(a, len), *to = out;
  for (size_t i = 1; i + 1 < len;) {
    size_t slashes = strspn(s + i, "\\");
    if (i + slashes > len - 1) slashes = len - 1 - i;
    bool before_quote = slashes && s[i + slashes] == quote;
    for (size_t k = 0; k < (before_quote ? slashes / 2 : slashes); k++) *to++ = '\\';
    i += slashes;
    if (i + 1 < len) *to++ = s[i++];
  }
  return out;
}

static bool in_word(token_kind kind, bool key) {
  if (kind == T_COLON || kind == T_INTERP) return !key;
  return kind == T_WORD || kind == T_CHAR || kind == T_ESCAPE || kind == T_SPACE;
}

static void put_token(gr_text *t, token k) {
  for (size_t i = k.kind == T_ESCAPE; i < k.len; i += k.kind == T_ESCAPE ? 2 : 1)
    gr_text_putn(t, k.start + i, 1);
}

// Reads adjacent tokens; surrounding spaces are ignored. A single word is typed, several are a
// string.
static gr_status read_word(parser *p, bool key, gr_conf *out) {
  gr_text t = gr_text_make(p->arena);
  int n = 0;
  token_kind only = T_END;
  gr_loc loc = here(p);
  if (p->now.kind == T_SPACE) advance(p);
  for (; in_word(p->now.kind, key); advance(p)) {
    bool last = p->now.kind == T_SPACE && !in_word(p->next.kind, key);
    if (last) continue;
    put_token(&t, p->now);
    only = p->now.kind;
    n++;
  }
  if (!n) return unexpected(p, key ? "a key" : "a value");
  out->loc = loc;
  if (n == 1 && only == T_WORD) return gr_lexis_type(p->arena, out, t.chars);
  gr_conf_set_text(out, t.chars);
  return GR_OK;
}

// ---- Values ----------------------------------------------------------------------

static gr_status read_element(parser *p, gr_override_value *out);

static gr_status read_single(parser *p, gr_conf **out) {
  gr_loc loc = here(p);
  gr_override_value v = {0};
  GR_TRY(read_element(p, &v));
  if (v.many) return gr_fail(GR_ERR_USAGE, loc, "a sweep cannot be inside a list or a mapping");
  *out = v.one;
  return GR_OK;
}

// After an item: takes a comma, which another item must follow, if it is not the end.
static gr_status take_comma(parser *p, token_kind end, const char *wanted, const char *then) {
  if (p->now.kind == end) return GR_OK;
  if (p->now.kind != T_COMMA) return unexpected(p, wanted);
  advance(p);
  return p->now.kind == end ? unexpected(p, then) : GR_OK;
}

static gr_status read_list(parser *p, gr_conf *list) {
  advance(p);
  while (p->now.kind != T_LIST_END) {
    gr_conf *item = NULL;
    GR_TRY(read_single(p, &item));
    gr_conf_append(p->arena, list, item);
    GR_TRY(take_comma(p, T_LIST_END, "',' or ']'", "a value after ','"));
  }
  advance(p);
  return GR_OK;
}

static gr_status read_pair(parser *p, gr_conf *map) {
  gr_conf key = {0}, *value = NULL;
  if (p->now.kind == T_QUOTED)
    return gr_hint(gr_fail(GR_ERR_USAGE, here(p), "a key in {...} cannot be quoted"),
                   "write {a: 1}; keys may contain spaces");
  GR_TRY(read_word(p, true, &key));
  if (p->now.kind != T_COLON) return unexpected(p, "':' after the key");
  advance(p);
  GR_TRY(read_single(p, &value));
  gr_conf_put_key(p->arena, map, &key, value);
  return GR_OK;
}

static gr_status read_map(parser *p, gr_conf *map) {
  advance(p);
  while (p->now.kind != T_MAP_END) {
    GR_TRY(read_pair(p, map));
    GR_TRY(take_comma(p, T_MAP_END, "',' or '}'", "a key after ','"));
  }
  advance(p);
  return GR_OK;
}

static gr_status read_argument(parser *p, bool named, gr_argument *out) {
  *out = (gr_argument){0};
  if (p->now.kind == T_WORD && p->next.kind == T_EQUAL &&
      gr_lexis_name(p->now.start) == p->now.len) {
    out->name = gr_arena_strndup(p->arena, p->now.start, p->now.len);
    advance(p);
    advance(p);
  } else if (named) {
    return gr_fail(GR_ERR_USAGE, here(p), "an argument by position follows one by name");
  }
  return read_element(p, &out->value);
}

static gr_status read_function(parser *p, gr_override_value *out) {
  enum { MAX_ARGUMENTS = 4096 };
  gr_loc loc = here(p);
  const char *name = gr_arena_strndup(p->arena, p->now.start, p->now.len);
  gr_argument *args = NULL;
  int n = 0, cap = 0;
  advance(p);
  advance(p);
  while (p->now.kind != T_CLOSE) {
    GR_GROW(p->arena, args, n, cap);
    if (n == MAX_ARGUMENTS) return gr_fail(GR_ERR_USAGE, here(p), "more than %d arguments", n);
    GR_TRY(read_argument(p, n && args[n - 1].name, &args[n]));
    n++;
    GR_TRY(take_comma(p, T_CLOSE, "',' or ')'", "a value after ','"));
  }
  advance(p);
  return gr_function_call(p->arena, name, args, n, loc, out);
}

static gr_status read_collection(parser *p, gr_override_value *out) {
  bool map = p->now.kind == T_MAP;
  out->one = gr_conf_make(p->arena, map ? GR_CONF_MAP : GR_CONF_LIST, here(p));
  return map ? read_map(p, out->one) : read_list(p, out->one);
}

static gr_status read_quoted(parser *p, gr_override_value *out) {
  out->one = gr_conf_make(p->arena, GR_CONF_TEXT, here(p));
  gr_conf_set_text(out->one, unquote(p->arena, p->now.start, p->now.len));
  out->one->quote = *p->now.start;
  advance(p);
  return GR_OK;
}

static gr_status read_word_value(parser *p, gr_override_value *out) {
  out->one = gr_conf_make(p->arena, GR_CONF_TEXT, here(p));
  return read_word(p, false, out->one);
}

static gr_status read_element(parser *p, gr_override_value *out) {
  token_kind kind = p->now.kind;
  bool call = kind == T_WORD && p->next.kind == T_OPEN && gr_lexis_name(p->now.start) == p->now.len;
  if (++p->depth > MAX_NESTING)
    return gr_fail(GR_ERR_USAGE, here(p), "values are nested deeper than %d", MAX_NESTING);
  GR_TRY(call                              ? read_function(p, out)
         : kind == T_QUOTED                ? read_quoted(p, out)
         : kind == T_LIST || kind == T_MAP ? read_collection(p, out)
                                           : read_word_value(p, out));
  p->depth--;
  return GR_OK;
}

static gr_status read_choice(parser *p, gr_override_value *v) {
  gr_sweep *sweep = GR_NEW(p->arena, gr_sweep, 1);
  sweep->kind = GR_SWEEP_SIMPLE;
  sweep->list = gr_conf_make(p->arena, GR_CONF_LIST, p->start);
  if (v->many) return gr_fail(GR_ERR_USAGE, p->start, "a sweep cannot be one value of another");
  gr_conf_append(p->arena, sweep->list, v->one);
  while (p->now.kind == T_COMMA) {
    gr_conf *item = NULL;
    advance(p);
    GR_TRY(read_single(p, &item));
    gr_conf_append(p->arena, sweep->list, item);
  }
  *v = (gr_override_value){.many = sweep};
  return GR_OK;
}

gr_status gr_value_parse(gr_arena *a, const char *text, gr_loc loc, gr_override_value *out) {
  parser p = {.arena = a, .text = text, .start = loc, .next = scan(text)};
  *out = (gr_override_value){0};
  advance(&p);
  GR_TRY(read_element(&p, out));
  if (p.now.kind == T_COMMA) GR_TRY(read_choice(&p, out));
  return p.now.kind == T_END ? GR_OK : unexpected(&p, "the end or ','");
}
