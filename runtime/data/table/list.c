// list.c - builds samples from rows and windows of rows: their contents, split and label. See
// table.h.
#include <math.h>
#include "base/work.h"
#include "runtime/data/table/table.h"

enum { BLOCK = 8 };  // windows in a block of rows that is assigned to one split

// State of the pass over the rows of a part.
typedef struct rows {
  gr_table *table;
  gr_table_part *part;
  float *values;         // [width]: one row
  void *numbers;         // the same for an integer x
  uint8_t *state;        // by row: UNKNOWN, GOOD or BAD
  uint64_t series_hash;  // of the current series, which begins at
  int64_t series_start;
  int64_t tried;  // rows, or windows of rows, that could be samples
} rows;
enum { UNKNOWN, GOOD, BAD };

// Counts what begins at a row.
static void count_rows(const rows *r, gr_omitted *omitted, int64_t n, int64_t row) {
  const gr_columns *c = &r->part->columns;
  char where[GR_COLUMNS_WHERE];
  if (n > 0)
    gr_omitted_add(r->table->arena, omitted, (uint64_t)n, gr_columns_place(c, row),
                   gr_columns_where(c, row, c->path, where));
}

// ---- A row --------------------------------------------------------------------------------------

static gr_status wrong_value(const rows *r, int feature, int64_t row) {
  const gr_array *a = &r->part->columns.items[r->part->features[feature]].values;
  const char *dtype = gr_dtypes[r->table->spec.dtype].name;
  char where[GR_COLUMNS_WHERE];
  (void)gr_columns_where(&r->part->columns, row, a->file, where);
  if (r->table->spec.dtype == GR_F32)
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                           "'%s' has a value in %s that is not finite as f32", a->name, where),
                   "correct it");
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has a value in %s that %s does not hold",
                         a->name, where, dtype),
                 "data.table.dtype=f32 takes any number");
}

static gr_status check_features(rows *r, int64_t row) {
  const gr_table *t = r->table;
  for (int i = 0; i < t->spec.features.n; i++) {
    int column = r->part->features[i];
    const gr_array *a = &r->part->columns.items[column].values;
    GR_TRY(gr_columns_need(&r->part->columns, column, row));
    int64_t n = a->count / a->dim[0];
    bool good = true;
    if (t->spec.dtype != GR_F32)
      good = gr_array_ints(a, row * n, n, gr_dtypes[t->spec.dtype].size, r->numbers) < 0;
    if (t->spec.dtype == GR_F32) gr_array_floats(a, row * n, n, r->values);
    for (int64_t k = 0; k < n && t->spec.dtype == GR_F32; k++) good &= isfinite(r->values[k]) != 0;
    if (!good) return wrong_value(r, i, row);
  }
  return GR_OK;
}

// Whether a row can be used; its error is reported once.
static gr_status check_row(rows *r, int64_t row, gr_unreadable *u) {
  if (r->state[row]) return GR_OK;
  gr_status s = check_features(r, row);
  s = s ? s : gr_table_check_label(r->table, r->part, row);
  s = s ? s : gr_table_check_inputs(r->table, r->part, row);
  r->state[row] = s ? BAD : GOOD;
  return gr_unreadable_add(u, gr_columns_place(&r->part->columns, row), s);
}

// ---- The split ----------------------------------------------------------------------------------

static uint64_t mixed(uint64_t h, uint64_t low) {
  uint32_t out[4];
  gr_philox(h, low, 0, out);
  return (uint64_t)out[0] << 32 | out[1];
}

// Hashes the content, so that a row stays in its split when other rows are added or removed, and
// equal rows are in the same split.
static uint64_t key_of_row(const rows *r, int64_t row, int32_t label) {
  gr_table_row(r->table, r->part, row, r->values);
  uint64_t h = gr_hash_bytes(GR_HASH_START, r->values, (size_t)r->table->width * sizeof(float));
  return mixed(h, (uint64_t)(uint32_t)label);
}

static gr_status read_splits(gr_table *t, gr_table_part *p) {
  const gr_array *a;
  if (p->split < 0) return GR_OK;
  GR_TRY(gr_columns_read(&p->columns, p->split, &a));
  gr_arena *scratch = gr_arena_create();
  p->split_of = GR_NEW(t->arena, uint8_t, a->count + 1);
  gr_status s = GR_OK;
  for (int64_t row = 0; row < p->columns.rows && !s; row++) {
    const char *word = gr_array_text(scratch, a, row);
    gr_split split = GR_SPLIT_TRAIN;
    bool known = gr_split_by_word(word, &split);
    char where[GR_COLUMNS_WHERE];
    p->split_of[row] = (uint8_t)split;
    if (!known)
      s = gr_hint(
          gr_about(
              gr_fail(GR_ERR_DATA, gr_columns_place(&p->columns, row), "the split in %s is '%s'",
                      gr_columns_where(&p->columns, row, p->columns.path, where), word),
              "split"),
          GR_SPLIT_WORDS);
  }
  return gr_arena_end(scratch, s);
}

// Overlapping windows share rows, so whole blocks of a series are assigned to a split, not windows.
static uint64_t key_of_block(const rows *r, int64_t row) {
  return mixed(r->series_hash,
               (uint64_t)((row - r->series_start) / ((int64_t)BLOCK * r->table->spec.window)));
}

static gr_split split_of_row(const rows *r, int64_t row, gr_share *validation) {
  if (r->table->inputs) return GR_SPLIT_VALIDATION;
  if (r->table->n_parts > 1)
    return r->part == &r->table->part[1] ? GR_SPLIT_VALIDATION : GR_SPLIT_TRAIN;
  if (r->part->split_of) return (gr_split)r->part->split_of[row];
  if (!r->table->spec.window) return GR_SPLIT_BY_KEY;
  return gr_split_by_key(key_of_block(r, row), validation);
}

// ---- The label ----------------------------------------------------------------------------------

// The most frequent class of a window's rows; on ties the first.
static int32_t most_frequent(const rows *r, int64_t row, int64_t n, uint32_t *count) {
  const int32_t *classes = r->part->classes + row;
  int32_t best = classes[0];
  for (int64_t i = 0; i < n; i++) count[classes[i]] = 0;
  for (int64_t i = 0; i < n; i++) count[classes[i]]++;
  for (int64_t i = 0; i < n; i++) {
    uint32_t here = count[classes[i]], most = count[best];
    if (here > most || (here == most && classes[i] < best)) best = classes[i];
  }
  return best;
}

static void label_of(const rows *r, int64_t row, int64_t n, uint32_t *count, gr_table_sample *s) {
  int64_t last = row + n - 1;
  s->label_row = (uint32_t)last;
  if (r->part->classes)
    s->label = r->table->spec.majority ? most_frequent(r, row, n, count) : r->part->classes[last];
}

// ---- Samples ------------------------------------------------------------------------------------

// Adds a row, or a window of n rows, unless a row is unusable or belongs to another split.
static gr_status add_sample(rows *r, int64_t row, int64_t n, const gr_source_request *q,
                            uint32_t *count) {
  gr_table *t = r->table;
  bool good = true, across = false;
  GR_TRY(gr_work_step(0));
  for (int64_t i = row; i < row + n; i++) {
    GR_TRY(check_row(r, i, q->unreadable));
    good &= r->state[i] == GOOD;
  }
  if (!good) return GR_OK;
  gr_split split = split_of_row(r, row, q->validation);
  for (int64_t i = r->part->split_of ? row : row + n - 1; i < row + n; i++)
    across |= split_of_row(r, i, q->validation) != split;
  if (across) count_rows(r, &q->skipped[GR_TABLE_ACROSS], 1, row);
  if (across) return GR_OK;
  gr_table_sample *s = &t->samples[t->count++];
  *s = (gr_table_sample){
      .row = (uint32_t)row, .part = (uint16_t)(r->part - t->part), .split = (uint8_t)split};
  label_of(r, row, n, count, s);
  s->key = key_of_row(r, row, s->label);
  int64_t samples = gr_table_series_samples(t);  // of one key, that are in one split
  for (uint32_t c = 1; c < samples; c++) {
    t->samples[t->count] = *s;
    t->samples[t->count++].channel = c;
  }
  return GR_OK;
}

static void begin_series(rows *r, int64_t row) {
  r->series_start = row, r->series_hash = GR_HASH_START;
  if (!r->part->series_end) return;
  gr_arena *a = gr_arena_create();
  r->series_hash =
      gr_hash_text(gr_array_text(a, &r->part->columns.items[r->part->series].values, row));
  gr_arena_destroy(a);
}

static gr_status list_part(rows *r, const gr_source_request *q) {
  const gr_table_spec *s = &r->table->spec;
  gr_columns *c = &r->part->columns;
  int64_t n = s->window ? s->window : 1, stride = s->window && s->stride ? s->stride : n;
  uint32_t before = r->table->count;
  uint32_t *count = GR_NEW(r->table->arena, uint32_t, r->table->classes.n + 1);
  r->state = GR_NEW(r->table->arena, uint8_t, c->rows + 1);
  GR_TRY(read_splits(r->table, r->part));
  for (int64_t first = 0, end; first < c->rows; first = end) {
    end = r->part->series_end ? r->part->series_end[first] : c->rows;
    begin_series(r, first);
    int64_t rest = first;  // rows from here on are in no window
    for (int64_t row = first; row + n <= end; row += stride, rest = row - stride + n) {
      bool beyond = q->limit && r->table->count - before >= q->limit;
      if (beyond) count_rows(r, q->limited, 1, row);
      if (beyond) continue;
      r->tried++;
      GR_TRY(add_sample(r, row, n, q, count));
    }
    count_rows(r, &q->skipped[rest == first ? GR_TABLE_SHORT : GR_TABLE_REST],
               rest == first ? 1 : end - rest, rest);
  }
  return GR_OK;
}

static gr_status no_window(const gr_table *t, const gr_table_part *p) {
  return gr_hint(
      gr_about(gr_fail(GR_ERR_DATA, gr_columns_names(&p->columns),
                       "no series of '%s', which has %lld rows, has the %d rows of a window",
                       p->columns.path, (long long)p->columns.rows, t->spec.window),
               "window"),
      "a smaller data.table.window, or longer series");
}

gr_status gr_table_list(gr_table *t, const gr_source_request *q) {
  int64_t most = 0;
  for (int i = 0; i < t->n_parts; i++) most += t->part[i].columns.rows;
  if (__builtin_mul_overflow(most, gr_table_series_samples(t), &most) || most >= UINT32_MAX)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has more than 2^32 rows",
                   t->part[0].columns.path);
  t->samples = GR_NEW(t->arena, gr_table_sample, most + 1);
  for (int i = 0; i < t->n_parts; i++) {
    rows r = {.table = t,
              .part = &t->part[i],
              .values = GR_NEW(t->arena, float, t->width),
              .numbers = GR_NEW(t->arena, int64_t, t->width)};
    GR_TRY(list_part(&r, q));
    if (!r.tried) return no_window(t, r.part);
  }
  return GR_OK;
}
