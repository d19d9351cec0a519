// json_read.c - see json_read.h.
#include "json_read.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void skip(const char **s) { *s += strspn(*s, " \t\r\n"); }

static bool word(const char **s, const char *w) {
  size_t n = strlen(w);
  if (strncmp(*s, w, n)) return false;
  *s += n;
  return true;
}

static void put_point(gr_text *t, unsigned c) {
  char b[5] = {0};
  if (c < 0x80)
    b[0] = (char)c;
  else if (c < 0x800)
    b[0] = (char)(0xc0 | c >> 6), b[1] = (char)(0x80 | (c & 63));
  else if (c < 0x10000)
    b[0] = (char)(0xe0 | c >> 12), b[1] = (char)(0x80 | (c >> 6 & 63)),
    b[2] = (char)(0x80 | (c & 63));
  else
    b[0] = (char)(0xf0 | c >> 18), b[1] = (char)(0x80 | (c >> 12 & 63)),
    b[2] = (char)(0x80 | (c >> 6 & 63)), b[3] = (char)(0x80 | (c & 63));
  gr_text_put(t, b);
}

static unsigned hex4(const char *s) {
  char digits[5] = {0};
  memcpy(digits, s, strnlen(s, 4));
  return (unsigned)strtoul(digits, NULL, 16);
}

static void escape(const char **s, gr_text *t) {
  static const char letters[] = "bfnrt", characters[] = "\b\f\n\r\t";
  char c = *(*s)++;
  const char *named = c ? strchr(letters, c) : NULL;
  if (c != 'u') {
    gr_text_putn(t, named ? &characters[named - letters] : &c, 1);
    return;
  }
  unsigned point = hex4(*s);
  *s += 4;
  if (point >= 0xd800 && point < 0xdc00 && (*s)[0] == '\\' && (*s)[1] == 'u') {
    point = 0x10000 + ((point - 0xd800) << 10) + (hex4(*s + 2) - 0xdc00);
    *s += 6;
  }
  put_point(t, point);
}

static const char *string(gr_arena *a, const char **s) {
  gr_text t = gr_text_make(a);
  if (!word(s, "\"")) return NULL;
  while (**s && **s != '"') {
    size_t n = strcspn(*s, "\"\\");
    gr_text_putn(&t, *s, n);
    *s += n;
    if (word(s, "\\")) escape(s, &t);
  }
  return word(s, "\"") ? t.chars : NULL;
}

static gr_conf *number(gr_arena *a, const char **s) {
  char *end;
  size_t n = strspn(*s, "+-0123456789.eE");
  bool real = memchr(*s, '.', n) || memchr(*s, 'e', n) || memchr(*s, 'E', n);
  gr_conf *c = gr_conf_make(a, real ? GR_CONF_FLOAT : GR_CONF_INT, GR_NOWHERE);
  if (real)
    c->number = strtod(*s, &end);
  else
    c->integer = strtoll(*s, &end, 10);
  if (end == *s) return NULL;
  *s = end;
  return c;
}

static gr_conf *items(gr_arena *a, const char **s, bool map) {
  gr_conf *c = gr_conf_make(a, map ? GR_CONF_MAP : GR_CONF_LIST, GR_NOWHERE);
  (*s)++;
  for (skip(s); **s != (map ? '}' : ']'); skip(s)) {
    if (c->n && !word(s, ",")) return NULL;
    skip(s);
    const char *key = map ? string(a, s) : NULL;
    skip(s);
    if (map && (!key || !word(s, ":"))) return NULL;
    gr_conf *v = json_read(a, s);
    if (!v) return NULL;
    if (map)
      gr_conf_add(a, c, key, v);  // Python writes true and "true" as one name
    else
      gr_conf_append(a, c, v);
  }
  (*s)++;
  return c;
}

static gr_conf *special(gr_arena *a, double x) {
  gr_conf *c = gr_conf_make(a, GR_CONF_FLOAT, GR_NOWHERE);
  c->number = x;
  return c;
}

gr_conf *json_read(gr_arena *a, const char **s) {
  skip(s);
  if (**s == '{' || **s == '[') return items(a, s, **s == '{');
  gr_conf *c = gr_conf_make(a, GR_CONF_NULL, GR_NOWHERE);
  if (**s == '"') {
    const char *t = string(a, s);
    if (t) gr_conf_set_text(c, t);
    return t ? c : NULL;
  }
  if (word(s, "null")) return c;
  c->kind = GR_CONF_BOOL;
  if ((c->truth = word(s, "true")) || word(s, "false")) return c;
  if (word(s, "NaN")) return special(a, (double)NAN);
  if (word(s, "Infinity")) return special(a, (double)INFINITY);
  if (word(s, "-Infinity")) return special(a, -(double)INFINITY);
  return number(a, s);
}
