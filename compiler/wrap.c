// wrap.c - which parts of the model are FSDP units and which are computed again, and which weights
// are too small to shard.
#include "compiler/wrap.h"
#include <fnmatch.h>
#include <string.h>

// ---- Parts --------------------------------------------------------------------------------

static bool matches(const char *pattern, const char *name) {
  return name && !fnmatch(pattern, name, 0);
}

// The value of a path is its index.
static void add(gr_arena *arena, gr_map *paths, const char *path) {
  if (!gr_map_find(paths, path, NULL)) gr_map_put(paths, gr_arena_strdup(arena, path), paths->n);
}

static bool add_repeats(gr_arena *arena, const gr_scopes *scopes, gr_map *paths) {
  uint32_t before = paths->n;
  for (uint32_t i = 0; i < scopes->n; i++)
    if (!scopes->items[i].block) add(arena, paths, scopes->items[i].path);
  return paths->n > before;
}

static void list_name(gr_map *names, gr_text *list, const char *name) {
  if (!name || gr_map_find(names, name, NULL)) return;
  gr_text_printf(list, "%s%s", names->n ? ", " : "", name);
  gr_map_put(names, name, 0);
}

// Whether parts of the model are within one of that path, which is none itself.
static bool is_above(const gr_scopes *scopes, const char *path) {
  size_t n = strlen(path);
  for (uint32_t i = 0; i < scopes->n; i++)
    if (!strncmp(scopes->items[i].path, path, n) && scopes->items[i].path[n] == '.') return true;
  return false;
}

// what: what could have matched.
static gr_status no_match(gr_arena *arena, const gr_scopes *scopes, const gr_conf *parts,
                          const gr_wrap *w, const char *what) {
  gr_map names = gr_map_make(arena);
  gr_text list = gr_text_make(arena);
  for (uint32_t i = 0; i < scopes->n; i++) list_name(&names, &list, scopes->items[i].block);
  for (int i = 0; parts && i < parts->n; i++) list_name(&names, &list, parts->keys[i]);
  const char *near = gr_text_nearest(w->pattern, names.keys, (int)names.n);
  gr_status s = gr_fail(GR_ERR_CONFIG, w->loc, "'%s' matches no %s of the model", w->pattern, what);
  if (is_above(scopes, w->pattern)) return gr_hint(s, "did you mean '%s.*'?", w->pattern);
  if (near) return gr_hint(s, "did you mean '%s'? its blocks are: %s", near, list.chars);
  return gr_hint(s, "its blocks are: %s; a part is a path such as '%s'",
                 names.n ? list.chars : "none", scopes->n ? scopes->items[0].path : "layers.*");
}

// The pattern itself, or the one that the model's file has under that name.
static gr_wrap named(const gr_conf *parts, const gr_wrap *w) {
  int i = parts ? gr_conf_index(parts, w->pattern) : -1;
  return i < 0 ? *w : (gr_wrap){parts->items[i]->text, parts->items[i]->loc};
}

static bool find_parts(gr_arena *arena, const gr_scopes *scopes, const char *pattern,
                       gr_map *paths) {
  bool any = false;
  for (uint32_t i = 0; i < scopes->n; i++) {
    const gr_scope *s = &scopes->items[i];
    bool is_part = matches(pattern, s->path) || matches(pattern, s->block);
    if (is_part) add(arena, paths, s->path);
    any |= is_part;
  }
  return any;
}

static gr_status find_units(gr_arena *arena, const gr_scopes *scopes, const gr_conf *parts,
                            const gr_graph *init, const gr_wrap *given, gr_map *units) {
  const gr_wrap w = named(parts, given);
  bool any = find_parts(arena, scopes, w.pattern, units);
  for (uint32_t i = 1; i < init->n_values; i++) {
    const gr_value *v = &init->values[i];
    if (!gr_is_weight(v) || !matches(w.pattern, v->name)) continue;
    add(arena, units, v->name);
    any = true;
  }
  return any ? GR_OK : no_match(arena, scopes, parts, &w, "block, part or weight");
}

// ---- Small weights ------------------------------------------------------------------------
// Slices of a few bytes cost more in collectives than they save in memory, so weights below some
// size are replicated: at most 64 kB, and less if a rank would hold more than its share.

enum { LARGEST_WHOLE = 64 * 1024, SMALLEST_WHOLE = 64 };  // bytes
static const double most_share = 1.05;  // of a rank: as much of 1/N of all weights

// Of a rank, when moments and gradients are split as options say. Where nothing is split over
// the axis of FSDP and ZeRO, `axis` is -1.
static double share_of(const gr_graph *g, const gr_options *o) {
  double bytes = 0;
  for (uint32_t i = 1; i < g->n_values; i++) {
    gr_value v = g->values[i];
    if (!gr_is_weight(&v)) continue;
    v.layout = gr_weight_layout(&g->mesh, &v, o);
    gr_layout l = gr_update_layout(&g->mesh, &v, o);
    gr_type local = gr_type_local(&v.type, &l, &g->mesh);
    bytes += (double)gr_type_bytes(&local);
  }
  return bytes;
}

// The axis whose ranks share what any dimension of may be split, or -1.
static int shared_axis(const gr_mesh *m, const gr_options *o) {
  for (int a = 0; a < m->n_axes; a++) {
    bool shares = o->sharding.zero_axis && !strcmp(m->axis[a].name, o->sharding.zero_axis);
    for (int i = 0; i < o->sharding.n_rules; i++)
      shares |= o->sharding.rules[i].placement == GR_ANY_DIM &&
                !strcmp(o->sharding.rules[i].axis, m->axis[a].name);
    if (shares) return a;
  }
  return -1;
}

static size_t find_whole_below(const gr_graph *g, const gr_options *o) {
  gr_options all = *o;
  int axis = shared_axis(&g->mesh, o);
  if (axis < 0) return 0;
  all.sharding.replicate_below = SIZE_MAX;  // nothing is split over that axis
  double most = share_of(g, &all) / g->mesh.axis[axis].size * most_share;
  for (size_t below = LARGEST_WHOLE; below >= SMALLEST_WHOLE; below /= 2) {
    all.sharding.replicate_below = below;
    if (share_of(g, &all) <= most) return below;
  }
  return 0;
}

gr_status gr_units_read(gr_arena *arena, const gr_scopes *scopes, const gr_conf *parts,
                        const gr_graph *init, gr_options *o) {
  gr_map *units = GR_NEW(arena, gr_map, 1);
  *units = gr_map_make(arena);
  if (!o->sharding.wrap) add_repeats(arena, scopes, units);
  for (int i = 0; o->sharding.wrap && i < o->sharding.n_wrap; i++)
    GR_TRY(find_units(arena, scopes, parts, init, &o->sharding.wrap[i], units));
  o->sharding.units = units;
  o->sharding.replicate_below = find_whole_below(init, o);
  return GR_OK;
}

const char *const gr_recompute_words[] = {
    [GR_RECOMPUTE_ELEMENTWISE] = "elementwise", [GR_RECOMPUTE_SCAN] = "scan"};

static bool is_word(gr_memory_settings *s, const char *text) {
  for (int k = 0; k < GR_RECOMPUTE_WORDS; k++)
    if (!strcmp(text, gr_recompute_words[k])) return s->given[k] = true;
  return false;
}

gr_status gr_recomputed_read(gr_arena *arena, const gr_scopes *scopes, const gr_conf *parts,
                             gr_options *o) {
  const gr_texts *list = &o->memory.recompute;
  gr_map *paths = GR_NEW(arena, gr_map, 1);
  *paths = gr_map_make(arena);
  for (int i = 0; i < list->n; i++) {
    const gr_wrap w = named(parts, &(gr_wrap){list->text[i], list->loc[i]});
    if (is_word(&o->memory, w.pattern)) continue;
    bool repeats = !strcmp(w.pattern, "repeat");
    if (repeats && !add_repeats(arena, scopes, paths))
      return gr_hint(gr_fail(GR_ERR_CONFIG, w.loc, "the model has no repeat: to compute again"),
                     "training.recompute takes patterns of blocks and of paths, too");
    if (!repeats && !find_parts(arena, scopes, w.pattern, paths))
      return no_match(arena, scopes, parts, &w, "block or part");
  }
  o->memory.recomputed = list->n ? paths : NULL;
  return GR_OK;
}
