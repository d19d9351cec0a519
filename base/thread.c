// thread.c - see thread.h.
#include "base/thread.h"
#include <signal.h>
#include <sys/resource.h>

int gr_thread_start(pthread_t *thread, void *(*work)(void *), void *arg) {
  pthread_attr_t attr;
  int error = pthread_attr_init(&attr);
  if (error) return error;
  error = pthread_attr_setstacksize(&attr, GR_STACK);
  if (!error) error = pthread_create(thread, &attr, work, arg);
  pthread_attr_destroy(&attr);
  return error;
}

// A signal that an instruction raises ends the process without a handler where it is blocked.
int gr_thread_start_masked(pthread_t *thread, void *(*work)(void *), void *arg) {
  static const int raised[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP};
  sigset_t all, before;
  sigfillset(&all);
  for (size_t i = 0; i < sizeof raised / sizeof *raised; i++) sigdelset(&all, raised[i]);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = gr_thread_start(thread, work, arg);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
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
