// pytext.c - formats values as Python's str() and repr() do, for interpolations inside strings.
#include <string.h>
#include "compose/interp/interp.h"
#include "compose/tree/scalar.h"

// 'text', or "text" if it contains ' and no ", as Python's repr().
static void put_repr(gr_text *t, const char *s) {
  char quote = strchr(s, '\'') && !strchr(s, '"') ? '"' : '\'';
  gr_text_putn(t, &quote, 1);
  for (; *s; s++) {
    if (*s == '\n')
      gr_text_put(t, "\\n");
    else if (*s == '\t')
      gr_text_put(t, "\\t");
    else if (*s == '\r')
      gr_text_put(t, "\\r");
    else if (*s == '\\' || *s == quote)
      gr_text_printf(t, "\\%c", *s);
    else if ((unsigned char)*s < 32 || *s == 127)
      gr_text_printf(t, "\\x%02x", (unsigned)*s);
    else
      gr_text_putn(t, s, 1);
  }
  gr_text_putn(t, &quote, 1);
}

static void put_item(gr_text *t, const gr_conf *c);

// Inside a mapping or list, interpolations are not evaluated.
static void put(gr_text *t, const gr_conf *c, bool inner) {
  if (inner && c->raw)
    put_repr(t, c->raw);
  else if (c->kind == GR_CONF_MAP || c->kind == GR_CONF_LIST)
    gr_conf_put_items(t, c, ", ", ": ", put_item);
  else if (c->kind == GR_CONF_FLOAT)
    gr_scalar_py_put(t, c->number);
  else if (gr_conf_put_word(t, c, "None", "True", "False"))
    return;
  else if (inner)
    put_repr(t, c->text);
  else
    gr_text_put(t, c->text);
}

static void put_item(gr_text *t, const gr_conf *c) { put(t, c, true); }

void gr_conf_py_str(gr_text *t, const gr_conf *c) { put(t, c, false); }
