// export_folder.c - writes the weights of a checkpoint as a folder of Hugging Face. See
// checkpoint.h.
#include "base/output.h"
#include "base/text.h"
#include "runtime/checkpoint/export.h"

typedef struct shards {
  int *first, n;  // shard k lists tensors [first[k], first[k + 1])
} shards;

// As many tensors in each as have `most` bytes together, and one at least.
static shards divide(const gr_exporter *x, int64_t most) {
  shards s = {GR_NEW(x->arena, int, x->n_listed + 2), 0};
  int64_t bytes = 0;
  for (int i = 0; i < x->n_listed; i++) {
    int64_t more = gr_tensor_slice_bytes(&x->listed[i]);
    if (!s.n || more > most - bytes) s.first[s.n++] = i, bytes = 0;
    bytes += more;
  }
  s.n += !s.n;
  s.first[s.n] = x->n_listed;
  return s;
}

static const char *name_of(const gr_exporter *x, const shards *s, int k) {
  return s->n == 1 ? "model.safetensors"
                   : gr_arena_printf(x->arena, "model-%05d-of-%05d.safetensors", k + 1, s->n);
}

static gr_status write_index(const gr_exporter *x, const shards *s, int64_t bytes,
                             const char *dir) {
  gr_text t = gr_text_make(x->arena);
  gr_text_printf(&t, "{\n  \"metadata\": {\"total_size\": %lld},\n  \"weight_map\": {",
                 (long long)bytes);
  for (int k = 0; k < s->n; k++)
    for (int i = s->first[k]; i < s->first[k + 1]; i++) {
      gr_text_put(&t, i ? ",\n    " : "\n    ");
      gr_text_json(&t, x->listed[i].name);
      gr_text_printf(&t, ": \"%s\"", name_of(x, s, k));
    }
  gr_text_put(&t, "\n  }\n}\n");
  return gr_output_write(dir, "model.safetensors.index.json", t.chars, t.len);
}

static gr_status export_folder(gr_exporter *x, const char *dir, int64_t most,
                               gr_checkpoint_exported *out) {
  GR_TRY(gr_exporter_choose(x));
  *out = gr_exporter_begin(x);
  shards s = divide(x, most);
  for (int k = 0; k < s.n; k++)
    GR_TRY(gr_export_safetensors(x, dir, name_of(x, &s, k), s.first[k], s.first[k + 1]));
  return s.n > 1 ? write_index(x, &s, out->bytes, dir) : GR_OK;
}

gr_status gr_checkpoint_export_folder(gr_checkpoint *c, const char *dir,
                                      const gr_export_request *request, int64_t most,
                                      gr_checkpoint_exported *out) {
  gr_exporter x = {.arena = gr_arena_create(), .checkpoint = c, .request = request};
  return gr_arena_end(x.arena, export_folder(&x, dir, most, out));
}
