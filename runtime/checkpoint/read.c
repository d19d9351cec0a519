// read.c - opens a checkpoint, and reads slices of its tensors.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/text.h"
#include "runtime/checkpoint/reader.h"

// -- Opening -----------------------------------------------------------------------------

static gr_status check_files(gr_checkpoint *c) {
  for (const gr_rank_file *f = c->index.files; f < c->index.files + c->index.n_files; f++) {
    char *path = gr_arena_printf(c->arena, "%s/%s", c->path, f->name);
    struct stat s;
    if (lstat(path, &s)) return gr_fail_errno(GR_ERR_CHECKPOINT, errno, "cannot open '%s'", path);
    if (!S_ISREG(s.st_mode) || s.st_size != f->bytes)
      return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                     "'%s' is damaged: it has %lld bytes, and by the manifest %lld", path,
                     (long long)s.st_size, (long long)f->bytes);
  }
  return GR_OK;
}

static gr_status open_index(gr_checkpoint *c) {
  char *path = gr_arena_printf(c->arena, "%s/manifest.json", c->path);
  struct stat s;
  if (lstat(path, &s))
    return gr_fail_errno(GR_ERR_CHECKPOINT, errno, "'%s' is not a checkpoint: %s", c->path,
                         "manifest.json");
  GR_TRY(gr_index_read(c->arena, path, &c->index));
  GR_TRY(gr_note(gr_index_covers(&c->index), GR_NOWHERE, "in '%s'", path));
  return check_files(c);
}

gr_status gr_checkpoint_open(const char *path, gr_checkpoint **out) {
  *out = NULL;
  gr_checkpoint *c = calloc(1, sizeof *c);
  if (!c) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory to open a checkpoint");
  c->arena = gr_arena_create();
  c->path = gr_arena_strdup(c->arena, path);
  gr_status e = open_index(c);
  if (e)
    gr_checkpoint_close(c);
  else
    *out = c;
  return e;
}

void gr_checkpoint_close(gr_checkpoint *c) {
  if (!c) return;
  gr_frame_buffers_close(c->buffers);
  gr_arena_destroy(c->arena);
  free(c);
}

const char *gr_checkpoint_path(const gr_checkpoint *c) { return c->path; }
int64_t gr_checkpoint_step(const gr_checkpoint *c) { return c->index.step; }
int gr_checkpoint_ranks(const gr_checkpoint *c) { return c->index.ranks; }

const gr_scalar *gr_checkpoint_scalars(const gr_checkpoint *c, int *n) {
  *n = c->index.n_scalars;
  return c->index.scalars;
}

const gr_scalar *gr_checkpoint_scalar(const gr_checkpoint *c, const char *name) {
  for (int i = 0; i < c->index.n_scalars; i++)
    if (!strcmp(c->index.scalars[i].name, name)) return &c->index.scalars[i];
  return NULL;
}

bool gr_checkpoint_is_finite(const gr_checkpoint *c) {
  const gr_scalar *s = gr_checkpoint_scalar(c, GR_CHECKPOINT_FINITE);
  return !s || s->kind != GR_SCALAR_INT || s->i;
}

const gr_tensor_slice *gr_checkpoint_tensor(const gr_checkpoint *c, const char *name) {
  uint32_t t;
  return gr_map_find(&c->index.by_name, name, &t) ? &c->index.tensors[t] : NULL;
}

const gr_tensor_slice *gr_checkpoint_tensors(const gr_checkpoint *c, int *n) {
  *n = c->index.n_tensors;
  return c->index.tensors;
}

// Allocates the buffers on the first read, because listing a directory needs none.
static gr_status get_buffers(gr_checkpoint *c) {
  return c->buffers ? GR_OK : gr_frame_buffers_open(c, &c->buffers);
}

// -- Reading slices ----------------------------------------------------------------------

static void put_shape(gr_text *t, const gr_tensor_slice *p) {
  gr_text_printf(t, "%s[", p->dtype);
  for (int d = 0; d < p->rank; d++)
    gr_text_printf(t, "%s%lld", d ? ", " : "", (long long)p->dims[d]);
  gr_text_put(t, "]");
}

static gr_status missing(gr_checkpoint *c, const char *name) {
  const char *near = gr_text_nearest(name, c->index.by_name.keys, (int)c->index.by_name.n);
  gr_status e =
      gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "checkpoint '%s' has no tensor '%s'", c->path, name);
  return near ? gr_hint(e, "it has '%s'; do the model and the optimizer match those that wrote it?",
                        near)
              : gr_hint(e, "do the model and the optimizer match those that wrote it?");
}

// Finds the tensor that `want` is a slice of; GR_ERR_CHECKPOINT when dtype or shape differ.
static gr_status match(gr_checkpoint *c, const gr_tensor_slice *want, uint32_t *out) {
  if (!gr_map_find(&c->index.by_name, want->name, out)) return missing(c, want->name);
  const gr_tensor_slice *has = &c->index.tensors[*out];
  bool same = !strcmp(has->dtype, want->dtype) && has->rank == want->rank, inside = true;
  for (int d = 0; same && d < has->rank; d++) {
    same = has->dims[d] == want->dims[d];
    inside &= want->size[d] >= 0 && want->offset[d] >= 0 &&
              want->offset[d] <= want->dims[d] - want->size[d];
  }
  if (same && inside) return GR_OK;
  if (same)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "the requested slice exceeds tensor '%s'", want->name);
  gr_text t = gr_text_make(c->arena);
  gr_text_printf(&t, "tensor '%s' is ", want->name);
  put_shape(&t, want);
  gr_text_put(&t, " here and ");
  put_shape(&t, has);
  return gr_hint(gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "%s in checkpoint '%s'", t.chars, c->path),
                 "the model must have the sizes of the run that wrote the checkpoint");
}

// Iterates over the rows of the intersection of a stored slice and the requested one. A row is
// contiguous in both.
typedef struct box {
  int64_t low[GR_CHECKPOINT_DIMS], size[GR_CHECKPOINT_DIMS];  // in the tensor
  int64_t row[GR_CHECKPOINT_DIMS];                            // the current row, relative to low
} box;

static bool intersect(const gr_tensor_slice *a, const gr_tensor_slice *b, box *out) {
  *out = (box){0};
  for (int d = 0; d < a->rank; d++) {
    int64_t low = a->offset[d] > b->offset[d] ? a->offset[d] : b->offset[d];
    int64_t ea = a->offset[d] + a->size[d], eb = b->offset[d] + b->size[d];
    out->low[d] = low, out->size[d] = (ea < eb ? ea : eb) - low;
    if (out->size[d] <= 0) return false;
  }
  return true;
}

// Offset of the current row in a slice's memory, in elements.
static int64_t row_offset(const gr_tensor_slice *p, const box *b) {
  int64_t offset = 0;
  for (int d = 0; d < p->rank; d++)
    offset = offset * p->size[d] + b->low[d] + b->row[d] - p->offset[d];
  return offset;
}

static bool next_row(const gr_tensor_slice *p, box *b) {
  for (int d = p->rank - 2; d >= 0; d--) {
    if (++b->row[d] < b->size[d]) return true;
    b->row[d] = 0;
  }
  return false;
}

// Copies bytes [from, from + n) of a stored slice to `to`. Rows come in increasing order, so each
// frame is decompressed once; *loaded is the number of the frame in buffers->data.
static gr_status copy_out(gr_frame_cursor *r, const gr_stored *p, int64_t begin, int64_t n,
                          char *to, int *loaded) {
  int64_t all = gr_tensor_slice_bytes(&p->piece);
  while (n > 0) {
    int frame = (int)(begin / GR_FRAME_BYTES);
    for (; *loaded < frame; ++*loaded) {
      const gr_frame *f = &p->frames[*loaded + 1];
      if (*loaded + 1 < frame)
        r->offset += f->packed;
      else
        GR_TRY(gr_frame_next(r, f, gr_frame_bytes(all, frame)));
    }
    int64_t in = begin % GR_FRAME_BYTES, left = gr_frame_bytes(all, frame) - in;
    int64_t now = n < left ? n : left;
    memcpy(to, r->buffers->data + in, (size_t)now);
    to += now, begin += now, n -= now;
  }
  return GR_OK;
}

static gr_status read_piece(gr_checkpoint *c, const gr_stored *p, const gr_tensor_slice *want) {
  box b;
  gr_frame_cursor r;
  if (!intersect(&p->piece, want, &b)) return GR_OK;
  GR_TRY(gr_frame_open(c, &c->index.files[p->file], c->buffers, &r));
  r.tensor = want->name;
  r.offset = p->offset;
  int64_t each = gr_dtype_bytes(want->dtype, NULL);
  int64_t row = each * (want->rank ? b.size[want->rank - 1] : 1);
  int loaded = -1;
  gr_status e = GR_OK;
  do
    e = copy_out(&r, p, each * row_offset(&p->piece, &b), row,
                 (char *)want->data + each * row_offset(want, &b), &loaded);
  while (!e && next_row(want, &b));
  close(r.fd);
  return e;
}

gr_status gr_checkpoint_read(gr_checkpoint *c, const gr_tensor_slice *want) {
  uint32_t t;
  GR_TRY(match(c, want, &t));
  GR_TRY(get_buffers(c));
  for (int i = c->index.first[t]; i < c->index.first[t + 1]; i++)
    GR_TRY(read_piece(c, &c->index.pieces[i], want));
  return GR_OK;
}

gr_status gr_checkpoint_read_all(gr_checkpoint *c, const gr_tensor_slice *want, int n, bool exact) {
  bool *wanted = GR_NEW(c->arena, bool, c->index.n_tensors + 1);
  uint32_t t;
  for (int i = 0; i < n; i++) {
    GR_TRY(match(c, &want[i], &t));
    wanted[t] = true;
  }
  for (int i = 0; exact && i < c->index.n_tensors; i++)
    if (!wanted[i])
      return gr_hint(gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                             "checkpoint '%s' has a tensor '%s' that the model does not have",
                             c->path, c->index.tensors[i].name),
                     "do the model and the optimizer match those that wrote it?");
  for (int i = 0; i < n; i++)
    if (want[i].data) GR_TRY(gr_checkpoint_read(c, &want[i]));
  return GR_OK;
}
