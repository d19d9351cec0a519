// fingerprint.c - what tells one data set from another: a number and a line for each utterance.
// See data.h.
#include <string.h>
#include <sys/stat.h>
#include "base/hash.h"
#include "runtime/data/parts.h"

// Bytes of the recording; -1: it is not there. No audio is read.
static int64_t size_of(const gr_item *item) {
  struct stat s;
  return stat(item->from->audio, &s) ? -1 : (int64_t)s.st_size;
}

uint64_t gr_data_fingerprint(const gr_data *d, uint32_t utterance, bool with_file) {
  const gr_item *item = gr_data_item(d, utterance);
  int64_t numbers[] = {item->frames, item->part, with_file ? size_of(item) : 0};
  uint64_t h = gr_hash_bytes(gr_hash_text(item->from->name), numbers, sizeof numbers);
  return gr_hash_bytes(h, item->text, strlen(item->text) + 1);
}

void gr_data_describe(const gr_data *d, uint32_t utterance, gr_text *out) {
  const gr_item *item = gr_data_item(d, utterance);
  int64_t size = size_of(item);
  gr_text_json(out, item->from->audio);
  if (size < 0)
    gr_text_put(out, ", which is not there");
  else
    gr_text_printf(out, " of %lld bytes", (long long)size);
  gr_text_printf(out, ", %d frames, ", item->frames);
  gr_text_json(out, item->text);
}
