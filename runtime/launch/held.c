// held.c - standard error, held back while MPI starts. See state.h.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>
#include "runtime/launch/state.h"

// Files: what was printed meanwhile, and the real standard error; -1: not held back.
static atomic_int held = -1, terminal = -1;

void gr_launch_state_hold_stderr(void) {
  int file = memfd_create("graphrun-stderr", MFD_CLOEXEC);
  int out = file < 0 ? -1 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (out >= 0 && dup2(file, STDERR_FILENO) >= 0)
    atomic_store(&held, file), atomic_store(&terminal, out);
  else if (file >= 0)
    close(file);
}

int gr_launch_state_restore_stderr(void) {
  int out = atomic_exchange(&terminal, -1), file = atomic_exchange(&held, -1);
  if (out < 0) return -1;
  dup2(out, STDERR_FILENO);
  close(out);
  return lseek(file, 0, SEEK_SET) ? -1 : file;
}

void gr_launch_state_flush_stderr(void) {
  char part[4096];
  int file = gr_launch_state_restore_stderr();
  if (file < 0) return;
  for (ssize_t n; (n = read(file, part, sizeof part)) > 0;)
    if (write(STDERR_FILENO, part, (size_t)n) != n) break;
  close(file);
}
