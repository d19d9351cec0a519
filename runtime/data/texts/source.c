// source.c - the functions of the source `texts`; see texts.h.
#include <assert.h>
#include <string.h>
#include "runtime/data/texts/texts.h"

enum { X, LENGTHS, N_TEXT };

// The first field of target_text.h.
static int target_of(const gr_texts_spec *s) { return s->text ? N_TEXT : 0; }
static bool has_classes(const gr_texts_spec *s) { return s->label && !s->target; }

// Texts have classes, or texts that are to be written.
static gr_status read_target(gr_arena *arena, gr_conf *section, const gr_tokenizer *tokens,
                             gr_texts_spec *s) {
  static const gr_target_text_keys keys = {
      "data.texts", "prefix", "suffix", "one token",
      "a token of data.tokenizer, such as <|endoftext|>; without one a token is a byte, and those "
      "that texts do not have are \"\\x02\" and \"\\x03\""};
  static const gr_source_unused label = {
      "label", "label", "data.texts.target makes another text of each text, and not a class",
      "remove one of them"};
  static const char *const of_target[][2] = {
      {"prefix", NULL}, {"suffix", NULL}, {"max_target_tokens", "256"}};
  int64_t most;
  GR_TRY(gr_conf_text(section, "target", NULL, &s->target));
  GR_TRY(gr_conf_text(section, "label", NULL, &s->label));
  GR_TRY(gr_conf_int(section, "max_target_tokens", 0, &most));
  s->max_target_tokens = (int32_t)most;
  for (int i = 0; !s->target && i < 3; i++)
    GR_TRY(gr_source_refuse(
        section, &(gr_source_unused){of_target[i][0], of_target[i][1],
                                     "there is no data.texts.target", "give it, or remove this"}));
  if (!s->target && !s->text)
    return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                    "data.texts.text is null, and there is no data.texts.target"),
                            "text"),
                   "name the column of the texts");
  if (!s->target) return GR_OK;
  GR_TRY(gr_source_refuse(section, &label));
  return gr_target_text_read(arena, section, &keys, tokens, &s->around);
}

static gr_status texts_read_spec(gr_conf *section, gr_texts_spec *s) {
  int64_t most;
  GR_TRY(gr_conf_text(section, "path", NULL, &s->path));
  GR_TRY(gr_conf_text(section, "eval_path", NULL, &s->eval));
  GR_TRY(gr_conf_text(section, "text", NULL, &s->text));
  GR_TRY(gr_conf_text(section, "split", NULL, &s->split));
  GR_TRY(gr_conf_int(section, "max_tokens", 0, &most));
  s->max_tokens = (int32_t)most;
  GR_TRY(gr_csv_read_format(section, "data.texts", &s->csv));
  if (!s->split || !s->eval) return GR_OK;
  return gr_hint(
      gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                       "data.texts.split and data.texts.eval_path both say what is for validation"),
               "split eval_path"),
      "give one of them");
}

static gr_status texts_open(gr_source_request *r, void **out) {
  gr_texts *t = *out = GR_NEW(r->arena, gr_texts, 1);
  t->inputs = r->predicts;
  t->tokens = r->tokenizer ? *r->tokenizer : gr_tokenizer_of_bytes();
  if (!r->conf) t->spec = *(const gr_texts_spec *)r->spec;
  if (r->conf) GR_TRY(texts_read_spec(r->conf, &t->spec));
  if (r->conf) GR_TRY(read_target(r->arena, r->conf, &t->tokens, &t->spec));
  t->spec.csv.texts[0] = t->spec.text ? t->spec.text : t->spec.target;
  t->spec.csv.texts[1] = t->spec.text ? t->spec.target : NULL;
  GR_TRY(gr_source_need_path(r, t->spec.path));
  r->skipped[GR_TEXTS_CUT].why =
      gr_arena_printf(r->arena, "have more than %d tokens, and are cut (data.texts.max_tokens)",
                      t->spec.max_tokens);
  r->skipped[GR_TEXTS_TARGET_CUT].why = gr_arena_printf(
      r->arena, "have a target of more than %d tokens, which is cut (data.texts.max_target_tokens)",
      t->spec.max_target_tokens);
  return gr_texts_list(t, r);
}

static int texts_fields(const void *self, gr_field_spec out[GR_MAX_FIELDS]) {
  const gr_texts_spec *s = &((const gr_texts *)self)->spec;
  int n = target_of(s);
  out[X] = (gr_field_spec){.name = "x", .dtype = GR_I32, .rank = 1, .dim = {GR_DIM_LENGTH}};
  out[LENGTHS] = (gr_field_spec){.name = "lengths", .dtype = GR_I32};
  return n + (s->target ? gr_target_text_fields(&s->around, out + n) : 0);
}

static int texts_metadata(const void *self, gr_metadata out[GR_MAX_METADATA]) {
  const gr_texts *t = self;
  out[0] = (gr_metadata){"vocab", t->tokens.n};
  out[1] = has_classes(&t->spec) ? (gr_metadata){"classes", t->classes.n}
                                 : (gr_metadata){"space", t->tokens.space};
  return 2 + gr_target_text_metadata(&t->spec.around, out + 2);
}

static uint32_t texts_count(const void *self) { return ((const gr_texts *)self)->count; }

static gr_classes *texts_classes(void *self) {
  gr_texts *t = self;
  return has_classes(&t->spec) ? &t->classes : NULL;
}

static gr_sample_info texts_info(const void *self, uint32_t sample) {
  const gr_texts *t = self;
  assert(sample < t->count);
  return t->item[sample].info;
}

static void texts_fill(const void *self, uint32_t sample, const gr_loaded *loaded,
                       const gr_draw *draw, gr_row *row) {
  const gr_texts *t = self;
  const gr_texts_item *item = &t->item[sample];
  (void)loaded, (void)draw;
  int target = target_of(&t->spec);
  if (target) {
    memcpy(row->field[X], item->ids, (size_t)item->info.length * sizeof *item->ids);
    *(int32_t *)row->field[LENGTHS] = item->info.length;
  }
  if (t->spec.target) gr_target_text_fill(&t->spec.around, &item->targets, row->field + target);
}

static int32_t texts_extent(const void *self, uint32_t sample, int field) {
  const gr_texts *t = self;
  return gr_target_text_extent(&t->spec.around, t->item[sample].targets.n,
                               (gr_target_text_field)(field - target_of(&t->spec)));
}

static uint64_t texts_fingerprint(const void *self, uint32_t sample, bool with_file) {
  const gr_texts_item *item = &((const gr_texts *)self)->item[sample];
  (void)with_file;
  return item->target ? gr_hash_bytes(item->info.key, item->target, strlen(item->target))
                      : item->info.key;
}

static void texts_reference(const void *self, uint32_t sample, gr_text *out) {
  const char *target = ((const gr_texts *)self)->item[sample].target;
  if (target) gr_text_put(out, target);
}

static void texts_decode(const void *self, const int32_t *ids, int64_t n, gr_text *out) {
  const gr_texts *t = self;
  if (has_classes(&t->spec))
    gr_classes_decode(&t->classes, ids, n, out);
  else
    gr_tokenizer_decode(&t->tokens, ids, n, out);
}

static void texts_name_of(const void *self, uint32_t sample, gr_text *out) {
  const gr_texts *t = self;
  gr_loc loc = t->item[sample].info.loc;
  gr_text_printf(out, "%s:%d", loc.file, loc.line);
}

static void texts_preprocessing(const void *self, gr_text *out) {
  const gr_texts *t = self;
  if (!t->spec.text) return;
  gr_text_printf(out, "the first %d %s of a text, as numbers; zeros behind them, as lengths says",
                 t->spec.max_tokens, t->tokens.kind);
}

const gr_source_ops gr_source_texts = {
    .name = "texts",
    .sample = "text",
    .unit = "token",
    .inputs = "files of text (.txt, .md), and CSV, JSON lines, Parquet and .tar with the column of texts",
    .tokens = true,
    .path_key = "path",
    .path_hint =
        "a CSV, .jsonl, Parquet or .tar file with a text, and a label or another text, in each row",
    .project = "texts",
    .endings = {{".csv", .text = true},
                {".tsv", .text = true},
                {".jsonl", .text = true},
                {".parquet"},
                {".tar"},
                {".txt", .in_lists = true, .text = true},
                {".md", .in_lists = true, .text = true}},
    .file_key = "text",
    .skips = {[GR_TEXTS_EMPTY] = {.why = "without any text",
                                  .hint = "another column for data.texts.text"},
              [GR_TEXTS_UNANSWERED] = {.why = "without a text to write",
                                       .hint = "another column for data.texts.target"},
              [GR_TEXTS_CUT] = {.of = GR_OMITTED_CHANGED},
              [GR_TEXTS_TARGET_CUT] = {.of = GR_OMITTED_CHANGED},
              [GR_TEXTS_ENDS_EARLY] = {.why = "have the token of data.texts.suffix in the midst of "
                                              "what is to be written: a model ends its text there",
                                       .of = GR_OMITTED_CHANGED}},
    .open = texts_open,
    .fields = texts_fields,
    .count = texts_count,
    .info = texts_info,
    .classes = texts_classes,
    .fill = texts_fill,
    .extent = texts_extent,
    .fingerprint = texts_fingerprint,
    .reference = texts_reference,
    .decode = texts_decode,
    .metadata = texts_metadata,
    .name_of = texts_name_of,
    .preprocessing = texts_preprocessing};
