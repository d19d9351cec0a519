// read.c - reads pages of a Parquet file: unpacks them, and makes values of them. See parquet.h.
#include <stdlib.h>
#include <string.h>
#include "runtime/data/parquet/parts.h"

enum {  // Encoding
  PLAIN = 0,
  PLAIN_DICTIONARY = 2,
  RLE = 3,
  BIT_PACKED = 4,
  DELTA_BINARY_PACKED,
  DELTA_LENGTH_BYTE_ARRAY,
  DELTA_BYTE_ARRAY,
  RLE_DICTIONARY,
  BYTE_STREAM_SPLIT
};

// Values without those that are missing.
typedef struct values {
  void *unpacked;         // the page; NULL: it is in the file
  unsigned char *fixed;   // of numbers
  gr_bytes *texts;        // of others
  unsigned char *joined;  // bytes of DELTA_BYTE_ARRAY
  size_t n;
} values;

typedef struct gr_parquet_memory {
  values page, dictionary;
  int dictionary_of;  // its group + 1; 0: there is none yet
  uint8_t *there;
  unsigned char *fixed;  // with those that are missing
  gr_bytes *texts;
} memory;

static void free_values(values *v) {
  free(v->unpacked), free(v->fixed), free(v->texts), free(v->joined);
  *v = (values){0};
}

static void free_page(gr_parquet_reader *r) {
  memory *m = r->memory;
  free_values(&m->page);
  free(m->there), free(m->fixed), free(m->texts);
  m->there = NULL, m->fixed = NULL, m->texts = NULL;
  r->n = 0, r->there = NULL, r->fixed = NULL, r->texts = NULL;
}

// A page that is being read.
typedef struct reading {
  const gr_parquet *file;
  int column;
  const gr_parquet_column *c;
  const gr_parquet_page *page;
} reading;

static gr_status bad_page(const reading *r, const char *what) {
  return gr_note(gr_parquet_broken(r->file, r->page->first, what), GR_NOWHERE,
                 "in a page of the column '%s'", r->c->name);
}

static gr_status no_memory(const reading *r) {
  return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for a page of the column '%s' of '%s'",
                 r->c->name, r->file->path);
}

// ---- Bytes --------------------------------------------------------------------------------------

static gr_status unpack_page(const reading *r, void **room, gr_span *levels, gr_span *out) {
  const gr_parquet_page *p = r->page;
  const unsigned char *first = r->file->map.data + p->first;
  size_t before = p->version == 2 ? p->levels : 0, n = p->bytes - before, size = p->size - before;
  bool good;
  if (p->has_crc && !gr_unpack_same_crc(first, p->bytes, p->crc))
    return bad_page(r, "the checksum of a page differs from what its head declares");
  *levels = (gr_span){first, first + before};
  *out = (gr_span){first + before, first + p->bytes};
  if (!p->packed || (!n && !size)) return GR_OK;
  unsigned char *unpacked = *room = malloc(size + 1);
  if (!unpacked) return no_memory(r);
  GR_TRY(gr_unpack(r->file->groups[p->group].chunks[r->column].codec, first + before, n, unpacked,
                   size, &good));
  *out = (gr_span){unpacked, unpacked + size};
  return good ? GR_OK
              : bad_page(r, "a page cannot be unpacked to the bytes that its head declares");
}

// ---- Levels -------------------------------------------------------------------------------------

static int bits_for(int most) {
  int bits = 0;
  while (most >> bits) bits++;
  return bits;
}

// Before the values of version 1 is the number of their bytes.
static bool take_levels(const gr_parquet_page *p, gr_span *levels, gr_span *rest) {
  uint32_t n;
  if (p->version == 2) return true;
  if (rest->end - rest->next < 4) return false;
  memcpy(&n, rest->next, 4);
  rest->next += 4;
  if (n > (size_t)(rest->end - rest->next)) return false;
  *levels = (gr_span){rest->next, rest->next + n};
  rest->next += n;
  return true;
}

// Which values of the page are there, by the levels of definition; *n becomes how many.
static gr_status read_levels(const reading *r, gr_span levels, gr_span *rest, uint8_t **there,
                             size_t *n) {
  size_t all = (size_t)r->page->n;
  *n = all;
  if (!r->c->definitions) return GR_OK;
  if (!take_levels(r->page, &levels, rest))
    return bad_page(r, "the levels of a page are cut short");
  uint32_t *level = malloc(all * sizeof *level);
  *there = malloc(all);
  bool good = level && *there;
  if (good) good = gr_span_hybrid(&levels, bits_for(r->c->definitions), all, level);
  *n = 0;
  for (size_t i = 0; i < all && good; i++) {
    (*there)[i] = level[i] == (uint32_t)r->c->definitions;
    *n += (*there)[i];
  }
  bool room = level && *there;
  free(level);
  if (!room) return no_memory(r);
  return good ? GR_OK : bad_page(r, "the levels of a page are cut short");
}

// ---- Values -------------------------------------------------------------------------------------

static gr_status read_texts_delta(const reading *r, gr_span *s, values *v, bool *good) {
  enum { FACTOR = 1024, LEAST = 1 << 16 };  // what a byte of a page may become by common prefixes
  size_t total, most = (size_t)r->page->size * FACTOR + LEAST;
  int64_t *lengths = malloc(2 * (v->n + 1) * sizeof *lengths);
  gr_bytes *parts = malloc((v->n + 1) * sizeof *parts);
  if (!lengths || !parts) {
    free(lengths), free(parts);
    return no_memory(r);
  }
  int64_t *prefixes = lengths + v->n;
  bool joins = r->page->encoding == DELTA_BYTE_ARRAY;
  if (joins) {
    *good = gr_span_delta_parts(s, v->n, lengths, prefixes, parts, &total) && total <= most;
    if (*good && (v->joined = malloc(total + 1)))
      gr_join_parts(v->n, prefixes, parts, v->joined, v->texts);
  } else {
    *good = gr_span_delta_lengths(s, v->n, lengths, v->texts);
  }
  free(lengths), free(parts);
  return joins && *good && !v->joined ? no_memory(r) : GR_OK;
}

static bool read_texts_plain(const gr_parquet_column *c, gr_span *s, values *v) {
  if (!c->width) return gr_span_texts(s, v->n, v->texts);
  if (v->n > (size_t)(s->end - s->next) / c->width) return false;
  for (size_t i = 0; i < v->n; i++) v->texts[i] = (gr_bytes){s->next + i * c->width, c->width};
  return true;
}

// Integers by differences, of 4 or 8 bytes.
static gr_status read_ints(const reading *r, gr_span *s, values *v, bool *good) {
  int64_t *wide = malloc((v->n + 1) * sizeof *wide);
  if (!wide) return no_memory(r);
  *good = gr_span_delta(s, v->n, wide);
  for (size_t i = 0; i < v->n && *good; i++)
    memcpy(v->fixed + i * r->c->size, &wide[i], r->c->size);  // little-endian: the low bytes
  free(wide);
  return GR_OK;
}

// Truth values as runs of bits, after the number of their bytes.
static gr_status read_runs(const reading *r, gr_span *s, values *v, bool *good) {
  uint32_t *wide = malloc((v->n + 1) * sizeof *wide);
  if (!wide) return no_memory(r);
  *good = s->end - s->next >= 4;
  if (*good) s->next += 4;
  *good = *good && gr_span_hybrid(s, 1, v->n, wide);
  for (size_t i = 0; i < v->n && *good; i++) v->fixed[i] = (unsigned char)wide[i];
  free(wide);
  return GR_OK;
}

static void take_entry(const gr_parquet_column *c, const values *dictionary, size_t entry,
                       values *v, size_t i) {
  if (c->size)
    memcpy(v->fixed + i * c->size, dictionary->fixed + entry * c->size, c->size);
  else
    v->texts[i] = dictionary->texts[entry];
}

// Numbers of entries of the dictionary, after the bits of each.
static gr_status read_entries(const reading *r, gr_span *s, const values *dictionary, values *v,
                              bool *good) {
  uint32_t *entries = malloc((v->n + 1) * sizeof *entries);
  if (!entries) return no_memory(r);
  *good = !v->n || s->next < s->end;
  int bits = v->n && *good ? *s->next++ : 0;
  *good = *good && gr_span_hybrid(s, bits, v->n, entries);
  for (size_t i = 0; i < v->n && *good; i++) {
    *good = entries[i] < dictionary->n;
    if (*good) take_entry(r->c, dictionary, entries[i], v, i);
  }
  free(entries);
  return GR_OK;
}

static gr_status unread_encoding(const reading *r) {
  char what[64];
  snprintf(what, sizeof what, "has pages in the encoding %d", r->page->encoding);
  return gr_parquet_unread(
      r->file, r->column,
      r->page->encoding == BIT_PACKED ? "has pages in the encoding BIT_PACKED" : what);
}

// Reads v->n values by the page's encoding.
static gr_status read_encoded(const reading *r, gr_span *s, const values *dictionary, values *v,
                              bool *good) {
  const gr_parquet_column *c = r->c;
  bool whole = c->type == GR_PARQUET_INT32 || c->type == GR_PARQUET_INT64;
  switch (r->page->encoding) {
    case PLAIN:
      *good = c->type == GR_PARQUET_BOOL ? gr_span_bits(s, v->n, v->fixed)
              : c->size                  ? gr_span_fixed(s, c->size, v->n, v->fixed)
                                         : read_texts_plain(c, s, v);
      return GR_OK;
    case PLAIN_DICTIONARY:
    case RLE_DICTIONARY:
      return read_entries(r, s, dictionary, v, good);
    case RLE:
      return c->type == GR_PARQUET_BOOL ? read_runs(r, s, v, good) : unread_encoding(r);
    case DELTA_BINARY_PACKED:
      return whole ? read_ints(r, s, v, good) : unread_encoding(r);
    case DELTA_LENGTH_BYTE_ARRAY:
    case DELTA_BYTE_ARRAY:
      return c->size ? unread_encoding(r) : read_texts_delta(r, s, v, good);
    case BYTE_STREAM_SPLIT:
      if (!c->size || c->type == GR_PARQUET_BOOL) return unread_encoding(r);
      return *good = gr_span_split(s, c->size, v->n, v->fixed), GR_OK;
    default:
      return unread_encoding(r);
  }
}

static gr_status read_values(const reading *r, gr_span rest, const values *dictionary, size_t n,
                             values *v) {
  bool good = false;
  v->n = n;
  if (r->c->size)
    v->fixed = malloc(n * r->c->size + 1);
  else
    v->texts = malloc((n + 1) * sizeof *v->texts);
  if (!v->fixed && !v->texts) return no_memory(r);
  GR_TRY(read_encoded(r, &rest, dictionary, v, &good));
  for (size_t i = 0; i < n && good && r->c->width && !r->c->size; i++)
    good = v->texts[i].n == r->c->width;
  return good ? GR_OK : bad_page(r, "the values of a page are damaged");
}

// ---- Dictionaries -------------------------------------------------------------------------------

static gr_status read_dictionary(memory *m, const reading *of) {
  reading r = *of;
  gr_span levels, rest;
  int group = of->page->group;
  if (m->dictionary_of == group + 1) return GR_OK;
  free_values(&m->dictionary);
  m->dictionary_of = 0;
  if ((size_t)r.page->n > r.page->size)
    return bad_page(&r, "a dictionary is said to have more values than bytes");
  if (r.page->encoding != PLAIN && r.page->encoding != PLAIN_DICTIONARY) return unread_encoding(&r);
  gr_parquet_page plain = *r.page;
  plain.encoding = PLAIN;
  r.page = &plain;
  GR_TRY(unpack_page(&r, &m->dictionary.unpacked, &levels, &rest));
  GR_TRY(read_values(&r, rest, NULL, (size_t)plain.n, &m->dictionary));
  m->dictionary_of = group + 1;
  return GR_OK;
}

static gr_status need_dictionary(const gr_parquet_reader *reader, const reading *r) {
  int encoding = r->page->encoding;
  if (encoding != PLAIN_DICTIONARY && encoding != RLE_DICTIONARY) return GR_OK;
  reading dictionary = *r;
  dictionary.page = &reader->list->dictionaries[r->page->group];
  if (!dictionary.page->first)
    return bad_page(r, "a page needs a dictionary, and its column has none");
  return read_dictionary(reader->memory, &dictionary);
}

// ---- Pages --------------------------------------------------------------------------------------

// Puts values where they are not missing.
static gr_status spread(gr_parquet_reader *reader, const reading *r) {
  memory *m = reader->memory;
  size_t all = (size_t)r->page->n, size = r->c->size, next = 0;
  if (size)
    m->fixed = calloc(all, size);
  else
    m->texts = calloc(all, sizeof *m->texts);
  if (!m->fixed && !m->texts) return no_memory(r);
  for (size_t i = 0; i < all; i++) {
    if (!m->there[i]) continue;
    if (size)
      memcpy(m->fixed + i * size, m->page.fixed + next * size, size);
    else
      m->texts[i] = m->page.texts[next];
    next++;
  }
  reader->fixed = m->fixed, reader->texts = m->texts, reader->there = m->there;
  return GR_OK;
}

static gr_status read_page(gr_parquet_reader *reader, const reading *r) {
  memory *m = reader->memory;
  gr_span levels, rest;
  size_t n;
  GR_TRY(need_dictionary(reader, r));
  GR_TRY(unpack_page(r, &m->page.unpacked, &levels, &rest));
  GR_TRY(read_levels(r, levels, &rest, &m->there, &n));
  GR_TRY(read_values(r, rest, &m->dictionary, n, &m->page));
  reader->n = r->page->n, reader->fixed = m->page.fixed, reader->texts = m->page.texts;
  return n < (size_t)r->page->n ? spread(reader, r) : GR_OK;
}

gr_parquet_reader gr_parquet_reader_open(const gr_parquet_pages *list) {
  return (gr_parquet_reader){.list = list};
}

gr_status gr_parquet_read(gr_parquet_reader *reader, int page) {
  const gr_parquet_pages *l = reader->list;
  reading r = {l->file, l->column, &l->file->columns[l->column], &l->pages[page]};
  if (!reader->memory) reader->memory = calloc(1, sizeof *reader->memory);
  if (!reader->memory) return no_memory(&r);
  free_page(reader);
  gr_status s = read_page(reader, &r);
  // Bytes that are gone from the file were read as 0.
  gr_status cut = gr_parquet_check(l->file);
  if (cut) gr_status_drop(s), s = cut;
  if (s) free_page(reader);
  return s;
}

void gr_parquet_reader_close(gr_parquet_reader *reader) {
  if (!reader->memory) return;
  free_page(reader);
  free_values(&reader->memory->dictionary);
  free(reader->memory);
  reader->memory = NULL;
}
