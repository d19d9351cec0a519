// override.c - parses the key of an override, and writes values. See override.h.
#include "compose/override/override.h"
#include <string.h>
#include "compose/tree/lexis.h"

#define ARGUMENT "argument "

// "argument 3", the file name in locations.
static const char *argument_name(gr_arena *a, int number) {
  return gr_arena_printf(a, ARGUMENT "%d", number);
}

bool gr_override_is_place(gr_loc loc) {
  return loc.file && !strncmp(loc.file, ARGUMENT, strlen(ARGUMENT));
}

static bool key_char(char c, bool first) {
  bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
  return letter || (!first && ((c >= '0' && c <= '9') || c == '-'));
}

// The length of a name, which may contain '$'; then *plain is cleared.
static size_t key_name(const char *s, bool *plain) {
  size_t n = 0;
  while (key_char(s[n], !n)) {
    if (s[n] == '$') *plain = false;
    n++;
  }
  return n;
}

static size_t key_part(const char *s, bool *plain) {
  size_t number = strspn(s, "0123456789_");
  if (*s == '0') number = 1;
  return *s >= '0' && *s <= '9' ? number : key_name(s, plain);
}

// The length of name.part.part ...; *dots and *plain tell what it contains. A number alone is not a
// key.
static size_t dotted(const char *s, bool *dots, bool *plain) {
  size_t n = key_part(s, plain);
  *dots = false;
  while (n && s[n] == '.') {
    size_t more = key_part(s + n + 1, plain);
    if (!more) break;
    n += 1 + more, *dots = true;
  }
  return *dots || key_char(*s, true) ? n : 0;
}

static size_t package_or_group(const char *s) {
  bool dots, plain = true;
  size_t n = dotted(s, &dots, &plain);
  if (dots || !plain) return n;
  while (n && s[n] == '/') {
    size_t more = key_name(s + n + 1, &plain);
    if (!more || !plain) break;
    n += 1 + more;
  }
  return n;
}

static gr_status bad_key(const gr_override *o, const char *where) {
  gr_loc place = o->loc;
  place.col += (int)(where - o->line);
  if (!*where || !strchr(o->line, '='))
    return gr_hint(
        gr_fail(GR_ERR_USAGE, place, "'%s' has no '='", o->line),
        "write KEY=VALUE, +KEY=VALUE to add a key, or ~KEY to remove one, without spaces "
        "around '='");
  gr_status s =
      gr_fail(GR_ERR_USAGE, place,
              *where == '\'' ? "\"%c\" cannot be in a key" : "'%c' cannot be in a key", *where);
  if (*where == ' ' || *where == '\t') return gr_hint(s, "write no space before '='");
  if (*where == '\'' || *where == '"')
    return gr_hint(s, "only the value may be quoted: KEY=\"...\"");
  if (*where == '[') return gr_hint(s, "write elements of lists with dots: list.0=VALUE");
  if (*where >= '0' && *where <= '9') return gr_hint(s, "keys start with a letter, '_' or '$'");
  return gr_hint(s, "keys are names joined by '.', groups are names joined by '/'");
}

static const char *read_prefix(gr_override *o) {
  const char *s = o->line;
  if (*s == '~') return o->kind = GR_OVERRIDE_DELETE, s + 1;
  if (*s != '+') return o->kind = GR_OVERRIDE_CHANGE, s;
  o->kind = s[1] == '+' ? GR_OVERRIDE_FORCE : GR_OVERRIDE_ADD;
  return s + (s[1] == '+' ? 2 : 1);
}

static gr_status read_value(gr_arena *a, gr_override *o, const char *text) {
  text += gr_lexis_space(text);
  o->has_value = true;
  o->value_loc.col = o->loc.col + (int)(text - o->line);
  if (*text) return gr_value_parse(a, text, o->value_loc, &o->value);
  o->value.one = gr_conf_make_text(a, "", o->value_loc);
  return GR_OK;
}

gr_status gr_override_parse(gr_arena *a, const char *line, int number, gr_override *o) {
  gr_loc loc = {argument_name(a, number), 1, 1};
  *o = (gr_override){.line = line, .loc = loc, .value_loc = loc};
  gr_source_add(loc.file, line);
  const char *s = read_prefix(o);
  size_t n = package_or_group(s);
  o->key = gr_arena_strndup(a, s, n);
  s += n;
  if (*s == '@') {
    bool dots, plain = true;
    n = dotted(++s, &dots, &plain);
    o->package = gr_arena_strndup(a, s, n);
    s += n;
  }
  o->element = gr_arena_strndup(a, line, (size_t)(s - line));
  if (*s == '=') return read_value(a, o, s + 1);
  if (!*s && o->kind == GR_OVERRIDE_DELETE) return GR_OK;
  return bad_key(o, s);
}

// ---- Writing ---------------------------------------------------------------------
