// check_elsewhere.c - a failing check in another file of a test program; see test_check.c.
#include "tests/check.h"

void check_elsewhere(void);
void check_elsewhere(void) {
  fprintf(stderr, "  wanted: ");
  CHECK(check_checks < 0, "a check elsewhere");
  MUST(gr_fail(GR_ERR_IO, GR_NOWHERE, "a status elsewhere"));
}
