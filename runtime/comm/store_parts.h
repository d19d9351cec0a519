// store_parts.h - declarations shared by store_client.c (joining, requests) and store_watch.c
// (failures, and whether the others run).
#pragma once
#include <stdatomic.h>
#include "runtime/comm/silence.h"
#include "runtime/comm/store_wire.h"

struct gr_store {
  gr_store_options opt;
  uint64_t token;
  int fd;
  gr_store_server *server;  // of rank 0
  char address[GR_NET_ADDRESS];
  char other_job[128];   // the name of one whose rank 0 was found
  int port;              // where rank 0 was found
  int error;             // why it was not
  double until;          // when it must have answered
  atomic_bool given_up;  // the server has not answered in time, and is not asked again
  gr_store *watch;       // the connection of gr_store_open_watch; its ask_at and silence are used
  // Of the requests of store_watch.c: the answer of which `got` bytes are here, and how many were
  // asked for and came.
  struct {
    gr_store_reply reply;
    gr_store_failure failure;
  } answer;
  size_t got;
  uint32_t asked, answers;
  gr_store_failure failure;  // of the latest answer
  bool debugged;             // that rank 0 is: of the same
  double ask_at;             // when the next request is due
  gr_silence silence;
};

// Tries the ports again and again until rank 0 is found on one of them.
GR_MUST_USE gr_status gr_store_join(gr_store *);
// The error of a connection to the server; seconds: for which it was waited for.
GR_MUST_USE gr_status gr_store_lost(int error, double seconds);
