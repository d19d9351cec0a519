// local_rank.c - this rank's number among the ranks of its machine.
#include <stdlib.h>
#include "runtime/launch/launch.h"

int gr_launch_local_rank(int rank) {
  static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK",
                                      "MPI_LOCALRANKID", "SLURM_LOCALID", "LOCAL_RANK"};
  if (!gr_launch_started(NULL, NULL)) return rank;  // ranks are threads
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *text = getenv(names[i]);
    char *end;
    long n = text && *text ? strtol(text, &end, 10) : -1;
    if (n >= 0 && n < 1 << 20 && !*end) return (int)n;
  }
  return rank;
}
