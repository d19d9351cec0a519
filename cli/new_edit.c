// new_edit.c - see new_edit.h.
#include "cli/new_edit.h"
#include <string.h>

// The line of the first key of that name, at any depth; NULL: there is none.
static const char *find_key(const char *yaml, const char *key) {
  size_t n = strlen(key);
  for (const char *line = yaml; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    const char *word = line + strspn(line, " ");
    if (!strncmp(word, key, n) && word[n] == ':') return line;
  }
  return NULL;
}

const char *gr_new_set(gr_arena *a, const char *yaml, const char *key, const char *value) {
  const char *line = find_key(yaml, key);
  if (!line) return yaml;
  const char *colon = strchr(line, ':'), *end = line + strcspn(line, "\n#");
  int room = (int)(end - colon - 2 - (ptrdiff_t)strlen(value));  // to where the comment stood
  return gr_arena_printf(a, "%.*s: %s%*s%s", (int)(colon - yaml), yaml, value,
                         *end != '#' ? 0
                         : room > 0  ? room
                                     : 3,
                         "", end);
}

const char *gr_new_add(gr_arena *a, const char *yaml, const char *after, const char *line) {
  const char *anchor = find_key(yaml, after);
  if (!anchor) return yaml;
  const char *end = anchor + strcspn(anchor, "\n");
  return gr_arena_printf(a, "%.*s\n%.*s%s%s", (int)(end - yaml), yaml, (int)strspn(anchor, " "),
                         anchor, line, end);
}

const char *gr_new_drop(gr_arena *a, const char *yaml, const char *key) {
  const char *line = find_key(yaml, key);
  if (!line) return yaml;
  const char *end = line + strcspn(line, "\n");
  return gr_arena_printf(a, "%.*s%s", (int)(line - yaml), yaml, *end ? end + 1 : end);
}

const char *gr_new_quoted(gr_arena *a, const char *text) {
  gr_text t = gr_text_make(a);
  gr_text_json(&t, text);
  return t.chars;
}
