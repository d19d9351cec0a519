// shared.h - collectives over a block of memory that all members see: threads of one
// process (loopback), or processes of one machine (MPI).
//
// Every member has a seat in the block, where it says which round of which collective it has
// come to, and two buffers. There are two ways to move values:
//
//   directly      what lies in memory that members reach (take of ops/comm/comm.h), at the same
//   place
//                 on each of them, is read where it is: meet, work, meet, and nothing is copied
//   by buffers    else, and where there is little to move: put a chunk into the own buffer, meet,
//                 read what the others put into theirs. Rounds use the two buffers by turns: who
//                 has met for round e + 1 is done reading round e, so one meeting is enough
//
// Either way terms are added in the order of ranks, so that the bits are the same.
#pragma once
#include <stdatomic.h>
#include "ops/comm/comm.h"

// Bytes of a buffer: two members' stay in the caches, and a large sum still takes few rounds, each
// of which may have to wait for a processor.
enum { GR_SHARED_CHUNK = 1024 * 1024 };

// Why the world ended, if it did. One for all communicators of a world on a machine.
typedef struct gr_comm_status {
  _Atomic int state;  // 0: all is well; 1: being written; 2: written
  gr_code code;
  int rank;  // of the world: who failed
  char why[480];
} gr_comm_status;

typedef struct gr_comm_slot {
  _Alignas(128) _Atomic uint64_t epoch;  // the last round its member came to
  _Atomic uint64_t call[2];              // by turns: which collective that round is of
  _Atomic uint64_t place[2];             // where its values lie; 0: where others do not reach
  _Atomic int pid;                       // LEFT once it has closed; 0: a thread
  int rank;                              // of the world
} gr_comm_slot;
enum { GR_COMM_SLOT_LEFT = -1 };

typedef struct gr_shared_block {
  gr_comm_status status;                 // of the world
  _Alignas(128) _Atomic uint32_t futex;  // who has waited for long sleeps on it
  _Atomic uint32_t sleepers;
  gr_comm_slot slot[];  // by member
} gr_shared_block;

// Memory of the world's ranks that this one reaches: its own, and where it sees the others'.
typedef struct gr_region {
  struct gr_region *older;
  char *own;
  size_t bytes;
  char **at;  // by rank of the world; NULL: of another machine
} gr_region;

typedef struct gr_shared {
  gr_comm base;
  struct gr_shared *world;  // whose fate and regions are those of its parts
  gr_region *regions;
  gr_shared_block *block;
  char *buffers;
  double timeout_s;
  uint64_t epoch, call, place, calls;
  int spins;
  // Looked at while waiting, every 100 ms: tells fate what only it can see. May be NULL.
  void (*poll)(struct gr_shared *);
} gr_shared;

size_t gr_shared_bytes(int ranks);  // of a block; it must be zero, and begin with a page
// A member's view of a block. world: NULL when this is the world. pid: 0 for a thread. crowded:
// there are more ranks than processors, so that waiting must not spin.
void gr_shared_join(gr_shared *, void *block, int rank, int ranks, int world_rank, int pid,
                    gr_shared *world, double timeout_s, bool oversubscribed);
void gr_shared_leave(gr_shared *);
int gr_shared_rank(const gr_shared *);                     // of the world
void gr_shared_add_region(gr_shared *world, gr_region *);  // may from now on be used directly

// The three of gr_comm_vtable that do not depend on what the members are.
gr_status gr_shared_run(gr_comm *, gr_collective, gr_dtype, int n, const gr_comm_piece *);
gr_status gr_shared_check(gr_comm *);
void gr_shared_abort(gr_comm *, const char *why);

// GR_OK once all members have come to the next round, with the same call.
GR_MUST_USE gr_status gr_shared_barrier(gr_shared *);
// What a member is doing, as one number that is not 0.
uint64_t gr_shared_call(gr_collective, gr_dtype, int pieces, int64_t count);

// GR_OK, or what has become of the world. doom: says it, if nobody did before.
gr_status gr_shared_status(const gr_shared *);
void gr_comm_status_abort(gr_comm_status *, gr_code, int rank, const char *fmt, ...)
    GR_PRINTF(4, 5);
