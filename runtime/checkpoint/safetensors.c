// safetensors.c - reads the header and converts slices to f32. See safetensors.h.
#include "runtime/checkpoint/safetensors.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/json.h"
#include "base/output.h"
#include "base/work.h"
#include "runtime/checkpoint/chunks.h"
#include "runtime/checkpoint/index.h"

enum { MAX_HEADER = 100 << 20 };

struct gr_safetensors {
  gr_arena *arena;
  const char *path;
  int fd;
  int64_t bytes, data;  // size of the file, and offset of its data
  gr_tensor_slice *tensors;
  int64_t *begin;  // offset of each tensor, from `data`
  int n;
  char *chunk;
};

static gr_status damaged(const gr_safetensors *s, const char *what) {
  return gr_hint(gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                         "'%s' is damaged or not a safetensors file: %s", s->path, what),
                 "copy or export it again");
}

static gr_status read_at(const gr_safetensors *s, int64_t offset, void *to, int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    int64_t left = bytes - done;
    size_t most = (size_t)(left < gr_chunks.read ? left : gr_chunks.read);
    ssize_t n = pread(s->fd, (char *)to + done, most, offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return gr_fail_errno(GR_ERR_IO, errno, "cannot read '%s'", s->path);
    if (!n) return damaged(s, "it ends early");
    GR_TRY(gr_work_step(n));
    done += n;
  }
  return GR_OK;
}

// ---- The header ---------------------------------------------------------------------------

// The file's dtype in the notation of gr_tensor_slice, or unchanged if it is not supported.
static const char *dtype_of(const char *file_dtype) {
  static const char *const names[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "u8"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *name;
    gr_dtype_bytes(names[i], &name);
    if (!strcmp(name, file_dtype)) return names[i];
  }
  return file_dtype;
}

static bool read_ints(const gr_json *list, int64_t *out, int n) {
  if (!list || list->n != n) return false;
  const gr_json *v = list->first;
  for (int i = 0; i < n; i++, v = v->next) {
    if (v->kind != GR_JSON_INT || v->i < 0) return false;
    out[i] = v->i;
  }
  return true;
}

static gr_status read_tensor(gr_safetensors *s, const gr_json *v) {
  const gr_json *dtype = gr_json_get(v, "dtype", GR_JSON_TEXT);
  const gr_json *shape = gr_json_get(v, "shape", GR_JSON_ARRAY);
  int64_t dims[GR_CHECKPOINT_DIMS], range[2];
  bool ok = dtype && shape && shape->n <= GR_CHECKPOINT_DIMS && read_ints(shape, dims, shape->n) &&
            read_ints(gr_json_get(v, "data_offsets", GR_JSON_ARRAY), range, 2);
  if (!ok) return gr_note(damaged(s, "its header"), GR_NOWHERE, "at tensor '%s'", v->name);
  gr_tensor_slice p = gr_tensor_slice_whole(v->name, dtype_of(dtype->text), shape->n, dims, NULL);
  int64_t bytes = gr_tensor_slice_bytes(&p), has = range[1] - range[0];
  bool known = gr_dtype_bytes(p.dtype, NULL) > 0;
  if (range[1] > s->bytes - s->data || has < 0 || (known && bytes != has))
    return gr_note(damaged(s, "a tensor's offsets are outside of the data"), GR_NOWHERE,
                   "at tensor '%s'", v->name);
  s->begin[s->n] = range[0];
  s->tensors[s->n++] = p;
  return GR_OK;
}

static gr_status read_header(gr_safetensors *s) {
  unsigned char head[8];
  uint64_t len = 0;
  if (s->bytes < 8) return damaged(s, "it has no header");
  GR_TRY(read_at(s, 0, head, 8));
  for (int i = 8; i--;) len = len << 8 | head[i];
  if (len > MAX_HEADER || (int64_t)len > s->bytes - 8)
    return damaged(s, "its header is longer than the file");
  char *text = gr_arena_alloc(s->arena, len + 1);
  GR_TRY(read_at(s, 8, text, (int64_t)len));
  text[len] = 0, s->data = 8 + (int64_t)len;
  const gr_json *root;
  gr_json_error why;
  if (!gr_json_read(s->arena, text, len, &root, &why)) return damaged(s, why.why);
  if (root->kind != GR_JSON_OBJECT) return damaged(s, "its header is not a JSON object");
  s->tensors = GR_NEW(s->arena, gr_tensor_slice, root->n + 1);
  s->begin = GR_NEW(s->arena, int64_t, root->n + 1);
  for (const gr_json *v = root->first; v; v = v->next)
    if (strcmp(v->name, "__metadata__")) GR_TRY(read_tensor(s, v));
  return GR_OK;
}

static gr_status open_file(gr_safetensors *s) {
  struct stat st;
  GR_TRY(gr_file_open(s->path, GR_ERR_CHECKPOINT, &s->fd));
  if (fstat(s->fd, &st))
    return gr_fail_errno(GR_ERR_CHECKPOINT, errno, "cannot open '%s'", s->path);
  s->bytes = st.st_size;
  return read_header(s);
}

gr_status gr_safetensors_open(const char *path, gr_safetensors **out) {
  gr_arena *a = gr_arena_create();
  gr_safetensors *s = GR_NEW(a, gr_safetensors, 1);
  *out = NULL;
  s->arena = a, s->path = gr_arena_strdup(a, path), s->fd = -1;
  s->chunk = gr_arena_alloc(a, (size_t)gr_chunks.converted);
  gr_status e = open_file(s);
  if (e)
    gr_safetensors_close(s);
  else
    *out = s;
  return e;
}

void gr_safetensors_close(gr_safetensors *s) {
  if (!s) return;
  if (s->fd >= 0) close(s->fd);
  gr_arena_destroy(s->arena);
}

const gr_tensor_slice *gr_safetensors_tensors(const gr_safetensors *s, int *n) {
  *n = s->n;
  return s->tensors;
}

bool gr_safetensors_is_float(const gr_tensor_slice *p) {
  return strchr(p->dtype, 'f') && gr_dtype_bytes(p->dtype, NULL);
}

// ---- The data -----------------------------------------------------------------------------

// IEEE 754 binary16; subnormals are integer multiples of 2^-24.
static float from_f16(uint16_t h) {
  int exponent = h >> 10 & 31, fraction = h & 1023;
  float f = exponent == 31 ? (fraction ? __builtin_nanf("") : __builtin_inff())
            : exponent     ? (float)(1024 + fraction) * 0x1p-25f
                           : (float)fraction * 0x1p-24f;
  if (exponent && exponent < 31) f *= (float)(1u << exponent);
  return h >> 15 ? -f : f;
}

static float from_bf16(uint16_t h) {
  uint32_t bits = (uint32_t)h << 16;
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

static void convert(const char *dtype, const char *source, float *to, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    double wide;
    uint16_t half;
    if (!strcmp(dtype, "f64")) {
      memcpy(&wide, source + 8 * i, 8);
      to[i] = (float)wide;
    } else {
      memcpy(&half, source + 2 * i, 2);
      to[i] = *dtype == 'b' ? from_bf16(half) : from_f16(half);
    }
  }
}

typedef struct reading {
  gr_safetensors *file;
  int tensor;
  const gr_tensor_slice *want;
} reading;

static gr_status read_run(void *ctx, int64_t first, int64_t n, int64_t place) {
  const reading *r = ctx;
  gr_safetensors *s = r->file;
  const char *dtype = s->tensors[r->tensor].dtype;
  int64_t each = gr_dtype_bytes(dtype, NULL), offset = s->data + s->begin[r->tensor] + first * each;
  if (!strcmp(dtype, r->want->dtype))
    return read_at(s, offset, (char *)r->want->data + place * each, n * each);
  float *to = (float *)r->want->data + place;
  for (int64_t now; n > 0; n -= now, offset += now * each, to += now) {
    now = n < gr_chunks.converted / each ? n : gr_chunks.converted / each;
    GR_TRY(read_at(s, offset, s->chunk, now * each));
    convert(dtype, s->chunk, to, now);
  }
  return GR_OK;
}

gr_status gr_safetensors_read(gr_safetensors *s, int i, const gr_tensor_slice *want) {
  reading r = {s, i, want};
  return gr_tensor_slice_runs(want, read_run, &r);
}

// ---- Writing ------------------------------------------------------------------------------------

gr_status gr_safetensors_write(const char *path, const gr_tensor_slice *tensors, int n) {
  gr_output *out;
  GR_TRY(gr_output_open(NULL, path, &out));
  gr_arena *a = gr_arena_create();
  gr_text head = gr_safetensors_head(a, tensors, n);
  FILE *f = gr_output_stream(out);
  fwrite(head.chars, 1, head.len, f);
  for (int i = 0; i < n; i++)
    fwrite(tensors[i].data, 1, (size_t)gr_tensor_slice_bytes(&tensors[i]), f);
  gr_arena_destroy(a);
  return gr_output_close(out, GR_OK);
}
