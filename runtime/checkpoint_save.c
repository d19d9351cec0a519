// checkpoint_save.c - the saver: snapshot, thread, agreement, commit.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "base/hash.h"
#include "base/log.h"
#include "base/port.h"
#include "base/text.h"
#include "runtime/checkpoint_dir.h"
#include "runtime/checkpoint_disk.h"
#include "runtime/checkpoint_index.h"

struct gr_saver {
  gr_arena *arena;
  gr_saver_spec spec;
  gr_index plan;      // what this rank writes, in the order of its file; places not yet known
  gr_rank_file file;  // .pieces alone, in that order
  char *staging;      // NULL: in_place
  size_t staging_bytes;
  char *packed;  // [GR_MOST_PACKED]
  ZSTD_CCtx *zstd;
  char *last;
  // Of the save under way.
  gr_arena *save;  // NULL: there is none
  int64_t step;
  gr_index index;  // of what has been written
  char *tmp;
  gr_status failed;  // the thread's, or begin's
  pthread_t thread;
  bool threaded;
  atomic_bool busy;
};

// -- Opening -----------------------------------------------------------------------------

// Larger elements first, as safetensors' own writer does, so that each tensor is aligned.
static gr_status order_pieces(gr_saver *s) {
  gr_stored *flat = GR_NEW(s->arena, gr_stored, s->spec.n_pieces);
  for (int i = 0; i < s->spec.n_pieces; i++) flat[i].piece = s->spec.pieces[i];
  GR_TRY(gr_index_group(s->arena, &s->plan, flat, s->spec.n_pieces));
  s->file.pieces = GR_NEW(s->arena, gr_stored *, s->plan.n_pieces);
  for (int bytes = 8; bytes; bytes /= 2)
    for (int i = 0; i < s->plan.n_pieces; i++) {
      gr_stored *p = &s->plan.pieces[i];
      if (gr_dtype_bytes(p->piece.dtype, NULL) != bytes) continue;
      s->file.pieces[s->file.n_pieces++] = p;
      p->n_frames = gr_frames(gr_piece_bytes(&p->piece));
      p->frames = GR_NEW(s->arena, gr_frame, p->n_frames);
      s->staging_bytes += (size_t)gr_piece_bytes(&p->piece);
    }
  return GR_OK;
}

static gr_status get_memory(gr_saver *s) {
  s->zstd = ZSTD_createCCtx();
  s->packed = malloc(GR_MOST_PACKED);
  bool ok = s->zstd && s->packed && ZSTD_compressBound(GR_FRAME_BYTES) <= GR_MOST_PACKED;
  ok = ok && !ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel, s->spec.level));
  ok = ok && !ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_checksumFlag, 1));
  if (ok && !s->spec.in_place && s->staging_bytes) {
    s->staging = gr_large_alloc(s->staging_bytes);
    ok = s->staging != NULL;
    // What does not fit shows now, not at a save. Volatile, or it becomes a calloc.
    for (size_t i = 0; ok && i < s->staging_bytes; i += 4096) ((volatile char *)s->staging)[i] = 0;
  }
  if (ok) return GR_OK;
  gr_status e =
      gr_fail(GR_ERR_IO, GR_NOWHERE, "no memory for a snapshot of %zu bytes", s->staging_bytes);
  return gr_hint(e, "a save in place needs none, and training waits for it");
}

// True on all ranks or false on all.
static gr_status agree(gr_saver *s, bool ok, bool *all) {
  *all = ok;
  return s->spec.agree ? s->spec.agree(s->spec.ctx, ok, all) : GR_OK;
}

static gr_status open_rank(gr_saver *s) {
  if (s->spec.rank == 0) {
    GR_TRY(gr_make_dirs(s->spec.dir));
    GR_TRY(gr_checkpoint_recover(s->spec.dir));
  }
  GR_TRY(order_pieces(s));
  return get_memory(s);
}

gr_status gr_saver_open(const gr_saver_spec *spec, gr_saver **out) {
  *out = NULL;
  gr_saver *s = calloc(1, sizeof *s);
  if (!s) return gr_fail(GR_ERR_IO, GR_NOWHERE, "no memory for a saver");
  s->spec = *spec, s->arena = gr_arena_create();
  atomic_init(&s->busy, false);
  bool all = true;
  gr_status e = open_rank(s);
  gr_status gone = agree(s, !e, &all);
  if (!e && !gone && !all)
    e = gr_fail(GR_ERR_IO, GR_NOWHERE, "another rank could not prepare checkpoints in '%s'",
                spec->dir);
  if (!e && !gone) {
    *out = s;
    return GR_OK;
  }
  gr_saver_close(s);
  return gr_also(e, gone);
}

size_t gr_saver_bytes(const gr_saver *s) {
  return (s->staging ? s->staging_bytes : 0) + GR_MOST_PACKED + ZSTD_sizeof_CCtx(s->zstd);
}

const char *gr_saver_last(const gr_saver *s) { return s->last; }

// -- Writing this rank's file ------------------------------------------------------------

static gr_status put_frame(gr_saver *s, gr_disk_file *f, const char *data, size_t bytes,
                           gr_frame *out) {
  size_t n = ZSTD_compress2(s->zstd, s->packed, GR_MOST_PACKED, data, bytes);
  if (ZSTD_isError(n))
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "zstd cannot compress: %s", ZSTD_getErrorName(n));
  out->packed = (int64_t)n;
  out->hash = gr_hash_bytes(GR_HASH_START, s->packed, n);
  return gr_disk_write(f, s->packed, n);
}

// At *at in the file; moves it on.
static gr_status put_frames(gr_saver *s, gr_disk_file *f, const char *data, int64_t bytes,
                            gr_frame *frames, int64_t *at) {
  for (int64_t done = 0; done < bytes; done += GR_FRAME_BYTES, frames++) {
    int64_t now = bytes - done < GR_FRAME_BYTES ? bytes - done : GR_FRAME_BYTES;
    GR_TRY(put_frame(s, f, data + done, (size_t)now, frames));
    *at += frames->packed;
  }
  return GR_OK;
}

static gr_status put_pieces(gr_saver *s, gr_disk_file *f, int64_t *at) {
  const char *staged = s->staging;
  for (int i = 0; i < s->file.n_pieces; i++) {
    gr_stored *p = s->file.pieces[i];
    int64_t bytes = gr_piece_bytes(&p->piece);
    const char *data = staged ? staged : p->piece.at;
    p->at = *at;
    p->hash = gr_hash_bytes(GR_HASH_START, data, (size_t)bytes);
    GR_TRY(gr_note(put_frames(s, f, data, bytes, p->frames, at), GR_NOWHERE, "at tensor '%s'",
                   p->piece.name));
    if (staged) staged += bytes;
  }
  return GR_OK;
}

static gr_status put_file(gr_saver *s, gr_rank_file *file) {
  char *path = gr_arena_printf(s->save, "%s/%s", s->tmp, file->name);
  size_t len;
  char *head = gr_safetensors_head(s->save, s->file.pieces, s->file.n_pieces, &len);
  gr_disk_file f;
  GR_TRY(gr_disk_create(path, (int64_t)(len + ZSTD_compressBound(s->staging_bytes)), &f));
  file->header_bytes = (int64_t)len;
  file->n_header = gr_frames(file->header_bytes);
  file->header = GR_NEW(s->save, gr_frame, file->n_header);
  gr_status e = put_frames(s, &f, head, file->header_bytes, file->header, &file->bytes);
  if (!e) e = put_pieces(s, &f, &file->bytes);
  if (!e) e = gr_disk_finish(&f);
  gr_disk_abandon(&f);
  return e;
}

static gr_status put_text(gr_arena *a, const gr_index *x, const char *path) {
  size_t len;
  char *text = gr_index_print(a, x, &len);
  gr_disk_file f;
  GR_TRY(gr_disk_create(path, (int64_t)len, &f));
  gr_status e = gr_disk_write(&f, text, len);
  if (!e) e = gr_disk_finish(&f);
  gr_disk_abandon(&f);
  return e;
}

static char *index_path(gr_saver *s, int rank) {
  return gr_arena_printf(s->save, "%s/rank-%05d.json", s->tmp, rank);
}

static gr_status write_rank(gr_saver *s) {
  GR_TRY(gr_disk_mkdir(s->tmp));
  gr_rank_file *file = GR_NEW(s->save, gr_rank_file, 1);
  file->name = gr_arena_printf(s->save, "rank-%05d.safetensors.zst", s->spec.rank);
  s->index = s->plan;
  s->index.step = s->step, s->index.ranks = s->spec.ranks, s->index.files = file;
  s->index.n_scalars = 0;
  if (s->file.n_pieces) {
    s->index.n_files = 1;
    GR_TRY(put_file(s, file));
  }
  return put_text(s->save, &s->index, index_path(s, s->spec.rank));
}

static void *write_thread(void *arg) {
  gr_saver *s = arg;
  s->failed = gr_note(write_rank(s), GR_NOWHERE, "writing the checkpoint of step %lld on rank %d",
                      (long long)s->step, s->spec.rank);
  atomic_store(&s->busy, false);
  return NULL;
}

// -- Saving ------------------------------------------------------------------------------

static gr_status check_scalar(const gr_scalar *all, int i) {
  const char *text = all[i].kind == GR_SCALAR_TEXT ? all[i].text : "";
  bool ok = gr_utf8_valid(all[i].name) && text && gr_utf8_valid(text);
  for (int j = 0; j < i && ok; j++) ok = strcmp(all[i].name, all[j].name) != 0;
  return ok ? GR_OK
            : gr_fail(GR_ERR_BUG, GR_NOWHERE, "scalar '%s' is there twice or is not UTF-8",
                      all[i].name);
}

// The scalars wait in s->plan, which the next save overwrites.
static gr_status copy_scalars(gr_saver *s, const gr_scalar *from, int n) {
  gr_scalar *to = s->plan.scalars = GR_NEW(s->save, gr_scalar, n);
  s->plan.n_scalars = n;
  for (int i = 0; i < n; i++) {
    GR_TRY(check_scalar(from, i));
    to[i] = from[i];
    to[i].name = gr_arena_strdup(s->save, from[i].name);
    to[i].text = from[i].kind == GR_SCALAR_TEXT ? gr_arena_strdup(s->save, from[i].text) : NULL;
  }
  return GR_OK;
}

static void snapshot(gr_saver *s) {
  char *to = s->staging;
  for (int i = 0; to && i < s->file.n_pieces; i++) {
    size_t bytes = (size_t)gr_piece_bytes(&s->file.pieces[i]->piece);
    memcpy(to, s->file.pieces[i]->piece.at, bytes);
    to += bytes;
  }
}

gr_status gr_saver_begin(gr_saver *s, int64_t step, const gr_scalar *scalars, int n) {
  if (s->save)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "a checkpoint is begun before the last is finished");
  s->save = gr_arena_create();
  s->step = step, s->failed = GR_OK;
  s->tmp = gr_checkpoint_name(s->save, s->spec.dir, ".tmp-", step);
  s->failed = copy_scalars(s, scalars, n);
  if (s->failed) return GR_OK;  // finish says so, on all ranks
  snapshot(s);
  atomic_store(&s->busy, true);
  if (s->spec.in_place) {
    write_thread(s);
    return GR_OK;
  }
  int e = pthread_create(&s->thread, NULL, write_thread, s);
  s->threaded = !e;
  if (e) {
    atomic_store(&s->busy, false);
    s->failed = gr_fail(GR_ERR_IO, GR_NOWHERE, "no thread to write a checkpoint: %s", strerror(e));
  }
  return GR_OK;
}

bool gr_saver_busy(const gr_saver *s) { return atomic_load(&s->busy); }

static void join(gr_saver *s) {
  if (s->threaded) pthread_join(s->thread, NULL);
  s->threaded = false;
}

// Rank 0, when all ranks wrote all: the manifest is the commit, the rename shows it.
static gr_status commit(gr_saver *s) {
  gr_index *parts = GR_NEW(s->save, gr_index, s->spec.ranks), all;
  for (int r = 0; r < s->spec.ranks; r++)
    GR_TRY(gr_index_read(s->save, index_path(s, r), &parts[r]));
  GR_TRY(gr_index_join(s->save, parts, s->spec.ranks, &all));
  all.scalars = s->plan.scalars, all.n_scalars = s->plan.n_scalars;
  for (int r = 0; r < s->spec.ranks; r++) GR_TRY(gr_disk_unlink(index_path(s, r)));
  GR_TRY(gr_disk_sync_dir(s->tmp));
  GR_TRY(put_text(s->save, &all, gr_arena_printf(s->save, "%s/manifest.json", s->tmp)));
  GR_TRY(gr_disk_sync_dir(s->tmp));
  char *to = gr_checkpoint_name(s->save, s->spec.dir, "", s->step);
  char *aside = gr_checkpoint_name(s->save, s->spec.dir, ".trash-", s->step);
  GR_TRY(gr_is_dir(to) ? gr_disk_replace(s->tmp, to, aside) : gr_disk_rename(s->tmp, to));
  GR_TRY(gr_disk_sync_dir(s->spec.dir));
  s->last = gr_checkpoint_name(s->arena, s->spec.dir, "", s->step);
  return GR_OK;
}

static void warn_of_old(gr_status e) {
  if (e) gr_log(GR_WARN, "old checkpoints stay: %s", gr_status_text(e));
  gr_status_drop(e);
}

// What comes after the commit cannot undo it, so it only warns.
static void tidy(gr_saver *s) {
  gr_status e = gr_disk_remove(s->tmp);  // the one of this step that was replaced
  if (!e) e = gr_disk_remove(gr_checkpoint_name(s->save, s->spec.dir, ".trash-", s->step));
  if (!e) e = gr_checkpoint_prune(&s->spec, s->last);
  warn_of_old(e);
}

void gr_saver_prune(gr_saver *s, int64_t step) {
  if (s->spec.rank) return;
  gr_arena *a = gr_arena_create();
  warn_of_old(gr_checkpoint_prune(&s->spec, gr_checkpoint_name(a, s->spec.dir, "", step)));
  gr_arena_destroy(a);
}

// What a rank says when its save failed: with one code on all of them, so that what they do about
// it is the same.
static gr_status not_saved(gr_saver *s, gr_status e) {
  if (!e)
    return gr_fail(GR_ERR_IO, GR_NOWHERE,
                   "another rank could not write the checkpoint of step %lld", (long long)s->step);
  if (gr_status_code(e) == GR_ERR_IO) return e;
  gr_status same = gr_fail(GR_ERR_IO, GR_NOWHERE, "%s", gr_status_text(e));
  gr_status_drop(e);
  return same;
}

static gr_status finish_all(gr_saver *s) {
  bool all = false, done = false, first = s->spec.rank == 0;
  gr_status e = s->failed, gone;
  s->failed = GR_OK;
  if ((gone = agree(s, !e, &all))) return gr_also(e, gone);
  if (first && all) e = commit(s);
  if (first && (!all || e)) gr_status_drop(gr_disk_remove(s->tmp));
  if ((gone = agree(s, !e, &done))) return gr_also(e, gone);
  if (e || !done) return not_saved(s, e);
  if (!first) s->last = gr_checkpoint_name(s->arena, s->spec.dir, "", s->step);
  if (first) tidy(s);
  return GR_OK;
}

gr_status gr_saver_finish(gr_saver *s) {
  if (!s->save) return GR_OK;
  join(s);
  gr_status e = finish_all(s);
  gr_arena_destroy(s->save);
  s->save = NULL;
  return e;
}

void gr_saver_close(gr_saver *s) {
  if (!s) return;
  join(s);
  gr_status_drop(s->failed);
  if (s->save) gr_arena_destroy(s->save);
  ZSTD_freeCCtx(s->zstd);
  free(s->packed);
  free(s->staging);
  if (s->arena) gr_arena_destroy(s->arena);
  free(s);
}
