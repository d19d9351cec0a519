// english_numbers.h - steps of the English normaliser: numbers in words, which become digits.
#pragma once
#include "runtime/text/text.h"

// "two and a half" becomes "two point five".
const char *gr_english_halves(gr_arena *, const gr_normaliser_options *, const char *text);
// "minus twenty one" becomes "-21", "nineteen oh five" 1905, "two hundred dollars" "$200".
const char *gr_english_numbers(gr_arena *, const gr_normaliser_options *, const char *text);
