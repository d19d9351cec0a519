// fuzz_parquet.c - any bytes are a Parquet file or an error: all pages of all of its columns are
// read, in order and then the first again, and every byte of their values.
#include "fuzz_file.h"
// fuzz_file.h needs to be first.
#include "runtime/data/parquet/parquet.h"

// A value that is repeated takes few bytes (GR_PARQUET_CELLS), and zstd's blocks expand 2^15 times.
const fuzz_budget fuzz_memory = {64 << 20, 1 << 19};

static unsigned sum(const unsigned char *p, size_t n) {
  unsigned all = 0;
  for (size_t i = 0; i < n; i++) all += p[i];
  return all;
}

static gr_status read_page(gr_parquet_reader *r, const gr_parquet_column *c, int page) {
  volatile unsigned all = 0;
  GR_TRY(gr_parquet_read(r, page));
  HOLDS(r->n > 0 && r->n == r->list->pages[page].n && !r->fixed == !c->size &&
        !r->texts == !!c->size);
  if (r->there) all += sum(r->there, (size_t)r->n);
  if (r->fixed) all += sum(r->fixed, (size_t)r->n * c->size);
  for (int32_t i = 0; r->texts && i < r->n; i++) all += sum(r->texts[i].first, r->texts[i].n);
  return GR_OK;
}

static gr_status read_column(gr_arena *a, const gr_parquet *p, int column) {
  gr_parquet_pages list;
  GR_TRY(gr_parquet_list(a, p, column, &list));
  int64_t rows = 0;
  for (int i = 0; i < list.n; i++) {
    HOLDS(list.pages[i].row == rows && gr_parquet_page_of(&list, rows) == i);
    rows += list.pages[i].n;
  }
  HOLDS(rows == p->rows);
  gr_parquet_reader r = gr_parquet_reader_open(&list);
  gr_status s = GR_OK;
  for (int i = 0; i < list.n && !s; i++) s = read_page(&r, &p->columns[column], i);
  if (list.n && !s) s = read_page(&r, &p->columns[column], 0);
  gr_parquet_reader_close(&r);
  return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_file f = fuzz_file_make(data, size);
  gr_arena *a = gr_arena_create();
  gr_parquet p;
  gr_status s = gr_parquet_open(a, f.path, &p), more = GR_OK;
  for (int i = 0; i < p.n_columns && !s; i++) more = gr_also(more, read_column(a, &p, i));
  gr_parquet_close(&p);
  fuzz_print(s), fuzz_print(more);
  gr_arena_destroy(a);
  fuzz_file_close(&f);
  return 0;
}
