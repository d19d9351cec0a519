// write.c - writes a rank's slices and their index. See saver.h.
#include <string.h>
#include <zstd.h>
#include "base/hash.h"
#include "base/text.h"
#include "runtime/checkpoint/limits.h"
#include "runtime/checkpoint/saver.h"

// -- Limits ------------------------------------------------------------------------------

// Half of the manifest is for tensors and half for scalars.
enum { MAX_TENSORS = GR_CHECKPOINT_MANIFEST / 2, MAX_SCALARS = GR_CHECKPOINT_MANIFEST / 2 };

// Fills in the largest numbers that frames can have, to bound the size of the index.
static void largest(gr_frame *f, int n, int64_t *offset) {
  for (int i = 0; i < n; i++, *offset += GR_MAX_PACKED)
    f[i] = (gr_frame){GR_MAX_PACKED, UINT64_MAX};
}

gr_status gr_saver_check_plan(gr_saver *s) {
  gr_arena *a = gr_arena_create();
  gr_rank_file file = {.name = "rank-00000.safetensors.zst"};
  gr_index trial = s->plan;
  size_t head = 0, len;
  char *text;
  trial.step = INT64_MAX / 4, trial.ranks = s->spec.ranks;
  trial.files = &file, trial.n_files = s->file.n_pieces > 0;
  if (trial.n_files) head = gr_stored_head(a, s->file.pieces, s->file.n_pieces).len;
  file.header_bytes = (int64_t)head, file.n_header = gr_frames(file.header_bytes);
  file.header = GR_NEW(a, gr_frame, file.n_header + 1);
  largest(file.header, file.n_header, &file.bytes);
  for (int i = 0; i < s->file.n_pieces; i++) {
    gr_stored *p = s->file.pieces[i];
    p->offset = file.bytes, p->hash = UINT64_MAX;
    largest(p->frames, p->n_frames, &file.bytes);
  }
  gr_status e = gr_index_print_readable(a, "manifest.json", &trial, MAX_TENSORS, &text, &len);
  gr_arena_destroy(a);
  return gr_note(e, GR_NOWHERE, "a checkpoint of this run would be unreadable");
}

static gr_status check_scalar(const gr_scalar *all, int i) {
  const char *text = all[i].kind == GR_SCALAR_TEXT ? all[i].text : "";
  bool ok = gr_utf8_valid(all[i].name) && text && gr_utf8_valid(text);
  for (int j = 0; j < i && ok; j++) ok = strcmp(all[i].name, all[j].name) != 0;
  if (!ok)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "scalar '%s' is given twice or is not UTF-8",
                   all[i].name);
  if (strlen(all[i].name) > GR_CHECKPOINT_NAME || strlen(text) > GR_CHECKPOINT_TEXT)
    return gr_fail(GR_ERR_IO, GR_NOWHERE,
                   "scalar '%.64s' has a name of %zu bytes and %zu bytes of text; the limits are "
                   "%d and %d",
                   all[i].name, strlen(all[i].name), strlen(text), GR_CHECKPOINT_NAME,
                   GR_CHECKPOINT_TEXT);
  return GR_OK;
}

// The scalars are kept in s->plan, which the next save overwrites.
gr_status gr_saver_copy_scalars(gr_saver *s, const gr_scalar *scalars, int n) {
  if (n > GR_CHECKPOINT_SCALARS)
    return gr_fail(GR_ERR_IO, GR_NOWHERE, "%d scalars exceed the limit of a checkpoint, %d", n,
                   GR_CHECKPOINT_SCALARS);
  gr_scalar *to = s->plan.scalars = GR_NEW(s->save, gr_scalar, n);
  s->plan.n_scalars = n;
  for (int i = 0; i < n; i++) {
    GR_TRY(check_scalar(scalars, i));
    to[i] = scalars[i];
    to[i].name = gr_arena_strdup(s->save, scalars[i].name);
    to[i].text =
        scalars[i].kind == GR_SCALAR_TEXT ? gr_arena_strdup(s->save, scalars[i].text) : NULL;
  }
  gr_index trial = {.scalars = to, .n_scalars = n, .ranks = 1};
  char *text;
  size_t len;
  return gr_index_print_readable(s->save, "manifest.json", &trial, MAX_SCALARS, &text, &len);
}

// -- Writing -----------------------------------------------------------------------------

// How well a frame compresses, by four parts of it. Weights that train are mostly noise: packing
// them takes far longer than writing them, and saves little.
static bool is_noise(gr_saver *s, const char *data, size_t bytes) {
  enum { PARTS = 4, PART = 1 << 14, ALL = PARTS * PART };
  char *sample = s->packed + GR_MAX_PACKED - ALL;
  if (s->spec.level > GR_CHECKPOINT_PACKS_ALL || bytes < 4 * ALL) return false;
  for (int i = 0; i < PARTS; i++) memcpy(sample + i * PART, data + bytes / PARTS * (size_t)i, PART);
  size_t n = ZSTD_compress2(s->zstd, s->packed, GR_MAX_PACKED - ALL, sample, ALL);
  return !ZSTD_isError(n) && n > ALL - ALL / 8;
}

// The level at which noise is stored as it is.
static bool set_level(gr_saver *s, int level) {
  return !ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel, level));
}

// *data_hash: of the data, which is in the processor's cache before and after.
static gr_status put_frame(gr_saver *s, gr_disk_file *f, const char *data, size_t bytes,
                           gr_frame *out, uint64_t *data_hash) {
  *data_hash = gr_hash_data(data, bytes);
  bool stored =
      is_noise(s, data, bytes) && set_level(s, ZSTD_minCLevel() > -7 ? ZSTD_minCLevel() : -7);
  size_t n = ZSTD_compress2(s->zstd, s->packed, GR_MAX_PACKED, data, bytes);
  if (stored && !set_level(s, s->spec.level))
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "zstd does not take level %d again", s->spec.level);
  if (ZSTD_isError(n))
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "zstd failed to compress: %s", ZSTD_getErrorName(n));
  out->packed = (int64_t)n;
  out->hash = gr_hash_data(s->packed, n);
  return gr_disk_write(f, s->packed, n);
}

// Writes data as frames at offset *at of the file, and advances *at. *hash: of the data.
static gr_status put_frames(gr_saver *s, gr_disk_file *f, const char *data, int64_t bytes,
                            gr_frame *frames, int64_t *offset, uint64_t *hash) {
  int n = gr_frames(bytes);
  uint64_t *hashes = GR_NEW(s->save, uint64_t, n + 1);
  for (int i = 0; i < n; i++) {
    int64_t begin = i * GR_FRAME_BYTES, left = bytes - begin;
    size_t now = (size_t)(left < GR_FRAME_BYTES ? left : GR_FRAME_BYTES);
    GR_TRY(put_frame(s, f, data + begin, now, &frames[i], &hashes[i]));
    *offset += frames[i].packed;
  }
  *hash = gr_slice_hash(s->save, hashes, n);
  return GR_OK;
}

// *data: the bytes of a piece; *staged: of the snapshot, NULL: there is none.
static gr_status find_data(gr_saver *s, const gr_tensor_slice *piece, const char **staged,
                           const char **data) {
  bool fetches = s->spec.in_place && s->staging;
  *data = fetches ? s->staging : *staged ? *staged : piece->data;
  if (*staged) *staged += gr_tensor_slice_bytes(piece);
  return fetches ? s->spec.fetch(s->spec.ctx, piece, s->staging) : GR_OK;
}

static gr_status put_piece(gr_saver *s, gr_disk_file *f, gr_stored *p, const char **staged,
                           int64_t *offset) {
  const char *data;
  p->offset = *offset;
  GR_TRY(find_data(s, &p->piece, staged, &data));
  return put_frames(s, f, data, gr_tensor_slice_bytes(&p->piece), p->frames, offset, &p->hash);
}

static gr_status put_pieces(gr_saver *s, gr_disk_file *f, int64_t *offset) {
  const char *staged = s->spec.in_place ? NULL : s->staging;
  for (int i = 0; i < s->file.n_pieces; i++)
    GR_TRY(gr_note(put_piece(s, f, s->file.pieces[i], &staged, offset), GR_NOWHERE,
                   "at tensor '%s'", s->file.pieces[i]->piece.name));
  return GR_OK;
}

static gr_status put_file(gr_saver *s, const gr_disk_dir *dir, gr_rank_file *file) {
  gr_text head = gr_stored_head(s->save, s->file.pieces, s->file.n_pieces);
  gr_disk_file f;
  GR_TRY(gr_disk_create(dir, file->name, (int64_t)(head.len + ZSTD_compressBound((size_t)s->bytes)),
                        &f));
  file->header_bytes = (int64_t)head.len;
  file->n_header = gr_frames(file->header_bytes);
  file->header = GR_NEW(s->save, gr_frame, file->n_header);
  uint64_t unused;
  gr_status e =
      put_frames(s, &f, head.chars, file->header_bytes, file->header, &file->bytes, &unused);
  if (!e) e = put_pieces(s, &f, &file->bytes);
  if (!e) e = gr_disk_finish(&f);
  gr_disk_abandon(&f);
  return e;
}

gr_status gr_saver_write_index(gr_saver *s, const gr_disk_dir *dir, const gr_index *x,
                               const char *name) {
  char *text;
  size_t len;
  gr_disk_file f;
  GR_TRY(gr_index_print_readable(s->save, name, x, GR_CHECKPOINT_MANIFEST, &text, &len));
  GR_TRY(gr_disk_create(dir, name, (int64_t)len, &f));
  gr_status e = gr_disk_write(&f, text, len);
  if (!e) e = gr_disk_finish(&f);
  gr_disk_abandon(&f);
  return e;
}

const char *gr_saver_index_name(gr_saver *s, int rank) {
  return gr_arena_printf(s->save, "rank-%05d.json", rank);
}

static gr_status write_in(gr_saver *s, const gr_disk_dir *dir) {
  gr_rank_file *file = GR_NEW(s->save, gr_rank_file, 1);
  file->name = gr_arena_printf(s->save, "rank-%05d.safetensors.zst", s->spec.rank);
  s->index = s->plan;
  s->index.step = s->step, s->index.ranks = s->spec.ranks, s->index.files = file;
  s->index.n_scalars = 0;
  if (s->file.n_pieces) {
    s->index.n_files = 1;
    GR_TRY(put_file(s, dir, file));
  }
  return gr_saver_write_index(s, dir, &s->index, gr_saver_index_name(s, s->spec.rank));
}

gr_status gr_saver_write_rank(gr_saver *s) {
  gr_disk_dir root, dir = {.fd = -1};
  gr_status e = gr_disk_open(s->spec.dir, &root);
  if (!e) e = gr_disk_mkdir(&root, s->tmp);
  if (!e) e = gr_disk_enter(&root, s->tmp, &dir);
  if (!e) e = write_in(s, &dir);
  gr_disk_leave(&dir);
  gr_disk_leave(&root);
  return e;
}
