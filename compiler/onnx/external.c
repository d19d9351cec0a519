// external.c - see external.h. The file of the model is not trusted: its names, offsets and lengths
// are checked before memory is taken.
#include "compiler/onnx/external.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"

// Tensors may share elements, but not make much more of a file than it has.
enum { SHARED = 16 };

static gr_status refuse(const gr_onnx_files *f, const Onnx__TensorProto *t, gr_status s) {
  s = gr_note(s, GR_NOWHERE, "in '%s', at the tensor '%s'", f->model, t->name ? t->name : "");
  return gr_hint(s,
                 "copy the files that the model names to its folder, whole, or write it as one: "
                 "torch.onnx.export(..., external_data=False)");
}

// ---- Where a tensor is --------------------------------------------------------------------------

typedef struct place {
  const char *location;
  uint64_t offset, length;
} place;

static bool parse(const char *s, uint64_t *out) {
  char *end;
  errno = 0;
  *out = strtoull(s, &end, 10);
  return *s >= '0' && *s <= '9' && !*end && !errno;
}

static gr_status find_place(const Onnx__TensorProto *t, place *out) {
  for (size_t i = 0; i < t->n_external_data; i++) {
    const char *key = t->external_data[i]->key, *value = t->external_data[i]->value;
    uint64_t *number = !key                     ? NULL
                       : !strcmp(key, "offset") ? &out->offset
                       : !strcmp(key, "length") ? &out->length
                                                : NULL;
    if (key && value && !strcmp(key, "location")) out->location = value;
    if (number && (!value || !parse(value, number)))
      return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "its %s is '%s', which is not a number", key,
                     value ? value : "");
  }
  return out->location ? GR_OK : gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "it has no location");
}

// ---- Files --------------------------------------------------------------------------------------

// The file that was read last stays open.
static gr_status enter(gr_onnx_files *f, const char *location) {
  struct stat st;
  if (f->location && !strcmp(f->location, location)) return GR_OK;
  gr_onnx_files_close(f);
  const char *slash = strrchr(f->model, '/');
  const char *dir =
      slash ? gr_arena_strndup(f->arena, f->model, (size_t)(slash - f->model) + 1) : ".";
  GR_TRY(gr_file_open_below(dir, location, GR_ERR_CONFIG, &f->fd));
  f->location = gr_arena_strdup(f->arena, location);
  if (fstat(f->fd, &st)) return gr_fail_errno(GR_ERR_IO, errno, "cannot read '%s'", location);
  f->size = (uint64_t)st.st_size;
  if (!gr_map_find(&f->seen, location, NULL)) f->room += SHARED * f->size;
  gr_map_put(&f->seen, f->location, 1);
  return GR_OK;
}

static gr_status read_at(const gr_onnx_files *f, uint64_t offset, size_t bytes, char *to) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = pread(f->fd, to + done, bytes - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return gr_fail_errno(GR_ERR_IO, errno, "cannot read '%s'", f->location);
    if (!n)
      return gr_fail(GR_ERR_IO, GR_NOWHERE, "cannot read '%s': it has become shorter", f->location);
    done += (size_t)n;
  }
  return GR_OK;
}

static gr_status find(gr_onnx_files *f, const Onnx__TensorProto *t, size_t bytes, gr_arena *a,
                      const uint8_t **out) {
  place p = {.length = bytes};
  GR_TRY(find_place(t, &p));
  GR_TRY(enter(f, p.location));
  if (p.length != bytes)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "it has %llu bytes there, and its shape %zu",
                   (unsigned long long)p.length, bytes);
  if (p.offset > f->size || bytes > f->size - p.offset)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                   "'%s' has %llu bytes, and the tensor there %zu from byte %llu on", p.location,
                   (unsigned long long)f->size, bytes, (unsigned long long)p.offset);
  if (bytes > f->room)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                   "the tensors up to it are more than %d times what their files have", SHARED);
  f->room -= bytes;
  char *to = gr_arena_alloc(a, bytes + 1);
  *out = (const uint8_t *)to;
  return read_at(f, p.offset, bytes, to);
}

gr_status gr_onnx_external(gr_onnx_files *f, const Onnx__TensorProto *t, size_t bytes, gr_arena *a,
                           const uint8_t **out) {
  gr_status s = find(f, t, bytes, a, out);
  return s ? refuse(f, t, s) : GR_OK;
}

void gr_onnx_files_close(gr_onnx_files *f) {
  if (f->location) close(f->fd);
  f->location = NULL;
}
