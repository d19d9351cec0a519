// test_check.c - the harness itself: what fails in another file of a test program fails the test,
// and what threads check is counted.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
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

enum { THREADS = 4, CHECKS = 100000 };

static void *check_often(void *unused) {
  for (int i = 0; i < CHECKS; i++) CHECK(!unused, "no argument");
  return NULL;
}
static void *leave(void *unused) {
  MUST(gr_fail(GR_ERR_IO, GR_NOWHERE, "a status of a thread"));
  return unused;
}

static void threads(void) {
  pthread_t thread[THREADS];
  int before = check_checks, status;
  for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, check_often, NULL);
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  int counted = check_checks - before;
  CHECK(counted == THREADS * CHECKS, "%d checks are counted", counted);
  fprintf(stderr, "  wanted: "), fflush(NULL);
  pid_t child = fork();
  if (!child) {
    pthread_create(thread, NULL, leave, NULL), pthread_join(*thread, NULL);
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1,
        "a thread that must leave its test ends the program: %x", (unsigned)status);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"other_files", other_files}, {"threads", threads});
}
