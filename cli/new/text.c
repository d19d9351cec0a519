// text.c - generated text: sentences of a small grammar, and the beginning of one to be continued.
#include "base/output.h"
#include "cli/new/new.h"

enum { SENTENCES = 1500, TEST_SENTENCES = 150, WORDS = 8 };

typedef struct words {
  const char *words[WORDS];
  uint32_t n;
} words;

// Five a line.
static void put_sentence(gr_text *t, const gr_rng *rng, uint64_t i) {
  static const words parts[] = {
      {{"The", "A", "Every", "One"}, 4},
      {{"small", "old", "red", "quiet", "hungry", "clever"}, 6},
      {{"dog", "cat", "bird", "farmer", "sailor", "child"}, 6},
      {{"sees", "follows", "finds", "paints", "remembers"}, 5},
      {{"the", "a", "one"}, 3},
      {{"green", "large", "broken", "bright", "distant"}, 5},
      {{"house", "river", "garden", "ship", "mountain", "apple"}, 6},
      {{"in the morning", "at night", "every day", "without a word", "near the sea"}, 5},
  };
  for (uint64_t k = 0; k < WORDS; k++)
    gr_text_printf(t, "%s%s", k ? " " : "",
                   parts[k].words[gr_rng_u32(rng, WORDS * i + k) % parts[k].n]);
  gr_text_put(t, i % 5 == 4 ? ".\n" : ". ");
}

gr_status gr_new_text(gr_arena *a, const char *dir) {
  static const gr_new_rows rows = {".txt",       "sentences", "",
                                   put_sentence, SENTENCES,   TEST_SENTENCES};
  static const char prompt[] = "The old sailor ";
  GR_TRY(gr_new_write_rows(a, dir, &rows));
  return gr_output_write(dir, "prompt.txt", prompt, sizeof prompt - 1);
}
