// comm.h - the interface of communicators, which collective kernels call: one communicator connects
// the ranks of one mesh axis. It is declared here, below the runtime, and implemented in
// runtime/comm: loopback (ranks are threads of one process), mpi, tcp and, for values in the memory
// of GPUs, nccl, whose collectives are put onto the device's queue and have not ended when `run`
// returns.
//
// All ranks of a communicator call `run` in the same order with the same kind, counts and dtype,
// which follows from the plan (compiler/plan/prove.c); one thread of a rank at a time. Sums are
// computed in rank order on every rank, or as a binary tree, so all ranks get the same bits. Counts
// are in elements.
#pragma once
#include "base/port.h"
#include "ir/graph.h"

typedef enum gr_collective {
  GR_ALL_REDUCE,      // in[count] -> out[count]: the sum of every rank's
  GR_ALL_GATHER,      // in[count] -> out[ranks * count], in rank order
  GR_REDUCE_SCATTER,  // in[ranks * count] -> out[count]: this rank's part of the sum
  GR_BROADCAST,       // rank 0's in[count] -> every out[count]
  GR_BARRIER,
} gr_collective;

// A collective may move several values at once: the ranks synchronise once for all pieces.
typedef struct gr_comm_piece {
  int64_t count;
  const void *in;
  void *out;  // equal to `in` (in place), or not overlapping it
} gr_comm_piece;

typedef struct gr_comm gr_comm;
typedef struct gr_comm_vtable {
  const char *backend;  // for results and logs: "threads", "mpi"
  gr_status (*run)(gr_comm *, gr_collective, gr_dtype, int n, const gr_comm_piece *);
  // As MPI_Comm_split: a communicator of the ranks with the same colour, in the order of their
  // keys.
  gr_status (*split)(gr_comm *, int colour, int key, gr_comm **out);
  // Collective: allocates `bytes` bytes of memory that the ranks of this machine can access. A
  // collective on values at the same offset in it on every rank works in place, without copies. The
  // world owns it.
  gr_status (*alloc_shared)(gr_comm *, size_t bytes, void **out);
  gr_status (*check)(gr_comm *);  // GR_ERR_RANK if a peer is known to be dead or to have failed
  void (*abort)(gr_comm *, const char *why);  // makes the pending and later calls of all ranks fail
  void (*close)(gr_comm *);
  // Of the world, called ten times a second by a thread of its own: shows the other ranks that this
  // process runs. An error: another rank has died, or has not shown that for silence_s seconds
  // (0: it need not). NULL: ranks are threads of one process.
  gr_status (*watch)(gr_comm *, double silence_s);
  // For values that the host cannot access: copies `rows` rows of `width` bytes, whose starts are
  // `to_stride` and `from_stride` bytes apart, and sets bytes to zero, in the order of the
  // collectives. NULL: values are in the host's memory.
  gr_status (*copy_rows)(gr_comm *, void *target, size_t to_stride, const void *source,
                         size_t from_stride, size_t width, size_t rows);
  gr_status (*clear)(gr_comm *, void *memory, size_t bytes);
} gr_comm_vtable;

struct gr_comm {
  const gr_comm_vtable *ops;
  int rank, ranks;
  int local_rank, local_ranks;  // among the members on this machine
  double seconds;               // that this rank has spent in gr_comm_collect
  bool own_thread;              // only the thread that opened it may run its collectives
  bool tree;                    // sums are those of a binary tree over the ranks (gr_comm_sum)
};

// Whether all members are on this machine; NULL: there is one.
static inline bool gr_comm_is_local(const gr_comm *c) { return !c || c->local_ranks == c->ranks; }

// A collective of n pieces, whose time is counted.
GR_MUST_USE static inline gr_status gr_comm_collect(gr_comm *c, gr_collective kind, gr_dtype d,
                                                    int n, const gr_comm_piece *pieces) {
  double began = gr_seconds();
  gr_status s = c->ops->run(c, kind, d, n, pieces);
  c->seconds += gr_seconds() - began;
  return s;
}

// A collective of one piece.
GR_MUST_USE static inline gr_status gr_comm_run(gr_comm *c, gr_collective kind, gr_dtype d,
                                                int64_t count, const void *in, void *out) {
  return gr_comm_collect(c, kind, d, 1, &(gr_comm_piece){count, in, out});
}
