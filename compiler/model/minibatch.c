// minibatch.c - a program that goes over minibatches of rows of buffers.
//
//   over: {rows: [seen, reward], of: 128, axes: 2}
//
// In the program's own nodes the names of the buffers stand for 128 of their rows, which the op
// `minibatch` selects; axes: how many of the first axes count rows together. Of a step in
// micro-steps each sees an equal part of these rows.
#include <string.h>
#include "compiler/model/parts.h"

typedef struct over {
  const gr_conf *rows;  // the names of the buffers
  gr_conf *buffers;     // the file's
  int64_t of, axes;
  int64_t n;  // the rows of each
  uint64_t stream;
  int64_t parts;  // micro-steps of a step, each of which sees as many rows
} over;

static const char example[] = "over: {rows: [seen, reward], of: 128}";

// ---- Reading --------------------------------------------------------------------------

static gr_status read_number(gr_build_context *a, gr_conf *map, const char *key, int64_t *out) {
  const gr_conf *c = gr_conf_member(map, key);
  if (!c) return GR_OK;
  GR_TRY(gr_model_int(a, c, out));
  return *out >= 1 ? GR_OK : gr_fail(GR_ERR_CONFIG, c->loc, "'%s' must be at least 1", key);
}

static gr_status read_over(gr_build_context *a, gr_conf *map, over *o) {
  static const char *const keys[] = {"rows", "of", "axes"};
  GR_TRY(gr_hint(gr_model_expect(map, GR_CONF_MAP, "over:"), example));
  GR_TRY(gr_model_keys(map, "over:", keys, 3));
  gr_conf *rows = gr_conf_member(map, "rows"), *of = gr_conf_member(map, "of");
  if (!rows || !of || rows->kind != GR_CONF_LIST || !rows->n)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, map->key_loc,
                "over: needs 'rows', a list of buffers, and 'of', the rows of a minibatch"),
        example);
  o->rows = rows, o->axes = 1;
  GR_TRY(read_number(a, map, "of", &o->of));
  return read_number(a, map, "axes", &o->axes);
}

// ---- Checks ---------------------------------------------------------------------------

static bool is_split(const gr_conf *buffers, const char *name) {
  int i = gr_conf_index(buffers, name);
  const gr_conf *c = i < 0 ? NULL : buffers->items[i];
  int k = c && c->kind == GR_CONF_MAP ? gr_conf_index(c, "layout") : -1;
  return k >= 0 && gr_conf_says(c->items[k], "batch");
}

static gr_status check_buffer(const over *o, const gr_conf *c) {
  bool known = c->kind == GR_CONF_TEXT && o->buffers && gr_conf_index(o->buffers, c->text) >= 0;
  if (!known) {
    gr_status s =
        gr_fail(GR_ERR_CONFIG, c->loc, "rows: there is no buffer '%s'", gr_conf_text_of(c, ""));
    if (c->kind == GR_CONF_TEXT && o->buffers)
      s = gr_model_suggest(s, c->text, o->buffers->keys, o->buffers->n);
    return gr_hint(s, "rows are those of buffers: of the file");
  }
  if (is_split(o->buffers, c->text)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc,
                         "the buffer '%s' is not split over the ranks as a "
                         "batch is",
                         c->text),
                 "%s: {shape: [...], layout: batch}", c->text);
}

// What a program sees as a minibatch it cannot set.
static gr_status check_next(const over *o, gr_conf *next) {
  for (int i = 0; next && next->kind == GR_CONF_MAP && i < next->n; i++)
    for (int k = 0; k < o->rows->n; k++)
      if (o->rows->items[k]->kind == GR_CONF_TEXT &&
          !strcmp(next->keys[i], o->rows->items[k]->text))
        return gr_hint(
            gr_fail(GR_ERR_CONFIG, next->items[i]->key_loc,
                    "this program sees minibatches of '%s', and cannot set it", next->keys[i]),
            "set it in a program of its own, whose `over:` does not name it");
  return GR_OK;
}

static gr_status check_rows(const over *o, const gr_conf *c, int64_t n, int64_t ranks) {
  if (o->n && n != o->n)
    return gr_hint(gr_fail(GR_ERR_TYPE, c->loc, "'%s' has %lld rows, and '%s' %lld", c->text,
                           (long long)n, o->rows->items[0]->text, (long long)o->n),
                   "rows that belong together are in buffers of as many; `axes:` says how many of "
                   "the first axes count them");
  if (n % o->of) {
    int64_t below = o->of, above = o->of;
    while (n % below) below--;
    while (above < n && n % above) above++;
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc,
                           "the %lld rows of '%s' are no whole number of minibatches of %lld",
                           (long long)n, c->text, (long long)o->of),
                   "of: %lld or %lld, which divide them, or buffers of other sizes",
                   (long long)below, (long long)(above > n ? n : above));
  }
  if (o->of % ranks)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, c->loc, "minibatches of %lld rows cannot be split over %lld ranks",
                (long long)o->of, (long long)ranks),
        "a multiple of %lld rows, or another number of ranks", (long long)ranks);
  if (o->of / ranks % o->parts)
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc,
                           "a rank's %lld rows of a minibatch are no whole number of rows for each "
                           "of %lld micro-steps",
                           (long long)(o->of / ranks), (long long)o->parts),
                   "of: a multiple of %lld, which is ranks x micro-steps, or another "
                   "training.accumulate",
                   (long long)(ranks * o->parts));
  return GR_OK;
}

// ---- Rows -----------------------------------------------------------------------------

static int64_t count_ranks(const gr_build_context *a) {
  int64_t ranks = 1;
  for (int k = 0; k < a->request->mesh.n_axes; k++)
    if (gr_model_splits_batch(a, k)) ranks *= a->request->mesh.axis[k].size;
  return ranks;
}

// The value with its first axes joined to one of rows.
static gr_val join_rows(gr_build_context *a, const gr_type *t, gr_val v, int axes) {
  gr_ints shape = {.n = 1 + t->rank - axes, .items = {-1}};
  for (int d = axes; d < t->rank; d++) shape.items[1 + d - axes] = t->dim[d];
  return axes == 1 ? v : gr_reshape(&a->root, v, shape);
}

static gr_status open_buffer(gr_build_context *a, over *o, const gr_conf *c) {
  gr_val v;
  char type[96];
  GR_TRY(check_buffer(o, c));
  GR_TRY(gr_model_value(a, c->text, c->loc, &v));
  const gr_type t = *gr_model_type(a, v);
  if (t.rank < o->axes)
    return gr_fail(GR_ERR_TYPE, c->loc, "'%s' is %s, so that %lld axes cannot count its rows",
                   c->text, gr_type_text(&t, type), (long long)o->axes);
  int64_t n = 1;
  for (int d = 0; d < o->axes; d++) n *= t.dim[d];
  GR_TRY(check_rows(o, c, n, count_ranks(a)));
  o->n = n;
  a->root.loc = c->loc, a->root.scope = c->text;
  gr_val rows = join_rows(a, &t, v, (int)o->axes);
  gr_binding bound = {.n = 1};
  bound.v[0] = gr_minibatch(&a->root, rows, gr_model_step(a), o->of / o->parts,
                            (int64_t)a->request->seed, o->stream, o->parts);
  gr_model_bind(a, c->text, c->loc, &bound);
  return gr_model_take_error(a);
}

gr_status gr_model_open_minibatch(gr_build_context *a, gr_conf *file) {
  gr_conf *map = a->program ? gr_conf_member(a->program, "over") : NULL;
  over o = {.buffers = gr_conf_member(file, "buffers"),
            .parts = a->request->micro_batches > 1 ? a->request->micro_batches : 1};
  if (!map) return GR_OK;
  GR_TRY(read_over(a, map, &o));
  GR_TRY(check_next(&o, gr_conf_member(file, "next")));
  GR_TRY(check_next(&o, gr_conf_member(a->program, "next")));
  o.stream = gr_hash_text(gr_arena_printf(a->arena, "minibatch:%s", a->built.name));
  for (int i = 0; i < o.rows->n; i++) GR_TRY(open_buffer(a, &o, o.rows->items[i]));
  gr_type each = {GR_F32, 1, {o.of / o.parts}};
  a->sample_weight = (gr_binding){.n = 1, .v = {gr_fill(&a->root, &each, 1)}};
  if (a->request->minibatches)
    *a->request->minibatches = (gr_minibatches){.n = o.n / o.of, .rows = o.of};
  return gr_model_take_error(a);
}
