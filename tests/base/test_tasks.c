// test_tasks.c - pieces of work on several threads, and arenas within arenas.
#include "base/base.h"
#include "tests/check.h"

enum { TASKS = 100, MAX_THREADS = 9 };

typedef struct counts {
  int runs[TASKS];
  int fails_from, every;  // task i fails where i >= fails_from and i % every == 0
} counts;

static gr_status count(void *arg, int i) {
  counts *c = arg;
  c->runs[i]++;
  if (i < c->fails_from || i % c->every) return GR_OK;
  return gr_fail(GR_ERR_DATA, GR_NOWHERE, "task %d", i);
}

static void each_runs_once(void) {
  for (int threads = 0; threads <= MAX_THREADS; threads++)
    for (int n = 0; n <= TASKS; n += 25) {
      counts c = {.fails_from = TASKS};
      MUST(gr_tasks_run(threads, n, count, &c));
      for (int i = 0; i < TASKS; i++) CHECK(c.runs[i] == (i < n), "task %d of %d", i, n);
    }
}

// Many fail; whatever the timing, the first of them is reported, and what is before it has run.
static void first_error(void) {
  for (int round = 0; round < 200; round++) {
    counts c = {.fails_from = round % 90, .every = 7};
    int first = (c.fails_from + 6) / 7 * 7;
    char want[32];
    snprintf(want, sizeof want, "task %d", first);
    gr_status s = gr_tasks_run(round % MAX_THREADS + 1, TASKS, count, &c);
    CHECK(s && !strcmp(gr_status_text(s), want), "%s, not %s", gr_status_text(s), want);
    CHECK(gr_status_count(s) == 1, "%d errors", gr_status_count(s));
    for (int i = 0; i <= first; i++) CHECK(c.runs[i] == 1, "task %d ran %d times", i, c.runs[i]);
    gr_status_drop(s);
  }
}

static gr_status fill(void *arg, int i) {
  gr_arena **arena = arg;
  for (int k = 0; k < 1000; k++) gr_arena_printf(arena[i], "%d of %d", k, i);
  return GR_OK;
}

// That nothing is leaked, and nothing is touched by two threads, is for the sanitisers.
static void arenas_within(void) {
  gr_arena *outer = gr_arena_create(), *inner[TASKS];
  for (int i = 0; i < TASKS; i++) inner[i] = gr_arena_within(outer);
  MUST(gr_tasks_run(4, TASKS, fill, inner));
  char *text = gr_arena_strdup(gr_arena_within(inner[3]), "deeper");
  for (int i = 0; i < TASKS; i++)
    CHECK(gr_arena_bytes(inner[i]) >= 16000, "%zu bytes", gr_arena_bytes(inner[i]));
  CHECK(gr_arena_bytes(outer) == 0 && !strcmp(text, "deeper"), "the outer one has none");
  gr_arena_destroy(outer);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"each_runs_once", each_runs_once}, {"first_error", first_error},
             {"arenas_within", arenas_within});
}
