// pages.c - the pages of a column of a Parquet file, by their heads (parquet.thrift, PageHeader).
// See parquet.h.
#include <string.h>
#include "base/work.h"
#include "runtime/data/parquet/parts.h"

enum { DATA = 0, INDEX = 1, DICTIONARY = 2, DATA_2 = 3 };  // PageType
enum { RLE = 3 };                                          // Encoding

typedef struct head {
  int64_t type, size, bytes, values, encoding, repeats, definitions, levels;  // levels: an encoding
  int64_t crc;
  bool packed, has_crc, has_values;
} head;

static void read_data(gr_thrift *t, head *h) {  // DataPageHeader, DictionaryPageHeader
  gr_thrift_field f = {0};
  while (gr_thrift_next(t, &f)) {
    int64_t *to = f.id == 1 ? &h->values : f.id == 2 ? &h->encoding : NULL;
    if (f.id == 3 && h->type == DATA) to = &h->levels;
    if (to)
      *to = gr_thrift_int(t, f.type);
    else
      gr_thrift_skip(t, f.type);
  }
}

static void read_data_2(gr_thrift *t, head *h) {  // DataPageHeaderV2
  gr_thrift_field f = {0};
  while (gr_thrift_next(t, &f)) {
    int64_t *to = f.id == 1   ? &h->values
                  : f.id == 4 ? &h->encoding
                  : f.id == 5 ? &h->definitions
                  : f.id == 6 ? &h->repeats
                              : NULL;
    if (f.id == 7)
      h->packed = gr_thrift_bool(t, f.type);
    else if (to)
      *to = gr_thrift_int(t, f.type);
    else
      gr_thrift_skip(t, f.type);
  }
}

// The member that the type says, which is a struct.
static void read_member(gr_thrift *t, gr_thrift_field f, head *h) {
  bool of_type = (f.id == 5 && h->type == DATA) || (f.id == 7 && h->type == DICTIONARY) ||
                 (f.id == 8 && h->type == DATA_2);
  h->has_values |= of_type;
  if (!of_type || f.type != GR_THRIFT_STRUCT)
    gr_thrift_skip(t, f.type);
  else if (h->type == DATA_2)
    read_data_2(t, h);
  else
    read_data(t, h);
}

static head read_head(gr_thrift *t) {
  head h = {.type = -1, .packed = true, .levels = RLE};
  gr_thrift_field f = {0};
  while (gr_thrift_next(t, &f)) {
    int64_t *to = f.id == 1   ? &h.type
                  : f.id == 2 ? &h.size
                  : f.id == 3 ? &h.bytes
                  : f.id == 4 ? &h.crc
                              : NULL;
    h.has_crc |= f.id == 4;
    if (to)
      *to = gr_thrift_int(t, f.type);
    else
      read_member(t, f, &h);
  }
  return h;
}

// Where a column's pages are read.
typedef struct walk {
  const gr_parquet *file;
  int column, group;
  const gr_parquet_chunk *chunk;
  gr_thrift t;
  int64_t left;  // rows of the group
  int64_t row;
} walk;

static gr_status bad_page(const walk *w, const unsigned char *p, const char *what) {
  return gr_note(gr_parquet_broken(w->file, (uint64_t)(p - w->file->map.data), what), GR_NOWHERE,
                 "in a page of the column '%s'", w->file->columns[w->column].name);
}

static gr_status check_head(const walk *w, const head *h, const unsigned char *first) {
  int64_t levels = h->repeats + h->definitions;
  if (w->t.wrong) return bad_page(w, w->t.next, w->t.wrong);
  if (h->bytes < 0 || h->bytes > w->t.end - w->t.next || h->size < 0 || h->size > INT32_MAX)
    return bad_page(w, first, "a page is said to be longer than its column");
  if (h->type == INDEX) return GR_OK;
  if (!h->has_values || h->values < 0 || h->values > INT32_MAX || h->repeats != 0 ||
      h->definitions < 0)
    return bad_page(w, first, "the head of a page is damaged");
  if (h->type == DATA_2 && (levels > h->bytes || levels > h->size))
    return bad_page(w, first, "the levels of a page are longer than it");
  if (h->levels == RLE || !w->file->columns[w->column].definitions) return GR_OK;
  return gr_parquet_unread(w->file, w->column, "has levels in the old encoding BIT_PACKED");
}

static gr_parquet_page make_page(const walk *w, const head *h) {
  bool second = h->type == DATA_2;
  return (gr_parquet_page){.group = w->group,
                           .row = w->row,
                           .n = (int32_t)h->values,
                           .encoding = (int)h->encoding,
                           .version = second ? 2 : 1,
                           .packed = w->chunk->codec != GR_CODEC_NONE && h->packed,
                           .first = (uint64_t)(w->t.next - w->file->map.data),
                           .bytes = (uint32_t)h->bytes,
                           .size = (uint32_t)h->size,
                           .levels = (uint32_t)(h->repeats + h->definitions),
                           .crc = (uint32_t)h->crc,
                           .has_crc = h->has_crc};
}

static gr_status check_packed(const walk *w, const gr_parquet_page *p) {
  size_t bytes = p->bytes, size = p->size;
  if (p->version == 2) bytes -= p->levels, size -= p->levels;
  if (gr_unpack_plausible(p->packed ? w->chunk->codec : GR_CODEC_NONE, bytes, size)) return GR_OK;
  return bad_page(w, w->t.next, "a page is said to have more bytes than can be in it");
}

// Adds a page, and goes to the next.
static gr_status add_page(walk *w, const head *h, gr_parquet_pages *out) {
  gr_parquet_page p = make_page(w, h);
  GR_TRY(check_packed(w, &p));
  if (h->type == DICTIONARY) {
    if (out->dictionaries[w->group].first || w->left < w->file->groups[w->group].rows)
      return bad_page(w, w->t.next, "a column has two dictionaries, or one after its values");
    out->dictionaries[w->group] = p;
  } else if (h->type == DATA || h->type == DATA_2) {
    if (p.n > w->left) return bad_page(w, w->t.next, "pages have more values than their row group");
    w->left -= p.n, w->row += p.n;
    if (p.n) out->pages[out->n++] = p;
  }
  return GR_OK;
}

// A page takes at least the bytes of its head.
static gr_status walk_chunk(gr_arena *a, walk *w, gr_parquet_pages *out, size_t *room) {
  const unsigned char *first = w->file->map.data + w->chunk->first;
  w->t = (gr_thrift){first, first + w->chunk->bytes, NULL};
  w->left = w->file->groups[w->group].rows;
  while (w->left && w->t.next < w->t.end) {
    GR_TRY(gr_work_step(0));
    const unsigned char *begin = w->t.next;
    head h = read_head(&w->t);
    GR_TRY(check_head(w, &h, begin));
    if ((size_t)out->n == *room) {
      gr_parquet_page *more = GR_NEW(a, gr_parquet_page, *room *= 2);
      memcpy(more, out->pages, (size_t)out->n * sizeof *more);
      out->pages = more;
    }
    GR_TRY(add_page(w, &h, out));
    w->t.next += h.bytes;
  }
  return w->left ? bad_page(w, w->t.next, "pages have fewer values than their row group") : GR_OK;
}

gr_status gr_parquet_list(gr_arena *a, const gr_parquet *p, int column, gr_parquet_pages *out) {
  size_t room = (size_t)p->n_groups + 1;
  walk w = {.file = p, .column = column};
  *out = (gr_parquet_pages){.file = p,
                            .column = column,
                            .pages = GR_NEW(a, gr_parquet_page, room),
                            .dictionaries = GR_NEW(a, gr_parquet_page, p->n_groups + 1)};
  GR_TRY(gr_parquet_need(p, column));
  for (; w.group < p->n_groups; w.group++) {
    w.chunk = &p->groups[w.group].chunks[column];
    const char *refused = gr_unpack_refused(w.chunk->codec);
    if (refused) return gr_parquet_unread(p, column, refused);
    GR_TRY(walk_chunk(a, &w, out, &room));
  }
  return gr_parquet_check(p);
}

int gr_parquet_page_of(const gr_parquet_pages *list, int64_t row) {
  int low = 0, high = list->n;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    if (list->pages[middle].row <= row)
      low = middle;
    else
      high = middle;
  }
  return low;
}
