// kept.c - see kept.h.
#include "runtime/data/parquet/kept.h"
#include <pthread.h>
#include <stdlib.h>

struct gr_kept_page {
  gr_parquet_reader reader;
  int page, users;
  bool ready;  // else it is being read, and has one user
  size_t bytes;
  gr_kept_page *next;           // of those whose hash ends alike
  gr_kept_page *older, *newer;  // of pages without users, by their last release
};

struct gr_kept_pages {
  pthread_mutex_t lock;
  pthread_cond_t changed;  // a page has become ready, or failed
  gr_kept_page **bucket;   // [n_buckets], a power of two, by hash
  size_t n_buckets, n;
  gr_kept_page *oldest, *newest;  // of pages without users
  size_t most, bytes;
};

enum { BUCKETS = 64 };  // to begin with

gr_kept_pages *gr_kept_open(size_t most) {
  gr_kept_pages *k = calloc(1, sizeof *k);
  gr_kept_page **bucket = calloc(BUCKETS, sizeof(gr_kept_page *));
  if (!k || !bucket) {
    free(k), free(bucket);
    return NULL;
  }
  k->most = most, k->bucket = bucket, k->n_buckets = BUCKETS;
  pthread_mutex_init(&k->lock, NULL);
  pthread_cond_init(&k->changed, NULL);
  return k;
}

// ---- By hash ------------------------------------------------------------------------------------

static gr_kept_page **bucket_of(const gr_kept_pages *k, const gr_parquet_pages *list, int page) {
  const uint64_t of = (uint64_t)(uintptr_t)list + (uint64_t)page * 0x9e3779b97f4a7c15u;
  return &k->bucket[(of ^ of >> 32) & (k->n_buckets - 1)];
}

// Without memory for more buckets they are longer.
static void add_buckets(gr_kept_pages *k) {
  gr_kept_pages more = {.n_buckets = 2 * k->n_buckets};
  if (!(more.bucket = calloc(more.n_buckets, sizeof(gr_kept_page *)))) return;
  for (size_t i = 0; i < k->n_buckets; i++)
    for (gr_kept_page *p = k->bucket[i], *next; p; p = next) {
      gr_kept_page **to = bucket_of(&more, p->reader.list, p->page);
      next = p->next, p->next = *to, *to = p;
    }
  free(k->bucket);
  k->bucket = more.bucket, k->n_buckets = more.n_buckets;
}

// ---- By release ---------------------------------------------------------------------------------

static void take_from_unused(gr_kept_pages *k, gr_kept_page *p) {
  *(p->older ? &p->older->newer : &k->oldest) = p->newer;
  *(p->newer ? &p->newer->older : &k->newest) = p->older;
  p->older = p->newer = NULL;
}

static void add_to_unused(gr_kept_pages *k, gr_kept_page *p) {
  p->older = k->newest;
  *(k->newest ? &k->newest->newer : &k->oldest) = p;
  k->newest = p;
}

// Of a page without users, or one that could not be read.
static void drop(gr_kept_pages *k, gr_kept_page *p) {
  gr_kept_page **place = bucket_of(k, p->reader.list, p->page);
  while (*place != p) place = &(*place)->next;
  *place = p->next, k->n--, k->bytes -= p->bytes;
  if (p->ready) take_from_unused(k, p);
  gr_parquet_reader_close(&p->reader);
  free(p);
}

// Drops pages without users, until the rest is as small as it should be.
static void shrink(gr_kept_pages *k) {
  while (k->bytes > k->most && k->oldest) drop(k, k->oldest);
}

void gr_kept_limit(gr_kept_pages *k, size_t most) {
  if (!k) return;
  pthread_mutex_lock(&k->lock);
  k->most = most;
  shrink(k);
  pthread_mutex_unlock(&k->lock);
}

// What is not packed stays in the file.
size_t gr_kept_bytes(const gr_parquet_pages *list, int page) {
  const gr_parquet_page *p = &list->pages[page], *d = &list->dictionaries[p->group];
  size_t value = list->file->columns[list->column].size;
  value = value ? value : sizeof(gr_bytes);
  size_t unpacked = (p->packed ? p->size : 0) + (d->packed ? d->size : 0);
  return sizeof(gr_kept_page) + unpacked + ((size_t)p->n + (size_t)d->n) * value;
}

static gr_kept_page *find(const gr_kept_pages *k, const gr_parquet_pages *list, int page) {
  gr_kept_page *p = *bucket_of(k, list, page);
  while (p && (p->page != page || p->reader.list != list)) p = p->next;
  return p;
}

static gr_kept_page *add(gr_kept_pages *k, const gr_parquet_pages *list, int page) {
  gr_kept_page *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  if (k->n++ == k->n_buckets) add_buckets(k);
  gr_kept_page **bucket = bucket_of(k, list, page);
  *p = (gr_kept_page){.reader = gr_parquet_reader_open(list), .page = page, .next = *bucket};
  return *bucket = p;
}

// Reads a page that was added, and that other threads wait for.
static gr_status read_page(gr_kept_pages *k, gr_kept_page *page) {
  pthread_mutex_unlock(&k->lock);
  gr_status s = gr_parquet_read(&page->reader, page->page);
  pthread_mutex_lock(&k->lock);
  pthread_cond_broadcast(&k->changed);
  if (s) return drop(k, page), s;
  k->bytes += page->bytes = gr_kept_bytes(page->reader.list, page->page);
  page->ready = true;
  return GR_OK;
}

gr_status gr_kept_read(gr_kept_pages *k, const gr_parquet_pages *list, int page, gr_kept_page **out,
                       const gr_parquet_reader **reader) {
  gr_status s = GR_OK;
  gr_kept_page *p;
  *out = NULL;
  pthread_mutex_lock(&k->lock);
  while ((p = find(k, list, page)) && !p->ready) pthread_cond_wait(&k->changed, &k->lock);
  bool kept = p != NULL;
  if (!kept) p = add(k, list, page);
  if (kept && !p->users) take_from_unused(k, p);
  if (p) p->users++;
  if (p && !kept) s = read_page(k, p);
  pthread_mutex_unlock(&k->lock);
  if (!p) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for a page of '%s'", list->file->path);
  if (s) return s;
  *out = p, *reader = &p->reader;
  return GR_OK;
}

void gr_kept_release(gr_kept_pages *k, gr_kept_page *page) {
  pthread_mutex_lock(&k->lock);
  if (!--page->users) add_to_unused(k, page);
  shrink(k);
  pthread_mutex_unlock(&k->lock);
}

void gr_kept_close(gr_kept_pages *k) {
  if (!k) return;
  while (k->oldest) drop(k, k->oldest);
  free(k->bucket);
  pthread_mutex_destroy(&k->lock);
  pthread_cond_destroy(&k->changed);
  free(k);
}
