// shard.c - see shard.h.
#include "runtime/data/speech/shard.h"
#include <stdlib.h>
#include <string.h>
#include "base/map.h"
#include "base/text.h"
#include "base/work.h"
#include "runtime/data/file_list.h"

static const gr_packed_words words = {"recording", "recordings", "audio"};

// ---- Columns ------------------------------------------------------------------------------------

static gr_status find_text(const gr_parquet *p, const char *column, int *out) {
  static const char *const usual[] = {"text", "sentence", "transcription", "transcript"};
  *out = column ? gr_parquet_find(p, column) : -1;
  for (size_t i = 0; !column && *out < 0 && i < sizeof usual / sizeof *usual; i++)
    *out = gr_parquet_find(p, usual[i]);
  char what[200];
  snprintf(what, sizeof what, "'%.190s'", column ? column : "");
  if (*out < 0)
    return gr_about(
        gr_packed_no_column(p, column ? what : "text, sentence, transcription or transcript",
                            "data.speech.text.column names that of the transcripts, "
                            "data.speech.label one of classes"),
        "text.column");
  if (p->columns[*out].text) return GR_OK;
  const char *why = p->columns[*out].refused;
  return gr_about(gr_parquet_refuse(p->path, p->columns[*out].name, why ? why : "is no text"),
                  "text.column");
}

static gr_status find_label(const gr_parquet *p, const char *label, int *out) {
  char what[200];
  snprintf(what, sizeof what, "'%.190s'", label);
  *out = gr_parquet_find(p, label);
  if (*out < 0)
    return gr_about(gr_packed_no_column(p, what, "data.speech.label names that of the classes"),
                    "label");
  const gr_parquet_column *c = &p->columns[*out];
  const char *why = c->refused                       ? c->refused
                    : c->element == GR_ELEMENT_FLOAT ? "has numbers that may have fractions"
                    : c->element >= GR_ELEMENT_BYTES && !c->text ? "is no text"
                                                                 : NULL;
  if (!why) return GR_OK;
  return gr_hint(gr_about(gr_parquet_refuse(p->path, c->name, why), "label"),
                 "classes are whole numbers or text");
}

// The column of what is said, or of classes; -1: there is none, and need be none.
static gr_status find_said(const gr_parquet *p, const gr_manifest_keys *keys, int *out) {
  gr_status s = keys->label ? find_label(p, keys->label, out) : find_text(p, keys->column, out);
  if (!s || !keys->inputs || *out >= 0) return s;
  gr_status_drop(s);
  return GR_OK;
}

// ---- Rows ---------------------------------------------------------------------------------------

// Calls for each value of a column of texts; NULL where it is missing.
typedef gr_status take_text(void *self, int64_t row, const char *text);

static gr_status take_page(const gr_parquet_reader *r, int64_t row, gr_arena *a, take_text *take,
                           void *self) {
  const gr_parquet *p = r->list->file;
  const gr_parquet_column *c = &p->columns[r->list->column];
  const gr_array numbers = {.element = c->element,
                            .size = c->size,
                            .count = r->n,
                            .data = r->fixed,
                            .names = c->names,
                            .n_names = c->n_names};
  for (int32_t i = 0; i < r->n; i++) {
    bool there = !r->there || r->there[i];
    const char *text = NULL;
    if (there && c->element >= GR_ELEMENT_BYTES) {
      const gr_bytes *b = &r->texts[i];
      text = gr_arena_strndup(a, b->n ? (const char *)b->first : "", b->n);
      if (strlen(text) != b->n || !gr_utf8_valid(text))
        return gr_fail(GR_ERR_DATA, (gr_loc){p->path, (int)(row + i + 1), 1},
                       "the text in the column '%s' of this row is not UTF-8, or has a NUL",
                       c->name);
    } else if (there) {
      text = gr_array_text(a, &numbers, i);
    }
    GR_TRY(take(self, row + i, text));
  }
  return GR_OK;
}

static gr_status each_text(gr_arena *a, const gr_parquet *p, int column, take_text *take,
                           void *self) {
  gr_parquet_pages list;
  GR_TRY(gr_parquet_list(a, p, column, &list));
  gr_parquet_reader r = gr_parquet_reader_open(&list);
  gr_status s = GR_OK;
  for (int i = 0; i < list.n && !s; i++) {
    s = gr_work_step(0);
    if (!s) s = gr_parquet_read(&r, i);
    if (!s) s = take_page(&r, list.pages[i].row, a, take, self);
  }
  gr_parquet_reader_close(&r);
  return s;
}

// The rows of a file that are being listed.
typedef struct listing {
  gr_arena *arena;
  const gr_packed *shard;
  gr_utterance *items;  // of its first row
  gr_map *seen;         // names
  const gr_manifest_keys *keys;
  int column;  // of the transcripts, or the classes; -1: there is none
} listing;

static gr_status take_name(void *self, int64_t row, const char *path) {
  listing *l = self;
  l->items[row].name = path && *path ? path : NULL;
  return GR_OK;
}

static gr_status take_transcript(void *self, int64_t row, const char *text) {
  listing *l = self;
  const char *file = l->shard->file.path;
  gr_utterance *u = &l->items[row];
  if (!text && !l->keys->inputs)
    return gr_fail(GR_ERR_DATA, (gr_loc){file, (int)row + 1, 1},
                   "the column '%s' has no %s in this row", l->shard->file.columns[l->column].name,
                   l->keys->label ? "class" : "transcript");
  const char *place = gr_arena_printf(l->arena, "%s:%lld", file, (long long)row + 1);
  if (!u->name) u->name = place;
  if (gr_map_find(l->seen, u->name, NULL))
    u->name = gr_arena_printf(l->arena, "%s of %s", u->name, place);
  gr_map_put(l->seen, u->name, 1);
  u->audio = place, u->text = text ? text : "", u->line = (int)row + 1, u->col = u->audio_col = 1;
  u->file = file, u->shard = l->shard;
  return GR_OK;
}

static gr_status list_rows(gr_arena *a, const gr_packed *shard, const gr_manifest_keys *keys,
                           gr_map *seen, gr_manifest *m) {
  gr_utterance *items = m->items + shard->first;
  listing l = {.arena = a, .shard = shard, .items = items, .seen = seen, .keys = keys};
  GR_TRY(find_said(&shard->file, keys, &l.column));
  if (shard->names >= 0) GR_TRY(each_text(a, &shard->file, shard->names, take_name, &l));
  for (int64_t row = 0; row < shard->file.rows && l.column < 0; row++)
    GR_TRY(take_transcript(&l, row, NULL));
  if (l.column < 0) return GR_OK;
  const gr_parquet_column *c = &shard->file.columns[l.column];
  m->named |= c->text;
  if (!m->n_names) m->names = c->names, m->n_names = c->n_names;
  return each_text(a, &shard->file, l.column, take_transcript, &l);
}

// ---- Files --------------------------------------------------------------------------------------

gr_status gr_shards_read(gr_arena *a, const char *path, const gr_manifest_keys *keys,
                         gr_kept_pages *kept, gr_manifest *out) {
  static const gr_manifest_keys usual = {0};
  gr_names files;
  gr_map seen = gr_map_make(a);
  *out = (gr_manifest){.path = path};
  GR_TRY(gr_file_list_match(a, path, &files));
  out->shards = GR_NEW(a, gr_packed, files.n);
  GR_TRY(gr_packed_open_all(a, files.items, files.n, &words, kept, out->shards, &out->n_shards,
                            &out->n));
  out->items = GR_NEW(a, gr_utterance, out->n);
  for (int i = 0; i < out->n_shards; i++)
    GR_TRY(list_rows(a, &out->shards[i], keys ? keys : &usual, &seen, out));
  return GR_OK;
}

void gr_shards_notes(const gr_manifest *m, size_t cache_bytes, gr_text *out) {
  gr_packed_note(m->shards, m->n_shards, cache_bytes, out);
}

void gr_shards_close(gr_manifest *m) {
  for (int i = 0; i < m->n_shards; i++) gr_packed_close(&m->shards[i]);
  m->n_shards = 0;
}

// ---- Recordings ---------------------------------------------------------------------------------

gr_status gr_recording_probe(const gr_utterance *u, gr_audio_info *out) {
  gr_mapping map;
  const unsigned char *bytes;
  if (!u->member.archive) return gr_audio_probe(u->audio, out);
  GR_TRY(gr_member_open(&u->member, u->audio, &map, &bytes));
  return gr_mapping_end(&map, gr_audio_probe_bytes(u->audio, bytes, (size_t)u->member.bytes, out));
}

gr_status gr_recording_read(const gr_utterance *u, int rate, uint64_t most, float **out,
                            uint64_t *samples) {
  gr_mapping map;
  const unsigned char *bytes;
  if (!u->member.archive) return gr_audio_read(u->audio, rate, most, out, samples);
  GR_TRY(gr_member_open(&u->member, u->audio, &map, &bytes));
  gr_status s =
      gr_audio_read_bytes(u->audio, bytes, (size_t)u->member.bytes, rate, most, out, samples);
  bool read = !s;
  s = gr_mapping_end(&map, s);
  if (s && read) free(*out);
  return s;
}

uint32_t gr_shards_pages(const gr_manifest *m) {
  uint32_t n = 0;
  for (int i = 0; i < m->n_shards; i++) n += (uint32_t)m->shards[i].pages.n;
  return n;
}

gr_status gr_shard_page_open(const gr_manifest *m, uint32_t i, gr_shard_page *out) {
  const gr_packed *s = m->shards;
  while (i >= (uint32_t)s->pages.n) i -= (uint32_t)s->pages.n, s++;
  const gr_parquet_page *page = &s->pages.pages[i];
  *out = (gr_shard_page){.first = s->first + (uint32_t)page->row, .n = (uint32_t)page->n, .of = s};
  if (out->first >= m->n) return out->n = 0, GR_OK;  // beyond data.limit
  return gr_kept_read(s->kept, &s->pages, (int)i, &out->page, &out->reader);
}

gr_status gr_shard_page_probe(const gr_shard_page *page, const gr_utterance *u, uint32_t k,
                              gr_audio_info *out, size_t *bytes) {
  gr_bytes b = {0};
  GR_TRY(gr_packed_at(page->of, page->reader, k, u->audio, &b));
  *bytes = b.n;
  return gr_audio_probe_bytes(u->audio, b.first, b.n, out);
}

void gr_shard_page_close(gr_shard_page *page) {
  if (page->page) gr_kept_release(page->of->kept, page->page);
  page->page = NULL;
}

gr_status gr_shard_load(const gr_utterance *u, int rate, float **out, uint64_t *samples) {
  gr_packed_file f;
  gr_audio_info info;
  *out = NULL;
  gr_status s = gr_packed_read(u->shard, u->line - 1, u->audio, &f);
  s = s ? s : gr_audio_probe_bytes(u->audio, f.bytes.first, f.bytes.n, &info);
  s = s ? s
        : gr_audio_read_bytes(u->audio, f.bytes.first, f.bytes.n, rate, info.samples, out, samples);
  bool read = !s;
  s = gr_packed_end(&f, s);
  if (s && read) free(*out);
  return s;
}
