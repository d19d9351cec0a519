// scalar.c - see scalar.h.
#include "compose/tree/scalar.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool digit(char c) { return c >= '0' && c <= '9'; }

static const char *sign(const char *s) { return *s == '-' || *s == '+' ? s + 1 : s; }

static bool one_of(const char *s, const char *const *words) {
  for (; *words; words++)
    if (*s == **words && !strcmp(s, *words)) return true;
  return false;
}

// ---- Forms of YAML 1.1 (yaml.org/type) and of OmegaConf -----------------------------------------

typedef enum form { YAML_FLOAT, OMEGA_FLOAT, YAML_INT, YAML_TIME, FORMS } form;

#define SIXTIES "(:[0-5]?[0-9])"
static const char *const expressions[FORMS] = {
    [YAML_FLOAT] =
        "^([-+]?[0-9][0-9_]*[.][0-9_]*([eE][-+][0-9]+)?"
        "|[.][0-9][0-9_]*([eE][-+][0-9]+)?"
        "|[-+]?[0-9][0-9_]*" SIXTIES
        "+[.][0-9_]*"
        "|[-+]?[.](inf|Inf|INF)|[.](nan|NaN|NAN))$",
    // an exponent needs neither a dot before it nor a sign
    [OMEGA_FLOAT] = "^[-+]?[0-9](_?[0-9])*([.][0-9_]*([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)$",
    [YAML_INT] = "^[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*" SIXTIES "*)$",
    [YAML_TIME] =
        "^[0-9]{4}-([0-9]{2}-[0-9]{2}"
        "|[0-9]{1,2}-[0-9]{1,2}([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}([.][0-9]*)?"
        "[ \t]*(Z|[-+][0-9]{1,2}(:[0-9]{2})?)?)$"};
static regex_t compiled[FORMS];

static void compile_forms(void) {
  for (int f = 0; f < FORMS; f++)
    if (regcomp(&compiled[f], expressions[f], REG_EXTENDED | REG_NOSUB)) abort();
}

static bool has_form(const char *s, form f) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, compile_forms);
  return !regexec(&compiled[f], s, 0, NULL, 0);
}

gr_scalar_kind gr_scalar_resolve(const char *s, bool omega) {
  static const char *const bools[] = {"yes",  "Yes",  "YES",   "no",    "No",    "NO", "true",
                                      "True", "TRUE", "false", "False", "FALSE", "on", "On",
                                      "ON",   "off",  "Off",   "OFF",   NULL};
  static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
  if (!digit(*s) && *s != '-' && *s != '+' && *s != '.')
    return one_of(s, bools)   ? GR_SCALAR_BOOL
           : one_of(s, nulls) ? GR_SCALAR_NULL
           : !strcmp(s, "<<") ? GR_SCALAR_MERGE
           : !strcmp(s, "=")  ? GR_SCALAR_VALUE
                              : GR_SCALAR_TEXT;
  if (has_form(s, YAML_FLOAT)) return GR_SCALAR_FLOAT;
  if (has_form(s, YAML_INT)) return GR_SCALAR_INT;
  if (omega) return has_form(s, OMEGA_FLOAT) ? GR_SCALAR_FLOAT : GR_SCALAR_TEXT;
  return has_form(s, YAML_TIME) ? GR_SCALAR_TIME : GR_SCALAR_TEXT;
}

static const char *without_underscores(gr_arena *a, const char *text) {
  if (!strchr(text, '_')) return text;
  char *out = gr_arena_strdup(a, text), *to = out;
  for (const char *s = text; *s; s++)
    if (*s != '_') *to++ = *s;
  *to = 0;
  return out;
}

// Sexagesimal numbers of YAML 1.1, such as 12:30:45.
static double sixty_float(const char *s) {
  double total = 0;
  for (char *end; *s; s = *end == ':' ? end + 1 : end) {
    total = total * 60 + strtod(s, &end);
    if (end == s) break;
  }
  return total;
}

static double to_float(gr_arena *a, const char *text) {
  const char *s = without_underscores(a, text);
  double by = *s == '-' ? -1 : 1;
  s = sign(s);
  if (s[0] == '.' && (s[1] == 'i' || s[1] == 'I')) return by * (double)INFINITY;
  if (s[0] == '.' && (s[1] == 'n' || s[1] == 'N')) return (double)NAN;
  return by * (strchr(s, ':') ? sixty_float(s) : strtod(s, NULL));
}

static bool to_unsigned(const char *s, int base, uint64_t *out) {
  char *end;
  errno = 0;
  *out = strtoull(s, &end, base);
  return !errno && end != s && !*end;
}

static bool sixty_int(const char *s, uint64_t *out) {
  *out = 0;
  for (;;) {
    char *end;
    uint64_t part = strtoull(s, &end, 10);
    if (__builtin_mul_overflow(*out, 60u, out) || __builtin_add_overflow(*out, part, out))
      return false;
    if (!*end) return true;
    s = end + 1;
  }
}

static bool signed_of(uint64_t size, bool minus, int64_t *out) {
  if (size > (uint64_t)INT64_MAX + minus) return false;
  *out = minus ? (int64_t)(0 - size) : (int64_t)size;
  return true;
}

static bool to_int(gr_arena *a, const char *text, int64_t *out) {
  const char *s = without_underscores(a, text);
  bool minus = *s == '-', good;
  s = sign(s);
  uint64_t u = 0;
  if (!digit(*s)) return false;
  if (s[0] == '0' && s[1] == 'b')
    good = isxdigit((unsigned char)s[2]) && to_unsigned(s + 2, 2, &u);
  else if (s[0] == '0' && s[1] == 'x')
    good = isxdigit((unsigned char)s[2]) && to_unsigned(s + 2, 16, &u);
  else if (s[0] == '0')
    good = to_unsigned(s, 8, &u);
  else if (strchr(s, ':'))
    good = sixty_int(s, &u);
  else
    good = to_unsigned(s, 10, &u);
  return good && signed_of(u, minus, out);
}

gr_status gr_scalar_set(gr_arena *a, gr_conf *c, gr_scalar_kind type, const char *text) {
  switch (type) {
    case GR_SCALAR_NULL:
      c->kind = GR_CONF_NULL;
      c->spelt = *text && *text != '~';
      return GR_OK;
    case GR_SCALAR_BOOL:
      c->kind = GR_CONF_BOOL;
      c->truth = strchr("yYtT", *text) || !strcasecmp(text, "on");
      return GR_OK;
    case GR_SCALAR_INT:
      c->kind = GR_CONF_INT;
      if (to_int(a, text, &c->integer)) return GR_OK;
      return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "'%s' is not an integer of 64 bits", text),
                     "quote it to make it a string, or write it as a float, with a '.'");
    case GR_SCALAR_FLOAT:
      c->kind = GR_CONF_FLOAT;
      c->number = to_float(a, text);
      return GR_OK;
    case GR_SCALAR_MERGE:
    case GR_SCALAR_VALUE:
      return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "'%s' cannot be a value in YAML", text),
                     "quote it to make it a string: '%s'", text);
    default:
      gr_conf_set_text(c, text);
      return GR_OK;
  }
}

// ---- Tags ------------------------------------------------------------------------

gr_status gr_scalar_bad_tag(const gr_conf *c, const char *tag) {
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, c->loc, "the tag '%s' is not supported", tag),
      "supported are !!str !!int !!float !!bool !!null !!map !!seq; quote a string that starts "
      "with '!'");
}

// A tagged number is converted by Python's int() or float(), which accept more than a plain scalar:
// surrounding white space, "inf", ...
static gr_status tagged_number(gr_arena *a, gr_conf *c, const char *kind, const char *text) {
  gr_scalar_kind found = gr_scalar_resolve(text, true);
  bool number = found == GR_SCALAR_INT || found == GR_SCALAR_FLOAT;
  if (!strcmp(kind, "int")) {
    c->kind = GR_CONF_INT;
    if (found == GR_SCALAR_INT) return gr_scalar_set(a, c, found, text);
    if (gr_scalar_py_int(text, &c->integer)) return GR_OK;
  } else if (!strcmp(kind, "float")) {
    c->kind = GR_CONF_FLOAT;
    if (number) return gr_scalar_set(a, c, GR_SCALAR_FLOAT, text);
    if (gr_scalar_py_float(text, &c->number)) return GR_OK;
  } else if (found == GR_SCALAR_BOOL) {
    return gr_scalar_set(a, c, found, text);
  }
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "'%s' is tagged !!%s but is not one", text, kind),
                 "remove the tag, or give another value");
}

gr_status gr_scalar_tagged(gr_arena *a, gr_conf *c, const char *tag, const char *text) {
  static const char prefix[] = "tag:yaml.org,2002:";
  if (!strcmp(tag, "!")) return gr_scalar_set(a, c, gr_scalar_resolve(text, true), text);
  const char *kind = tag + strlen(prefix);
  if (strncmp(tag, prefix, strlen(prefix))) return gr_scalar_bad_tag(c, tag);
  if (!strcmp(kind, "str")) return gr_scalar_set(a, c, GR_SCALAR_TEXT, text);
  if (!strcmp(kind, "null")) return gr_scalar_set(a, c, GR_SCALAR_NULL, text);
  if (!strcmp(kind, "int") || !strcmp(kind, "float") || !strcmp(kind, "bool"))
    return tagged_number(a, c, kind, text);
  return gr_scalar_bad_tag(c, tag);
}

// ---- Python's numbers ------------------------------------------------------------

// The text without surrounding white space and without underscores between digits; NULL: it cannot
// be a number.
static const char *py_clean(const char *text, char *buf, size_t size) {
  static const char *const space = " \t\n\r\f\v";
  text += strspn(text, space);
  if (!strchr("0123456789+-.iInN", *text)) return NULL;
  size_t len = strlen(text), used = 0;
  while (len && strchr(space, text[len - 1])) len--;
  if (!len || len >= size) return NULL;
  for (size_t i = 0; i < len; i++) {
    if (text[i] == '_') {
      if (!i || !digit(text[i - 1]) || !digit(text[i + 1])) return NULL;
    } else {
      buf[used++] = text[i];
    }
  }
  buf[used] = 0;
  return buf;
}

bool gr_scalar_py_float(const char *text, double *out) {
  static const char *const words[] = {"inf", "infinity", "nan", NULL};
  char buf[512], *end;
  const char *s = py_clean(text, buf, sizeof buf);
  if (!s) return false;
  const char *body = sign(s);
  for (int i = 0; words[i]; i++)
    if (!strcasecmp(body, words[i])) {
      *out = strtod(s, NULL);
      return true;
    }
  if (!digit(*body) && !(*body == '.' && digit(body[1]))) return false;
  if (body[0] == '0' && (body[1] == 'x' || body[1] == 'X')) return false;
  *out = strtod(s, &end);
  return !*end;
}

bool gr_scalar_py_int(const char *text, int64_t *out) {
  char buf[512];
  const char *s = py_clean(text, buf, sizeof buf);
  if (!s) return false;
  bool minus = *s == '-';
  s = sign(s);
  uint64_t u;
  return digit(*s) && to_unsigned(s, 10, &u) && signed_of(u, minus, out);
}

void gr_scalar_py_put(gr_text *t, double x) {
  if (isnan(x))
    gr_text_put(t, "nan");
  else if (isinf(x))
    gr_text_put(t, x > 0 ? "inf" : "-inf");
  else
    gr_text_put_float(t, x);
}
