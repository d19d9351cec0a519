// nvrtc_known.c - see nvrtc_known.h.
#include "tests/gpu/nvrtc_known.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/text.h"

typedef struct known_line {
  char key[NVRTC_KEY];
  const char *kernels;
} known_line;
enum { MAX_LINES = 1 << 14, MAX_BYTES = 1 << 22 };
static known_line lines[MAX_LINES];
static int n_lines;

void nvrtc_known_key(const cache_key *key, char out[NVRTC_KEY]) {
  snprintf(out, NVRTC_KEY, "%016" PRIx64, key->half[0] ^ key->half[1]);
}

static int by_key(const void *a, const void *b) {
  return strcmp(((const known_line *)a)->key, ((const known_line *)b)->key);
}

const char *nvrtc_known_kernels(const cache_key *key) {
  known_line wanted;
  nvrtc_known_key(key, wanted.key);
  const known_line *line = bsearch(&wanted, lines, (size_t)n_lines, sizeof *lines, by_key);
  return line ? line->kernels : NULL;
}

static gr_status read_line(const char *path, int number, char *text) {
  const gr_loc place = {.file = path, .line = number};
  char *kernels = strrchr(text, '\t');
  if (!*text || *text == '#') return GR_OK;
  if (!kernels || strcspn(text, "\t") != NVRTC_KEY - 1)
    return gr_fail(GR_ERR_DATA, place,
                   "a line is KEY, OP, ARCH and KERNELS, with tabs between them");
  if (n_lines == MAX_LINES)
    return gr_fail(GR_ERR_DATA, place, "there are more than %d lines", MAX_LINES);
  known_line *line = &lines[n_lines];
  snprintf(line->key, sizeof line->key, "%s", text);
  line->kernels = kernels + 1;
  if (n_lines && by_key(line - 1, line) >= 0)
    return gr_fail(GR_ERR_DATA, place, "the lines are not in the order of their keys");
  n_lines++;
  return GR_OK;
}

gr_status nvrtc_known_read(gr_arena *a, const char *path) {
  char *text, *next;
  gr_status s = gr_file_read(a, path, MAX_BYTES, &text, NULL);
  for (int number = 1; !s && text; text = next, number++) {
    if ((next = strchr(text, '\n'))) *next++ = 0;
    s = read_line(path, number, text);
  }
  return s;
}
