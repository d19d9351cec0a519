// parts.h - what normalisers and metrics are made of.
#pragma once
#include "runtime/text/text.h"

// ---- steps.c: their steps, with rules compiled by PCRE2

typedef struct gr_text_steps gr_text_steps;
// *out is in the arena. Close it in any case.
GR_MUST_USE gr_status gr_text_steps_open(gr_arena *, const gr_text_step *,
                                         const gr_normaliser_options *, gr_text_steps **out);
void gr_text_steps_close(gr_text_steps *);  // NULL is fine
// Does all of them to valid UTF-8; *out is in the arena. GR_ERR_DATA: a rule takes too much.
GR_MUST_USE gr_status gr_text_steps_run(const gr_text_steps *, gr_arena *, const char *text,
                                        const char **out);

// ---- characters.c: steps by the classes of utf8proc

// In lower case, as Unicode has it of whole texts: a sigma at the end of a word is another letter.
const char *gr_text_lower(gr_arena *, const gr_normaliser_options *, const char *text);
// Marks, symbols and punctuation become spaces. remove_diacritics: letters lose their marks
// instead, and characters of `keep` stay; the text is then decomposed.
const char *gr_text_letters(gr_arena *, bool remove_diacritics, const char *keep, const char *text);
// A space between characters, as readers see them: a letter and its marks are one.
const char *gr_text_apart(gr_arena *, const char *text);
// Rules: what brackets hold, which is not said.
#define GR_TEXT_BRACKETS \
  {"[<\\[][^>\\]]*[>\\]]", ""}, { "\\([^)]+\\)", "" }

// ---- english_numbers.c: numbers in words, which become digits

// "two and a half" becomes "two point five".
const char *gr_english_halves(gr_arena *, const gr_normaliser_options *, const char *text);
// "minus twenty one" becomes "-21", "nineteen oh five" 1905, "two hundred dollars" "$200".
const char *gr_english_numbers(gr_arena *, const gr_normaliser_options *, const char *text);
