// frames.c - reads the compressed frames of a checkpoint's files. See reader.h.
//
// Memory is sized by the manifest and by the request, never by a compressed frame: a frame that
// expands to more than the manifest states is an error.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include "base/work.h"
#include "runtime/checkpoint/reader.h"

gr_status gr_frame_buffers_open(const gr_checkpoint *c, gr_frame_buffers **out) {
  gr_frame_buffers *b = *out = calloc(1, sizeof *b);
  if (b) b->zstd = ZSTD_createDCtx(), b->packed = malloc(GR_MAX_PACKED);
  if (b) b->data = malloc((size_t)GR_FRAME_BYTES);
  if (b && b->zstd && b->packed && b->data) return GR_OK;
  gr_frame_buffers_close(b);
  *out = NULL;
  return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory to read '%s'", c->path);
}

void gr_frame_buffers_close(gr_frame_buffers *b) {
  if (!b) return;
  ZSTD_freeDCtx(b->zstd);
  free(b->packed), free(b->data), free(b);
}

gr_status gr_frame_damaged(const gr_frame_cursor *r, const char *what) {
  const char *path = r->c->path, *name = strrchr(path, '/');
  gr_status s = gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "'%s/%s' is damaged at %s%s%s: %s", path,
                        r->file->name, r->tensor ? "tensor '" : "its header",
                        r->tensor ? r->tensor : "", r->tensor ? "'" : "", what);
  return gr_hint(s,
                 "`graphrun ckpt verify %.*s` shows which are whole; predict, eval and export read "
                 "another one by --which=last or --which=STEP",
                 name ? (int)(name - path) : 1, name ? path : ".");
}

gr_status gr_frame_open(const gr_checkpoint *c, const gr_rank_file *f, gr_frame_buffers *b,
                        gr_frame_cursor *out) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", c->path, f->name);
  *out = (gr_frame_cursor){.c = c, .file = f, .buffers = b};
  out->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC |
                           O_NOFOLLOW);  // O_NONBLOCK: opening a FIFO must not block
  if (out->fd >= 0) return GR_OK;
  return gr_fail_errno(GR_ERR_CHECKPOINT, errno, "cannot open '%s'", path);
}

static gr_status read_packed(gr_frame_cursor *r, int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    ssize_t n = pread(r->fd, r->buffers->packed + done, (size_t)(bytes - done), r->offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return gr_fail_errno(GR_ERR_IO, errno, "cannot read '%s/%s'", r->c->path, r->file->name);
    if (!n) return gr_frame_damaged(r, "the file ends early");
    done += n;
  }
  return GR_OK;
}

gr_status gr_frame_next(gr_frame_cursor *r, const gr_frame *f, int64_t bytes) {
  gr_frame_buffers *b = r->buffers;
  GR_TRY(read_packed(r, f->packed));
  if (gr_frame_hash(r->c->index.version, b->packed, (size_t)f->packed) != f->hash)
    return gr_frame_damaged(r, "its bytes do not match the hash in the manifest");
  size_t n =
      ZSTD_decompressDCtx(b->zstd, b->data, (size_t)GR_FRAME_BYTES, b->packed, (size_t)f->packed);
  if (ZSTD_isError(n)) return gr_frame_damaged(r, ZSTD_getErrorName(n));
  if ((int64_t)n != bytes) return gr_frame_damaged(r, "a frame's size differs from the manifest's");
  r->offset += f->packed;
  return gr_work_step(bytes);
}

int64_t gr_frame_bytes(int64_t all, int i) {
  int64_t left = all - i * GR_FRAME_BYTES;
  return left < GR_FRAME_BYTES ? left : GR_FRAME_BYTES;
}
