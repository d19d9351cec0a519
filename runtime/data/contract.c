// contract.c - see contract.h.
#include "runtime/data/contract.h"
#include <assert.h>
#include <string.h>

// Elements of one sample's field, so that no product with rows overflows.
static const int64_t MAX_ELEMENTS = INT64_C(1) << 30;
static const char *const dim_names[] = {[-GR_DIM_LENGTH] = "length", [-GR_DIM_EXTENT] = "extent"};

// ---- Queries ------------------------------------------------------------------------------------

const char *gr_contract_bucket_name(gr_arena *arena, const gr_contract *c, int bucket) {
  if (!c->ops->unit) return "all";
  return gr_arena_printf(arena, "t%d", c->buckets[bucket].length);
}

static int64_t size_of(const gr_bucket_info *b, int field, int64_t dim) {
  if (dim == GR_DIM_LENGTH) return b->length;
  if (dim == GR_DIM_EXTENT) return b->extent[field] > 0 ? b->extent[field] : 1;
  return dim;
}

void gr_contract_shapes(const gr_contract *c, int bucket, int rows, gr_batch *out) {
  *out = (gr_batch){.bucket = bucket, .rows = rows, .n_fields = c->n_fields};
  for (int f = 0; f < c->n_fields; f++) {
    const gr_field_spec *s = &c->field[f];
    gr_field *o = &out->field[f];
    *o = (gr_field){.name = s->name,
                    .type = {.dtype = s->dtype, .rank = s->rank + 1, .dim = {rows}}};
    for (int k = 0; k < s->rank; k++)
      o->type.dim[k + 1] = size_of(c->buckets + bucket, f, s->dim[k]);
  }
}

gr_batch gr_batch_slice(const gr_batch *b, int i, int n) {
  gr_batch out = *b;
  assert(n > 0 && b->rows % n == 0 && i >= 0 && i < n);
  out.rows = b->rows / n;
  out.sample = b->sample + i * out.rows;
  for (int f = 0; f < b->n_fields; f++) {
    out.field[f].type.dim[0] /= n;
    size_t bytes = gr_type_bytes(&out.field[f].type);
    out.field[f].data = (const char *)b->field[f].data + (size_t)i * bytes;
  }
  return out;
}

uint32_t gr_contract_count(const gr_contract *c, gr_split split) {
  uint32_t sum = 0;
  for (int b = 0; b < c->n_buckets; b++) sum += c->buckets[b].count[split];
  return sum;
}

double gr_contract_cached(const gr_contract *c) {
  double bytes = 0;
  for (int b = 0; c->ops->load && b < c->n_buckets; b++) {
    const gr_bucket_info *in = &c->buckets[b];
    gr_batch one;
    gr_contract_shapes(c, b, 1, &one);
    for (int f = 0; f < one.n_fields; f++)
      bytes += (double)gr_type_bytes(&one.field[f].type) * ((double)in->count[0] + in->count[1]);
  }
  return bytes;
}

// ---- Writing ------------------------------------------------------------------------------------

// ["f32", "length", 40]
static void put_type(gr_text *t, const char *name, gr_dtype dtype, int rank, const int64_t *dim) {
  gr_text_json_key(t, name);
  gr_text_printf(t, "[\"%s\"", gr_dtypes[dtype].name);
  for (int k = 0; k < rank; k++)
    if (dim[k] < 0)
      gr_text_printf(t, ", \"%s\"", dim_names[-dim[k]]);
    else
      gr_text_printf(t, ", %lld", (long long)dim[k]);
  gr_text_put(t, "]");
}

static void put_bucket(gr_text *t, const gr_contract *c, const gr_bucket_info *b) {
  int n = 0;
  gr_text_printf(t, "{\"length\": %d, \"train\": %u, \"validation\": %u", b->length, b->count[0],
                 b->count[1]);
  for (int f = 0; f < c->n_fields; f++)
    if (b->extent[f])
      gr_text_printf(t, "%s\"%s\": %d", n++ ? ", " : ", \"extents\": {", c->field[f].name,
                     b->extent[f]);
  gr_text_put(t, n ? "}}" : "}");
}

void gr_contract_json(const gr_contract *c, gr_text *t) {
  gr_text_printf(t, "\"source\": \"%s\", \"train\": %u, \"validation\": %u, \"metadata\": {",
                 c->ops->name, gr_contract_count(c, GR_SPLIT_TRAIN),
                 gr_contract_count(c, GR_SPLIT_VALIDATION));
  for (int i = 0; i < c->n_metadata; i++) {
    gr_text_json_key(t, c->metadata[i].name);
    gr_text_put_int(t, c->metadata[i].value);
  }
  gr_text_put(t, "}, \"fields\": {");
  for (int f = 0; f < c->n_fields - 1; f++)
    put_type(t, c->field[f].name, c->field[f].dtype, c->field[f].rank, c->field[f].dim);
  for (int b = 0; c->ops->unit && b < c->n_buckets; b++) {
    gr_text_put(t, b ? ", " : "}, \"buckets\": [");
    put_bucket(t, c, &c->buckets[b]);
  }
  gr_text_put(t, c->ops->unit ? "]" : "}");
  if (c->n_tables) gr_text_put(t, ", \"tables\": {");
  for (int i = 0; i < c->n_tables; i++)
    put_type(t, c->tables[i].name, c->tables[i].type.dtype, c->tables[i].type.rank,
             c->tables[i].type.dim);
  if (c->n_tables) gr_text_put(t, "}");
}

// ---- Reading ------------------------------------------------------------------------------------

static gr_status lacks(const gr_conf *c, const char *what) {
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "data.expect %s", what),
                 "`graphrun data inspect CONFIG.yaml --json` prints what the data have");
}

// An entry of a mapping, of which there are at most `most`.
static gr_status find_map(gr_conf *expect, const char *key, int most, bool needed, gr_conf **out) {
  *out = gr_conf_member(expect, key);
  if (!*out && needed) return gr_note(lacks(expect, "is not complete"), GR_NOWHERE, "no '%s'", key);
  if (!*out || ((*out)->kind == GR_CONF_MAP && (*out)->n <= most)) return GR_OK;
  return gr_fail(GR_ERR_CONFIG, (*out)->loc, "data.expect.%s is a mapping of at most %d", key,
                 most);
}

static gr_status read_count(gr_conf *map, const char *key, int64_t least, int64_t most,
                            int64_t *out) {
  gr_conf *c = gr_conf_member(map, key);
  if (!c && !least) return GR_OK;
  if (c && c->kind == GR_CONF_INT && c->integer >= least && c->integer <= most) {
    *out = c->integer;
    return GR_OK;
  }
  return gr_fail(GR_ERR_CONFIG, c ? c->loc : map->loc,
                 "data.expect: '%s' is a number from %lld to %lld", key, (long long)least,
                 (long long)most);
}

static bool read_dtype(const gr_conf *c, gr_dtype *out) {
  for (int d = 0; c->kind == GR_CONF_TEXT && d < GR_DTYPE_COUNT; d++)
    if (!strcmp(gr_dtypes[d].name, c->text)) {
      *out = (gr_dtype)d;
      return true;
    }
  return false;
}

static bool read_dim(const gr_conf *c, bool named, int64_t *out) {
  for (int i = 1; named && c->kind == GR_CONF_TEXT && i <= 2; i++)
    if (!strcmp(dim_names[i], c->text)) {
      *out = -i;
      return true;
    }
  *out = c->kind == GR_CONF_INT ? c->integer : 0;
  return *out >= 1 && *out <= GR_MAX_LENGTH;
}

// [f32, length, 40]; the names are those of a field's dimensions.
static gr_status read_type(const gr_conf *c, bool named, gr_field_spec *out) {
  bool good = c->kind == GR_CONF_LIST && c->n >= 1 && c->n < GR_MAX_RANK &&
              read_dtype(c->items[0], &out->dtype);
  out->rank = good ? c->n - 1 : 0;
  for (int k = 0; good && k < out->rank; k++) good = read_dim(c->items[k + 1], named, &out->dim[k]);
  if (good) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "data.expect: this is not the type of a %s",
                         named ? "field" : "table"),
                 named
                     ? "[f32, length, 40]: its dtype and the sizes of a sample: numbers, `length` "
                       "of the bucket, or `extent`, of the bucket's extents"
                     : "[f32, 2500, 5]: its dtype and its sizes");
}

static gr_status read_fields(gr_arena *a, gr_conf *expect, gr_contract *out) {
  gr_conf *fields;
  GR_TRY(find_map(expect, "fields", GR_MAX_FIELDS - 1, true, &fields));
  gr_field_spec *f = GR_NEW(a, gr_field_spec, fields->n + 1);
  for (int i = 0; i < fields->n; i++) {
    f[i].name = fields->keys[i];
    GR_TRY(read_type(fields->items[i], true, &f[i]));
  }
  f[fields->n] = (gr_field_spec){.name = "weight", .dtype = GR_F32};
  out->field = f, out->n_fields = fields->n + 1;
  return GR_OK;
}

static gr_status read_metadata(gr_conf *expect, gr_contract *out) {
  gr_conf *map;
  GR_TRY(find_map(expect, "metadata", GR_MAX_METADATA, true, &map));
  for (out->n_metadata = 0; out->n_metadata < map->n; out->n_metadata++) {
    gr_metadata *m = &out->metadata[out->n_metadata];
    m->name = map->keys[out->n_metadata];
    GR_TRY(read_count(map, m->name, INT32_MIN, INT64_MAX, &m->value));
  }
  return GR_OK;
}

static gr_status read_tables(gr_conf *expect, gr_contract *out) {
  gr_conf *map;
  GR_TRY(find_map(expect, "tables", GR_MAX_TABLES, false, &map));
  for (int i = 0; map && i < map->n; i++) {
    gr_field_spec s = {0};
    GR_TRY(read_type(map->items[i], false, &s));
    gr_data_table *t = &out->tables[out->n_tables++];
    *t = (gr_data_table){.name = map->keys[i], .type = {.dtype = s.dtype, .rank = s.rank}};
    memcpy(t->type.dim, s.dim, sizeof s.dim);
    if (!gr_type_possible(&t->type))
      return gr_fail(GR_ERR_CONFIG, map->items[i]->loc, "data.expect: the table is too large");
  }
  return GR_OK;
}

static gr_status read_extents(gr_conf *bucket, const gr_contract *c, gr_bucket_info *out) {
  gr_conf *map = gr_conf_member(bucket, "extents");
  for (int f = 0; f < c->n_fields; f++) {
    int64_t n = 0;
    if (!gr_field_has(&c->field[f], GR_DIM_EXTENT)) continue;
    if (!map || map->kind != GR_CONF_MAP)
      return gr_fail(GR_ERR_CONFIG, bucket->loc, "data.expect: a bucket has no extents");
    GR_TRY(read_count(map, c->field[f].name, 1, GR_MAX_LENGTH, &n));
    out->extent[f] = (int32_t)n;
  }
  return GR_OK;
}

// Counts that are not given are 0.
static gr_status read_bucket(gr_conf *bucket, int64_t above, const gr_contract *c,
                             gr_bucket_info *out) {
  int64_t length = 1, train = 0, validation = 0;
  if (bucket->kind != GR_CONF_MAP)
    return gr_fail(GR_ERR_CONFIG, bucket->loc, "data.expect: a bucket is a mapping, found %s",
                   gr_conf_a_kind(bucket->kind));
  if (c->ops->unit) GR_TRY(read_count(bucket, "length", above + 1, GR_MAX_LENGTH, &length));
  GR_TRY(read_count(bucket, "train", 0, INT32_MAX, &train));
  GR_TRY(read_count(bucket, "validation", 0, INT32_MAX, &validation));
  *out =
      (gr_bucket_info){.length = (int32_t)length, .count = {(uint32_t)train, (uint32_t)validation}};
  return read_extents(bucket, c, out);
}

static gr_status read_buckets(gr_arena *a, gr_conf *expect, gr_contract *out) {
  gr_conf *list = out->ops->unit ? gr_conf_member(expect, "buckets") : NULL;
  if (out->ops->unit && !list) return lacks(expect, "has no buckets");
  if (list && (list->kind != GR_CONF_LIST || list->n < 1 || list->n > GR_MAX_BUCKETS))
    return gr_fail(GR_ERR_CONFIG, list->loc, "data.expect.buckets is a list of 1 to %d",
                   GR_MAX_BUCKETS);
  gr_bucket_info *b = GR_NEW(a, gr_bucket_info, list ? list->n : 1);
  out->buckets = b, out->n_buckets = list ? list->n : 1;
  for (int i = 0; i < out->n_buckets; i++)
    GR_TRY(read_bucket(list ? list->items[i] : expect, i ? b[i - 1].length : 0, out, &b[i]));
  return GR_OK;
}

static gr_status check_sizes(const gr_conf *expect, const gr_contract *c) {
  for (int f = 0; f < c->n_fields; f++) {
    int64_t n = 1;
    for (int k = 0; k < c->field[f].rank && n <= MAX_ELEMENTS; k++)
      n *= size_of(&c->buckets[c->n_buckets - 1], f, c->field[f].dim[k]);
    if (n > MAX_ELEMENTS)
      return gr_fail(GR_ERR_CONFIG, expect->loc, "data.expect: a sample's '%s' is too large",
                     c->field[f].name);
  }
  return GR_OK;
}

// The mapping itself; of a path the file's.
static gr_status open_expect(gr_arena *a, gr_conf **expect) {
  gr_conf_mark(*expect);
  if ((*expect)->kind == GR_CONF_TEXT) GR_TRY(gr_conf_read(a, (*expect)->text, expect));
  if ((*expect)->kind == GR_CONF_MAP) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, (*expect)->loc, "data.expect is a mapping, found %s",
                         gr_conf_a_kind((*expect)->kind)),
                 "or the path of a run's data.json");
}

gr_status gr_contract_read(gr_arena *a, gr_conf *expect, const gr_source_ops *ops,
                           gr_contract *out) {
  *out = (gr_contract){.ops = ops};
  GR_TRY(open_expect(a, &expect));
  GR_TRY(read_fields(a, expect, out));
  GR_TRY(read_metadata(expect, out));
  GR_TRY(read_buckets(a, expect, out));
  GR_TRY(read_tables(expect, out));
  return check_sizes(expect, out);
}

// ---- Comparing ----------------------------------------------------------------------------------

static const char *text_of(gr_arena *a, const gr_conf *c) {
  gr_text t = gr_text_make(a);
  gr_conf_json(&t, c, 0);
  return t.chars;
}

static gr_status differs(gr_arena *a, const char *path, const gr_conf *declared,
                         const gr_conf *there) {
  gr_text has = gr_text_make(a), said = gr_text_make(a);
  bool lists = there && declared->kind == GR_CONF_LIST && there->kind == GR_CONF_LIST;
  if (lists)
    gr_text_printf(&has, "have %d", there->n), gr_text_printf(&said, "has %d entries", declared->n);
  else
    gr_text_printf(&said, "is %s", text_of(a, declared));
  if (!lists && there) gr_text_printf(&has, "have %s", text_of(a, there));
  if (!there) gr_text_put(&has, "do not have it");
  return gr_hint(
      gr_fail(GR_ERR_DATA, declared->loc, "%s %s, but the data %s", path, said.chars, has.chars),
      "`graphrun data inspect CONFIG.yaml --json` prints what the data have; "
      "data.expect=null takes whatever they have");
}

static gr_status compare(gr_arena *a, const char *path, const gr_conf *declared, gr_conf *there) {
  bool map = declared->kind == GR_CONF_MAP, list = declared->kind == GR_CONF_LIST;
  if (!there || ((map || list) && there->kind != declared->kind) ||
      (list && there->n != declared->n))
    return differs(a, path, declared, there);
  for (int i = 0; (map || list) && i < declared->n; i++)
    GR_TRY(compare(a,
                   map ? gr_arena_printf(a, "%s.%s", path, declared->keys[i])
                       : gr_arena_printf(a, "%s[%d]", path, i),
                   declared->items[i],
                   map ? gr_conf_member(there, declared->keys[i]) : there->items[i]));
  bool same = map || list || !strcmp(text_of(a, declared), text_of(a, there));
  return same ? GR_OK : differs(a, path, declared, there);
}

gr_status gr_contract_compare(gr_arena *a, gr_conf *expect, const char *record) {
  gr_conf *there;
  GR_TRY(open_expect(a, &expect));
  GR_TRY(gr_conf_parse(a, "data.json", record, &there));
  return compare(a, "data.expect", expect, there);
}
