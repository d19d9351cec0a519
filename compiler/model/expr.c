// expr.c - expressions over parameters and dimensions: 4*dim, 1/255, i % 2 == 0.
//
// The semantics are Python's: / gives a float, // and % round down, and true is 1. Precedence,
// lowest first: or, and, not, comparisons, + -, * / // %, unary minus, **, calls and parentheses.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/shown.h"
#include "compiler/model/parts.h"

typedef enum what { OR, AND, EQ, NE, LE, GE, LT, GT, ADD, SUB, FLOOR, MUL, DIV, MOD, POW } what;
static const struct binary {
  const char *text;
  int level;
  what what;
} binaries[] = {
    // longer operators first
    {"or", 1, OR},    {"and", 2, AND}, {"==", 4, EQ}, {"!=", 4, NE}, {"<=", 4, LE},
    {">=", 4, GE},    {"<", 4, LT},    {">", 4, GT},  {"+", 5, ADD}, {"-", 5, SUB},
    {"//", 6, FLOOR}, {"**", 8, POW},  {"*", 6, MUL}, {"/", 6, DIV}, {"%", 6, MOD},
};
enum { N_BINARIES = sizeof binaries / sizeof *binaries, NOT_LEVEL = 3, MINUS_LEVEL = 7 };

typedef struct reader {
  gr_build_context *a;
  const char *text, *next;
  gr_loc loc;
  gr_status err;  // the first error, which ends parsing
  int nest;
} reader;

static gr_arg whole(int64_t i) { return (gr_arg){.kind = GR_ARG_INT, .i = i}; }
static gr_arg real(double f) { return (gr_arg){.kind = GR_ARG_FLOAT, .f = f}; }
static gr_arg truth(bool b) { return (gr_arg){.kind = GR_ARG_BOOL, .i = b}; }

// ---- Parsing --------------------------------------------------------------------

static gr_loc place(const reader *r, const char *where) {
  gr_loc loc = r->loc;
  if (loc.file) loc.col += (int)(where - r->text);
  return loc;
}

static gr_arg GR_PRINTF(3, 4) bad(reader *r, const char *where, const char *fmt, ...) {
  char text[256];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (!r->err)
    r->err = gr_fail(GR_ERR_CONFIG, place(r, where), "%s in the expression '%s'", text, r->text);
  return whole(0);
}

static void skip(reader *r) {
  while (isspace((unsigned char)*r->next)) r->next++;
}

// Consumes `text` if it comes next; a word must be a whole word.
static bool take(reader *r, const char *text) {
  skip(r);
  if (*r->next != *text) return false;
  size_t n = strlen(text);
  if (r->err || strncmp(r->next, text, n) ||
      (gr_model_word_length(text) && gr_model_word_length(r->next) > n))
    return false;
  r->next += n;
  return true;
}

static bool integers(what w, int64_t l, int64_t r, int64_t *out) {
  if ((w == FLOOR || w == MOD) && (!r || r == -1)) {
    *out = 0;
    return r && (w == MOD || !__builtin_sub_overflow((int64_t)0, l, out));
  }
  int64_t quotient = w == FLOOR || w == MOD ? l / r - (l % r && (l < 0) != (r < 0)) : 0;
  *out = w == FLOOR ? quotient : l - quotient * r;
  if (w == ADD) return !__builtin_add_overflow(l, r, out);
  if (w == SUB) return !__builtin_sub_overflow(l, r, out);
  if (w == MUL) return !__builtin_mul_overflow(l, r, out);
  return true;
}

static double floats(what w, double l, double r) {
  switch (w) {
    case ADD:
      return l + r;
    case SUB:
      return l - r;
    case MUL:
      return l * r;
    case DIV:
      return l / r;
    case FLOOR:
      return floor(l / r);
    default:
      return l - floor(l / r) * r;
  }
}

static bool holds(what w, int order) {
  return w == EQ   ? order == 0
         : w == NE ? order != 0
         : w == LE ? order <= 0
         : w == GE ? order >= 0
         : w == LT ? order < 0
                   : order > 0;
}

// Of integers an integer, unless it is a fraction.
static gr_arg power(reader *r, bool whole_ones, double x, double y, const char *where) {
  if (x == 0 ? y < 0 : x < 0 && y != floor(y))
    return bad(r, where, x == 0 ? "division by zero" : "a root of a negative number");
  double z = pow(x, y);
  if (!whole_ones || y < 0) return real(z);
  return fabs(z) < 9e15 ? whole((int64_t)z) : bad(r, where, "a number too large");
}

static gr_arg apply(reader *r, const struct binary *b, gr_arg l, gr_arg g, const char *where) {
  bool text = l.kind == GR_ARG_TEXT || g.kind == GR_ARG_TEXT;
  if (text && l.kind == g.kind && (b->what == EQ || b->what == NE))
    return truth(holds(b->what, strcmp(l.text, g.text)));
  if (text) return bad(r, where, "'%s' takes numbers, but one operand is a string", b->text);
  double x = gr_arg_number(&l), y = gr_arg_number(&g);
  if (b->what == OR) return truth(x != 0 || y != 0);
  if (b->what == AND) return truth(x != 0 && y != 0);
  if (b->level == 4) return truth(holds(b->what, x < y ? -1 : x > y));
  if ((b->what == DIV || b->what == FLOOR || b->what == MOD) && y == 0)
    return bad(r, where, "division by zero");
  bool is_real = l.kind == GR_ARG_FLOAT || g.kind == GR_ARG_FLOAT;
  if (b->what == POW) return power(r, !is_real, x, y, where);
  if (b->what == DIV || is_real) return real(floats(b->what, x, y));
  int64_t i;
  return integers(b->what, l.i, g.i, &i) ? whole(i) : bad(r, where, "a number too large");
}

static gr_arg expression(reader *r, int level);

static gr_arg number(reader *r) {
  const char *begin = r->next;
  char *end, *end_int;
  double f = strtod(begin, &end);
  long long i = strtoll(begin, &end_int, 10);
  r->next = end;
  if (end != end_int) return real(f);
  return fabs(f) < 9e18 ? whole(i) : bad(r, begin, "a number too large");
}

// Parses the arguments of a call, up to the closing parenthesis.
static int arguments(reader *r, gr_arg *args, int most) {
  int n = 0;
  if (take(r, ")")) return 0;
  do {
    gr_arg x = expression(r, 1);
    if (n < most) args[n] = x;
    n++;
  } while (take(r, ","));
  if (!r->err && !take(r, ")"))
    bad(r, r->next,
        *r->next
            ? "expected ')'"
            : "')' is missing (in [ ] and { } YAML ends a value at a comma: quote the expression)");
  return n;
}

static gr_arg least_or_most(gr_arg *args, int n, bool most) {
  gr_arg best = args[0];
  for (int i = 1; i < n; i++)
    if (most ? gr_arg_number(&args[i]) > gr_arg_number(&best)
             : gr_arg_number(&args[i]) < gr_arg_number(&best))
      best = args[i];
  return best;
}

// given(x): whether the optional operand x is given; ranks(tp): the size of a mesh axis, or 1.
static gr_arg call_of_name(reader *r, bool given) {
  skip(r);
  size_t n = gr_model_word_length(r->next);
  const char *name = gr_arena_strndup(r->a->arena, r->next, n);
  r->next += n;
  if (!n || !take(r, ")")) return bad(r, r->next, "%s() takes one name", given ? "given" : "ranks");
  const gr_binding *b = gr_model_find(r->a, name);
  const gr_arg *number = b ? NULL : gr_model_get(r->a, name);
  if (given) return truth(b ? !b->absent : number && number->operand);
  const gr_mesh *m = &r->a->request->mesh;
  int axis = gr_mesh_axis(m, name);
  return whole(axis < 0 ? 1 : m->axis[axis].size);
}

static gr_arg call(reader *r, const char *name, const char *where) {
  static const char *const names[] = {"min",   "max",  "sqrt",  "abs",
                                      "floor", "ceil", "given", "ranks"};
  if (!strcmp(name, "given") || !strcmp(name, "ranks"))
    return call_of_name(r, !strcmp(name, "given"));
  gr_arg args[8] = {0};
  int n = arguments(r, args, 8);
  for (int i = 0; i < n && i < 8; i++)
    if (args[i].kind == GR_ARG_TEXT)
      return bad(r, where, "%s() takes numbers, found a string", name);
  bool most = !strcmp(name, "max");
  if ((most || !strcmp(name, "min")) && n >= 1 && n <= 8) return least_or_most(args, n, most);
  double x = gr_arg_number(&args[0]);
  if (n == 1 && !strcmp(name, "sqrt") && x >= 0) return real(sqrt(x));
  if (n == 1 && !strcmp(name, "abs"))
    return args[0].kind == GR_ARG_FLOAT ? real(fabs(x))
                                        : whole(args[0].i < 0 ? -args[0].i : args[0].i);
  if (n == 1 && (!strcmp(name, "floor") || !strcmp(name, "ceil")) && fabs(x) < 9e18)
    return whole((int64_t)(*name == 'f' ? floor(x) : ceil(x)));
  bad(r, where, "'%s(' with %d arguments is not a function", name, n);
  r->err = gr_model_suggest(r->err, name, names, 8);
  return whole(0);
}

static gr_arg named(reader *r) {
  const char *begin = r->next;
  const char *name = gr_arena_strndup(r->a->arena, begin, gr_model_word_length(begin));
  r->next += strlen(name);
  if (take(r, "(")) return call(r, name, begin);
  if (!strcmp(name, "true") || !strcmp(name, "false")) return truth(*name == 't');
  if (!strcmp(name, "inf") && !gr_model_get(r->a, name)) return real(INFINITY);
  const gr_arg *known = gr_model_get(r->a, name);
  if (known) return *known;
  if (!r->err) r->err = gr_model_unknown_arg(r->a, name, place(r, begin));
  return whole(0);
}

static gr_arg quoted(reader *r) {
  const char *begin = ++r->next;
  while (*r->next && *r->next != '\'') r->next++;
  if (!*r->next) return bad(r, begin, "a string without its closing quote");
  return (gr_arg){.kind = GR_ARG_TEXT,
                  .text = gr_arena_strndup(r->a->arena, begin, (size_t)(r->next++ - begin))};
}

static gr_arg prefix(reader *r) {
  const char *begin = r->next;
  if (take(r, "not")) {
    gr_arg x = expression(r, NOT_LEVEL);
    return x.kind == GR_ARG_TEXT ? bad(r, begin, "'not' takes a number, found a string")
                                 : truth(gr_arg_number(&x) == 0);
  }
  if (take(r, "-")) {
    gr_arg x = expression(r, MINUS_LEVEL), zero = whole(0);
    return apply(r, &(struct binary){"-", 5, SUB}, zero, x, begin);
  }
  if (take(r, "(")) {
    gr_arg x = expression(r, 1);
    return r->err || take(r, ")") ? x : bad(r, r->next, "expected ')'");
  }
  skip(r);
  if (isdigit((unsigned char)*r->next) || (*r->next == '.' && isdigit((unsigned char)r->next[1])))
    return number(r);
  if (*r->next == '\'') return quoted(r);
  if (gr_model_word_length(r->next)) return named(r);
  return bad(r, r->next,
             *r->next ? "expected a number or a name" : "something is missing at the end");
}

static const struct binary *next_binary(reader *r, int level) {
  skip(r);
  if (!*r->next || *r->next == ')' || *r->next == ',') return NULL;  // mostly
  for (int i = 0; i < N_BINARIES; i++)
    if (*binaries[i].text == *r->next && binaries[i].level >= level &&
        !(*binaries[i].text == '/' && !binaries[i].text[1] && r->next[0] == '/' &&
          r->next[1] == '/') &&
        take(r, binaries[i].text))
      return &binaries[i];
  return NULL;
}

static gr_arg expression(reader *r, int level) {
  if (r->err) return whole(0);
  if (++r->nest > 100) return bad(r, r->next, "too many parentheses");
  gr_arg x = prefix(r);
  const struct binary *b;
  for (const char *begin = r->next; !r->err && (b = next_binary(r, level)); begin = r->next) {
    gr_arg y = expression(r, b->level + (b->what != POW));  // 2 ** 3 ** 2 is 2 ** 9
    if (!r->err) x = apply(r, b, x, y, begin);
  }
  r->nest--;
  return x;
}

static gr_arg shown(gr_arg x) {
  if (x.kind == GR_ARG_FLOAT) x.f = gr_shown(x.f);
  return x;
}

gr_status gr_model_expr(gr_build_context *a, const char *text, gr_loc loc, gr_arg *out) {
  reader r = {.a = a, .text = text, .next = text, .loc = loc};
  *out = expression(&r, 1);
  skip(&r);
  if (!r.err && *r.next) bad(&r, r.next, "unexpected '%s'", r.next);
  *out = shown(*out);
  if (!r.err || gr_status_hint(r.err)) return r.err;
  return gr_hint(
      r.err,
      "numbers, parameters and dimensions between operators: width * 2 (docs/graph-language.md)");
}

// ---- YAML values -------------------------------------------------------------

static bool is_own_word(const char *text) {
  return !strcmp(text, "true") || !strcmp(text, "false") || !strcmp(text, "not");
}

gr_status gr_model_arg(gr_build_context *a, const gr_conf *c, bool words, gr_arg *out) {
  switch (c->kind) {
    case GR_CONF_BOOL:
      *out = truth(c->truth);
      return GR_OK;
    case GR_CONF_INT:
      *out = whole(c->integer);
      return GR_OK;
    case GR_CONF_FLOAT:
      *out = real(c->number);
      return GR_OK;
    case GR_CONF_TEXT:
      break;
    case GR_CONF_INTERP:
      return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "graphs have no ${...}: '%s'", c->text),
                     "name a parameter under params: and give it as model.params.NAME");
    default:
      return gr_fail(GR_ERR_CONFIG, c->loc,
                     "expected a number, a string or an expression, found %s",
                     gr_model_kind(c->kind));
  }
  bool name = gr_model_is_word(c->text) && *c->text != '$';
  const gr_arg *known = name ? gr_model_get(a, c->text) : NULL;
  if (words && ((name && !known) || !*c->text)) {
    *out = (gr_arg){.kind = GR_ARG_TEXT, .text = c->text};
    return GR_OK;
  }
  if (!known || is_own_word(c->text)) return gr_model_expr(a, c->text, c->loc, out);
  *out = shown(*known);  // what the expression would be, most of which are a name
  return GR_OK;
}

gr_status gr_model_number(gr_build_context *a, const gr_conf *c, double *out) {
  gr_arg x;
  GR_TRY(gr_model_arg(a, c, false, &x));
  if (x.kind == GR_ARG_TEXT || x.kind == GR_ARG_BOOL)
    return gr_fail(GR_ERR_CONFIG, c->loc, "expected a number, found %s, '%s'", gr_arg_kind(&x),
                   gr_arg_text(a->arena, &x));
  *out = gr_arg_number(&x);
  return GR_OK;
}

gr_status gr_model_int(gr_build_context *a, const gr_conf *c, int64_t *out) {
  double x = 0;
  GR_TRY(gr_model_number(a, c, &x));
  if (fabs(x) > 9e15)
    return gr_fail(GR_ERR_CONFIG, c->loc, "%.9g is too large for an integer here", x);
  if (x != floor(x)) {
    gr_status s = gr_fail(GR_ERR_CONFIG, c->loc, "expected an integer, found %.9g", x);
    return c->kind == GR_CONF_TEXT && strchr(c->text, '/')
               ? gr_hint(s, "// divides and rounds down")
               : s;
  }
  *out = (int64_t)x;
  return GR_OK;
}

gr_status gr_model_bool(gr_build_context *a, const gr_conf *c, bool *out) {
  gr_arg x;
  GR_TRY(gr_model_arg(a, c, false, &x));
  if (x.kind == GR_ARG_TEXT)
    return gr_fail(GR_ERR_CONFIG, c->loc, "expected true or false, found the string '%s'", x.text);
  *out = gr_arg_number(&x) != 0;
  return GR_OK;
}

static const char SIZES[] =
    "sizes are computed from params: of the file, which model.params of the configuration changes";

gr_status gr_model_shape(gr_build_context *a, const gr_conf *list, gr_type *out) {
  GR_TRY(gr_model_expect(list, GR_CONF_LIST, "a shape"));
  if (list->n > GR_MAX_RANK)
    return gr_fail(GR_ERR_CONFIG, list->loc, "a shape has at most %d axes, this one %d",
                   GR_MAX_RANK, list->n);
  out->rank = list->n;
  for (int i = 0; i < list->n; i++) {
    GR_TRY(gr_model_int(a, list->items[i], &out->dim[i]));
    if (out->dim[i] < 1)
      return gr_hint(
          gr_fail(GR_ERR_CONFIG, list->items[i]->loc,
                  "axis %d of a shape is %lld, and must be at least 1", i, (long long)out->dim[i]),
          SIZES);
  }
  char buf[96];
  if (!gr_type_possible(out))
    return gr_hint(
        gr_fail(GR_ERR_TYPE, list->loc, "%s is too large for any memory", gr_type_text(out, buf)),
        SIZES);
  return GR_OK;
}
