// scan.c - builds scan: a body that runs along an axis, with carried tensors.
//   - h:
//       scan:
//         over: {x: t}                  # in the body, x is one step's slice; if it is given
//         carry: {h: zeros[n, dim]}     # or the name of a tensor to start from
//         start: {h: first}             # that tensor in place of zeros, if it is given
//         nodes: [...]                  # binding h again gives the next step's h
//         yields: h                     # stacked along the same axis
//         next: {h: other}              # if the next value has another name
//         last: {h_end: h}              # the carry after the last step, as h_end
//         until: done                   # a carry; rows where it is not 0 change no more
//         reverse: true                 # from the last step to the first
// In the IR time comes first (ops/loop/scan.h), so sequences are transposed on the way in and out.
#include <ctype.h>
#include <string.h>
#include "compiler/model/emit.h"

static const char *const keys[] = {"over", "carry", "start", "nodes",  "yields",
                                   "next", "last",  "until", "reverse"};

typedef struct carry {
  const char *name;
  gr_loc loc;
  gr_val leaf;
} carry;

typedef struct writing {
  gr_build_context *a;
  gr_conf *conf;
  gr_loop loop;
  gr_frame *outside;
  int axis;  // the time axis of sequences and yields
  carry *carries;
  const carry *until;  // the one that ends the loop, or NULL
  int n_carries, n_yields;
  gr_val yields[GR_MODEL_RESULTS];
} writing;

// Moves one axis to another position.
static gr_val move_axis(gr_builder *b, gr_val v, int axis, int to) {
  if (axis == to || b->err) return v;
  int rank = gr_at(b->g, v)->type.rank, n = 0;
  gr_text t = gr_text_make(b->g->arena);
  for (int i = 0, next = 0; i < rank; i++) {
    if (next == axis) next++;
    gr_text_printf(&t, "%s%d", n++ ? "," : "[", i == to ? axis : next++);
  }
  gr_text_put(&t, "]");
  return gr_model_make(b, "transpose", 1, &v, (gr_setting[]){{"perm", t.chars}, {0}});
}

// ---- Sequences ------------------------------------------------------------------

static gr_status axis_of(gr_build_context *a, const gr_conf *c, int *out) {
  int64_t axis = 1;
  bool letter = gr_conf_says(c, "t");
  if (!letter) GR_TRY(gr_model_int(a, c, &axis));
  if (axis < 0 || axis > 1)
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "a scan runs along axis 0 or 1"),
                   "t means axis 1, of [n, t, c]");
  *out = (int)axis;
  return GR_OK;
}

static gr_status sequence(writing *w, const char *name, gr_loc loc, int axis, gr_val *out) {
  gr_build_context *a = w->a;
  gr_val v;
  GR_TRY(gr_model_value(a, name, loc, &v));
  const gr_type *t = gr_model_type(a, v);
  char buf[96];
  if (t->rank <= axis)
    return gr_fail(GR_ERR_TYPE, loc, "'%s' is %s and has no axis %d to run along", name,
                   gr_type_text(t, buf), axis);
  if (!w->loop.outside) {
    gr_loop_open(&w->loop, gr_model_builder(a), (int)t->dim[axis], false);
    w->axis = axis;
  }
  if (t->dim[axis] != w->loop.scan.steps || axis != w->axis)
    return gr_fail(
        GR_ERR_TYPE, loc,
        "'%s' has %lld steps along axis %d, and the sequence before it %lld along axis %d", name,
        (long long)t->dim[axis], axis, (long long)w->loop.scan.steps, w->axis);
  *out = move_axis(gr_model_builder(a), v, axis, 0);
  return gr_model_take_error(a);
}

static gr_status open_sequences(writing *w) {
  gr_conf *over = gr_conf_member(w->conf, "over");
  gr_build_context *a = w->a;
  if (!over) return gr_fail(GR_ERR_CONFIG, w->conf->loc, "a scan needs 'over: {x: t}'");
  GR_TRY(gr_model_expect(over, GR_CONF_MAP, "over:"));
  gr_val *in = GR_NEW(a->arena, gr_val, over->n);
  for (int i = 0; i < over->n; i++) {
    const gr_binding *b;
    int axis = 0;
    GR_TRY(axis_of(a, over->items[i], &axis));
    GR_TRY(gr_model_resolve(a, over->keys[i], over->items[i]->key_loc, &b));
    if (!b->absent) GR_TRY(sequence(w, over->keys[i], over->items[i]->key_loc, axis, &in[i]));
  }
  if (!w->loop.outside)
    return gr_fail(GR_ERR_CONFIG, over->loc, "a scan needs a sequence to run over");
  gr_conf *reverse = gr_conf_member(w->conf, "reverse");
  bool back = false;
  if (reverse) GR_TRY(gr_model_bool(a, reverse, &back));
  w->loop.scan.reverse = back;
  a->frame = gr_model_frame(a, w->outside, NULL, NULL);
  for (int i = 0; i < over->n; i++) {
    if (!gr_is(in[i])) continue;  // an optional operand that is not given
    gr_binding b = {.depth = a->depth + 1, .n = 1, .v = {gr_loop_seq(&w->loop, in[i])}};
    gr_model_bind(a, over->keys[i], over->items[i]->key_loc, &b);
  }
  return GR_OK;
}

// ---- Carries --------------------------------------------------------------------

// Parses the shape in "zeros[n, dim]" or [n, dim]; false: it is something else.
static gr_status zeros_shape(gr_build_context *a, gr_conf *c, gr_type *out, bool *is_zeros) {
  *is_zeros = true;
  if (c->kind == GR_CONF_LIST) return gr_model_shape(a, c, out);
  const char *p = c->kind == GR_CONF_TEXT && !strncmp(c->text, "zeros", 5) ? c->text + 5 : "";
  while (isspace((unsigned char)*p)) p++;
  size_t n = strlen(p);
  *is_zeros = n > 1 && *p == '[' && p[n - 1] == ']';
  if (!*is_zeros) return GR_OK;
  gr_conf *list;
  gr_status s = gr_conf_parse(a->arena, c->loc.file, p, &list);
  if (s) {  // its columns are relative to this part of the line
    gr_status_drop(s);
    return gr_fail(GR_ERR_CONFIG, c->loc, "expected zeros[n, dim], found '%s'", c->text);
  }
  for (int i = 0; i < list->n; i++) list->items[i]->loc = c->loc;
  list->loc = c->loc;
  return gr_model_shape(a, list, out);
}

// What a carry starts as in place of zeros: an operand of the block around, if it is given. zeros:
// NULL: it does not start as zeros.
static gr_status start_of(writing *w, const char *name, const gr_type *zeros, gr_val *out) {
  gr_build_context *a = w->a;
  gr_conf *map = gr_conf_member(w->conf, "start"), *c = map ? gr_conf_member(map, name) : NULL;
  const gr_binding *b;
  char have[96], want[96];
  if (!c) return GR_OK;
  if (!zeros)
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->key_loc, "the carry '%s' starts as a tensor", name),
                   "start: is for those of zeros, such as carry: {%s: [n, dim]}", name);
  GR_TRY(gr_model_expect(c, GR_CONF_TEXT, "the name of a tensor"));
  GR_TRY(gr_model_resolve(a, c->text, c->loc, &b));
  if (b->absent) return GR_OK;
  GR_TRY(gr_model_value(a, c->text, c->loc, out));
  if (gr_type_same(gr_model_type(a, *out), zeros)) return GR_OK;
  return gr_fail(GR_ERR_TYPE, c->loc, "the carry '%s' is %s, and '%s', which starts it, %s", name,
                 gr_type_text(zeros, want), c->text, gr_type_text(gr_model_type(a, *out), have));
}

static gr_status open_carry(writing *w, const char *name, gr_conf *c, carry *out) {
  gr_build_context *a = w->a;
  gr_type t = {.dtype = GR_F32};
  bool zeros;
  gr_val init = GR_NONE;
  GR_TRY(zeros_shape(a, c, &t, &zeros));
  gr_frame *body = a->frame;
  a->frame = w->outside;
  GR_TRY(start_of(w, name, zeros ? &t : NULL, &init));
  if (!zeros) {
    GR_TRY(
        gr_model_expect(c, GR_CONF_TEXT, "the initial value of a carry (a name, or zeros[n, c])"));
    GR_TRY(gr_model_value(a, c->text, c->loc, &init));
  }
  a->frame = body;
  *out = (carry){.name = name, .loc = c->key_loc};
  out->leaf = !gr_is(init) ? gr_loop_zero(&w->loop, t, name) : gr_loop_carry(&w->loop, init, name);
  gr_binding b = {.depth = a->depth + 1, .n = 1, .v = {out->leaf}};
  gr_model_bind(a, name, c->key_loc, &b);
  return GR_OK;
}

static const carry *find_carry(const writing *w, const char *name) {
  for (int i = 0; i < w->n_carries; i++)
    if (!strcmp(w->carries[i].name, name)) return &w->carries[i];
  return NULL;
}

static gr_status unknown_carry(const writing *w, const char *name, gr_loc loc) {
  const char *known[64];
  int n = 0;
  for (; n < w->n_carries && n < 64; n++) known[n] = w->carries[n].name;
  return gr_model_suggest(gr_fail(GR_ERR_CONFIG, loc, "the scan carries no '%s'", name), name,
                          known, n);
}

static gr_status open_carries(writing *w) {
  gr_conf *map = gr_conf_member(w->conf, "carry"), *start = gr_conf_member(w->conf, "start");
  if (start) GR_TRY(gr_model_expect(start, GR_CONF_MAP, "start:"));
  if (!map) return start ? unknown_carry(w, "start", start->key_loc) : GR_OK;
  GR_TRY(gr_model_expect(map, GR_CONF_MAP, "carry:"));
  w->carries = GR_NEW(w->a->arena, carry, map->n);
  for (int i = 0; i < map->n; i++)
    GR_TRY(open_carry(w, map->keys[i], map->items[i], &w->carries[w->n_carries++]));
  for (int i = 0; start && i < start->n; i++)
    if (!find_carry(w, start->keys[i]))
      return unknown_carry(w, start->keys[i], start->items[i]->key_loc);
  return GR_OK;
}

static bool is_where(gr_loc a, gr_loc b) { return a.line == b.line && a.col == b.col; }

// What `text` names is a carry's next value; a node may leave it be, as dropout does in evaluation.
static gr_status find_next(gr_build_context *a, const carry *c, const char *text, gr_loc loc,
                           gr_val *out) {
  char have[96], want[96];
  GR_TRY(gr_model_value(a, text, loc, out));
  gr_val v = *out;
  if (v.id == c->leaf.id && is_where(gr_model_find(a, text)->loc, c->loc))
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, c->loc, "the carry '%s' never changes", c->name),
        "bind '%s' again in nodes:, or set 'next: {%s: NAME}'; a constant needs no carry", c->name,
        c->name);
  if (!gr_type_same(gr_model_type(a, v), gr_model_type(a, c->leaf)))
    return gr_fail(GR_ERR_TYPE, loc, "the carry '%s' starts as %s, but its next value is %s",
                   c->name, gr_type_text(gr_model_type(a, c->leaf), want),
                   gr_type_text(gr_model_type(a, v), have));
  if (v.id == c->leaf.id) *out = gr_scale(gr_model_builder(a), v, 1);
  return GR_OK;
}

// ---- Loops that may end early -----------------------------------------------------

static bool is_read_after(const writing *w, const carry *c) {
  gr_conf *last = gr_conf_member(w->conf, "last");
  for (int i = 0; last && i < last->n; i++)
    if (gr_conf_says(last->items[i], c->name)) return true;
  return c == w->until;
}

// Keeps the rows of a carry that is read after the loop as they are once the carry that ends it
// is set for them. So the result does not depend on when the loop ends, which each rank decides by
// the rows that it has.
static gr_status keep_rows(const writing *w, const carry *c, gr_val *next) {
  gr_build_context *a = w->a;
  gr_builder *b = gr_model_builder(a);
  if (!w->until || !is_read_after(w, c)) return GR_OK;
  const gr_type t = *gr_model_type(a, c->leaf), flags = *gr_model_type(a, w->until->leaf);
  char have[96], want[96];
  if (t.rank < flags.rank || (flags.rank && t.dim[0] != flags.dim[0]))
    return gr_fail(GR_ERR_TYPE, c->loc, "the carry '%s' is %s: it has no row for each of '%s', %s",
                   c->name, gr_type_text(&t, have), w->until->name, gr_type_text(&flags, want));
  gr_val done = gr_cast(b, w->until->leaf, t.dtype);
  for (int d = flags.rank; d < t.rank; d++) done = gr_broadcast(b, done, d, t.dim[d]);
  *next = gr_where(b, done, c->leaf, *next);
  return gr_model_take_error(a);
}

static gr_status next_of(writing *w, const carry *c, gr_conf *next) {
  gr_conf *given = next ? gr_conf_member(next, c->name) : NULL;
  gr_val v;
  if (given) GR_TRY(gr_model_expect(given, GR_CONF_TEXT, "the next value of a carry"));
  GR_TRY(find_next(w->a, c, given ? given->text : c->name, given ? given->loc : c->loc, &v));
  GR_TRY(keep_rows(w, c, &v));
  gr_loop_next(&w->loop, c->leaf, v);
  return GR_OK;
}

static gr_status find_until(writing *w) {
  gr_conf *c = gr_conf_member(w->conf, "until"), *yields = gr_conf_member(w->conf, "yields");
  if (!c) return GR_OK;
  GR_TRY(gr_model_expect(c, GR_CONF_TEXT, "the name of a carry"));
  if (!(w->until = find_carry(w, c->text))) return unknown_carry(w, c->text, c->loc);
  w->loop.until = w->until->leaf;
  if (gr_model_type(w->a, w->until->leaf)->rank > 1)
    return gr_fail(GR_ERR_TYPE, c->loc, "what ends a scan is one number, or one for each row");
  if (yields)
    return gr_hint(gr_fail(GR_ERR_CONFIG, yields->key_loc, "a scan with until: has no yields"),
                   "it may end early: write into a carry with write_slice, and read it by last:");
  return GR_OK;
}

static gr_status close_carries(writing *w) {
  gr_conf *next = gr_conf_member(w->conf, "next");
  if (next) GR_TRY(gr_model_expect(next, GR_CONF_MAP, "next:"));
  for (int i = 0; next && i < next->n; i++)
    if (!find_carry(w, next->keys[i]))
      return unknown_carry(w, next->keys[i], next->items[i]->key_loc);
  GR_TRY(find_until(w));
  for (int i = 0; i < w->n_carries; i++) GR_TRY(next_of(w, &w->carries[i], next));
  return GR_OK;
}

// ---- Carries of blocks ------------------------------------------------------------

gr_status gr_model_open_carries(gr_build_context *a, gr_conf *block, gr_val *out) {
  gr_conf *map = gr_conf_member(block, "carry");
  if (!map) return GR_OK;
  GR_TRY(gr_model_expect(map, GR_CONF_MAP, "carry:"));
  if (!a->depth)
    return gr_fail(GR_ERR_CONFIG, gr_model_builder(a)->loc,
                   "this block carries a value from step to step: it is used in a scan");
  if (map->n > GR_MODEL_RESULTS)
    return gr_fail(GR_ERR_CONFIG, map->loc, "a block carries at most %d values", GR_MODEL_RESULTS);
  for (int i = 0; i < map->n; i++) {
    gr_type t = {.dtype = GR_F32};
    bool zeros;
    GR_TRY(zeros_shape(a, map->items[i], &t, &zeros));
    if (!zeros)
      return gr_fail(GR_ERR_CONFIG, map->items[i]->loc,
                     "what a block carries starts at zero: expected its shape, zeros[n, c]");
    out[i] = gr_loop_zero(a->loops[a->depth - 1], t, map->keys[i]);
    gr_binding b = {.depth = a->depth, .n = 1, .v = {out[i]}};
    gr_model_bind(a, map->keys[i], map->items[i]->key_loc, &b);
  }
  return GR_OK;
}

gr_status gr_model_close_carries(gr_build_context *a, gr_conf *block, const gr_val *leaves) {
  gr_conf *map = gr_conf_member(block, "carry");
  for (int i = 0; map && i < map->n; i++) {
    const carry c = {.name = map->keys[i], .loc = map->items[i]->key_loc, .leaf = leaves[i]};
    gr_val v;
    GR_TRY(find_next(a, &c, c.name, c.loc, &v));
    gr_loop_next(a->loops[a->depth - 1], c.leaf, v);
  }
  return GR_OK;
}

// ---- Results --------------------------------------------------------------------

static gr_status yield_one(writing *w, const gr_conf *c) {
  gr_build_context *a = w->a;
  gr_val v;
  GR_TRY(gr_model_expect(c, GR_CONF_TEXT, "what a scan yields"));
  GR_TRY(gr_model_value(a, c->text, c->loc, &v));
  if (w->n_yields == GR_MODEL_RESULTS)
    return gr_fail(GR_ERR_CONFIG, c->loc, "at most %d yields", GR_MODEL_RESULTS);
  if (gr_at(w->loop.b.g, v)->role != GR_TEMP)
    v = gr_scale(&w->loop.b, v, 1);  // a new value, since a yield must be computed in the body
  gr_loop_yield(&w->loop, v);
  w->n_yields++;
  return gr_model_take_error(a);
}

static gr_status yield_all(writing *w) {
  gr_conf *c = gr_conf_member(w->conf, "yields");
  if (!c) return GR_OK;
  if (c->kind != GR_CONF_LIST) return yield_one(w, c);
  for (int i = 0; i < c->n; i++) GR_TRY(yield_one(w, c->items[i]));
  return GR_OK;
}

static gr_status bind_last(writing *w) {
  gr_conf *map = gr_conf_member(w->conf, "last");
  if (!map) return GR_OK;
  GR_TRY(gr_model_expect(map, GR_CONF_MAP, "last:"));
  for (int i = 0; i < map->n; i++) {
    gr_conf *c = map->items[i];
    GR_TRY(gr_model_expect(c, GR_CONF_TEXT, "the name of a carry"));
    const carry *k = find_carry(w, c->text);
    if (!k) return unknown_carry(w, c->text, c->loc);
    gr_binding b = {.depth = w->a->depth, .n = 1, .v = {gr_loop_last(&w->loop, k->leaf)}};
    gr_model_bind(w->a, map->keys[i], c->key_loc, &b);
  }
  return GR_OK;
}

static gr_status body(writing *w) {
  gr_build_context *a = w->a;
  gr_conf *nodes = gr_conf_member(w->conf, "nodes");
  gr_binding ignored;
  if (!nodes) return gr_fail(GR_ERR_CONFIG, w->conf->loc, "a scan needs 'nodes:'");
  if (a->depth == GR_MODEL_LOOPS)
    return gr_fail(GR_ERR_CONFIG, w->conf->loc, "scans are nested too deep");
  w->loop.b.scope = w->loop.outside->scope;
  a->loops[a->depth++] = &w->loop;
  GR_TRY(a->build_nodes(a, nodes, &ignored));
  GR_TRY(close_carries(w));
  GR_TRY(yield_all(w));
  a->depth--;
  a->frame = w->outside;
  return GR_OK;
}

gr_status gr_model_scan(gr_build_context *a, gr_conf *use, gr_binding *out) {
  gr_conf *conf = use->items[0], rest = *use;
  rest.keys++, rest.items++, rest.n--;
  GR_TRY(gr_model_keys_of_node(a, &rest, "a scan node", NULL, 0));
  GR_TRY(gr_model_expect(conf, GR_CONF_MAP, "scan:"));
  GR_TRY(gr_model_keys(conf, "scan", keys, sizeof keys / sizeof *keys));
  writing *w = GR_NEW(a->arena, writing, 1);
  *w = (writing){.a = a, .conf = conf, .outside = a->frame};
  GR_TRY(open_sequences(w));
  GR_TRY(open_carries(w));
  GR_TRY(body(w));
  gr_loop_close(&w->loop);
  GR_TRY(gr_model_take_error(a));
  *out = (gr_binding){.depth = a->depth, .n = w->n_yields};
  for (int i = 0; i < w->n_yields; i++)
    out->v[i] = move_axis(gr_model_builder(a), gr_loop_stack(&w->loop, i), 0, w->axis);
  GR_TRY(bind_last(w));
  return gr_model_take_error(a);
}
