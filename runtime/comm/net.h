// net.h - TCP sockets with deadlines, over IPv4 and IPv6: what the store (store.h) and ranks of
// several machines (tcp_parts.h) are made of.
//
// All sockets are non-blocking and closed on exec. A deadline is a time of gr_seconds.
#pragma once
#include "base/port.h"

// When a wait ends: at the deadline, or as soon as `stop` returns true (NULL: it never does).
typedef struct gr_net_wait {
  double until;
  bool (*stop)(void);
} gr_net_wait;

enum { GR_NET_ADDRESS = 64 };  // bytes of a numeric address as text

// Listens at the address that `host` resolves to, or at all addresses if it is not one of this
// machine; NULL: at all. port 0: any free port. Returns 0 and sets *out_fd and *out_port, or an
// errno, EADDRINUSE among them; ENOENT: the host's name cannot be resolved.
int gr_net_listen(const char *host, int port, int *out_fd, int *out_port);
// Connects to the first address of the host that answers: of the time that is left, each gets the
// same part, because a firewall may swallow what is sent to one. Returns 0 and sets *out_fd, or an
// errno: ETIMEDOUT at the deadline, ECANCELED after `stop`, ENOENT if the host's name cannot be
// resolved.
int gr_net_connect(const char *host, int port, gr_net_wait, int *out_fd);
// Whether this machine has a way to the other end now; true where the connection is not open, so
// that its error is that of using it. What is given to the system without one waits behind probes,
// of which the 15th that cannot be sent closes the connection: after about 15 s where
// gr_net_retry_soon counts, else about 15 minutes.
bool gr_net_has_way(int fd);
// Sends all bytes, once there is a way; waits in `wait` alone. Returns 0 or an errno; ECONNRESET:
// the peer has closed the connection.
int gr_net_send(int fd, const void *, size_t bytes, gr_net_wait);
// Receives all bytes; waits in `wait` alone. 0, or the errno; ECONNRESET when the other end has
// closed.
int gr_net_receive(int fd, void *, size_t bytes, gr_net_wait);
// The address of this end of a connection, as text that gr_net_connect takes.
void gr_net_own_address(int fd, char out[GR_NET_ADDRESS]);
// Small messages are sent at once, and the connection outlives an outage of the network of up to an
// hour (but see gr_net_has_way): for how long a peer may be silent is the caller's to say, not the
// system's. While nothing is sent, something is sent now and then, so that firewalls do not forget
// the connection.
void gr_net_prepare(int fd);
// For a connection of small messages: what was lost is sent again about every second, however long
// the network has been down.
void gr_net_retry_soon(int fd);
// Describes which process listens on a port of this machine: "process 4711 (python3)", or as much
// of it as this user may see.
void gr_net_port_owner(int port, char *out, size_t size);
