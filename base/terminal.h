// terminal.h - what a terminal can show, and how many of its columns a text takes.
#pragma once
#include <stddef.h>
#include "base/status.h"

typedef struct gr_terminal {
  int columns;  // at least 1
  bool utf8;    // by LC_ALL, LC_CTYPE or LANG
  bool colour;  // NO_COLOR is not set, or empty (no-color.org)
} gr_terminal;
// Whether a descriptor is a terminal on which a line can be overwritten: TERM is neither unset nor
// "dumb".
bool gr_terminal_is_live(int fd);
// What is known of the terminal now; 80 columns where its width is not known, or it is none.
gr_terminal gr_terminal_look(int fd);

// The columns that a text in UTF-8 takes: wide characters take two, combining ones none. A byte
// that is not UTF-8 takes one.
int gr_text_columns(const char *);
// The length in bytes of the longest beginning of the text that fits into so many columns and ends
// with a word; at least the first word, however long.
size_t gr_text_fit(const char *, int columns);
