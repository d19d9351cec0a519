// gather.c - the findings of all ranks as those of one. See findings.h.
#include <stdlib.h>
#include <string.h>
#include "base/grow.h"
#include "base/text.h"
#include "cli/check/findings.h"
#include "runtime/comm/comm.h"

// ---- As bytes: texts that end with 0, of which the empty one is NULL ---------------------------

static void put_text(gr_text *t, const char *text) {
  if (text) gr_text_put(t, text);
  gr_text_putn(t, "", 1);
}

static void put_findings(const gr_findings *f, gr_text *t) {
  char number[32];
  for (const gr_finding *one = f->list; one < f->list + f->n; one++) {
    snprintf(number, sizeof number, "%d %.17g", (int)one->state, one->number);
    put_text(t, one->section), put_text(t, one->name), put_text(t, number);
    put_text(t, one->value), put_text(t, one->hint);
    put_text(t, one->unit ? gr_arena_printf(f->arena, "=%s", one->unit) : NULL);
  }
}

static const char *next_text(const char **source) {
  const char *text = *source;
  *source += strlen(text) + 1;
  return *text ? text : NULL;
}

// False: there is none.
static bool read_finding(const char **source, gr_finding *out) {
  *out = (gr_finding){.section = next_text(source)};
  if (!out->section) return false;
  out->name = next_text(source);
  const char *number = next_text(source);
  char *end;
  if (!out->name || !number) return false;
  out->state = (gr_finding_state)(strtoul(number, &end, 10) % (GR_FINDING_FAILS + 1));
  out->number = strtod(end, NULL);
  out->value = next_text(source), out->hint = next_text(source), out->unit = next_text(source);
  if (!out->value) out->value = "";
  if (out->unit) out->unit++;
  return true;
}

// ---- Equal ones as one -------------------------------------------------------------------------

typedef struct group {
  gr_finding one;
  bool *of;   // by rank
  int least;  // the rank whose number it has; -1: all have the same value
} group;

typedef struct groups {
  gr_arena *arena;
  group *list;
  int n, most, ranks;
} groups;

static bool same_name(const gr_finding *a, const gr_finding *b) {
  return gr_text_same(a->section, b->section) && gr_text_same(a->name, b->name);
}

// Numbers that are fine are one finding, whatever they are; but not two of the same rank.
static bool is_of(const group *g, const gr_finding *f, int rank) {
  bool fine = f->state == GR_FINDING_OK && f->unit && g->one.unit;
  return !g->of[rank] && same_name(&g->one, f) && g->one.state == f->state &&
         gr_text_same(g->one.hint, f->hint) && (fine || gr_text_same(g->one.value, f->value));
}

static void join(group *g, const gr_finding *f, int rank) {
  g->of[rank] = true;
  if (gr_text_same(g->one.value, f->value)) return;
  if (g->least < 0) g->least = (int)((bool *)memchr(g->of, true, (size_t)rank + 1) - g->of);
  if (f->number < g->one.number) g->one = *f, g->least = rank;
}

// Behind those of its name, or else of its section.
static int place_of(const groups *all, const gr_finding *f) {
  int behind = -1;
  for (int i = all->n - 1; i >= 0; i--) {
    if (same_name(&all->list[i].one, f)) return i + 1;
    if (behind < 0 && gr_text_same(all->list[i].one.section, f->section)) behind = i + 1;
  }
  return behind < 0 ? all->n : behind;
}

static group *insert(groups *all, const gr_finding *f) {
  int index = place_of(all, f);
  GR_GROW(all->arena, all->list, all->n, all->most);
  memmove(&all->list[index + 1], &all->list[index], sizeof(group) * (size_t)(all->n++ - index));
  all->list[index] = (group){.one = *f, .of = GR_NEW(all->arena, bool, all->ranks), .least = -1};
  return &all->list[index];
}

static void add(groups *all, const gr_finding *f, int rank) {
  group *g = all->list;
  while (g < all->list + all->n && !is_of(g, f, rank)) g++;
  if (g == all->list + all->n) g = insert(all, f);
  join(g, f, rank);
}

// "0-3,7"
static const char *ranks_text(const groups *all, const bool *of) {
  gr_text t = gr_text_make(all->arena);
  for (int r = 0, end; r < all->ranks; r = end + 1) {
    for (end = r; end < all->ranks && of[end];) end++;
    if (end == r) continue;
    gr_text_printf(&t, "%s%d", t.len ? "," : "", r);
    if (end - r > 1) gr_text_printf(&t, "-%d", end - 1);
  }
  return t.chars;
}

// ---- Between ranks -----------------------------------------------------------------------------

static const gr_finding *list_of(const groups *all) {
  gr_finding *list = GR_NEW(all->arena, gr_finding, all->n + 1);
  for (int i = 0; i < all->n; i++) {
    const group *g = &all->list[i];
    list[i] = g->one;
    list[i].ranks = ranks_text(all, g->of);
    if (g->least >= 0)
      list[i].value =
          gr_arena_printf(all->arena, "%s; of rank %d, the least", g->one.value, g->least);
  }
  return list;
}

gr_status gr_check_gather(gr_comm *world, gr_findings *f) {
  gr_text packed = gr_text_make(f->arena);
  gr_comm_gathered texts;
  groups all = {.arena = f->arena, .ranks = world->ranks};
  gr_finding one;
  put_findings(f, &packed), put_text(&packed, NULL);
  GR_TRY(gr_comm_gather(world, f->arena, packed.chars, packed.len, &texts));
  for (int r = 0; r < world->ranks; r++)
    for (const char *source = (const char *)texts.of_rank[r]; read_finding(&source, &one);)
      add(&all, &one, r);
  gr_findings_set(f, list_of(&all), all.n);
  return GR_OK;
}
