// buffer.c - buffers: values that persist from step to step and are no weights, such as running
// statistics or the state of an environment.
//
//   buffers: {mean: {shape: [c], init: zeros}}   in the file or in a block
//   nodes: [...]                                 mean is its value
//   next: {mean: new_mean}                       the value that replaces it
//
// `next:` assigns: what reads the buffer later in the same program, such as a second use of a block
// with `share:`, has the new value. At the end the last value becomes the state's `next`. The
// evaluation program assigns nothing, and neither does a use with `weights: averaged`.
#include "compiler/model/reuse.h"

// The state of the owner's buffer of that name, if there is one.
static const char *path_of(gr_build_context *a, const char *name) {
  return gr_model_join(a, a->share ? a->share : a->path, name);
}

// ---- Declarations ---------------------------------------------------------------------

static gr_status check_keys(const gr_conf *c) {
  static const char *const keys[] = {"shape", "dtype", "init", "layout", "doc"};
  const char *known[sizeof keys / sizeof *keys + GR_INIT_ARGS];
  int n = 0;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) known[n++] = keys[i];
  for (int i = 0; i < c->n; i++)
    if (gr_model_init_key(c->keys[i]) && n < (int)(sizeof known / sizeof *known))
      known[n++] = c->keys[i];
  return gr_model_keys(c, "a buffer", known, n);
}

static gr_status open_buffer(gr_build_context *a, const char *name, gr_conf *c) {
  gr_model_param p = {.kind = GR_KIND_BUFFER, .path = path_of(a, name)};
  p.loc = gr_model_is_builtin(a) ? gr_model_builder(a)->loc : c->key_loc;
  GR_TRY(gr_model_expect(c, GR_CONF_MAP, "a buffer"));
  GR_TRY(check_keys(c));
  gr_conf *shape = gr_conf_member(c, "shape");
  gr_binding made;
  if (!shape)
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->key_loc, "the buffer '%s' needs 'shape:'", name),
                   "shape: [] is one number");
  GR_TRY(gr_model_declare(a, c, shape, &p, &made));
  gr_model_bind(a, name, c->key_loc, &made);
  return GR_OK;
}

gr_status gr_model_open_buffers(gr_build_context *a, gr_conf *owner) {
  gr_conf *map = gr_conf_member(owner, "buffers");
  if (!map) return GR_OK;
  GR_TRY(gr_model_expect(map, GR_CONF_MAP, "buffers:"));
  for (int i = 0; i < map->n; i++) GR_TRY(open_buffer(a, map->keys[i], map->items[i]));
  return GR_OK;
}

// ---- Next values ----------------------------------------------------------------------

static gr_status unknown_buffer(const gr_conf *buffers, const gr_conf *c, const char *name) {
  gr_status s = gr_fail(GR_ERR_CONFIG, c->key_loc, "there is no buffer '%s' here", name);
  s = buffers ? gr_model_suggest(s, name, buffers->keys, buffers->n) : s;
  return gr_hint(s, "next: sets what buffers: of the same file or block declares");
}

// A state's next value must be computed, because states are stored one after another: another
// state, or an input, is copied.
static gr_val computed(gr_builder *b, gr_val v) {
  const gr_value *value = gr_at(b->g, v);
  if (b->err || value->role == GR_TEMP) return v;
  gr_ints same = {.n = value->type.rank};
  for (int d = 0; d < value->type.rank; d++) same.items[d] = d;
  return gr_transpose(b, v, same);
}

static gr_status check_next(gr_build_context *a, const gr_model_param *p, const gr_conf *c,
                            gr_val v) {
  char given[96], wanted[96];
  if (p->kind == GR_KIND_TABLE)
    return gr_note(
        gr_fail(GR_ERR_CONFIG, c->key_loc, "'%s' is a table of the data, a constant", p->path),
        p->loc, "the buffer");
  if (a->depth)
    return gr_hint(
        gr_fail(GR_ERR_UNSUPPORTED, c->loc, "a loop cannot set the buffer '%s'", p->path),
        "carry the value through the scan, and set the buffer after it");
  const gr_type *t = gr_model_type(a, v);
  if (gr_type_same(t, &p->type)) return GR_OK;
  gr_status s = gr_fail(GR_ERR_TYPE, c->loc, "the buffer '%s' is %s, but its next value is %s",
                        p->path, gr_type_text(&p->type, wanted), gr_type_text(t, given));
  s = gr_note(s, p->loc, "the buffer");
  return t->dtype == p->type.dtype ? s : gr_hint(s, "the op 'cast' converts between dtypes");
}

static gr_status assign(gr_build_context *a, const gr_conf *buffers, const char *name, gr_conf *c) {
  uint32_t i;
  gr_val v;
  bool declared = buffers && gr_conf_index(buffers, name) >= 0;
  if (!declared || !gr_map_find(&a->by_path, path_of(a, name), &i))
    return unknown_buffer(buffers, c, name);
  GR_TRY(gr_model_expect(c, GR_CONF_TEXT, "the next value of a buffer"));
  GR_TRY(gr_model_value(a, c->text, c->loc, &v));
  GR_TRY(check_next(a, &a->params[i], c, v));
  bool keeps = a->evaluates || a->weights == GR_WEIGHTS_AVERAGED;
  a->otherwise += a->weights == GR_WEIGHTS_AVERAGED;
  if (keeps || v.id == a->params[i].now.id) return GR_OK;
  a->params[i].now = computed(&a->root, v);
  gr_model_note_set(a);
  return gr_model_take_error(a);
}

gr_status gr_model_assign_buffers(gr_build_context *a, gr_conf *next, gr_conf *buffers) {
  if (!next) return GR_OK;
  GR_TRY(gr_model_expect(next, GR_CONF_MAP, "next:"));
  for (int i = 0; i < next->n; i++) GR_TRY(assign(a, buffers, next->keys[i], next->items[i]));
  return GR_OK;
}

void gr_model_link_buffers(gr_build_context *a) {
  for (uint32_t i = 0; i < a->by_path.n; i++) {
    const gr_model_param *p = &a->params[i];
    if (p->now.id != p->v.id) gr_at(a->root.g, p->v)->next = p->now;
  }
}
