// comm.h - what a collective kernel needs of the world: the ranks of one mesh axis. Declared
// here, below the runtime, and implemented there: loopback (threads of one process), mpi.
//
// All ranks of a communicator call `run` in the same order with the same kind, counts and
// dtype; the prove pass has shown that they do. Sums are taken in rank order on every rank, so
// all ranks get the same bits. Counts are of elements.
#pragma once
#include "ir/graph.h"

typedef enum gr_collective {
  GR_ALL_REDUCE,      // in[count] -> out[count]: the sum of every rank's
  GR_ALL_GATHER,      // in[count] -> out[ranks * count], in rank order
  GR_REDUCE_SCATTER,  // in[ranks * count] -> out[count]: this rank's part of the sum
  GR_BROADCAST,       // rank 0's in[count] -> every out[count]
  GR_BARRIER,
} gr_collective;

// What one collective moves may be in several pieces: the ranks synchronise once for all of them.
typedef struct gr_comm_piece {
  int64_t count;
  const void *in;
  void *out;  // `in` itself, or apart from it
} gr_comm_piece;

typedef struct gr_comm gr_comm;
typedef struct gr_comm_vtable {
  const char *backend;  // what ranks are: "threads", "mpi"
  gr_status (*run)(gr_comm *, gr_collective, gr_dtype, int n, const gr_comm_piece *);
  // Every rank's colour and key -> the communicator of those with its colour, by key.
  gr_status (*split)(gr_comm *, int colour, int key, gr_comm **out);
  // Memory that the ranks of this machine reach: what lies in it, at the same place on each of
  // them, is not copied on its way. All ranks of the world take it together, each so many
  // bytes. It lives as long as the world.
  gr_status (*alloc_shared)(gr_comm *, size_t bytes, void **out);
  gr_status (*check)(gr_comm *);  // GR_ERR_RANK when a peer is known to be dead or to have failed
  void (*abort)(gr_comm *, const char *why);  // makes every other rank's calls fail, soon
  void (*close)(gr_comm *);
} gr_comm_vtable;

struct gr_comm {
  const gr_comm_vtable *ops;
  int rank, ranks;
};

// A collective of one piece.
GR_MUST_USE static inline gr_status gr_comm_run(gr_comm *c, gr_collective kind, gr_dtype d,
                                                int64_t count, const void *in, void *out) {
  return c->ops->run(c, kind, d, 1, &(gr_comm_piece){count, in, out});
}
