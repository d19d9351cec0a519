// test_straggler.c - which rank is named as the one that the others wait for, by planted times.
#include "runtime/train/run.h"
#include "tests/check.h"

static int find(const gr_time_split *ranks, int n, bool *data) {
  double times;
  gr_arena *a = gr_arena_create();
  int found = gr_run_find_straggler(a, ranks, n, &times, data);
  gr_arena_destroy(a);
  CHECK(found < 0 || times > 4.0 / 3, "%g times the median", times);
  return found;
}

static void none_among_equals(void) {
  bool data;
  const gr_time_split even[] = {{0, 3, 1}, {1, 3, 0}, {0, 3, 1}}, alone[] = {{5, 5, 0}};
  const gr_time_split idle[] = {{0, 0, 1}, {0, 0, 1}}, waiting[] = {{0, 1, 9}, {0, 1, 0}};
  CHECK(find(even, 3, &data) < 0, "a third more is not more than a third");
  CHECK(find(alone, 1, &data) < 0, "one rank");
  CHECK(find(idle, 2, &data) < 0, "no time");
  CHECK(find(waiting, 2, &data) < 0, "waiting for others is not slow");
}

static void by_what_it_does(void) {
  bool data;
  const gr_time_split computes[] = {{0, 2, 3}, {0, 5, 0}, {0, 2.1, 3}, {0, 2, 3}};
  const gr_time_split loads[] = {{0, 2, 3}, {0, 2, 3}, {3, 2, 0}}, both[] = {{2, 4, 0}, {0, 2, 4}};
  CHECK(find(computes, 4, &data) == 1 && !data, "rank 1 computes");
  CHECK(find(loads, 3, &data) == 2 && data, "rank 2 waits for data");
  CHECK(find(both, 2, &data) == 0 && !data, "rank 0 would be slow without that, too");
}

static void the_slowest_of_several(void) {
  bool data;
  const gr_time_split two[] = {{0, 2, 3}, {0, 5, 0}, {0, 2, 3}, {0, 6, 0}, {0, 2, 3}};
  const gr_time_split most[] = {{0, 6, 0}, {0, 6, 0}, {0, 2, 4}};
  CHECK(find(two, 5, &data) == 3, "the slowest");
  CHECK(find(most, 3, &data) < 0, "most ranks are no exception");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"none_among_equals", none_among_equals},
             {"by_what_it_does", by_what_it_does},
             {"the_slowest_of_several", the_slowest_of_several});
}
