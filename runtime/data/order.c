// order.c - the global order of an epoch, which all ranks share; see loader.h.
#include <assert.h>
#include <string.h>
#include "base/rng.h"
#include "runtime/data/parts.h"

typedef struct walk {
  const gr_contract *data;
  gr_split split;
  int batch;
  const int *of_bucket;
} walk;

// The rows of a batch.
static uint32_t rows_of(const walk *w, int bucket) {
  int rows = w->of_bucket ? w->of_bucket[bucket] : w->batch;
  return rows > 0 ? (uint32_t)rows : 1;
}

// The next bucket above b with samples of the split, or -1.
static int above(const walk *w, int b) {
  while (++b < w->data->n_buckets)
    if (w->data->buckets[b].count[w->split]) return b;
  return -1;
}

static uint32_t batches(const walk *w, int bucket, uint32_t n) {
  uint32_t rows = rows_of(w, bucket);
  return n / rows + (n % rows > 0);
}

// The number of the n samples in bucket b that move to the next bucket: the remainder that does not
// fill a batch, if the next bucket's last batch has enough empty rows.
static uint32_t going_up(const walk *w, int b, uint32_t n) {
  int next = above(w, b);
  uint32_t rest = n % rows_of(w, b);
  if (next < 0 || !rest) return 0;
  uint32_t there = w->data->buckets[next].count[w->split];
  return batches(w, next, there + rest) == batches(w, next, there) ? rest : 0;
}

uint32_t gr_contract_batches(const gr_contract *d, gr_split split, int batch,
                             const int *of_bucket) {
  walk w = {d, split, batch, of_bucket};
  uint32_t total = 0, carried = 0;
  for (int b = 0; b < d->n_buckets; b++) {
    uint32_t n = carried + d->buckets[b].count[split];
    if (!d->buckets[b].count[split]) continue;
    carried = going_up(&w, b, n);
    total += batches(&w, b, n - carried);
  }
  return total;
}

gr_order gr_order_make(gr_arena *a, const gr_dataset *d, const gr_order_spec *s) {
  uint32_t n = gr_contract_batches(&d->contract, s->split, s->batch, s->of_bucket),
           most = d->count > n ? d->count : n;
  return (gr_order){.samples = GR_NEW(a, uint32_t, most),
                    .repeat = GR_NEW(a, uint32_t, most),
                    .batches = GR_NEW(a, gr_order_batch, n),
                    .n = n,
                    .scratch = GR_NEW(a, uint32_t, 2 * (size_t)most)};
}

static void shuffle(uint32_t *items, uint32_t n, uint32_t *scratch, const gr_rng *r) {
  gr_rng_shuffle(r, scratch, n);
  memcpy(scratch + n, items, n * sizeof *items);
  for (uint32_t i = 0; i < n; i++) items[i] = scratch[n + scratch[i]];
}

static void shuffle_batches(gr_order *o, const gr_rng *r) {
  for (uint32_t i = o->n; i > 1; i--) {
    uint32_t j = (uint32_t)gr_rng_below(r, i, i);
    gr_order_batch swap = o->batches[i - 1];
    o->batches[i - 1] = o->batches[j], o->batches[j] = swap;
  }
}

// How often each of n samples has come before.
static void count_repeats(gr_order *o, const gr_dataset *d, uint32_t n) {
  memset(o->scratch, 0, d->count * sizeof *o->scratch);
  for (uint32_t i = 0; i < n; i++) o->repeat[i] = o->scratch[o->samples[i]]++;
}

// For each bucket, smallest first: shuffles its samples and those carried from the bucket below,
// and cuts them into batches.
void gr_order_fill(gr_order *o, const gr_dataset *d, const gr_order_spec *s, uint32_t epoch) {
  walk w = {&d->contract, s->split, s->batch, s->of_bucket};
  uint32_t first = 0, carried = 0, made = 0;
  assert(s->batch > 0 || s->of_bucket);
  bool drawn = d->sampler && s->shuffle && s->split == GR_SPLIT_TRAIN;  // there is one bucket
  for (int b = 0; b < d->n_buckets; b++) {
    uint32_t members = d->buckets[b].count[s->split], n = carried + members;
    if (!members) continue;
    if (drawn)
      gr_sampler_draw(d->sampler, s->seed, epoch, members, o->samples);
    else
      memcpy(o->samples + first + carried, d->members[s->split][b], members * sizeof(uint32_t));
    if (s->shuffle) {
      char stream[32];
      snprintf(stream, sizeof stream, "data:bucket%d", b);
      gr_rng r = gr_rng_make(s->seed, stream, epoch);
      shuffle(o->samples + first, n, o->scratch, &r);
    }
    carried = going_up(&w, b, n);
    n -= carried;
    for (uint32_t i = 0, of; i < n; i += of) {
      of = n - i < rows_of(&w, b) ? n - i : rows_of(&w, b);
      o->batches[made++] = (gr_order_batch){b, first + i, of};
    }
    first += n;
  }
  if (drawn) count_repeats(o, d, first);
  gr_rng r = gr_rng_make(s->seed, "data:batches", epoch);
  if (s->shuffle) shuffle_batches(o, &r);
}
