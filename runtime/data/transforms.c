// transforms.c - see transforms.h.
#include "runtime/data/transforms.h"
#include <stdlib.h>
#include <string.h>
#include "base/shown.h"
#include "runtime/data/statistics.h"

#define GR_TRANSFORM(name) extern const gr_transform_ops gr_transform_##name;
#include "runtime/data/transforms.def"
#undef GR_TRANSFORM

// Every transform; ends with NULL.
static const gr_transform_ops *const transform_table[] = {
#define GR_TRANSFORM(name) &gr_transform_##name,
#include "runtime/data/transforms.def"
#undef GR_TRANSFORM
    NULL};

gr_status gr_transform_open_by(gr_arena *a, gr_conf *conf, gr_type *x, void **self) {
  (void)x;
  return gr_conf_float(conf, "by", 0, *self = GR_NEW(a, double, 1));
}

double gr_transform_factor(const void *self, const gr_transform_draw *draw) {
  double by = *(const double *)self;
  return draw ? gr_transform_between(draw, 0, 1 - by, 1 + by) : 1;
}

gr_status gr_transform_needs_floats(const gr_type *x, const char *transform) {
  char type[96];
  if (x->dtype == GR_F32) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "the transform '%s' is for f32, x is %s",
                         transform, gr_type_text(x, type)),
                 "list it before transforms that make bytes");
}

// ---- Reading ------------------------------------------------------------------------------------

enum { MAX_NAMES = 64, MAX_SHOWN = 16 };

static gr_status unknown(const char *what, const char *name, gr_loc loc, const char *const *names,
                         int n) {
  gr_arena *a = gr_arena_create();
  gr_status s = gr_fail(GR_ERR_CONFIG, loc, "%s '%s'", what, name);
  s = gr_hint_near(s, name, names, n);
  s = gr_hint(s, n ? "there are %s" : "it has no parameters", gr_text_names(a, names, n));
  return gr_arena_end(a, s);
}

static gr_status find_transform(const char *name, gr_loc loc, const gr_transform_ops **out) {
  const char *names[MAX_NAMES];
  int n = 0;
  for (const gr_transform_ops *const *t = transform_table; *t && n < MAX_NAMES; t++) {
    if (!strcmp((*t)->name, name)) {
      *out = *t;
      return GR_OK;
    }
    names[n++] = (*t)->name;
  }
  return unknown("there is no transform", name, loc, names, n);
}

static const gr_schema_key *find_param(const gr_transform_ops *t, const char *name) {
  const gr_schema_key *p = t->params;
  while (p && p->path && strcmp(p->path, name)) p++;
  return p && p->path ? p : NULL;
}

static gr_status unknown_param(const gr_transform_ops *t, const gr_conf *map, int i) {
  const char *names[MAX_NAMES];
  gr_arena *a = gr_arena_create();
  const gr_conf *c = map->items[i];
  int n = 0;
  for (const gr_schema_key *p = t->params; p && p->path && n < MAX_NAMES; p++) names[n++] = p->path;
  gr_status s = unknown(gr_arena_printf(a, "the transform '%s' has no parameter", t->name),
                        map->keys[i], gr_conf_place(c), names, n);
  return gr_arena_end(a, s);
}

static gr_status check_param(gr_arena *a, const gr_transform_ops *t, const gr_schema_key *p,
                             gr_conf *c) {
  const char *wrong = gr_schema_misfit(a, p->type, c);
  if (!wrong) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, c->loc, "'%s' of the transform '%s' %s", p->path, t->name, wrong),
      "%s: %s", p->path, p->doc);
}

// The parameters of an entry as a mapping: what it gives, and defaults.
static gr_status read_params(gr_arena *a, const gr_transform_ops *t, gr_conf *given,
                             gr_conf **out) {
  gr_status all = GR_OK;
  gr_conf *map = given && given->kind == GR_CONF_MAP
                     ? gr_conf_copy(a, given)
                     : gr_conf_make(a, GR_CONF_MAP, given ? given->loc : GR_NOWHERE);
  if (given && given->kind != GR_CONF_MAP && given->kind != GR_CONF_NULL && t->params)
    gr_conf_put(a, map, t->params->path, gr_conf_copy(a, given));
  for (int i = 0; i < map->n; i++) {
    const gr_schema_key *p = find_param(t, map->keys[i]);
    all = gr_also(all, p ? check_param(a, t, p, map->items[i]) : unknown_param(t, map, i));
  }
  for (const gr_schema_key *p = t->params; p && p->path; p++) {
    gr_conf *value;
    if (gr_conf_index(map, p->path) >= 0) continue;
    GR_TRY(gr_schema_default(a, p, &value));
    if (value) gr_conf_put(a, map, p->path, value);
  }
  *out = map;
  return all;
}

static gr_status check_x(const gr_transform *t, gr_loc loc) {
  const gr_transform_ops *o = t->ops;
  char type[96];
  if (t->input.rank >= o->least_rank && t->input.rank <= o->most_rank) return GR_OK;
  static const char *const kinds[] = {"", "rows [c]", "series [t, c]", "images [height, width, c]",
                                      "videos [frames, height, width, c]"};
  return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "the transform '%s' is not for an x that is %s",
                         o->name, gr_type_text(&t->input, type)),
                 "it is for %s%s%s", kinds[o->least_rank],
                 o->least_rank < o->most_rank ? " to " : "",
                 o->least_rank < o->most_rank ? kinds[o->most_rank] : "");
}

// Opens a transform that moves pixels once more, for the mask.
static gr_status add_mask(gr_arena *a, const gr_transform *x, gr_conf *params, gr_transforms *m) {
  if (x->ops->mask == GR_MASK_REFUSED)
    return gr_hint(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                           "the transform '%s' is not for images with masks", x->ops->name),
                   "it would not change a mask as it changes its image: remove it");
  if (x->ops->mask == GR_MASK_KEPT) return GR_OK;
  gr_conf *fill = m->source.dtype == GR_I32 ? gr_conf_find(params, "fill") : NULL;
  if (fill) gr_conf_put(a, params, "fill", gr_conf_make_int(a, GR_NO_LABEL, fill->loc));
  gr_transform *t = &m->items[m->n++];
  *t = *x;
  t->input = t->output = m->n > 1 ? t[-1].output : m->source;
  return x->ops->open(a, params, &t->output, &t->self);
}

// An entry is `NAME`, `NAME: VALUE` of the first parameter, or `NAME: {PARAMETER: VALUE, ...}`.
static gr_status read_entry(gr_arena *a, gr_conf *item, int number, gr_transform *t,
                            gr_transforms *mask) {
  bool map = item->kind == GR_CONF_MAP && item->n == 1;
  const char *name = map ? item->keys[0] : gr_conf_text_of(item, NULL);
  gr_conf *params;
  if (!name)
    return gr_hint(gr_fail(GR_ERR_CONFIG, item->loc,
                           "an entry of data.transforms must be a transform with its parameters, "
                           "but is %s%s",
                           gr_conf_a_kind(item->kind),
                           item->kind == GR_CONF_MAP ? " of other than one key" : ""),
                   "as in [{flip: {p: 0.5}}, normalize]");
  gr_loc loc = map && item->items[0]->key_loc.file ? item->items[0]->key_loc : item->loc;
  GR_TRY(find_transform(name, loc, &t->ops));
  GR_TRY(read_params(a, t->ops, map ? item->items[0] : NULL, &params));
  GR_TRY(check_x(t, loc));
  t->output = t->input;
  GR_TRY(gr_place(t->ops->open(a, params, &t->output, &t->self), loc));
  if (!gr_type_possible(&t->output) || gr_type_bytes(&t->output) > INT32_MAX)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, loc, "the transform '%s' makes samples of over 2 GB", name),
        "a smaller size");
  t->always = t->ops->always || !gr_type_same(&t->input, &t->output);
  t->stream = gr_arena_printf(a, "transform:%d:%s", number, name);
  return mask ? gr_place(add_mask(a, t, params, mask), loc) : GR_OK;
}

static gr_status find_x(const gr_field_spec *fields, int n, gr_loc loc, int *field, gr_type *x) {
  *field = 0;
  while (*field < n && strcmp(fields[*field].name, "x")) ++*field;
  const gr_field_spec *f = &fields[*field];
  bool fixed =
      *field < n && f->rank >= 1 && f->rank <= 4 && (f->dtype == GR_U8 || f->dtype == GR_F32);
  for (int i = 0; fixed && i < f->rank; i++) fixed = f->dim[i] > 0;
  if (!fixed)
    return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "data.transforms is not for this source of data"),
                   "it is for x of one size, of u8 or f32: images, videos, and tables");
  *x = (gr_type){.dtype = f->dtype, .rank = f->rank};
  memcpy(x->dim, f->dim, (size_t)f->rank * sizeof *f->dim);
  return GR_OK;
}

// The field of the mask, as [height, width, 1] or of x's shape, with room for all transforms of x;
// NULL: there is none.
static gr_transforms *find_mask(gr_arena *a, const gr_field_spec *fields, int n, int room) {
  int i = 0;
  while (i < n && !fields[i].mask) i++;
  if (i == n) return NULL;
  gr_transforms *m = GR_NEW(a, gr_transforms, 1);
  m->field = i;
  m->source = (gr_type){.dtype = fields[i].dtype, .rank = 3};
  m->source.dim[0] = fields[i].dim[0], m->source.dim[1] = fields[i].dim[1];
  m->source.dim[2] = fields[i].rank == 2 ? 1 : fields[i].dim[2];
  m->items = GR_NEW(a, gr_transform, room);
  return m;
}

// Makes room for x before and after each of them, and sets the field to the last.
static void settle(gr_transforms *t, gr_field_spec *f) {
  const gr_type *x = &t->source;
  t->room = gr_type_bytes(x);
  for (int i = 0; i < t->n; i++) {
    x = &t->items[i].output;
    t->room = gr_type_bytes(x) > t->room ? gr_type_bytes(x) : t->room;
  }
  f->dtype = x->dtype, f->rank = f->mask && f->rank == 2 ? x->rank - 1 : x->rank;
  memcpy(f->dim, x->dim, (size_t)f->rank * sizeof *x->dim);
  if (t->views < 2) return;
  memmove(f->dim + 1, f->dim, (size_t)f->rank++ * sizeof *f->dim);
  f->dim[0] = t->views;
}

static gr_status check_views(int views, bool any, bool masks) {
  if (views < 2 || (any && !masks)) return GR_OK;
  return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "data.views is %d, and %s", views,
                                  any ? "images have masks"
                                      : "data.transforms has nothing to change views by"),
                          "views"),
                 any ? "leave out data.views: a mask is there once"
                     : "list some that are random, data.transforms=[flip,{crop:{pad:4}}]");
}

gr_status gr_transforms_open(gr_arena *a, gr_conf *list, int views, gr_field_spec *fields, int n,
                             gr_transforms **out) {
  bool any = list && list->kind == GR_CONF_LIST && list->n;
  *out = NULL;
  GR_TRY(check_views(views, any, false));
  if (!any) return GR_OK;
  gr_conf_mark(list);
  gr_transforms *t = GR_NEW(a, gr_transforms, 1);
  if (list->n > GR_MAX_TRANSFORMS)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, list->loc, "data.transforms lists %d transforms", list->n),
        "%d are the most", GR_MAX_TRANSFORMS);
  GR_TRY(find_x(fields, n, list->loc, &t->field, &t->source));
  t->items = GR_NEW(a, gr_transform, list->n);
  t->mask = find_mask(a, fields, n, list->n);
  t->views = views;
  GR_TRY(check_views(views, any, t->mask != NULL));
  gr_type x = t->source;
  for (; t->n < list->n; t->n++) {
    gr_transform *one = &t->items[t->n];
    one->input = x;
    GR_TRY(read_entry(a, list->items[t->n], t->n, one, t->mask));
    x = one->output;
  }
  settle(t, &fields[t->field]);
  if (t->mask) settle(t->mask, &fields[t->mask->field]);
  *out = t;
  return GR_OK;
}

// ---- What applies to every sample ---------------------------------------------------------------

static void put_statistics(const gr_transform *t, gr_text *out) {
  int n = 0;
  const double *values = t->ops->statistics ? t->ops->statistics(t->self, &n) : NULL;
  for (int k = 0; k < n && n <= MAX_SHOWN; k++)
    gr_text_printf(out, "%s%.9g", k ? ", " : " by the statistics ", gr_shown(values[k]));
}

void gr_transforms_preprocessing(const gr_transforms *t, gr_text *out) {
  int named = 0;
  for (int i = 0; t && i < t->n; i++) {
    if (!t->items[i].always) continue;
    gr_text_put(out, named++ ? ", " : out->len ? "; then data.transforms: " : "data.transforms: ");
    gr_text_put(out, t->items[i].ops->name);
    put_statistics(&t->items[i], out);
  }
  if (t && t->views > 1)
    gr_text_printf(out, "%s%d times, as the first dimension", out->len ? "; then " : "", t->views);
}

// ---- Metadata -----------------------------------------------------------------------------------

static int put_metadata(gr_metadata *out, int n, const char *name, int64_t value) {
  int i = 0;
  while (i < n && strcmp(out[i].name, name)) i++;
  if (i < GR_MAX_METADATA) out[i] = (gr_metadata){name, value};
  return i == n && n < GR_MAX_METADATA ? n + 1 : n;
}

int gr_transforms_metadata(const gr_transforms *t, gr_metadata out[GR_MAX_METADATA], int n) {
  static const char *const names[] = {"frames", "height", "width", "channels"};
  if (!t) return n;
  const gr_type *x = &t->items[t->n - 1].output;
  for (int i = 0; x->rank > 2 && i < x->rank; i++)
    n = put_metadata(out, n, names[4 - x->rank + i], x->dim[i]);
  return n;
}

// ---- Statistics ---------------------------------------------------------------------------------

static double *statistics(const gr_transform *t, int *n) {
  *n = 0;
  return t->ops->statistics ? t->ops->statistics(t->self, n) : NULL;
}

int gr_transforms_fitted(const gr_transforms *t, int after) {
  int n = 0, i = after + 1;
  for (; t && i < t->n; i++)
    if (statistics(&t->items[i], &n), n) return i;
  return -1;
}

// Format: "n value value ..." for each transform with statistics; values are restored bit for bit.
void gr_transforms_save(const gr_transforms *t, gr_text *out) {
  for (int i = gr_transforms_fitted(t, -1); i >= 0; i = gr_transforms_fitted(t, i)) {
    int n;
    const double *values = statistics(&t->items[i], &n);
    gr_text_printf(out, "%s%d", out->len ? " " : "", n);
    for (int k = 0; k < n; k++) gr_text_printf(out, " %.17g", values[k]);
  }
}

gr_status gr_transforms_restore(gr_transforms *t, const char *text) {
  for (int i = gr_transforms_fitted(t, -1); i >= 0; i = gr_transforms_fitted(t, i)) {
    int n;
    double *values = statistics(&t->items[i], &n), saved = 0;
    bool ok = gr_statistics_read(&text, &saved) && saved == n;
    for (int k = 0; ok && k < n; k++) ok = gr_statistics_read(&text, &values[k]);
    if (!ok)
      return gr_hint(gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                             "the checkpoint has no statistics for the transform '%s' of x",
                             t->items[i].ops->name),
                     "resume with the same data.transforms and data");
  }
  return GR_OK;
}

// ---- Help ---------------------------------------------------------------------------------------

void gr_transforms_help(gr_text *out) {
  for (const gr_transform_ops *const *t = transform_table; *t; t++) {
    gr_text_printf(out, "%s%s: %s\n", t == transform_table ? "" : "\n", (*t)->name, (*t)->doc);
    for (const gr_schema_key *p = (*t)->params; p && p->path; p++)
      gr_text_printf(out, "  %-8s %s; default %s%s%s\n           %s\n", p->path, p->type,
                     *p->default_value ? p->default_value : "none", *p->unit ? " " : "", p->unit,
                     p->doc);
  }
}
