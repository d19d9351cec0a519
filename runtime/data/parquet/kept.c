// kept.c - see kept.h.
#include "runtime/data/parquet/kept.h"
#include <pthread.h>
#include <stdlib.h>

struct gr_kept_page {
  gr_parquet_reader reader;
  int page, users;
  bool ready;  // else it is being read, and has one user
  size_t bytes;
  uint64_t used;  // when it was released last
  gr_kept_page *next;
};

struct gr_kept_pages {
  pthread_mutex_t lock;
  pthread_cond_t changed;  // a page has become ready, or failed
  gr_kept_page *first;
  size_t most, bytes;
  uint64_t now;
};

gr_kept_pages *gr_kept_open(size_t most) {
  gr_kept_pages *k = calloc(1, sizeof *k);
  if (!k) return NULL;
  k->most = most;
  pthread_mutex_init(&k->lock, NULL);
  pthread_cond_init(&k->changed, NULL);
  return k;
}

static void drop(gr_kept_pages *k, gr_kept_page **place) {
  gr_kept_page *p = *place;
  *place = p->next, k->bytes -= p->bytes;
  gr_parquet_reader_close(&p->reader);
  free(p);
}

// Drops pages without users, until the rest is as small as it should be.
static void shrink(gr_kept_pages *k) {
  while (k->bytes > k->most) {
    gr_kept_page **oldest = NULL;
    for (gr_kept_page **p = &k->first; *p; p = &(*p)->next)
      if (!(*p)->users && (!oldest || (*p)->used < (*oldest)->used)) oldest = p;
    if (!oldest) return;
    drop(k, oldest);
  }
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
  gr_kept_page *p = k->first;
  while (p && (p->page != page || p->reader.list != list)) p = p->next;
  return p;
}

static gr_kept_page *add(gr_kept_pages *k, const gr_parquet_pages *list, int page) {
  gr_kept_page *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  *p = (gr_kept_page){.reader = gr_parquet_reader_open(list), .page = page, .next = k->first};
  return k->first = p;
}

// Reads a page that was added, and that other threads wait for.
static gr_status read_page(gr_kept_pages *k, gr_kept_page *page) {
  gr_kept_page **p = &k->first;
  pthread_mutex_unlock(&k->lock);
  gr_status s = gr_parquet_read(&page->reader, page->page);
  pthread_mutex_lock(&k->lock);
  pthread_cond_broadcast(&k->changed);
  while (*p != page) p = &(*p)->next;
  if (s) return drop(k, p), s;
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
  page->used = ++k->now, page->users--;
  shrink(k);
  pthread_mutex_unlock(&k->lock);
}

void gr_kept_close(gr_kept_pages *k) {
  if (!k) return;
  while (k->first) drop(k, &k->first);
  pthread_mutex_destroy(&k->lock);
  pthread_cond_destroy(&k->changed);
  free(k);
}
