// texts.c - generated messages to a shop: sentences of small grammars, one for each topic, which
// have words in common.
#include "base/output.h"
#include "cli/new/new.h"

enum { TOPICS = 3, PARTS = 4, CHOICES = 4 };

static const char *const topics[TOPICS] = {"delivery", "price", "quality"};
static const char *const parts[TOPICS][PARTS][CHOICES] = {
    {{"My order", "The parcel", "The lamp", "Your courier"},
     {"has not arrived", "came two days late", "was left in the rain", "went to my neighbour"},
     {"Where is it", "When will it come", "Please send it again", "I am still waiting"},
     {"for my order of Monday", "at my new address", "before the weekend", "by post"}},
    {{"The lamp", "My order", "This offer", "The chair"},
     {"was cheaper last week", "costs too much", "is a bargain", "was charged twice"},
     {"Can I have a discount", "Please return the money", "What do two cost", "I will pay later"},
     {"for my order of Monday", "by card", "with the coupon", "before the weekend"}},
    {{"The chair", "The lamp", "The cup", "My new table"},
     {"broke at once", "is beautifully made", "has a scratch", "feels cheap"},
     {"Please replace it", "I would buy it again", "The colour is wrong", "It does not work"},
     {"for my kitchen", "after one day", "with the new parts", "by now"}}};

static uint32_t put_message(gr_text *t, const gr_rng *rng, uint64_t number) {
  static const char *const between[PARTS] = {" ", ". ", " ", "."};
  uint32_t topic = gr_rng_u32(rng, 8 * number) % TOPICS;
  for (uint64_t i = 0; i < PARTS; i++)
    gr_text_printf(t, "%s%s", parts[topic][i][gr_rng_u32(rng, 8 * number + 1 + i) % CHOICES],
                   between[i]);
  return topic;
}

static void put_row(gr_text *t, const gr_rng *rng, uint64_t row) {
  uint32_t topic = put_message(t, rng, row);
  gr_text_printf(t, ",%s\n", topics[topic]);
}

gr_status gr_new_texts(gr_arena *a, const char *dir) {
  gr_rng rng = gr_rng_make(1, "letters", 0);
  gr_text t = gr_text_make(a);
  (void)put_message(&t, &rng, 1000);
  GR_TRY(gr_output_write(dir, "message.txt", t.chars, t.len));
  static const gr_new_rows rows = {".csv", "messages", "message,topic\n", put_row, 600, 100};
  return gr_new_write_rows(a, dir, &rows);
}
