// characters.h - steps of normalisers that go by characters, with the classes of utf8proc.
#pragma once
#include "runtime/text/text.h"

// In lower case, as Unicode has it of whole texts: a sigma at the end of a word is another letter.
const char *gr_text_lower(gr_arena *, const gr_normaliser_options *, const char *text);
// Marks, symbols and punctuation become spaces. remove_diacritics: letters lose their marks
// instead, and characters of `keep` stay; the text is then decomposed.
const char *gr_text_letters(gr_arena *, bool remove_diacritics, const char *keep, const char *text);
// A space between characters, as readers see them: a letter and its marks are one.
const char *gr_text_apart(gr_arena *, const char *text);

// What brackets hold, which is not said.
#define GR_TEXT_BRACKETS \
  {"[<\\[][^>\\]]*[>\\]]", ""}, { "\\([^)]+\\)", "" }
