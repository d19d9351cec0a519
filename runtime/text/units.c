// units.c - see units.h.
#include "runtime/text/units.h"
#include <stdlib.h>
#include <string.h>
#include "base/map.h"
#include "runtime/data/tokenizer/split.h"

// The character at *p, which *p is then behind; a byte that is not UTF-8 is one.
static uint32_t take(const char **p) {
  int n = gr_utf8_len(*p);
  uint32_t c = n ? gr_utf8_code(*p, n) : (unsigned char)**p;
  *p += n ? n : 1;
  return c;
}

static gr_units words_of(gr_arena *a, gr_map *known, const char *text) {
  gr_units u = {GR_NEW(a, int32_t, strlen(text) / 2 + 1), 0};
  const char *begin = NULL, *here = text;
  for (bool more = true; more;) {
    const char *c = here;
    more = *c != 0;
    bool white = !more || gr_is_white(take(&here));
    if (!white && !begin) begin = c;
    if (!white || !begin) continue;
    const char *word = gr_arena_strndup(a, begin, (size_t)(c - begin));
    uint32_t id = known->n;
    if (!gr_map_find(known, word, &id)) gr_map_put(known, word, id);
    u.id[u.n++] = (int32_t)id;
    begin = NULL;
  }
  return u;
}

void gr_units_words(gr_arena *a, const char *first, const char *second, gr_units out[2]) {
  gr_map known = gr_map_make(a);
  out[0] = words_of(a, &known, first);
  out[1] = words_of(a, &known, second);
}

gr_units gr_units_characters(gr_arena *a, const char *text, bool spaces) {
  gr_units u = {GR_NEW(a, int32_t, strlen(text) + 1), 0};
  while (*text) {
    uint32_t c = take(&text);
    if (spaces || !gr_is_white(c)) u.id[u.n++] = (int32_t)c;
  }
  return u;
}

int64_t gr_units_distance(gr_arena *arena, const gr_units *a, const gr_units *b) {
  int64_t *cost = GR_NEW(arena, int64_t, b->n + 1);
  for (int64_t j = 0; j <= b->n; j++) cost[j] = j;
  for (int64_t i = 1; i <= a->n; i++) {
    int64_t diagonal = cost[0];
    cost[0] = i;
    for (int64_t j = 1; j <= b->n; j++) {
      int64_t replaced = diagonal + (a->id[i - 1] != b->id[j - 1]);
      int64_t other = (cost[j] < cost[j - 1] ? cost[j] : cost[j - 1]) + 1;
      diagonal = cost[j];
      cost[j] = replaced < other ? replaced : other;
    }
  }
  return cost[b->n];
}

typedef struct gram {
  int32_t id[GR_MAX_ORDER];  // the rest is 0
} gram;

static int compare(const void *a, const void *b) { return memcmp(a, b, sizeof(gram)); }

static gram *sorted(gr_arena *a, const gr_units *u, int order) {
  int64_t n = gr_units_grams(u, order);
  gram *g = GR_NEW(a, gram, n + 1);
  for (int64_t i = 0; i < n; i++) memcpy(g[i].id, u->id + i, sizeof *u->id * (size_t)order);
  qsort(g, (size_t)n, sizeof *g, compare);
  return g;
}

int64_t gr_units_common(gr_arena *arena, const gr_units *a, const gr_units *b, int order) {
  const gram *x = sorted(arena, a, order), *y = sorted(arena, b, order);
  const gram *x_end = x + gr_units_grams(a, order), *y_end = y + gr_units_grams(b, order);
  int64_t n = 0;
  while (x < x_end && y < y_end) {
    int order_of = compare(x, y);
    n += !order_of;
    x += order_of <= 0, y += order_of >= 0;
  }
  return n;
}
