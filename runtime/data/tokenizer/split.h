// split.h - normal forms of Unicode (utf8proc) and splitting by regular expressions (PCRE2).
#pragma once
#include "base/base.h"

enum { GR_MAX_SPLITS = 8, GR_MAX_FORMS = 4 };

typedef enum gr_normal_form { GR_NFC, GR_NFD, GR_NFKC, GR_NFKD } gr_normal_form;
typedef struct gr_normal_forms {  // one after the other
  gr_normal_form items[GR_MAX_FORMS];
  int n;
} gr_normal_forms;
// A text in normal form: itself where nothing changes, else in the arena. It is valid UTF-8 of n
// bytes; *n becomes the number of bytes of the result.
const char *gr_normalize(gr_arena *, const gr_normal_forms *, const char *text, size_t *n);

typedef struct gr_splitter {
  void *code, *match;  // PCRE2's: the pattern, and room for a match
  const char *pattern;
  bool drop_matches, drop_others;  // leaves out what matches, or what is between
} gr_splitter;

// Compiles a pattern of PCRE2, in which \s is what Unicode calls white space. literal: its
// characters stand for themselves. GR_ERR_DATA: what is wrong with it.
GR_MUST_USE gr_status gr_splitter_make(gr_arena *, const char *pattern, bool literal,
                                       gr_splitter *out);
// Frees what PCRE2 has allocated; may be called twice.
void gr_splitter_free(gr_splitter *);
// Finds the first match that is not empty in n bytes of valid UTF-8, from `offset` on, by one
// thread at a time. *begin and *end are n where there is none. GR_ERR_DATA: matching takes too much
// time or memory.
GR_MUST_USE gr_status gr_splitter_next(const gr_splitter *, const char *text, size_t n,
                                       size_t offset, size_t *begin, size_t *end);

// Patterns of words by the names of the programs that have them; NULL: none has that name.
const char *gr_pattern_named(const char *name);

bool gr_is_white(uint32_t code);   // white space, by Unicode
bool gr_is_wordly(uint32_t code);  // a letter, a mark, a digit, a connector or a joiner
