// checkpoint_dir.c - see checkpoint_dir.h; and listing, and the newest that verifies.
#include "runtime/checkpoint_dir.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/log.h"
#include "base/port.h"
#include "runtime/checkpoint_disk.h"

char *gr_checkpoint_name(gr_arena *a, const char *dir, const char *prefix, int64_t step) {
  return gr_arena_printf(a, "%s/%sstep-%08lld", dir, prefix, (long long)step);
}

// The step when the name is PREFIXstep-NUMBER, else -1.
static int64_t step_of(const char *name, const char *prefix) {
  size_t n = strlen(prefix);
  if (strncmp(name, prefix, n) || strncmp(name + n, "step-", 5)) return -1;
  const char *p = name + n + 5;
  size_t digits = strspn(p, "0123456789");
  return digits >= 8 && digits <= 18 && !p[digits] ? strtoll(p, NULL, 10) : -1;
}

typedef struct names {
  const char **at;
  int n, cap;
} names;

static gr_status read_names(gr_arena *a, const char *dir, names *out) {
  *out = (names){0};
  DIR *d = opendir(dir);
  if (!d && errno == ENOENT) return GR_OK;
  if (!d) return gr_fail(GR_ERR_IO, GR_NOWHERE, "cannot list '%s': %s", dir, strerror(errno));
  for (struct dirent *e; (e = readdir(d));) {
    if (out->n == out->cap) {
      const char **more = GR_NEW(a, const char *, 64 + 2 * out->cap);
      if (out->n) memcpy(more, out->at, sizeof *more * (size_t)out->n);
      out->at = more, out->cap = 64 + 2 * out->cap;
    }
    out->at[out->n++] = gr_arena_strdup(a, e->d_name);
  }
  closedir(d);
  return GR_OK;
}

// -- Recovery ----------------------------------------------------------------------------

static gr_status recover_one(gr_arena *a, const char *dir, const char *name) {
  char *path = gr_arena_printf(a, "%s/%s", dir, name);
  int64_t step = step_of(name, ".tmp-");
  char *to = gr_checkpoint_name(a, dir, "", step);
  if (step < 0) return step_of(name, ".trash-") < 0 ? GR_OK : gr_disk_remove(path);
  gr_checkpoint *c = NULL;
  gr_status e = gr_checkpoint_open(path, &c);
  bool complete = !e;
  gr_checkpoint_close(c);
  gr_status_drop(e);
  return complete && !gr_is_dir(to) ? gr_disk_rename(path, to) : gr_disk_remove(path);
}

gr_status gr_checkpoint_recover(const char *dir) {
  gr_arena *a = gr_arena_create();
  names all;
  gr_status e = read_names(a, dir, &all);
  for (int i = 0; !e && i < all.n; i++) e = recover_one(a, dir, all.at[i]);
  gr_arena_destroy(a);
  return e;
}

// -- Listing -----------------------------------------------------------------------------

static int64_t bytes_in(gr_arena *a, const char *dir) {
  names all;
  gr_status e = read_names(a, dir, &all);
  int64_t sum = 0;
  struct stat s;
  for (int i = 0; !e && i < all.n; i++)
    if (!lstat(gr_arena_printf(a, "%s/%s", dir, all.at[i]), &s) && S_ISREG(s.st_mode))
      sum += s.st_size;
  gr_status_drop(e);
  return sum;
}

static gr_checkpoint_entry look(gr_arena *a, const char *dir, const char *name) {
  gr_checkpoint_entry x = {.path = gr_arena_printf(a, "%s/%s", dir, name)};
  x.step = step_of(name, "");
  bool unfinished = x.step < 0;
  if (unfinished) x.step = step_of(name, ".tmp-");
  if (x.step < 0) return x;
  x.bytes = bytes_in(a, x.path);
  gr_checkpoint *c = NULL;
  gr_status e = gr_checkpoint_open(x.path, &c);
  gr_checkpoint_close(c);
  if (unfinished || !gr_is_file(gr_arena_printf(a, "%s/manifest.json", x.path))) {
    x.state = GR_CHECKPOINT_INCOMPLETE;
    x.why = unfinished ? "it was being written" : "it has no manifest.json";
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
  names all;
  *n = 0;
  GR_TRY(read_names(a, dir, &all));
  *out = GR_NEW(a, gr_checkpoint_entry, all.n + 1);
  for (int i = 0; i < all.n; i++) {
    (*out)[*n] = look(a, dir, all.at[i]);
    *n += (*out)[*n].step >= 0;
  }
  if (*n) qsort(*out, (size_t)*n, sizeof **out, by_step);
  return GR_OK;
}

static gr_status open_verified(const char *path, gr_checkpoint **out) {
  GR_TRY(gr_checkpoint_open(path, out));
  gr_status e = gr_checkpoint_verify(*out);
  if (!e) return GR_OK;
  gr_checkpoint_close(*out);
  *out = NULL;
  return e;
}

gr_status gr_checkpoint_newest(const char *dir, gr_checkpoint **out) {
  gr_arena *a = gr_arena_create();
  gr_checkpoint_entry *all;
  int n;
  *out = NULL;
  gr_status e = gr_checkpoint_list(a, dir, &all, &n);
  for (int i = e ? 0 : n; i-- > 0 && !*out;) {
    gr_status skip = GR_OK;
    const char *why = all[i].why;
    if (all[i].state == GR_CHECKPOINT_OK && (skip = open_verified(all[i].path, out)))
      why = gr_status_text(skip);
    if (!*out) gr_log(GR_WARN, "checkpoint '%s' is skipped: %s", all[i].path, why);
    gr_status_drop(skip);
  }
  gr_arena_destroy(a);
  return e;
}

// -- Pruning -----------------------------------------------------------------------------

// What pruning looks at in a checkpoint.
typedef struct trait {
  double metric;  // NaN: it has none, or cannot be among the best
  bool ok, passing, keep;
} trait;

static double number_of(const gr_scalar *s) {
  if (!s || s->kind == GR_SCALAR_TEXT) return (double)NAN;
  return s->kind == GR_SCALAR_INT ? (double)s->i : s->f;
}

static trait trait_of(const gr_checkpoint_entry *x, const gr_saver_spec *spec) {
  trait t = {.metric = (double)NAN, .ok = x->state == GR_CHECKPOINT_OK};
  gr_checkpoint *c = NULL;
  gr_status e = t.ok ? gr_checkpoint_open(x->path, &c) : GR_OK;
  if (c) {
    t.passing = spec->passing && gr_checkpoint_scalar(c, spec->passing);
    if (spec->metric && !t.passing) t.metric = number_of(gr_checkpoint_scalar(c, spec->metric));
  }
  gr_checkpoint_close(c);
  gr_status_drop(e);
  return t;
}

// Of equal ones the earlier is better: what came later did not improve on it.
static void mark_best(trait *t, int n, int best, bool max) {
  for (; best > 0; best--) {
    int at = -1;
    for (int i = 0; i < n; i++)
      if (!t[i].keep && !isnan(t[i].metric) &&
          (at < 0 || (max ? t[i].metric > t[at].metric : t[i].metric < t[at].metric)))
        at = i;
    if (at < 0) return;
    t[at].keep = true;
  }
}

static void mark_last(trait *t, int n, int last) {
  for (int i = n, newer = 0; i-- > 0;) {
    bool counts = t[i].ok && (!t[i].passing || !newer);
    t[i].keep |= !t[i].ok || (counts && newer < last);
    newer += counts;
  }
}

static gr_status drop(gr_arena *a, const char *dir, const gr_checkpoint_entry *x) {
  char *trash = gr_checkpoint_name(a, dir, ".trash-", x->step);
  GR_TRY(gr_disk_rename(x->path, trash));
  return gr_disk_remove(trash);
}

gr_status gr_checkpoint_prune(const gr_saver_spec *spec, const char *last) {
  gr_arena *a = gr_arena_create();
  gr_checkpoint_entry *all = NULL;
  int n = 0;
  gr_status e = gr_checkpoint_list(a, spec->dir, &all, &n);
  trait *t = GR_NEW(a, trait, n + 1);
  for (int i = 0; i < n; i++) t[i] = trait_of(&all[i], spec);
  mark_best(t, n, spec->keep_best, spec->metric_max);
  mark_last(t, n, spec->keep_last);
  for (int i = 0; i < n && !e; i++)
    if (!t[i].keep && strcmp(all[i].path, last)) e = drop(a, spec->dir, &all[i]);
  gr_arena_destroy(a);
  return e;
}
