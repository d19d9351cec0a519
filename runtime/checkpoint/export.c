// export.c - writes the tensors of a checkpoint as one safetensors file, its slices joined.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/map.h"
#include "base/output.h"
#include "base/text.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/index.h"

enum { CHUNK = 64 << 20 };  // bytes that are read at a time, at least a row of the tensor

typedef struct exporter {
  gr_arena *arena;
  gr_checkpoint *checkpoint;
  FILE *file;
  gr_tensor_slice *tensors;  // by their names in the file
  const char **from;         // their names in the checkpoint
  int n, averages;
} exporter;

// ---- Which tensors ----------------------------------------------------------------------------

// The names in a scalar of the checkpoint, a line each.
static gr_map names_in(gr_arena *a, const gr_checkpoint *c, const char *scalar) {
  gr_map out = gr_map_make(a);
  const gr_scalar *s = gr_checkpoint_scalar(c, scalar);
  const char *at = s && s->kind == GR_SCALAR_TEXT ? s->text : "";
  for (size_t n; *at; at += n + (at[n] == '\n')) {
    n = strcspn(at, "\n");
    gr_map_put(&out, gr_arena_strndup(a, at, n), 1);
  }
  return out;
}

gr_map gr_checkpoint_optimizer(gr_arena *a, const gr_checkpoint *c) {
  return names_in(a, c, GR_CHECKPOINT_OPTIMIZER);
}

gr_map gr_checkpoint_emas(gr_arena *a, const gr_checkpoint *c) {
  return names_in(a, c, GR_CHECKPOINT_EMA);
}

const char *gr_checkpoint_ema_of(gr_arena *a, const gr_map *emas, const char *weight) {
  const char *name = emas->n ? gr_arena_printf(a, "%s.ema", weight) : NULL;
  return name && gr_map_find(emas, name, NULL) ? name : NULL;
}

static void add(exporter *x, const gr_tensor_slice *t, const char *average) {
  x->tensors[x->n] = *t;
  x->from[x->n++] = average ? average : t->name;
  x->averages += average != NULL;
}

// Larger elements come first, so that every tensor is aligned; else the order of the checkpoint.
static void choose(exporter *x, gr_export what) {
  int n;
  const gr_tensor_slice *all = gr_checkpoint_tensors(x->checkpoint, &n);
  gr_map states = gr_checkpoint_optimizer(x->arena, x->checkpoint);
  gr_map emas = gr_checkpoint_emas(x->arena, x->checkpoint);
  bool everything = what == GR_EXPORT_EVERYTHING;
  x->tensors = GR_NEW(x->arena, gr_tensor_slice, n + 1);
  x->from = GR_NEW(x->arena, const char *, n + 1);
  for (int bytes = 8; bytes; bytes /= 2)
    for (int i = 0; i < n; i++) {
      const char *name = all[i].name;
      bool left_out = gr_map_find(&states, name, NULL) || gr_map_find(&emas, name, NULL);
      if (gr_dtype_bytes(all[i].dtype, NULL) != bytes || (left_out && !everything)) continue;
      bool own = what != GR_EXPORT_WEIGHTS;
      add(x, &all[i], own ? NULL : gr_checkpoint_ema_of(x->arena, &emas, name));
    }
}

// ---- Writing ----------------------------------------------------------------------------------

static void put_tensor(gr_text *t, const gr_tensor_slice *p, int64_t from) {
  const char *dtype;
  gr_dtype_bytes(p->dtype, &dtype);
  gr_text_json(t, p->name);
  gr_text_printf(t, ":{\"dtype\":\"%s\",\"shape\":[", dtype);
  for (int d = 0; d < p->rank; d++)
    gr_text_printf(t, "%s%lld", d ? "," : "", (long long)p->dims[d]);
  gr_text_printf(t, "],\"data_offsets\":[%lld,%lld]}", (long long)from,
                 (long long)(from + gr_tensor_slice_bytes(p)));
}

// Readers of other programs look for the format "pt" (PyTorch), and ignore other members.
static gr_text header(const exporter *x) {
  gr_text t = gr_text_make(x->arena);
  int64_t from = 0;
  gr_text_putn(&t, "\0\0\0\0\0\0\0\0", 8);  // room for the length
  gr_text_printf(&t, "{\"__metadata__\":{\"format\":\"pt\",\"step\":\"%lld\"}",
                 (long long)gr_checkpoint_step(x->checkpoint));
  for (int i = 0; i < x->n; from += gr_tensor_slice_bytes(&x->tensors[i++])) {
    gr_text_put(&t, ",");
    put_tensor(&t, &x->tensors[i], from);
  }
  gr_text_put(&t, "}");
  while (t.len % 8) gr_text_put(&t, " ");
  for (int i = 0; i < 8; i++) t.at[i] = (char)((t.len - 8) >> (8 * i));
  return t;
}

static gr_status write_tensor(exporter *x, int i, char *chunk, int64_t rows) {
  const gr_tensor_slice *p = &x->tensors[i];
  gr_tensor_slice part = *p;
  int64_t all = p->rank ? p->dims[0] : 1;
  part.at = chunk, part.name = x->from[i];
  for (int64_t row = 0; row < all; row += rows) {
    if (p->rank) part.offset[0] = row, part.size[0] = all - row < rows ? all - row : rows;
    size_t bytes = (size_t)gr_tensor_slice_bytes(&part);
    GR_TRY(gr_checkpoint_read(x->checkpoint, &part));
    fwrite(chunk, 1, bytes, x->file);
    if (ferror(x->file)) return GR_OK;  // closing the file fails, and says why
  }
  return GR_OK;
}

static gr_status write_tensors(exporter *x) {
  for (int i = 0; i < x->n; i++) {
    const gr_tensor_slice *p = &x->tensors[i];
    int64_t bytes = gr_tensor_slice_bytes(p), all = p->rank ? p->dims[0] : 1;
    int64_t row = all ? bytes / all : 0, rows = row && row < CHUNK ? CHUNK / row : 1;
    rows = rows < all ? rows : all;
    char *chunk = malloc((size_t)(rows * row) + 1);
    if (!chunk)
      return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no %.1f MB of memory for '%s'",
                     (double)(rows * row) / 1e6, p->name);
    gr_status s = write_tensor(x, i, chunk, rows);
    free(chunk);
    GR_TRY(s);
  }
  return GR_OK;
}

static gr_status write_file(exporter *x, const char *path) {
  gr_text head = header(x);
  gr_output *out;
  GR_TRY(gr_output_open(NULL, path, &out));
  x->file = gr_output_stream(out);
  fwrite(head.at, 1, head.len, x->file);
  return gr_output_close(out, write_tensors(x));
}

gr_status gr_checkpoint_export(gr_checkpoint *c, const char *path, gr_export what,
                               gr_checkpoint_exported *out) {
  gr_arena *a = gr_arena_create();
  exporter x = {.arena = a, .checkpoint = c};
  choose(&x, what);
  *out = (gr_checkpoint_exported){.tensors = x.n, .averages = x.averages};
  for (int i = 0; i < x.n; i++) out->bytes += gr_tensor_slice_bytes(&x.tensors[i]);
  gr_status s = write_file(&x, path);
  gr_arena_destroy(a);
  return s;
}
