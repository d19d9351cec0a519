// list.c - lists the checkpoints of a directory and chooses the one to resume from.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/log.h"
#include "base/port.h"
#include "base/stop.h"
#include "runtime/checkpoint/dir.h"

static int64_t bytes_in(gr_arena *a, const char *path) {
  gr_names all = {0};
  gr_disk_dir d;
  struct stat s;
  int64_t sum = 0;
  gr_status e = gr_disk_open(path, &d);
  if (!e) e = gr_checkpoint_names(a, &d, &all);
  for (int i = 0; !e && i < all.n; i++)
    if (!lstat(gr_arena_printf(a, "%s/%s", path, all.names[i]), &s) && S_ISREG(s.st_mode))
      sum += s.st_size;
  gr_disk_leave(&d);
  gr_status_drop(e);
  return sum;
}

static gr_checkpoint_entry read_entry(gr_arena *a, const char *dir, const char *name) {
  gr_checkpoint_entry x = {.path = gr_arena_printf(a, "%s/%s", dir, name)};
  x.step = gr_checkpoint_name_step(name, "");
  x.unfinished = x.step < 0;
  if (x.unfinished) x.step = gr_checkpoint_name_step(name, ".tmp-");
  if (x.step < 0) return x;
  x.bytes = bytes_in(a, x.path);
  gr_checkpoint *c = NULL;
  gr_status e = gr_checkpoint_open(x.path, &c);
  x.finite = c && gr_checkpoint_is_finite(c);
  gr_checkpoint_close(c);
  if (x.unfinished || !gr_is_file(gr_arena_printf(a, "%s/manifest.json", x.path))) {
    x.state = GR_CHECKPOINT_INCOMPLETE;
    x.why = x.unfinished ? "it was being written" : "it has no manifest.json";
  } else if (e) {
    x.state = GR_CHECKPOINT_DAMAGED;
    x.why = gr_arena_strdup(a, gr_status_text(e));
  }
  gr_status_drop(e);
  return x;
}

static int by_step(const void *a, const void *b) {
  const gr_checkpoint_entry *x = a, *y = b;
  if (x->step != y->step) return x->step < y->step ? -1 : 1;
  return strcmp(x->path, y->path);
}

gr_status gr_checkpoint_list(gr_arena *a, const char *dir, gr_checkpoint_entry **out, int *n) {
  gr_names all;
  gr_disk_dir d;
  struct stat s;
  *n = 0;
  if (stat(dir, &s) && errno == ENOENT) return GR_OK;
  GR_TRY(gr_disk_open(dir, &d));
  gr_status e = gr_checkpoint_names(a, &d, &all);
  gr_disk_leave(&d);
  if (e) return e;
  *out = GR_NEW(a, gr_checkpoint_entry, all.n + 1);
  for (int i = 0; i < all.n; i++) {
    (*out)[*n] = read_entry(a, dir, all.names[i]);
    *n += (*out)[*n].step >= 0;
  }
  if (*n) qsort(*out, (size_t)*n, sizeof **out, by_step);
  return GR_OK;
}

// -- The newest --------------------------------------------------------------------------

static gr_status open_verified(const char *path, gr_checkpoint **out) {
  GR_TRY(gr_checkpoint_open(path, out));
  gr_status e = gr_checkpoint_verify(*out);
  if (!e) return GR_OK;
  gr_checkpoint_close(*out);
  *out = NULL;
  return e;
}

// The newest checkpoint that verifies among those whose finiteness is `finite`; NULL: none.
static gr_status find_newest(const gr_checkpoint_entry *all, int n, bool finite,
                             gr_checkpoint **out) {
  for (int i = n; i-- > 0 && !*out;) {
    const gr_checkpoint_entry *x = &all[i];
    if (x->state != GR_CHECKPOINT_OK || x->finite != finite) continue;
    gr_status skip = open_verified(x->path, out);
    if (gr_status_code(skip) == GR_ERR_STOPPED) return skip;
    if (skip) gr_log(GR_WARN, "skipping checkpoint '%s': %s", x->path, gr_status_text(skip));
    gr_status_drop(skip);
  }
  return GR_OK;
}

static void report(const gr_checkpoint_entry *all, int n, const gr_checkpoint *found) {
  bool finite = found && gr_checkpoint_is_finite(found);
  for (int i = n; i-- > 0;) {
    const gr_checkpoint_entry *x = &all[i];
    if (finite && x->state == GR_CHECKPOINT_OK && x->step > gr_checkpoint_step(found) && !x->finite)
      gr_log(GR_WARN,
             "checkpoint '%s' is newer, but its last step had no finite gradient: continuing from "
             "step %lld instead (checkpoint.resume=%s continues from it)",
             x->path, (long long)gr_checkpoint_step(found), x->path);
  }
  if (found && !finite)
    gr_log(GR_WARN,
           "no checkpoint here had a finite gradient in its last step; continuing from '%s'",
           gr_checkpoint_path(found));
}

static gr_status none_verifies(const char *dir, int n) {
  return gr_hint(
      gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "none of the %d checkpoint%s in '%s' can be read", n,
              n == 1 ? "" : "s", dir),
      "`graphrun ckpt verify %s` shows why; restore a copy, or choose another checkpoint with "
      "checkpoint.resume=PATH; for a new run set checkpoint.resume=none and another folder",
      dir);
}

gr_status gr_checkpoint_newest(const char *dir, gr_checkpoint **out) {
  gr_arena *a = gr_arena_create();
  gr_checkpoint_entry *all = NULL;
  int n, there = 0;
  *out = NULL;
  gr_status e = gr_checkpoint_list(a, dir, &all, &n);
  for (int i = e ? 0 : n; i-- > 0;) {
    there += !all[i].unfinished;
    if (all[i].state != GR_CHECKPOINT_OK)
      gr_log(GR_WARN, "skipping checkpoint '%s': %s", all[i].path, all[i].why);
  }
  if (!e) e = find_newest(all, n, true, out);
  if (!e && !*out) e = find_newest(all, n, false, out);
  if (!e) report(all, n, *out);
  if (!e) e = gr_stop_check();
  if (!e && !*out && there) e = none_verifies(dir, there);
  return gr_arena_end(a, e);
}
