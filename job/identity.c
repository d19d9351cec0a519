// identity.c - see identity.h.
#include "job/identity.h"
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/hash.h"
#include "base/work.h"
#include "compose/schema/schema.h"
#include "job/same_inputs.h"

// ---- The configuration --------------------------------------------------------------------------

// Paths of input files are compared by what the files contain; where weights start from is a value,
// because they are read before the first step alone.
static bool is_file_key(gr_arena *a, const gr_schema_key *k) {
  return gr_schema_holds(a, k, GR_SCHEMA_PATH) && strcmp(k->path, "model.init_from") &&
         strcmp(k->path, "model.teacher.init_from");
}

static bool counts(const gr_schema_key *k) {
  return !k->alias_of && !gr_schema_is_neutral(k->path);
}

static void put_member(gr_text *t, const char *name, const char *value) {
  gr_text_json_line(t, "\n  ");
  gr_text_json_member(t, name, value);
}

// Values of the environment are written as their interpolation.
static void put_config(gr_text *t, gr_conf *conf) {
  gr_text_put(t, "{\"config\": {");
  for (int i = 0; i < gr_schema_count; i++) {
    const gr_schema_key *k = &gr_schema_keys[i];
    if (!counts(k) || is_file_key(t->arena, k)) continue;
    const gr_conf *c = gr_conf_find(conf, k->path);
    gr_text value = gr_text_make(t->arena);
    if (c) gr_conf_json_written(&value, c, 0);
    put_member(t, k->path, c ? value.chars : "not given");
  }
  gr_text_put(t, "}");
}

const char *gr_identity_of_config(gr_arena *a, gr_conf *conf) {
  gr_text t = gr_text_make(a);
  put_config(&t, conf);
  gr_text_put(&t, "}\n");
  return t.chars;
}

// ---- Files --------------------------------------------------------------------------------------

enum { WHOLE = 64 << 20, PARTS = 256, PART = 1 << 14 };

// Of a file of up to 64 MB all is hashed, of a larger one its size and evenly spaced parts.
static uint64_t hash_file(gr_arena *a, const char *path, uint64_t hash, int64_t *budget) {
  struct stat st;
  FILE *f;
  gr_status_drop(gr_file_stream(path, GR_ERR_IO, &f));  // what is wrong with it is said elsewhere
  int64_t size = f && !fstat(fileno(f), &st) ? (int64_t)st.st_size : -1;
  hash = gr_hash_bytes(hash, &size, sizeof size);
  bool whole = size <= *budget;
  char *part = gr_arena_alloc(a, PART);
  int64_t step = whole ? PART : size / PARTS;
  for (int64_t offset = 0; f && offset < size; offset += step) {
    if (fseeko(f, (off_t)offset, SEEK_SET)) break;
    hash = gr_hash_bytes(hash, part, fread(part, 1, PART, f));
    (void)gr_work_add(gr_work_current(), PART);  // a request to stop is answered after it
  }
  if (f) fclose(f);
  *budget -= whole ? size : PARTS * PART;
  return hash;
}

// Of a folder: the names of its files and what they contain. Folders in it are not entered: their
// files are samples, which are compared by themselves.
static uint64_t hash_folder(gr_arena *a, const char *path, uint64_t hash, int64_t *budget) {
  int n;
  const char **names = gr_list_dir(a, path, &n);
  for (int i = 0; i < n; i++) {
    if (*names[i] == '.') continue;
    const char *file = gr_arena_printf(a, "%s/%s", path, names[i]);
    hash = gr_hash_bytes(hash, names[i], strlen(names[i]) + 1);
    if (gr_is_file(file)) hash = hash_file(a, file, hash, budget);
  }
  return hash;
}

// Of a path or a list of them.
static uint64_t hash_paths(gr_arena *a, const gr_conf *c, uint64_t hash, int64_t *budget) {
  if (c->kind == GR_CONF_TEXT)
    return (gr_is_dir(c->text) ? hash_folder : hash_file)(a, c->text, hash, budget);
  for (int i = 0; i < c->n; i++) hash = hash_paths(a, c->items[i], hash, budget);
  return hash;
}

static void put_hash(gr_text *t, const char *name, uint64_t hash) {
  put_member(t, name, gr_arena_printf(t->arena, "%016llx", (unsigned long long)hash));
}

void gr_job_identify(gr_job *j) {
  gr_text t = gr_text_make(j->arena);
  gr_arena *work = gr_arena_create();
  put_config(&t, j->spec.conf);
  gr_text_put(&t, ",\n \"contents\": {");
  for (int i = 0; i < gr_schema_count; i++) {
    const gr_schema_key *k = &gr_schema_keys[i];
    if (!counts(k) || !is_file_key(work, k)) continue;
    const gr_conf *c = gr_conf_find(j->spec.conf, k->path);
    int64_t budget = WHOLE;
    bool given = c && (c->kind == GR_CONF_TEXT || c->kind == GR_CONF_LIST);
    put_hash(&t, k->path, given ? hash_paths(work, c, GR_HASH_START, &budget) : 0);
  }
  put_hash(&t, "samples", gr_job_data_hash(j));
  gr_text_put(&t, "}}\n");
  gr_arena_destroy(work);
  j->spec.identity = t.chars;
  j->spec.is_neutral = gr_schema_is_neutral;
}
