// op.c - builds a node that is an op of ops.def: operands, attributes, number of results.
#include <assert.h>
#include <math.h>
#include <string.h>
#include "base/hash.h"
#include "compiler/model/emit.h"

// ---- Ops by name, for the builder itself ----------------------------------------

static const gr_attr *find_attr(const gr_op *op, const char *name) {
  for (const gr_attr *f = op->attrs; f && f->name; f++)
    if (!strcmp(f->name, name)) return f;
  return NULL;
}

static bool is_nan(const gr_attr *f, const void *value) {
  return f->kind == GR_ATTR_FLOAT && isnan(*(const double *)value);
}

// What is no number is left to the parser, which judges it as in a file.
static gr_status set(const gr_op *op, const gr_setting *s, gr_loc loc, void *attr) {
  const gr_attr *f = find_attr(op, s->name);
  if (!f) return gr_fail(GR_ERR_BUG, loc, "op '%s' has no '%s'", op->name, s->name);
  if (!s->value || is_nan(f, s->value))
    return gr_attr_parse(op, f, s->value ? "NaN" : s->text, loc, attr);
  assert(f->kind == GR_ATTR_INT || f->kind == GR_ATTR_FLOAT || f->kind == GR_ATTR_INTS);
  size_t bytes = f->kind == GR_ATTR_INTS ? sizeof(gr_ints) : sizeof(int64_t);
  memcpy((char *)attr + f->offset, s->value, bytes);
  return GR_OK;
}

gr_val gr_model_make(gr_builder *b, const char *name, int n_in, const gr_val *in,
                     const gr_setting *settings) {
  const gr_op *op = gr_op_find(name);
  if (b->err) return GR_NONE;
  if (!op) {
    b->err = gr_fail(GR_ERR_BUG, b->loc, "op '%s' is not in ops.def", name);
    return GR_NONE;
  }
  void *attr = gr_arena_alloc(b->g->arena, op->attr_size + 8);
  gr_attr_defaults(op, attr);
  for (const gr_setting *s = settings; s && s->name && !b->err; s++)
    b->err = set(op, s, b->loc, attr);
  return gr_emit(b, op, attr, n_in, in);
}

// ---- Operands -------------------------------------------------------------------

// An operand that is no name.
static gr_status number(gr_build_context *a, const gr_conf *c, double *out) {
  gr_status s = gr_note(gr_model_number(a, c, out), GR_NOWHERE, "as an operand");
  if (c->kind == GR_CONF_BOOL)
    s = gr_hint(s,
                "YAML reads on, off, yes and no as true and false: a value needs another name, or "
                "quotes wherever it is named");
  if (c->kind == GR_CONF_MAP)
    s = gr_hint(s, "nodes are not nested: give it a node before this one");
  return s;
}

static gr_status operand(gr_build_context *a, const gr_conf *c, gr_operand *out) {
  *out = (gr_operand){.loc = c->loc};
  const gr_binding *b = c->kind == GR_CONF_TEXT ? gr_model_find(a, c->text) : NULL;
  if (b && b->absent) {
    out->absent = true;
    return GR_OK;
  }
  bool word = c->kind == GR_CONF_TEXT && gr_model_is_word(c->text);
  out->name = b ? c->text : NULL;
  const gr_arg *arg = word ? gr_model_get(a, c->text) : NULL;
  if (b || (word && !arg)) return gr_model_value(a, c->text, c->loc, &out->v);
  out->number = true, out->of_block = arg && arg->operand;
  return number(a, c, &out->by);
}

enum { MAX_OPERANDS = 16 };
static gr_status operands(gr_build_context *a, gr_conf *c, gr_operand *out, int *n) {
  *n = 0;
  if (c->kind == GR_CONF_NULL) return GR_OK;
  if (c->kind != GR_CONF_LIST) {
    GR_TRY(operand(a, c, out));
    *n = !out->absent;
    return GR_OK;
  }
  if (c->n > MAX_OPERANDS)
    return gr_fail(GR_ERR_CONFIG, c->loc, "%d operands; there can be %d", c->n, MAX_OPERANDS);
  for (int i = 0; i < c->n; i++) {
    GR_TRY(operand(a, c->items[i], &out[*n]));
    *n += !out[*n].absent;
  }
  return GR_OK;
}

// ---- Attributes -----------------------------------------------------------------

static gr_status word_text(gr_build_context *a, const gr_conf *c, const char **out) {
  gr_arg any;
  GR_TRY(gr_model_arg(a, c, true, &any));
  *out = gr_arg_text(a->arena, &any);
  return GR_OK;
}

// Appends a number of a list, or those that `...` stands for.
static gr_status put_size(gr_build_context *a, const gr_conf *c, gr_text *t) {
  const gr_arg *others = gr_model_is_others(c) ? gr_model_get(a, gr_model_others) : NULL;
  int64_t i;
  if (others) {
    if (*others->text) gr_text_put(t, t->len ? "," : "["), gr_text_put(t, others->text);
    return GR_OK;
  }
  if (gr_model_is_others(c))
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "'...' stands for no axes here"),
                   "in a block, it stands for those of an operand whose shape in 'in:' has '...'");
  GR_TRY(gr_model_int(a, c, &i));
  gr_text_put(t, t->len ? "," : "["), gr_text_put_int(t, i);
  return GR_OK;
}

gr_status gr_model_list(gr_build_context *a, const gr_conf *c, const char **out) {
  gr_text t = gr_text_make(a->arena);
  bool list = c->kind == GR_CONF_LIST;
  for (int k = 0; k < (list ? c->n : 1); k++) GR_TRY(put_size(a, list ? c->items[k] : c, &t));
  gr_text_put(&t, t.len ? "]" : "[]");
  *out = t.chars;
  return GR_OK;
}

static bool is_word(gr_build_context *a, const gr_conf *c) {
  const gr_arg *x = c->kind == GR_CONF_TEXT ? gr_model_get(a, c->text) : NULL;
  return x && x->kind == GR_ARG_TEXT;
}

// An attribute as the string that gr_attr_parse reads. A list may be a parameter, a string "[1,2]".
static gr_status attr_text(gr_build_context *a, const gr_attr *f, const gr_conf *c,
                           const char **out) {
  gr_text t = gr_text_make(a->arena);
  int64_t i;
  double x;
  switch (f->kind) {
    case GR_ATTR_INTS:
    case GR_ATTR_LIST:
      if (c->kind != GR_CONF_LIST && (f->kind == GR_ATTR_LIST || is_word(a, c)))
        return word_text(a, c, out);
      return gr_model_list(a, c, out);
    case GR_ATTR_INT:
      GR_TRY(gr_model_int(a, c, &i));
      gr_text_put_int(&t, i);
      break;
    case GR_ATTR_FLOAT:
      GR_TRY(gr_model_number(a, c, &x));
      gr_text_put_float(&t, x);
      break;
    default:
      return word_text(a, c, out);
  }
  *out = t.chars;
  return GR_OK;
}

static bool is_internal(const gr_attr *f) {  // set by the builder, never by the user
  return f->kind == GR_ATTR_STREAM || f->kind == GR_ATTR_GRAPH;
}

static gr_status unknown_attr(const gr_op *op, const gr_conf *use, int i) {
  const char *known[32];
  int n = 0;
  for (const gr_attr *f = op->attrs; f && f->name && n < 32 - GR_MODEL_NODE_KEYS; f++)
    if (!is_internal(f)) known[n++] = f->name;
  gr_model_add_node_keys(known, &n);
  gr_status s = gr_fail(GR_ERR_CONFIG, use->items[i]->key_loc, "op '%s' has no attribute '%s'",
                        op->name, use->keys[i]);
  s = gr_model_suggest(s, use->keys[i], known, n);
  if (gr_op_find(use->keys[i]))
    s = gr_hint(s, "'%s' is an op: give it a node of its own", use->keys[i]);
  return gr_hint(gr_hint_names(s, "allowed keys: ", known, n, ""),
                 "'graphrun ops %s' says what they are", op->name);
}

// The random stream: the program but for train and eval, what the attribute is by default, the op's
// path, and a count if several ops have all of it in common.
const char *gr_model_stream_name(gr_build_context *a, const gr_attr *f, const char *path) {
  return gr_arena_printf(a->arena, "%s%s%s:%s", a->named ? a->built.name : "", a->named ? "/" : "",
                         f->default_value, path);
}

uint64_t gr_model_stream(gr_build_context *a, const gr_attr *f, const char *path) {
  const char *name = gr_model_stream_name(a, f, path);
  uint32_t uses = 0;
  gr_map_find(&a->streams, name, &uses);
  gr_map_put(&a->streams, name, uses + 1);
  return gr_hash_text(uses ? gr_arena_printf(a->arena, "%s#%u", name, uses) : name);
}

static gr_status attributes(gr_build_context *a, const gr_op *op, gr_conf *use, void *attr) {
  gr_attr_defaults(op, attr);
  for (int i = 1; i < use->n; i++) {
    if (gr_model_reserved(use->keys[i])) continue;
    const gr_attr *f = find_attr(op, use->keys[i]);
    const char *text = NULL;
    if (!f || is_internal(f)) return unknown_attr(op, use, i);
    gr_status s = attr_text(a, f, use->items[i], &text);
    GR_TRY(f->kind == GR_ATTR_LIST ? gr_hint(s, "%s", op->doc) : s);
    GR_TRY(gr_attr_parse(op, f, text, use->items[i]->loc, attr));
  }
  for (const gr_attr *f = op->attrs; f && f->name; f++) {
    bool given = gr_conf_member(use, f->name) != NULL;
    if (f->kind == GR_ATTR_STREAM)
      *(uint64_t *)((char *)attr + f->offset) = gr_model_stream(a, f, a->path);
    else if (!strcmp(f->name, "seed") && !given)
      *(int64_t *)((char *)attr + f->offset) = (int64_t)a->request->seed;
    else if (!f->default_value && !given)
      return gr_fail(GR_ERR_CONFIG, use->items[0]->key_loc, "op '%s' needs '%s': %s", op->name,
                     f->name, f->doc ? f->doc : "it has no default");
  }
  return GR_OK;
}

// Axes that are counted from the end become those of an operand of that rank.
static void count_axes(const gr_op *op, int rank, void *attr) {
  for (const gr_attr *f = op->attrs; f && f->name; f++) {
    int64_t *axes = (int64_t *)(void *)((char *)attr + f->offset), n = 1;
    if (!f->axis) continue;
    if (f->kind == GR_ATTR_INTS) n = *axes, axes = ((gr_ints *)(void *)axes)->items;
    for (int64_t i = 0; i < n; i++)
      if (axes[i] < 0 && axes[i] >= -rank) axes[i] += rank;
  }
}

// ---- Nodes -------------------------------------------------------------------

// Dropout returns its first operand unchanged in evaluation, and if p is 0.
static bool is_left_out(gr_build_context *a, const gr_op *op, const void *attr) {
  if (!op->training_only) return false;
  const gr_attr *p = find_attr(op, "p");
  if (p && p->kind == GR_ATTR_FLOAT && *(const double *)((const char *)attr + p->offset) == 0)
    return true;
  return !a->training.i;
}

// An op that also drops, besides what it is for, is emitted with p = 0.
static void set_no_dropout(const gr_op *op, void *attr) {
  const gr_attr *p = find_attr(op, "p");
  if (p) *(double *)((char *)attr + p->offset) = 0;
}

gr_val gr_model_step(gr_build_context *a) {
  gr_type scalar = {.dtype = GR_I32};
  const char *name = a->named ? gr_arena_printf(a->arena, "runs.%s", a->built.name) : "step";
  if (!gr_is(a->step))
    a->step = gr_leaf(&a->root, GR_STATE, GR_KIND_COUNTER, name, scalar, gr_layout_replicated);
  return a->step;
}

// In a loop each iteration has a number of its own, so that it draws other random numbers.
static gr_val step_number(gr_build_context *a) {
  static const int64_t far[] = {65537, 257};  // from iteration to iteration; all fit into an i32
  gr_val v = gr_model_step(a);
  for (int d = 0; d < a->depth; d++) {
    gr_builder *b = a->loops[d]->outside;
    int64_t steps = a->loops[d]->scan.steps, most = (1 << 30) / steps, by = far[d > 0];
    const char *size = gr_arena_printf(a->arena, "%lld", (long long)steps);
    const char *apart = gr_arena_printf(a->arena, "%lld", (long long)(most < by ? most : by));
    gr_val i = gr_model_make(
        b, "arange", 0, NULL,
        (gr_setting[]){{"size", size}, {"start", apart}, {"step", apart}, {"dtype", "i32"}, {0}});
    v = gr_loop_seq(a->loops[d], gr_add(b, gr_broadcast(b, v, 0, steps), i));
  }
  return v;
}

static gr_status check_arity(const gr_op *op, const gr_conf *use, int n) {
  int takes = gr_op_operands(op);
  if (takes == GR_ANY || takes == n) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, use->items[0]->key_loc, "op '%s' takes %d operand%s, found %d",
              op->name, takes, gr_text_s(takes), n),
      "%s", op->doc);
}

static gr_status take_results(gr_build_context *a, const gr_op *op, gr_val v, gr_binding *out) {
  const gr_graph *g = gr_model_builder(a)->g;
  int n = g->nodes[gr_at(g, v)->node].n_out;
  if (n > GR_MODEL_RESULTS)
    return gr_fail(GR_ERR_UNSUPPORTED, gr_model_builder(a)->loc, "op '%s' gives %d results",
                   op->name, n);
  *out = (gr_binding){.depth = a->depth, .n = n};
  for (int i = 0; i < n; i++) out->v[i] = (gr_val){v.id + (uint32_t)i};
  return GR_OK;
}

// A reshape with explicit sizes would contain the size of the batch and could not be sharded, so
// the first axis becomes -1.
static void free_first_axis(const gr_op *op, const gr_graph *g, const gr_operand *x, void *attr) {
  const gr_attr *f = op == &gr_op_reshape && gr_is(x->v) ? find_attr(op, "shape") : NULL;
  if (!f) return;
  gr_ints *shape = (gr_ints *)((char *)attr + f->offset);
  int64_t count = 1;
  for (int64_t d = 0; d < shape->n; d++) count *= shape->items[d];  // a -1 makes the product differ
  if (shape->n && count == gr_type_count(&gr_at(g, x->v)->type)) shape->items[0] = -1;
}

static gr_val emit(gr_builder *b, const gr_op *op, const void *attr, int n, const gr_operand *x) {
  gr_val in[MAX_OPERANDS + 1];
  const char *names[MAX_OPERANDS + 1];
  for (int i = 0; i < n; i++) in[i] = x[i].v, names[i] = x[i].name;
  b->names = names;
  gr_val v = gr_emit(b, op, attr, n, in);
  b->names = NULL;
  return v;
}

gr_status gr_model_op(gr_build_context *a, const gr_op *op, gr_conf *use, gr_binding *out) {
  gr_operand given[MAX_OPERANDS + 1];
  int n;
  void *attr = gr_arena_alloc(a->arena, op->attr_size + 8);
  GR_TRY(operands(a, use->items[0], given, &n));
  GR_TRY(attributes(a, op, use, attr));
  int takes = gr_op_operands(op);
  bool drops_too = op->training_only && takes == GR_ANY;  // an operand more if p is not 0
  bool needs_step = op->random && n && takes == n + 1;
  GR_TRY(check_arity(op, use, n + needs_step));
  bool left_out = n && !given[0].number && is_left_out(a, op, attr);
  if (left_out && !drops_too) {
    *out = (gr_binding){.depth = a->depth, .n = 1, .v = {given[0].v}};
    return GR_OK;
  }
  if (left_out) set_no_dropout(op, attr);
  if (needs_step || (drops_too && !left_out)) given[n++] = (gr_operand){.v = step_number(a)};
  if (n && gr_is(given[0].v))
    count_axes(op, gr_at(gr_model_builder(a)->g, given[0].v)->type.rank, attr);
  free_first_axis(op, gr_model_builder(a)->g, &given[0], attr);
  gr_val v;
  GR_TRY(gr_model_fit(a, op, given, n, &v));
  if (!gr_is(v)) v = emit(gr_model_builder(a), op, attr, n, given);
  gr_status s = gr_model_take_error(a);
  if (s && gr_model_is_builtin(a)) s = gr_note(s, use->items[0]->key_loc, "in a built-in block");
  return s ? s : take_results(a, op, v, out);
}

// A number, or an expression over parameters, if numbers may be given; else the value of a name.
static gr_status binding(gr_build_context *a, const gr_conf *c, bool numbers, gr_binding *out) {
  bool name = c->kind == GR_CONF_TEXT && (!numbers || gr_model_find(a, c->text) ||
                                          (gr_model_is_word(c->text) && !gr_model_get(a, c->text)));
  if (name) {
    const gr_binding *b;
    GR_TRY(gr_model_resolve(a, c->text, c->loc, &b));
    *out = *b;
    return GR_OK;
  }
  if (!numbers)
    return gr_fail(GR_ERR_CONFIG, c->loc, "an operand is a name, found %s", gr_model_kind(c->kind));
  *out = (gr_binding){.number = true, .loc = c->loc};
  return number(a, c, &out->by);
}

gr_status gr_model_operands(gr_build_context *a, gr_conf *c, bool numbers, gr_binding *out,
                            int most, int *n) {
  gr_conf *one[] = {c};
  gr_conf **items = c->kind == GR_CONF_LIST ? c->items : one;
  *n = c->kind == GR_CONF_NULL ? 0 : c->kind == GR_CONF_LIST ? c->n : 1;
  if (*n > most) return gr_fail(GR_ERR_CONFIG, c->loc, "at most %d operands, found %d", most, *n);
  for (int i = 0; i < *n; i++) GR_TRY(binding(a, items[i], numbers, &out[i]));
  return GR_OK;
}
