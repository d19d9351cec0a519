// net.c - see net.h.
#define _GNU_SOURCE
#include "runtime/comm/net.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024, SLICE_MS = 100 };  // how often `stop` is asked
#ifndef TCP_RTO_MAX_MS
enum { TCP_RTO_MAX_MS = 44 };
#endif

// ---- Waiting ------------------------------------------------------------------------------------

// Waits until the socket is ready. Returns 0 or an errno.
static int wait_ready(int fd, short events, gr_net_wait w) {
  while (true) {
    double left = w.until - gr_seconds();
    if (w.stop && w.stop()) return ECANCELED;
    if (left <= 0) return ETIMEDOUT;
    struct pollfd p = {.fd = fd, .events = events};
    int n = poll(&p, 1, left * 1e3 < SLICE_MS ? (int)(left * 1e3) + 1 : SLICE_MS);
    if (n > 0) return 0;
    if (n < 0 && errno != EINTR) return errno;
  }
}

// Without a port of its own.
static void any_port(struct sockaddr_storage *a) {
  if (a->ss_family == AF_INET6)
    ((struct sockaddr_in6 *)a)->sin6_port = 0;
  else
    ((struct sockaddr_in *)a)->sin_port = 0;
}

// A socket of datagrams, which sends nothing, is refused the other end's address without a way.
bool gr_net_has_way(int fd) {
  struct sockaddr_storage local, peer;
  socklen_t n_local = sizeof local, n_peer = sizeof peer;
  if (getsockname(fd, (struct sockaddr *)&local, &n_local) ||
      getpeername(fd, (struct sockaddr *)&peer, &n_peer))
    return true;
  int probe = socket(local.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  any_port(&local);
  bool none =
      probe >= 0 && bind(probe, (struct sockaddr *)&local, n_local) && errno == EADDRNOTAVAIL;
  if (probe >= 0 && connect(probe, (struct sockaddr *)&peer, n_peer))
    none |= errno == ENETUNREACH || errno == EHOSTUNREACH || errno == ENETDOWN;
  if (probe >= 0) close(probe);
  return !none;
}

// Waits until there is a way to the other end. Returns 0 or an errno.
static int wait_for_way(int fd, gr_net_wait w) {
  while (!gr_net_has_way(fd)) {
    if (w.stop && w.stop()) return ECANCELED;
    if (gr_seconds() > w.until) return ETIMEDOUT;
    poll(NULL, 0, SLICE_MS);
  }
  return 0;
}

int gr_net_send(int fd, const void *bytes, size_t n, gr_net_wait w) {
  const char *next = bytes;
  int without = wait_for_way(fd, w);
  if (without) return without;
  while (n) {
    ssize_t sent = send(fd, next, n, MSG_NOSIGNAL);
    if (sent > 0) next += sent, n -= (size_t)sent;
    if (sent >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return errno;
    int error = wait_ready(fd, POLLOUT, w);
    if (error) return error;
  }
  return 0;
}

int gr_net_receive(int fd, void *bytes, size_t n, gr_net_wait w) {
  char *next = bytes;
  while (n) {
    ssize_t got = recv(fd, next, n, 0);
    if (got == 0) return ECONNRESET;
    if (got > 0) next += got, n -= (size_t)got;
    if (got > 0 || errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return errno;
    int error = wait_ready(fd, POLLIN, w);
    if (error) return error;
  }
  return 0;
}

// ---- Opening ------------------------------------------------------------------------------------

static struct addrinfo *resolve(const char *host, int port, bool passive) {
  char service[16];
  struct addrinfo *found = NULL, want = {.ai_family = AF_UNSPEC,
                                         .ai_socktype = SOCK_STREAM,
                                         .ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0)};
  snprintf(service, sizeof service, "%d", port);
  return getaddrinfo(host, service, &want, &found) ? NULL : found;
}

static void set_options(int fd, const int (*options)[3], size_t n) {
  for (size_t i = 0; i < n; i++)
    setsockopt(fd, options[i][0], options[i][1], &options[i][2], sizeof options[i][2]);
}

void gr_net_prepare(int fd) {
  static const int options[][3] = {{IPPROTO_TCP, TCP_NODELAY, 1},
                                   {SOL_SOCKET, SO_KEEPALIVE, 1},
                                   {IPPROTO_TCP, TCP_KEEPIDLE, 15},
                                   {IPPROTO_TCP, TCP_KEEPINTVL, 5},
                                   {IPPROTO_TCP, TCP_USER_TIMEOUT, 3600000}};
  set_options(fd, options, sizeof options / sizeof *options);
}

// The second option is that of later systems; others refuse it.
void gr_net_retry_soon(int fd) {
  static const int options[][3] = {{IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1},
                                   {IPPROTO_TCP, TCP_RTO_MAX_MS, 1000}};
  set_options(fd, options, sizeof options / sizeof *options);
}

static int open_socket(int family) {
  return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static int listen_at(const struct addrinfo *a, int *out_fd) {
  int one = 1, zero = 0, fd = open_socket(a->ai_family);
  if (fd < 0) return errno;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (a->ai_family == AF_INET6)  // an unspecified address takes both kinds of connections
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
  if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, BACKLOG)) {
    *out_fd = fd;
    return 0;
  }
  int error = errno;
  close(fd);
  return error;
}

static int port_of(int fd) {
  struct sockaddr_storage address;
  socklen_t bytes = sizeof address;
  if (getsockname(fd, (struct sockaddr *)&address, &bytes)) return 0;
  return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                             : ((struct sockaddr_in *)&address)->sin_port);
}

// Tries the addresses of a list until one is this machine's: a port that is in use ends the search,
// because peers would find the other process there. A second pass takes the other family, since an
// unspecified IPv6 address takes both kinds of connections.
static int listen_at_first(const struct addrinfo *list, int *out_fd) {
  static const int families[] = {AF_INET6, AF_INET};
  int error = ENOENT;
  for (int i = 0; i < 2; i++)
    for (const struct addrinfo *a = list; a && error && error != EADDRINUSE; a = a->ai_next)
      if (a->ai_family == families[i]) error = listen_at(a, out_fd);
  return error;
}

int gr_net_listen(const char *host, int port, int *out_fd, int *out_port) {
  struct addrinfo *list = host ? resolve(host, port, false) : NULL;
  if (host && !list) return ENOENT;
  int error = host ? listen_at_first(list, out_fd) : EADDRNOTAVAIL;
  if (list) freeaddrinfo(list);
  if (error == EADDRNOTAVAIL) {
    list = resolve(NULL, port, true);
    error = list ? listen_at_first(list, out_fd) : ENOENT;
    if (list) freeaddrinfo(list);
  }
  if (!error) *out_port = port_of(*out_fd);
  return error;
}

static int connect_to(const struct addrinfo *a, gr_net_wait w, int *out_fd) {
  int fd = open_socket(a->ai_family), error = 0;
  socklen_t bytes = sizeof error;
  if (fd < 0) return errno;
  if (connect(fd, a->ai_addr, a->ai_addrlen)) {
    error = errno == EINPROGRESS ? wait_ready(fd, POLLOUT, w) : errno;
    if (!error && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes)) error = errno;
  }
  // Connecting to a free port of this machine can connect a socket to itself.
  struct sockaddr_storage local, peer;
  socklen_t n_own = sizeof local, n_peer = sizeof peer;
  memset(&local, 0, sizeof local), memset(&peer, 0, sizeof peer);
  if (!error && !getsockname(fd, (struct sockaddr *)&local, &n_own) &&
      !getpeername(fd, (struct sockaddr *)&peer, &n_peer) && n_own == n_peer &&
      !memcmp(&local, &peer, n_own))
    error = ECONNREFUSED;
  if (error) {
    close(fd);
    return error;
  }
  gr_net_prepare(fd);
  *out_fd = fd;
  return 0;
}

int gr_net_connect(const char *host, int port, gr_net_wait w, int *out_fd) {
  struct addrinfo *list = resolve(host, port, false);
  int error = ENOENT, left = 0;
  for (const struct addrinfo *a = list; a; a = a->ai_next) left++;
  for (const struct addrinfo *a = list; a && error && error != ECANCELED; a = a->ai_next, left--) {
    double now = gr_seconds();
    error = connect_to(a, (gr_net_wait){now + (w.until - now) / left, w.stop}, out_fd);
  }
  if (list) freeaddrinfo(list);
  return error;
}

void gr_net_own_address(int fd, char out[GR_NET_ADDRESS]) {
  struct sockaddr_storage address;
  socklen_t bytes = sizeof address;
  *out = 0;
  if (getsockname(fd, (struct sockaddr *)&address, &bytes)) return;
  if (getnameinfo((struct sockaddr *)&address, bytes, out, GR_NET_ADDRESS, NULL, 0, NI_NUMERICHOST))
    *out = 0;
}
