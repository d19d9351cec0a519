// english.c - Whisper's normaliser for English texts (Radford et al., 2022, appendix C): its rules
// in the order of openai-whisper's, whose results it has (tests/golden/text_metrics.py).
#include <string.h>
#include "runtime/text/parts.h"

#define WORD(pattern, instead) \
  { "\\b" pattern "\\b", instead }

static const gr_text_rule words[] = {
    GR_TEXT_BRACKETS,
    WORD("(?:hmm|mm|mhm|mmm|uh|um)", ""),
    {"\\s+'", "'"},
    // What is said in one word, and in one that is cut short.
    WORD("won't", "will not"),
    WORD("can't", "can not"),
    WORD("let's", "let us"),
    WORD("ain't", "aint"),
    WORD("y'all", "you all"),
    WORD("wanna", "want to"),
    WORD("gotta", "got to"),
    WORD("gonna", "going to"),
    WORD("(?:i'ma|imma)", "i am going to"),
    WORD("(w|c|sh)oulda", "$1ould have"),
    WORD("ma'am", "madam"),
    // Titles.
    WORD("mr", "mister "),
    WORD("mrs", "missus "),
    WORD("st", "saint "),
    WORD("dr", "doctor "),
    WORD("prof", "professor "),
    WORD("capt", "captain "),
    WORD("gov", "governor "),
    WORD("ald", "alderman "),
    WORD("gen", "general "),
    WORD("sen", "senator "),
    WORD("rep", "representative "),
    WORD("pres", "president "),
    WORD("rev", "reverend "),
    WORD("hon", "honorable "),
    WORD("asst", "assistant "),
    WORD("assoc", "associate "),
    WORD("lt", "lieutenant "),
    WORD("col", "colonel "),
    WORD("jr", "junior "),
    WORD("sr", "senior "),
    WORD("esq", "esquire "),
    // Endings, before some words first: "he's been" is "he has been".
    {"'d (been|gone|done)\\b", " had $1"},
    {"'s (been|gone|got)\\b", " has $1"},
    {"n't\\b", " not"},
    {"'re\\b", " are"},
    {"'s\\b", " is"},
    {"'d\\b", " would"},
    {"'ll\\b", " will"},
    {"'t\\b", " not"},
    {"'ve\\b", " have"},
    {"'m\\b", " am"},
    // Commas in numbers, and points that are not.
    {"(\\d),(\\d)", "$1$2"},
    {"\\.([^0-9]|$)", " $1"},
    {NULL, NULL}};

// What is a part of a number stays.
static const char *clean(gr_arena *a, const gr_normaliser_options *o, const char *text) {
  (void)o;
  return gr_text_letters(a, true, ".%$¢€£", text);
}

static const gr_text_rule apart[] = {{"([a-z])([0-9])", "$1 $2"},
                                     {"([0-9])([a-z])", "$1 $2"},
                                     {"([0-9])\\s+(st|nd|rd|th|s)\\b", "$1$2"},
                                     {NULL, NULL}};

// Sums of a currency and its cents are one number; 1 is a word; then signs that belong to no number
// go.
static const gr_text_rule signs[] = {{"([€£$])([0-9]+) (?:and )?¢([0-9]{2})\\b", "$1$2.$3"},
                                     {"([€£$])([0-9]+) (?:and )?¢([0-9])\\b", "$1$2.0$3"},
                                     {"[€£$]0.(?:0([0-9])|([0-9]{1,2}))\\b", "¢$1$2"},
                                     WORD("1(s?)", "one$1"),
                                     {NULL, NULL}};
static const gr_text_rule rest[] = {
    {"[.$¢€£]([^0-9])", " $1"}, {"([^0-9])%", "$1 "}, {"\\s+", " "}, {NULL, NULL}};

static const char *spell(gr_arena *a, const gr_normaliser_options *o, const char *text) {
  gr_text t = gr_text_make(a);
  char *rest_of = NULL;
  uint32_t i;
  char *word = strtok_r(gr_arena_strdup(a, text), " ", &rest_of);
  for (; word; word = strtok_r(NULL, " ", &rest_of)) {
    bool known = o->spelling && gr_map_find(&o->spelling->words, word, &i);
    gr_text_printf(&t, "%s%s", t.len ? " " : "", known ? o->spelling->instead[i] : word);
  }
  return t.chars;
}

static const gr_text_step steps[] = {{.change = gr_text_lower}, {.rules = words},
                                     {.change = clean},         {.change = gr_english_halves},
                                     {.rules = apart},          {.change = gr_english_numbers},
                                     {.rules = signs},          {.change = spell},
                                     {.rules = rest},           {0}};
const gr_normaliser gr_normaliser_english = {"english", steps};
