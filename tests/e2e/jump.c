// jump.c - preloaded: a wall clock that is put back by a day at every look.
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *t);

int clock_gettime(clockid_t clock, struct timespec *t) {
  static atomic_long looks;
  int error = (int)syscall(SYS_clock_gettime, clock, t);
  if (clock == CLOCK_REALTIME) t->tv_sec -= 86400 * atomic_fetch_add(&looks, 1);
  return error;
}
