// test_gather.c - the findings of ranks as those of one: ranks that are threads find what is listed
// here, and each of them gets all of it.
#include <math.h>
#include "cli/check/findings.h"
#include "runtime/comm/comm.h"
#include "tests/check.h"

enum { RANKS = 4 };
static gr_findings found[RANKS];

// What all find, what one finds that others do not, and numbers.
static void find(gr_findings *f, int rank) {
  f->section = "machine";
  gr_found(f, "system", GR_FINDING_OK, NULL, rank < 2 ? "one" : "another");
  gr_found(f, "instructions", gr_limits_if(rank == 3), "give it more", "AVX");
  gr_found_number(f, "free", GR_FINDING_OK, NULL, rank == 2 ? 1e6 : 5e6, "B", " of one");
  gr_found_number(f, "free", GR_FINDING_OK, NULL, 5e6, "B", " of the other");
  f->section = "limits";
  gr_found_number(f, "files", gr_limits_if(rank % 2), "more files", rank % 2 ? 64 + rank : 9e3, "",
                  "");
  if (rank == 2) gr_found(f, "stack", GR_FINDING_FAILS, "a larger \"stack\"", "none\nat all");
  if (rank == 1) f->section = "mine", gr_found(f, "own", GR_FINDING_OK, NULL, "%s", "");
  if (!rank)
    f->section = "rates", gr_found_number(f, "sum", GR_FINDING_OK, NULL, INFINITY, "B", "");
}

static const struct {
  const char *name, *value, *ranks, *hint;
  double number;
} expected[] = {
    {"system", "one", "0-1", NULL, NAN},
    {"system", "another", "2-3", NULL, NAN},
    {"instructions", "AVX", "0-2", NULL, NAN},
    {"instructions", "AVX", "3", "give it more", NAN},
    {"free", "1.0 MB of one; of rank 2, the least", "0-3", NULL, 1e6},
    {"free", "5.0 MB of the other", "0-3", NULL, 5e6},
    {"files", "9000", "0,2", NULL, 9e3},
    {"files", "65", "1", "more files", 65},
    {"files", "67", "3", "more files", 67},
    {"stack", "none\nat all", "2", "a larger \"stack\"", NAN},
    {"sum", "unlimited", "0", NULL, INFINITY},
    {"own", "", "1", NULL, NAN},
};
enum { EXPECTED = sizeof expected / sizeof *expected };

static gr_status gather(gr_comm *world, void *unused) {
  (void)unused;
  gr_findings *f = &found[world->rank];
  find(f, world->rank);
  return gr_check_gather(world, f);
}

static bool same(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

static void compare(const gr_finding *f, int i, int rank) {
  CHECK(same(f->name, expected[i].name) && same(f->value, expected[i].value) &&
            same(f->ranks, expected[i].ranks) && same(f->hint, expected[i].hint),
        "on rank %d finding %d is %s: '%s' of ranks %s, hint %s", rank, i, f->name, f->value,
        f->ranks, f->hint ? f->hint : "none");
  bool none = isnan(expected[i].number);
  CHECK(none ? isnan(f->number) && !f->unit : f->number == expected[i].number && f->unit,
        "%s is %g", f->name, f->number);
}

static void says_once_what_ranks_agree_on(void) {
  for (int r = 0; r < RANKS; r++) found[r] = (gr_findings){.arena = gr_arena_create()};
  MUST(gr_loopback_run(RANKS, 60, gather, NULL));
  for (int r = 0; r < RANKS; r++) {
    CHECK(found[r].n == EXPECTED, "%d findings on rank %d", found[r].n, r);
    for (int i = 0; i < EXPECTED && i < found[r].n; i++) compare(&found[r].list[i], i, r);
    gr_arena_destroy(found[r].arena);
  }
}

// More than a list has room for at first.
static void finds_many(void) {
  gr_findings f = {.arena = gr_arena_create(), .section = "many"};
  for (int i = 0; i < 1000; i++) gr_found_number(&f, "one", GR_FINDING_OK, NULL, i, "", "");
  CHECK(f.n == 1000 && f.list[0].number == 0 && f.list[999].number == 999, "%d", f.n);
  gr_arena_destroy(f.arena);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"says_once_what_ranks_agree_on", says_once_what_ranks_agree_on},
             {"finds_many", finds_many});
}
