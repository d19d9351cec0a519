// list.c - lists the rows of tables, and files of text, as texts; see texts.h.
#include <string.h>
#include "base/file.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/work.h"
#include "runtime/data/csv_shape.h"
#include "runtime/data/encoding.h"
#include "runtime/data/parquet/parquet.h"
#include "runtime/data/table/columns.h"
#include "runtime/data/texts/texts.h"

enum { MAX_TEXT = 1 << 28 };  // bytes of a file that is one text

// The rows of a table, while they are listed. What is read is in an arena of its own: only tokens
// are kept.
typedef struct listing {
  gr_texts *texts;
  gr_source_request *request;
  gr_arena *scratch;
  gr_columns columns;
  const gr_csv *csv;
  int text, label, target, split;  // columns; -1: it has none
  gr_split part;                   // of all rows; GR_SPLIT_BY_KEY: the column or a hash says which
  const char *file;                // a copy of the name of the file of the last row
} listing;

// ---- Tokens -------------------------------------------------------------------------------------

static gr_status add_item(gr_texts *t, gr_arena *a, const gr_texts_item *item) {
  if (t->count > UINT32_MAX / 4)
    return gr_fail(GR_ERR_DATA, item->info.loc, "there are too many texts");
  GR_GROW(a, t->item, t->count, t->room);
  t->item[t->count++] = *item;
  return GR_OK;
}

static gr_status no_token(const gr_texts *t, gr_loc loc, const char *bad) {
  return gr_hint(
      gr_fail(GR_ERR_DATA, loc, "the text has what is not %s: '%.20s'", t->tokens.lacks, bad),
      "a tokenizer that has it, or take it out of the text");
}

// The first `most` tokens of a text, in the request's arena. *cut: it has more.
static gr_status encode(const gr_texts *t, gr_source_request *r, gr_loc loc, const char *text,
                        int32_t most, gr_ids *out, bool *cut) {
  gr_arena *scratch = gr_arena_create();
  gr_tokens tokens = {.arena = scratch};
  const char *bad;
  gr_status s =
      gr_tokenizer_encode(&t->tokens, text, &(gr_encode_options){.around = true}, &tokens, &bad);
  if (!s && bad) s = no_token(t, loc, bad);
  *cut = tokens.n > most;
  out->n = *cut ? most : (int32_t)tokens.n;
  if (!s && out->n) {
    int32_t *ids = GR_NEW(r->arena, int32_t, out->n);
    memcpy(ids, tokens.id, (size_t)out->n * sizeof *ids);
    out->items = ids;
  }
  return gr_arena_end(scratch, s);
}

// Adds a text with the text that is to be written of it, NULL: none; item->info has all but its
// length and its key. Without a text (data.texts.text=null) the length is that of what is written.
static gr_status add_text(gr_texts *t, gr_source_request *r, const char *text, const char *target,
                          gr_texts_item *item) {
  gr_ids tokens = {0};
  gr_loc loc = item->info.loc;
  bool counts[GR_MAX_SKIPS] = {false};
  if (text) GR_TRY(encode(t, r, loc, text, t->spec.max_tokens, &tokens, &counts[GR_TEXTS_CUT]));
  if (target)
    GR_TRY(encode(t, r, loc, target, t->spec.max_target_tokens, &item->targets,
                  &counts[GR_TEXTS_TARGET_CUT]));
  if ((text && !tokens.n) || (target && !item->targets.n)) {
    gr_texts_skip why = text && !tokens.n ? GR_TEXTS_EMPTY : GR_TEXTS_UNANSWERED;
    gr_omitted_add(r->arena, &r->skipped[why], 1, loc, NULL);
    return GR_OK;
  }
  counts[GR_TEXTS_ENDS_EARLY] = gr_target_text_ends_early(&t->spec.around, &item->targets);
  for (int i = 0; i < GR_MAX_SKIPS; i++)
    if (counts[i]) gr_omitted_add(r->arena, &r->skipped[i], 1, loc, NULL);
  item->ids = tokens.items;
  item->info.length = text ? tokens.n : target ? item->targets.n : 1;
  item->info.key = gr_hash_text(text ? text : target ? target : "");
  item->target = target ? gr_arena_strdup(r->arena, target) : NULL;
  return add_item(t, r->arena, item);
}

// ---- Columns ------------------------------------------------------------------------------------

static gr_status find_column(const listing *l, const char *name, const char *about, int *out) {
  const gr_csv *t = l->csv;
  *out = name ? gr_columns_find(&l->columns, name) : -1;
  if (!name || (*out >= 0 && l->columns.items[*out].csv)) return GR_OK;
  if (*out >= 0) return gr_parquet_refuse(t->path, name, l->columns.items[*out].refused);
  gr_status s =
      gr_fail(GR_ERR_DATA, (gr_loc){t->path, 1, 1}, "'%s' has no column '%s'", t->path, name);
  return gr_hint(gr_about(s, about), "data.texts.%s names the column of the %ss; it has: %s", about,
                 about, gr_columns_list(l->scratch, &l->columns));
}

// A column of CSV that has numbers alone is probably another than the texts. In JSON lines what is
// in quotes is a text.
static gr_status need_text(const listing *l, int column, const char *about) {
  const gr_column *c = &l->csv->columns[column];
  uint32_t row = c->first_value ? c->first_value - 1 : 0, n = l->csv->rows;
  bool numbers = !l->texts->inputs && !gr_ends_in(l->csv->path, ".jsonl") && c->numbers &&
                 c->numbers == n - c->missing;
  while (!c->first_value && row + 1 < n && gr_csv_missing(l->csv, row, column)) row++;
  if (!n || (c->type == GR_COLUMN_TEXT && !c->first_value && !numbers)) return GR_OK;
  return gr_hint(gr_about(gr_fail(GR_ERR_DATA, gr_csv_place(l->csv, row),
                                  "the column '%s' has a value here that is no text", c->name),
                          about),
                 "data.texts.%s names the column of %s; of JSON lines they are in quotes", about,
                 strcmp(about, "text") ? "the texts to write" : "texts");
}

static gr_status find_columns(listing *l) {
  const gr_texts_spec *s = &l->texts->spec;
  bool inputs = l->texts->inputs, whole = inputs || l->part != GR_SPLIT_BY_KEY;
  l->label = l->target = l->split = -1;
  GR_TRY(find_column(l, s->text, "text", &l->text));
  if (s->text) GR_TRY(need_text(l, l->text, "text"));
  if (!inputs && s->target) {
    GR_TRY(find_column(l, s->target, "target", &l->target));
    GR_TRY(need_text(l, l->target, "target"));
  } else if (!inputs) {
    GR_TRY(gr_hint(find_column(l, s->label, "label", &l->label), "null: texts have no classes"));
  }
  if (!whole) GR_TRY(find_column(l, s->split, "split", &l->split));
  if (l->label < 0) return GR_OK;
  gr_array label = gr_csv_array(l->csv, l->label);
  gr_classes_declare(&l->texts->classes, l->request->arena, &label);
  l->texts->named |= gr_array_is_text(&label);
  if (label.element != GR_ELEMENT_FLOAT) return GR_OK;
  return gr_hint(
      gr_about(gr_fail(GR_ERR_DATA, (gr_loc){l->csv->path, 1, 1},
                       "the labels in the column '%s' are numbers with fractions", s->label),
               "label"),
      "classes are whole numbers or text");
}

// ---- Rows ---------------------------------------------------------------------------------------

// What `open` returns has places in the files.
static gr_loc place_of(listing *l, uint32_t row) {
  gr_loc loc = gr_csv_place(l->csv, row);
  if (!l->file || strcmp(l->file, loc.file) != 0)
    l->file = gr_arena_strdup(l->request->arena, loc.file);
  loc.file = l->file;
  return loc;
}

static gr_status read_label(listing *l, gr_arena *scratch, uint32_t row, gr_sample_info *info) {
  gr_array a;
  if (l->label < 0) return GR_OK;
  a = gr_csv_array(l->csv, l->label);
  if (gr_csv_missing(l->csv, row, l->label))
    return gr_hint(gr_fail(GR_ERR_DATA, info->loc, "there is no %s in this %s",
                           l->texts->spec.label, gr_csv_unit(l->csv)),
                   "fill it in, or leave out the row");
  GR_TRY(gr_classes_add(&l->texts->classes, l->request->arena, gr_array_text(scratch, &a, row),
                        info->loc, &info->label));
  info->label++;
  return GR_OK;
}

static gr_status read_split(const listing *l, gr_arena *scratch, uint32_t row,
                            gr_sample_info *info) {
  info->split = l->part;
  if (l->split < 0) return GR_OK;
  gr_array a = gr_csv_array(l->csv, l->split);
  const char *word = gr_array_text(scratch, &a, row);
  if (gr_split_by_word(word, &info->split)) return GR_OK;
  return gr_hint(gr_about(gr_fail(GR_ERR_DATA, info->loc, "the split is '%s' here", word), "split"),
                 GR_SPLIT_WORDS);
}

static gr_status add_row(listing *l, gr_arena *scratch, uint32_t row) {
  gr_texts_item item = {.info.loc = place_of(l, row)};
  const char *text = l->text < 0 ? NULL : l->csv->columns[l->text].texts[row];
  const char *target = l->target < 0 ? NULL : l->csv->columns[l->target].texts[row];
  GR_TRY(read_split(l, scratch, row, &item.info));
  gr_status s = read_label(l, scratch, row, &item.info);
  s = s ? s : add_text(l->texts, l->request, text, target, &item);
  return gr_unreadable_add(l->request->unreadable, item.info.loc, s);
}

static gr_status add_rows(listing *l) {
  uint32_t limit = l->request->limit;
  GR_TRY(find_columns(l));
  for (uint32_t row = 0; row < l->csv->rows && (!limit || row < limit); row++) {
    gr_arena *scratch = gr_arena_create();
    gr_status s = gr_work_step(0);
    if (!s) s = add_row(l, scratch, row);
    gr_arena_destroy(scratch);
    GR_TRY(s);
  }
  if (limit && limit < l->csv->rows)
    gr_omitted_add(l->request->arena, l->request->limited, l->csv->rows - limit, place_of(l, limit),
                   NULL);
  return GR_OK;
}

static gr_status list_table(gr_texts *t, gr_source_request *r, const char *path, gr_split part) {
  listing l = {.texts = t, .request = r, .scratch = gr_arena_create(), .part = part};
  const gr_texts_spec *spec = &t->spec;
  const char *of_spec[] = {spec->text, spec->target ? spec->target : spec->label, spec->split};
  const char *names[3];
  gr_names used = {names, 0};
  for (int i = 0; i < 3; i++)
    if (of_spec[i]) names[used.n++] = of_spec[i];
  gr_status s =
      gr_columns_open(l.scratch, &path, 1, &t->spec.csv, GR_SPLIT_BY_KEY, &used, &l.columns);
  if (!s) {
    l.csv = l.columns.n ? l.columns.items[0].csv : NULL;
    s = l.csv ? add_rows(&l)
              : gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has no texts, but arrays", path),
                        "rows of CSV, of JSON lines or of Parquet have a text");
    gr_columns_close(&l.columns);
  }
  return gr_arena_end(l.scratch, s);
}

// ---- Files to predict ---------------------------------------------------------------------------

static gr_status list_file(gr_texts *t, gr_source_request *r, const char *path) {
  gr_texts_item item = {.info = {.loc = {path, 1, 1}, .split = GR_SPLIT_VALIDATION}};
  gr_arena *scratch = gr_arena_create();
  char *text;
  size_t n, mark = 0;
  bool there = gr_file_kind(path) || gr_is_file(path);
  gr_status s = there ? gr_file_read(scratch, path, MAX_TEXT, &text, &n)
                      : gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "there is no text '%s'", path),
                                "correct the path");
  s = s ? s : gr_encoding_check(path, text, n, &mark);
  if (!s && memchr(text, 0, n))
    s = gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' holds a zero byte: it is no text", path);
  s = s ? s : gr_csv_check_text(path, text, n);
  s = s ? s : add_text(t, r, text + mark, NULL, &item);
  gr_arena_destroy(scratch);
  return gr_unreadable_add(r->unreadable, there ? item.info.loc : GR_NOWHERE, s);
}

static gr_status list_inputs(gr_texts *t, gr_source_request *r) {
  for (int i = 0; i < r->n_inputs; i++) {
    const gr_source_ending *e = gr_source_reads(&gr_source_texts, r->inputs[i]);
    GR_TRY(e && !e->in_lists ? list_table(t, r, r->inputs[i], GR_SPLIT_VALIDATION)
                             : list_file(t, r, r->inputs[i]));
  }
  bool classes = t->spec.label && !t->spec.target;
  return classes ? gr_classes_recall(&t->classes, r->arena, r->record) : GR_OK;
}

// ---- Classes ------------------------------------------------------------------------------------

static gr_status number_classes(gr_texts *t, gr_source_request *r) {
  gr_names recorded = gr_names_recorded(r->arena, r->record, "class_names");
  int32_t *number;
  GR_TRY(gr_classes_number(&t->classes, r->arena, t->named, &recorded, &number));
  for (uint32_t i = 0; i < t->count; i++)
    t->item[i].info.label = 1 + number[t->item[i].info.label - 1];
  if (t->classes.n != 1 || recorded.n) return GR_OK;
  return gr_hint(
      gr_about(gr_fail(GR_ERR_DATA, t->item[0].info.loc,
                       "all texts are of one class, '%s': there is nothing to tell apart",
                       t->classes.names[0]),
               "label"),
      "another column for data.texts.label, or texts of other classes");
}

gr_status gr_texts_list(gr_texts *t, gr_source_request *r) {
  const gr_texts_spec *s = &t->spec;
  t->classes = gr_classes_make(r->arena);
  if (t->inputs) return list_inputs(t, r);
  r->place = (gr_loc){s->path, 1, 1};
  gr_split part = s->eval ? GR_SPLIT_TRAIN : GR_SPLIT_BY_KEY;
  GR_TRY(gr_about(list_table(t, r, s->path, part), "path"));
  if (s->eval) GR_TRY(gr_about(list_table(t, r, s->eval, GR_SPLIT_VALIDATION), "eval_path"));
  return s->target || !s->label ? GR_OK : number_classes(t, r);
}
