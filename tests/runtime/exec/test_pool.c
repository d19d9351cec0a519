// test_pool.c - the thread pool: every element once, on any number of threads.
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include "base/port.h"
#include "runtime/device/threads.h"
#include "tests/check.h"

enum { N = 100000 };
typedef struct seen {
  int64_t grain;
  _Atomic int bad;
  unsigned char times[N];
} seen;

static void mark(void *arg, int64_t begin, int64_t end) {
  seen *s = arg;
  if (begin % s->grain || begin >= end) atomic_fetch_add(&s->bad, 1);
  for (int64_t i = begin; i < end; i++) s->times[i]++;
}

static void once(int threads, bool oversubscribed) {
  gr_cpu *cpu;
  MUST(gr_cpu_create(threads, oversubscribed, &cpu));
  seen *s = malloc(sizeof *s);
  static const int64_t sizes[] = {1, 2, 7, 64, 65, 1000, N}, grains[] = {1, 3, 64, 5000};
  for (int i = 0; i < 7; i++)
    for (int g = 0; g < 4; g++) {
      int wrong = 0;
      memset(s, 0, sizeof *s);
      s->grain = grains[g];
      cpu->parallel(cpu, sizes[i], grains[g], mark, s);
      for (int k = 0; k < N; k++) wrong += s->times[k] != (k < sizes[i]);
      CHECK(!wrong && !s->bad, "%d threads, n %lld, grain %lld: %d wrong", threads,
            (long long)sizes[i], (long long)grains[g], wrong);
    }
  free(s);
  gr_cpu_destroy(cpu);
}

static void every_element_once(void) {
  for (int threads = 1; threads <= 5; threads++) once(threads, false), once(threads, true);
}

static void add(void *arg, int64_t begin, int64_t end) {
  atomic_fetch_add((_Atomic int64_t *)arg, end - begin);
}

// Jobs that follow each other at once, and jobs that find the workers asleep.
static void hot_and_cold(void) {
  gr_cpu *cpu;
  _Atomic int64_t sum = 0;
  MUST(gr_cpu_create(3, false, &cpu));
  for (int i = 0; i < 20000; i++) cpu->parallel(cpu, 30, 1, add, &sum);
  for (int i = 0; i < 20; i++) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    cpu->parallel(cpu, 30, 1, add, &sum);
  }
  CHECK(sum == 30 * 20020, "%lld elements", (long long)sum);
  gr_cpu_destroy(cpu);
}

// The first element waits for all the others: the rest of its share is done by others.
// They are so few that each is taken alone.
enum { OTHERS = 15 };
static void wait_for_others(void *arg, int64_t begin, int64_t end) {
  _Atomic int *done = arg;
  for (int64_t i = begin; i < end; i++) {
    double until = gr_seconds() + 600;
    while (!i && *done < OTHERS && gr_seconds() < until) gr_pause();
    if (!i && *done < OTHERS) return;
    ++*done;
  }
}

static void helps_who_is_late(void) {
  for (int threads = 2; threads <= 4; threads++) {
    gr_cpu *cpu;
    _Atomic int done = 0;
    MUST(gr_cpu_create(threads, false, &cpu));
    cpu->parallel(cpu, OTHERS + 1, 1, wait_for_others, &done);
    CHECK(done == OTHERS + 1, "%d threads: only %d of %d were done", threads, done, OTHERS + 1);
    gr_cpu_destroy(cpu);
  }
}

// Workers with nothing to do must not use a processor.
static void idle_is_asleep(void) {
  gr_cpu *cpu;
  _Atomic int64_t sum = 0;
  MUST(gr_cpu_create(4, false, &cpu));
  cpu->parallel(cpu, 8, 1, add, &sum);
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  clock_t before = clock();
  nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
  double used = (double)(clock() - before) / CLOCKS_PER_SEC;
  CHECK(used < 0.05, "%.3f s of processor time in 0.2 s of doing nothing", used);
  gr_cpu_destroy(cpu);
}

static void refuses_nonsense(void) {
  gr_cpu *cpu;
  gr_status s = gr_cpu_create(0, false, &cpu);
  CHECK(s && !cpu && gr_status_code(s) == GR_ERR_LAUNCH, "0 threads were accepted");
  gr_status_drop(s);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"every_element_once", every_element_once}, {"hot_and_cold", hot_and_cold},
             {"helps_who_is_late", helps_who_is_late}, {"idle_is_asleep", idle_is_asleep},
             {"refuses_nonsense", refuses_nonsense});
}
