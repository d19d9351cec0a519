// status_print.c - formats errors for a terminal: message, source line with a caret, notes, hint.
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/status_parts.h"
#include "base/text.h"

static bool starts_char(char c) { return (c & 0xc0) != 0x80; }  // not a UTF-8 continuation byte

// Pads to the printed width of s, so that the caret stays below its column when s holds tabs or
// characters that gr_print_line escapes.
static void put_blanks(FILE *f, const char *s, size_t len) {
  char out[GR_VISIBLE];
  for (size_t i = 0; i < len;) {
    int n = gr_text_visible(s + i, out);
    bool whole = gr_utf8_len(s + i) && !strncmp(s + i, out, (size_t)n);
    for (size_t k = whole ? 1 : strlen(out); k > 0; k--) fputc(*out == '\t' ? '\t' : ' ', f);
    i += (size_t)n;
  }
}

// Where the character that byte `offset` is part of starts; the byte itself where it is part of
// none, as among the bytes of a file that is no text.
static size_t start_of_char(const char *line, size_t offset) {
  for (size_t back = 0; back <= offset && back < 4; back++)
    if (starts_char(line[offset - back])) return offset - back;
  return offset;
}

// loc.col counts characters, not bytes. A long line is cut to the part around the column.
static void print_line(FILE *f, const char *line, size_t len, gr_loc loc) {
  enum { MOST = 160, BEFORE = 60 };
  if (len && line[len - 1] == '\r') len--;
  size_t caret = 0, begin = 0, end = len;
  for (int col = 1; caret < len; caret++)
    if (starts_char(line[caret]) && col++ >= loc.col) break;
  if (len > MOST && caret > BEFORE) begin = caret - BEFORE;
  begin = start_of_char(line, begin);
  if (end - begin > MOST) end = start_of_char(line, begin + MOST);
  fprintf(f, "%5d | %s", loc.line, begin ? "..." : "");
  gr_print_line(f, line + begin, end - begin);
  fprintf(f, "%s\n      | %s", end < len ? "..." : "", begin ? "   " : "");
  put_blanks(f, line + begin, caret - begin);
  fputs("^\n", f);
}

static void print_from_text(FILE *f, const char *text, gr_loc loc) {
  for (int l = 1; *text; l++) {
    size_t len = strcspn(text, "\n");
    if (l == loc.line) {
      print_line(f, text, len, loc);
      return;
    }
    text += len + (text[len] == '\n');
  }
}

static void print_from_file(FILE *f, gr_loc loc) {
  FILE *in;
  gr_status s = gr_file_stream(loc.file, GR_ERR_IO, &in);
  if (s) {
    gr_status_drop(s);
    return;
  }
  char *line = NULL;
  size_t cap = 0;
  ssize_t len = 0;
  bool text = true;  // a file with NUL has rows, not lines
  for (int l = 1; (len = getline(&line, &cap, in)) >= 0 && l < loc.line && text; l++)
    text = !memchr(line, 0, (size_t)len);
  if (len > 0 && text && !memchr(line, 0, (size_t)len))
    print_line(f, line, (size_t)len - (line[len - 1] == '\n'), loc);
  free(line);
  fclose(in);
}

static void print_source(FILE *f, gr_status s) {
  if (s->quote)
    print_from_text(f, s->quote, s->loc);
  else
    print_from_file(f, s->loc);
}

void gr_status_print(FILE *f, gr_status s) {
  for (; s; s = s->next) {
    if (s->loc.file) {
      gr_print_line(f, s->loc.file, strlen(s->loc.file));
      fprintf(f, ":%d:%d: ", s->loc.line, s->loc.col);
    }
    if (*gr_codes[s->code].name) fprintf(f, "%s error: ", gr_codes[s->code].name);
    gr_print_line(f, s->text, strlen(s->text));
    fputc('\n', f);
    if (s->loc.file && s->loc.line) print_source(f, s);
    gr_print_lines(f, s->notes);
    if (*s->hint) fputs("  hint: ", f), gr_print_line(f, s->hint, strlen(s->hint)), fputc('\n', f);
    if (s->code == GR_ERR_BUG)
      fprintf(f, "  this is a bug in graphrun (%s:%d): please report it\n",
              s->cfile ? s->cfile : "?", s->cline);
  }
}
