// arena.c - see arena.h.
#include "base/arena.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/port.h"

struct block {
  struct block *next;
  size_t used, size;
  size_t dirty;  // so many bytes from the start on may not be zero
};
struct gr_arena {
  struct block *head;
  size_t bytes;      // of all blocks
  gr_arena *inner;   // the last of those within it
  gr_arena *before;  // the one made before it within the same
};

enum {
  BLOCK_MIN = 1 << 14,
  BLOCK_MAX = 1 << 20,
  ALIGN = 16,
  PAGE = 4096,
  HEADER = (sizeof(struct block) + ALIGN - 1) / ALIGN * ALIGN,
  SIZES = 12,  // of blocks that are kept: BLOCK_MIN, twice that, ... the last for one large object
};
_Static_assert(BLOCK_MIN << (SIZES - 1) >= BLOCK_MAX, "each size of block has a list");

static struct {
  pthread_mutex_t lock;
  struct block *list[SIZES];
  size_t bytes, most;
  int keepers;  // calls that have not been taken back
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

// The list of the blocks that hold so many bytes; SIZES: such are not kept.
static int list_of(size_t bytes) {
  int i = 0;
  while (i < SIZES && (size_t)BLOCK_MIN << i < bytes) i++;
  return i;
}

static void give_back(struct block *b) {
  int i = list_of(b->size);
  pthread_mutex_lock(&kept.lock);
  bool keeps = i < SIZES && kept.bytes + b->size <= kept.most;
  if (b->used > b->dirty) b->dirty = b->used;
  if (keeps) b->next = kept.list[i], kept.list[i] = b, kept.bytes += b->size;
  pthread_mutex_unlock(&kept.lock);
  if (!keeps) free(b);
}

// A block of that list that was kept; NULL: there is none.
static struct block *take_kept(int i) {
  pthread_mutex_lock(&kept.lock);
  struct block *b = kept.list[i];
  if (b) kept.list[i] = b->next, kept.bytes -= b->size;
  pthread_mutex_unlock(&kept.lock);
  return b;
}

void gr_arena_keep_blocks(size_t bytes) {
  int more = bytes ? 1 : -1;
#ifdef __SANITIZE_ADDRESS__  // which finds uses of what was freed
  bytes = 0;
#endif
  pthread_mutex_lock(&kept.lock);
  kept.keepers += more;
  if (bytes > kept.most || !kept.keepers) kept.most = bytes;
  for (int i = 0; !kept.keepers && i < SIZES; i++)
    for (struct block *b; (b = kept.list[i]); kept.bytes -= b->size, free(b))
      kept.list[i] = b->next;
  pthread_mutex_unlock(&kept.lock);
}

static void (*at_end)(const char *message);
void gr_arena_at_end(void (*f)(const char *)) { at_end = f; }

// Leaves by _exit: handlers of exit may allocate.
static void *must(void *p, size_t bytes) {
  if (p) return p;
  char text[400], limit[80] = "";
  struct rlimit most;
  if (!getrlimit(RLIMIT_AS, &most) && most.rlim_cur != RLIM_INFINITY)
    snprintf(limit, sizeof limit, ", where `ulimit -v` lets it have %.0f MB",
             (double)most.rlim_cur / 1e6);
  snprintf(
      text, sizeof text,
      "launch error: no memory for %.2f MB more: this process has used %.0f MB%s\n"
      "  hint: a smaller model, fewer data.buckets, or a machine, container or limit with more "
      "memory\n",
      (double)bytes / 1e6, (double)gr_resident_bytes() / 1e6, limit);
  if (at_end) at_end(text);
  fputs(text, stderr);
  fflush(stdout);
  _exit(GR_ARENA_EXIT);
}

gr_arena *gr_arena_create(void) { return must(calloc(1, sizeof(gr_arena)), sizeof(gr_arena)); }

gr_arena *gr_arena_within(gr_arena *outer) {
  assert(outer);
  gr_arena *a = gr_arena_create();
  a->before = outer->inner;
  return outer->inner = a;
}

void gr_arena_destroy(gr_arena *a) {
  if (!a) return;
  for (gr_arena *in = a->inner, *before; in; in = before) before = in->before, gr_arena_destroy(in);
  for (struct block *b = a->head, *next; b; b = next) next = b->next, give_back(b);
  free(a);
}

gr_status gr_arena_end(gr_arena *a, gr_status s) {
  gr_arena_destroy(a);
  return s;
}

// Blocks double up to BLOCK_MAX: small arenas stay small, large ones take few calls.
static void grow(gr_arena *a, size_t bytes) {
  size_t size = a->head ? a->head->size * 2 : BLOCK_MIN;
  if (size > BLOCK_MAX) size = BLOCK_MAX;
  if (size < bytes) size = bytes;
  int i = list_of(size);
  if (i < SIZES) size = (size_t)BLOCK_MIN << i;
  struct block *b = i < SIZES ? take_kept(i) : NULL;
  if (!b) b = must(calloc(1, HEADER + size), HEADER + size);
  *b = (struct block){.next = a->head, .size = size, .dirty = b->dirty};
  a->head = b;
  a->bytes += HEADER + size;
}

size_t gr_arena_bytes(const gr_arena *a) {
  assert(a);
  return a->bytes;
}

void *gr_arena_take(gr_arena *a, size_t bytes) {
  assert(a);
  bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
  if (!a->head || a->head->size - a->head->used < bytes) grow(a, bytes);
  void *p = (char *)a->head + HEADER + a->head->used;
  a->head->used += bytes;
  return p;
}

// A block that is too large to be kept has one object.
void *gr_arena_resize(gr_arena *a, void *object, size_t used, size_t bytes) {
  assert(a && used <= bytes);
  struct block **place = &a->head;
  while (*place && (char *)*place + HEADER != object) place = &(*place)->next;
  size_t size = (bytes + ALIGN - 1) / ALIGN * ALIGN, before = *place ? (*place)->size : 0;
  if (!*place || list_of(before) < SIZES || list_of(size) < SIZES) {
    void *more = gr_arena_take(a, bytes);
    return used ? memcpy(more, object, used) : more;
  }
  struct block *b = *place = must(realloc(*place, HEADER + size), HEADER + size);
  b->used = b->size = b->dirty = size;
  a->bytes += size - before;
  return (char *)b + HEADER;
}

// Makes the pages of zeroed memory. One that is read before it is written costs two faults, and at
// the second one all processors that run threads of this process are interrupted.
static void touch(volatile char *p, size_t bytes) {
  for (size_t i = 0; i < bytes; i += PAGE) p[i] = 0;
  if (bytes) p[bytes - 1] = 0;
}

void *gr_arena_alloc(gr_arena *a, size_t bytes) {
  char *p = gr_arena_take(a, bytes), *end = (char *)a->head + HEADER + a->head->used;
  char *clean = (char *)a->head + HEADER + a->head->dirty;
  if (clean < p) clean = p;
  if (clean > end) clean = end;
  memset(p, 0, (size_t)(clean - p));
  touch(clean, (size_t)(end - clean));
  return p;
}

char *gr_arena_strndup(gr_arena *a, const char *s, size_t len) {
  assert(s || !len);
  return memcpy(gr_arena_alloc(a, len + 1), s, len);
}

char *gr_path_trimmed(gr_arena *a, const char *path) {
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') n--;
  return gr_arena_strndup(a, path, n);
}

char *gr_arena_strdup(gr_arena *a, const char *s) {
  assert(s);
  return gr_arena_strndup(a, s, strlen(s));
}

char *gr_arena_join(gr_arena *a, const char *const *texts, int n) {
  assert(texts || !n);
  size_t len = 0;
  for (int i = 0; i < n; i++) len += strlen(texts[i]);
  char *joined = gr_arena_take(a, len + 1), *end = joined;
  for (int i = 0; i < n; i++) end = stpcpy(end, texts[i]);
  *end = 0;
  return joined;
}

char *gr_arena_printf(gr_arena *a, const char *fmt, ...) {
  assert(fmt);
  char text[512];  // most are shorter, and need not be formatted twice
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  char *p = gr_arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
  if (n >= (int)sizeof text)
    vsnprintf(p, (size_t)n + 1, fmt, again);
  else if (n > 0)
    memcpy(p, text, (size_t)n);
  va_end(again);
  return p;
}
