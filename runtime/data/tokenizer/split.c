// split.c - see split.h.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "runtime/data/tokenizer/split.h"
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

// ---- Normal forms -------------------------------------------------------------------------------

static const int form_options[] = {
    [GR_NFC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
    [GR_NFD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
    [GR_NFKC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
    [GR_NFKD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
};

static bool is_ascii(const char *text, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (text[i] & 0x80) return false;
  return true;
}

const char *gr_normalize(gr_arena *a, const gr_normal_forms *forms, const char *text, size_t *n) {
  if (!forms->n || is_ascii(text, *n)) return text;
  for (int i = 0; i < forms->n; i++) {
    utf8proc_uint8_t *out = NULL;
    utf8proc_ssize_t len = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)*n, &out,
                                        (utf8proc_option_t)form_options[forms->items[i]]);
    if (len >= 0) text = gr_arena_strndup(a, (const char *)out, (size_t)len), *n = (size_t)len;
    free(out);
  }
  return text;
}

bool gr_is_white(uint32_t c) {
  return (c >= 9 && c <= 13) || c == 0x85 ||
         (utf8proc_category((utf8proc_int32_t)c) >= UTF8PROC_CATEGORY_ZS &&
          utf8proc_category((utf8proc_int32_t)c) <= UTF8PROC_CATEGORY_ZP);
}

// As \w of the crate `regex`, by UTS 18: also symbols that are alphabetic, letters in circles and
// squares, and what joins letters.
bool gr_is_wordly(uint32_t c) {
  utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
  bool enclosed = (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
                  (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
  return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_NL) || k == UTF8PROC_CATEGORY_PC ||
         c == 0x200c || c == 0x200d || enclosed;
}

// ---- Patterns -----------------------------------------------------------------------------------

// The patterns are part of what these vocabularies are: their merges were found on words that they
// split. gpt2: encoder.py of github.com/openai/gpt-2, and Whisper's; cl100k: openai_public.py of
// github.com/openai/tiktoken.
const char *gr_pattern_named(const char *name) {
  static const struct {
    const char *name, *pattern;
  } known[] = {
      {"gpt2",
       "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"},
      {"cl100k",
       "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| "
       "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(known[i].name, name)) return known[i].pattern;
  return NULL;
}

// PCRE2's \s has U+180E, which Unicode has not counted as white space since version 6.3, and the
// libraries that made the vocabularies follow Unicode.
static const char *with_white_space(gr_arena *a, const char *pattern) {
  gr_text t = gr_text_make(a);
  for (const char *p = pattern; *p; p++) {
    bool escape = *p == '\\' && p[1];
    if (escape && (p[1] == 's' || p[1] == 'S'))
      gr_text_put(&t, p[1] == 's' ? "\\p{White_Space}" : "\\P{White_Space}");
    else
      gr_text_putn(&t, p, escape ? 2 : 1);
    p += escape;
  }
  return t.chars ? t.chars : "";
}

gr_status gr_splitter_make(gr_arena *a, const char *pattern, bool literal, gr_splitter *out) {
  int code;
  PCRE2_SIZE offset;
  uint32_t options = PCRE2_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP);
  const char *used = literal ? pattern : with_white_space(a, pattern);
  *out = (gr_splitter){.pattern = pattern};
  out->code = pcre2_compile((PCRE2_SPTR)used, PCRE2_ZERO_TERMINATED, options, &code, &offset, NULL);
  if (out->code) {
    out->match = pcre2_match_data_create(1, NULL);
    pcre2_jit_compile(out->code, PCRE2_JIT_COMPLETE);  // without it matching is only slower
    return GR_OK;
  }
  char why[128];
  pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
  return gr_fail(GR_ERR_DATA, GR_NOWHERE, "the pattern '%s' is no regular expression: %s", pattern,
                 why);
}

void gr_splitter_free(gr_splitter *s) {
  pcre2_code_free(s->code);
  pcre2_match_data_free(s->match);
  s->code = s->match = NULL;
}

gr_status gr_splitter_next(const gr_splitter *s, const char *text, size_t n, size_t offset,
                           size_t *begin, size_t *end) {
  int found = PCRE2_ERROR_NOMEMORY;
  *begin = *end = n;
  while (s->match && offset <= n) {
    found = pcre2_match(s->code, (PCRE2_SPTR)text, n, offset, PCRE2_NO_UTF_CHECK, s->match, NULL);
    if (found < 0) break;
    const PCRE2_SIZE *span = pcre2_get_ovector_pointer(s->match);
    if (span[1] > span[0]) {
      *begin = span[0], *end = span[1];
      break;
    }
    offset = span[0] < n ? span[0] + (size_t)gr_utf8_len(text + span[0]) : n + 1;
  }
  if (found >= 0 || found == PCRE2_ERROR_NOMATCH) return GR_OK;
  char why[128];
  pcre2_get_error_message(found, (PCRE2_UCHAR *)why, sizeof why);
  return gr_fail(GR_ERR_DATA, GR_NOWHERE, "the pattern '%s' cannot be matched: %s", s->pattern,
                 why);
}
