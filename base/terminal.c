// terminal.c - see terminal.h.
#define _GNU_SOURCE
#include "base/terminal.h"
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>
#include "base/text.h"

bool gr_terminal_is_live(int fd) {
  const char *term = getenv("TERM");
  return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

static bool is_utf8(void) {
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  for (int i = 0; i < 3; i++) {
    const char *value = getenv(names[i]);
    if (value && *value) return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
  }
  return false;
}

gr_terminal gr_terminal_look(int fd) {
  struct winsize size;
  const char *plain = getenv("NO_COLOR");
  bool known = !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col;
  return (gr_terminal){known ? size.ws_col : 80, is_utf8(), !plain || !*plain};
}

// The C library's table of widths is that of a locale, which need not be the process's.
static locale_t unicode;
static void open_unicode(void) { unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0); }

static int width_of(uint32_t code) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_unicode);
  if (code < 0x7f || !unicode) return 1;
  locale_t before = uselocale(unicode);
  int width = wcwidth((wchar_t)code);
  uselocale(before);
  return width < 0 ? 1 : width;
}

// Adds the width of the first character; its length in bytes.
static int take(const char *text, int *columns) {
  int n = gr_utf8_len(text);
  *columns += n ? width_of(gr_utf8_code(text, n)) : 1;
  return n ? n : 1;
}

int gr_text_columns(const char *text) {
  int columns = 0;
  while (*text) text += take(text, &columns);
  return columns;
}

size_t gr_text_fit(const char *text, int columns) {
  size_t n = 0, words = 0;
  int used = 0;
  while (text[n]) {
    if (text[n] == ' ' && n && text[n - 1] != ' ' && used <= columns) words = n;
    if (used > columns && words) return words;
    n += (size_t)take(text + n, &used);
    if (used > columns && !words && text[n] == ' ') return n;
  }
  return used <= columns || !words ? n : words;
}
