// json_write.c - writes a configuration tree as JSON: keys in order, floats with a dot or exponent.
#include "compose/tree/conf.h"

bool gr_conf_put_word(gr_text *t, const gr_conf *c, const char *null, const char *yes,
                      const char *no) {
  if (c->kind == GR_CONF_INT)
    gr_text_printf(t, "%lld", (long long)c->integer);
  else if (c->kind == GR_CONF_NULL || c->kind == GR_CONF_BOOL)
    gr_text_put(t, c->kind == GR_CONF_NULL ? null : c->truth ? yes : no);
  else
    return false;
  return true;
}

static void newline(gr_text *t, int indent, int depth) {
  if (indent <= 0) return;
  gr_text_printf(t, "\n%*s", indent * depth, "");
}

typedef struct style {
  int indent;
  bool written;  // see gr_conf_json_written
} style;

static void json_write_value(gr_text *t, const gr_conf *c, const style *, int depth);

static void write_items(gr_text *t, const gr_conf *c, const style *s, int depth) {
  for (int i = 0; i < c->n; i++) {
    if (i) gr_text_put(t, s->indent > 0 ? "," : ", ");
    newline(t, s->indent, depth + 1);
    if (c->kind == GR_CONF_MAP) {
      gr_text_json(t, c->keys[i]);
      gr_text_put(t, ": ");
    }
    json_write_value(t, c->items[i], s, depth + 1);
  }
  if (c->n) newline(t, s->indent, depth);
}

static void json_write_value(gr_text *t, const gr_conf *c, const style *s, int depth) {
  if (s->written && c->from_env && c->raw) {
    gr_text_json(t, c->raw);
  } else if (c->kind == GR_CONF_MAP || c->kind == GR_CONF_LIST) {
    gr_text_put(t, c->kind == GR_CONF_MAP ? "{" : "[");
    write_items(t, c, s, depth);
    gr_text_put(t, c->kind == GR_CONF_MAP ? "}" : "]");
  } else if (c->kind == GR_CONF_FLOAT) {
    gr_text_json_float(t, c->number);
  } else if (!gr_conf_put_word(t, c, "null", "true", "false")) {
    gr_text_json(t, c->text);
  }
}

void gr_conf_json(gr_text *t, const gr_conf *c, int indent) {
  json_write_value(t, c, &(style){.indent = indent}, 0);
  if (indent > 0) gr_text_put(t, "\n");
}

void gr_conf_json_written(gr_text *t, const gr_conf *c, int indent) {
  json_write_value(t, c, &(style){.indent = indent, .written = true}, 0);
}
