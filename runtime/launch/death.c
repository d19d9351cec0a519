// death.c - records which signal ends a rank.
//
// Ranks are children of mpirun, so the launcher cannot ask the system what ended one. A rank
// records it in the launch state instead. A dead rank without a record was killed by SIGKILL.
#define _GNU_SOURCE
#if defined(__has_include)
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define HAVE_BACKTRACE
#endif
#endif
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/base.h"
#include "base/thread.h"
#include "runtime/launch/state.h"

static const struct fatal {
  int number;
  const char *name;
} fatal[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
             {SIGILL, "SIGILL"},   {SIGABRT, "SIGABRT"}, {SIGTRAP, "SIGTRAP"},
             {SIGSYS, "SIGSYS"},   {SIGQUIT, "SIGQUIT"}, {SIGALRM, "SIGALRM"},
             {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGVTALRM, "SIGVTALRM"},
             {SIGPROF, "SIGPROF"}, {SIGIO, "SIGIO"},     {SIGPWR, "SIGPWR"}};
enum { N_FATAL = sizeof fatal / sizeof *fatal };

static struct sigaction before[N_FATAL];
static gr_launch_rank_state *rank_state;

const char *gr_launch_state_signal_name(int number) {
  if (number == SIGKILL) return "SIGKILL";
  for (int i = 0; i < N_FATAL; i++)
    if (fatal[i].number == number) return fatal[i].name;
  return "a signal";
}

// Prints a backtrace. The first call, without `print`, loads the libraries that a later one needs
// in a signal handler.
static int trace(bool print) {
#if defined(HAVE_BACKTRACE)
  void *frames[48];
  int n = backtrace(frames, 48);
  if (print) backtrace_symbols_fd(frames, n, STDERR_FILENO);
  return n;
#else
  return print;
#endif
}

// Restores the previous handler, so that a sanitizer can report. A fault is then raised again by
// the same instruction; a signal that was sent must be raised here.
static void on_fatal(int number, siginfo_t *info, void *context) {
  (void)context;
  atomic_store(&rank_state->signal, number);
  gr_launch_state_flush_stderr();
  bool was_default = true;
  for (int i = 0; i < N_FATAL; i++) {
    if (fatal[i].number != number) continue;
    was_default = before[i].sa_handler == SIG_DFL;
    sigaction(number, &before[i], NULL);
  }
  if (was_default && (info->si_code > 0 || number == SIGABRT)) trace(true);
  if (info->si_code <= 0) raise(number);
}

static void on_exit_called(void) {
  if (atomic_load(&rank_state->state) == GR_LAUNCH_RANK_RUNS)
    atomic_store(&rank_state->signal, GR_LAUNCH_STATE_EXIT);
}

void gr_launch_state_record_signals(gr_launch_rank_state *me) {
  struct sigaction a = {.sa_sigaction = on_fatal, .sa_flags = SA_SIGINFO};
  rank_state = me;
  trace(false);
  sigfillset(&a.sa_mask);
  for (int i = 0; i < N_FATAL; i++) {
    sigaction(fatal[i].number, NULL, &before[i]);
    if (before[i].sa_handler != SIG_IGN) gr_signal_handle(fatal[i].number, a, NULL);
  }
  atexit(on_exit_called);
}
