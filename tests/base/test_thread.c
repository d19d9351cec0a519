// test_thread.c - threads and handlers of signals.
#include "base/thread.h"
#include "tests/check.h"

static volatile sig_atomic_t handled, apart;  // and of those, on a stack of their own

static void on_signal(int number) {
  stack_t now;
  (void)number;
  handled++;
  apart += !sigaltstack(NULL, &now) && now.ss_flags & SS_ONSTACK;
}

static void *raise_trap(void *arg) {
  (void)arg;
  raise(SIGTRAP);
  return NULL;
}

static void handlers_have_a_stack(void) {
  static const struct sigaction none = {.sa_handler = SIG_DFL};
  struct sigaction a = {.sa_handler = on_signal}, before;
  pthread_t thread;
  handled = apart = 0;
  CHECK(!gr_signal_handle(SIGUSR1, a, &before) && !gr_signal_handle(SIGTRAP, a, NULL), "installed");
  CHECK(before.sa_handler == SIG_DFL, "the handler before");
  raise(SIGUSR1);
  CHECK(handled == 1 && apart == 1, "in the first thread: %d, %d apart", (int)handled, (int)apart);
  CHECK(!gr_thread_start(&thread, raise_trap, NULL), "a thread");
  pthread_join(thread, NULL);
  CHECK(handled == 2 && apart == 2, "in another: %d, %d apart", (int)handled, (int)apart);
  gr_signal_handle(SIGUSR1, none, NULL), gr_signal_handle(SIGTRAP, none, NULL);
}

static void *read_mask(void *mask) {
  pthread_sigmask(SIG_SETMASK, NULL, mask);
  return mask;
}

// A thread that took a signal might be within a library's product.
static void signals_go_to_the_first_thread(void) {
  sigset_t before, there, after;
  pthread_t thread;
  void *result;
  read_mask(&before);
  CHECK(!gr_thread_start(&thread, read_mask, &there) && !pthread_join(thread, &result), "a thread");
  CHECK(result == &there, "its result");
  CHECK(sigismember(&there, SIGTERM) && sigismember(&there, SIGUSR1), "what is sent to it");
  CHECK(!sigismember(&there, SIGBUS) && !sigismember(&there, SIGSEGV), "what it raises");
  read_mask(&after);
  for (int number = 1; number < NSIG; number++)
    CHECK(sigismember(&before, number) == sigismember(&after, number),
          "signal %d of the thread that starts it", number);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"handlers_have_a_stack", handlers_have_a_stack},
             {"signals_go_to_the_first_thread", signals_go_to_the_first_thread});
}
