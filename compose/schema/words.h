// words.h - lists of words for the macros that read schema.def: GR_EACH_WORD(m, x, a, b, c) is
// m(x, a) m(x, b) m(x, c), and GR_WORDS_TEXT(a, b, c) the type "a | b | c". Lists may have up to
// 256 words.
#pragma once

// A macro does not expand itself again: GR_WORD_AGAIN leaves a call that the next scan expands, and
// every GR_SCAN scans four times.
#define GR_EACH_WORD(m, x, ...) GR_SCAN(GR_WORD_STEP(m, x, __VA_ARGS__))
#define GR_WORD_STEP(m, x, w, ...) m(x, w) __VA_OPT__(GR_WORD_AGAIN GR_NO_ARGS(m, x, __VA_ARGS__))
#define GR_WORD_AGAIN() GR_WORD_STEP
#define GR_NO_ARGS ()
#define GR_SCAN(...) GR_SCAN_64(GR_SCAN_64(GR_SCAN_64(GR_SCAN_64(__VA_ARGS__))))
#define GR_SCAN_64(...) GR_SCAN_16(GR_SCAN_16(GR_SCAN_16(GR_SCAN_16(__VA_ARGS__))))
#define GR_SCAN_16(...) GR_SCAN_4(GR_SCAN_4(GR_SCAN_4(GR_SCAN_4(__VA_ARGS__))))
#define GR_SCAN_4(...) GR_SCAN_1(GR_SCAN_1(GR_SCAN_1(GR_SCAN_1(__VA_ARGS__))))
#define GR_SCAN_1(...) __VA_ARGS__

#define GR_WORD_QUOTED(x, w) #w,
#define GR_WORD_JOINED(x, w) " | " #w
#define GR_WORDS_TEXT(...) GR_WORDS_TEXT_(__VA_ARGS__)
#define GR_WORDS_TEXT_(w, ...) #w GR_EACH_WORD(GR_WORD_JOINED, 0, __VA_ARGS__)
