// make_delay.c - a cable that delays between two machines (network namespaces): what goes into one
// end of it, a TAP device in a namespace, comes out of the other one after a while.
//
//   make_delay NAMESPACE DEVICE NAMESPACE DEVICE MILLISECONDS      until it is ended
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/port.h"

enum { FRAMES = 8192, FRAME_BYTES = 9216 };  // on the way in a direction, at most

typedef struct direction {
  int in, out;
  char (*frame)[FRAME_BYTES];
  double due[FRAMES];
  ssize_t bytes[FRAMES];
  unsigned head, tail;  // of the ring, counted without end
} direction;

static int open_end(const char *space, const char *name) {
  char path[128];
  struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
  snprintf(path, sizeof path, "/run/netns/%s", space);
  snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
  int home = open("/proc/self/ns/net", O_RDONLY), there = open(path, O_RDONLY);
  if (home < 0 || there < 0 || setns(there, CLONE_NEWNET)) return -1;
  int end = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  if (end < 0 || ioctl(end, TUNSETIFF, &request) || setns(home, CLONE_NEWNET)) return -1;
  close(home), close(there);
  return end;
}

static void take(direction *d, double delay) {
  for (; d->head - d->tail < FRAMES; d->head++) {
    unsigned i = d->head % FRAMES;
    d->bytes[i] = read(d->in, d->frame[i], FRAME_BYTES);
    if (d->bytes[i] <= 0) break;
    d->due[i] = gr_seconds() + delay;
  }
}

// A frame that the other end does not take is lost. Returns the seconds until the next is due.
static double give(direction *d) {
  double now = gr_seconds();
  for (; d->head != d->tail; d->tail++) {
    unsigned i = d->tail % FRAMES;
    if (d->due[i] > now) return d->due[i] - now;
    if (write(d->out, d->frame[i], (size_t)d->bytes[i]) < 0) continue;
  }
  return 1;
}

int main(int argc, char **argv) {
  static direction way[2];
  if (argc != 6) return 2;
  int end[2] = {open_end(argv[1], argv[2]), open_end(argv[3], argv[4])};
  if (end[0] < 0 || end[1] < 0) return perror("make_delay"), 1;
  for (int i = 0; i < 2; i++) {
    way[i].in = end[i], way[i].out = end[1 - i];
    if (!(way[i].frame = malloc((size_t)FRAMES * FRAME_BYTES))) return 1;
  }
  while (true) {
    double left = 1;
    for (int i = 0; i < 2; i++) take(&way[i], 1e-3 * atof(argv[5]));
    for (int i = 0; i < 2; i++) {
      double next = give(&way[i]);
      left = next < left ? next : left;
    }
    struct pollfd p[2] = {{.fd = end[0], .events = POLLIN}, {.fd = end[1], .events = POLLIN}};
    struct timespec wait = {.tv_nsec = (long)(999e6 * left)};
    ppoll(p, 2, &wait, NULL);
  }
}
