// arg.c - the values of expressions, and words: what is known of them without their names' scopes.
// See parts.h.
#include <ctype.h>
#include <string.h>
#include "compiler/model/parts.h"

double gr_arg_number(const gr_arg *a) { return a->kind == GR_ARG_FLOAT ? a->f : (double)a->i; }

const char *gr_arg_kind(const gr_arg *a) {
  static const char *const names[] = {"an integer", "a float", "a bool", "a string"};
  return names[a->kind];
}

const char *gr_arg_text(gr_arena *arena, const gr_arg *a) {
  gr_text t = gr_text_make(arena);
  if (a->kind == GR_ARG_TEXT) return a->text;
  if (a->kind == GR_ARG_BOOL) return a->i ? "true" : "false";
  if (a->kind == GR_ARG_INT)
    gr_text_put_int(&t, a->i);
  else
    gr_text_put_float(&t, a->f);
  return t.chars;
}

static bool is_start(char c) { return isalpha((unsigned char)c) || c == '_' || c == '$'; }
static bool is_more(char c) { return isalnum((unsigned char)c) || c == '_'; }

size_t gr_model_word_length(const char *s) {
  size_t n = is_start(*s);
  while (n && is_more(s[n])) n++;
  return n;
}

bool gr_model_is_word(const char *s) { return *s && gr_model_word_length(s) == strlen(s); }
