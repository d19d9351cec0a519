// save.c - the saver: snapshot, writer thread, agreement between ranks, commit. See checkpoint.h.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>
#include "base/log.h"
#include "base/port.h"
#include "base/stop.h"
#include "base/thread.h"
#include "runtime/checkpoint/saver.h"

// -- Opening -----------------------------------------------------------------------------

// Larger elements come first, as in safetensors' own writer, so that each tensor is aligned.
static gr_status order_pieces(gr_saver *s) {
  gr_stored *flat = GR_NEW(s->arena, gr_stored, s->spec.n_pieces);
  size_t largest = 0;
  for (int i = 0; i < s->spec.n_pieces; i++) flat[i].piece = s->spec.pieces[i];
  GR_TRY(gr_index_group(s->arena, &s->plan, flat, s->spec.n_pieces));
  s->file.pieces = GR_NEW(s->arena, gr_stored *, s->plan.n_pieces);
  for (int bytes = 8; bytes; bytes /= 2)
    for (int i = 0; i < s->plan.n_pieces; i++) {
      gr_stored *p = &s->plan.pieces[i];
      if (gr_dtype_bytes(p->piece.dtype, NULL) != bytes) continue;
      s->file.pieces[s->file.n_pieces++] = p;
      p->n_frames = gr_frames(gr_tensor_slice_bytes(&p->piece));
      p->frames = GR_NEW(s->arena, gr_frame, p->n_frames);
      size_t piece_bytes = (size_t)gr_tensor_slice_bytes(&p->piece);
      s->bytes += (int64_t)piece_bytes;
      largest = piece_bytes > largest ? piece_bytes : largest;
    }
  s->staging_bytes = !s->spec.in_place ? (size_t)s->bytes : s->spec.fetch ? largest : 0;
  return GR_OK;
}

static gr_status get_memory(gr_saver *s) {
  s->zstd = ZSTD_createCCtx();
  s->packed = malloc(GR_MAX_PACKED);
  bool ok = s->zstd && s->packed && ZSTD_compressBound(GR_FRAME_BYTES) <= GR_MAX_PACKED;
  ok = ok && !ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel, s->spec.level));
  ok = ok && !ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_checksumFlag, 1));
  if (ok && s->staging_bytes) {
    s->staging = gr_large_alloc(s->staging_bytes);
    ok = s->staging != NULL;
    // Pre-fault the pages so that out-of-memory shows at start-up and not at a save. Without
    // volatile the compiler would turn this into a calloc.
    for (size_t i = 0; ok && i < s->staging_bytes && !gr_stop_due(); i += 4096)
      ((volatile char *)s->staging)[i] = 0;
    GR_TRY(gr_stop_check());
  }
  if (ok) return GR_OK;
  gr_status e =
      gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a snapshot of %zu bytes", s->staging_bytes);
  return gr_hint(e,
                 "the snapshot lets training continue while a checkpoint is written; it needs as "
                 "much memory as the saved tensors. checkpoint.async=false does without");
}

// *all: whether `ok` is true on all ranks.
static gr_status agree(gr_saver *s, bool ok, bool *all) {
  *all = ok;
  return s->spec.agree ? s->spec.agree(s->spec.ctx, ok, all) : GR_OK;
}

static gr_status recover(const char *path) {
  gr_disk_dir dir;
  GR_TRY(gr_disk_open(path, &dir));
  gr_status e = gr_checkpoint_recover(&dir);
  gr_disk_leave(&dir);
  return e;
}

static gr_status take(const char *dir, const char *owner, double patience, gr_lock **out) {
  return gr_hint(gr_lock_take(&(gr_lock_spec){dir, ".checkpoint.lock", owner, patience}, out),
                 "wait until it ends, stop it, or give this run another checkpoint.dir");
}

// Rank 0 keeps other runs out of the folder before it changes anything in it.
static gr_status open_dir(gr_saver *s) {
  GR_TRY(gr_make_dirs(s->spec.dir));
  GR_TRY(take(s->spec.dir, s->spec.owner, s->spec.patience, &s->lock));
  return recover(s->spec.dir);
}

// What fails here fails when the saver opens the folder, and is the error of all ranks then.
void gr_checkpoint_settle(const char *dir, const char *owner, double patience) {
  gr_lock *lock = NULL;
  if (!gr_checkpoint_is_unsettled(dir)) return;
  gr_status e = take(dir, owner, patience, &lock);
  if (!e) e = recover(dir);
  gr_status_drop(e);
  gr_lock_release(lock);
}

static gr_status open_rank(gr_saver *s) {
  gr_tensor_slice *pieces = GR_NEW(s->arena, gr_tensor_slice, s->spec.n_pieces + 1);
  if (s->spec.n_pieces) memcpy(pieces, s->spec.pieces, sizeof *pieces * (size_t)s->spec.n_pieces);
  s->spec.pieces = pieces;
  GR_TRY(order_pieces(s));
  GR_TRY(gr_saver_check_plan(s));
  GR_TRY(get_memory(s));
  return s->spec.rank == 0 ? open_dir(s) : GR_OK;
}

gr_status gr_saver_open(const gr_saver_spec *spec, gr_saver **out) {
  *out = NULL;
  gr_saver *s = calloc(1, sizeof *s);
  if (!s) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a saver");
  s->spec = *spec, s->arena = gr_arena_create();
  atomic_init(&s->busy, false);
  bool all = true;
  gr_status e = open_rank(s);
  gr_status lost = agree(s, !e, &all);
  if (!e && !lost && !all)
    e = gr_fail(GR_ERR_RANK, GR_NOWHERE, "another rank could not prepare checkpoints in '%s'",
                spec->dir);
  if (!e && !lost) {
    *out = s;
    return GR_OK;
  }
  gr_saver_close(s);
  return gr_also(e, lost);
}

size_t gr_saver_bytes(const gr_saver *s) {
  return s->staging_bytes + GR_MAX_PACKED + ZSTD_sizeof_CCtx(s->zstd);
}

const char *gr_saver_last(const gr_saver *s) { return s->last; }

// -- Saving ------------------------------------------------------------------------------

static void *write_thread(void *arg) {
  gr_saver *s = arg;
  s->failed =
      gr_note(gr_saver_write_rank(s), GR_NOWHERE, "writing the checkpoint of step %lld on rank %d",
              (long long)s->step, s->spec.rank);
  atomic_store(&s->busy, false);
  return NULL;
}

static gr_status snapshot(gr_saver *s) {
  char *to = s->staging;
  for (int i = 0; to && i < s->file.n_pieces; i++) {
    const gr_tensor_slice *piece = &s->file.pieces[i]->piece;
    if (s->spec.fetch)
      GR_TRY(s->spec.fetch(s->spec.ctx, piece, to));
    else
      memcpy(to, piece->data, (size_t)gr_tensor_slice_bytes(piece));
    to += gr_tensor_slice_bytes(piece);
  }
  return GR_OK;
}

gr_status gr_saver_begin(gr_saver *s, int64_t step, const gr_scalar *scalars, int n) {
  if (s->save)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE,
                   "a checkpoint was begun before the last one was finished");
  s->save = gr_arena_create();
  s->step = step, s->failed = GR_OK;
  gr_checkpoint_name(".tmp-", step, s->tmp);
  s->failed = gr_saver_copy_scalars(s, scalars, n);
  if (s->failed) return GR_OK;  // finish reports it, on all ranks
  if (!s->spec.in_place) s->failed = snapshot(s);
  if (s->failed) return GR_OK;
  atomic_store(&s->busy, true);
  if (s->spec.in_place) {
    write_thread(s);
    return GR_OK;
  }
  int e = gr_thread_start(&s->thread, write_thread, s);
  s->threaded = !e;
  if (e) {
    atomic_store(&s->busy, false);
    s->failed = gr_fail_errno(GR_ERR_IO, e, "cannot start a thread to write a checkpoint");
  }
  return GR_OK;
}

bool gr_saver_busy(const gr_saver *s) { return atomic_load(&s->busy); }

static void join(gr_saver *s) {
  if (s->threaded) pthread_join(s->thread, NULL);
  s->threaded = false;
}

// Joins the ranks' indices into the manifest. It is written last, because it makes the directory a
// checkpoint.
static gr_status complete(gr_saver *s, const gr_disk_dir *tmp) {
  gr_index *parts = GR_NEW(s->save, gr_index, s->spec.ranks), all;
  for (int r = 0; r < s->spec.ranks; r++)
    GR_TRY(gr_index_read(s->save,
                         gr_arena_printf(s->save, "%s/%s", tmp->path, gr_saver_index_name(s, r)),
                         &parts[r]));
  GR_TRY(gr_index_join(s->save, parts, s->spec.ranks, &all));
  all.scalars = s->plan.scalars, all.n_scalars = s->plan.n_scalars;
  for (int r = 0; r < s->spec.ranks; r++) GR_TRY(gr_disk_unlink(tmp, gr_saver_index_name(s, r)));
  GR_TRY(gr_disk_sync(tmp));
  GR_TRY(gr_saver_write_index(s, tmp, &all, "manifest.json"));
  return gr_disk_sync(tmp);
}

// Renames the directory to its final name; an older checkpoint of the same step is replaced.
static gr_status publish(gr_saver *s, const gr_disk_dir *root) {
  char to[GR_CHECKPOINT_NAME_SIZE], aside[GR_CHECKPOINT_NAME_SIZE];
  struct stat there;
  gr_checkpoint_name("", s->step, to);
  gr_checkpoint_name(".trash-", s->step, aside);
  if (fstatat(root->fd, to, &there, AT_SYMLINK_NOFOLLOW) && errno == ENOENT) {
    GR_TRY(gr_disk_rename(root, s->tmp, to));
  } else {
    const char *why = gr_checkpoint_foreign(s->save, root, to);
    if (why)
      return gr_hint(
          gr_fail(GR_ERR_IO, GR_NOWHERE, "'%s/%s' is in the way: %s", root->path, to, why),
          "graphrun replaces only its own checkpoints: move it away");
    GR_TRY(gr_disk_replace(root, s->tmp, to, aside));
  }
  GR_TRY(gr_disk_sync(root));
  s->last = gr_arena_printf(s->arena, "%s/%s", s->spec.dir, to);
  return GR_OK;
}

// On rank 0, once all ranks have written their files.
static gr_status commit(gr_saver *s) {
  gr_disk_dir root, tmp = {.fd = -1};
  gr_status e = gr_disk_open(s->spec.dir, &root);
  if (!e) e = gr_disk_enter(&root, s->tmp, &tmp);
  if (!e) e = complete(s, &tmp);
  if (!e) e = publish(s, &root);
  gr_disk_leave(&tmp);
  gr_disk_leave(&root);
  return e;
}

static void warn_of_old(gr_status e) {
  if (e) gr_log(GR_WARN, "cannot remove old checkpoints: %s", gr_status_text(e));
  gr_status_drop(e);
}

static gr_status remove_names(gr_saver *s, bool trash) {
  char aside[GR_CHECKPOINT_NAME_SIZE];
  gr_disk_dir root;
  gr_checkpoint_name(".trash-", s->step, aside);
  gr_status e = gr_disk_open(s->spec.dir, &root);
  if (!e) e = gr_checkpoint_remove(&root, s->tmp);
  if (!e && trash) e = gr_checkpoint_remove(&root, aside);
  gr_disk_leave(&root);
  return e;
}

void gr_saver_prune(gr_saver *s, int64_t step) {
  int foreign;
  if (s->spec.rank) return;
  warn_of_old(gr_checkpoint_prune(&s->spec, step, &foreign));
  if (foreign > s->foreign)
    gr_log(GR_WARN,
           "%d folders in '%s' are not checkpoints of this run or contain other files; they are "
           "not pruned and not counted",
           foreign, s->spec.dir);
  s->foreign = foreign;
}

// The error of a failed save. It has the same code on all ranks, so that they react alike.
static gr_status not_saved(gr_saver *s, gr_status e) {
  if (!e)
    return gr_fail(GR_ERR_IO, GR_NOWHERE,
                   "another rank could not write the checkpoint of step %lld", (long long)s->step);
  if (gr_status_code(e) == GR_ERR_IO) return e;
  gr_status same = gr_fail(GR_ERR_IO, GR_NOWHERE, "%s", gr_status_text(e));
  if (gr_status_hint(e)) same = gr_hint(same, "%s", gr_status_hint(e));
  gr_status_drop(e);
  return same;
}

// A failure after the commit cannot undo it, so it is only a warning.
static gr_status finish_all(gr_saver *s, bool prune) {
  bool all = false, done = false, first = s->spec.rank == 0;
  gr_status e = s->failed, lost;
  s->failed = GR_OK;
  if ((lost = agree(s, !e, &all))) return gr_also(e, lost);
  if (first && all) e = commit(s);
  if (first && (!all || e)) gr_status_drop(remove_names(s, false));
  if ((lost = agree(s, !e, &done))) return gr_also(e, lost);
  if (e || !done) return not_saved(s, e);
  char name[GR_CHECKPOINT_NAME_SIZE];
  gr_checkpoint_name("", s->step, name);
  if (!first) s->last = gr_arena_printf(s->arena, "%s/%s", s->spec.dir, name);
  if (first) warn_of_old(remove_names(s, true));  // the checkpoint of this step that was replaced
  if (prune) gr_saver_prune(s, s->step);
  return GR_OK;
}

// The agreement ensures that no rank is still writing when the files are removed.
static gr_status abandon_all(gr_saver *s) {
  bool all;
  gr_status_drop(s->failed);
  s->failed = GR_OK;
  GR_TRY(agree(s, true, &all));
  if (!s->spec.rank) warn_of_old(remove_names(s, false));
  return GR_OK;
}

typedef enum ending { ABANDON, COMMIT, COMMIT_AND_PRUNE } ending;

static gr_status end_save(gr_saver *s, ending how) {
  if (!s->save) return GR_OK;
  join(s);
  gr_status e = how == ABANDON ? abandon_all(s) : finish_all(s, how == COMMIT_AND_PRUNE);
  gr_arena_destroy(s->save);
  s->save = NULL;
  return e;
}

gr_status gr_saver_finish(gr_saver *s) { return end_save(s, COMMIT_AND_PRUNE); }
gr_status gr_saver_commit(gr_saver *s) { return end_save(s, COMMIT); }
gr_status gr_saver_abandon(gr_saver *s) { return end_save(s, ABANDON); }

void gr_saver_close(gr_saver *s) {
  if (!s) return;
  join(s);
  gr_status_drop(s->failed);
  if (s->save) gr_arena_destroy(s->save);
  gr_lock_release(s->lock);
  ZSTD_freeCCtx(s->zstd);
  free(s->packed);
  free(s->staging);
  if (s->arena) gr_arena_destroy(s->arena);
  free(s);
}
