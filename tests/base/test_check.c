// test_check.c - the harness itself: what fails in another file of a test program fails the test.
#include "tests/check.h"

void check_elsewhere(void);

static void other_files(void) {
  int before = check_failed;
  volatile bool left = false;
  if (!setjmp(check_out))
    check_elsewhere();
  else
    left = true;
  int failed = check_failed - before;
  check_failed = before;
  CHECK(failed == 2, "%d of 2 failures are counted", failed);
  CHECK(left, "a status that is an error does not end the test");
}

int main(int argc, char **argv) { return RUN(argc, argv, {"other_files", other_files}); }
