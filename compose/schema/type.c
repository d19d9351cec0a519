// type.c - types of configuration keys: parses their notation, matches values, describes types in
// words.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "compose/schema/schema.h"

static const struct {
  const char *name, *says;
  gr_schema_kind kind;
} names[] = {
    {"int", "an integer", GR_SCHEMA_INT},      {"float", "a number", GR_SCHEMA_FLOAT},
    {"bool", "true or false", GR_SCHEMA_BOOL}, {"string", "a string", GR_SCHEMA_TEXT},
    {"path", "a path", GR_SCHEMA_PATH},        {"null", "null", GR_SCHEMA_NULL},
    {"any", "any value", GR_SCHEMA_ANY},       {"mapping", "a mapping", GR_SCHEMA_MAP},
};
enum { N_NAMES = sizeof names / sizeof *names };

static void skip(const char **s) { *s += strspn(*s, " "); }

// Reads one bound: ">= 1", "< 2".
static void read_bound(const char **s, gr_schema_type *t) {
  bool below = **s == '<', open = (*s)[1] != '=';
  char *end;
  *s += open ? 1 : 2;
  int64_t whole = strtoll(*s, NULL, 10);
  double x = strtod(*s, &end);
  *s = end;
  if (below)
    t->most = x, t->open_most = open, t->max = whole - open;
  else
    t->least = x, t->open_least = open, t->min = whole + open;
}

static gr_schema_type *read_alternatives(gr_arena *a, const char **s);

static void read_one(gr_arena *a, const char **s, gr_schema_type *t) {
  *t = (gr_schema_type){.kind = GR_SCHEMA_WORD,
                        .least = -(double)INFINITY,
                        .most = (double)INFINITY,
                        .min = INT32_MIN,
                        .max = INT32_MAX};
  if (**s == '[') {
    ++*s;
    t->kind = GR_SCHEMA_LIST;
    t->item = read_alternatives(a, s);
    if (**s == ';') {
      char *end;
      t->length = (int)strtol(*s + 1, &end, 10);
      *s = end;
    }
    *s += **s == ']';
    return;
  }
  bool quoted = **s == '\'';
  *s += quoted;
  size_t n = strcspn(*s, quoted ? "'" : " |];");
  t->word = gr_arena_strndup(a, *s, n);
  *s += n + quoted;
  for (int i = 0; i < N_NAMES && !quoted; i++)
    if (!strcmp(t->word, names[i].name)) t->kind = names[i].kind;
  for (skip(s); **s == '<' || **s == '>'; skip(s)) read_bound(s, t);
}

static gr_schema_type *read_alternatives(gr_arena *a, const char **s) {
  gr_schema_type *t = GR_NEW(a, gr_schema_type, 1);
  skip(s);
  read_one(a, s, t);
  skip(s);
  if (**s != '|') return t;
  ++*s;
  t->next = read_alternatives(a, s);
  return t;
}

gr_schema_type *gr_schema_type_read(gr_arena *a, const char *text) {
  return read_alternatives(a, &text);
}

// ---- Matching --------------------------------------------------------------------

static bool in_bounds(const gr_schema_type *t, double x) {
  bool above = t->open_least ? x > t->least : x >= t->least;
  return above && (t->open_most ? x < t->most : x <= t->most);
}

static bool fits_list(const gr_schema_type *t, gr_conf *c) {
  if (c->kind != GR_CONF_LIST || (t->length && c->n != t->length)) return false;
  for (int i = 0; i < c->n; i++)
    if (!gr_schema_type_fits(t->item, c->items[i])) return false;
  return true;
}

// The word null is YAML's null where it is written out.
static bool fits_word(const gr_schema_type *t, gr_conf *c) {
  const char *text = c->kind == GR_CONF_TEXT               ? c->text
                     : c->kind == GR_CONF_NULL && c->spelt ? "null"
                                                           : "";
  if (strcasecmp(text, t->word)) return false;
  c->kind = GR_CONF_TEXT, c->text = t->word;
  return true;
}

static bool fits_one(const gr_schema_type *t, gr_conf *c) {
  switch (t->kind) {
    case GR_SCHEMA_INT:
      return c->kind == GR_CONF_INT && c->integer >= t->min && c->integer <= t->max;
    case GR_SCHEMA_FLOAT:
      return (c->kind == GR_CONF_INT && in_bounds(t, (double)c->integer)) ||
             (c->kind == GR_CONF_FLOAT && in_bounds(t, c->number) && isfinite(c->number));
    case GR_SCHEMA_BOOL:
      return c->kind == GR_CONF_BOOL;
    case GR_SCHEMA_TEXT:
      return c->kind == GR_CONF_TEXT;
    case GR_SCHEMA_PATH:
      return c->kind == GR_CONF_TEXT && *c->text;
    case GR_SCHEMA_NULL:
      return c->kind == GR_CONF_NULL;
    case GR_SCHEMA_WORD:
      return fits_word(t, c);
    case GR_SCHEMA_MAP:
      return c->kind == GR_CONF_MAP;
    case GR_SCHEMA_LIST:
      return fits_list(t, c);
    default:
      return true;
  }
}

bool gr_schema_type_fits(const gr_schema_type *t, gr_conf *c) {
  for (; t; t = t->next)
    if (fits_one(t, c)) return true;
  return false;
}

bool gr_schema_holds(gr_arena *a, const gr_schema_key *k, gr_schema_kind kind) {
  for (const gr_schema_type *t = gr_schema_type_read(a, k->type); t; t = t->next)
    for (const gr_schema_type *item = t; item; item = item->item)
      if (item->kind == kind) return true;
  return false;
}

// ---- Writing ---------------------------------------------------------------------

static void write_range(gr_text *out, const gr_schema_type *t) {
  if (t->max == INT64_MAX)
    gr_text_printf(out, " of at least %lld", (long long)t->min);
  else
    gr_text_printf(out, " from %lld to %lld", (long long)t->min, (long long)t->max);
}

static void write_bounds(gr_text *out, const gr_schema_type *t) {
  bool least = isfinite(t->least), most = isfinite(t->most);
  if (least) gr_text_printf(out, t->open_least ? " above %.15g" : " of at least %.15g", t->least);
  if (most)
    gr_text_printf(out, t->open_most ? "%s below %.15g" : "%s at most %.15g", least ? " and" : "",
                   t->most);
}

static void write_one(gr_text *out, const gr_schema_type *t) {
  if (t->kind == GR_SCHEMA_WORD) {
    gr_text_printf(out, "'%s'", t->word);
  } else if (t->kind == GR_SCHEMA_LIST) {
    gr_text_put(out, "a list ");
    if (t->length) gr_text_printf(out, "of %d, ", t->length);
    gr_text_put(out, t->length ? "each " : "of which each is ");
    gr_schema_type_write(out, t->item);
  } else {
    for (int i = 0; i < N_NAMES; i++)
      if (names[i].kind == t->kind) gr_text_put(out, names[i].says);
    if (t->kind == GR_SCHEMA_INT)
      write_range(out, t);
    else
      write_bounds(out, t);
  }
}

void gr_schema_type_write(gr_text *out, const gr_schema_type *t) {
  for (bool first = true; t; t = t->next, first = false) {
    if (!first) gr_text_put(out, t->next ? ", " : " or ");
    write_one(out, t);
  }
}

const char *gr_schema_misfit(gr_arena *a, const char *type, gr_conf *c) {
  const gr_schema_type *wanted = gr_schema_type_read(a, type);
  gr_text t = gr_text_make(a);
  if (gr_schema_type_fits(wanted, c)) return NULL;
  gr_text_put(&t, "must be ");
  gr_schema_type_write(&t, wanted);
  gr_text_put(&t, ", but is ");
  gr_conf_json(&t, c, 0);
  return t.chars;
}
