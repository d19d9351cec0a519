// weak.c - the memory of a GPU as the blocks of one cooperative launch see it, where STANDIN_MEMORY
// asks for it. The kernel's loads and stores call this (device.hpp); blocks run one at a time.
//
// weak    What a block stores is seen by others after a fence or release of the block, and only by
// a
//         block that has executed a fence or acquire since: neither sooner than they must. Atomic
//         operations are of the device's memory. A program without data races has no other result
//         than with memory that is the same for all.
// cached  Also, a line that a block has loaded stays in its L1 cache, whatever fences it executes,
//         as that of GPUs before compute capability 7.0: __ldcg reads past it.
//
// A block's view is kept as what differs from the device's memory, in words of 8 bytes with masks
// of bytes. While a block runs, the memory has its view, and the words have what the memory would
// have.
#include "tests/gpu/standin/weak.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
  uintptr_t address;  // 0: none
  // Of bytes: the block's own, not yet seen by others; what others have stored since its last
  // fence; what it has in the L1 cache.
  unsigned char stored, hidden, stale, bytes[8];
} word;
typedef struct {
  word *word;
  size_t n, room;
  uintptr_t *line;  // that it has loaded
  size_t n_lines, room_lines;
} view;

static view *views;
static int nviews, runs = -1, caches;

static size_t place_of(uintptr_t key, size_t room) {
  return (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (room - 1);
}
static word *look_up(view *v, uintptr_t address) {
  size_t i = place_of(address, v->room);
  while (v->word[i].address && v->word[i].address != address) i = (i + 1) & (v->room - 1);
  return &v->word[i];
}
static void make_room(view *v) {
  view old = *v;
  if (2 * v->n < v->room) return;
  v->room = v->room ? 2 * v->room : 256;
  v->word = calloc(v->room, sizeof *v->word);
  for (size_t i = 0; i < old.room; i++)
    if (old.word[i].address) *look_up(v, old.word[i].address) = old.word[i];
  free(old.word);
}
static word *find(view *v, uintptr_t address) {
  word *w = v->room ? look_up(v, address) : NULL;
  return w && w->address ? w : NULL;
}
static word *add(view *v, uintptr_t address) {
  make_room(v);
  word *w = look_up(v, address);
  if (!w->address) *w = (word){.address = address}, v->n++;
  return w;
}

static int has_line(view *v, uintptr_t address) {
  uintptr_t key = address / 128 + 1;
  if (!v->room_lines) return 0;
  size_t i = place_of(key, v->room_lines);
  while (v->line[i] && v->line[i] != key) i = (i + 1) & (v->room_lines - 1);
  return v->line[i] == key;
}
static void add_line(view *v, uintptr_t address) {
  if (has_line(v, address)) return;
  if (2 * v->n_lines >= v->room_lines) {
    view old = *v;
    v->room_lines = old.room_lines ? 2 * old.room_lines : 256, v->n_lines = 0;
    v->line = calloc(v->room_lines, sizeof *v->line);
    for (size_t i = 0; i < old.room_lines; i++)
      if (old.line[i]) add_line(v, (old.line[i] - 1) * 128);
    free(old.line);
  }
  size_t i = place_of(address / 128 + 1, v->room_lines);
  while (v->line[i]) i = (i + 1) & (v->room_lines - 1);
  v->line[i] = address / 128 + 1, v->n_lines++;
}

// The bytes of the word at `address` that [p, p + n) has.
static unsigned char mask_of(uintptr_t address, const void *p, size_t n) {
  uintptr_t source = (uintptr_t)p, to = source + n;
  unsigned char m = 0;
  for (int i = 0; i < 8; i++)
    m |= (unsigned char)((address + (unsigned)i >= source && address + (unsigned)i < to) << i);
  return m;
}
#define EACH_WORD(address, p, n)                                                           \
  for (uintptr_t address = (uintptr_t)(p) & ~(uintptr_t)7; address < (uintptr_t)(p) + (n); \
       address += 8)
static void take(unsigned char *to, const unsigned char *source, unsigned char mask) {
  for (int i = 0; i < 8; i++)
    if (mask >> i & 1) to[i] = source[i];
}

// Lets the memory have a block's view, or, called again, its own content.
static void exchange(view *v) {
  for (size_t i = 0; i < v->room; i++) {
    word *w = &v->word[i];
    unsigned char before[8], mask = w->stored | w->hidden | w->stale;
    if (!w->address) continue;
    memcpy(before, (void *)w->address, 8);
    take((unsigned char *)w->address, w->bytes, mask);
    take(w->bytes, before, mask);
  }
}

// Bytes of the memory have changed, and were `old`: the other blocks do not see it yet.
static void hide(uintptr_t address, unsigned char mask, const unsigned char *old) {
  for (int k = 0; k < nviews; k++) {
    if (k == runs) continue;
    word *w = add(&views[k], address);
    unsigned char m = mask & (unsigned char)~(w->stored | w->hidden | w->stale);
    w->hidden |= m;
    take(w->bytes, old, m);
  }
}

static void reads(const void *p, size_t n) {
  EACH_WORD(address, p, n) add_line(&views[runs], address);
}
static void ignores(const void *p, size_t n) { (void)p, (void)n; }

static void writes(const void *p, size_t n) {
  EACH_WORD(address, p, n) {
    unsigned char mask = mask_of(address, p, n);
    word *w = add(&views[runs], address);
    take(w->bytes, (const unsigned char *)address,
         mask & (unsigned char)~(w->stored | w->hidden | w->stale));
    w->stored |= mask, w->hidden &= (unsigned char)~mask, w->stale &= (unsigned char)~mask;
  }
}

static void past(void *to, const void *p, size_t n) {
  memcpy(to, p, n);
  EACH_WORD(address, p, n) {
    const word *w = find(&views[runs], address);
    for (int i = 0; w && i < 8; i++)
      if (w->stale >> i & mask_of(address, p, n) >> i & 1)
        ((unsigned char *)to)[address + (unsigned)i - (uintptr_t)p] = w->bytes[i];
  }
}

static void coherent(const void *p, size_t n) {
  EACH_WORD(address, p, n) {
    unsigned char mask = mask_of(address, p, n), before[8];
    word *w = find(&views[runs], address);
    if (!w) continue;
    memcpy(before, w->bytes, 8);
    hide(address, mask & w->stored, before);
    take((unsigned char *)address, before, mask & (w->hidden | w->stale));
    w->stored &= (unsigned char)~mask, w->hidden &= (unsigned char)~mask,
        w->stale &= (unsigned char)~mask;
  }
}

// The block sees what others have let be seen.
static void uncover(view *v, word *w) {
  if (caches && has_line(v, w->address))
    w->stale |= w->hidden;
  else
    take((unsigned char *)w->address, w->bytes, w->hidden);
  w->hidden = 0;
}

static void order(int releases, int acquires) {
  view *v = &views[runs], old = *v;
  *v = (view){.line = old.line, .n_lines = old.n_lines, .room_lines = old.room_lines};
  for (size_t i = 0; i < old.room; i++) {
    word *w = &old.word[i];
    if (!w->address) continue;
    if (releases) hide(w->address, w->stored, w->bytes), w->stored = 0;
    if (acquires) uncover(v, w);
    if (w->stored | w->hidden | w->stale) *add(v, w->address) = *w;
  }
  free(old.word);
}

void weak_switch(int block) {
  if (!nviews || block == runs) return;
  if (runs >= 0) exchange(&views[runs]);
  runs = block;
  if (runs >= 0) exchange(&views[runs]);
}

void weak_begin(standin_engine *e, const char *memory, size_t bytes, int blocks) {
  const char *kind = getenv("STANDIN_MEMORY");
  e->bytes = 0;
  if (!kind || (strcmp(kind, "weak") && strcmp(kind, "cached")) || !blocks) return;
  caches = !strcmp(kind, "cached");
  e->memory = memory, e->bytes = bytes;
  e->reads = caches ? reads : ignores, e->writes = writes, e->past = past;
  e->coherent = coherent, e->order = order;
  views = calloc((size_t)blocks, sizeof *views), nviews = blocks, runs = -1;
}

void weak_end(void) {
  weak_switch(-1);
  for (int k = 0; k < nviews; k++) {  // at its end, a kernel has stored everything
    for (size_t i = 0; i < views[k].room; i++)
      take((unsigned char *)views[k].word[i].address, views[k].word[i].bytes,
           views[k].word[i].stored);
    free(views[k].word), free(views[k].line);
  }
  free(views), views = NULL, nviews = 0;
}
