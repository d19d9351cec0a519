// inspect.c - prints a summary of a data set and of its skipped samples; see dataset.h.
#include "runtime/data/bar.h"
#include "runtime/data/parts.h"

enum { LENGTH_ROWS = 12 };

static void put_splits(const gr_dataset *d, gr_text *out) {
  static const char *const names[2] = {"train", "validation"};
  for (int split = 0; split < 2; split++) {
    gr_text_printf(out, "%-10s  %6u %s", names[split], gr_dataset_count(d, (gr_split)split),
                   d->unreadable.samples);
    if (d->ops->summary) d->ops->summary(d->self, d->samples, d->count, (gr_split)split, out);
    gr_text_put(out, "\n");
  }
}

static void put_lengths(const gr_dataset *d, gr_text *out) {
  int32_t longest = 1;
  uint64_t n[LENGTH_ROWS] = {0}, most = 0;
  for (uint32_t i = 0; i < d->count; i++)
    if (d->samples[i].length > longest) longest = d->samples[i].length;
  int32_t step = (longest + LENGTH_ROWS - 1) / LENGTH_ROWS;
  for (uint32_t i = 0; i < d->count; i++) n[(d->samples[i].length - 1) / step]++;
  for (int i = 0; i < LENGTH_ROWS; i++) most = n[i] > most ? n[i] : most;
  gr_text_printf(out, "lengths (%ss)\n", d->ops->unit);
  for (int i = 0; i < LENGTH_ROWS && i * step < longest; i++) {
    gr_text_printf(out, "  %6d - %6d %8llu ", i * step + 1, (i + 1) * step,
                   (unsigned long long)n[i]);
    gr_text_bar(out, n[i], most);
  }
}

// Used: the total length of the samples in an epoch's batches, by bucket.
static gr_order count_used(const gr_dataset *d, int batch, gr_arena *a, int64_t *used,
                           uint32_t *made) {
  gr_order_spec spec = {.split = GR_SPLIT_TRAIN, .batch = batch};
  gr_order o = gr_order_make(a, d, &spec);
  gr_order_fill(&o, d, &spec, 0);
  for (uint32_t i = 0; i < o.n; i++) {
    const gr_order_batch *b = o.batches + i;
    made[b->bucket]++;
    for (uint32_t k = 0; k < b->count; k++)
      used[b->bucket] += d->samples[o.samples[b->first + k]].length;
  }
  return o;
}

static void put_bucket(const gr_dataset *d, int b, uint32_t made, gr_text *out) {
  const gr_bucket_info *i = d->buckets + b;
  gr_text_printf(out, "  %6d %ss ", i->length, d->ops->unit);
  for (int f = 0; f < d->n_fields; f++)
    if (i->extent[f]) gr_text_printf(out, "%5d %s  ", i->extent[f], d->field[f].name);
  gr_text_printf(out, "train %6u  validation %6u  batches %5u  ", i->count[GR_SPLIT_TRAIN],
                 i->count[GR_SPLIT_VALIDATION], made);
}

// Full: the fraction of the room in an epoch's batches that samples fill; the rest is padding.
static void put_buckets(const gr_dataset *d, int batch, gr_text *out) {
  int64_t *used = GR_NEW(out->arena, int64_t, d->n_buckets), all = 0, held = 0;
  uint32_t *made = GR_NEW(out->arena, uint32_t, d->n_buckets);
  gr_order o = count_used(d, batch, out->arena, used, made);
  gr_text_printf(out, "buckets (batches of %d in training)\n", batch);
  for (int b = 0; b < d->n_buckets; b++) {
    int64_t room = (int64_t)made[b] * batch * d->buckets[b].length;
    all += used[b], held += room;
    if (!d->ops->unit) continue;
    put_bucket(d, b, made[b], out);
    gr_text_printf(out, "full %5.1f %%\n", room ? 100.0 * (double)used[b] / (double)room : 0.0);
  }
  gr_text_printf(out, "  all: %u batches an epoch, full %.1f %%\n", o.n,
                 held ? 100.0 * (double)all / (double)held : 0.0);
}

void gr_dataset_classes(const gr_dataset *d, gr_text *out) {
  if (d->classes) gr_classes_put(d->classes, d->samples, d->count, out);
}

void gr_dataset_inspect(gr_dataset *d, int batch, gr_text *out) {
  put_splits(d, out);
  gr_text lacking = gr_text_make(out->arena);
  gr_dataset_put_lacking(d, &lacking);
  if (lacking.len) gr_text_printf(out, "%s\n", lacking.chars);
  if (d->ops->inspect) d->ops->inspect(d->self, d->samples, d->count, out);
  gr_dataset_classes(d, out);
  if (d->ops->unit) put_lengths(d, out);
  put_buckets(d, batch > 0 ? batch : 1, out);
}
