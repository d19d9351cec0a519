// show_plot.c - see show_plot.h.
#define _GNU_SOURCE
#include "cli/show_plot.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/output.h"

enum { COLUMNS = 80, MAX_COLUMNS = 160, ROWS = 20 };

static bool is_utf8(void) {
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  for (int i = 0; i < 3; i++) {
    const char *value = getenv(names[i]);
    if (value && *value) return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
  }
  return false;
}

static gr_plot_terminal terminal(void) {
  struct winsize size;
  bool tty = isatty(STDOUT_FILENO);
  int columns =
      tty && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : COLUMNS;
  return (gr_plot_terminal){.columns = columns > MAX_COLUMNS ? MAX_COLUMNS : columns,
                            .rows = ROWS,
                            .unicode = is_utf8(),
                            .colour = tty && !getenv("NO_COLOR")};
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

gr_status gr_show_plot(gr_arena *a, const gr_panel *panels, int n, const char *path) {
  gr_text t = gr_text_make(a);
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
