// test_shard.c - recordings in Parquet files (golden/parquet_samples.py) give the same batches as a
// manifest of the same recordings as files; what is wrong with a row is said with its place.
#include <pthread.h>
#include <stdatomic.h>
#include "runtime/data/loader.h"
#include "runtime/data/speech/audio.h"
#include "runtime/data/speech/shard.h"
#include "tests/runtime/data/fixture.h"

#define SAMPLES GR_GOLDEN "/parquet_samples"
enum { ROWS = 16 };

static gr_arena *arena;

// Writes the recordings of the files, and a manifest of them.
static const char *write_files(void) {
  gr_manifest m;
  gr_kept_pages *kept = gr_kept_open(0);
  MUST(gr_shards_read(arena, SAMPLES "/speech-[01].parquet", NULL, kept, &m));
  CHECK(m.n == ROWS && m.n_shards == 2, "%u rows of %d files", m.n, m.n_shards);
  const char *path = fixture_path("files.jsonl");
  gr_text lines = gr_text_make(arena);
  for (uint32_t i = 0; i < gr_shards_pages(&m); i++) {
    gr_shard_page page;
    MUST(gr_shard_page_open(&m, i, &page));
    for (uint32_t k = 0; k < page.n; k++) {
      const gr_utterance *u = &m.items[page.first + k];
      const gr_bytes *b = &page.reader->texts[k];
      fixture_bytes(fixture_path("%s", u->name), b->first, b->n);
      gr_text_printf(&lines, "{\"audio_path\": \"%s\", \"text\": \"%s\"}\n", u->name, u->text);
    }
    gr_shard_page_close(&page);
  }
  gr_kept_close(kept);
  gr_shards_close(&m);
  fixture_text(path, lines.chars);
  return path;
}

static void same_field(const gr_field *a, const gr_field *b) {
  size_t n = gr_type_bytes(&a->type);
  CHECK(n == gr_type_bytes(&b->type) && a->type.dtype == b->type.dtype, "the type of %s", a->name);
  if (n == gr_type_bytes(&b->type)) CHECK(!memcmp(a->data, b->data, n), "values of %s", a->name);
}

static int same_batches(gr_dataset *a, gr_dataset *b, gr_split split) {
  gr_loader_spec spec = {.split = split,
                         .batch = 4,
                         .ranks = 1,
                         .epochs = 2,
                         .prefetch = 2,
                         .workers = 2,
                         .shuffle = split == GR_SPLIT_TRAIN,
                         .augment = split == GR_SPLIT_TRAIN};
  gr_loader *l[2];
  const gr_batch *x[2];
  int n = 0;
  MUST(gr_loader_open(a, &spec, &l[0]));
  MUST(gr_loader_open(b, &spec, &l[1]));
  for (bool more = true; more; n += more) {
    MUST(gr_loader_next(l[0], &x[0]));
    MUST(gr_loader_next(l[1], &x[1]));
    CHECK(!x[0] == !x[1], "batch %d is there", n);
    more = x[0] && x[1];
    for (int i = 0; more && i < x[0]->n_fields; i++) same_field(&x[0]->field[i], &x[1]->field[i]);
  }
  gr_loader_close(l[0]), gr_loader_close(l[1]);
  return n;
}

static void same_as_files(void) {
  fixture_data shards = fixture_spec(SAMPLES "/speech-[01].parquet"),
               files = fixture_spec(write_files());
  gr_dataset *a, *b;
  shards.options.validation_fraction = files.options.validation_fraction = 0.25;
  shards.options.cache_bytes = 0;
  MUST(fixture_open(&shards, &a));
  MUST(fixture_open(&files, &b));
  CHECK(gr_dataset_count(a, GR_SPLIT_TRAIN) == gr_dataset_count(b, GR_SPLIT_TRAIN), "the split");
  CHECK(same_batches(a, b, GR_SPLIT_TRAIN) >= 6, "training batches");
  CHECK(same_batches(a, b, GR_SPLIT_VALIDATION) >= 1, "validation batches");
  for (uint32_t i = 0; i < ROWS; i++)
    CHECK(gr_dataset_fingerprint(a, i, true) == gr_dataset_fingerprint(b, i, true), "sample %u", i);
  gr_dataset_close(a), gr_dataset_close(b);
}

static void takes_a_limit_of_rows(void) {
  fixture_data data = fixture_spec(SAMPLES "/speech-[01].parquet");
  gr_dataset *d;
  data.options.limit = 3;
  MUST(fixture_open(&data, &d));
  CHECK(gr_dataset_samples(d) == 3, "%u samples", gr_dataset_samples(d));
  gr_dataset_close(d);
}

static void says_which_columns_are_wrong(void) {
  gr_dataset *d;
  fixture_data data = fixture_spec(SAMPLES "/speech-0.parquet");
  data.speech.keys.column = "words";
  fixture_fails(fixture_open(&data, &d), GR_ERR_DATA, 0, "has no column 'words'");
  data.speech.keys.column = "speaker";
  fixture_fails(fixture_open(&data, &d), GR_ERR_DATA, 0, "'speaker' of");
  data.speech.keys.column = "sentence";
  MUST(fixture_open(&data, &d));
  gr_dataset_close(d);
  data = fixture_spec(SAMPLES "/kinds-0.parquet");
  fixture_fails(fixture_open(&data, &d), GR_ERR_DATA, 0, "has no column of recordings");
  data = fixture_spec(SAMPLES "/none-*.parquet");
  fixture_fails(fixture_open(&data, &d), GR_ERR_DATA, 0, "none-*.parquet");
}

static void says_which_rows_are_wrong(void) {
  gr_dataset *d;
  fixture_data data = fixture_spec(SAMPLES "/speech-missing.parquet");
  fixture_fails(fixture_open(&data, &d), GR_ERR_DATA, 2, "its bytes are missing");
  data.options.skip_unreadable = true;
  MUST(fixture_open(&data, &d));
  CHECK(gr_dataset_samples(d) == 1, "%u samples", gr_dataset_samples(d));
  gr_dataset_close(d);
}

// ---- Pages that are kept ------------------------------------------------------------------------

static const gr_bytes *read_kept(gr_kept_pages *kept, const gr_parquet_pages *list, int page) {
  const gr_parquet_reader *r;
  gr_kept_page *p;
  MUST(gr_kept_read(kept, list, page, &p, &r));
  CHECK(r->n == list->pages[page].n && r->texts, "page %d has %d values", page, r->n);
  const gr_bytes *texts = r->texts;
  gr_kept_release(kept, p);
  return texts;
}

// What is kept is where it was; what is dropped is read again.
static void keeps_pages(void) {
  gr_parquet file;
  gr_parquet_pages list;
  gr_kept_pages *kept = gr_kept_open(1 << 20);
  gr_kept_page *held[2];
  const gr_parquet_reader *r[2];
  MUST(gr_parquet_open(arena, SAMPLES "/kinds-1.parquet", &file));
  MUST(gr_parquet_list(arena, &file, gr_parquet_find(&file, "name"), &list));
  CHECK(list.n >= 3, "%d pages", list.n);
  const gr_bytes *first = read_kept(kept, &list, 0), *second = read_kept(kept, &list, 1);
  CHECK(first != second && read_kept(kept, &list, 0) == first, "the first page is kept");
  gr_kept_limit(kept, gr_kept_bytes(&list, 0) + 1);  // the second was read longest ago
  CHECK(read_kept(kept, &list, 0) == first, "the page that was read last is kept");
  gr_kept_limit(kept, 0);
  for (int i = 0; i < 2; i++) MUST(gr_kept_read(kept, &list, 2, &held[i], &r[i]));
  CHECK(held[0] == held[1] && r[0]->texts == r[1]->texts, "a page is read once while it is held");
  for (int i = 0; i < 2; i++) gr_kept_release(kept, held[i]);
  gr_kept_close(kept);
  gr_parquet_close(&file);
}

// However many pages are kept, each is found again; those that were read longest ago are dropped
// first, whatever was read in between. The same page of other lists is another.
static void keeps_many_pages(void) {
  enum { LISTS = 400 };
  gr_parquet file;
  gr_parquet_pages *lists = GR_NEW(arena, gr_parquet_pages, LISTS);
  const gr_bytes *texts[LISTS];
  gr_kept_pages *kept = gr_kept_open(1 << 24);
  MUST(gr_parquet_open(arena, SAMPLES "/kinds-1.parquet", &file));
  for (int i = 0; i < LISTS; i++) {
    MUST(gr_parquet_list(arena, &file, gr_parquet_find(&file, "name"), &lists[i]));
    texts[i] = read_kept(kept, &lists[i], 0);
    for (int k = 0; k < i; k++) CHECK(texts[i] != texts[k], "lists %d and %d share a page", i, k);
  }
  for (int i = LISTS - 1; i >= 0; i--)
    CHECK(read_kept(kept, &lists[i], 0) == texts[i], "the page of list %d is kept", i);
  gr_kept_limit(kept, LISTS / 2 * gr_kept_bytes(&lists[0], 0));
  for (int i = 0; i < LISTS / 2; i++)
    CHECK(read_kept(kept, &lists[i], 0) == texts[i], "list %d was read last", i);
  for (int i = 1; i < LISTS / 2; i++) (void)read_kept(kept, &lists[LISTS - i], 0);
  CHECK(read_kept(kept, &lists[LISTS / 2 - 1], 0) == texts[LISTS / 2 - 1],
        "all but one is dropped");
  gr_kept_close(kept);
  gr_parquet_close(&file);
}

typedef struct readers {
  gr_kept_pages *kept;
  const gr_parquet_pages *list;
  atomic_uint bytes;
} readers;

static void *read_pages(void *arg) {
  readers *all = arg;
  for (int i = 0; i < 400; i++) {
    const gr_parquet_reader *r;
    gr_kept_page *p;
    MUST(gr_kept_read(all->kept, all->list, i * 7 % all->list->n, &p, &r));
    for (int32_t k = 0; k < r->n; k++) atomic_fetch_add(&all->bytes, (unsigned)r->texts[k].n);
    gr_kept_release(all->kept, p);
  }
  return NULL;
}

// Four threads, with room for two pages, read what one reads.
static void shares_pages(void) {
  enum { THREADS = 4 };
  gr_parquet file;
  gr_parquet_pages list;
  pthread_t thread[THREADS];
  MUST(gr_parquet_open(arena, SAMPLES "/kinds-1.parquet", &file));
  MUST(gr_parquet_list(arena, &file, gr_parquet_find(&file, "name"), &list));
  readers one = {gr_kept_open(0), &list, 0};
  readers all = {gr_kept_open(2 * gr_kept_bytes(&list, 0)), &list, 0};
  (void)read_pages(&one);
  for (int i = 0; i < THREADS; i++)
    CHECK(!pthread_create(&thread[i], NULL, read_pages, &all), "a thread");
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  CHECK(all.bytes == THREADS * one.bytes && one.bytes, "%u bytes, and %u of one", all.bytes,
        one.bytes);
  gr_kept_close(one.kept), gr_kept_close(all.kept);
  gr_parquet_close(&file);
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int code =
      RUN(argc, argv, {"same_as_files", same_as_files},
          {"takes_a_limit_of_rows", takes_a_limit_of_rows},
          {"says_which_columns_are_wrong", says_which_columns_are_wrong},
          {"says_which_rows_are_wrong", says_which_rows_are_wrong}, {"keeps_pages", keeps_pages},
          {"keeps_many_pages", keeps_many_pages}, {"shares_pages", shares_pages});
  gr_arena_destroy(arena);
  return code;
}
