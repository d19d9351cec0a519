// test_fit.c - how many plans the search for training.memory compiles. To compile all ways to fit
// would take 57, 24 and 15 plans here, where docs/decisions.md has the numbers below.
#include <unistd.h>
#include "job/fit.h"
#include "tests/check.h"

enum { MAX_OVERRIDES = 4 };
typedef struct search {
  const char *config, *overrides[MAX_OVERRIDES];
  int n, ranks, plans;
} search;

static const search searches[] = {
    {"configs/whisper/large-v3.yaml",
     {"device=cpu", "training.memory=6GB", "distributed.ranks=64", "distributed.strategy=fsdp"},
     4,
     64,
     21},
    {"configs/encoder.yaml",
     {"device=cpu", "training.memory=5.2GB", "distributed.ranks=1"},
     3,
     1,
     8},
    {"configs/gpt.yaml", {"device=cpu", "training.memory=26.7MB", "distributed.ranks=1"}, 3, 1, 8},
};

static void plan(gr_arena *a, const search *s, gr_job *j) {
  static const gr_command command = {.name = "plan", .plans = true, .kind = GR_RUN_TRAIN};
  const char *overrides[MAX_OVERRIDES];
  for (int k = 0; k < MAX_OVERRIDES; k++) overrides[k] = s->overrides[k];
  gr_args args = {.program = "graphrun",
                  .command = &command,
                  .config = s->config,
                  .overrides = overrides,
                  .n_overrides = s->n,
                  .ranks = s->ranks};
  MUST(gr_job_compose(a, &args, j));
  MUST(gr_job_fit(j, s->ranks));
}

static void counts_plans(void) {
  for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
    const search *s = &searches[i];
    gr_arena *a = gr_arena_create();
    gr_job j = {0};
    plan(a, s, &j);
    CHECK(j.fitted && j.n_fitted == s->plans, "%s: %d plans were compiled, and not %d", s->config,
          j.n_fitted, s->plans);
    gr_arena_destroy(a);
  }
}

// A plan that fits is the only one that is compared.
static void fits_at_once(void) {
  const search s = {"configs/gpt.yaml", {"device=cpu", "training.memory=1GB"}, 2, 1, 1};
  gr_arena *a = gr_arena_create();
  gr_job j = {0};
  plan(a, &s, &j);
  CHECK(!j.fitted && j.n_fitted == 1, "%d plans", j.n_fitted);
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  if (chdir(GR_SOURCE_DIR)) return 1;
  return RUN(argc, argv, {"counts_plans", counts_plans}, {"fits_at_once", fits_at_once});
}
