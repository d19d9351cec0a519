// source.c - see source.h.
#include "runtime/train/saving/source.h"
#include <string.h>
#include "base/json.h"
#include "base/port.h"
#include "base/text.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/data/table/npz.h"

enum { MAX_INDEX = 64 << 20 };  // bytes of an index of safetensors files

typedef struct kind kind;
struct gr_tensor_source {
  gr_arena *arena;
  const kind *kind;
  const char *path;
  gr_tensor_slice *tensors;
  int n;
  gr_checkpoint *checkpoint;
  const char **names;      // its names of the tensors
  int averages;            // of weights, which stand for the weights
  gr_safetensors **files;  // of an index, or one
  int n_files;
  int *file, *index;  // of tensor i: where it is among `files`
  gr_npz npz;
  gr_array *arrays;
};

struct kind {
  bool (*accepts)(const char *path);
  gr_status (*open)(gr_tensor_source *);
  gr_status (*read)(gr_tensor_source *, int i, const gr_tensor_slice *want);
  bool converts;
};

// ---- Copying ------------------------------------------------------------------------------------

typedef struct copying {
  const void *all;  // the elements of the whole tensor
  const gr_tensor_slice *want;
  size_t each;             // bytes of an element
  const gr_array *floats;  // that are made f32; NULL: `want` has the dtype of what is there
} copying;

static gr_status copy_run(void *ctx, int64_t first, int64_t n, int64_t offset) {
  const copying *c = ctx;
  if (c->floats)
    gr_array_floats(c->floats, first, n, (float *)c->want->data + offset);
  else
    memcpy((char *)c->want->data + c->each * (size_t)offset,
           (const char *)c->all + c->each * (size_t)first, c->each * (size_t)n);
  return GR_OK;
}

static gr_status copy(copying *c) { return gr_tensor_slice_runs(c->want, copy_run, c); }

// ---- Checkpoints --------------------------------------------------------------------------------

static gr_status open_checkpoint(gr_tensor_source *s) {
  GR_TRY(gr_checkpoint_open(s->path, &s->checkpoint));
  int n;
  const gr_tensor_slice *all = gr_checkpoint_tensors(s->checkpoint, &n);
  gr_map optimizer = gr_checkpoint_optimizer(s->arena, s->checkpoint);
  gr_map emas = gr_checkpoint_emas(s->arena, s->checkpoint);
  s->tensors = GR_NEW(s->arena, gr_tensor_slice, n + 1);
  s->names = GR_NEW(s->arena, const char *, n + 1);
  for (int i = 0; i < n; i++) {
    const char *name = all[i].name;
    if (gr_map_find(&optimizer, name, NULL) || gr_map_find(&emas, name, NULL)) continue;
    const char *average = gr_checkpoint_ema_of(s->arena, &emas, name);
    s->averages += average != NULL;
    s->names[s->n] = average ? average : name;
    s->tensors[s->n++] = all[i];
  }
  return GR_OK;
}

static gr_status read_checkpoint(gr_tensor_source *s, int i, const gr_tensor_slice *want) {
  gr_tensor_slice there = *want;
  there.name = s->names[i];
  return gr_checkpoint_read(s->checkpoint, &there);
}

// ---- Safetensors --------------------------------------------------------------------------------

static gr_status open_file(gr_tensor_source *s, const char *path) {
  gr_status e = gr_safetensors_open(path, &s->files[s->n_files]);
  s->n_files += !e;
  return e;
}

static void add(gr_tensor_source *s, int file, int index) {
  int n;
  s->file[s->n] = file, s->index[s->n] = index;
  s->tensors[s->n++] = gr_safetensors_tensors(s->files[file], &n)[index];
}

static void allocate(gr_tensor_source *s, int n) {
  s->tensors = GR_NEW(s->arena, gr_tensor_slice, n + 1);
  s->file = GR_NEW(s->arena, int, n + 1);
  s->index = GR_NEW(s->arena, int, n + 1);
}

static gr_status open_safetensors(gr_tensor_source *s) {
  int n;
  s->files = GR_NEW(s->arena, gr_safetensors *, 1);
  GR_TRY(open_file(s, s->path));
  gr_safetensors_tensors(s->files[0], &n);
  allocate(s, n);
  for (int i = 0; i < n; i++) add(s, 0, i);
  return GR_OK;
}

static gr_status read_safetensors(gr_tensor_source *s, int i, const gr_tensor_slice *want) {
  return gr_safetensors_read(s->files[s->file[i]], s->index[i], want);
}

// ---- An index of several safetensors files: {"weight_map": {NAME: FILE}} -----------------------

static gr_status bad_index(const gr_tensor_source *s, const char *what, const char *name) {
  return gr_hint(
      gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "'%s' is no index of safetensors files: %s%s%s",
              s->path, what, *name ? ": " : "", name),
      "it has \"weight_map\", an object with the name of a file for each tensor; the "
      "files are in its folder");
}

static gr_status read_map(gr_tensor_source *s, const gr_json **map) {
  const gr_json *root;
  gr_json_error why;
  char *text;
  size_t len;
  GR_TRY(gr_file_read(s->arena, s->path, MAX_INDEX, &text, &len));
  if (!gr_json_read(s->arena, text, len, &root, &why)) return bad_index(s, why.why, "");
  *map = root->kind == GR_JSON_OBJECT ? gr_json_get(root, "weight_map", GR_JSON_OBJECT) : NULL;
  return *map ? GR_OK : bad_index(s, "there is no \"weight_map\"", "");
}

// The number of a file of the index, which is opened when it is first named.
static gr_status number_of(gr_tensor_source *s, gr_map *known, const gr_json *v, uint32_t *out) {
  if (v->kind != GR_JSON_TEXT || !*v->text || strchr(v->text, '/'))
    return bad_index(s, "a tensor has no name of a file", v->name);
  if (gr_map_find(known, v->text, out)) return GR_OK;
  const char *slash = strrchr(s->path, '/');
  int folder = slash ? (int)(slash - s->path) + 1 : 0;
  const char *path = gr_arena_printf(s->arena, "%.*s%s", folder, s->path, v->text);
  if (!gr_is_file(path))
    return gr_hint(
        gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                "'%s' names the file '%s', which is not in its folder", s->path, v->text),
        "weights in several files need all of them");
  *out = (uint32_t)s->n_files;
  gr_map_put(known, v->text, *out);
  return gr_note(open_file(s, path), GR_NOWHERE, "'%s' names this file", s->path);
}

static int index_of(const gr_tensor_source *s, uint32_t file, const char *name) {
  int n;
  const gr_tensor_slice *all = gr_safetensors_tensors(s->files[file], &n);
  for (int i = 0; i < n; i++)
    if (!strcmp(all[i].name, name)) return i;
  return -1;
}

static gr_status open_index(gr_tensor_source *s) {
  const gr_json *map = NULL;
  GR_TRY(read_map(s, &map));
  gr_map known = gr_map_make(s->arena);
  s->files = GR_NEW(s->arena, gr_safetensors *, map->n + 1);
  allocate(s, map->n);
  for (const gr_json *v = map->first; v; v = v->next) {
    uint32_t file = 0;
    GR_TRY(number_of(s, &known, v, &file));
    int index = index_of(s, file, v->name);
    if (index < 0)
      return bad_index(s, gr_arena_printf(s->arena, "'%s' lacks a tensor of it", v->text), v->name);
    add(s, (int)file, index);
  }
  return GR_OK;
}

// ---- NumPy --------------------------------------------------------------------------------------

static gr_status open_npz(gr_tensor_source *s) {
  GR_TRY(gr_npz_open(s->arena, s->path, &s->npz));
  s->tensors = GR_NEW(s->arena, gr_tensor_slice, s->npz.n + 1);
  s->arrays = GR_NEW(s->arena, gr_array, s->npz.n + 1);
  for (int i = 0; i < s->npz.n; i++) {
    gr_array *array = &s->arrays[i];
    const char *name = s->npz.members[i].name;
    GR_TRY(gr_npz_read(&s->npz, name, array));
    s->tensors[s->n++] =
        gr_tensor_slice_whole(name, gr_array_type(array), array->rank, array->dim, NULL);
  }
  return GR_OK;
}

static gr_status read_npz(gr_tensor_source *s, int i, const gr_tensor_slice *want) {
  const gr_array *a = &s->arrays[i];
  bool same = !strcmp(s->tensors[i].dtype, want->dtype);
  GR_TRY(copy(&(copying){a->data, want, a->size, same ? NULL : a}));
  return gr_mapping_check(&s->npz.map);
}

// ---- In memory ----------------------------------------------------------------------------------

static gr_status read_given(gr_tensor_source *s, int i, const gr_tensor_slice *want) {
  const gr_tensor_slice *t = &s->tensors[i];
  int64_t n = 1;
  for (int d = 0; d < t->rank; d++) n *= t->dims[d];
  size_t each = (size_t)(gr_tensor_slice_bytes(t) / (n ? n : 1));
  return copy(&(copying){t->data, want, each, NULL});
}

// ---- Pickles of PyTorch -------------------------------------------------------------------------

// Unpickling runs code that the file brings along.
static gr_status refuse_pickle(gr_tensor_source *s) {
  return gr_hint(
      gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
              "'%s' is a pickle of PyTorch, which is not read: reading one runs code of the file",
              s->path),
      "convert it where it is trusted: python3 -c 'import torch, safetensors.torch as s; "
      "w = torch.load(\"%s\", map_location=\"cpu\", weights_only=True); s.save_file({k: "
      "v.contiguous().clone() for k, v in w.items()}, \"weights.safetensors\")'",
      s->path);
}

// ---- Files that name no weights -----------------------------------------------------------------

static gr_status refuse_model(gr_tensor_source *s) {
  return gr_hint(gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                         "'%s' is a model of ONNX, and no file of weights alone", s->path),
                 "model.graph=%s takes the model with its weights; `graphrun import %s -o "
                 "GRAPH.yaml` writes these to GRAPH.safetensors",
                 s->path, s->path);
}

static gr_status refuse_array(gr_tensor_source *s) {
  return gr_hint(gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                         "'%s' is one array, which does not say what weight it is", s->path),
                 "write it with its name: numpy.savez(\"weights.npz\", **{\"fc.weight\": array})");
}

// ---- All kinds ----------------------------------------------------------------------------------

static bool is_index(const char *path) { return gr_ends_in(path, ".index.json"); }
static bool is_npz(const char *path) { return gr_ends_in(path, ".npz"); }
static bool is_pickle(const char *path) {
  static const char *const endings[] = {".pt", ".pth", ".bin", ".ckpt"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (gr_ends_in(path, endings[i])) return true;
  return false;
}
static bool is_model(const char *path) { return gr_ends_in(path, ".onnx"); }
static bool is_array(const char *path) { return gr_ends_in(path, ".npy"); }
static bool is_any(const char *path) { return path != NULL; }

static const kind kinds[] = {
    {gr_is_dir, open_checkpoint, read_checkpoint, false},
    {is_index, open_index, read_safetensors, true},
    {is_npz, open_npz, read_npz, true},
    {is_pickle, refuse_pickle, NULL, false},
    {is_model, refuse_model, NULL, false},
    {is_array, refuse_array, NULL, false},
    {is_any, open_safetensors, read_safetensors, true},
};

gr_tensor_source *gr_tensor_source_given(const char *path, const gr_tensor_slice *tensors, int n) {
  static const kind memory = {NULL, NULL, read_given, false};
  gr_arena *a = gr_arena_create();
  gr_tensor_source *s = GR_NEW(a, gr_tensor_source, 1);
  *s = (gr_tensor_source){.arena = a, .kind = &memory, .path = gr_arena_strdup(a, path), .n = n};
  s->tensors = GR_NEW(a, gr_tensor_slice, n + 1);
  for (int i = 0; i < n; i++) s->tensors[i] = tensors[i];
  return s;
}

gr_status gr_tensor_source_open(const char *path, gr_tensor_source **out) {
  gr_arena *a = gr_arena_create();
  gr_tensor_source *s = GR_NEW(a, gr_tensor_source, 1);
  *s = (gr_tensor_source){.arena = a, .kind = kinds, .path = gr_arena_strdup(a, path)};
  while (!s->kind->accepts(path)) s->kind++;
  gr_status e = s->kind->open(s);
  *out = e ? NULL : s;
  if (e) gr_tensor_source_close(s);
  return e;
}

void gr_tensor_source_close(gr_tensor_source *s) {
  if (!s) return;
  gr_checkpoint_close(s->checkpoint);
  for (int i = 0; i < s->n_files; i++) gr_safetensors_close(s->files[i]);
  gr_npz_close(&s->npz);
  gr_arena_destroy(s->arena);
}

const gr_tensor_slice *gr_tensor_source_tensors(const gr_tensor_source *s, int *n) {
  *n = s->n;
  return s->tensors;
}

int gr_tensor_source_averages(const gr_tensor_source *s) { return s->averages; }

bool gr_tensor_source_converts(const gr_tensor_source *s, int i, const char *dtype) {
  const gr_tensor_slice *has = &s->tensors[i];
  if (!strcmp(has->dtype, dtype)) return true;
  return s->kind->converts && gr_safetensors_is_float(has) && !strcmp(dtype, "f32");
}

gr_status gr_tensor_source_read(gr_tensor_source *s, int i, const gr_tensor_slice *want) {
  return s->kind->read(s, i, want);
}
