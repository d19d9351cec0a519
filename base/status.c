// status.c - see status.h.
#include "base/status.h"
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/text.h"

enum { MAX_SOURCES = 64, MAX_ERRORS = 20 };

struct gr_error {
  gr_code code;
  gr_loc loc;
  const char *about;
  const char *cfile;
  int cline;
  char text[1024], notes[2048], hint[512];
  struct gr_error *next;
};

static const struct {
  const char *name;
  int exit;  // sysexits where it has one; 69 to 78 are listed in README
} codes[GR_CODE_COUNT] = {
    [0] = {"ok", 0},
    [GR_ERR_USAGE] = {"usage", 2},
    [GR_ERR_CONFIG] = {"config", 65},
    [GR_ERR_TYPE] = {"type", 65},
    [GR_ERR_UNSUPPORTED] = {"unsupported", 65},
    [GR_ERR_DATA] = {"data", 66},
    [GR_ERR_LAUNCH] = {"launch", 69},
    [GR_ERR_HOOK] = {"hook", 70},
    [GR_ERR_RANK] = {"rank died", 71},
    [GR_ERR_HANG] = {"hang", 72},
    [GR_ERR_IO] = {"i/o", 74},
    [GR_ERR_STOPPED] = {"stopped", 75},
    [GR_ERR_NONFINITE] = {"non-finite", 76},
    [GR_ERR_CHECKPOINT] = {"checkpoint", 78},
    [GR_ERR_BUG] = {"internal", 1},
};

static struct { const char *file, *text; } sources[MAX_SOURCES];
static int n_sources;

void gr_source_add(const char *file, const char *text) {
  for (int i = 0; i < n_sources; i++)
    if (!strcmp(sources[i].file, file)) {
      sources[i].text = text;
      return;
    }
  if (n_sources < MAX_SOURCES) sources[n_sources].file = file, sources[n_sources++].text = text;
}

// Appends to a fixed buffer; what does not fit is cut.
static void append(char *buf, size_t size, const char *fmt, va_list ap) {
  size_t used = strlen(buf);
  vsnprintf(buf + used, size - used, fmt, ap);
}

static void GR_PRINTF(3, 4) appendf(char *buf, size_t size, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  append(buf, size, fmt, ap);
  va_end(ap);
}

static struct gr_error no_memory = {.code = GR_ERR_LAUNCH,
                                    .text = "no memory left, not even to report an error"};

gr_status gr_fail_(const char *cfile, int cline, gr_code code, gr_loc at, const char *fmt, ...) {
  gr_status s = calloc(1, sizeof *s);
  if (!s) return &no_memory;
  s->code = code, s->loc = at, s->cfile = cfile, s->cline = cline;
  va_list ap;
  va_start(ap, fmt);
  append(s->text, sizeof s->text, fmt, ap);
  va_end(ap);
  return s;
}

gr_status gr_note(gr_status s, gr_loc at, const char *fmt, ...) {
  if (!s || s == &no_memory) return s;
  appendf(s->notes, sizeof s->notes, "  ");
  if (at.file) appendf(s->notes, sizeof s->notes, "%s:%d:%d: ", at.file, at.line, at.col);
  va_list ap;
  va_start(ap, fmt);
  append(s->notes, sizeof s->notes, fmt, ap);
  va_end(ap);
  appendf(s->notes, sizeof s->notes, "\n");
  return s;
}

gr_status gr_hint(gr_status s, const char *fmt, ...) {
  if (!s || s == &no_memory) return s;
  va_list ap;
  va_start(ap, fmt);
  if (*s->hint) appendf(s->hint, sizeof s->hint, "; ");
  append(s->hint, sizeof s->hint, fmt, ap);
  va_end(ap);
  return s;
}

gr_status gr_about(gr_status s, const char *settings) {
  if (s && s != &no_memory) s->about = settings;
  return s;
}

gr_status gr_place(gr_status s, gr_loc at) {
  for (struct gr_error *e = s; e && e != &no_memory; e = e->next)
    if (!e->loc.file) e->loc = at;
  return s;
}

gr_status gr_range(const char *setting, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return GR_OK;
  return gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "%s must be from %lld to %lld, but is %lld",
                          setting, (long long)least, (long long)most, (long long)value),
                  setting);
}

int gr_status_count(gr_status s) {
  int n = 0;
  for (; s; s = s->next) n++;
  return n;
}

gr_status gr_also(gr_status first, gr_status then) {
  if (!first) return then;
  gr_status last = first;
  int n = 1;
  for (; last->next; last = last->next) n++;
  if (n + gr_status_count(then) > MAX_ERRORS)
    gr_status_drop(then);
  else
    last->next = then;
  return first;
}

const char *gr_status_text(gr_status s) { return s ? s->text : "ok"; }
const char *gr_status_hint(gr_status s) { return s && *s->hint ? s->hint : NULL; }
gr_code gr_status_code(gr_status s) { return s ? s->code : (gr_code)0; }
gr_loc gr_status_loc(gr_status s) { return s ? s->loc : GR_NOWHERE; }
const char *gr_status_about(gr_status s) { return s ? s->about : NULL; }
int gr_status_exit(gr_status s) { return s ? codes[s->code].exit : 0; }

static bool starts_char(char c) { return (c & 0xc0) != 0x80; }  // of UTF-8

// As many blanks as the text is wide when it is printed.
static void put_blanks(FILE *f, const char *s, size_t len) {
  char out[GR_VISIBLE];
  for (size_t i = 0; i < len;) {
    int n = gr_text_visible(s + i, out);
    bool whole = gr_utf8_len(s + i) && !strncmp(s + i, out, (size_t)n);
    for (size_t k = whole ? 1 : strlen(out); k > 0; k--) fputc(*out == '\t' ? '\t' : ' ', f);
    i += (size_t)n;
  }
}

// Columns count characters. Of a long line the part around the column is shown.
static void show_line(FILE *f, const char *line, size_t len, gr_loc at) {
  enum { MOST = 160, BEFORE = 60 };
  if (len && line[len - 1] == '\r') len--;
  size_t caret = 0, from = 0, to = len;
  for (int col = 1; caret < len; caret++)
    if (starts_char(line[caret]) && col++ >= at.col) break;
  if (len > MOST && caret > BEFORE) from = caret - BEFORE;
  while (from && !starts_char(line[from])) from--;
  if (to - from > MOST) to = from + MOST;
  while (to < len && !starts_char(line[to])) to--;
  fprintf(f, "%5d | %s", at.line, from ? "..." : "");
  gr_print_line(f, line + from, to - from);
  fprintf(f, "%s\n      | %s", to < len ? "..." : "", from ? "   " : "");
  put_blanks(f, line + from, caret - from);
  fputs("^\n", f);
}

static void show_text(FILE *f, const char *text, gr_loc at) {
  for (int l = 1; *text; l++) {
    size_t len = strcspn(text, "\n");
    if (l == at.line) {
      show_line(f, text, len, at);
      return;
    }
    text += len + (text[len] == '\n');
  }
}

static void show_file(FILE *f, gr_loc at) {
  FILE *in;
  gr_status s = gr_file_stream(at.file, GR_ERR_IO, &in);
  if (s) {
    gr_status_drop(s);
    return;
  }
  char *line = NULL;
  size_t cap = 0;
  ssize_t len = 0;
  for (int l = 1; (len = getline(&line, &cap, in)) >= 0 && l < at.line;) l++;
  if (len > 0) show_line(f, line, (size_t)len - (line[len - 1] == '\n'), at);
  free(line);
  fclose(in);
}

static void show_source(FILE *f, gr_loc at) {
  for (int i = 0; i < n_sources; i++)
    if (!strcmp(sources[i].file, at.file)) {
      show_text(f, sources[i].text, at);
      return;
    }
  show_file(f, at);
}

void gr_status_print(FILE *f, gr_status s) {
  for (; s; s = s->next) {
    if (s->loc.file) {
      gr_print_line(f, s->loc.file, strlen(s->loc.file));
      fprintf(f, ":%d:%d: ", s->loc.line, s->loc.col);
    }
    fprintf(f, "%s error: ", codes[s->code].name);
    gr_print_line(f, s->text, strlen(s->text));
    fputc('\n', f);
    if (s->loc.file && s->loc.line) show_source(f, s->loc);
    gr_print_lines(f, s->notes);
    if (*s->hint) fputs("  hint: ", f), gr_print_line(f, s->hint, strlen(s->hint)), fputc('\n', f);
    if (s->code == GR_ERR_BUG)
      fprintf(f, "  this is a bug in graphrun (%s:%d): please report it\n",
              s->cfile ? s->cfile : "?", s->cline);
  }
}

void gr_status_drop(gr_status s) {
  for (gr_status next; s; s = next) {
    next = s->next;
    if (s != &no_memory) free(s);
  }
}
