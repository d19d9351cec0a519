// write.c - writes a value as an override has it. See override.h.
#include <string.h>
#include "compose/override/override.h"
#include "compose/tree/lexis.h"
#include "compose/tree/scalar.h"

static void write_escaped(gr_text *t, const char *s) {
  for (; *s; s++) {
    if (strchr("\\()[]{}:=, \t", *s)) gr_text_put(t, "\\");
    gr_text_putn(t, s, 1);
  }
}

// Backslashes are doubled only before a quote, because elsewhere they are not special.
static void write_quoted(gr_text *t, const char *s, char quote) {
  gr_text_putn(t, &quote, 1);
  while (*s) {
    size_t slashes = strspn(s, "\\");
    bool special = s[slashes] == quote || !s[slashes];
    for (size_t i = 0; i < slashes * (special ? 2 : 1); i++) gr_text_put(t, "\\");
    s += slashes;
    if (*s == quote) gr_text_put(t, "\\");
    if (*s) gr_text_putn(t, s++, 1);
  }
  gr_text_putn(t, &quote, 1);
}

// Whether a string can be written without quotes: "a b" can, as a\ b; "a'b" cannot.
static bool is_bare(const char *s) {
  while (*s && (gr_lexis_name(s) || strchr("0123456789/-\\+.$%*@?|()[]{}:=, \t", *s))) s++;
  return !*s;
}

void gr_value_write(gr_text *t, const gr_conf *c) {
  if (c->kind == GR_CONF_MAP || c->kind == GR_CONF_LIST)
    gr_conf_put_items(t, c, ",", ":", gr_value_write);
  else if (c->kind == GR_CONF_FLOAT)
    gr_scalar_py_put(t, c->number);
  else if (gr_conf_put_word(t, c, "null", "true", "false"))
    return;
  else if (c->quote)
    write_quoted(t, c->text, c->quote);
  else if (!is_bare(c->text))
    write_quoted(t, c->text, strchr(c->text, '\'') ? '"' : '\'');
  else
    write_escaped(t, c->text);
}

// A backslash before ${ makes it no interpolation, and those in front of it are doubled then.
char *gr_override_of_text(gr_arena *a, const char *element, const char *text) {
  gr_text plain = gr_text_make(a), out = gr_text_make(a);
  for (const char *s = text; *s;) {
    size_t slashes = strspn(s, "\\");
    bool opens = !strncmp(s + slashes, "${", 2);
    for (size_t i = 0; i < (opens ? 2 * slashes + 1 : slashes); i++) gr_text_put(&plain, "\\");
    s += slashes;
    if (*s) gr_text_putn(&plain, s++, 1);
  }
  gr_text_printf(&out, "%s=", element);
  write_quoted(&out, plain.chars, '"');
  return out.chars;
}
