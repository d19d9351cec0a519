// foreign.c - the table of settings of other programs. See schema.h.
#include <string.h>
#include "compose/schema/schema.h"

const gr_foreign gr_foreign_names[] = {
#define GR_FOREIGN(program, name, key, text) {program, name, key, text},
#include "compose/schema/foreign.def"
    {0},
};

static bool is_flag(const char *name) { return !strncmp(name, "--", 2); }

// Whether the first `n` letters are the word, for which '-' and '_' are the same.
static bool is_word(const char *text, size_t n, const char *word) {
  if (n != strlen(word)) return false;
  for (size_t i = 0; i < n; i++)
    if (text[i] != word[i] && !(text[i] == '_' && word[i] == '-')) return false;
  return true;
}

const gr_foreign *gr_schema_foreign(const char *name) {
  for (const gr_foreign *f = gr_foreign_names; f->name; f++) {
    bool bare = is_flag(f->name) && !is_flag(name) && *f->key;
    if (is_word(name, strlen(name), f->name + 2 * bare)) return f;
  }
  return NULL;
}

// Whether a part of a path, between dots, is the word, or ends in it: lr_scheduler.
static bool has_part(const char *path, const char *word) {
  size_t len = strlen(word);
  for (size_t n; *path; path += n + (path[n] == '.')) {
    n = strcspn(path, ".");
    bool ends = n >= len && is_word(path + n - len, len, word);
    if (ends && (n == len || path[n - len - 1] == '_')) return true;
  }
  return false;
}

const char *gr_schema_replacement(const char *path) {
  const char *last = strrchr(path, '.');
  const gr_foreign *exact = gr_schema_foreign(last ? last + 1 : path);
  if (exact && !*exact->key) return exact->text;
  for (const gr_foreign *f = gr_foreign_names; f->name; f++)
    if (!*f->key && has_part(path, f->name)) return f->text;
  return NULL;
}

static void put_line(gr_text *t, const gr_foreign *f) {
  const char *key = *f->key ? f->key : "-";
  gr_text_printf(t, "%-12s  %-27s  ", f->program, f->name);
  if (*f->text)
    gr_text_printf(t, "%-33s  %s\n", key, f->text);
  else
    gr_text_printf(t, "%s\n", key);
}

static void put_row(gr_text *t, const gr_foreign *f) {
  const char *quote = *f->key ? "`" : "";
  gr_text_printf(t, "| %s | `%s` | %s%s%s | %s |\n", f->program, f->name, quote, f->key, quote,
                 f->text);
}

void gr_schema_other_names(gr_text *t, bool markdown) {
  if (markdown) gr_text_put(t, "| of | setting | here | |\n|---|---|---|---|\n");
  for (const gr_foreign *f = gr_foreign_names; f->name; f++) (markdown ? put_row : put_line)(t, f);
}
