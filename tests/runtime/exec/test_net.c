// test_net.c - connections by names of machines that have several addresses.
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
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

int main(int argc, char **argv) {
  return RUN(argc, argv, {"a_silent_address_is_passed_over", a_silent_address_is_passed_over});
}
