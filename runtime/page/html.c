// html.c - text and addresses as HTML. See parts.h.
#include <string.h>
#include "runtime/page/page.h"
#include "runtime/page/parts.h"

void gr_html(gr_text *t, const char *s) {
  char shown[GR_VISIBLE];
  while (*s) {
    char c = *s;
    int n = gr_text_visible(s, shown);
    if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
      gr_text_printf(t, "&#%d;", c);
    else
      gr_text_put(t, c == '\n' ? "\n" : shown);
    s += n;
  }
}

// Appends a path below the page's own folder as the address of a link. It begins with ./ and all
// but letters, digits and -._~/ is percent-encoded, so that no part of a name is read as a scheme
// (javascript:), a query or a fragment.
static void put_address(gr_text *t, const char *path) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  gr_text_put(t, "./");
  for (; *path; path++)
    if (strchr(plain, *path))
      gr_text_putn(t, path, 1);
    else
      gr_text_printf(t, "%%%02X", (unsigned char)*path);
}

const char *gr_html_link(gr_arena *a, const char *folder, const char *run) {
  size_t n = strlen(folder);
  gr_text t = gr_text_make(a);
  if (strncmp(run, folder, n) || run[n] != '/') return NULL;
  put_address(&t, run + n + 1);
  gr_text_put(&t, "/" GR_PAGE_NAME);
  return t.chars;
}
