// manifest.c - prints and parses an index as JSON. The last member, "check", is a hash of all text
// before it.
#include <limits.h>
#include <string.h>
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "runtime/checkpoint/index.h"
#include "runtime/checkpoint/limits.h"

#define FORMAT "graphrun checkpoint"
#define CHECK ",\n\"check\": \""
enum { CHECK_TAIL = 16 + 4, MAX_PIECES = 4096 };

// -- Printing ----------------------------------------------------------------------------

static void put_ints(gr_text *t, const char *name, const int64_t *v, int n) {
  gr_text_json_key(t, name);
  gr_text_put(t, "[");
  for (int i = 0; i < n; i++) gr_text_printf(t, "%s%lld", i ? ", " : "", (long long)v[i]);
  gr_text_put(t, "]");
}

static void put_frames(gr_text *t, const gr_frame *f, int n) {
  gr_text_put(t, ", \"frames\": [");
  for (int i = 0; i < n; i++)
    gr_text_printf(t, "%s[%lld, \"%016llx\"]", i ? ", " : "", (long long)f[i].packed,
                   (unsigned long long)f[i].hash);
  gr_text_put(t, "]");
}

void gr_scalar_json(gr_text *t, const gr_scalar *s) {
  gr_text_json_key(t, s->name);
  if (s->kind == GR_SCALAR_INT)
    gr_text_printf(t, "%lld", (long long)s->i);
  else if (s->kind == GR_SCALAR_FLOAT)
    gr_text_json_float(t, s->f);
  else
    gr_text_json(t, s->text);
}

static void put_file(gr_text *t, const gr_rank_file *f) {
  gr_text_put(t, "{");
  gr_text_json_member(t, "name", f->name);
  gr_text_printf(t, ", \"bytes\": %lld, \"header_bytes\": %lld", (long long)f->bytes,
                 (long long)f->header_bytes);
  put_frames(t, f->header, f->n_header);
  gr_text_put(t, "}");
}

static void put_piece(gr_text *t, const gr_stored *p) {
  gr_text_printf(t, "   {\"file\": %d", p->file);
  put_ints(t, "offset", p->piece.offset, p->piece.rank);
  put_ints(t, "size", p->piece.size, p->piece.rank);
  gr_text_printf(t, ", \"hash\": \"%016llx\", \"at\": %lld", (unsigned long long)p->hash,
                 (long long)p->offset);
  put_frames(t, p->frames, p->n_frames);
  gr_text_put(t, "}");
}

static void put_tensor(gr_text *t, const gr_index *x, int i) {
  const gr_tensor_slice *p = &x->tensors[i];
  gr_text_put(t, " {");
  gr_text_json_member(t, "name", p->name);
  gr_text_json_member(t, "dtype", p->dtype);
  put_ints(t, "shape", p->dims, p->rank);
  gr_text_put(t, ", \"pieces\": [");
  for (int j = x->first[i]; j < x->first[i + 1]; j++) {
    gr_text_json_line(t, "\n");
    put_piece(t, &x->pieces[j]);
  }
  gr_text_put(t, "]}");
}

char *gr_index_print(gr_arena *a, const gr_index *x, size_t *len) {
  gr_text t = gr_text_make(a);
  gr_text_printf(&t, "{\"format\": \"" FORMAT "\", \"version\": %d,\n", GR_CHECKPOINT_VERSION);
  gr_text_printf(&t, "\"step\": %lld, \"ranks\": %d,\n\"scalars\": {", (long long)x->step,
                 x->ranks);
  for (int i = 0; i < x->n_scalars; i++) {
    gr_text_json_line(&t, "\n ");
    gr_scalar_json(&t, &x->scalars[i]);
  }
  gr_text_put(&t, "},\n\"files\": [");
  for (int i = 0; i < x->n_files; i++) {
    gr_text_json_line(&t, "\n ");
    put_file(&t, &x->files[i]);
  }
  gr_text_put(&t, "],\n\"tensors\": [");
  for (int i = 0; i < x->n_tensors; i++) {
    gr_text_json_line(&t, "\n");
    put_tensor(&t, x, i);
  }
  gr_text_put(&t, "]" CHECK);
  uint64_t hash = gr_hash_bytes(GR_HASH_START, t.chars, t.len);
  gr_text_printf(&t, "%016llx\"\n}\n", (unsigned long long)hash);
  *len = t.len;
  return t.chars;
}

// -- Parsing -----------------------------------------------------------------------------

typedef struct parser {
  gr_arena *arena;
  const char *path;
  gr_index *x;
} parser;

static gr_status bad(const parser *p, const char *what) {
  return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "'%s' is not a usable manifest: %s", p->path, what);
}

static bool get_int(const gr_json *o, const char *name, int64_t most, int64_t *out) {
  const gr_json *v = gr_json_get(o, name, GR_JSON_INT);
  *out = v ? v->i : 0;
  return v && v->i >= 0 && v->i <= most;
}

static bool hex(const gr_json *v, uint64_t *out) {
  *out = 0;
  if (!v || v->kind != GR_JSON_TEXT || strlen(v->text) != 16) return false;
  for (const char *c = v->text; *c; c++) {
    const char *digits = "0123456789abcdef", *digit = strchr(digits, *c);
    if (!digit) return false;
    *out = *out << 4 | (uint64_t)(digit - digits);
  }
  return true;
}

// Reads a list of at most GR_CHECKPOINT_DIMS sizes and returns its length; -1: it is not one.
static int get_dims(const gr_json *o, const char *name, int64_t out[GR_CHECKPOINT_DIMS]) {
  const gr_json *list = gr_json_get(o, name, GR_JSON_ARRAY);
  if (!list || list->n > GR_CHECKPOINT_DIMS) return -1;
  for (const gr_json *v = list->first; v; v = v->next, out++) {
    if (v->kind != GR_JSON_INT || v->i < 0) return -1;
    *out = v->i;
  }
  return list->n;
}

// Reads a list of frames, which must be as many as that number of bytes needs.
static bool get_frames(gr_arena *a, const gr_json *o, int64_t bytes, gr_frame **out, int *n) {
  const gr_json *list = gr_json_get(o, "frames", GR_JSON_ARRAY);
  if (!list || (bytes + GR_FRAME_BYTES - 1) / GR_FRAME_BYTES != list->n) return false;
  gr_frame *f = *out = GR_NEW(a, gr_frame, list->n);
  *n = list->n;
  for (const gr_json *v = list->first; v; v = v->next, f++) {
    const gr_json *size = v->kind == GR_JSON_ARRAY ? v->first : NULL;
    if (!size || v->n != 2 || size->kind != GR_JSON_INT || !hex(size->next, &f->hash)) return false;
    f->packed = size->i;
    if (f->packed < 1 || f->packed > GR_MAX_PACKED) return false;
  }
  return true;
}

static gr_status parse_scalars(const parser *p, const gr_json *list) {
  if (!list) return bad(p, "it has no scalars");
  gr_scalar *s = p->x->scalars = GR_NEW(p->arena, gr_scalar, list->n);
  p->x->n_scalars = list->n;
  for (const gr_json *v = list->first; v; v = v->next, s++) {
    *s = (gr_scalar){.name = v->name, .i = v->i, .f = v->f, .text = v->text};
    if (!gr_json_is_number(v) && v->kind != GR_JSON_TEXT)
      return bad(p, "a scalar is neither a number nor text");
    s->kind = v->kind == GR_JSON_INT ? GR_SCALAR_INT
              : gr_json_is_number(v) ? GR_SCALAR_FLOAT
                                     : GR_SCALAR_TEXT;
  }
  return GR_OK;
}

static gr_status parse_files(const parser *p, const gr_json *list) {
  if (!list) return bad(p, "it has no files");
  gr_rank_file *f = p->x->files = GR_NEW(p->arena, gr_rank_file, list->n);
  p->x->n_files = list->n;
  for (const gr_json *v = list->first; v; v = v->next, f++) {
    const gr_json *name = gr_json_get(v, "name", GR_JSON_TEXT);
    if (!name || !*name->text || *name->text == '.' || strchr(name->text, '/'))
      return bad(p, "a file's name is not a plain name");
    f->name = name->text;
    if (!get_int(v, "bytes", INT64_MAX / 4, &f->bytes) ||
        !get_int(v, "header_bytes", 100000008, &f->header_bytes) ||
        !get_frames(p->arena, v, f->header_bytes, &f->header, &f->n_header))
      return bad(p, "a file's sizes or frames are wrong");
  }
  return GR_OK;
}

static gr_status parse_piece(const parser *p, const gr_json *v, gr_stored *s) {
  int64_t file = 0;
  gr_tensor_slice *q = &s->piece;
  if (!get_int(v, "file", p->x->n_files - 1, &file) ||
      !get_int(v, "at", INT64_MAX / 4, &s->offset) || get_dims(v, "offset", q->offset) != q->rank ||
      get_dims(v, "size", q->size) != q->rank ||
      !hex(gr_json_get(v, "hash", GR_JSON_TEXT), &s->hash))
    return bad(p, "a slice's file, offset, shape or hash is wrong");
  s->file = (int)file;
  int64_t bytes = gr_tensor_slice_bytes(q);
  if (bytes <= 0 || !get_frames(p->arena, v, bytes, &s->frames, &s->n_frames))
    return bad(p, "a slice's size or frames are wrong");
  return GR_OK;
}

static gr_status parse_tensor(const parser *p, const gr_json *v, gr_stored *flat, int *n) {
  const gr_json *name = gr_json_get(v, "name", GR_JSON_TEXT);
  const gr_json *dtype = gr_json_get(v, "dtype", GR_JSON_TEXT);
  const gr_json *pieces = gr_json_get(v, "pieces", GR_JSON_ARRAY);
  gr_tensor_slice whole = {.rank = 0};
  whole.rank = get_dims(v, "shape", whole.dims);
  if (!name || !dtype || !pieces || pieces->n > MAX_PIECES || whole.rank < 0)
    return bad(p, "a tensor's name, dtype, shape or slices are wrong");
  whole.name = name->text, whole.dtype = dtype->text;
  if (!pieces->n) flat[(*n)++].piece = whole;  // a tensor without elements
  for (const gr_json *v2 = pieces->first; v2; v2 = v2->next, ++*n) {
    flat[*n].piece = whole;
    GR_TRY(parse_piece(p, v2, &flat[*n]));
  }
  return GR_OK;
}

static gr_status parse_tensors(const parser *p, const gr_json *list) {
  int most = 0, n = 0;
  if (!list) return bad(p, "it has no tensors");
  for (const gr_json *v = list->first; v; v = v->next) {
    const gr_json *pieces = gr_json_get(v, "pieces", GR_JSON_ARRAY);
    most += 1 + (pieces ? pieces->n : 0);
  }
  gr_stored *flat = GR_NEW(p->arena, gr_stored, most);
  for (const gr_json *v = list->first; v; v = v->next) {
    int before = n;
    GR_TRY(parse_tensor(p, v, flat, &n));
    if (n == before) return bad(p, "an entry of its tensors is not a tensor");
  }
  return gr_index_group(p->arena, p->x, flat, n);
}

// Whether the text ends with the right hash.
static bool checks(const char *text, size_t len) {
  if (len < CHECK_TAIL + sizeof CHECK) return false;
  char tail[CHECK_TAIL + 1];
  size_t before = len - CHECK_TAIL;
  uint64_t hash = gr_hash_bytes(GR_HASH_START, text, before);
  snprintf(tail, sizeof tail, "%016llx\"\n}\n", (unsigned long long)hash);
  return !memcmp(text + before, tail, CHECK_TAIL);
}

static gr_status parse_head(const parser *p, const gr_json *root) {
  const gr_json *format = gr_json_get(root, "format", GR_JSON_TEXT);
  int64_t version = 0, ranks = 0;
  if (!format || strcmp(format->text, FORMAT)) return bad(p, "its format is another one");
  get_int(root, "version", INT_MAX, &version);
  p->x->version = (int)version;
  if (version < 1 || version > GR_CHECKPOINT_VERSION)
    return gr_hint(gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                           "'%s' has format version %lld; this graphrun reads versions 1 to %d",
                           p->path, (long long)version, GR_CHECKPOINT_VERSION),
                   "use the graphrun that wrote it, or a newer one");
  if (!get_int(root, "step", INT64_MAX / 4, &p->x->step) ||
      !get_int(root, "ranks", 1 << 20, &ranks) || !ranks)
    return bad(p, "its step or its number of ranks is wrong");
  p->x->ranks = (int)ranks;
  return GR_OK;
}

gr_status gr_index_parse(gr_arena *a, const char *path, const char *text, size_t len,
                         gr_index *out) {
  *out = (gr_index){0};
  parser p = {.arena = a, .path = path, .x = out};
  const gr_json *root;
  gr_json_error why;
  if (!checks(text, len))
    return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                   "'%s' is damaged: its text does not match its 'check'", path);
  if (!gr_json_read(a, text, len, &root, &why))
    return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "'%s' line %d column %d: %s, found %s", path,
                   why.line, why.col, why.why, why.found);
  GR_TRY(parse_head(&p, root));
  GR_TRY(parse_scalars(&p, gr_json_get(root, "scalars", GR_JSON_OBJECT)));
  GR_TRY(parse_files(&p, gr_json_get(root, "files", GR_JSON_ARRAY)));
  GR_TRY(gr_note(parse_tensors(&p, gr_json_get(root, "tensors", GR_JSON_ARRAY)), GR_NOWHERE,
                 "in '%s'", path));
  return gr_note(gr_index_place(a, out), GR_NOWHERE, "in '%s'", path);
}

gr_status gr_index_print_readable(gr_arena *a, const char *path, const gr_index *x, int64_t most,
                                  char **text, size_t *len) {
  gr_index again;
  *text = gr_index_print(a, x, len);
  if ((int64_t)*len > most)
    return gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "'%s' would have %zu bytes, more than %lld", path,
                   *len, (long long)most);
  return gr_index_parse(a, path, *text, *len, &again);
}

gr_status gr_index_read(gr_arena *a, const char *path, gr_index *out) {
  char *text;
  size_t len;
  GR_TRY(gr_file_read(a, path, GR_CHECKPOINT_MANIFEST, &text, &len));
  return gr_index_parse(a, path, text, len, out);
}
