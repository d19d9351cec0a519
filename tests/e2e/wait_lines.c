// wait_lines.c - waits for a run to have done so many steps, which is a line each: a script that
// looks again and again starts three processes each time.
// `wait_lines FILE LINES PID` ends with 0 when FILE, which may be missing at first, has LINES
// lines, and with 1 when process PID has ended before.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Lines of a file that other processes append to; 0: it is not there.
static long count_lines(const char *path) {
  static char text[1 << 16];
  FILE *f = fopen(path, "rb");
  long lines = 0;
  if (!f) return 0;
  for (size_t n; (n = fread(text, 1, sizeof text, f));)
    for (const char *c = text; (c = memchr(c, '\n', n - (size_t)(c - text))); c++) lines++;
  fclose(f);
  return lines;
}

// Whether a process has ended, also if its parent has not waited for it yet.
static int has_ended(long pid) {
  char path[64], text[512] = "";
  snprintf(path, sizeof path, "/proc/%ld/stat", pid);
  FILE *f = fopen(path, "rb");
  if (!f) return 1;
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  const char *name_end = n ? strrchr(text, ')') : NULL;
  return !name_end || name_end[2] == 'Z' || name_end[2] == 'X';
}

int main(int argc, char **argv) {
  if (argc != 4) return fprintf(stderr, "usage: wait_lines FILE LINES PID\n"), 2;
  long lines = atol(argv[2]), pid = atol(argv[3]);
  for (const struct timespec pause = {.tv_nsec = 5000000};; nanosleep(&pause, NULL)) {
    int ended = has_ended(pid);
    if (count_lines(argv[1]) >= lines) return 0;
    if (ended) return 1;
  }
}
