// store.h - a store of rank 0, over TCP, by which ranks that no MPI connects find each other: they
// gather each other's addresses, and hear that a rank has failed or died.
//
// Rank 0 runs the server on a thread of its own. A process joins with the job's token and hash, its
// rank and the number of ranks; one that does not belong to the job, has another version of
// graphrun, or a rank that is taken, is refused and told why. The token keeps jobs apart. It is not
// encrypted, so it does not protect from somebody who reads the network.
//
// A rank uses its store by one thread at a time. Errors: GR_ERR_LAUNCH when a rank cannot join,
// GR_ERR_HANG when ranks do not come in time (it names them), GR_ERR_RANK when a rank has failed or
// died, GR_ERR_STOPPED after `stop`.
#pragma once
#include "base/arena.h"

typedef struct gr_store gr_store;
typedef struct gr_store_options gr_store_options;
struct gr_store_options {
  const char *host;  // of rank 0: a name or an address
  // Rank 0 listens on the first free port of `ports` ports from `port` on; the others look for it
  // there. More than one when the launcher itself may use the first ones.
  int port, ports;
  bool local;         // all ranks are on this machine: listen at `host` alone, not at all addresses
  const char *token;  // of the job; any text
  // What the job computes, where nothing else tells two jobs on one port apart; 0: not known, which
  // fits to every job. job_name: it, for errors; NULL: none.
  uint64_t job;
  const char *job_name;
  int rank, ranks;
  double timeout_s;     // for all ranks to join, and for each call
  bool (*stop)(void);   // asked ten times a second whether to give up; NULL: never
  const char *setting;  // what the user sets to choose another port, for errors: "MASTER_PORT"
};

enum { GR_STORE_KEY = 64, GR_STORE_VALUE = 1 << 20 };  // most bytes of a key, and of a part

// Starts the server on rank 0, joins it, and waits until all ranks have joined.
GR_MUST_USE gr_status gr_store_open(const gr_store_options *, gr_store **out);
// Leaves. On rank 0 it waits until all others have left, up to two seconds, and ends the server.
// NULL is fine.
void gr_store_close(gr_store *);

// Every rank contributes `bytes` bytes and gets those of all ranks, in rank order, in `all`. Each
// key is used once. Collective.
GR_MUST_USE gr_status gr_store_gather(gr_store *, const char *key, const void *part, size_t bytes,
                                      void *all);
// Waits until all ranks are there. Each key is used once. Collective.
GR_MUST_USE gr_status gr_store_barrier(gr_store *, const char *key);

// The first failure that a rank has reported, or a death that the server has noticed.
typedef struct gr_store_failure {
  int32_t code, rank;  // code 0: none
  char why[480];
} gr_store_failure;
// Reports a failure, unless one is recorded already. Errors are ignored: the other ranks then run
// into their time-outs.
void gr_store_fail(gr_store *, const gr_store_failure *);
// The recorded failure, as far as the server has told: asks it, and does not wait for the answer. A
// server that is gone is the death of rank 0.
void gr_store_check(gr_store *, gr_store_failure *out);
// The death of another rank, as the server has noticed it, or of the server, as this rank sees it;
// GR_OK: none is known. May be called by another thread.
GR_MUST_USE gr_status gr_store_find_death(gr_store *);
// Opens a second connection, by which the server and this rank watch each other. Errors as of
// gr_store_open.
GR_MUST_USE gr_status gr_store_open_watch(gr_store *);
// To be called ten times a second by another thread: says by that connection that this process
// runs. The error of gr_store_find_death, or GR_ERR_HANG where a rank has not said so for silence_s
// seconds (0: it need not), as the server has noticed it, or the server has not answered. heard:
// counted up when rank 0's machine has sent something else, which is an answer too.
GR_MUST_USE gr_status gr_store_watch(gr_store *, double silence_s, uint32_t heard);
// On rank 0: a rank's machine has sent something else, which says that it runs. Of any thread.
void gr_store_hear(gr_store *, int rank);
// GR_ERR_STOPPED of a rank that was asked to stop (`stop`) before all were connected.
GR_MUST_USE gr_status gr_store_stopped(void);
// Where this process reached the server, which is where other machines reach this process.
const char *gr_store_own_address(const gr_store *);
