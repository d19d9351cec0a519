// test_errors.c - the errors of invalid models: tests/compiler/model/errors.txt holds the cases,
// each a model and the exact message. `test_model_errors --update` rewrites the messages.
//
//   === name of the case
//   the model's YAML
//   --- params: {what: model.params gives}        (may be left out)
//   --- data: {x: "f32[4,20,3]"}                  (what the data gives; else n 4, t 20, u 5, c 3)
//   --- says
//   the message
#include <stdlib.h>
#include "compiler/model/model.h"
#include "tests/check.h"

static const char cases_file[] = GR_SOURCE_DIR "/tests/compiler/model/errors.txt";

typedef struct piece {
  const char *name, *yaml, *params, *data, *says;
} piece;

static const gr_dim dims[] = {{"n", 4}, {"t", 20}, {"u", 5}, {"c", 3}};

// Cuts the text up to a line that starts with `mark`; *rest is that line, or the end.
static const char *cut(gr_arena *a, const char *text, const char *const *marks, const char **rest) {
  const char *p = text;
  for (; *p; p += strcspn(p, "\n"), p += *p == '\n')
    for (int i = 0; marks[i]; i++)
      if (!strncmp(p, marks[i], strlen(marks[i]))) {
        *rest = p;
        return gr_arena_strndup(a, text, (size_t)(p - text));
      }
  *rest = p;
  return gr_arena_strndup(a, text, (size_t)(p - text));
}

static const char *line(gr_arena *a, const char **p, size_t skip) {
  size_t n = strcspn(*p, "\n");
  const char *text = n > skip ? gr_arena_strndup(a, *p + skip, n - skip) : "";
  *p += n + ((*p)[n] == '\n');
  return text;
}

static int read_cases(gr_arena *a, const char *text, piece *out, int most) {
  int n = 0;
  for (const char *p = text; *p && n < most; n++) {
    out[n] = (piece){.name = line(a, &p, 4)};
    out[n].yaml = cut(a, p, (const char *[]){"---", "===", NULL}, &p);
    if (!strncmp(p, "--- params:", 11)) out[n].params = line(a, &p, 11);
    if (!strncmp(p, "--- data:", 9)) out[n].data = line(a, &p, 9);
    line(a, &p, 0);
    out[n].says = cut(a, p, (const char *[]){"===", NULL}, &p);
  }
  return n;
}

static gr_status read_batch(gr_arena *a, const char *text, gr_model_request *r) {
  gr_conf *map;
  GR_TRY(gr_conf_parse(a, "data", text, &map));
  gr_batch_tensor *batch = GR_NEW(a, gr_batch_tensor, map->n);
  for (int i = 0; i < map->n; i++) {
    batch[i].name = map->keys[i];
    GR_TRY(gr_type_parse(map->items[i]->text, &batch[i].type));
  }
  r->batch = batch, r->n_batch = map->n;
  r->n_dims = 0;
  return GR_OK;
}

static gr_status build(gr_arena *a, const piece *c) {
  gr_conf *file, *params = NULL;
  gr_graph *g;
  gr_source_add("model.yaml", c->yaml);
  gr_source_add("run.yaml", c->params ? c->params : "");
  GR_TRY(gr_conf_parse(a, "model.yaml", c->yaml, &file));
  if (c->params) GR_TRY(gr_conf_parse(a, "run.yaml", c->params, &params));
  gr_model_request r = {.graph = file, .params = params, .dims = dims, .n_dims = 4};
  if (c->data) GR_TRY(read_batch(a, c->data, &r));
  GR_TRY(gr_model_build(a, &r, &g));
  r.purpose = GR_EVAL;
  if (gr_conf_member(file, "sums")) GR_TRY(gr_model_build(a, &r, &g));
  r.purpose = GR_REPORT;
  return gr_conf_member(file, "report") ? gr_model_build(a, &r, &g) : GR_OK;
}

static const char *message(gr_arena *a, const piece *c) {
  char *buffer = NULL;
  size_t len = 0;
  FILE *f = open_memstream(&buffer, &len);
  if (!f) return "no memory";
  gr_status s = build(a, c);
  gr_status_print(f, s);
  gr_status_drop(s);
  fclose(f);
  const char *text = gr_arena_strndup(a, buffer, len);
  free(buffer);
  return text;
}

static void write_cases(gr_arena *a, const piece *c, int n) {
  FILE *f = fopen(cases_file, "w");
  if (!f) return;
  for (int i = 0; i < n; i++) {
    fprintf(f, "=== %s\n%s", c[i].name, c[i].yaml);
    if (c[i].params) fprintf(f, "--- params:%s\n", c[i].params);
    if (c[i].data) fprintf(f, "--- data:%s\n", c[i].data);
    fprintf(f, "--- says\n%s", message(a, &c[i]));
  }
  fclose(f);
}

enum { MOST = 200 };
static piece cases[MOST];
static int n_cases;
static gr_arena *arena;

static void messages(void) {
  CHECK(n_cases > 40, "only %d cases", n_cases);
  for (int i = 0; i < n_cases; i++) {
    const char *said = message(arena, &cases[i]);
    CHECK(*said, "%s: nothing is said", cases[i].name);
    CHECK(!strcmp(said, cases[i].says), "%s:\n%s--- instead of\n%s", cases[i].name, said,
          cases[i].says);
  }
}

// Whatever a model is cut down to, it is in error or it is not, but nothing breaks.
static void truncated(void) {
  for (int i = 0; i < n_cases; i++) {
    size_t len = strlen(cases[i].yaml);
    for (size_t kept = 1; kept < len; kept += 3) {
      gr_arena *a = gr_arena_create();
      piece c = {.yaml = gr_arena_strndup(arena, cases[i].yaml, kept)};
      gr_status s = build(a, &c);
      CHECK(!s || gr_status_code(s) != GR_ERR_BUG, "%s cut at %zu: %s", cases[i].name, kept,
            gr_status_text(s));
      gr_status_drop(s);
      gr_arena_destroy(a);
    }
  }
}

// Nor whatever a byte of it becomes.
static void mutated(void) {
  static const char bytes[] = "{}[]:,-?$ xn0.'\"#\n\t|>&*!%~";
  gr_rng rng = gr_rng_make(1, "mutated", 0);
  uint64_t draw = 0;
  for (int i = 0; i < n_cases; i++)
    for (int k = 0; k < 60; k++) {
      gr_arena *a = gr_arena_create();
      char *yaml = gr_arena_strdup(arena, cases[i].yaml);
      for (int m = 0; m <= k % 3; m++, draw += 2)
        yaml[gr_rng_below(&rng, draw, strlen(yaml))] =
            bytes[gr_rng_below(&rng, draw + 1, sizeof bytes - 1)];
      gr_status s = build(a, &(piece){.yaml = yaml});
      CHECK(!s || gr_status_code(s) != GR_ERR_BUG, "%s\n%s", gr_status_text(s), yaml);
      gr_status_drop(s);
      gr_arena_destroy(a);
    }
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  char *text;
  gr_status s = gr_file_read(arena, cases_file, 1 << 20, &text, NULL);
  if (s) {
    gr_status_print(stderr, s);
    return 1;
  }
  n_cases = read_cases(arena, text, cases, MOST);
  if (argc > 1 && !strcmp(argv[1], "--update")) {
    write_cases(arena, cases, n_cases);
    return 0;
  }
  return RUN(argc, argv, {"messages", messages}, {"truncated", truncated}, {"mutated", mutated});
}
