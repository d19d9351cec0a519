// unreadable.c - samples that cannot be used: what becomes of them, and reading all to find
// them; see data.h.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/port.h"
#include "runtime/data/parts.h"

enum { MOST_WARNINGS = 20, MOST_THREADS = 64 };

uint64_t gr_data_skipped(gr_data *d, gr_skip why) {
  pthread_mutex_lock(&d->lock);
  uint64_t n = d->skipped[why];
  pthread_mutex_unlock(&d->lock);
  return n;
}

void gr_unreadable_free(gr_data *d) {
  for (uint64_t i = 0; i < d->skipped[GR_SKIP_UNREADABLE] && i < d->room; i++)
    free(d->unreadable[i]);
  free(d->unreadable);
}

// Room for one more line. Under the lock. False: there is no memory for it.
static bool make_room(gr_data *d, uint64_t n) {
  if (n < d->room) return true;
  size_t room = d->room ? 2 * d->room : 64;
  char **more = n == d->room ? realloc(d->unreadable, room * sizeof *more) : NULL;
  if (!more) return false;
  memset(more + d->room, 0, (room - d->room) * sizeof *more);
  d->unreadable = more, d->room = room;
  return true;
}

// Counts and lists it; which number it has.
static uint64_t list(gr_data *d, const char *line) {
  pthread_mutex_lock(&d->lock);
  uint64_t n = d->skipped[GR_SKIP_UNREADABLE]++;
  if (make_room(d, n)) d->unreadable[n] = strdup(line);
  pthread_mutex_unlock(&d->lock);
  return n;
}

gr_status gr_data_leave_out(gr_data *d, const char *manifest, const gr_utterance *u, int col,
                            bool log, gr_status s) {
  if (!s) return GR_OK;
  gr_loc at = {manifest, u->line, col > 0 ? col : 1};
  if (!d->spec.skip_unreadable)
    return gr_hint(gr_place(s, at),
                   "or take the line out, or leave out all such recordings with "
                   "data.skip_unreadable=true; `graphrun data inspect CONFIG.yaml --audio` finds "
                   "them");
  char line[1400];
  snprintf(line, sizeof line, "%s:%d:%d: %s", at.file, at.line, at.col, gr_status_text(s));
  gr_status_drop(s);
  uint64_t n = list(d, line);
  if (log && n < MOST_WARNINGS) gr_log(GR_WARN, "left out: %s", line);
  if (log && n == MOST_WARNINGS)
    gr_log(GR_WARN,
           "more recordings are left out; `graphrun data inspect CONFIG.yaml --audio` "
           "lists all");
  return GR_OK;
}

const char *gr_data_unreadable(gr_data *d, uint64_t i) {
  pthread_mutex_lock(&d->lock);
  bool there = i < d->skipped[GR_SKIP_UNREADABLE];
  const char *line = !there                            ? NULL
                     : i < d->room && d->unreadable[i] ? d->unreadable[i]
                                                       : "(no memory to say which)";
  pthread_mutex_unlock(&d->lock);
  return line;
}

// ---- Reading all -------------------------------------------------------------------------

typedef struct reader {
  gr_data *data;
  gr_status *errors;  // by utterance
  _Atomic uint32_t next;
} reader;

static void *read_some(void *arg) {
  reader *r = arg;
  for (uint32_t i; (i = atomic_fetch_add(&r->next, 1)) < r->data->count;)
    r->errors[i] = gr_cache_try(r->data, i);
  return NULL;
}

// What the threads found is told in the manifest's order.
gr_status gr_data_read_all(gr_data *d) {
  pthread_t threads[MOST_THREADS];
  int n = 0, most = gr_processors() - 1;
  reader r = {.data = d, .errors = calloc((size_t)d->count + 1, sizeof *r.errors)};
  if (!r.errors) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory to read %u files", d->count);
  while (n < most && n < MOST_THREADS && !pthread_create(threads + n, NULL, read_some, &r)) n++;
  read_some(&r);
  for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
  gr_status first = GR_OK;
  for (uint32_t i = 0; i < d->count; i++) {
    const gr_item *item = d->items + i;
    gr_status s =
        gr_data_leave_out(d, item->manifest, item->from, item->from->audio_col, false, r.errors[i]);
    if (first)
      gr_status_drop(s);
    else
      first = s;
  }
  free(r.errors);
  return first;
}
