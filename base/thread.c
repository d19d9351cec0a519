// thread.c - see thread.h.
#include "base/thread.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

// ---- Signals ------------------------------------------------------------------------------------

enum { SIGNAL_STACK = 64 << 10 };  // a frame with AMX's tiles is 12 kB

// A sanitizer has set one of its own, which it frees when the thread ends.
static void set_signal_stack(void *memory) {
  stack_t now, alternate = {.ss_sp = memory, .ss_size = SIGNAL_STACK};
  if (!sigaltstack(NULL, &now) && now.ss_flags & SS_DISABLE) sigaltstack(&alternate, NULL);
}

int gr_signal_handle(int number, struct sigaction handler, struct sigaction *before) {
  static char memory[SIGNAL_STACK];
  set_signal_stack(memory);
  handler.sa_flags |= SA_ONSTACK;
  return sigaction(number, &handler, before);
}

// ---- Threads ------------------------------------------------------------------------------------

typedef struct task {
  void *(*work)(void *);
  void *arg;
} task;

static void *begin(void *arg) {
  char memory[SIGNAL_STACK];
  task t = *(task *)arg;
  free(arg);
  set_signal_stack(memory);
  void *result = t.work(t.arg);
  stack_t now, none = {.ss_flags = SS_DISABLE};
  if (!sigaltstack(NULL, &now) && now.ss_sp == memory) sigaltstack(&none, NULL);
  return result;
}

static int create(pthread_t *thread, task *t) {
  pthread_attr_t attr;
  int error = pthread_attr_init(&attr);
  if (error) return error;
  error = pthread_attr_setstacksize(&attr, GR_STACK);
  if (!error) error = pthread_create(thread, &attr, begin, t);
  pthread_attr_destroy(&attr);
  return error;
}

// A signal that an instruction raises ends the process without a handler where it is blocked.
int gr_thread_start(pthread_t *thread, void *(*work)(void *), void *arg) {
  static const int raised[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP};
  sigset_t all, before;
  task *t = malloc(sizeof *t);
  if (!t) return ENOMEM;
  *t = (task){work, arg};
  sigfillset(&all);
  for (size_t i = 0; i < sizeof raised / sizeof *raised; i++) sigdelset(&all, raised[i]);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = create(thread, t);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error) free(t);
  return error;
}

// Linux asks for the limit when the stack grows, and keeps 128 MiB for that.
gr_status gr_thread_begin(void) {
  struct rlimit r;
  if (getrlimit(RLIMIT_STACK, &r) || r.rlim_cur >= GR_STACK) return GR_OK;
  r.rlim_cur = r.rlim_max < GR_STACK ? r.rlim_max : GR_STACK;
  if (!setrlimit(RLIMIT_STACK, &r) && r.rlim_cur >= GR_STACK_LEAST) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                         "the stack is limited to %llu kB here, and kernels need %d",
                         (unsigned long long)r.rlim_cur >> 10, GR_STACK_LEAST >> 10),
                 "run `ulimit -s %d` first, or raise the hard limit (ulimit -Hs)", GR_STACK >> 10);
}
