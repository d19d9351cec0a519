// metadata.c - opens a Parquet file: the metadata at its end (parquet.thrift, FileMetaData). See
// parquet.h.
#include <string.h>
#include "runtime/data/parquet/parts.h"

enum { MAGIC = 4, TAIL = 8, LARGEST = INT32_MAX };

int gr_parquet_find(const gr_parquet *p, const char *name) {
  for (int i = 0; i < p->n_columns; i++)
    if (!strcmp(p->columns[i].name, name)) return i;
  return -1;
}

gr_status gr_parquet_check(const gr_parquet *p) { return gr_mapping_check(&p->map); }

void gr_parquet_close(gr_parquet *p) { gr_mapping_close(&p->map); }

// ---- Row groups ---------------------------------------------------------------------------------

// Offsets of ColumnMetaData.
typedef struct places {
  int64_t codec, values, packed, data, dictionary;
  bool there, elsewhere, encrypted;
} places;

static void read_column(gr_thrift *t, places *c) {
  gr_thrift_field f = {0};
  c->there = true;
  while (gr_thrift_next(t, &f)) {
    int64_t *to = f.id == 4    ? &c->codec
                  : f.id == 5  ? &c->values
                  : f.id == 7  ? &c->packed
                  : f.id == 9  ? &c->data
                  : f.id == 11 ? &c->dictionary
                               : NULL;
    if (to)
      *to = gr_thrift_int(t, f.type);
    else
      gr_thrift_skip(t, f.type);
  }
}

static places read_chunk(gr_thrift *t) {
  places c = {0};
  gr_thrift_field f = {0};
  while (gr_thrift_next(t, &f)) {
    c.elsewhere |= f.id == 1;
    c.encrypted |= f.id == 8 || f.id == 9;
    if (f.id == 3 && f.type == GR_THRIFT_STRUCT)
      read_column(t, &c);
    else
      gr_thrift_skip(t, f.type);
  }
  return c;
}

static gr_status add_chunk(gr_parquet *p, gr_thrift *t, gr_parquet_chunk *out) {
  places c = read_chunk(t);
  uint64_t offset = (uint64_t)(t->next - p->map.data), end = p->map.bytes - TAIL;
  if (t->wrong) return gr_parquet_wrong(p, t);
  if (c.encrypted || c.elsewhere)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has %s, which are not read", p->path,
                   c.encrypted ? "encrypted columns" : "columns in other files");
  int64_t first = c.dictionary > 0 && c.dictionary < c.data ? c.dictionary : c.data;
  if (c.there && !c.values) first = MAGIC, c.packed = 0;  // a group without rows
  if (!c.there || first < MAGIC || c.packed < 0 || (uint64_t)first > end ||
      (uint64_t)c.packed > end - (uint64_t)first)
    return gr_parquet_broken(p, offset, "a column is said to be where the file has no room for it");
  *out =
      (gr_parquet_chunk){.codec = c.codec >= 0 && c.codec <= GR_CODEC_LZ4_RAW ? (int)c.codec : -1,
                         .first = (uint64_t)first,
                         .bytes = (uint64_t)c.packed};
  return GR_OK;
}

static gr_status read_chunks(gr_arena *a, gr_parquet *p, gr_thrift *t, size_t n,
                             gr_parquet_group *out) {
  if (n != (size_t)p->n_columns)
    return gr_parquet_broken(p, (uint64_t)(t->next - p->map.data),
                             "a row group has not as many columns as the schema");
  out->chunks = GR_NEW(a, gr_parquet_chunk, n);
  for (size_t i = 0; i < n; i++) GR_TRY(add_chunk(p, t, &out->chunks[i]));
  return GR_OK;
}

static gr_status read_group(gr_arena *a, gr_parquet *p, gr_thrift *t) {
  gr_parquet_group *g = &p->groups[p->n_groups++];
  gr_thrift_field f = {0};
  while (gr_thrift_next(t, &f)) {
    if (f.id == 1)
      GR_TRY(read_chunks(a, p, t, gr_thrift_list(t, f.type, GR_THRIFT_STRUCT), g));
    else if (f.id == 3)
      g->rows = gr_thrift_int(t, f.type);
    else
      gr_thrift_skip(t, f.type);
  }
  if (t->wrong) return gr_parquet_wrong(p, t);
  if (g->chunks && g->rows >= 0 && !__builtin_add_overflow(p->rows, g->rows, &p->rows))
    return GR_OK;
  return gr_parquet_broken(p, (uint64_t)(t->next - p->map.data), "a row group is damaged");
}

static gr_status read_groups(gr_arena *a, gr_parquet *p, gr_thrift *t, size_t n) {
  p->groups = GR_NEW(a, gr_parquet_group, n + 1);
  for (size_t i = 0; i < n; i++) {
    if (!p->n_columns)
      return gr_parquet_broken(p, (uint64_t)(t->next - p->map.data),
                               "row groups are before the schema");
    GR_TRY(read_group(a, p, t));
  }
  return GR_OK;
}

// ---- The file -----------------------------------------------------------------------------------

static gr_status check_rows(const gr_parquet *p, uint64_t first, int64_t claimed) {
  int64_t cells, most = (int64_t)p->map.bytes;
  if (p->rows != claimed)
    return gr_parquet_broken(p, first, "the row groups have not as many rows as the file");
  most =
      most < INT64_MAX / 2 / GR_PARQUET_CELLS ? most * GR_PARQUET_CELLS + GR_PARQUET_SMALL : most;
  if (!__builtin_mul_overflow(p->rows, (int64_t)p->n_columns, &cells) && cells <= most)
    return GR_OK;
  return gr_parquet_broken(p, first, "more rows are claimed than the file can have");
}

// The value of the key "huggingface" of a list of KeyValue.
static gr_bytes find_features(gr_thrift *t, size_t n) {
  static const char wanted[] = "huggingface";
  gr_bytes found = {0};
  for (size_t i = 0; i < n; i++) {
    gr_bytes part[2] = {{0}};  // key and value
    gr_thrift_field f = {0};
    while (gr_thrift_next(t, &f))
      if (f.id == 1 || f.id == 2)
        part[f.id - 1].n = gr_thrift_bytes(t, f.type, &part[f.id - 1].first);
      else
        gr_thrift_skip(t, f.type);
    bool same = part[0].n == strlen(wanted) && !memcmp(part[0].first, wanted, part[0].n);
    if (same) found = part[1];
  }
  return found;
}

// Reads the metadata at [first, first + bytes) of a file: its columns and groups.
static gr_status read_metadata(gr_arena *a, gr_parquet *p, uint64_t first, uint64_t bytes) {
  gr_thrift t = {p->map.data + first, p->map.data + first + bytes, NULL};
  gr_thrift_field f = {0};
  gr_bytes features = {0};
  int64_t rows = 0;
  while (gr_thrift_next(&t, &f)) {
    if (f.id == 2)
      GR_TRY(gr_parquet_schema(a, p, &t, gr_thrift_list(&t, f.type, GR_THRIFT_STRUCT)));
    else if (f.id == 3)
      rows = gr_thrift_int(&t, f.type);
    else if (f.id == 4)
      GR_TRY(read_groups(a, p, &t, gr_thrift_list(&t, f.type, GR_THRIFT_STRUCT)));
    else if (f.id == 5)
      features = find_features(&t, gr_thrift_list(&t, f.type, GR_THRIFT_STRUCT));
    else
      gr_thrift_skip(&t, f.type);
  }
  if (t.wrong) return gr_parquet_wrong(p, &t);
  if (!p->n_columns) return gr_parquet_broken(p, first, "the metadata have no schema");
  gr_parquet_name_classes(a, p, &features);
  return check_rows(p, first, rows);
}

static gr_status no_parquet(const gr_parquet *p, const char *why) {
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is no Parquet file: %s", p->path, why),
                 "copy or write the file again");
}

static gr_status read_tail(gr_arena *a, gr_parquet *p) {
  uint64_t n = p->map.bytes;
  uint32_t bytes;
  if (n < MAGIC + TAIL) return no_parquet(p, n ? "it is too short" : "it is empty");
  const unsigned char *tail = p->map.data + n - TAIL;
  if (!memcmp(tail + 4, "PARE", MAGIC))
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is encrypted, which is not read", p->path);
  if (memcmp(p->map.data, "PAR1", MAGIC) != 0) return no_parquet(p, "it does not begin with PAR1");
  if (memcmp(tail + 4, "PAR1", MAGIC) != 0)
    return no_parquet(p, "it does not end with PAR1, and is probably cut short");
  memcpy(&bytes, tail, 4);  // all supported machines are little-endian
  if (bytes > LARGEST || bytes > n - MAGIC - TAIL)
    return gr_parquet_broken(p, n - TAIL, "the metadata are said to be longer than the file");
  return read_metadata(a, p, n - TAIL - bytes, bytes);
}

gr_status gr_parquet_open(gr_arena *a, const char *path, gr_parquet *out) {
  *out = (gr_parquet){.path = path};
  GR_TRY(gr_mapping_open(path, &out->map));
  gr_status s = read_tail(a, out);
  if (!s) s = gr_parquet_check(out);
  if (s) gr_parquet_close(out);
  return s;
}
