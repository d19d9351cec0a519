// fault.c - faults of device code: which thread of which kernel touched what.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <ucontext.h>
#include <unistd.h>
#include "tests/gpu/standin/driver.h"

static op *armed;
static pthread_t runner;
static sigjmp_buf out;
static struct {
  int signal, code;
  char *addr, *pc;
} fault;

void standin_die(int code, const char *fmt, ...) {
  va_list a;
  va_start(a, fmt);
  char text[900];
  vsnprintf(text, sizeof text, fmt, a);
  va_end(a);
  standin_say("%s", text);
  fault.signal = 0, fault.code = code;
  siglongjmp(out, 1);
}

block *si_find(const void *p) {  // also the guard page after it, also freed ones
  for (int i = nblocks - 1; i >= 0; i--)
    if ((char *)p >= blocks[i].page &&
        (char *)p < blocks[i].page + blocks[i].mapped + (blocks[i].dev ? PAGE : 0))
      return &blocks[i];
  return NULL;
}
const char *si_describe(const char *p, char *text, size_t size) {
  block *b = si_find(p);
  if (!b)
    snprintf(text, size, "%p (in no allocation)", p);
  else
    snprintf(text, size, "%p (byte %td of %s allocation %d of %zu bytes%s)", p, p - b->p,
             b->dev ? "device" : "pinned", b->id, b->n, b->live ? "" : ", freed");
  return text;
}

static void si_on_fault(int s, siginfo_t *i, void *context) {
  if (armed && pthread_equal(runner, pthread_self())) {
    fault.signal = s, fault.addr = i->si_addr;
    fault.pc = (char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    siglongjmp(out, 1);
  }
  char text[200], line[300];
  int n = snprintf(line, sizeof line, "stand-in GPU: host code touches device memory at %s\n",
                   si_describe(i->si_addr, text, sizeof text));
  if (si_find(i->si_addr) && write(2, line, (size_t)n) < 0) abort();  // dprintf may allocate
  signal(s, SIG_DFL);
}

static void si_say_fault(void) {
  char where[250], what[200], line[300] = "", cmd[300];
  if (armed->kind == KERNEL)
    standin_where(where, sizeof where);
  else
    snprintf(where, sizeof where, "%s", armed->name);
  Dl_info so;
  if (dladdr(fault.pc, &so) && strstr(so.dli_fname, "/fd/")) {
    snprintf(cmd, sizeof cmd, "addr2line -e %s %#tx 2>&1", so.dli_fname,
             fault.pc - (char *)so.dli_fbase);
    FILE *f = popen(cmd, "r");
    if (f && fgets(line, sizeof line, f)) line[strcspn(line, "\n")] = 0;
    if (f) pclose(f);
  }
  if (fault.signal == SIGILL)
    snprintf(what, sizeof what, "a misaligned access or an index outside an array");
  else if (fault.signal == SIGFPE)
    snprintf(what, sizeof what, "an integer division by zero");
  else
    si_describe(fault.addr, what, sizeof what);
  standin_say("%s: illegal access: %s%s%s", where, what, *line ? " at " : "", line);
}

int si_guarded(op *o, int *code) {
  int r = 0;
  runner = pthread_self(), armed = o;
  *code = 0;
  if (sigsetjmp(out, 1)) {
    *code = fault.signal == SIGILL ? CUDA_ERROR_MISALIGNED_ADDRESS
            : fault.signal         ? CUDA_ERROR_ILLEGAL_ADDRESS
                                   : fault.code;
    if (fault.signal) si_say_fault();
  } else {
    r = si_do_op(o);
    if (r < 0) *code = -r;
  }
  armed = NULL;
  return r;
}

void si_catch_faults(void) {
  struct sigaction a = {.sa_sigaction = si_on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
  for (int i = 0; i < 4; i++) sigaction(signals[i], &a, NULL);
}
