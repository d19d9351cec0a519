// import_watch.c - reads the recordings of seglearn, a dictionary that NumPy has pickled. See
// import.h.
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/output.h"
#include "base/port.h"
#include "base/text.h"
#include "runtime/data/mapping.h"
#include "runtime/data/table/import.h"
#include "runtime/data/table/npz.h"
#include "runtime/data/table/pickle.h"

enum { EVERY = 5, MOST = 10000 };  // every fifth subject is for validation; recordings at most
static const char member[] = "seglearn/data/watch_dataset";

typedef struct recordings {
  const char *file;
  const gr_pickle *x, *channels, *exercises;  // lists
  const gr_array *exercise, *subject, *side;  // [recordings]
} recordings;

// ---- The file -----------------------------------------------------------------------------------

static bool ends_in(const char *name, const char *end) {
  size_t n = strlen(name), m = strlen(end);
  return n >= m && !strcmp(name + n - m, end);
}

static gr_status find_wheel(gr_arena *a, const char *dir, const char **out) {
  DIR *d = opendir(dir);
  *out = NULL;
  for (struct dirent *e; d && (e = readdir(d));)
    if (!strncmp(e->d_name, "seglearn-", 9) && ends_in(e->d_name, ".whl") &&
        (!*out || strcmp(e->d_name, strrchr(*out, '/') + 1) > 0))
      *out = gr_arena_printf(a, "%s/%s", dir, e->d_name);
  if (d) closedir(d);
  if (*out) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "there is no wheel of seglearn in '%s'", dir),
                 "pip download --no-deps -d %s seglearn, or name the file: graphrun data import "
                 "seglearn-watch %s FILE",
                 dir, dir);
}

// The pickle in an array of one object: what follows the header.
static gr_status pickle_in(const char *path, const unsigned char *bytes, size_t n, size_t *at) {
  static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  *at = n < 10 || memcmp(bytes, magic, sizeof magic)
            ? n
            : 10 + ((size_t)bytes[8] | (size_t)bytes[9] << 8);
  if (*at < n) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is no file of NumPy", path),
                 "seglearn's is watch_dataset.npy");
}

// ---- What is in it ------------------------------------------------------------------------------

static gr_status lacks(const recordings *r, const char *what) {
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is not the data set of seglearn: %s", r->file, what),
      "version 1.2.5 of seglearn has it");
}

static gr_status list_of(const recordings *r, const gr_pickle *all, const char *name,
                         gr_pickle_kind kind, const gr_pickle **out) {
  *out = gr_pickle_member(all, name);
  bool good = *out && (*out)->kind == GR_PICKLE_LIST && (*out)->n;
  for (size_t i = 0; good && i < (*out)->n; i++) good = (*out)->items[i]->kind == kind;
  if (good) return GR_OK;
  return lacks(r, kind == GR_PICKLE_TEXT ? "a list of names is missing" : "X is no list of arrays");
}

static gr_status numbers_of(const recordings *r, const gr_pickle *all, const char *name,
                            const gr_array **out) {
  const gr_pickle *v = gr_pickle_member(all, name);
  if (!v || v->kind != GR_PICKLE_ARRAY || !v->array.at || v->array.rank != 1 ||
      v->array.count != (int64_t)r->x->n)
    return lacks(r, "y, subject or side is not an array with a number for each recording");
  *out = &v->array;
  return GR_OK;
}

static gr_status check(const recordings *r, gr_import_watch *out) {
  int64_t label, subject, side;
  if (r->x->n > MOST) return lacks(r, "it has more than 10,000 recordings");
  for (size_t i = 0; i < r->exercises->n; i++)
    if (strpbrk(r->exercises->items[i]->text, ",\"\r\n")) return lacks(r, "y_labels are no names");
  for (size_t i = 0; i < r->x->n; i++) {
    const gr_array *x = &r->x->items[i]->array;
    if (!x->at || x->rank != 2 || x->dim[1] != (int64_t)r->channels->n)
      return lacks(r, "a recording is not [moments, channels]");
    bool whole = gr_array_integer(r->exercise, (int64_t)i, &label) &&
                 gr_array_integer(r->subject, (int64_t)i, &subject) &&
                 gr_array_integer(r->side, (int64_t)i, &side);
    if (!whole || label < 0 || label >= (int64_t)r->exercises->n)
      return lacks(r, "a recording has no exercise, subject or side");
    out->moments += (uint64_t)x->dim[0];
    bool seen = false;
    for (size_t k = 0; k < i && !seen; k++)
      seen = gr_array_number(r->subject, (int64_t)k) == (double)subject;
    out->subjects += !seen;
  }
  out->recordings = (uint32_t)r->x->n, out->exercises = (uint32_t)r->exercises->n;
  return GR_OK;
}

static gr_status open_recordings(const gr_pickle *whole, recordings *r, gr_import_watch *out) {
  const gr_pickle *all = whole->kind == GR_PICKLE_ARRAY && whole->n == 1 ? whole->items[0] : whole;
  GR_TRY(list_of(r, all, "X", GR_PICKLE_ARRAY, &r->x));
  GR_TRY(list_of(r, all, "X_labels", GR_PICKLE_TEXT, &r->channels));
  GR_TRY(list_of(r, all, "y_labels", GR_PICKLE_TEXT, &r->exercises));
  GR_TRY(numbers_of(r, all, "y", &r->exercise));
  GR_TRY(numbers_of(r, all, "subject", &r->subject));
  GR_TRY(numbers_of(r, all, "side", &r->side));
  return check(r, out);
}

// ---- Writing ------------------------------------------------------------------------------------

static void write_values(const recordings *r, uint64_t moments, FILE *f) {
  char head[128];
  snprintf(head, sizeof head, "{'descr': '<f4', 'fortran_order': False, 'shape': (%llu, %zu), }",
           (unsigned long long)moments, r->channels->n);
  fprintf(f, "\x93NUMPY%c%cv%c%-117s\n", 1, 0, 0, head);
  for (size_t i = 0; i < r->x->n; i++) {
    const gr_array *x = &r->x->items[i]->array;
    for (int64_t k = 0; k < x->count; k++) {
      float v;
      gr_array_floats(x, k, 1, &v);
      fwrite(&v, sizeof v, 1, f);
    }
  }
}

static void write_lines(const recordings *r, FILE *f) {
  fprintf(f, "exercise,side,subject,recording,split\n");
  for (size_t i = 0; i < r->x->n; i++) {
    int64_t label = 0, subject = 0, side = 0, at = (int64_t)i;
    (void)gr_array_integer(r->exercise, at, &label);  // check has read them
    (void)gr_array_integer(r->subject, at, &subject);
    (void)gr_array_integer(r->side, at, &side);
    for (int64_t k = 0; k < r->x->items[i]->array.dim[0]; k++)
      fprintf(f, "%s,%s,%lld,%zu,%s\n", r->exercises->items[label]->text, side ? "right" : "left",
              (long long)subject, i, subject % EVERY ? "train" : "validation");
  }
}

static gr_status write_file(const recordings *r, const char *dir, const char *name,
                            uint64_t moments) {
  gr_output *out;
  GR_TRY(gr_output_open(dir, name, &out));
  if (moments)
    write_values(r, moments, gr_output_stream(out));
  else
    write_lines(r, gr_output_stream(out));
  return gr_output_close(out, GR_OK);
}

static gr_status import(gr_arena *a, const char *path, const unsigned char *bytes, size_t n,
                        const char *dir, gr_import_watch *out) {
  recordings r = {.file = path};
  gr_pickle *whole;
  size_t at;
  GR_TRY(pickle_in(path, bytes, n, &at));
  GR_TRY(gr_pickle_read(a, path, bytes + at, n - at, &whole));
  GR_TRY(open_recordings(whole, &r, out));
  GR_TRY(write_file(&r, dir, "watch.npy", out->moments));
  return write_file(&r, dir, "watch.csv", 0);
}

static gr_status import_wheel(gr_arena *a, const char *path, const char *dir,
                              gr_import_watch *out) {
  gr_npz z;
  const unsigned char *bytes;
  size_t n;
  GR_TRY(gr_npz_open(a, path, &z));
  gr_status s = gr_npz_bytes(&z, member, &bytes, &n);
  s = s ? s : import(a, path, bytes, n, dir, out);
  gr_npz_close(&z);
  return s;
}

static gr_status import_npy(gr_arena *a, const char *path, const char *dir, gr_import_watch *out) {
  gr_mapping map;
  GR_TRY(gr_mapping_open(path, &map));
  gr_status s = import(a, path, map.at, map.bytes, dir, out), cut = gr_mapping_check(&map);
  gr_mapping_close(&map);
  if (!cut) return s;
  gr_status_drop(s);
  return cut;
}

gr_status gr_import_watch_run(const char *from, const char *dir, gr_import_watch *out) {
  gr_arena *a = gr_arena_create();
  *out = (gr_import_watch){0};
  gr_status s = from ? GR_OK : find_wheel(a, dir, &from);
  s = s ? s : gr_make_dirs(dir);
  if (!s)
    s = ends_in(from, ".npy") ? import_npy(a, from, dir, out) : import_wheel(a, from, dir, out);
  gr_arena_destroy(a);
  return s;
}
