// parent.c - see parent.h.
#define _GNU_SOURCE
#include "runtime/launch/parent.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_PROCESSES = 16 };

static struct {
  int parent;  // 0: nothing is watched
  int n;
  struct pollfd process[MAX_PROCESSES];
} watched;

// A descriptor that poll reports as readable once the process has ended; -1: the system has none.
static int open_process(int pid) {
#ifdef SYS_pidfd_open
  return (int)syscall(SYS_pidfd_open, pid, 0);
#else
  (void)pid;
  return -1;
#endif
}

// 0: it is not known.
static int parent_of(int pid) {
  char path[32], text[512];
  int parent = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *f = fopen(path, "re");
  if (!f) return 0;
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  const char *end = strrchr(text, ')');  // of its name, which may have brackets and blanks
  return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

// Whether a process was started with this line, "NAME=value", in its environment. False also where
// that cannot be read: another user's process was not started for this rank.
static bool was_started_with(int pid, const char *line) {
  char path[32], *entry = NULL;
  size_t room = 0;
  bool found = false;
  snprintf(path, sizeof path, "/proc/%d/environ", pid);
  FILE *f = fopen(path, "re");
  while (f && !found && getdelim(&entry, &room, 0, f) > 0) found = !strcmp(entry, line);
  free(entry);
  if (f) fclose(f);
  return found;
}

// A process number may be another's by the time it is opened: the relation is checked afterwards.
static bool add(int pid, int child) {
  int fd = open_process(pid);
  if (fd >= 0) watched.process[watched.n++] = (struct pollfd){.fd = fd, .events = POLLIN};
  return (child ? parent_of(child) : (int)getppid()) == pid;
}

void gr_launch_parent_watch(const char *variable) {
  char line[128];
  const char *value = getenv(variable);
  int pid = (int)getppid(), child = 0;
  if (!value || pid <= 1) return;  // the first process of a container ends all others with it
  snprintf(line, sizeof line, "%s=%s", variable, value);
  watched.parent = pid;
  while (pid > 1 && watched.n < MAX_PROCESSES && add(pid, child) && was_started_with(pid, line))
    child = pid, pid = parent_of(pid);
}

bool gr_launch_parent_is_gone(void) {
  if (!watched.parent) return false;
  return (int)getppid() != watched.parent || poll(watched.process, (nfds_t)watched.n, 0) > 0;
}
