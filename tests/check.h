// check.h - the whole test harness. A test program is a list of functions; it prints one line
// for each failure, counts, and exits non-zero if there was one.
//
//   static void adds(void) { CHECK(1 + 1 == 2, "1 + 1 is %d", 1 + 1); }
//   int main(int argc, char **argv) { return RUN(argc, argv, {"adds", adds}); }
//
// An argument picks the tests whose names contain it. SKIP says why and counts as skipped. Threads that a test begins
// may check, too; where one would leave the test, which is on the stack of another, it ends the program.
#pragma once
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/status.h"

typedef struct check_test {
  const char *name;
  void (*run)(void);
} check_test;

// One for all files of a test program, so that a check counts where it is called from another file.
#define CHECK_SHARED __attribute__((weak))
CHECK_SHARED _Atomic int check_failed, check_checks, check_skipped;
CHECK_SHARED jmp_buf check_out;
CHECK_SHARED _Thread_local bool check_first_thread;

// Before main, in the thread that calls the tests.
__attribute__((constructor)) static inline void check_begin(void) { check_first_thread = true; }

// Ends the test, or in another thread the program.
static inline _Noreturn void check_leave(void) {
  if (!check_first_thread) exit(1);
  longjmp(check_out, 1);
}

#define CHECK(cond, ...)                                                     \
  do {                                                                       \
    check_checks++;                                                          \
    if (!(cond)) {                                                           \
      check_failed++;                                                        \
      fprintf(stderr, "%s:%d: CHECK(%s) failed: ", __FILE__, __LINE__, #cond); \
      fprintf(stderr, __VA_ARGS__);                                          \
      fputc('\n', stderr);                                                   \
    }                                                                        \
  } while (0)

// Fails the test, and leaves it, when a status is not GR_OK.
#define MUST(expr)                                                      \
  do {                                                                  \
    gr_status must_ = (expr);                                           \
    check_checks++;                                                     \
    if (must_) {                                                        \
      check_failed++;                                                   \
      fprintf(stderr, "%s:%d: %s failed: ", __FILE__, __LINE__, #expr); \
      gr_status_print(stderr, must_);                                   \
      gr_status_drop(must_);                                            \
      check_leave();                                                    \
    }                                                                   \
  } while (0)

#define SKIP(...)                         \
  do {                                    \
    check_skipped++;                      \
    fprintf(stderr, "  SKIPPED: ");       \
    fprintf(stderr, __VA_ARGS__);         \
    fputc('\n', stderr);                  \
    check_leave();                        \
  } while (0)

// The worse of two deviations. What is no number is as far as can be: fmax and > pass over NaN.
// Who asks for a large deviation asks for a finite one.
static inline double check_worse(double worst, double deviation) {
  if (isnan(worst) || isnan(deviation)) return INFINITY;
  return deviation > worst ? deviation : worst;
}

// Runs the tests whose names contain argv[1], or all, and prints a line for each and the counts. The
// exit code of the program: not 0 where one failed or none ran.
static inline int check_run(int argc, char **argv, const check_test *tests, int n) {
  volatile int ran = 0, failed_tests = 0;  // volatile: they live across setjmp
  for (volatile int i = 0; i < n; i++) {
    if (argc > 1 && !strstr(tests[i].name, argv[1])) continue;
    int before = check_failed, skipped = check_skipped;
    ran++;
    if (!setjmp(check_out)) tests[i].run();
    bool bad = check_failed > before;
    failed_tests += bad;
    printf("%s %s\n", bad ? "FAIL" : check_skipped > skipped ? "skip" : "ok  ", tests[i].name);
  }
  printf("%d passed, %d failed, %d skipped\n", ran - failed_tests - check_skipped, failed_tests,
         check_skipped);
  return failed_tests || !ran;
}
#define RUN(argc, argv, ...)                                            \
  check_run(argc, argv, (const check_test[]){__VA_ARGS__},              \
            (int)(sizeof((const check_test[]){__VA_ARGS__}) / sizeof(check_test)))
