// local.c - graphrun_local.so, loaded with LD_PRELOAD into mpirun and its ranks when all are on one
// machine: it redirects bind() from all interfaces to the loopback interface.
//
// Open MPI's oob_tcp_if_include and btl_tcp_if_include only choose the addresses that it announces;
// its sockets are bound to INADDR_ANY regardless.
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int bind_to(int socket, const void *address, socklen_t bytes) {
  return (int)syscall(SYS_bind, socket, address, bytes);
}

// Binds to ::1, or, on a machine without that address, to the IPv4-mapped loopback address.
static int bind_six(int socket, struct sockaddr_in6 address, socklen_t bytes) {
  int one = 1;
  address.sin6_addr = in6addr_loopback;
  int code = bind_to(socket, &address, bytes);
  if (!code || errno != EADDRNOTAVAIL) return code;
  address.sin6_addr = in6addr_any;
  if (setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one)) return -1;
  return bind_to(socket, &address, bytes);
}

int bind(int socket, const struct sockaddr *address, socklen_t bytes) {
  struct sockaddr_in four;
  struct sockaddr_in6 six;
  if (address && address->sa_family == AF_INET && bytes >= sizeof four) {
    memcpy(&four, address, sizeof four);
    if (four.sin_addr.s_addr == htonl(INADDR_ANY)) four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return bind_to(socket, &four, sizeof four);
  }
  if (address && address->sa_family == AF_INET6 && bytes >= sizeof six) {
    memcpy(&six, address, sizeof six);
    if (IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr)) return bind_six(socket, six, sizeof six);
  }
  return bind_to(socket, address, bytes);
}
