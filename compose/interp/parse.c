// parse.c - a recursive-descent parser for OmegaConf's grammar of interpolations. See interp.h.
#include <string.h>
#include "compose/interp/interp.h"
#include "compose/tree/lexis.h"

enum { MAX_DEPTH = 64 };

typedef struct parser {
  gr_arena *arena;
  const char *text, *s;  // the text, and the current position
  gr_loc loc;
  int depth;
} parser;

static gr_expr *make(parser *p, gr_expr_kind kind) {
  gr_expr *e = GR_NEW(p->arena, gr_expr, 1);
  e->kind = kind;
  return e;
}

static void add(parser *p, gr_expr *e, gr_expr *kid, gr_conf *key) {
  if (e->n == e->cap) {
    int cap = e->cap ? e->cap * 2 : 4;
    gr_expr **kids = GR_NEW(p->arena, gr_expr *, cap);
    gr_conf **keys = GR_NEW(p->arena, gr_conf *, cap);
    if (e->n) memcpy(kids, e->kids, sizeof *kids * (size_t)e->n);
    if (e->n) memcpy(keys, e->keys, sizeof *keys * (size_t)e->n);
    e->kids = kids, e->keys = keys, e->cap = cap;
  }
  e->kids[e->n] = kid;
  e->keys[e->n++] = key;
}

static gr_expr *text_piece(parser *p, const char *s, size_t len) {
  gr_expr *e = make(p, GR_EXPR_VALUE);
  e->value = gr_conf_make(p->arena, GR_CONF_TEXT, p->loc);
  e->value->text = gr_arena_strndup(p->arena, s, len);
  return e;
}

static gr_status wrong(const parser *p, const char *expected) {
  int column = (int)(p->s - p->text) + 1;
  gr_status s =
      *p->s ? gr_fail(GR_ERR_CONFIG, p->loc, "in '%s': character %d is '%c', but %s was expected",
                      p->text, column, *p->s, expected)
            : gr_fail(GR_ERR_CONFIG, p->loc, "'%s' ends where %s was expected", p->text, expected);
  return gr_hint(s, "write \\${ for a '${' that is not an interpolation");
}

static void skip_space(parser *p) { p->s += gr_lexis_space(p->s); }

static gr_status read_interpolation(parser *p, gr_expr **out);
static gr_status read_element(parser *p, gr_expr **out);

// ---- Text with interpolations ----------------------------------------------------

// Backslashes are special only before '${' and, in quotes, before the quote: there two mean one,
// and an odd one escapes what follows.
static void read_backslashes(parser *p, gr_expr *join, char quote) {
  size_t n = strspn(p->s, "\\");
  const char *after = p->s + n;
  bool opens = after[0] == '$' && after[1] == '{', closes = quote && *after == quote;
  size_t kept = opens || closes ? n / 2 : n;
  if (kept) add(p, join, text_piece(p, p->s, kept), NULL);
  p->s = after;
  if (!(opens || closes) || n % 2 == 0) return;
  add(p, join, text_piece(p, p->s, opens ? 2 : 1), NULL);
  p->s += opens ? 2 : 1;
}

// Reads up to the end of the text or the closing quote, which is not consumed.
static gr_status read_text(parser *p, char quote, gr_expr *join) {
  while (*p->s && !(quote && *p->s == quote)) {
    size_t plain = 0;
    while (p->s[plain] && p->s[plain] != '\\' && !(p->s[plain] == '$' && p->s[plain + 1] == '{') &&
           !(quote && p->s[plain] == quote))
      plain++;
    if (plain) add(p, join, text_piece(p, p->s, plain), NULL);
    p->s += plain;
    if (*p->s == '\\') {
      read_backslashes(p, join, quote);
    } else if (*p->s == '$' && p->s[1] == '{') {
      gr_expr *inner = NULL;
      GR_TRY(read_interpolation(p, &inner));
      add(p, join, inner, NULL);
    }
  }
  return GR_OK;
}

// Replaces a join of literals only by their concatenation.
static void fold_literals(parser *p, gr_expr *join) {
  gr_text t = gr_text_make(p->arena);
  for (int i = 0; i < join->n; i++) {
    if (join->kids[i]->kind != GR_EXPR_VALUE) return;
    gr_text_put(&t, join->kids[i]->value->text);
  }
  join->n = 0;
  add(p, join, text_piece(p, t.chars, t.len), NULL);
}

static gr_status read_quoted(parser *p, gr_expr **out) {
  char quote = *p->s++;
  *out = make(p, GR_EXPR_JOIN);
  (*out)->quoted = true;
  GR_TRY(read_text(p, quote, *out));
  if (!*p->s) return wrong(p, quote == '"' ? "a closing \"" : "a closing '");
  p->s++;
  fold_literals(p, *out);
  return GR_OK;
}

// ---- Arguments -------------------------------------------------------------------

static size_t word_length(const char *s) {
  size_t a = gr_lexis_float(s), b = gr_lexis_int(s), c = gr_lexis_name(s);
  return a > b ? (a > c ? a : c) : (b > c ? b : c);
}

// Spaces before punctuation are ignored.
static bool at_punctuation(const char *s) {
  s += gr_lexis_space(s);
  return !*s || strchr(",]}", *s);
}

// Reads one piece of an unquoted word. *typed: the piece has a type of its own if it is the whole
// word.
static gr_status read_piece(parser *p, bool key, gr_expr *join, bool *typed) {
  const char *s = p->s;
  size_t blanks = gr_lexis_space(s), n = word_length(s);
  *typed = n > 0;
  if (s[0] == '$' && s[1] == '{' && !key) {
    gr_expr *inner = NULL;
    GR_TRY(read_interpolation(p, &inner));
    add(p, join, inner, NULL);
    return GR_OK;
  }
  if (!n && (n = gr_lexis_escape(s, "\\()[]{}:=, \t"))) {
    gr_text t = gr_text_make(p->arena);
    for (size_t i = 1; i < n; i += 2) gr_text_putn(&t, s + i, 1);
    add(p, join, text_piece(p, t.chars, t.len), NULL);
    p->s += n;
    return GR_OK;
  }
  if (!n && s[blanks] == ':' && !key) n = blanks + 1 + gr_lexis_space(s + blanks + 1);
  if (!n && blanks) n = blanks;
  if (!n && *s && strchr("/-\\+.$%*@?|", *s)) n = 1;
  if (!n) return wrong(p, "a value (quote other characters)");
  add(p, join, text_piece(p, s, n), NULL);
  p->s += n;
  return GR_OK;
}

static bool key_ends(const parser *p, bool key) { return key && p->s[gr_lexis_space(p->s)] == ':'; }

static gr_status read_word(parser *p, bool key, gr_expr **out) {
  gr_expr *join = *out = make(p, GR_EXPR_JOIN);
  bool typed = false;
  do GR_TRY(read_piece(p, key, join, &typed));
  while (!at_punctuation(p->s) && !key_ends(p, key));
  if (join->n == 1 && typed) {
    gr_conf *value = join->kids[0]->value;
    return gr_lexis_type(p->arena, value, value->text);
  }
  if (join->n > 1) fold_literals(p, join);
  return GR_OK;
}

// Reads items up to the closing bracket; a missing item is an empty string.
static gr_status read_sequence(parser *p, char close, gr_expr *to) {
  skip_space(p);
  if (*p->s == close) return GR_OK;
  for (;;) {
    gr_expr *item = NULL;
    bool missing = *p->s == ',' || *p->s == close;
    if (missing)
      item = text_piece(p, "", 0);
    else
      GR_TRY(read_element(p, &item));
    add(p, to, item, NULL);
    skip_space(p);
    if (*p->s == close) return GR_OK;
    if (*p->s != ',') return wrong(p, close == ']' ? "',' or ']'" : "',' or '}'");
    p->s++;
    skip_space(p);
  }
}

static gr_status read_list(parser *p, gr_expr **out) {
  *out = make(p, GR_EXPR_LIST);
  p->s++;
  GR_TRY(read_sequence(p, ']', *out));
  p->s++;
  return GR_OK;
}

static gr_status read_pair(parser *p, gr_expr *map) {
  gr_expr *key = NULL, *value = NULL;
  GR_TRY(read_word(p, true, &key));
  skip_space(p);
  if (*p->s != ':') return wrong(p, "':' after the key");
  p->s++;
  skip_space(p);
  GR_TRY(read_element(p, &value));
  add(p, map, value, key->kids[0]->value);
  skip_space(p);
  return GR_OK;
}

static gr_status read_map(parser *p, gr_expr **out) {
  *out = make(p, GR_EXPR_MAP);
  p->s++;
  skip_space(p);
  while (*p->s != '}') {
    GR_TRY(read_pair(p, *out));
    if (*p->s != ',' && *p->s != '}') return wrong(p, "',' or '}'");
    if (*p->s != ',') continue;
    p->s++;
    skip_space(p);
    if (*p->s == '}') return wrong(p, "a key after ','");
  }
  p->s++;
  return GR_OK;
}

static gr_status read_element(parser *p, gr_expr **out) {
  if (++p->depth > MAX_DEPTH) return wrong(p, "less nesting (64 at most)");
  char c = *p->s;
  GR_TRY(c == '['                ? read_list(p, out)
         : c == '{'              ? read_map(p, out)
         : c == '\'' || c == '"' ? read_quoted(p, out)
                                 : read_word(p, false, out));
  p->depth--;
  return GR_OK;
}

// ---- ${...} ----------------------------------------------------------------------

// Reads a key, which may be anything without special characters.
static gr_status read_key(parser *p, gr_expr *path, bool *plain_name) {
  if (p->s[0] == '$' && p->s[1] == '{') {
    gr_expr *inner = NULL;
    GR_TRY(read_interpolation(p, &inner));
    add(p, path, inner, NULL);
    return GR_OK;
  }
  size_t n = strcspn(p->s, "\\{}()[]:. \t'\"");
  if (!n) return wrong(p, "a key");
  *plain_name = *plain_name && gr_lexis_name(p->s) == n;
  add(p, path, text_piece(p, p->s, n), NULL);
  p->s += n;
  return GR_OK;
}

static gr_status read_bracket(parser *p, gr_expr *path, bool *plain_name) {
  add(p, path, text_piece(p, "[", 1), NULL);
  p->s++;
  GR_TRY(read_key(p, path, plain_name));
  if (*p->s != ']') return wrong(p, "']'");
  p->s++;
  add(p, path, text_piece(p, "]", 1), NULL);
  *plain_name = false;
  return GR_OK;
}

static gr_status read_path(parser *p, gr_expr *path, bool *plain_name) {
  size_t dots = strspn(p->s, ".");
  if (dots) add(p, path, text_piece(p, p->s, dots), NULL);
  *plain_name = !dots;
  p->s += dots;
  GR_TRY(*p->s == '[' ? read_bracket(p, path, plain_name) : read_key(p, path, plain_name));
  while (*p->s == '.' || *p->s == '[') {
    if (*p->s == '[') {
      GR_TRY(read_bracket(p, path, plain_name));
      continue;
    }
    add(p, path, text_piece(p, ".", 1), NULL);
    p->s++;
    GR_TRY(read_key(p, path, plain_name));
  }
  skip_space(p);
  return GR_OK;
}

static gr_status read_interpolation(parser *p, gr_expr **out) {
  gr_expr *path = make(p, GR_EXPR_JOIN);
  bool plain_name;
  if (++p->depth > MAX_DEPTH) return wrong(p, "less nesting (64 at most)");
  p->s += 2;
  skip_space(p);
  GR_TRY(read_path(p, path, &plain_name));
  *out = make(p, GR_EXPR_NODE);
  (*out)->name = path;
  if (*p->s == ':') {
    if (!plain_name) return wrong(p, "'}' (a resolver's name is made of letters and dots)");
    (*out)->kind = GR_EXPR_CALL;
    p->s++;
    GR_TRY(read_sequence(p, '}', *out));
  }
  if (*p->s != '}') return wrong(p, "'}'");
  p->s++;
  p->depth--;
  return GR_OK;
}

gr_status gr_expr_parse(gr_arena *a, const char *text, gr_loc loc, gr_expr **out) {
  parser p = {.arena = a, .text = text, .s = text, .loc = loc};
  *out = make(&p, GR_EXPR_JOIN);
  return read_text(&p, 0, *out);
}

// A word with surrounding spaces is a string with these spaces, whatever the word's own type.
static gr_status read_padded(parser *p, size_t end, gr_expr **out) {
  size_t lead = gr_lexis_space(p->s);
  bool typed;
  *out = make(p, GR_EXPR_JOIN);
  if (lead) add(p, *out, text_piece(p, p->s, lead), NULL);
  p->s += lead;
  if (strchr("[{'\"", *p->s)) return wrong(p, "a word between the spaces");
  while (p->s < p->text + end) GR_TRY(read_piece(p, false, *out, &typed));
  if (*p->s) add(p, *out, text_piece(p, p->s, strlen(p->s)), NULL);
  fold_literals(p, *out);
  return GR_OK;
}

gr_status gr_expr_parse_element(gr_arena *a, const char *text, gr_loc loc, gr_expr **out) {
  parser p = {.arena = a, .text = text, .s = text, .loc = loc};
  size_t end = strlen(text);
  while (end && strchr(" \t", text[end - 1])) end--;
  if (*text && !end) return wrong(&p, "more than spaces");
  if (gr_lexis_space(text) || text[end]) return read_padded(&p, end, out);
  GR_TRY(read_element(&p, out));
  return *p.s ? wrong(&p, "the end") : GR_OK;
}

gr_status gr_expr_check(gr_arena *a, const gr_conf *c) {
  gr_expr *e = NULL;
  if (c->kind == GR_CONF_INTERP) return gr_expr_parse(a, c->text, c->loc, &e);
  gr_status all = GR_OK;
  for (int i = 0; i < c->n && c->items; i++) all = gr_also(all, gr_expr_check(a, c->items[i]));
  return all;
}
