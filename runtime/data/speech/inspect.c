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
    frames += all[i].length, symbols += (uint64_t)d->items[all[i].index].targets.n;
  }
  gr_text_printf(out, "  %9.4f hours", (double)frames * per_frame / 3600);
  if (!d->spec.keys.label) gr_text_printf(out, "  %8llu symbols", (unsigned long long)symbols);
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
  if (d->spec.keys.label) return;
  uint64_t *n = GR_NEW(out->arena, uint64_t, d->tokens.n), most = 0;
  for (uint32_t i = 0; i < count; i++) {
    const gr_speech_item *item = d->items + all[i].index;
    for (int32_t k = 0; k < item->targets.n; k++) n[item->targets.items[k]]++;
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

enum { MAX_UNKNOWN = 8 };

// The symbol of most recordings, of those with fewer than `below`, or as many and a later place
// than `last`; UINT32_MAX: there is none.
static uint32_t next_unknown(const gr_map *m, uint32_t below, uint32_t last) {
  uint32_t found = UINT32_MAX;
  for (uint32_t i = 0; i < m->n; i++) {
    bool left = m->values[i] < below || (m->values[i] == below && i > last);
    if (left && (found == UINT32_MAX || m->values[i] > m->values[found])) found = i;
  }
  return found;
}

void gr_speech_unknown(const gr_speech *d, gr_text *out) {
  const gr_map *m = &d->unknown;
  uint32_t i = next_unknown(m, UINT32_MAX, 0), shown = 0;
  if (!m->n) return;
  gr_text_printf(
      out, "%s%s ", out->len ? "\n" : "",
      d->spec.text.unknown == GR_UNKNOWN_DROP ? "transcripts lose" : "recordings are skipped for");
  for (; i != UINT32_MAX && shown < MAX_UNKNOWN; i = next_unknown(m, m->values[i], i)) {
    gr_text_printf(out, "%s'%s' (%u)", shown ? ", " : "", m->keys[i], m->values[i]);
    shown++;
  }
  if (m->n > shown) gr_text_printf(out, " and %u more symbols", m->n - shown);
  gr_text_put(out,
              ": add what is spoken to data.speech.vocab, and what is not to "
              "data.speech.text.drops or .spaces");
}
