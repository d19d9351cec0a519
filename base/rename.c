// rename.c - see rename.h.
#include "base/rename.h"
#include <string.h>
#include "base/text.h"

typedef struct part {
  const char *start;
  size_t len;
} part;

// The first place in `text` where the `n` bytes of `what` are; NULL: none.
static const char *find(const char *text, const char *what, size_t n) {
  for (size_t left = strlen(text); left >= n; text++, left--)
    if (!memcmp(text, what, n)) return text;
  return NULL;
}

// What each `*` matches, in `stars`. Taking each as short as possible never loses a match, so the
// time is linear in the number of parts.
static bool match(const char *pattern, const char *name, part *stars) {
  size_t n = strcspn(pattern, "*");
  if (strncmp(name, pattern, n)) return false;
  if (!pattern[n]) return !name[n];
  name += n, pattern += n + 1;
  for (;; stars++, pattern += n + 1) {
    n = strcspn(pattern, "*");
    bool last = !pattern[n];
    size_t left = strlen(name);
    const char *end = last ? left < n ? NULL : name + left - n : find(name, pattern, n);
    if (!end || (last && strcmp(end, pattern))) return false;
    *stars = (part){name, (size_t)(end - name)};
    if (last) return true;
    name = end + n;
  }
}

const char *gr_renamed(gr_arena *a, const char *pattern, const char *to, const char *name) {
  int n_stars = 0;
  for (const char *c = pattern; *c; c++) n_stars += *c == '*';
  part *stars = GR_NEW(a, part, n_stars + 1);
  if (!match(pattern, name, stars)) return NULL;
  gr_text t = gr_text_make(a);
  for (size_t n; *to; to += n) {
    n = strcspn(to, "*");
    gr_text_putn(&t, to, n);
    if (!to[n]) break;
    gr_text_putn(&t, stars->start, stars->len);
    stars++, n++;
  }
  return t.chars;
}

const gr_pattern *gr_pattern_of(gr_arena *a, const gr_pattern *all, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (gr_renamed(a, all[i].text, all[i].text, name)) return &all[i];
  return NULL;
}
