// lexis.c - matches tokens of OmegaConf's grammar. See lexis.h.
#include "compose/tree/lexis.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "compose/tree/scalar.h"

static bool digit(char c) { return c >= '0' && c <= '9'; }
static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

size_t gr_lexis_space(const char *s) { return strspn(s, " \t"); }

size_t gr_lexis_name(const char *s) {
  size_t n = 0;
  if (!letter(*s) && *s != '_') return 0;
  while (letter(s[n]) || digit(s[n]) || s[n] == '_' || s[n] == '-') n++;
  return n;
}

// [0-9](_?[0-9])*
static size_t digits(const char *s) {
  size_t n = 0;
  if (!digit(*s)) return 0;
  while (digit(s[n]) || (s[n] == '_' && digit(s[n + 1]))) n++;
  return n;
}

static size_t plain_int(const char *s) { return *s == '0' ? 1 : digits(s); }

static size_t sign(const char *s) { return *s == '+' || *s == '-'; }

size_t gr_lexis_int(const char *s) {
  size_t n = plain_int(s + sign(s));
  return n ? n + sign(s) : 0;
}

size_t gr_lexis_float(const char *s) {
  size_t lead = sign(s), n = plain_int(s + lead), whole = n;
  const char *body = s + lead;
  if (!strncasecmp(body, "inf", 3) || !strncasecmp(body, "nan", 3)) return lead + 3;
  if (body[n] == '.' && (whole || digit(body[n + 1]))) n += 1 + digits(body + n + 1);
  bool point = n > whole;
  if (n && (body[n] == 'e' || body[n] == 'E')) {
    size_t power = digits(body + n + 1 + sign(body + n + 1));
    if (power) return lead + n + 1 + sign(body + n + 1) + power;
  }
  return point ? lead + n : 0;
}

size_t gr_lexis_escape(const char *s, const char *set) {
  size_t n = 0;
  while (s[n] == '\\' && s[n + 1] && strchr(set, s[n + 1])) n += 2;
  return n;
}

gr_status gr_lexis_type(gr_arena *a, gr_conf *c, const char *word) {
  size_t len = strlen(word);
  if (!strcasecmp(word, "null")) {
    c->kind = GR_CONF_NULL;
    c->spelt = true;
  } else if (!strcasecmp(word, "true") || !strcasecmp(word, "false")) {
    c->kind = GR_CONF_BOOL;
    c->truth = tolower((unsigned char)*word) == 't';
  } else if (gr_lexis_float(word) == len && len) {
    c->kind = GR_CONF_FLOAT;
    (void)gr_scalar_py_float(word, &c->number);
  } else if (gr_lexis_int(word) == len && len) {
    c->kind = GR_CONF_INT;
    if (!gr_scalar_py_int(word, &c->integer))
      return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "'%s' is not an integer of 64 bits", word),
                     "quote it to make it a string, or write it as a float, with a '.'");
  } else {
    gr_conf_set_text(c, gr_arena_strdup(a, word));
  }
  return GR_OK;
}
