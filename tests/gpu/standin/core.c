// core.c - the stand-in driver: its state, messages, lock and random numbers.
#define _GNU_SOURCE
#include <stdarg.h>
#include <time.h>
#include "tests/gpu/standin/driver.h"

struct device devices[MAX_DEVICES];
int ndevices, plain = 1, eager, inited;
double limit_s;
block *blocks;
int nblocks;
op **pool;
int npool;
unsigned round_now = 1, activity;
CUstream *streams;
int nstreams;
CUgraph *captures;
int ncaptures;
CUgraph *graphs;
int ngraphs;
pthread_mutex_t big = PTHREAD_MUTEX_INITIALIZER;
_Thread_local CUcontext stack[8];
_Thread_local int depth = -1, in_callback;
_Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

void standin_say(const char *fmt, ...) {
  va_list a;
  va_start(a, fmt);
  char text[900];
  vsnprintf(text, sizeof text, fmt, a);
  va_end(a);
  fprintf(stderr, "stand-in GPU: %s\n", text);
  const char *e = getenv("STANDIN_ABORT");
  if (e && *e == '1') abort();
}

unsigned standin_random(uint64_t *rng, unsigned n) {
  if (plain || n < 2) return 0;
  *rng ^= *rng << 13, *rng ^= *rng >> 7, *rng ^= *rng << 17;
  return (unsigned)((*rng >> 32) * n >> 32);
}

int64_t si_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
double si_now(void) { return 1e-9 * (double)si_clock(); }

int si_lock(void) {
  if (in_callback)
    standin_say("a CUDA call from inside a host function: the real driver may deadlock"), abort();
  pthread_mutex_lock(&big);
  return 0;
}
void si_unlock(int *unused) {
  (void)unused;
  si_close_all(NULL, 0);
  pthread_mutex_unlock(&big);
}

static int failed;  // calls and pieces of work that a test wanted to

CUcontext si_current(void) { return depth < 0 ? NULL : stack[depth]; }

// STANDIN_FAULT=WHAT:N fails the N-th time of WHAT, with the error that a GPU would give.
int si_fails(const char *what) {
  static int count;
  static char asked[64];  // what is counted
  const char *e = getenv("STANDIN_FAULT");
  size_t n = strlen(what);
  if (!e || strncmp(e, what, n) || e[n] != ':') return 0;
  if (strcmp(asked, e)) count = 0, snprintf(asked, sizeof asked, "%s", e);
  if (++count != atoi(e + n + 1)) return 0;
  return failed++, 1;
}
int standin_failed(void) { return failed; }
