// test_threads.c - programs are compiled on several threads: the plan, what passes print, and the
// error that is reported are those of one thread.
#include <string.h>
#include "compiler/compile.h"
#include "compiler/plan/prove.h"
#include "ops/ops.h"
#include "tests/check.h"

enum { BUCKETS = 5, MAX_THREADS = 8 };

// Wants at least `from` + 2 frames, so that short buckets are in error where `from` is large.
static const char text[] =
    "params: {from: 2}\n"
    "inputs: {x: {shape: [n, t, c]}}\n"
    "nodes:\n"
    "  - z: {slice: x, axis: 1, from: from, size: 2}\n"
    "  - h: {lmu: x, hidden: 8, memory: 4, theta: 6.0, name: body}\n"
    "  - h: {linear: h, out: 3, name: head}\n"
    "  - y: {sum: h, axes: [1, 2]}\n"
    "  - loss: {square: y}\n"
    "train: loss\n";

typedef struct made {
  gr_plan *plan;
  gr_status error;
  char *dump;
} made;

static made plan_with(gr_arena *arena, int threads, int first, const char *dump) {
  static const int64_t frames[BUCKETS] = {30, 24, 18, 12, 9};
  static gr_dim dims[BUCKETS];
  static gr_bucket buckets[BUCKETS];
  static const gr_dim shared[] = {{"n", 4}, {"c", 5}};
  char params[32];
  size_t len;
  made m = {0};
  gr_conf *file, *given;
  for (int i = 0; i < BUCKETS; i++) {
    dims[i] = (gr_dim){"t", frames[i]};
    buckets[i] = (gr_bucket){gr_arena_printf(arena, "t%d", (int)frames[i]), &dims[i], 1, NULL, 0};
  }
  snprintf(params, sizeof params, "{from: %d}", first);
  MUST(gr_conf_parse(arena, "model.yaml", text, &file));
  MUST(gr_conf_parse(arena, "params.yaml", params, &given));
  gr_plan_request r = {.model = {.graph = file,
                                 .params = given,
                                 .dims = shared,
                                 .n_dims = 2,
                                 .mesh = {.n_axes = 1, .axis = {{"dp", 2}}},
                                 .batch_axis = {"dp"}},
                       .options = {.optimizer.name = "adam",
                                   .optimizer.grad_clip = 1,
                                   .debug.dump = dump,
                                   .debug.dump_to = open_memstream(&m.dump, &len)},
                       .buckets = buckets,
                       .n_buckets = BUCKETS,
                       .train = true,
                       .eval = true,
                       .threads = threads};
  m.error = gr_plan_build(arena, &r, &m.plan);
  fclose(r.options.debug.dump_to);
  return m;
}

static void same_plan(void) {
  gr_arena *arena = gr_arena_create();
  made one = plan_with(arena, 1, 2, NULL);
  MUST(one.error);
  CHECK(one.plan->n_programs == 2 * BUCKETS + 1, "%u programs", one.plan->n_programs);
  for (int threads = 0; threads <= MAX_THREADS; threads++) {
    made m = plan_with(arena, threads, 2, NULL);
    MUST(m.error);
    CHECK(m.plan->hash == one.plan->hash, "%d threads make another plan", threads);
    for (uint32_t i = 0; i < m.plan->n_programs; i++)
      CHECK(!strcmp(m.plan->programs[i].name, one.plan->programs[i].name), "program %u is %s", i,
            m.plan->programs[i].name);
    MUST(gr_plan_prove(m.plan));
    free(m.dump);
  }
  free(one.dump);
  gr_arena_destroy(arena);
}

static void same_dump(void) {
  gr_arena *arena = gr_arena_create();
  made one = plan_with(arena, 1, 2, "lint"), many = plan_with(arena, MAX_THREADS, 2, "lint");
  MUST(one.error);
  MUST(many.error);
  CHECK(strlen(one.dump) > 1000 && !strcmp(one.dump, many.dump), "what passes print is in order");
  free(one.dump), free(many.dump);
  gr_arena_destroy(arena);
}

// Buckets of 12 and 9 frames are in error, of both kinds of programs: the first is reported.
static void same_error(void) {
  for (int i = 0; i < 40; i++) {
    gr_arena *arena = gr_arena_create();
    made m = plan_with(arena, i % MAX_THREADS + 1, 14, NULL);
    CHECK(gr_status_code(m.error) == GR_ERR_TYPE && gr_status_loc(m.error).line == 4, "%s",
          gr_status_text(m.error));
    CHECK(strstr(gr_status_text(m.error), "exceed an axis of 12"), "%s", gr_status_text(m.error));
    gr_status_drop(m.error);
    free(m.dump);
    gr_arena_destroy(arena);
  }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"same_plan", same_plan}, {"same_dump", same_dump},
             {"same_error", same_error});
}
