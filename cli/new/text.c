// text.c - generated text: sentences of a small grammar, and the beginning of one to be continued.
#include "cli/new/new.h"

enum { SENTENCES = 1500, TEST_SENTENCES = 150, WORDS = 8 };

typedef struct words {
  const char *words[WORDS];
  uint32_t n;
} words;

// n sentences, five a line.
static gr_status write_sentences(gr_arena *a, const char *dir, const char *name, uint64_t first,
                                 uint64_t n) {
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
  gr_rng rng = gr_rng_make(1, "sentences", 0);
  gr_text t = gr_text_make(a);
  for (uint64_t i = first; i < first + n; i++) {
    for (uint64_t k = 0; k < WORDS; k++)
      gr_text_printf(&t, "%s%s", k ? " " : "",
                     parts[k].words[gr_rng_u32(&rng, WORDS * i + k) % parts[k].n]);
    gr_text_put(&t, i % 5 == 4 ? ".\n" : ". ");
  }
  return gr_new_write(dir, name, t.chars, t.len);
}

gr_status gr_new_text(gr_arena *a, const char *dir) {
  static const char prompt[] = "The old sailor ";
  GR_TRY(write_sentences(a, dir, "data.txt", 0, SENTENCES));
  GR_TRY(write_sentences(a, dir, "test.txt", SENTENCES, TEST_SENTENCES));
  return gr_new_write(dir, "prompt.txt", prompt, sizeof prompt - 1);
}
