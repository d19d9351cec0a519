// manifest_json.c - see manifest_json.h.
#include "runtime/data/speech/manifest_json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"

enum { DEEPEST = 32 };

typedef struct reader {
  gr_arena *arena;
  gr_loc at;  // of the line; col is set when an error is made
  const char *start, *p, *end;
  int depth;
} reader;

static gr_status wrong(const reader *r, const char *p, const char *expected) {
  gr_loc loc = r->at;
  loc.col = (int)(p - r->start) + 1;
  if (p >= r->end) return gr_fail(GR_ERR_DATA, loc, "expected %s, the line ends", expected);
  int len = gr_utf8_len(p);
  if (len && (unsigned char)*p >= 32)
    return gr_fail(GR_ERR_DATA, loc, "expected %s, found '%.*s'", expected, len, p);
  return gr_fail(GR_ERR_DATA, loc, "expected %s, found the byte 0x%02x", expected,
                 (unsigned char)*p);
}

static void blanks(reader *r) {
  while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r')) r->p++;
}

static bool next_is(reader *r, char c) {
  blanks(r);
  if (r->p >= r->end || *r->p != c) return false;
  r->p++;
  return true;
}

static int hex4(const reader *r, const char *p) {
  int v = 0;
  for (int i = 0; i < 4; i++) {
    const char *digits = "0123456789abcdef", *d = NULL;
    if (p + i < r->end && p[i]) d = strchr(digits, p[i] >= 'A' && p[i] <= 'F' ? p[i] + 32 : p[i]);
    if (!d) return -1;
    v = v * 16 + (int)(d - digits);
  }
  return v;
}

// \uXXXX, or a pair of them for what lies above U+FFFF; r->p is behind the u.
static gr_status unicode(reader *r, gr_text *out) {
  const char *from = r->p;
  int c = hex4(r, from), low = -1;
  if (c < 0) return wrong(r, from, "four hexadecimal digits");
  r->p += 4;
  if (c >= 0xd800 && c < 0xdc00 && r->end - r->p >= 6 && r->p[0] == '\\' && r->p[1] == 'u')
    low = hex4(r, r->p + 2);
  if (low >= 0xdc00 && low < 0xe000) {
    gr_text_put_code(out, 0x10000U + ((uint32_t)(c - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
    r->p += 6;
    return GR_OK;
  }
  if (c >= 0xd800 && c < 0xe000) return wrong(r, from, "both halves of a surrogate pair");
  if (!c) return wrong(r, from, "text without zero characters");
  gr_text_put_code(out, (uint32_t)c);
  return GR_OK;
}

static gr_status escape(reader *r, gr_text *out) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  if (r->p < r->end && *r->p == 'u') {
    r->p++;
    return unicode(r, out);
  }
  const char *found = r->p < r->end && *r->p ? strchr(from, *r->p) : NULL;
  if (!found) return wrong(r, r->p, "one of \"\\/bfnrtu after a backslash");
  gr_text_putn(out, to + (found - from), 1);
  r->p++;
  return GR_OK;
}

static gr_status string(reader *r, const char *what, const char **out) {
  if (!next_is(r, '"')) return wrong(r, r->p, what);
  gr_text t = gr_text_make(r->arena);
  while (r->p < r->end && *r->p != '"') {
    int n = gr_utf8_len(r->p);
    if (!n || r->p + n > r->end || (unsigned char)*r->p < 32)
      return wrong(r, r->p, "UTF-8 text (control characters escaped)");
    if (*r->p == '\\') {
      r->p++;
      GR_TRY(escape(r, &t));
    } else {
      gr_text_putn(&t, r->p, (size_t)n);
      r->p += n;
    }
  }
  if (!next_is(r, '"')) return wrong(r, r->p, "'\"' at the end of the text");
  *out = t.at;
  return GR_OK;
}

static bool digits(reader *r) {
  const char *from = r->p;
  while (r->p < r->end && *r->p >= '0' && *r->p <= '9') r->p++;
  return r->p > from;
}

static gr_status number(reader *r, double *out) {
  blanks(r);
  const char *from = r->p;
  if (r->p < r->end && *r->p == '-') r->p++;
  bool zero = r->p < r->end && *r->p == '0', ok = digits(r);
  if (zero && ok && r->p - from > (*from == '-' ? 2 : 1)) return wrong(r, from, "no leading zero");
  if (ok && r->p < r->end && *r->p == '.') {
    r->p++;
    ok = digits(r);
  }
  if (ok && r->p < r->end && (*r->p == 'e' || *r->p == 'E')) {
    r->p++;
    if (r->p < r->end && (*r->p == '+' || *r->p == '-')) r->p++;
    ok = digits(r);
  }
  if (!ok) return wrong(r, r->p, "a number");
  *out = strtod(gr_arena_strndup(r->arena, from, (size_t)(r->p - from)), NULL);
  return isfinite(*out) ? GR_OK : wrong(r, from, "a number that a double can hold");
}

static bool word(reader *r, const char *w) {
  size_t n = strlen(w);
  blanks(r);
  if ((size_t)(r->end - r->p) < n || memcmp(r->p, w, n) != 0) return false;
  r->p += n;
  return true;
}

static gr_status skip_value(reader *r);

// What stands between brackets, behind the first of them.
static gr_status skip_list(reader *r, bool keys, char close) {
  const char *key;
  if (next_is(r, close)) return GR_OK;
  if (++r->depth > DEEPEST) return wrong(r, r->p, "at most 32 nested values");
  do {
    if (keys) GR_TRY(string(r, "a key in double quotes", &key));
    if (keys && !next_is(r, ':')) return wrong(r, r->p, "':' after the key");
    GR_TRY(skip_value(r));
  } while (next_is(r, ','));
  r->depth--;
  if (!next_is(r, close)) return wrong(r, r->p, keys ? "',' or '}'" : "',' or ']'");
  return GR_OK;
}

static gr_status skip_value(reader *r) {
  const char *text;
  double x;
  blanks(r);
  if (word(r, "null") || word(r, "true") || word(r, "false")) return GR_OK;
  if (next_is(r, '[')) return skip_list(r, false, ']');
  if (next_is(r, '{')) return skip_list(r, true, '}');
  if (r->p < r->end && *r->p == '"') return string(r, "text", &text);
  if (r->p < r->end && (*r->p == '-' || (*r->p >= '0' && *r->p <= '9'))) return number(r, &x);
  return wrong(r, r->p, "a value");
}

static gr_status wanted_value(reader *r, gr_json_want *w) {
  blanks(r);
  if (w->col)
    return gr_fail(GR_ERR_DATA, (gr_loc){r->at.file, r->at.line, (int)(r->p - r->start) + 1},
                   "the key \"%s\" is there twice", w->key);
  w->col = (int)(r->p - r->start) + 1;
  if (word(r, "null")) return GR_OK;
  if (w->kind == GR_JSON_STRING) return string(r, "text in double quotes", &w->text);
  return number(r, &w->number);
}

static gr_status member(reader *r, gr_json_want *want, int n) {
  const char *key;
  GR_TRY(string(r, "a key in double quotes", &key));
  if (!next_is(r, ':')) return wrong(r, r->p, "':' after the key");
  for (int i = 0; i < n; i++)
    if (!strcmp(want[i].key, key))
      return gr_note(wanted_value(r, want + i), GR_NOWHERE, "in the value of \"%s\"", key);
  return skip_value(r);
}

gr_status gr_json_line(gr_arena *a, gr_loc at, const char *line, size_t len, gr_json_want *want,
                       int n) {
  reader r = {.arena = a, .at = at, .start = line, .p = line, .end = line + len};
  for (int i = 0; i < n; i++) want[i].text = NULL, want[i].number = 0, want[i].col = 0;
  if (!next_is(&r, '{')) return wrong(&r, r.p, "'{': each line is one JSON object");
  if (!next_is(&r, '}')) {
    do GR_TRY(member(&r, want, n));
    while (next_is(&r, ','));
    if (!next_is(&r, '}')) return wrong(&r, r.p, "',' or '}'");
  }
  blanks(&r);
  return r.p < r.end ? wrong(&r, r.p, "the end of the line") : GR_OK;
}
