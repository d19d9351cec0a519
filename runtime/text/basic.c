// basic.c - Whisper's normaliser for texts of any language (Radford et al., 2022, appendix C).
#include "runtime/text/parts.h"

static const char *clean(gr_arena *a, const gr_normaliser_options *o, const char *text) {
  return gr_text_letters(a, o->remove_diacritics, NULL, text);
}

// For languages that write no spaces between words.
static const char *split(gr_arena *a, const gr_normaliser_options *o, const char *text) {
  return o->split_letters ? gr_text_apart(a, text) : text;
}

static const gr_text_rule brackets[] = {GR_TEXT_BRACKETS, {NULL, NULL}};
static const gr_text_rule spaces[] = {{"\\s+", " "}, {NULL, NULL}};
static const gr_text_step steps[] = {{.change = gr_text_lower},
                                     {.rules = brackets},
                                     {.change = clean},
                                     {.change = gr_text_lower},
                                     {.change = split},
                                     {.rules = spaces},
                                     {0}};
const gr_normaliser gr_normaliser_basic = {"basic", steps};
const gr_normaliser gr_normaliser_none = {"none", NULL};
