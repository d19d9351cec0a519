// dataset.c - the data sets a configuration can name; so far of one kind, `speech`. See dataset.h.
#include "runtime/data/dataset.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/data/data.h"

struct gr_dataset {
  gr_arena *arena;
  gr_conf *conf;  // the section `data`, for places
  gr_key_doc *doc;
  gr_data *data;
  gr_vocab vocab;
  int mels, workers, prefetch;
};

_Static_assert((int)GR_DATA_BUCKETS <= (int)GR_MAX_BUCKETS, "a plan has room for all buckets");

struct gr_feeder {
  gr_loader *loader;
};

// ---- From configuration -------------------------------------------------------------------

// An error of the data's own code names settings. Its place is where the configuration gives the
// first of them that is no default, else the section; its cure, where it has none, what the key is.
static gr_status placed(const gr_dataset *d, gr_status s) {
  gr_conf *data = d->conf;
  gr_loc at = data->loc.file || !data->up ? data->loc : data->up->loc;
  char key[64] = "";
  for (const char *p = gr_status_about(s); p && *p; p += strspn(p, " ")) {
    size_t n = strcspn(p, " ");
    snprintf(key, sizeof key, "data.%.*s", (int)n, p);
    gr_conf *c = gr_conf_find(data, key + strlen("data."));
    p += n;
    if (!c || c->preset) continue;
    at = c->loc;
    break;
  }
  const char *doc = *key && !gr_status_hint(s) ? d->doc(key) : NULL;
  if (doc) s = gr_hint(s, "%s: %s", key, doc);
  return gr_place(s, at);
}

static int choice(const char *value, const char *const names[], int n) {
  for (int i = 0; i < n; i++)
    if (!strcmp(value, names[i])) return i;
  return 0;  // the schema lets no other through
}

static gr_status read_text_rules(gr_conf *data, gr_text_rules *out) {
  static const char *const cases[] = {"keep", "upper", "lower"};
  static const char *const unknown[] = {"fail", "skip", "drop"};
  const char *letters, *how;
  GR_TRY(gr_conf_text(data, "text.case", "upper", &letters));
  GR_TRY(gr_conf_text(data, "text.spaces", "-/_", &out->spaces));
  GR_TRY(gr_conf_text(data, "text.drops", ".,!?:;\"()", &out->drops));
  GR_TRY(gr_conf_text(data, "text.unknown", "skip", &how));
  out->letters = (gr_letters)choice(letters, cases, 3);
  out->unknown = (gr_unknown)choice(how, unknown, 3);
  return GR_OK;
}

static gr_status read_int(gr_conf *c, const char *path, int preset, int *out) {
  int64_t v;
  GR_TRY(gr_conf_int(c, path, preset, &v));
  *out = (int)v;
  return gr_range(path, v, INT_MIN, INT_MAX);
}

static gr_status read_features(gr_conf *data, gr_feature_spec *f) {
  GR_TRY(read_int(data, "sample_rate", 16000, &f->rate));
  GR_TRY(read_int(data, "features.n_fft", 512, &f->fft));
  GR_TRY(read_int(data, "features.window", 400, &f->window));
  GR_TRY(read_int(data, "features.hop", 160, &f->hop));
  GR_TRY(read_int(data, "features.mels", 80, &f->mels));
  GR_TRY(gr_conf_float(data, "features.fmin", 0, &f->f_min));
  GR_TRY(gr_conf_float(data, "features.fmax", 0, &f->f_max));
  return gr_conf_bool(data, "features.normalize", true, &f->normalise);
}

static gr_status read_augment(gr_conf *data, gr_augment *a) {
  GR_TRY(read_int(data, "augment.freq_masks", 0, &a->freq_masks));
  GR_TRY(read_int(data, "augment.freq_width", 0, &a->freq_width));
  GR_TRY(read_int(data, "augment.time_masks", 0, &a->time_masks));
  GR_TRY(read_int(data, "augment.time_width", 0, &a->time_width));
  GR_TRY(read_int(data, "augment.time_warp", 0, &a->time_warp));
  return gr_conf_float(data, "augment.time_share", 0.2, &a->time_share);
}

// `buckets: 6` is a count; `buckets: [200, 400]` are the bounds themselves, in frames.
static gr_status read_buckets(gr_arena *arena, gr_conf *data, gr_data_spec *s) {
  gr_conf *b = gr_conf_find(data, "buckets");
  if (!b || b->kind == GR_CONF_INT) return read_int(data, "buckets", 4, &s->n_buckets);
  int32_t *bounds = GR_NEW(arena, int32_t, b->n);
  for (int i = 0; i < b->n; i++) {
    gr_conf *item = b->items[i];
    item->read = true;
    if (item->kind != GR_CONF_INT || item->integer < 1 || item->integer > GR_DATA_FRAMES ||
        (i && item->integer <= bounds[i - 1]))
      return gr_hint(
          gr_fail(GR_ERR_CONFIG, item->loc,
                  "bounds of buckets are rising numbers of frames, at most %d", GR_DATA_FRAMES),
          "sort them, each once");
    bounds[i] = (int32_t)item->integer;
  }
  s->bounds = bounds, s->n_buckets = b->n;
  return GR_OK;
}

static gr_status read_vocab(gr_arena *arena, gr_conf *data, gr_vocab *out) {
  const char *symbols;
  int blank;
  GR_TRY(gr_conf_text(data, "vocab", "ABCDEFGHIJKLMNOPQRSTUVWXYZ '", &symbols));
  GR_TRY(read_int(data, "blank", -1, &blank));
  // A folder may be called as the symbols are; what else is no file is refused by name.
  bool file = gr_is_file(symbols) || (gr_file_kind(symbols) && !gr_is_dir(symbols));
  return file ? gr_vocab_read(arena, symbols, blank, out)
              : gr_vocab_make(arena, symbols, blank, out);
}

// Symbols that no transcript can have are outputs that are never learnt.
static void warn_unreachable(gr_arena *arena, const gr_vocab *v, const gr_text_rules *rules) {
  gr_text list = gr_text_make(arena);
  int n = 0;
  for (int32_t i = 0; i < v->n; i++) {
    if (i == v->blank || gr_text_gives(rules, v->symbols[i])) continue;
    if (n++ < 10) gr_text_printf(&list, "%s'%s'", n > 1 ? ", " : "", v->symbols[i]);
  }
  if (n && !gr_log_rank())
    gr_log(GR_WARN,
           "%d symbol%s of data.vocab cannot occur, since data.text changes or drops %s: %s%s", n,
           n > 1 ? "s" : "", n > 1 ? "them" : "it", list.at, n > 10 ? ", ..." : "");
}

// Of data.max_seconds; where that is more than any recording may have, the most that one may.
static gr_status find_most_frames(double seconds, gr_data_spec *s) {
  GR_TRY(gr_range("features.hop", s->features.hop, 1, INT_MAX));
  double frames = seconds * s->features.rate / s->features.hop + 1;
  s->max_frames = seconds <= 0 ? 0 : frames < GR_DATA_FRAMES ? (int32_t)frames : GR_DATA_FRAMES;
  return GR_OK;
}

static gr_status read_spec(gr_arena *arena, gr_conf *data, gr_dataset *d, gr_data_spec *s) {
  double seconds;
  int64_t cache, limit;
  GR_TRY(gr_conf_text(data, "manifest", NULL, &s->train));
  GR_TRY(gr_conf_text(data, "eval_manifest", NULL, &s->validation));
  GR_TRY(gr_conf_text(data, "root", NULL, &s->root));
  GR_TRY(gr_conf_int(data, "limit", 0, &limit));
  GR_TRY(gr_conf_float(data, "validation_fraction", 0.1, &s->validation_fraction));
  GR_TRY(gr_conf_bool(data, "skip_unreadable", false, &s->skip_unreadable));
  GR_TRY(gr_conf_float(data, "max_seconds", 0, &seconds));
  GR_TRY(read_int(data, "frame_multiple", 8, &s->frame_multiple));
  GR_TRY(gr_conf_int(data, "cache_mb", 1024, &cache));
  GR_TRY(read_int(data, "workers", 1, &d->workers));
  GR_TRY(read_int(data, "prefetch", 3, &d->prefetch));
  GR_TRY(read_int(data, "subsampling", 0, &s->subsampling));
  GR_TRY(read_vocab(arena, data, &d->vocab));
  GR_TRY(read_text_rules(data, &s->text));
  GR_TRY(read_features(data, &s->features));
  GR_TRY(read_augment(data, &s->augment));
  GR_TRY(read_buckets(arena, data, s));
  if (!s->train)
    return gr_hint(
        gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "data.manifest is not given"), "manifest"),
        "a file of JSON lines; `graphrun data import asterisk data/speech.jsonl` "
        "makes one from Debian's recordings");
  GR_TRY(gr_range("limit", limit, 0, UINT32_MAX));
  GR_TRY(gr_range("cache_mb", cache, 0, (int64_t)(SIZE_MAX >> 21)));
  s->limit = (uint32_t)limit;
  s->vocab = &d->vocab, s->cache_bytes = (size_t)cache << 20;
  GR_TRY(find_most_frames(seconds, s));
  d->mels = s->features.mels;
  warn_unreachable(arena, &d->vocab, &s->text);
  return GR_OK;
}

static gr_status open_dataset(gr_arena *arena, gr_conf *data, gr_key_doc *doc, bool all,
                              gr_dataset **out) {
  const char *kind;
  GR_TRY(gr_conf_text(data, "kind", "speech", &kind));
  if (strcmp(kind, "speech"))
    return gr_hint(gr_fail(GR_ERR_CONFIG, gr_conf_find(data, "kind")->loc,
                           "there is no data of kind '%s'", kind),
                   "use 'speech'");
  gr_dataset *d = GR_NEW(arena, gr_dataset, 1);
  gr_data_spec spec = {0};
  d->arena = arena, d->conf = data, d->doc = doc;
  GR_TRY(placed(d, read_spec(arena, data, d, &spec)));
  *out = d;
  spec.skip_unreadable = spec.skip_unreadable || all;
  return placed(d, gr_data_open(&spec, &d->data));
}

gr_status gr_dataset_open(gr_arena *arena, gr_conf *data, gr_key_doc *doc, gr_dataset **out) {
  return open_dataset(arena, data, doc, false, out);
}

gr_status gr_dataset_open_all(gr_arena *arena, gr_conf *data, gr_key_doc *doc, gr_dataset **out) {
  GR_TRY(open_dataset(arena, data, doc, true, out));
  return gr_data_read_all((*out)->data);
}

const char *gr_dataset_unreadable_line(gr_dataset *d, uint64_t i) {
  return gr_data_unreadable(d->data, i);
}

void gr_dataset_close(gr_dataset *d) {
  if (d) gr_data_close(d->data);
}

// ---- Shapes -------------------------------------------------------------------------------

int gr_dataset_buckets(const gr_dataset *d) {
  int n;
  gr_data_buckets(d->data, &n);
  return n;
}

const char *gr_dataset_bucket_name(gr_arena *arena, const gr_dataset *d, int bucket) {
  int n;
  return gr_arena_printf(arena, "t%d", gr_data_buckets(d->data, &n)[bucket].frames);
}

static void fields_of(const gr_field *f, gr_feed *out) {
  out->n_fields = GR_FIELDS;
  for (int i = 0; i < GR_FIELDS; i++) {
    gr_feed_field *o = &out->field[i];
    bool input = !strcmp(f[i].name, "features");  // models call what they read x
    *o = (gr_feed_field){.name = input ? "x" : f[i].name, .at = f[i].at};
    o->type.dtype = f[i].type == GR_FIELD_F32 ? GR_F32 : GR_I32;
    o->type.rank = f[i].rank;
    for (int k = 0; k < f[i].rank; k++) o->type.dim[k] = f[i].dims[k];
  }
}

void gr_dataset_shapes(const gr_dataset *d, int bucket, int rows, gr_feed *out) {
  gr_field fields[GR_FIELDS];
  gr_data_fields(d->data, bucket, rows, fields);
  *out = (gr_feed){.bucket = bucket, .rows = rows};
  fields_of(fields, out);
}

int gr_dataset_facts(const gr_dataset *d, gr_fact out[GR_MAX_FIELDS]) {
  out[0] = (gr_fact){"vocab", d->vocab.n};
  out[1] = (gr_fact){"mels", d->mels};
  out[2] = (gr_fact){"blank", d->vocab.blank};
  uint32_t space;
  out[3] = (gr_fact){"space", gr_map_find(&d->vocab.index, " ", &space) ? (int64_t)space : -1};
  return 4;
}

static gr_data_part part_of(gr_split s) {
  return s == GR_SPLIT_TRAIN ? GR_PART_TRAIN : GR_PART_VALIDATION;
}

uint32_t gr_dataset_count(const gr_dataset *d, gr_split split) {
  int n;
  uint32_t sum = 0;
  const gr_data_bucket *b = gr_data_buckets(d->data, &n);
  for (int i = 0; i < n; i++) sum += b[i].count[part_of(split)];
  return sum;
}

uint32_t gr_dataset_batches(const gr_dataset *d, gr_split split, int batch) {
  return gr_data_batches(d->data, part_of(split), batch);
}

uint64_t gr_dataset_unreadable(gr_dataset *d) {
  return gr_data_skipped(d->data, GR_SKIP_UNREADABLE);
}
bool gr_dataset_skipped(gr_dataset *d, gr_text *t) { return gr_data_skipped_line(d->data, t); }
void gr_dataset_inspect(gr_dataset *d, int batch, gr_text *t) {
  gr_data_inspect(d->data, batch, t);
}

void gr_dataset_spread(const gr_dataset *d, gr_split split, uint32_t n, uint32_t *out) {
  uint64_t of = gr_dataset_count(d, split), seen = 0, taken = 0;
  uint32_t items = gr_data_count(d->data);
  for (uint32_t i = 0; i < items && taken < n; i++) {
    if (gr_data_item(d->data, i)->part != part_of(split)) continue;
    if (seen++ == taken * of / n) out[taken++] = i;
  }
}

size_t gr_dataset_cached(const gr_dataset *d) { return gr_data_cached(d->data); }

const char *gr_dataset_reference(const gr_dataset *d, uint32_t item) {
  return gr_data_item(d->data, item)->text;
}

const char *gr_dataset_item_name(const gr_dataset *d, uint32_t item) {
  return gr_data_item(d->data, item)->from->name;
}

void gr_dataset_decode(const gr_dataset *d, const int32_t *ids, int64_t n, gr_text *t) {
  gr_vocab_decode(&d->vocab, ids, (size_t)n, t);
}

uint32_t gr_dataset_samples(const gr_dataset *d) { return gr_data_count(d->data); }

uint64_t gr_dataset_fingerprint(const gr_dataset *d, uint32_t item, bool with_file) {
  return gr_data_fingerprint(d->data, item, with_file);
}

gr_loc gr_dataset_place(const gr_dataset *d, uint32_t item) {
  const gr_item *i = gr_data_item(d->data, item);
  return (gr_loc){i->manifest, i->from->line, 1};
}

void gr_dataset_describe(const gr_dataset *d, uint32_t item, gr_text *t) {
  gr_data_describe(d->data, item, t);
}

// ---- Batches ------------------------------------------------------------------------------

gr_status gr_feeder_open(gr_dataset *d, const gr_feeder_spec *s, gr_feeder **out) {
  gr_loader_spec spec = {.part = part_of(s->split),
                         .batch = s->batch,
                         .rows = s->rows,
                         .rank = s->rank,
                         .ranks = s->ranks,
                         .seed = s->seed,
                         .shuffle = s->training,
                         .augment = s->training,
                         .epoch = s->epoch,
                         .first = s->first,
                         .epochs = s->epochs,
                         .workers = d->workers,
                         .prefetch = d->prefetch};
  gr_feeder *f = *out = calloc(1, sizeof *f);
  if (!f) return gr_fail(GR_ERR_IO, GR_NOWHERE, "no memory for a loader");
  gr_status st = placed(d, gr_loader_open(d->data, &spec, &f->loader));
  if (st) gr_feeder_close(f), *out = NULL;
  return st;
}

gr_status gr_feeder_next(gr_feeder *f, gr_feed *out, bool *out_end) {
  const gr_batch *b = NULL;
  GR_TRY(gr_loader_next(f->loader, &b));
  *out_end = !b;
  if (!b) return GR_OK;
  *out = (gr_feed){.bucket = b->bucket,
                   .epoch = b->epoch,
                   .index = b->index,
                   .of = b->of,
                   .samples = b->samples,
                   .item = b->utterances,
                   .rows = b->rows};
  gr_field fields[GR_FIELDS];
  gr_batch_fields(b, fields);
  fields_of(fields, out);
  return GR_OK;
}

gr_feed gr_feed_part(const gr_feed *f, int part, int parts) {
  gr_feed out = *f;
  out.rows = f->rows / parts;
  out.item = f->item + part * out.rows;
  for (int i = 0; i < f->n_fields; i++) {
    out.field[i].type.dim[0] /= parts;
    size_t bytes = gr_type_bytes(&out.field[i].type);
    out.field[i].at = (const char *)f->field[i].at + (size_t)part * bytes;
  }
  return out;
}

void gr_feeder_close(gr_feeder *f) {
  if (!f) return;
  gr_loader_close(f->loader);
  free(f);
}
