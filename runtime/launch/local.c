// local.c - graphrun_local.so, which the launcher has the system load into mpirun and ranks
// of one machine (LD_PRELOAD): what would listen on all interfaces listens on the loopback one.
//
// Open MPI's oob_tcp_if_include and btl_tcp_if_include choose the addresses that it tells others;
// its sockets are bound to INADDR_ANY all the same.
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int bind_to(int socket, const void *at, socklen_t bytes) {
  return (int)syscall(SYS_bind, socket, at, bytes);
}

// Without an address ::1 there is none to be reached at either, but for IPv4's through IPv6.
static int bind_six(int socket, struct sockaddr_in6 at, socklen_t bytes) {
  int one = 1;
  at.sin6_addr = in6addr_loopback;
  int code = bind_to(socket, &at, bytes);
  if (!code || errno != EADDRNOTAVAIL) return code;
  at.sin6_addr = in6addr_any;
  if (setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one)) return -1;
  return bind_to(socket, &at, bytes);
}

int bind(int socket, const struct sockaddr *at, socklen_t bytes) {
  struct sockaddr_in four;
  struct sockaddr_in6 six;
  if (at && at->sa_family == AF_INET && bytes >= sizeof four) {
    memcpy(&four, at, sizeof four);
    if (four.sin_addr.s_addr == htonl(INADDR_ANY)) four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return bind_to(socket, &four, sizeof four);
  }
  if (at && at->sa_family == AF_INET6 && bytes >= sizeof six) {
    memcpy(&six, at, sizeof six);
    if (IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr)) return bind_six(socket, six, sizeof six);
  }
  return bind_to(socket, at, bytes);
}
