// shared.h - collectives over a block of shared memory that all members map: threads of one
// process (loopback), or processes of one machine (MPI).
//
// Every member has a slot in the block, where it publishes the round it has arrived at and the
// collective that round belongs to, and two buffers. Values move in one of two ways:
//
//   in place      tensors in memory from alloc_shared (ops/comm/comm.h), at the same offset on
//                 every member, are read by the peers where they are: barrier, sum, barrier. No
//                 copy is made
//   by buffers    otherwise, and for small messages: copy a chunk into the own buffer, barrier,
//                 read the peers' buffers. Rounds alternate between the two buffers: a member that
//                 passed the barrier of round e + 1 has finished reading round e, so one barrier
//                 per round is enough
//
// Either way the terms are summed in rank order, so every rank gets the same bits.
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "ops/comm/comm.h"
#include "runtime/comm/silence.h"

// Bytes of a buffer. Small enough that two members' buffers stay in the caches; large enough that a
// large sum takes few rounds, each of which may have to wait for a processor.
enum { GR_SHARED_CHUNK = 1024 * 1024 };

// The first failure of the world, shared by all communicators of the world on a machine. It is
// written once.
typedef struct gr_comm_status {
  _Atomic int state;  // 0: no failure; 1: being written; 2: complete
  gr_code code;
  int rank;  // the world rank that failed
  char why[480];
} gr_comm_status;

typedef struct gr_comm_slot {
  _Alignas(128) _Atomic uint64_t epoch;  // the last round this member has arrived at
  _Atomic uint64_t call[2];              // [epoch & 1]: gr_shared_call of that round's collective
  _Atomic uint64_t place[2];  // [epoch & 1]: hash of its tensors' offsets; 0: not reachable
  _Atomic int pid;            // GR_COMM_SLOT_LEFT once it has closed; 0: a thread
  int rank;                   // in the world
  _Atomic uint32_t beats;     // counted up while its process runs (gr_shared_watch)
  bool debugged;              // a debugger may stop it
} gr_comm_slot;
enum { GR_COMM_SLOT_LEFT = -1 };

typedef struct gr_shared_block {
  gr_comm_status status;                 // of the world
  _Alignas(128) _Atomic uint32_t futex;  // waiters sleep on it once spinning has not helped
  _Atomic uint32_t sleepers;
  _Atomic uint32_t heard;  // counted up when rank 0's machine has sent something (tcp_link.c)
  _Atomic int silent;      // 1 + the first rank that was found stopped; 0: none
  gr_comm_slot slot[];     // by member
} gr_shared_block;

// One shared allocation: this rank's copy of it, and the addresses at which this rank sees the
// peers' copies.
typedef struct gr_region {
  struct gr_region *older;
  char *memory;
  size_t bytes;
  char **of_rank;  // by world rank; NULL: on another machine
} gr_region;

typedef struct gr_shared {
  gr_comm base;
  struct gr_shared *world;  // holds the status and the regions for all communicators split from it
  gr_region *regions;
  gr_shared_block *block;
  char *buffers;
  double timeout_s;
  uint64_t epoch, call, place, calls;
  int spins;
  gr_silence next;  // of the member after this one
  // Called every 100 ms while waiting, to record failures that the block cannot show (mpi.c: on
  // other machines). May be NULL.
  void (*poll)(struct gr_shared *);
  // Of the world, held during collectives between machines, which a thread other than the rank's
  // may run: the rank's then leaves it to that one to report a failure to other machines.
  pthread_mutex_t between;
} gr_shared;

// Size of a block for so many members. The caller allocates it page-aligned and zeroed.
size_t gr_shared_bytes(int ranks);
// Initialises a member's view of a block. world: NULL when this is the world. pid: 0 for a thread.
// oversubscribed: there are more ranks than processors, so waiters must not spin.
void gr_shared_join(gr_shared *, void *block, int rank, int ranks, int world_rank, int pid,
                    gr_shared *world, double timeout_s, bool oversubscribed);
// Marks the member as gone: peers that still wait for it get GR_ERR_RANK. Does not free the block.
void gr_shared_leave(gr_shared *);
// A member whose process has ended without leaving, as a slot of the block; NULL: there is none.
// May be called by another thread.
const gr_comm_slot *gr_shared_find_dead(const gr_shared *);
// Ten times a second, by a thread of its own: shows the others that this process runs. GR_ERR_HANG,
// and the world has failed, once a member has not done so for silence_s seconds; 0: all may stop.
GR_MUST_USE gr_status gr_shared_watch(gr_shared *, double silence_s);
int gr_shared_rank(const gr_shared *);  // this member's rank in the world
// Makes a region usable for in-place collectives. All ranks add the same regions in the same order.
// The region is borrowed until the world closes.
void gr_shared_add_region(gr_shared *world, gr_region *);

// The next three are the functions of gr_comm_vtable that are the same for threads and processes.
// Runs a collective on n pieces, as gr_comm_piece has them.
gr_status gr_shared_run(gr_comm *, gr_collective, gr_dtype, int n, const gr_comm_piece *);
// Whether the world has failed: looks for ranks that have died, and returns the error that aborted
// it.
gr_status gr_shared_check(gr_comm *);
// Aborts all operations of the world, on all ranks, with the reason that this rank gives.
void gr_shared_abort(gr_comm *, const char *why);

// Waits until all members have arrived at the next round. GR_ERR_BUG when a peer is in a different
// collective, GR_ERR_HANG after the timeout, GR_ERR_RANK when a peer has died.
GR_MUST_USE gr_status gr_shared_barrier(gr_shared *);
// A collective and its size as one nonzero number, for comparison between members.
uint64_t gr_shared_call(gr_collective, gr_dtype, int pieces, int64_t count);

// The world's recorded failure as a status that the caller owns; GR_OK when there is none.
gr_status gr_shared_status(const gr_shared *);
// Records a failure of world rank `rank`, unless one is recorded already. When it returns, a
// failure is visible to all members.
void gr_comm_status_abort(gr_comm_status *, gr_code, int rank, const char *fmt, ...)
    GR_PRINTF(4, 5);
