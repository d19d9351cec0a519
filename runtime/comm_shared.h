// comm_shared.h - collectives over a block of memory that all members see: threads of one
// process (loopback), or processes of one machine (an MPI shared window).
//
// Every member has two buffers in the block. A collective is one or more rounds: put a chunk
// into the own buffer, meet, read what the others put into theirs. Rounds use the two buffers
// by turns: who has met for round e + 1 is done reading round e, so one meeting a round is
// enough.
#pragma once
#include <stdatomic.h>
#include "ops/comm.h"

// Bytes of a buffer: two members' stay in the caches, and a large sum still takes few rounds, each
// of which may have to wait for a processor.
enum { GR_SHARED_CHUNK = 1024 * 1024 };

// Why the world ended, if it did. One for all communicators of a world on a machine.
typedef struct gr_fate {
  _Atomic int state;  // 0: all is well; 1: being written; 2: written
  gr_code code;
  int rank;  // of the world: who failed
  char why[480];
} gr_fate;

typedef struct gr_seat {
  _Alignas(128) _Atomic uint64_t epoch;  // the last round its member came to
  _Atomic uint64_t call[2];              // by turns: which collective that round is of
  _Atomic int pid;                       // LEFT once it has closed; 0: a thread
  int rank;                              // of the world
} gr_seat;
enum { GR_SEAT_LEFT = -1 };

typedef struct gr_shared {
  gr_comm base;
  gr_fate *fate;
  gr_seat *seat;  // by member
  char *buffers;
  double timeout_s;
  uint64_t epoch, call, calls;
  int spins;
  // Looked at while waiting, every 100 ms: tells fate what only it can see. May be NULL.
  void (*look)(struct gr_shared *);
} gr_shared;

size_t gr_shared_bytes(int ranks);  // of a block; it must be zero, and 128-byte aligned
// A member's view of a block. fate: the world's, or NULL when this is the world. pid: 0 for a
// thread. crowded: there are more ranks than processors, so that waiting must not spin.
void gr_shared_join(gr_shared *, void *block, int rank, int ranks, int world_rank, int pid,
                    gr_fate *fate, double timeout_s, bool crowded);
void gr_shared_leave(gr_shared *);

// The three of gr_comm_vtable that do not depend on what the members are.
gr_status gr_shared_run(gr_comm *, gr_collective, gr_dtype, int64_t count, const void *in,
                        void *out);
gr_status gr_shared_check(gr_comm *);
void gr_shared_abort(gr_comm *, const char *why);

// GR_OK, or what has become of the world. doom: says it, if nobody did before.
gr_status gr_fate_status(gr_fate *, int world_rank);
void gr_fate_doom(gr_fate *, gr_code, int rank, const char *fmt, ...) GR_PRINTF(4, 5);
