// store_wire.h - the messages between the store's clients (store_client.c) and its server
// (store_server.c). Both are of the same version of graphrun, on machines of the same byte order.
#pragma once
#include "runtime/comm/net.h"
#include "runtime/comm/store.h"

// GR_STORE_VERSION changes with everything that ranks send each other.
enum { GR_STORE_MAGIC = 0x67725374, GR_STORE_VERSION = 4 };

typedef struct gr_store_hello {  // the first message of a client
  uint32_t magic, version;
  uint64_t token;       // gr_hash_text
  int32_t rank, ranks;  // rank: more by `ranks` on the connection by which it is watched
  uint64_t job;         // from here on it may be another in another version
} gr_store_hello;
enum { GR_STORE_HELLO = offsetof(gr_store_hello, job) };  // bytes of it in every version

typedef enum gr_store_answer {
  GR_STORE_DONE,
  GR_STORE_OTHER_JOB,  // the text names this one
  GR_STORE_REFUSED,    // the text says why
  GR_STORE_LATE,       // the time-out is over; the text names the ranks that did not come
  GR_STORE_FAILED,     // a rank has failed; the text is a gr_store_failure
} gr_store_answer;

typedef enum gr_store_call {
  GR_STORE_GATHER,
  GR_STORE_FAIL,
  GR_STORE_CHECK,
  GR_STORE_LEAVE,
} gr_store_call;

typedef struct gr_store_request {  // followed by the value
  uint32_t magic;
  uint32_t call;  // a gr_store_call
  uint32_t bytes;
  uint32_t spare;
  double timeout_s;
  char key[GR_STORE_KEY];
} gr_store_request;

typedef struct gr_store_reply {  // followed by the value or the text
  uint32_t magic;
  uint32_t answer;  // a gr_store_answer
  uint64_t bytes;
  int64_t number;
} gr_store_reply;

typedef struct gr_store_server gr_store_server;
// Starts the server on a listening socket, which it takes over.
GR_MUST_USE gr_status gr_store_server_start(int listening, uint64_t token, const gr_store_options *,
                                            gr_store_server **out);
// A rank whose connection was closed before it has left; -1: none. Of any thread.
int gr_store_server_dead(const gr_store_server *);
// A sign of life of a rank that does not come by the store. Of any thread.
void gr_store_server_hear(gr_store_server *, int rank);
// Waits until all clients have left, at most so many seconds, and ends the server.
void gr_store_server_end(gr_store_server *, double seconds);
