// unreadable.c - see unreadable.h.
#include "runtime/data/unreadable.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"

enum { MAX_WARNINGS = 5 };

void gr_unreadable_open(gr_unreadable *u) { pthread_mutex_init(&u->lock, NULL); }

void gr_unreadable_close(gr_unreadable *u) {
  for (uint64_t i = 0; i < u->n && i < u->room; i++) free(u->lines[i]);
  free(u->lines);
  pthread_mutex_destroy(&u->lock);
}

uint64_t gr_unreadable_count(gr_unreadable *u) {
  pthread_mutex_lock(&u->lock);
  uint64_t n = u->n;
  pthread_mutex_unlock(&u->lock);
  return n;
}

// Makes room for one more line. The caller holds the lock. False: out of memory.
static bool make_room(gr_unreadable *u, uint64_t n) {
  if (n < u->room) return true;
  size_t room = u->room ? 2 * u->room : 64;
  char **more = n == u->room ? realloc(u->lines, room * sizeof *more) : NULL;
  if (!more) return false;
  memset(more + u->room, 0, (room - u->room) * sizeof *more);
  u->lines = more, u->room = room;
  return true;
}

static void warn(const gr_unreadable *u, uint64_t n, const char *line) {
  if (n < MAX_WARNINGS) gr_log(GR_WARN, "skipped: %s", line);
  if (n == MAX_WARNINGS)
    gr_log(GR_WARN, "more %s are skipped%s%s", u->samples, u->finds ? "; lists all: " : "",
           u->finds ? u->finds : "");
}

// Counts a sample and stores its line.
static void list_line(gr_unreadable *u, const char *line) {
  pthread_mutex_lock(&u->lock);
  uint64_t n = u->n++;
  if (make_room(u, n)) u->lines[n] = strdup(line);
  if (u->said) warn(u, n, line);
  pthread_mutex_unlock(&u->lock);
}

static const char *line_of(const gr_unreadable *u, uint64_t i) {
  if (i >= u->n) return NULL;
  return i < u->room && u->lines[i] ? u->lines[i] : "(no memory to say which)";
}

gr_status gr_unreadable_add(gr_unreadable *u, gr_loc loc, gr_status s) {
  assert(u->samples);
  if (gr_status_code(s) != GR_ERR_DATA) return s;  // not the sample's fault
  if (loc.col < 1) loc.col = 1;
  if (!u->skip)
    return gr_hint(gr_place(s, loc),
                   "%s take it out, or leave out all such %s with data.skip_unreadable=true%s%s",
                   gr_status_hint(s) ? "or" : "put a good file there, or", u->samples,
                   u->finds ? "; finds them: " : "", u->finds ? u->finds : "");
  char line[1400];
  if (loc.file)
    snprintf(line, sizeof line, "%s:%d:%d: %s", loc.file, loc.line, loc.col, gr_status_text(s));
  else
    snprintf(line, sizeof line, "%s", gr_status_text(s));
  gr_status_drop(s);
  list_line(u, line);
  return GR_OK;
}

void gr_unreadable_say(gr_unreadable *u) {
  pthread_mutex_lock(&u->lock);
  for (uint64_t i = 0; i < u->n && !u->said; i++) warn(u, i, line_of(u, i));
  u->said = true;
  pthread_mutex_unlock(&u->lock);
}

const char *gr_unreadable_line(gr_unreadable *u, uint64_t i) {
  pthread_mutex_lock(&u->lock);
  const char *line = line_of(u, i);
  pthread_mutex_unlock(&u->lock);
  return line;
}
