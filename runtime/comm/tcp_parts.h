// tcp_parts.h - declarations shared by tcp.c (opening, closing) and tcp_link.c (connections between
// machines).
#pragma once
#include "runtime/comm/machines.h"
#include "runtime/comm/net.h"
#include "runtime/comm/regions.h"
#include "runtime/comm/store.h"

typedef struct gr_tcp gr_tcp;

// What every rank knows of every rank of the world.
typedef struct gr_tcp_place {
  int32_t machine;  // counted in the order of their first ranks
  int32_t port;     // where the rank listens for connections of other machines
  char address[GR_NET_ADDRESS];
} gr_tcp_place;

// The first message of a connection between machines.
enum { GR_TCP_MAGIC = 0x67724c6b };
typedef struct gr_tcp_hello {
  uint32_t magic;
  int32_t machine;  // machine
  uint64_t token, id;
} gr_tcp_hello;

// A connection that has not said yet which communicator it belongs to, or one of a communicator
// which this rank has not begun to open.
typedef struct gr_tcp_waiting {
  struct gr_tcp_waiting *older;
  int fd;
  double until;  // for its hello
  size_t got;    // bytes of the hello
  gr_tcp_hello hello;
} gr_tcp_waiting;

struct gr_tcp {
  gr_comm base;
  gr_shared node;  // the members on this machine
  gr_tcp *world;
  uint64_t id;  // the same on all members, different from that of any other communicator
  void *block;  // node's shared memory
  size_t block_bytes;
  int world_rank, machines;
  int machine;      // this member's, counted among the machines of this communicator
  gr_machines far;  // with several machines
  int *peer;        // of a leader: its connection to each machine's leader; -1: its own machine
  int *leader;      // and their ranks in the world
  int splits;       // communicators split from this one so far
  bool oversubscribed;
  // Of the world:
  gr_store_options opt;
  gr_store *store;  // NULL: all ranks are on one machine
  gr_tcp_place *place;
  int listening;
  gr_tcp_waiting *waiting;
  gr_allocation *allocations;
  bool abort_reported;
};

extern const gr_machines_link gr_tcp_link;  // between the machines of a gr_tcp
// Listens for connections of other machines; *out is where.
GR_MUST_USE gr_status gr_tcp_listen(gr_tcp *world, gr_tcp_place *out);
// On a leader: connects it to the other leaders. leader: by machine, their world ranks.
GR_MUST_USE gr_status gr_tcp_connect(gr_tcp *, const int *leader);
// Closes the connections to the other machines and, on the communicator of the whole world, those
// that nothing has taken yet and the listening socket.
void gr_tcp_disconnect(gr_tcp *);
// Sends the recorded failure to the ranks of other machines, once. Does nothing without a failure.
void gr_tcp_report_abort(gr_tcp *);
// Records a failure that another machine has reported, if there is one.
void gr_tcp_poll_aborts(gr_shared *node);
