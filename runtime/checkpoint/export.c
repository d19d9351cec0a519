// export.c - writes the tensors of a checkpoint as one file, its slices joined. See export.h.
#include "runtime/checkpoint/export.h"
#include <stdio.h>
#include <string.h>
#include "base/map.h"
#include "base/output.h"
#include "base/text.h"
#include "base/work.h"
#include "runtime/checkpoint/chunks.h"
#include "runtime/checkpoint/index.h"

gr_chunk_sizes gr_chunks = {
    .exported = 64 << 20, .converted = 1 << 16, .read = 16 << 20, .zip32 = UINT32_MAX};

const char gr_peft_prefix[] = "base_model.model.";

// ---- Which tensors ----------------------------------------------------------------------------

static void add(gr_exporter *x, const gr_tensor_slice *t, const char *name, const char *average) {
  x->tensors[x->n] = *t;
  x->tensors[x->n].name = name;
  x->stored_name[x->n++] = average ? average : t->name;
  x->averages += average != NULL;
}

// The name that a tensor has in the file; NULL: it is left out.
static const char *exported_name(const gr_exporter *x, const char *name) {
  const char *layer, *part;
  int i;
  bool of_adapter = gr_exporter_is_of_adapter(x, name, &layer, &part, &i);
  if (!x->request->adapter) return of_adapter && x->request->merge ? NULL : name;
  if (!of_adapter || strcmp(x->adapters[i].name, x->request->adapter->name)) return NULL;
  return gr_arena_printf(x->arena, "%s%s%s%s", gr_peft_prefix, layer, *layer ? "." : "", part);
}

// Larger elements come first, so that every tensor is aligned; else the order of the checkpoint.
static void choose(gr_exporter *x) {
  int n;
  const gr_tensor_slice *all = gr_checkpoint_tensors(x->checkpoint, &n);
  gr_map states = gr_checkpoint_optimizer(x->arena, x->checkpoint);
  gr_map emas = gr_checkpoint_emas(x->arena, x->checkpoint);
  bool everything = x->request->what == GR_EXPORT_EVERYTHING;
  x->emas = x->request->what == GR_EXPORT_WEIGHTS ? emas : gr_map_make(x->arena);
  x->tensors = GR_NEW(x->arena, gr_tensor_slice, n + 1);
  x->stored_name = GR_NEW(x->arena, const char *, n + 1);
  x->stored = gr_map_make(x->arena);
  for (int i = 0; i < n; i++) gr_map_put(&x->stored, all[i].name, 1);
  for (int bytes = 8; bytes; bytes /= 2)
    for (int i = 0; i < n; i++) {
      const char *name = all[i].name, *out = exported_name(x, name);
      bool left_out = gr_map_find(&states, name, NULL) || gr_map_find(&emas, name, NULL);
      if (!out || gr_dtype_bytes(all[i].dtype, NULL) != bytes || (left_out && !everything))
        continue;
      add(x, &all[i], out, gr_checkpoint_ema_of(x->arena, &x->emas, name));
    }
}

// ---- Writing ----------------------------------------------------------------------------------

static void put_plain(void *file, const char *data, int64_t bytes) {
  fwrite(data, 1, (size_t)bytes, file);
}

// Readers of other programs look for the format "pt" (PyTorch), and ignore other members.
static gr_status write_listed(gr_exporter *x, int begin, int end) {
  const char *about = gr_arena_printf(x->arena, "\"format\":\"pt\",\"step\":\"%lld\"",
                                      (long long)gr_checkpoint_step(x->checkpoint));
  gr_text head = gr_safetensors_header(x->arena, about, &x->listed[begin], end - begin);
  fwrite(head.chars, 1, head.len, x->file);
  for (int i = x->first[begin]; i < x->first[end]; i++)
    GR_TRY(gr_exporter_read(x, i, put_plain, x->file));
  return GR_OK;
}

static gr_status write_safetensors(gr_exporter *x) { return write_listed(x, 0, x->n_listed); }

gr_status gr_export_safetensors(gr_exporter *x, const char *dir, const char *name, int begin,
                                int end) {
  gr_output *out;
  GR_TRY(gr_output_open(dir, name, &out));
  x->file = gr_output_stream(out);
  return gr_output_close(out, write_listed(x, begin, end));
}

// ---- Formats ----------------------------------------------------------------------------------

static const struct format {
  const char *ending;
  gr_status (*write)(gr_exporter *);
} formats[] = {{".safetensors", write_safetensors}, {".npz", gr_export_npz}};

static gr_status find_format(const char *path, const struct format **out) {
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    *out = &formats[i];
    if (gr_ends_in(path, formats[i].ending)) return GR_OK;
  }
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                         "cannot export to '%s': the file's ending decides its format, and must be "
                         ".safetensors, .npz or .onnx",
                         path),
                 "PyTorch, JAX and Hugging Face read FILE.safetensors, NumPy reads FILE.npz; "
                 "FILE.onnx is the model itself");
}

gr_status gr_checkpoint_exportable(const char *path) {
  const struct format *ignored;
  return find_format(path, &ignored);
}

static gr_status write_file(gr_exporter *x, const char *path) {
  const struct format *format;
  gr_output *out;
  GR_TRY(find_format(path, &format));
  GR_TRY(gr_output_open(NULL, path, &out));
  x->file = gr_output_stream(out);
  return gr_output_close(out, format->write(x));
}

gr_status gr_exporter_choose(gr_exporter *x) {
  GR_TRY(gr_checkpoint_adapters(x->arena, x->checkpoint, &x->adapters, &x->n_adapters));
  choose(x);
  x->first = GR_NEW(x->arena, int, x->n + 1);
  for (int i = 0; i <= x->n; i++) x->first[i] = i;
  x->listed = x->tensors, x->n_listed = x->n;
  return x->request->names ? gr_exporter_rename(x) : GR_OK;
}

gr_checkpoint_exported gr_exporter_begin(gr_exporter *x) {
  gr_checkpoint_exported all = {.tensors = x->n_listed, .averages = x->averages};
  for (int i = 0; i < x->n; i++) all.bytes += gr_tensor_slice_bytes(&x->tensors[i]);
  gr_work_set_total((double)all.bytes);
  return all;
}

static gr_status export(gr_exporter *x, const char *path, gr_checkpoint_exported *out) {
  GR_TRY(gr_exporter_choose(x));
  *out = gr_exporter_begin(x);
  return write_file(x, path);
}

gr_status gr_checkpoint_export(gr_checkpoint *c, const char *path, const gr_export_request *request,
                               gr_checkpoint_exported *out) {
  gr_exporter x = {.arena = gr_arena_create(), .checkpoint = c, .request = request};
  return gr_arena_end(x.arena, export(&x, path, out));
}
