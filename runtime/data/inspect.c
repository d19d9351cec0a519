// inspect.c - what a data set holds and what was left out, in words; see data.h.
#include <stdlib.h>
#include <string.h>
#include "runtime/data/parts.h"

enum { LENGTH_ROWS = 12, BAR = 40 };

static void skip_words(const gr_data *d, gr_skip why, gr_text *out) {
  switch (why) {
    case GR_SKIP_LONG:
      gr_text_printf(out, "longer than %d frames", d->most_frames);
      break;
    case GR_SKIP_DENSE:
      gr_text_put(out, "with more text than their frames hold");
      break;
    case GR_SKIP_UNKNOWN:
      gr_text_put(out, "with a symbol that is not in the vocabulary");
      break;
    case GR_SKIP_EMPTY:
      gr_text_put(out, "with an empty transcript");
      break;
    case GR_SKIP_UNREADABLE:
      gr_text_put(out, "unreadable");
      break;
    case GR_SKIP_COUNT:
      break;
  }
}

bool gr_data_skipped_line(gr_data *d, gr_text *out) {
  uint64_t n[GR_SKIP_COUNT], all = 0;
  for (int i = 0; i < GR_SKIP_COUNT; i++) all += n[i] = gr_data_skipped(d, (gr_skip)i);
  if (!all) return false;
  gr_text_printf(out, "%llu of %u utterances left out: ", (unsigned long long)all, d->listed);
  const char *comma = "";
  for (int i = 0; i < GR_SKIP_COUNT; i++) {
    if (!n[i]) continue;
    gr_text_printf(out, "%s%llu ", comma, (unsigned long long)n[i]);
    skip_words(d, (gr_skip)i, out);
    comma = ", ";
  }
  return true;
}

static void put_parts(const gr_data *d, gr_text *out) {
  static const char *const names[2] = {"train", "validation"};
  double per_frame = (double)d->spec.features.hop / d->spec.features.rate;
  for (int part = 0; part < 2; part++) {
    uint32_t n = 0;
    uint64_t symbols = 0;
    int64_t frames = 0;
    for (uint32_t i = 0; i < d->count; i++) {
      if ((int)d->items[i].part != part) continue;
      n++, frames += d->items[i].frames, symbols += (uint64_t)d->items[i].n_targets;
    }
    gr_text_printf(out, "%-10s  %6u utterances  %9.4f hours  %8llu symbols\n", names[part], n,
                   (double)frames * per_frame / 3600, (unsigned long long)symbols);
  }
}

static void put_bar(gr_text *out, uint64_t n, uint64_t most) {
  for (uint64_t i = 0; most && i < (n * BAR + most - 1) / most; i++) gr_text_put(out, "#");
  gr_text_put(out, "\n");
}

static void put_symbols(const gr_data *d, gr_text *out) {
  const gr_vocab *v = d->spec.vocab;
  uint64_t *n = GR_NEW(out->arena, uint64_t, v->n), most = 0;
  for (uint32_t i = 0; i < d->count; i++)
    for (int32_t k = 0; k < d->items[i].n_targets; k++) n[d->items[i].targets[k]]++;
  for (int32_t i = 0; i < v->n; i++) most = n[i] > most ? n[i] : most;
  gr_text_printf(out, "symbols (%d, blank %d)\n", v->n, v->blank);
  for (int32_t i = 0; i < v->n; i++) {
    if (i == v->blank) continue;
    gr_text_printf(out, "  %4d '%s'%*s %8llu ", i, v->symbols[i],
                   (int)(strlen(v->symbols[i]) < 8 ? 8 - strlen(v->symbols[i]) : 0), "",
                   (unsigned long long)n[i]);
    put_bar(out, n[i], most);
  }
}

static void put_lengths(const gr_data *d, gr_text *out) {
  int32_t longest = 1;
  uint64_t n[LENGTH_ROWS] = {0}, most = 0;
  for (uint32_t i = 0; i < d->count; i++)
    if (d->items[i].frames > longest) longest = d->items[i].frames;
  int32_t step = (longest + LENGTH_ROWS - 1) / LENGTH_ROWS;
  for (uint32_t i = 0; i < d->count; i++) n[(d->items[i].frames - 1) / step]++;
  for (int i = 0; i < LENGTH_ROWS; i++) most = n[i] > most ? n[i] : most;
  gr_text_put(out, "lengths (frames)\n");
  for (int i = 0; i < LENGTH_ROWS && i * step < longest; i++) {
    gr_text_printf(out, "  %6d - %6d %8llu ", i * step + 1, (i + 1) * step,
                   (unsigned long long)n[i]);
    put_bar(out, n[i], most);
  }
}

// Full: the share of the frames of all batches of an epoch that are of a recording.
static void put_buckets(const gr_data *d, int batch, gr_text *out) {
  int64_t *frames = GR_NEW(out->arena, int64_t, d->n_buckets), used = 0, held = 0;
  gr_loader_spec spec = {.part = GR_PART_TRAIN, .batch = batch};
  gr_order o = gr_order_make(out->arena, d, GR_PART_TRAIN, batch);
  gr_order_fill(&o, d, &spec, 0);
  uint32_t *made = GR_NEW(out->arena, uint32_t, d->n_buckets);
  for (uint32_t i = 0; i < o.n; i++) {
    const gr_order_batch *b = o.batches + i;
    made[b->bucket]++;
    for (uint32_t k = 0; k < b->count; k++)
      frames[b->bucket] += d->items[o.utterances[b->first + k]].frames;
  }
  gr_text_printf(out, "buckets (batches of %d in training)\n", batch);
  for (int b = 0; b < d->n_buckets; b++) {
    int64_t room = (int64_t)made[b] * batch * d->buckets[b].frames;
    used += frames[b], held += room;
    gr_text_printf(out, "  %6d frames %5d targets  train %6u  validation %6u  batches %5u  ",
                   d->buckets[b].frames, d->buckets[b].targets, d->buckets[b].count[GR_PART_TRAIN],
                   d->buckets[b].count[GR_PART_VALIDATION], made[b]);
    gr_text_printf(out, "full %5.1f %%\n", room ? 100.0 * (double)frames[b] / (double)room : 0.0);
  }
  gr_text_printf(out, "  all: %u batches an epoch, full %.1f %%\n", o.n,
                 held ? 100.0 * (double)used / (double)held : 0.0);
}

void gr_data_inspect(gr_data *d, int batch, gr_text *out) {
  put_parts(d, out);
  if (gr_data_skipped_line(d, out)) gr_text_put(out, "\n");
  put_symbols(d, out);
  put_lengths(d, out);
  put_buckets(d, batch > 0 ? batch : 1, out);
}
