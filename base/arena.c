// arena.c - see arena.h.
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

struct block {
  struct block *next;
  size_t used, size;
};
struct gr_arena {
  struct block *head;
};

enum {
  BLOCK_MIN = 1 << 14,
  BLOCK_MAX = 1 << 20,
  ALIGN = 16,
  HEADER = (sizeof(struct block) + ALIGN - 1) / ALIGN * ALIGN
};

static void *must(void *p) {
  if (p) return p;
  fputs("graphrun: out of memory while compiling\n", stderr);
  exit(71);
}

gr_arena *gr_arena_create(void) { return must(calloc(1, sizeof(gr_arena))); }

void gr_arena_destroy(gr_arena *a) {
  if (!a) return;
  for (struct block *b = a->head, *next; b; b = next) next = b->next, free(b);
  free(a);
}

// Blocks double up to BLOCK_MAX: small arenas stay small, large ones take few calls.
static void grow(gr_arena *a, size_t bytes) {
  size_t size = a->head ? a->head->size * 2 : BLOCK_MIN;
  if (size > BLOCK_MAX) size = BLOCK_MAX;
  if (size < bytes) size = bytes;
  struct block *b = must(calloc(1, HEADER + size));
  *b = (struct block){.next = a->head, .size = size};
  a->head = b;
}

void *gr_arena_alloc(gr_arena *a, size_t bytes) {
  bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
  if (!a->head || a->head->size - a->head->used < bytes) grow(a, bytes);
  void *p = (char *)a->head + HEADER + a->head->used;
  a->head->used += bytes;
  return p;
}

char *gr_arena_strndup(gr_arena *a, const char *s, size_t len) {
  return memcpy(gr_arena_alloc(a, len + 1), s, len);
}

char *gr_arena_strdup(gr_arena *a, const char *s) { return gr_arena_strndup(a, s, strlen(s)); }

char *gr_arena_printf(gr_arena *a, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  char *p = gr_arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
  if (n > 0) vsnprintf(p, (size_t)n + 1, fmt, again);
  va_end(again);
  return p;
}
