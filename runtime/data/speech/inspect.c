// inspect.c - prints a summary of speech data: hours and symbols. See speech.h.
#include <string.h>
#include "base/shown.h"
#include "runtime/data/bar.h"
#include "runtime/data/speech/speech.h"

void gr_speech_summary(const void *self, const gr_sample *all, uint32_t n, gr_split split,
                       gr_text *out) {
  const gr_speech *d = self;
  double per_frame = (double)d->spec.features.hop / d->spec.features.rate;
  uint64_t symbols = 0;
  int64_t frames = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (all[i].split != split) continue;
    frames += all[i].length, symbols += (uint64_t)d->items[all[i].index].n_targets;
  }
  gr_text_printf(out, "  %9.4f hours  %8llu symbols", (double)frames * per_frame / 3600,
                 (unsigned long long)symbols);
}

// Of a tokenizer, which may have a hundred thousand tokens, only how many of them occur.
static void put_used(const uint64_t *n, int32_t tokens, gr_text *out) {
  int32_t used = 0;
  for (int32_t i = 0; i < tokens; i++) used += n[i] > 0;
  gr_text_printf(out, "tokens (%d, of which %d occur)\n", tokens, used);
}

void gr_speech_inspect(const void *self, const gr_sample *all, uint32_t count, gr_text *out) {
  const gr_speech *d = self;
  const gr_vocab *v = d->spec.vocab;
  uint64_t *n = GR_NEW(out->arena, uint64_t, d->tokens.n), most = 0;
  for (uint32_t i = 0; i < count; i++) {
    const gr_speech_item *item = d->items + all[i].index;
    for (int32_t k = 0; k < item->n_targets; k++) n[item->targets[k]]++;
  }
  if (!v) {
    put_used(n, d->tokens.n, out);
    return;
  }
  for (int32_t i = 0; i < v->n; i++) most = n[i] > most ? n[i] : most;
  gr_text_printf(out, "symbols (%d, blank %d)\n", v->n, v->blank);
  for (int32_t i = 0; i < v->n; i++) {
    if (i == v->blank) continue;
    const char *shown = gr_name_shown(out->arena, v->symbols[i]);
    gr_text_printf(out, "  %4d '%s'%*s %8llu ", i, shown,
                   (int)(strlen(shown) < 8 ? 8 - strlen(shown) : 0), "", (unsigned long long)n[i]);
    gr_text_bar(out, n[i], most);
  }
}
