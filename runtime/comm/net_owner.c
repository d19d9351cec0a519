// net_owner.c - finds the process that listens on a port, from /proc. See net.h.
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <string.h>
#include <unistd.h>
#include "runtime/comm/net.h"

enum { LISTENING = 10 };  // the state 0A of /proc/net/tcp

// Finds the socket that listens on a port: its inode and its user.
static bool find_socket(const char *table, int port, unsigned long *inode, unsigned *user) {
  FILE *f = fopen(table, "r");
  char line[512];
  bool found = false;
  while (f && !found && fgets(line, sizeof line, f)) {
    unsigned slot, state;
    found = sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %u %*d %lu",
                   &slot, &state, user, inode) == 4 &&
            (int)slot == port && state == LISTENING;
  }
  if (f) fclose(f);
  return found;
}

// Whether a process has that socket open.
static bool has_socket(const char *pid, unsigned long inode) {
  char path[300], link[64], want[64];
  snprintf(path, sizeof path, "/proc/%s/fd", pid);
  snprintf(want, sizeof want, "socket:[%lu]", inode);
  DIR *d = opendir(path);
  bool found = false;
  for (struct dirent *e; d && !found && (e = readdir(d));) {
    char file[600];
    snprintf(file, sizeof file, "%s/%s", path, e->d_name);
    ssize_t n = readlink(file, link, sizeof link - 1);
    link[n > 0 ? n : 0] = 0;
    found = !strcmp(link, want);
  }
  if (d) closedir(d);
  return found;
}

static bool describe_process(unsigned long inode, char *out, size_t size) {
  DIR *d = opendir("/proc");
  bool found = false;
  for (struct dirent *e; d && !found && (e = readdir(d));) {
    if (!isdigit((unsigned char)*e->d_name) || !has_socket(e->d_name, inode)) continue;
    char path[300], name[64] = "";
    snprintf(path, sizeof path, "/proc/%s/comm", e->d_name);
    FILE *f = fopen(path, "r");
    if (f && fgets(name, sizeof name, f)) name[strcspn(name, "\n")] = 0;
    if (f) fclose(f);
    snprintf(out, size, "process %s (%s)", e->d_name, name);
    found = true;
  }
  if (d) closedir(d);
  return found;
}

void gr_net_port_owner(int port, char *out, size_t size) {
  unsigned long inode = 0;
  unsigned user = 0;
  if (!find_socket("/proc/net/tcp", port, &inode, &user) &&
      !find_socket("/proc/net/tcp6", port, &inode, &user))
    snprintf(out, size, "another process, which cannot be seen from here");
  else if (!describe_process(inode, out, size))
    snprintf(out, size, "a process of the user with number %u", user);
}
