// einsum.c - {einsum: [x, w], equation: 'bij,jk->bik'}: sums of products by the letters of axes, as
// transposes, reshapes, products and sums of the model (ops/nn/einsum.h).
#include "ops/nn/einsum.h"
#include "compiler/model/emit.h"
#include "ops/ops.h"

// The equation, or a parameter that is one.
static gr_status equation_of(gr_build_context *a, gr_conf *use, const char **out) {
  const gr_conf *c = gr_conf_member(use, "equation");
  if (!c)
    return gr_hint(gr_fail(GR_ERR_CONFIG, use->items[0]->key_loc, "einsum: needs 'equation:'"),
                   "the letters of each operand's axes, and of the result's: 'bij,jk->bik'");
  GR_TRY(gr_model_expect(c, GR_CONF_TEXT, "equation:"));
  const gr_arg *given = gr_model_is_word(c->text) ? gr_model_get(a, c->text) : NULL;
  *out = given && given->kind == GR_ARG_TEXT ? given->text : c->text;
  return GR_OK;
}

static gr_status read_operand(gr_build_context *a, const gr_conf *c, gr_val *out) {
  if (c->kind != GR_CONF_TEXT)
    return gr_fail(GR_ERR_CONFIG, c->loc, "an operand of einsum is a name, found %s",
                   gr_model_kind(c->kind));
  GR_TRY(gr_model_value(a, c->text, c->loc, out));
  if (gr_is_differentiable(gr_at(gr_model_builder(a)->g, *out))) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_TYPE, c->loc, "einsum: takes floats, '%s' is %s", c->text,
                         gr_dtypes[gr_model_type(a, *out)->dtype].name),
                 "'cast' converts it to f32");
}

static gr_status read_operands(gr_build_context *a, gr_conf *c, gr_einsum *e, gr_val *x) {
  gr_conf **items = c->kind == GR_CONF_LIST ? c->items : &c;
  e->n = c->kind == GR_CONF_LIST ? c->n : 1;
  if (e->n < 1 || e->n > GR_EINSUM_TERMS)
    return gr_fail(GR_ERR_CONFIG, c->loc, "einsum: takes 1 to %d operands, found %d",
                   GR_EINSUM_TERMS, e->n);
  for (int k = 0; k < e->n; k++) {
    GR_TRY(read_operand(a, items[k], &x[k]));
    const gr_type *t = gr_model_type(a, x[k]);
    e->rank[k] = t->rank;
    for (int d = 0; d < t->rank; d++) e->dim[k][d][0] = t->dim[d];
  }
  return GR_OK;
}

// With -1 for the size that is divided over ranks.
static gr_val shape(gr_builder *b, const gr_einsum *e, const gr_einsum_step *s, gr_val x) {
  gr_ints sizes = {s->n, {0}};
  int free = 0;
  for (int g = 0; g < s->n; g++) {
    sizes.items[g] = gr_einsum_size(e, s->group[g], 0);
    if (gr_einsum_is_open(e, s->group[g])) free = g;
  }
  if (s->n) sizes.items[free] = -1;
  return gr_reshape(b, x, sizes);
}

static gr_val eye(gr_builder *b, const gr_einsum *e, const char *letter, gr_dtype dtype) {
  int64_t n = gr_einsum_size(e, letter, 0);
  gr_val ids = gr_model_make(b, "arange", 0, NULL,
                             (gr_setting[]){{"size", .value = &n}, {"dtype", "i32"}, {0}});
  return gr_one_hot(b, ids, n, dtype);
}

static gr_val turned(gr_builder *b, const gr_einsum_step *s, gr_val x) {
  gr_ints perm = {s->n, {0}};
  for (int d = 0; d < s->n; d++) perm.items[d] = s->axes[d];
  return gr_transpose(b, x, perm);
}

static gr_val summed(gr_builder *b, const gr_einsum_step *s, gr_val x) {
  gr_ints axes = {s->n, {0}};
  for (int d = 0; d < s->n; d++) axes.items[d] = s->axes[d];
  return gr_model_make(b, "sum", 1, &x, (gr_setting[]){{"axes", .value = &axes}, {0}});
}

static gr_val multiplied(gr_build_context *a, gr_val x, gr_val y) {
  gr_builder *b = gr_model_builder(a);
  gr_operand in[] = {{.v = x}, {.v = y}};
  gr_val v = GR_NONE;
  gr_status s = gr_model_fit(a, &gr_op_mul, in, 2, &v);
  if (s && !b->err) b->err = s;
  return s || gr_is(v) ? v : gr_mul(b, in[0].v, in[1].v);
}

static gr_val emit(gr_build_context *a, const gr_einsum *e, const gr_einsum_step *s,
                   const gr_val *v) {
  gr_builder *b = gr_model_builder(a);
  gr_val x = v[s->in[0]], y = v[s->in[1]];
  if (b->err) return GR_NONE;
  switch (s->kind) {
    case GR_EINSUM_EYE:
      return eye(b, e, s->group[0], gr_at(b->g, v[0])->type.dtype);
    case GR_EINSUM_TURN:
      return turned(b, s, x);
    case GR_EINSUM_SHAPE:
      return shape(b, e, s, x);
    case GR_EINSUM_SUM:
      return summed(b, s, x);
    case GR_EINSUM_TIMES:
      return multiplied(a, x, y);
    case GR_EINSUM_PRODUCT:
      return gr_matmul(b, x, y, s->ta, s->tb);
  }
  return GR_NONE;
}

gr_status gr_model_einsum(gr_build_context *a, gr_conf *use, gr_binding *out) {
  static const char *const keys[] = {"equation"};
  gr_einsum *e = GR_NEW(a->scratch, gr_einsum, 1);
  gr_conf rest = *use;
  gr_val x[GR_EINSUM_TERMS];
  rest.keys++, rest.items++, rest.n--;
  GR_TRY(gr_model_keys_of_node(a, &rest, "einsum", keys, 1));
  e->arena = a->scratch, e->choices = 1;
  GR_TRY(equation_of(a, use, &e->equation));
  GR_TRY(read_operands(a, use->items[0], e, x));
  gr_einsum_plan(e);
  if (e->wrong)
    return gr_hint(gr_fail(GR_ERR_TYPE, gr_conf_member(use, "equation")->loc, "einsum '%s' %s",
                           e->equation, e->wrong),
                   "an equation has a letter for each axis of each operand, and of the result: "
                   "'bij,jk->bik'; '...' stands for further axes");
  gr_val *v = GR_NEW(a->scratch, gr_val, e->n + e->n_steps);
  for (int k = 0; k < e->n; k++) v[k] = x[k];
  for (int i = 0; i < e->n_steps; i++) v[e->n + i] = emit(a, e, &e->step[i], v);
  *out = (gr_binding){.depth = a->depth, .n = 1, .v = {v[e->value]}};
  return gr_model_take_error(a);
}
