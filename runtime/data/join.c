// join.c - the functions of joined sources, which ask their parts; see join.h.
#include "runtime/data/join.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"

static const gr_join *join_of(const void *self) { return self; }

const gr_join_part *gr_join_first(const gr_join *j, uint32_t sample, uint32_t *row) {
  int k = 0;
  while (gr_join_row(j, sample, k) == GR_NO_ROW) k++;
  *row = gr_join_row(j, sample, k);
  return &j->part[k];
}

// The next part from k on that has a sample of the row; NULL: none.
static const gr_join_part *next_of(const gr_join *j, uint32_t sample, int *k, uint32_t *row) {
  while (*k < j->n && gr_join_row(j, sample, *k) == GR_NO_ROW) ++*k;
  if (*k == j->n) return NULL;
  *row = gr_join_row(j, sample, *k);
  return &j->part[(*k)++];
}

static void join_close(void *self) {
  gr_join *j = self;
  for (int k = 0; k < j->n; k++)
    if (j->part[k].self && j->part[k].ops->close) j->part[k].ops->close(j->part[k].self);
}

// ---- Samples ------------------------------------------------------------------------------------

static int join_fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  const gr_join *j = self;
  memcpy(out, j->field, (size_t)j->n_fields * sizeof *out);
  return j->n_fields;
}

static uint32_t join_count(const void *self) { return join_of(self)->count; }

static gr_sample_info join_info(const void *self, uint32_t sample) {
  const gr_join *j = self;
  uint32_t row;
  const gr_join_part *p = gr_join_first(j, sample, &row);
  gr_sample_info info = p->ops->info(p->self, row);
  info.length = 1, info.label = 0;
  if (j->lengths >= 0 && (row = gr_join_row(j, sample, j->lengths)) != GR_NO_ROW)
    info.length = j->part[j->lengths].ops->info(j->part[j->lengths].self, row).length;
  if (j->classes && (row = gr_join_row(j, sample, j->classes_of)) != GR_NO_ROW)
    info.label = j->part[j->classes_of].ops->info(j->part[j->classes_of].self, row).label;
  return info;
}

static int64_t join_alignment(const void *self, uint32_t sample) {
  const gr_join *j = self;
  const gr_join_part *p;
  uint32_t row;
  for (int k = 0; (p = next_of(j, sample, &k, &row));)
    if (p->ops->alignment) return p->ops->alignment(p->self, row);
  return 0;
}

// Of a part whose lengths are no lengths of the samples, they are the extents of the fields that
// have them.
static int32_t join_extent(const void *self, uint32_t sample, int field) {
  const gr_join *j = self;
  int k = 0;
  while (field >= j->part[k].first + j->part[k].n) k++;
  const gr_join_part *p = &j->part[k];
  uint32_t row = gr_join_row(j, sample, k);
  if (row == GR_NO_ROW) return 0;
  gr_field_spec fields[GR_MAX_FIELDS];
  (void)p->ops->fields(p->self, fields);
  if (p->stretched && gr_field_has(&fields[field - p->first], GR_DIM_LENGTH))
    return p->ops->info(p->self, row).length;
  return p->ops->extent(p->self, row, field - p->first);
}

static const char *join_file(const void *self, uint32_t sample) {
  const gr_join *j = self;
  const gr_join_part *p;
  uint32_t row;
  for (int k = 0; (p = next_of(j, sample, &k, &row));)
    if (p->ops->file) return p->ops->file(p->self, row);
  return NULL;
}

static gr_status join_probe(const void *self, uint32_t sample) {
  const gr_join *j = self;
  const gr_join_part *p;
  uint32_t row;
  for (int k = 0; (p = next_of(j, sample, &k, &row));)
    if (p->ops->probe) GR_TRY(p->ops->probe(p->self, row));
  return GR_OK;
}

// ---- Reading ------------------------------------------------------------------------------------

// What is loaded of a row: this, and behind it what each part has loaded.
typedef struct loaded_row {
  gr_loaded part[GR_MAX_JOINED];  // data: where it is in the row
} loaded_row;

enum { ALIGN = 64 };
static size_t aligned(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

static gr_status load_parts(const gr_join *j, uint32_t sample, int32_t most, gr_loaded *out) {
  for (int k = 0; k < j->n; k++) {
    const gr_join_part *p = &j->part[k];
    uint32_t row = gr_join_row(j, sample, k);
    if (row == GR_NO_ROW || !p->ops->load) continue;
    GR_TRY(p->ops->load(p->self, row, k == j->lengths ? most : INT32_MAX, &out[k]));
  }
  return GR_OK;
}

static gr_status pack(const gr_join *j, const loaded_row *parts, gr_loaded *out) {
  size_t used = aligned(sizeof *parts);
  out->bytes = used, out->length = j->lengths < 0 ? 1 : parts->part[j->lengths].length;
  for (int k = 0; k < j->n; k++) out->bytes += aligned(parts->part[k].bytes);
  loaded_row *row = out->data = malloc(out->bytes);
  if (!row) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for a sample");
  *row = *parts;
  for (int k = 0; k < j->n; k++) {
    if (!parts->part[k].data) continue;
    row->part[k].data = memcpy((char *)row + used, parts->part[k].data, parts->part[k].bytes);
    used += aligned(parts->part[k].bytes);
  }
  return GR_OK;
}

static gr_status join_load(const void *self, uint32_t sample, int32_t most, gr_loaded *out) {
  const gr_join *j = self;
  loaded_row parts = {0};
  *out = (gr_loaded){0};
  gr_status s = load_parts(j, sample, most, parts.part);
  s = s ? s : pack(j, &parts, out);
  for (int k = 0; k < j->n; k++) free(parts.part[k].data);
  return s;
}

static void join_fill(const void *self, uint32_t sample, const gr_loaded *loaded,
                      const gr_draw *draw, gr_row *row) {
  const gr_join *j = self;
  const loaded_row *parts = loaded ? loaded->data : NULL;
  for (int k = 0; k < j->n; k++) {
    const gr_join_part *p = &j->part[k];
    uint32_t of_part = gr_join_row(j, sample, k);
    if (of_part == GR_NO_ROW) continue;
    const gr_loaded *x = p->ops->load ? &parts->part[k] : NULL;
    gr_row part = {.length = row->length};
    for (int f = 0; f < p->n; f++) part.field[f] = row->field[p->first + f];
    if (p->ops->fill)
      p->ops->fill(p->self, of_part, x, draw, &part);
    else
      memcpy(part.field[0], x->data, x->bytes);
  }
}

static void join_keep(const void *self, size_t bytes) {
  const gr_join *j = self;
  for (int k = 0; k < j->n; k++)
    if (j->part[k].ops->keep) j->part[k].ops->keep(j->part[k].self, bytes / (size_t)j->n);
}

static size_t join_keepable(const void *self) {
  const gr_join *j = self;
  size_t all = 0;
  for (int k = 0; k < j->n; k++)
    if (j->part[k].ops->keepable) all += j->part[k].ops->keepable(j->part[k].self);
  return all;
}

static gr_status join_check(const void *self) {
  const gr_join *j = self;
  for (int k = 0; k < j->n; k++)
    if (j->part[k].self && j->part[k].ops->check) GR_TRY(j->part[k].ops->check(j->part[k].self));
  return GR_OK;
}

// ---- All samples --------------------------------------------------------------------------------

static gr_classes *join_classes(void *self) { return join_of(self)->classes; }

// x is the first part's.
static gr_status join_resize_back(const void *self, uint32_t sample, gr_source_picture *p) {
  const gr_join *j = self;
  uint32_t row = gr_join_row(j, sample, 0);
  return row == GR_NO_ROW ? GR_OK : j->part[0].ops->resize_back(j->part[0].self, row, p);
}

static gr_status join_check_lookup(const void *self, const gr_column_lookup *l) {
  const gr_join *j = self;
  return j->part[0].ops->check_lookup(j->part[0].self, l);
}

static int join_metadata(const void *self, gr_metadata out[GR_MAX_METADATA]) {
  const gr_join *j = self;
  int n = 0;
  for (int k = 0; k < j->n; k++) {
    const gr_join_part *p = &j->part[k];
    gr_metadata of_part[GR_MAX_METADATA];
    int m = p->ops->metadata ? p->ops->metadata(p->self, of_part) : 0;
    for (int i = 0; i < m && n < GR_MAX_METADATA; i++) {
      bool taken = false;
      for (int o = 0; o < n; o++) taken |= !strcmp(out[o].name, of_part[i].name);
      of_part[i].name = gr_join_name(j->arena, p, of_part[i].name, taken);
      out[n++] = of_part[i];
    }
  }
  return n;
}

gr_sample *gr_join_samples(gr_arena *a, const gr_join *j, int part, const gr_sample *rows,
                           uint32_t n, uint32_t *m) {
  gr_sample *out = GR_NEW(a, gr_sample, n);
  *m = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t row = gr_join_row(j, rows[i].index, part);
    if (row == GR_NO_ROW) continue;
    out[*m] = rows[i], out[(*m)++].index = row;
  }
  return out;
}

static gr_status join_fit(void *self, gr_arena *arena, const gr_sample *rows, uint32_t n) {
  const gr_join *j = self;
  gr_arena *scratch = gr_arena_create();
  gr_status s = GR_OK;
  for (int k = 0; k < j->n && !s; k++) {
    uint32_t m;
    if (!j->part[k].ops->fit) continue;
    const gr_sample *samples = gr_join_samples(scratch, j, k, rows, n, &m);
    s = j->part[k].ops->fit(j->part[k].self, arena, samples, m);
  }
  return gr_arena_end(scratch, s);
}

// Of each part that has statistics their length and text.
static void join_save(const void *self, gr_text *out) {
  const gr_join *j = self;
  for (int k = 0; k < j->n; k++) {
    gr_text t = gr_text_make(out->arena);
    if (j->part[k].ops->save) j->part[k].ops->save(j->part[k].self, &t);
    gr_text_printf(out, "%zu %s ", t.len, t.len ? t.chars : "");
  }
}

static gr_status join_restore(void *self, const char *text) {
  const gr_join *j = self;
  gr_arena *scratch = gr_arena_create();
  gr_status s = GR_OK;
  for (int k = 0; k < j->n && !s; k++) {
    char *end = NULL;
    size_t n = strtoull(text, &end, 10);
    if (end == text || *end != ' ' || strlen(end + 1) < n + 1) {
      s = gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE,
                  "the statistics of the data are not those of %d joined sources", j->n);
    } else if (n && j->part[k].ops->restore) {
      s = j->part[k].ops->restore(j->part[k].self, gr_arena_strndup(scratch, end + 1, n));
    }
    text = s ? text : end + 1 + n + 1;
  }
  return gr_arena_end(scratch, s);
}

// Members of a part are in an object of its name, since two may have members of one name; names of
// classes are beside them, too, where those of other sources are.
static void join_record(const void *self, gr_text *json) {
  const gr_join *j = self;
  if (j->classes) gr_classes_record(j->classes, json);
  for (int k = 0; k < j->n; k++) {
    gr_text_json_key(json, j->part[k].ops->name);
    gr_text_put(json, "{");
    if (j->part[k].ops->record)
      j->part[k].ops->record(j->part[k].self, json);
    else if (j->classes && j->classes_of == k)
      gr_classes_record(j->classes, json);
    gr_text_put(json, "}");
  }
}

static uint64_t join_fingerprint(const void *self, uint32_t sample, bool with_file) {
  const gr_join *j = self;
  const gr_join_part *p;
  uint64_t hash = GR_HASH_START;
  uint32_t row;
  for (int k = 0; (p = next_of(j, sample, &k, &row));) {
    uint64_t of_part = p->ops->fingerprint ? p->ops->fingerprint(p->self, row, with_file)
                                           : p->ops->info(p->self, row).key;
    hash = gr_hash_bytes(hash, &of_part, sizeof of_part);
  }
  return hash;
}

// ---- The table of functions ---------------------------------------------------------------------

const gr_source_ops gr_join_functions = {.sample = "row",
                                         .open = gr_join_open,
                                         .close = join_close,
                                         .fields = join_fields,
                                         .count = join_count,
                                         .info = join_info,
                                         .extent = join_extent,
                                         .alignment = join_alignment,
                                         .load = join_load,
                                         .fill = join_fill,
                                         .file = join_file,
                                         .probe = join_probe,
                                         .check = join_check,
                                         .keep = join_keep,
                                         .keepable = join_keepable,
                                         .classes = join_classes,
                                         .metadata = join_metadata,
                                         .fit = join_fit,
                                         .save = join_save,
                                         .restore = join_restore,
                                         .resize_back = join_resize_back,
                                         .check_lookup = join_check_lookup,
                                         .record = join_record,
                                         .fingerprint = join_fingerprint};
