// rendezvous.h - where ranks that MPI does not connect find each other, from the variables that
// torchrun, srun or the user has set.
#pragma once
#include "base/status.h"

typedef struct gr_rendezvous {
  int rank, ranks;
  char host[256];       // where rank 0 is
  int port, ports;      // rank 0 listens on the first free one of `ports` ports from `port` on
  bool local;           // all ranks are on this machine
  char token[256];      // equal for the ranks of one job and one start of it
  bool named;           // the launcher or the user has named the job; else the token is the port's
  const char *setting;  // the variable that chooses the port
} gr_rendezvous;

// Reads the environment. Fails with GR_ERR_LAUNCH when a variable that is needed is missing or
// wrong. No launcher's variables: ranks is 0.
GR_MUST_USE gr_status gr_launch_rendezvous(gr_rendezvous *out);
// The first name of a Slurm node list: "gpu[03-07,12],login" has "gpu03". False: it cannot be read.
bool gr_launch_first_node(const char *list, char *out, size_t size);
