// words.h - lists of words for the macros that read schema.def: GR_EACH_WORD(m, x, a, b, c) is
// m(x, a) m(x, b) m(x, c), and GR_WORDS_TEXT(a, b, c) the type "a | b | c".
#pragma once

#define GR_EACH_1(m, x, w) m(x, w)
#define GR_EACH_2(m, x, w, ...) m(x, w) GR_EACH_1(m, x, __VA_ARGS__)
#define GR_EACH_3(m, x, w, ...) m(x, w) GR_EACH_2(m, x, __VA_ARGS__)
#define GR_EACH_4(m, x, w, ...) m(x, w) GR_EACH_3(m, x, __VA_ARGS__)
#define GR_EACH_5(m, x, w, ...) m(x, w) GR_EACH_4(m, x, __VA_ARGS__)
#define GR_EACH_6(m, x, w, ...) m(x, w) GR_EACH_5(m, x, __VA_ARGS__)
#define GR_EACH_7(m, x, w, ...) m(x, w) GR_EACH_6(m, x, __VA_ARGS__)
#define GR_EACH_8(m, x, w, ...) m(x, w) GR_EACH_7(m, x, __VA_ARGS__)
#define GR_EACH_9(m, x, w, ...) m(x, w) GR_EACH_8(m, x, __VA_ARGS__)
#define GR_PICK_10(a, b, c, d, e, f, g, h, i, picked, ...) picked
#define GR_EACH_WORD(m, x, ...)                                                             \
  GR_PICK_10(__VA_ARGS__, GR_EACH_9, GR_EACH_8, GR_EACH_7, GR_EACH_6, GR_EACH_5, GR_EACH_4, \
             GR_EACH_3, GR_EACH_2, GR_EACH_1, )                                             \
  (m, x, __VA_ARGS__)

#define GR_WORD_QUOTED(x, w) #w,
#define GR_WORD_JOINED(x, w) " | " #w
#define GR_WORDS_TEXT(...) GR_WORDS_TEXT_(__VA_ARGS__)
#define GR_WORDS_TEXT_(w, ...) #w GR_EACH_WORD(GR_WORD_JOINED, 0, __VA_ARGS__)
