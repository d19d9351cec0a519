// emit.c - writes YAML byte for byte as OmegaConf.to_yaml does: PyYAML's block style, width 80,
// lists not indented inside mappings, strings quoted where they would be read as another type. The
// functions follow PyYAML's emitter.
#include <math.h>
#include <string.h>
#include "compose/tree/conf.h"
#include "compose/tree/scalar.h"

enum { WIDTH = 80, INDENT = 2, SIMPLE_KEY_MAX = 128 };

typedef struct writer {
  gr_text *out;
  int column, indent;  // indent is -1 before the first collection
  bool blank;          // whitespace was just written
  bool indention;      // only indentation and indicators are on this line so far
  uint32_t *text;      // the scalar being written, as code points
  int len, cap;
} writer;

static void put(writer *w, const char *s, int columns) {
  gr_text_put(w->out, s);
  w->column += columns;
}

static void put_point(writer *w, uint32_t c) {
  gr_text_put_code(w->out, c);
  w->column++;
}

static void put_points(writer *w, int begin, int end) {
  for (int i = begin; i < end; i++) put_point(w, w->text[i]);
}

static void line_break(writer *w) {
  put(w, "\n", 0);
  w->column = 0;
  w->blank = w->indention = true;
}

static void write_indent(writer *w) {
  int indent = w->indent < 0 ? 0 : w->indent;
  if (!w->indention || w->column > indent || (w->column == indent && !w->blank)) line_break(w);
  while (w->column < indent) put(w, " ", 1), w->blank = true;
}

static void indicator(writer *w, const char *s, bool space_before, bool blank, bool indention) {
  if (!w->blank && space_before) put(w, " ", 1);
  w->blank = blank;
  w->indention = w->indention && indention;
  put(w, s, (int)strlen(s));
}

// ---- Analysis of a scalar --------------------------------------------------------

static bool is_break(uint32_t c) { return c == '\n' || c == 0x85 || c == 0x2028 || c == 0x2029; }
static bool is_space(uint32_t c) {
  return c == 0 || c == ' ' || c == '\t' || c == '\r' || is_break(c);
}

static bool printable(uint32_t c) {
  return c == '\n' || (c >= 0x20 && c <= 0x7e) || c == 0x85 || (c >= 0xa0 && c <= 0xd7ff) ||
         (c >= 0xe000 && c <= 0xfffd && c != 0xfeff) || (c >= 0x10000 && c < 0x10ffff);
}

typedef struct allowed {
  bool plain, single, multiline;
} allowed;

static bool is_indicator(const writer *w, int i) {
  uint32_t c = w->text[i];
  bool space_after = i + 1 >= w->len || is_space(w->text[i + 1]);
  if (c >= 0x80) return false;
  if (!i && strchr("#,[]{}&*!|>'\"%@`", (int)c)) return true;
  if (!i && (c == '?' || c == '-') && space_after) return true;
  if (c == ':' && space_after) return true;
  return i && c == '#' && is_space(w->text[i - 1]);
}

static bool starts_document(const writer *w) {
  if (w->len < 3 || (w->text[0] != '-' && w->text[0] != '.')) return false;
  return w->text[0] == w->text[1] && w->text[1] == w->text[2];
}

static allowed analyse(const writer *w) {
  allowed can = {.plain = !starts_document(w), .single = true};
  for (int i = 0; i < w->len; i++) {
    uint32_t c = w->text[i], before = i ? w->text[i - 1] : 'x';
    bool edge = !i || i == w->len - 1;
    if (is_break(c)) can.multiline = true;
    if (is_indicator(w, i) || is_break(c) || (c == ' ' && edge)) can.plain = false;
    bool breaks_badly = (c == ' ' && is_break(before)) || (is_break(c) && before == ' ');
    if (breaks_badly || !printable(c)) can.plain = can.single = false;
  }
  return can;
}

// ---- Scalars ---------------------------------------------------------------------

static void write_plain(writer *w, bool split) {
  if (!w->blank) put(w, " ", 1);
  w->blank = w->indention = false;
  for (int i = 0; i < w->len;) {
    int start = i;
    bool space = w->text[i] == ' ';
    while (i < w->len && (w->text[i] == ' ') == space) i++;
    if (space && i == start + 1 && w->column > WIDTH && split) {
      write_indent(w);
      w->blank = w->indention = false;
    } else {
      put_points(w, start, i);
    }
  }
}

static void write_breaks(writer *w, int begin, int end) {
  if (w->text[begin] == '\n') line_break(w);
  for (int i = begin; i < end; i++) {
    if (w->text[i] == '\n') {
      line_break(w);
    } else {
      put_point(w, w->text[i]);
      w->column = 0, w->blank = w->indention = true;
    }
  }
  write_indent(w);
}

static void write_quoted_run(writer *w, int begin, int end) {
  for (int i = begin; i < end; i++) {
    if (w->text[i] == '\'') put(w, "'", 1);
    put_point(w, w->text[i]);
  }
}

static void write_single(writer *w, bool split) {
  indicator(w, "'", true, false, false);
  for (int i = 0; i < w->len;) {
    int start = i;
    bool space = w->text[i] == ' ', breaks = is_break(w->text[i]);
    while (i < w->len && (w->text[i] == ' ') == space && is_break(w->text[i]) == breaks) i++;
    bool inner = start && i != w->len;
    if (breaks)
      write_breaks(w, start, i);
    else if (space && i == start + 1 && w->column > WIDTH && split && inner)
      write_indent(w);
    else
      write_quoted_run(w, start, i);
  }
  indicator(w, "'", false, false, false);
}

static void put_escape(writer *w, uint32_t c) {
  static const char characters[] = "\a\b\t\n\v\f\r\033\"\\", codes[] = "abtnvfre\"\\";
  char s[16];
  const char *named = c && c < 0x80 ? strchr(characters, (int)c) : NULL;
  if (named)
    snprintf(s, sizeof s, "\\%c", codes[named - characters]);
  else if (c == 0x85 || c == 0xa0)
    snprintf(s, sizeof s, c == 0x85 ? "\\N" : "\\_");
  else if (c == 0x2028 || c == 0x2029)
    snprintf(s, sizeof s, c == 0x2028 ? "\\L" : "\\P");
  else
    snprintf(s, sizeof s, c <= 0xff ? "\\x%02X" : c <= 0xffff ? "\\u%04X" : "\\U%08X", c);
  put(w, s, (int)strlen(s));
}

static bool needs_escape(uint32_t c) {
  if (c == '"' || c == '\\' || c == 0x85 || c == 0x2028 || c == 0x2029 || c == 0xfeff) return true;
  return !((c >= 0x20 && c <= 0x7e) || (c >= 0xa0 && c <= 0xd7ff) || (c >= 0xe000 && c <= 0xfffd));
}

// Breaks a double-quoted line with a backslash when it is too long.
static int fold_double(writer *w, int start, int end) {
  put_points(w, start, end);
  put(w, "\\", 1);
  if (start < end) start = end;
  write_indent(w);
  w->blank = w->indention = false;
  if (w->text[start] == ' ') put(w, "\\", 1);
  return start;
}

static void write_double(writer *w, bool split) {
  indicator(w, "\"", true, false, false);
  int start = 0;
  for (int end = 0; end <= w->len; end++) {
    bool stop = end == w->len || needs_escape(w->text[end]);
    if (stop) {
      put_points(w, start, end);
      start = end;
      if (end < w->len) put_escape(w, w->text[end]), start = end + 1;
    }
    bool at_gap = end < w->len && (w->text[end] == ' ' || start >= end);
    if (end && end < w->len - 1 && at_gap && w->column + (end - start) > WIDTH && split)
      start = fold_double(w, start, end);
  }
  indicator(w, "\"", false, false, false);
}

static void decode(writer *w, const char *s) {
  int most = (int)strlen(s);
  if (most > w->cap) w->text = GR_NEW(w->out->arena, uint32_t, w->cap = 2 * most);
  w->len = 0;
  for (const unsigned char *p = (const unsigned char *)s; *p;) {
    int more = *p < 0x80 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
    uint32_t c = more == 0 ? *p : more == 1 ? *p & 31u : more == 2 ? *p & 15u : *p & 7u;
    for (p++; more > 0 && (*p & 0xc0) == 0x80; more--) c = c << 6 | (*p++ & 63u);
    w->text[w->len++] = c;
  }
}

// Whether a string needs quotes: words for bools (also y and n), what Python's int() or float()
// accept, and everything that a YAML 1.1 reader would not read as a string.
static bool reads_as_other(const char *s) {
  double number;
  int64_t integer;
  if (*s && !s[1] && strchr("yYnN", *s)) return true;
  if (gr_scalar_py_float(s, &number) || gr_scalar_py_int(s, &integer)) return true;
  return gr_scalar_resolve(s, false) != GR_SCALAR_TEXT;
}

static void write_text(writer *w, const char *s, bool key, bool is_text) {
  decode(w, s);
  allowed can = analyse(w);
  int indent = w->indent;
  w->indent = indent < 0 ? INDENT : indent + INDENT;
  if (can.plain && w->len && !(is_text && reads_as_other(s)))
    write_plain(w, !key);
  else if (can.single && !(key && can.multiline))
    write_single(w, !key);
  else
    write_double(w, !key);
  w->indent = indent;
}

// Formats a float with a dot, which YAML 1.1 requires.
static const char *float_text(gr_arena *a, double x) {
  if (isnan(x)) return ".nan";
  if (isinf(x)) return x > 0 ? ".inf" : "-.inf";
  gr_text t = gr_text_make(a);
  gr_text_put_float(&t, x);
  const char *e = strchr(t.chars, 'e');
  return e && !strchr(t.chars, '.') ? gr_arena_printf(a, "%.*s.0%s", (int)(e - t.chars), t.chars, e)
                                    : t.chars;
}

static void write_leaf(writer *w, const gr_conf *c) {
  gr_text word = gr_text_make(w->out->arena);
  if (c->kind == GR_CONF_FLOAT)
    write_text(w, float_text(w->out->arena, c->number), false, false);
  else if (gr_conf_put_word(&word, c, "null", "true", "false"))
    write_text(w, word.chars, false, false);
  else
    write_text(w, c->text, false, true);
}

// ---- Collections -----------------------------------------------------------------

static void write_node(writer *w, const gr_conf *c, bool in_map);

static bool simple_key(const char *key) {
  return *key && !strpbrk(key, "\n") && strlen(key) < SIMPLE_KEY_MAX;
}

static const char *key_text(writer *w, const gr_conf *m, int i) {
  bool is_float = m->items[i]->key_kind == GR_CONF_FLOAT;
  return is_float ? float_text(w->out->arena, gr_conf_key(m, i).number) : m->keys[i];
}

static void write_map(writer *w, const gr_conf *m) {
  for (int i = 0; i < m->n; i++) {
    bool is_text = !m->items[i]->key_kind;
    const char *key = key_text(w, m, i);
    write_indent(w);
    if (simple_key(key)) {
      write_text(w, key, true, is_text);
      indicator(w, ":", false, false, false);
    } else {
      indicator(w, "?", true, false, true);
      write_text(w, key, false, is_text);
      write_indent(w);
      indicator(w, ":", true, false, true);
    }
    write_node(w, m->items[i], true);
  }
}

static void write_list(writer *w, const gr_conf *list) {
  for (int i = 0; i < list->n; i++) {
    write_indent(w);
    indicator(w, "-", true, false, true);
    write_node(w, list->items[i], false);
  }
}

static void write_node(writer *w, const gr_conf *c, bool in_map) {
  bool map = c->kind == GR_CONF_MAP;
  if (!map && c->kind != GR_CONF_LIST) {
    write_leaf(w, c);
    return;
  }
  if (!c->n) {
    indicator(w, map ? "{}" : "[]", true, false, false);
    return;
  }
  int indent = w->indent;
  bool flat = !map && in_map && !w->indention;
  w->indent = indent < 0 ? 0 : flat ? indent : indent + INDENT;
  if (map)
    write_map(w, c);
  else
    write_list(w, c);
  w->indent = indent;
}

void gr_conf_yaml(gr_text *out, const gr_conf *c) {
  writer w = {.out = out, .indent = -1, .blank = true, .indention = true};
  write_node(&w, c, false);
  gr_text_put(out, "\n");
}
