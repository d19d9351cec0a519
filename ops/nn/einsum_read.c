// einsum_read.c - reads an Einsum of ONNX: two operands at a time, as a product of matrices whose
// axes are moved together, or as a pointwise product where no axis is summed.
#include <ctype.h>
#include <string.h>
#include "ops/kernels/onnx_read.h"
#include "ops/ops.h"

enum { MAX_TERMS = 16 };

// A value whose axes have these letters; those of "..." are digits, of which 5 is the last.
typedef struct term {
  int var;
  const char *axis;
} term;

typedef struct einsum {
  gr_onnx_reading *r;
  int n, n_rest;  // axes of "...", which is the same of all; -1: none yet
  term in[MAX_TERMS];
  const char *out;
  int64_t size[128][GR_READ_CHOICES];  // of letters; 0: none yet
} einsum;

static bool has(const char *letters, char c) { return strchr(letters, c) != NULL; }

static const char *join(einsum *e, const char *a, const char *b, const char *c) {
  return gr_arena_printf(e->r->arena, "%s%s%s", a, b, c);
}

// The letters of a that are (or are not) in b as well.
static const char *those(einsum *e, const char *a, const char *b, bool are) {
  gr_text t = gr_text_make(e->r->arena);
  gr_text_put(&t, "");
  for (; *a; a++)
    if (has(b, *a) == are) gr_text_putn(&t, a, 1);
  return t.chars;
}

// ---- The equation -------------------------------------------------------------------------------

// The letters of a term, of which "..." is n_rest, and where it ends.
static const char *read_letters(einsum *e, const char **p, int n_rest) {
  gr_text t = gr_text_make(e->r->arena);
  gr_text_put(&t, "");
  for (; **p && **p != ',' && **p != '-'; ++*p) {
    bool dots = !strncmp(*p, "...", 3);
    if (**p != ' ' && !dots && !isalpha((unsigned char)**p)) break;
    if (dots)
      gr_text_put(&t, "012345" + GR_MAX_RANK - n_rest), *p += 2;
    else if (**p != ' ')
      gr_text_putn(&t, *p, 1);
  }
  if (t.len > GR_MAX_RANK) gr_read_refuse(e->r, "has terms of more than %d axes", GR_MAX_RANK);
  return t.chars;
}

// Whether the size of a letter is what it was before: an axis of 1 is repeated.
static bool take_size(einsum *e, const term *t, int d) {
  int64_t *size = e->size[(int)t->axis[d]];
  bool first = !size[0], fits = true;
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    int64_t here = e->r->vars[t->var].type[c].dim[d];
    fits &= first || here == size[c] || here == 1 || size[c] == 1;
    if (first || size[c] == 1) size[c] = here;
  }
  return fits;
}

static void read_term(einsum *e, const char **p, term *t) {
  gr_onnx_reading *r = e->r;
  int rank = r->err ? 0 : gr_read_type(r, t->var)->rank, rest = rank;
  for (const char *c = *p; *c && *c != ',' && *c != '-'; c++)
    rest -= isalpha((unsigned char)*c) != 0;
  if (rest < 0) rest = 0;
  if (strcspn(*p, ".") < strcspn(*p, ",-")) {
    if (e->n_rest >= 0 && e->n_rest != rest) gr_read_refuse(r, "has '...' of two numbers of axes");
    e->n_rest = rest;
  }
  t->axis = read_letters(e, p, rest);
  if (!r->err && (int)strlen(t->axis) != rank)
    gr_read_refuse(r, "has %d letters for a value of %d axes", (int)strlen(t->axis), rank);
  for (int d = 0; d < rank && !r->err; d++) {
    if (has(t->axis + d + 1, t->axis[d])) {
      gr_read_refuse(r, "takes a diagonal: '%c' is two axes of one operand", t->axis[d]);
      r->err = gr_hint(r->err, "multiply by torch.eye(size) and sum over one of the axes");
    } else if (!take_size(e, t, d)) {
      gr_read_refuse(r, "has two sizes of '%c'", t->axis[d]);
    }
  }
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
  if (*p) gr_read_refuse(e->r, "has an equation that is not read, at '%s'", p);
  for (c = e->out; *c; c++)
    if (!has(all, *c) || has(c + 1, *c))
      gr_read_refuse(e->r, "has a result '%s' that its operands do not give", e->out);
}

// ---- Axes ---------------------------------------------------------------------------------------

// The term in another order of its axes.
static void turn(einsum *e, term *t, const char *axis) {
  int64_t perm[GR_MAX_RANK];
  if (e->r->err) return;
  for (int d = 0; axis[d]; d++) perm[d] = strchr(t->axis, axis[d]) - t->axis;
  *t = (term){gr_read_transpose(e->r, t->var, perm), axis};
}

// Its axes in groups, each of which becomes one; "": one of size 1.
static int grouped(einsum *e, int var, int n, const char *const *group) {
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  if (n > GR_MAX_RANK) gr_read_refuse(e->r, "makes a value of %d axes", n);
  for (int g = 0; g < n && !e->r->err; g++)
    for (int c = 0; c < GR_READ_CHOICES; c++) {
      sizes[g][c] = 1;
      for (const char *l = group[g]; *l; l++) sizes[g][c] *= e->size[(int)*l][c];
    }
  return gr_read_reshape(e->r, var, n, sizes);
}

// One axis for each letter of the first list; of size 1, unless it is in the second.
static int spread(einsum *e, int var, const char *axis, const char *there) {
  const char *each[3 * GR_MAX_RANK];
  int n = (int)strlen(axis);
  for (int d = 0; d < n; d++)
    each[d] = has(there, axis[d]) ? gr_arena_strndup(e->r->arena, &axis[d], 1) : "";
  return grouped(e, var, n, each);
}

// Without axes of size 1 along which another operand repeats the value.
static void drop_ones(einsum *e, term *t) {
  const char *ones = "";
  for (int d = 0; !e->r->err && t->axis[d]; d++)
    for (int c = 0; c < GR_READ_CHOICES; c++)
      if (e->r->vars[t->var].type[c].dim[d] != e->size[(int)t->axis[d]][c])
        ones = join(e, ones, gr_arena_strndup(e->r->arena, &t->axis[d], 1), "");
  t->axis = those(e, t->axis, ones, false);
  if (*ones) t->var = spread(e, t->var, t->axis, t->axis);
}

// Summed over the axes that nothing else needs.
static void sum_rest(einsum *e, term *t, const char *needed) {
  int64_t list[GR_MAX_RANK];
  int n = 0;
  for (int d = 0; !e->r->err && t->axis[d]; d++)
    if (!has(needed, t->axis[d])) list[n++] = d;
  t->axis = those(e, t->axis, needed, true);
  if (n) t->var = GR_READ(e->r, &gr_op_sum, t->var, {"axes", gr_read_list(e->r, n, list)});
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
  int x = spread(e, a.var, all, a.axis), w = spread(e, b.var, all, b.axis);
  return (term){GR_READ_TWO(e->r, &gr_op_mul, x, w), all};
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
  for (int d = 0; d < n; d++) group[d] = gr_arena_strndup(e->r->arena, &lead[d], 1);
  group[n] = rows, group[n + 1] = columns;
  return grouped(e, t->var, n + 2, group);
}

// Without shared axes, those of the left operand but the last lead the product, as in a layer.
static term product(einsum *e, term a, term b, const roles *z) {
  size_t free = strlen(z->left), more = *z->both || !free ? 0 : free - 1;
  const char *last = z->left + more, *all = join(e, z->both, z->left, z->right);
  const char *lead = join(e, z->both, gr_arena_strndup(e->r->arena, z->left, more), "");
  bool ta = is_turned(e, &a, lead, last, z->summed);
  bool tb = is_turned(e, &b, z->both, z->summed, z->right);
  const int in[] = {matrix(e, &a, lead, ta ? z->summed : last, ta ? last : z->summed),
                    matrix(e, &b, z->both, tb ? z->right : z->summed, tb ? z->summed : z->right)};
  const gr_read_setting s[] = {{"ta", ta ? "true" : NULL}, {"tb", tb ? "true" : NULL}};
  return (term){spread(e, gr_read_emit(e->r, &gr_op_matmul, 2, in, 2, s), all, all), all};
}

static bool is_open(const einsum *e, const char *letters) {
  bool open = false;
  for (; *letters; letters++)
    for (int c = 1; c < GR_READ_CHOICES; c++)
      open |= e->size[(int)*letters][c] != e->size[(int)*letters][0];
  return open;
}

// Open sizes, and else the more axes, are those of the left operand, which may have any number.
static term multiplied(einsum *e, term a, term b, const char *needed) {
  sum_rest(e, &a, join(e, needed, b.axis, "")), sum_rest(e, &b, join(e, needed, a.axis, ""));
  roles z = roles_of(e, &a, &b, needed);
  bool open = is_open(e, z.left), more = strlen(z.right) > strlen(z.left);
  if (is_open(e, z.right) != open ? !open : more) {
    term left = a;
    a = b, b = left, z = roles_of(e, &a, &b, needed);
  }
  return *z.summed ? product(e, a, b, &z) : times(e, a, b, &z);
}

static void read(einsum *e) {
  for (int k = 0; k < e->n; k++) drop_ones(e, &e->in[k]);
  term y = e->in[0];
  for (int k = 1; k < e->n && !e->r->err; k++) {
    const char *needed = e->out;
    for (int i = k + 1; i < e->n; i++) needed = join(e, needed, e->in[i].axis, "");
    y = multiplied(e, y, e->in[k], needed);
  }
  sum_rest(e, &y, e->out);
  turn(e, &y, e->out);
  gr_read_out(e->r, 0, y.var, false);
}

void gr_einsum_read(gr_onnx_reading *r) {
  einsum *e = GR_NEW(r->arena, einsum, 1);
  const char *p = gr_read_text(r, "equation", "");
  e->r = r, e->n = r->node->n_in, e->n_rest = -1;
  if (e->n < 1 || e->n > MAX_TERMS) gr_read_refuse(r, "has %d operands", e->n);
  for (int k = 0; k < e->n && !r->err; k++) {
    e->in[k].var = gr_read_in(r, k, true);
    gr_read_keep(r, e->in[k].var);
    read_term(e, &p, &e->in[k]);
    if (k + 1 < e->n && *p++ != ',') gr_read_refuse(r, "has fewer terms than operands");
  }
  if (!r->err) read_result(e, p);
  if (!r->err) read(e);
}
