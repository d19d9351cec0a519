// golden.h - reads the text files that tests/golden/make_*.py write: `KIND NAME DIMS... :
// VALUES...`.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"

typedef struct golden {
  const char *kind, *name;
  int rank;
  int64_t dims[8], count;
  double *values;
} golden;

// All lines of a file with a colon in them; *n of them. NULL: it cannot be read.
static inline golden *golden_read(gr_arena *a, const char *path, int *n, char **first_line) {
  FILE *f = fopen(path, "r");
  if (!f) return NULL;
  golden *all = GR_NEW(a, golden, 512);
  char *line = NULL;
  size_t cap = 0;
  *n = 0;
  while (getline(&line, &cap, f) > 0 && *n < 512) {
    char *colon = strstr(line, " : "), *rest = NULL;
    if (first_line && !*n && !colon) *first_line = gr_arena_strdup(a, line);
    if (!colon) continue;
    *colon = 0;
    golden *g = &all[(*n)++];
    g->kind = gr_arena_strdup(a, strtok_r(line, " ", &rest));
    g->name = gr_arena_strdup(a, strtok_r(NULL, " ", &rest));
    g->count = 1;
    for (char *d; (d = strtok_r(NULL, " ", &rest)) && g->rank < 8;)
      g->count *= g->dims[g->rank++] = strtoll(d, NULL, 10);
    g->values = GR_NEW(a, double, g->count + 1);
    char *cursor = colon + 3;
    for (int64_t i = 0; i < g->count; i++) g->values[i] = strtod(cursor, &cursor);
  }
  free(line);
  fclose(f);
  return all;
}

// The line of that kind and name, of n; NULL: there is none.
static inline const golden *golden_find(const golden *all, int n, const char *kind,
                                        const char *name) {
  for (int i = 0; i < n; i++)
    if (!strcmp(all[i].kind, kind) && !strcmp(all[i].name, name)) return &all[i];
  return NULL;
}
