// show_plot.c - see show_plot.h.
#include "cli/show_plot.h"
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "base/output.h"
#include "base/terminal.h"

enum { MAX_COLUMNS = 160, ROWS = 20 };

static gr_plot_terminal terminal(void) {
  gr_terminal t = gr_terminal_look(STDOUT_FILENO);
  return (gr_plot_terminal){.columns = t.columns > MAX_COLUMNS ? MAX_COLUMNS : t.columns,
                            .rows = ROWS,
                            .unicode = t.utf8,
                            .colour = t.colour && gr_terminal_is_live(STDOUT_FILENO)};
}

const char *gr_show_visible(gr_arena *a, const char *text) {
  gr_text t = gr_text_make(a);
  char out[GR_VISIBLE];
  while (*text) {
    text += gr_text_visible(text, out);
    gr_text_put(&t, out);
  }
  return t.chars;
}

bool gr_show_is_one_of(const char *ending, const char *const *endings, size_t n) {
  for (size_t i = 0; ending && i < n; i++)
    if (!strcasecmp(ending, endings[i])) return true;
  return false;
}

gr_status gr_show_check_path(const char *path) {
  static const char *const others[] = {".png", ".jpg", ".jpeg", ".pdf", ".gif", ".webp", ".html"};
  const char *end = path ? strrchr(path, '.') : NULL;
  if (!gr_show_is_one_of(end, others, sizeof others / sizeof *others)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                         "'%s' would be a picture of another kind: SVG is written", path),
                 "name it %.*s.svg, which browsers show", (int)(end - path), path);
}

gr_status gr_show_plot(gr_arena *a, const gr_panel *panels, int n, const char *path) {
  gr_text t = gr_text_make(a);
  GR_TRY(gr_show_check_path(path));
  if (path) {
    gr_plot_svg(&t, panels, n);
    return gr_output_write(NULL, path, t.chars, t.len);
  }
  gr_plot_terminal how = terminal();
  for (int i = 0; i < n; i++) {
    if (i) gr_text_put(&t, "\n");
    gr_plot_text(&t, &panels[i], &how);
  }
  fputs(t.chars, stdout);
  return GR_OK;
}
