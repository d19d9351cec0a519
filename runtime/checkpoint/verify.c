// verify.c - reads every byte of a checkpoint once and checks it, on all processors. See reader.h.
#include <string.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/port.h"
#include "base/tasks.h"
#include "runtime/checkpoint/reader.h"

enum { FRAMES = 16, THREADS = 8 };  // frames of a task, at least, but for the last; threads

// Consecutive frames of a slice. In version 1 all of a slice, whose hash runs through its data.
typedef struct part {
  const gr_stored *of;
  int first, n;
  int64_t offset;    // of the first frame, in the file
  uint64_t *hashes;  // of the data of the slice's frames
} part;

typedef struct verifying {
  gr_checkpoint *c;
  part *parts;
  int n;
  int *first, n_tasks;  // task i has parts [first[i], first[i + 1])
} verifying;

static gr_status verify_header(gr_frame_cursor *r, gr_arena *a) {
  const gr_rank_file *f = r->file;
  gr_text head = gr_stored_head(a, f->pieces, f->n_pieces);
  if ((int64_t)head.len != f->header_bytes)
    return gr_frame_damaged(r, "it is not the header of these tensors");
  for (int i = 0; i < f->n_header; i++) {
    int64_t n = gr_frame_bytes(f->header_bytes, i);
    GR_TRY(gr_frame_next(r, &f->header[i], n));
    if (memcmp(r->buffers->data, head.chars + i * GR_FRAME_BYTES, (size_t)n))
      return gr_frame_damaged(r, "it is not the header of these tensors");
  }
  return GR_OK;
}

static gr_status verify_headers(gr_checkpoint *c, gr_arena *a) {
  gr_frame_buffers *b;
  GR_TRY(gr_frame_buffers_open(c, &b));
  gr_status s = GR_OK;
  for (int i = 0; i < c->index.n_files && !s; i++) {
    gr_frame_cursor r;
    s = gr_frame_open(c, &c->index.files[i], b, &r);
    if (!s) s = verify_header(&r, a);
    if (r.fd >= 0) close(r.fd);
  }
  gr_frame_buffers_close(b);
  return s;
}

static gr_status mismatch(const gr_frame_cursor *r) {
  return gr_frame_damaged(r, "its data do not match the hash in the manifest");
}

static gr_status verify_frames(gr_frame_cursor *r, const part *p) {
  int64_t bytes = gr_tensor_slice_bytes(&p->of->piece);
  uint64_t hash = GR_HASH_START;
  bool first_version = r->c->index.version == 1;
  for (int i = p->first; i < p->first + p->n; i++) {
    size_t n = (size_t)gr_frame_bytes(bytes, i);
    GR_TRY(gr_frame_next(r, &p->of->frames[i], (int64_t)n));
    if (first_version)
      hash = gr_hash_bytes(hash, r->buffers->data, n);
    else
      p->hashes[i] = gr_hash_data(r->buffers->data, n);
  }
  return first_version && hash != p->of->hash ? mismatch(r) : GR_OK;
}

static gr_status verify_part(const gr_checkpoint *c, gr_frame_buffers *b, const part *p) {
  gr_frame_cursor r;
  gr_status s = gr_frame_open(c, &c->index.files[p->of->file], b, &r);
  r.offset = p->offset, r.tensor = p->of->piece.name;
  if (!s) s = verify_frames(&r, p);
  if (r.fd >= 0) close(r.fd);
  return s;
}

static gr_status verify_parts(void *arg, int i) {
  const verifying *v = arg;
  gr_frame_buffers *b;
  GR_TRY(gr_frame_buffers_open(v->c, &b));
  gr_status s = GR_OK;
  for (int k = v->first[i]; k < v->first[i + 1] && !s; k++) s = verify_part(v->c, b, &v->parts[k]);
  gr_frame_buffers_close(b);
  return s;
}

// In the order of the files, so that the first error is the same on every number of threads.
static void list_parts(verifying *v, gr_arena *a) {
  const gr_index *x = &v->c->index;
  int most = 0;
  for (int i = 0; i < x->n_pieces; i++) most += 1 + x->pieces[i].n_frames / FRAMES;
  v->parts = GR_NEW(a, part, most + 1);
  for (const gr_rank_file *f = x->files; f < x->files + x->n_files; f++)
    for (int i = 0; i < f->n_pieces; i++) {
      const gr_stored *p = f->pieces[i];
      uint64_t *hashes = GR_NEW(a, uint64_t, p->n_frames + 1);
      int64_t offset = p->offset;
      int step = x->version == 1 ? p->n_frames : FRAMES;
      for (int first = 0; first < p->n_frames; first += step) {
        int left = p->n_frames - first, n = left < step ? left : step;
        v->parts[v->n++] = (part){p, first, n, offset, hashes};
        for (int k = 0; k < n; k++) offset += p->frames[first + k].packed;
      }
    }
}

// Small slices share a task, and with it buffers of 8 MiB.
static void make_tasks(verifying *v, gr_arena *a) {
  v->first = GR_NEW(a, int, v->n + 1);
  for (int i = 0, frames = FRAMES; i < v->n; i++) {
    if (frames >= FRAMES) v->first[v->n_tasks++] = i, frames = 0;
    frames += v->parts[i].n;
  }
  v->first[v->n_tasks] = v->n;
}

static gr_status compare_hashes(const verifying *v, gr_arena *a) {
  for (int i = 0; i < v->n; i++) {
    const gr_stored *p = v->parts[i].of;
    if (v->parts[i].first || gr_slice_hash(a, v->parts[i].hashes, p->n_frames) == p->hash) continue;
    gr_frame_cursor r = {
        .c = v->c, .file = &v->c->index.files[p->file], .fd = -1, .tensor = p->piece.name};
    return mismatch(&r);
  }
  return GR_OK;
}

gr_status gr_checkpoint_verify(gr_checkpoint *c) {
  gr_arena *a = gr_arena_create();
  verifying v = {.c = c};
  gr_status s = verify_headers(c, a);
  list_parts(&v, a);
  make_tasks(&v, a);
  if (!s) s = gr_tasks_run(THREADS < gr_processors() ? THREADS : 0, v.n_tasks, verify_parts, &v);
  if (!s && c->index.version > 1) s = compare_hashes(&v, a);
  return gr_arena_end(a, s);
}
