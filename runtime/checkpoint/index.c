// index.c - groups, joins and checks the slices of a checkpoint. See index.h.
#include "runtime/checkpoint/index.h"
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/text.h"
#include "runtime/checkpoint/limits.h"

static const struct {
  const char *name, *safetensors;
  int bytes;
} dtypes[] = {{"f64", "F64", 8}, {"i64", "I64", 8},   {"f32", "F32", 4}, {"i32", "I32", 4},
              {"f16", "F16", 2}, {"bf16", "BF16", 2}, {"u8", "U8", 1}};

int gr_dtype_bytes(const char *dtype, const char **safetensors) {
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (!strcmp(dtypes[i].name, dtype)) {
      if (safetensors) *safetensors = dtypes[i].safetensors;
      return dtypes[i].bytes;
    }
  return 0;
}

uint64_t gr_frame_hash(int version, const void *data, size_t bytes) {
  return version == 1 ? gr_hash_bytes(GR_HASH_START, data, bytes) : gr_hash_data(data, bytes);
}

uint64_t gr_slice_hash(gr_arena *a, const uint64_t *frames, int n) {
  unsigned char *bytes = gr_arena_alloc(a, 8 * (size_t)n + 1);
  for (int i = 0; i < 8 * n; i++) bytes[i] = (unsigned char)(frames[i / 8] >> (8 * (i % 8)));
  return gr_hash_data(bytes, 8 * (size_t)n);
}

int gr_frames(int64_t bytes) { return (int)((bytes + GR_FRAME_BYTES - 1) / GR_FRAME_BYTES); }

gr_tensor_slice gr_tensor_slice_whole(const char *name, const char *dtype, int rank,
                                      const int64_t *dims, void *data) {
  gr_tensor_slice p = {.name = name, .dtype = dtype, .rank = rank, .data = data};
  for (int d = 0; d < rank && d < GR_CHECKPOINT_DIMS; d++) p.dims[d] = p.size[d] = dims[d];
  return p;
}

// bytes * size[0] * ... * size[rank - 1]; -1 when a size is negative or the product out of range.
// Of a tensor without elements the other sizes count: strides are their products.
static int64_t product(int64_t bytes, int rank, const int64_t *size) {
  bool none = false;
  for (int d = 0; d < rank; d++) {
    int64_t n = size[d] ? size[d] : 1;
    none |= !size[d];
    if (n < 0 || __builtin_mul_overflow(bytes, n, &bytes) || bytes > INT64_MAX / 4) return -1;
  }
  return none ? 0 : bytes;
}

int64_t gr_tensor_slice_bytes(const gr_tensor_slice *p) {
  int each = gr_dtype_bytes(p->dtype, NULL);
  if (!each || p->rank < 0 || p->rank > GR_CHECKPOINT_DIMS) return -1;
  return product(each, p->rank, p->size);
}

bool gr_tensor_slice_same_shape(const gr_tensor_slice *a, const gr_tensor_slice *b) {
  bool same = a->rank == b->rank;
  for (int d = 0; same && d < a->rank; d++) same = a->dims[d] == b->dims[d];
  return same;
}

gr_status gr_tensor_slice_runs(const gr_tensor_slice *p,
                               gr_status (*read)(void *, int64_t, int64_t, int64_t), void *ctx) {
  int whole = p->rank;  // from this axis on the slice covers the whole tensor
  int64_t run = 1, runs = 1;
  while (whole > 0 && p->size[whole - 1] == p->dims[whole - 1]) run *= p->dims[--whole];
  if (whole > 0) run *= p->size[--whole];
  for (int d = 0; d < whole; d++) runs *= p->size[d];
  for (int64_t r = 0; r < runs; r++) {
    int64_t rest = r, first = 0, stride = 1;
    for (int d = p->rank; d--; stride *= p->dims[d]) {
      int64_t offset = p->offset[d];
      if (d < whole) offset += rest % p->size[d], rest /= p->size[d];
      first += offset * stride;
    }
    GR_TRY(read(ctx, first, run, r * run));
  }
  return GR_OK;
}

static gr_status check_slice(const gr_tensor_slice *p) {
  size_t len = strlen(p->name);
  if (!len || len > GR_CHECKPOINT_NAME)
    return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                   "a tensor's name must have 1 to %d bytes, not %zu", GR_CHECKPOINT_NAME, len);
  if (strchr(p->name, '@') || !gr_utf8_valid(p->name))
    return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                   "a tensor cannot be called '%s': names are UTF-8, and '@' marks slices",
                   p->name);
  if (gr_tensor_slice_bytes(p) < 0 || product(8, p->rank, p->dims) < 0)
    return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                   "tensor '%s' has an unknown dtype ('%s') or an invalid shape", p->name,
                   p->dtype);
  for (int d = 0; d < p->rank; d++)
    if (p->offset[d] < 0 || p->offset[d] > p->dims[d] - p->size[d])
      return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                     "a slice of tensor '%s' exceeds it in dimension %d", p->name, d);
  return GR_OK;
}

static gr_status check_same_tensor(const gr_tensor_slice *a, const gr_tensor_slice *b) {
  if (!strcmp(a->dtype, b->dtype) && gr_tensor_slice_same_shape(a, b)) return GR_OK;
  return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                 "slices of tensor '%s' disagree on its shape or dtype", a->name);
}

gr_status gr_index_group(gr_arena *a, gr_index *x, const gr_stored *flat, int n) {
  x->by_name = gr_map_make(a);
  x->tensors = GR_NEW(a, gr_tensor_slice, n);
  x->pieces = GR_NEW(a, gr_stored, n);
  uint32_t *of = GR_NEW(a, uint32_t, n);
  for (int i = 0; i < n; i++) {
    const gr_tensor_slice *p = &flat[i].piece;
    GR_TRY(check_slice(p));
    if (!gr_map_find(&x->by_name, p->name, &of[i])) {
      of[i] = (uint32_t)x->n_tensors;
      x->tensors[x->n_tensors++] = gr_tensor_slice_whole(p->name, p->dtype, p->rank, p->dims, NULL);
      gr_map_put(&x->by_name, p->name, of[i]);
    }
    GR_TRY(check_same_tensor(p, &x->tensors[of[i]]));
  }
  x->first = GR_NEW(a, int, x->n_tensors + 1);
  for (int i = 0; i < n; i++) x->first[of[i] + 1] += gr_tensor_slice_bytes(&flat[i].piece) > 0;
  for (int t = 0; t < x->n_tensors; t++) x->first[t + 1] += x->first[t];
  x->n_pieces = x->first[x->n_tensors];
  int *next = GR_NEW(a, int, x->n_tensors + 1);
  memcpy(next, x->first, sizeof(int) * (size_t)(x->n_tensors + 1));
  for (int i = 0; i < n; i++)
    if (gr_tensor_slice_bytes(&flat[i].piece) > 0) x->pieces[next[of[i]]++] = flat[i];
  return GR_OK;
}

static bool overlap(const gr_tensor_slice *a, const gr_tensor_slice *b) {
  for (int d = 0; d < a->rank; d++)
    if (a->offset[d] >= b->offset[d] + b->size[d] || b->offset[d] >= a->offset[d] + a->size[d])
      return false;
  return true;
}

gr_status gr_index_covers(const gr_index *x) {
  for (int t = 0; t < x->n_tensors; t++) {
    int64_t bytes = 0;
    for (int i = x->first[t]; i < x->first[t + 1]; i++) {
      bytes += gr_tensor_slice_bytes(&x->pieces[i].piece);
      for (int j = x->first[t]; j < i; j++)
        if (overlap(&x->pieces[i].piece, &x->pieces[j].piece))
          return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "two slices of tensor '%s' overlap",
                         x->tensors[t].name);
    }
    if (bytes != gr_tensor_slice_bytes(&x->tensors[t]))
      return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                     "the slices of tensor '%s' hold %lld of %lld bytes", x->tensors[t].name,
                     (long long)bytes, (long long)gr_tensor_slice_bytes(&x->tensors[t]));
  }
  return GR_OK;
}

static int by_place(const void *a, const void *b) {
  const gr_stored *x = *(gr_stored *const *)a, *y = *(gr_stored *const *)b;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

static int64_t packed(const gr_frame *f, int n) {
  int64_t sum = 0;
  for (int i = 0; i < n; i++) sum += f[i].packed;
  return sum;
}

gr_status gr_index_place(gr_arena *a, gr_index *x) {
  int *count = GR_NEW(a, int, x->n_files);
  for (int i = 0; i < x->n_pieces; i++) count[x->pieces[i].file]++;
  for (int f = 0; f < x->n_files; f++) x->files[f].pieces = GR_NEW(a, gr_stored *, count[f]);
  for (int i = 0; i < x->n_pieces; i++) {
    gr_rank_file *f = &x->files[x->pieces[i].file];
    f->pieces[f->n_pieces++] = &x->pieces[i];
  }
  for (gr_rank_file *f = x->files; f < x->files + x->n_files; f++) {
    if (f->n_pieces) qsort(f->pieces, (size_t)f->n_pieces, sizeof *f->pieces, by_place);
    int64_t offset = packed(f->header, f->n_header);
    for (int i = 0; i < f->n_pieces; i++) {
      if (f->pieces[i]->offset != offset) break;
      offset += packed(f->pieces[i]->frames, f->pieces[i]->n_frames);
    }
    if (offset != f->bytes)
      return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                     "the slices in '%s' have gaps or do not end at its end", f->name);
  }
  return GR_OK;
}

gr_status gr_index_join(gr_arena *a, const gr_index *parts, int n, gr_index *out) {
  int n_files = 0, n_pieces = 0, p = 0;
  for (int i = 0; i < n; i++)
    n_files += parts[i].n_files, n_pieces += parts[i].n_pieces + parts[i].n_tensors;
  *out = (gr_index){.step = parts[0].step, .ranks = n};
  out->files = GR_NEW(a, gr_rank_file, n_files);
  gr_stored *flat = GR_NEW(a, gr_stored, n_pieces);
  for (int i = 0; i < n; i++) {
    for (int t = 0; t < parts[i].n_tensors; t++) {
      flat[p] =
          (gr_stored){.piece = parts[i].tensors[t]};  // keeps tensors of which no rank has data
      memset(flat[p].piece.size, 0, sizeof flat[p].piece.size);
      p += flat[p].piece.rank > 0;
      for (int j = parts[i].first[t]; j < parts[i].first[t + 1]; j++, p++)
        flat[p] = parts[i].pieces[j], flat[p].file += out->n_files;
    }
    for (int f = 0; f < parts[i].n_files; f++) {
      out->files[out->n_files] = parts[i].files[f];
      out->files[out->n_files].pieces = NULL, out->files[out->n_files++].n_pieces = 0;
    }
  }
  GR_TRY(gr_index_group(a, out, flat, p));
  GR_TRY(gr_index_covers(out));
  return gr_index_place(a, out);
}

static void head_entry(gr_text *t, const gr_tensor_slice *p, int64_t begin, int64_t end) {
  const char *type = "";
  gr_dtype_bytes(p->dtype, &type);
  gr_text_printf(t, ":{\"dtype\":\"%s\",\"shape\":[", type);
  for (int d = 0; d < p->rank; d++)
    gr_text_printf(t, "%s%lld", d ? "," : "", (long long)p->size[d]);
  gr_text_printf(t, "],\"data_offsets\":[%lld,%lld]}", (long long)begin, (long long)end);
}

static void head_name(gr_arena *a, gr_text *t, const gr_tensor_slice *p) {
  gr_text name = gr_text_make(a);
  gr_text_put(&name, p->name);
  bool whole = true;
  for (int d = 0; d < p->rank; d++) whole &= p->size[d] == p->dims[d];
  for (int d = 0; !whole && d < p->rank; d++)
    gr_text_printf(&name, "%c%lld", d ? ',' : '@', (long long)p->offset[d]);
  gr_text_json(t, name.chars);
}

gr_text gr_safetensors_header(gr_arena *a, const char *metadata, const gr_tensor_slice *p, int n) {
  gr_text t = gr_text_make(a);
  gr_text_putn(&t, "\0\0\0\0\0\0\0\0", 8);  // room for the length
  gr_text_printf(&t, "{\"__metadata__\":{%s}", metadata);
  int64_t begin = 0, end;
  for (int i = 0; i < n; i++, begin = end) {
    end = begin + gr_tensor_slice_bytes(&p[i]);
    gr_text_put(&t, ",");
    head_name(a, &t, &p[i]);
    head_entry(&t, &p[i], begin, end);
  }
  gr_text_put(&t, "}");
  while (t.len % 8) gr_text_put(&t, " ");
  for (int i = 0; i < 8; i++) t.chars[i] = (char)((t.len - 8) >> (8 * i));
  return t;
}

gr_text gr_safetensors_head(gr_arena *a, const gr_tensor_slice *p, int n) {
  return gr_safetensors_header(
      a,
      "\"format\":\"graphrun\",\"slices\":\"NAME@OFFSETS is the piece of NAME that begins there\"",
      p, n);
}

gr_text gr_stored_head(gr_arena *a, gr_stored *const *pieces, int n) {
  gr_tensor_slice *p = GR_NEW(a, gr_tensor_slice, n + 1);
  for (int i = 0; i < n; i++) p[i] = pieces[i]->piece;
  return gr_safetensors_head(a, p, n);
}
