// json.c - recursive-descent JSON parser, and writing what it has read (json.h). MAX_DEPTH bounds
// the stack.
#include "base/json.h"
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/map.h"

// Objects with more members than FEW find a repeated name in a map.
enum { MAX_DEPTH = 32, FEW = 16, MAX_VALUES = 4000000 };

typedef struct reader {
  gr_arena *arena;
  const char *start, *cursor, *end;
  const char *why;
  int depth, values;
} reader;

static bool value(reader *r, gr_json *out);

static bool fail(reader *r, const char *why) {
  if (!r->why) r->why = why;
  return false;
}

static void spaces(reader *r) {
  while (r->cursor < r->end &&
         (*r->cursor == ' ' || *r->cursor == '\n' || *r->cursor == '\t' || *r->cursor == '\r'))
    r->cursor++;
}

static bool word(reader *r, const char *w) {
  size_t n = strlen(w);
  if ((size_t)(r->end - r->cursor) < n || memcmp(r->cursor, w, n)) return false;
  r->cursor += n;
  return true;
}

static bool hex4(reader *r, uint32_t *out) {
  *out = 0;
  for (int i = 0; i < 4; i++, r->cursor++) {
    unsigned char c = r->cursor < r->end ? (unsigned char)*r->cursor : 0;
    if (!isxdigit(c)) return fail(r, "expected four hexadecimal digits");
    *out = *out * 16 + (uint32_t)(isdigit(c) ? c - '0' : (c | 32) - 'a' + 10);
  }
  return true;
}

static bool unicode(reader *r, gr_text *t) {
  uint32_t c, low;
  if (!hex4(r, &c)) return false;
  if (c >= 0xd800 && c < 0xdc00) {
    if (!word(r, "\\u")) return fail(r, "expected both halves of a surrogate pair");
    if (!hex4(r, &low)) return false;
    if (low < 0xdc00 || low > 0xdfff) return fail(r, "expected both halves of a surrogate pair");
    c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
  } else if (c >= 0xdc00 && c < 0xe000) {
    return fail(r, "expected both halves of a surrogate pair");
  }
  if (!c) return fail(r, "expected text without NUL characters");
  gr_text_put_code(t, c);
  return true;
}

static bool escape(reader *r, gr_text *t) {
  static const char codes[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
  char c = r->cursor < r->end ? *r->cursor : 0;
  const char *p = c ? strchr(codes, c) : NULL;
  r->cursor += c == 'u' || p;
  if (c == 'u') return unicode(r, t);
  if (!p) return fail(r, "expected one of \"\\/bfnrtu after a backslash");
  gr_text_putn(t, characters + (p - codes), 1);
  return true;
}

static bool text(reader *r, const char **out) {
  gr_text t = gr_text_make(r->arena);
  r->cursor++;  // the quote
  while (r->cursor < r->end && *r->cursor != '"') {
    unsigned char c = (unsigned char)*r->cursor;
    int n = gr_utf8_len(r->cursor);
    if (c < 32) return fail(r, "expected text with its control characters escaped");
    if (!n || n > r->end - r->cursor) return fail(r, "expected UTF-8 text");
    if (c != '\\') {
      gr_text_putn(&t, r->cursor, (size_t)n);
      r->cursor += n;
    } else {
      r->cursor++;
      if (!escape(r, &t)) return false;
    }
  }
  if (r->cursor >= r->end) return fail(r, "expected '\"' at the end of the text");
  r->cursor++;
  *out = t.chars;
  return true;
}

static const char *digits(const char *p) {
  while (isdigit((unsigned char)*p)) p++;
  return p;
}

// The end of the number at p, or NULL if it is malformed. The final NUL stops every loop.
static const char *number_end(const char *p, bool *whole) {
  p += *p == '-';
  const char *digit = p;
  p = digits(p);
  if (p == digit || (*digit == '0' && p - digit > 1)) return NULL;
  *whole = true;
  if (*p == '.') {
    *whole = false;
    digit = ++p;
    if ((p = digits(p)) == digit) return NULL;
  }
  if (*p == 'e' || *p == 'E') {
    *whole = false;
    p++;
    p += *p == '-' || *p == '+';
    digit = p;
    if ((p = digits(p)) == digit) return NULL;
  }
  return p;
}

static bool number(reader *r, gr_json *out) {
  bool whole = false;
  const char *end = number_end(r->cursor, &whole);
  if (!end || end > r->end || end - r->cursor > 400) return fail(r, "expected a value");
  errno = 0;
  out->i = whole ? strtoll(r->cursor, NULL, 10) : 0;
  out->kind = whole && !errno ? GR_JSON_INT : GR_JSON_FLOAT;
  out->f = strtod(r->cursor, NULL);
  r->cursor = end;
  return true;
}

// Appends a child to `of`; NULL: too many values.
static gr_json *child(reader *r, gr_json *of, gr_json **last) {
  if (++r->values > MAX_VALUES) return NULL;
  gr_json *v = GR_NEW(r->arena, gr_json, 1);
  if (*last)
    (*last)->next = v;
  else
    of->first = v;
  of->n++;
  return *last = v;
}

static bool is_repeated(reader *r, const gr_json *of, const gr_json *member, gr_map *names) {
  if (of->n <= FEW) {
    for (const gr_json *m = of->first; m != member; m = m->next)
      if (!strcmp(m->name, member->name)) return true;
    return false;
  }
  if (!names->arena) {
    *names = gr_map_make(r->arena);
    for (const gr_json *m = of->first; m != member; m = m->next) gr_map_put(names, m->name, 0);
  }
  if (gr_map_find(names, member->name, NULL)) return true;
  gr_map_put(names, member->name, 0);
  return false;
}

static bool name(reader *r, const gr_json *of, gr_json *member, gr_map *names) {
  if (r->cursor >= r->end || *r->cursor != '"') return fail(r, "expected a name in double quotes");
  const char *start = r->cursor;
  if (!text(r, &member->name)) return false;
  if (is_repeated(r, of, member, names)) {
    r->cursor = start;
    return fail(r, "expected a name that the object does not have yet");
  }
  spaces(r);
  if (!word(r, ":")) return fail(r, "expected ':' after the name");
  spaces(r);
  return true;
}

static bool children(reader *r, gr_json *out, const char *close) {
  gr_json *last = NULL;
  gr_map names = {0};
  if (++r->depth > MAX_DEPTH) return fail(r, "expected at most 32 nested values");
  r->cursor++;
  spaces(r);
  while (!(out->n == 0 && word(r, close))) {
    gr_json *v = child(r, out, &last);
    if (!v) return fail(r, "expected at most 4 million values");
    if (out->kind == GR_JSON_OBJECT && !name(r, out, v, &names)) return false;
    if (!value(r, v)) return false;
    spaces(r);
    if (word(r, close)) break;
    if (!word(r, ","))
      return fail(r, *close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
    spaces(r);
  }
  r->depth--;
  return true;
}

static const struct special {
  const char *word;
  double f;
} specials[] = {
    {"NaN", __builtin_nan("")}, {"Infinity", __builtin_inf()}, {"-Infinity", -__builtin_inf()}};
enum { SPECIALS = sizeof specials / sizeof *specials };

static bool special(reader *r, gr_json *out) {
  for (int i = 0; i < SPECIALS; i++)
    if (word(r, specials[i].word)) {
      out->kind = GR_JSON_FLOAT, out->f = specials[i].f;
      return true;
    }
  return false;
}

static double number_of(const char *text) {
  for (int i = 0; i < SPECIALS; i++)
    if (!strcmp(text, specials[i].word)) return specials[i].f;
  return 0;
}

static bool constant(reader *r, gr_json *out) {
  static const struct {
    const char *word;
    gr_json value;
  } all[] = {{"true", {.kind = GR_JSON_BOOL, .i = 1}},
             {"false", {.kind = GR_JSON_BOOL}},
             {"null", {.kind = GR_JSON_NULL}}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (word(r, all[i].word)) {
      out->kind = all[i].value.kind, out->i = all[i].value.i;
      return true;
    }
  return special(r, out);
}

static bool string(reader *r, gr_json *out) {
  out->kind = GR_JSON_TEXT;
  if (!text(r, &out->text)) return false;
  out->f = number_of(out->text);
  return true;
}

static bool value(reader *r, gr_json *out) {
  char c = r->cursor < r->end ? *r->cursor : 0;
  out->offset = (int)(r->cursor - r->start);
  if (c == '{' || c == '[') {
    out->kind = c == '{' ? GR_JSON_OBJECT : GR_JSON_ARRAY;
    return children(r, out, c == '{' ? "}" : "]");
  }
  if (c == '"') return string(r, out);
  return constant(r, out) || number(r, out);
}

static void place(const reader *r, gr_json_error *why) {
  *why = (gr_json_error){.line = 1, .col = 1, .why = r->why};
  for (const char *p = r->start; p < r->cursor && p < r->end; p++) {
    why->col = *p == '\n' ? 1 : why->col + 1;
    why->line += *p == '\n';
  }
  int n = r->cursor < r->end ? gr_utf8_len(r->cursor) : 0;
  if (r->cursor >= r->end)
    snprintf(why->found, sizeof why->found, "the end");
  else if (n && n <= r->end - r->cursor && (unsigned char)*r->cursor >= 32)
    snprintf(why->found, sizeof why->found, "'%.*s'", n, r->cursor);
  else
    snprintf(why->found, sizeof why->found, "the byte 0x%02x", (unsigned char)*r->cursor);
}

bool gr_json_read(gr_arena *a, const char *s, size_t len, const gr_json **out, gr_json_error *why) {
  assert(a && (s || !len) && out);
  reader r = {.arena = a, .start = s, .cursor = s, .end = s + len};
  gr_json *v = GR_NEW(a, gr_json, 1);
  spaces(&r);
  bool ok = value(&r, v);
  if (ok) spaces(&r);
  if (ok && r.cursor != r.end) ok = fail(&r, "expected nothing after the value");
  if (!ok) place(&r, why);
  *out = ok ? v : NULL;
  return ok;
}

bool gr_json_is_number(const gr_json *v) {
  return v->kind == GR_JSON_INT || v->kind == GR_JSON_FLOAT ||
         (v->kind == GR_JSON_TEXT && !isfinite(v->f));
}

const gr_json *gr_json_get(const gr_json *o, const char *key, gr_json_kind kind) {
  assert(key);
  if (!o || o->kind != GR_JSON_OBJECT) return NULL;
  for (const gr_json *m = o->first; m; m = m->next)
    if (!strcmp(m->name, key))
      return m->kind == kind || (kind == GR_JSON_FLOAT && gr_json_is_number(m)) ? m : NULL;
  return NULL;
}

// ---- Writing ------------------------------------------------------------------------------------

static void put_items(gr_text *t, const gr_json *v) {
  bool list = v->kind == GR_JSON_ARRAY;
  gr_text_put(t, list ? "[" : "{");
  for (const gr_json *m = v->first; m; m = m->next) {
    if (m != v->first) gr_text_put(t, ", ");
    if (!list) gr_text_json(t, m->name), gr_text_put(t, ": ");
    gr_json_put(t, m);
  }
  gr_text_put(t, list ? "]" : "}");
}

void gr_json_put(gr_text *t, const gr_json *v) {
  assert(v);
  switch (v->kind) {
    case GR_JSON_NULL:
      gr_text_put(t, "null");
      return;
    case GR_JSON_BOOL:
      gr_text_put(t, v->i ? "true" : "false");
      return;
    case GR_JSON_INT:
      gr_text_put_int(t, v->i);
      return;
    case GR_JSON_FLOAT:
      gr_text_json_float(t, v->f);
      return;
    case GR_JSON_TEXT:
      gr_text_json(t, v->text);
      return;
    case GR_JSON_ARRAY:
    case GR_JSON_OBJECT:
      put_items(t, v);
  }
}
