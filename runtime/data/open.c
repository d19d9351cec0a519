// open.c - opens a source as a data set: its list of samples, split and buckets. See dataset.h.
#include <stdlib.h>
#include <string.h>
#include "base/grow.h"
#include "base/log.h"
#include "base/port.h"
#include "runtime/data/chosen.h"
#include "runtime/data/file_list.h"
#include "runtime/data/parts.h"

static gr_split split_of(gr_dataset *d, const gr_sample_info *info) {
  return info->split != GR_SPLIT_BY_KEY ? info->split : gr_split_by_key(info->key, &d->validation);
}

static gr_status list_samples(gr_dataset *d) {
  d->listed = d->count = d->ops->count(d->self);
  d->samples = GR_NEW(d->arena, gr_sample, d->count);
  for (uint32_t i = 0; i < d->count; i++) {
    gr_sample_info info = d->ops->info(d->self, i);
    if (info.length < 1 || (!d->ops->unit && info.length != 1))
      return gr_fail(GR_ERR_BUG, info.loc, "the source '%s' gives a %s the length %d", d->ops->name,
                     d->ops->sample, info.length);
    d->samples[i] = (gr_sample){.index = i,
                                .length = info.length,
                                .split = split_of(d, &info),
                                .label = info.label,
                                .weight = info.has_weight ? info.weight : 1};
    d->weights |= info.has_weight;
  }
  for (int i = 0; i < GR_MAX_SKIPS; i++)
    if (d->ops->skips[i].of == GR_OMITTED_SKIPPED) d->listed += (uint32_t)d->skipped[i].n;
  d->listed += (uint32_t)gr_unreadable_count(&d->unreadable);
  return GR_OK;
}

static gr_status list_fields(gr_dataset *d) {
  int n = d->ops->fields(d->self, d->field), more = d->classes ? 3 : 1;
  if (n < 0 || n + more > GR_MAX_FIELDS)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "the source '%s' has %d fields", d->ops->name, n);
  d->y_field = n;
  if (d->classes) {
    d->field[n++] = (gr_field_spec){.name = "y", .dtype = GR_I32};
    d->field[n++] = (gr_field_spec){.name = "class_weight", .dtype = GR_F32};
  }
  d->field[n] = (gr_field_spec){.name = "weight", .dtype = GR_F32};
  d->n_fields = n + 1;
  return gr_transforms_open(d->arena, d->options.transforms, d->options.views, d->field, n,
                            &d->transforms);
}

// The source makes tokens, and has no key of its own that says which.
static gr_status check_tokenizer(gr_dataset *d) {
  const char *key = gr_arena_printf(d->arena, "%s.vocab", d->ops->name);
  const gr_conf *vocab = d->tokenizer ? gr_conf_find(d->conf, key) : NULL;
  if (d->tokenizer && !d->ops->tokens)
    return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                    "the source '%s' has no text to make tokens of", d->ops->name),
                            "tokenizer"),
                   "remove data.tokenizer");
  if (!vocab || vocab->is_default) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, vocab->loc,
                         "data.%s says what tokens are, and so does data.tokenizer", key),
                 "remove one of them");
}

// The tokenizer that a run has kept must be the one that it was trained with.
static gr_status open_tokenizer(gr_dataset *d) {
  if (!d->conf) return GR_OK;
  GR_TRY(gr_tokenizer_read(d->arena, d->conf, &d->tokenizer));
  GR_TRY(check_tokenizer(d));
  const gr_json *hash = d->record ? gr_json_get(d->record, "tokenizer", GR_JSON_TEXT) : NULL;
  const char *read = d->tokenizer ? gr_dataset_tokenizer_hash(d->arena, d) : "none";
  if (!hash || !strcmp(hash->text, read)) return GR_OK;
  return gr_hint(gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                                  "the run was trained with another tokenizer: its hash is %s, and "
                                  "that of data.tokenizer %s",
                                  hash->text, read),
                          "tokenizer"),
                 "the run's folder has a copy of it, tokenizer.json or tokenizer.tiktoken");
}

static gr_conf *section_of(const gr_dataset *d) {
  return d->conf && !d->ops->n_joined ? gr_conf_find(d->conf, d->ops->name) : d->conf;
}

static gr_status open_source(gr_dataset *d, const void *spec) {
  const gr_dataset_options *o = &d->options;
  d->validation = (gr_share){o->validation_fraction, o->validation_fold, false};
  gr_source_request r = {.ops = d->ops,
                         .arena = d->arena,
                         .conf = section_of(d),
                         .spec = spec,
                         .tokenizer = d->tokenizer,
                         .inputs = d->inputs,
                         .n_inputs = d->n_inputs,
                         .predicts = d->n_inputs > 0,
                         .record = d->record,
                         .limit = o->limit,
                         .cache_bytes = o->cache_bytes,
                         .validation = &d->validation,
                         .max_length = o->bounds ? o->bounds[o->n_buckets - 1] : 0,
                         .unreadable = &d->unreadable,
                         .skipped = d->skipped,
                         .limited = &d->limited};
  gr_status s = d->ops->open(&r, &d->self);
  gr_status cut = d->self && d->ops->check ? d->ops->check(d->self) : GR_OK;
  d->max_length = r.max_length, d->place = r.place;
  if (!cut) return s;
  gr_status_drop(s);  // that a file was cut short is why anything else may be wrong
  return cut;
}

static void make_contract(gr_dataset *d) {
  gr_contract *c = &d->contract;
  *c = (gr_contract){d->ops, d->field, d->n_fields, d->buckets, d->n_buckets};
  c->n_metadata = gr_dataset_metadata(d, c->metadata);
  c->n_tables = gr_dataset_tables(d, c->tables);
}

// A fold that divides nothing would train the same in each run of a sweep.
static gr_status check_fold(const gr_dataset *d) {
  if (!d->options.validation_fold || d->validation.used || d->kept || !d->count) return GR_OK;
  return gr_hint(
      gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                       "data.validation_fold is %d, but validation samples are chosen otherwise "
                       "than by a hash",
                       d->options.validation_fold),
               "validation_fold"),
      "without eval_path and a column `split`, tables, texts, images, videos and recordings have "
      "folds");
}

static gr_status dataset_set_up(gr_dataset *d, const void *spec) {
  GR_TRY(gr_dataset_check_options(&d->options));
  GR_TRY(open_tokenizer(d));
  GR_TRY(open_source(d, spec));
  d->classes = d->ops->classes ? d->ops->classes(d->self) : NULL;
  GR_TRY(list_fields(d));
  GR_TRY(list_samples(d));
  GR_TRY(check_fold(d));
  GR_TRY(gr_dataset_make_buckets(d));
  if (!d->kept)  // else it is not trained on
    GR_TRY(gr_sampler_make(d->arena, d, d->members[GR_SPLIT_TRAIN][0],
                           d->buckets[0].count[GR_SPLIT_TRAIN], &d->sampler));
  if (d->classes && !d->n_inputs) gr_classes_weigh(d->classes, d->arena, d->samples, d->count);
  if (d->ops->fit) GR_TRY(d->ops->fit(d->self, d->arena, d->samples, d->count));
  make_contract(d);
  return d->ops->check ? d->ops->check(d->self) : GR_OK;
}

static void free_dataset(gr_dataset *d) {
  if (d->self && d->ops->close) d->ops->close(d->self);
  gr_tokenizer_close(d->tokenizer);
  gr_unreadable_close(&d->unreadable);
  free(d->restored);
  pthread_mutex_destroy(&d->fitting);
  gr_arena_destroy(d->arena);
}

static gr_dataset *dataset_make(const gr_source_ops *ops, gr_arena *a) {
  gr_dataset *d = GR_NEW(a, gr_dataset, 1);
  d->arena = a, d->ops = ops;
  d->unreadable.samples = gr_arena_printf(a, "%ss", ops->sample);
  if (ops->load) d->unreadable.finds = "`graphrun data inspect CONFIG.yaml --audio`";
  gr_unreadable_open(&d->unreadable);
  pthread_mutex_init(&d->fitting, NULL);
  return d;
}

static gr_status dataset_finish(gr_dataset *d, const void *spec, gr_dataset **out) {
  d->unreadable.skip = d->options.skip_unreadable;
  gr_status s = gr_dataset_place_error(d, dataset_set_up(d, spec));
  d->unreadable.said = gr_log_rank() > 0;  // all ranks list the same
  if (s) {
    gr_unreadable_say(&d->unreadable);
    free_dataset(d);
    return s;
  }
  gr_cache_open(d);
  *out = d;
  return GR_OK;
}

gr_status gr_dataset_create(const gr_source_ops *ops, const void *spec, const gr_dataset_options *o,
                            gr_dataset **out) {
  gr_dataset *d = dataset_make(ops, gr_arena_create());
  *out = NULL;
  d->options = *o;
  return dataset_finish(d, spec, out);
}

typedef struct request {
  bool kept;  // see gr_dataset_open_kept
  bool all;   // unreadable samples are skipped whatever the configuration says
  const char *record;
  const char *const *inputs;  // not NULL: files are expected
  int n_inputs;
} request;

enum { RECORD_VERSION = 1 };  // of data.json, which names its version from 2 on (docs/formats.md)

static gr_status read_record(gr_dataset *d, const char *text) {
  gr_json_error why;
  if (gr_json_read(d->arena, text, strlen(text), &d->record, &why) &&
      d->record->kind == GR_JSON_OBJECT) {
    const gr_json *version = gr_json_get(d->record, "version", GR_JSON_INT);
    if (!version || version->i <= RECORD_VERSION) return GR_OK;
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                           "data.json of the run has format version %lld; this graphrun reads "
                           "version %d",
                           (long long)version->i, RECORD_VERSION),
                   "use the graphrun that wrote it, or a newer one");
  }
  return gr_fail(GR_ERR_DATA, GR_NOWHERE, "data.json of the run is damaged in line %d: %s",
                 why.line, why.why);
}

// Every leaf that a file or an argument gives of the section of another source.
static gr_status refuse_keys(gr_arena *a, const gr_conf *c, const char *source,
                             const char *chosen) {
  gr_status all = GR_OK;
  if (c->kind != GR_CONF_MAP && c->is_default) return GR_OK;
  if (c->kind != GR_CONF_MAP)
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc.file ? c->loc : c->key_loc,
                           "'%s' is a key of the source '%s', and data.source is '%s'",
                           gr_conf_path(a, c), source, chosen),
                   "remove it, or set data.source=%s", source);
  for (int i = 0; i < c->n; i++) all = gr_also(all, refuse_keys(a, c->items[i], source, chosen));
  return all;
}

static bool is_chosen(const gr_source_ops *chosen, const gr_source_ops *source) {
  bool found = source == chosen;
  for (int k = 0; k < chosen->n_joined; k++)
    found |= !strcmp(source->name, chosen->joined[k]->name);
  return found;
}

static gr_status check_keys(gr_arena *a, gr_conf *data, const gr_source_ops *chosen) {
  gr_status all = GR_OK;
  for (const gr_source_ops *const *s = gr_data_sources; *s; s++) {
    const gr_conf *c = is_chosen(chosen, *s) ? NULL : gr_conf_member(data, (*s)->name);
    if (c) all = gr_also(all, refuse_keys(a, c, (*s)->name, chosen->name));
  }
  return all;
}

static gr_status check_inputs(const gr_source_ops *ops, bool wanted, int n) {
  if (!wanted || (ops->inputs && n)) return GR_OK;
  if (!ops->inputs)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "the source '%s' takes no files to predict",
                   ops->name);
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no files are given to predict"),
                 "the source '%s' takes %s", ops->name, ops->inputs);
}

// Whether `graphrun predict` takes such a file: where lists name a source's files, one of those.
static bool is_input(const gr_source_ops *ops, const char *name) {
  const gr_source_ending *e = gr_source_reads(ops, name);
  bool listed = false;
  for (const gr_source_ending *any = ops->endings; any->ending; any++) listed |= any->in_lists;
  return e && e->in_lists == listed;
}

static gr_status no_input(gr_arena *a, const gr_source_ops *ops, const char *folder) {
  gr_folder_tables tables;
  bool lists = gr_file_list_tables(a, folder, &tables);
  return gr_hint(
      gr_fail(GR_ERR_DATA, GR_NOWHERE,
              "no file in the folder '%s' is one that the source '%s' predicts", folder, ops->name),
      "it takes %s%s%s", ops->inputs, lists ? "; name its tables: " : "", lists ? tables.all : "");
}

typedef struct list {
  gr_arena *arena;
  gr_names names;
  int room;
} list;

static void add_input(list *l, const char *path) {
  GR_GROW(l->arena, l->names.items, l->names.n, l->room);
  l->names.items[l->names.n++] = path;
}

// A folder stands for the files in it that the source takes, also in folders within it.
static gr_status add_folder(list *l, const gr_source_ops *ops, const char *folder) {
  gr_names found;
  int before = l->names.n, others;
  GR_TRY(gr_file_list_tree(l->arena, gr_path_trimmed(l->arena, folder), &found));
  for (int i = 0; i < found.n; i++)
    if (is_input(ops, found.items[i])) add_input(l, found.items[i]);
  others = before + found.n - l->names.n;
  if (l->names.n == before) return no_input(l->arena, ops, folder);
  if (others)
    gr_log(GR_INFO, "%d other%s in the folder '%s' %s not predicted", others, gr_text_s(others),
           folder, others == 1 ? "is" : "are");
  return GR_OK;
}

static gr_status list_inputs(gr_dataset *d, const request *q) {
  list l = {.arena = d->arena};
  for (int i = 0; i < q->n_inputs; i++)
    if (gr_is_dir(q->inputs[i]))
      GR_TRY(add_folder(&l, d->ops, q->inputs[i]));
    else
      add_input(&l, q->inputs[i]);
  d->inputs = l.names.items, d->n_inputs = l.names.n;
  return GR_OK;
}

// Lengths that inputs may have are not limited: buckets are chosen for them.
static gr_status read_options(gr_dataset *d, gr_conf *data) {
  GR_TRY(gr_dataset_read_options(d->arena, data, d->ops->unit != NULL, &d->options));
  if (!d->n_inputs) return GR_OK;
  d->options.limit = 0;
  if (d->options.bounds) d->options.bounds = NULL;
  return GR_OK;
}

static gr_status open_dataset(gr_conf *data, gr_key_doc *doc, const request *q, gr_dataset **out) {
  const gr_source_ops *ops;
  gr_arena *a = gr_arena_create();
  *out = NULL;
  gr_status chosen = gr_source_read(a, data, &ops);
  chosen = chosen ? chosen : check_inputs(ops, q->inputs != NULL, q->n_inputs);
  if (chosen) return gr_arena_end(a, chosen);
  gr_dataset *d = dataset_make(ops, a);
  d->conf = data, d->doc = doc, d->kept = q->kept;
  gr_status s = list_inputs(d, q);
  if (d->n_inputs) d->unreadable.finds = NULL;
  if (!s) s = check_keys(d->arena, data, ops);
  if (!s && q->record) s = read_record(d, q->record);
  if (!s) s = gr_dataset_place_error(d, read_options(d, data));
  if (s) {
    free_dataset(d);
    return s;
  }
  d->options.skip_unreadable |= q->all;
  return dataset_finish(d, NULL, out);
}

gr_status gr_dataset_open(gr_conf *data, gr_key_doc *doc, gr_dataset **out) {
  return open_dataset(data, doc, &(request){.all = false}, out);
}

gr_status gr_dataset_open_kept(gr_conf *data, gr_key_doc *doc, const char *record,
                               const char *const *inputs, int n, gr_dataset **out) {
  const request q = {.kept = true, .record = record, .inputs = inputs, .n_inputs = n};
  return open_dataset(data, doc, &q, out);
}

gr_status gr_dataset_open_all(gr_conf *data, gr_key_doc *doc, gr_dataset **out) {
  GR_TRY(open_dataset(data, doc, &(request){.all = true}, out));
  return gr_dataset_load_all(*out);
}

void gr_dataset_close(gr_dataset *d) {
  if (!d) return;
  gr_cache_close(d);
  free_dataset(d);
}
