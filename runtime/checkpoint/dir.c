// dir.c - lists, recovers, prunes and removes checkpoints of a directory. See dir.h.
#define _GNU_SOURCE
#include "runtime/checkpoint/dir.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include "base/log.h"

// -- What may be removed -----------------------------------------------------------------

// Whether `name` is one that write.c gives to files.
static bool is_written(const char *name) {
  if (!strcmp(name, "manifest.json")) return true;
  if (strncmp(name, "rank-", 5)) return false;
  size_t digits = strspn(name + 5, "0123456789");
  const char *end = name + 5 + digits;
  return digits >= 5 && (!strcmp(end, ".json") || !strcmp(end, ".safetensors.zst"));
}

static const char *foreign_inside(gr_arena *a, const gr_disk_dir *d) {
  gr_names all;
  struct stat s;
  gr_status e = gr_checkpoint_names(a, d, &all);
  const char *why = e ? gr_arena_strdup(a, gr_status_text(e)) : NULL;
  gr_status_drop(e);
  for (int i = 0; !why && i < all.n; i++) {
    bool file = !fstatat(d->fd, all.names[i], &s, AT_SYMLINK_NOFOLLOW) && S_ISREG(s.st_mode);
    if (!file || !is_written(all.names[i]))
      why = gr_arena_printf(a, "it contains '%s', which is not part of a checkpoint", all.names[i]);
  }
  return why;
}

const char *gr_checkpoint_foreign(gr_arena *a, const gr_disk_dir *dir, const char *name) {
  struct stat s;
  if (fstatat(dir->fd, name, &s, AT_SYMLINK_NOFOLLOW))
    return errno == ENOENT ? NULL : gr_arena_strdup(a, strerror(errno));
  if (S_ISLNK(s.st_mode)) return "it is a symbolic link";
  if (!S_ISDIR(s.st_mode)) return "it is not a directory";
  gr_disk_dir d;
  gr_status e = gr_disk_enter(dir, name, &d);
  const char *why = e ? gr_arena_strdup(a, gr_status_text(e)) : foreign_inside(a, &d);
  gr_status_drop(e);
  gr_disk_leave(&d);
  return why;
}

static gr_status empty(gr_arena *a, const gr_disk_dir *d) {
  gr_names all;
  GR_TRY(gr_checkpoint_names(a, d, &all));
  for (int i = 0; i < all.n; i++) GR_TRY(gr_disk_unlink(d, all.names[i]));
  return GR_OK;
}

static gr_status remove_known(gr_arena *a, const gr_disk_dir *dir, const char *name) {
  struct stat s;
  gr_disk_dir d;
  if (fstatat(dir->fd, name, &s, AT_SYMLINK_NOFOLLOW) && errno == ENOENT) return GR_OK;
  const char *why = gr_checkpoint_foreign(a, dir, name);
  if (why)
    return gr_fail(GR_ERR_IO, GR_NOWHERE, "'%s/%s' is left untouched: %s", dir->path, name, why);
  GR_TRY(gr_disk_enter(dir, name, &d));
  gr_status e = empty(a, &d);
  gr_disk_leave(&d);
  return e ? e : gr_disk_rmdir(dir, name);
}

gr_status gr_checkpoint_remove(const gr_disk_dir *dir, const char *name) {
  gr_arena *a = gr_arena_create();
  return gr_arena_end(a, remove_known(a, dir, name));
}

// -- Recovery ----------------------------------------------------------------------------

static bool opens(gr_arena *a, const gr_disk_dir *dir, const char *name) {
  gr_checkpoint *c = NULL;
  gr_status e = gr_checkpoint_open(gr_arena_printf(a, "%s/%s", dir->path, name), &c);
  gr_checkpoint_close(c);
  gr_status_drop(e);
  return !e;
}

static gr_status recover_one(gr_arena *a, const gr_disk_dir *dir, const char *name) {
  struct stat s;
  char to[GR_CHECKPOINT_NAME_SIZE];
  int64_t step = gr_checkpoint_name_step(name, ".tmp-");
  if (step < 0 && gr_checkpoint_name_step(name, ".trash-") < 0) return GR_OK;
  const char *why = gr_checkpoint_foreign(a, dir, name);
  if (why) {
    gr_log(GR_WARN, "'%s/%s' is left untouched: %s", dir->path, name, why);
    return GR_OK;
  }
  gr_checkpoint_name("", step, to);
  bool vacant = fstatat(dir->fd, to, &s, AT_SYMLINK_NOFOLLOW) && errno == ENOENT;
  return step >= 0 && vacant && opens(a, dir, name) ? gr_disk_rename(dir, name, to)
                                                    : gr_checkpoint_remove(dir, name);
}

bool gr_checkpoint_is_unsettled(const char *path) {
  gr_arena *a = gr_arena_create();
  gr_disk_dir dir;
  gr_names all = {0};
  bool found = false;
  gr_status e = gr_disk_open(path, &dir);
  if (!e) e = gr_checkpoint_names(a, &dir, &all);
  for (int i = 0; !e && i < all.n; i++)
    found |= gr_checkpoint_name_step(all.names[i], ".tmp-") >= 0;
  gr_status_drop(e);  // what cannot be read is the error of those who need it
  gr_disk_leave(&dir);
  gr_arena_destroy(a);
  return found;
}

gr_status gr_checkpoint_recover(const gr_disk_dir *dir) {
  gr_arena *a = gr_arena_create();
  gr_names all;
  gr_status e = gr_checkpoint_names(a, dir, &all);
  for (int i = 0; !e && i < all.n; i++) e = recover_one(a, dir, all.names[i]);
  return gr_arena_end(a, e);
}

// -- Pruning -----------------------------------------------------------------------------

// What pruning needs to know of a checkpoint.
typedef struct trait {
  double metric;  // NaN: it has none, or cannot be among the best
  bool ok;        // it is counted and may be removed
  bool exit_checkpoint, finite, foreign, keep;
} trait;

static double number_of(const gr_scalar *s) {
  if (!s || s->kind == GR_SCALAR_TEXT) return (double)NAN;
  return s->kind == GR_SCALAR_INT ? (double)s->i : s->f;
}

// Whether the checkpoint has the tensors that this run writes. Rank 0 lists every tensor, or a
// slice of it, so comparing its list is enough.
static bool is_of_run(const gr_checkpoint *c, const gr_saver_spec *spec) {
  for (int i = 0; i < spec->n_pieces; i++) {
    const gr_tensor_slice *want = &spec->pieces[i], *has = gr_checkpoint_tensor(c, want->name);
    bool same = has && !strcmp(has->dtype, want->dtype) && has->rank == want->rank;
    for (int d = 0; same && d < want->rank; d++) same = has->dims[d] == want->dims[d];
    if (!same) return false;
  }
  return true;
}

// A metric counts only if it was measured on the state that the checkpoint holds.
static double metric_of(const gr_checkpoint *c, const gr_saver_spec *spec) {
  const char *name = spec->metric;
  const gr_scalar *scalar =
      spec->metric_measured ? NULL : gr_checkpoint_scalar(c, GR_CHECKPOINT_MEASURED);
  double value = name ? number_of(gr_checkpoint_scalar(c, name)) : (double)NAN;
  bool elsewhere = scalar && scalar->kind == GR_SCALAR_INT && scalar->i != gr_checkpoint_step(c);
  return elsewhere || !isfinite(value) ? (double)NAN : value;
}

static trait trait_of(gr_arena *a, const gr_disk_dir *dir, const gr_checkpoint_entry *x,
                      const gr_saver_spec *spec) {
  trait t = {.metric = (double)NAN, .finite = true};
  gr_checkpoint *c = NULL;
  gr_status e = x->state == GR_CHECKPOINT_OK ? gr_checkpoint_open(x->path, &c) : GR_OK;
  t.foreign = c && gr_checkpoint_foreign(a, dir, strrchr(x->path, '/') + 1);
  t.ok = c && !t.foreign && gr_checkpoint_step(c) == x->step && is_of_run(c, spec);
  if (t.ok) {
    t.finite = gr_checkpoint_is_finite(c);
    t.exit_checkpoint = spec->exit_checkpoint && gr_checkpoint_scalar(c, spec->exit_checkpoint);
    if (t.finite && !t.exit_checkpoint) t.metric = metric_of(c, spec);
  }
  gr_checkpoint_close(c);
  gr_status_drop(e);
  return t;
}

// Ties go to the earlier checkpoint, because the later one did not improve on it.
static void mark_best(trait *t, int n, int best, bool max) {
  for (; best > 0; best--) {
    int leader = -1;
    for (int i = 0; i < n; i++)
      if (!t[i].keep && !isnan(t[i].metric) &&
          (leader < 0 || (max ? t[i].metric > t[leader].metric : t[i].metric < t[leader].metric)))
        leader = i;
    if (leader < 0) return;
    t[leader].keep = true;
  }
}

// A checkpoint that is not finite, or an exit checkpoint with a newer one after it, does not
// displace an older one. If no checkpoint is finite, all are kept.
static void mark_last(trait *t, int n, int last) {
  int newer = 0;
  if (last < 1) last = 1;  // the newest finite one is always kept
  for (int i = n; i-- > 0;) {
    bool counts = t[i].ok && t[i].finite && (!t[i].exit_checkpoint || !newer);
    t[i].keep |= !t[i].ok || (counts && newer < last);
    newer += counts;
  }
  for (int i = 0; i < n; i++) t[i].keep |= !newer;
}

static gr_status move_and_remove(const gr_disk_dir *dir, const gr_checkpoint_entry *x) {
  char trash[GR_CHECKPOINT_NAME_SIZE];
  gr_checkpoint_name(".trash-", x->step, trash);
  GR_TRY(gr_disk_rename(dir, strrchr(x->path, '/') + 1, trash));
  return gr_checkpoint_remove(dir, trash);
}

static gr_status prune(gr_arena *a, const gr_disk_dir *dir, const gr_saver_spec *spec, int64_t last,
                       int *foreign) {
  gr_checkpoint_entry *all = NULL;
  int n = 0;
  GR_TRY(gr_checkpoint_list(a, spec->dir, &all, &n));
  trait *t = GR_NEW(a, trait, n + 1);
  for (int i = 0; i < n; i++) *foreign += (t[i] = trait_of(a, dir, &all[i], spec)).foreign;
  mark_best(t, n, spec->keep_best, spec->metric_max);
  mark_last(t, n, spec->keep_last);
  for (int i = 0; i < n; i++)
    if (!t[i].keep && all[i].step != last) GR_TRY(move_and_remove(dir, &all[i]));
  return GR_OK;
}

gr_status gr_checkpoint_prune(const gr_saver_spec *spec, int64_t last, int *foreign) {
  gr_arena *a = gr_arena_create();
  gr_disk_dir dir;
  *foreign = 0;
  gr_status e = gr_disk_open(spec->dir, &dir);
  if (!e) e = prune(a, &dir, spec, last, foreign);
  gr_disk_leave(&dir);
  return gr_arena_end(a, e);
}
