// bucket.c - length classes: which bounds, who is where; see data.h.
#include <stdlib.h>
#include <string.h>
#include "runtime/data/parts.h"

// Lengths are rounded up to a step before bounds are chosen among them, so that there are at
// most so many to choose from: the choice takes lengths^2 * buckets operations.
enum { MOST_LENGTHS = 1024 };

typedef struct lengths {
  int32_t *frames;  // different ones, rising
  int64_t *count;   // utterances of training up to and with each
  int n;
} lengths;

static int by_value(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static int32_t longest(const gr_data *d) {
  int32_t most = 1;
  for (uint32_t i = 0; i < d->count; i++)
    if (d->items[i].frames > most) most = d->items[i].frames;
  return most;
}

// All lengths, also of validation, so that the last bound holds everything; only training
// counts in what a bound costs.
static lengths list_lengths(gr_arena *a, const gr_data *d) {
  int32_t step = d->spec.frame_multiple > 0 ? d->spec.frame_multiple : 1, most = longest(d);
  while (most / step >= MOST_LENGTHS) step *= 2;
  int32_t *up = GR_NEW(a, int32_t, d->count), *sorted = GR_NEW(a, int32_t, d->count);
  for (uint32_t i = 0; i < d->count; i++)
    sorted[i] = up[i] = (d->items[i].frames + step - 1) / step * step;
  qsort(sorted, d->count, sizeof *sorted, by_value);
  lengths l = {GR_NEW(a, int32_t, d->count), NULL, 0};
  for (uint32_t i = 0; i < d->count; i++)
    if (!i || sorted[i] != sorted[i - 1]) l.frames[l.n++] = sorted[i];
  l.count = GR_NEW(a, int64_t, l.n);
  for (uint32_t i = 0; i < d->count; i++) {
    int32_t *at = bsearch(up + i, l.frames, (size_t)l.n, sizeof *up, by_value);
    l.count[at - l.frames] += d->items[i].part == GR_PART_TRAIN;
  }
  for (int k = 1; k < l.n; k++) l.count[k] += l.count[k - 1];
  return l;
}

// The bounds that make the fewest frames, padding included (exact, by dynamic programming):
// cost[b][k] is the least for lengths 0 .. k in at most b + 1 buckets, the last bound being k.
static int choose(gr_arena *a, const lengths *l, int buckets, int32_t *bounds) {
  if (buckets > l->n) buckets = l->n;
  int64_t *cost = GR_NEW(a, int64_t, (size_t)buckets * (size_t)l->n);
  int *before = GR_NEW(a, int, (size_t)buckets *(size_t)l->n);
  for (int b = 0; b < buckets; b++)
    for (int k = 0; k < l->n; k++) {
      int64_t *best = cost + (size_t)b * (size_t)l->n + k;
      int *from = before + (size_t)b * (size_t)l->n + k;
      *best = l->count[k] * l->frames[k], *from = -1;
      for (int j = b ? 0 : k; j < k; j++) {
        int64_t c = cost[(size_t)(b - 1) * (size_t)l->n + (size_t)j] +
                    (l->count[k] - l->count[j]) * l->frames[k];
        if (c < *best) *best = c, *from = j;
      }
    }
  int n = 0;
  for (int b = buckets - 1, k = l->n - 1; k >= 0; b--) {
    bounds[n++] = l->frames[k];
    k = before[(size_t)b * (size_t)l->n + (size_t)k];
  }
  qsort(bounds, (size_t)n, sizeof *bounds, by_value);
  return n;
}

static void keep_short(gr_data *d, int32_t most) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < d->count; i++) {
    if (d->items[i].frames > most)
      d->skipped[GR_SKIP_LONG]++;
    else
      d->items[kept++] = d->items[i];
  }
  d->count = kept;
}

static gr_status check_some(const gr_data *d) {
  static const char *const cures[GR_SKIP_COUNT] = {
      [GR_SKIP_LONG] = "a larger data.max_seconds, or larger bounds in data.buckets",
      [GR_SKIP_DENSE] = "a smaller data.subsampling or data.features.hop",
      [GR_SKIP_UNKNOWN] = "give data.vocab the characters that data.text leaves of the transcripts",
      [GR_SKIP_EMPTY] = "data.text leaves nothing of the transcripts: see data.text.drops",
      [GR_SKIP_UNREADABLE] = "`graphrun data inspect CONFIG.yaml --audio` lists them",
  };
  uint32_t train = 0;
  for (uint32_t i = 0; i < d->count; i++) train += d->items[i].part == GR_PART_TRAIN;
  if (train) return GR_OK;
  gr_status none =
      gr_fail(GR_ERR_DATA, (gr_loc){d->spec.train, 1, 1},
              "nothing is left to train on: of %u utterances %llu are too long, %llu have too "
              "much text for their length, %llu unknown symbols, %llu no text, %llu no readable "
              "audio, and %u go to validation",
              d->listed, (unsigned long long)d->skipped[GR_SKIP_LONG],
              (unsigned long long)d->skipped[GR_SKIP_DENSE],
              (unsigned long long)d->skipped[GR_SKIP_UNKNOWN],
              (unsigned long long)d->skipped[GR_SKIP_EMPTY],
              (unsigned long long)d->skipped[GR_SKIP_UNREADABLE], d->count);
  int most = 0;
  for (int i = 1; i < GR_SKIP_COUNT; i++)
    if (d->skipped[i] > d->skipped[most]) most = i;
  return gr_hint(none, "%s", d->skipped[most] ? cures[most] : "a smaller data.validation_fraction");
}

// Puts every item in the smallest bucket that holds it, and drops buckets that stay empty.
static void assign(gr_data *d, const int32_t *bounds, int n) {
  uint32_t *used = GR_NEW(d->arena, uint32_t, n);
  int *place = GR_NEW(d->arena, int, n);
  for (uint32_t i = 0; i < d->count; i++) {
    gr_item *item = d->items + i;
    while (item->frames > bounds[item->bucket]) item->bucket++;
    used[item->bucket]++;
  }
  d->buckets = GR_NEW(d->arena, gr_data_bucket, n);
  for (int b = 0; b < n; b++) {
    place[b] = d->n_buckets;
    if (used[b]) d->buckets[d->n_buckets++].frames = bounds[b];
  }
  for (uint32_t i = 0; i < d->count; i++) {
    gr_item *item = d->items + i;
    item->bucket = place[item->bucket];
    gr_data_bucket *b = d->buckets + item->bucket;
    b->count[item->part]++;
    if (item->n_targets > b->targets) b->targets = item->n_targets;
  }
  // Utterances may move up a bucket (gr_order_fill), so each holds the targets of those below.
  for (int b = 1; b < d->n_buckets; b++)
    if (d->buckets[b].targets < d->buckets[b - 1].targets)
      d->buckets[b].targets = d->buckets[b - 1].targets;
}

static void list_members(gr_data *d) {
  for (int part = 0; part < 2; part++) {
    d->members[part] = GR_NEW(d->arena, uint32_t *, d->n_buckets);
    for (int b = 0; b < d->n_buckets; b++) {
      uint32_t n = 0, *list = GR_NEW(d->arena, uint32_t, d->buckets[b].count[part]);
      for (uint32_t i = 0; i < d->count; i++)
        if (d->items[i].bucket == b && (int)d->items[i].part == part) list[n++] = i;
      d->members[part][b] = list;
    }
  }
}

gr_status gr_data_make_buckets(gr_data *d) {
  int n = d->spec.n_buckets;
  if (d->most_frames) keep_short(d, d->most_frames);
  GR_TRY(check_some(d));
  int32_t *bounds = GR_NEW(d->arena, int32_t, n);
  if (d->spec.bounds) {
    memcpy(bounds, d->spec.bounds, (size_t)n * sizeof *bounds);
  } else {
    gr_arena *scratch = gr_arena_create();
    lengths l = list_lengths(scratch, d);
    n = choose(scratch, &l, n, bounds);
    gr_arena_destroy(scratch);
  }
  d->spec.bounds = bounds, d->spec.n_buckets = n;
  assign(d, bounds, n);
  list_members(d);
  return GR_OK;
}
