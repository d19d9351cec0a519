// test_net.c - connections by names of machines that have several addresses.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netdb.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "runtime/comm/net.h"
#include "tests/check.h"

// The name two-addresses has two: 127.0.0.2, and then 127.0.0.1.
int __real_getaddrinfo(const char *, const char *, const struct addrinfo *, struct addrinfo **);
int __wrap_getaddrinfo(const char *, const char *, const struct addrinfo *, struct addrinfo **);
int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *want,
                       struct addrinfo **out) {
  bool both = host && !strcmp(host, "two-addresses");
  int error = __real_getaddrinfo(both ? "127.0.0.2" : host, service, want, out);
  if (error || !both) return error;
  return __real_getaddrinfo("127.0.0.1", service, want, &(*out)->ai_next);
}

static gr_net_wait within(double seconds) { return (gr_net_wait){gr_seconds() + seconds, NULL}; }

// Listens at 127.0.0.2 with a queue of one connection, which it fills: what else comes is dropped,
// as by a firewall.
static void be_silent(int port, int fd[2]) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  inet_pton(AF_INET, "127.0.0.2", &address.sin_addr);
  fd[0] = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(fd[0], (struct sockaddr *)&address, sizeof address) || listen(fd[0], 0)) abort();
  CHECK(!gr_net_connect("127.0.0.2", port, within(60), &fd[1]), "the queue has no place");
}

static void a_silent_address_is_passed_over(void) {
  int there, port, silent[2], fd;
  if (gr_net_listen("127.0.0.1", 0, &there, &port)) abort();
  be_silent(port, silent);
  CHECK(gr_net_connect("127.0.0.2", port, within(0.2), &fd) == ETIMEDOUT, "it is not silent");
  int error = gr_net_connect("two-addresses", port, within(20), &fd);
  CHECK(!error, "the second address is not tried: %s", strerror(error));
  if (!error) close(fd);
  close(there), close(silent[0]), close(silent[1]);
}

// ---- A network of this process's own, which is not there for a while --------------------------

// Gives the process a network without anything else on it. False: the system does not allow that.
static bool leave_the_network(void) {
  return !unshare(CLONE_NEWUSER | CLONE_NEWNET) || !unshare(CLONE_NEWNET);
}

// lo's address 127.0.0.1, or none: as of a link that is down, there is then no route from it.
static void set_address(bool there) {
  struct sockaddr_in a = {.sin_family = AF_INET};
  struct ifreq r = {.ifr_name = "lo"}, up = {.ifr_name = "lo", .ifr_flags = IFF_UP};
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (there) inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
  memcpy(&r.ifr_addr, &a, sizeof a);
  CHECK(!ioctl(fd, SIOCSIFADDR, &r), "the address of lo: %s", strerror(errno));
  CHECK(!there || !ioctl(fd, SIOCSIFFLAGS, &up), "lo: %s", strerror(errno));
  close(fd);
}

// What the system would have sent already, or sends behind its probes.
static int queued(int fd) {
  int bytes = -1;
  return ioctl(fd, SIOCOUTQ, &bytes) ? -1 : bytes;
}

static void nothing_is_queued_without_a_way(void) {
  char got = 0;
  int there, port, fd, other;
  if (!leave_the_network()) {
    SKIP("a network that is down: this system allows no network of the test's own");
    return;
  }
  set_address(true);
  if (gr_net_listen("127.0.0.1", 0, &there, &port)) abort();
  CHECK(!gr_net_connect("127.0.0.1", port, within(60), &fd), "no connection");
  other = accept(there, NULL, NULL);
  CHECK(gr_net_has_way(fd), "there is no way where there is one");
  set_address(false);
  CHECK(!gr_net_has_way(fd), "there is a way where there is none");
  CHECK(gr_net_send(fd, "x", 1, within(0.3)) == ETIMEDOUT, "it does not wait for a way");
  CHECK(!queued(fd), "%d bytes are queued", queued(fd));
  set_address(true);
  CHECK(!gr_net_send(fd, "y", 1, within(60)) && recv(other, &got, 1, 0) == 1 && got == 'y',
        "'%c' came", got);
  close(fd), close(other), close(there);
  CHECK(gr_net_has_way(fd), "a closed connection has no way");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"a_silent_address_is_passed_over", a_silent_address_is_passed_over},
             {"nothing_is_queued_without_a_way", nothing_is_queued_without_a_way});
}
