// errors.c - creating, annotating and joining errors (status.h); status_print.c prints them.
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/status.h"
#include "base/status_parts.h"

enum { MAX_ERRORS = 20 };

const gr_code_row gr_codes[GR_CODE_COUNT] = {
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
    [GR_ERR_DIFFERENT] = {"", 1},
    [GR_ERR_BUG] = {"internal", 1},
};

// Sources registered with gr_source_add; errors quote these instead of a file.
enum { MAX_SOURCES = 64 };
static struct {
  char *file, *text;  // owned
} sources[MAX_SOURCES];
static int n_sources;

// Without memory the source is not registered, and errors about it do not quote its lines.
void gr_source_add(const char *file, const char *text) {
  assert(file && text);
  int i = 0;
  while (i < n_sources && strcmp(sources[i].file, file)) i++;
  char *name = strdup(file), *copy = strdup(text);
  if (i == MAX_SOURCES || !name || !copy) {
    free(name), free(copy);
    return;
  }
  free(sources[i].file), free(sources[i].text);
  sources[i].file = name, sources[i].text = copy;
  if (i == n_sources) n_sources++;
}

// Appends to a fixed buffer, whose end shows what found no room: reporting an error must not need
// more memory.
static void append(char *buf, size_t size, const char *fmt, va_list ap) {
  static const char cut[] = "...";
  size_t used = strlen(buf);
  int n = vsnprintf(buf + used, size - used, fmt, ap);
  if (n > 0 && (size_t)n >= size - used) memcpy(buf + size - sizeof cut, cut, sizeof cut);
}

static void GR_PRINTF(3, 4) appendf(char *buf, size_t size, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  append(buf, size, fmt, ap);
  va_end(ap);
}

static struct gr_error no_memory = {.code = GR_ERR_LAUNCH,
                                    .text = "no memory left, not even to report an error"};

// The text that is registered for a file, which another one may replace before the error is
// printed: each run of a sweep has an argument 1 of its own.
static char *copy_source(const char *file) {
  for (int i = 0; file && i < n_sources; i++)
    if (!strcmp(sources[i].file, file)) return strdup(sources[i].text);
  return NULL;
}

// Without memory for the file's name the error has no place.
static void set_place(struct gr_error *e, gr_loc loc) {
  char *file = loc.file ? strdup(loc.file) : NULL;
  free(e->file), free(e->quote);
  e->file = file, e->quote = copy_source(file);
  e->loc = file ? (gr_loc){file, loc.line, loc.col} : GR_NOWHERE;
}

static gr_status fail(const char *cfile, int cline, gr_code code, const char *fmt, va_list ap) {
  assert(code && fmt);
  gr_status s = calloc(1, sizeof *s);
  if (!s) return &no_memory;
  s->code = code, s->cfile = cfile, s->cline = cline;
  append(s->text, sizeof s->text, fmt, ap);
  return s;
}

gr_status gr_fail_(const char *cfile, int cline, gr_code code, gr_loc loc, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  gr_status s = fail(cfile, cline, code, fmt, ap);
  va_end(ap);
  if (s != &no_memory) set_place(s, loc);
  return s;
}

gr_status gr_note(gr_status s, gr_loc loc, const char *fmt, ...) {
  assert(fmt);
  if (!s || s == &no_memory) return s;
  appendf(s->notes, sizeof s->notes, "  ");
  if (loc.file) appendf(s->notes, sizeof s->notes, "%s:%d:%d: ", loc.file, loc.line, loc.col);
  va_list ap;
  va_start(ap, fmt);
  append(s->notes, sizeof s->notes, fmt, ap);
  va_end(ap);
  appendf(s->notes, sizeof s->notes, "\n");
  return s;
}

gr_status gr_hint(gr_status s, const char *fmt, ...) {
  assert(fmt);
  if (!s || s == &no_memory) return s;
  va_list ap;
  va_start(ap, fmt);
  if (*s->hint) appendf(s->hint, sizeof s->hint, "; ");
  append(s->hint, sizeof s->hint, fmt, ap);
  va_end(ap);
  return s;
}

static const char *errno_hint(int e, bool writes) {
  switch (e) {
    case ENOSPC:
      return "free space on that file system";
    case EDQUOT:
      return "free space: this user's quota is full";
    case EFBIG:
      return "raise the limit of the size of files (ulimit -f)";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    case ENOMEM:
    case EAGAIN:
      return "free memory, or raise the limits of memory and of processes (ulimit -v, ulimit -u)";
    case EROFS:
      return "that file system can only be read";
    case EACCES:
    case EPERM:
      return writes ? "this user may not write there" : "this user may not read it";
    case ENOENT:
    case ENOTDIR:
      return writes ? "its folder must exist" : "correct the path";
    case ENAMETOOLONG:
      return "a shorter name";
    default:
      return "look at the disk, or the server, that it is on";
  }
}

gr_status gr_hint_errno(gr_status s, int error) {
  return gr_hint(s, "%s", errno_hint(error, true));
}

gr_status gr_fail_errno_(const char *cfile, int cline, gr_code code, int error, const char *fmt,
                         ...) {
  va_list ap;
  va_start(ap, fmt);
  gr_status s = fail(cfile, cline, code, fmt, ap);
  va_end(ap);
  if (s != &no_memory) appendf(s->text, sizeof s->text, ": %s", strerror(error));
  return gr_hint(s, "%s", errno_hint(error, false));
}

gr_status gr_about(gr_status s, const char *settings) {
  if (s && s != &no_memory) snprintf(s->about, sizeof s->about, "%s", settings ? settings : "");
  return s;
}

gr_status gr_place(gr_status s, gr_loc loc) {
  for (struct gr_error *e = s; e && e != &no_memory; e = e->next)
    if (!e->loc.file && e->code != GR_ERR_STOPPED) set_place(e, loc);
  return s;
}

gr_status gr_range(const char *setting, int64_t value, int64_t least, int64_t most) {
  assert(setting);
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
const char *gr_status_about(gr_status s) { return s && *s->about ? s->about : NULL; }

int gr_status_dead_rank(gr_status s) {
  int rank, end = 0;
  for (const char *p = gr_status_text(s); (p = strstr(p, "rank ")); p++)
    if (sscanf(p, GR_RANK_DIED "%n", &rank, &end) == 1 && end) return rank;
  return -1;
}

int gr_code_exit(gr_code code) { return gr_codes[code].exit; }
int gr_status_exit(gr_status s) { return s ? gr_code_exit(s->code) : 0; }

void gr_status_drop(gr_status s) {
  for (gr_status next; s; s = next) {
    next = s->next;
    if (s == &no_memory) continue;
    free(s->file), free(s->quote);
    free(s);
  }
}
