// options.c - reads the keys of the section `data` that all sources share (the schema has filled in
// every default), and locates errors about them.
#include <string.h>
#include "runtime/data/parts.h"

// A setting that an error names: a key of the source, else one that all sources have. Sets `key` to
// its path.
static gr_conf *find_setting(const gr_dataset *d, const char *name, int n, char *key, size_t size) {
  static const char root[] = "data.";
  snprintf(key, size, "%s%s.%.*s", root, d->ops->name, n, name);
  gr_conf *c = gr_conf_find(d->conf, key + strlen(root));
  if (c) return c;
  snprintf(key, size, "%s%.*s", root, n, name);
  return gr_conf_find(d->conf, key + strlen(root));
}

// An error of the data code names settings. Its location is that of the first of them that the
// configuration sets, else the section; if it has no hint, the key's documentation becomes its
// hint. One that names none comes from the files: their key is its place.
gr_status gr_dataset_place_error(const gr_dataset *d, gr_status s) {
  gr_conf *data = d->conf;
  if (!s || !data || d->n_inputs) return s;
  gr_loc loc = data->loc.file || !data->up ? data->loc : data->up->loc;
  char key[96] = "";
  const char *about = gr_status_about(s);
  for (const char *p = about ? about : "manifest path"; *p; p += strspn(p, " ")) {
    size_t n = strcspn(p, " ");
    gr_conf *c = find_setting(d, p, (int)n, key, sizeof key);
    p += n;
    if (!c || c->is_default) continue;
    loc = c->loc;
    break;
  }
  const char *doc = about && *key && !gr_status_hint(s) && d->doc ? d->doc(key) : NULL;
  if (doc) s = gr_hint(s, "%s: %s", key, doc);
  return gr_place(s, loc);
}

// `buckets: 6` is a count; `buckets: [200, 400]` are the bounds themselves.
static gr_status read_buckets(gr_arena *arena, gr_conf *data, gr_dataset_options *o) {
  gr_conf *b = gr_conf_find(data, "buckets");
  if (!b || b->kind == GR_CONF_INT) return gr_source_read_int(data, "buckets", &o->n_buckets);
  int32_t *bounds = GR_NEW(arena, int32_t, b->n);
  for (int i = 0; i < b->n; i++) {
    gr_conf *item = b->items[i];
    item->read = true;
    if (item->kind != GR_CONF_INT || item->integer < 1 || item->integer > GR_MAX_LENGTH ||
        (i && item->integer <= bounds[i - 1]))
      return gr_hint(
          gr_fail(GR_ERR_CONFIG, item->loc,
                  "bounds of buckets are rising numbers of frames, at most %d", GR_MAX_LENGTH),
          "sort them, each once");
    bounds[i] = (int32_t)item->integer;
  }
  o->bounds = bounds, o->n_buckets = b->n;
  return GR_OK;
}

static gr_status read_sampler(gr_conf *data, gr_dataset_options *o) {
  const char *name;
  gr_conf *weights = gr_conf_find(data, "sampler_weights");
  GR_TRY(gr_conf_text(data, "sampler", "shuffle", &name));
  o->sampler = !strcmp(name, "balanced")   ? GR_SAMPLER_BALANCED
               : !strcmp(name, "weighted") ? GR_SAMPLER_WEIGHTED
                                           : GR_SAMPLER_SHUFFLE;
  o->sampler_weights = weights && weights->kind != GR_CONF_NULL ? weights : NULL;
  return GR_OK;
}

gr_status gr_dataset_read_options(gr_arena *arena, gr_conf *data, bool has_length,
                                  gr_dataset_options *o) {
  int64_t cache, limit;
  *o = (gr_dataset_options){.n_buckets = 1};
  GR_TRY(gr_conf_int(data, "limit", 0, &limit));
  GR_TRY(gr_conf_float(data, "validation_fraction", 0, &o->validation_fraction));
  GR_TRY(gr_source_read_int(data, "validation_fold", &o->validation_fold));
  GR_TRY(gr_conf_bool(data, "skip_unreadable", false, &o->skip_unreadable));
  GR_TRY(gr_conf_int(data, "cache_mb", 0, &cache));
  GR_TRY(gr_source_read_int(data, "workers", &o->workers));
  GR_TRY(gr_source_read_int(data, "prefetch", &o->prefetch));
  o->transforms = gr_conf_find(data, "transforms");
  GR_TRY(gr_source_read_int(data, "views", &o->views));
  GR_TRY(read_sampler(data, o));
  if (has_length) GR_TRY(gr_source_read_int(data, "frame_multiple", &o->length_multiple));
  if (has_length) GR_TRY(read_buckets(arena, data, o));
  GR_TRY(gr_range("limit", limit, 0, UINT32_MAX));
  GR_TRY(gr_range("cache_mb", cache, 0, (int64_t)(SIZE_MAX >> 21)));
  o->limit = (uint32_t)limit, o->cache_bytes = (size_t)cache << 20;
  return GR_OK;
}

gr_status gr_dataset_check_options(const gr_dataset_options *o) {
  if (!(o->validation_fraction >= 0 && o->validation_fraction < 1))
    return gr_about(
        gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                "validation_fraction must be from 0 to below 1, but is %g", o->validation_fraction),
        "validation_fraction");
  if (o->validation_fold && !((o->validation_fold + 1) * o->validation_fraction < 1 + 1e-9))
    return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                    "there is no fold %d: data.validation_fraction is %g",
                                    o->validation_fold, o->validation_fraction),
                            "validation_fold"),
                   "1 / K of the samples are one of K folds, which are numbered from 0");
  GR_TRY(gr_hint(gr_range("buckets", o->n_buckets, 1, GR_MAX_BUCKETS),
                 "every bucket has a plan of its own"));
  for (int i = 0; o->bounds && i < o->n_buckets; i++) {
    GR_TRY(gr_range("buckets", o->bounds[i], 1, GR_MAX_LENGTH));
    if (i && o->bounds[i] <= o->bounds[i - 1])
      return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                      "bounds of buckets must rise, but %d is followed by %d",
                                      o->bounds[i - 1], o->bounds[i]),
                              "buckets"),
                     "sort them, each once");
  }
  return gr_range("frame_multiple", o->length_multiple, 0, GR_MAX_LENGTH_MULTIPLE);
}
