// einsum.c - see einsum.h.
#include "ops/nn/einsum.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef gr_einsum einsum;
typedef gr_einsum_term term;

static bool has(const char *letters, char c) { return strchr(letters, c) != NULL; }

static GR_PRINTF(2, 3) void refuse(einsum *e, const char *why, ...) {
  char text[256];
  va_list args;
  if (e->wrong) return;
  va_start(args, why);
  vsnprintf(text, sizeof text, why, args);
  va_end(args);
  e->wrong = gr_arena_strdup(e->arena, text);
}

static const char *join(einsum *e, const char *a, const char *b, const char *c) {
  return gr_arena_printf(e->arena, "%s%s%s", a, b, c);
}

static const char *one(einsum *e, const char *letter) {
  return gr_arena_strndup(e->arena, letter, 1);
}

// The letters of a that are (or are not) in b as well.
static const char *those(einsum *e, const char *a, const char *b, bool are) {
  gr_text t = gr_text_make(e->arena);
  gr_text_put(&t, "");
  for (; *a; a++)
    if (has(b, *a) == are) gr_text_putn(&t, a, 1);
  return t.chars;
}

int64_t gr_einsum_size(const gr_einsum *e, const char *letters, int choice) {
  int64_t n = 1;
  for (; *letters; letters++) n *= e->size[(int)*letters][choice];
  return n;
}

bool gr_einsum_is_open(const gr_einsum *e, const char *letters) {
  bool open = e->choices == 1 && *e->out && has(letters, *e->out);
  for (; *letters; letters++)
    for (int c = 1; c < e->choices; c++)
      open |= e->size[(int)*letters][c] != e->size[(int)*letters][0];
  return open;
}

// ---- The equation -------------------------------------------------------------------------------

// The letters of a term, of which "..." is n_rest, and where it ends.
static const char *read_letters(einsum *e, const char **p, int n_rest) {
  gr_text t = gr_text_make(e->arena);
  gr_text_put(&t, "");
  for (; **p && **p != ',' && **p != '-'; ++*p) {
    bool dots = !strncmp(*p, "...", 3);
    if (**p != ' ' && !dots && !isalpha((unsigned char)**p)) break;
    if (dots)
      gr_text_put(&t, "012345" + GR_MAX_RANK - n_rest), *p += 2;
    else if (**p != ' ')
      gr_text_putn(&t, *p, 1);
  }
  if (t.len > GR_MAX_RANK) refuse(e, "has terms of more than %d axes", GR_MAX_RANK);
  return t.chars;
}

// The size of a letter is what it was before: an axis of 1 is repeated.
static void take_size(einsum *e, char letter, const int64_t *dim) {
  int64_t *size = e->size[(int)letter];
  bool first = !size[0];
  for (int c = 0; c < e->choices; c++) {
    if (!first && dim[c] != size[c] && dim[c] != 1 && size[c] != 1)
      refuse(e, "has two sizes of '%s': %lld and %lld",
             has("012345", letter) ? "..." : one(e, &letter), (long long)size[c],
             (long long)dim[c]);
    if (first || size[c] == 1) size[c] = dim[c];
  }
}

static void read_term(einsum *e, const char **p, int k) {
  int rank = e->rank[k], rest = rank;
  for (const char *c = *p; *c && *c != ',' && *c != '-'; c++)
    rest -= isalpha((unsigned char)*c) != 0;
  if (rest < 0) rest = 0;
  if (strcspn(*p, ".") < strcspn(*p, ",-")) {
    if (e->n_rest >= 0 && e->n_rest != rest) refuse(e, "has '...' of two numbers of axes");
    e->n_rest = rest;
  }
  const char *axis = read_letters(e, p, rest);
  e->in[k] = (term){k, axis};
  int letters = (int)strlen(axis);
  if (**p && **p != ',' && **p != '-') refuse(e, "has an equation that is not read, at '%s'", *p);
  if (!e->wrong && letters != rank)
    refuse(e, "has %d letter%s for a value of %d ax%s", letters, gr_text_s(letters), rank,
           rank == 1 ? "is" : "es");
  for (int d = 0; d < rank && !e->wrong; d++) take_size(e, axis[d], e->dim[k][d]);
}

// Without "->" the result has the axes of "...", and letters that occur once, in their order.
static void read_result(einsum *e, const char *p) {
  const char *all = "", *rest, *c;
  for (int k = 0; k < e->n; k++) all = join(e, all, e->in[k].axis, "");
  rest = those(e, "012345", all, true);
  e->out = rest;
  for (char letter[] = "A"; *letter <= 'z' && *p != '-'; ++*letter)
    if (isalpha((unsigned char)*letter) && has(all, *letter) &&
        strchr(all, *letter) == strrchr(all, *letter))
      e->out = join(e, e->out, letter, "");
  if (*p == '-' && p[1] == '>') p += 2, e->out = read_letters(e, &p, (int)strlen(rest));
  if (*p) refuse(e, "has an equation that is not read, at '%s'", p);
  for (c = e->out; *c; c++)
    if (!has(all, *c) || has(c + 1, *c))
      refuse(e, "has a result '%s' that its operands do not give", e->out);
}

// ---- Steps --------------------------------------------------------------------------------------

enum { MAX_STEPS = 16 * GR_EINSUM_TERMS, MAX_TERMS = 2 * GR_EINSUM_TERMS };

static gr_einsum_step *add(einsum *e, gr_einsum_kind kind, int value) {
  static gr_einsum_step unused;
  if (e->n_steps == MAX_STEPS) refuse(e, "has too many operands");
  if (e->wrong) return &unused;
  e->step[e->n_steps] = (gr_einsum_step){.kind = kind, .in = {value, value}};
  return &e->step[e->n_steps++];
}
static int made(const einsum *e) { return e->n + e->n_steps - 1; }

// The term in another order of its axes.
static void turn(einsum *e, term *t, const char *axis) {
  if (!strcmp(t->axis, axis)) return;
  gr_einsum_step *s = add(e, GR_EINSUM_TURN, t->value);
  s->n = (int)strlen(axis);
  for (int d = 0; d < s->n; d++) s->axes[d] = strchr(t->axis, axis[d]) - t->axis;
  *t = (term){made(e), axis};
}

// Its axes in groups, each of which becomes one; "": one of size 1.
static int grouped(einsum *e, int value, int n, const char *const *group) {
  if (n > GR_MAX_RANK) refuse(e, "makes a value of %d axes", n);
  gr_einsum_step *s = add(e, GR_EINSUM_SHAPE, value);
  for (s->n = 0; s->n < n && !e->wrong; s->n++) s->group[s->n] = group[s->n];
  return made(e);
}

// One axis for each letter of the first list; of size 1, unless it is in the second.
static int spread(einsum *e, int value, const char *axis, const char *there) {
  const char *each[3 * GR_MAX_RANK];
  int n = (int)strlen(axis);
  for (int d = 0; d < n; d++) each[d] = has(there, axis[d]) ? one(e, &axis[d]) : "";
  return grouped(e, value, n, each);
}

// Without axes of size 1 along which another operand repeats the value.
static void drop_ones(einsum *e, term *t) {
  const char *ones = "";
  for (int d = 0; !e->wrong && t->axis[d]; d++)
    for (int c = 0; c < e->choices; c++)
      if (e->dim[t->value][d][c] != e->size[(int)t->axis[d]][c] && !has(ones, t->axis[d]))
        ones = join(e, ones, one(e, &t->axis[d]), "");
  t->axis = those(e, t->axis, ones, false);
  if (*ones) t->value = spread(e, t->value, t->axis, t->axis);
}

// 1 where two axes, of which the second one has a letter that nothing else has, are equal.
static term equal_axes(einsum *e, char letter, char fresh) {
  gr_einsum_step *s = add(e, GR_EINSUM_EYE, 0);
  s->n = 1, s->group[0] = one(e, &letter);
  memcpy(e->size[(int)fresh], e->size[(int)letter], sizeof e->size[0]);
  return (term){made(e), join(e, s->group[0], one(e, &fresh), "")};
}

// Appends operand k to the terms. Where it has two axes of one letter its diagonal is meant: the
// second one gets a letter of its own, over which the term that follows sums.
static void add_term(einsum *e, const term *t) {
  char *axis = gr_arena_strdup(e->arena, t->axis), fresh = '\x01';
  int first = e->n_terms++;
  for (int d = 0; axis[d]; d++)
    for (char *again; (again = strchr(axis + d + 1, axis[d])) != NULL && !e->wrong;) {
      while (e->size[(int)fresh][0]) fresh++;
      *again = fresh;
      if (e->n_terms == MAX_TERMS) refuse(e, "has too many diagonals");
      if (!e->wrong) e->in[e->n_terms++] = equal_axes(e, axis[d], fresh);
    }
  e->in[first] = (term){t->value, axis};
}

// Summed over the axes that nothing else needs.
static void sum_rest(einsum *e, term *t, const char *needed) {
  if (!*those(e, t->axis, needed, false)) return;
  gr_einsum_step *s = add(e, GR_EINSUM_SUM, t->value);
  s->n = 0;
  for (int d = 0; !e->wrong && t->axis[d]; d++)
    if (!has(needed, t->axis[d])) s->axes[s->n++] = d;
  *t = (term){made(e), those(e, t->axis, needed, true)};
}

// ---- Products -----------------------------------------------------------------------------------

// The letters of two operands, by what becomes of them.
typedef struct roles {
  const char *both, *summed, *left, *right;  // both: in the result
} roles;

static roles roles_of(einsum *e, const term *a, const term *b, const char *needed) {
  const char *shared = those(e, a->axis, b->axis, true);
  return (roles){those(e, shared, needed, true), those(e, shared, needed, false),
                 those(e, a->axis, b->axis, false), those(e, b->axis, a->axis, false)};
}

static term times(einsum *e, term a, term b, const roles *z) {
  const char *all = join(e, z->both, z->left, z->right);
  turn(e, &a, those(e, all, a.axis, true)), turn(e, &b, those(e, all, b.axis, true));
  int x = spread(e, a.value, all, a.axis), w = spread(e, b.value, all, b.axis);
  add(e, GR_EINSUM_TIMES, x)->in[1] = w;
  return (term){made(e), all};
}

// Whether the last two groups of its axes are in the other order, as a product can read them; else
// they come into this one.
static bool is_turned(einsum *e, term *t, const char *lead, const char *first, const char *second) {
  bool turned = *first && *second && !strcmp(t->axis, join(e, lead, second, first));
  if (!turned) turn(e, t, join(e, lead, first, second));
  return turned;
}

// The operand of a product: one axis for each letter that leads, and its matrix.
static int matrix(einsum *e, const term *t, const char *lead, const char *rows,
                  const char *columns) {
  const char *group[GR_MAX_RANK + 2];
  int n = (int)strlen(lead);
  for (int d = 0; d < n; d++) group[d] = one(e, &lead[d]);
  group[n] = rows, group[n + 1] = columns;
  return grouped(e, t->value, n + 2, group);
}

// Without shared axes, those of the left operand but the last lead the product, as in a layer.
static term product(einsum *e, term a, term b, const roles *z) {
  size_t free = strlen(z->left), more = *z->both || !free ? 0 : free - 1;
  const char *last = z->left + more, *all = join(e, z->both, z->left, z->right);
  const char *lead = join(e, z->both, gr_arena_strndup(e->arena, z->left, more), "");
  bool ta = is_turned(e, &a, lead, last, z->summed);
  bool tb = is_turned(e, &b, z->both, z->summed, z->right);
  int x = matrix(e, &a, lead, ta ? z->summed : last, ta ? last : z->summed);
  int w = matrix(e, &b, z->both, tb ? z->right : z->summed, tb ? z->summed : z->right);
  gr_einsum_step *s = add(e, GR_EINSUM_PRODUCT, x);
  s->in[1] = w, s->ta = ta, s->tb = tb;
  return (term){spread(e, made(e), all, all), all};
}

// Open sizes, and else the more axes, are those of the left operand, which may have any number.
static term multiplied(einsum *e, term a, term b, const char *needed) {
  sum_rest(e, &a, join(e, needed, b.axis, "")), sum_rest(e, &b, join(e, needed, a.axis, ""));
  roles z = roles_of(e, &a, &b, needed);
  bool open = gr_einsum_is_open(e, z.left), more = strlen(z.right) > strlen(z.left);
  if (gr_einsum_is_open(e, z.right) != open ? !open : more) {
    term left = a;
    a = b, b = left, z = roles_of(e, &a, &b, needed);
  }
  return *z.summed ? product(e, a, b, &z) : times(e, a, b, &z);
}

static void multiply(einsum *e) {
  term given[GR_EINSUM_TERMS];
  memcpy(given, e->in, sizeof *given * (size_t)e->n);
  for (int k = e->n_terms = 0; k < e->n && !e->wrong; k++) add_term(e, &given[k]);
  for (int k = 0; k < e->n_terms && !e->wrong; k++)
    if (e->in[k].value < e->n) drop_ones(e, &e->in[k]);
  term y = e->in[0];
  for (int k = 1; k < e->n_terms && !e->wrong; k++) {
    const char *needed = e->out;
    for (int i = k + 1; i < e->n_terms; i++) needed = join(e, needed, e->in[i].axis, "");
    y = multiplied(e, y, e->in[k], needed);
  }
  sum_rest(e, &y, e->out);
  if (!e->wrong) turn(e, &y, e->out);
  e->value = y.value;
}

void gr_einsum_plan(gr_einsum *e) {
  const char *p = e->equation;
  e->n_rest = -1, e->out = "";
  e->step = GR_NEW(e->arena, gr_einsum_step, MAX_STEPS);
  if (e->n < 1 || e->n > GR_EINSUM_TERMS) refuse(e, "has %d operands", e->n);
  for (int k = 0; k < e->n && !e->wrong; k++) {
    read_term(e, &p, k);
    if (!e->wrong && k + 1 < e->n && *p++ != ',') refuse(e, "has fewer terms than operands");
  }
  if (!e->wrong) read_result(e, p);
  if (!e->wrong) multiply(e);
}
