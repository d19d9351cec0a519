// test_series.c - the values of a run's files as series over completed steps.
#include <string.h>
#include "runtime/report/series.h"
#include "tests/check.h"
#include "tests/runtime/checkpoint/scratch.h"

static const char *dir;

static void file(const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "w");
  CHECK(f && fputs(text, f) >= 0 && !fclose(f), "cannot write %s", path);
}

static const char rows[] =
    "{\"step\": 0, \"epoch\": 0, \"loss\": 3.5, \"lr\": 0.1, \"wall\": 1700000000.5}\n"
    "{\"step\": 1, \"epoch\": 0, \"loss\": 2, \"lr\": 0.1, \"note\": \"x\", \"wall\": "
    "1700000001.5}\n"
    "{\"step\": 2, \"epoch\": 1, \"loss\": 1.5, \"lr\": 0.2, \"wall\": 1700000002.5}\n";
static const char evals[] =
    "{\"steps\": 2, \"epoch\": 0, \"loss\": 9, \"validation.loss\": 1.75}\n";
static const char epochs[] =
    "{\"epoch\": 0, \"steps\": 2, \"validation.loss\": 1.75, \"train.loss\": 2.75, \"seconds\": "
    "4}\n";

static void expect(const gr_series_list *l, const char *key, int n, double x, double y) {
  const gr_series *s = gr_series_find(l, key);
  CHECK(s && s->n == n, "%s has %d values", key, s ? s->n : -1);
  if (s && s->n)
    CHECK(s->x[n - 1] == x && s->y[n - 1] == y, "%s ends with %g at %g", key, s->y[n - 1],
          s->x[n - 1]);
}

// Each value is of the file in which it is first; a step's row is that after the step.
static void of_a_run(void) {
  gr_arena *a = gr_arena_create();
  gr_series_list l;
  file("metrics.jsonl", rows), file("evals.jsonl", evals), file("epochs.jsonl", epochs);
  MUST(gr_series_read(a, dir, &l));
  expect(&l, "loss", 3, 3, 1.5), expect(&l, "lr", 3, 3, 0.2);
  expect(&l, "validation.loss", 1, 2, 1.75), expect(&l, "train.loss", 1, 2, 2.75);
  expect(&l, "seconds", 1, 2, 4);
  CHECK(l.n == 5, "%d series: numbers that are no place and no time", l.n);
  CHECK(gr_series_find(&l, "loss")->x[0] == 1, "a step is over when it is written");
  gr_arena_destroy(a);
}

// Without its end a line is one that the run is writing; a whole one must be a row.
static void lines(void) {
  static const struct {
    const char *text;
    int n, line;
  } cases[] = {{"{\"step\": 0, \"loss\": 1}\n{\"step\": 1, \"los", 1, 0},
               {"{\"step\": 0, \"loss\": 1}\n{\"step\": 1, \"loss\": 2}", 1, 0},
               {"{\"step\": 0, \"loss\": 1}\n{\"step\": 1, \"los\n", 0, 2},
               {"{\"steps\": 0, \"loss\": 1}\n", 0, 1},
               {"[1]\n", 0, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_arena *a = gr_arena_create();
    gr_series_list l;
    file("metrics.jsonl", cases[i].text), file("evals.jsonl", ""), file("epochs.jsonl", "");
    gr_status s = gr_series_read(a, dir, &l);
    CHECK(!s == !cases[i].line, "case %zu: %s", i, s ? gr_status_text(s) : "no error");
    CHECK(!s || gr_status_loc(s).line == cases[i].line, "line %d", s ? gr_status_loc(s).line : 0);
    if (!s) expect(&l, "loss", cases[i].n, 1, 1);
    gr_status_drop(s);
    gr_arena_destroy(a);
  }
}

int main(int argc, char **argv) {
  dir = scratch_dir("series");
  int failed = RUN(argc, argv, {"of_a_run", of_a_run}, {"lines", lines});
  scratch_remove(dir);
  return failed;
}
