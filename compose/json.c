// json.c - a tree of configuration as JSON: keys in order, floats that stay floats.
#include "compose/conf.h"

static void newline(gr_text *t, int indent, int depth) {
  if (indent <= 0) return;
  gr_text_printf(t, "\n%*s", indent * depth, "");
}

static void write(gr_text *t, const gr_conf *c, int indent, int depth);

static void write_items(gr_text *t, const gr_conf *c, int indent, int depth) {
  for (int i = 0; i < c->n; i++) {
    if (i) gr_text_put(t, indent > 0 ? "," : ", ");
    newline(t, indent, depth + 1);
    if (c->kind == GR_CONF_MAP) {
      gr_text_json(t, c->keys[i]);
      gr_text_put(t, ": ");
    }
    write(t, c->items[i], indent, depth + 1);
  }
  if (c->n) newline(t, indent, depth);
}

static void write(gr_text *t, const gr_conf *c, int indent, int depth) {
  switch (c->kind) {
    case GR_CONF_NULL:
      gr_text_put(t, "null");
      return;
    case GR_CONF_BOOL:
      gr_text_put(t, c->truth ? "true" : "false");
      return;
    case GR_CONF_INT:
      gr_text_printf(t, "%lld", (long long)c->integer);
      return;
    case GR_CONF_FLOAT:
      gr_text_json_float(t, c->number);
      return;
    case GR_CONF_MAP:
    case GR_CONF_LIST:
      gr_text_put(t, c->kind == GR_CONF_MAP ? "{" : "[");
      write_items(t, c, indent, depth);
      gr_text_put(t, c->kind == GR_CONF_MAP ? "}" : "]");
      return;
    default:
      gr_text_json(t, c->text);
  }
}

void gr_conf_json(gr_text *t, const gr_conf *c, int indent) {
  write(t, c, indent, 0);
  if (indent > 0) gr_text_put(t, "\n");
}
