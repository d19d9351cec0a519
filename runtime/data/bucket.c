// bucket.c - length classes: their bounds and their samples. See dataset.h.
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/data/parts.h"

// Candidate bounds are lengths rounded up to a step, which limits their number: choosing the bounds
// takes lengths^2 * buckets operations.
enum { MAX_LENGTHS = 1024 };

typedef struct lengths {
  int32_t *length;  // distinct lengths, ascending
  int64_t *count;   // cumulative number of training samples
  int n;
} lengths;

static int by_value(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static int32_t longest(const gr_dataset *d) {
  int32_t most = 1;
  for (uint32_t i = 0; i < d->count; i++)
    if (d->samples[i].length > most) most = d->samples[i].length;
  return most;
}

// Includes the lengths of validation samples, so that every sample fits under the last bound; only
// training samples count in the cost of a bound.
static lengths list_lengths(gr_arena *a, const gr_dataset *d) {
  int32_t step = d->options.length_multiple > 0 ? d->options.length_multiple : 1, most = longest(d);
  while (most / step >= MAX_LENGTHS) step *= 2;
  int32_t *up = GR_NEW(a, int32_t, d->count), *sorted = GR_NEW(a, int32_t, d->count);
  for (uint32_t i = 0; i < d->count; i++)
    sorted[i] = up[i] = (d->samples[i].length + step - 1) / step * step;
  qsort(sorted, d->count, sizeof *sorted, by_value);
  lengths l = {GR_NEW(a, int32_t, d->count), NULL, 0};
  for (uint32_t i = 0; i < d->count; i++)
    if (!i || sorted[i] != sorted[i - 1]) l.length[l.n++] = sorted[i];
  l.count = GR_NEW(a, int64_t, l.n);
  for (uint32_t i = 0; i < d->count; i++) {
    int32_t *bound = bsearch(up + i, l.length, (size_t)l.n, sizeof *up, by_value);
    l.count[bound - l.length] += d->samples[i].split == GR_SPLIT_TRAIN;
  }
  for (int k = 1; k < l.n; k++) l.count[k] += l.count[k - 1];
  return l;
}

// The bounds that minimize the total padded length (exact, by dynamic programming): cost[b][k] is
// the minimum for lengths 0 .. k in at most b + 1 buckets, where k is the last bound.
static int choose(gr_arena *a, const lengths *l, int buckets, int32_t *bounds) {
  if (buckets > l->n) buckets = l->n;
  int64_t *cost = GR_NEW(a, int64_t, (size_t)buckets * (size_t)l->n);
  int *before = GR_NEW(a, int, (size_t)buckets *(size_t)l->n);
  for (int b = 0; b < buckets; b++)
    for (int k = 0; k < l->n; k++) {
      int64_t *best = cost + (size_t)b * (size_t)l->n + k;
      int *previous = before + (size_t)b * (size_t)l->n + k;
      *best = l->count[k] * l->length[k], *previous = -1;
      for (int j = b ? 0 : k; j < k; j++) {
        int64_t c = cost[(size_t)(b - 1) * (size_t)l->n + (size_t)j] +
                    (l->count[k] - l->count[j]) * l->length[k];
        if (c < *best) *best = c, *previous = j;
      }
    }
  int n = 0;
  for (int b = buckets - 1, k = l->n - 1; k >= 0; b--) {
    bounds[n++] = l->length[k];
    k = before[(size_t)b * (size_t)l->n + (size_t)k];
  }
  qsort(bounds, (size_t)n, sizeof *bounds, by_value);
  return n;
}

static void keep_short(gr_dataset *d, int32_t most) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < d->count; i++) {
    if (d->samples[i].length > most)
      gr_omitted_add(d->arena, &d->too_long, 1, gr_dataset_place(d, i),
                     gr_dataset_sample_name(d->arena, d, i));
    else
      d->samples[kept++] = d->samples[i];
  }
  d->count = kept;
}

// The hint names the reason for which most samples are skipped.
static const char *hint_of(gr_dataset *d) {
  uint64_t most = d->too_long.n, unreadable = gr_unreadable_count(&d->unreadable);
  const char *hint = "larger bounds in data.buckets, or a larger limit of the length";
  for (int i = 0; i < GR_MAX_SKIPS; i++)
    if (d->ops->skips[i].of == GR_OMITTED_SKIPPED && d->skipped[i].n > most)
      most = d->skipped[i].n, hint = d->ops->skips[i].hint;
  if (unreadable > most) most = unreadable, hint = d->unreadable.finds;
  return !most  ? "a smaller data.validation_fraction, or more samples that are marked for training"
         : hint ? hint
                : "repair them, or remove them";
}

static gr_status check_some(gr_dataset *d) {
  if (d->ops->empty) return GR_OK;
  if (d->n_inputs && !d->count)
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "there are no %s in '%s'%s", d->unreadable.samples,
                d->inputs[0], d->n_inputs > 1 ? " and the other files" : ""),
        "copy or write the file again, or name another");
  uint32_t train = 0;
  for (uint32_t i = 0; i < d->count; i++) train += d->samples[i].split == GR_SPLIT_TRAIN;
  if (train || (d->kept && d->count)) return GR_OK;
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  if (gr_dataset_skipped(d, &t)) gr_text_put(&t, ", and ");
  gr_status s = gr_fail(GR_ERR_DATA, d->place, "nothing is left to train on: %s%u go to validation",
                        t.chars, d->count);
  gr_arena_destroy(a);
  return gr_hint(s, "%s", hint_of(d));
}

// The largest extents of a bucket's samples.
static void widen(const gr_dataset *d, gr_bucket_info *b, const gr_sample *s) {
  for (int f = 0; f < d->n_fields; f++) {
    bool has = gr_field_has(&d->field[f], GR_DIM_EXTENT);
    int32_t n = has ? d->ops->extent(d->self, s->index, f) : 0;
    if (n > b->extent[f]) b->extent[f] = n;
  }
}

// Assigns every sample to the smallest bucket that it fits in, and removes empty buckets.
static void assign(gr_dataset *d, const int32_t *bounds, int n) {
  uint32_t *used = GR_NEW(d->arena, uint32_t, n);
  int *place = GR_NEW(d->arena, int, n);
  for (uint32_t i = 0; i < d->count; i++) {
    gr_sample *s = d->samples + i;
    while (s->length > bounds[s->bucket]) s->bucket++;
    used[s->bucket]++;
  }
  d->buckets = GR_NEW(d->arena, gr_bucket_info, n);
  for (int b = 0; b < n; b++) {
    place[b] = d->n_buckets;
    if (used[b] || d->ops->empty) d->buckets[d->n_buckets++].length = bounds[b];
  }
  for (uint32_t i = 0; i < d->count; i++) {
    gr_sample *s = d->samples + i;
    s->bucket = place[s->bucket];
    d->buckets[s->bucket].count[s->split]++;
    widen(d, d->buckets + s->bucket, s);
  }
  // Samples may move to the next bucket (gr_order_fill), so each has room for those of smaller
  // ones.
  for (int b = 1; b < d->n_buckets; b++)
    for (int f = 0; f < GR_MAX_FIELDS; f++)
      if (d->buckets[b].extent[f] < d->buckets[b - 1].extent[f])
        d->buckets[b].extent[f] = d->buckets[b - 1].extent[f];
}

static void list_members(gr_dataset *d) {
  uint32_t *filled = GR_NEW(d->arena, uint32_t, d->n_buckets);
  for (int split = 0; split < 2; split++) {
    d->members[split] = GR_NEW(d->arena, uint32_t *, d->n_buckets);
    for (int b = 0; b < d->n_buckets; b++) {
      d->members[split][b] = GR_NEW(d->arena, uint32_t, d->buckets[b].count[split]);
      filled[b] = 0;
    }
    for (uint32_t i = 0; i < d->count; i++) {
      const gr_sample *s = d->samples + i;
      if ((int)s->split == split) d->members[split][s->bucket][filled[s->bucket]++] = i;
    }
  }
}

gr_status gr_dataset_make_buckets(gr_dataset *d) {
  int n = d->ops->empty ? 1 : d->options.n_buckets;
  if (d->max_length) keep_short(d, d->max_length);
  GR_TRY(check_some(d));
  int32_t *bounds = GR_NEW(d->arena, int32_t, n);
  if (d->ops->empty) {
    bounds[0] = 1;
  } else if (d->options.bounds) {
    memcpy(bounds, d->options.bounds, (size_t)n * sizeof *bounds);
  } else {
    gr_arena *scratch = gr_arena_create();
    lengths l = list_lengths(scratch, d);
    n = choose(scratch, &l, n, bounds);
    gr_arena_destroy(scratch);
  }
  d->options.bounds = bounds, d->options.n_buckets = n;
  assign(d, bounds, n);
  list_members(d);
  for (int b = 1; b < d->n_buckets; b++) assert(d->buckets[b - 1].length < d->buckets[b].length);
  return GR_OK;
}
