// characters.c - see parts.h.
#include <string.h>
#include <utf8proc.h>
#include "runtime/data/tokenizer/split.h"
#include "runtime/text/parts.h"

// The character at *p, of valid UTF-8, which *p is then behind.
static int32_t take(const char **p) {
  int n = gr_utf8_len(*p);
  uint32_t c = gr_utf8_code(*p, n);
  *p += n;
  return (int32_t)c;
}

static bool is_letter(int32_t c) {
  utf8proc_category_t k = utf8proc_category(c);
  return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
}

static bool begins_with_letter(const char *p) { return *p && is_letter(take(&p)); }

const char *gr_text_lower(gr_arena *a, const gr_normaliser_options *o, const char *text) {
  enum { SIGMA = 0x3a3, FINAL_SIGMA = 0x3c2, DOTTED_I = 0x130, DOT_ABOVE = 0x307 };
  gr_text t = gr_text_make(a);
  bool in_word = false;
  (void)o;
  for (const char *p = text; *p;) {
    int32_t c = take(&p);
    bool final = c == SIGMA && in_word && !begins_with_letter(p);
    gr_text_put_code(&t, final ? FINAL_SIGMA : c == DOTTED_I ? 'i' : (uint32_t)utf8proc_tolower(c));
    if (c == DOTTED_I) gr_text_put_code(&t, DOT_ABOVE);
    in_word = is_letter(c);
  }
  return t.chars;
}

// Letters with a stroke, and pairs in one, which no normal form takes apart.
static const char *plain_of(int32_t c) {
  static const struct {
    int32_t c;
    const char *plain;
  } known[] = {{0x153, "oe"}, {0x152, "OE"}, {0xf8, "o"},  {0xd8, "O"},
               {0xe6, "ae"},  {0xc6, "AE"},  {0xdf, "ss"}, {0x1e9e, "SS"},
               {0x111, "d"},  {0x110, "D"},  {0xf0, "d"},  {0xd0, "D"},
               {0xfe, "th"},  {0xde, "th"},  {0x142, "l"}, {0x141, "L"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].c == c) return known[i].plain;
  return NULL;
}

static bool is_sign(utf8proc_category_t k) {
  return (k >= UTF8PROC_CATEGORY_MN && k <= UTF8PROC_CATEGORY_ME) ||
         (k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_SO);
}

const char *gr_text_letters(gr_arena *a, bool remove_diacritics, const char *keep,
                            const char *text) {
  const gr_normal_forms form = {{remove_diacritics ? GR_NFKD : GR_NFKC}, 1};
  size_t n = strlen(text);
  gr_text t = gr_text_make(a);
  for (const char *p = gr_normalize(a, &form, text, &n); *p;) {
    const char *begin = p;
    int32_t c = take(&p);
    utf8proc_category_t k = utf8proc_category(c);
    const char *plain = remove_diacritics ? plain_of(c) : NULL;
    size_t len = (size_t)(p - begin);
    if (plain)
      gr_text_put(&t, plain);
    else if (!is_sign(k) || (keep && strstr(keep, gr_arena_strndup(a, begin, len))))
      gr_text_putn(&t, begin, len);
    else if (!remove_diacritics || k != UTF8PROC_CATEGORY_MN)
      gr_text_put(&t, " ");
  }
  return t.chars;
}

const char *gr_text_apart(gr_arena *a, const char *text) {
  gr_text t = gr_text_make(a);
  utf8proc_int32_t state = 0, before = 0;
  for (const char *p = text; *p;) {
    int32_t c = take(&p);
    if (before && utf8proc_grapheme_break_stateful(before, c, &state)) gr_text_put(&t, " ");
    gr_text_put_code(&t, (uint32_t)c);
    before = c;
  }
  return t.chars;
}
