// query.c - queries of a data set: shapes, counts and readable summaries. See dataset.h.
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "runtime/data/dataset.h"
#include "runtime/data/parts.h"

const gr_dataset_options *gr_dataset_settings(const gr_dataset *d) { return &d->options; }
const gr_contract *gr_dataset_contract(const gr_dataset *d) { return &d->contract; }
int gr_dataset_buckets(const gr_dataset *d) { return d->n_buckets; }
const gr_bucket_info *gr_dataset_bucket(const gr_dataset *d, int bucket) {
  assert(bucket >= 0 && bucket < d->n_buckets);
  return d->buckets + bucket;
}
uint32_t gr_dataset_samples(const gr_dataset *d) { return d->count; }
const gr_sample *gr_dataset_sample(const gr_dataset *d, uint32_t sample) {
  assert(sample < d->count);
  return d->samples + sample;
}
const void *gr_dataset_source(const gr_dataset *d) { return d->self; }

const char *gr_dataset_bucket_name(gr_arena *arena, const gr_dataset *d, int bucket) {
  return gr_contract_bucket_name(arena, &d->contract, bucket);
}

int gr_dataset_tables(const gr_dataset *d, gr_data_table out[GR_MAX_TABLES]) {
  return d->ops->tables ? d->ops->tables(d->self, out) : 0;
}

int gr_dataset_metadata(const gr_dataset *d, gr_metadata out[GR_MAX_METADATA]) {
  int n = 0;
  if (d->ops->metadata)
    n = d->ops->metadata(d->self, out);
  else if (d->classes)
    out[n++] = (gr_metadata){"classes", d->classes->n};
  return gr_transforms_metadata(d->transforms, out, n);
}

gr_status gr_dataset_resize_back(const gr_dataset *d, uint32_t sample, gr_source_picture *p) {
  if (!d->ops->resize_back) return GR_OK;
  return d->ops->resize_back(d->self, d->samples[sample].index, p);
}

// Transforms make x another than the source's.
gr_status gr_dataset_check_lookup(const gr_dataset *d, const gr_column_lookup *l) {
  bool same = d->ops->check_lookup && !d->transforms;
  return same ? gr_dataset_place_error(d, d->ops->check_lookup(d->self, l)) : GR_OK;
}

const char *gr_dataset_advice(const gr_dataset *d, const char *field) {
  return d->ops->advice ? d->ops->advice(d->self, field) : NULL;
}

uint32_t gr_dataset_count(const gr_dataset *d, gr_split split) {
  return gr_contract_count(&d->contract, split);
}

void gr_dataset_sample_evenly(const gr_dataset *d, gr_split split, uint32_t n, uint32_t *out) {
  uint64_t of = gr_dataset_count(d, split), seen = 0, taken = 0;
  assert(n <= of);
  for (uint32_t i = 0; i < d->count && taken < n; i++) {
    if (d->samples[i].split != split) continue;
    if (seen++ == taken * of / n) out[taken++] = i;
  }
}

// ---- Skipped -----------------------------------------------------------------------------------

uint64_t gr_dataset_unreadable(gr_dataset *d) { return gr_unreadable_count(&d->unreadable); }
const char *gr_dataset_unreadable_line(gr_dataset *d, uint64_t i) {
  return gr_unreadable_line(&d->unreadable, i);
}

static void put_reason(gr_text *out, const char **comma, const gr_omitted *t, const char *why) {
  if (!t->n) return;
  gr_text_printf(out, "%s%llu %s", *comma, (unsigned long long)t->n, why);
  gr_omitted_put_first(t, out);
  *comma = ", ";
}

static bool is_skipped(const gr_dataset *d, int i) {
  return d->ops->skips[i].of == GR_OMITTED_SKIPPED && d->skipped[i].n;
}

bool gr_dataset_skipped(gr_dataset *d, gr_text *out) {
  const gr_omitted unreadable = {.n = gr_unreadable_count(&d->unreadable)};  // each has a line
  uint64_t all = d->too_long.n + unreadable.n;
  for (int i = 0; i < GR_MAX_SKIPS; i++) all += is_skipped(d, i) ? d->skipped[i].n : 0;
  if (!all) return false;
  const char *comma = "", *longer = gr_arena_printf(out->arena, "longer than %d %ss", d->max_length,
                                                    d->ops->unit ? d->ops->unit : "row");
  gr_text_printf(out, "skipped %llu of %u %s: ", (unsigned long long)all, d->listed,
                 d->unreadable.samples);
  put_reason(out, &comma, &d->too_long, longer);
  for (int i = 0; i < GR_MAX_SKIPS; i++)
    if (is_skipped(d, i)) put_reason(out, &comma, &d->skipped[i], d->ops->skips[i].why);
  put_reason(out, &comma, &unreadable, "unreadable");
  return true;
}

void gr_dataset_changed(const gr_dataset *d, gr_text *out) {
  const gr_skip_reason limit = {
      .why = gr_arena_printf(out->arena, "%s that data.limit=%u leaves out", d->unreadable.samples,
                             d->options.limit),
      .of = GR_OMITTED_OTHER};
  for (int i = 0; i < GR_MAX_SKIPS; i++)
    if (d->ops->skips[i].of != GR_OMITTED_SKIPPED)
      gr_omitted_put(&d->skipped[i], &d->ops->skips[i], d->count, d->unreadable.samples, out);
  gr_omitted_put(&d->limited, &limit, d->count, d->unreadable.samples, out);
}

void gr_dataset_log_skipped(gr_dataset *d) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  gr_unreadable_say(&d->unreadable);
  if (gr_dataset_skipped(d, &t)) gr_text_put(&t, "\n");
  gr_text lines = gr_text_make(a);
  gr_dataset_changed(d, &lines);
  gr_text_put(&t, lines.chars);
  gr_log_lines(GR_INFO, t.chars);
  gr_arena_destroy(a);
}

void gr_dataset_log_weightless(gr_dataset *d) {
  pthread_mutex_lock(&d->cache.lock);
  uint64_t n = d->cache.n_unreadable;
  pthread_mutex_unlock(&d->cache.lock);
  if (n)
    gr_log(GR_WARN, "%llu sample%s could not be used and weighed 0", (unsigned long long)n,
           n > 1 ? "s" : "");
}

// ---- Identity -------------------------------------------------------------------

static gr_sample_info info_of(const gr_dataset *d, uint32_t sample) {
  assert(sample < d->count);
  return d->ops->info(d->self, d->samples[sample].index);
}

gr_loc gr_dataset_place(const gr_dataset *d, uint32_t sample) { return info_of(d, sample).loc; }

uint64_t gr_dataset_fingerprint(const gr_dataset *d, uint32_t sample, bool with_file) {
  const gr_sample *s = d->samples + sample;
  uint64_t hash = d->ops->fingerprint ? d->ops->fingerprint(d->self, s->index, with_file)
                                      : info_of(d, sample).key;
  int32_t numbers[] = {s->length, (int32_t)s->split};
  return gr_hash_bytes(hash, numbers, sizeof numbers);
}

void gr_dataset_describe(const gr_dataset *d, uint32_t sample, gr_text *out) {
  if (d->ops->describe)
    d->ops->describe(d->self, d->samples[sample].index, out);
  else
    gr_text_put(out, gr_dataset_sample_name(out->arena, d, sample));
}

bool gr_dataset_save(const gr_dataset *d, gr_text *out) {
  gr_text transforms = gr_text_make(out->arena);
  if (d->ops->save) d->ops->save(d->self, out);
  if (d->fitted) gr_transforms_save(d->transforms, &transforms);
  if (transforms.len) gr_text_printf(out, "\n%s", transforms.chars);
  return out->len > 0;
}

// The source's line, and that of the transforms.
static gr_status restore_lines(gr_dataset *d, const char *text) {
  const char *end = strchr(text, '\n');
  size_t n = end ? (size_t)(end - text) : strlen(text);
  gr_arena *a = gr_arena_create();
  gr_status s = GR_OK;
  if (n && d->ops->restore) s = d->ops->restore(d->self, gr_arena_strndup(a, text, n));
  if (!s && d->transforms) s = gr_transforms_restore(d->transforms, end ? end + 1 : "");
  d->fitted = !s;
  return gr_arena_end(a, s);
}

// Ranks that are threads restore the same data set: only the first does, because it may read the
// values without the lock from then on.
gr_status gr_dataset_restore(gr_dataset *d, const char *text) {
  pthread_mutex_lock(&d->fitting);
  bool done = d->restored && !strcmp(d->restored, text);
  gr_status s = done ? GR_OK : restore_lines(d, text);
  if (!done && !s) free(d->restored), d->restored = strdup(text);
  pthread_mutex_unlock(&d->fitting);
  return s;
}

// ---- Summaries ---------------------------------------------------------------------------------

const char *gr_dataset_sample_name(gr_arena *a, const gr_dataset *d, uint32_t sample) {
  uint32_t index = d->samples[sample].index;
  gr_text t = gr_text_make(a);
  if (d->ops->name_of)
    d->ops->name_of(d->self, index, &t);
  else
    gr_text_printf(&t, "%s %u", d->ops->sample, index);
  return t.chars;
}

const char *gr_dataset_reference(gr_arena *a, const gr_dataset *d, uint32_t sample) {
  const gr_sample *s = &d->samples[sample];
  gr_text t = gr_text_make(a);
  if (d->classes && s->label)
    gr_text_put(&t, d->classes->names[s->label - 1]);
  else if (d->ops->reference)
    d->ops->reference(d->self, s->index, &t);
  return t.chars;
}

bool gr_dataset_has_texts(const gr_dataset *d) {
  return d->ops->tokens && d->ops->reference && !d->classes;
}

void gr_dataset_decode(const gr_dataset *d, const int32_t *ids, int64_t n, gr_text *out) {
  if (d->ops->decode) {
    d->ops->decode(d->self, ids, n, out);
    return;
  }
  if (d->classes) {
    gr_classes_decode(d->classes, ids, n, out);
    return;
  }
  for (int64_t i = 0; i < n; i++) gr_text_printf(out, "%s%d", i ? " " : "", ids[i]);
}

void gr_dataset_preprocessing(const gr_dataset *d, gr_text *out) {
  if (d->ops->preprocessing) d->ops->preprocessing(d->self, out);
  gr_transforms_preprocessing(d->transforms, out);
}

const char *gr_dataset_tokenizer_hash(gr_arena *a, const gr_dataset *d) {
  const gr_tokenizer *t = d->tokenizer;
  return gr_arena_printf(a, "%016llx", (unsigned long long)gr_hash_data(t->bytes, t->n_bytes));
}

const gr_tokenizer *gr_dataset_tokenizer(const gr_dataset *d) { return d->tokenizer; }

void gr_dataset_json(const gr_dataset *d, gr_text *out) {
  gr_text_put(out, "{");
  gr_contract_json(&d->contract, out);
  if (d->tokenizer)
    gr_text_printf(out, ", \"tokenizer\": \"%s\"", gr_dataset_tokenizer_hash(out->arena, d));
  if (d->ops->record)
    d->ops->record(d->self, out);
  else if (d->classes)
    gr_classes_record(d->classes, out);
  gr_text_put(out, "}\n");
}
