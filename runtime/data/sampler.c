// sampler.c - which training samples an epoch has, where not each of them once: data.sampler. See
// parts.h.
#include <string.h>
#include "base/rng.h"
#include "runtime/data/parts.h"

struct gr_sampler {
  bool balanced;
  uint32_t n_classes;      // balanced: with training samples
  uint32_t **of_class;     // [n_classes]: their samples
  uint32_t *in_class;      // [n_classes]: how many
  const uint32_t *member;  // weighted: [n] samples
  double *until;           // [n]: sums of weights up to and with each
  uint32_t n;
};

// ---- Weights of classes -------------------------------------------------------------------------

static int64_t count_classes(const gr_dataset *d) {
  gr_metadata m[GR_MAX_METADATA];
  int n = gr_dataset_metadata(d, m);
  for (int i = 0; i < n; i++)
    if (!strcmp(m[i].name, "classes")) return m[i].value;
  return 0;
}

static const char *class_name(gr_arena *a, const gr_dataset *d, int32_t label) {
  gr_text t = gr_text_make(a);
  gr_dataset_decode(d, &label, 1, &t);
  return t.chars;
}

static gr_status set_weight(const gr_conf *map, int i, const char *const *names, int n,
                            double *weight) {
  gr_conf *c = map->items[i];
  bool number = c->kind == GR_CONF_INT || c->kind == GR_CONF_FLOAT;
  double value = c->kind == GR_CONF_INT ? (double)c->integer : number ? c->number : -1;
  if (!(value >= 0 && value <= 1e30))
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc,
                           "the weight of the class '%s' is no number of at "
                           "least 0",
                           map->keys[i]),
                   "as in data.sampler_weights={%s: 2}", map->keys[i]);
  for (int k = 0; k < n; k++)
    if (!strcmp(names[k], map->keys[i])) {
      weight[k] = value;
      return GR_OK;
    }
  gr_status s =
      gr_fail(GR_ERR_CONFIG, gr_conf_place(c), "the data has no class '%s'", map->keys[i]);
  const char *near = gr_text_nearest(map->keys[i], names, n);
  return near ? gr_hint(s, "did you mean '%s'?", near)
              : gr_hint(s, "`graphrun data inspect` lists its %d classes", n);
}

// The weight of each class, 1 where none is given; NULL: no map is given.
static gr_status read_weights(gr_arena *a, const gr_dataset *d, int64_t classes, double **out) {
  gr_conf *map = d->options.sampler_weights;
  *out = NULL;
  if (!map || map->kind == GR_CONF_NULL) return GR_OK;
  gr_conf_mark(map);
  if (map->kind != GR_CONF_MAP)
    return gr_hint(gr_fail(GR_ERR_CONFIG, map->loc,
                           "data.sampler_weights must be a mapping of classes to weights, found %s",
                           gr_conf_a_kind(map->kind)),
                   "as in data.sampler_weights={cat: 2, dog: 1}");
  gr_status all = GR_OK;
  const char **names = GR_NEW(a, const char *, classes + 1);
  *out = GR_NEW(a, double, classes + 1);
  for (int32_t i = 0; i < classes; i++) names[i] = class_name(a, d, i), (*out)[i] = 1;
  for (int i = 0; i < map->n; i++)
    all = gr_also(all, set_weight(map, i, names, (int)classes, *out));
  return all;
}

// ---- Lists --------------------------------------------------------------------------------------

// Samples by class, without classes that have none.
static void list_classes(gr_arena *a, const gr_dataset *d, int64_t classes, gr_sampler *s) {
  uint32_t *count = GR_NEW(a, uint32_t, classes + 1), **list = GR_NEW(a, uint32_t *, classes + 1);
  for (uint32_t i = 0; i < s->n; i++) count[d->samples[s->member[i]].label - 1]++;
  for (int64_t c = 0; c < classes; c++) list[c] = GR_NEW(a, uint32_t, count[c] + 1), count[c] = 0;
  for (uint32_t i = 0; i < s->n; i++) {
    int32_t c = d->samples[s->member[i]].label - 1;
    list[c][count[c]++] = s->member[i];
  }
  s->of_class = GR_NEW(a, uint32_t *, classes + 1);
  s->in_class = GR_NEW(a, uint32_t, classes + 1);
  for (int64_t c = 0; c < classes; c++) {
    if (!count[c]) continue;
    s->of_class[s->n_classes] = list[c];
    s->in_class[s->n_classes++] = count[c];
  }
}

static gr_status list_weights(gr_arena *a, const gr_dataset *d, const double *of_class,
                              gr_sampler *s) {
  double sum = 0;
  s->until = GR_NEW(a, double, s->n + 1);
  for (uint32_t i = 0; i < s->n; i++) {
    const gr_sample *x = &d->samples[s->member[i]];
    sum += (double)x->weight * (of_class ? of_class[x->label - 1] : 1);
    s->until[i] = sum;
  }
  if (sum > 0) return GR_OK;
  return gr_hint(gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE, "all weights of training samples are 0"),
                          "sampler_weights sampler"),
                 "samples are drawn in proportion to their weights");
}

static gr_status check_sampler(const gr_dataset *d, bool weighted, int64_t classes) {
  bool labels = classes > 0;
  for (uint32_t i = 0; i < d->count && labels; i++) labels = d->samples[i].label > 0;
  bool needs = !weighted || d->options.sampler_weights;
  if (needs && !labels)
    return gr_hint(
        gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                         "data.sampler is by classes, and samples of this data have none"),
                 "sampler"),
        "tables, images, videos, texts and recordings with labels that are classes have them; "
        "data.sampler=shuffle needs none");
  if (weighted && !d->options.sampler_weights && !d->weights)
    return gr_hint(
        gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                         "data.sampler is weighted, and there are no weights"),
                 "sampler"),
        "data.sampler_weights has those of classes, a column 'weight' of a list of files "
        "those of samples");
  if (d->n_buckets > 1)
    return gr_hint(
        gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                         "data.sampler draws from one bucket, and %ss are in %d by their length",
                         d->ops->sample, d->n_buckets),
                 "sampler buckets"),
        "data.buckets=1; or class_weight, an input of the model, gives every class the same total "
        "weight");
  return GR_OK;
}

gr_status gr_sampler_make(gr_arena *a, const gr_dataset *d, const uint32_t *member, uint32_t n,
                          gr_sampler **out) {
  bool weighted = d->options.sampler == GR_SAMPLER_WEIGHTED;
  int64_t classes = count_classes(d);
  double *of_class;
  *out = NULL;
  if (!weighted && d->options.sampler_weights)
    return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                    "data.sampler_weights is given, and data.sampler is not "
                                    "weighted"),
                            "sampler_weights"),
                   "data.sampler=weighted uses them");
  if (d->options.sampler == GR_SAMPLER_SHUFFLE) return GR_OK;
  GR_TRY(check_sampler(d, weighted, classes));
  GR_TRY(read_weights(a, d, classes, &of_class));
  gr_sampler *s = *out = GR_NEW(a, gr_sampler, 1);
  *s = (gr_sampler){.balanced = !weighted, .member = member, .n = n};
  if (weighted) return list_weights(a, d, of_class, s);
  list_classes(a, d, classes, s);
  return GR_OK;
}

// ---- Drawing ------------------------------------------------------------------------------------

// As many of each class as there are of the others, within one: each of its samples before one of
// them is drawn again, in an order that is random.
static void draw_balanced(const gr_sampler *s, uint64_t seed, uint32_t epoch, uint32_t n,
                          uint32_t *out) {
  gr_arena *a = gr_arena_create();
  for (uint32_t c = 0; c < s->n_classes; c++) {
    uint32_t of = s->in_class[c], left = n / s->n_classes;
    left += (uint32_t)(((uint64_t)c + epoch) % s->n_classes) < n % s->n_classes;
    uint32_t *place = GR_NEW(a, uint32_t, of);
    for (uint32_t round = 0; left; round++) {
      char stream[64];
      snprintf(stream, sizeof stream, "data:balanced:%u:%u", c, round);
      gr_rng r = gr_rng_make(seed, stream, epoch);
      gr_rng_shuffle(&r, place, of);
      for (uint32_t i = 0; i < of && left; i++, left--) *out++ = s->of_class[c][place[i]];
    }
  }
  gr_arena_destroy(a);
}

// The first sample whose sum of weights is beyond `at`.
static uint32_t find_interval(const gr_sampler *s, double point) {
  uint32_t low = 0, high = s->n - 1;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (s->until[middle] > point)
      high = middle;
    else
      low = middle + 1;
  }
  return s->member[low];
}

// Each independently, in proportion to its weight. Two numbers of 32 bits make one of 64.
static void draw_weighted(const gr_sampler *s, uint64_t seed, uint32_t epoch, uint32_t n,
                          uint32_t *out) {
  gr_rng r = gr_rng_make(seed, "data:weighted", epoch);
  for (uint32_t i = 0; i < n; i++) {
    double u =
        gr_rng_uniform(&r, 2 * (uint64_t)i) + 0x1p-32 * gr_rng_uniform(&r, 2 * (uint64_t)i + 1);
    out[i] = find_interval(s, u * s->until[s->n - 1]);
  }
}

void gr_sampler_draw(const gr_sampler *s, uint64_t seed, uint32_t epoch, uint32_t n,
                     uint32_t *out) {
  (s->balanced ? draw_balanced : draw_weighted)(s, seed, epoch, n, out);
}
