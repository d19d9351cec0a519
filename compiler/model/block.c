// block.c - expands blocks: named lists of nodes with their own operands and parameters.
//
// The file's blocks shadow the built-in ones (graphs/blocks.yaml), and both shadow ops. Built-in
// blocks do not see the file's blocks. In a block its own name means what it shadows, so a block
// can wrap the op of the same name.
#include <math.h>
#include <string.h>
#include "compiler/model/reuse.h"

// ---- Lookup ------------------------------------------------------------

static const char *const block_keys[] = {"doc",   "in",    "params", "checks", "buffers",
                                         "carry", "nodes", "next",   "out"};

static gr_status check_block(gr_conf *c) {
  GR_TRY(gr_model_expect(c, GR_CONF_MAP, "a block"));
  GR_TRY(gr_model_keys(c, "a block", block_keys, sizeof block_keys / sizeof *block_keys));
  gr_conf *nodes = gr_conf_member(c, "nodes");
  if (!nodes) return gr_fail(GR_ERR_CONFIG, c->key_loc, "a block needs 'nodes:'");
  GR_TRY(gr_model_expect(nodes, GR_CONF_LIST, "nodes:"));
  return nodes->n ? GR_OK : gr_fail(GR_ERR_CONFIG, nodes->loc, "a block needs a node");
}

static gr_status add_blocks(gr_block *list, int *n, gr_conf *map, bool builtin) {
  for (int i = 0; map && i < map->n; i++) {
    if (!builtin || map->items[i]->kind != GR_CONF_TEXT) GR_TRY(check_block(map->items[i]));
    list[(*n)++] = (gr_block){.name = map->keys[i], .conf = map->items[i], .builtin = builtin};
  }
  return GR_OK;
}

gr_status gr_model_open_blocks(gr_build_context *a, gr_conf *file) {
  gr_conf *of_file = gr_conf_member(file, "blocks"), *builtin = a->request->blocks;
  if (of_file) GR_TRY(gr_model_expect(of_file, GR_CONF_MAP, "blocks:"));
  if (!builtin) GR_TRY(gr_model_blocks(a->arena, file, NULL, &builtin));
  a->blocks = GR_NEW(a->arena, gr_block, builtin->n + (of_file ? of_file->n : 0));
  GR_TRY(add_blocks(a->blocks, &a->n_blocks, of_file, false));
  return add_blocks(a->blocks, &a->n_blocks, builtin, true);
}

static bool is_visible(const gr_build_context *a, const gr_block *b) {
  const gr_block *in = gr_model_current_block(a);
  return !in || (b->builtin >= in->builtin && strcmp(b->name, in->name)) ||
         (b->builtin > in->builtin);
}

static gr_block *look_up(const gr_build_context *a, const char *name) {
  for (int i = 0; i < a->n_blocks; i++)
    if (*a->blocks[i].name == *name && !strcmp(a->blocks[i].name, name) &&
        is_visible(a, &a->blocks[i]))
      return &a->blocks[i];
  return NULL;
}

// Parses a built-in block that is used although no key of the file has its name.
static gr_status read_block(gr_build_context *a, gr_block *b) {
  if (!b || !b->builtin || b->conf->kind != GR_CONF_TEXT) return GR_OK;
  GR_TRY(gr_model_read_block(a->arena, b->conf, &b->conf));
  return check_block(b->conf);
}

// The nodes of a block are built again for every use, with the same words of the file.
gr_status gr_model_find_block(gr_build_context *a, const char *name, const gr_block **out) {
  const gr_block *in = gr_model_current_block(a);
  gr_found_block *f = &a->found[((uintptr_t)name / 8 + (uintptr_t)name / 512) % GR_MODEL_FOUND];
  if (f->name != name || f->in != in) *f = (gr_found_block){name, in, look_up(a, name)};
  *out = f->found;
  return read_block(a, f->found);
}

gr_status gr_model_builtin(gr_build_context *a, const char *name, const gr_block **out) {
  gr_block *b = a->blocks;
  while (!b->builtin || strcmp(b->name, name)) b++;
  *out = b;
  return read_block(a, b);
}

static int most_inputs(const gr_block *b) {
  const gr_conf *in = gr_conf_member(b->conf, "in");
  return !in ? 0 : in->kind == GR_CONF_TEXT ? 1 : in->n;
}

bool gr_model_means_op(const gr_block *b, gr_conf *use) {
  const gr_op *op = b->builtin ? gr_op_find(b->name) : NULL;
  const gr_conf *operands = use->items[0];
  int given = operands->kind == GR_CONF_LIST ? operands->n : 1;
  return op && !gr_op_is_internal(op) && given > most_inputs(b);
}

gr_status gr_model_unknown_use(gr_build_context *a, const char *name, gr_loc loc) {
  int n = 0, n_ops = 0;
  while (gr_ops[n_ops]) n_ops++;
  const char **known = GR_NEW(a->arena, const char *, a->n_blocks + n_ops + 5);
  for (int i = 0; i < a->n_blocks; i++)
    if (is_visible(a, &a->blocks[i])) known[n++] = a->blocks[i].name;
  for (int i = 0; i < n_ops; i++)
    if (!gr_op_is_internal(gr_ops[i])) known[n++] = gr_ops[i]->name;
  known[n++] = "param", known[n++] = "scan", known[n++] = "gradient", known[n++] = "einsum";
  known[n++] = "repeat";
  const gr_op *op = gr_op_find(name);
  gr_status s = op && gr_op_is_internal(op)
                    ? gr_fail(GR_ERR_CONFIG, loc, "op '%s' is graphrun's own, not for models", name)
                    : gr_fail(GR_ERR_CONFIG, loc, "there is no op or block '%s'", name);
  const char *instead = gr_model_alternative(name);
  return gr_hint(instead ? gr_hint(s, "%s", instead) : gr_model_suggest(s, name, known, n),
                 "the first key of a node is its op; 'graphrun ops' lists all ops");
}

// ---- Operands -------------------------------------------------------------------

// `in: x`, `in: [x, lengths?]` or `in: {x: [n, t, c], lengths?: [n]}`: returns name i and its
// shape.
static const char *input_name(gr_build_context *a, const gr_conf *in, int i, bool *optional) {
  const char *text = in->kind == GR_CONF_TEXT             ? in->text
                     : in->kind == GR_CONF_MAP            ? in->keys[i]
                     : in->items[i]->kind == GR_CONF_TEXT ? in->items[i]->text
                                                          : "";
  size_t n = strlen(text);
  *optional = n && text[n - 1] == '?';
  return gr_arena_strndup(a->arena, text, n - *optional);
}

// Where a shape has `...`, which stands for any number of axes; shape->n: nowhere.
static int find_others(const gr_conf *shape) {
  for (int i = 0; i < shape->n; i++)
    if (gr_model_is_others(shape->items[i])) return i;
  return shape->n;
}

// `...` in a list of sizes stands for these axes; of several operands with some, for the first's.
static void bind_others(gr_build_context *a, const int64_t *sizes, int n) {
  gr_text t = gr_text_make(a->arena);
  if (gr_model_get(a, gr_model_others)) return;
  for (int i = 0; i < n; i++) {
    if (i) gr_text_put(&t, ",");
    gr_text_put_int(&t, sizes[i]);
  }
  gr_model_set(a, gr_model_others, (gr_arg){.kind = GR_ARG_TEXT, .text = t.chars});
}

// Binds the letters of a shape ("[..., c]", "[n, ..., c]") to the operand's sizes.
static gr_status bind_shape(gr_build_context *a, const gr_conf *shape, const char *name, gr_val v) {
  GR_TRY(gr_model_expect(shape, GR_CONF_LIST, "the shape of an operand"));
  gr_type t = *gr_model_type(a, v);
  char buf[96];
  int before = find_others(shape);
  bool any = before < shape->n;
  int letters = shape->n - any, others = t.rank - letters;
  if (any ? others < 0 : others != 0)
    return gr_hint(
        gr_fail(GR_ERR_TYPE, gr_model_builder(a)->loc, "'%s' has %s%d axes here, found %s", name,
                any ? "at least " : "", letters, gr_type_text(&t, buf)),
        "the op 'reshape' gives a value other axes");
  if (any) bind_others(a, t.dim + before, others);
  for (int i = 0; i < letters; i++) {
    const gr_conf *c = shape->items[i < before ? i : i + any];
    if (gr_model_is_others(c))
      return gr_fail(GR_ERR_CONFIG, c->loc, "'...' stands in the shape of '%s' before", name);
    int64_t size = t.dim[i < before ? i : i + others];
    const gr_arg *known = c->kind == GR_CONF_TEXT ? gr_model_get(a, c->text) : NULL;
    if (c->kind == GR_CONF_INT ? c->integer != size : known && gr_arg_number(known) != (double)size)
      return gr_fail(GR_ERR_TYPE, gr_model_builder(a)->loc,
                     "axis '%s' of '%s' is %lld, and %.9g in an operand before it",
                     c->kind == GR_CONF_TEXT ? c->text : "", name, (long long)size,
                     known ? gr_arg_number(known) : (double)c->integer);
    if (c->kind == GR_CONF_TEXT && !known)
      gr_model_set(a, c->text, (gr_arg){.kind = GR_ARG_INT, .i = size});
  }
  return GR_OK;
}

// The name of an input, with '?' behind one that is optional.
static const char *operand_name(const gr_conf *in, int i) {
  return in->kind == GR_CONF_TEXT             ? in->text
         : in->kind == GR_CONF_MAP            ? in->keys[i]
         : in->items[i]->kind == GR_CONF_TEXT ? in->items[i]->text
                                              : "";
}

// How it is called.
static gr_status hint_inputs(gr_status s, const gr_block *b, const gr_conf *in, int n) {
  gr_arena *a = gr_arena_create();
  const char **names = GR_NEW(a, const char *, n + 1);
  for (int i = 0; i < n; i++) names[i] = operand_name(in, i);
  s = gr_hint(s, "{%s: [%s]}%s", b->name, gr_text_names(a, names, n),
              b->builtin ? "" : ", as its `in:` has them");
  return gr_arena_end(a,
                      b->builtin ? gr_hint(s, "`graphrun ops %s` says what they are", b->name) : s);
}

static gr_status count_inputs(const gr_block *b, gr_conf *in, int given, gr_loc loc) {
  int most = most_inputs(b), least = 0;
  for (int i = 0; i < most; i++) {
    const char *text = operand_name(in, i);
    least += text[0] && text[strlen(text) - 1] != '?';
  }
  if (given >= least && given <= most) return GR_OK;
  gr_status s = gr_fail(GR_ERR_CONFIG, loc, "block '%s' takes %s%d operand%s, found %d", b->name,
                        least < most ? "at least " : "", least, least == 1 ? "" : "s", given);
  return gr_note(hint_inputs(s, b, in, most), b->conf->key_loc, "the block");
}

// In the block, a number stands where numbers of parameters may: among operands of pointwise ops
// and of blocks.
static gr_status bind_number(gr_build_context *a, const gr_conf *in, const char *name,
                             const gr_binding *given) {
  char text[32];
  snprintf(text, sizeof text, "%.9g", given->by);
  if (in->kind == GR_CONF_MAP)
    return gr_hint(
        gr_fail(GR_ERR_TYPE, given->loc, "'%s' is a tensor here, found the number %s", name, text),
        "the op 'fill' makes a tensor of one number");
  gr_model_set(a, name, (gr_arg){.kind = GR_ARG_FLOAT, .f = given->by, .operand = true});
  return GR_OK;
}

static gr_status bind_inputs(gr_build_context *a, const gr_block *b, const gr_binding *given,
                             int n) {
  gr_conf *in = gr_conf_member(b->conf, "in");
  int most = most_inputs(b);
  for (int i = 0; i < most; i++) {
    bool optional, there = i < n && !given[i].absent;
    const char *name = input_name(a, in, i, &optional);
    gr_binding got = there ? given[i] : (gr_binding){.absent = true};
    if (!there && !optional)
      return gr_fail(GR_ERR_CONFIG, gr_model_builder(a)->loc, "'%s' of block '%s' must be given",
                     name, b->name);
    if (got.number)
      GR_TRY(bind_number(a, in, name, &got));
    else
      gr_model_bind(a, name, in->loc, &got);
    gr_val v;
    if (!there || got.number || in->kind != GR_CONF_MAP) continue;
    GR_TRY(gr_model_value(a, name, gr_model_builder(a)->loc, &v));
    gr_status s = bind_shape(a, in->items[i], name, v);
    if (gr_status_code(s) == GR_ERR_TYPE) s = hint_inputs(s, b, in, most);
    GR_TRY(s);
  }
  return GR_OK;
}

// ---- Parameters -----------------------------------------------------------------

// A parameter has the kind of its default; without a default it is a number.
static gr_status check_kind(const gr_arg *default_value, const gr_conf *given, const char *name,
                            gr_arg *got) {
  bool number = got->kind == GR_ARG_INT || got->kind == GR_ARG_FLOAT;
  bool is_whole = number && gr_arg_number(got) == floor(gr_arg_number(got));
  bool fits = default_value->kind == GR_ARG_BOOL
                  ? got->kind == GR_ARG_BOOL || got->kind == GR_ARG_INT
              : default_value->kind == GR_ARG_FLOAT ? number
              : default_value->kind == GR_ARG_INT   ? is_whole
                                                    : got->kind == GR_ARG_TEXT;
  if (fits) return GR_OK;
  char text[48];
  snprintf(text, sizeof text, "%.9g", gr_arg_number(got));
  gr_status s = gr_fail(GR_ERR_CONFIG, given->loc, "'%s' is %s, found %s, %s", name,
                        gr_arg_kind(default_value), gr_arg_kind(got),
                        got->kind == GR_ARG_TEXT ? got->text : text);
  return number && default_value->kind == GR_ARG_INT
             ? gr_hint(s, "floor(x) rounds down, and // divides and rounds down")
             : s;
}

// Arguments are evaluated in the caller's scope, defaults in the block's.
static gr_status bind_param(gr_build_context *a, const gr_block *b, gr_conf *use, const char *name,
                            gr_conf *default_value) {
  gr_frame *here = a->frame;
  gr_conf *given = gr_conf_member(use, name);
  bool missing = default_value->kind == GR_CONF_MISSING;
  gr_arg x;
  if (missing && !given)
    return gr_fail(GR_ERR_CONFIG, use->items[0]->key_loc, "block '%s' needs '%s:'", b->name, name);
  if (!missing) GR_TRY(gr_model_arg(a, default_value, true, &x));
  if (given) {
    gr_arg kind = missing ? (gr_arg){.kind = GR_ARG_FLOAT} : x;
    if (kind.kind != GR_ARG_TEXT) GR_TRY(gr_model_one_value(b->conf, given, b->name, name));
    a->frame = here->caller;
    if (given->kind == GR_CONF_LIST)
      GR_TRY(gr_model_list(a, given, &x.text));
    else
      GR_TRY(gr_model_arg(a, given, kind.kind == GR_ARG_TEXT, &x));
    a->frame = here;
    GR_TRY(check_kind(&kind, given, name, &x));
  }
  gr_model_set(a, name, x);
  return GR_OK;
}

static gr_status bind_params(gr_build_context *a, const gr_block *b, gr_conf *use) {
  gr_conf *params = gr_conf_member(b->conf, "params");
  for (int i = 0; params && i < params->n; i++)
    GR_TRY(bind_param(a, b, use, params->keys[i], params->items[i]));
  return GR_OK;
}

// Whether all keys but the first are parameters of the block or reserved: the usual case.
static bool has_params(const gr_block *b, const gr_conf *use) {
  const gr_conf *params = gr_conf_member(b->conf, "params");
  for (int i = 1; i < use->n; i++)
    if (!(params && gr_conf_index(params, use->keys[i]) >= 0) && !gr_model_reserved(use->keys[i]))
      return false;
  return true;
}

static gr_status check_use(gr_build_context *a, const gr_block *b, const gr_conf *use) {
  if (has_params(b, use)) return GR_OK;
  gr_conf *params = gr_conf_member(b->conf, "params");
  gr_conf rest = *use;
  rest.keys++, rest.items++, rest.n--;
  char *what = gr_arena_printf(a->arena, "block '%s'", b->name);
  return gr_model_keys_of_node(a, &rest, what, params ? params->keys : NULL,
                               params ? params->n : 0);
}

// ---- Use ------------------------------------------------------------------------

static gr_status results(gr_build_context *a, const gr_block *b, const gr_binding *last,
                         gr_binding *out) {
  gr_conf *names = gr_conf_member(b->conf, "out");
  *out = *last;
  if (names && names->kind == GR_CONF_TEXT) {
    const gr_binding *one;
    GR_TRY(gr_model_resolve(a, names->text, names->loc, &one));
    *out = *one;
  } else if (names) {
    GR_TRY(gr_model_expect(names, GR_CONF_LIST, "out:"));
    if (names->n > GR_MODEL_RESULTS)
      return gr_fail(GR_ERR_CONFIG, names->loc, "at most %d results", GR_MODEL_RESULTS);
    for (out->n = 0; out->n < names->n; out->n++) {
      gr_conf *c = names->items[out->n];
      GR_TRY(gr_model_expect(c, GR_CONF_TEXT, "a result"));
      GR_TRY(gr_model_value(a, c->text, c->loc, &out->v[out->n]));
    }
    out->depth = a->depth;
  }
  return GR_OK;
}

static gr_status build(gr_build_context *a, const gr_block *b, gr_binding *out) {
  gr_binding last = {0};
  gr_val carries[GR_MODEL_RESULTS];
  GR_TRY(gr_model_open_buffers(a, b->conf));
  GR_TRY(gr_model_open_carries(a, b->conf, carries));
  GR_TRY(a->build_nodes(a, gr_conf_member(b->conf, "nodes"), &last));
  GR_TRY(gr_model_close_carries(a, b->conf, carries));
  GR_TRY(gr_model_assign_buffers(a, gr_conf_member(b->conf, "next"),
                                 gr_conf_member(b->conf, "buffers")));
  return results(a, b, &last, out);
}

static gr_status inside(gr_build_context *a, const gr_block *b, gr_conf *use,
                        const gr_binding *given, int n, gr_binding *out) {
  GR_TRY(bind_inputs(a, b, given, n));
  GR_TRY(bind_params(a, b, use));
  GR_TRY(gr_model_checks(a, gr_conf_member(b->conf, "checks")));
  const gr_block_use *known = gr_model_known_use(a, b, use, given, n);
  if (known) return gr_model_use_again(a, known, given, out);
  gr_block_use *noted = gr_model_open_use(a, b, use, given, n);
  GR_TRY(build(a, b, out));
  gr_model_close_use(a, noted, out);
  return GR_OK;
}

static gr_status check_nesting(const gr_build_context *a, const gr_block *b, gr_loc loc) {
  for (const gr_frame *f = a->frame; f; f = f->caller ? f->caller : f->up)
    if (f->block == b)
      return gr_fail(GR_ERR_CONFIG, loc,
                     "block '%s' uses itself; write a loop with 'repeat:' or 'scan:'", b->name);
  return a->nest < GR_MODEL_NEST ? GR_OK
                                 : gr_fail(GR_ERR_CONFIG, loc, "blocks are nested too deep");
}

gr_status gr_model_block(gr_build_context *a, const gr_block *b, gr_conf *use, gr_binding *out) {
  gr_loc loc = use->items[0]->key_loc;
  gr_binding given[GR_MAX_ARGS];
  int n;
  GR_TRY(check_nesting(a, b, loc));
  gr_model_scope(a, b->name);
  GR_TRY(check_use(a, b, use));
  GR_TRY(gr_model_operands(a, use->items[0], true, given, GR_MAX_ARGS, &n));
  GR_TRY(count_inputs(b, gr_conf_member(b->conf, "in"), n, loc));
  gr_frame *caller = a->frame;
  a->frame = gr_model_frame(a, NULL, caller, b);
  a->nest++;
  gr_status s = inside(a, b, use, given, n, out);
  a->nest--;
  a->frame = caller;
  gr_loc error_loc = gr_status_loc(s);
  bool shown = s && error_loc.file && loc.file && !strcmp(error_loc.file, loc.file) &&
               error_loc.line == loc.line;
  return shown ? s : gr_note(s, loc, "in block '%s', used here", b->name);
}
